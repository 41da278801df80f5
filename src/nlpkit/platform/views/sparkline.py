"""Figures of characters: lines of bars, and a chart of values by steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.platform.types import FloatArray

BARS = "▁▂▃▄▅▆▇█"
WIDTH, HEIGHT = 60, 8


def sparkline(values: FloatArray, wide: int = 1, missing: str = "·") -> str:
    """Return a bar for each value, as high as its share of the largest and so many characters wide; `missing` for nan."""
    known = values[~np.isnan(values)]
    most = known.max() if len(known) and known.max() > 0 else 1.0
    bars = [missing if np.isnan(v) else BARS[min(int(len(BARS) * v / most), len(BARS) - 1)] for v in values]
    return "".join(bar * wide for bar in bars)


def spark(values: Sequence[float]) -> str:
    """Return values as a line of bars, from the least to the most of them."""
    cells = _columns(values)
    low, high = min(cells), max(cells)
    span = (high - low) or 1.0
    return "".join(BARS[round((v - low) / span * 7)] for v in cells)


def chart(values: Sequence[float], steps: Sequence[int], title: str) -> str:
    """Return a chart of text: values against steps, at most WIDTH columns of means."""
    cells = _columns(values)
    low, high = float(min(cells)), float(max(cells))
    span = (high - low) or 1.0
    heights = [round((v - low) / span * (HEIGHT * 8 - 1)) + 1 for v in cells]
    lines = [title]
    for row in range(HEIGHT - 1, -1, -1):
        edge = f"{high:8.3f}" if row == HEIGHT - 1 else f"{low:8.3f}" if row == 0 else " " * 8
        body = "".join(" " if h <= row * 8 else BARS[min(h - row * 8, 8) - 1] for h in heights)
        lines.append(f"{edge} ┤{body}")
    first, end = f"{steps[0]:,}", f"{steps[-1]:,}"
    lines.append(" " * 9 + "└" + "─" * len(cells))
    lines.append(" " * 10 + "step " + first + end.rjust(max(len(end) + 1, len(cells) - 5 - len(first))))
    return "\n".join(line.rstrip() for line in lines)


def _columns(values: Sequence[float]) -> list[float]:
    numbers = np.asarray(values, np.float64)
    if len(numbers) <= WIDTH:
        return [float(v) for v in np.repeat(numbers, max(1, min(4, WIDTH // len(numbers))))]
    return [float(part.mean()) for part in np.array_split(numbers, WIDTH)]
