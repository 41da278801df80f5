"""Messages are one line, whatever they quote."""

from __future__ import annotations

import pytest

from nlpkit.errors import EncodingError, NlpkitError, first_line, missing_column


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("“é” …\u3000日", "“é” …\u3000日"),
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\x1b[2J\x07\u2028\u202e", r"\x1b[2J\x07\u2028\u202e"),
        ("\ud800", r"\ud800"),
        ("", ""),
    ],
)
def test_what_breaks_lines_or_steers_a_terminal_is_spelled(message: str, shown: str) -> None:
    for kind in (NlpkitError, EncodingError):
        assert str(kind(message)) == shown


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("cannot be read\n  at line 3", "cannot be read"),
        (
            "Initialization failure from server:\nTraceback\n  no route\n",
            "Initialization failure from server: no route",
        ),
        ("nothing follows:", "nothing follows:"),
        ("", "OSError"),
    ],
)
def test_the_line_of_an_error_of_others_that_is_shown(message: str, line: str) -> None:
    assert first_line(OSError(message)) == line


@pytest.mark.parametrize(
    ("needed", "names", "meant"),
    [
        ("text", ["Score text", "title", "Content"], "Content"),  # what texts are called, before what is spelled alike
        ("text", ["Score text", "Text", "content"], "Text"),
        ("label", ["id", "Category"], "Category"),
        ("date", ["update", "publish_date"], "publish_date"),
        ("lable", ["label", "category"], "label"),
    ],
)
def test_the_likeliest_column_is_named(needed: str, names: list[str], meant: str) -> None:
    assert f"; did you mean '{meant}'?" in str(missing_column("x.csv", needed, names))
