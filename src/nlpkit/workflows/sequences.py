"""Documents with their sentences as term ids, batch by batch, in the order of the stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from nlpkit.io.corpora import DocumentStream, DroppedRow
from nlpkit.io.documents import token_ids
from nlpkit.text.preprocess import PreprocessOptions
from nlpkit.text.units import PARENT, Unit, unit_batch, unit_schema
from nlpkit.types import IntArray, LongArray
from nlpkit.workflows.corpus import Documents, no_documents
from nlpkit.workflows.tokens import tokens_of


class Sentences:
    """The sentences of a stream of documents, or other units, a row each; stands in for the stream."""

    def __init__(self, documents: Documents, unit: str, language: str) -> None:
        self._documents, self._unit = documents, Unit(unit)
        self._language = None if language in ("auto", "none") else language
        self.schema = documents.schema if unit == "document" else unit_schema(documents.schema)
        self.where, self.spool_directory = documents.where, documents.spool_directory

    @property
    def dropped(self) -> Sequence[DroppedRow]:
        """Rows that could not be read."""
        return self._documents.dropped

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._documents:
            yield batch if self._unit.kind == "document" else unit_batch(batch, self._unit, self._language)


SentencesOfBatch = tuple[pa.RecordBatch, LongArray, list[str], LongArray, IntArray]


def sequences(stream: DocumentStream, options: PreprocessOptions | None, unit: str) -> Iterator[SentencesOfBatch]:
    """Yield batches of documents, the row of the document of each sentence (S,), the terms that the ids of this batch stand for, and
    the offsets (S + 1,) and ids of the sentences' words.

    Args:
        options: how texts are cut; None takes the tokens that are there, one sentence a document. unit: of the sentences.

    Raises:
        InputError: there are no documents.
    """
    empty = True
    for batch in stream:
        empty = False
        if options is None:
            terms: dict[str, int] = {}
            offsets, ids = token_ids(batch.column("tokens"), terms)
            yield batch, np.arange(batch.num_rows), list(terms), offsets, ids
            continue
        numbered = pa.record_batch(
            {"id": pa.array(map(str, range(batch.num_rows)), pa.string()), "text": batch.column("text")}
        )
        units = numbered
        if unit != "document":
            language = None if options.language in ("auto", "none") else options.language
            units = unit_batch(numbered, Unit(unit), language)
        rows = np.array(units.column("id" if unit == "document" else PARENT).to_pylist(), np.int64)
        tokens, _ = tokens_of(pa.Table.from_batches([units.select(["text"])]), options)
        yield batch, rows, list(tokens.terms), tokens.offsets, tokens.term_ids
    if empty:
        raise no_documents(stream)
