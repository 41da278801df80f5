"""What is said of files that are read otherwise than one might think: the first by name, the others together."""

from __future__ import annotations

import logging
from collections import Counter

_REPORTED = 5  # files of a kind that are named one by one

log = logging.getLogger("nlpkit.io")


class ReadingNotes:
    """Reports the files whose encoding is a guess, and the PDFs that have pages without text or letters that are not known."""

    def __init__(self) -> None:
        self._encodings: Counter[str] = Counter()
        self._files = self._pages = 0
        self._with_unknown = self._unknown = 0

    def encoding(self, path: str, encoding: str) -> None:
        """Report how one file is read."""
        self._encodings[encoding] += 1
        if self._encodings.total() <= _REPORTED:
            log.warning("%s: read as %s (detected); force with `encoding`", path, encoding)

    def pages(self, path: str, empty: int, total: int) -> None:
        """Report pages of a PDF without text."""
        self._files += 1
        self._pages += empty
        if self._files <= _REPORTED:
            log.warning("%s: %d of %d pages hold no text (pictures, or scanned)", path, empty, total)

    def unknown(self, path: str, n: int) -> None:
        """Report letters of a PDF of which its fonts do not say what they are: U+0000 in the text, which ends a word."""
        self._with_unknown += 1
        self._unknown += n
        if self._with_unknown <= _REPORTED:
            log.warning("%s: %d letters are not known (U+0000 in the text): its fonts do not name them", path, n)

    def summarize(self) -> None:
        """Report the files that were not named."""
        if self._encodings.total() > _REPORTED:
            counts = ", ".join(f"{count} as {encoding}" for encoding, count in self._encodings.most_common())
            log.warning(
                "%d files read in a detected encoding: %s; force with `encoding`", self._encodings.total(), counts
            )
        if self._files > _REPORTED:
            log.warning("%d files have %d pages without text (pictures, or scanned)", self._files, self._pages)
        if self._with_unknown > _REPORTED:
            log.warning("%d files have %d letters that are not known (U+0000)", self._with_unknown, self._unknown)
