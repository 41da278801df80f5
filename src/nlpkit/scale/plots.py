"""The pictures of a run of scale, prepared from its tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.platform import reporting
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import FloatArray
from nlpkit.platform.views.figures import Draw, PlotOptions
from nlpkit.scale.figures import MOST, draw_periods, draw_positions, draw_weights
from nlpkit.scale.tables import TITLES

_NUMBERS = ("position", "low", "high")


def scale_plot(run: Run, what: str, options: PlotOptions, execution: Execution) -> tuple[Draw, float, Sequence[str]]:
    """Return what draws a picture of a run of scale, its usual height in cm, and the texts in it.

    Raises:
        InputError: the run has no groups.
    """
    method = str(run.manifest["parameters"].get("method"))
    with run.intact():
        if what == "weights":
            return _weights(run, method)
        title = f"position ({TITLES[method]}, {float(run.manifest['parameters']['ci']):.0%} intervals)"
        if what == "groups":
            return _groups(run, title)
        table = run.table("documents", ["id", *_NUMBERS])
        position, low, high = (_numbers(table, name) for name in _NUMBERS)
        order = np.argsort(-position, kind="stable")  # NaN last
        order = order[: int(np.isfinite(position).sum())]
        if len(order) > MOST:
            reporting.note(f"the picture shows the {MOST} outermost of {len(order):,} documents")
            order = np.concatenate([order[: MOST // 2], order[-(MOST // 2) :]])
        names = [str(id_) for id_ in table.column("id").take(pa.array(order)).to_pylist()]
        values = {name: column[order] for name, column in zip(_NUMBERS, (position, low, high), strict=True)}
        return (
            partial(draw_positions, names=names, values=values, title=title),
            1.8 + 0.36 * len(names),
            [*names, title],
        )


def _numbers(table: pa.Table, name: str) -> FloatArray:
    values: FloatArray = table.column(name).to_numpy()
    return values


def _groups(run: Run, title: str) -> tuple[Draw, float, Sequence[str]]:
    if not (run.path / "groups.parquet").is_file():
        raise InputError(f"{run.path} was fitted without `by` and `over`, so it has no groups to draw")
    rows = run.table("groups").to_pylist()
    names = list(dict.fromkeys(str(row.get("group", "")) for row in rows))
    periods = sorted({str(row["period"]) for row in rows if "period" in row})

    def values(some: Sequence[dict[str, Any]]) -> dict[str, FloatArray]:
        return {name: np.array([row[name] for row in some], np.float64) for name in _NUMBERS}

    if not periods:
        draw = partial(draw_positions, names=names, values=values(rows), title=title)
        return draw, 1.8 + 0.5 * len(names), [*names, title]
    empty = dict.fromkeys(_NUMBERS)
    cells = {(str(row.get("group", "")), str(row["period"])): row for row in rows}
    series = {name: values([cells.get((name, period), empty) for period in periods]) for name in names}
    return partial(draw_periods, periods=periods, series=series, title=title), 8.0, [*names, *periods, title]


def _weights(run: Run, method: str) -> tuple[Draw, float, Sequence[str]]:
    table = run.table("words")
    weights, frequency = _numbers(table, "weight"), _numbers(table, "cf")
    has_psi = "psi" in table.column_names
    heights = _numbers(table, "psi") if has_psi else np.log10(np.maximum(frequency, 1))
    kept = np.flatnonzero(np.isfinite(weights) & np.isfinite(heights))
    terms = [str(term) for term in table.column("term").take(pa.array(kept)).to_pylist()]
    labels = ("weight (β)" if has_psi else f"weight ({TITLES[method]})", "ψ" if has_psi else "occurrences, log10")
    draw = partial(draw_weights, terms=terms, weights=weights[kept], heights=heights[kept], labels=labels)
    return draw, 11.0, [*terms, *labels]
