"""Word clouds: the larger a word, the more often it occurs."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlpkit.errors import InputError
from nlpkit.report.chart import COLOURS, require
from nlpkit.report.fonts import choose_font

MAX_WORDS = 150


@dataclass(frozen=True, slots=True)
class Cloud:
    """A word cloud as PNG: how many words it shows, and the words left out because the font lacks a character of them."""

    png: bytes
    n_words: int
    left_out: tuple[str, ...]
    lacks: frozenset[str]
    font: str


def draw_cloud(frequencies: Mapping[str, float], *, seed: int, font: Path | None = None) -> Cloud:
    """Return a word cloud of the most frequent words, 1200 × 800 pixels; the same bytes for the same words, seed and font.

    A word with a character that the font does not have is left out, never drawn as boxes.

    Args:
        frequencies: word → weight above 0; the first 150 in this order are drawn.
        seed: of places and colours.
        font: a TrueType or OpenType file; without it the fonts of this machine are searched.

    Raises:
        InputError: no word can be drawn, or the font is none; MissingError: wordcloud is not installed.
    """
    require("wordcloud")
    from wordcloud import WordCloud

    shown = dict(list(frequencies.items())[:MAX_WORDS])
    if not shown:
        raise InputError("there are no words to draw a word cloud of")
    choice = choose_font("".join(shown), font)
    left_out = tuple(word for word in shown if choice.lacks.intersection(word))
    drawn = {word: weight for word, weight in shown.items() if word not in left_out}
    if not drawn:
        some = "".join(sorted(choice.lacks)[:10])
        raise InputError(
            f"no font on this machine has the characters of these words (such as {some}); give one with "
            "`font=FILE`, such as Noto Sans CJK"
        )
    cloud = WordCloud(
        width=1200, height=800, margin=6, max_words=MAX_WORDS, font_path=choice.path, random_state=seed % 2**32,
        background_color="white", color_func=_colour, prefer_horizontal=0.95, relative_scaling=0.5, min_font_size=10,
    )  # fmt: skip
    cloud.generate_from_frequencies(drawn)
    out = io.BytesIO()
    cloud.to_image().save(out, format="PNG")
    return Cloud(out.getvalue(), len(cloud.layout_), left_out, choice.lacks, choice.path)


def _colour(word: str, *, random_state: Any, **_: Any) -> str:
    """Return one of the colours that can be read on white."""
    return str(random_state.choice([c for c in COLOURS if c not in ("#E69F00", "#56B4E9")]))
