"""The evaluation of topics: scores by the model's fit, by its words and by the documents as points.

Parts, in this order:
- The fit of a mixture model: perplexity of held-out documents, the end of its chain, residuals.
- The scores that a run stores with its topics or that its model gives: exclusivity, FREX, divergences, MALLET's
  diagnostics.
- The documents of runs and tables as points: what silhouette and DBCV are computed on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError, UsageError
from nlpkit.evaluate.targets import TableTarget
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.labels.labels import NO_TOPIC
from nlpkit.metrics.results import TargetResult, detail_table
from nlpkit.metrics.score import Score, Uncertainty, mean_score, statistic_score
from nlpkit.metrics.topics.separation import EMBEDDINGS, TFIDF, DocumentVectors, add_separation
from nlpkit.metrics.topics.significance import topic_significance
from nlpkit.platform import reporting
from nlpkit.platform.documents.arrays import embedding_matrix
from nlpkit.platform.documents.inputs import InputInfo
from nlpkit.platform.documents.options import SELECTING
from nlpkit.platform.models import MODELS
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray, TokenTable
from nlpkit.platform.values import as_label
from nlpkit.predict.run import load
from nlpkit.topics.base.heldout import (
    HeldOutScores,
    Method,
    bootstrap_groups,
    hold_out,
    merged,
    perplexity,
    perplexity_statistic,
)
from nlpkit.topics.base.mixture import FittedMixture
from nlpkit.topics.base.model import select_documents
from nlpkit.topics.base.reference import EvaluationSettings, TopicTarget, need_reference, reference_of, token_table
from nlpkit.topics.base.tables import read_counts_and_prior, read_membership, read_model, read_theta
from nlpkit.topics.lda.priors import residual_dispersion
from nlpkit.weights.dtm import count_terms
from nlpkit.weights.options import Scheme
from nlpkit.weights.tfidf import CorpusStats, weighting

RESIDUAL_DOCS = 2000
TRACE_LINES = 8
COUNTERS = {"sweep", "step", "epoch"}
NOT_MIXED = "only topic models that give every word a probability have it, such as runs of nlpkit lda-gibbs"


def add_fit(
    result: TargetResult, target: TopicTarget, names: Sequence[str], settings: EvaluationSettings
) -> HeldOutScores | None:
    """Add scores of fit to a result; where a target has none, a score that is not defined if it was asked for.

    Raises:
        UsageError: perplexity without held-out documents; InputError: documents or run cannot be used.
    """
    held = None
    for name in names:
        if target.run is None or not target.run.is_mixture:
            if settings.only:
                result.add(Score(METRICS[name], None, "tokens", 0, why=NOT_MIXED))
        elif name in ("perplexity_in_sample", "log_likelihood"):
            _add_recorded(result, target.run, name)
        elif name == "perplexity" and settings.heldout is None and not settings.options.is_named(name):
            result.add(Score(METRICS[name], None, "tokens", 0, why="it needs `heldout` documents"))
        elif name == "perplexity":
            held = _add_perplexity(result, target, target.run, settings)
        else:
            _add_residuals(result, target, target.run, settings)
    if target.run is not None and "log_likelihood" in names:
        _add_trace(result, target.run)
    return held


def _add_recorded(result: TargetResult, run: Run, name: str) -> None:
    key = "log_likelihood_per_token" if name == "log_likelihood" else name
    recorded = run.manifest["results"]
    value = recorded.get(key)
    over = "tokens"
    if value is None:
        result.add(Score(METRICS[name], None, over, 0, why="the run does not record it"))
        return
    parameters = {"of": "the end of the chain" if name == "log_likelihood" else "the documents of the fit"}
    result.add(Score(METRICS[name], float(value), over, int(recorded.get("tokens", 0)), parameters))


def _add_trace(result: TargetResult, run: Run) -> None:
    trace = run.manifest["results"].get("trace") or []
    tokens = run.manifest["results"].get("tokens")
    if not trace:
        return
    result.facts["trace"] = trace
    shown = [trace[i] for i in sorted({round(i) for i in np.linspace(0, len(trace) - 1, TRACE_LINES)})]
    known = {
        "sweep": "sweep",
        "step": "step",
        "epoch": "epoch",
        "log_likelihood": "log-likelihood",
        "bound": "bound",
        "effective_topics": "effective topics",
    }
    names = [name for name in known if name in trace[0]]
    if not set(names) - COUNTERS:  # GSDMM keeps its number of topics alone, a neural model its loss
        return
    title = f"{MODELS[run.manifest['kind']].likelihood} along the chain"
    if "sweep" not in names:
        title = f"{known[names[-1]]} per token along the fit"
    result.tables[title] = detail_table(
        [known[name] for name in names],
        [[point[name] for name in names] for point in shown],
        {"log-likelihood": ".4f", "bound": ".4f", "effective topics": ".1f"},
    )
    if tokens and len(trace) > 3 and {"sweep", "log_likelihood"} <= set(names):
        rise = trace[-1]["log_likelihood"] - trace[-1 - len(trace) // 4]["log_likelihood"]
        if rise > 0.01:
            result.notes.append(
                f"the log-likelihood still rose by {rise:.3f} in the last quarter of the chain: more `sweeps`"
            )


def _add_perplexity(result: TargetResult, target: TopicTarget, run: Run, settings: EvaluationSettings) -> HeldOutScores:
    options, uncertainty = settings.options, settings.uncertainty
    if settings.heldout is None:
        raise UsageError(
            "perplexity needs held-out documents; name them with `heldout=DOCS`, or use the documents of the fit: "
            "`metrics=perplexity_in_sample`",
            parameter="heldout",
        )
    reference = reference_of(target, settings.heldout, settings.read)
    assert reference is not None
    loaded = load(run.path, Execution(uncertainty.seed, settings.threads))
    assert isinstance(loaded, FittedMixture)
    execution = Execution(uncertainty.seed, settings.threads)
    loaded.scoring(
        execution, options.method
    )  # a method that the model does not have is refused before documents are read
    rows, tokens, stats = token_table(reference, settings.threads, ("date",))
    _warn_of_training(run, stats.inputs)
    with reporting.progress("perplexity", None):
        parts, failed = [], None
        for some, model, infer in loaded.scoring_by_part(rows, execution, options.method):
            try:
                scores = perplexity(
                    model,
                    tokens if len(some) == tokens.n_docs else select_documents(tokens, some),
                    seed=uncertainty.seed,
                    threads=settings.threads,
                    method=cast(Method, options.method),
                    particles=options.particles,
                    infer=infer,
                )
            except InputError as error:  # no document of this part has enough known words
                failed = error
                continue
            parts.append((some, scores))
        if failed is not None and not parts:
            raise failed
        scores = merged(parts)
    groups = bootstrap_groups(scores.documents)
    statistic = perplexity_statistic(scores, groups)
    parameters = {
        "method": options.method,
        **({"particles": options.particles} if options.method == "left-to-right" else {}),
        **({} if infer is None else {"eta": model.eta}),
        "documents": scores.n_docs,
        "unknown_tokens": scores.n_unknown,
        "documents_too_short": scores.n_short,
        "heldout": stats.to_dict(),
    }
    units = np.ones(int(groups.max()) + 1, np.int64)
    score = statistic_score(
        METRICS["perplexity"], statistic, units, uncertainty, over="documents", parameters=parameters
    )
    result.add(Score(score.metric, scores.perplexity, "tokens", scores.n_tokens, parameters, interval=score.interval))
    share = scores.n_unknown / max(len(tokens.term_ids), 1)
    if share > 0.1:
        result.notes.append(f"{share:.0%} of the held-out tokens are words the model does not know, and left out")
    return HeldOutScores(scores, stats.inputs, groups)


def _warn_of_training(run: Run, inputs: Sequence[InputInfo]) -> None:
    """Warn of documents of the fit: the same file, unless the fit took some of its documents and these are chosen otherwise."""
    for entry in run.manifest["inputs"]:
        chosen = _selection(entry.get("reading"))
        if any(i.sha256 == entry["sha256"] and (not chosen or _selection(i.reading) == chosen) for i in inputs):
            reporting.warn(
                f"`heldout` is the corpus {run.path} was fitted to: so this perplexity is not held-out and too low"
            )


def _selection(reading: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: reading[name] for name in SELECTING if name in reading} if reading else {}


def _add_residuals(result: TargetResult, target: TopicTarget, run: Run, settings: EvaluationSettings) -> None:
    reference = reference_of(target, settings.reference, settings.read)
    if reference is None:
        raise InputError(f"residuals of {run.path} need the corpus of its fit, which is not recorded")
    model = read_model(run)
    rows, tokens, _ = token_table(reference, settings.threads)
    ids = rows.column("id").combine_chunks()
    known = run.table("documents", ["id"]).column("id").combine_chunks()
    if not pc.all(pc.is_in(ids, value_set=known)).as_py():
        raise InputError(
            f"residuals of {run.path} need the documents of its fit, but {reference.described()} has others"
        )
    if len(ids) < len(known):
        raise InputError(
            f"residuals of {run.path} are of its {len(known):,} documents, {len(ids):,} were read; leave `limit` out"
        )
    chosen = np.flatnonzero(hold_out(len(ids), min(1.0, RESIDUAL_DOCS / len(ids)), settings.uncertainty.seed))
    counts = counts_in(model.terms, select_documents(tokens, chosen))
    place = pc.index_in(ids.take(pa.array(chosen)), value_set=known)
    theta = read_theta(run)(place.to_numpy().astype(np.int64))
    residuals = residual_dispersion(counts, lambda r: theta[r], model.phi, share=len(chosen) / len(known))
    parameters = {
        "statistic": residuals.statistic,
        "degrees_of_freedom": residuals.degrees,
        "p_value": residuals.p_value,
        "documents": residuals.n_docs,
    }
    result.add(Score(METRICS["residuals"], residuals.dispersion, "cells", residuals.n_docs, parameters))


def counts_in(terms: Sequence[str], tokens: TokenTable) -> CsrMatrix:
    """Return the counts (D, V) of terms, such as those of a model."""
    number = {term: v for v, term in enumerate(terms)}
    place = np.array([number.get(term, -1) for term in tokens.terms], np.int32)
    ids = place[tokens.term_ids]
    before = np.concatenate([[0], np.cumsum(ids >= 0)])
    return count_terms(TokenTable(before[tokens.offsets].astype(np.int64), ids[ids >= 0], tuple(terms)))


# ------------------------------------------------------------------------------------------------------------------------
# The scores that a run stores with its topics or that its model gives: exclusivity, FREX, divergences, MALLET's diagnostics.

DIAGNOSTICS = (
    "n_tokens", "document_entropy", "word_length", "coherence", "uniform_dist", "corpus_dist", "eff_num_words", "token_doc_diff",
    "rank_1_docs", "allocation_ratio", "allocation_count", "mallet_exclusivity",
)  # fmt: skip
SHOWN = 30


def add_significance(
    result: TargetResult, target: TopicTarget, names: Sequence[str], n: int, uncertainty: Uncertainty, *, asked: bool
) -> None:
    """Add the scores that a run has of its topics; where a target has none, a score that is not defined if it was asked for."""
    run = target.run
    for name in names:
        values, why = (None, "it is of run directories") if run is None else _values(run, target, name, n)
        if values is None:
            if asked:
                result.add(Score(METRICS[name], None, "topics", 0, why=why))
            continue
        depth = {"exclusivity": 10, "frex": n}.get(name)
        result.add(mean_score(METRICS[name], values, uncertainty, parameters={"top_n": [depth]} if depth else {}))
    if asked and run is not None and run.is_mixture and any(name.startswith("kl_") for name in names):
        _add_diagnostics(result, run)


def _values(run: Run, target: TopicTarget, name: str, n: int) -> tuple[FloatArray | None, str]:
    """Return a score of each topic (K,), or None and why there is none."""
    K = len(target.topics)
    if name == "exclusivity":
        column = run.table("topics", ["exclusivity"]).column("exclusivity")
        return np.array([np.nan if v is None else v for v in column.to_pylist()], np.float64), ""
    if name == "frex":
        table = run.table("topic_terms")
        if "frex" not in table.column_names:
            return None, "the run does not store it (those of nlpkit lda-gibbs do)"
        rank, topic = table.column("rank").to_numpy(), table.column("topic").to_numpy()
        kept = rank <= n
        frex = table.column("frex").to_numpy()[kept].astype(np.float64)
        sums, counts = np.bincount(topic[kept], frex, minlength=K), np.bincount(topic[kept], minlength=K)
        return np.divide(sums, counts, out=np.full(K, np.nan), where=counts > 0), ""
    if not run.is_mixture:
        return None, "it needs the probability of every word, which runs of nlpkit lda-gibbs and models like it have"
    model = read_model(run)
    cf = run.table("vocab", ["cf"]).column("cf").to_numpy().astype(np.float64)
    n_dk, alpha = read_counts_and_prior(run, K)
    prior: FloatArray | None = alpha
    if n_dk is None:  # a run of before 2026-11-23: theta as far as doc_topics.parquet has it
        documents, prior = read_membership(run, mixed=True).weights, None
    else:
        documents = n_dk[np.flatnonzero(n_dk.sum(axis=1) > 0)]
    scores = topic_significance(model.topic_term, eta=model.eta, corpus=cf, doc_topic=documents, alpha=prior)
    return np.asarray(getattr(scores, name), np.float64), ""


def _add_diagnostics(result: TargetResult, run: Run) -> None:
    """Show MALLET's diagnostics, which nlpkit lda-gibbs stores with the topics."""
    table = run.table("topics")
    stored = [name for name in DIAGNOSTICS if name in table.column_names]
    columns = {name: table.column(name).to_pylist() for name in stored}
    result.facts["mallet_diagnostics"] = columns
    result.tables["MALLET's diagnostics"] = detail_table(
        ("topic", *stored),
        zip(table.column("topic").to_pylist()[:SHOWN], *(columns[name][:SHOWN] for name in stored), strict=True),
        dict.fromkeys(stored, ".4g"),
    )


# ------------------------------------------------------------------------------------------------------------------------
# The documents of runs and tables as points: what silhouette and DBCV are computed on.


def add_run_separation(
    result: TargetResult, target: TopicTarget, names: Sequence[str], settings: EvaluationSettings
) -> None:
    """Add silhouette and DBCV of the topics of the documents of a run.

    Raises:
        UsageError: there is no corpus; InputError: its documents are others.
    """
    if target.run is None:
        for name in names if settings.only else ():
            result.add(
                Score(METRICS[name], None, "documents", 0, why="it is of documents with topics: a run, or a table")
            )
        return
    points = _points(target, target.run, settings)
    add_separation(result, points, names, len(target.topics), settings.uncertainty)


def add_table_separation(
    result: TargetResult, target: TableTarget, names: Sequence[str], settings: EvaluationSettings
) -> None:
    """Add silhouette and DBCV of the topics of a table with embeddings. Raises ColumnError for embeddings that are none."""
    table = target.table()
    labels = [as_label(value) for value in table.column(settings.options.topic_col).to_pylist()]
    codes = {name: k for k, name in enumerate(sorted({v for v in labels if v is not None and v not in NO_TOPIC}))}
    topics = np.array([codes.get(value, -1) if value is not None else -1 for value in labels], np.int32)
    points = DocumentVectors(embedding_matrix(table.column("embedding")), topics, EMBEDDINGS)
    add_separation(result, points, names, len(codes), settings.uncertainty)


def _points(target: TopicTarget, run: Run, settings: EvaluationSettings) -> DocumentVectors:
    stored = _stored(run)
    if stored is not None and settings.reference is None:
        return stored
    reference = reference_of(target, settings.reference, settings.read)
    if reference is None:
        raise need_reference(target, "silhouette")
    table = run.table("documents", ["id", "topic"])
    topic_of = dict(zip(table.column("id").to_pylist(), table.column("topic").to_pylist(), strict=True))
    with reference.corpus.open() as stream:
        if "embedding" in stream.schema.names:
            ids, rows = [], []
            for batch in stream:
                names = batch.column("id").to_pylist()
                known = np.array([name in topic_of for name in names], bool)
                rows.append(embedding_matrix(pa.chunked_array([batch.column("embedding")]))[known])
                ids += names
            kept, topics = _matched(target, ids, topic_of)
            return DocumentVectors(np.concatenate(rows), topics, EMBEDDINGS)
    if stored is not None:
        return stored
    documents, tokens, _ = token_table(reference, settings.threads)
    kept, topics = _matched(target, documents.column("id").to_pylist(), topic_of)
    counts = count_terms(tokens)
    cf = np.asarray(counts.sum(axis=0), np.int64).ravel()
    df = np.bincount(counts.indices, minlength=tokens.n_terms)
    weights = weighting(CorpusStats(tokens.n_docs, tokens.terms, cf, df), Scheme()).weigh(counts)
    return DocumentVectors(weights[kept], topics, TFIDF)


def _stored(run: Run) -> DocumentVectors | None:
    """Return the embeddings that a run was fitted to, a row for each different text, None of a run without any."""
    if run.manifest["kind"] != "bertopic":  # what lda-gibbs knows of its training documents has no embeddings
        return None
    table = run.table("model/training", ["topic", "embedding"])
    topics = table.column("topic").to_numpy().astype(np.int32)
    return DocumentVectors(embedding_matrix(table.column("embedding")), topics, EMBEDDINGS)


def _matched(target: TopicTarget, ids: Sequence[str], topic_of: Mapping[str, int]) -> tuple[Any, IntArray]:
    kept = np.array([i for i, name in enumerate(ids) if name in topic_of], np.int64)
    if not len(kept):
        raise InputError(
            f"none of the {len(ids):,} documents of the reference is one of {target.name}, such as '{ids[0] if ids else ''}'; "
            "silhouette and DBCV need the documents of the fit"
        )
    return kept, np.array([topic_of[ids[i]] for i in kept], np.int32)
