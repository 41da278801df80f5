"""Variational Bayes of latent Dirichlet allocation: the topics of documents, and the expectations of words in topics.

    γ_dk = α_k + Σ_v n_dv φ_dvk,   φ_dvk ∝ exp(E[log θ_dk] + E[log β_kv]),   E[log θ_dk] = ψ(γ_dk) - ψ(Σ_j γ_dj)

φ_dvk does not change when exp E[log θ_d] or exp E[log β_v] of a document or a word is multiplied by a number: each is divided by its
largest value, so that none of them is 0 in all topics. Every function writes rows begin … end - 1 alone, which no other call writes.
"""

from __future__ import annotations

import math

import numpy as np

from nlpkit.kernels import njit
from nlpkit.kernels.arrays import copy_into

LEAST = 1e-300  # Σ_k exp(E[log θ_dk] + E[log β_kv]) below which it counts as this
SERIES_FROM = 8.0  # where the error of the asymptotic series of ψ, 0.44 / x¹⁶, is below 2e-15


@njit(nogil=True)
def digamma(x):  # type: ignore[no-untyped-def]
    """Return ψ(x) of x > 0: ψ(x) = ψ(x + 1) - 1 / x up to 8, from there the asymptotic series (Abramowitz & Stegun 6.3.18)."""
    above, below = 0.0, 1.0  # Σ 1 / x as one fraction, with one division
    while x < SERIES_FROM:
        above = above * x + below
        below *= x
        x += 1.0
    f = 1.0 / (x * x)
    series = f * (
        1 / 12 - f * (1 / 120 - f * (1 / 252 - f * (1 / 240 - f * (1 / 132 - f * (691 / 32760 - f * (1 / 12))))))
    )
    return math.log(x) - 0.5 / x - series - above / below


@njit(nogil=True)
def digammas(x, out):  # type: ignore[no-untyped-def]
    """Write ψ(x) (n,) into out (n,)."""
    for i in range(len(x)):
        out[i] = digamma(x[i])


@njit(nogil=True)
def expect_words(rows, counts, scale, eta, totals, begin, end, weights, peaks):  # type: ignore[no-untyped-def]
    """Fill weights[u] (K,) = exp(E[log β_kv] - peaks[u]) of words v = rows[u], u from begin to end - 1; peaks[u] is the largest.

    E[log β_kv] = ψ(λ_kv) - totals[k] with λ_kv = scale · counts[v, k] + eta; totals (K,): ψ(Σ_v λ_kv).
    """
    K = len(totals)
    for u in range(begin, end):
        v = rows[u]
        most = -np.inf
        for k in range(K):
            weights[u, k] = digamma(scale * counts[v, k] + eta) - totals[k]
            most = max(most, weights[u, k])
        for k in range(K):
            weights[u, k] = math.exp(weights[u, k] - most)
        peaks[u] = most


@njit(nogil=True)
def expect_topics(gamma, weights):  # type: ignore[no-untyped-def]
    """Fill weights (K,) with exp(ψ(γ_k) - peak) of a document; return the peak, the largest ψ(γ_k)."""
    most = -np.inf
    for k in range(len(gamma)):
        weights[k] = digamma(gamma[k])
        most = max(most, weights[k])
    for k in range(len(gamma)):
        weights[k] = math.exp(weights[k] - most)
    return most


@njit(nogil=True)
def mix(across, weights, sums):  # type: ignore[no-untyped-def]
    """Fill sums (n,) with Σ_k weights[k] · across[k, i], at least LEAST; across (K, n)."""
    n = len(sums)
    for i in range(n):
        sums[i] = 0.0
    for k in range(len(weights)):
        w = weights[k]
        for i in range(n):
            sums[i] += w * across[k, i]
    for i in range(n):
        sums[i] = max(sums[i], LEAST)


@njit(nogil=True)
def infer(indptr, terms, counts, words, peaks, alpha, steps, tolerance, begin, end, gamma, weights, ratios, bounds):  # type: ignore[no-untyped-def]
    """Fit γ of documents begin … end - 1 by coordinate ascent, from the γ that is there (Hoffman, Blei and Bach 2010, algorithm 1).

    indptr (D + 1,), terms, counts (N,): n_dv, CSR; words (V, K), peaks (V,): of `expect_words`; alpha (K,). A document ends after
    `steps`, or when the mean change of its γ_k is below the tolerance. Fills of each document gamma (K,), weights (K,) of
    `expect_topics`, ratios[indptr[d] : indptr[d + 1]] = n_dv / Σ_k weights[k] words[v, k], and its share of the bound,

        Σ_v n_dv log Σ_k exp(E[log θ_dk] + E[log β_kv]) + E[log p(θ_d | α)] - E[log q(θ_d | γ_d)].

    A document without words has γ = α and 0.
    """
    K, longest, whole, prior = len(alpha), 0, 0.0, 0.0
    for d in range(begin, end):
        longest = max(longest, indptr[d + 1] - indptr[d])
    for k in range(K):
        whole += alpha[k]
        prior -= math.lgamma(alpha[k])
    prior += math.lgamma(whole)
    # room of the longest of these documents: `n` below is its number of counts, of which there are `longest` at most
    along, across = np.empty((longest, K)), np.empty((K, longest))
    sums, following = np.empty(longest), np.empty(K)
    for d in range(begin, end):
        first, n = indptr[d], indptr[d + 1] - indptr[d]
        mine, shares, p, ratio = gamma[d], weights[d], sums[:n], ratios[first : first + n]
        bounds[d] = 0.0
        if n == 0:
            copy_into(mine, alpha)
            expect_topics(mine, shares)
            continue
        for i in range(n):
            row = words[terms[first + i]]
            for k in range(K):
                along[i, k] = row[k]
                across[k, i] = row[k]
        peak = expect_topics(mine, shares)
        for _ in range(steps):
            mix(across, shares, p)
            following[:] = 0.0
            for i in range(n):
                r = counts[first + i] / p[i]
                for k in range(K):
                    following[k] += r * along[i, k]
            moved = 0.0
            for k in range(K):
                new = alpha[k] + shares[k] * following[k]
                moved += abs(new - mine[k])
                mine[k] = new
            peak = expect_topics(mine, shares)
            if moved < tolerance * K:
                break
        mix(across, shares, p)
        total, bound, tokens = 0.0, prior, 0.0
        for k in range(K):
            total += mine[k]
        log_total = digamma(total)
        for i in range(n):
            ratio[i] = counts[first + i] / p[i]
            tokens += counts[first + i]
            bound += counts[first + i] * (math.log(p[i]) + peaks[terms[first + i]])
        bound += tokens * (peak - log_total) - math.lgamma(total)
        for k in range(K):
            bound += (alpha[k] - mine[k]) * (digamma(mine[k]) - log_total) + math.lgamma(mine[k])
        bounds[d] = bound


@njit(nogil=True)
def word_bounds(counts, scale, eta, totals, begin, end, bounds):  # type: ignore[no-untyped-def]
    """Fill bounds[v] with Σ_k (η - λ_kv) (ψ(λ_kv) - totals[k]) + log Γ(λ_kv) - log Γ(η) of words begin … end - 1.

    counts (V, K), scale, eta and totals as of `expect_words`.
    """
    nothing = math.lgamma(eta)
    for v in range(begin, end):
        bounds[v] = 0.0
        for k in range(len(totals)):
            posterior = scale * counts[v, k] + eta
            bounds[v] += (eta - posterior) * (digamma(posterior) - totals[k]) + math.lgamma(posterior) - nothing
