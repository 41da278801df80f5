"""Scores of features: 2 × 2 tables by hand, the lecture's formulas, its identities, scikit-learn and scipy."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse, stats

from nlpkit.errors import InputError
from nlpkit.weights import selection as contingency
from nlpkit.weights.selection import (
    SCORES,
    Contingency,
    ContingencyCounter,
    FeatureScore,
    best_features,
    class_feature_scores,
    feature_scores,
    features_of_class,
    score_named,
)
from tests.reference import selection as plain
from tests.refusals import refuses
from tests.strategies import counts_dv, repeatable

OF_PRESENCE = [name for name, score in SCORES.items() if score.basis == "presence"]


def table_of(counts: Any, labels: Any, *, with_values: bool = True, J: int | None = None) -> Contingency:
    made = ContingencyCounter(counts.shape[1], with_values=with_values)
    made.add(sparse.csr_array(counts), np.asarray(labels, np.int32))
    table = made.table()
    return table if J is None else made.table(range(J))


def scores(name: str, table: Contingency) -> Any:
    return feature_scores(table, SCORES[name])


# ---------------------------------------------------------------- by hand

# 10 documents: 6 in the first class, 4 in the second. The term is in 3 and 1 of them; then in 6 and 0; then in all.
HAND = Contingency(np.array([[3, 6, 6], [1, 0, 4]]), np.array([6, 4]))


def test_two_by_two_by_hand() -> None:
    ln = math.log
    prior = -(0.6 * ln(0.6) + 0.4 * ln(0.4))
    # present: 3 + 1, absent: 3 + 3
    entropy = -(0.4 * (0.75 * ln(0.75) + 0.25 * ln(0.25)) + 0.6 * ln(0.5))
    # expected 2.4, 1.6 present and 3.6, 2.4 absent: all differ by 0.6
    chi2 = 0.36 * (1 / 2.4 + 1 / 1.6 + 1 / 3.6 + 1 / 2.4)
    ratio = [3 / 6, 1 / 4]
    expected = {
        "gini": [1 - 0.75**2 - 0.25**2, 0, 1 - 0.36 - 0.16],
        "gini-norm": [1 - (ratio[0] ** 2 + ratio[1] ** 2) / sum(ratio) ** 2, 0, 0.5],
        "entropy": [entropy, 0, prior],
        "mi": [prior - entropy, prior, 0],
        "pmi-avg": [0.6 * ln(0.75 / 0.6) + 0.4 * ln(0.25 / 0.4), 0.6 * ln(6.6 / 7 / 0.6) + 0.4 * ln(0.4 / 7 / 0.4), 0],
        "pmi-max": [ln(0.75 / 0.6), ln(1 / 0.6), 0],
        "chi2": [chi2, 10, 0],
        "chi2-presence": [0.36 * (1 / 2.4 + 1 / 1.6), 4, 0],
        "cramer-v": [math.sqrt(chi2 / 20), math.sqrt(0.5), 0],
        "cramer-v-usual": [math.sqrt(chi2 / 10), 1, 0],
    }
    assert sorted(expected) == sorted(OF_PRESENCE)
    for name, values in expected.items():
        np.testing.assert_allclose(scores(name, HAND), values, atol=1e-14, err_msg=name)


def test_values_by_hand() -> None:
    """Values 1, 3 and 4, 6: means 2, 5 and 3.5; between 2·1.5² + 2·1.5² = 9, within 2 + 2; F = 9 / (4 / 2)."""
    counts = np.array([[1], [3], [4], [6]])
    table = table_of(counts, [0, 0, 1, 1])
    assert scores("anova-f", table).tolist() == [4.5]
    # sums 4 and 10 where 7 and 7 are expected
    assert scores("chi2-counts", table).tolist() == pytest.approx([9 / 7 + 9 / 7])


# ---------------------------------------------------------------- the lecture's formulas


@st.composite
def contingencies(draw: st.DrawFn) -> Contingency:
    """Tables (J, V) of 1 … 4 classes of 0 … 6 documents, at least one document."""
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(any))
    V = draw(st.integers(1, 5))
    present = [[draw(st.integers(0, n)) for _ in range(V)] for n in sizes]
    return Contingency(np.array(present).reshape(len(sizes), V), np.array(sizes))


@repeatable
@given(contingencies(), st.sampled_from(OF_PRESENCE))
def test_every_score_equals_its_formula(table: Contingency, name: str) -> None:
    expected = [plain.score(name, o, table.sizes.tolist()) for o in table.present.T.tolist()]
    np.testing.assert_allclose(scores(name, table), expected, rtol=1e-10, atol=1e-12)


@repeatable
@given(counts_dv(), st.data())
def test_scores_of_values_equal_their_formula(counts: Any, data: st.DataObject) -> None:
    labels = [data.draw(st.integers(-1, 2)) for _ in counts]
    assume(any(c >= 0 for c in labels))
    table = table_of(counts, labels)
    V = counts.shape[1]
    expected = [plain.anova_f(counts.tolist(), labels, v) for v in range(V)]
    np.testing.assert_allclose(scores("anova-f", table), expected, rtol=1e-10, atol=1e-12)
    expected = [plain.chi2_counts(counts.tolist(), labels, v) for v in range(V)]
    np.testing.assert_allclose(scores("chi2-counts", table), expected, rtol=1e-10, atol=1e-12)


@repeatable
@given(contingencies())
def test_identities_of_the_lecture(table: Contingency) -> None:
    M, n = table.n_docs, table.sizes[table.sizes > 0]
    prior = -float((n / M * np.log(n / M)).sum())
    entropy, information = scores("entropy", table), scores("mi", table)
    np.testing.assert_allclose(prior - entropy, information, atol=1e-12)  # IG = MI
    # so both give the same order
    for a, b in itertools.combinations(range(len(entropy)), 2):
        if abs(entropy[a] - entropy[b]) > 1e-9:
            assert (entropy[a] < entropy[b]) == (information[a] > information[b])
    J = len(n)
    seen = table.df > 0
    assert (scores("gini", table)[seen] <= 1 - 1 / J + 1e-12).all()
    assert (scores("gini-norm", table)[seen] <= 1 - 1 / J + 1e-12).all()
    assert (entropy <= math.log(J) + 1e-12).all()
    assert (scores("pmi-avg", table)[seen] <= 1e-12).all()
    assert (scores("pmi-max", table)[seen] >= -1e-12).all()
    usual = scores("cramer-v-usual", table)
    assert (usual <= 1 + 1e-12).all()
    if J > 1:
        np.testing.assert_allclose(scores("cramer-v", table), usual / math.sqrt(2), atol=1e-12)


@repeatable
@given(contingencies(), st.randoms(use_true_random=False))
def test_the_order_of_classes_does_not_matter(table: Contingency, random: Any) -> None:
    rows = list(range(len(table.sizes)))
    random.shuffle(rows)
    shuffled = Contingency(table.present[rows], table.sizes[rows])
    for name in OF_PRESENCE:
        np.testing.assert_allclose(scores(name, shuffled), scores(name, table), rtol=1e-10, atol=1e-12)


# ---------------------------------------------------------------- scikit-learn and scipy


def corpus(J: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, J, 200).astype(np.int32)
    rates = rng.lognormal(-1.5, 1, (J, 40))
    counts = rng.poisson(rates[labels]).astype(np.int32)
    return counts[:, counts.any(axis=0)], labels


@pytest.mark.parametrize("J", [2, 5])
def test_equal_to_scikit_learn(J: int) -> None:
    from sklearn.feature_selection import chi2, f_classif, mutual_info_classif

    counts, labels = corpus(J)
    table = table_of(counts, labels)
    matrix = sparse.csr_matrix(counts.astype(np.float64))  # f_classif makes float32 of int32
    np.testing.assert_allclose(scores("chi2-counts", table), chi2(matrix, labels)[0], rtol=1e-12)
    np.testing.assert_allclose(scores("chi2-presence", table), chi2(matrix > 0, labels)[0], rtol=1e-12)
    np.testing.assert_allclose(scores("anova-f", table), f_classif(matrix, labels)[0], rtol=1e-12, atol=1e-12)
    expected = mutual_info_classif(counts > 0, labels, discrete_features=True)
    np.testing.assert_allclose(scores("mi", table), expected, atol=1e-14)
    weights = sparse.csr_array(counts * np.log(np.arange(2, 2 + counts.shape[1])))
    of_weights = ContingencyCounter(counts.shape[1], with_values=True)
    of_weights.add(weights, labels)
    np.testing.assert_allclose(
        scores("anova-f-weights", of_weights.table()), f_classif(weights, labels)[0], rtol=1e-12, atol=1e-12
    )


def test_equal_to_scipy() -> None:
    counts, labels = corpus(4, seed=1)
    table = table_of(counts, labels)
    chi2, v = scores("chi2", table), scores("cramer-v-usual", table)
    for i in range(counts.shape[1]):
        if not 0 < table.df[i] < table.n_docs:
            continue
        two = np.stack([table.present[:, i], table.sizes - table.present[:, i]])
        assert chi2[i] == pytest.approx(stats.chi2_contingency(two, correction=False).statistic, rel=1e-12)
        assert v[i] == pytest.approx(stats.contingency.association(two, method="cramer"), rel=1e-12)


# ---------------------------------------------------------------- edges


def test_one_class_tells_nothing() -> None:
    table = table_of(np.array([[1, 0], [2, 1]]), [0, 0])
    for name in ("chi2", "cramer-v", "cramer-v-usual", "mi", "entropy", "gini", "gini-norm", "chi2-counts", "pmi-avg"):
        assert scores(name, table).tolist() == pytest.approx([0, 0]), name
    assert np.isnan(scores("anova-f", table)).all()


def test_an_empty_class_counts_for_nothing() -> None:
    counts, labels = corpus(3)
    without = table_of(counts, labels)
    pad = np.zeros((1, counts.shape[1]))
    assert without.sums is not None
    assert without.squares is not None
    with_empty = Contingency(
        np.vstack([without.present, pad.astype(int)]),
        np.append(without.sizes, 0),
        np.vstack([without.sums, pad]),
        np.vstack([without.squares, pad]),
    )
    for name in SCORES:
        np.testing.assert_allclose(scores(name, with_empty), scores(name, without), rtol=1e-12, err_msg=name)


def test_a_term_of_unlabelled_documents_alone() -> None:
    table = table_of(np.array([[1, 0], [0, 1], [1, 0]]), [0, -1, 1])
    assert table.df.tolist() == [2, 0]
    for name, score in SCORES.items():
        value = scores(name, table)[1]
        assert math.isnan(value) or value == (math.log(2) if name == "entropy" else 0), name
        if math.isnan(value):
            assert 1 not in best_features(scores(name, table), table.df, 5, score)


def test_a_constant_has_no_f_and_a_perfect_one_an_infinite() -> None:
    w = 0.1 + 0.2
    weights = sparse.csr_array(np.array([[w, w, w], [w, w, 1], [w, 2 * w, 2], [w, 2 * w, 3]]))
    made = ContingencyCounter(3, with_values=True)
    made.add(weights, np.array([0, 0, 1, 1], np.int32))
    constant, perfect, plain_one = scores("anova-f-weights", made.table())
    assert math.isnan(constant)
    assert perfect == math.inf
    assert 0 < plain_one < math.inf


def test_scores_that_need_values_say_so() -> None:
    with pytest.raises(ValueError, match="with_values=True"):
        scores("anova-f", table_of(np.array([[1], [2]]), [0, 1], with_values=False))


def test_no_documents_and_no_terms() -> None:
    nothing = Contingency(np.zeros((2, 3), int), np.zeros(2, int), np.zeros((2, 3)), np.zeros((2, 3)))
    no_terms = Contingency(np.zeros((2, 0), int), np.ones(2, int), np.zeros((2, 0)), np.zeros((2, 0)))
    for name in SCORES:
        assert scores(name, nothing).shape == (3,)
        assert scores(name, no_terms).shape == (0,)


# ---------------------------------------------------------------- counting


@repeatable
@given(counts_dv(max_docs=14), st.data())
def test_batches_of_any_size_give_the_same_bits(counts: Any, data: st.DataObject) -> None:
    labels = np.array([data.draw(st.integers(-1, 2)) for _ in counts], np.int32)
    weights = sparse.csr_array(counts * 0.1)
    whole = ContingencyCounter(counts.shape[1], with_values=True)
    whole.add(weights, labels)
    parts = ContingencyCounter(counts.shape[1], with_values=True)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(counts)), max_size=4)))
    for a, b in itertools.pairwise([0, *cuts, len(counts)]):
        parts.add(weights[a:b], labels[a:b])
    one, other = whole.table(), parts.table()
    for name in ("present", "sizes", "sums", "squares"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    assert whole.n_unlabelled == parts.n_unlabelled == int((labels < 0).sum())
    expected = [(counts[labels == j] > 0).sum(axis=0) for j in range(len(one.sizes))]
    assert one.present.tolist() == np.reshape(expected, one.present.shape).tolist()


def test_classes_in_another_order() -> None:
    made = ContingencyCounter(1, with_values=False)
    made.add(sparse.csr_array(np.array([[1], [0], [1]])), np.array([0, 1, 1], np.int32))
    made.add(sparse.csr_array(np.array([[1]])), np.array([3], np.int32))  # class 2 has no document
    assert made.table().sizes.tolist() == [1, 2, 0, 1]
    assert made.table([3, 0]).sizes.tolist() == [1, 1]
    assert made.table([1, 0]).present.tolist() == [[1], [1]]


def test_too_many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contingency, "MAX_CELLS", 10)
    made = ContingencyCounter(4, with_values=False)
    made.add(sparse.csr_array((2, 4), dtype=np.int32), np.array([0, 1], np.int32))
    with pytest.raises(InputError):
        made.add(sparse.csr_array((1, 4), dtype=np.int32), np.array([2], np.int32))


# ---------------------------------------------------------------- the best


def test_best_features_by_hand() -> None:
    values = np.array([0.5, np.nan, 0.9, 0.5, -np.inf])
    df = np.array([1, 9, 1, 2, 9])
    assert best_features(values, df, 3, SCORES["chi2"]).tolist() == [2, 3, 0]  # ties: the more frequent term
    assert best_features(values, df, 9, SCORES["chi2"]).tolist() == [2, 3, 0, 4]
    assert best_features(values, df, 2, SCORES["gini"]).tolist() == [4, 3]
    assert best_features(np.array([1.0, 1.0]), np.array([2, 2]), 2, SCORES["chi2"]).tolist() == [0, 1]


def test_features_of_a_class_are_more_frequent_in_it() -> None:
    sizes = np.array([10, 10, 10])
    present = np.array([[9, 1, 5, 0, 3], [1, 9, 5, 0, 0], [1, 1, 5, 9, 0]])
    table = Contingency(present, sizes)
    for name in OF_PRESENCE:
        first = features_of_class(table, SCORES[name], 0, 5)
        assert set(first.term_ids.tolist()) <= {0, 4}, name
        assert features_of_class(table, SCORES[name], 2, 5).term_ids.tolist() == [3], name
    best = features_of_class(table, SCORES["chi2"], 0, 5)
    assert (best.term_ids.tolist(), best.df_class.tolist()) == ([0, 4], [9, 3])
    np.testing.assert_allclose(best.scores, class_feature_scores(table, SCORES["chi2"], 0)[[0, 4]])
    only = features_of_class(table, SCORES["chi2"], 0, 1, among=np.array([False, True, True, True, True]))
    assert only.term_ids.tolist() == [4]


def test_scores_of_a_class_are_those_against_the_rest() -> None:
    counts, labels = corpus(3, seed=2)
    table = table_of(counts, labels)
    for j in range(3):
        against = table_of(counts, np.where(labels == j, 0, 1))
        for name, score in SCORES.items():
            if name.startswith("pmi"):
                with np.errstate(divide="ignore"):
                    expected = np.log(table.present[j] / table.df / (table.sizes[j] / table.n_docs))
            else:
                expected = feature_scores(against, score)
            np.testing.assert_allclose(class_feature_scores(table, score, j), expected, rtol=1e-9, err_msg=name)


def test_tables_wider_than_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    from nlpkit.weights import selection

    counts, labels = corpus(3)
    table = table_of(counts, labels)
    whole = {name: scores(name, table) for name in SCORES}
    monkeypatch.setattr(selection, "_CELLS", 7)
    for name in SCORES:
        np.testing.assert_array_equal(scores(name, table), whole[name])


def test_names_of_scores() -> None:
    assert score_named("ig") is score_named("mi")
    assert score_named("f") is SCORES["anova-f"]
    assert {s.name for s in SCORES.values() if not s.larger_is_better} == {"entropy", "gini", "gini-norm"}
    with refuses("select"):
        score_named("chi")
    assert isinstance(SCORES["chi2"], FeatureScore)


def test_no_warning_is_raised() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in SCORES:
            scores(name, table_of(np.array([[0, 1], [0, 1]]), [0, 1]))
