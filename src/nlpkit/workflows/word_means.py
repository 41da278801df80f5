"""Document vectors that come of words: their mean, or doc2vec."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.embed.options import DocumentMethodOptions
from nlpkit.errors import InputError
from nlpkit.io.corpora import DocumentStream
from nlpkit.io.documents import embedding_column, embedding_matrix
from nlpkit.io.runs import open_run
from nlpkit.io.word_vectors import KIND, read_word_vectors
from nlpkit.parameters import Execution
from nlpkit.text.options import CountOptions
from nlpkit.types import CsrMatrix, Float32Array
from nlpkit.words.learn import learn
from nlpkit.words.options import WordEmbeddingOptions
from nlpkit.words.vectors import unit_rows
from nlpkit.workflows.corpus import Corpus
from nlpkit.workflows.counts import CountedCorpus, count_corpus
from nlpkit.workflows.passes import ColumnMaker, Pass, WithColumns
from nlpkit.workflows.tokens import counting_options

DOC2VEC = WordEmbeddingOptions(method="doc2vec-dbow", epochs=20, min_count=2)


class WordMeanMaker(ColumnMaker):
    """Documents with the column 'embedding', made of their words; all are read before the first is given."""

    command, gives = "sbert-embed", "embeddings"

    def __init__(
        self, stream: DocumentStream, options: DocumentMethodOptions, *, normalize: bool, execution: Execution
    ) -> None:
        super().__init__(options.method, stream, execution.seed)
        self._options, self._normalize, self._execution = options, normalize, execution
        self._counts = {"docs": 0, "without_words": 0, "dim": 0}
        self._fingerprint = hashlib.sha256()

    def columns(self) -> Iterator[WithColumns]:
        """Yield the documents with their embeddings."""
        names = [name for name in self.stream.schema.names if name != "embedding"]
        settings = counting_options(CountOptions(), self.stream)
        with count_corpus(self.stream, settings, columns=names, threads=self._execution.n_threads()) as words:
            vectors = self._of_words(words) if self._options.method == "mean-words" else self._of_documents(words)
            for batch, rows in vectors:
                self._counts["docs"] += len(rows)
                self._counts["without_words"] += int((~rows.any(axis=1)).sum())
                self._counts["dim"] = rows.shape[1]
                column = embedding_column(unit_rows(rows) if self._normalize else rows, self._options.dtype)
                yield batch, {"embedding": column}

    def finish(self) -> None:
        """Warn of documents without a vector."""
        n = self._counts["without_words"]
        if n:
            reporting.warn(f"{wording.counted(n, 'document')} without a word that has a vector: the embedding is 0")

    def _of_words(self, words: CountedCorpus) -> Iterator[tuple[pa.RecordBatch, Float32Array]]:
        """Yield the mean of the vectors of the words of each document, as often as they are there."""
        assert self._options.vectors is not None
        vectors, known = read_word_vectors(self._options.vectors, words.terms)
        self._fingerprint.update(vectors[known].tobytes())
        share = words.cf[known].sum() / max(words.cf.sum(), 1)
        reporting.note(f"{self._options.vectors} has vectors of {wording.percent(share)} of the tokens")
        for batch, counts in words.batches():
            yield batch, word_means(counts, vectors, known)

    def _of_documents(self, words: CountedCorpus) -> Iterator[tuple[pa.RecordBatch, Float32Array]]:
        """Yield the vectors of doc2vec: of a run, by id, else learned of these documents."""
        source = self._options.vectors
        if source is None:
            learned = learn(words.tokens(), DOC2VEC.resolved(), seed=self._execution.seed)
            assert learned.documents is not None
            matrix, place = learned.documents, None
        else:
            matrix, place = _documents_of(source, verify=self._execution.verify)
        self._fingerprint.update(matrix.tobytes())
        start = 0
        for batch, _ in words.encoded():
            rows = np.arange(start, start + batch.num_rows)
            if place is not None:
                ids = batch.column("id").to_pylist()
                missing = next((name for name in ids if name not in place), None)
                if missing is not None:
                    raise InputError(
                        f"{source} has no document '{missing}'; doc2vec only has vectors of its training documents"
                    )
                rows = np.array([place[name] for name in ids], np.int64)
            start += batch.num_rows
            yield batch, matrix[rows]

    def parameters(self) -> dict[str, Any]:
        """Return the method, what identifies its vectors, and how much was embedded."""
        source = self._options.vectors
        named = self._options.method if source is None else f"{self._options.method} of {source}"
        return {
            "encoder": named, "method": self._options.method, "fingerprint": self._fingerprint.hexdigest(), "max_tokens": None,
            "precision": "fp32", "normalize": self._normalize, **self._counts,
        }  # fmt: skip

    def summary(self) -> dict[str, Any]:
        """Return how much was embedded, and by what."""
        return {**self.parameters(), "dropped": len(self.stream.dropped)}


def word_means(counts: CsrMatrix, vectors: Float32Array, known: Any) -> Float32Array:
    """Return the mean vector of the words of each document (D, E), Σ_v n_dv x_v / Σ_v n_dv over the words that have one; 0 for none.

    Args:
        counts: (D, V) CSR; vectors: (V, E); known: (V,) bool, which words have a vector.
    """
    weights = counts.astype(np.float64)
    sums = weights @ np.where(known[:, None], vectors, 0.0)
    n = weights @ known.astype(np.float64)
    return np.asarray(sums / np.maximum(n, 1.0)[:, None], np.float32)


def _documents_of(path: Path, *, verify: bool) -> tuple[Float32Array, dict[str, int]]:
    """Return the document vectors of a run of doc2vec, and the row of each id."""
    run = open_run(path, [KIND], verify=verify)
    if "documents.parquet" not in run.manifest["outputs"]:
        method = run.model_config("method")["method"]
        raise InputError(f"{path} is a run of {method}, without vectors of documents; name a doc2vec run")
    table = run.table("documents", ["id", "embedding"])
    return embedding_matrix(table.column("embedding"), unit=False), {
        name: row for row, name in enumerate(table.column("id").to_pylist())
    }


@contextmanager
def embed_by_words(
    corpus: Corpus, *, options: DocumentMethodOptions, normalize: bool, execution: Execution
) -> Iterator[Pass]:
    """Return a context with the documents and their embeddings."""
    with corpus.open() as stream:
        yield Pass(WordMeanMaker(stream, options, normalize=normalize, execution=execution))
