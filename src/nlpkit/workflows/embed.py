"""Texts to sentence embeddings, in a stream or in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from nlpkit import reporting
from nlpkit.embed.encoder import Encoder
from nlpkit.embed.options import DocumentMethodOptions, SbertOptions
from nlpkit.io.corpora import DocumentStream
from nlpkit.io.run_reading import check_encoder
from nlpkit.io.spool import Spool, spool_in
from nlpkit.parameters import Execution, with_settings
from nlpkit.workflows.corpus import Corpus, as_corpus, no_documents
from nlpkit.workflows.embeddings import EmbedTotals, embed_batches, encoder_parameters
from nlpkit.workflows.model import Predictions
from nlpkit.workflows.static import tune_encoder
from nlpkit.workflows.word_means import WordMeans, embed_by_words


class EmbeddedDocuments(Predictions):
    """Documents with the column 'embedding'."""

    command, gives = "sbert-embed", "embeddings"

    def __init__(
        self, stream: DocumentStream, encoder: Encoder, *, normalize: bool, read: Iterable[pa.RecordBatch] | None = None
    ) -> None:
        """Take documents and their encoder. read: the batches of the stream, where they are read already."""
        super().__init__(encoder.name, stream, None)
        self.encoder, self._normalize, self._totals = encoder, normalize, EmbedTotals()
        self._read = stream if read is None else read

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the documents with their embeddings."""
        yield from embed_batches(iter(self._read), self.encoder, self._totals, normalize=self._normalize)
        if not self._totals.docs:
            raise no_documents(self.stream)
        reporting.note(self._totals.describe(self.encoder))

    def parameters(self) -> dict[str, Any]:
        """Return the encoder, and how much was encoded."""
        return {**encoder_parameters(self.encoder, normalize=self._normalize), **self._totals.as_dict()}

    def summary(self) -> dict[str, Any]:
        """Return how much was encoded, by which encoder."""
        counts = {**self._totals.as_dict(), **encoder_parameters(self.encoder, normalize=self._normalize)}
        return {**counts, "dropped": len(self.dropped), "device": self.encoder.device}

    def report(self) -> None:
        """Say nothing more: how much was encoded is said as soon as it is known."""


@contextmanager
def embed_batched(
    corpus: Corpus,
    *,
    options: SbertOptions,
    kind: DocumentMethodOptions | None = None,
    normalize: bool = True,
    execution: Execution,
) -> Iterator[EmbeddedDocuments | WordMeans]:
    """Return a context with the documents and their embeddings, made batch by batch. Raises what `embed` raises."""
    kind = kind or DocumentMethodOptions()
    kind.check(options)
    if kind.method != "sbert":
        with embed_by_words(corpus, options=kind, normalize=normalize, execution=execution) as documents:
            yield documents
        return
    check_encoder(options.encoder, verify=execution.verify)
    with corpus.open() as stream, spool_in(stream.spool_directory) as spool:
        if options.static_sample() is None:
            yield EmbeddedDocuments(stream, options.load(execution.n_threads()), normalize=normalize)
            return
        encoder = _tuned(stream, spool, options, execution) or options.load(execution.n_threads())
        yield EmbeddedDocuments(stream, encoder, normalize=normalize, read=spool)


def _tuned(stream: DocumentStream, spool: Spool, options: SbertOptions, execution: Execution) -> Encoder | None:
    """Return a static encoder tuned on documents, which are put into a spool; None where the encoder is static already."""
    n_docs = 0

    def texts() -> Iterator[list[str | None]]:
        nonlocal n_docs
        for batch in stream:
            spool.write(batch)
            n_docs += batch.num_rows
            yield batch.column("text").to_pylist()
        if not n_docs:
            raise no_documents(stream)

    model = tune_encoder(texts(), options, execution)
    if model is not None:
        return model.encoder(threads=execution.n_threads(), max_tokens=options.max_tokens)
    for batch in stream:
        spool.write(batch)
    return None


def embed(
    data: Any,
    *,
    options: SbertOptions | None = None,
    kind: DocumentMethodOptions | None = None,
    normalize: bool = True,
    execution: Execution | None = None,
    **settings: Any,
) -> Corpus:
    """Return documents with their embeddings, column 'embedding' (float32, of length 1 unless `normalize` is False).

    They are sentence embeddings by a model (sbert), means of word vectors (mean-words; Σ_v n_v x_v / Σ_v n_v over the words that have
    one, 0 without any), or doc2vec's. doc2vec has vectors of the documents that it learned from, and of no others.

    Args:
        data: a Corpus, texts, or a data frame.
        options: which model, and how. kind: the method, and the word vectors.
        normalize: whether each vector is divided by its length.
        execution: threads; the result does not depend on them.
        settings: single fields of these records, such as encoder="path/to/model", or method="mean-words", vectors="vectors/".

    Raises:
        MissingError: the extra `neural` or the model is not there; InputError: there are no documents.
    """
    options, kind, execution = with_settings(
        (options, kind, execution), settings, (SbertOptions, DocumentMethodOptions, Execution)
    )
    with embed_batched(
        as_corpus(data), options=options, kind=kind, normalize=normalize, execution=execution
    ) as embedded:
        return embedded.collect()
