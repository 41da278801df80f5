"""A run of bertopic with newer documents: they join its topics, new matter becomes new topics, told topic by topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.cluster.hierarchy import KMeansFits, plain_view, smoothed
from nlpkit.embed.embeddings import RunEmbeddings
from nlpkit.embed.options import EncoderOptions
from nlpkit.embed.run import encoder_of, files_in
from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import text_hash
from nlpkit.platform.documents.corpus import as_corpus, has_text, no_documents, warn_dropped
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.provenance import Provenance, stopwatch
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import NO_TOPIC, BoolArray, Float32Array, IntArray, LongArray, TokenTable
from nlpkit.predict.options import TOPIC_COLUMNS
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.settings import options_from
from nlpkit.text.tokens import cut_as_model, tokens_of
from nlpkit.topics.base.reference import PRUNED
from nlpkit.topics.bertopic.clustering import (
    Clock,
    Points,
    by_neighbours,
    neighbours_among,
    sample_size,
    sampling_order,
)
from nlpkit.topics.bertopic.description import (
    DistinctTexts,
    FitSample,
    Membership,
    Surroundings,
    TopicModel,
    describe_topics,
    distinct_texts,
    fitted_points,
    with_cores,
)
from nlpkit.topics.bertopic.run import FittedBertopic
from nlpkit.topics.bertopic.update import UpdatedTopics, remembered_stability, updated_topics
from nlpkit.topics.edit.edits import EditPlan, NewTopic, names_after, review_after
from nlpkit.topics.edit.files import review_of
from nlpkit.topics.edit.looks import inherited_looks
from nlpkit.topics.edit.refit import StoredFit, generated_names, phrase_names_of, read_fit, sample_of
from nlpkit.topics.edit.run import ancestors_of, open_topic_run, parent_of, topics_of_run
from nlpkit.topics.rolling.model import appended_rows
from nlpkit.weights.dtm import count_terms, group_rows, without_terms


@dataclass(frozen=True, slots=True)
class UpdatedRun(Tabular):
    """A run with newer documents, which can be written.

    changes: a row for each topic: topic, before and now (documents), new (newer documents of these), from_topics and to_topics
    (old documents that came from, or went to, other topics, by number, -1 for none), is_new. unlike: newer documents that are
    unlike all of the run and in no topic.
    """

    _shown = "topics"

    model: FittedBertopic
    lineage: dict[str, Any]
    changes: tuple[dict[str, Any], ...]
    n_newer: int
    unlike: int

    @property
    def topics(self) -> pa.Table:
        """The topics (K rows), as topics.parquet has them."""
        return self.model.topics

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the run directory. Raises OutputExistsError when it is there and `force` was not given."""
        return self.model.save(path, force=force)


def update_bertopic(
    run: str | Path,
    newer: Any,
    *,
    documents: Any = None,
    parameter: str | None = "documents",
    encoder: EncoderOptions | str | None = None,
    read: ReadOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> UpdatedRun:
    """Return a run of bertopic with newer documents; the topics of the run keep their numbers, and the run itself stays.

    A newer document gets the topic that `predict` gives it. Groups of newer documents that fit no topic become topics after the others
    (`nlpkit.topics.bertopic.update`). Words, sizes and scores are computed from all documents, and the vocabulary grows.

    Args:
        run: directory of the run, edited or not. newer: a Corpus, texts, or a data frame.
        documents: the documents of the run, where nlpkit cannot find them itself.
        parameter: what messages call these documents.
        encoder: where the model of the run is, and its device.
        read: options of reading the documents of the run. nlpkit compares their texts with the texts of the fit in any case.
        execution: threads; the seed of the fit is used.
        settings: single fields of these records.

    Raises:
        InputError: documents of the run that are gone or have changed, newer ones with ids that the run has, a damaged run;
        SchemaError: a run of another kind; UsageError: the run was fitted with `debias`.

    Example:
        >>> texts = [f"the {noun} {verb}" for verb in ("swims", "rose") for noun in ("cat", "dog", "fish", "bond", "loan", "rate")]
        >>> documents = nk.Corpus.from_texts(texts)
        >>> run = nk.fit_bertopic(documents, k=2).save("run")
        >>> newer = nk.Corpus.from_texts(["the frog swims"], ids=["new"])
        >>> nk.update_bertopic(run, newer, documents=documents).n_newer
        1
    """
    embedding, read, execution = with_settings(
        (EncoderOptions.from_value(encoder), read, execution), settings, (EncoderOptions, ReadOptions, Execution)
    )
    opened = open_topic_run(run, execution, ["bertopic"])
    execution = replace(execution, seed=int(opened.manifest["seed"]))
    if opened.manifest["parameters"].get("debias") is not None:
        raise UsageError(
            f"{run} was fitted with `debias`, whose words depend on all documents; fit again", parameter="update"
        )
    seconds: dict[str, float] = {}
    with stopwatch(seconds, "read"):
        fit = _fit_of(opened, documents, read, execution, embedding, parameter)
        before, _ = topics_of_run(opened)
    config = opened.model_config("encoder", "dim", "n_neighbors")
    with as_corpus(newer).open() as stream, stopwatch(seconds, "embeddings"):
        files = files_in(opened, config)
        kept = encoder_of(files, config, embedding, execution.n_threads())
        source = RunEmbeddings(dict(config), embedding, execution.n_threads(), stream, kept)
        cut = None
        if fit.has_tokens:
            cut = cut_as_model(stream, opened.manifest["parameters"].get("tokens"), f"the run {run}", bounds=False)
        parts, batches = [], []
        for batch in stream:
            known = _known_texts(fit, batch.column("text").to_pylist())
            needed = has_text(batch.column("text")) & (known < 0)
            vectors = source.of_batch(batch, needed).astype(np.float32)
            vectors[known >= 0] = fit.embeddings[known[known >= 0]]
            vectors[~has_text(batch.column("text"))] = 0.0
            parts.append(vectors)
            batches.append(batch)
        if not batches:
            raise no_documents(stream)
        table = pa.Table.from_batches(batches)
    warn_dropped(stream, None)
    _check_new_ids(fit, table, str(run))
    with stopwatch(seconds, "tokens"):
        words = _words(fit, table, cut)
    union = _union(fit, table)
    embeddings = np.concatenate([fit.embeddings, *parts])
    usable = np.concatenate([fit.usable, has_text(table.column("text"))])
    with stopwatch(seconds, "topics"):
        distinct = distinct_texts(embeddings, usable, each=fit.options.like is not None)
        embeddings = distinct.rows(embeddings)
        model, updated, topics = _describe(fit, words, embeddings, distinct, [t.name for t in before], execution)
    lineage = {
        "parent": parent_of(opened),
        "ancestors": ancestors_of(opened),
        "update": {"inputs": [{"path": i.path, "rows": i.rows, "sha256": i.sha256} for i in stream.inputs]},
        "topics": [{"topic": k, "from": list(topic.sources), "split": False} for k, topic in enumerate(topics)],
        "looks": inherited_looks(opened, [topic.sources for topic in topics]),
        "dropped": [],
        "review": review_after([(topic.sources, False) for topic in topics], EditPlan(), review_of(opened)),
        "stop_words": list((opened.manifest.get("lineage") or {}).get("stop_words", [])),
    }
    provenance = Provenance(
        inputs=[*fit.source.inputs, *stream.inputs],
        dropped=[*fit.source.dropped, *stream.dropped],
        blocks=list(stream.blocks),
    )
    fitted = FittedBertopic(
        union, words, model, embeddings, distinct.of_document, fit.options, execution, dict(opened.manifest["parameters"]),
        config["encoder"], provenance, seconds, encoder_files=files, lineage=lineage, phrase_names=phrase_names_of(opened),
    )  # fmt: skip
    changes = tuple(_changes(fit.topics, model.topics, len(topics), updated.n_new))
    return UpdatedRun(fitted, lineage, changes, table.num_rows, int(updated.novel.sum()))


def _fit_of(
    run: Run, documents: Any, read: ReadOptions, execution: Execution, encoder: EncoderOptions, parameter: str | None
) -> StoredFit:
    """Return the fit of a run. Its documents may have other columns than the newer ones: the texts tell whether they are read right."""
    try:
        return read_fit(run, documents, ReadOptions(), execution, encoder=encoder, parameter=parameter)
    except InputError:
        if read == ReadOptions():
            raise
    return read_fit(run, documents, read, execution, encoder=encoder, parameter=parameter)


def _known_texts(fit: StoredFit, texts: Sequence[str | None]) -> Any:
    """Return the document of the run that has each text, -1 for other texts."""
    known: dict[str, int] = {}
    for row, text in enumerate(fit.table.column("text").to_pylist()):
        known.setdefault(text_hash(text), row)
    return np.array([known.get(text_hash(text), -1) if text else -1 for text in texts], np.int64)


def _check_new_ids(fit: StoredFit, table: pa.Table, run: str) -> None:
    known = set(fit.table.column("id").to_pylist())
    twice = [name for name in table.column("id").to_pylist() if name in known]
    if twice:
        raise InputError(
            f"{wording.counted(len(twice), 'document')}, such as {twice[0]}, {'is' if len(twice) == 1 else 'are'} "
            f"already in {run} (same id); leave them out, or name another `id_col`",
            parameter="id_col",
        )


def _words(fit: StoredFit, table: pa.Table, cut: PreprocessOptions | None) -> TokenTable:
    """Return the tokens of all documents, cut as those of the run.

    Where the run cut its texts, all are cut again, with its bounds on rare and frequent words. Where its documents brought their
    tokens, those of the newer ones are taken, or cut alike (`cut`) and kept to the words that the run has.
    """
    run = fit.run
    if fit.has_tokens:
        options = PreprocessOptions() if cut is None else replace(cut, vocab=fit.words.terms, lists_must_match=False)
        words, _ = tokens_of(table if cut is None else table.select(["text"]), options)
        return _appended_tokens(fit.words, words)
    settings = run.manifest["parameters"]["tokens"]
    pruned = {name: settings[name] for name in PRUNED if settings.get(name) is not None}
    texts = [*fit.table.column("text").to_pylist(), *table.column("text").to_pylist()]
    words, _ = tokens_of(
        pa.table({"text": pa.array(texts, pa.large_string())}), replace(options_from(settings, str(run.path)), **pruned)
    )
    return words


def _appended_tokens(first: TokenTable, second: TokenTable) -> TokenTable:
    """Return the tokens of both, the terms of the first before those that are new in the second."""
    number = {term: i for i, term in enumerate(first.terms)}
    place = np.array([number.setdefault(term, len(number)) for term in second.terms], np.int32)
    ids = place[second.term_ids] if len(place) else second.term_ids
    offsets = np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]])
    return TokenTable(offsets, np.concatenate([first.term_ids, ids]).astype(np.int32), tuple(number))


def _union(fit: StoredFit, table: pa.Table) -> pa.Table:
    """Return id, text and the user's columns of all documents."""
    gone = ("tokens", "embedding", *TOPIC_COLUMNS, *(f"layer_{i}" for i in range(len(fit.layers))))
    return appended_rows(fit.table, table.select([name for name in table.column_names if name not in gone]))


def _describe(
    fit: StoredFit,
    words: TokenTable,
    X: Float32Array,
    distinct: DistinctTexts,
    labels: Sequence[str],
    execution: Execution,
) -> tuple[TopicModel, UpdatedTopics, list[NewTopic]]:
    """Return the topics of all documents, old ones first, with all that is said of them; X (U, E): the different embeddings."""
    run, options, K = fit.run, fit.options, len(labels)
    fitted = _fitted(fit, X, distinct, execution.seed)
    with reporting.progress("neighbours", None):
        neighbours = neighbours_among(X, fitted, k=options.n_neighbors - 1, threads=execution.n_threads())
    dtm, number = count_terms(words), {term: i for i, term in enumerate(words.terms)}
    hidden = [number[term] for term in (run.manifest.get("lineage") or {}).get("stop_words", ()) if term in number]
    counts = without_terms(group_rows(dtm, distinct.of_document, distinct.n), hidden)
    points = Points(X, neighbours, counts, dtm, options, execution, lambda stage, share: None, Clock(), fitted)
    n_old = len(fit.topics)
    is_new = distinct.first >= n_old
    row = np.minimum(distinct.first, n_old - 1)
    topics = np.where(is_new, NO_TOPIC, fit.topics[row]).astype(np.int32)
    ways = np.where(is_new, NO_TOPIC, fit.ways[row])
    core, joined = (np.where((ways >= 0) & (ways <= most), topics, NO_TOPIC).astype(np.int32) for most in (0, 1))
    novelty = run.model_config("novelty")["novelty"]["least_similarity"]
    updated = updated_topics(
        points,
        is_new,
        Membership(core, joined, topics),
        K,
        least_similarity=-np.inf if novelty is None else float(novelty),
    )
    members = with_cores(updated.members, K + updated.n_new)
    all_topics = [NewTopic((k,)) for k in range(K)]
    old_names = names_after(all_topics, EditPlan(), labels, generated_names(run, fit.words.terms))
    around = _around(fit, points, row, is_new, (*old_names, *[""] * updated.n_new))
    model = describe_topics(words.terms, distinct, points, members, around)
    return model, updated, [*all_topics, *[NewTopic(()) for _ in range(updated.n_new)]]


def _fitted(fit: StoredFit, X: Float32Array, distinct: DistinctTexts, seed: int) -> LongArray:
    """Return the points among which neighbours are sought: those of the run, and as many of the newer ones as its fit would take."""
    old = fitted_points(
        distinct, np.concatenate([fit.fitted, np.zeros(len(distinct.of_document) - len(fit.fitted), bool)])
    )
    new = np.flatnonzero(distinct.first >= len(fit.topics))
    size = sample_size(fit.options, len(new))
    chosen = new if size == len(new) else new[sampling_order(X[new], seed=seed)[:size]]
    return np.union1d(old, chosen)


def _around(fit: StoredFit, points: Points, row: IntArray, is_new: BoolArray, names: tuple[str, ...]) -> Surroundings:
    """Return names, layers and the stability of topics that have no newer document.

    Finer layers are made as in a fit, as many topics as the run has there.
    """
    K = len(names)
    stored = [
        (np.where(is_new, NO_TOPIC, z[row]).astype(np.int32), values)
        for z, values in [(fit.topics, fit.stability), *((z, values) for z, values, _ in fit.layers)]
    ]
    at = next((i for i, (_, _, chosen) in enumerate(fit.layers) if chosen), len(fit.layers))
    coarser = sorted({len(values) for _, values, _ in fit.layers[:at] if len(values) < K}, reverse=True)
    finer = sorted({len(values) for _, values, _ in fit.layers[at + 1 :] if K < len(values) <= len(points.fitted)})
    divisions: tuple[IntArray, ...] = ()
    if finer:
        some = points.of_fitted()
        fits = KMeansFits(plain_view(smoothed(some.embeddings, some.neighbours)), seed=points.execution.seed)
        divisions = tuple(by_neighbours(points, fits.fit(n)[0]) for n in finer)
    return Surroundings(
        names=names,
        stability=remembered_stability(stored),
        coarser=tuple(coarser),
        divisions=divisions,
        min_topic_size=fit.run.manifest["parameters"].get("min_topic_size_in_force"),
        sample=_sample(fit, points),
    )


def _sample(fit: StoredFit, points: Points) -> FitSample | None:
    """Return how many points are fitted, where these are not all; how far a second fit agrees was measured when the run was fitted."""
    if len(points.fitted) == points.n:
        return None
    before = sample_of(fit.run) or FitSample(0, 0, 0, np.nan)
    return replace(before, n_fitted=len(points.fitted), n_assigned=points.n - len(points.fitted))


def _changes(old: IntArray, topics: IntArray, K: int, n_new: int) -> Iterator[dict[str, Any]]:
    """Yield what became of each topic: old (D,) of the documents of the run, topics of all documents, those of the run first."""
    now, newer = topics[: len(old)], topics[len(old) :]
    for k in range(K):
        came, went = old[(now == k) & (old != k)], now[(old == k) & (now != k)]
        yield {
            "topic": k,
            "before": int((old == k).sum()),
            "now": int((topics == k).sum()),
            "new": int((newer == k).sum()),
            "from_topics": {str(t): int((came == t).sum()) for t in np.unique(came).tolist()},
            "to_topics": {str(t): int((went == t).sum()) for t in np.unique(went).tolist()},
            "is_new": k >= K - n_new,
        }
