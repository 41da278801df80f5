"""Documents as points: their embeddings, tf-idf of their tokens, or numeric columns; and new texts as points of the same space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.embed.embeddings import RunEmbeddings, embedded_by, embeddings_of
from nlpkit.errors import ColumnError, InputError, UsageError, first_line, missing_column
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import embedding_matrix, has_unit_rows
from nlpkit.platform.documents.corpus import Corpus, has_text, no_documents
from nlpkit.platform.runs.artifacts import with_footer
from nlpkit.platform.runs.provenance import source_block
from nlpkit.text.settings import preprocess_options
from nlpkit.text.tokens import changed_token_options
from nlpkit.weights.options import WeightOptions
from nlpkit.weights.run import DocumentTermWeights, tfidf, weights_of

if TYPE_CHECKING:
    from nlpkit.embed.options import EncoderOptions
    from nlpkit.platform.documents.corpora import DocumentStream
    from nlpkit.platform.options import Execution
    from nlpkit.platform.types import FloatArray, LongArray
    from nlpkit.text.options import TokenOptions


@dataclass(frozen=True, slots=True)
class DocumentVectors:
    """Documents with the vectors of those that have one.

    table: the documents (D rows); points: (D', E) float32 or (D', V) CSR float64; rows: (D',) where these are in the table; source:
    what was read; parameters: of the footer; of_texts: gives new texts as points.
    """

    table: pa.Table
    points: Any
    rows: LongArray
    source: DocumentStream
    parameters: dict[str, Any]
    of_texts: Callable[[list[str]], Any]


def check_vector_options(by: str, encoder: EncoderOptions, tokens: TokenOptions, weights: WeightOptions) -> None:
    """Raise UsageError for options of the vectors that are not asked for, which would change nothing."""
    if by == "tfidf":
        encoder.refuse("it makes embeddings, and `by=tfidf` compares words; leave one out")
        weights.weighting()
        return
    names = changed_token_options(preprocess_options(tokens))
    names += [f"`{f.name}`" for f in fields(weights) if getattr(weights, f.name) != getattr(WeightOptions(), f.name)]
    if names:
        raise UsageError(f"{', '.join(names)}: it needs `by=tfidf`, but the vectors are {by}; leave it out")


def read_vectors(
    corpus: Corpus,
    *,
    by: str,
    unit: bool,
    encoder: EncoderOptions,
    tokens: TokenOptions,
    weights: WeightOptions,
    execution: Execution,
    ids: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> DocumentVectors:
    """Return documents with their vectors; those without text, or without a word that counts, have none.

    Args:
        corpus: the documents, which are read into memory.
        by: "embedding" (the column, else made now), "tfidf" or "columns".
        unit: embeddings are scaled to length 1; else they stay as they are.
        encoder, tokens, weights: how the vectors are made.
        execution: threads.
        ids: documents that must be there.
        columns: numeric columns that are the vectors.

    Raises:
        InputError: there are no documents, none has a vector, or an id is unknown; and what `embed` and `tfidf` raise.
    """
    check_vector_options(by, encoder, tokens, weights)
    with corpus.open() as stream:
        made_by = embedded_by(stream) if by == "embedding" else None
        table = stream.read_all()
    if not table.num_rows:
        raise no_documents(stream)
    for id_ in ids:
        _check_id(id_, table.column("id"), stream.where)
    if by == "columns":
        points = np.column_stack([_numbers(table, name, stream.where) for name in columns])
        return DocumentVectors(
            table, points, np.arange(len(points)), stream, {"by": by, "columns": list(columns)}, _no_texts
        )
    of_texts: Callable[[list[str]], Any]
    if by == "tfidf":
        weighted = _weighted(table, stream, tokens, weights, execution)
        points, parameters, of_texts = (
            weighted.matrix,
            dict(weighted.block["parameters"]),
            partial(weights_of, weighted, execution=execution),
        )
        usable = np.asarray((points != 0).sum(axis=1)).ravel() > 0
    else:
        points, made_by = _embeddings(table, made_by, encoder, unit=unit, threads=execution.n_threads())
        parameters = {"encoder": made_by}
        scaled = unit or "embedding" not in table.column_names or has_unit_rows(table.column("embedding"))
        of_texts = _encoder(points, made_by if scaled else None, encoder, stream, execution.n_threads())
        usable = points.any(axis=1)
    usable &= has_text(table.column("text"))
    rows = np.flatnonzero(usable)
    if len(rows) < table.num_rows:
        n_without = wording.counted(table.num_rows - len(rows), "document")
        reporting.note(
            f"left out: {n_without} without {'words that count' if by == 'tfidf' else 'text or with a vector of zeros'}"
        )
    if not len(rows):
        raise InputError(
            f"no document of {stream.where} has a vector: the texts are empty, or the vectors are all zeros"
        )
    return DocumentVectors(table, points[rows], rows, stream, {"by": by, **parameters}, of_texts)


def _check_id(id_: str, ids: pa.ChunkedArray, where: str) -> None:
    """Raise InputError for an id that no document has; names the nearest one."""
    if pc.index(ids, id_).as_py() >= 0:
        return
    near = get_close_matches(id_, ids.to_pylist()[:100_000], n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"the first is '{ids[0].as_py()}'"
    raise InputError(f"no document of {where} has the id '{id_}'; {hint}", parameter="ids")


def _embeddings(
    table: pa.Table, made_by: dict[str, Any] | None, encoder: EncoderOptions, *, unit: bool, threads: int
) -> tuple[Any, dict[str, Any] | None]:
    """Return embeddings (D, E) and what made them."""
    if "embedding" in table.column_names and encoder.encoder is None:
        encoder.refuse(
            "the documents have embeddings already, which this would not change; leave it out, or name the model too"
        )
        return embedding_matrix(table.column("embedding"), unit=unit), made_by
    return embeddings_of(table, made_by, encoder, threads, has_text(table.column("text")))


def _encoder(
    points: Any, made_by: dict[str, Any] | None, encoder: EncoderOptions, stream: DocumentStream, threads: int
) -> Callable[[list[str]], Any]:
    def of_texts(texts: list[str]) -> Any:
        if made_by is None:
            raise InputError(
                "the column 'embedding' does not record its model, or its vectors are not of length 1, so a text "
                "cannot be embedded in the same way. Search by document id (`ids`), or compute the column with "
                "`embed()`"
            )
        source = RunEmbeddings({"encoder": made_by, "dim": points.shape[1]}, encoder, threads, stream)
        return source.encode(texts)

    return of_texts


def _numbers(table: pa.Table, name: str, where: str) -> FloatArray:
    """Return a numeric column (D,).

    Raises:
        ColumnError: it is not there, or holds no numbers; InputError: a row has none.
    """
    if name not in table.column_names:
        raise missing_column(where, name, table.column_names, "feature_cols")
    column = table.column(name)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):  # as CSV has them
        column = pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), None, column)
    try:
        values: FloatArray = column.cast(pa.float64(), safe=False).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ColumnError(
            f"column '{name}' of {where} holds {column.type} and no numbers ({first_line(error)}); name others",
            parameter="feature_cols",
        ) from None
    missing = np.flatnonzero(~np.isfinite(values))
    if len(missing):
        first = table.column("id")[int(missing[0])].as_py()
        raise InputError(
            f"column '{name}' of {where} has {wording.counted(len(missing), 'row')} without a finite number, such as {first}; fill them, "
            f"or leave them out with `preprocess(keep_if='{name} is not null')`",
            parameter="feature_cols",
        )
    return values


def _no_texts(_texts: list[str]) -> Any:
    raise InputError("numeric columns give no vector of a text")


def _weighted(
    table: pa.Table, stream: DocumentStream, tokens: TokenOptions, weights: WeightOptions, execution: Execution
) -> DocumentTermWeights:
    """Return the weights of a table that was read, which says what earlier commands did to it."""
    block = source_block("documents", stream, command="similar", parameters={})
    memory = table.replace_schema_metadata(with_footer(table.schema, block).metadata)
    return tfidf(Corpus(memory=memory), tokens=tokens, weights=weights, execution=execution)
