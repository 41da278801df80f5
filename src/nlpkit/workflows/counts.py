"""Documents as term counts, batch by batch: what tfidf and ctfidf start from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit import reporting, wording
from nlpkit.errors import missing_column
from nlpkit.io.documents import token_ids, vocabulary_of
from nlpkit.io.spool import Spool, spool_in
from nlpkit.io.topic_tables import TEXT_HASH, text_hashes
from nlpkit.parallel import ahead, map_ahead
from nlpkit.text.preprocess import PreprocessOptions, Preprocessor, PreprocessReport
from nlpkit.text.pruning import no_vocabulary_match
from nlpkit.text.vocab import EncodedBatch, Frequencies, prune_batch
from nlpkit.types import CsrMatrix, IntArray, LongArray, TokenTable
from nlpkit.weighting.dtm import count_terms
from nlpkit.workflows.corpus import no_documents
from nlpkit.workflows.tokens import CODES, codes_array, codes_of, refuse_token_options

if TYPE_CHECKING:
    from nlpkit.io.corpora import DocumentStream


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
    _spool: Spool
    _apply: Callable[[EncodedBatch], EncodedBatch]
    _places: IntArray  # (V,) place in terms of an id that _apply gives
    _threads: int

    def batches(self) -> Iterator[tuple[pa.RecordBatch, CsrMatrix]]:
        """Yield id and the columns asked for, with the counts (D_b, V) int32 CSR of a batch, term ids of a row ascending."""
        # _apply in this thread: n-grams are looked up in a table that one thread at a time may use
        found = ((batch, self._apply(codes_of(batch.column(CODES)))) for batch in self._spool)
        for (batch, _), counts in map_ahead(self._count, found, threads=self._threads):
            yield batch.select([n for n in batch.schema.names if n != CODES]), counts

    def encoded(self) -> Iterator[tuple[pa.RecordBatch, EncodedBatch]]:
        """Yield id and the columns asked for, with the tokens of a batch as ids in terms, in the order of the texts."""
        for batch in self._spool:
            kept = self._apply(codes_of(batch.column(CODES)))
            names = [n for n in batch.schema.names if n != CODES]
            yield batch.select(names), EncodedBatch(kept.offsets, self._places[kept.term_ids])

    def tokens(self) -> TokenTable:
        """Return the tokens of all documents as ids in terms, in the order of the texts."""
        offsets, ids, at = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], 0
        for _, kept in self.encoded():
            offsets.append(at + kept.offsets[1:])
            ids.append(kept.term_ids)
            at += int(kept.offsets[-1])
        return TokenTable(np.concatenate(offsets), np.concatenate(ids), self.terms)

    def rows(self, leave_out: Sequence[str] = ()) -> pa.Table:
        """Return the columns that were kept, without some."""
        batches = [
            batch.select([n for n in batch.schema.names if n not in (CODES, *leave_out)]) for batch in self._spool
        ]
        return pa.Table.from_batches(batches)

    def values(self, column: str, rows: Sequence[int]) -> dict[int, Any]:
        """Return some values of a column that was kept, by row."""
        found: dict[int, Any] = {}
        wanted, start = sorted(set(rows)), 0
        for batch in self._spool:
            while len(found) < len(wanted) and wanted[len(found)] < start + batch.num_rows:
                row = wanted[len(found)]
                found[row] = batch.column(column)[row - start].as_py()
            start += batch.num_rows
        return found

    def _count(self, item: tuple[pa.RecordBatch, EncodedBatch]) -> CsrMatrix:
        ids = item[1]
        return count_terms(TokenTable(ids.offsets, self._places[ids.term_ids], self.terms))


@contextmanager
def counted(
    stream: DocumentStream,
    options: PreprocessOptions,
    *,
    columns: Sequence[str] = (),
    text_chars: int | None = None,
    hashed: bool = False,
    threads: int = 1,
    own_tokens: bool = True,
) -> Iterator[CountedCorpus]:
    """Yield the counts of a document stream: of its own tokens, else of tokens made with `options`.

    A vocabulary in the options holds for tokens that are there, too.

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
    there = own_tokens and "tokens" in stream.schema.names
    if there:
        refuse_token_options(replace(options, vocab=None), stream.where)
    with spool_in(stream.spool_directory) as spool:
        if there:
            yield _given(stream, options, lambda batch: _kept(batch, keep, text_chars, hashed), spool, threads)
        else:
            yield _made(stream, options, lambda batch: _kept(batch, keep, text_chars, hashed), spool, threads)


def _kept(batch: pa.RecordBatch, columns: list[str], text_chars: int | None, hashed: bool) -> pa.RecordBatch:
    kept = batch.select(columns)
    if hashed:
        kept = kept.append_column(TEXT_HASH, text_hashes(batch.column("text")))
    if text_chars is None or "text" not in columns:
        return kept
    short = pc.utf8_slice_codeunits(kept.column("text"), 0, text_chars)
    return kept.set_column(columns.index("text"), kept.schema.field("text"), short)


def _made(
    stream: DocumentStream,
    options: PreprocessOptions,
    kept: Callable[[pa.RecordBatch], pa.RecordBatch],
    spool: Spool,
    threads: int,
) -> CountedCorpus:
    work = Preprocessor(options)
    with reporting.progress("tokens", None) as update:
        rows = 0
        for batch, encoded in work.encode_all(ahead(stream), threads=threads):
            spool.write(kept(batch).append_column(CODES, codes_array(encoded)))
            rows += batch.num_rows
            update(rows)
    if not rows:
        raise no_documents(stream)
    found = work.finish(lambda: (codes_of(batch.column(CODES)) for batch in spool))
    order = np.arange(len(found.terms)) if options.vocab else None
    return _sorted(
        spool,
        found.apply,
        found.terms,
        found.cf,
        found.df,
        rows,
        found.report,
        order,
        threads,
        left_out=lambda: found.removed().terms,
    )


def _given(
    stream: DocumentStream,
    options: PreprocessOptions,
    kept: Callable[[pa.RecordBatch], pa.RecordBatch],
    spool: Spool,
    threads: int,
) -> CountedCorpus:
    vocabulary = options.vocab or vocabulary_of(stream.schema) or ()
    known = {term: i for i, term in enumerate(vocabulary)}
    counts = Frequencies()
    for batch in stream:
        encoded = EncodedBatch(*token_ids(batch.column("tokens"), known))
        counts.count(encoded, len(known))
        spool.write(kept(batch).append_column(CODES, codes_array(encoded)))
    if not counts.n_docs:
        raise no_documents(stream)
    V, terms = len(vocabulary), tuple(known)
    cf, df = counts.cf(len(terms)), counts.df(len(terms))
    outside = int(cf[V:].sum())
    if options.vocab is not None:
        if options.lists_must_match and cf.any() and not cf[:V].any():
            raise no_vocabulary_match(vocabulary, terms[V:])
        if outside:
            reporting.note(f"{wording.counted(outside, 'token')} left out: the vocabulary does not have them")
        new_ids = np.where(np.arange(len(terms)) < V, np.arange(len(terms)), -1).astype(np.int32)
        keep = partial(prune_batch, new_ids=new_ids)
        return _sorted(spool, keep, terms[:V], cf[:V], df[:V], counts.n_docs, None, np.arange(V), threads)
    if V and outside:
        reporting.warn(
            f"{stream.where}: {wording.counted(outside, 'token')} such as '{terms[V]}' are not in the vocabulary that the "
            "tokens were restricted to; the columns are all terms that occur, in alphabetical order"
        )
        occurs = np.flatnonzero(cf)
        order = np.array(sorted(occurs.tolist(), key=terms.__getitem__), np.int64)
        return _sorted(spool, lambda batch: batch, terms, cf, df, counts.n_docs, None, order, threads)
    whole = np.arange(V) if V else None
    return _sorted(spool, lambda batch: batch, terms, cf, df, counts.n_docs, None, whole, threads)


def _sorted(
    spool: Spool,
    apply: Callable[[EncodedBatch], EncodedBatch],
    terms: tuple[str, ...],
    cf: LongArray,
    df: LongArray,
    n_docs: int,
    report: PreprocessReport | None,
    order: LongArray | None,
    threads: int,
    left_out: Callable[[], Sequence[str]] = tuple,
) -> CountedCorpus:
    """Number the terms alphabetically, an order that does not depend on which document comes first; a given vocabulary keeps its own."""
    if order is None:
        order = np.array(sorted(range(len(terms)), key=terms.__getitem__), np.int64)
    places = np.full(len(terms), -1, np.int32)
    places[order] = np.arange(len(terms), dtype=np.int32)
    names = tuple(terms[i] for i in order.tolist())
    return CountedCorpus(names, cf[order], df[order], n_docs, report, left_out, spool, apply, places, threads)
