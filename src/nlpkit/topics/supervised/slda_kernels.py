"""Collapsed Gibbs sampling of supervised LDA: the topic of a token also answers to the label of its document.

p(z_i = k | others, y) ∝ (n_dk + α) (n_kw + η) / (n_k + Vη) · p(y_d | z̄_d with z_i = k), z̄_d the shares of the topics among all
tokens of document d (Blei & McAuliffe 2007, "Supervised Topic Models").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.platform.kernels.arrays import copy_into
from nlpkit.topics.supervised.kernels import count, draw

LEAST = 1e-300


class Room(NamedTuple):
    """Working memory: n_dk (K,) int64; weights, factors, steps (K,), scores (C,) and ratios (K, C) float64."""

    n_dk: np.ndarray
    weights: np.ndarray
    factors: np.ndarray
    steps: np.ndarray
    scores: np.ndarray
    ratios: np.ndarray


@njit(nogil=True)
def topic_counts(topics, n_dk):  # type: ignore[no-untyped-def]
    """Fill n_dk (K,) with how often each topic occurs among those of a document, -1 for none."""
    n_dk[:] = 0
    for k in topics:
        if k >= 0:
            n_dk[k] += 1


@njit(nogil=True)
def number_factors(residual, steps, variance, factors):  # type: ignore[no-untyped-def]
    """Fill factors (K,) with what p(y | z̄ with one token more in topic k) is proportional to, y normal with this variance.

    residual: y less its mean without the token; steps (K,): b_k / N_d, by which topic k moves the mean. The largest factor is 1.
    """
    most = -np.inf
    for k in range(len(steps)):
        factors[k] = steps[k] * (residual - 0.5 * steps[k]) / variance
        most = max(most, factors[k])
    for k in range(len(steps)):
        factors[k] = np.exp(factors[k] - most)


@njit(nogil=True)
def class_factors(scores, label, ratios, factors):  # type: ignore[no-untyped-def]
    """Fill factors (K,) with p(y = label | z̄ with one token more in topic k), the softmax of the scores of the classes.

    scores (C,): b_c + Σ_k b_kc z̄_k without the token; ratios (K, C): exp(b_kc / N_d), the largest of each topic 1.
    """
    factors[:] = 0.0
    most = scores.max()
    for c in range(len(scores)):
        e = np.exp(scores[c] - most)
        for k in range(len(factors)):
            factors[k] += e * ratios[k, c]
    e = np.exp(scores[label] - most)
    for k in range(len(factors)):
        factors[k] = e * ratios[k, label] / factors[k]


@njit(nogil=True)
def fill_ratios(coef, n_tokens, ratios):  # type: ignore[no-untyped-def]
    """Fill ratios (K, C) with exp(b_kc / N_d) over the largest of the topic; at least LEAST, so that sums are above 0."""
    for k in range(len(coef)):
        most = coef[k].max()
        for c in range(coef.shape[1]):
            ratios[k, c] = max(np.exp((coef[k, c] - most) / n_tokens), LEAST)


@njit(nogil=True)
def sweep(  # type: ignore[no-untyped-def]
    offsets, term_ids, z, n_vk, n_k, alpha, eta, coef, intercept, y, variance, uniforms, room
):  # fmt: skip
    """Draw the topic of each token (N,) given all others, uniforms (N,); return how many changed. -1: a token without a topic yet.

    y (D,) float64: a number where coef is (K, 1), the number of a class where it is (K, C), NaN for no label; intercept (C,).
    """
    n_dk, weights, factors, steps, scores, ratios = room
    K, C, V, moved = len(n_k), len(intercept), n_vk.shape[0], 0
    for d in range(len(offsets) - 1):
        begin, end = offsets[d], offsets[d + 1]
        N = end - begin
        labelled = not np.isnan(y[d])
        topic_counts(z[begin:end], n_dk)
        if labelled and N > 0:
            copy_into(scores, intercept)
            for k in range(K):
                steps[k] = coef[k, 0] / N
                for c in range(C):
                    scores[c] += coef[k, c] * n_dk[k] / N
            if C > 1:
                fill_ratios(coef, N, ratios)
        for i in range(begin, end):
            v, old = term_ids[i], z[i]
            if old >= 0:
                n_dk[old] -= 1
                count(v, old, -1, n_vk, n_k)
            if labelled:
                for c in range(C):
                    scores[c] -= coef[old, c] / N if old >= 0 else 0.0
                if C > 1:
                    class_factors(scores, np.int64(y[d]), ratios, factors)
                else:
                    number_factors(y[d] - scores[0], steps, variance, factors)
            total = 0.0
            for k in range(K):
                weights[k] = (n_dk[k] + alpha) * (n_vk[v, k] + eta) / (n_k[k] + V * eta)
                if labelled:
                    weights[k] *= factors[k]
                total += weights[k]
            k = draw(weights, K, uniforms[i], total)
            moved += k != old
            z[i] = k
            n_dk[k] += 1
            count(v, k, 1, n_vk, n_k)
            if labelled:
                for c in range(C):
                    scores[c] += coef[k, c] / N
    return moved
