"""Scores of sets of labels: by hand, against scikit-learn with and without weights, and their intervals."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn import metrics as sk

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.catalogue import ALIASES, METRICS, in_group, metric_of
from nlpkit.metrics.labels.multilabel import averages, indicator, label_counts, label_scores, names, report, statistic
from nlpkit.metrics.score import Uncertainty, statistic_score
from tests.refusals import refuses
from tests.strategies import repeatable

# economy, sport, war
TRUE = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 0]], bool)
FOUND = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0]], bool)


@st.composite
def two_dj(draw: st.DrawFn) -> tuple[Any, Any]:
    """True and predicted labels (D, J) of 1 … 12 documents; empty rows and columns occur."""
    shape = draw(st.integers(1, 12)), draw(st.integers(2, 5))
    return draw(hnp.arrays(np.bool_, shape)), draw(hnp.arrays(np.bool_, shape))


def sklearn_score(true: Any, found: Any, name: str, weights: Any = None) -> float:
    if name == "subset_accuracy":
        return float(sk.accuracy_score(true, found, sample_weight=weights))
    if name == "hamming_loss":
        return float(sk.hamming_loss(true, found, sample_weight=weights))
    average, _, measure = name.partition("_")
    if average == "samples":  # two empty sets are right
        empty = ~(true.any(axis=1) | found.any(axis=1))
        weights = np.ones(len(true)) if weights is None else weights
        return sklearn_average(true, found, average, measure, weights) + float(np.average(empty, weights=weights))
    return sklearn_average(true, found, average, measure, weights)


def sklearn_average(true: Any, found: Any, average: str, measure: str, weights: Any) -> float:
    options: dict[str, Any] = {"average": average, "zero_division": 0, "sample_weight": weights}
    if measure == "jaccard":
        return float(sk.jaccard_score(true, found, **options))
    if measure == "precision":
        return float(sk.precision_score(true, found, **options))
    if measure == "recall":
        return float(sk.recall_score(true, found, **options))
    return float(sk.fbeta_score(true, found, beta=float(measure[1:]), **options))


EVERY = (*names(), "macro_jaccard", "micro_jaccard", "weighted_jaccard", "macro_f2", "micro_f0.5", "samples_f2")


def test_by_hand() -> None:
    counts = label_counts(TRUE, FOUND)
    assert (counts.tp.tolist(), counts.fp.tolist(), counts.fn.tolist()) == ([1, 1, 0], [0, 1, 0], [1, 0, 1])
    assert (counts.support.tolist(), counts.predicted.tolist()) == ([2, 1, 1], [1, 2, 0])
    precision, recall, f1 = label_scores(counts)
    assert precision.tolist() == [1, 1 / 2, 0]
    assert recall.tolist() == [1 / 2, 1, 0]
    assert f1.tolist() == pytest.approx([2 / 3, 2 / 3, 0])
    expected = {
        "subset_accuracy": 2 / 4,
        "hamming_loss": 3 / 12,
        "samples_jaccard": (1 / 2 + 1 + 1 + 0) / 4,
        "macro_precision": (1 + 1 / 2) / 3,
        "macro_recall": (1 / 2 + 1) / 3,
        "macro_f1": (2 / 3 + 2 / 3) / 3,
        "weighted_precision": (2 * 1 + 1 / 2) / 4,
        "weighted_recall": (2 * 1 / 2 + 1) / 4,
        "weighted_f1": (2 * 2 / 3 + 2 / 3) / 4,
        "micro_precision": 2 / 3,
        "micro_recall": 2 / 4,
        "micro_f1": 4 / 7,
        "samples_precision": (1 + 1 + 1) / 4,
        "samples_recall": (1 / 2 + 1 + 1) / 4,
        "samples_f1": (2 / 3 + 1 + 1) / 4,
    }
    assert averages(TRUE, FOUND) == pytest.approx(expected, rel=1e-14)


def test_report() -> None:
    found = report(TRUE, FOUND, ["economy", "sport", "war"], beta=2)
    assert found.labels == ("economy", "sport", "war")
    assert found.f_beta.tolist() == pytest.approx([5 / (5 + 4), 5 / (5 + 1), 0])
    assert (found.support.tolist(), found.predicted.tolist()) == ([2, 1, 1], [1, 2, 0])
    assert (found.never_predicted, found.never_true, found.n_documents) == (("war",), (), 4)
    assert found.averages["macro_f2"] == pytest.approx(found.f_beta.mean())
    assert report(FOUND, TRUE, ["a", "b", "c"]).never_true == ("c",)


@settings(repeatable, max_examples=10)  # scikit-learn takes its time
@given(two_dj(), st.integers(0, 1000))
def test_equal_to_scikit_learn(both: tuple[Any, Any], seed: int) -> None:
    true, found = both
    weights = np.random.default_rng(seed).integers(0, 4, (3, len(true))).astype(np.float64)
    weights[:, 0] += 1
    for name in EVERY:
        plain = float(statistic(true, found, name)(np.ones((1, len(true))))[0])
        assert plain == pytest.approx(sklearn_score(true, found, name), abs=1e-12), name
        ours = statistic(sparse.csr_array(true), sparse.csr_matrix(found), name)(weights)
        theirs = [sklearn_score(true, found, name, row) for row in weights]
        assert ours == pytest.approx(theirs, abs=1e-12), name


@repeatable
@given(two_dj())
def test_by_label_equal_to_scikit_learn(both: tuple[Any, Any]) -> None:
    true, found = both
    result = report(true, found, [str(j) for j in range(true.shape[1])], beta=0.5)
    theirs = sk.precision_recall_fscore_support(true, found, beta=0.5, zero_division=0)
    for ours, expected in zip((result.precision, result.recall, result.f_beta, result.support), theirs, strict=True):
        assert ours == pytest.approx(expected, abs=1e-12)
    counts = label_counts(true, found)
    table = sk.multilabel_confusion_matrix(true, found)
    assert (counts.tp == table[:, 1, 1]).all()
    assert (counts.fp == table[:, 0, 1]).all()
    assert (counts.fn == table[:, 1, 0]).all()


@pytest.mark.parametrize("name", EVERY)
def test_draws_are_documents_taken_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    true, found = rng.random((20, 4)) < 0.4, rng.random((20, 4)) < 0.4
    weights = rng.multinomial(20, np.full(20, 1 / 20), size=9).astype(np.float64)
    values = statistic(true, found, name)(weights)
    for row, value in zip(weights, values, strict=True):
        drawn = np.repeat(np.arange(20), row.astype(int))
        assert value == pytest.approx(sklearn_score(true[drawn], found[drawn], name), abs=1e-12)
    monkeypatch.setattr("nlpkit.metrics.labels.multilabel._CELLS", 8)  # two draws at a time
    assert np.array_equal(statistic(true, found, name)(weights), values)
    assert np.isnan(statistic(true, found, name)(np.zeros((1, 20)))).all()


def test_intervals_hold_the_score_and_are_quick() -> None:
    rng = np.random.default_rng(0)
    true = rng.random((1500, 90)) < 0.03
    found = true ^ (rng.random((1500, 90)) < 0.01)
    start = time.process_time()
    for name in ("macro_f1", "micro_f1", "samples_jaccard", "subset_accuracy", "hamming_loss"):
        metric = metric_of(name)
        assert metric is not None
        score = statistic_score(
            metric, statistic(true, found, name), np.ones(1500), Uncertainty(0.95, 1), over="documents"
        )
        assert score.value == pytest.approx(sklearn_score(true, found, name), abs=1e-12)
        assert score.interval is not None
        assert score.interval.low < score.value < score.interval.high
    assert time.process_time() - start < 20


def test_numbers_and_stored_zeros_count_as_what_they_are() -> None:
    stored = sparse.csr_array((np.array([1, 0, 3]), (np.array([0, 0, 1]), np.array([0, 1, 1]))), shape=(2, 2))
    assert averages(stored, np.array([[5, 0], [0, 1]]))["subset_accuracy"] == 1.0


def test_wrong_arguments() -> None:
    with pytest.raises(UsageError, match=r"the same shape, got \(4, 3\) and \(4, 2\)"):
        label_counts(TRUE, FOUND[:, :2])
    with pytest.raises(UsageError, match=r"got shape \(4,\)"):
        label_counts(TRUE[:, 0], FOUND[:, 0])
    with refuses("metrics"):
        statistic(TRUE, FOUND, "accuracy")
    with refuses("beta"):
        averages(TRUE, FOUND, beta=0)
    with refuses("beta"):
        statistic(TRUE, FOUND, "micro_f0")
    with pytest.raises(UsageError, match="2 labels needs as many columns"):
        report(TRUE, FOUND, ["a", "b"])
    with pytest.raises(InputError):
        averages(TRUE[:0], FOUND[:0])


def test_lists_of_labels() -> None:
    lists = pa.array([["war", "économie", "war"], [], None, ["sport", None]], pa.list_(pa.string()))
    expected = [[True, False, True], [False] * 3, [False] * 3, [False, True, False]]
    labels = ["économie", "sport", "war"]
    assert indicator(lists, labels).toarray().tolist() == expected
    assert indicator(lists.slice(1), labels).toarray().tolist() == expected[1:]
    assert indicator(pa.chunked_array([lists, lists]), labels).shape == (8, 3)
    assert indicator(lists.cast(pa.large_list(pa.large_string())), labels).toarray().tolist() == expected
    assert indicator(pa.nulls(2), labels).toarray().tolist() == expected[1:3]
    assert indicator(pa.array([[], []], pa.list_(pa.string())), []).shape == (2, 0)
    with pytest.raises(InputError):
        indicator(lists, ["war", "économie"])
    with pytest.raises(InputError):
        indicator(pa.array(["a"]), ["a"])


def test_every_score_has_a_name_in_the_list_of_metrics() -> None:
    for name in names():
        metric = metric_of(name)
        assert metric is not None, name
        assert metric.group in ("multilabel", "classification")
        assert metric.better == ("low" if name == "hamming_loss" else "high")
    assert set(in_group("multilabel")) <= {*names()}
    assert METRICS[ALIASES["jaccard_samples"]].name == "samples_jaccard"
    assert metric_of("samples_f2") is not None
