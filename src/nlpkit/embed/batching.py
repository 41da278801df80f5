"""Batches of documents for the encoder: sorted by length, cut by a budget of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """Documents that are encoded together.

    rows    (B,) int64, indices of the documents, longest first
    groups  (count, width) per run of documents that are laid out with the same width; the counts sum to B
    """

    rows: IntArray
    groups: tuple[tuple[int, int], ...]

    @property
    def tokens(self) -> int:
        """Tokens with padding: Σ count · width."""
        return sum(count * width for count, width in self.groups)


def plan_batches(lengths: npt.ArrayLike, batch_tokens: int, *, pad: bool = False) -> list[Batch]:
    """Cut documents of `lengths` (U,), in tokens, into batches of at most `batch_tokens` tokens, longest first.

    Documents of one length stay in the order they came. A document longer than the budget is a batch of its own.
    With `pad`, a batch is one rectangle as wide as its longest document and the padding counts; without, it is
    made of one rectangle per length and nothing is padded. The plan is a function of its arguments alone.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-lengths, kind="stable")
    widths = lengths[order]
    ends = np.cumsum(widths)
    batches: list[Batch] = []
    start, n = 0, len(lengths)
    while start < n:
        if pad:
            stop = min(n, start + max(1, batch_tokens // max(1, int(widths[start]))))
        else:
            before = int(ends[start]) - int(widths[start])
            stop = max(start + 1, int(np.searchsorted(ends, before + batch_tokens, side="right")))
        batches.append(make_batch(order[start:stop], widths[start:stop], pad=pad))
        start = stop
    return batches


def make_batch(rows: IntArray, widths: IntArray, *, pad: bool) -> Batch:
    """Return the batch of `rows` (B,) whose lengths are `widths` (B,), sorted from long to short."""
    if pad:
        return Batch(rows, ((len(rows), int(widths[0])),))
    cuts = [0, *(np.flatnonzero(np.diff(widths)) + 1).tolist(), len(widths)]
    return Batch(rows, tuple((b - a, int(widths[a])) for a, b in pairwise(cuts)))


def split_batch(batch: Batch, lengths: IntArray, *, pad: bool) -> tuple[Batch, Batch]:
    """Return the two halves of a batch of at least two documents; `lengths` (U,) are those of the plan."""
    half = len(batch.rows) // 2
    first, second = batch.rows[:half], batch.rows[half:]
    return make_batch(first, lengths[first], pad=pad), make_batch(second, lengths[second], pad=pad)
