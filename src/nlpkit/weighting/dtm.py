"""Document-term and class-term counts as CSR matrices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from nlpkit.types import CsrMatrix, FloatArray, IntArray, LongArray, TokenTable


def count_terms(tokens: TokenTable) -> CsrMatrix:
    """Return the document-term matrix tf_dv (D, V) int32 of a token table; term ids of a row ascend."""
    # copies: summing duplicates sorts in place, and the token table is the caller's
    dtm = sparse.csr_array(
        (np.ones(len(tokens.term_ids), np.int32), tokens.term_ids.copy(), _narrow(tokens.offsets)),
        shape=(tokens.n_docs, tokens.n_terms),
    )
    dtm.sum_duplicates()
    return dtm


def _narrow(offsets: LongArray) -> IntArray | LongArray:
    """A copy of offsets, in 32 bits where they fit: scipy widens the indices of a matrix to the type of its offsets."""
    return offsets.astype(np.int32) if offsets[-1] <= np.iinfo(np.int32).max else offsets.copy()


def group_rows(matrix: CsrMatrix, groups: IntArray, n_groups: int) -> CsrMatrix:
    """Return the sums of the rows of each group (n_groups, V); rows of group -1 are left out.

    Args:
        matrix: (D, V) CSR.
        groups: (D,) group of each row, -1 for none.
        n_groups: number of groups.
    """
    rows = np.flatnonzero(groups >= 0)
    member = sparse.csr_array(
        (np.ones(len(rows), matrix.dtype), (groups[rows], rows)), shape=(n_groups, matrix.shape[0])
    )
    return sparse.csr_array(member @ matrix)


def scale_rows(matrix: CsrMatrix, weights: FloatArray) -> CsrMatrix:
    """Return the matrix with row d multiplied by weights[d], as float64 CSR (D, V)."""
    rows = sparse.csr_array(matrix)
    data = rows.data * np.repeat(weights, np.diff(rows.indptr))
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def document_frequency(dtm: CsrMatrix) -> npt.NDArray[np.int64]:
    """Return the number of documents that hold each term, df_v (V,)."""
    return np.bincount(dtm.indices[dtm.data > 0], minlength=dtm.shape[1])
