"""Edited topics on embeddings: the documents of a run with their embeddings again, and its topics after the edit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting
from nlpkit.embed.options import EncoderOptions
from nlpkit.io.cost import stopwatch
from nlpkit.io.documents import embedding_matrix, text_hash
from nlpkit.io.provenance import HasProvenance
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.runs import Run
from nlpkit.io.table_spec import numbers, strings
from nlpkit.io.topic_tables import texts_of_run
from nlpkit.parameters import Execution
from nlpkit.text.options import PreprocessOptions
from nlpkit.topics.clustering import Clock, Points
from nlpkit.topics.debias import debiased_tokens
from nlpkit.topics.description import (
    STORED_TERMS,
    WAYS,
    DistinctTexts,
    FitSample,
    Membership,
    Surroundings,
    describe_topics,
    distinct_texts,
    fitted_points,
)
from nlpkit.topics.edited import EditedTopics, edited_topics, finer_division, remembered_stability
from nlpkit.topics.edits import EditPlan, names_after
from nlpkit.topics.fit_sample import neighbours_among
from nlpkit.topics.naming import topic_names
from nlpkit.topics.options import BertopicOptions
from nlpkit.types import NO_TOPIC, BoolArray, Float32Array, FloatArray, IntArray, TokenTable
from nlpkit.weighting.dtm import count_terms, group_rows, without_terms
from nlpkit.workflows.bertopic import FittedBertopic
from nlpkit.workflows.corpus import has_text, warn_dropped
from nlpkit.workflows.edit_documents import (
    check_ids,
    check_texts,
    columns_of_user,
    documents_of,
    note_other_counts,
    options_of_tokens,
    same_terms,
)
from nlpkit.workflows.embeddings import RunEmbeddings
from nlpkit.workflows.guidance import groups_of
from nlpkit.workflows.static import encoder_of, files_in
from nlpkit.workflows.tokens import tokens_of

EMBEDDED_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class StoredFit:
    """A fit as its run holds it, with the documents and words that it was made from.

    table: id, text and the user's columns (D rows); words: all tokens; counted: those that describe topics; embeddings (D, E);
    usable (D,); fitted (D,): those among which neighbours are sought; topics, ways (D,): topic of each document and number in WAYS,
    -1 for none. layers: topics (D,) and stability of each resolution, the coarsest first, and whether it is that of the topics.
    stability (K,): of the topics. has_tokens: whether the documents brought their tokens.
    """

    run: Run
    table: pa.Table
    words: TokenTable
    counted: TokenTable
    embeddings: Float32Array
    usable: BoolArray
    fitted: BoolArray
    topics: IntArray
    ways: IntArray
    layers: tuple[tuple[IntArray, FloatArray, bool], ...]
    stability: FloatArray
    options: BertopicOptions
    source: HasProvenance
    has_tokens: bool


def read_fit(
    run: Run,
    documents: Any,
    read: ReadOptions,
    execution: Execution,
    *,
    encoder: EncoderOptions | None = None,
    parameter: str | None = "documents",
) -> StoredFit:
    """Return a fit of bertopic with its documents. parameter: by which they are named where the run does not find them.

    The run holds the embeddings of the documents that were fitted; those of others are their column, or made again.

    Args:
        encoder: where the model of the run is, and its device.

    Raises:
        InputError: the documents are gone, have changed, or are not cut into words again; the run is damaged.
    """
    with documents_of(run, documents, read, parameter=parameter).open() as stream:
        table = stream.read_all()
        stored = check_ids(run, table.column("id"))
        usable = has_text(table.column("text"))
        texts = texts_of_run(run)
        with run.intact():
            row = {key: i for i, key in enumerate(strings(texts, "text_hash"))}
            vectors = embedding_matrix(run.table("model/training", ["embedding"]).column("embedding"))
            topics = numbers(stored, "topic", least=-1).astype(np.int32)
            options = _options_of(run)
            layers = tuple(_layers(run, stored))
        place = np.array([row.get(text_hash(text), -1) for text in table.column("text").to_pylist()], np.int64)
        check_texts(run, table.column("id"), (place >= 0) | ~usable)
        fitted = usable & (place < len(vectors))
        embeddings = np.zeros((len(place), vectors.shape[1]), np.float32)
        embeddings[fitted] = vectors[place[fitted]]
        if not fitted[usable].all():
            config = run.model_config("encoder", "dim")
            flags = encoder or EncoderOptions()
            kept = encoder_of(files_in(run, config), config, flags, execution.n_threads())
            source = RunEmbeddings(config, flags, execution.n_threads(), stream, kept)
            _embed_others(embeddings, usable & ~fitted, table, source)
        table = table.drop_columns([name for name in ("embedding",) if name in table.column_names])
    vocabulary = run.table("vocab")
    terms = tuple(vocabulary.column("term").to_pylist())
    has_tokens = "tokens" in table.column_names
    options_of_words = PreprocessOptions() if has_tokens else options_of_tokens(run, terms, has_tokens=False)
    words, _ = tokens_of(table, options_of_words)
    words = same_terms(words, terms)
    note_other_counts(run, words, vocabulary.column("cf").to_numpy())
    user = columns_of_user(stored, tuple(f"layer_{i}" for i in range(len(layers))))
    table = user.append_column("text", table.column("text"))
    counted, debias = words, run.manifest["parameters"].get("debias")
    if debias is not None:
        counted = debiased_tokens(
            words, groups_of(table, debias, usable, where=str(run.path)), seed=execution.seed
        ).tokens
    warn_dropped(stream, None)
    return StoredFit(
        run,
        table,
        words,
        counted,
        embeddings,
        usable,
        fitted,
        topics,
        _ways(texts, place, topics),
        layers,
        _stability(run),
        options,
        stream,
        has_tokens,
    )


def sample_of(run: Run) -> FitSample | None:
    """Return what a run says of the sample that it was fitted to, None of one that was fitted to all documents."""
    recorded = run.manifest["results"].get("fit_sample")
    with run.intact():
        return None if recorded is None else FitSample.from_dict(recorded)


def _embed_others(embeddings: Float32Array, needed: BoolArray, table: pa.Table, source: RunEmbeddings) -> None:
    """Put the embeddings of the documents that are needed (D,) into the matrix (D, E)."""
    at = 0
    with reporting.progress("embeddings", table.num_rows) as update:
        for batch in table.to_batches(max_chunksize=EMBEDDED_ROWS):
            wanted = needed[at : at + len(batch)]
            embeddings[at : at + len(batch)][wanted] = source.of_batch(batch, wanted)[wanted]
            at += len(batch)
            update(at)


def _options_of(run: Run) -> BertopicOptions:
    """Return the options of a fit."""
    parameters = run.manifest["parameters"]
    return BertopicOptions(**{f.name: parameters[f.name] for f in fields(BertopicOptions) if f.name in parameters})


def _ways(training: pa.Table, place: Any, topics: IntArray) -> IntArray:
    """Return by which of WAYS documents came to their topics (D,); of runs that do not say, by clustering."""
    if "way" not in training.column_names:
        return np.where(topics >= 0, 0, NO_TOPIC).astype(np.int32)
    number = {way: i for i, way in enumerate(WAYS)}
    of_text = np.array([number.get(way, NO_TOPIC) for way in training.column("way").to_pylist()], np.int32)
    return np.where(topics >= 0, np.maximum(of_text[place], 0), NO_TOPIC).astype(np.int32)


def _stability(run: Run) -> FloatArray:
    """Return the stability of the topics of a run (K,), NaN where it is not known."""
    table = run.table("topics")
    if "stability" not in table.column_names:
        return np.full(table.num_rows, np.nan)
    return np.array([np.nan if v is None else v for v in table.column("stability").to_pylist()], np.float64)


def _layers(run: Run, documents: pa.Table) -> list[tuple[IntArray, FloatArray, bool]]:
    if "layers.parquet" not in run.manifest["outputs"]:
        return []
    table, layers = run.table("layers"), []
    of_layer = table.column("layer").to_numpy()
    for number in range(int(of_layer.max(initial=-1)) + 1):
        rows = table.filter(pa.array(of_layer == number))
        stability = np.array([np.nan if v is None else v for v in rows.column("stability").to_pylist()], np.float64)
        topics = documents.column(f"layer_{number}").to_numpy().astype(np.int32)
        layers.append((topics, stability, bool(rows.column("chosen")[0].as_py())))
    return layers


def edit_bertopic(
    fit: StoredFit,
    plan: EditPlan,
    *,
    labels: Sequence[str],
    stop_words: Sequence[str],
    execution: Execution,
    seconds: dict[str, float],
) -> tuple[FittedBertopic, EditedTopics]:
    """Return the topics of a fit after an edit, as a model that can be written, and what became of which topic.

    Args:
        labels: names of the topics of the run; stop_words: all terms that describe no topic.

    Raises:
        InputError: a topic cannot be split, or two topics would have one name.
    """
    run, options = fit.run, fit.options
    distinct = distinct_texts(fit.embeddings, fit.usable)
    X = distinct.rows(fit.embeddings)
    chosen = fitted_points(distinct, fit.fitted)
    with stopwatch(seconds, "neighbours"), reporting.progress("neighbours", None):
        neighbours = neighbours_among(X, chosen, k=options.n_neighbors - 1, threads=execution.n_threads())
    number = {term: i for i, term in enumerate(fit.words.terms)}
    dtm = count_terms(fit.counted)
    counts = without_terms(group_rows(dtm, distinct.of_document, distinct.n), [number[t] for t in stop_words])
    points = Points(X, neighbours, counts, dtm, options, execution, lambda stage, share: None, Clock(), chosen)
    members = _members(fit, distinct)
    K = len(labels)
    with stopwatch(seconds, "topics"):
        edited = edited_topics(points, distinct, members, K, plan)
        names = tuple(names_after(edited.topics, plan, labels, generated_names(run, fit.words.terms)))
        model = describe_topics(
            fit.counted.terms, distinct, points, edited.members, _around(fit, distinct, edited, names)
        )
    fitted = FittedBertopic(
        fit.table, fit.words, model, X, distinct.of_document, options, execution, dict(run.manifest["parameters"]),
        run.model_config("encoder")["encoder"], fit.source, seconds, encoder_files=files_in(run, run.model_config()),
    )  # fmt: skip
    return fitted, edited


def _members(fit: StoredFit, distinct: DistinctTexts) -> Membership:
    topics, ways = fit.topics[distinct.first], fit.ways[distinct.first]
    core, joined = (np.where((ways >= 0) & (ways <= most), topics, NO_TOPIC).astype(np.int32) for most in (0, 1))
    return Membership(core, joined, topics)


def generated_names(run: Run, vocabulary: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that the words of the topics of a run give them."""
    number = {term: i for i, term in enumerate(vocabulary)}
    table = run.table("topic_terms", ["topic", "rank", "term"])
    K = int(run.manifest["results"]["n_topics"])
    term_ids = np.full((K, max(STORED_TERMS, 1)), -1, np.int32)
    with run.intact():
        topic, rank = numbers(table, "topic", least=0, most=K - 1), numbers(table, "rank", least=1, most=STORED_TERMS)
        term_ids[topic, rank - 1] = [number[term] for term in table.column("term").to_pylist()]
    return topic_names(term_ids, vocabulary)


def _around(fit: StoredFit, distinct: DistinctTexts, edited: EditedTopics, names: tuple[str, ...]) -> Surroundings:
    """Return names, layers and stability of edited topics: those of the run for topics whose documents are the same."""
    run, K, first = fit.run, len(edited.topics), distinct.first
    stored = [(fit.topics[first], fit.stability), *((z[first], values) for z, values, _ in fit.layers)]
    at = next((i for i, (_, _, chosen) in enumerate(fit.layers) if chosen), len(fit.layers))
    coarser = sorted({len(values) for _, values, _ in fit.layers[:at] if len(values) < K}, reverse=True)
    finer = [finer_division(z[first]) for z, values, _ in fit.layers[at + 1 :] if len(values) > K]
    before, after = fit.topics[first], edited.members.labels
    unchanged = len(fit.stability) == K and len({*zip(before.tolist(), after.tolist(), strict=True)}) == len(
        {*before.tolist()}
    )
    agreement = (run.manifest["results"].get("stability") or {}).get("agreement")
    return Surroundings(
        names=names,
        stability=remembered_stability(stored),
        agreement=np.nan if agreement is None or not unchanged else float(agreement),
        coarser=tuple(coarser),
        divisions=tuple(finer),
        min_topic_size=run.manifest["parameters"].get("min_topic_size_in_force"),
        sample=sample_of(run),
    )
