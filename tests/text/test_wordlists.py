"""Word lists: words, patterns, comments, encodings."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from nlpkit.errors import EncodingError, InputError, UsageError
from nlpkit.text.files import read_word_list


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "words.txt"
    path.write_bytes(text.encode(encoding))
    return path


def test_words_patterns_and_comments(tmp_path: Path) -> None:
    path = written(tmp_path, "# The\nThe \nof\n\n der | article\r\n/\\d+th|a|b/\nC#\ndon’t\n/\nand/or\n")
    found = read_word_list(path)
    assert found.words == {"the", "of", "der", "c#", "don't", "/", "and/or"}
    assert found.patterns == ("\\d+th|a|b",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    words = "für über während können müssen dürfen außerdem größer schön natürlich vergäße Häuser"
    assert read_word_list(written(tmp_path, words.replace(" ", "\n"), encoding)).words == frozenset(
        words.lower().split()
    )


def test_the_encoding_can_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, "и\nне\nчто", "cp1251")
    assert read_word_list(path, encoding="cp1251").words == {"и", "не", "что"}
    with pytest.raises(EncodingError):
        read_word_list(path, encoding="utf-8")


def test_packed_lists(tmp_path: Path) -> None:
    path = tmp_path / "words.txt.gz"
    path.write_bytes(gzip.compress(b"a\nb\n"))
    assert read_word_list(path).words == {"a", "b"}


def test_an_empty_list(tmp_path: Path) -> None:
    assert read_word_list(written(tmp_path, "")).words == frozenset()


def test_bad_patterns_are_named_with_their_line(tmp_path: Path) -> None:
    path = written(tmp_path, "a\n/(b/\n")
    with pytest.raises(UsageError, match=r"words.txt:2: /\(b/ is not a regular expression"):
        read_word_list(path)


def test_no_file_and_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_word_list(tmp_path / "none.txt")
    path = tmp_path / "words.txt"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(InputError):
        read_word_list(path)


def test_a_line_of_several_words_is_refused(tmp_path: Path) -> None:
    """Each of its words would be left out wherever it stands."""
    path = written(tmp_path, "the\nstate of the art | a phrase\n")
    with pytest.raises(InputError, match=r"words.txt:2: one word was needed, found 'state of the art'; .* `replace`"):
        read_word_list(path)
    assert read_word_list(path, phrases=True).words == {"the", "state of the art"}


def test_words_are_written_as_terms_are(tmp_path: Path) -> None:
    path = written(tmp_path, "u\u0308ber\nDon´t\nﬁne\nＡＢＣ\nצה״ל\n")
    assert read_word_list(path).words == {"über", "don't", "fine", "abc", 'צה"ל'}
