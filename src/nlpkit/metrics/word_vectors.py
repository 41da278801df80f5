"""Topic coherence by word vectors: how near the words of a topic are to each other."""

from __future__ import annotations

from typing import Literal

import numpy as np

from nlpkit.errors import InputError
from nlpkit.metrics.bootstrap import Statistic, mean_of
from nlpkit.metrics.distinctness import unique_share_of
from nlpkit.types import BoolArray, Float32Array, FloatArray, IntArray

Kind = Literal["pairwise", "centroid"]


def embedding_coherence(
    topic_ids: IntArray, vectors: Float32Array, known: BoolArray, *, kind: Kind = "pairwise"
) -> FloatArray:
    """Return the coherence of each topic (K,), in [-1, 1]; NaN for a topic of under two words with a vector.

    With e_i the vector of word i of a topic, of length 1, and m words that have one:

        pairwise  1 / (m (m - 1)) Σ_{i ≠ j} e_i · e_j      the mean cosine of all pairs
        centroid  1 / m Σ_i e_i · c,  c = Σ_i e_i / |Σ_i e_i|   the mean cosine with the centre; 0 if that is 0

    Words without a vector, or with one of zeros, are left out.

    Args:
        topic_ids: (K, n) int32 words of each topic, -1 for none.
        vectors: (W, E) float32, a row per word.
        known: (W,) whether a word has a vector.

    Raises:
        InputError: a vector that is used has a value that is not finite.

    Source: Fang, Macdonald, Ounis & Habel (2016); Ding, Nallapati & Xiang (2018), §3, WETC. The formulas of OCTIS 1.14 are
    these, but its WECoherencePairwise divides by the pairs of all words, known or not; its WECoherenceCentroid is a mean
    distance (1 - cosine, less is better) from the centre of vectors of any length; and both divide a vector by the sum of
    its components, which turns it round if that is negative.
    """
    scores = np.full(len(topic_ids), np.nan)
    for k, row in enumerate(topic_ids):
        ids = row[row >= 0]
        words = vectors[ids[known[ids]]].astype(np.float64)
        if not np.isfinite(words).all():
            raise InputError("word vectors hold values that are not finite; make them again, or leave those words out")
        lengths = np.linalg.norm(words, axis=1)
        units = words[lengths > 0] / lengths[lengths > 0, None]
        m = len(units)
        if m < 2:
            continue
        total = np.linalg.norm(units.sum(axis=0))
        # Σ_{i ≠ j} e_i · e_j = |Σ e_i|² - m, and Σ e_i · c = |Σ e_i|
        score = (total**2 - m) / (m * (m - 1)) if kind == "pairwise" else total / m
        scores[k] = np.clip(score, -1.0, 1.0)
    return scores


def interpretability_of(topic_ids: IntArray, c_in: FloatArray, c_ex: FloatArray) -> Statistic:
    """Return sqrt(d sqrt(C_in C_ex)) of weighted topics, in [0, 1]; NaN where a coherence is below 0 or of no topic.

    d is the share of different words among the top words of topics of a weight above 0, C_in and C_ex the means of a coherence
    that each topic has by vectors from the corpus and from elsewhere. It is for a jackknife, as `unique_share_of`.

    Args:
        topic_ids: (K, n) int32 words of each topic, -1 for none.
        c_in, c_ex: (K,), NaN for a topic without.

    Source: Kardos et al. (2025), "S³ – Semantic Signal Separation", ACL, and scripts/s3_paper of x-tabdeveloping/topic-benchmark.
    """
    share, inside, outside = unique_share_of(topic_ids), mean_of(c_in), mean_of(c_ex)

    def statistic(weights: FloatArray) -> FloatArray:
        a, b = inside(weights), outside(weights)
        coherence = np.sqrt(np.where((a >= 0) & (b >= 0), a * b, np.nan))
        return np.asarray(np.sqrt(share(weights) * coherence), np.float64)

    return statistic
