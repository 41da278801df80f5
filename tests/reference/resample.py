"""Samples of a word distribution, one count after the other, and how much they resemble given counts."""

from __future__ import annotations

from typing import Any

import numpy as np


def products(uniforms: Any, cumulative: Any, reference: Any, n_others: int) -> tuple[Any, Any]:
    """Return Σ x r and Σ x² (B,) of the samples that uniform numbers (B, N) make; see the kernel."""
    S = len(cumulative)
    inside = cumulative[-1] if S else 0.0
    dots, squares = [], []
    for row in uniforms:
        x = np.zeros(S + n_others, np.int64)
        for u in row:
            if u < inside:
                x[np.searchsorted(cumulative, u, side="right")] += 1
            else:
                x[S + min(int((u - inside) / (1 - inside) * n_others), n_others - 1)] += 1
        dots.append(int(x[:S] @ reference))
        squares.append(int(x @ x))
    return np.array(dots), np.array(squares)
