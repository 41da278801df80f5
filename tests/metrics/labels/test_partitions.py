"""Scores of a clustering against classes: by hand, against scikit-learn, and what must not change them."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import metrics as sk

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.kernels import expected_information
from nlpkit.metrics.labels import partitions
from tests.reference import chance as plain
from tests.refusals import refuses
from tests.strategies import repeatable

# clusters {a a a b}, {b b c}, of classes a 3, b 3, c 1
TABLE = np.array([[3, 1, 0], [0, 2, 1]])
LN = math.log
H_ROWS = -(4 / 7 * LN(4 / 7) + 3 / 7 * LN(3 / 7))
H_COLUMNS = -(6 / 7 * LN(3 / 7) + 1 / 7 * LN(1 / 7))
INFORMATION = (3 * LN(7 * 3 / 12) + LN(7 / 12) + 2 * LN(14 / 9) + LN(7 / 3)) / 7

BOUNDED = set(partitions.SCORES) - {"ami", "ari"}


@st.composite
def codes_d(draw: st.DrawFn) -> tuple[Any, Any]:
    """Clusters and classes of 1 … 30 documents."""
    n = draw(st.integers(1, 30))
    R, C = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    return tuple(np.array(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), np.int32) for k in (R, C))  # type: ignore[return-value]


def test_contingency_counts_documents_with_both() -> None:
    clusters = np.array([0, 0, 1, -1, 1, 1], np.int32)
    classes = np.array([1, 0, 1, 1, -1, 1], np.int32)
    table = partitions.contingency(clusters, classes)
    assert (table.tolist(), table.dtype) == ([[1, 1], [0, 2]], np.int64)
    assert partitions.contingency(clusters, classes, shape=(3, 2)).tolist() == [[1, 1], [0, 2], [0, 0]]


def test_weighted_contingency_counts_each_document_as_often_as_it_was_drawn() -> None:
    clusters, classes = np.array([0, 0, 1, -1], np.int32), np.array([1, 0, 1, 1], np.int32)
    weights = np.array([[1, 1, 1, 1], [0, 2, 3, 5]], np.float64)
    tables = partitions.weighted_contingency(weights, clusters, classes, shape=(2, 2))
    assert tables.tolist() == [[[1, 1], [0, 1]], [[2, 0], [0, 3]]]


def test_information_by_hand() -> None:
    for average, scale in {
        "arithmetic": (H_ROWS + H_COLUMNS) / 2,
        "geometric": math.sqrt(H_ROWS * H_COLUMNS),
        "min": min(H_ROWS, H_COLUMNS),
        "max": max(H_ROWS, H_COLUMNS),
    }.items():
        score = partitions.normalized_mutual_information(TABLE, average=average)  # type: ignore[arg-type]
        assert score == pytest.approx(INFORMATION / scale, rel=1e-13)


def test_homogeneity_and_completeness_by_hand() -> None:
    h, c = INFORMATION / H_COLUMNS, INFORMATION / H_ROWS
    for beta in (0.5, 1.0, 2.0):
        expected = (h, c, (1 + beta) * h * c / (beta * h + c))
        assert partitions.homogeneity_completeness_v(TABLE, beta=beta) == pytest.approx(expected, rel=1e-13)


def test_adjusted_information_by_hand() -> None:
    # two documents apart in both: no partition of these sizes tells less
    assert partitions.adjusted_mutual_information(np.eye(2)) == 1.0
    # sizes (2, 2) and (2, 2): the cell holds 0, 1, 2 with p = 1/6, 4/6, 1/6; I is ln 2 with p 1/3, else 0
    expected = LN(2) / 3
    crossed, alike = np.array([[1, 1], [1, 1]]), np.array([[2, 0], [0, 2]])
    assert partitions.adjusted_mutual_information(crossed) == pytest.approx(-expected / (LN(2) - expected), rel=1e-13)
    assert partitions.adjusted_mutual_information(alike) == pytest.approx(1.0, rel=1e-14)


def test_pairs_by_hand() -> None:
    # 21 pairs; in one cluster 6 + 3, in one class 3 + 3, in both C(3,2) + C(2,2) = 4
    tp, fp, fn, tn = 4, 5, 2, 10
    assert partitions.pair_scores(TABLE) == pytest.approx((4 / 9, 4 / 6, 8 / 15, 14 / 21))
    expected = 9 * 6 / 21
    assert partitions.adjusted_rand(TABLE) == pytest.approx((tp - expected) / ((9 + 6) / 2 - expected), rel=1e-14)
    assert tp + fp + fn + tn == 21
    assert partitions.fowlkes_mallows(TABLE) == pytest.approx(math.sqrt(4 / 9 * 4 / 6), rel=1e-14)
    assert partitions.fowlkes_mallows([[5]]) == 1.0  # one class, one cluster
    assert partitions.fowlkes_mallows([[2, 3]]) == pytest.approx(math.sqrt(4 / 10))


def test_purity_by_hand() -> None:
    assert partitions.purity(TABLE) == pytest.approx((3 + 2) / 7)
    assert partitions.inverse_purity(TABLE) == pytest.approx((3 + 2 + 1) / 7)
    assert partitions.purity_f1(TABLE) == pytest.approx(2 * (5 / 7) * (6 / 7) / (11 / 7))


def test_bcubed_by_hand() -> None:
    # precision: three a's see 3/4, one b 1/4; two b's 2/3, c 1/3; recall: a's 3/3, b's 1/3, 2/3, 2/3, c 1
    precision = (3 * 3 / 4 + 1 / 4 + 2 * 2 / 3 + 1 / 3) / 7
    recall = (3 + 1 / 3 + 2 * 2 / 3 + 1) / 7
    expected = (precision, recall, 2 * precision * recall / (precision + recall))
    assert partitions.bcubed(TABLE) == pytest.approx(expected, rel=1e-14)


def test_best_matching_is_not_greedy() -> None:
    # taking the largest cell first (5) leaves 0: 5 of 13; crossed: 4 + 4
    matches, share = partitions.best_matching(np.array([[5, 4], [4, 0]]))
    assert matches.tolist() == [1, 0]
    assert share == pytest.approx(8 / 13)


def test_best_matching_of_other_numbers_of_groups() -> None:
    matches, share = partitions.best_matching(np.array([[1, 0], [5, 1], [0, 3]]))
    assert (matches.tolist(), float(share)) == ([-1, 0, 1], pytest.approx(8 / 10))
    matches, share = partitions.best_matching(np.array([[1, 0, 7], [5, 1, 9]]))
    assert (matches.tolist(), float(share)) == ([2, 0], pytest.approx(12 / 23))
    # a match without a document in common is none
    matches, _ = partitions.best_matching(np.array([[3, 0], [2, 0]]))
    assert matches.tolist() == [0, -1]


@repeatable
@given(hnp.arrays(np.int64, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=st.integers(0, 9)))
def test_best_matching_is_the_best(table: Any) -> None:
    if not table.sum():
        return
    from itertools import permutations

    wide = table if table.shape[0] <= table.shape[1] else table.T
    best = max(sum(wide[i, j] for i, j in enumerate(p)) for p in permutations(range(wide.shape[1]), wide.shape[0]))
    matches, share = partitions.best_matching(table)
    assert share == pytest.approx(best / table.sum())
    used = matches[matches >= 0]
    assert len(set(used.tolist())) == len(used)
    assert share == pytest.approx(sum(table[r, c] for r, c in enumerate(matches) if c >= 0) / table.sum())


@repeatable
@given(codes_d())
def test_agrees_with_scikit_learn(codes: tuple[Any, Any]) -> None:
    clusters, classes = codes
    table = partitions.contingency(clusters, classes)
    for average in ("arithmetic", "geometric", "min", "max"):
        expected = sk.normalized_mutual_info_score(classes, clusters, average_method=average)
        assert partitions.normalized_mutual_information(table, average=average) == pytest.approx(expected, abs=1e-10)
    expected = sk.adjusted_mutual_info_score(classes, clusters)
    assert partitions.adjusted_mutual_information(table) == pytest.approx(expected, abs=1e-10)
    assert partitions.adjusted_rand(table) == pytest.approx(sk.adjusted_rand_score(classes, clusters), abs=1e-10)
    assert partitions.pair_scores(table)[3] == pytest.approx(sk.rand_score(classes, clusters), abs=1e-10)
    assert partitions.fowlkes_mallows(table) == pytest.approx(sk.fowlkes_mallows_score(classes, clusters), abs=1e-10)
    for beta in (1.0, 0.3):
        expected = sk.homogeneity_completeness_v_measure(classes, clusters, beta=beta)
        assert partitions.homogeneity_completeness_v(table, beta=beta) == pytest.approx(expected, abs=1e-10)


def test_agrees_with_scikit_learn_on_many_documents() -> None:
    rng = np.random.default_rng(1)
    classes = rng.integers(0, 12, 5000)
    clusters = np.where(rng.random(5000) < 0.4, classes, rng.geometric(0.2, 5000) % 60)
    table = partitions.contingency(clusters, classes)
    for average in ("arithmetic", "geometric", "min", "max"):
        expected = sk.adjusted_mutual_info_score(classes, clusters, average_method=average)
        assert partitions.adjusted_mutual_information(table, average=average) == pytest.approx(expected, abs=1e-10)
    assert partitions.adjusted_rand(table) == pytest.approx(sk.adjusted_rand_score(classes, clusters), abs=1e-12)
    assert partitions.fowlkes_mallows(table) == pytest.approx(sk.fowlkes_mallows_score(classes, clusters), abs=1e-12)


@repeatable
@given(codes_d())
def test_pairs_one_by_one(codes: tuple[Any, Any]) -> None:
    clusters, classes = codes
    joined = alike = both = 0
    for i, j in combinations(range(len(clusters)), 2):
        joined += clusters[i] == clusters[j]
        alike += classes[i] == classes[j]
        both += clusters[i] == clusters[j] and classes[i] == classes[j]
    precision, recall, f1, _ = partitions.pair_scores(partitions.contingency(clusters, classes))
    assert precision == pytest.approx(both / joined if joined else 1.0)
    assert recall == pytest.approx(both / alike if alike else 1.0)
    assert f1 == pytest.approx(2 * both / (joined + alike) if joined + alike else 1.0)


@repeatable
@given(codes_d(), st.randoms(use_true_random=False))
def test_bounds_names_of_groups_and_empty_groups(codes: tuple[Any, Any], random: Any) -> None:
    table = partitions.contingency(*codes)
    rows, columns = list(range(table.shape[0])), list(range(table.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    other = np.pad(table[rows][:, columns], ((1, 2), (0, 1)))
    for name, score in partitions.SCORES.items():
        value = float(score(table))
        assert (0 if name in BOUNDED else -1) <= value <= 1 + 1e-12, name
        assert float(score(other)) == pytest.approx(value, abs=1e-10), name


@repeatable
@given(codes_d())
def test_a_clustering_agrees_fully_with_itself(codes: tuple[Any, Any]) -> None:
    table = partitions.contingency(codes[0], codes[0])
    for name, score in partitions.SCORES.items():
        alone = name == "fmi" and table.max() < 2  # no pair is together: 0, as scikit-learn has it
        assert float(score(table)) == pytest.approx(0.0 if alone else 1.0, abs=1e-12), name


@repeatable
@given(codes_d())
def test_the_other_way_round(codes: tuple[Any, Any]) -> None:
    table = partitions.contingency(*codes)
    turned = {name: float(score(table.T)) for name, score in partitions.SCORES.items()}
    swapped = {"homogeneity": "completeness", "purity": "inverse_purity", "pair_precision": "pair_recall"}
    swapped |= {"bcubed_precision": "bcubed_recall"}
    swapped |= {b: a for a, b in swapped.items()}
    for name, score in partitions.SCORES.items():
        assert float(score(table)) == pytest.approx(turned[swapped.get(name, name)], abs=1e-10), name


def test_many_tables_at_once_score_as_one_by_one() -> None:
    tables = np.random.default_rng(3).multinomial(40, np.full(12, 1 / 12), size=(2, 3)).reshape(2, 3, 4, 3)
    tables[0, 0, 1] = tables[0, 1, :, 2] = 0
    for name, score in partitions.SCORES.items():
        values = score(tables)
        assert values.shape == (2, 3), name
        one_by_one = [[float(score(table)) for table in row] for row in tables]
        np.testing.assert_allclose(values, one_by_one, rtol=1e-14, atol=1e-14, err_msg=name)
    matches, shares = partitions.best_matching(tables)
    assert (matches.shape, shares.shape) == ((2, 3, 4), (2, 3))


@pytest.mark.parametrize(
    ("table", "nmi", "ami", "ari", "h", "c"),
    [
        ([[5]], 1, 1, 1, 1, 1),  # one cluster, one class
        ([[5, 5]], 0, 0, 0, 0, 1),  # one cluster
        ([[5], [5]], 0, 0, 0, 1, 0),  # one class
        ([[1, 0], [1, 0], [0, 2]], 0.8, 4 / 7, 4 / 7, 1, 2 / 3),  # AMI: E[I] = 5/6 ln 2 of at most ln 2, mean 5/4 ln 2
    ],
)
def test_few_groups(table: Any, nmi: float, ami: float, ari: float, h: float, c: float) -> None:
    names = ("nmi", "ami", "ari", "homogeneity", "completeness")
    assert [float(partitions.SCORES[name](np.array(table))) for name in names] == pytest.approx([nmi, ami, ari, h, c])


def test_one_document() -> None:
    for name, score in partitions.SCORES.items():
        assert float(score(np.array([[0, 1], [0, 0]]))) == (name != "fmi"), (
            name
        )  # which is 0 without a pair, as in scikit-learn


def test_nothing_is_joined_and_nothing_should_be() -> None:
    assert partitions.pair_scores(np.eye(3)) == pytest.approx((1, 1, 1, 1))
    assert partitions.pair_scores(np.array([[1, 0], [1, 0]])) == pytest.approx((1, 0, 0, 0))
    assert partitions.pair_scores(np.array([[1, 1]])) == pytest.approx((0, 1, 0, 0))


def test_chance_scores_about_zero_and_unadjusted_does_not() -> None:
    rng = np.random.default_rng(0)
    tables = np.stack([partitions.contingency(rng.integers(0, 30, 300), rng.integers(0, 10, 300)) for _ in range(50)])
    assert abs(partitions.adjusted_mutual_information(tables).mean()) < 0.01
    assert abs(partitions.adjusted_rand(tables).mean()) < 0.01
    assert partitions.normalized_mutual_information(tables).mean() > 0.1


@pytest.mark.parametrize("table", [np.zeros((2, 2)), np.zeros((0, 3)), np.array([[[1, 0]], [[0, 0]]])])
def test_no_documents(table: Any) -> None:
    for score in partitions.SCORES.values():
        with pytest.raises(InputError):
            score(table)


def test_what_cannot_be_meant() -> None:
    with pytest.raises(UsageError, match="last two axes"):
        partitions.purity(np.array([1, 2]))
    with refuses("average"):
        partitions.normalized_mutual_information(TABLE, average="harmonic")  # type: ignore[arg-type]
    with refuses("beta"):
        partitions.homogeneity_completeness_v(TABLE, beta=-1)


def expected_by_kernel(rows: list[int], columns: list[int]) -> float:
    logs = np.log(np.maximum(np.arange(max(rows + columns) + 1.0), 1.0))
    sizes = (np.array([x], np.float64) for x in (rows, columns))
    return float(expected_information(*sizes, logs, np.log([float(sum(rows))]), 1e-20)[0])


@repeatable
@given(codes_d())
def test_expected_information_equals_its_definition(codes: tuple[Any, Any]) -> None:
    rows, columns = (np.bincount(c, minlength=7).tolist() for c in codes)
    assert expected_by_kernel(rows, columns) == pytest.approx(plain.expected_information(rows, columns), abs=1e-13)


def test_expected_information_of_large_groups_by_whole_factorials() -> None:
    rows, columns = [1500, 300, 1, 199], [7, 1900, 93]
    assert expected_by_kernel(rows, columns) == pytest.approx(plain.expected_information(rows, columns), rel=1e-12)
