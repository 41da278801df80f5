"""Topic coherence by document co-occurrence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.kernels.cooccurrence import joint_document_counts
from nlpkit.types import CsrMatrix, FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class Postings:
    """The ascending documents of each term: indptr (V+1,), indices (nnz,) int32; n_docs D. Built once per corpus."""

    indptr: IntArray
    indices: IntArray
    n_docs: int


def postings(dtm: CsrMatrix) -> Postings:
    """Return the document lists of the terms of a document-term matrix (D, V)."""
    columns = sparse.csc_array(dtm)
    columns.sort_indices()
    return Postings(columns.indptr, columns.indices, dtm.shape[0])


def npmi_by_document(term_ids: IntArray, reference: Postings) -> FloatArray:
    """Return the mean NPMI over the pairs of top terms of each topic (K,), in [-1, 1]; nan for a topic of under two terms.

        NPMI(u, v) = ln(p(u, v) / (p(u) p(v))) / -ln p(u, v),   p by documents

    A pair that never co-occurs scores -1 (Bouma 2009), one that shares every document of the corpus 1. A term that is in
    no document scores -1 with every other.

    Args:
        term_ids: (K, n) top terms of each topic, -1 for none.
        reference: document lists of the reference corpus.
    """
    term_ids = np.ascontiguousarray(term_ids, np.int32)
    K, n = term_ids.shape
    joint = np.zeros((K, n, n), np.int64)
    joint_document_counts(term_ids, reference.indptr, reference.indices, joint)
    df = np.diagonal(joint, axis1=1, axis2=2)
    rows, columns = np.triu_indices(n, 1)
    present = (term_ids[:, rows] >= 0) & (term_ids[:, columns] >= 0)
    scores = npmi(joint[:, rows, columns], df[:, rows], df[:, columns], reference.n_docs)
    pairs = present.sum(axis=1)
    total = np.where(present, scores, 0.0).sum(axis=1)
    means: FloatArray = np.divide(total, pairs, out=np.full(K, np.nan), where=pairs > 0)
    return means


def npmi(joint: LongArray, df_u: LongArray, df_v: LongArray, n_docs: int) -> FloatArray:
    """Return NPMI of pairs from document counts, elementwise; -1 where joint is 0 and 1 where it is n_docs."""
    result = np.full(joint.shape, -1.0)
    seen = joint > 0
    p_uv = joint[seen] / n_docs
    pmi = np.log(p_uv) - np.log(df_u[seen] / n_docs) - np.log(df_v[seen] / n_docs)
    surprise = -np.log(p_uv)
    result[seen] = np.where(surprise > 0, pmi / np.where(surprise > 0, surprise, 1.0), 1.0)
    return result
