"""Coherence by word vectors."""

from __future__ import annotations

from itertools import combinations
from math import isnan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import InputError
from nlpkit.metrics.topics.word_vectors import embedding_coherence, interpretability_of
from tests.strategies import repeatable, term_ids_kn

# e0 = (1, 0), e1 = (0, 1), e2 = (1, 1) / √2 at any length, e3 = -e0, e4 = 0
VECTORS = np.array([[1, 0], [0, 1], [3, 3], [-2, 0], [0, 0]], np.float32)
KNOWN = np.ones(5, bool)


def score(ids: list[int], kind: Any, known: Any = KNOWN) -> float:
    return float(embedding_coherence(np.array([ids], np.int32), VECTORS, known, kind=kind)[0])


def test_pairwise() -> None:
    # cosines: e0 e1 0, e0 e2 and e1 e2 1/√2
    assert score([0, 1, 2], "pairwise") == pytest.approx(2 / sqrt(2) / 3, rel=1e-7)
    assert score([0, 3], "pairwise") == -1.0
    assert score([2, 2], "pairwise") == pytest.approx(1.0, rel=1e-15)


def test_centroid() -> None:
    # e0 + e1 + e2 lies on e2: cosines 1/√2, 1/√2, 1
    assert score([0, 1, 2], "centroid") == pytest.approx((2 / sqrt(2) + 1) / 3, rel=1e-7)
    assert score([0, 3], "centroid") == 0.0


@pytest.mark.parametrize("kind", ["pairwise", "centroid"])
def test_words_without_a_vector_are_left_out(kind: str) -> None:
    known = np.array([True, True, False, True, True])
    assert score([0, 2, 1, 4, -1], kind, known) == score([0, 1], kind)
    for ids in ([0, 2], [0, 4], [2], [-1, -1], [0, -1]):
        assert isnan(score(ids, kind, known))


def test_no_topics() -> None:
    assert embedding_coherence(np.zeros((0, 3), np.int32), VECTORS, KNOWN).shape == (0,)


def test_values_that_are_not_finite_are_refused() -> None:
    bad = VECTORS.copy()
    bad[1, 0] = np.nan
    with pytest.raises(InputError):
        embedding_coherence(np.array([[0, 1]], np.int32), bad, KNOWN)
    # unless nobody asks for them
    assert embedding_coherence(np.array([[0, 2]], np.int32), bad, KNOWN).shape == (1,)


@repeatable
@given(term_ids_kn(7), st.integers(0, 1000))
def test_equals_the_definition(topic_ids: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors, known = rng.normal(size=(7, 4)).astype(np.float32), rng.random(7) < 0.8
    units = vectors.astype(np.float64) / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    for kind in ("pairwise", "centroid"):
        found = embedding_coherence(topic_ids, vectors, known, kind=kind)  # type: ignore[arg-type]
        for row, value in zip(topic_ids, found, strict=True):
            used = [units[i] for i in row if i >= 0 and known[i]]
            if len(used) < 2:
                assert isnan(value)
                continue
            centre = np.mean(used, axis=0)
            cosines = (
                [u @ v for u, v in combinations(used, 2)]
                if kind == "pairwise"
                else [u @ centre / np.linalg.norm(centre) for u in used]
            )
            assert value == pytest.approx(np.mean(cosines), rel=1e-9, abs=1e-9)
            assert -1 <= value <= 1


def test_as_octis_on_positive_vectors_of_length_one() -> None:
    """OCTIS 1.14 on words that all have a vector: the mean over ordered pairs, and 1 - the mean distance from the centre."""
    rng = np.random.default_rng(0)
    vectors = rng.random((10, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    E = vectors.astype(np.float64) / vectors.sum(axis=1, keepdims=True)
    lengths = np.linalg.norm(E, axis=1)
    cosines = E @ E.T / np.outer(lengths, lengths)
    pairwise = (cosines.sum() - 10) / (10 * 9)
    t = vectors.astype(np.float64).sum(axis=0)
    distances = 1 - E @ t / lengths / np.linalg.norm(t)
    ids = np.arange(10, dtype=np.int32)[None]
    known = np.ones(10, bool)
    assert embedding_coherence(ids, vectors, known)[0] == pytest.approx(pairwise, rel=1e-6)
    assert embedding_coherence(ids, vectors, known, kind="centroid")[0] == pytest.approx(1 - distances.mean(), rel=1e-6)


def test_interpretability_by_hand() -> None:
    """Four different words of six; C_in 0.36 and C_ex 0.16 have the geometric mean 0.24; the third topic has no C_ex."""
    ids = np.array([[0, 1], [0, 2], [3, 0]], np.int32)
    c_in, c_ex = np.array([0.3, 0.5, 0.28]), np.array([0.12, 0.2, np.nan])
    statistic = interpretability_of(ids, c_in, c_ex)
    assert statistic(np.ones((1, 3))) == pytest.approx([sqrt(4 / 6 * 0.24)], rel=1e-12)
    # without the first topic: all words but one, means of the others
    assert statistic(np.array([[0.0, 1.0, 1.0]])) == pytest.approx([sqrt(3 / 4 * sqrt(0.39 * 0.2))], rel=1e-12)
    assert isnan(interpretability_of(ids, -c_in, -c_ex)(np.ones((1, 3)))[0])
    assert isnan(interpretability_of(ids, c_in, np.full(3, np.nan))(np.ones((1, 3)))[0])


def test_wec_is_that_of_the_topic_benchmark() -> None:
    """The mean over topics of the mean similarity of pairs that both have a vector, as gensim's KeyedVectors gives it."""
    gensim = pytest.importorskip("gensim.models.keyedvectors")
    rng = np.random.default_rng(3)
    words = [f"w{i}" for i in range(12)]
    vectors = rng.normal(size=(12, 7)).astype(np.float32)
    known = np.arange(12) % 5 != 4
    wv = gensim.KeyedVectors(7)
    wv.add_vectors([w for w, has in zip(words, known, strict=True) if has], vectors[known])
    topics = rng.permuted(np.tile(np.arange(12, dtype=np.int32), (4, 1)), axis=1)[:, :6]
    expected = [
        np.mean([wv.similarity(words[a], words[b]) for a, b in combinations(topic, 2) if known[a] and known[b]])
        for topic in topics
    ]
    assert embedding_coherence(topics, vectors, known) == pytest.approx(expected, abs=1e-6)
