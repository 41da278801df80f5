"""Dawid & Skene: the paper's formulas in plain loops, recovery of planted coders, limits, and what is not defined."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nlpkit.errors import InputError
from nlpkit.metrics.agreement import dawid_skene, majority_vote


def plain(codes: np.ndarray, J: int, rounds: int) -> tuple[list[list[float]], list[float], list[list[list[float]]]]:
    """EM as the paper writes it, with loops; after the last E-step one more M-step."""
    units, C = [row for row in codes.tolist() if max(row) >= 0], codes.shape[1]
    T = [[row.count(j) / sum(v >= 0 for v in row) for j in range(J)] for row in units]
    for turn in range(rounds + 1):
        p = [sum(t[j] for t in T) / len(T) for j in range(J)]
        pi = [[[0.0] * J for _ in range(J)] for _ in range(C)]
        for k in range(C):
            for j in range(J):
                mass = sum(t[j] for t, row in zip(T, units, strict=True) if row[k] >= 0)
                for label in range(J):
                    hits = sum(t[j] for t, row in zip(T, units, strict=True) if row[k] == label)
                    pi[k][j][label] = hits / mass if mass else math.nan
        if turn == rounds:
            break
        T = []
        for row in units:
            joint = [
                p[j] * math.prod(0.0 if math.isnan(pi[k][j][v]) else pi[k][j][v] for k, v in enumerate(row) if v >= 0)
                for j in range(J)
            ]
            T.append([x / sum(joint) for x in joint])
    return T, p, pi


def planted(
    rng: np.random.Generator, U: int, accuracies: list[float], J: int, missing: float
) -> tuple[np.ndarray, np.ndarray]:
    true = rng.integers(J, size=U)
    codes = np.empty((U, len(accuracies)), np.int64)
    for k, accuracy in enumerate(accuracies):
        other = (true + rng.integers(1, J, size=U)) % J
        codes[:, k] = np.where(rng.random(U) < accuracy, true, other)
    codes[rng.random(codes.shape) < missing] = -1
    return codes, true


@pytest.mark.parametrize(("J", "missing"), [(2, 0.0), (3, 0.3), (4, 0.6)])
def test_it_is_em_as_the_paper_writes_it(J: int, missing: float) -> None:
    codes, _ = planted(np.random.default_rng(J), 60, [0.9, 0.7, 0.6, 0.4], J, missing)
    model = dawid_skene(codes, J)
    T, p, pi = plain(codes, J, model.iterations)
    rated = (codes >= 0).any(axis=1)
    np.testing.assert_allclose(model.probabilities[rated], T, atol=1e-9)
    assert np.isnan(model.probabilities[~rated]).all()
    np.testing.assert_allclose(model.shares, p, atol=1e-9)
    np.testing.assert_allclose(model.confusion, pi, atol=1e-9)
    likelihood = sum(
        math.log(sum(p[j] * math.prod(pi[k][j][v] for k, v in enumerate(row) if v >= 0) for j in range(J)))
        for row in codes[rated].tolist()
    )
    assert model.log_likelihood == pytest.approx(likelihood, abs=1e-6)


def test_good_coders_are_told_from_bad_ones() -> None:
    codes, true = planted(np.random.default_rng(0), 2000, [0.95, 0.6, 0.55, 0.55, 0.5], 3, 0.0)
    model = dawid_skene(codes, 3)
    np.testing.assert_allclose(model.accuracy, [0.95, 0.6, 0.55, 0.55, 0.5], atol=0.04)
    by_votes = (majority_vote(codes, ties="first")[0] == true).mean()
    assert (model.labels()[0] == true).mean() > by_votes + 0.1  # .94, by votes .78


def test_coders_who_are_equally_good_vote() -> None:
    # each coder errs alone, equally often on either label, so that all confusions are the same
    codes = np.array([[j] * 3 for j in (0, 1) for _ in range(6)])
    for j in (0, 1):
        for k in range(3):
            codes[6 * j + k, k] = 1 - j
    model = dawid_skene(codes, 2)
    winner, _, _ = majority_vote(codes)
    assert model.labels()[0].tolist() == winner.tolist()
    assert len(set(np.round(model.accuracy, 9))) == 1


def test_one_coder_is_believed() -> None:
    codes = np.array([[0], [2], [1], [-1], [2]])
    model = dawid_skene(codes, 3)
    winner, tie = model.labels()
    assert (winner.tolist(), tie.any()) == ([0, 2, 1, -1, 2], False)
    np.testing.assert_array_equal(model.confusion[0], np.eye(3))
    np.testing.assert_array_equal(model.entropy, [0, 0, 0, np.nan, 0])
    assert model.accuracy.tolist() == [1.0]


def test_two_coders_who_disagree_evenly_say_nothing() -> None:
    model = dawid_skene([[0, 1], [1, 0]], 2)
    assert model.labels()[1].tolist() == [True, True]
    np.testing.assert_allclose(model.entropy, math.log(2))


def test_a_label_that_nobody_gave_and_a_coder_without_judgements() -> None:
    model = dawid_skene([[0, 0, -1], [1, 1, -1]], 3)
    assert model.shares.tolist() == [0.5, 0.5, 0.0]
    assert np.isnan(model.confusion[0, 2]).all()
    assert np.isnan(model.confusion[2]).all()
    np.testing.assert_array_equal(model.accuracy, [1.0, 1.0, np.nan])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 2)])
def test_nothing_was_judged(shape: tuple[int, int]) -> None:
    model = dawid_skene(np.full(shape, -1), 2)
    assert model.labels()[0].tolist() == [-1] * shape[0]
    assert model.converged
    assert dawid_skene(np.full(shape, -1), 0).labels()[1].tolist() == [False] * shape[0]


def test_what_is_no_judgement_is_refused() -> None:
    for codes in ([0, 1], [[0, 2]], [[-2, 0]]):
        with pytest.raises(InputError, match="judgements are"):
            dawid_skene(codes, 2)
