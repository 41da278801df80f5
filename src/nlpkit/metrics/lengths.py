"""Lengths of documents."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nlpkit.types import IntArray


@dataclass(frozen=True, slots=True)
class LengthSummary:
    """Tokens per document: extremes, quartiles (linear interpolation) and mean; `empty` counts documents without any."""

    n_docs: int
    empty: int
    min: int
    q1: float
    median: float
    mean: float
    q3: float
    max: int


@dataclass(frozen=True, slots=True)
class LengthBin:
    """Documents of `low` to `high` tokens, both included; high None: and more."""

    low: int
    high: int | None
    documents: int


def summarize_lengths(lengths: IntArray) -> LengthSummary:
    """Return the summary of tokens per document (D,); all zero without documents."""
    if not len(lengths):
        return LengthSummary(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0)
    q1, median, q3 = (float(q) for q in np.quantile(lengths, (0.25, 0.5, 0.75)))
    mean = int(lengths.sum(dtype=np.int64)) / len(lengths)
    return LengthSummary(
        len(lengths), int((lengths == 0).sum()), int(lengths.min()), q1, median, mean, q3, int(lengths.max())
    )


def bin_lengths(lengths: IntArray, n_bins: int = 10) -> list[LengthBin]:
    """Return about n_bins bins of one round width (1, 2, 5, 10, 20 …), the last one open when few documents are far longer."""
    if not len(lengths):
        return []
    smallest, longest = int(lengths.min()), int(lengths.max())
    usual = int(np.quantile(lengths, 0.98, method="higher"))
    width = _round_up((usual - smallest + 1) / n_bins)
    low = smallest // width * width
    end = max(usual // width + 1, low // width + 1) * width
    edges = np.arange(low, end + 1, width)
    counts = np.bincount(np.minimum((lengths - low) // width, len(edges) - 1), minlength=len(edges)).tolist()
    bins = [LengthBin(int(a), int(a) + width - 1, n) for a, n in zip(edges[:-1], counts[:-1], strict=True)]
    return [*bins, LengthBin(int(edges[-1]), None, counts[-1])] if longest >= edges[-1] else bins


def _round_up(x: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, 50 … that is not below x."""
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power >= math.ceil(x):
                return step * power
        power *= 10
