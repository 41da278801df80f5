"""Texts to sentence embeddings, in a stream or in memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting
from nlpkit.embed.encoder import Encoder
from nlpkit.embed.options import DocumentMethodOptions, SbertOptions
from nlpkit.errors import InputError, UsageError
from nlpkit.interrupts import report_checkpoint_on_interrupt
from nlpkit.io.checkpoints import check_unfinished
from nlpkit.io.corpora import DocumentStream
from nlpkit.io.documents import embedding_column
from nlpkit.io.run_reading import check_encoder
from nlpkit.io.spool import Spool, spool_in
from nlpkit.io.tables import table_format
from nlpkit.io.vector_store import VectorStore, remove_store, stored_identity
from nlpkit.parameters import Execution, with_settings
from nlpkit.plain import to_json
from nlpkit.workflows.corpus import Corpus, as_corpus, no_documents
from nlpkit.workflows.encoders import EmbedTotals, embed_batches, encoder_parameters, open_encoder
from nlpkit.workflows.passes import ColumnMaker, Pass, WithColumns
from nlpkit.workflows.static import tune_encoder
from nlpkit.workflows.word_means import embed_by_words


class EmbeddingMaker(ColumnMaker):
    """Documents with the column 'embedding'."""

    command, gives = "sbert-embed", "embeddings"
    summed = tuple(EmbedTotals().as_dict())

    def __init__(
        self, stream: DocumentStream, encoder: Encoder, *, normalize: bool, dtype: str, read: Iterable[pa.RecordBatch] | None = None
    ) -> None:  # fmt: skip
        """Take documents and their encoder. read: the batches of the stream, where they are read already."""
        super().__init__(encoder.name, stream, None)
        self.encoder, self._normalize, self._dtype, self._totals = encoder, normalize, dtype, EmbedTotals()
        self._read = stream if read is None else read

    def columns(self) -> Iterator[WithColumns]:
        """Yield the documents with their embeddings."""
        documents = iter(self._read)
        return embed_batches(documents, self.encoder, self._totals, normalize=self._normalize, dtype=self._dtype)

    def finish(self) -> None:
        """Say how much was encoded."""
        reporting.note(self._totals.describe(self.encoder))

    def parameters(self) -> dict[str, Any]:
        """Return the encoder, and how much was encoded."""
        made_by = encoder_parameters(self.encoder, normalize=self._normalize)
        return {**made_by, "dtype": self._dtype, **self._totals.as_dict()}

    def summary(self) -> dict[str, Any]:
        """Return how much was encoded, by which encoder."""
        return {**self.parameters(), "dropped": len(self.stream.dropped), "device": self.encoder.device}


def checked_encoder(options: SbertOptions, execution: Execution) -> Encoder:
    """Return the encoder of the options, with its cache. Raises what `open_encoder` does."""
    check_encoder(options.encoder, verify=execution.verify)
    return open_encoder(options, execution.n_threads())


@contextmanager
def embed_batched(
    corpus: Corpus,
    *,
    options: SbertOptions,
    kind: DocumentMethodOptions | None = None,
    normalize: bool = True,
    checkpoint: Path | None = None,
    resume: bool = False,
    force: bool = False,
    execution: Execution,
    encoder: Encoder | None = None,
) -> Iterator[Pass]:
    """Return a context with the documents and their embeddings, made batch by batch.

    Args:
        checkpoint: the output, beside which embeddings are kept (CHECKPOINT.checkpoint) until the context ends, where there is no
            cache: texts that are equal are then embedded once, and `resume` goes on after an interruption.
        resume: use what is kept there. force: drop it.
        encoder: that of the options, where it has been loaded; nothing is kept beside the output then.

    Raises:
        OutputExistsError: something is kept there, and neither is given. InputError: it is of other inputs or another model.
        UsageError: `resume` without a checkpoint, or with a cache beside one; and what `embed` raises.
    """
    kind = kind or DocumentMethodOptions()
    kind.check(options, normalize=normalize)
    if kind.method != "sbert":
        if resume:
            raise UsageError("`resume` needs `method=sbert`", parameter="resume")
        with embed_by_words(corpus, options=kind, normalize=normalize, execution=execution) as documents:
            yield documents
        return
    if encoder is not None:
        with corpus.open() as stream:
            yield Pass(EmbeddingMaker(stream, encoder, normalize=normalize, dtype=kind.dtype))
        return
    if options.static_sample() is not None:
        if resume:
            raise UsageError(
                "`resume`: a static encoder is tuned again each time and is fast; leave it out", parameter="resume"
            )
        checkpoint = None
    unfinished = _unfinished(checkpoint, options, resume=resume, force=force)
    check_encoder(options.encoder, verify=execution.verify)
    with (
        corpus.open() as stream,
        spool_in(stream.spool_directory) as spool,
        report_checkpoint_on_interrupt("part that is done", unfinished),
    ):
        encoder = None if options.static_sample() is None else _tuned(stream, spool, options, execution)
        if encoder is None:
            encoder = open_encoder(options, execution.n_threads())
        embedding_column(
            np.zeros((0, encoder.dim), np.float32), kind.dtype
        )  # a type that cannot be is refused before any work
        if unfinished is not None:
            encoder.cache = _open_unfinished(unfinished, encoder, corpus)
        read = None if options.static_sample() is None else spool
        yield Pass(EmbeddingMaker(stream, encoder, normalize=normalize, dtype=kind.dtype, read=read))
    if unfinished is not None and unfinished.exists():
        remove_store(unfinished)


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


def check_stored(target: str, dtype: str) -> None:
    """Raise UsageError for a table whose format does not have the type of the embeddings."""
    if dtype != "float32" and (target == "-" or table_format(target) not in ("parquet", "arrow")):
        raise UsageError(
            f"`dtype={dtype}` needs .parquet or .arrow, because text files cannot store small number types; "
            "leave it out, or name such an output"
        )


def _unfinished(checkpoint: Path | None, options: SbertOptions, *, resume: bool, force: bool) -> Path | None:
    """Return the folder in which the embeddings of an output are kept until it is written, None where a cache keeps them."""
    if checkpoint is None:
        if resume and options.cache is None:
            raise UsageError("`resume` continues an `output` that is a file; give it", parameter="resume")
        return None
    path = checkpoint.with_name(f"{checkpoint.name}.checkpoint")
    check_unfinished(path, resume=resume, force=force)
    if path.exists() and not resume:
        remove_store(path)
    if options.cache is None:
        if resume and not path.exists():
            reporting.warn(f"there is no checkpoint {path}: starting from the beginning", always=True)
        return path
    if path.exists():
        raise UsageError(
            f"{path} was started without `cache`; leave `cache` out to continue it, or delete it with `force` "
            "without `resume`"
        )
    return None


def _open_unfinished(path: Path, encoder: Encoder, corpus: Corpus) -> VectorStore:
    """Return the store of an unfinished output, which must be of these inputs and this model.

    Raises:
        InputError: it is not.
    """
    inputs = [name if name == "-" else str(Path(name).absolute()) for name in corpus.inputs]
    identity = json.loads(to_json({**encoder.identity, "inputs": inputs}))
    if path.exists():
        theirs = stored_identity(path)
        for key, now in identity.items():
            if theirs.get(key) != now:
                raise InputError(
                    f"checkpoint {path} belongs to another run: {key.replace('_', ' ')} {theirs.get(key)}, now "
                    f"{now}; give the same input and options, or use `force` without `resume`, which deletes it"
                )
    return VectorStore(path, identity, encoder.whole_dim)


def embed(
    data: Any,
    *,
    options: SbertOptions | None = None,
    kind: DocumentMethodOptions | None = None,
    normalize: bool = True,
    execution: Execution | None = None,
    **settings: Any,
) -> Corpus:
    """Return documents with their embeddings, column 'embedding' (of length 1 unless `normalize` is False; `dtype` as `embedding_column`).

    They are sentence embeddings by a model (sbert), means of word vectors (mean-words; Σ_v n_v x_v / Σ_v n_v over the words that have
    one, 0 without any), or doc2vec's. doc2vec has vectors of the documents that it learned from, and of no others.

    Args:
        data: a Corpus, texts, or a data frame.
        options: which model, and how. kind: the method, the word vectors, and the type of the numbers.
        normalize: whether each vector is divided by its length.
        execution: threads; the result does not depend on them.
        settings: single fields of these records, such as encoder="path/to/model", or method="mean-words", vectors="vectors/".

    Raises:
        MissingError: the extra `neural` or the model is not there; InputError: there are no documents.

    Example:
        >>> embedded = nk.embed(["A cat sleeps.", "Prices rose."])
        >>> embedded.table().column_names
        ['id', 'text', 'embedding']
    """
    options, kind, execution = with_settings(
        (options, kind, execution), settings, (SbertOptions, DocumentMethodOptions, Execution)
    )
    with embed_batched(
        as_corpus(data), options=options, kind=kind, normalize=normalize, execution=execution
    ) as embedded:
        return embedded.collect()
