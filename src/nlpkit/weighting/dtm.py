"""Document-term and class-term counts as CSR matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from nlpkit.kernels.counts import count_rows
from nlpkit.types import CsrMatrix, FloatArray, IntArray, TokenTable
from nlpkit.widths import check_width


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
