"""Documents similar to a text or to each other: the nearest ones, and all close pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.cluster.neighbours import DISTANCES_BLOCK_ROWS as BLOCK_ROWS
from nlpkit.cluster.neighbours import Metric, Pairs, close_pairs, nearest_rows
from nlpkit.cluster.vectors import DocumentVectors, check_vector_options, read_vectors
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, UsageError
from nlpkit.explore.similar.options import SimilarOptions
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import as_corpus, read_corpus, warn_dropped
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.provenance import source_block
from nlpkit.platform.runs.reading import corpus_of, read_as_then
from nlpkit.platform.runs.runs import open_run
from nlpkit.platform.runs.tables import table_sink, write_dropped
from nlpkit.platform.types import FloatArray, LongArray
from nlpkit.text.options import TokenOptions
from nlpkit.weights.options import WeightOptions

TEXT_CHARS = 100
_NO_PAIRS: Pairs = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


class SimilarDocuments(ABC, Tabular):
    """Documents with how similar they are."""

    vectors: DocumentVectors
    options: SimilarOptions
    metric: Metric

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of the table."""

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the table."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the result in plain values."""

    def table(self) -> pa.Table:
        """Return the rows as one table."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table, batch by batch.

        Raises:
            UsageError: the suffix of the name is not one of a table; OutputExistsError: it is there.
        """
        source, options, rows = self.vectors.source, self.options, 0
        search = {"metric": options.metric, "p": options.p, "pairs": options.pairs, "top": options.top}
        block = source_block(
            "similar_documents", source, command="similar", parameters={**self.vectors.parameters, **search}
        )
        with table_sink(target, self.schema, block, force=force) as sink:
            for batch in self.batches():
                sink.write(batch)
                rows += batch.num_rows
        warn_dropped(source, write_dropped(str(target), source.dropped, block))
        if str(target) != "-":
            reporting.note(f"wrote {target}: {wording.counted(rows, 'row')}")

    def facts(self) -> dict[str, Any]:
        """Return by what documents were compared, and how many."""
        p = {} if self.metric.p is None else {"p": self.metric.p}
        return {"by": self.options.by, "metric": self.metric.name, **p, "documents": len(self.vectors.rows)}

    def id_of(self, place: int) -> str:
        """Return the id of the document of a vector."""
        return str(self.vectors.table.column("id")[int(self.vectors.rows[place])].as_py())

    def start_of(self, place: int) -> str:
        """Return the first words of the document of a vector."""
        text = self.vectors.table.column("text")[int(self.vectors.rows[place])].as_py()
        return wording.truncated(" ".join(text[: 4 * TEXT_CHARS].split()), TEXT_CHARS)


@dataclass(frozen=True, slots=True)
class NearestDocuments(SimilarDocuments):
    """The documents nearest to each query: places (Q lists) among the vectors and their similarity or distance, nearest first."""

    vectors: DocumentVectors
    options: SimilarOptions
    metric: Metric
    queries: list[str]
    places: list[LongArray]
    values: list[FloatArray]

    def __repr__(self) -> str:
        nearest = wording.counted(sum(map(len, self.places)), "document")
        return wording.described(self, f"{nearest} nearest to {wording.counted(len(self.queries), 'query', 'queries')}")

    @property
    def schema(self) -> pa.Schema:
        """query, rank, id, similarity or distance."""
        columns = [("query", pa.string()), ("rank", pa.int32()), ("id", pa.string())]
        return pa.schema([*columns, (self.metric.value, pa.float64())])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each query."""
        ids = self.vectors.table.column("id").take(pa.array(self.vectors.rows)).combine_chunks()
        for query, places, values in zip(self.queries, self.places, self.values, strict=True):
            n = len(places)
            columns = [[query] * n, np.arange(1, n + 1, dtype=np.int32), ids.take(pa.array(places)), values]
            yield pa.RecordBatch.from_arrays(
                [pa.array(c, f.type) for c, f in zip(columns, self.schema, strict=True)], schema=self.schema
            )

    def nearest(self, query: int) -> list[dict[str, Any]]:
        """Return rank, id, similarity or distance, and the first words of the documents nearest to a query, by its number."""
        return [
            {"rank": rank, "id": self.id_of(place), self.metric.value: float(value), "text": self.start_of(place)}
            for rank, (place, value) in enumerate(zip(self.places[query], self.values[query], strict=True), 1)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the nearest documents of each query."""
        queries = [{"query": query, "nearest": self.nearest(number)} for number, query in enumerate(self.queries)]
        return {**self.facts(), "queries": queries}


@dataclass(slots=True)
class DocumentPairs(SimilarDocuments):
    """All pairs of documents that are close enough, found while they are taken; numbers are complete when all batches were.

    n_pairs: pairs; best: the closest ones.
    """

    vectors: DocumentVectors
    options: SimilarOptions
    metric: Metric
    threads: int
    n_pairs: int = 0
    best: Pairs = _NO_PAIRS
    complete: bool = False

    @property
    def schema(self) -> pa.Schema:
        """id, other_id, similarity or distance."""
        return pa.schema([("id", pa.string()), ("other_id", pa.string()), (self.metric.value, pa.float64())])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the pairs in the order of the documents."""
        ids = self.vectors.table.column("id").take(pa.array(self.vectors.rows)).combine_chunks()
        points, n_pairs, best = self.vectors.points, 0, _NO_PAIRS
        assert self.options.pairs is not None
        with reporting.progress("documents", len(self.vectors.rows)) as update:
            for done, pairs in enumerate(close_pairs(points, self.metric, self.options.pairs, threads=self.threads), 1):
                i, j, values = pairs
                n_pairs += len(i)
                best = self._closest(_joined(best, pairs))
                if len(i):
                    columns = [ids.take(pa.array(i)), ids.take(pa.array(j)), pa.array(values)]
                    yield pa.RecordBatch.from_arrays(columns, schema=self.schema)
                update(min(done * BLOCK_ROWS, len(self.vectors.rows)))
        self.n_pairs, self.best, self.complete = n_pairs, best, True

    def _closest(self, pairs: Pairs) -> Pairs:
        i, j, values = pairs
        order = np.lexsort((j, i, -values if self.metric.is_similarity else values))[: self.options.top]
        return i[order], j[order], values[order]

    def closest(self) -> list[dict[str, Any]]:
        """Return the closest pairs with their first words, closest first; looks for them where nobody has."""
        if not self.complete:
            for _ in self.batches():
                pass
        return [
            {"id": self.id_of(i), "other_id": self.id_of(j), self.metric.value: float(value), "text": self.start_of(i),
             "other_text": self.start_of(j)}
            for i, j, value in zip(*self.best, strict=True)
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the number of pairs and the closest ones."""
        closest = self.closest()
        return {**self.facts(), "threshold": self.options.pairs, "n_pairs": self.n_pairs, "pairs": closest}


def _joined(some: Pairs, others: Pairs) -> Pairs:
    i, j, values = (np.concatenate(parts) for parts in zip(some, others, strict=True))
    return i, j, values


def check_search(queries: Sequence[str], options: SimilarOptions) -> Metric:
    """Return the metric; refuse what cannot be looked for, before anything is read.

    Raises:
        UsageError: no query, an empty one, or one beside `pairs`; an unknown metric.
    """
    if options.pairs is not None and queries:
        raise UsageError("`pairs` compares all documents with each other; leave the query out", parameter="pairs")
    if options.pairs is None and not (queries or options.ids or options.texts):
        raise UsageError(
            "no query is given; add a text, a document (`ids`), a file (`texts`), or search for similar pairs "
            "(`pairs=0.9`)"
        )
    for query in queries:
        if not query.strip():
            raise UsageError("a query is empty; give a text")
    return Metric(options.metric, options.p)


def files_to_search(
    docs: str, read: ReadOptions, encoder: EncoderOptions, *, verify: bool = True
) -> tuple[list[str], ReadOptions, EncoderOptions]:
    """Return the files of documents that are named, how they are read, and the encoder.

    For a run of a topic model these are the files that it was fitted to, read as then, and its encoder, where none is named.

    Raises:
        InputError: they are not there any more, or have changed.
    """
    folder = Path(docs)
    if not (folder / MANIFEST).is_file() or not (folder / "topics.parquet").is_file():
        return [docs], read, encoder
    run = open_run(folder, verify=verify)
    name = (run.model_config().get("encoder") or {}).get("encoder")
    if encoder == EncoderOptions() and name is not None:
        encoder = EncoderOptions(encoder=name)
    return corpus_of(run), read_as_then(run, read), encoder


def similar(
    data: Any,
    query: str | Sequence[str] = (),
    *,
    options: SimilarOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    tokens: TokenOptions | None = None,
    weights: WeightOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> NearestDocuments | DocumentPairs:
    """Return the documents nearest to texts or to other documents, or with `pairs` all pairs that are close.

    Every distance is exact; pairs are compared in blocks, so that memory does not grow with their number.

    Args:
        data: a Corpus, texts, or a data frame.
        query: a text, or several.
        options: documents and files that are queries, the vectors, the metric.
        encoder: which model makes embeddings; tokens, weights: how tf-idf is made.
        execution: threads; the result does not depend on them.
        settings: single fields of these records, such as ids=["news-0001"], by="tfidf", pairs=0.9.

    Raises:
        UsageError: see `check_search`; InputError: no documents, an unknown id, or a query without a word that counts.

    Example:
        >>> nearest = nk.similar(["a cat sleeps", "prices rose", "the cat purrs"], "cat", by="tfidf", min_df=1)
        >>> nearest.table()["id"].to_pylist()
        ['row:1', 'row:3', 'row:2']
    """
    records = (
        options or SimilarOptions(), EncoderOptions.from_value(encoder), tokens or TokenOptions(), weights or WeightOptions(),
        execution or Execution(),
    )  # fmt: skip
    options, embedding, tokens, weights, execution = with_settings(records, settings)
    texts = [query] if isinstance(query, str) else list(query)
    metric = check_search(texts, options)
    check_vector_options(options.by, embedding, tokens, weights)
    files = [_text_of(file) for file in options.texts]
    vectors = read_vectors(
        as_corpus(data), by=options.by, unit=metric.is_similarity, encoder=embedding, tokens=tokens, weights=weights,
        execution=execution, ids=options.ids,
    )  # fmt: skip
    if options.pairs is not None:
        return DocumentPairs(vectors, options, metric, execution.n_threads())
    names, places, values = [], [], []
    if options.ids:
        of_ids = np.array([_place_of(id_, vectors) for id_ in options.ids], np.int64)
        index, value = nearest_rows(
            vectors.points[of_ids], vectors.points, metric, k=options.top + 1, threads=execution.n_threads()
        )
        for row, place in enumerate(of_ids):
            others = np.flatnonzero(index[row] != place)[: options.top]
            names.append(options.ids[row])
            places.append(index[row][others].astype(np.int64))
            values.append(value[row][others])
    if texts or files:
        points = vectors.of_texts([*texts, *files])
        named = [*texts, *options.texts]
        for name, lengths in zip(named, (points * points).sum(axis=1), strict=True):
            if not lengths:
                raise InputError(
                    f"no word of the query '{wording.truncated(name, 60)}' occurs in these documents; try other "
                    "words, or `by=embedding`"
                )
        index, value = nearest_rows(points, vectors.points, metric, k=options.top, threads=execution.n_threads())
        names, places, values = [*names, *named], [*places, *index.astype(np.int64)], [*values, *value]
    return NearestDocuments(vectors, options, metric, names, places, values)


def _text_of(file: str) -> str:
    """Return the text of a file. Raises InputError when it cannot be read or has none."""
    texts = read_corpus(file, options=ReadOptions(txt_docs="file")).table().column("text").to_pylist()
    text = "\n".join(texts)
    if not text.strip():
        raise InputError(f"{file} has no text to look for")
    return text


def _place_of(id_: str, vectors: DocumentVectors) -> int:
    """Return which vector is that of a document that is there. Raises InputError when it has none."""
    row = pc.index(vectors.table.column("id"), id_).as_py()
    place = int(np.searchsorted(vectors.rows, row))
    if place == len(vectors.rows) or vectors.rows[place] != row:
        raise InputError(
            f"the document '{id_}' has no text or no usable word, so nothing is similar to it", parameter="ids"
        )
    return place
