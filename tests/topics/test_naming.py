"""Names of topics."""

from __future__ import annotations

import pytest

from nlpkit.topics.naming import topic_label


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
