"""Topics over time, as lines with intervals or as layers of one hundred per cent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nlpkit.report.colours import PALETTE
from nlpkit.report.figures import bare, name_panel, panels, percents
from nlpkit.types import BoolArray

HATCHES = (None, "//", "..", "xx", "\\\\", "--", "oo")


def draw_over_time(figure: Any, time: Mapping[str, Any], names: Sequence[str], colours: Sequence[str]) -> None:
    """Draw the share of each topic over periods with its interval, all on one scale; a period between empty ones is a point with a bar."""
    columns = 3 if len(names) > 2 else max(len(names), 1)
    grid = panels(figure, len(names), columns, sharey=True)
    x = np.arange(len(time["cells"]))
    for k, (axes, name) in enumerate(zip(grid, names, strict=False)):
        series, colour = time["series"][k], colours[k]
        share, low, high = (percents(series[key]) for key in ("share", "low", "high"))
        axes.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
        axes.plot(x, share, color=colour, lw=1.2)
        alone = [first for first, last in stretches(np.isfinite(share)) if first == last]  # of which there is no line
        axes.vlines(alone, low[alone], high[alone], color=colour, lw=1.2, alpha=0.5)
        axes.plot(alone, share[alone], "s", ms=3, color=colour)
        for at, changed in enumerate(series.get("changed") or []):
            if changed:
                axes.plot(at, share[at], "o", ms=4, color=colour)
        axes.tick_params(axis="y", labelsize=6)
        name_panel(axes, name, columns)
        bare(axes, grid="y")
    for axes in grid[:1]:  # on one scale, which holds every interval only now
        axes.set_ylim(bottom=0)
    figure.supylabel("% of the documents", fontsize=7)
    _name_periods(figure, grid, time["cells"], fontsize=6)


def draw_stream(figure: Any, time: Mapping[str, Any], names: Sequence[str], colours: Sequence[str]) -> None:
    """Draw the shares of the topics over periods as layers of one hundred per cent; what is missing belongs to no topic shown.

    Periods without documents are a gap; a period between two such is half a period wide, of many periods more, to be seen.
    """
    axes = figure.add_subplot()
    n = len(time["cells"])
    shares = np.array([percents(time["series"][k]["share"]) for k in range(len(names))])
    hatches, layers = _hatches(colours[: len(names)]), list[Any]()
    left, right, half = n - 1.0, 0.0, min(max(n / 150, 0.25), 0.75)
    for first, last in stretches(np.isfinite(shares).all(axis=0)):
        x, y = np.arange(first, last + 1.0), shares[:, first : last + 1]
        alone = first == last
        if alone:
            x, y = first + np.array([-half, half]), np.repeat(y, 2, axis=1)
        layers = axes.stackplot(
            x, y, colors=list(colours[: len(names)]), alpha=0.85, edgecolor="white", linewidth=0 if alone else 0.5
        )
        for layer, hatch in zip(layers, hatches, strict=True):
            layer.set_hatch(hatch)
        left, right = min(left, x[0]), max(right, x[-1])
    axes.set_xlim(min(left, 0), max(right, n - 1))
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of the documents")
    axes.legend(layers[::-1], names[: len(layers)][::-1], loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    bare(axes)
    _name_periods(figure, [axes], time["cells"], fontsize=8)


def _hatches(colours: Sequence[str]) -> list[str | None]:
    """Return the hatch of each layer: none for the first colours, others in turn for those that eyes may not tell from them."""
    others = [colour for colour in colours if colour not in PALETTE]
    marks = HATCHES[1:]
    return [None if colour in PALETTE else marks[others.index(colour) % len(marks)] for colour in colours]


def _name_periods(figure: Any, grid: Sequence[Any], cells: Sequence[str], *, fontsize: float) -> None:
    """Write as many names of periods below the panels as have room beside each other, evenly spaced."""
    n, axes = len(cells), grid[0]
    for panel in grid:
        panel.set_xticks([0, n - 1], [cells[0], cells[-1]], fontsize=fontsize)
    figure.draw_without_rendering()  # lays the panels out; names between the ends change nothing in it
    letter = max(t.get_window_extent().width / len(t.get_text()) for t in axes.get_xticklabels())
    wide = letter * (max(map(len, cells)) + 1.5)
    (left, _), (right, _) = axes.transData.transform([(0, 0), (n - 1, 0)])
    ticks = np.arange(n)[:: max(int(np.ceil(wide * (n - 1) / (right - left))), 1)]
    for panel in grid:
        panel.set_xticks(ticks, [cells[i] for i in ticks], fontsize=fontsize)


def stretches(known: BoolArray) -> list[tuple[int, int]]:
    """Return the first and the last place of each stretch of neighbours that are true."""
    edges = np.flatnonzero(np.diff(np.r_[False, known, False].astype(np.int8))).tolist()
    return [(first, after - 1) for first, after in zip(edges[::2], edges[1::2], strict=True)]
