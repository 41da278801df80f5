"""Robust topics for people: how often each came back, and how much of the corpus it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nlpkit.platform import wording
from nlpkit.platform.views.blocks import Block, Note, Table
from nlpkit.topics.base.views import TERMS_SHOWN
from nlpkit.topics.mixture_views import topic_run_notes
from nlpkit.topics.robust.run import FittedRobust
from nlpkit.topics.robust.tables import EVERYTHING, RUN_SHARES, SHARES

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
        sizes, heads = [float(t["size"]) for t in topics], ["topic", "name", *shown]
        if len(values) == 2:  # ranges mix the numbers of topics, so they overlap where one value has more in each run
            larger = _runs_with_more(model, column, values)
            lines = [[*line, larger.get(t["topic"], "")] for line, t in zip(lines, topics, strict=True)]
            heads.append(f"{values[0]} more in")
        yield Table(
            heads, lines, [head for head in heads if head != "name"], title=title, noun="topics", sizes=sizes,
            rest="robust_shares.parquet of the run", texts=["name"],
        )  # fmt: skip


def _runs_with_more(model: FittedRobust, column: str, values: Sequence[str]) -> dict[int, str]:
    """Return for each topic in how many runs the first of two values has a larger share, such as 3/17."""
    of_runs: dict[int, dict[int, dict[str, float]]] = {}
    for row in model.tables()[RUN_SHARES.name].to_pylist():
        if row["column"] == column:
            of_runs.setdefault(row["topic"], {}).setdefault(row["run"], {})[row["value"]] = row["share"]
    both = {
        topic: [(one[values[0]], one[values[1]]) for one in runs.values() if len(one) == 2]
        for topic, runs in of_runs.items()
    }
    return {topic: f"{sum(a > b for a, b in pairs)}/{len(pairs)}" for topic, pairs in both.items()}


def _cell(row: dict[str, Any]) -> str:
    return "" if row["share"] is None else with_range(row["share"], row["low"], row["high"])


def with_range(share: float, low: float, high: float) -> str:
    """Return a share with its range over the runs, such as "4.2 % (3.1–5.0)"."""
    return f"{100 * share:.1f} % ({100 * low:.1f}–{100 * high:.1f})"


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"
