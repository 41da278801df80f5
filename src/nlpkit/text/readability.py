"""Readability of texts: formulas over the lengths of sentences and words, for English, German, and any language with spaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nlpkit.text.sentences import sentence_spans
from nlpkit.types import FloatArray

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
UNSPACED = ("zh", "ja", "th", "lo", "my", "km")  # languages that put no spaces between words
_LONG = 7  # letters of a long word
_SIMPLE_ENGLISH = re.compile(r"[aeiouy]+")
# Endings whose e is not spoken: make, tables, called, but not little, wanted, houses
_SILENT = re.compile(
    r"(?:(?<![aeiouyl])e|(?<=[aeiouy]l)e|(?<![aeiouytd])ed|(?<![aeiouyszxcgl])(?<!ch)(?<!sh)es|(?<=[aeiouy]l)es)$"
)
_APART = re.compile(
    r"(?<![tscgx])(?<!ll)i[aou]|[^aeiou]n['’]t$|(?<=[aeiouy])ing|sm$|(?<=sc)ie|(?<=cr)ea(?=t)|(?<=[dg])eo(?!u)"
)
_GERMAN = re.compile(r"a[iuy]|e[iuy]|äu|ie|aa|ee|oo|(?<!q)u|y(?![aeiouäöü])|[aeioäöü]")


@dataclass(frozen=True, slots=True)
class TextSizes:
    """What the formulas need of texts (D,): sentences, words, syllables, and words of more than 6 letters, of one, of three or more
    syllables; syllables are nan in languages whose syllables are not counted.
    """

    sentences: FloatArray
    words: FloatArray
    long_words: FloatArray
    syllables: FloatArray
    monosyllables: FloatArray
    polysyllables: FloatArray


def syllables_of_english(word: str) -> int:
    """Return the syllables of a word: groups of vowels, without an e that is not spoken; right for about nine words in ten."""
    lower = word.lower()
    groups = len(_SIMPLE_ENGLISH.findall(lower)) + len(_APART.findall(lower)) - bool(_SILENT.search(lower))
    return max(groups, 1)


def syllables_of_german(word: str) -> int:
    """Return the syllables of a word: its vowels, where diphthongs and double vowels are one."""
    return max(len(_GERMAN.findall(word.lower())), 1)


_SYLLABLES: dict[str, Callable[[str], int]] = {"en": syllables_of_english, "de": syllables_of_german}


def text_sizes(texts: Sequence[str | None], language: str | None = None) -> TextSizes:
    """Return the sizes of texts (D,). A word has a letter; compounds with a hyphen are one word.

    Args:
        texts: (D,); a missing one is empty.
        language: ISO 639-1 code, for sentences and syllables.
    """
    count = lru_cache(maxsize=1 << 16)(_SYLLABLES[language]) if language in _SYLLABLES else None
    rows = np.zeros((len(texts), 6))
    for row, text in zip(rows, texts, strict=True):
        words = _WORD.findall(text or "")
        if not words:
            continue
        spoken = [0] * len(words) if count is None else [count(word) for word in words]
        row[:] = (
            sum(1 for start, end in sentence_spans(text or "", language) if _WORD.search(text or "", start, end)),
            len(words),
            sum(len(word) >= _LONG for word in words),
            sum(spoken),
            spoken.count(1),
            sum(n >= 3 for n in spoken),
        )
    if count is None:
        rows[:, 3:] = np.nan
    return TextSizes(*rows.T)


def readability(texts: Sequence[str | None], language: str | None = None) -> dict[str, FloatArray]:
    """Return the readability of texts (D,) by name of the formula; nan for a text without words.

        lix            = W/S + 100 L/W                                                Björnsson (1968): higher is harder
        flesch, en     = 206.835 − 1.015 W/S − 84.6 Y/W                               Flesch (1948): higher is easier
        flesch, de     = 180 − W/S − 58.5 Y/W                                         Amstad (1978)
        flesch_kincaid = 0.39 W/S + 11.8 Y/W − 15.59, en                              Kincaid et al. (1975): grade of a school
        wiener         = 0.1935 MS + 0.1672 W/S + 0.1297 IW − 0.0327 ES − 0.875, de   Bamberger & Vanecek (1984), first formula

    W words, S sentences, Y syllables, L words of more than 6 letters; per cent of the words of three or more syllables (MS), of more
    than 6 letters (IW), of one syllable (ES). English and German have all of theirs, other languages lix, those without spaces none.
    """
    if language in UNSPACED:
        return {}
    sizes = text_sizes(texts, language)
    has_words = sizes.words > 0
    W, S = np.where(has_words, sizes.words, np.nan), np.where(has_words, sizes.sentences, np.nan)
    length, syllables = W / S, sizes.syllables / W
    lix = {"lix": length + 100 * sizes.long_words / W}
    if language == "en":
        kincaid = 0.39 * length + 11.8 * syllables - 15.59
        return {"flesch": 206.835 - 1.015 * length - 84.6 * syllables, "flesch_kincaid": kincaid, **lix}
    if language == "de":
        many, six, one = (100 * n / W for n in (sizes.polysyllables, sizes.long_words, sizes.monosyllables))
        wiener = 0.1935 * many + 0.1672 * length + 0.1297 * six - 0.0327 * one - 0.875
        return {"flesch": 180 - length - 58.5 * syllables, "wiener": wiener, **lix}
    return lix
