"""Fonts for words of any script: which one has their characters.

Further parts, in this order:
- Word clouds: the larger a word, the more often it occurs.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlpkit.errors import InputError
from nlpkit.platform.views.chart import COLOURS, require


@dataclass(frozen=True, slots=True)
class FontChoice:
    """A font file, and the characters that were wanted and are not in it."""

    path: str
    lacks: frozenset[str]


def choose_font(characters: Iterable[str], font_file: Path | None = None) -> FontChoice:
    """Return the font to draw characters with: `font_file`, else DejaVu Sans, else the font of this machine that has most of them.

    Raises:
        InputError: `font_file` is missing or no font; MissingError: matplotlib is not installed.
    """
    require("matplotlib")
    from matplotlib import font_manager
    from matplotlib.font_manager import FontProperties

    wanted = frozenset(c for c in characters if not c.isspace())
    if font_file is not None:
        return FontChoice(str(font_file), wanted - _characters(font_file))
    usual = font_manager.findfont(FontProperties(family="DejaVu Sans"))
    best = FontChoice(usual, wanted - _characters(Path(usual)))
    if not best.lacks:
        return best
    for path in sorted(font_manager.findSystemFonts()):
        try:
            candidate = FontChoice(path, wanted - _characters(Path(path)))
        except InputError:  # a broken font of the system is not the user's business
            continue
        if len(candidate.lacks) < len(best.lacks):
            best = candidate
    return best


def _characters(path: Path) -> frozenset[str]:
    """Return the characters of a font file (of the first font of a collection)."""
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(map(chr, FT2Font(str(path)).get_charmap()))
    except FileNotFoundError:
        raise InputError(f"`font={path}` does not exist") from None
    except (OSError, RuntimeError) as error:
        raise InputError(f"`font={path}` is not a TrueType or OpenType font: {error}") from None


# ------------------------------------------------------------------------------------------------------------------------
# Word clouds: the larger a word, the more often it occurs.

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
