"""The kernels of new documents against plain Python, and against all topics of all tokens gone through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.topics.base import kernels as gibbs_infer
from tests.reference import gibbs_infer as plain
from tests.strategies import repeatable

ROOM = 10_000


def make_words(counts: Any, alpha: Any, eta: float) -> gibbs_infer.Words:
    """phi of counts n_kv (K, V)."""
    by_word = sparse.csc_array(counts)
    by_word.sort_indices()
    start, topics = by_word.indptr.astype(np.int64), by_word.indices.astype(np.int32)
    inverse = 1.0 / (counts.sum(axis=1) + counts.shape[1] * eta)
    parts, alpha = by_word.data * inverse[topics], np.asarray(alpha, np.float64)
    smooth = gibbs_infer.smooth_sums(start, topics, parts, alpha)
    return gibbs_infer.Words(start, topics, parts, smooth, eta * inverse, alpha, np.cumsum(alpha * eta * inverse))


def dense(words: gibbs_infer.Words, V: int) -> tuple[list[float], list[list[float]]]:
    """base (K,) and parts (K, V)."""
    parts = sparse.csc_array((words.parts, words.topics, words.start), shape=(len(words.base), V)).toarray()
    return words.base.tolist(), parts.tolist()


def random_case(seed: int, K: int, V: int, lengths: list[int]) -> tuple[gibbs_infer.Words, Any, Any]:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(2.0, (K, V)) * (rng.random((K, V)) < 0.5)
    words = make_words(counts, rng.gamma(1.0, 0.5, K) + 0.01, float(rng.gamma(1.0, 0.2) + 0.001))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return words, offsets, rng.integers(0, V, offsets[-1]).astype(np.int32)


def infer(
    words: gibbs_infer.Words,
    offsets: Any,
    term_ids: Any,
    chains: int,
    sweeps: int,
    burn_in: int,
    key: int = 5,
    room: int = ROOM,
) -> Any:
    theta = np.full((len(offsets) - 1, len(words.base)), np.nan)
    with np.errstate(over="ignore"):
        gibbs_infer.infer(offsets, term_ids, words, chains, sweeps, burn_in, np.uint64(key), room, theta)
    return theta


def left_to_right(
    words: gibbs_infer.Words, offsets: Any, term_ids: Any, particles: int, key: int = 5, room: int = ROOM
) -> Any:
    out = np.full(len(term_ids), np.nan)
    with np.errstate(over="ignore"):
        gibbs_infer.left_to_right(offsets, term_ids, words, particles, np.uint64(key), room, out)
    return out


cases = (st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 9), st.lists(st.integers(0, 12), max_size=4))


@settings(repeatable, max_examples=25)
@given(*cases, st.integers(1, 2), st.integers(1, 5), st.integers(0, 4))
def test_draw_for_draw(seed: int, K: int, V: int, lengths: list[int], chains: int, sweeps: int, burn_in: int) -> None:
    words, offsets, term_ids = random_case(seed, K, V, lengths)
    burn_in = min(burn_in, sweeps - 1)
    base, parts = dense(words, V)
    docs = plain.documents(offsets, term_ids)
    expected = plain.infer(docs, base, parts, words.alpha.tolist(), chains, sweeps, burn_in, seed)
    theta = infer(words, offsets, term_ids, chains, sweeps, burn_in, key=seed)
    np.testing.assert_allclose(theta, np.reshape(expected, theta.shape), rtol=1e-9)


@settings(repeatable, max_examples=30)
@given(*cases, st.integers(1, 3))
def test_left_to_right_draw_for_draw(seed: int, K: int, V: int, lengths: list[int], particles: int) -> None:
    words, offsets, term_ids = random_case(seed, K, V, lengths)
    expected = plain.left_to_right(
        plain.documents(offsets, term_ids), *dense(words, V), words.alpha.tolist(), particles, seed
    )
    np.testing.assert_allclose(left_to_right(words, offsets, term_ids, particles, key=seed), expected, rtol=1e-9)


@repeatable
@given(*cases, st.integers(0, 30))
def test_less_room_changes_nothing(seed: int, K: int, V: int, lengths: list[int], room: int) -> None:
    words, offsets, term_ids = random_case(seed, K, V, lengths)
    whole, narrow = (infer(words, offsets, term_ids, 1, 4, 1, room=r) for r in (ROOM, room))
    np.testing.assert_array_equal(narrow, whole)
    whole, narrow = (left_to_right(words, offsets, term_ids, 2, room=r) for r in (ROOM, room))
    np.testing.assert_array_equal(narrow, whole)


def test_one_token_by_hand() -> None:
    # phi_k0 = (3 + 1)/(4 + 2), (0 + 1)/(2 + 2); p(z = 0) = 0.5 · 2/3 / (0.5 · 2/3 + 1.5 · 1/4) = 8/17 in every sweep
    words = make_words(np.array([[3, 1], [0, 2]]), [0.5, 1.5], 1.0)
    theta = infer(words, np.array([0, 1]), np.array([0], np.int32), 1, 7, 2)
    np.testing.assert_allclose(theta, [[(8 / 17 + 0.5) / 3, (9 / 17 + 1.5) / 3]])


@pytest.mark.parametrize(("K", "words_of_doc"), [(2, [0, 1, 1, 2, 3]), (3, [3, 0, 0, 2, 1, 3])])
def test_long_chains_have_the_exact_mean(K: int, words_of_doc: list[int]) -> None:
    counts = np.array([[9, 1, 0, 2], [0, 4, 3, 0], [1, 0, 2, 7]])[:K]
    words = make_words(counts, [0.3, 0.7, 0.2][:K], 0.4)
    base, parts = dense(words, 4)
    phi = [[b + p for p in row] for b, row in zip(base, parts, strict=True)]
    log_p, theta = plain.exactly(words_of_doc, phi, words.alpha.tolist())
    offsets, term_ids = np.array([0, len(words_of_doc)]), np.array(words_of_doc, np.int32)
    # of 2,000 samples each; their error is about 0.003
    np.testing.assert_allclose(infer(words, offsets, term_ids, 1, 2000, 20)[0], theta, atol=0.015)
    # of 2,000 particles, error about 0.01; the estimator's own limit is near log p(w), not at it
    limit = plain.left_to_right_limit(words_of_doc, phi, words.alpha.tolist())
    assert left_to_right(words, offsets, term_ids, 2000).sum() == pytest.approx(limit, abs=0.03)
    assert limit == pytest.approx(log_p, abs=0.1)


@repeatable
@given(*cases)
def test_log_probs(seed: int, K: int, V: int, lengths: list[int]) -> None:
    words, offsets, term_ids = random_case(seed, K, V, lengths)
    theta = np.random.default_rng(seed).dirichlet(np.ones(K), len(lengths))
    base, parts = dense(words, V)
    phi = [[b + p for p in row] for b, row in zip(base, parts, strict=True)]
    out = np.full(len(term_ids), np.nan)
    gibbs_infer.log_probs(theta, offsets, term_ids, words, out)
    np.testing.assert_allclose(out, plain.log_probs(theta, plain.documents(offsets, term_ids), phi), rtol=1e-12)
    half = len(lengths) // 2  # a block of documents, whose offsets begin anywhere
    some = np.full(offsets[-1] - offsets[half], np.nan)
    gibbs_infer.log_probs(theta[half:], offsets[half:], term_ids, words, some)
    np.testing.assert_array_equal(some, out[offsets[half] :])


@repeatable
@given(*cases)
def test_halves(seed: int, K: int, V: int, lengths: list[int]) -> None:
    _, offsets, term_ids = random_case(seed, K, V, lengths)
    marks = np.zeros(len(term_ids), bool)
    with np.errstate(over="ignore"):
        gibbs_infer.mark_halves(offsets, term_ids, np.uint64(seed), marks)
    for words, marked in zip(plain.documents(offsets, term_ids), np.split(marks, offsets[1:-1]), strict=bool(lengths)):
        stream = plain.Stream(words, seed)
        order = sorted(range(len(words)), key=lambda i: plain.random_bits(stream.key, i))
        assert np.flatnonzero(marked).tolist() == sorted(order[::2])
