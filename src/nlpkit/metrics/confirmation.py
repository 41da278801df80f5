"""Support of one word by another, from numbers of windows: the confirmation measures of Röder, Both & Hinneburg (2015).

A pair is (W', W*). Arguments are arrays of one shape: joint, the windows with both; u, those with W'; v, those with W*; and
n, the number of all windows. p(x) = x / n. Logarithms are natural. Nothing is NaN: where a measure has no value, because a
word is in no window, it is `undefined`.
"""

from __future__ import annotations

import numpy as np

from nlpkit.metrics.windows import CountArray
from nlpkit.types import FloatArray

EPSILON = 1e-12  # Stevens et al. (2012), Röder et al. (2015) §3.3


def log_ratio(
    joint: CountArray,
    u: CountArray,
    v: CountArray,
    n: float,
    *,
    epsilon: float = EPSILON,
    below: float = 0.0,
    undefined: float = 0.0,
) -> FloatArray:
    """Return the log-ratio m_lr, the PMI of words: ln((p(W', W*) + ε) / (p(W') p(W*) + below)).

    ε keeps the logarithm of a pair that never meets finite. Röder et al. (2015), §3.3; gensim and Palmetto have below = 0,
    tomotopy below = ε.
    """
    result, seen = np.full(joint.shape, undefined), (u > 0) & (v > 0)
    result[seen] = np.log((joint[seen] / n + epsilon) / ((u[seen] / n) * (v[seen] / n) + below))
    return result


def normalized_log_ratio(
    joint: CountArray,
    u: CountArray,
    v: CountArray,
    n: float,
    *,
    epsilon: float = EPSILON,
    below: float = 0.0,
    undefined: float = 0.0,
) -> FloatArray:
    """Return the normalized log-ratio m_nlr, the NPMI of words with ε: m_lr / -ln(p(W', W*) + ε).

    A pair that never meets has ln(ε / p(W') p(W*)) / -ln ε, which is above -1, and the more the rarer its words are; one
    that is in all windows has -1, as ε makes a probability of more than 1. `nlpkit.metrics.coherence.npmi` has neither.
    Röder et al. (2015), §3.3; gensim, Palmetto, tomotopy (below = ε).
    """
    result = log_ratio(joint, u, v, n, epsilon=epsilon, below=below, undefined=undefined)
    seen = (u > 0) & (v > 0)
    result[seen] /= -np.log(joint[seen] / n + epsilon)
    return result


def log_conditional(
    joint: CountArray, u: CountArray, v: CountArray, n: float, *, epsilon: float = EPSILON, undefined: float = 0.0
) -> FloatArray:
    """Return the log-conditional probability m_lc: ln((p(W', W*) + ε) / p(W*)).

    Röder et al. (2015), §3.3; gensim and Palmetto. Palmetto has no value for a pair with u = 0 either, and nor has this.
    """
    result, seen = np.full(joint.shape, undefined), (u > 0) & (v > 0)
    result[seen] = np.log((joint[seen] / n + epsilon) / (v[seen] / n))
    return result


def log_conditional_after(joint: CountArray, v: CountArray, n: float, *, epsilon: float = EPSILON) -> FloatArray:
    """Return tomotopy's log-conditional probability: ln(p(W', W*) / (p(W*) + ε) + ε)."""
    return np.asarray(np.log(joint / n / (v / n + epsilon) + epsilon))


def smoothed_log_conditional(joint: CountArray, v: CountArray, *, undefined: float = 0.0) -> FloatArray:
    """Return ln((D(W', W*) + 1) / D(W*)) with numbers D of windows, of documents in the paper (Mimno et al. 2011, §4)."""
    result, seen = np.full(joint.shape, undefined), v > 0
    result[seen] = np.log((joint[seen] + 1) / v[seen])
    return result


def fitelson(joint: CountArray, u: CountArray, v: CountArray, n: float, *, undefined: float = 0.0) -> FloatArray:
    """Return Fitelson's confirmation m_f (2003), in [-1, 1]: the difference over the sum of p(W' | W*) and p(W' | ¬W*).

    A conditional probability given what never happens counts as 0, as in Palmetto, so that a W* of all windows confirms
    with 1, and a W* of none with -1. Röder et al. (2015), §3.3.
    """
    with_v = np.divide(joint, v, out=np.zeros(joint.shape), where=v > 0)
    without = np.divide(u - joint, n - v, out=np.zeros(joint.shape), where=v < n)
    total = with_v + without
    result = np.full(joint.shape, undefined)
    np.divide(with_v - without, total, out=result, where=total > 0)
    return result


def cosine(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the cosine of vectors along the last axis; 0 where one of them is zero, as in Palmetto."""
    dot = (a * b).sum(axis=-1)
    lengths = np.sqrt((a * a).sum(axis=-1)) * np.sqrt((b * b).sum(axis=-1))
    result = np.zeros(dot.shape)
    np.divide(dot, lengths, out=result, where=lengths > 0)
    return result
