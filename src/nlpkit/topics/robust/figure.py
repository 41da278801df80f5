"""The picture of robust topics: how much of the documents each is, with the range over the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from nlpkit.errors import InputError, unknown_value
from nlpkit.platform.runs.runs import Run
from nlpkit.topics.edit.files import hidden_topics
from nlpkit.topics.effects.figures import MARKS, draw_differences
from nlpkit.topics.over_time.tables import labels_of
from nlpkit.topics.robust.tables import EVERYTHING, SHARES

MOST_VALUES = len(MARKS)


def shares_drawing(run: Run, by: str | None, topics: int) -> tuple[Callable[..., None], float, Sequence[str]]:
    """Return what draws shares by the values of a column as points, their range over the runs as lines; its usual height, its texts.

    It has the form of the figures of Wilkerson & Casas (2017): a row for each topic, a point for each value.

    Args:
        by: a column of the run's shares, by default its first one. topics: how many are drawn, the first ones.

    Raises:
        InputError: the run is none of robust topics; UsageError: it has no shares by this column.
    """
    if run.manifest["kind"] != "robust":
        raise InputError(f"{run.path} is a run of kind '{run.manifest['kind']}'; this picture is of robust topics")
    rows = run.table(SHARES.name).to_pylist()
    columns = [name for name in dict.fromkeys(row["column"] for row in rows) if name != EVERYTHING]
    if by is not None and by not in columns:
        raise unknown_value("by", by, columns)
    column = by or (columns[0] if columns else EVERYTHING)
    cells = {(row["topic"], row["value"]): row for row in rows if row["column"] == column}
    documents = {row["value"]: row["documents"] for row in cells.values()}
    values = list(documents)
    shown = sorted(sorted(values, key=lambda v: -documents[v])[:MOST_VALUES], key=values.index)
    hidden, labels = hidden_topics(run), labels_of(run)
    drawn = [k for k in range(len(labels)) if k not in hidden][:topics]
    names = [f"{k} {labels[k]}" for k in drawn]
    known = {
        key: np.array([[_number(cells[k, v][field]) for v in shown] for k in drawn])
        for key, field in (("difference", "share"), ("low", "low"), ("high", "high"))
    }
    title = "% of the documents" + (f" by {column}" if column else "") + ": mean and range over the runs"
    draw: Any = partial(draw_differences, differences=known, names=names, title=title, lines=shown, moderator=column)
    height = 2.0 + len(names) * max(0.55, 0.28 * len(shown)) + 0.8 * (len(shown) > 1)
    return draw, height, [*names, title, column, *shown]


def _number(value: float | None) -> float:
    return np.nan if value is None else value
