"""pLSA as the lecture has it (L2346): dense arrays, the E-step written out."""

from __future__ import annotations

from typing import Any

import numpy as np


def step(theta: Any, phi: Any, counts: Any, beta: float = 1.0) -> tuple[Any, Any]:
    """One step of EM: theta (D, K), phi (K, V), counts n_dv (D, V); a document without tokens keeps its theta."""
    posterior = (theta[:, :, None] * phi[None]) ** beta  # (D, K, V)
    posterior = posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
    expected = counts[:, None, :] * posterior
    documents, terms = expected.sum(axis=2), expected.sum(axis=0)
    lengths = documents.sum(axis=1, keepdims=True)
    return np.where(lengths > 0, documents / np.maximum(lengths, 1e-300), theta), terms / terms.sum(
        axis=1, keepdims=True
    )


def log_likelihood(theta: Any, phi: Any, counts: Any) -> float:
    """Σ_dv n_dv log Σ_k θ_dk φ_kv."""
    p = theta @ phi
    return float((counts * np.log(np.where(counts > 0, p, 1.0))).sum())
