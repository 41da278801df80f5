"""GloVe in plain Python, and the gradient and update of SGNS as the lecture has them (L2926 ff.)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def adagrad(
    cells: Iterable[tuple[int, int, float, float]],
    rate: float,
    w: np.ndarray,
    b: np.ndarray,
    w_squares: np.ndarray,
    b_squares: np.ndarray,
    c: np.ndarray,
    a: np.ndarray,
    c_squares: np.ndarray,
    a_squares: np.ndarray,
) -> float:
    """A step for each cell (i, j, log X_ij, f(X_ij)), as src/glove.c of stanfordnlp/GloVe takes it; returns the loss."""
    loss = 0.0
    for i, j, log, weight in cells:
        error = w[i] @ c[j] + b[i] + a[j] - log
        loss += 0.5 * weight * error**2
        step = weight * error * rate
        of_word, of_context = step * c[j], step * w[i]
        w[i] -= of_word / np.sqrt(w_squares[i])
        c[j] -= of_context / np.sqrt(c_squares[j])
        w_squares[i] += of_word**2
        c_squares[j] += of_context**2
        b[i] -= step / np.sqrt(b_squares[i])
        a[j] -= step / np.sqrt(a_squares[j])
        b_squares[i] += step**2
        a_squares[j] += step**2
    return loss


def sigmoid(x: float) -> float:
    return 1 / (1 + np.exp(-x))


def sgns_loss(w: np.ndarray, positive: np.ndarray, negatives: np.ndarray) -> float:
    """- [log σ(c_pos w) + Σ log σ(- c_neg w)]."""
    return float(-np.log(sigmoid(positive @ w)) - sum(np.log(sigmoid(-c @ w)) for c in negatives))


def sgns_gradients(w: np.ndarray, positive: np.ndarray, negatives: np.ndarray) -> tuple[np.ndarray, ...]:
    """The derivatives of the loss by w, by c_pos and by each c_neg."""
    of_positive = (sigmoid(positive @ w) - 1) * w
    of_negatives = np.array([sigmoid(c @ w) * w for c in negatives]).reshape(negatives.shape)
    of_w = (sigmoid(positive @ w) - 1) * positive + sum((sigmoid(c @ w) * c for c in negatives), np.zeros_like(w))
    return of_w, of_positive, of_negatives
