"""Numbers as they are told on the screen."""

from __future__ import annotations

import pytest

from nlpkit.wording import counted, percent


@pytest.mark.parametrize(
    ("share", "said"),
    [(1e-9, "under 0.1%"), (0.000499, "under 0.1%"), (0.0005, "0.1%"), (0.123, "12.3%"), (1.0, "100.0%")],
)
def test_a_share_that_is_not_zero_is_never_told_as_zero(share: float, said: str) -> None:
    assert percent(share) == said


def test_nouns_agree_with_their_number() -> None:
    assert [counted(n, "document") for n in (0, 1, 2, 1200)] == [
        "0 documents",
        "1 document",
        "2 documents",
        "1,200 documents",
    ]
    assert counted(3, "class", "classes") == "3 classes"
