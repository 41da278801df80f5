"""Term counts of classes from the counts of documents that come in batches: only the classes are kept."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nlpkit.types import CsrMatrix, IntArray, LongArray
from nlpkit.weighting.dtm import group_rows

_FOLD_FROM = 1 << 22  # entries that wait before they are summed


class ClassTermCounts:
    """Sums tf_cv of the documents of each class, batch by batch; integers, so the batches do not matter.

    Memory: twice the entries of the result; sorting is amortised, as what waits is summed when it outgrows what is there.
    """

    def __init__(self, n_terms: int) -> None:
        self._n_terms = n_terms
        self._rows: list[IntArray] = []
        self._columns: list[IntArray] = []
        self._data: list[LongArray] = []
        self._folded = self._waiting = 0
        self._sizes: LongArray = np.zeros(0, np.int64)

    def add(self, classes: IntArray, counts: CsrMatrix) -> None:
        """Add documents (D,) of the given classes, -1 for none, with counts (D, V) CSR."""
        n = max(len(self._sizes), int(classes.max(initial=-1)) + 1)
        sizes = np.bincount(classes[classes >= 0], minlength=n).astype(np.int64)
        sizes[: len(self._sizes)] += self._sizes
        self._sizes = sizes
        # classes of this batch alone: there may be as many as documents
        here, local = np.unique(classes, return_inverse=True)
        first = int(here[0] < 0) if len(here) else 0
        grouped = group_rows(counts, local.astype(np.int32) - first, len(here) - first)
        self._append(np.repeat(here[first:], np.diff(grouped.indptr)), grouped.indices, grouped.data)
        if self._waiting > max(self._folded, _FOLD_FROM):
            folded = self._sum(n)
            self._rows, self._columns, self._data, self._waiting = [], [], [], 0
            self._append(np.repeat(np.arange(n), np.diff(folded.indptr)), folded.indices, folded.data)
            self._folded, self._waiting = folded.nnz, 0

    def _append(self, rows: IntArray, columns: IntArray, data: LongArray) -> None:
        self._rows.append(rows.astype(np.int32))
        self._columns.append(columns.astype(np.int32))
        self._data.append(data.astype(np.int64))
        self._waiting += len(data)

    def _sum(self, n_classes: int) -> CsrMatrix:
        if not self._data:
            return sparse.csr_array((n_classes, self._n_terms), dtype=np.int64)
        places = (np.concatenate(self._rows), np.concatenate(self._columns))
        matrix = sparse.coo_array((np.concatenate(self._data), places), shape=(n_classes, self._n_terms)).tocsr()
        matrix.sort_indices()
        return matrix

    def finish(self, order: IntArray) -> tuple[CsrMatrix, LongArray]:
        """Return counts (C, V) int64 CSR, term ids of a row ascending, and documents (C,) of the classes in an order.

        Args:
            order: (C,) the number under which each class was added.
        """
        return self._sum(len(self._sizes))[order], self._sizes[order]
