"""The similarity of words by their spelling: sets of character n-grams, and edit distance.

Parts, in this order:
- Options of word similarity, as plain data.
- Words compared, and the words nearest to one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from nlpkit.errors import UsageError, unknown_value
from nlpkit.platform.options import READ, Param, options
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray
from nlpkit.words.kernels import count_different_grams, count_shared_grams, levenshtein_nearest


@options
class SimilarityOptions:
    """Options of word similarity: the measure, and the words among which the nearest are searched."""

    PANEL: ClassVar[str] = "Comparison"

    within: Annotated[
        str | None,
        Param(
            "Find the most similar words in a corpus, a run directory, a Parquet file with a column 'term', or a "
            ".txt file with one word per line.",
            ("in",),
            metavar="CORPUS|VOCAB",
        ),
        READ,
    ] = None
    measure: Annotated[
        str | None,
        Param(
            "Similarity measure for `within`: jaccard (default), dice, overlap, cosine, levenshtein or "
            "levenshtein-normalized.",
            metavar="NAME",
        ),
    ] = None
    top: Annotated[
        int | None, Param("Number of words to find with `within`. Default: 10.", ("top", "top_n"), metavar="N", min=1)
    ] = None
    n: Annotated[int, Param("Number of characters of an n-gram.", min=1)] = 3
    pad: Annotated[bool, Param("Let n-grams extend over the ends of words.", off="no_pad")] = False
    lower: Annotated[bool, Param("Compare in lower case.")] = True
    min_df: Annotated[str | int, Param("For `within`: minimum number of documents that contain a word.")] = "1"

    def parameters(self) -> dict[str, Any]:
        """Return the options as a footer records them."""
        return {"n": self.n, "padded": self.pad, "lower": self.lower}

    def least_documents(self) -> int:
        """Return the number in min_df. Raises UsageError when it is none."""
        text = str(self.min_df)
        if not text.isdecimal():
            raise UsageError(f"`min_df` takes a number of documents here, got '{text}'", parameter="min_df")
        return int(text)


# ------------------------------------------------------------------------------------------------------------------------
# Similarity of words: measures on their sets of character n-grams, and edit distance (lecture).

GRAM_MEASURES = ("jaccard", "dice", "overlap", "cosine")
MEASURES = (*GRAM_MEASURES, "levenshtein", "levenshtein-normalized")
MAX_LENGTH = 1000  # characters of a word that is searched for or in: what is longer is no word
EDGE = 0x110000  # pads the ends of words: one above the last code point of Unicode

Codes = tuple[IntArray, LongArray]


@dataclass(frozen=True, slots=True)
class WordPair:
    """Two words and every measure of them; None where a word has no n-gram, being shorter than n."""

    first: str
    second: str
    jaccard: float | None
    dice: float | None
    overlap: float | None
    cosine: float | None
    levenshtein: int
    levenshtein_normalized: float


@dataclass(frozen=True, slots=True)
class Nearest:
    """The words of an index nearest to a word, best first.

    ids (M,) int32 into the words of the index, scores (M,) float64; self_ids (P,) int32: where the word itself is.
    """

    ids: IntArray
    scores: FloatArray
    self_ids: IntArray


def comparable(word: str, *, lower: bool = True) -> str:
    """Return the form in which words are compared: Unicode NFC, lower case if asked for."""
    return unicodedata.normalize("NFC", word.lower() if lower else word)


class WordIndex:
    """Words in which the nearest ones to a given word are found, and compared with it by

        Jaccard |a∩b| / |a∪b|,  Dice 2|a∩b| / (|a|+|b|) = 2J/(J+1),  overlap |a∩b| / min{|a|,|b|},
        cosine |a∩b| / sqrt(|a||b|)   of the sets a, b of their character n-grams, or the
        Levenshtein distance, and that divided by the length of the longer word ("levenshtein-normalized").

    Characters are Unicode code points of the form `comparable` gives. A word shorter than n has no n-grams and is found by
    edit distance only; padded, n-1 signs are put before and after each word, so that it has some and its ends count.
    The words are searched one after the other, by kernels over packed code points: no index to build or to keep.

    Args:
        words: (W,); empty ones and those of more than 1,000 characters are passed over (`n_long`).
        n: length of the n-grams, 1 to 1,000.
        frequency: (W,) occurrences, to order words that are equally near; without, they are in alphabetical order.

    Raises:
        UsageError: n is below 1 or above 1,000.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        n: int = 3,
        padded: bool = False,
        lower: bool = True,
        frequency: LongArray | None = None,
    ) -> None:
        if not 1 <= n <= MAX_LENGTH:
            raise UsageError(f"`n={n}`: n-grams have 1 to {MAX_LENGTH:,} characters, as words have")
        self.n, self.padded, self.lower = n, padded, lower
        self.words, self._frequency = words, frequency
        self.forms = [comparable(word, lower=lower) for word in words]
        lengths = np.fromiter(map(len, self.forms), np.int64, len(words))
        self.usable: BoolArray = (lengths > 0) & (lengths <= MAX_LENGTH)
        self.n_long = int((lengths > MAX_LENGTH).sum())
        self.lengths = np.where(self.usable, lengths, 0)
        self._codes = _pack([f if u else "" for f, u in zip(self.forms, self.usable, strict=True)])

    @cached_property
    def _gram_codes(self) -> Codes:
        return _pad(self._codes, self.n - 1) if self.padded else self._codes

    @cached_property
    def sizes(self) -> IntArray:
        """(W,) number of different n-grams of each word."""
        sizes = np.empty(len(self.words), np.int32)
        count_different_grams(*self._gram_codes, self.n, sizes)
        return np.where(self.usable, sizes, 0).astype(np.int32)

    @property
    def n_short(self) -> int:
        """The number of words without an n-gram: those shorter than n, unless padded."""
        return int((self.usable & (self.sizes == 0)).sum())

    def similarity(self, word: str, measure: str) -> FloatArray:
        """Return the similarity (W,) of each word to `word` by a measure of n-grams, NaN where one of both has none."""
        grams = self._grams(word)
        shared = np.zeros(len(self.words), np.int32)
        if len(grams):
            count_shared_grams(*self._gram_codes, grams, shared)
        both = shared.astype(np.float64)
        a, b = float(len(grams)), self.sizes.astype(np.float64)
        if measure == "jaccard":
            bottom = a + b - both
        elif measure == "dice":
            bottom = (a + b) / 2
        elif measure == "overlap":
            bottom = np.minimum(a, b)
        elif measure == "cosine":
            bottom = np.sqrt(a * b)
        else:
            raise _unknown(measure)
        return np.divide(both, bottom, out=np.full_like(both, np.nan), where=(b > 0) & (a > 0))

    def distance(self, word: str, *, top: int = 0, normalized: bool = False) -> FloatArray:
        """Return the Levenshtein distance (W,) of each word to `word`, if normalized divided by the length of the longer one.

        With `top`, NaN for words that are farther away than that many others; NaN for words that are passed over.
        """
        form = self._form(word)
        # no more nearest words than words
        nearest, best = np.empty(len(self.words), np.int32), np.full(min(top, len(self.words)), np.inf)
        levenshtein_nearest(*self._codes, _pack([form])[0], self.usable, normalized, best, nearest)
        distances = np.where(nearest < 0, np.nan, nearest.astype(np.float64))
        return distances / np.maximum(np.maximum(self.lengths, len(form)), 1) if normalized else distances

    def nearest(self, word: str, *, measure: str = "jaccard", top: int = 10) -> Nearest:
        """Return the `top` words nearest to a word that need not be one of them; the word itself is left out.

        Words of equal score come in descending frequency, then in alphabetical order. By n-grams, words that share none
        are not found.

        Raises:
            UsageError: an unknown measure, or a word that is empty, too long, or by n-grams too short.
        """
        form = self._form(word)
        _check_length(word, len(form))
        if measure in GRAM_MEASURES:
            if not len(self._grams(word)):
                raise UsageError(
                    f"'{word}' is shorter than the n-grams of {self.n} characters; "
                    f"give `n={len(form)}`, `pad`, or `measure=levenshtein`",
                    parameter="n",
                )
            scores = self.similarity(word, measure)
            ids, descending, of_itself = np.flatnonzero(scores > 0), True, 1.0
        elif measure in MEASURES:
            scores = self.distance(word, top=top, normalized=measure == "levenshtein-normalized")
            ids, descending, of_itself = np.flatnonzero(scores >= 0), False, 0.0
        else:
            raise _unknown(measure)
        self_ids = [i for i in ids[scores[ids] == of_itself].tolist() if self.forms[i] == form]
        ids = np.setdiff1d(ids, self_ids)
        keys = -scores[ids] if descending else scores[ids]
        if len(ids) > top:  # only the best and their ties are sorted
            near = keys <= np.partition(keys, top - 1)[top - 1]
            ids, keys = ids[near], keys[near]
        often = np.zeros(len(self.words), np.int64) if self._frequency is None else self._frequency
        best = sorted(zip(keys.tolist(), (-often[ids]).tolist(), ids.tolist(), strict=True), key=self._by_rank)[:top]
        order = np.array([i for _, _, i in best], np.int32)
        return Nearest(order, scores[order], np.array(self_ids, np.int32))

    def _by_rank(self, entry: tuple[float, int, int]) -> tuple[float, int, str, int]:
        key, often, i = entry
        return key, often, self.words[i], i

    def _form(self, word: str) -> str:
        return comparable(word, lower=self.lower)

    def _grams(self, word: str) -> IntArray:
        """Return the different n-grams (G, n) of a word."""
        codes = _pack([self._form(word)])
        codes = _pad(codes, self.n - 1) if self.padded and len(codes[0]) else codes
        if len(codes[0]) < self.n:
            return np.zeros((0, self.n), np.int32)
        return np.unique(np.lib.stride_tricks.sliding_window_view(codes[0], self.n), axis=0)


def compare_words(words: Sequence[str], *, n: int = 3, padded: bool = False, lower: bool = True) -> list[WordPair]:
    """Return every pair of words, in the order given, with all measures; see `WordIndex`.

    Raises:
        UsageError: n is below 1 or above 1,000, or a word is empty or longer than 1,000 characters.
    """
    index = WordIndex(words, n=n, padded=padded, lower=lower)
    for word, form in zip(words, index.forms, strict=True):
        _check_length(word, len(form))
    pairs = []
    for i, first in enumerate(words):
        scores = {measure: index.similarity(first, measure) for measure in GRAM_MEASURES}
        distances = index.distance(first)
        for j in range(i + 1, len(words)):
            similarities = {m: None if np.isnan(s[j]) else float(s[j]) for m, s in scores.items()}
            distance = int(distances[j])
            longest = max(int(index.lengths[i]), int(index.lengths[j]))
            pairs.append(
                WordPair(
                    first, words[j], **similarities, levenshtein=distance, levenshtein_normalized=distance / longest
                )
            )
    return pairs


def _check_length(word: str, length: int) -> None:
    if not 0 < length <= MAX_LENGTH:
        raise UsageError(f"a word has 1 to {MAX_LENGTH:,} characters, '{word[:20]}' has {length:,}")


def _unknown(measure: str) -> UsageError:
    return unknown_value("measure", measure, MEASURES)


def _pack(words: Sequence[str]) -> Codes:
    """Return the code points of all words (N,) int32 and where each begins (W + 1,)."""
    text = "".join(words).encode("utf-32-le", errors="surrogatepass")
    codes: npt.NDArray[np.int32] = np.frombuffer(text, "<u4").astype(np.int32)
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=offsets[1:])
    return codes, offsets


def _pad(words: Codes, width: int) -> Codes:
    """Return the words with `width` signs EDGE before and after each."""
    codes, offsets = words
    W = len(offsets) - 1
    wider = offsets + 2 * width * np.arange(W + 1)
    padded = np.full(int(wider[-1]), EDGE, np.int32)
    word_of = np.repeat(np.arange(W), np.diff(offsets))
    padded[np.arange(len(codes)) + width * (2 * word_of + 1)] = codes
    return padded, wider
