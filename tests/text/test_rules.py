"""Replacement files."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlpkit.errors import InputError, NlpkitError, UsageError
from nlpkit.text.clean import ReplacementRules
from nlpkit.text.files import read_rules


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "rules.tsv"
    path.write_bytes(text.encode(encoding))
    return path


def test_phrases_patterns_deletions_and_comments(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "# phrase\tby\nNew York\tnew_york\nclick here\nread more\t\n\n/(\\d+) ?%/\t\\1_percent\r\n/x+/\n//\tslashes\n",
    )
    assert read_rules(path) == ReplacementRules(
        (("New York", "new_york"), ("click here", ""), ("read more", ""), ("//", "slashes")),
        ((r"(\d+) ?%", r"\1_percent"), ("x+", "")),
    )
    assert read_rules(path, ignore_case=True).ignore_case


def test_encodings(tmp_path: Path) -> None:
    for encoding in ("utf-8-sig", "utf-16", "latin-1"):
        assert read_rules(written(tmp_path, "Müll\tAbfall\n", encoding)).phrases == (("Müll", "Abfall"),)


def test_an_empty_file(tmp_path: Path) -> None:
    assert read_rules(written(tmp_path, "# nothing\n")) == ReplacementRules()


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("a\tb\tc\n", InputError, "rules.tsv:1: 2 tabs"),
        ("a\tb\n\tc\n", InputError, "nothing before the tab; write the text to replace there"),
        ("a\tb\n#\na\tc\n", InputError, "rules.tsv:3: 'a' was to become 'b' in a line before, now 'c'"),
        ("/(a/\tb\n", UsageError, r"rules.tsv:1: /\(a/ is not a regular expression: unclosed group"),
        ("a\n/x*/\tb\n", UsageError, r"rules.tsv:2: /x\*/ matches the empty text"),
        ("/a(?=b)/\n", UsageError, "rules.tsv:1: .* look-ahead"),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, text: str, kind: type[NlpkitError], message: str) -> None:
    with pytest.raises(kind, match=message):
        read_rules(written(tmp_path, text))


def test_a_phrase_may_come_twice_with_one_meaning(tmp_path: Path) -> None:
    assert read_rules(written(tmp_path, "a\tb\na\tb\nA\tc\n")).phrases == (("a", "b"), ("A", "c"))
    with pytest.raises(InputError):
        read_rules(written(tmp_path, "a\tb\nA\tc\n"), ignore_case=True)
