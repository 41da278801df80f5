"""What neural topic models need beside tokens: embeddings of documents, vectors of words; and topics for new documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.embed.embeddings import RunEmbeddings, embeddings_of
from nlpkit.errors import InputError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import has_text
from nlpkit.platform.options import Execution
from nlpkit.platform.types import BoolArray, IntArray, LongArray, TokenTable
from nlpkit.predict.options import PredictOptions
from nlpkit.topics.base.mixture import DocumentInference, FitSettings, FittedMixture, Inferred, ModelColumns
from nlpkit.topics.base.model import MixtureFit
from nlpkit.topics.base.runs import Additions, TopicCorpus
from nlpkit.topics.neural.embedded import EmbeddedFitter
from nlpkit.topics.neural.etm import EtmFitter
from nlpkit.topics.neural.options import PMI_SVD, RANDOM
from nlpkit.topics.neural.points import check_torch
from nlpkit.weights.dtm import count_terms
from nlpkit.words.files import load_word_vectors, read_word_vectors

FEW_KNOWN = 0.5  # share of the words with a vector below which a warning is due
FEW_DOCUMENTS = 1000  # with words, below which a warning is due: of 416, AMI is .06 (ProdLDA), .05 (ETM), .26 (ZeroShotTM); of LDA .4


def warn_of_few_documents(tokens: TokenTable) -> None:
    """Warn where there are so few documents that a network hardly learns anything."""
    n = int(np.count_nonzero(np.diff(tokens.offsets)))
    if n < FEW_DOCUMENTS:
        reporting.warn(
            f"{wording.counted(n, 'document')} with words, fewer than {FEW_DOCUMENTS:,}, are few for a neural "
            "network, so its topics may be poor; use lda-gibbs, nmf or bertopic"
        )


class EmbeddedColumns(ModelColumns):
    """The embeddings of documents."""

    def prepared(
        self, fitter: EmbeddedFitter, corpus: TopicCorpus, settings: FitSettings
    ) -> tuple[EmbeddedFitter, TopicCorpus, Additions]:
        """Return the fitter with the embeddings of the documents: their column, else made; the corpus without it; their encoder.

        Raises:
            UsageError: options of embeddings that would change nothing; MissingError: the encoder is not there.
        """
        if not fitter.options.embeds:
            settings.encoder.refuse("`inference=bow` infers topics from words alone; leave it out")
            return fitter, corpus, Additions()
        rows, n = corpus.rows, corpus.rows.num_rows
        texts = corpus.texts(range(n))
        columns: dict[str, Any] = {"text": pa.array([texts[d] for d in range(n)], pa.large_string())}
        if "embedding" in rows.column_names:
            columns["embedding"] = rows.column("embedding")
            corpus = replace(corpus, rows=rows.drop_columns(["embedding"]))
        needed = np.diff(corpus.tokens.offsets) > 0
        vectors, made_by = embeddings_of(
            pa.table(columns), corpus.embedded_by, settings.encoder, settings.execution.n_threads(), needed
        )
        facts = {"encoder": made_by, "dim": int(vectors.shape[1])}
        return replace(fitter, embeddings=vectors), corpus, Additions(parameters={"encoder": made_by}, config=facts)

    def restored(self, fitter: EmbeddedFitter, config: Mapping[str, Any]) -> EmbeddedFitter:
        """Return the fitter of a run with embeddings (0, E) of its dimensions. Raises KeyError, TypeError, ValueError."""
        if not fitter.options.embeds:
            return fitter
        if "encoder" not in config:
            raise KeyError("encoder")
        return replace(fitter, embeddings=np.empty((0, int(config["dim"])), np.float32))

    def inference(
        self,
        model: FittedMixture,
        fitter: EmbeddedFitter,
        fit: MixtureFit,
        stream: DocumentStream,
        options: PredictOptions,
        execution: Execution,
    ) -> DocumentInference:
        """Return what gives documents their topics by their embeddings: a text of any words has some where it reads embeddings.

        Raises:
            UsageError, InputError, MissingError: embeddings that are not those of the run.
        """
        source = None
        if fitter.options.embeds:
            source = RunEmbeddings(
                {"encoder": model.config["encoder"], "dim": model.config["dim"]},
                options.encoder,
                execution.n_threads(),
                stream,
            )

        def theta(batch: pa.RecordBatch, new: BoolArray, offsets: LongArray, ids: IntArray) -> Inferred:
            dtm = count_terms(TokenTable(offsets, ids, fit.model.terms))
            if source is None:
                return fitter.theta(fit.weights, dtm, None), np.diff(offsets) > 0
            usable = has_text(pc.fill_null(batch.column("text"), ""))
            return fitter.theta(fit.weights, dtm, source.of_batch(batch, new & usable)), usable

        return DocumentInference(theta)


class CtmColumns(EmbeddedColumns):
    """The embeddings of documents, for a network."""

    def check(self) -> None:
        """Raise MissingError where torch is not installed."""
        check_torch("ctm")

    def prepared(
        self, fitter: EmbeddedFitter, corpus: TopicCorpus, settings: FitSettings
    ) -> tuple[EmbeddedFitter, TopicCorpus, Additions]:
        """Return the fitter with the embeddings of the documents; warn where these are few."""
        warn_of_few_documents(corpus.tokens)
        return super().prepared(fitter, corpus, settings)


class EtmColumns(ModelColumns):
    """The vectors of words."""

    def check(self) -> None:
        """Raise MissingError where torch is not installed."""
        check_torch("etm")

    def prepared(
        self, fitter: EtmFitter, corpus: TopicCorpus, settings: FitSettings
    ) -> tuple[EtmFitter, TopicCorpus, Additions]:
        """Return the fitter with the vectors of the words; warn where documents are few."""
        warn_of_few_documents(corpus.tokens)
        return with_word_vectors(fitter, corpus, settings.execution), corpus, Additions()


def with_word_vectors(fitter: EtmFitter, corpus: TopicCorpus, execution: Execution) -> EtmFitter:
    """Return the fitter with the vectors of the words of a corpus, where the options name a run or a file of them.

    Raises:
        InputError: it cannot be read, or has none of the words.
    """
    source, terms = fitter.options.vectors, corpus.tokens.terms
    if source in (PMI_SVD, RANDOM):
        return fitter
    path = Path(source)
    if path.is_dir():
        everything = load_word_vectors(path, verify=execution.verify)
        rows = everything.rows(terms)
        known, vectors = rows >= 0, everything.vectors[np.maximum(rows, 0)]
        if not known.any():
            raise InputError(f"{path} has none of the {wording.counted(len(terms), 'word')} of the documents")
    elif path.exists():
        vectors, known = read_word_vectors(path, terms)
    else:
        raise InputError(
            f"`vectors={source}`: there is no such file or run; give one, or {PMI_SVD} or {RANDOM}", parameter="vectors"
        )
    n = int(known.sum())
    say = reporting.warn if n < FEW_KNOWN * len(terms) else reporting.note
    say(
        f"{path}: vectors of {wording.count(n)} of the {wording.counted(len(terms), 'word')}; the others start at random"
    )
    return replace(fitter, vectors=vectors, known=known)
