"""Wordfish: positions of documents and weights of words in a Poisson model of counts (Slapin & Proksch 2008)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.platform.types import CsrMatrix, FloatArray
from nlpkit.scale.kernels import fit_regressions
from nlpkit.scale.scores import correspondence

CHUNKS = 64  # parts of the words, and of the documents, that threads take
ROUNDS, TOLERANCE = 5000, 1e-7  # of words and documents in turn; change of a position at which they end
STEPS, QUANTEDA_STEPS, RISE = 2, 10, 1e-6  # of Newton's method in a round; rise of the posterior at which quanteda ends


@dataclass(frozen=True, slots=True)
class Wordfish:
    """y_dw ~ Poisson(exp(α_d + ψ_w + β_w θ_d)).

    theta (D,): positions, mean 0 and standard deviation 1; alpha (D,), mean 0; psi, beta (V,); se (D,): standard errors of theta,
    given the words; dispersion: Pearson's χ² over its degrees of freedom, 1 where the counts are Poisson, NaN without such;
    log_likelihood without constants; rounds; converged.
    """

    theta: FloatArray
    alpha: FloatArray
    psi: FloatArray
    beta: FloatArray
    se: FloatArray
    dispersion: float
    log_likelihood: float
    rounds: int
    converged: bool


def wordfish(
    counts: CsrMatrix, *, prior: float = 3.0, as_quanteda: bool = False, seed: int = 42, threads: int = 1
) -> Wordfish:
    """Return the Wordfish model of counts, by words and documents in turn, from the first dimension of a correspondence analysis.

    The estimate is the mode of the likelihood times β_w ~ N(0, prior²), where θ has mean 0 and standard deviation 1. The prior on β then
    acts on θ as Σ_w β_w² / prior² · Σ_d θ_d² / (2 (D - 1)) until θ is scaled again, so that no round lowers the posterior.

    quanteda.textmodels and austin scale θ without the words in return, and quanteda ends at the first round that does not raise the
    posterior: as_quanteda gives its figures to eight digits. They are no mode; on data without many rare words both are nearly the same.

    Standard errors come from the Hessian of α_d and θ_d with the words held, as there. The result does not depend on the number
    of threads.

    Args:
        counts: (D, V) CSR; no row and no column without a count.
        prior: standard deviation of β. seed: of the start of the SVD. threads: number of threads.
    """
    D, V = counts.shape
    by_document = sparse.csr_array(counts, dtype=np.float64)
    by_word = sparse.csr_array(by_document.T)
    y_d, y_w = np.asarray(by_document.sum(axis=1)).ravel(), np.asarray(by_document.sum(axis=0)).ravel()
    alpha = np.log(y_d) - np.log(y_d).mean()
    psi, beta = np.log(y_w / D), np.zeros(V)
    theta = correspondence(by_document, 1, seed=seed).documents[:, 0]
    theta = (theta - theta.mean()) / theta.std(ddof=1)
    posterior, converged, rounds = -np.inf, False, 0
    steps = QUANTEDA_STEPS if as_quanteda else STEPS
    with ThreadPoolExecutor(threads, thread_name_prefix="wordfish") as pool:

        def regress(
            y: FloatArray, yx: FloatArray, offsets: FloatArray, x: FloatArray, a: FloatArray, b: FloatArray, p: float
        ) -> None:
            def work(begin: int, end: int) -> None:
                fit_regressions(y, yx, offsets, x, a, b, p, begin, end, steps, TOLERANCE / 10)

            _each(pool.map, work, len(y))

        while rounds < ROUNDS and not converged:
            rounds += 1
            before, last = theta.copy(), posterior
            regress(y_w, by_word @ theta, alpha, theta, psi, beta, prior**-2)
            precision = 1.0 if as_quanteda else float(beta @ beta) * prior**-2 / (D - 1)
            regress(y_d, by_document @ beta, psi, beta, alpha, theta, precision)
            middle, spread, level = theta.mean(), theta.std(ddof=1), alpha.mean()
            theta, alpha = (theta - middle) / spread, alpha - level
            if as_quanteda:
                posterior = _log_likelihood(by_document, alpha, psi, beta, theta) - 0.5 * float(
                    beta @ beta * prior**-2 + theta @ theta
                )
                converged = posterior - last < RISE
            else:
                psi, beta = psi + level + beta * middle, beta * spread
                alpha, beta = alpha + beta.mean() * theta, beta - beta.mean()  # the same rates, of higher prior
                converged = bool(np.abs(theta - before).max() < TOLERANCE)
        se, chi2 = np.empty(D), np.empty(D)

        def finish(begin: int, end: int) -> None:
            for d in range(begin, end):
                rates = np.exp(alpha[d] + psi + beta * theta[d])
                s0, s1, s2 = rates.sum(), rates @ beta, rates @ beta**2 + 1.0
                se[d] = np.sqrt(s0 / (s0 * s2 - s1 * s1))
                row = slice(by_document.indptr[d], by_document.indptr[d + 1])
                y, of_words = by_document.data[row], by_document.indices[row]
                chi2[d] = (y * y / rates[of_words]).sum() - 2 * y.sum() + s0

        _each(pool.map, finish, D)
    freedom = D * V - 2 * D - 2 * V
    dispersion = float(chi2.sum()) / freedom if freedom > 0 else float("nan")
    likelihood = _log_likelihood(by_document, alpha, psi, beta, theta)
    return Wordfish(theta, alpha, psi, beta, se, dispersion, likelihood, rounds, converged)


def _log_likelihood(
    counts: CsrMatrix, alpha: FloatArray, psi: FloatArray, beta: FloatArray, theta: FloatArray
) -> float:
    """Return Σ_dw y_dw log λ_dw - λ_dw."""
    linear = float(counts.sum(axis=1) @ alpha + counts.sum(axis=0) @ psi + theta @ (counts @ beta))
    return linear - sum(float(np.exp(a + psi + beta * t).sum()) for a, t in zip(alpha, theta, strict=True))


def _each(mapped: Callable[..., object], work: Callable[[int, int], None], n: int) -> None:
    bounds = np.linspace(0, n, min(CHUNKS, n) + 1).astype(np.int64).tolist()
    list(mapped(work, bounds[:-1], bounds[1:]))  # type: ignore[call-overload]
