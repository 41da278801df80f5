"""Messages are one line, whatever they quote."""

from __future__ import annotations

import pytest

from nlpkit.errors import EncodingError, NlpkitError


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
