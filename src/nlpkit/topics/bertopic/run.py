"""Topics from sentence embeddings: fitted to documents, kept as a run, and given to new documents.

Parts, in this order:
- What is said while topics are fitted: how far a fit on a sample agrees with one on more documents.
- The model, fitted or loaded.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from nlpkit.cluster.assign import Training, least_similarity
from nlpkit.cluster.hierarchy import LEAST_STABLE
from nlpkit.embed.embeddings import RunEmbeddings, embedded_by, embeddings_of
from nlpkit.embed.encoders import open_encoder
from nlpkit.embed.run import encoder_of, files_in, files_of, tune_encoder
from nlpkit.errors import InputError, MissingError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import embedding_matrix
from nlpkit.platform.documents.corpus import Corpus, as_corpus, has_text, no_documents, no_words, warn_dropped
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.plain import rounded, whole_or_text
from nlpkit.platform.runs.passes import Pass
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.reading import check_encoder
from nlpkit.platform.runs.runs import NewRun, Run, RunTables, new_run, open_run
from nlpkit.predict.options import TOPIC_COLUMNS, PredictOptions
from nlpkit.text.options import TopicTokenOptions
from nlpkit.text.settings import options_from, preprocess_options
from nlpkit.text.tokens import note_tokens, token_info, tokens_of
from nlpkit.topics.base.guide import debiased_tokens, note_debiased
from nlpkit.topics.base.options import NOVELTY_QUANTILE, BertopicOptions
from nlpkit.topics.base.topic_run import TopicRun
from nlpkit.topics.base.topic_tables import (
    doc_topics_table,
    documents_table,
    layer_columns,
    layers_table,
    nearest_vectors,
    read_training,
    topic_terms_table,
    topics_table,
    training_of,
    training_tables,
    tree_table,
    vocab_table,
)
from nlpkit.topics.bertopic.description import DistinctTexts, FitSample, TopicModel, distinct_texts
from nlpkit.topics.bertopic.fit import fit_distinct
from nlpkit.topics.bertopic.guidance import knowledge_of, note_predefined
from nlpkit.topics.bertopic.guided_options import GuidedOptions
from nlpkit.topics.bertopic.library import check_libraries, words_of_bertopic
from nlpkit.topics.bertopic.naming import named_by_phrases
from nlpkit.topics.bertopic.predict import NEAREST, Bound, TopicMaker
from nlpkit.weights.dtm import count_terms, document_frequency

if TYPE_CHECKING:
    from nlpkit.embed.encoder import Encoder
    from nlpkit.embed.options import EncoderOptions
    from nlpkit.embed.static import StaticModel
    from nlpkit.platform.runs.provenance import HasProvenance
    from nlpkit.platform.types import Float32Array, IntArray, TokenTable


def note_sample(sample: FitSample) -> None:
    """Say how many documents were fitted, and how far a fit with more of them agrees."""
    share = "could not be made"
    if np.isfinite(sample.agreement):
        share = (
            f"gives {wording.count(sample.n_compared)} of these the same topics at AMI {sample.agreement:.2f} "
            "(1: the same, 0: by chance)"
        )
    reporting.note(
        f"fitted to {wording.count(sample.n_fitted)} of "
        f"{wording.counted(sample.n_fitted + sample.n_assigned, 'different document')}; the other documents get the "
        f"topics of their neighbours; a second fit with more of them {share}; `fit_sample=N` changes the number"
    )


# ------------------------------------------------------------------------------------------------------------------------
# Topics from sentence embeddings: fit them on documents, keep them as a run, and give new documents their topics.

STAGES = {
    "neighbours": (0, 5, "neighbours"),
    "layout": (5, 95, "layout"),
    "evidence": (5, 90, "their number"),
    "topics": (95, 98, "choice and words"),
    "sample": (98, 100, "second fit"),
}


class BertopicModel(TopicRun):
    """Topics of documents, fitted (`FittedBertopic`) or loaded (`LoadedBertopic`).

    Attributes:
        topics: the topics (K rows): topic, size, share, label, top_terms, stability, scores.
        documents: the documents (D rows) with topic (-1: none), topic_prob, nearest_topic and margin.
        corpus: the documents that it was fitted to, None for a model that was loaded.
    """

    _INTERNAL: ClassVar[tuple[str, ...]] = (
        "static_encoder", "training", "config", "name", "table", "words", "model", "vectors", "of_document", "execution", "encoder",
        "source", "seconds", "guidance", "encoder_files", "lineage", "share_of_documents", "phrase_names",
    )  # fmt: skip

    kind = "bertopic"
    name: str  # in footers and messages
    config: Mapping[str, Any]  # what prediction needs beside tables: dim, n_neighbors, encoder, novelty, languages

    @abstractmethod
    def static_encoder(self, options: EncoderOptions, threads: int) -> Encoder | None:
        """Return the encoder that was tuned on the documents, None where it was not, or where another one is named."""

    @abstractmethod
    def training(self, threads: int) -> Training:
        """Return the distinct training texts with their topics."""

    @contextmanager
    def predict_batches(
        self, corpus: Corpus, *, options: PredictOptions | None = None, execution: Execution | None = None
    ) -> Iterator[Pass]:
        """Return a context with documents and their topics; a text of the fit has the topic that it has there."""
        options, execution = options or PredictOptions(), execution or Execution()
        options.refuse_others(("assign_outliers", "novelty_quantile", "encoder"), "a run of bertopic")
        with corpus.open() as stream:
            training = self.training(execution.n_threads())
            bound = _bound(training, self.config.get("novelty"), options.novelty_quantile)
            encoder = self.static_encoder(options.encoder, execution.n_threads())
            yield Pass(TopicMaker(self.name, self.config, training, bound, stream, options, execution, encoder))


@dataclass(repr=False)
class FittedBertopic(BertopicModel):
    """What `fit_bertopic` returns, with all that a run directory holds.

    Attributes:
        topics: the topics (K rows): topic, size, share, label, top_terms, stability, scores.
        documents: the documents (D rows) with topic (-1: none), topic_prob, nearest_topic and margin.
        options: how the topics were fitted.
        parameters: what the manifest records of the fit.
        corpus: the documents that it was fitted to.
    """

    # table: the documents; words: their tokens; model: the arrays of the fit; vectors (U, E): the different embeddings; of_document
    # (D,): which one each document has, -1 for one without text; guidance: figures of what was known before. encoder_files: of a
    # static encoder that was tuned on the documents. lineage: of topics that were edited, for the manifest. phrase_names: that the fit
    # gave, so that an edit tells them from names by people.

    table: pa.Table
    words: TokenTable
    model: TopicModel
    vectors: Float32Array
    of_document: IntArray
    options: BertopicOptions
    execution: Execution
    parameters: dict[str, Any]
    encoder: dict[str, Any] | None
    source: HasProvenance
    seconds: dict[str, float]
    guidance: dict[str, Any] = field(default_factory=dict)
    encoder_files: Mapping[str, bytes] = field(default_factory=dict)
    name: str = "the model"
    lineage: dict[str, Any] | None = None
    nearest: pa.Table | None = None  # of a model that BERTopic saved: the vectors that decide on new documents
    phrase_names: tuple[str, ...] = ()

    @cached_property
    def config(self) -> dict[str, Any]:  # type: ignore[override]
        """What prediction needs, as model/config.json."""
        model = self.model
        return {
            "kind": "bertopic",
            "n_topics": model.n_topics,
            "labels": list(model.labels),
            "n_neighbors": self.options.n_neighbors,
            "encoder": self.encoder,
            "dim": int(self.vectors.shape[1]),
            "rule_agreement": round(model.rule_agreement, 6),
            "novelty": {
                "quantile": self.options.novelty_quantile,
                "least_similarity": model.least_similarity if np.isfinite(model.least_similarity) else None,
            },
            "languages": (self.parameters["tokens"] or {}).get("languages"),
            **(
                {}
                if self.nearest is None
                else {"rule": NEAREST, "novelty": {"quantile": 1.0, "least_similarity": None}}
            ),
            "phrase_names": list(self.phrase_names),
        }

    @cached_property
    def _tables(self) -> dict[str, pa.Table]:
        cf = np.bincount(self.words.term_ids, minlength=self.words.n_terms)
        return {
            "documents": documents_table(self.table, self.model),
            "topics": topics_table(self.table, self.model, self.words.terms),
            "topic_terms": topic_terms_table(self.model, self.words.terms),
            "doc_topics": doc_topics_table(self.table, self.model),
            "layers": layers_table(self.model, self.words.terms),
            "tree": tree_table(self.model),
            "vocab": vocab_table(self.words.terms, cf, document_frequency(count_terms(self.words))),
        }

    def tables(self) -> Mapping[str, pa.Table]:
        """Return documents, topics, topic_terms, doc_topics, layers, tree and vocab."""
        return self._tables

    def results(self) -> dict[str, Any]:
        """Return the numbers that describe the fit."""
        model = self.model
        finite = model.npmi[np.isfinite(model.npmi)]
        return {
            "documents": self.table.num_rows,
            "n_topics": model.n_topics,
            "unassigned": round(model.unassigned, 6),
            "npmi": round(float(finite.mean()), 6) if len(finite) else None,
            "diversity": round(model.diversity, 6) if np.isfinite(model.diversity) else None,
            "outliers_joined": model.outliers_joined,
            "outliers_assigned": model.outliers_assigned,
            "merges": [[a, b, round(s, 6)] for a, b, s in model.merges],
            "stability": {
                "agreement": round(model.agreement, 6) if np.isfinite(model.agreement) else None,
                "dissolved": self.dissolved_topics(),
            },
            "layers": [len(layer.parent) for layer in model.layers],
            "rule_agreement": round(model.rule_agreement, 6),
            "fit_sample": None if model.sample is None else model.sample.as_dict(),
            "doc_topics_left_out": 0.0,
            **self.guidance,
            "evidence": [rounded(candidate.as_dict()) for candidate in model.candidates],
        }

    def dissolved_topics(self) -> list[int]:
        """Return the topics that a second fit does not find again: stability under 0.5."""
        return [k for k, value in enumerate(self.model.stability) if value < LEAST_STABLE]

    def static_encoder(self, options: EncoderOptions, threads: int) -> Encoder | None:
        """Return the encoder that was tuned on the documents, None where it was not, or where another one is named."""
        return encoder_of(self.encoder_files, self.config, options, threads)

    def training(self, threads: int) -> Training:
        """Return the distinct training texts with their topics."""
        if self.nearest is not None:
            return nearest_vectors(self.nearest)
        return training_of(self._training, self.model.n_topics, n_neighbors=self.options.n_neighbors, threads=threads)

    @cached_property
    def _training(self) -> dict[str, pa.Table]:
        """What prediction needs, as tables."""
        tables = training_tables(self.table, self.vectors, self.of_document, self.model)
        return tables if self.nearest is None else {**tables, "nearest": self.nearest}

    @cached_property
    def run(self) -> NewRun:  # type: ignore[override]
        """The run that can be written."""
        return new_run(
            "bertopic", RunTables(self.tables(), self._training, self.config, model_files=self.encoder_files), self.source,
            parameters=self.parameters,
            command="bertopic" if self.lineage is None else "edit", results=self.results(), execution=self.execution,
            seconds={**self.seconds, **{f"topics.{k}": v for k, v in self.model.seconds.items()}}, lineage=self.lineage,
        )  # fmt: skip


class LoadedBertopic(BertopicModel):
    """The model of a run directory."""

    run: Run

    def __init__(self, run: Run) -> None:
        self.run, self.name = run, str(run.path)
        self.config = run.model_config("encoder", "dim", "n_neighbors", "rule_agreement")
        with run.intact():
            agreement = self.config["rule_agreement"]
            if (
                min(self.config["n_neighbors"], self.config["dim"]) < 1
                or not 0 <= (0 if agreement is None else agreement) <= 1
            ):
                raise ValueError("config.json has a number that is out of its range")
            _check_config(self.config)
            if self.config.get("languages") is None:
                tokens = run.manifest["parameters"].get("tokens") or {}
                self.config = {**self.config, "languages": tokens.get("languages")}

    def static_encoder(self, options: EncoderOptions, threads: int) -> Encoder | None:
        """Return the encoder that the run keeps, None where it keeps none, or where another one is named."""
        with self.run.intact():
            return encoder_of(files_in(self.run, self.config), self.config, options, threads)

    def training(self, threads: int) -> Training:
        """Return the distinct training texts with their topics."""
        if self.config.get("rule") == NEAREST:
            with self.run.intact():
                return nearest_vectors(self.run.table("model/nearest"))
        return read_training(self.run, n_neighbors=self.config["n_neighbors"], threads=threads)


def _check_config(config: Mapping[str, Any]) -> None:
    """Refuse settings of other types than prediction takes. Raises ValueError, TypeError or LookupError."""
    novelty = config.get("novelty")
    if novelty is not None:
        quantile, least = novelty["quantile"], novelty["least_similarity"]
        if not 0 < quantile <= 1 or not isinstance(least, int | float | None):
            raise ValueError("config.json has another 'novelty'")
    for code, share in config.get("languages") or []:
        if not isinstance(code, str) or not isinstance(share, int | float):
            raise ValueError("config.json has another 'languages'")


def load_bertopic(path: Path, execution: Execution) -> LoadedBertopic:
    """Return the model of a run directory of bertopic."""
    return LoadedBertopic(open_run(path, ["bertopic"], verify=execution.verify))


def fit_bertopic(
    data: Any,
    *,
    options: BertopicOptions | None = None,
    guide: GuidedOptions | None = None,
    tokens: TopicTokenOptions | None = None,
    encoder: EncoderOptions | str | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> FittedBertopic:
    """Find topics in documents: embed, reduce, cluster, weigh words (c-tf-idf; Grootendorst 2022).

    nlpkit uses the columns embedding and tokens where the documents have them, and makes them where they are missing.

    Args:
        data: a Corpus, texts, or a data frame.
        options: how topics are found.
        guide: what is known before the fit: labels, topics or seed words.
        tokens: how texts become the words that describe topics.
        encoder: which model makes embeddings.
        execution: seed and threads.
        settings: single fields of these records, such as k=20 or min_df=5.

    Raises:
        InputError: fewer than ten different documents with text, or no topics as asked for.
        MissingError: the extra `neural` or the encoder is missing.
        UsageError: an option is invalid, or would change nothing.

    Example:
        >>> nouns = {"swims": ["cat", "dog", "fish", "frog", "duck"], "rose": ["bond", "loan", "stock", "price", "rate"]}
        >>> texts = [f"the {noun} {verb} again" for verb in nouns for noun in nouns[verb]]
        >>> model = nk.fit_bertopic(texts, k=2)
        >>> model.topics.num_rows
        2
    """
    from nlpkit.embed.options import EncoderOptions

    records = (options, guide, tokens, EncoderOptions.from_value(encoder), execution)
    kinds = (BertopicOptions, GuidedOptions, TopicTokenOptions, EncoderOptions, Execution)
    options, guide, tokens, embedding, execution = with_settings(records, settings, kinds)
    guide.check_engine(options.cluster, options.like)
    token_options = preprocess_options(tokens) if options.like is None else words_of_bertopic(tokens)
    seconds: dict[str, float] = {}
    check_libraries(options)
    check_encoder(embedding.encoder, verify=execution.verify)
    corpus = as_corpus(data)
    with stopwatch(seconds, "read"), corpus.open() as stream:
        made_by = embedded_by(stream)
        table = stream.read_all()
    if not table.num_rows:
        raise no_documents(stream)
    warn_dropped(stream, None)
    for name in table.column_names:
        if name in TOPIC_COLUMNS:
            reporting.warn(f"the column '{name}' of the input is dropped, because the run has a column with this name")
    usable = has_text(table.column("text"), blank=options.like is not None)
    knowledge = knowledge_of(
        table, guide, usable,
        where=stream.where, label_col=corpus.options.label_col,
        encoder_known=made_by is not None or embedding.encoder is not None or "embedding" not in table.column_names,
    )  # fmt: skip
    with stopwatch(seconds, "tokens"):
        words, report = tokens_of(table, token_options)
    if report is not None:
        note_tokens(report, cut_by=token_options)
    if not words.n_terms:
        raise no_words(table.num_rows, ", so topics would have no names")
    as_stored = _as_stored(table, options, embedding)
    with stopwatch(seconds, "embeddings"):
        static, tuned = _encoders(table, embedding, execution)
        embeddings, encoder_info = embeddings_of(table, made_by, embedding, execution.n_threads(), usable, tuned)
        if "embedding" in table.column_names:
            table = table.drop_columns("embedding")
            pa.default_memory_pool().release_unused()  # of a million documents: 1.5 GB
    if not usable.all():
        n_empty = int((~usable).sum())
        reporting.note(f"{wording.counted(n_empty, 'document')} without text: no embedding, no topic")
    with stopwatch(seconds, "guidance"):
        rows = knowledge.rows(embeddings, threads=execution.n_threads()) if as_stored is None else as_stored
        source = RunEmbeddings(
            {"encoder": encoder_info, "dim": embeddings.shape[1]}, embedding, execution.n_threads(), stream, tuned
        )
        predefined = knowledge.predefined(words, source.encode)
    with stopwatch(seconds, "topics"), reporting.progress("topics", 100, percent=True) as update:
        distinct = distinct_texts(embeddings, usable, each=options.like is not None)
        embeddings = distinct.rows(embeddings)  # those of all documents are let go of

        def step(stage: str, share: float) -> None:
            start, end, name = STAGES.get(stage, (0, 100, stage))
            update(int(start + (end - start) * share), f"topics: {name}")

        fit = partial(fit_distinct, embeddings, distinct, predefined=predefined, execution=execution)
        debiased = None if knowledge.groups is None else debiased_tokens(words, knowledge.groups, seed=execution.seed)
        model = fit(words if debiased is None else debiased.tokens, options=options, rows=rows, progress=step)
        update(100)
    if model.sample is not None:
        note_sample(model.sample)
    guidance = {}
    if knowledge.groups is not None and debiased is not None:
        with stopwatch(seconds, "debias"):
            as_many = options if options.cluster == "hdbscan" else replace(options, k=model.n_topics, grain="middle")
            before = fit(words, options=as_many).topics
        guidance["debias"] = note_debiased(debiased, knowledge.groups, str(guide.debias), model.topics, before)
    if predefined is not None:
        note_predefined(predefined, model.size)
    parameters = {
        **asdict(options),
        **{
            name: value if value is None or isinstance(value, bool | float) else str(value)
            for name, value in asdict(guide).items()
        },
        "k": whole_or_text(options.k),
        "fit_sample": whole_or_text(options.fit_sample),
        "min_topic_size_in_force": model.min_topic_size,
        "encoder": encoder_info,
        "tokens": token_info(token_options, report, stream.steps),
    }
    with stopwatch(seconds, "names"):
        model, phrases = _named(model, words, embeddings, distinct, table, parameters, source)
    for name in layer_columns(model):
        if name in table.column_names:
            reporting.warn(f"the column '{name}' of the input is dropped, because the run has a column with this name")
    fitted = FittedBertopic(
        table, words, model, embeddings, distinct.of_document, options, execution, parameters, encoder_info, stream, seconds, guidance,
        files_of(static), phrase_names=phrases,
    )  # fmt: skip
    fitted.corpus = corpus
    return fitted


def _as_stored(table: pa.Table, options: BertopicOptions, encoder: EncoderOptions) -> Float32Array | None:
    """Return the embeddings (D, E) of the documents with the length that they have there, for a fit that BERTopic would make of them."""
    if options.like is None or encoder.encoder is not None or "embedding" not in table.column_names:
        return None
    return embedding_matrix(table.column("embedding"), unit=False)


def _encoders(
    table: pa.Table, options: EncoderOptions, execution: Execution
) -> tuple[StaticModel | None, Encoder | None]:
    """Return the static encoder tuned on the documents, None for another kind; and what embeds them, None where they are embedded."""
    if options.encoder is None and "embedding" in table.column_names:
        if options.device not in (None, "cpu"):  # neighbours are found there
            from nlpkit.embed.hardware import choose_devices

            choose_devices(options.device)
        return None, None
    tuned = options.static_sample() is not None
    static = tune_encoder([table.column("text").to_pylist()], options, execution) if tuned else None
    if static is None:
        return None, open_encoder(options, execution.n_threads())
    return static, static.encoder(threads=execution.n_threads(), max_tokens=options.max_tokens)


def _named(
    model: TopicModel,
    words: TokenTable,
    X: Float32Array,
    distinct: DistinctTexts,
    table: pa.Table,
    parameters: Mapping[str, Any],
    source: RunEmbeddings,
) -> tuple[TopicModel, tuple[str, ...]]:
    """Return the model named by phrases, and these names; as it is where no encoder can embed phrases, or texts cannot be cut again."""
    if parameters["encoder"] is None or parameters["like"] is not None:  # BERTopic names topics by words
        return model, ()
    texts = table.column("text")
    if source.encoder is None:  # nobody asked for the network to have names
        source = RunEmbeddings(source.config, replace(source.flags, offline=True), source.threads, None)
    try:
        cut = options_from(parameters["tokens"], "the fit")
        named = named_by_phrases(
            model, words.terms, X, distinct, lambda rows: texts.take(pa.array(rows)).to_pylist(), cut, source.encode
        )
    except MissingError:
        encoder = parameters["encoder"]["encoder"]
        reporting.note(f"topics are named by words, not by phrases: their encoder, {encoder}, is not on this machine")
        return model, ()
    except (InputError, UsageError) as error:  # the fit is done, and stays
        reporting.note(f"topics are named by words, not by phrases: {error}")
        return model, ()
    return named, named.labels


def _bound(training: Training, fitted: Mapping[str, Any] | None, wanted: float | None) -> Bound:
    """Return the bound of the run; worked out from the training documents for another quantile, or where the run has none."""
    if fitted is not None and wanted in (None, fitted["quantile"]):
        least = fitted["least_similarity"]
        return Bound(fitted["quantile"], -math.inf if least is None else least)
    quantile = NOVELTY_QUANTILE if wanted is None else wanted
    return Bound(quantile, least_similarity(training.similarity, training.topics, quantile))
