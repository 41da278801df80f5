"""Preprocessing from texts to tokens: rows are filtered, texts tokenised, terms chosen.

Parts, in this order:
- Rows before texts are cut: duplicates go, sentences or chunks become rows of their own.
- The run: documents with their tokens come out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream, open_batches
from nlpkit.platform.documents.corpus import Corpus, as_corpus, warn_dropped
from nlpkit.platform.documents.inputs import DroppedRow, Origin
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.selection import selection_steps
from nlpkit.platform.options import Execution, takes, with_settings
from nlpkit.platform.runs.provenance import source_block
from nlpkit.platform.runs.tables import table_sink, write_dropped
from nlpkit.platform.types import TokenTable
from nlpkit.text.files import PHRASES, conllu_sink, phrases_table, vocabulary_table
from nlpkit.text.fitted import FittedVocabulary
from nlpkit.text.options import (
    DocumentTextOptions,
    PreprocessOptions,
    PreprocessReport,
    RowOptions,
    RowPlan,
    TextOptions,
    TokenOptions,
)
from nlpkit.text.plan import Step, plan_steps
from nlpkit.text.settings import preprocess_options
from nlpkit.text.tokens import EncodedDocuments, encode, note_tokens, token_parameters, tokens_schema, with_tokens

if TYPE_CHECKING:
    from nlpkit.platform.documents.inputs import DroppedRow, InputInfo


class Rows:
    """The documents of a stream as the plan leaves them; stands in for the stream.

    `dropped` lists the rows that went, with those that could not be read. `counts`: how many went at each stage.
    """

    def __init__(self, stream: DocumentStream, plan: RowPlan, language: str | None) -> None:
        from nlpkit.text.sentences import unit_schema

        self.schema: pa.Schema = stream.schema if plan.unit is None else unit_schema(stream.schema)
        self.blocks: list[dict[str, Any] | None] = stream.blocks
        self.counts: Counter[str] = Counter()
        self._stream, self._plan, self._language = stream, plan, language
        self._gone: list[DroppedRow] = []

    @property
    def where(self) -> str:
        """Name of the inputs in messages."""
        return self._stream.where

    @property
    def spool_directory(self) -> Path | None:
        """Directory for a copy that is read a second time."""
        return self._stream.spool_directory

    @property
    def inputs(self) -> Sequence[InputInfo]:
        """What was read."""
        return self._stream.inputs

    @property
    def dropped(self) -> list[DroppedRow]:
        """Rows that could not be read, then those that went here, in order."""
        return [*self._stream.dropped, *self._gone]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        from nlpkit.text.duplicates import Duplicates
        from nlpkit.text.sentences import unit_batch

        plan = self._plan
        seen = None if plan.dedupe is None else Duplicates(plan.dedupe)
        for batch in self._stream:
            kept = batch
            if seen is not None:
                kept = self._unique(kept, seen)
            if plan.unit is not None:
                kept = unit_batch(kept, plan.unit, self._language)
            if kept.num_rows:
                yield kept

    def _unique(self, batch: pa.RecordBatch, seen: Any) -> pa.RecordBatch:
        import numpy as np
        import pyarrow as pa

        from nlpkit.platform.documents.inputs import DroppedRow

        exact = seen.spec.threshold is None
        kept = np.ones(batch.num_rows, bool)
        ids = batch.column("id")
        for row, twin, similarity in seen.check(ids, batch.column("text")):
            kept[row] = False
            relation = "same text as" if exact else f"{similarity:.2f} similar to"
            self._gone.append(DroppedRow(ids[row].as_py(), "dedupe", f"{relation} {twin}"))
            self.counts["dedupe"] += 1
        return batch if kept.all() else batch.filter(pa.array(kept))


# ------------------------------------------------------------------------------------------------------------------------
# Texts to tokens: rows are filtered, texts cut, terms chosen; documents with their tokens come out.


class ReadDocuments(Origin, Protocol):
    """Documents that were read to their end."""

    @property
    def dropped(self) -> Sequence[DroppedRow]:
        """Rows that could not be read."""


class HasDropped(Protocol):
    """Rows that went: a list of them, and how many went at each step."""

    @property
    def dropped(self) -> list[DroppedRow]:
        """Rows that could not be read, then those that went at a step."""

    @property
    def counts(self) -> Counter[str]:
        """How many went at each step."""


@dataclass(frozen=True, slots=True)
class Preprocessed:
    """What preprocess made: documents as term ids in a spool, the options in force, what went."""

    documents: EncodedDocuments
    fitted: FittedVocabulary
    options: PreprocessOptions
    rows: HasDropped
    stream: ReadDocuments
    block: dict[str, Any]

    def schema(self) -> pa.Schema:
        """Return the columns of the documents with their tokens."""
        return tokens_schema(self.documents.schema, self.options.vocab)


@dataclass(frozen=True, slots=True, repr=False)
class PreprocessedCorpus(Corpus):
    """A corpus with tokens. The texts were cut once; the documents are read from a copy in memory, or on the disk where they
    are many, which goes with the corpus."""

    result: Preprocessed = field(kw_only=True)

    def __repr__(self) -> str:
        documents, terms = self.report.n_docs, self.report.n_terms
        return wording.described(self, wording.counted(documents, "document"), wording.counted(terms, "different term"))

    @property
    def tokens(self) -> TokenTable:
        """The tokens of all documents."""
        return self.result.documents.tokens()

    @property
    def report(self) -> PreprocessReport:
        """What was done: languages, terms and tokens that went."""
        return self.result.fitted.report

    @property
    def dropped(self) -> list[DroppedRow]:
        """Rows that could not be read, and those that filters and duplicates took."""
        return self.result.rows.dropped

    def open(self) -> DocumentStream:
        """Return the documents as a stream that is read once."""
        schema = self.result.schema()
        return open_batches(schema, self.batches(), self.options, self.result.block, self.result.stream)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the documents with a column of their tokens."""
        spacy = self.result.options.spacy
        return with_tokens(self.result.documents, tagged=spacy is not None and spacy.tags)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield id, text and tokens of each document."""
        for batch in self.batches():
            yield from batch.select(["id", "text", "tokens"]).to_pylist()

    def head(self, n: int | None) -> list[dict[str, Any]]:
        """Return id, text and tokens of the first n documents, None for all."""
        return list(islice(self.rows(), n))

    def vocabulary(self) -> pa.Table:
        """Return term, cf, df (V,): the terms of a given vocabulary in its order, else in that of their code points."""
        fitted = self.result.fitted
        at = np.arange(len(fitted.terms))
        if self.result.options.vocab is None:
            at = np.array(sorted(at.tolist(), key=fitted.terms.__getitem__), np.int64)
        return vocabulary_table(tuple(fitted.terms[i] for i in at), fitted.cf[at], fitted.df[at])

    def phrases(self) -> pa.Table | None:
        """Return the phrases that were joined, None where none were looked for."""
        table = self.result.fitted.phrases
        return None if table is None else phrases_table(table)

    def removed(self) -> pa.Table:
        """Return the terms that did not stay: term, cf, df, reason."""
        removed = self.result.fitted.removed()
        terms = pa.array(removed.terms, pa.string())
        return pa.table({"term": terms, "cf": removed.cf, "df": removed.df, "reason": removed.reasons})

    def save(
        self,
        target: str | Path | None,
        *,
        vocab: str | Path | None = None,
        phrases: str | Path | None = None,
        removed: str | Path | None = None,
        conllu: str | Path | None = None,
        force: bool = False,
    ) -> dict[str, Any]:
        """Write the documents, and what else has a name: all of it or nothing; return how many documents there are.

        Args:
            target: a table, "-" for JSON lines on stdout, None to write no documents.
            vocab, phrases, removed: tables of the terms, of the phrases that were found, and of the terms that went.
            conllu: the words of the texts, all of them, with lemma, part of speech and place, by a spaCy pipeline, in CoNLL-U.
            force: replace what is there.

        Raises:
            UsageError: the suffix of a name is not one of a table; OutputExistsError: a file is there; MissingError: there is no pipeline.
        """
        block, n_rows, empty = self.result.block, 0, 0
        with ExitStack() as stack:
            sink = None
            if target is not None:
                sink = stack.enter_context(table_sink(target, self.result.schema(), block, force=force))
            annotate = (
                None if conllu is None else self._annotation(stack.enter_context(conllu_sink(conllu, force=force)))
            )
            for batch in self.batches():
                if sink is not None:
                    sink.write(batch)
                if annotate is not None:
                    annotate(batch)
                n_rows += batch.num_rows
                empty += pc.sum(pc.equal(batch.column("tokens").value_lengths(), 0)).as_py() or 0
            written = self._write_tables({"vocab": vocab, "phrases": phrases, "removed": removed}, stack, force=force)
        if conllu is not None:
            written.append(f"wrote {conllu}: {wording.counted(n_rows, 'document')}")
        listed = None if target is None else write_dropped(str(target), self.dropped, block)
        for line in written:
            reporting.note(line)
        self._describe(empty, listed)
        return {"rows": n_rows, "empty": empty, "dropped": len(self.dropped)}

    def _annotation(self, write: Callable[[str], object]) -> Callable[[pa.RecordBatch], None]:
        """Return the function that writes the documents of a batch in CoNLL-U.

        Raises:
            MissingError: spaCy or its pipeline is not installed, or finds no lemmas.
        """
        from nlpkit.text.spacy_tokens import SpacyTokens, conllu_documents

        spacy, languages = self.result.options.spacy, self.report.languages
        language = languages[0].code if languages else None
        pipeline = SpacyTokens("auto" if spacy is None else spacy.model, lemma=True, language=language)

        def annotate(batch: pa.RecordBatch) -> None:
            texts = batch.column("text").to_pylist()
            ids = batch.column("id").to_pylist()
            for lines in conllu_documents(ids, texts, pipeline.words(texts), pipeline.language):
                write(lines)

        return annotate

    def _write_tables(self, targets: Mapping[str, Any], stack: ExitStack, *, force: bool) -> list[str]:
        """Write the tables that have a name; return what to say of them. They appear when the stack is closed, with the documents."""
        lines = []
        for name, target in targets.items():
            if target is None:
                continue
            if name == "vocab":
                kind, table = "vocab", self.vocabulary()
                what = f"{wording.counted(table.num_rows, 'term')}; use it with `vocab`"
            elif name == "phrases":
                kind, joined = PHRASES, self.phrases()
                if joined is None:
                    continue
                table, what = joined, f"{wording.counted(joined.num_rows, 'phrase')}; use it with `phrase_file`"
            else:
                kind, table = "removed_terms", self.removed()
                what = f"{wording.counted(table.num_rows, 'term')} that went, with the reason"
            sink = stack.enter_context(
                table_sink(target, table.schema, {**self.result.block, "kind": kind}, force=force)
            )
            for batch in table.to_batches():
                sink.write(batch)
            lines.append(f"wrote {target}: {what}")
        return lines

    def _describe(self, empty: int, listed: Path | None) -> None:
        """Say what was done to rows and words."""
        result = self.result
        warn_dropped(result.stream, listed)
        n_duplicates = result.rows.counts["dedupe"]
        if n_duplicates:
            reporting.note(f"{wording.counted(n_duplicates, 'document')} left out: they are duplicates")
        note_tokens(result.fitted.report, result.options)
        if empty:
            keep = "keeps its row" if empty == 1 else "keep their rows"
            reporting.note(f"{wording.counted(empty, 'document')} without a token {keep}")
        if n_duplicates and listed is not None:
            reporting.note(f"what was left out is listed in {listed}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.result.documents.close()


@takes(ReadOptions)
def preprocess(
    data: Any,
    *,
    tokens: DocumentTextOptions | TextOptions | None = None,
    rows: RowOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> PreprocessedCorpus:
    """Return documents with their tokens.

    nlpkit reads and tokenises the texts during the call, and reads the documents from a copy afterwards, batch by batch.

    Args:
        data: a Corpus, texts, or a data frame.
        tokens: how texts become tokens.
        rows: which rows there are.
        execution: number of threads.
        settings: fields of these records, such as min_df=5, lemma="dict", and of ReadOptions, such as where="climate".

    Raises:
        UsageError: options that are unknown or contradict each other, or one share of the documents; InputError: there are no
            documents, or no term is left.

    Example:
        >>> tokens = nk.preprocess(["The cats were sitting on the mats."], language="en")
        >>> tokens.table()["tokens"].to_pylist()
        [['cats', 'sitting', 'mats']]
    """
    corpus = as_corpus(data)
    records = (tokens or DocumentTextOptions(), rows, execution, corpus.options)
    tokens, rows, execution, read = with_settings(records, settings, (TokenOptions, RowOptions, Execution, ReadOptions))
    if read.shard is not None:
        raise UsageError(
            "`shard`: the vocabulary depends on all documents; write the part with map_documents and combine "
            "the parts with merge",
            parameter="shard",
        )
    options, plan = preprocess_options(tokens), rows.plan()
    corpus = replace(corpus, options=read)
    with corpus.open() as stream:
        kept = Rows(stream, plan, None if options.language in ("auto", "none") else options.language)
        documents = encode(kept, options, threads=execution.n_threads(), recut=True)
        assert documents.fitted is not None
        parameters = {**row_parameters(read, plan), **token_parameters(options, documents.fitted.report)}
        block = source_block("documents", stream, command="preprocess", parameters=parameters)
    result = Preprocessed(documents, documents.fitted, options, kept, stream, block)
    return PreprocessedCorpus(options=ReadOptions(), spool_directory=corpus.spool_directory, result=result)


def row_parameters(read: ReadOptions, plan: RowPlan) -> dict[str, Any]:
    """Return what the footer says of the documents that were taken and the rows that they became."""
    return {"where": read.where, "keep_if": read.keep_if, "sample": read.sample, **plan.parameters()}


def preprocess_plan(
    *,
    tokens: DocumentTextOptions | TextOptions | None = None,
    rows: RowOptions | None = None,
    read: ReadOptions | None = None,
    **settings: Any,
) -> list[Step]:
    """Return what `preprocess` would do, in its order: (step, what it does, the parameter that changes it).

    Raises:
        UsageError: options that are unknown or contradict each other.
    """
    records = (tokens or DocumentTextOptions(), rows, read)
    tokens, rows, read = with_settings(records, settings, (TokenOptions, RowOptions, ReadOptions))
    return [*selection_steps(read), *plan_steps(rows.plan(), preprocess_options(tokens))]
