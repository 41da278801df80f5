"""The run directory of `nlpkit lda-gibbs`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit.cli.lda_flags import ExtraFlags
from nlpkit.io.artifacts import footer_block
from nlpkit.io.lda_tables import (
    assignments_table,
    doc_topics_table,
    documents_table,
    model_tables,
    topic_terms_table,
    topics_table,
    training_table,
)
from nlpkit.io.mallet import write_mallet_state
from nlpkit.io.pyldavis import write_pyldavis
from nlpkit.io.runs import RunTables, manifest_of, stopwatch, write_run
from nlpkit.io.topic_tables import vocab_table
from nlpkit.topics.lda.describe import TopicDescription, describe_topics
from nlpkit.topics.lda.heldout import in_sample_perplexity

if TYPE_CHECKING:
    from nlpkit.cli.lda_work import Work
    from nlpkit.topics.lda.fit import LdaFit

KIND = "lda-gibbs"


@dataclass(slots=True)
class Results:
    """What one way of fitting adds to a run: tables, columns of topics.parquet, results and parameters of the manifest."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    topic_columns: dict[str, pa.Array] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    model_tables: dict[str, pa.Table] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """What was written."""

    tables: Mapping[str, pa.Table]
    description: TopicDescription
    summary: Mapping[str, Any]


def write_lda(
    work: Work, found: LdaFit, extra: ExtraFlags, parameters: Mapping[str, Any], more: Results, *, force: bool
) -> Written:
    """Write the run of a fit, and the exports that were asked for."""
    corpus, model = work.corpus, found.model
    with stopwatch(work.seconds, "description"):
        described = describe_topics(
            model,
            found.doc_topic,
            corpus.tokens,
            assignments=found.assignments if work.weights is None else None,
            names=found.names,
            n_terms=extra.top_terms,
            relevance_lambda=extra.relevance_lambda,
        )
        tables, left_out = _tables(work, found, described, extra, more)
        perplexity = in_sample_perplexity(model, found.doc_topic, corpus.tokens)
    results = {**summary(work, found, described), "perplexity_in_sample": round(perplexity, 6),
               "doc_topics_left_out": round(left_out, 6), **more.results}  # fmt: skip
    settings = {**parameters, **more.parameters, "alpha_in_force": round(float(model.alpha.sum()) / model.n_topics, 8),
                "eta_in_force": round(model.eta, 8), "tokens": corpus.token_info}  # fmt: skip
    block = footer_block(
        "run", command="lda-gibbs", parameters=settings, seed=work.run.seed, inputs=corpus.inputs, steps=corpus.steps
    )
    config = {
        "kind": KIND, "n_topics": model.n_topics, "eta": model.eta, "labels": list(described.labels),
        "tokens": corpus.token_info, **more.config,
    }  # fmt: skip
    manifest = manifest_of(
        KIND,
        parameters=settings,
        seed=work.run.seed,
        threads=work.run.n_threads(),
        inputs=corpus.inputs,
        seconds=work.seconds,
        results={**results, "trace": [_rounded(point) for point in found.trace]},
    )
    training = training_table(corpus.rows, described.main)
    models = {**model_tables(model), **({} if training is None else {"training": training})}
    if corpus.left_out is not None:
        models["left_out"] = pa.table({"term": pa.array(sorted(corpus.left_out()), pa.string())})
    run = RunTables(tables, {**models, **more.model_tables}, config, corpus.dropped)
    write_run(work.target, run, block, manifest, force=force)
    _export(work, found, extra, force=force)
    return Written(tables, described, results)


def _tables(
    work: Work, found: LdaFit, described: TopicDescription, extra: ExtraFlags, more: Results
) -> tuple[dict[str, pa.Table], float]:
    corpus, model = work.corpus, found.model
    shown = sorted({int(d) for d in described.representatives.ravel() if d >= 0})
    texts = corpus.texts(shown)
    topics = topics_table(described, model, corpus.ids, texts.__getitem__)
    for name, column in more.topic_columns.items():
        topics = topics.append_column(name, column)
    doc_topics, left_out = doc_topics_table(corpus.ids, found.doc_topic, model.alpha, described.main.topic)
    tables = {
        "documents": documents_table(corpus.rows, described.main),
        "topics": topics,
        "topic_terms": topic_terms_table(described, model.terms),
        "doc_topics": doc_topics,
        "vocab": vocab_table(model.terms, corpus.cf, corpus.df),
        **more.tables,
    }
    if extra.save_assignments:
        tables["assignments"] = assignments_table(corpus.ids, corpus.tokens, found.assignments)
    return tables, left_out


def summary(work: Work, found: LdaFit, described: TopicDescription) -> dict[str, Any]:
    """Return the numbers that describe a fit."""
    finite = described.npmi[np.isfinite(described.npmi)]
    return {
        "documents": work.corpus.rows.num_rows,
        "tokens": len(work.corpus.tokens.term_ids),
        "n_topics": found.model.n_topics,
        "unassigned": round(float(np.mean(described.main.topic < 0)), 6),
        "log_likelihood_per_token": round(found.log_likelihood, 6),
        "npmi": round(float(finite.mean()), 6) if len(finite) else None,
        "diversity": round(described.diversity, 6) if np.isfinite(described.diversity) else None,
        "sweeps": found.sweeps,
        "samples": found.samples,
        "stopped_early": found.stopped is not None,
        "alpha_sum": round(float(found.model.alpha.sum()), 8),
        "eta": round(found.model.eta, 8),
    }


def _rounded(point: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {k: round(v, 6) if isinstance(v, float) else v for k, v in asdict(point).items()}


def _export(work: Work, found: LdaFit, extra: ExtraFlags, *, force: bool) -> None:
    model, tokens = found.model, work.corpus.tokens
    if extra.save_state is not None:
        ids = work.corpus.ids.to_pylist()
        write_mallet_state(
            extra.save_state, ids, tokens, found.assignments, alpha=model.alpha, eta=model.eta, force=force
        )
    if extra.save_pyldavis is not None:
        write_pyldavis(
            extra.save_pyldavis, model.topic_term, found.doc_topic, model.terms, alpha=model.alpha, eta=model.eta,
            force=force,
        )  # fmt: skip
