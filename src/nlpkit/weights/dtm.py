"""Term counts of documents and classes as CSR matrices.

Parts, in this order:
- Document-term and class-term counts as CSR matrices.
- Term counts of classes from the counts of documents that come in batches: only the classes are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray, LongArray, TokenTable, check_width
from nlpkit.weights.kernels import count_rows


def count_terms(tokens: TokenTable) -> CsrMatrix:
    """Return the document-term matrix tf_dv (D, V) int32 of a token table; term ids of a row ascend.

    Raises:
        InputError: the table does not fit together; OutOfMemoryError: a document of more tokens than int32 counts.
    """
    tokens.check()
    check_width(int(np.diff(tokens.offsets).max(initial=0)), "tokens of one document")
    indptr, indices, counts = count_rows(tokens.offsets, tokens.term_ids, tokens.n_terms)
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)  # scipy widens the indices of a matrix to the type of its offsets
    dtm = sparse.csr_array((counts, indices, indptr), shape=(tokens.n_docs, tokens.n_terms))
    dtm.has_canonical_format = True
    return dtm


def group_rows(matrix: CsrMatrix, groups: IntArray, n_groups: int) -> CsrMatrix:
    """Return the sums of the rows of each group (n_groups, V); rows of group -1 are left out.

    Args:
        matrix: (D, V) CSR.
        groups: (D,) group of each row, -1 for none.
        n_groups: number of groups.
    """
    rows = np.flatnonzero(groups >= 0)
    wide = np.result_type(matrix.dtype, np.int64)  # a group may have more of a term than int32 counts
    member = sparse.csr_array((np.ones(len(rows), wide), (groups[rows], rows)), shape=(n_groups, matrix.shape[0]))
    return sparse.csr_array(member @ matrix)


def scale_rows(matrix: CsrMatrix, weights: FloatArray) -> CsrMatrix:
    """Return the matrix with row d multiplied by weights[d], as float64 CSR (D, V)."""
    rows = sparse.csr_array(matrix)
    data = rows.data * np.repeat(weights, np.diff(rows.indptr))
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def without_terms(counts: CsrMatrix, terms: Sequence[int]) -> CsrMatrix:
    """Return counts (U, V) in which some terms do not occur."""
    kept = np.ones(counts.shape[1], counts.dtype)
    kept[list(terms)] = 0
    left = sparse.csr_array(counts.multiply(kept[None, :]))
    left.eliminate_zeros()
    left.sort_indices()
    return left


def document_frequency(dtm: CsrMatrix) -> npt.NDArray[np.int64]:
    """Return the number of documents that hold each term, df_v (V,)."""
    return np.bincount(dtm.indices[dtm.data > 0], minlength=dtm.shape[1])


# ------------------------------------------------------------------------------------------------------------------------
# Term counts of classes from the counts of documents that come in batches: only the classes are kept.

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
