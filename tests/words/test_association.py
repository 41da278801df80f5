"""WEAT and lines between words, by hand and beside plain versions; drift beside scipy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from nlpkit.words import questions as association
from nlpkit.words.questions import associations, direction, drift, pair_direction, procrustes, projections, weat

A, B = np.array([[1, 0]], np.float32), np.array([[0, 1]], np.float32)


def at(*cosines: float) -> np.ndarray:
    """Vectors of length 2 with these cosines with (1, 0)."""
    return np.array([[2 * c, 2 * np.sqrt(1 - c * c)] for c in cosines], np.float32)


def test_weat_by_hand() -> None:
    """s(w) = cos - sin: 1, 0.2 of X and -0.2, -1 of Y, so Σ = 1.2 + 1.2 and the mean 0; sd² = 2 (1 + 0.04) / 3.

    Σ_x of the six partitions: 1.2, 0.8, 0, 0, -0.8, -1.2: the one that is there is the largest, p = 1/6.
    """
    x, y = at(1.0, 0.8), at(0.6, 0.0)
    np.testing.assert_allclose(associations(x, A, B), [1.0, 0.2], atol=1e-6)
    test = weat(x, y, A, B, seed=0)
    assert test.statistic == pytest.approx(2.4, abs=1e-6)
    assert test.effect_size == pytest.approx(1.2 / np.sqrt(2 * 1.04 / 3), abs=1e-6)
    assert (test.p_value, test.partitions, test.exact) == (pytest.approx(1 / 6), 6, True)
    other = weat(y, x, A, B, seed=0)
    assert (other.p_value, other.effect_size) == (1, pytest.approx(-test.effect_size))


def test_weat_of_unequal_sets_is_a_plain_loop_and_samples_come_near(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y, a, b = (rng.normal(size=(n, 6)).astype(np.float32) for n in (4, 6, 3, 2))

    def cosine(u: np.ndarray, v: np.ndarray) -> float:
        return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))

    s = [np.mean([cosine(w, u) for u in a]) - np.mean([cosine(w, u) for u in b]) for w in [*x, *y]]
    observed = sum(s[:4]) - sum(s[4:])
    every = [
        sum(s[i] for i in rows) - sum(s[i] for i in range(10) if i not in rows) for rows in combinations(range(10), 4)
    ]
    test = weat(x, y, a, b, seed=0)
    assert test.statistic == pytest.approx(observed, abs=1e-6)
    assert test.p_value == pytest.approx(np.mean([one >= observed - 1e-9 for one in every]))
    assert test.effect_size == pytest.approx((np.mean(s[:4]) - np.mean(s[4:])) / np.std(s, ddof=1), abs=1e-5)
    monkeypatch.setattr(association, "EXACT", 100)
    monkeypatch.setattr(association, "DRAWS", 4_999)
    drawn = weat(x, y, a, b, seed=1)
    assert not drawn.exact
    assert drawn.p_value == pytest.approx(test.p_value, abs=0.03)
    assert drawn.p_value == weat(x, y, a, b, seed=1).p_value


def test_alike_words_have_no_effect_size() -> None:
    test = weat(at(0.5, 0.5), at(0.5, 0.5), A, B, seed=0)
    assert np.isnan(test.effect_size)
    assert test.p_value == 1


def test_lines() -> None:
    np.testing.assert_allclose(direction(A, B), [0.5**0.5, -(0.5**0.5)])
    np.testing.assert_allclose(projections(at(1.0, 0.0), direction(A, B)), [0.5**0.5, -(0.5**0.5)], atol=1e-7)
    assert not direction(A, A).any()
    rng = np.random.default_rng(1)
    b = rng.normal(size=(6, 5)).astype(np.float32)
    a = b + np.array([3, 0, 0, 0, 0], np.float32)
    line = pair_direction(a, b)
    assert np.linalg.norm(line) == pytest.approx(1)
    assert line @ direction(a, b) > 0.9
    np.testing.assert_allclose(pair_direction(b, a), -line, atol=1e-12)


def test_procrustes_is_scipys_and_a_rotation_comes_back() -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=(50, 6)).astype(np.float32)
    turn, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    second = (first @ turn).astype(np.float32)
    np.testing.assert_allclose(procrustes(first, second), orthogonal_procrustes(first, second)[0], atol=1e-5)
    np.testing.assert_allclose(procrustes(first, second), turn, atol=1e-5)
    moved = drift(first, second, np.arange(50))
    assert moved.distance.max() < 1e-5
    assert moved.agreement == pytest.approx(1)


def test_the_word_that_was_moved_comes_first_and_rare_words_are_expected_to_move() -> None:
    rng = np.random.default_rng(3)
    n = 600
    first = rng.normal(size=(n, 10)).astype(np.float32)
    noise = np.where(np.arange(n) < n // 2, 0.02, 0.6)  # the rare half is noisy
    second = (first + rng.normal(size=(n, 10)) * noise[:, None]).astype(np.float32)
    second[5] = first[5] + 1.2 * rng.normal(size=10)
    counts = np.where(np.arange(n) < n // 2, 1000, 5) - np.arange(n) // 300
    moved = drift(first, second, counts)
    assert int(np.argmax(moved.z)) == 5
    assert int(np.argmax(moved.distance)) != 5 or moved.z[5] > 3 * np.sort(moved.z)[-2]
    assert moved.expected[: n // 4].max() < moved.expected[-n // 4 :].min()
