"""The weights of terms in classes or topics: class-based tf-idf, importance, and keyness.

Parts, in this order:
- Class-based tf-idf (Grootendorst 2022; lecture), on CSR and vectorised.
- The importance score I(w, k) of the lecture as a weighting of classes or topics.
- Keyness, the terms that a class uses more than the rest: log-odds with an informative Dirichlet prior (Monroe et al.
  2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.metrics.association import log_likelihood
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray


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
    """Return the entries (C, n) of a CSR matrix (C, V) at the terms of each row, 0 where none is stored, NaN where there is no term (-1).

    Args:
        matrix: term ids of a row ascend.
        term_ids: (C, n).
    """
    values = np.full(term_ids.shape, np.nan)
    for c, row in enumerate(term_ids):
        terms = matrix.indices[matrix.indptr[c] : matrix.indptr[c + 1]]
        is_term = row >= 0
        place = np.searchsorted(terms, row[is_term])
        stored = np.append(terms, -1)[place] == row[is_term]
        values[c, is_term] = np.append(matrix.data[matrix.indptr[c] : matrix.indptr[c + 1]], 0)[
            np.where(stored, place, -1)
        ]
    return values


# ------------------------------------------------------------------------------------------------------------------------
# The importance score I(w, k) of the lecture as a weighting of classes or topics.

EPSILON = 1e-5  # of the R packages lda (top.topic.words) and tosca (importance)


def importance(class_counts: CsrMatrix, *, epsilon: float = EPSILON) -> CsrMatrix:
    """Return the importance I (C, V) float64 of a class-term count matrix, with the entries of its stored counts.

        I_cv = φ_cv · [ln(φ_cv + ε) − 1/C Σ_l ln(φ_lv + ε)],   φ_cv = tf_cv / Σ_u tf_cu

    A term that a class does not hold has φ = 0: it adds ln ε to the mean of its term and scores 0 itself, so nothing dense
    is needed. The score is negative for a term that is rarer in a class than in the geometric mean of all.
    R's `lda::top.topic.words(by.score=TRUE)` has this score for topics.

    Args:
        class_counts: (C, V) CSR counts.
        epsilon: ε > 0; the larger it is, the less rare terms count.

    Raises:
        UsageError: ε is not above 0.
    """
    if not epsilon > 0:
        raise UsageError(f"`epsilon={epsilon}`: the importance score needs a number above 0, such as {EPSILON}")
    shares = class_shares(class_counts)
    # Σ_l ln(φ_l + ε) / C = ln ε + Σ of ln(1 + φ_l/ε) over the classes that hold the term / C
    above = np.log1p(shares.data / epsilon)
    mean_above = np.bincount(shares.indices, weights=above, minlength=shares.shape[1]) / max(shares.shape[0], 1)
    shares.data *= above - mean_above[shares.indices]
    return shares


# ------------------------------------------------------------------------------------------------------------------------
# Keyness, the terms that a class uses more than the rest: log-odds with an informative Dirichlet prior (Monroe et al. 2008).


@dataclass(frozen=True, slots=True)
class Keyness:
    """log_odds δ and z-scores ζ (C, V) float64 CSR with the entries of the counts; prior_words is α_0."""

    log_odds: CsrMatrix
    z: CsrMatrix
    prior_words: float


def keyness(class_counts: CsrMatrix, *, prior_words: float | None = None) -> Keyness:
    """Return log-odds ratios of each class against the rest, and their z-scores.

        δ_cv = ln[(y_cv + α_v) / (n_c + α_0 − y_cv − α_v)] − ln[(y_rv + α_v) / (n_r + α_0 − y_rv − α_v)]
        σ²_cv = 1/(y_cv + α_v) + 1/(y_rv + α_v),   ζ_cv = δ_cv / σ_cv,   α_v = α_0 · tf_v / Σ_u tf_u

    y counts the term, n all words: of the class (c) and of all other classes together (r). The prior is the corpus as a
    whole, as α_0 words. Monroe, Colaresi & Quinn 2008, "Fightin' Words", Political Analysis 16: δ of eq. 16, σ² of eq. 20,
    ζ of eq. 22, the informative prior of eq. 23; ConvoKit's FightingWords has the same δ and ζ for two groups and a prior
    that is given. Where there is only one term, δ is undefined and set to 0.

    A term that a class does not hold has a δ below 0 and is not stored: it never is a key term of the class.

    Args:
        class_counts: (C, V) CSR counts.
        prior_words: α_0; None = the mean number of words per class, as in the paper (500 words, about those of a party on a
            day). More words shrink δ and let terms of few occurrences come first, fewer leave only frequent terms.

    Raises:
        UsageError: α_0 is not above 0.
    """
    counts = sparse.csr_array(class_counts, dtype=np.float64, copy=True)
    counts.eliminate_zeros()
    tf: FloatArray = np.asarray(counts.sum(axis=0)).ravel()
    words = float(tf.sum())
    if prior_words is None:
        prior_words = words / max(counts.shape[0], 1) or 1.0
    if not 0 < prior_words < np.inf:
        raise UsageError(f"`prior_words={prior_words:g}`: the prior needs a number of words above 0")
    scale = prior_words / (words or 1.0)
    n_c: FloatArray = np.repeat(np.asarray(counts.sum(axis=1)).ravel(), np.diff(counts.indptr))
    tf_v = tf[counts.indices]
    y_c, y_r = counts.data, tf_v - counts.data
    alpha = scale * tf_v
    no_term = scale * (words - tf_v)  # α_0 − α_v, exactly 0 where there is only one term
    in_class = (y_c + alpha) * (words - n_c - y_r + no_term)
    in_rest = (y_r + alpha) * (n_c - y_c + no_term)
    odds_ratio = np.divide(in_class, in_rest, out=np.ones_like(in_class), where=no_term > 0)
    log_odds: FloatArray = np.log(odds_ratio)
    z = log_odds / np.sqrt(1 / (y_c + alpha) + 1 / (y_r + alpha))
    return Keyness(_like(counts, log_odds), _like(counts, z), float(prior_words))


@dataclass(frozen=True, slots=True)
class EffectSizes:
    """What there is beside z (C, V), CSR with the entries of the counts.

    tf, tf_rest: occurrences in the class and in all others; rate, rate_rest: these per million words; g2: signed; log_ratio;
    difference: in per cent, infinite where the others do not have the term.
    """

    tf: CsrMatrix
    tf_rest: CsrMatrix
    rate: CsrMatrix
    rate_rest: CsrMatrix
    g2: CsrMatrix
    log_ratio: CsrMatrix
    difference: CsrMatrix


def effect_sizes(class_counts: CsrMatrix) -> EffectSizes:
    """Return occurrences and rates of each class and of the rest, G² and effect sizes.

        rate = 10⁶ y_c / n_c,   log ratio = log₂(y_c / n_c) − log₂(y_r / n_r),   difference = 100 (rate_c − rate_r) / rate_r

    G² is that of the four cells term or not by class or rest (Dunning 1993; Rayson & Garside 2000 add only the two of the term). Log
    ratio: Hardie (2014), with ½ for a y_r of 0; %DIFF: Gabrielatos & Marchi (2011). Letters as in `keyness`.

    Args:
        class_counts: (C, V) CSR counts.
    """
    counts = sparse.csr_array(class_counts, dtype=np.float64, copy=True)
    counts.eliminate_zeros()
    tf: FloatArray = np.asarray(counts.sum(axis=0)).ravel()
    words = float(tf.sum())
    n_c: FloatArray = np.repeat(np.asarray(counts.sum(axis=1)).ravel(), np.diff(counts.indptr))
    tf_v, y_c, n_r = tf[counts.indices], counts.data, np.maximum(words - n_c, 1.0)
    y_r = tf_v - y_c
    share, share_rest = y_c / n_c, y_r / n_r
    ratio = np.log2(share) - np.log2(np.where(y_r > 0, y_r, 0.5) / n_r)
    infinite = np.full_like(share, np.inf)
    difference = 100 * (np.divide(share, share_rest, out=infinite, where=y_r > 0) - 1)
    g2 = log_likelihood(y_c, n_c, tf_v, words)
    columns = (y_c, y_r, 1e6 * share, 1e6 * share_rest, g2, ratio, difference)
    return EffectSizes(*(_like(counts, data) for data in columns))


def document_chi_squared(present: CsrMatrix, documents: LongArray) -> dict[str, CsrMatrix]:
    """Return df, df_rest, chi2 and p of each class against the rest (C, V), CSR with the entries of present.

    df, df_rest: documents of the class and of all others that hold the term. chi2: Pearson's χ² of the four cells term or not by
    class or rest, without continuity correction, one degree of freedom. 0 where all documents hold the term.

    Args:
        present: (C, V) documents of each class that hold each term.
        documents: (C,) documents of each class.
    """
    from scipy.special import chdtrc

    M, n = float(documents.sum()), np.repeat(documents, np.diff(present.indptr)).astype(np.float64)
    total = np.asarray(present.sum(axis=0), np.float64).ravel()[present.indices]
    a, b, rest = present.data, total - present.data, M - n
    below = n * rest * total * (M - total)
    chi2 = np.divide(M * (a * (rest - b) - b * (n - a)) ** 2, below, out=np.zeros(len(below)), where=below > 0)
    return {
        name: _like(present, data) for name, data in (("df", a), ("df_rest", b), ("chi2", chi2), ("p", chdtrc(1, chi2)))
    }


def _like(matrix: CsrMatrix, data: FloatArray) -> CsrMatrix:
    return sparse.csr_array((data, matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
