"""Words as points with their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nlpkit.report.chart import COLOURS
from nlpkit.types import FloatArray


def draw_word_places(
    figure: Any, *, places: FloatArray, names: Sequence[str], n_asked: int, shares: FloatArray
) -> None:
    """Draw words at their places (n, 2): the first n_asked in bold, the others as their neighbours."""
    axes = figure.add_subplot()
    for i, ((x, y), name) in enumerate(zip(places.tolist(), names, strict=True)):
        colour, weight = (COLOURS[1], "bold") if i < n_asked else (COLOURS[0], "normal")
        axes.plot(x, y, "o", color=colour, markersize=2.5)
        axes.annotate(name, (x, y), xytext=(3, 2), textcoords="offset points", fontsize=7, fontweight=weight)
    for spine in ("top", "right"):
        axes.spines[spine].set_visible(False)
    axes.margins(0.12)
    axes.set_xlabel(f"first component, {100 * shares[0]:.0f} % of the variance", fontsize=7)
    axes.set_ylabel(f"second component, {100 * shares[1]:.0f} %", fontsize=7)
    axes.tick_params(labelsize=6)
