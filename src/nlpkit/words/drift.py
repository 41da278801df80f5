"""How far words moved between two vector spaces, such as those of two periods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.types import Float32Array, FloatArray, LongArray
from nlpkit.words.vectors import unit_rows

LIKE = 200  # words of a similar frequency that a word is compared with


@dataclass(frozen=True, slots=True)
class Drift:
    """Words that two spaces share: cosine distance (n,) after rotation, expected (n,) for its frequency, z (n,) against words like it.

    agreement: mean cosine of all shared words after the rotation.
    """

    distance: FloatArray
    expected: FloatArray
    z: FloatArray
    agreement: float


def procrustes(first: Float32Array, second: Float32Array) -> FloatArray:
    """Return the orthogonal matrix R (E, E) that makes |first R - second| smallest: U Vᵀ of the SVD of firstᵀ second.

    Source: Schönemann (1966); Hamilton, Leskovec & Jurafsky (2016), "Diachronic Word Embeddings Reveal Statistical Laws of Semantic
    Change", ACL, §3.3. Agrees with scipy.linalg.orthogonal_procrustes.
    """
    with threadpool_limits(limits=1):
        U, _, Vt = np.linalg.svd(first.astype(np.float64).T @ second.astype(np.float64))
        return np.asarray(U @ Vt)


def drift(first: Float32Array, second: Float32Array, counts: LongArray) -> Drift:
    """Return how far shared words moved from one space to another.

    Vectors are divided by their lengths and centred, as their means differ between spaces, and the first space is rotated onto the second.
    Rare words have noisy vectors and seem to move far, so a distance is compared with those of the 200 words of the nearest
    frequency (all, of fewer): expected is their median, z = (distance - expected) / (1.4826 · median absolute deviation), 0 where
    that is 0.

    Args:
        first, second: (n, E) vectors of the shared words; counts: (n,) how sure the vectors are: the smaller count of the two.

    Source: Hamilton et al. (2016), §3.3; Artetxe, Labaka & Agirre (2016) for centring; Dubossarsky, Weinshall & Grossman (2017),
    "Outta Control", EMNLP, for frequency.
    """
    a, b = (unit_rows(v).astype(np.float64) for v in (first, second))
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    rotated = a @ procrustes(a.astype(np.float32), b.astype(np.float32))
    lengths = np.linalg.norm(rotated, axis=1) * np.linalg.norm(b, axis=1)
    cosines = (rotated * b).sum(axis=1) / np.where(lengths > 0, lengths, 1.0)
    distance = 1.0 - np.clip(cosines, -1.0, 1.0)
    expected, spread = _of_like_words(distance, counts)
    z = np.where(spread > 0, (distance - expected) / np.where(spread > 0, spread, 1.0), 0.0)
    return Drift(distance, expected, z, float(cosines.mean()))


def _of_like_words(distance: FloatArray, counts: LongArray) -> tuple[FloatArray, FloatArray]:
    """Return median and spread of the distances of the words next to each in the order of frequency (n,)."""
    n = len(distance)
    order = np.argsort(-counts, kind="stable")
    sorted_ = distance[order]
    width = min(LIKE, n)
    starts = np.clip(np.arange(n) - width // 2, 0, n - width)
    expected, spread = np.empty(n), np.empty(n)
    for i, start in enumerate(starts.tolist()):
        near = sorted_[start : start + width]
        middle = np.median(near)
        expected[order[i]], spread[order[i]] = middle, 1.4826 * np.median(np.abs(near - middle))
    return expected, spread
