"""The run directory of a mixture model: the files of a fit, and what its kind adds to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa

from nlpkit.platform.documents.inputs import DroppedRow, InputInfo
from nlpkit.platform.options import Execution
from nlpkit.platform.plain import rounded
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.runs import NewRun, RunTables, new_run
from nlpkit.platform.runs.table_spec import array_table
from nlpkit.platform.types import IntArray, LongArray, TokenTable
from nlpkit.topics.base.heldout import in_sample_perplexity
from nlpkit.topics.base.model import TREE, MixtureFit, MixtureModel, paths_of
from nlpkit.topics.base.options import TermOptions
from nlpkit.topics.base.tables import (
    LEFT_OUT,
    assignments_table,
    doc_topic_table,
    doc_topics_table,
    documents_table,
    model_tables,
    topic_terms_table,
    topics_table,
    training_table,
    tree_layers_table,
)
from nlpkit.topics.base.topic_tables import vocab_table
from nlpkit.topics.base.topic_words import TopicDescription, describe_topics

LDA = "lda-gibbs"


@dataclass(frozen=True, slots=True)
class TopicCorpus:
    """Documents with their tokens, and where they come from.

    rows: id, hash of the text (TEXT_HASH) and the user's own columns, no text; cf, df (V,) of the terms; token_info: how the
    tokens were made, if known; steps: what earlier commands did; texts: gives the texts of some documents by row; left_out:
    gives the terms that were cut from the texts and did not stay, None where that is not known. embedded_by: the encoder that made the
    column embedding of rows, None where that is not known, or there is none.
    """

    tokens: TokenTable
    rows: pa.Table
    cf: LongArray
    df: LongArray
    token_info: dict[str, Any] | None
    inputs: Sequence[InputInfo]
    dropped: Sequence[DroppedRow]
    steps: list[dict[str, Any]]
    texts: Callable[[Sequence[int]], Mapping[int, str]]
    left_out: Callable[[], Sequence[str]] | None = None
    embedded_by: dict[str, Any] | None = None

    @property
    def ids(self) -> pa.ChunkedArray:
        """Ids of the documents (D,)."""
        return self.rows.column("id")


@dataclass(frozen=True, slots=True)
class Additions:
    """Additions of one way of fitting to a run: tables, columns of topics.parquet, results and parameters of the manifest."""

    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    topic_columns: Mapping[str, pa.Array] = field(default_factory=dict)
    results: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    model_tables: Mapping[str, pa.Table] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)

    def __or__(self, other: Additions) -> Self:
        """Return these and others, in this order."""
        both = {name: {**getattr(self, name), **getattr(other, name)} for name in self.__dataclass_fields__}
        return type(self)(**both)


@dataclass(frozen=True, slots=True)
class MixtureRun(NewRun):
    """A run that is not written yet, with the description of its topics and the main numbers."""

    description: TopicDescription
    summary: Mapping[str, Any]


def mixture_run(
    kind: str,
    corpus: TopicCorpus,
    fit: MixtureFit,
    options: TermOptions,
    execution: Execution,
    *,
    command: str = "",
    parameters: Mapping[str, Any],
    additions: Additions,
    seconds: dict[str, float],
    weighted: bool = False,
    hidden_terms: Sequence[int] = (),
    with_assignments: bool = False,
) -> MixtureRun:
    """Return the run of a fit.

    Args:
        kind: of the run, and the command in its footers where `command` names no other.
        corpus, fit: documents and model; options: what the tables hold.
        execution: seed and threads of the fit.
        parameters: the options of the fit that are in force; additions: what this way of fitting adds.
        seconds: time of each stage, to which that of the description is added.
        weighted: whether tokens count differently. hidden_terms: terms that describe no topic.
        with_assignments: whether the topics of the tokens are a table, too.
    """
    model = fit.model
    with stopwatch(seconds, "description"):
        described = describe_topics(
            model,
            fit.doc_topic,
            corpus.tokens,
            assignments=None if weighted else fit.assignments,
            names=fit.names,
            n_terms=options.top_terms,
            relevance_lambda=options.relevance_lambda,
            hidden_terms=hidden_terms,
        )
        tables, left_out = _tables(corpus, fit, described, additions, with_assignments=with_assignments)
        perplexity = in_sample_perplexity(model, fit.doc_topic, corpus.tokens)
    summary = {**_summary(corpus, fit, described), **fit.numbers,
               "perplexity_in_sample": round(perplexity, 6) if np.isfinite(perplexity) else None,
               "doc_topics_left_out": round(left_out, 6), **additions.results}  # fmt: skip
    settings = {**parameters, **additions.parameters, "relevance_lambda": options.relevance_lambda,
                **_priors(model), "tokens": corpus.token_info}  # fmt: skip
    config = {
        "kind": kind, "n_topics": model.n_topics, "eta": model.eta, "labels": list(described.labels),
        "tokens": corpus.token_info, "arrays": list(fit.arrays), **additions.config,
    }  # fmt: skip
    training = training_table(corpus.rows, described.main, _paths(fit))
    models = {**model_tables(model), "doc_topic": doc_topic_table(fit.doc_topic)}
    models |= {name: array_table(np.asarray(values, np.float64)) for name, values in fit.arrays.items()}
    if training is not None:
        models["training"] = training
    if corpus.left_out is not None:
        models["left_out"] = LEFT_OUT.table(term=sorted(corpus.left_out()))
    files = RunTables(tables, {**models, **additions.model_tables}, config, weights=fit.weights)
    run = new_run(
        kind, files, corpus, command=command, parameters=settings,
        results={**summary, "trace": [rounded(asdict(point)) for point in fit.trace]}, execution=execution, seconds=seconds,
    )  # fmt: skip
    return MixtureRun(run.files, run.block, run.manifest, described, summary)


def _tables(
    corpus: TopicCorpus, fit: MixtureFit, described: TopicDescription, additions: Additions, *, with_assignments: bool
) -> tuple[dict[str, pa.Table], float]:
    model = fit.model
    shown = sorted({int(d) for d in described.representatives.ravel() if d >= 0})
    texts = corpus.texts(shown)
    topics = topics_table(described, model, corpus.ids, texts.__getitem__)
    for name, column in additions.topic_columns.items():
        topics = topics.append_column(name, column)
    doc_topics, left_out = doc_topics_table(corpus.ids, fit.doc_topic, model.alpha, described.main.topic)
    tables = {
        "documents": documents_table(corpus.rows, described.main, _paths(fit)),
        "topics": topics,
        "topic_terms": topic_terms_table(described, model.terms),
        "doc_topics": doc_topics,
        "vocab": vocab_table(model.terms, corpus.cf, corpus.df),
        **additions.tables,
    }
    if TREE in fit.arrays:
        tables["layers"] = tree_layers_table(described, fit.arrays[TREE], model.terms)
    if with_assignments and fit.assignments is not None:
        tables["assignments"] = assignments_table(corpus.ids, corpus.tokens, fit.assignments)
    return tables, left_out


def _paths(fit: MixtureFit) -> IntArray | None:
    """Return the topics on the path of each document (D, L), None where topics are no tree."""
    return paths_of(fit.doc_topic, fit.arrays[TREE]) if TREE in fit.arrays else None


def _priors(model: MixtureModel) -> dict[str, float]:
    """Return the mean alpha of a topic, and eta; a model without one of them has 0 there, and none is told."""
    priors = {"alpha_in_force": float(model.alpha.sum()) / model.n_topics, "eta_in_force": model.eta}
    return {name: round(value, 8) for name, value in priors.items() if value}


def _summary(corpus: TopicCorpus, fit: MixtureFit, described: TopicDescription) -> dict[str, Any]:
    """Return the numbers that describe a fit."""
    finite = described.npmi[np.isfinite(described.npmi)]
    return {
        "documents": corpus.rows.num_rows,
        "tokens": len(corpus.tokens.term_ids),
        "n_topics": fit.model.n_topics,
        "unassigned": round(float(np.mean(described.main.topic < 0)), 6),
        "npmi": round(float(finite.mean()), 6) if len(finite) else None,
        "diversity": round(described.diversity, 6) if np.isfinite(described.diversity) else None,
    }
