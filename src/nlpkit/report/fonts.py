"""Fonts for words of any script: which one has their characters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nlpkit.errors import InputError
from nlpkit.report.chart import require


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
