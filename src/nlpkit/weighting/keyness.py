"""Keyness, the terms that a class uses more than the rest: log-odds with an informative Dirichlet prior (Monroe et al. 2008)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.metrics.association import log_likelihood
from nlpkit.types import CsrMatrix, FloatArray


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


def _like(matrix: CsrMatrix, data: FloatArray) -> CsrMatrix:
    return sparse.csr_array((data, matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
