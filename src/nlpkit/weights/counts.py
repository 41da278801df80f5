"""Documents as term counts, batch by batch: what tfidf and ctfidf start from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import missing_column
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import TEXT_HASH, text_hashes
from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.types import CsrMatrix, IntArray, LongArray, TokenTable
from nlpkit.text.fitted import FittedVocabulary, no_vocabulary_match
from nlpkit.text.options import PreprocessOptions, PreprocessReport
from nlpkit.text.tokens import EncodedDocuments, encode, joined, refuse_token_options
from nlpkit.text.vocab import EncodedBatch, prune_batch
from nlpkit.weights.dtm import count_terms

if TYPE_CHECKING:
    from nlpkit.platform.documents.corpora import DocumentStream


@dataclass(frozen=True, slots=True)
class CountedCorpus:
    """A corpus as counts. cf, df (V,); report is None for tokens that were there.

    terms (V,) are those of a vocabulary in its order, where one was given or the tokens carry one, also those that no document has;
    else those that occur, in alphabetical (code point) order.

    left_out: gives the terms that were cut from the texts and did not stay.
    """

    terms: tuple[str, ...]
    cf: LongArray
    df: LongArray
    n_docs: int
    report: PreprocessReport | None
    left_out: Callable[[], Sequence[str]]
    _documents: EncodedDocuments
    _places: IntArray  # (V,) place in terms of an id of the documents, -1 for terms that a vocabulary does not have
    _threads: int

    def batches(self) -> Iterator[tuple[pa.RecordBatch, CsrMatrix]]:
        """Yield id and the columns asked for, with the counts (D_b, V) int32 CSR of a batch, term ids of a row ascending."""
        # ids are made in this thread: n-grams are looked up in a table that one thread at a time may use
        for (batch, _), counts in map_ahead(self._count, iter(self._documents), threads=self._threads):
            yield batch, counts

    def encoded(self) -> Iterator[tuple[pa.RecordBatch, EncodedBatch]]:
        """Yield id and the columns asked for, with the tokens of a batch as ids in terms, in the order of the texts."""
        for batch, ids in self._documents:
            yield batch, self._in_terms(ids)

    def tokens(self) -> TokenTable:
        """Return the tokens of all documents as ids in terms, in the order of the texts."""
        return joined((ids for _, ids in self.encoded()), self.terms)

    def rows(self, leave_out: Sequence[str] = ()) -> pa.Table:
        """Return the columns that were kept, without some."""
        names = [name for name in self._documents.schema.names if name not in leave_out]
        return pa.Table.from_batches([batch.select(names) for batch, _ in self._documents.raw()])

    def values(self, column: str, rows: Sequence[int]) -> dict[int, Any]:
        """Return some values of a column that was kept, by row."""
        values: dict[int, Any] = {}
        wanted, start = sorted(set(rows)), 0
        for batch, _ in self._documents.raw():
            while len(values) < len(wanted) and wanted[len(values)] < start + batch.num_rows:
                row = wanted[len(values)]
                values[row] = batch.column(column)[row - start].as_py()
            start += batch.num_rows
        return values

    def _count(self, item: tuple[pa.RecordBatch, EncodedBatch]) -> CsrMatrix:
        ids = self._in_terms(item[1])
        return count_terms(TokenTable(ids.offsets, ids.term_ids, self.terms))

    def _in_terms(self, ids: EncodedBatch) -> EncodedBatch:
        """Return a batch with ids in terms; those of no term go."""
        if len(self.terms) < len(self._places):
            return prune_batch(ids, self._places)
        return EncodedBatch(ids.offsets, self._places[ids.term_ids])

    def close(self) -> None:
        """Remove the copy on the disk."""
        self._documents.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def count_corpus(
    stream: DocumentStream,
    options: PreprocessOptions,
    *,
    columns: Sequence[str] = (),
    text_chars: int | None = None,
    hashed: bool = False,
    threads: int = 1,
    own_tokens: bool = True,
) -> CountedCorpus:
    """Return the counts of a document stream: of its own tokens, else of tokens made with `options`.

    A vocabulary in the options holds for tokens that are there, too. The copy on the disk goes with the corpus, at the end of its
    context, or when it is closed.

    Args:
        columns: columns to keep beside id; text_chars: of the column text only so many characters; hashed: add
            the column TEXT_HASH, of the whole texts, null for those without letters.
        own_tokens: whether tokens that are there are taken; else the texts are cut with `options` all the same.

    Raises:
        InputError: no documents, or no term is left of some; ColumnError: a column is not there.
    """
    for name in columns:
        if name not in stream.schema.names:
            raise missing_column(stream.where, name, stream.schema.names)
    keep = list(dict.fromkeys(["id", *columns]))
    if own_tokens and "tokens" in stream.schema.names:
        refuse_token_options(replace(options, vocab=None), stream.where)
    documents = encode(
        stream,
        options,
        keep=lambda batch: _kept(batch, keep, text_chars, hashed),
        threads=threads,
        recut=not own_tokens,
    )
    try:
        return _sorted(documents, options, stream.where, threads)
    except BaseException:
        documents.close()
        raise


def _kept(batch: pa.RecordBatch, columns: list[str], text_chars: int | None, hashed: bool) -> pa.RecordBatch:
    kept = batch.select(columns)
    if hashed:
        kept = kept.append_column(TEXT_HASH, text_hashes(batch.column("text")))
    if text_chars is None or "text" not in columns:
        return kept
    short = pc.utf8_slice_codeunits(kept.column("text"), 0, text_chars)
    return kept.set_column(columns.index("text"), kept.schema.field("text"), short)


def _left_out(fitted: FittedVocabulary) -> Sequence[str]:
    return fitted.removed().terms


def _sorted(documents: EncodedDocuments, options: PreprocessOptions, where: str, threads: int) -> CountedCorpus:
    """Number the terms alphabetically, an order that does not depend on which document comes first; a given vocabulary keeps its own."""
    fitted = documents.fitted
    if fitted is not None:
        order = np.arange(len(fitted.terms)) if options.vocab else None
        return _counted(documents, order, threads, fitted.report, left_out=partial(_left_out, fitted))
    V, terms, cf = documents.n_listed, documents.terms, documents.cf
    outside = int(cf[V:].sum())
    if options.vocab is not None:
        if options.lists_must_match and cf.any() and not cf[:V].any():
            raise no_vocabulary_match(terms[:V], terms[V:])
        if outside:
            reporting.note(f"{wording.counted(outside, 'token')} left out: the vocabulary does not have them")
        return _counted(documents, np.arange(V), threads)
    if V and outside:
        reporting.warn(
            f"{where}: {wording.counted(outside, 'token')} such as '{terms[V]}' are not in the vocabulary of the "
            "tokens; the columns are all terms that occur, in alphabetical order"
        )
        occurs = np.flatnonzero(cf)
        return _counted(documents, np.array(sorted(occurs.tolist(), key=terms.__getitem__), np.int64), threads)
    return _counted(documents, np.arange(V) if V else None, threads)


def _counted(
    documents: EncodedDocuments,
    order: LongArray | None,
    threads: int,
    report: PreprocessReport | None = None,
    *,
    left_out: Callable[[], Sequence[str]] = tuple,
) -> CountedCorpus:
    """Return the counts of some terms in an order, by default of all in that of their code points."""
    if order is None:
        order = np.array(sorted(range(len(documents.terms)), key=documents.terms.__getitem__), np.int64)
    places = np.full(len(documents.terms), -1, np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    names = tuple(documents.terms[i] for i in order.tolist())
    cf, df = documents.cf[order], documents.df[order]
    return CountedCorpus(names, cf, df, documents.n_docs, report, left_out, documents, places, threads)
