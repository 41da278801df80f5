"""Numbers, nouns and lists in sentences."""

from __future__ import annotations

import pytest

from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.wording import counted, if_defined, listed, percent, truncated


def test_nouns_and_shares() -> None:
    assert (counted(1, "document"), counted(1200, "document"), counted(2, "class", "classes")) == (
        "1 document",
        "1,200 documents",
        "2 classes",
    )
    assert (percent(0.1234), percent(0.0001)) == ("12.3%", "under 0.1%")


@pytest.mark.parametrize(("n", "text"), [(0, ""), (2, "0, 1"), (3, "0, 1, 2"), (4, "0, 1, 2 …")])
def test_a_list_says_when_there_are_more(n: int, text: str) -> None:
    assert listed(range(n), 3) == text


@pytest.mark.parametrize(("text", "short"), [("", ""), ("abcd", "abcd"), ("abcdef", "abc…"), ("ab cdef", "ab…")])
def test_a_text_ends_in_dots_when_it_is_too_long(text: str, short: str) -> None:
    assert truncated(text, 4) == short
    assert len(short) <= 4


def test_what_json_does_not_have_is_none() -> None:
    assert [finite_or_none(x) for x in (1.5, float("nan"), float("inf"))] == [1.5, None, None]


def test_a_figure_that_is_not_defined_is_told_in_words() -> None:
    assert [if_defined(value) for value in (None, float("nan"), 0.1234)] == [
        "not defined",
        "not defined",
        "0.123",
    ]
