"""One pass over documents as they stream, which adds columns to them, whatever makes these: a model, a lexicon, or counts of the text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import add_column
from nlpkit.platform.documents.corpus import Corpus, no_documents, warn_dropped
from nlpkit.platform.documents.parts import shard_block
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.runs.artifacts import with_footer
from nlpkit.platform.runs.provenance import source_block
from nlpkit.platform.runs.tables import Spool, spool_in, table_sink, write_dropped

if TYPE_CHECKING:
    from nlpkit.platform.documents.corpora import DocumentStream
    from nlpkit.platform.documents.inputs import DroppedRow

WithColumns: TypeAlias = tuple[pa.RecordBatch, Mapping[str, pa.Array]]


class ColumnMaker(ABC):
    """What a pass adds to documents, and what it counts on the way; a subclass sets what differs from the values here.

    name: of the model in footers and messages. stream: the documents. documents: how many went through, counted by the pass.
    command: in the footer. kind: of the table, "" for documents. gives: "topics", "classes" or the like. progress: label of the bar, ""
    for none. replaces: columns of the input that are warned of. explain: ids of documents that need an entry in `explanations`, which
    has for each class that they got the words that pushed it. learned_from: inputs that the model learned from, whose scores may be
    too good. summed: the parameters that are numbers of documents, see `shard_block`. reservation: what the sentence
    that names the output adds. evaluation: of predictions that are scored by the labels of the documents as they are made.
    What `parameters`, `summary` and `report` tell is complete when all documents went through.
    """

    command = "predict"
    kind = gives = progress = reservation = ""
    replaces: Sequence[str] = ()
    summed: tuple[str, ...] = ()
    explain: Sequence[str] = ()
    explanations: Mapping[str, Sequence[Mapping[str, Any]]] = {}
    evaluation: Any = None
    documents = 0

    def __init__(self, name: str, stream: DocumentStream, seed: int | None) -> None:
        self.name, self.stream, self.seed = name, stream, seed

    @property
    def learned_from(self) -> Sequence[str]:
        """Inputs that the model learned from."""
        return ()

    @abstractmethod
    def columns(self) -> Iterator[WithColumns]:
        """Yield batches of the documents with their new columns."""

    def finish(self) -> None:  # noqa: B027  # most have nothing left to do
        """Do what needs all documents, when all have been read."""

    def completed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return documents with their columns as they are given; with a spool, this is asked when `finish` is done."""
        return batch

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return what the footer says of the model and the columns."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Return counts of the documents and of what they got."""

    def report(self) -> None:  # noqa: B027  # a maker that has nothing to say leaves it as it is
        """Say through `reporting` what the documents were and what became of them."""


@dataclass(frozen=True, slots=True)
class Pass:
    """Documents with the columns that a maker gives them, made while they are read, once.

    spool: keeps the documents until all have been read, for a maker whose columns or footer depend on all of them; None for others.
    """

    maker: ColumnMaker
    spool: Spool | None = None

    @property
    def stream(self) -> DocumentStream:
        """The documents."""
        return self.maker.stream

    @property
    def dropped(self) -> Sequence[DroppedRow]:
        """Rows that could not be read."""
        return self.stream.dropped

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the documents with their columns, all batches of one schema. Raises InputError where there are none."""
        batches = self._read()
        if self.spool is not None:
            for batch in batches:
                self.spool.write(batch)
            batches = iter(self.spool)
        for batch in batches:
            yield self.maker.completed(batch)

    def _read(self) -> Iterator[pa.RecordBatch]:
        maker, stream = self.maker, self.stream
        warn_of_replaced(stream, maker.replaces)
        with reporting.progress(maker.progress, None) as update:
            for batch, columns in maker.columns():
                maker.documents += batch.num_rows
                for name, column in columns.items():
                    batch = add_column(batch, name, column)
                yield batch
                update(maker.documents)
        if not maker.documents:
            raise no_documents(stream)
        missing = [name for name in maker.explain if name not in maker.explanations]
        if missing:
            raise InputError(f"`explain={missing[0]}`: no document of {stream.where} has that id")
        maker.finish()

    def block(self) -> dict[str, Any]:
        """Return the footer block of the table; that of a part says which one it is."""
        maker, share = self.maker, self.stream.share
        parameters = maker.parameters()
        block = source_block("documents", self.stream, command=maker.command, parameters=parameters, seed=maker.seed)
        if share is not None:
            block = shard_block(block, share, counts=maker.summed, dropped=len(self.dropped))
        return block | ({"kind": maker.kind} if maker.kind else {})

    def table(self) -> pa.Table:
        """Return the documents with their columns."""
        return pa.Table.from_batches(self.batches())

    def collect(self) -> Corpus:
        """Return the documents with their columns as a corpus in memory, which says how they were made."""
        table = self.table()
        return Corpus(memory=table.cast(with_footer(table.schema, self.block())))

    def score(self) -> ScoredDocuments:
        """Return the documents with their columns, how these agree with labels, and the counts, which are reported."""
        documents = self.table()
        self.maker.report()
        return ScoredDocuments(documents, self.maker.evaluation, self.maker.summary())

    def save(self, target: str, *, force: bool = False) -> dict[str, Any]:
        """Write the table, with the list of rows that could not be read beside it; return the summary.

        The footer names the inputs, which are known (rows, sha256) when all is read: a copy is kept beside the output until then.
        "-" gets JSON lines as they are made.
        """
        batches = self.batches()
        if target == "-" or self.spool is not None:
            first = next(batches)
            with table_sink(target, first.schema, {} if target == "-" else self.block(), force=force) as sink:
                sink.write(first)
                for batch in batches:
                    sink.write(batch)
        else:
            with spool_in(self.stream.spool_directory) as spool:
                for batch in batches:
                    spool.write(batch)
                with table_sink(target, batch.schema, self.block(), force=force) as sink:
                    for batch in spool:
                        sink.write(batch)
        warn_dropped(self, write_dropped(target, self.dropped, self.block()))
        return self._reported()

    def run(self) -> dict[str, Any]:
        """Read the documents for what the maker tells of them, and keep none; return the summary."""
        for _ in self._read():
            pass
        warn_dropped(self, None)
        return self._reported()

    def first(self, most: int | None) -> tuple[pa.Table, int]:
        """Return the first documents with their columns, all of them for None, and how many there are; none is written."""
        kept: list[pa.RecordBatch] = []
        total = 0
        for batch in self.batches():
            if most is None or total < most or not kept:
                kept.append(batch.slice(0, None if most is None else max(most - total, 0)))
            total += batch.num_rows
        warn_dropped(self, None)
        self.maker.report()
        return pa.Table.from_batches(kept), total

    def _reported(self) -> dict[str, Any]:
        self.maker.report()
        return self.maker.summary()


def warn_of_replaced(stream: DocumentStream, columns: Sequence[str]) -> None:
    """Warn of columns of the input that new ones replace."""
    for name in columns:
        if name in stream.schema.names:
            reporting.warn(f"the column '{name}' of the input is replaced")


@dataclass(frozen=True, slots=True)
class ScoredDocuments(Tabular):
    """Documents with predictions.

    Attributes:
        documents: the documents (D rows) with the columns that were predicted.
        evaluation: scores against the labels of the documents, None where they have no labels.
        summary: numbers of documents and predictions.
    """

    _shown = "documents"

    documents: pa.Table
    evaluation: Any
    summary: dict[str, Any]

    def __repr__(self) -> str:
        return wording.described(self, wording.counted(self.documents.num_rows, "document"))
