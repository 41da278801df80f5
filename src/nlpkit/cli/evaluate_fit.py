"""How well an LDA run fits: perplexity, the end of the chain, residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit import reporting
from nlpkit.cli.evaluate_reference import reference_of, token_table
from nlpkit.cli.evaluate_targets import TopicTarget
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluation.options import MetricFlags
from nlpkit.evaluation.results import ScoreDifference, TargetResult
from nlpkit.io.lda_tables import read_model
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.runs import Run
from nlpkit.metrics.bootstrap import Statistic, compare, ratio_of
from nlpkit.metrics.score import METRICS, Score, Uncertainty, statistic_score
from nlpkit.topics.lda.heldout import HeldOut, Method, hold_out, perplexity
from nlpkit.topics.lda.model import LdaModel
from nlpkit.topics.lda.residuals import residual_dispersion
from nlpkit.types import CsrMatrix, FloatArray, LongArray, TokenTable
from nlpkit.weighting.dtm import count_terms

RESIDUAL_DOCS = 2000
GROUPS = 500  # of documents, when there are more of them
TRACE_LINES = 8
NOT_LDA = "only runs of nlpkit lda-gibbs have it"


@dataclass(frozen=True, slots=True)
class Held:
    """Held-out documents of one target: what came of it, and its sums by group, for comparisons."""

    found: HeldOut
    inputs: object
    groups: LongArray


def add_fit(
    result: TargetResult,
    target: TopicTarget,
    names: Sequence[str],
    metric: MetricFlags,
    given: Sequence[str] | None,
    read: ReadOptions,
    how: Uncertainty,
    *,
    threads: int,
    asked: bool,
) -> Held | None:
    """Add scores of fit to a result; where a target has none, a score that is not defined if it was asked for.

    Raises:
        UsageError: perplexity without --heldout; InputError: documents or run cannot be used.
    """
    held = None
    for name in names:
        if target.run is None or target.kind != "lda-gibbs":
            if asked:
                result.add(Score(METRICS[name], None, "tokens", 0, why=NOT_LDA))
        elif name in ("perplexity_in_sample", "log_likelihood"):
            _add_recorded(result, target.run, name)
        elif name == "perplexity" and not metric.heldout and not metric.named(name):
            result.add(Score(METRICS[name], None, "tokens", 0, why="it needs --heldout documents"))
        elif name == "perplexity":
            held = _add_perplexity(result, target, target.run, metric, read, how, threads)
        else:
            _add_residuals(result, target, target.run, given, read, how.seed, threads)
    if target.run is not None and "log_likelihood" in names:
        _add_trace(result, target.run)
    return held


def _add_recorded(result: TargetResult, run: Run, name: str) -> None:
    key = "log_likelihood_per_token" if name == "log_likelihood" else name
    recorded = run.manifest["results"]
    value = recorded.get(key)
    over = "tokens"
    if value is None:
        result.add(Score(METRICS[name], None, over, 0, why="the run does not record it; fit it again"))
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
    rows = [[f"{t['sweep']:,}", f"{t['log_likelihood']:.4f}", f"{t['effective_topics']:.1f}"] for t in shown]
    result.tables["log p(w, z) per token along the chain"] = (("sweep", "log-likelihood", "effective topics"), rows)
    if tokens and len(trace) > 3:
        rise = trace[-1]["log_likelihood"] - trace[-1 - len(trace) // 4]["log_likelihood"]
        if rise > 0.01:
            result.notes.append(
                f"the log-likelihood still rose by {rise:.3f} in the last quarter of the chain: more --sweeps"
            )


def _add_perplexity(
    result: TargetResult,
    target: TopicTarget,
    run: Run,
    metric: MetricFlags,
    read: ReadOptions,
    how: Uncertainty,
    threads: int,
) -> Held:
    if not metric.heldout:
        raise UsageError(
            "perplexity is of documents that no fit has seen; give them with --heldout DOCS, or ask for that of the fit: "
            "--metrics perplexity_in_sample"
        )
    heldout = reference_of(target, metric.heldout)
    assert heldout is not None
    model = read_model(run)
    rows, tokens, seen = token_table(heldout, read, threads)
    _warn_of_training(run, rows, seen.inputs)
    with reporting.progress("perplexity", None):
        found = perplexity(
            model,
            tokens,
            seed=how.seed,
            threads=threads,
            method=cast(Method, metric.method),
            particles=metric.particles,
        )
    groups = _groups(found.documents)
    statistic = _perplexity_of(found, groups)
    parameters = {
        "method": metric.method,
        **({"particles": metric.particles} if metric.method == "left-to-right" else {}),
        "documents": found.n_docs,
        "unknown_tokens": found.n_unknown,
        "documents_too_short": found.n_short,
        "heldout": seen.to_dict(),
    }
    units = np.ones(int(groups.max()) + 1, np.int64)
    score = statistic_score(METRICS["perplexity"], statistic, units, how, over="documents", parameters=parameters)
    result.add(Score(score.metric, found.perplexity, "tokens", found.n_tokens, parameters, interval=score.interval))
    share = found.n_unknown / max(len(tokens.term_ids), 1)
    if share > 0.1:
        result.notes.append(f"{share:.0%} of the held-out tokens are words the model does not know, and left out")
    return Held(found, seen.inputs, groups)


def _groups(documents: LongArray) -> LongArray:
    """Return the number of the bootstrap unit of each document: itself, or one of GROUPS groups."""
    n = len(documents)
    if n <= GROUPS:
        return np.arange(n)
    # at random: a corpus may be sorted
    return np.asarray(np.random.default_rng(0).permutation(n) % GROUPS, np.int64)


def _perplexity_of(found: HeldOut, groups: LongArray) -> Statistic:
    size = int(groups.max()) + 1
    logs = np.asarray(np.bincount(groups, weights=found.doc_log_likelihood, minlength=size), np.float64)
    tokens = np.asarray(np.bincount(groups, weights=found.doc_tokens, minlength=size), np.float64)
    mean = ratio_of(logs, tokens)
    return lambda weights: np.asarray(np.exp(-mean(weights)), np.float64)


def compare_perplexity(
    held: Sequence[Held | None], results: Sequence[TargetResult], how: Uncertainty
) -> list[ScoreDifference]:
    """Compare held-out perplexities with that of the first target, paired by document."""
    out: list[ScoreDifference] = []
    first = held[0]
    if first is None or how.level is None:
        return out
    for other, result in zip(held[1:], results[1:], strict=True):
        if other is None or other.inputs != first.inputs:
            continue
        same = np.array_equal(other.found.documents, first.found.documents)
        if not same or other.found.n_tokens != first.found.n_tokens:
            reporting.warn(
                f"{results[0].name} and {result.name} know different words: their perplexities are of different tokens "
                "and cannot be compared"
            )
            continue
        units = np.ones(int(first.groups.max()) + 1, np.int64)
        pair = _perplexity_of(first.found, first.groups), _perplexity_of(other.found, other.groups)
        found = compare(*pair, units, level=how.level, seed=how.seed, over="documents")
        out.append(ScoreDifference("perplexity", results[0].name, result.name, found))
    return out


def _warn_of_training(run: Run, rows: pa.Table, inputs: object) -> None:
    known = {entry["sha256"] for entry in run.manifest["inputs"]}
    if any(i.sha256 in known for i in inputs):  # type: ignore[attr-defined]
        reporting.warn(
            f"--heldout is the corpus {run.path} was fitted to: this perplexity is not held-out, and too low"
        )


def _add_residuals(
    result: TargetResult,
    target: TopicTarget,
    run: Run,
    given: Sequence[str] | None,
    read: ReadOptions,
    seed: int,
    threads: int,
) -> None:
    reference = reference_of(target, given)
    if reference is None:
        raise InputError(f"residuals of {run.path} need the corpus of its fit, which it does not name")
    model = read_model(run)
    rows, tokens, _ = token_table(reference, read, threads)
    ids = rows.column("id").combine_chunks()
    known = run.table("documents", ["id"]).column("id").combine_chunks()
    if not pc.all(pc.is_in(ids, value_set=known)).as_py():
        raise InputError(f"residuals of {run.path} are of the documents of its fit; {reference.described()} has others")
    if len(ids) < len(known):
        raise InputError(
            f"residuals of {run.path} are of its {len(known):,} documents, {len(ids):,} were read; leave --limit out"
        )
    chosen = np.flatnonzero(hold_out(len(ids), min(1.0, RESIDUAL_DOCS / len(ids)), seed))
    counts = _counts_in(model, _documents(tokens, chosen))
    theta = _theta(run, model, ids.take(pa.array(chosen)))
    phi = model.phi_of(np.arange(model.n_terms))
    found = residual_dispersion(counts, lambda r: theta[r], phi, share=len(chosen) / len(known))
    parameters = {
        "statistic": found.statistic,
        "degrees_of_freedom": found.degrees,
        "p_value": found.p_value,
        "documents": found.n_docs,
    }
    result.add(Score(METRICS["residuals"], found.dispersion, "cells", found.n_docs, parameters))


def _documents(tokens: TokenTable, rows: LongArray) -> TokenTable:
    """Return some of the documents."""
    lengths = np.diff(tokens.offsets)[rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    at = np.arange(offsets[-1]) + np.repeat(tokens.offsets[rows] - offsets[:-1], lengths)
    return TokenTable(offsets, tokens.term_ids[at], tokens.terms)


def _counts_in(model: LdaModel, tokens: TokenTable) -> CsrMatrix:
    """Return the counts (D, V) of the words of the model."""
    number = {term: v for v, term in enumerate(model.terms)}
    place = np.array([number.get(term, -1) for term in tokens.terms], np.int32)
    ids = place[tokens.term_ids]
    before = np.concatenate([[0], np.cumsum(ids >= 0)])
    return count_terms(TokenTable(before[tokens.offsets].astype(np.int64), ids[ids >= 0], model.terms))


def _theta(run: Run, model: LdaModel, ids: pa.Array) -> FloatArray:
    """Return theta (ids, K); what doc_topics.parquet leaves out is spread by the prior."""
    table = run.table("doc_topics", ["id", "topic", "prob"])
    table = table.filter(pc.is_in(table.column("id"), value_set=ids))
    document = pc.index_in(table.column("id"), value_set=ids).to_numpy()
    shape = (len(ids), model.n_topics)
    topics, prob = table.column("topic").to_numpy(), table.column("prob").to_numpy()
    theta = sparse.coo_array((prob.astype(np.float64), (document, topics)), shape=shape).toarray()
    prior = np.where(theta > 0, 0.0, model.alpha)
    total = prior.sum(axis=1, keepdims=True)
    rest = np.maximum(1 - theta.sum(axis=1, keepdims=True), 0.0)
    theta += np.divide(prior * rest, total, out=np.zeros_like(prior), where=total > 0)
    return np.asarray(theta / theta.sum(axis=1, keepdims=True), np.float64)
