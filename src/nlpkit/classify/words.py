"""The words of labelled documents, cut once; which of them count is learned from training documents alone.

What a fold may not see is counted out of its sight: phrases, bounds on frequencies, inverse document frequencies and selected
features come from the rows that are named as training. Cutting a text into words looks at that text only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.parallel import map_ahead
from nlpkit.text.options import PreprocessOptions, PreprocessReport
from nlpkit.text.phrases import PhraseTable
from nlpkit.text.preprocess import Finished, Preprocessor
from nlpkit.text.pruning import MIN_DF_AUTO_FROM
from nlpkit.text.vocab import EncodedBatch
from nlpkit.types import CsrMatrix, IntArray, LongArray, TokenTable
from nlpkit.weighting.dtm import count_terms


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts (D, V) int32 CSR of all documents; terms (V,) in alphabetical order; phrases: those that were joined."""

    counts: CsrMatrix
    terms: tuple[str, ...]
    phrases: PhraseTable | None = None


class GivenWords:
    """Documents whose tokens were made before, as ids into `terms`."""

    phrases = False

    def __init__(self, tokens: TokenTable, *, threads: int = 1) -> None:
        order = np.array(sorted(range(tokens.n_terms), key=tokens.terms.__getitem__), np.int64)
        batch = EncodedBatch(tokens.offsets, tokens.term_ids)
        self._counted = _counted([batch], [tokens.terms[i] for i in order], _places(order), threads)

    def counted(self, train: LongArray, ngrams: tuple[int, int] | None = None) -> Counted:
        """Return the counts; see `CutWords.counted`."""
        if ngrams not in (None, (1, 1)):
            raise InputError("n-grams of tokens that were made before are not to be had; give the texts")
        return self._counted


class CutWords:
    """Documents cut by a `Preprocessor`.

    least_train: documents of the smallest training set, once it is known; terms that none can keep are then not counted at all.
    """

    def __init__(self, options: PreprocessOptions, *, threads: int = 1) -> None:
        self.options, self.least_train = options, 0
        self._work = Preprocessor(options)
        self._batches: list[EncodedBatch] = []
        self._threads = threads
        self._found: dict[tuple[int, int], Counted] = {}
        self.report: PreprocessReport | None = None

    @property
    def phrases(self) -> bool:
        """Whether phrases are looked for, so that counts differ from one training set to the next."""
        return self.options.phrases is not None

    def cut(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of documents, whose column 'text' is cut on the way."""
        for batch, encoded in self._work.encode_all(batches, threads=self._threads):
            self._batches.append(encoded)
            yield batch

    def counted(self, train: LongArray, ngrams: tuple[int, int] | None = None) -> Counted:
        """Return the counts of all documents over terms that do not depend on documents outside `train`.

        Terms are counted that have at least the least number of documents in the whole corpus: they have no more among those
        of any training set. The other bounds are for `features.fit_space`, which counts in the training documents.

        Args:
            train: (n,) rows that may be learned from.
            ngrams: lengths of n-grams; None for those of the options.
        """
        sizes = ngrams or self.options.ngrams
        if not self.phrases:
            if sizes not in self._found:
                self._found[sizes] = self._count(sizes, None)
            return self._found[sizes]
        rows = np.zeros(sum(len(b.offsets) - 1 for b in self._batches), bool)
        rows[train] = True
        table = self._work.phrases_in(lambda: _some(self._batches, rows))
        return self._count(sizes, table)

    def _count(self, sizes: tuple[int, int], phrases: PhraseTable | None) -> Counted:
        wide = replace(
            self.options, ngrams=sizes, phrases=None, phrase_table=phrases or self.options.phrase_table,
            min_df=self._bound(), max_df=1.0, min_cf=1, max_cf=1.0, max_vocab=None,
        )  # fmt: skip
        found = self._work.finish(lambda: self._batches, options=wide)
        self.report = found.report
        order = np.array(sorted(range(len(found.terms)), key=found.terms.__getitem__), np.int64)
        terms = [found.terms[i] for i in order]
        done = _counted(_applied(found, self._batches), terms, _places(order), self._threads)
        return replace(done, phrases=wide.phrase_table)

    def _bound(self) -> int:
        given = least_documents(self.options.min_df, self.least_train)
        return given if isinstance(given, int) else 1


def least_documents(min_df: float | None, least_train: int) -> float:
    """Return the bound on documents of a term that holds for all training sets alike, also for parts of them.

    Where it is to be found (None), it is 2 from 100 documents of the smallest training set on, else 1.
    """
    if min_df is None:
        return 2 if least_train >= MIN_DF_AUTO_FROM else 1
    return min_df


def _applied(found: Finished, batches: Sequence[EncodedBatch]) -> Iterator[EncodedBatch]:
    return (found.apply(batch) for batch in batches)


def _places(order: LongArray) -> IntArray:
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return places


def _counted(batches: Iterable[EncodedBatch], terms: Sequence[str], places: IntArray, threads: int) -> Counted:
    names = tuple(terms)

    def count(batch: EncodedBatch) -> CsrMatrix:
        return count_terms(TokenTable(batch.offsets, places[batch.term_ids], names))

    parts = [counts for _, counts in map_ahead(count, batches, threads=threads)]
    whole = sparse.vstack(parts, format="csr") if len(parts) > 1 else parts[0]
    return Counted(whole, names)


def _some(batches: Sequence[EncodedBatch], rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[EncodedBatch]:
    """Yield the batches with the documents of some rows only."""
    start = 0
    for batch in batches:
        lengths = np.diff(batch.offsets)
        kept = rows[start : start + len(lengths)]
        start += len(lengths)
        inside = np.repeat(kept, lengths)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths[kept])))
        yield EncodedBatch(offsets, batch.term_ids[inside])
