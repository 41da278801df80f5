"""The embedding of documents: by a sentence encoder, a static encoder tuned to them, or their words.

Parts, in this order:
- Static encoders: tuned on the documents that they are to embed, kept in a run, and taken out of it again.
- Document vectors that come of words: their mean, or doc2vec.
- Texts to sentence embeddings, in a stream or in memory.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit.embed.encoder import Encoder
from nlpkit.embed.encoders import (
    EmbedTotals,
    VectorStore,
    embed_batches,
    encoder_parameters,
    open_encoder,
    remove_store,
    stored_identity,
)
from nlpkit.embed.options import DocumentMethodOptions, EncoderOptions, SbertOptions
from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import embedding_column, embedding_matrix
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus, as_corpus, no_documents
from nlpkit.platform.interrupts import report_checkpoint_on_interrupt
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.passes import ColumnMaker, Pass, WithColumns
from nlpkit.platform.runs.reading import check_encoder
from nlpkit.platform.runs.runs import Run, open_run
from nlpkit.platform.runs.tables import Spool, spool_in, table_format
from nlpkit.platform.runs.unfinished import check_unfinished
from nlpkit.platform.types import CsrMatrix, Float32Array
from nlpkit.text.options import CountOptions
from nlpkit.text.tokens import counting_options
from nlpkit.weights.counts import CountedCorpus, count_corpus
from nlpkit.words.files import KIND, read_word_vectors
from nlpkit.words.learn import learn
from nlpkit.words.options import WordEmbeddingOptions
from nlpkit.words.vectors import unit_rows

if TYPE_CHECKING:
    from nlpkit.embed.static import StaticModel

FOLDER = "sentence-transformers"  # in model/ of a run, where `--encoder RUN` looks as well


def tune_encoder(
    parts: Iterable[Sequence[str | None]], options: EncoderOptions, execution: Execution
) -> StaticModel | None:
    """Return a static encoder tuned on a sample of documents, and say how near it is; None where the encoder is static already.

    Args:
        parts: the texts of the documents, some at a time. options: the encoder it is tuned to; `engine` names the size of the sample.

    Raises:
        UsageError: `engine` is not static; InputError: too few different texts; MissingError: the encoder is not there.
    """
    from nlpkit.embed.static import TextSample, tune_static

    size = options.static_sample()
    assert size is not None
    teacher = open_encoder(replace(options, engine="auto"), execution.n_threads())
    if teacher.engine == "static":
        reporting.note(f"{teacher.name} is a static encoder already: it embeds as it is")
        return None
    sample, start = TextSample(size, execution.seed), time.perf_counter()
    for part in parts:
        sample.add([text or "" for text in part])
    with reporting.progress("static encoder", 100, percent=True) as update:
        model = tune_static(
            teacher, sample.texts(), threads=execution.n_threads(), seed=execution.seed,
            progress=lambda percent, stage: update(percent, f"static encoder: {stage}"),
        )  # fmt: skip
    note_static(model, time.perf_counter() - start)
    return model


def note_static(model: StaticModel, seconds: float) -> None:
    """Say how near a static encoder is to the one that it was tuned to, and warn where its clusters are others."""
    scores, plain = model.scores, model.plain
    reporting.note(
        f"static encoder: tuned to {model.teacher['encoder']} on {wording.counted(model.texts, 'text')} in {seconds:,.0f} s. On "
        f"{wording.count(scores.texts)} held-out texts its cosine to the encoder is {scores.cosine:.3f} (without tuning "
        f"{plain.cosine:.3f}), the agreement of {scores.clusters} clusters with the encoder's (AMI) {scores.agreement:.3f} (without "
        f"tuning {plain.agreement:.3f}; two clusterings of the encoder's own vectors {scores.ceiling:.3f})"
    )
    if scores.weak:
        reporting.warn(
            f"the clusters of the static vectors agree with the encoder's to {scores.agreement:.2f}, two "
            f"clusterings of the encoder's own vectors to {scores.ceiling:.2f}: topics will differ from the encoder's. "
            "Embed with `engine=auto`, or tune on a larger sample"
        )


def files_in(run: Run, config: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of the static encoder that a run keeps, by their path below model/; none where it keeps none.

    Raises:
        InputError: a file was changed since the run was written.
    """
    if not (config.get("encoder") or {}).get("static") or f"model/{FOLDER}/modules.json" not in run.manifest["outputs"]:
        return {}
    folder = run.folder(f"model/{FOLDER}")
    return {f"{FOLDER}/{path.name}": path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def encoder_of(
    files: Mapping[str, bytes], config: Mapping[str, Any], options: EncoderOptions, threads: int
) -> Encoder | None:
    """Return the static encoder that a run keeps, None where it keeps none or another encoder is named.

    Args:
        files: as of `files_in`. config: of the run.

    Raises:
        ValueError: the files are damaged.
    """
    if not files or options.encoder is not None:
        return None
    from nlpkit.embed.static import static_encoder
    from nlpkit.embed.token_ids import NO_LIMIT

    most = config["encoder"]["max_tokens"]
    content = {name.removeprefix(f"{FOLDER}/"): data for name, data in files.items()}
    return static_encoder(
        content, config["encoder"]["static"], threads=threads, max_tokens=None if most == NO_LIMIT else most
    )


def files_of(model: StaticModel | None) -> dict[str, bytes]:
    """Return the files of a static encoder by their path below model/, none for None."""
    return {} if model is None else {f"{FOLDER}/{name}": data for name, data in model.files().items()}


# ------------------------------------------------------------------------------------------------------------------------
# Document vectors that come of words: their mean, or doc2vec.

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


# ------------------------------------------------------------------------------------------------------------------------
# Texts to sentence embeddings, in a stream or in memory.


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
