"""The surface features of a text, counted without a vocabulary: length, marks, capitals, links, emoji, readability.

Parts, in this order:
- Counts of a text: its length, its marks, its capitals, links, emoji.
- Readability of texts: formulas over the lengths of sentences and words, for English, German, and any language with
  spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nlpkit.platform.types import FloatArray
from nlpkit.text.kernels import characters as kernel
from nlpkit.text.sentences import sentence_spans
from nlpkit.text.tokenize import string_buffers

# share or mean → what is counted, of how many
RATIOS: dict[str, tuple[str, str]] = {
    "word_length": ("in_words", "words"),
    "sentence_length": ("words", "sentences"),
    "type_token_ratio": ("types", "words"),
    "upper_share": ("upper", "letters"),
    "capital_words": ("capitals", "words"),
    "digit_share": ("digits", "visible"),
    "punctuation_share": ("punctuation", "visible"),
    "exclamations_per_sentence": ("exclamations", "sentences"),
    "questions_per_sentence": ("questions", "sentences"),
    "quotes_per_word": ("quotes", "words"),
    "links_per_word": ("links", "words"),
    "mentions_per_word": ("mentions", "words"),
    "hashtags_per_word": ("hashtags", "words"),
    "emoji_per_word": ("emoji", "words"),
}

_POINTS = 0x20000
_HEADS = tuple(np.frombuffer(head, np.uint8) for head in (b"http://", b"https://", b"ftp://", b"www."))
_QUOTES = '"\uff02“”„‟«»‹›「」『』〝〞〟'
_STOPS, _FULL_STOPS = ".!?…‽؟", "。！？｡।॥۔؟։።။។"
_UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3040, 0x30FF), (0x31F0, 0x31FF),
             (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F))  # fmt: skip
# What `text.kinds.EMOJI_PATTERN` takes for an emoji by itself; a test compares the two.
_EMOJI = (
    "231a-231b 2328 23cf 23e9-23f3 23f8-23fa 24c2 2600-2604 260e 2611 2614-2615 2618 261d 2620 2622-2623 2626 262a 262e-262f "
    "2638-263a 2640 2642 2648-2653 265f-2660 2663 2665-2666 2668 267b 267e-267f 2692-2697 2699 269b-269c 26a0-26a1 26a7 "
    "26aa-26ab 26b0-26b1 26bd-26be 26c4-26c5 26c8 26ce-26cf 26d1 26d3-26d4 26e9-26ea 26f0-26f5 26f7-26fa 26fd 2702 2705 "
    "2708-270d 270f 2712 2714 2716 271d 2721 2728 2733-2734 2744 2747 274c 274e 2753-2755 2757 2763-2764 2795-2797 27a1 27b0 "
    "27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55 1f004 1f0cf 1f170-1f171 1f17e-1f17f 1f18e 1f191-1f19a 1f201-1f202 1f21a "
    "1f22f 1f232-1f23a 1f250-1f251 1f300-1f321 1f324-1f393 1f396-1f397 1f399-1f39b 1f39e-1f3f0 1f3f3-1f3f5 1f3f7-1f3fa "
    "1f400-1f4fd 1f4ff-1f53d 1f549-1f54e 1f550-1f567 1f56f-1f570 1f573-1f57a 1f587 1f58a-1f58d 1f590 1f595-1f596 1f5a4-1f5a5 "
    "1f5a8 1f5b1-1f5b2 1f5bc 1f5c2-1f5c4 1f5d1-1f5d3 1f5dc-1f5de 1f5e1 1f5e3 1f5e8 1f5ef 1f5f3 1f5fa-1f64f 1f680-1f6c5 "
    "1f6cb-1f6d2 1f6d5-1f6d7 1f6dc-1f6e5 1f6e9 1f6eb-1f6ec 1f6f0 1f6f3-1f6fc 1f7e0-1f7eb 1f7f0 1f90c-1f93a 1f93c-1f945 "
    "1f947-1f9ff 1fa70-1fa7c 1fa80-1fa89 1fa8f-1fac6 1face-1fadc 1fadf-1fae9 1faf0-1faf8"
)


def surface_counts(texts: pa.Array) -> dict[str, FloatArray]:
    """Return counts (D,) of each text by name (`kernels.characters.COLUMNS`), float64 of whole numbers; all are 0 for an empty text.

    - words: runs of letters, marks and numbers, with an apostrophe inside (don't); of scripts without spaces (Han, Kana, Thai)
      each letter is a word, so that a longer Chinese text has more of them.
    - sentences: they end with .!?… before white space, also behind closing quotes and brackets, with 。！？ and the like
      anywhere, with a blank line and with the text, and have a word. Abbreviations (z. B., Mr.) end one too; for sentences in
      the proper sense see `nlpkit.text.sentences`.
    - links, from http://, https://, ftp:// or www. up to white space, count as characters and links only; <br> is a line break.
    - shares of digits and punctuation (Unicode Nd, P) are of the characters that are no white space and in no link; $ + < = >
      are symbols, no punctuation.
    - emoji: families, flags, keycaps and skin tones are one each.

    Args:
        texts: (D,) Arrow string or large_string, null counts as empty.
    """
    data, offsets = string_buffers(texts)
    counts = np.zeros((len(texts), len(kernel.COLUMNS)), np.int64)
    if len(texts):
        classes, lower = _tables()
        # a word has a byte at least, and its hash is written where the words before it in its text end
        words = np.empty(int(np.diff(offsets).max()) + 1, np.uint64)
        with np.errstate(over="ignore"):  # the hash wraps around, which NumPy tells of where kernels are not compiled
            kernel.count_characters(data, offsets, classes, lower, _HEADS, words, counts)
    return dict(zip(kernel.COLUMNS, counts.T.astype(np.float64), strict=True))


def surface_ratio(name: str, counts: dict[str, FloatArray], *, undefined: float) -> FloatArray:
    """Return a ratio (D,) of RATIOS; `undefined` where it is a part of nothing."""
    part, whole = (counts[one] for one in RATIOS[name])
    ratio: FloatArray = np.divide(part, whole, out=np.full(len(part), undefined), where=whole > 0)
    return ratio


@cache
def _tables() -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint32]]:
    """Return the flags (kernels.characters) of the code points of planes 0 and 1, and their lower case."""
    signs = [chr(point) for point in range(_POINTS)]
    categories = np.array([unicodedata.category(sign) for sign in signs])
    kind = np.array([category[0] for category in categories])
    flags = np.zeros(_POINTS, np.uint16)
    flags[kind == "L"] |= kernel.LETTER
    flags[np.isin(categories, ("Lu", "Lt"))] |= kernel.UPPER
    flags[kind == "N"] |= kernel.NUMBER
    flags[categories == "Nd"] |= kernel.DIGIT
    flags[kind == "M"] |= kernel.INSIDE
    flags[[0xAD, 0x200C, 0x200D]] |= kernel.INSIDE
    for first, last in _UNSPACED:
        flags[first : last + 1] |= np.where(flags[first : last + 1] & kernel.BEGINS, kernel.ALONE, 0).astype(np.uint16)
    flags[[sign.isspace() for sign in signs]] |= kernel.SPACE
    flags[kind == "P"] |= kernel.PUNCTUATION
    flags[np.isin(categories, ("Pe", "Pf"))] |= kernel.CLOSER
    flags[(kind == "S") & (np.arange(_POINTS) >= 0x80)] |= kernel.SIGN
    for signs_of, flag in (
        (_QUOTES, kernel.QUOTE | kernel.CLOSER),
        ("'’‘", kernel.CLOSER),
        ("‼⁉", kernel.SIGN),
        (_STOPS, kernel.STOP),
        (_FULL_STOPS, kernel.FULL_STOP),
        ("!！", kernel.EXCLAMATION),
        ("?？؟", kernel.QUESTION),
    ):
        flags[[ord(sign) for sign in signs_of]] |= flag
    for run in _EMOJI.split():
        first_last = [int(end, 16) for end in run.split("-")]
        flags[first_last[0] : first_last[-1] + 1] |= kernel.EMOJI
    return flags, np.array([ord(sign.lower()[0]) for sign in signs], np.uint32)


# ------------------------------------------------------------------------------------------------------------------------
# Readability of texts: formulas over the lengths of sentences and words, for English, German, and any language with spaces.

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
