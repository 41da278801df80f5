"""Dynamic topic models on the screen: topics averaged over time, and their words over time."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from nlpkit import reporting
from nlpkit.cli import console
from nlpkit.cli.render.mixtures import show_mixture

if TYPE_CHECKING:
    from nlpkit.topics.dtm.run import FittedDynamicTopics

WORDS_SHOWN = 8
SHIFTS_SHOWN = 5


def show_dynamic(model: FittedDynamicTopics, target: Path) -> None:
    """Print a model that was written: the result as JSON, or topics, their words over time and what to type next."""
    if console.settings.json:
        over_time = {"periods": model.tables()["periods"].to_pylist(), "changes": model.changes.to_pylist()}
        topics = model.topics.to_pylist()
        console.emit_json({"run": str(target), **model.summary, "topics": topics, **over_time})
        return
    show_mixture(model, target)
    show_words_over_time(model)
    reporting.note("over time: topic_terms_over_time.parquet, topic_changes.parquet, periods.parquet of the run")


def show_words_over_time(model: FittedDynamicTopics) -> None:
    """Print the words of each topic in the first, the middle and the last period, and those that rose and fell most."""
    starts, T = model.periods.start_dates, model.periods.n
    shown = sorted({0, T // 2, T - 1})
    words: dict[tuple[int, int], list[str]] = defaultdict(list)
    wanted = model.terms_over_time.filter(pc.less_equal(model.terms_over_time.column("rank"), WORDS_SHOWN))
    for row in wanted.to_pylist():
        words[row["topic"], row["period"]].append(row["term"])
    moved: dict[tuple[int, str], list[str]] = defaultdict(list)
    for row in model.changes.to_pylist():
        if row["rank"] <= SHIFTS_SHOWN:
            moved[row["topic"], row["change"]].append(row["term"])
    rows = []
    sizes = model.topics.column("size").to_pylist()
    for k, label in enumerate(model.topics.column("label").to_pylist()):
        for at, t in enumerate(shown):
            change = {0: f"+ {' '.join(moved[k, 'rose'])}", len(shown) - 1: f"− {' '.join(moved[k, 'fell'])}"}.get(
                at, ""
            )
            rows.append(
                [str(k) if at == 0 else "", label if at == 0 else "", str(starts[t]), " ".join(words[k, t]), change]
            )
    console.table(
        ["topic", "name", "from", "most probable words", "rose +, fell − most"],
        rows,
        right=["topic"],
        title="Words over time: first, middle and last period",
        noun="rows",
        sizes=[float(size) for size in sizes for _ in shown],
        rest="topic_terms_over_time.parquet of the run",
    )
