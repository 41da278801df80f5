"""Robust topics for people: how often each came back, and how much of the corpus it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nlpkit.platform import wording
from nlpkit.platform.views.blocks import Block, Note, Table
from nlpkit.topics.base.views import TERMS_SHOWN
from nlpkit.topics.mixture_views import topic_run_notes
from nlpkit.topics.robust.run import FittedRobust
from nlpkit.topics.robust.tables import EVERYTHING, SHARES

VALUES_SHOWN = 6
LABEL_WIDTH = 32


def robust_blocks(model: FittedRobust, target: Path) -> Iterator[Block]:
    """Yield the robust topics, their shares by column, and what to type next."""
    topics = model.topics.to_pylist()
    yield _topics(topics)
    yield from _shares(model, topics)
    results = model.summary
    low, high = results["k_of_runs"]
    limits = dict.fromkeys(f"{value:.2f}" for value in (min(results["thresholds"]), max(results["thresholds"])))
    least = model.run.manifest["parameters"]["min_runs"]
    yield Note(
        f"{wording.counted(results['topics_of_runs'], 'topic')} of {results['runs']} runs ({', '.join(results['models'])}; "
        f"{_range(low, high)} topics) in {wording.counted(results['clusters'], 'cluster')}, threshold {' to '.join(limits)}; "
        f"{results['robust_topics']} came back in at least {least:.0%} of the runs; topics that did not have "
        f"{results['not_robust']:.1%} of the documents"
    )
    yield Note(
        "runs: in how many it came back · K: numbers of topics of these runs · share: mean over these runs (lowest–highest)"
    )
    yield from topic_run_notes(target)


def _topics(topics: list[dict[str, Any]]) -> Table:
    by_segment = "segments" in topics[0]
    rows = []
    for row in topics:
        words = wording.further_words(row["label"], row["top_terms"], TERMS_SHOWN)
        back = "" if row["runs"] is None else f"{row['runs']}/{row['of_runs']}"
        numbers = "" if row["runs"] is None else _range(row["k_low"], row["k_high"])
        share = "" if row["mean_share"] is None else with_range(row["mean_share"], row["low"], row["high"])
        cells = [str(row["topic"]), back, numbers, wording.count(row["size"]), share, row["label"], words]
        if by_segment:
            cells.insert(1, wording.listed(row["segments"] or [], 3))
        rows.append(cells)
    columns = ["topic", *(["segments"] if by_segment else []), "runs", "K", "docs", "share", "name", "further words"]
    right = ["topic", "runs", "K", "docs", "share"]
    sizes = [float(row["size"]) for row in topics]
    return Table(
        columns,
        rows,
        right,
        noun="topics",
        sizes=sizes,
        rest="topics.parquet of the run",
        texts=["name", "further words"],
    )


def _shares(model: FittedRobust, topics: list[dict[str, Any]]) -> Iterator[Block]:
    rows = model.tables()[SHARES.name].to_pylist()
    for column in dict.fromkeys(row["column"] for row in rows if row["column"] != EVERYTHING):
        cells = {(row["topic"], row["value"]): row for row in rows if row["column"] == column}
        documents = {row["value"]: row["documents"] for row in cells.values()}
        values = list(documents)
        shown = sorted(sorted(values, key=lambda v: -documents[v])[:VALUES_SHOWN], key=values.index)
        lines = [
            [
                str(t["topic"]),
                wording.truncated(t["label"], LABEL_WIDTH),
                *(_cell(cells[t["topic"], value]) for value in shown),
            ]
            for t in topics
        ]
        left = f"; the {VALUES_SHOWN} largest of {len(values)} values" if len(values) > len(shown) else ""
        title = f"Share of each topic by {column}, with its range over the runs{left}"
        sizes = [float(t["size"]) for t in topics]
        yield Table(
            ["topic", "name", *shown], lines, ["topic", *shown], title=title, noun="topics", sizes=sizes,
            rest="robust_shares.parquet of the run", texts=["name"],
        )  # fmt: skip


def _cell(row: dict[str, Any]) -> str:
    return "" if row["share"] is None else with_range(row["share"], row["low"], row["high"])


def with_range(share: float, low: float, high: float) -> str:
    """Return a share with its range over the runs, such as "4.2 % (3.1–5.0)"."""
    return f"{100 * share:.1f} % ({100 * low:.1f}–{100 * high:.1f})"


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"
