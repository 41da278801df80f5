"""Terms against classes: counts that add up batch by batch, and from which every score of `selection` is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.errors import InputError
from nlpkit.types import CsrMatrix, FloatArray, IntArray, LongArray

MAX_CELLS = 1 << 28  # of one (J, V) array: 2 GB


@dataclass(frozen=True, slots=True)
class Contingency:
    """The contingency table of classes and terms.

    present (J, V) int64: documents of the class that hold the term; sizes (J,) int64: documents of the class;
    sums, squares (J, V) float64: Σ x and Σ x² over the documents of the class of the counts or weights x, or None.
    """

    present: LongArray
    sizes: LongArray
    sums: FloatArray | None = None
    squares: FloatArray | None = None

    @property
    def n_docs(self) -> int:
        """M: documents of all classes."""
        return int(self.sizes.sum())

    @property
    def df(self) -> LongArray:
        """Documents of all classes that hold each term (V,)."""
        df: LongArray = self.present.sum(axis=0)
        return df

    def columns(self, start: int, stop: int) -> Contingency:
        """Return the part of some terms; shares memory."""

        def cut(a: Any) -> Any:
            return None if a is None else a[:, start:stop]

        return Contingency(cut(self.present), self.sizes, cut(self.sums), cut(self.squares))

    def one_against_rest(self, j: int) -> Contingency:
        """Return the table of two rows: class j, and all others together."""
        rest = np.arange(len(self.sizes)) != j

        def two(a: Any) -> Any:  # the rest is summed: a difference of sums of weights could come out below zero
            return None if a is None else np.stack([a[j], a[rest].sum(axis=0)])

        return Contingency(two(self.present), two(self.sizes), two(self.sums), two(self.squares))


class ContingencyCounter:
    """The accumulator of a `Contingency`. Sums continue document by document: batches of any size give the same bits."""

    def __init__(self, n_terms: int, *, with_values: bool) -> None:
        """Start with no class; with_values: sums and squares of the counts or weights are wanted."""
        self.n_unlabelled = 0
        self._n_terms = n_terms
        self._sizes = np.zeros(0, np.int64)
        self._present = np.zeros(0, np.int64)
        self._sums = np.zeros(0) if with_values else None
        self._squares = np.zeros(0) if with_values else None

    def add(self, matrix: CsrMatrix, classes: IntArray) -> None:
        """Add documents: counts or weights (D_b, V) CSR, every stored entry a term that is there; class (D_b,), -1 for none.

        Raises:
            InputError: classes times terms do not fit into memory.
        """
        self._grow(int(classes.max(initial=-1)) + 1)
        known = classes >= 0
        self.n_unlabelled += int(len(classes) - known.sum())
        self._sizes += np.bincount(classes[known], minlength=len(self._sizes))
        lengths = np.diff(matrix.indptr)
        cells = np.repeat(classes.astype(np.int64) * self._n_terms, lengths) + matrix.indices
        values = matrix.data
        if not known.all():
            inside = np.repeat(known, lengths)
            cells, values = cells[inside], values[inside]
        np.add.at(self._present, cells, 1)
        if self._sums is not None and self._squares is not None:
            x = values.astype(np.float64)
            np.add.at(self._sums, cells, x)
            np.add.at(self._squares, cells, x * x)

    def _grow(self, n_classes: int) -> None:
        n_new = n_classes - len(self._sizes)
        if n_new <= 0:
            return
        if n_classes * self._n_terms > MAX_CELLS:
            raise InputError(
                f"more than {n_classes - 1:,} classes times {self._n_terms:,} terms do not fit into memory; use a "
                "column of fewer classes, or fewer terms (`min_df`)"
            )
        self._sizes = np.append(self._sizes, np.zeros(n_new, np.int64))
        self._present = np.append(self._present, np.zeros(n_new * self._n_terms, np.int64))
        if self._sums is not None and self._squares is not None:
            self._sums = np.append(self._sums, np.zeros(n_new * self._n_terms))
            self._squares = np.append(self._squares, np.zeros(n_new * self._n_terms))

    def table(self, order: Sequence[int] | None = None) -> Contingency:
        """Return the table of the documents added so far, classes as numbered, or in another order: order[i] is the number of class i."""
        rows = range(len(self._sizes)) if order is None else order

        def shaped(a: Any) -> Any:
            return None if a is None else a.reshape(-1, self._n_terms)[list(rows)]

        n = self._sizes[list(rows)]
        return Contingency(shaped(self._present), n, shaped(self._sums), shaped(self._squares))
