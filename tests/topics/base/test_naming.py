"""Names of topics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from nlpkit.topics.base.topic_words import exclusive_terms, topic_label, topic_names


@pytest.mark.parametrize(
    ("terms", "label"),
    [
        (["rate", "rates", "bank", "banking", "loan"], "rate, bank, loan"),
        (["court", "high-court", "judge", "law"], "court, judge, law"),
        (["high-court", "court", "judge"], "high-court, judge"),
        (["banks", "bank"], "banks"),
        (["run", "runs", "runner"], "run, runs, runner"),  # under four letters in common
        (["cat", "category", "car"], "cat, category, car"),
        (["inter", "international", "internet"], "inter"),
        (["nation", "national", "nations", "vote"], "nation, vote"),
        (["economy", "economics"], "economy"),
        (["economy", "ecosystem"], "economy, ecosystem"),
        (["über", "überall", "straße", "straßen"], "über, straße"),
        (["自然", "然语", "语言", "言处"], "自然, 然语, 语言"),
        (["one"], "one"),
        ([], ""),
    ],
)
def test_near_duplicates_are_skipped(terms: list[str], label: str) -> None:
    assert topic_label(terms) == label


def test_number_of_terms() -> None:
    assert topic_label(["sun", "moon", "star", "rain"], n=2) == "sun, moon"
    assert topic_label(["sun", "moon"], n=0) == ""


def test_names_are_unique() -> None:
    vocabulary = ("vote", "law", "court", "judge", "goal", "votes")
    terms = np.array(
        [[0, 1, 2, 3], [0, 1, 2, 4], [4, 1, -1, -1], [0, 5, -1, -1], [0, -1, -1, -1], [-1] * 4, [-1] * 4], np.int32
    )
    assert topic_names(terms, vocabulary) == (
        "vote, law, court, judge", "vote, law, court, goal", "goal, law", "vote 3", "vote 4", "topic 5", "topic 6",
    )  # fmt: skip
    assert topic_names(np.zeros((0, 4), np.int32), vocabulary) == ()


def test_a_word_of_all_topics_names_none() -> None:
    # the first term is the most frequent of every topic, and in all of them
    counts = np.array(
        [[9, 5, 4, 3, 0, 0], [9, 0, 0, 0, 6, 0], [9, 0, 0, 0, 0, 7], [9, 0, 0, 0, 0, 0], [0] * 6], np.int32
    )
    vocabulary = ("said", "vote", "votes", "law", "goal", "film")
    names = topic_names(exclusive_terms(sparse.csr_array(counts)), vocabulary)
    assert names == ("vote, law, said", "goal, said", "film, said", "said", "topic 4")
