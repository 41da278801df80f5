"""Documents as term ids: texts are cut once, what is needed of them is spooled, and read back as often as it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from nlpkit import reporting
from nlpkit.io.documents import token_ids, vocabulary_of
from nlpkit.io.spool import Spool
from nlpkit.parallel import ahead
from nlpkit.text.preprocess import FittedVocabulary, PreprocessOptions, Preprocessor
from nlpkit.text.vocab import EncodedBatch, Frequencies
from nlpkit.types import LongArray, TokenTable
from nlpkit.workflows.corpus import no_documents

if TYPE_CHECKING:
    from nlpkit.workflows.corpus import Documents

CODES = "\0codes"  # no column of a user is called like that

Keep = Callable[[pa.RecordBatch], pa.RecordBatch]


class Replayed(Protocol):
    """Batches with a column CODES that are read back as often as it takes."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches."""

    def close(self) -> None:
        """Remove the copy, where there is one."""


@dataclass(frozen=True, slots=True)
class EncodedDocuments:
    """Documents with the ids of their terms, in the order of the texts.

    terms (V,): in order of first appearance, or those of a vocabulary in its order; cf, df (V,). schema: of the columns that were
    kept. fitted: how terms were chosen, None for tokens that were there; n_listed: of those, the terms at the beginning that
    belong to the vocabulary to which the tokens were restricted.
    """

    terms: tuple[str, ...]
    cf: LongArray
    df: LongArray
    n_docs: int
    schema: pa.Schema
    fitted: FittedVocabulary | None
    n_listed: int
    _spool: Replayed

    def __iter__(self) -> Iterator[tuple[pa.RecordBatch, EncodedBatch]]:
        """Yield the columns that were kept, and the term ids, of each batch."""
        for batch, encoded in self.raw():
            yield batch, encoded if self.fitted is None else self.fitted.apply(encoded)

    def raw(self) -> Iterator[tuple[pa.RecordBatch, EncodedBatch]]:
        """Yield the batches with ids as `fitted.apply` takes them."""
        for batch in self._spool:
            yield batch.select(self.schema.names), codes_of(batch.column(CODES))

    def tokens(self) -> TokenTable:
        """Return the tokens of all documents."""
        return joined((encoded for _, encoded in self), self.terms)

    def close(self) -> None:
        """Remove the copy on the disk."""
        self._spool.close()


def encode(
    documents: Documents, options: PreprocessOptions, *, keep: Keep | None = None, threads: int = 1, recut: bool = False
) -> EncodedDocuments:
    """Return the documents as term ids: their own tokens, else those that `options` cut; the stream is read to its end.

    Args:
        documents: a stream.
        options: how texts are cut; for tokens that are there, only its vocabulary counts, whose terms come first.
        keep: what is kept of a batch, all by default.
        threads: texts that are cut at a time; ids do not depend on it.
        recut: cut texts also where there are tokens.

    Raises:
        InputError: there are no documents, or no term is left of some.
    """
    spool = Spool(documents.spool_directory)
    try:
        if recut or "tokens" not in documents.schema.names:
            return _cut(documents, options, keep, spool, threads)
        return _taken(documents, options, keep, spool)
    except BaseException:
        spool.close()
        raise


def _cut(
    documents: Documents, options: PreprocessOptions, keep: Keep | None, spool: Spool, threads: int
) -> EncodedDocuments:
    preprocessor = Preprocessor(options)
    encoded = preprocessor.encode_all(ahead(documents), threads=threads)
    n_docs, schema = _write(encoded, documents, keep, spool)
    fitted = preprocessor.finish(lambda: (codes_of(batch.column(CODES)) for batch in spool))
    return EncodedDocuments(fitted.terms, fitted.cf, fitted.df, n_docs, schema, fitted, 0, spool)


def cut_share(
    documents: Documents, preprocessor: Preprocessor, sample: Sequence[str], *, threads: int = 1
) -> EncodedDocuments:
    """Return documents as the ids of all their words, which are those of the preprocessor; the stream is read to its end.

    sample: the texts by which the language is detected.

    Raises:
        InputError: there are no documents.
    """
    spool = Spool(documents.spool_directory)
    try:
        encoded = preprocessor.encode_all(ahead(documents), threads=threads, sample=sample)
        n_docs, schema = _write(encoded, documents, None, spool)
    except BaseException:
        spool.close()
        raise
    counts = preprocessor.counts
    return EncodedDocuments(tuple(counts.terms), counts.cf, counts.df, n_docs, schema, None, 0, spool)


def _taken(documents: Documents, options: PreprocessOptions, keep: Keep | None, spool: Spool) -> EncodedDocuments:
    vocabulary = options.vocab or vocabulary_of(documents.schema) or ()
    known = {term: i for i, term in enumerate(vocabulary)}
    counts = Frequencies()

    def encoded() -> Iterator[tuple[pa.RecordBatch, EncodedBatch]]:
        for batch in documents:
            ids = EncodedBatch(*token_ids(batch.column("tokens"), known))
            counts.count(ids, len(known))
            yield batch, ids

    n_docs, schema = _write(encoded(), documents, keep, spool)
    terms = tuple(known)
    return EncodedDocuments(
        terms, counts.cf(len(terms)), counts.df(len(terms)), n_docs, schema, None, len(vocabulary), spool
    )


def _write(
    encoded: Iterable[tuple[pa.RecordBatch, EncodedBatch]], documents: Documents, keep: Keep | None, spool: Spool
) -> tuple[int, pa.Schema]:
    """Spool all batches; return the number of documents and the schema of what is kept of them."""
    n_docs, schema = 0, documents.schema
    with reporting.progress("tokens", None) as update:
        for batch, ids in encoded:
            kept = batch if keep is None else keep(batch)
            schema = kept.schema
            spool.write(kept.append_column(CODES, codes_array(ids)))
            update(n_docs := n_docs + batch.num_rows)
    if not n_docs:
        raise no_documents(documents)
    return n_docs, schema


def joined(batches: Iterable[EncodedBatch], terms: tuple[str, ...]) -> TokenTable:
    """Return the tokens of batches, whose ids stand for terms, as one table."""
    offsets, ids, at = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], 0
    for batch in batches:
        offsets.append(at + batch.offsets[1:])
        ids.append(batch.term_ids)
        at += int(batch.offsets[-1])
    return TokenTable(np.concatenate(offsets), np.concatenate(ids), terms)


def codes_array(encoded: EncodedBatch) -> pa.ListArray:
    """Return term ids as a column of a spool; `codes_of` reads it."""
    return pa.ListArray.from_arrays(pa.array(encoded.offsets, pa.int32()), pa.array(encoded.term_ids))


def codes_of(column: pa.ListArray) -> EncodedBatch:
    """Return the term ids of a spooled column."""
    offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    ids = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0])).to_numpy(zero_copy_only=False)
    return EncodedBatch(offsets - offsets[0], ids)
