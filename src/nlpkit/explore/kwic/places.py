"""Where the matches of a pattern lie in texts, counted while these are searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nlpkit.platform import wording
from nlpkit.platform.types import FloatArray

MOST_ROWS = 40


@dataclass(slots=True)
class Text:
    """One document, or those of a class one after the other: its length, and where matches begin, in characters or words."""

    length: int = 0
    starts: list[int] = field(default_factory=list)


class Places:
    """The places of matches in texts, which are documents (by id) or classes of them (by number)."""

    def __init__(self) -> None:
        self.texts: dict[str | int, Text] = {}

    def add(self, name: str | int, length: int, starts: Sequence[int]) -> None:
        """Put a document at the end of a text."""
        text = self.texts.setdefault(name, Text())
        text.starts += [text.length + start for start in starts]
        text.length += length

    def rows(self, names: Sequence[tuple[str | int, str]]) -> tuple[list[tuple[str, FloatArray]], int]:
        """Return name and places as shares (M,) of the texts with most matches, in their order, and the number of those left out."""
        matched = [(key, name) for key, name in names if key in self.texts and self.texts[key].starts]
        largest = sorted(range(len(matched)), key=lambda i: -len(self.texts[matched[i][0]].starts))[:MOST_ROWS]
        rows = []
        for i in sorted(largest):
            key, name = matched[i]
            text = self.texts[key]
            rows.append((wording.truncated(name, 40), np.array(text.starts, np.float64) / max(text.length, 1)))
        return rows, len(matched) - len(rows)
