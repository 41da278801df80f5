"""What is said of files that are read otherwise than one might think: the first by name, the others together."""

from __future__ import annotations

import logging
from collections import Counter

_REPORTED = 5  # files of a kind that are named one by one

log = logging.getLogger("nlpkit.io")


class ReadingNotes:
    """Reports the files whose encoding is a guess, and the PDFs that have pages without text."""

    def __init__(self) -> None:
        self._encodings: Counter[str] = Counter()
        self._files = self._pages = 0

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

    def summarize(self) -> None:
        """Report the files that were not named."""
        if self._encodings.total() > _REPORTED:
            counts = ", ".join(f"{count} as {encoding}" for encoding, count in self._encodings.most_common())
            log.warning(
                "%d files read in a detected encoding: %s; force with `encoding`", self._encodings.total(), counts
            )
        if self._files > _REPORTED:
            log.warning("%d files have %d pages without text (pictures, or scanned)", self._files, self._pages)
