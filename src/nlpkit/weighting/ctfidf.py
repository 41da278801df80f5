"""Class-based tf-idf (Grootendorst 2022; lecture L4246), on CSR and vectorised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.types import CsrMatrix, Float32Array, FloatArray, IntArray


def class_tfidf(class_counts: CsrMatrix) -> CsrMatrix:
    """Return the c-tf-idf weights W (C, V) float64 of a class-term count matrix.

        W_cv = tf_cv / Σ_u tf_cu · ln(1 + A / tf_v),   tf_v = Σ_c tf_cv,   A = (Σ_cv tf_cv) / C

    A, the mean number of words per class, is not truncated to an integer; BERTopic 0.17 truncates it
    (`ClassTfidfTransformer`, int(...)), else the numbers agree. A class without words is a row of zeros.

    Args:
        class_counts: (C, V) CSR counts, C ≥ 1.
    """
    counts = sparse.csr_array(class_counts, dtype=np.float64)
    words_per_class: FloatArray = np.asarray(counts.sum(axis=1)).ravel()
    idf = inverse_class_frequency(counts)
    scale = np.divide(1.0, words_per_class, out=np.zeros_like(words_per_class), where=words_per_class > 0)
    weights = counts.copy()
    weights.data = counts.data * np.repeat(scale, np.diff(counts.indptr)) * idf[counts.indices]
    return weights


def inverse_class_frequency(class_counts: CsrMatrix) -> FloatArray:
    """Return ln(1 + A / tf_v) (V,), the second factor of c-tf-idf; 0 for a term that never occurs."""
    tf = np.asarray(class_counts.sum(axis=0)).ravel().astype(np.float64)
    mean_words = float(tf.sum()) / max(class_counts.shape[0], 1)
    icf: FloatArray = np.log1p(np.divide(mean_words, tf, out=np.zeros_like(tf), where=tf > 0))
    return icf


@dataclass(frozen=True, slots=True)
class TopTerms:
    """The strongest terms of each class: term_ids (C, n) int32, -1 where a class has fewer; weights (C, n) float32."""

    term_ids: IntArray
    weights: Float32Array


def top_terms(weights: CsrMatrix, n: int) -> TopTerms:
    """Return the n terms of highest weight of each row, ties by term id; only weights above zero count."""
    matrix = sparse.csr_array(weights)
    C = matrix.shape[0]
    term_ids = np.full((C, n), -1, np.int32)
    values = np.zeros((C, n), np.float32)
    for c in range(C):
        start, end = matrix.indptr[c], matrix.indptr[c + 1]
        data, terms = matrix.data[start:end], matrix.indices[start:end]
        order = np.lexsort((terms, -data))[:n]
        order = order[data[order] > 0]
        term_ids[c, : len(order)] = terms[order]
        values[c, : len(order)] = data[order]
    return TopTerms(term_ids, values)
