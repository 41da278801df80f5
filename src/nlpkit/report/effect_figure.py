"""Effects of a column of documents on topics: shares at its values, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nlpkit.report.chart import COLOURS
from nlpkit.report.figures import bare, name_panel, panels, wrapped
from nlpkit.types import FloatArray

COLUMNS = 3
LONG_TICK = 7  # characters of the values under a panel, of which three have room


def draw_effects(
    figure: Any,
    *,
    values: Sequence[Any],
    shares: Mapping[str, FloatArray],
    names: Sequence[str],
    column: str,
    connected: bool,
) -> None:
    """Draw the share of each topic at each value of a column, a panel for each topic, all on one scale.

    Args:
        values (N,): numbers, dates or categories; shares: share, low, high (K, N) in [0, 1], low and high not held to it;
        connected: whether values are joined by a line with a band, else each is a point with a bar.
    """
    grid = panels(figure, len(names), min(COLUMNS, len(names)), sharey=not connected)
    at = np.array(values, np.float64) if connected and not isinstance(values[0], str) else np.arange(len(values))
    shown = [value if isinstance(value, str) else f"{value:g}" for value in values]
    ticks = np.linspace(0, len(at) - 1, 3 if max(map(len, shown)) > LONG_TICK else 5).round().astype(int)
    if connected and isinstance(values[0], str) and (begins := _years(values)):
        ticks, shown = np.array(begins), [value[:-6] for value in values]
    limits = (min(100 * shares["low"].min(), 0), 100 * shares["high"].max())
    for k, (axes, name) in enumerate(zip(grid, names, strict=True)):
        share, low, high = (100 * shares[key][k] for key in ("share", "low", "high"))
        if connected:
            axes.fill_between(at, low, high, color=COLOURS[0], alpha=0.2, lw=0)
            axes.plot(at, share, color=COLOURS[0], lw=1.2)
            axes.set_xticks(at[ticks], [shown[i] for i in ticks], fontsize=6)
            axes.set_ylim(*limits)
        else:
            axes.errorbar(share, at, xerr=[share - low, high - share], fmt="o", ms=3, lw=1, color=COLOURS[0])
            axes.set_yticks(at, [wrapped(value, 24) for value in shown], fontsize=6)
            axes.set_xlim(limits[0] - 0.03 * limits[1], 1.03 * limits[1])
            axes.set_ylim(len(at) - 0.4, -0.6)  # downwards
            axes.axvline(0, color=COLOURS[1], lw=0.4)
        axes.tick_params(axis="y" if connected else "x", labelsize=6)
        name_panel(axes, name, min(COLUMNS, len(names)))
        bare(axes, grid="y" if connected else "x")
    if connected:
        figure.supylabel("% of a document", fontsize=7)
        figure.supxlabel(column, fontsize=7)
    else:
        figure.supxlabel("% of a document", fontsize=7)
        figure.supylabel(column, fontsize=7)


def _years(dates: Sequence[str]) -> list[int]:
    """Return where years begin among ascending ISO dates, at most five of them; nothing of fewer than three."""
    begins = [i for i in range(1, len(dates)) if dates[i][:-6] != dates[i - 1][:-6]]
    return begins[:: -(-len(begins) // 5)] if len(begins) > 2 else []
