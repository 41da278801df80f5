"""The fitted vocabulary of a corpus: which terms and n-grams stay, and which ids they get.

Parts, in this order:
- Vocabulary pruning: bounds on documents and occurrences, a largest size, a given vocabulary.
- Sequences of neighbouring terms (n-grams) as terms of their own, batch by batch.
- The terms that stay of a corpus, and the way to their ids from those of the first pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.kernels.idtable import IdTable, new_table
from nlpkit.platform.types import BoolArray, ByteArray, IntArray, LongArray
from nlpkit.text.kernels.ngrams import number_ngrams, spell_ngrams
from nlpkit.text.options import PreprocessOptions, PreprocessReport
from nlpkit.text.vocab import EncodedBatch, Frequencies, Stage, prune_batch

if TYPE_CHECKING:
    from nlpkit.text.phrases import PhraseTable

MIN_DF_AUTO_FROM = 100
KEPT, STOP, RARE, FREQUENT, CAPPED, FOREIGN, NO_CATEGORY = range(7)
REASONS = (
    "kept",
    "stop word",
    "too rare",
    "too frequent",
    "beyond the most frequent",
    "not in the vocabulary",
    "in no category",
)


@dataclass(frozen=True, slots=True)
class Pruned:
    """The outcome of pruning V terms. reasons (V,) uint8 of `REASONS`; kept (V',) int32 ids in their new order, -1 for one never seen."""

    reasons: ByteArray
    kept: IntArray
    min_df: float

    def new_ids(self) -> IntArray:
        """Return the place of each old id in the pruned vocabulary (V,) int32, -1 for none."""
        ids = np.full(len(self.reasons), -1, np.int32)
        seen = self.kept >= 0
        ids[self.kept[seen]] = np.flatnonzero(seen)
        return ids

    def count(self, reason: int) -> int:
        """Return the number of terms removed for a reason."""
        return int((self.reasons == reason).sum())


def prune(
    cf: LongArray,
    df: LongArray,
    stopped: BoolArray,
    options: PreprocessOptions,
    *,
    n_docs: int,
    strings: Callable[[LongArray], Sequence[str]],
) -> Pruned:
    """Decide on each of V terms; those never seen (cf 0) go without a reason.

    Args:
        cf, df: (V,) occurrences and documents; stopped: (V,) stop words.
        strings: the strings of some ids, asked for only where they are needed.

    Raises:
        UsageError: a bound is out of range, or no term can satisfy both.
        InputError: no term is left although there were some that are no stop words.
    """
    reasons = np.where(stopped, STOP, KEPT).astype(np.uint8)
    if options.vocab is not None:
        return _given(reasons, cf, options.vocab, strings, must_match=options.lists_must_match)
    min_df = options.min_df
    if min_df is None:
        min_df = 2 if n_docs >= MIN_DF_AUTO_FROM else 1
    low, high = df_bounds(n_docs, min_df=min_df, max_df=options.max_df)
    n_tokens = int(cf[~stopped].sum())
    least = bound(options.min_cf, n_tokens, name="min_cf", what="occurrences")
    most = bound(options.max_cf, n_tokens, name="max_cf", what="occurrences")
    seen = ~stopped & (cf > 0)
    if least > most and seen.any():
        raise UsageError(f"`min_cf` is {least:g} and `max_cf={most:g}` occurrences, so no term can satisfy both")
    reasons[seen & ((df < low) | (cf < least))] = RARE
    reasons[seen & ((df > high) | (cf > most))] = FREQUENT
    kept = np.flatnonzero(seen & (reasons == KEPT))
    if not len(kept) and seen.any():
        raise _nothing_left(int(seen.sum()), n_docs, min_df, options)
    if options.max_vocab is not None and len(kept) > options.max_vocab:
        best = _most_frequent(kept, cf, df, options.max_vocab, strings)
        reasons[np.setdiff1d(kept, best)] = CAPPED
        kept = best
    return Pruned(reasons, kept.astype(np.int32), min_df)


def _nothing_left(n_terms: int, n_docs: int, min_df: float, options: PreprocessOptions) -> InputError:
    bounds, lower, higher = f"`min_df={min_df}` and `max_df={options.max_df}`", "`min_df`", "`max_df`"
    if options.min_cf != 1 or options.max_cf != 1.0:
        bounds = (
            f"`min_df={min_df}`, `max_df={options.max_df}`, `min_cf={options.min_cf}` and `max_cf={options.max_cf}`"
        )
        lower, higher = "`min_df` or `min_cf`", "`max_df` or `max_cf`"
    return InputError(
        f"no term is left of {n_terms}: {bounds} remove all terms in {n_docs} documents; lower {lower} or "
        f"raise {higher}"
    )


def _most_frequent(
    kept: LongArray, cf: LongArray, df: LongArray, n: int, strings: Callable[[LongArray], Sequence[str]]
) -> LongArray:
    """Return the n terms of most occurrences, then most documents, then first in the alphabet, by id.

    scikit-learn's max_features leaves the order of equals to a sort that is not stable, and so to the machine.
    """
    if n < 1:
        raise UsageError(f"`max_vocab={n}`: a vocabulary has at least one term")
    worst = np.sort(cf[kept])[-n]
    surely, perhaps = kept[cf[kept] > worst], kept[cf[kept] == worst]
    order = sorted(zip((-df[perhaps]).tolist(), strings(perhaps), perhaps.tolist(), strict=True))
    return np.sort(np.concatenate([surely, [i for _, _, i in order[: n - len(surely)]]])).astype(np.int64)


def _given(
    reasons: ByteArray,
    cf: LongArray,
    vocab: tuple[str, ...],
    strings: Callable[[LongArray], Sequence[str]],
    *,
    must_match: bool,
) -> Pruned:
    """Keep the terms of a vocabulary, in its order, whether they occur or not; it wins over stop words."""
    place = {term: i for i, term in enumerate(vocab)}
    if len(place) < len(vocab):
        raise InputError(f"`vocab` has {len(vocab) - len(place)} terms twice")
    kept = np.full(len(vocab), -1, np.int32)
    for start in range(0, len(cf), 1 << 16):
        ids = np.arange(start, min(start + (1 << 16), len(cf)))
        for i, term in zip(ids.tolist(), strings(ids), strict=True):
            at = place.get(term)
            if at is not None:
                kept[at] = i
    if must_match and (cf > 0).any() and not (kept >= 0).any():
        raise no_vocabulary_match(vocab, strings(np.flatnonzero(cf > 0)[:EXAMPLES]))
    seen = np.zeros(len(cf), bool)
    seen[kept[kept >= 0]] = True
    reasons[seen] = KEPT
    reasons[~seen & (reasons != STOP) & (cf > 0)] = FOREIGN
    return Pruned(reasons, kept, 1)


EXAMPLES = 5


def no_vocabulary_match(vocab: Sequence[str], terms: Sequence[str]) -> InputError:
    """Return the error for a vocabulary of which no term is in the documents."""
    return no_match("`vocab`", "its terms are such as", vocab, terms)


def no_match(what: str, say: str, listed: Sequence[str], terms: Sequence[str]) -> InputError:
    """Return the error for a list of which nothing is in the documents, with examples of both."""
    return InputError(
        f"{what} matches nothing in the documents: {say} {_examples(listed)}, but the documents have terms such as "
        f"{_examples(terms)}; check the file, its language and its case"
    )


def _examples(terms: Sequence[str]) -> str:
    return ", ".join(f"'{term}'" for term in terms[:EXAMPLES])


def bound(value: int | float, total: int, *, name: str, what: str = "documents") -> float:
    """Return a bound as a number: of `total`, a share in (0, 1] if it is a float with a fraction or 1.0.

    As in scikit-learn, an integer counts and a float is a share.

    Raises:
        UsageError: the value is negative, or a share above 1.
    """
    if isinstance(value, float):
        if not 0.0 <= value <= 1.0:
            raise UsageError(f"`{name}={value}`: a share is at most 1, and a number of {what} has no decimal point")
        return round(value * total, 6)  # 0.07 of 100 is 7, not 7.000000000000001
    if value < 0:
        raise UsageError(f"`{name}={value}`: a number of {what} cannot be negative")
    return float(value)


def df_bounds(n_docs: int, *, min_df: float, max_df: float) -> tuple[float, float]:
    """Return min_df and max_df as numbers of documents.

    Raises:
        UsageError: a bound is out of range, or no term can satisfy both.
    """
    low = bound(min_df, n_docs, name="min_df")
    high = bound(max_df, n_docs, name="max_df")
    if low > high:
        raise UsageError(
            f"documents: {n_docs:,}; `min_df` asks for {low:g} of them at least, `max_df` for {high:g} at most, so "
            "no term can satisfy both",
            parameter="min_df",
        )
    return low, high


# ------------------------------------------------------------------------------------------------------------------------
# Sequences of neighbouring terms (n-grams) as terms of their own, batch by batch.


class NgramVocabulary:
    """N-grams of n_min to n_max neighbouring terms in order of first appearance, with collection and document frequency.

    Of a document w_1 … w_L come first all (w_i, …, w_i+n-1) of n = n_min, then those of n_min + 1 …; none crosses the end of
    a document, none holds a term id below 0 (a gap). Same counts as scikit-learn's CountVectorizer(ngram_range=(n_min, n_max)).

    Raises:
        UsageError: not 1 ≤ n_min ≤ n_max.
    """

    def __init__(self, n_min: int, n_max: int) -> None:
        if not 1 <= n_min <= n_max:
            raise UsageError(
                f"n-grams of {n_min} to {n_max} terms: give two numbers from 1 on, the smaller one first",
                parameter="ngrams",
            )
        self.n_min, self.n_max = n_min, n_max
        self._stems: IdTable = new_table(1024)
        self._grams: IdTable = new_table(1024)
        self._unigrams: IntArray = np.zeros(0, np.int32)
        self._counts = Frequencies()
        self._counting = True
        self._longest = 0  # n-gram so far

    def __len__(self) -> int:
        """V, the number of different n-grams so far."""
        return int(self._grams.size[0])

    @property
    def n_docs(self) -> int:
        """D, the documents so far."""
        return self._counts.n_docs

    @property
    def cf(self) -> LongArray:
        """(V,) occurrences of each n-gram."""
        return self._counts.cf(len(self))

    @property
    def df(self) -> LongArray:
        """(V,) documents that hold each n-gram."""
        return self._counts.df(len(self))

    def freeze(self) -> tuple[LongArray, LongArray]:
        """Return cf and df (V,); `encode` counts no more, so that a corpus can be encoded again."""
        cf, df = self.cf.copy(), self.df.copy()
        self._counts, self._counting = Frequencies(), False
        return cf, df

    def encode(self, batch: EncodedBatch) -> EncodedBatch:
        """Return the n-grams of a batch of unigrams as ids, adding new ones and counting cf and df."""
        lengths = np.diff(batch.offsets)
        n_max = min(self.n_max, int(lengths.max(initial=0)))  # no document has longer ones, whatever was asked for
        self._longest = max(self._longest, n_max)
        if n_max < self.n_min:
            empty = EncodedBatch(np.zeros(len(batch.offsets), np.int64), np.zeros(0, np.int32))
            self._count(empty)
            return empty
        # a document of L terms has L - n + 1 n-grams, gaps among them or not
        room = sum(int(np.maximum(lengths - (n - 1), 0).sum()) for n in range(self.n_min, n_max + 1))
        offsets, ids = np.empty(len(batch.offsets), np.int64), np.empty(room, np.int32)
        if self.n_min == 1:
            n_new = int(batch.term_ids.max(initial=-1)) + 1 - len(self._unigrams)
            self._unigrams = np.concatenate([self._unigrams, np.full(max(n_new, 0), -1, np.int32)])
        self._stems, self._grams = number_ngrams(
            self._stems,
            self._grams,
            self._unigrams,
            batch.offsets,
            batch.term_ids,
            self.n_min,
            n_max,
            offsets,
            ids,
        )
        ngrams = EncodedBatch(offsets, ids[: offsets[-1]])
        self._count(ngrams)
        return ngrams

    def _count(self, ngrams: EncodedBatch) -> None:
        if self._counting:
            self._counts.count(ngrams, len(self))

    def words(self, ids: IntArray | LongArray) -> list[tuple[int, ...]]:
        """Return the unigram ids of some n-grams."""
        # no n-gram was numbered that is longer than the longest that a batch could have
        words, lengths = np.empty((len(ids), self._longest), np.int32), np.empty(len(ids), np.int64)
        spell_ngrams(self._stems.keys, self._grams.keys, np.asarray(ids, np.int64), self.n_min, words, lengths)
        return [tuple(row[:n]) for row, n in zip(words.tolist(), lengths.tolist(), strict=True)]

    def terms(self, unigram_terms: Sequence[str], ids: IntArray | LongArray, sep: str = " ") -> list[str]:
        """Return the strings of some n-grams: their unigrams with `sep` between them."""
        return [sep.join([unigram_terms[w] for w in words]) for words in self.words(ids)]


# ------------------------------------------------------------------------------------------------------------------------
# The terms that stay of a corpus, and the way to their ids from those of the first pass.


@dataclass(frozen=True, slots=True)
class Removed:
    """Removed terms: term, occurrences, documents, and the reason (pruning.REASONS)."""

    terms: list[str]
    cf: LongArray
    df: LongArray
    reasons: list[str]


class FittedVocabulary:
    """The final vocabulary, and the mapping from ids of the first pass to its ids.

    terms (V,): in order of first appearance, or those of options.vocab in their order; cf, df (V,) int64.
    """

    def __init__(
        self,
        stages: list[Stage],
        strings: Callable[[LongArray], list[str]],
        cf: LongArray,
        df: LongArray,
        pruned: Pruned,
        report: PreprocessReport,
        options: PreprocessOptions,
        phrases: PhraseTable | None,
        stop_terms: Removed,
    ) -> None:
        kept = pruned.kept
        seen = np.flatnonzero(kept >= 0)
        self.terms: tuple[str, ...] = options.vocab or tuple(strings(kept.astype(np.int64)))
        self.cf, self.df = np.zeros(len(kept), np.int64), np.zeros(len(kept), np.int64)
        self.cf[seen], self.df[seen] = cf[kept[seen]], df[kept[seen]]
        self.report = report
        self.phrases = phrases
        self._all = (strings, cf, df, pruned.reasons)
        self._stop_terms = stop_terms
        self._stages = stages
        self.new_ids = pruned.new_ids()

    def apply(self, batch: EncodedBatch) -> EncodedBatch:
        """Return a batch of the first pass in ids of `terms`; documents keep their places."""
        for stage in self._stages:
            batch = stage(batch)
        return prune_batch(batch, self.new_ids)

    def stays(self, batch: EncodedBatch) -> BoolArray:
        """Return which tokens of a batch of the first pass (N,) stay, where terms are neither joined nor replaced."""
        assert not self._stages
        return np.asarray(self.new_ids[batch.term_ids] >= 0)

    def removed(self) -> Removed:
        """Return the terms that did not stay, most frequent first."""
        strings, cf, df, reasons = self._all
        gone = np.flatnonzero((reasons > STOP) & (cf > 0))
        stop = self._stop_terms
        terms = [*stop.terms, *strings(gone)]
        all_cf, all_df = np.concatenate([stop.cf, cf[gone]]), np.concatenate([stop.df, df[gone]])
        why = [*stop.reasons, *(REASONS[r] for r in reasons[gone])]
        order = np.argsort(-all_cf, kind="stable")
        return Removed([terms[i] for i in order], all_cf[order], all_df[order], [why[i] for i in order])
