"""Pictures of a run of scale: positions with intervals, weights of words, mean positions of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nlpkit.platform.types import FloatArray
from nlpkit.platform.views.chart import COLOURS
from nlpkit.platform.views.figures import bare

DASHES = ("-", "--", ":", "-.")  # told apart without colours, too
MOST = 60  # rows of a picture
NAMED = 24  # words with their names, half of them at each end


def draw_positions(figure: Any, *, names: Sequence[str], values: Mapping[str, FloatArray], title: str) -> None:
    """Draw the position of each row with its interval; values: position, low, high (N,)."""
    axes = figure.add_subplot()
    position, low, high = (values[name] for name in ("position", "low", "high"))
    y = np.arange(len(names))
    axes.hlines(y, low, high, color=COLOURS[0], lw=1.0, alpha=0.6)
    axes.plot(position, y, "o", ms=3.5, color=COLOURS[0])
    axes.set_yticks(y, names, fontsize=5.5 if len(names) > 30 else 7)
    axes.set_ylim(len(names) - 0.4, -0.6)  # downwards
    axes.set_xlabel(title, fontsize=7)
    axes.tick_params(axis="x", labelsize=7)
    bare(axes, grid="x")


def draw_periods(
    figure: Any, *, periods: Sequence[str], series: Mapping[str, Mapping[str, FloatArray]], title: str
) -> None:
    """Draw mean positions over periods, a line with its interval for each group; series: position, low, high (P,) by group."""
    axes = figure.add_subplot()
    x = np.arange(len(periods))
    for i, (name, values) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        axes.fill_between(x, values["low"], values["high"], color=colour, alpha=0.15, lw=0)
        axes.plot(
            x, values["position"], marker="o", ms=2.5, lw=1.2, color=colour, label=name, ls=DASHES[i % len(DASHES)]
        )
    shown = np.unique(np.linspace(0, len(x) - 1, min(len(x), 8)).round().astype(int))
    axes.set_xticks(shown, [periods[i] for i in shown], fontsize=7)
    axes.set_ylabel(title, fontsize=7)
    if len(series) > 1:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    bare(axes, grid="y")


def draw_weights(
    figure: Any, *, terms: Sequence[str], weights: FloatArray, heights: FloatArray, labels: tuple[str, str]
) -> None:
    """Draw words by weight and frequency; the outermost of those that are frequent for their weight have their names.

    heights (V,): psi of Wordfish, else the logarithm of the frequency. labels: of both axes.
    """
    axes = figure.add_subplot()
    axes.plot(weights, heights, "o", ms=1.5, color="#9a9a9a", alpha=0.6, mew=0, rasterized=len(terms) > 5000)
    spread = np.abs(weights - np.median(weights)) * (heights - heights.min() + 0.5)
    order = np.argsort(-spread, kind="stable")
    places = np.column_stack([weights, heights]) / np.maximum([np.ptp(weights), np.ptp(heights)], 1e-12)
    named = list[int]()
    for below in (True, False):
        for i in order[(weights[order] < np.median(weights)) == below][: 4 * NAMED].tolist():
            near = any(
                (np.abs(places[i] - places[j]) < (0.09, 0.025)).all() for j in named
            )  # one name would lie over the other
            if not near and len(named) < NAMED // (2 if below else 1):
                named.append(i)
                axes.text(weights[i], heights[i], terms[i], fontsize=5.5, ha="center", va="center", color=COLOURS[0])
    axes.set_xlabel(labels[0], fontsize=7)
    axes.set_ylabel(labels[1], fontsize=7)
    axes.tick_params(labelsize=7)
    bare(axes, grid="x")
