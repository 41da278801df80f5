"""The importance score I(w, k) of the lecture as a weighting of classes or topics."""

from __future__ import annotations

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.types import CsrMatrix
from nlpkit.weighting.ctfidf import class_shares

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
