"""Word lists of the user: a word on each line, patterns between slashes, # or | for comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nlpkit.errors import InputError, UsageError
from nlpkit.io.encoding import decode
from nlpkit.io.sources import Source, StoredBytes
from nlpkit.text.normalize import plain_form


@dataclass(frozen=True, slots=True)
class WordList:
    """Lower-cased words and regular expressions of a file."""

    words: frozenset[str]
    patterns: tuple[str, ...]


def read_word_list(path: Path, *, encoding: str | None = None, phrases: bool = False) -> WordList:
    r"""Return the words and patterns of a file, packed or not, in any encoding that corpora may have.

        # a comment, and what follows | is one too (as in the lists of the Snowball project)
        the
        /\d+th/       a pattern that a whole term must match

    Args:
        phrases: a line may be several words, for terms with white space in them. Else it is refused: each of its words
            would be left out wherever it stands.

    Raises:
        InputError: the file cannot be read, or holds no text; a line is several words.
        UsageError: a pattern is no regular expression; the message names file and line.
    """
    words: set[str] = set()
    patterns: list[str] = []
    for number, line in numbered_lines(path, encoding=encoding):
        text = line.strip()
        if len(text) > 2 and text.startswith("/") and text.endswith("/"):
            patterns.append(checked_pattern(text[1:-1], f"{path}:{number}"))
        elif not text.startswith("#"):
            parts = text.partition("|")[0].split()
            if len(parts) > 1 and not phrases:
                raise InputError(f"{path}:{number}: {several_words(' '.join(parts))}")
            words |= {plain_form(" ".join(parts).lower())} if parts else set()
    return WordList(frozenset(words), tuple(patterns))


def several_words(entry: str) -> str:
    """Return why an entry of a list of words is none, and what to do."""
    return (
        f"one word was needed, found '{entry}'; write each word on a line of its own, which leaves it out wherever it stands, or give "
        "the phrase to `replace`, which deletes it as a whole"
    )


def numbered_lines(path: Path, *, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers from 1; decoding and unpacking are those of corpora.

    Raises:
        InputError: the file cannot be read, or holds no text.
    """
    with StoredBytes(Source(str(path), path.name, "txt")) as stored:
        text = "".join(decode(stored, str(path), encoding=encoding).text)
    yield from enumerate(text.splitlines(), start=1)


def checked_pattern(pattern: str, where: str) -> str:
    """Return a regular expression of Python's `re`.

    Raises:
        UsageError: it is none.
    """
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{where}: /{pattern}/ is not a regular expression: {error}") from None
    return pattern
