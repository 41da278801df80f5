"""Spans of BIO labels by hand, as CoNLL's script and seqeval read them, and how many are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.metrics.spans import are_bio, span_counts, spans_of, statistic
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
