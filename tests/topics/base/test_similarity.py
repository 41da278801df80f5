"""Similarities of topics: by hand, at the limits, and against the formulas over dense counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.topics.base.prototype import MEASURES, cosine, jaccard, jensen_shannon, rank_biased_overlap, relevant_words
from tests.refusals import refuses
from tests.strategies import counts_dv, repeatable


def csr(rows: Any) -> Any:
    return sparse.csr_array(np.array(rows, np.int32))


def words(rows: Any, **limits: float) -> list[list[int]]:
    chosen = relevant_words(csr(rows), **limits)  # type: ignore[arg-type]
    return [row.nonzero()[0].tolist() for row in chosen.toarray()]


# --- thresholded Jaccard ---


def test_a_relevant_word_exceeds_the_absolute_limit() -> None:
    assert words([[9, 10, 11, 12]], limit_rel=0) == [[2, 3]]
    assert words([[9, 10, 11, 12]], limit_rel=0, limit_abs=11) == [[3]]
    assert words([[0, 1, 2]], limit_rel=0, limit_abs=0) == [[1, 2]]


def test_a_relevant_word_exceeds_the_relative_limit() -> None:
    # 10,000 tokens: 1/500 of them are 20
    rows = [[9937, 20, 21, 22]]
    assert words(rows) == [[0, 2, 3]]
    assert words(rows, limit_rel=1 / 1000) == [[0, 1, 2, 3]]


def test_both_limits_hold() -> None:
    # 3,000 tokens: 1/500 are 6, and 10 is the higher limit; 60 tokens of the second topic do not change the first
    assert words([[2970, 10, 11, 9], [60, 0, 0, 0]]) == [[0, 2], [0]]


def test_at_least_takes_the_most_frequent_words_and_their_ties() -> None:
    rows = [[5, 4, 4, 1], [20, 15, 4, 1], [3, 0, 0, 0], [0, 0, 0, 0]]
    # topic 0 has no relevant word, its second place is shared; topic 1 has two already; topics 2 and 3 hold too few
    assert words(rows, limit_rel=0, at_least=2) == [[0, 1, 2], [0, 1], [0], []]
    assert words(rows, limit_rel=0, at_least=3) == [[0, 1, 2], [0, 1, 2], [0], []]


def test_jaccard_by_hand() -> None:
    similarity = jaccard(csr([[20, 20, 20, 0], [0, 30, 30, 30], [50, 0, 0, 3], [1, 1, 1, 1], [2, 2, 2, 2]]))
    # words {0,1,2}, {1,2,3}, {0}, {}, {}: two topics without relevant words are not alike
    expected = [
        [1, 2 / 4, 1 / 3, 0, 0],
        [2 / 4, 1, 0, 0, 0],
        [1 / 3, 0, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]
    assert similarity.tolist() == expected


@pytest.mark.parametrize("limits", [{"limit_rel": -0.1}, {"limit_abs": -1}, {"at_least": -1}])
def test_limits_below_zero(limits: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="must be 0 or more"):
        jaccard(csr([[1]]), **limits)


# --- the other measures ---


def test_cosine_by_hand() -> None:
    similarity = cosine(csr([[3, 4, 0], [4, 3, 0], [0, 0, 7], [6, 8, 0], [0, 0, 0]]))
    assert (similarity[0, 1], similarity[0, 2], similarity[0, 3]) == (24 / 25, 0, 1)
    assert similarity[0, 4] == 0


def test_jensen_shannon_by_hand() -> None:
    similarity = jensen_shannon(csr([[8, 0, 0], [4, 4, 0], [0, 0, 5], [2, 2, 0]]), epsilon=1e-12)
    # m = (3/4, 1/4): JSD = H(3/4, 1/4) - 1/2 H(1/2, 1/2)
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert similarity[0, 1] == pytest.approx(1 - (entropy - math.log(2) / 2))
    assert similarity[0, 2] == pytest.approx(1 - math.log(2))
    assert similarity[1, 3] == pytest.approx(1)


def test_epsilon_is_added_to_each_count() -> None:
    # p = (2, 1)/3 and q = (1, 2)/3 after adding 1: JSD = ln 2 + 2/3 ln(2/3) + 1/3 ln(1/3)
    similarity = jensen_shannon(csr([[1, 0], [0, 1]]), epsilon=1.0)
    jsd = math.log(2) + 2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)
    assert similarity[0, 1] == pytest.approx(1 - jsd)
    for epsilon in (0.0, -1.0, math.nan):
        with refuses("epsilon"):
            jensen_shannon(csr([[1, 0]]), epsilon=epsilon)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # first words differ (o_1 = 0), first two are the same (o_2 = 1): 1/4 · 1 + 1 · (1/2 · 0 + 1/4 · 1)
        ([[5, 4, 3, 0], [4, 5, 0, 3]], 1 / 2),
        # equally frequent words share the best rank: Z^1 = {0, 1} and {0}, o_1 = 2/3; Z^2 = {0, 1} and {0, 1}, o_2 = 1
        ([[5, 5, 1], [5, 4, 3]], 1 / 4 + 1 / 2 * 2 / 3 + 1 / 4),
        # fewer words than the depth: all 4 words from rank 2 on, against {0, 1}: o_1 = 1, o_2 = 2 · 2/6
        ([[5, 0, 0, 0], [5, 4, 3, 0]], 1 / 4 * 2 / 3 + 1 / 2 * 1 + 1 / 4 * 2 / 3),
    ],
)
def test_rank_biased_overlap_by_hand(counts: list[list[int]], expected: float) -> None:
    assert rank_biased_overlap(csr(counts), depth=2, p=0.5)[0, 1] == pytest.approx(expected)


@pytest.mark.parametrize("options", [{"depth": 0}, {"p": 0.0}, {"p": 1.1}])
def test_rank_biased_overlap_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"depth of 1 or more and p in \(0, 1\]"):
        rank_biased_overlap(csr([[1]]), **options)


# --- all of them ---


def plain_jaccard(counts: Any) -> Any:
    sets = [{v for v, n in enumerate(row) if n > 10 and n > sum(row) / 500} for row in counts.tolist()]
    return np.array([[len(a & b) / len(a | b) if a | b else 0.0 for b in sets] for a in sets])


def plain_cosine(counts: Any) -> Any:
    norms = np.linalg.norm(counts, axis=1)
    return np.array(
        [
            [a @ b / (x * y) if x * y else 0.0 for b, y in zip(counts, norms, strict=True)]
            for a, x in zip(counts, norms, strict=True)
        ]
    )


def plain_jensen_shannon(counts: Any) -> Any:
    p = (counts + 1e-6) / (counts + 1e-6).sum(axis=1, keepdims=True)

    def kl(a: Any, b: Any) -> float:
        return float((a * np.log(a / b)).sum())

    return np.array([[1 - kl(a, (a + b) / 2) / 2 - kl(b, (a + b) / 2) / 2 for b in p] for a in p])


def plain_rbo(counts: Any) -> Any:
    ranks = [[1 + sum(other > n for other in row) for n in row] for row in counts.tolist()]

    def overlap(a: list[int], b: list[int], d: int) -> float:
        x, y = ({v for v, rank in enumerate(ranks) if rank <= d} for ranks in (a, b))
        return 2 * len(x & y) / (len(x) + len(y))

    k, p = 12, 0.9
    return np.array(
        [
            [
                p**k * overlap(a, b, k) + (1 - p) / p * sum(p**d * overlap(a, b, d) for d in range(1, k + 1))
                for b in ranks
            ]
            for a in ranks
        ]
    )


PLAIN = {"jaccard": plain_jaccard, "cosine": plain_cosine, "jensen-shannon": plain_jensen_shannon, "rbo": plain_rbo}


@repeatable
@given(counts_dv(max_docs=10, max_terms=20, max_count=30), st.sampled_from(sorted(MEASURES)))
def test_measures_equal_their_formulas(counts: Any, name: str) -> None:
    similarity = MEASURES[name](sparse.csr_array(counts))
    expected = PLAIN[name](counts.astype(np.int64))
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(similarity, expected, rtol=1e-9, atol=1e-9)
    assert (similarity == similarity.T).all()
    assert similarity.min() >= 0
    assert similarity.max() <= 1
    assert (np.diag(similarity) == 1).all()


@repeatable
@given(counts_dv(max_docs=10, max_terms=20, max_count=30), st.sampled_from(sorted(MEASURES)), st.randoms())
def test_the_order_of_topics_and_words_does_not_matter(counts: Any, name: str, random: Any) -> None:
    rows, columns = list(range(counts.shape[0])), list(range(counts.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    similarity = MEASURES[name](sparse.csr_array(counts))
    shuffled = MEASURES[name](sparse.csr_array(counts[np.ix_(rows, columns)]))
    np.testing.assert_allclose(shuffled, similarity[np.ix_(rows, rows)], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_more_topics_than_a_block_of_rows(name: str) -> None:
    counts = np.random.default_rng(0).poisson(3.0, (300, 30)).astype(np.int32) * 5
    similarity = MEASURES[name](sparse.csr_array(counts))
    expected = PLAIN[name](counts[250:260].astype(np.int64))
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(similarity[250:260, 250:260], expected, rtol=1e-9)


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_stored_zeros_and_unsorted_words_change_nothing(name: str) -> None:
    plain = csr([[0, 20, 15, 0], [12, 0, 30, 0]])
    messy = sparse.csr_array(
        (np.array([15, 0, 20, 30, 12, 0], np.int32), np.array([2, 0, 1, 2, 0, 3]), np.array([0, 3, 6])), shape=(2, 4)
    )
    data = messy.data.copy()
    assert MEASURES[name](messy).tolist() == MEASURES[name](plain).tolist()
    assert messy.data.tolist() == data.tolist()
