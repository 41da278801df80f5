"""The words of labelled documents, cut once; which of them count is learned from training documents alone.

Statistics of the training documents do not see the rest: phrases, bounds on frequencies, inverse document frequencies and selected
features come from the rows that are named as training. Cutting a text into words looks at that text only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.platform.documents.regex import UNSPACED
from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.types import BoolArray, CsrMatrix, IntArray, LongArray, TokenTable
from nlpkit.text.fitted import FittedVocabulary
from nlpkit.text.language import SAMPLE_DOCS
from nlpkit.text.options import PreprocessOptions, PreprocessReport
from nlpkit.text.phrases import PhraseTable
from nlpkit.text.preprocess import Preprocessor, first_texts
from nlpkit.text.vocab import EncodedBatch
from nlpkit.weights.dtm import count_terms


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Counts (D, V) int32 CSR of all documents; terms (V,) in alphabetical order; phrases: those that were joined; report: of the
    preprocessing, None for tokens that were there; tokens: as ids in terms, in the order of the texts, where they were asked for."""

    counts: CsrMatrix
    terms: tuple[str, ...]
    phrases: PhraseTable | None = None
    report: PreprocessReport | None = None
    tokens: EncodedBatch | None = None


class TokenizedWords:
    """Documents whose tokens were made before, as ids into `terms`."""

    def __init__(self, tokens: TokenTable, *, threads: int = 1) -> None:
        order = np.array(sorted(range(tokens.n_terms), key=tokens.terms.__getitem__), np.int64)
        self._batch, self._places = EncodedBatch(tokens.offsets, tokens.term_ids), _places(order)
        self._counted = _counted([self._batch], [tokens.terms[i] for i in order], self._places, threads)

    def counted(
        self, train: LongArray, *, ngrams: tuple[int, int] | None = None, least: int = 1, ordered: bool = False
    ) -> WordCounts:
        """Return the counts; see `CutWords.counted`."""
        if ngrams not in (None, (1, 1)):
            raise InputError("finished tokens cannot become n-grams; give the texts")
        return replace(self._counted, tokens=_joined([self._batch], self._places)) if ordered else self._counted


class CutWords:
    """Documents cut by a `Preprocessor`.

    Args:
        adapt: a script that writes without spaces has its words cut by nlpkit's own rules, whatever the tokenizer of the options.
    """

    def __init__(self, options: PreprocessOptions, *, adapt: bool = False, threads: int = 1) -> None:
        self.options = options
        self._adapt, self._threads = adapt, threads
        self._preprocessor: Preprocessor | None = None
        self._batches: list[EncodedBatch] = []
        self._counts: dict[tuple[tuple[int, int], int, bool], WordCounts] = {}

    def cut(
        self,
        batches: Iterable[pa.RecordBatch],
        others: Iterable[pa.RecordBatch] = (),
        *,
        learn: Callable[[pa.RecordBatch], BoolArray] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches of documents, whose column 'text' is cut on the way.

        The language, and whether it is written without spaces, are those of the first 300 texts that may be learned from.

        Args:
            others: documents of a test set, after the first ones.
            learn: which documents of a batch may be learned from; None for all.
        """
        running = iter(batches)
        held: list[pa.RecordBatch] = []
        sample: list[str] = []
        for batch in running:
            held.append(batch)
            texts = batch.column("text")
            sample += first_texts(
                texts if learn is None else texts.filter(pa.array(learn(batch))), SAMPLE_DOCS - len(sample)
            )
            if len(sample) >= SAMPLE_DOCS:
                break
        if self._adapt and writes_without_spaces(sample):
            self.options = replace(self.options, tokenizer="words")
        self._preprocessor = Preprocessor(self.options)
        everything = chain(held, running, others)
        for batch, encoded in self._preprocessor.encode_all(everything, threads=self._threads, sample=sample):
            self._batches.append(encoded)
            yield batch

    def counted(
        self, train: LongArray, *, ngrams: tuple[int, int] | None = None, least: int = 1, ordered: bool = False
    ) -> WordCounts:
        """Return the counts of all documents over terms that do not depend on documents outside `train`.

        The other bounds on terms are for `features.fit_vectorizer`, which counts in the training documents.

        Args:
            train: (n,) rows that may be learned from.
            ngrams: lengths of n-grams; None for those of the options.
            least: documents that a term needs in the training documents: terms that all documents together have less often are not
                counted at all. It must be the same for all training sets.
            ordered: whether the tokens are returned, too.
        """
        sizes = ngrams or self.options.ngrams
        if self.options.phrases is None:
            key = (sizes, least, ordered)
            if key not in self._counts:
                self._counts[key] = self._count(sizes, least, None, ordered=ordered)
            return self._counts[key]
        rows = np.zeros(sum(len(b.offsets) - 1 for b in self._batches), bool)
        rows[train] = True
        assert self._preprocessor is not None
        table = self._preprocessor.phrases_in(lambda: _some(self._batches, rows))
        return self._count(sizes, least, table, ordered=ordered)

    def _count(self, sizes: tuple[int, int], least: int, phrases: PhraseTable | None, *, ordered: bool) -> WordCounts:
        wide = replace(
            self.options, ngrams=sizes, phrases=None, phrase_table=phrases or self.options.phrase_table,
            min_df=least, max_df=1.0, min_cf=1, max_cf=1.0, max_vocab=None,
        )  # fmt: skip
        assert self._preprocessor is not None
        vocabulary = self._preprocessor.finish(lambda: self._batches, options=wide)
        order = np.array(sorted(range(len(vocabulary.terms)), key=vocabulary.terms.__getitem__), np.int64)
        terms = [vocabulary.terms[i] for i in order]
        places = _places(order)
        counted = _counted(_applied(vocabulary, self._batches), terms, places, self._threads)
        tokens = _joined(_applied(vocabulary, self._batches), places) if ordered else None
        return replace(counted, phrases=wide.phrase_table, report=vocabulary.report, tokens=tokens)


_UNSPACED_SHARE = 0.3


def writes_without_spaces(texts: Sequence[str]) -> bool:
    """Return whether three in ten characters of the texts are Chinese, Japanese, Thai or of another script without spaces."""
    signs = "".join("".join(text.split()) for text in texts)
    return len(UNSPACED.findall(signs)) > _UNSPACED_SHARE * len(signs)


def _applied(vocabulary: FittedVocabulary, batches: Sequence[EncodedBatch]) -> Iterator[EncodedBatch]:
    return (vocabulary.apply(batch) for batch in batches)


def _places(order: LongArray) -> IntArray:
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return places


def _counted(batches: Iterable[EncodedBatch], terms: Sequence[str], places: IntArray, threads: int) -> WordCounts:
    names = tuple(terms)

    def count(batch: EncodedBatch) -> CsrMatrix:
        return count_terms(TokenTable(batch.offsets, places[batch.term_ids], names))

    parts = [counts for _, counts in map_ahead(count, batches, threads=threads)]
    whole = sparse.vstack(parts, format="csr") if len(parts) > 1 else parts[0]
    return WordCounts(whole, names)


def _joined(batches: Iterable[EncodedBatch], places: IntArray) -> EncodedBatch:
    """Return the tokens of all documents, by the places of their terms."""
    parts = list(batches)
    lengths = np.concatenate([np.diff(batch.offsets) for batch in parts])
    ids = np.concatenate([places[batch.term_ids] for batch in parts])
    return EncodedBatch(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), ids)


def _some(batches: Sequence[EncodedBatch], rows: BoolArray) -> Iterator[EncodedBatch]:
    """Yield the batches with the documents of some rows only."""
    start = 0
    for batch in batches:
        lengths = np.diff(batch.offsets)
        kept = rows[start : start + len(lengths)]
        start += len(lengths)
        inside = np.repeat(kept, lengths)
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths[kept])))
        yield EncodedBatch(offsets, batch.term_ids[inside])
