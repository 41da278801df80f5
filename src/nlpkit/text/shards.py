"""Preprocess in parts: each part holds all words of its texts, and the words that stay are chosen when the parts are put together."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import token_ids
from nlpkit.platform.documents.corpus import Corpus, warn_dropped
from nlpkit.platform.documents.inputs import DroppedRow, InputInfo
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import shard_block
from nlpkit.platform.documents.shard_files import ShardFile, merged_dropped
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.footers import SHARD
from nlpkit.platform.runs.provenance import source_block
from nlpkit.platform.runs.tables import table_sink, write_dropped
from nlpkit.text.language import SAMPLE_DOCS, LanguageShare
from nlpkit.text.options import DocumentTextOptions, RowOptions, TextOptions
from nlpkit.text.preprocess import Preprocessor, first_texts
from nlpkit.text.run import Preprocessed, PreprocessedCorpus, Rows, row_parameters
from nlpkit.text.sentences import unit_batch
from nlpkit.text.settings import preprocess_options
from nlpkit.text.tokens import (
    CODES,
    EncodedDocuments,
    codes_array,
    codes_of,
    cut_share,
    option_parameters,
    token_parameters,
    tokens_schema,
    with_tokens,
)
from nlpkit.text.vocab import CountedTerms, EncodedBatch, Frequencies

KIND = "words"  # a part has words that do not stay, so it is no table of documents


def write_preprocessed_shard(
    corpus: Corpus,
    target: str | Path,
    *,
    tokens: TextOptions,
    rows: RowOptions,
    execution: Execution,
    force: bool = False,
) -> dict[str, Any]:
    """Write the documents of a share with all their words; return the numbers of documents and of dropped rows.

    Raises:
        UsageError: duplicates are to go, which are looked for in all documents; InputError: there are no documents.
    """
    if rows.dedupe is not None:
        raise UsageError(
            f"`dedupe={rows.dedupe}` compares all documents, and a part has only some; remove duplicates from the "
            "whole input first with `preprocess(dedupe)`, then divide its output",
            parameter="dedupe",
        )
    options, plan = preprocess_options(tokens), rows.plan()
    preprocessor = Preprocessor(options)
    with corpus.open() as stream:
        share = stream.share
        assert share is not None
        language = None if options.language in ("auto", "none") else options.language
        units = stream.opening if plan.unit is None else [unit_batch(b, plan.unit, language) for b in stream.opening]
        sample = islice(chain.from_iterable(first_texts(b.column("text"), SAMPLE_DOCS) for b in units), SAMPLE_DOCS)
        documents = cut_share(Rows(stream, plan, language), preprocessor, list(sample), threads=execution.n_threads())
        try:
            parameters = {**row_parameters(corpus.options, plan), **option_parameters(options)}
            block = source_block(KIND, stream, command="preprocess", parameters=parameters)
            block = shard_block(block, share, counts=(), dropped=len(stream.dropped))
            block[SHARD] |= {
                "tokens": _written(tokens),
                "languages": [[one.code, one.share] for one in preprocessor.languages],
                "replaced": preprocessor.replaced,
                "pipeline": preprocessor.pipeline,
            }
            with table_sink(target, tokens_schema(documents.schema, None), block, force=force) as sink:
                for batch in with_tokens(documents):
                    sink.write(batch)
        finally:
            documents.close()
        warn_dropped(stream, write_dropped(str(target), stream.dropped, block))
    n_terms = wording.counted(len(documents.terms), "different word")
    reporting.note(f"{wording.counted(documents.n_docs, 'document')}, {n_terms}; `merge()` selects the final terms")
    return {"rows": documents.n_docs, "dropped": len(stream.dropped)}


@dataclass(frozen=True, slots=True)
class _Parts:
    """The documents of all parts, with their words as numbers in order of first appearance."""

    parts: Sequence[ShardFile]
    known: dict[str, int] = field(default_factory=dict)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for part in self.parts:
            for batch in part.batches(encoded=True):
                ids = EncodedBatch(*token_ids(batch.column("tokens"), self.known))
                yield batch.append_column(CODES, codes_array(ids))

    def close(self) -> None:
        """Do nothing: the files stay."""


@dataclass(frozen=True, slots=True)
class _Merged:
    """Where the documents of the parts come from."""

    where: str
    inputs: Sequence[InputInfo]
    dropped: list[DroppedRow]
    counts: Counter[str] = field(default_factory=Counter)


def merge_preprocessed(parts: Sequence[ShardFile]) -> PreprocessedCorpus:
    """Return the documents of all parts with the tokens that stay.

    Raises:
        InputError: a part is corrupt, a file that the options name has changed, or no term is left; UsageError: as `preprocess`.
    """
    first = parts[0]
    options = preprocess_options(_read(first.details["tokens"]))
    recorded = {name: first.block["parameters"].get(name) for name in option_parameters(options)}
    changed = [name for name, value in _as_json(option_parameters(options)).items() if value != recorded[name]]
    if changed:
        raise InputError(
            f"a file that `{changed[0]}` names has changed since the parts were made; make them again, or put the file back"
        )
    replayed, counts = _Parts(parts), Frequencies()
    for batch in replayed:
        counts.count(codes_of(batch.column(CODES)), len(replayed.known))
    terms = list(replayed.known)
    preprocessor = Preprocessor(options)
    preprocessor.take_counts(
        CountedTerms(terms, counts.cf(len(terms)), counts.df(len(terms)), counts.n_docs),
        [LanguageShare(code, share) for code, share in first.details["languages"]],
        replaced=any(part.details["replaced"] for part in parts),
        pipeline=first.details["pipeline"],
    )
    fitted = preprocessor.finish(lambda: (codes_of(batch.column(CODES)) for batch in replayed))
    documents = EncodedDocuments(fitted.terms, fitted.cf, fitted.df, counts.n_docs, first.schema, fitted, 0, replayed)
    inputs = [InputInfo(**{"reading": {}, **entry}) for entry in first.block["inputs"]]
    source = _Merged(", ".join(one.path for one in inputs), inputs, merged_dropped(parts))
    parameters = {**first.block["parameters"], **token_parameters(options, fitted.report)}
    block = {**first.block, "kind": "documents", "parameters": parameters}
    result = Preprocessed(documents, fitted, options, source, source, block)
    return PreprocessedCorpus(options=ReadOptions(), result=result)


def _written(tokens: TextOptions) -> dict[str, Any]:
    """Return the options that are not the defaults as JSON has them."""
    values = {f.name: getattr(tokens, f.name) for f in fields(tokens) if getattr(tokens, f.name) != f.default}
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def _read(tokens: Mapping[str, Any]) -> DocumentTextOptions:
    """Return the options that `_written` gives."""
    values: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in tokens.items()}
    return DocumentTextOptions(**values)


def _as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json.dumps(values)))
