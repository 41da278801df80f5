"""BERTScore of two texts from the vectors of their tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.types import Float32Array, FloatArray, IntArray


def greedy_scores(
    reference: Float32Array, text: Float32Array, reference_weights: FloatArray, text_weights: FloatArray
) -> tuple[float, float, float]:
    """Return precision, recall and F of a text: each token is compared with the one of the other text that is nearest by cosine.

    P = Σ_j w_j max_i cos(x_i, y_j) / Σ_j w_j over the tokens y of the text, R the same over the tokens x of the reference,
    F = 2PR / (P + R), 0 where this is undefined. A text whose tokens have no weight, such as an empty one, has 0 in all. There is no
    rescaling by a baseline.

    Args:
        reference: (m, E) vectors of its tokens, special ones included, which are compared with and have weight 0; text: (n, E).
        reference_weights: (m,); text_weights: (n,).

    Source: Zhang et al. (2020), "BERTScore", ICLR, section 3; agrees with bert-score 0.3.13, but that its batches are padded by vectors
    of zeros, which a token without a positive cosine takes there.
    """
    if not (reference_weights.sum() > 0 and text_weights.sum() > 0):
        return 0.0, 0.0, 0.0
    cosine = _unit(reference) @ _unit(text).T
    precision = float(cosine.max(axis=0) @ text_weights / text_weights.sum())
    recall = float(cosine.max(axis=1) @ reference_weights / reference_weights.sum())
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both > 0 else 0.0


def inverse_frequencies(token_ids: Sequence[IntArray], n_tokens: int) -> FloatArray:
    """Return the weight (V,) of each token: ln((D + 1) / (df + 1)), of the references (Zhang et al. 2020, section 3).

    Args:
        token_ids: D arrays; n_tokens: V.
    """
    df = np.zeros(n_tokens, np.int64)
    for ids in token_ids:
        df[np.unique(ids)] += 1
    weights: FloatArray = np.log((len(token_ids) + 1) / (df + 1))
    return weights


def _unit(vectors: Float32Array) -> FloatArray:
    wide = vectors.astype(np.float64)
    unit: FloatArray = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12)
    return unit
