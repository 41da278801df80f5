"""Scores of predictions: by hand, against scikit-learn, and what must not change them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import binom, binomtest
from sklearn import metrics as sk

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.labels.classification import (
    averages,
    class_scores,
    confusion_matrix,
    discordant,
    encode_labels,
    mcnemar,
    report,
)
from tests.refusals import refuses
from tests.strategies import repeatable

# ham, news, spam: 5, 3, 2 documents
CONFUSION = np.array([[4, 1, 0], [1, 1, 1], [0, 0, 2]])
LABELS = ["ham", "news", "spam"]


@st.composite
def labels_d(draw: st.DrawFn) -> tuple[list[str], list[str | None]]:
    """True and predicted labels of 1 … 30 documents, some predictions missing."""
    n, J = draw(st.integers(1, 30)), draw(st.integers(1, 5))
    names = st.sampled_from("abcde"[:J])
    predicted = st.one_of(names, names, st.none()) if draw(st.booleans()) else names
    return draw(st.lists(names, min_size=n, max_size=n)), draw(st.lists(predicted, min_size=n, max_size=n))


def matrix_of(true: Any, predicted: Any) -> tuple[tuple[str, ...], Any]:
    classes, true_codes, predicted_codes = encode_labels(true, predicted)
    return classes, confusion_matrix(true_codes, predicted_codes, len(classes))


def test_by_hand() -> None:
    precision, recall, f1 = class_scores(CONFUSION)
    assert precision.tolist() == pytest.approx([4 / 5, 1 / 2, 2 / 3])
    assert recall.tolist() == pytest.approx([4 / 5, 1 / 3, 2 / 2])
    assert f1.tolist() == pytest.approx([4 / 5, 2 / 5, 4 / 5])
    scores = averages(CONFUSION)
    # chance: Σ support · predicted = 5·5 + 3·2 + 2·3 = 37 of 100
    expected = {
        "accuracy": 0.7,
        "balanced_accuracy": (4 / 5 + 1 / 3 + 1) / 3,
        "macro_precision": (4 / 5 + 1 / 2 + 2 / 3) / 3,
        "macro_recall": (4 / 5 + 1 / 3 + 1) / 3,
        "macro_f1": (4 / 5 + 2 / 5 + 4 / 5) / 3,
        "weighted_precision": (5 * 4 / 5 + 3 * 1 / 2 + 2 * 2 / 3) / 10,
        "weighted_recall": 0.7,
        "weighted_f1": (5 * 4 / 5 + 3 * 2 / 5 + 2 * 4 / 5) / 10,
        "micro_precision": 0.7,
        "micro_recall": 0.7,
        "micro_f1": 0.7,
        "mcc": (70 - 37) / math.sqrt((100 - 25 - 9 - 4) * (100 - 25 - 4 - 9)),
        "kappa": (0.7 - 0.37) / (1 - 0.37),
    }
    assert {name: float(score) for name, score in scores.items()} == pytest.approx(expected, rel=1e-14)


def test_beta_by_hand() -> None:
    # news: P 1/2, R 1/3, F2 = 5 · 1/6 / (4/2 + 1/3)
    f2 = class_scores(CONFUSION, beta=2)[2]
    assert f2[1] == pytest.approx(5 / 6 / (4 / 2 + 1 / 3), rel=1e-14)
    scores = averages(CONFUSION, beta=2)
    assert float(scores["macro_f2"]) == pytest.approx(f2.mean())
    assert "macro_f0.5" in averages(CONFUSION, beta=0.5)


def test_macro_f1_is_the_mean_over_classes_and_not_f1_of_the_means() -> None:
    scores = averages(np.array([[1, 1], [0, 2]]))
    P, R = float(scores["macro_precision"]), float(scores["macro_recall"])
    assert float(scores["macro_f1"]) == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert float(scores["macro_f1"]) != pytest.approx(2 * P * R / (P + R))


def test_labels_to_codes() -> None:
    classes, true, predicted = encode_labels(["b", None, "a", "b", None], ["b", "x", None, "c", None])
    assert classes == ("a", "b", "c")
    assert true.tolist() == [1, -1, 0, 1, -1]
    assert predicted.tolist() == [1, -1, -1, 2, -1]
    assert true.dtype == predicted.dtype == np.int32
    # a: no prediction; b: once b, once c; what has no true label is left out
    assert confusion_matrix(true, predicted, 3).tolist() == [[0, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 0]]


def test_a_missing_prediction_is_wrong_and_held_against_no_class() -> None:
    _, confusion = matrix_of(["a", "a", "b", "b"], ["a", None, "b", "b"])
    precision, recall, _ = class_scores(confusion)
    assert (precision.tolist(), recall.tolist()) == ([1.0, 1.0], [0.5, 1.0])
    scores = averages(confusion)
    assert float(scores["accuracy"]) == float(scores["micro_recall"]) == 0.75
    assert float(scores["micro_precision"]) == 1.0
    assert float(scores["micro_f1"]) == pytest.approx(2 * 0.75 / 1.75)
    # chance: 2·1 + 2·2 = 6 of 16; p² over a, b, none: 1, 4, 1
    assert float(scores["kappa"]) == pytest.approx((12 - 6) / (16 - 6))
    assert float(scores["mcc"]) == pytest.approx((12 - 6) / math.sqrt((16 - 8) * (16 - 6)))
    assert report(confusion, ["a", "b"]).n_unpredicted == 1


@pytest.mark.filterwarnings("ignore")  # scikit-learn on one class only, and on predictions that are no true class
@repeatable
@given(labels_d(), st.sampled_from([0.5, 1.0, 2.0]))
def test_agrees_with_scikit_learn(labels: tuple[Any, Any], beta: float) -> None:
    true, predicted = labels
    classes, confusion = matrix_of(true, predicted)
    filled = ["none" if p is None else p for p in predicted]
    names = [*classes, "none"] if None in predicted else list(classes)
    expected = sk.confusion_matrix(true, filled, labels=names)[: len(classes)]
    np.testing.assert_array_equal(confusion, expected)
    rule = {"labels": list(classes), "beta": beta, "zero_division": 0.0}
    by_class = sk.precision_recall_fscore_support(true, filled, **rule)
    np.testing.assert_allclose(class_scores(confusion, beta=beta), by_class[:3], atol=1e-12)
    scores = averages(confusion, beta=beta)
    for average in ("macro", "weighted", "micro"):
        values = sk.precision_recall_fscore_support(true, filled, average=average, **rule)[:3]
        found = [float(scores[f"{average}_{name}"]) for name in ("precision", "recall", f"f{beta:g}")]
        assert found == pytest.approx(values, abs=1e-12)
    assert float(scores["accuracy"]) == pytest.approx(sk.accuracy_score(true, filled))
    assert float(scores["mcc"]) == pytest.approx(sk.matthews_corrcoef(true, filled), abs=1e-12)
    assert float(scores["balanced_accuracy"]) == pytest.approx(sk.balanced_accuracy_score(true, filled))
    kappa = sk.cohen_kappa_score(true, filled)
    assert float(scores["kappa"]) == pytest.approx(0.0 if math.isnan(kappa) else kappa, abs=1e-12)


@repeatable
@given(labels_d(), st.randoms(use_true_random=False))
def test_bounds_and_order_of_classes(labels: tuple[Any, Any], random: Any) -> None:
    true, predicted = labels
    classes, confusion = matrix_of(true, predicted)
    names = list(classes)
    random.shuffle(names)
    renamed = dict(zip(classes, names, strict=True))
    other = matrix_of([renamed[t] for t in true], [p and renamed[p] for p in predicted])[1]
    scores, others = averages(confusion), averages(other)
    for name, score in scores.items():
        assert (-1 if name in ("mcc", "kappa") else 0) - 1e-12 <= score <= 1 + 1e-12, name
        assert float(others[name]) == pytest.approx(float(score), abs=1e-12), name
    if None not in predicted:
        for name in ("micro_precision", "micro_recall", "micro_f1"):
            assert float(scores[name]) == pytest.approx(float(scores["accuracy"]), rel=1e-14)
    assert float(scores["weighted_recall"]) == pytest.approx(float(scores["accuracy"]))


@repeatable
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=20))
def test_all_right(true: list[str]) -> None:
    constant = len(set(true)) == 1
    for name, score in averages(matrix_of(true, true)[1]).items():
        assert float(score) == (0.0 if constant and name in ("mcc", "kappa") else 1.0), name


def test_many_matrices_score_as_scikit_learn_scores_each_resample() -> None:
    tables = np.random.default_rng(0).multinomial(6, (CONFUSION / 10).ravel(), size=(5, 4)).reshape(5, 4, 3, 3)
    scores = averages(tables)
    absent = 0
    for at in np.ndindex(5, 4):
        true, predicted = (np.repeat(np.indices((3, 3))[axis].ravel(), tables[at].ravel()) for axis in (0, 1))
        expected = sk.precision_recall_fscore_support(true, predicted, average="macro", zero_division=0.0)[:3]
        found = [float(scores[f"macro_{name}"][at]) for name in ("precision", "recall", "f1")]
        assert found == pytest.approx(expected, abs=1e-12)
        absent += len({*true.tolist(), *predicted.tolist()}) < 3
    assert absent  # some draw misses a class
    assert all(score.shape == (5, 4) for score in scores.values())
    assert class_scores(tables)[2].shape == (5, 4, 3)


@repeatable
@given(hnp.arrays(np.int64, (3, 4), elements=st.integers(0, 5)))
def test_a_report_holds_them_all(confusion: Any) -> None:
    if not confusion.sum():
        return
    found = report(confusion, LABELS, beta=2)
    np.testing.assert_array_equal([found.precision, found.recall, found.f_beta], class_scores(confusion, beta=2))
    assert found.averages == {name: float(score) for name, score in averages(confusion, beta=2).items()}
    assert found.support.sum() == found.n_documents == confusion.sum()
    assert found.predicted.sum() + found.n_unpredicted == confusion.sum()
    assert found.never_predicted == tuple(np.array(LABELS)[confusion[:, :3].sum(axis=0) == 0])
    assert found.never_true == tuple(np.array(LABELS)[confusion.sum(axis=1) == 0])
    assert np.isfinite([*found.averages.values()]).all()


def test_classes_that_are_never_predicted_or_never_true_count_as_zero_and_are_named() -> None:
    classes, confusion = matrix_of(["a", "a", "b"], ["a", "c", "c"])
    found = report(confusion, classes)
    assert (found.never_predicted, found.never_true) == (("b",), ("c",))
    assert found.f_beta.tolist() == pytest.approx([2 / 3, 0, 0])
    assert found.averages["macro_f1"] == pytest.approx(2 / 9)
    assert found.averages["balanced_accuracy"] == pytest.approx(1 / 4)


@pytest.mark.parametrize(("n01", "n10"), [(1, 5), (0, 7), (12, 30), (30, 12), (4, 4), (3, 4), (400, 460)])
def test_mcnemar_equals_the_binomial_test_of_scipy(n01: int, n10: int) -> None:
    assert mcnemar(n01, n10) == pytest.approx(binomtest(n01, n01 + n10, 0.5).pvalue)
    # half of what is as probable as the outcome, on either side, is left out
    ways = [binom.pmf(i, n01 + n10, 0.5) for i in range(n01 + n10 + 1)]
    less = sum(way for i, way in enumerate(ways) if abs(i - (n01 + n10) / 2) > abs(n01 - (n01 + n10) / 2))
    alike = sum(way for i, way in enumerate(ways) if abs(i - (n01 + n10) / 2) == abs(n01 - (n01 + n10) / 2))
    assert mcnemar(n01, n10, mid=True) == pytest.approx(less + alike / 2)


def test_mcnemar_by_hand() -> None:
    # Fagerland, Lydersen & Laake 2013, table 1: airway hyper-responsiveness before and after, 1 and 7 discordant pairs
    assert mcnemar(1, 7) == pytest.approx(0.0703, abs=5e-5)
    assert mcnemar(1, 7, mid=True) == pytest.approx(0.0391, abs=5e-5)
    assert mcnemar(0, 0, mid=True) == 1.0
    # n = 6: P(X ≤ 1) = (1 + 6) / 64, both sides
    assert mcnemar(1, 5) == mcnemar(5, 1) == pytest.approx(2 * 7 / 64)
    assert mcnemar(0, 5) == pytest.approx(2 / 32)
    assert mcnemar(3, 3) == pytest.approx(1.0)
    assert mcnemar(0, 0) == 1.0
    with pytest.raises(UsageError, match="negative"):
        mcnemar(-1, 2)


def test_discordant_documents() -> None:
    true = np.array([0, 0, 1, 1, -1], np.int32)
    first, second = np.array([0, 1, 1, -1, -1], np.int32), np.array([1, 0, 1, 1, 0], np.int32)
    assert discordant(true, first, second) == (2, 1)


def test_what_cannot_be_scored() -> None:
    with pytest.raises(UsageError, match=r"got 1 and 2"):
        encode_labels(["a"], ["a", "b"])
    with pytest.raises(InputError):
        averages(matrix_of([None], ["a"])[1])
    with pytest.raises(UsageError, match=r"shape \(2, 4\)"):
        class_scores(np.ones((2, 4)))
    with pytest.raises(UsageError, match="2 classes"):
        report(CONFUSION, ["a", "b"])
    for beta in (0, -1, math.inf, math.nan):
        with refuses("beta"):
            class_scores(CONFUSION, beta=beta)
