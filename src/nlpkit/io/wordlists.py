"""Word lists of the user: one word per line or several, # for comments."""

from __future__ import annotations

from pathlib import Path

from nlpkit.errors import EncodingError


def read_words(path: Path) -> frozenset[str]:
    """Return the lower-cased words of a file.

    Raises:
        EncodingError: it is not UTF-8.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise EncodingError(f"{path} is not UTF-8 at byte {error.start}; convert it, then try again") from None
    words = (word.lower().replace("’", "'") for line in lines if not line.startswith("#") for word in line.split())
    return frozenset(words)
