"""Spelling by a noisy channel: which word was meant, from how it is written and from the words around it.

Kernighan, Church & Gale (1990); Jurafsky & Martin, Speech and Language Processing, appendix "Spelling correction and the noisy channel".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.lm.counting import NgramCounter
from nlpkit.lm.kernels import words_within
from nlpkit.lm.model import NgramModel, fit
from nlpkit.lm.options import NgramModelOptions
from nlpkit.lm.trie import SPECIAL, UNKNOWN_ID
from nlpkit.platform.options import Param, options
from nlpkit.platform.types import FloatArray, IntArray, LongArray

LETTERS = 26  # that an edit chooses among
MOST_VARIANTS = 100_000  # that are scored at once
LETTER_ORDER = 5
LN10 = float(np.log(10))


@options
class SpellOptions:
    """What is taken for an error, and for what it may stand.

    Raises:
        UsageError: an error rate that is not a probability below 1.
    """

    PANEL: ClassVar[str] = "Spelling"

    error: Annotated[
        float,
        Param("Probability that a word is mistyped. A second edit multiplies it again.", metavar="P", above=0, below=1),
    ] = 0.05
    max_distance: Annotated[
        int, Param("Maximum number of edits between a word and its correction: 1 or 2.", metavar="N", min=1, max=2)
    ] = 2
    real_words: Annotated[
        bool, Param("Also check words that the model knows (form instead of from). This is slow; one edit only.")
    ] = False
    min_length: Annotated[int, Param("Minimum number of letters of a word to correct.", metavar="N", min=1)] = 4
    min_gain: Annotated[
        float,
        Param("Minimum log10 ratio between the probabilities of the correction and of the word as written.", min=0),
    ] = 4.0
    apply: Annotated[bool, Param("Write the documents with a column 'corrected' instead of a table of errors.")] = False


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Corrections (E,), ascending. place: of the word among all words of the sentences; word: id of the correction; gain: log10."""

    place: LongArray
    word: IntArray
    gain: FloatArray


class Speller:
    """Corrections by a language model.

        ŵ = argmax_w P(x | w) P(w | the words before) P(the words behind | w),   x: as it is written
        P(x | w) = 1 - ε for x = w, else (ε / E(w))^d at d edits,   E(w) = 54 n + 25: strings one edit from a word of n letters (Norvig)

    Every edit is equally likely, where Kernighan et al. count which letters people confuse. A word that the model does not have may be
    right: then it is <unk>, spelled so by chance, P(w) = P(<unk> | …) P(letters of w), letters by a model of them (Kneser-Ney, order
    LETTER_ORDER) fitted to the different words. The words around are taken as they are written, whatever becomes of them.

    Raises:
        UsageError: a model in which unknown words are impossible.
    """

    def __init__(self, model: NgramModel, options: SpellOptions) -> None:
        if model.options.closed or model.options.smoothing == "mle":
            raise UsageError(
                "a model with a closed vocabulary or without smoothing gives unknown words no probability, so "
                "nothing can be compared; fit another one: `fit_language_model(smoothing=kneser-ney)`"
            )
        self.model, self.options = model, options
        words = model.words[len(SPECIAL) :]
        self._codes, self._offsets = _code_points(words)
        self._signatures = _signatures(self._codes, self._offsets)
        # each word of the vocabulary once at most
        self._ids, self._distances = np.empty(len(words), np.int32), np.empty(len(words), np.int32)
        self._known: dict[str, tuple[IntArray, FloatArray]] = {}
        self._letters = _letter_model(words)

    def candidates(self, word: str, most: int) -> tuple[IntArray, FloatArray]:
        """Return the words (ids) at most so many edits away but the word itself, and ln P(word | each)."""
        if word not in self._known:
            codes, offsets = _code_points([word])
            signature = _signatures(codes, offsets)[0]
            n = words_within(
                self._codes, self._offsets, self._signatures, codes, signature, most, self._ids, self._distances
            )
            other = np.flatnonzero(self._distances[:n] > 0)
            ids, distances = self._ids[other], self._distances[other]
            edits = (2 * LETTERS + 2) * np.diff(self._offsets)[ids] + LETTERS - 1
            channel = (distances * np.log(self.options.error / edits)).astype(np.float64)
            self._known[word] = (ids + len(SPECIAL)).astype(np.int32), channel
        return self._known[word]

    def suggest(self, offsets: LongArray, words: Sequence[str]) -> Suggestions:
        """Return the corrections of sentences (S + 1,) offsets into words (N,) as they are written."""
        model, options = self.model, self.options
        ids = np.array([max(model.ids.get(w, 0), UNKNOWN_ID) for w in words], np.int32)
        ids[ids < len(SPECIAL)] = UNKNOWN_ID
        long_enough = np.array([len(w) >= options.min_length and w.isalpha() for w in words], bool)
        places = np.flatnonzero(long_enough & ((ids == UNKNOWN_ID) | options.real_words))
        as_written = np.full(len(ids), np.log1p(-options.error))
        unknown = places[ids[places] == UNKNOWN_ID]
        as_written[unknown] += _spelled(self._letters, [words[place] for place in unknown])
        rows: list[tuple[int, IntArray, FloatArray]] = []
        size = 0
        parts: list[Suggestions] = []
        for place in places.tolist():
            most = options.max_distance if ids[place] == UNKNOWN_ID else 1
            candidates, channel = self.candidates(words[place], most)
            if len(candidates):
                rows.append((place, candidates, channel))
                size += len(candidates) + 1
            if size >= MOST_VARIANTS:
                parts.append(self._best(offsets, ids, as_written, rows))
                rows, size = [], 0
        parts.append(self._best(offsets, ids, as_written, rows))
        return Suggestions(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("place", "word", "gain"))
        )

    def _best(
        self,
        offsets: LongArray,
        ids: IntArray,
        as_written: FloatArray,
        rows: Sequence[tuple[int, IntArray, FloatArray]],
    ) -> Suggestions:
        """Return the best candidate of each place that is likelier than what is written; the first variant of a place is that."""
        if not rows:
            return Suggestions(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0))
        place = np.array([at for at, _, _ in rows])
        n = np.array([1 + len(candidates) for _, candidates, _ in rows])
        first = np.cumsum(n) - n
        word = np.concatenate([part for at, candidates, _ in rows for part in (ids[at : at + 1], candidates)])
        channel = np.concatenate([part for at, _, ln in rows for part in (as_written[at : at + 1], ln)])
        score = channel + self._in_context(offsets, ids, np.repeat(place, n), word)
        gain = (score - np.repeat(score[first], n)) / LN10
        gain[first] = -np.inf
        best = np.array([at + int(np.argmax(gain[at : at + size])) for at, size in zip(first, n, strict=True)])
        kept = gain[best] > self.options.min_gain
        return Suggestions(place[kept], word[best][kept].astype(np.int32), gain[best][kept])

    def _in_context(self, offsets: LongArray, ids: IntArray, place: LongArray, word: IntArray) -> FloatArray:
        """Return ln P of a word (M,) at a place (M,) and of the words behind it that look at it."""
        reach = self.model.trie.order - 1
        sentence = np.searchsorted(offsets, place, side="right") - 1
        low = np.maximum(offsets[sentence], place - reach)
        high = np.minimum(offsets[sentence + 1], place + reach + 1)
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(high - low)])
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], high - low)
        window = ids[np.repeat(low, high - low) + within]
        window[ends[:-1] + place - low] = word
        # before the place a window may begin too late, but no n-gram from the place on reaches back that far
        scored = self.model.score(ends, window)
        n_rows = np.diff(scored.offsets)
        row = np.arange(scored.offsets[-1]) - np.repeat(scored.offsets[:-1], n_rows)
        counts = row >= np.repeat(place - low, n_rows)
        counts &= (row < np.repeat(n_rows - 1, n_rows)) | np.repeat(
            high == offsets[sentence + 1], n_rows
        )  # the end of the sentence
        variant = np.repeat(np.arange(len(place)), n_rows)
        return np.bincount(variant[counts], weights=scored.log_prob[counts], minlength=len(place)).astype(np.float64)


def _letter_model(words: Sequence[str]) -> NgramModel:
    """Return a model of the letters of words, each of which counts once."""
    letters = (*SPECIAL, *sorted(set("".join(words))))
    codes, offsets = _code_points(words)
    of_code = np.zeros(0x110000, np.int32)
    of_code[[ord(letter) for letter in letters[len(SPECIAL) :]]] = np.arange(len(SPECIAL), len(letters))
    options = NgramModelOptions(order=LETTER_ORDER)
    counter = NgramCounter(options.order, len(letters))
    counter.add(offsets, of_code[codes])
    return fit(options, letters, *counter.finish())


def _spelled(letters: NgramModel, words: Sequence[str]) -> FloatArray:
    """Return ln P of the letters of words (W,)."""
    scored = letters.score(*letters.encode(words))
    word = np.repeat(np.arange(len(words)), np.diff(scored.offsets))
    return np.bincount(word, weights=scored.log_prob, minlength=len(words)).astype(np.float64)


def _code_points(words: Sequence[str]) -> tuple[IntArray, LongArray]:
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.int32)
    return codes, np.cumsum([0, *map(len, words)]).astype(np.int64)


def _signatures(codes: IntArray, offsets: LongArray) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return a bit for each code point of each word, modulo 64 (W,) uint64."""
    bits = np.left_shift(np.uint64(1), (codes % 64).astype(np.uint64))
    signatures = np.zeros(len(offsets) - 1, np.uint64)
    np.bitwise_or.at(signatures, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), bits)
    return signatures
