"""Mean ranks of methods on one axis, those that do not differ joined by bars (Demšar 2006, figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nlpkit.report.chart import COLOURS
from nlpkit.report.figures import bare

ROW, LEFT_OUT = 0.55, 3.0  # cm of a method; of axis, title and bars


def rank_height(methods: int) -> float:
    """Return the usual height of the picture in cm."""
    return LEFT_OUT + ROW * methods


def draw_ranks(
    figure: Any, *, ranks: Mapping[str, float], difference: float, groups: Sequence[Sequence[float]], title: str
) -> None:
    """Draw the mean rank of each method with half the critical difference on either side; bars join methods that do not differ.

    Args:
        ranks: mean rank of each method, 1 the best; difference: the critical difference; groups: (low, high) of each bar.
    """
    axes = figure.add_subplot()
    names = sorted(ranks, key=lambda name: (ranks[name], name))
    for place, name in enumerate(names):
        axes.errorbar(
            ranks[name], place, xerr=difference / 2, fmt="o", ms=4, lw=1, capsize=2, color=COLOURS[0], zorder=3
        )
    above = -0.8
    for low, high in groups:
        axes.plot([low, high], [above, above], color=COLOURS[1], lw=2.5, solid_capstyle="butt")
        above -= 0.45
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, above)  # downwards
    axes.set_xlabel("mean rank, 1 is the best", fontsize=7)
    axes.set_title(title, fontsize=7, loc="left")
    axes.tick_params(labelsize=7)
    bare(axes, grid="x")
