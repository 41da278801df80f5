"""Texts to sentence embeddings, in a stream or in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from nlpkit import reporting
from nlpkit.embed.encoder import Encoder
from nlpkit.embed.options import DocumentMethodOptions, SbertOptions
from nlpkit.io.corpora import DocumentStream
from nlpkit.io.run_reading import check_encoder
from nlpkit.parameters import Execution, with_settings
from nlpkit.workflows.corpus import Corpus, as_corpus, no_documents
from nlpkit.workflows.embeddings import EmbedTotals, embed_batches, encoder_parameters
from nlpkit.workflows.model import Predictions
from nlpkit.workflows.word_means import WordMeans, embed_by_words


class EmbeddedDocuments(Predictions):
    """Documents with the column 'embedding'."""

    command, gives = "sbert-embed", "embeddings"
    summed = tuple(EmbedTotals().as_dict())

    def __init__(self, stream: DocumentStream, encoder: Encoder, *, normalize: bool) -> None:
        super().__init__(encoder.name, stream, None)
        self.encoder, self._normalize, self._totals = encoder, normalize, EmbedTotals()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the documents with their embeddings."""
        yield from embed_batches(iter(self.stream), self.encoder, self._totals, normalize=self._normalize)
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


def load_encoder(options: SbertOptions, execution: Execution) -> Encoder:
    """Return the encoder of the options. Raises MissingError when the model or the extra is not there."""
    check_encoder(options.encoder, verify=execution.verify)
    return options.load(execution.n_threads())


@contextmanager
def embed_batched(
    corpus: Corpus,
    *,
    options: SbertOptions,
    kind: DocumentMethodOptions | None = None,
    normalize: bool = True,
    execution: Execution,
    encoder: Encoder | None = None,
) -> Iterator[EmbeddedDocuments | WordMeans]:
    """Return a context with the documents and their embeddings, made batch by batch. Raises what `embed` raises.

    encoder: that of the options, where it has been loaded.
    """
    kind = kind or DocumentMethodOptions()
    kind.check(options)
    if kind.method != "sbert":
        with embed_by_words(corpus, options=kind, normalize=normalize, execution=execution) as documents:
            yield documents
        return
    encoder = encoder or load_encoder(options, execution)
    with corpus.open() as stream:
        yield EmbeddedDocuments(stream, encoder, normalize=normalize)


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
