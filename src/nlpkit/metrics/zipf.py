"""Zipf's law: how the frequency of words falls with their rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.types import FloatArray, LongArray


@dataclass(frozen=True, slots=True)
class ZipfFit:
    """Zipf's law fitted to V ranks: exponent, its standard error, and the largest gap between corpus and law.

    ks = max_k |F(k) - P(k)| over the shares F of all tokens that the first k words cover and P what the law says, in
    [0, 1], at rank ks_rank. With fewer than two ranks exponent and error are nan.
    """

    exponent: float
    error: float
    ks: float
    ks_rank: int
    n_ranks: int


def fit_zipf(frequencies: LongArray) -> ZipfFit:
    """Return the exponent s of Zipf's law by maximum likelihood over the ranks 1 … V.

        p_k = k^-s / Σ_v v^-s,   log L(s) = -s Σ_k f_k ln k - N ln Σ_v v^-s

    (lecture). L is largest where the mean of ln k in the corpus is that of the law; the standard error is
    1 / sqrt(N Var_s[ln k]) (Fisher information). Both take tokens as independent draws and ranks as known beforehand;
    words come in bursts and the ranks are those of the same corpus (Piantadosi 2014, Psychon. Bull. Rev. 21), so that the
    true uncertainty is larger. Clauset, Shalizi and Newman 2009 (SIAM Rev. 51) fit a power law of the frequencies
    in the same way and judge it by the same distance ks.

    Args:
        frequencies: (V,) occurrences of each word, all at least 1, in any order.
    """
    counts = np.sort(np.asarray(frequencies, np.float64))[::-1]
    V = len(counts)
    if V < 2:
        return ZipfFit(float("nan"), float("nan"), 0.0, V, V)
    log_rank = np.log(np.arange(1, V + 1))
    N = counts.sum()
    observed = float((counts * log_rank).sum() / N)

    s = _exponent(log_rank, observed)
    p = _probabilities(log_rank, s)
    mean = (p * log_rank).sum()
    variance = float((p * (log_rank - mean) ** 2).sum())
    gaps = np.abs(np.cumsum(counts) / N - np.cumsum(p))
    at = int(gaps.argmax())
    return ZipfFit(s, float(1 / np.sqrt(N * variance)), float(gaps[at]), at + 1, V)


def zipf_probabilities(n_ranks: int, exponent: float) -> FloatArray:
    """Return p_k = k^-s / Σ_v v^-s of the ranks 1 … V (V,), which sum to 1."""
    return _probabilities(np.log(np.arange(1, n_ranks + 1)), exponent)


def zipf_frequencies(first: float, exponent: float, n_ranks: int) -> FloatArray:
    """Return f_k = f_1 / k^s of the ranks 1 … V (V,): the law drawn through the most frequent word (lecture)."""
    ranks: FloatArray = np.arange(1, n_ranks + 1, dtype=np.float64)
    return first * np.exp(-exponent * np.log(ranks))  # a power of a large exponent would be beyond all numbers


def verdict(ks: float) -> str:
    """Return in words how well a law with this distance ks fits."""
    for bound, words in ((0.02, "a close fit"), (0.05, "a fair fit"), (0.1, "a rough fit")):
        if ks <= bound:
            return words
    return "a poor fit"


def _exponent(log_rank: FloatArray, observed: float) -> float:
    """Return the s >= 0 for which the law's mean of ln k is the observed one, 0 where even that of equal words is not above it.

    Newton's method: the derivative of the mean is -Var_s[ln k]. A step that leaves the bracket is halved.
    """

    def moments(s: float) -> tuple[float, float]:
        p = _probabilities(log_rank, s)
        mean = float((p * log_rank).sum())
        return mean - observed, float((p * (log_rank - mean) ** 2).sum())

    excess, variance = moments(0.0)
    if excess <= 0:
        return 0.0
    low, high, s = 0.0, 2.0, 0.0
    while moments(high)[0] > 0:
        low, high = high, 2 * high
    for _ in range(200):
        step = s + excess / variance
        following = step if low < step < high else (low + high) / 2
        if abs(following - s) <= 1e-14 * high:
            break
        s = following
        excess, variance = moments(s)
        low, high = (s, high) if excess > 0 else (low, s)
    return s


def _probabilities(log_rank: FloatArray, s: float) -> FloatArray:
    weights = np.exp(-s * log_rank)
    probabilities: FloatArray = weights / weights.sum()
    return probabilities
