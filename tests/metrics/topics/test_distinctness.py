"""Overlap of topics: by hand, against plain loops over sets, and what cannot change it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import UsageError
from nlpkit.metrics.topics import diversity as distinctness
from nlpkit.metrics.topics.diversity import (
    average_jaccard_matrix,
    jaccard_matrix,
    mean_pairwise,
    rbo_matrix,
    unique_share,
    unique_share_by_topic,
)
from tests.refusals import refuses
from tests.strategies import repeatable, term_ids_kn


def inverted_rbo(term_ids: np.ndarray) -> tuple[float, np.ndarray]:
    return mean_pairwise(1 - rbo_matrix(term_ids))


def ids(*topics: str) -> Any:
    """Top words given as letters, padded."""
    n = max(map(len, topics))
    return np.array([[ord(c) - ord("a") for c in topic] + [-1] * (n - len(topic)) for topic in topics], np.int32)


def overlap(a: list[int], b: list[int], d: int) -> int:
    return len(set(a[:d]) & set(b[:d]))


def plain_ext(a: list[int], b: list[int], p: float) -> float:
    """Equation 32 of Webber, Moffat & Zobel 2010."""
    S, L = sorted((a, b), key=len)
    s, l = len(S), len(L)  # noqa: E741
    x_s, x_l = overlap(a, b, s), overlap(a, b, l)
    first = sum(overlap(a, b, d) / d * p**d for d in range(1, l + 1))
    second = sum(x_s * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    return (1 - p) / p * (first + second) + ((x_l - x_s) / l + x_s / s) * p**l


def plain_min(a: list[int], b: list[int], p: float) -> float:
    """Equation 11, at the depth of the shorter list."""
    k = min(len(a), len(b))
    x_k = overlap(a, b, k)
    terms = sum((overlap(a, b, d) - x_k) * p**d / d for d in range(1, k + 1))
    return (1 - p) / p * (terms - x_k * math.log(1 - p))


def plain_norm(a: list[int], b: list[int], p: float) -> float:
    k = min(len(a), len(b))
    weights = [p ** (d - 1) for d in range(1, k + 1)]
    return sum(w * overlap(a, b, d) / d for d, w in enumerate(weights, 1)) / sum(weights)


def plain_octis(a: list[int], b: list[int], p: float) -> float:
    """What OCTIS's InvertedRBO takes of rbo.py, its agreement and overlap of lists that may differ in length."""

    def agreement(d: int) -> float:
        return 2 * overlap(a, b, d) / (len(a[:d]) + len(b[:d]))

    s, l = sorted((len(a), len(b)))  # noqa: E741
    x_s, x_l = (agreement(d) * min(d, s) for d in (s, l))
    first = sum(p**d * agreement(d) for d in range(1, l + 1))
    second = sum(p**d * x_s * (d - s) / s / d for d in range(s + 1, l + 1))
    return (1 - p) / p * (first + second) + p**l * ((x_l - x_s) / l + x_s / s)


def plain_average_jaccard(a: list[int], b: list[int]) -> float:
    t = max(len(a), len(b))
    return sum(overlap(a, b, d) / len(set(a[:d]) | set(b[:d])) for d in range(1, t + 1)) / t


def lists(term_ids: Any) -> list[list[int]]:
    return [[int(t) for t in row if t >= 0] for row in term_ids]


# ---------------------------------------------------------------- by hand


def test_unique_share_by_hand() -> None:
    # a is in two topics, b and c in one each; of topic 1 half a word is its own
    shares = unique_share_by_topic(ids("ab", "a", "c", ""))
    np.testing.assert_allclose(shares[:3], [(1 / 2 + 1) / 2, 1 / 2, 1.0])
    assert math.isnan(shares[3])
    # 0.75 · 2 + 0.5 · 1 + 1 · 1 = 3 different words of 4
    assert unique_share(ids("ab", "a", "c", "")) == 3 / 4


def test_jaccard_by_hand() -> None:
    found = jaccard_matrix(ids("abc", "bcd", "xy", ""))
    np.testing.assert_array_equal(found[:3, :3], [[1, 2 / 4, 0], [2 / 4, 1, 0], [0, 0, 1]])
    assert np.isnan(found[3]).all()
    assert np.isnan(found[:, 3]).all()
    assert mean_pairwise(found)[0] == pytest.approx((0.5 + 0 + 0) / 3)


def test_rbo_by_hand() -> None:
    # X = 0, 2: both at rank 2 at the latest; 0.5 (0/1 · 0.5 + 2/2 · 0.25) / 0.5 + 2/2 · 0.25
    assert rbo_matrix(ids("ab", "ba"), p=0.5)[0, 1] == pytest.approx(0.25 + 0.25)
    # X = 1, 1, 1 of two lists of 1 and 3: (1 + 1/2 · 0.5 + 1/3 · 0.25) 0.5
    # + of the shorter one going on: 1 (2-1)/(1·2) · 0.25 + 1 (3-1)/(1·3) · 0.125, all of it · 0.5/0.5, + (0/3 + 1/1) 0.125
    by_hand = (0.5 + 0.5 * 0.25 + 0.125 / 3) + (0.5 * 0.25 + 2 / 3 * 0.125) + 0.125
    assert rbo_matrix(ids("a", "abc"), p=0.5)[0, 1] == pytest.approx(by_hand) == pytest.approx(1.0)
    # X = 1, 1: (1/1 + 1/2 · 0.5) / (1 + 0.5)
    assert rbo_matrix(ids("ab", "ac"), p=0.5, form="norm")[0, 1] == pytest.approx(1.25 / 1.5)
    # (X_1 - X_2) 0.5 + (X_2 - X_2) … - X_2 ln 0.5
    assert rbo_matrix(ids("ab", "ac"), p=0.5, form="min")[0, 1] == pytest.approx(math.log(2))


def test_rbo_as_others_give_it() -> None:
    """Figures in the tests of the rbo.py that OCTIS carries (dlukes/rbo), and of the average overlap of the paper."""
    assert rbo_matrix(ids("abcdefg", "bacdefg"), p=0.9)[0, 1] == pytest.approx(0.9, abs=5e-4)
    assert rbo_matrix(ids("abcdefg", "abcdefg"), p=0.9, form="min")[0, 1] == pytest.approx(0.767, abs=5e-4)
    for d, value in enumerate([0.0, 0.0, 0.222, 0.292, 0.313, 0.317, 0.312], start=1):
        found = rbo_matrix(ids("abcdefg"[:d], "zcavwxy"[:d]), p=1.0, form="norm")[0, 1]
        assert found == pytest.approx(value, abs=6e-4)


def test_average_jaccard_as_in_its_paper() -> None:
    """Greene, O'Callaghan & Cunningham 2014, table 1: album, music, best, award, win and sport, best, win, medal, award."""
    jaccards = [0, 0, 1 / 5, 1 / 7, 3 / 7]  # of a b c d e and f c e g d, depth by depth
    found = average_jaccard_matrix(ids("abcde", "fcegd"))
    assert found[0, 1] == pytest.approx(sum(jaccards) / 5, rel=1e-14)
    assert found[0, 1] == pytest.approx(0.154, abs=5e-4)


def test_means_of_pairs() -> None:
    matrix = np.array([[1.0, 0.2, 0.4], [0.2, 1.0, np.nan], [0.4, np.nan, 1.0]])
    mean, by_topic = mean_pairwise(matrix)
    assert mean == pytest.approx(0.3)
    np.testing.assert_allclose(by_topic, [0.3, 0.2, 0.4])
    assert math.isnan(mean_pairwise(np.ones((1, 1)))[0])
    assert matrix[0, 0] == 1.0  # as it came


def test_inverted_rbo_ends() -> None:
    assert inverted_rbo(ids("abc", "def", "xyz"))[0] == 1.0
    assert inverted_rbo(ids("abc", "abc"))[0] == 0.0
    mean, by_topic = inverted_rbo(ids("abc"))
    assert math.isnan(mean)
    assert math.isnan(by_topic[0])


# ---------------------------------------------------------------- against plain versions


@repeatable
@given(st.data(), st.sampled_from([0.2, 0.5, 0.9, 0.98]))
def test_equals_plain_loops(data: st.DataObject, p: float) -> None:
    a, b = data.draw(term_ids_kn(8)), data.draw(term_ids_kn(8))
    forms = {"ext": plain_ext, "min": plain_min, "norm": plain_norm}
    for i, x in enumerate(lists(a)):
        for j, y in enumerate(lists(b)):
            found = {form: rbo_matrix(a, b, p=p, form=form)[i, j] for form in forms}  # type: ignore[arg-type]
            found |= {"jaccard": jaccard_matrix(a, b)[i, j], "average": average_jaccard_matrix(a, b)[i, j]}
            if not x or not y:
                assert all(map(math.isnan, found.values()))
                continue
            for form, plain in forms.items():
                assert found[form] == pytest.approx(plain(x, y, p), abs=1e-12)
            assert found["jaccard"] == len(set(x) & set(y)) / len(set(x) | set(y))
            assert found["average"] == pytest.approx(plain_average_jaccard(x, y), abs=1e-12)


@repeatable
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 10))
def test_inverted_rbo_of_octis(seed: int, K: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    topics = np.array([rng.permutation(n + 3)[:n] for _ in range(K)], np.int32)
    pairs = [plain_octis(lists(topics)[i], lists(topics)[j], 0.9) for i in range(K) for j in range(i)]
    assert inverted_rbo(topics)[0] == pytest.approx(1 - np.mean(pairs), abs=1e-12)


def test_where_octis_differs() -> None:
    assert rbo_matrix(ids("a", "abc"), p=0.9)[0, 1] == pytest.approx(1.0)
    assert plain_octis([0], [0, 1, 2], 0.9) == pytest.approx(0.907, abs=1e-3)  # though all of the shorter agrees


def test_blocks_do_not_change_a_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    topics = np.array([rng.permutation(30)[:8] for _ in range(40)], np.int32)
    topics[::7, 3:] = -1
    measures = (jaccard_matrix, rbo_matrix, average_jaccard_matrix)
    whole = [measure(topics) for measure in measures]
    monkeypatch.setattr(distinctness, "_PAIRS", 50)
    for measure, expected in zip(measures, whole, strict=True):
        np.testing.assert_array_equal(measure(topics), expected)


# ---------------------------------------------------------------- properties


@repeatable
@given(st.data())
def test_bounds_and_symmetry(data: st.DataObject) -> None:
    topics = data.draw(term_ids_kn(10))
    filled = (topics >= 0).any(axis=1)
    for measure in (jaccard_matrix, rbo_matrix, average_jaccard_matrix):
        found = measure(topics)
        np.testing.assert_array_equal(found, found.T)
        assert (np.diag(found)[filled] == 1.0).all()
        inside = found[np.ix_(filled, filled)]
        assert ((inside >= 0) & (inside <= 1)).all()
        assert np.isnan(found[~filled]).all()


@repeatable
@given(st.data())
def test_numbers_of_words_and_order_of_topics_do_not_matter(data: st.DataObject) -> None:
    topics = data.draw(term_ids_kn(10))
    order = data.draw(st.permutations(range(len(topics))))
    renamed = np.array([*data.draw(st.permutations(range(10))), -1])
    for measure in (jaccard_matrix, rbo_matrix, average_jaccard_matrix):
        expected = measure(topics)[np.ix_(order, order)]
        np.testing.assert_allclose(measure(renamed[topics][order].astype(np.int32)), expected, rtol=1e-12, atol=1e-15)


@repeatable
@given(st.data())
def test_unique_share_is_the_weighted_mean(data: st.DataObject) -> None:
    topics = data.draw(term_ids_kn(10))
    shares, sizes = unique_share_by_topic(topics), (topics >= 0).sum(axis=1)
    np.testing.assert_array_equal(np.isnan(shares), sizes == 0)
    if sizes.any():
        mean = np.nansum(shares * sizes) / sizes.sum()
        assert mean == pytest.approx(unique_share(topics), rel=1e-12)


@repeatable
@given(st.data())
def test_a_topic_that_is_there_twice_makes_topics_less_distinct(data: st.DataObject) -> None:
    topics = data.draw(term_ids_kn(10))
    filled = topics[(topics >= 0).any(axis=1)]
    if len(filled) < 2:
        return
    twice = np.concatenate([filled, filled[:1]])
    for measure in (jaccard_matrix, rbo_matrix):
        overlap_of_one = mean_pairwise(measure(filled))[1][0]
        assert mean_pairwise(measure(twice))[1][0] >= overlap_of_one
    assert unique_share_by_topic(twice)[0] < unique_share_by_topic(filled)[0] or not (filled[0] >= 0).any()


def test_padding_may_lie_anywhere() -> None:
    np.testing.assert_array_equal(
        rbo_matrix(np.array([[-1, 0, 1], [1, -1, 0]], np.int32)), rbo_matrix(np.array([[0, 1], [1, 0]], np.int32))
    )


@pytest.mark.parametrize("p", [0.0, 1.0, -1.0, 1.5, math.nan])
def test_p_out_of_range(p: float) -> None:
    with refuses("p"):
        rbo_matrix(ids("ab", "ba"), p=p)


def test_what_cannot_be_meant() -> None:
    with refuses("form"):
        rbo_matrix(ids("ab"), form="max")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"one row a topic \(K, n\)"):
        jaccard_matrix(np.arange(3, dtype=np.int32))


def test_no_topics_at_all() -> None:
    assert rbo_matrix(np.zeros((0, 5), np.int32)).shape == (0, 0)
    assert average_jaccard_matrix(np.zeros((0, 5), np.int32)).shape == (0, 0)
    assert math.isnan(inverted_rbo(np.full((2, 0), -1, np.int32))[0])
