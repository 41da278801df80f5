"""Class-based tf-idf (Grootendorst 2022; lecture), on CSR and vectorised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.types import CsrMatrix, Float32Array, FloatArray, IntArray


def class_tfidf(
    class_counts: CsrMatrix, *, reduce_frequent_words: bool = False, bm25: bool = False, truncate_mean: bool = False
) -> CsrMatrix:
    """Return the c-tf-idf weights W (C, V) float64 of a class-term count matrix.

        W_cv = tf_cv / Σ_u tf_cu · ln(1 + A / tf_v),   tf_v = Σ_c tf_cv,   A = (Σ_cv tf_cv) / C

    With `reduce_frequent_words` the first factor is its square root, with `bm25` the second one is
    ln(1 + (A − tf_v + ½) / (tf_v + ½)), below 0 for terms of more than A + ½ occurrences. A, the mean number of words per
    class, is not truncated to an integer; BERTopic 0.17 truncates it (`ClassTfidfTransformer`, int(...)): with
    `truncate_mean` the numbers agree for every setting. A class without words is a row of zeros.

    Args:
        class_counts: (C, V) CSR counts, C ≥ 1.
    """
    weights = class_shares(class_counts)
    if reduce_frequent_words:
        weights.data = np.sqrt(weights.data)
    weights.data *= inverse_class_frequency(class_counts, bm25=bm25, truncate_mean=truncate_mean)[weights.indices]
    return weights


def class_shares(class_counts: CsrMatrix) -> CsrMatrix:
    """Return φ_cv = tf_cv / Σ_u tf_cu (C, V) float64, the share of each term in the words of a class; 0 where it has none."""
    shares = sparse.csr_array(class_counts, dtype=np.float64, copy=True)
    words_per_class: FloatArray = np.asarray(shares.sum(axis=1)).ravel()
    scale = np.divide(1.0, words_per_class, out=np.zeros_like(words_per_class), where=words_per_class > 0)
    shares.data *= np.repeat(scale, np.diff(shares.indptr))
    return shares


def inverse_class_frequency(class_counts: CsrMatrix, *, bm25: bool = False, truncate_mean: bool = False) -> FloatArray:
    """Return the second factor of c-tf-idf (V,), see `class_tfidf`; 0 for a term that never occurs."""
    tf = np.asarray(class_counts.sum(axis=0)).ravel().astype(np.float64)
    mean_words = float(tf.sum()) / max(class_counts.shape[0], 1)
    if truncate_mean:
        mean_words = float(int(mean_words))
    occurs = tf > 0
    if bm25:
        return np.where(occurs, np.log1p((mean_words - tf + 0.5) / (tf + 0.5)), 0.0)
    icf: FloatArray = np.log1p(np.divide(mean_words, tf, out=np.zeros_like(tf), where=occurs))
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
        if len(data) > 4 * n:  # sort the few that can be among the first; ties with the n-th stay in
            least = np.partition(data, len(data) - n)[len(data) - n]
            data, terms = data[data >= least], terms[data >= least]
        order = np.lexsort((terms, -data))[:n]
        order = order[data[order] > 0]
        term_ids[c, : len(order)] = terms[order]
        values[c, : len(order)] = data[order]
    return TopTerms(term_ids, values)


def values_of(matrix: CsrMatrix, term_ids: IntArray) -> FloatArray:
    """Return the entries (C, n) of a CSR matrix (C, V) at the terms of each row, NaN where there is no term (-1).

    Args:
        matrix: term ids of a row ascend; every term asked for is stored in its row.
        term_ids: (C, n).
    """
    values = np.full(term_ids.shape, np.nan)
    for c, row in enumerate(term_ids):
        start, end = matrix.indptr[c], matrix.indptr[c + 1]
        is_term = row >= 0
        values[c, is_term] = matrix.data[start + np.searchsorted(matrix.indices[start:end], row[is_term])]
    return values
