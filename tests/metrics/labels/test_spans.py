"""Spans of BIO labels by hand, as CoNLL's script and seqeval read them, and how many are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.labels.classification import averages, confusion_matrix
from nlpkit.metrics.labels.spans import add_words, are_bio, span_counts, spans_of, statistic, word_statistic
from nlpkit.metrics.results import TargetResult
from nlpkit.metrics.score import Uncertainty, statistic_score
from tests.strategies import repeatable


@pytest.mark.parametrize(
    ("labels", "spans"),
    [
        ("", []),
        ("O O O", []),
        ("B-PER I-PER O B-LOC", [("PER", 0, 2), ("LOC", 3, 4)]),
        ("B-PER B-PER I-PER", [("PER", 0, 1), ("PER", 1, 3)]),
        ("I-PER I-PER O", [("PER", 0, 2)]),  # I- after nothing starts one
        ("O I-LOC", [("LOC", 1, 2)]),
        ("B-PER I-LOC I-LOC", [("PER", 0, 1), ("LOC", 1, 3)]),
        ("I-PER B-PER", [("PER", 0, 1), ("PER", 1, 2)]),
        ("B-PER O I-PER", [("PER", 0, 1), ("PER", 2, 3)]),
        ("B-LOC-2 I-LOC-2 I-LOC", [("LOC-2", 0, 2), ("LOC", 2, 3)]),
    ],
)
def test_spans_by_hand(labels: str, spans: list[tuple[str, int, int]]) -> None:
    assert spans_of(labels.split()) == set(spans)


@repeatable
@given(st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"]), max_size=12))
def test_spans_cover_every_word_that_is_not_o_once(labels: list[str]) -> None:
    covered = sorted(i for _, start, stop in spans_of(labels) for i in range(start, stop))
    assert covered == [i for i, label in enumerate(labels) if label != "O"]
    assert all({label[2:] for label in labels[a:b]} == {kind} for kind, a, b in spans_of(labels))


def test_bio_labels() -> None:
    assert are_bio(["O", "B-PER", "I-PER"])
    assert are_bio(["B-PER", "I-PER"])
    assert not are_bio(["O"])
    assert not are_bio(["O", "PER"])
    assert not are_bio(["NOUN", "VERB"])
    assert not are_bio([])


# The example of seqeval's README: of two true spans one is found; f1 0.50
TRUE = [["O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
FOUND = [["O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]


def test_counts_and_scores_of_two_texts() -> None:
    counts = span_counts(TRUE, FOUND)
    assert counts.tolist() == [[0, 1, 1], [1, 1, 1]]
    weights = np.array([[1.0, 1.0], [0.0, 2.0], [2.0, 0.0], [1.0, 3.0]])
    for name in ("span_precision", "span_recall", "span_f1"):
        assert statistic(counts, name)(weights).tolist() == [0.5, 1.0, 0.0, 0.75]


def test_precision_is_of_the_found_and_recall_of_the_true_ones() -> None:
    counts = span_counts([["B-X", "O", "B-Y", "O"]], [["B-X", "B-X", "B-X", "B-Y"]])  # one of two, four told
    assert counts.tolist() == [[1, 2, 4]]
    one = np.ones((1, 1))
    assert statistic(counts, "span_precision")(one)[0] == 1 / 4
    assert statistic(counts, "span_recall")(one)[0] == 1 / 2
    assert statistic(counts, "span_f1")(one)[0] == pytest.approx(2 * 1 / 4 * 1 / 2 / (1 / 4 + 1 / 2))


def test_type_and_both_ends_must_agree() -> None:
    true = [["B-X", "I-X", "O"]] * 3
    found = [["B-Y", "I-Y", "O"], ["B-X", "O", "O"], ["B-X", "I-X", "I-X"]]
    assert span_counts(true, found)[:, 0].tolist() == [0, 0, 0]


def test_nothing_to_find_is_zero() -> None:
    counts = span_counts([["O"], []], [["O"], []])
    assert counts.tolist() == [[0, 0, 0]] * 2
    assert statistic(counts, "span_f1")(np.ones((1, 2))).tolist() == [0.0]
    assert span_counts([], []).shape == (0, 3)
    with pytest.raises(ValueError, match="zip"):
        span_counts([["O"]], [])


def test_scores_of_words_are_those_of_the_texts_drawn() -> None:
    rng = np.random.default_rng(2)
    texts = np.repeat(np.arange(20), rng.integers(0, 9, 20))
    true = rng.integers(0, 3, len(texts)).astype(np.int32)
    found = rng.integers(-1, 3, len(texts)).astype(np.int32)
    weights = rng.integers(1, 4, (5, 20)).astype(float)
    assert (found < 0).sum() > 5  # words without a prediction are of a column of their own
    for name in averages(np.eye(3)):
        got = word_statistic(texts, true, found, 20, 3, name)(weights)
        for value, own in zip(got, weights.astype(int), strict=True):
            drawn = np.repeat(np.arange(len(texts)), own[texts])
            assert value == pytest.approx(averages(confusion_matrix(true[drawn], found[drawn], 3))[name], abs=1e-12)


def test_intervals_of_words_are_as_wide_as_the_texts_differ() -> None:
    """Ten texts of 100 words, all right or all wrong, are ten observations: the interval of p = .5 is about ± .31, not ± .03."""
    texts = np.repeat(np.arange(10), 100)
    true = np.zeros(1000, np.int32)
    found = (texts % 2).astype(np.int32)
    own = word_statistic(texts, true, found, 10, 2, "accuracy")
    score = statistic_score(METRICS["accuracy"], own, np.ones(10), Uncertainty(0.95, 1), over="documents")
    assert score.value == 0.5
    assert score.interval is not None
    assert score.interval.low < 0.3
    assert score.interval.high > 0.7


def test_texts_without_words_have_no_part_in_a_score() -> None:
    """One draw in ten of these is of empty texts alone; the scores and intervals are those of the other texts."""
    true, found = [["B-X", "O"], ["O"], ["B-X", "I-X"]], [["B-X", "O"], ["B-X"], ["B-X", None]]
    plain, padded = TargetResult("words", "table"), TargetResult("words", "table")
    how = Uncertainty(0.95, 1)
    add_words(plain, true, found, how)
    add_words(padded, [*([[]] * 9), *true, []], [*([[]] * 9), *found, []], how)
    assert (padded.to_dict(), padded.scores["accuracy"].value) == (plain.to_dict(), 3 / 5)
    assert padded.scores["accuracy"].interval is not None
    assert "span_f1" in padded.scores
