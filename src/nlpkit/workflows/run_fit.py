"""The fit of a mixture model: perplexity of held-out documents, the end of its chain, residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit import reporting
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluation.fit import HeldOutScores, bootstrap_groups, perplexity_statistic
from nlpkit.evaluation.results import TargetResult, detail_table
from nlpkit.io.corpora import InputInfo
from nlpkit.io.memberships import read_theta
from nlpkit.io.mixture_tables import read_model
from nlpkit.io.read_options import SELECTING
from nlpkit.io.runs import Run
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.score import Score, statistic_score
from nlpkit.models import MODELS
from nlpkit.parameters import Execution
from nlpkit.topics.lda.residuals import residual_dispersion
from nlpkit.topics.mixtures.heldout import Method, hold_out, merged, perplexity
from nlpkit.topics.mixtures.model import MixtureModel
from nlpkit.topics.mixtures.token_tables import select_documents
from nlpkit.types import CsrMatrix, TokenTable
from nlpkit.weighting.dtm import count_terms
from nlpkit.workflows.mixture_model import FittedMixture
from nlpkit.workflows.predict import load
from nlpkit.workflows.reference import EvaluationSettings, TopicTarget, reference_of, token_table

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
    counts = _counts_in(model, select_documents(tokens, chosen))
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


def _counts_in(model: MixtureModel, tokens: TokenTable) -> CsrMatrix:
    """Return the counts (D, V) of the words of the model."""
    number = {term: v for v, term in enumerate(model.terms)}
    place = np.array([number.get(term, -1) for term in tokens.terms], np.int32)
    ids = place[tokens.term_ids]
    before = np.concatenate([[0], np.cumsum(ids >= 0)])
    return count_terms(TokenTable(before[tokens.offsets].astype(np.int64), ids[ids >= 0], model.terms))
