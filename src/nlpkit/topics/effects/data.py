"""What effects are estimated from: documents of a run, or units of a table, their covariates, and draws of their topics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import as_corpus, read_corpus
from nlpkit.platform.documents.inputs import InputInfo
from nlpkit.platform.models import MODELS, resolved
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.artifacts import read_footer, read_table
from nlpkit.platform.runs.runs import Run, open_run, sha256_of
from nlpkit.platform.runs.table_spec import numbers
from nlpkit.platform.types import BoolArray, FloatArray
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.tables import read_membership, read_theta
from nlpkit.topics.base.topic_run import number_of
from nlpkit.topics.effects.covariates import covariate_of, covariates_of, note_dropped_knots
from nlpkit.topics.effects.design import Covariate, Design, as_labels, fit_design
from nlpkit.topics.effects.estimators import (
    ESTIMATORS,
    Clusters,
    can_be_estimated,
    check_clusters,
    regress_with,
    resampled,
)
from nlpkit.topics.effects.formula import Formula, parse_formula
from nlpkit.topics.effects.options import EffectOptions
from nlpkit.topics.effects.posteriors import Draws
from nlpkit.topics.effects.regression import Effects, regress_draws
from nlpkit.topics.over_time.tables import labels_of, topic_run

SHARE = re.compile(r"topic_(\d+)")  # a column of a table of units
FEW_CLUSTERS = 20  # below which intervals by cluster are rough (Cameron and Miller 2015, section VI)


@dataclass(frozen=True, slots=True)
class Source:
    """Documents with topics: a run, or a table of units.

    where: for messages; labels (K,) of the topics; filled (all documents,): which have topics; rows: the columns of these; draws: of
    their theta; drawn: whether draws differ, as they are from a posterior. inputs: the file of a table.
    """

    where: str
    labels: list[str]
    filled: BoolArray
    rows: pa.Table
    draws: Draws
    drawn: bool
    run: Run | None = None
    inputs: Sequence[InputInfo] = ()
    fitted: str | None = None

    def number_of(self, topic: str | int) -> int:
        """Return the number of a topic that is given by its number or name. Raises InputError when there is none."""
        return number_of(topic, self.labels, self.where, "topics")


@dataclass(frozen=True, slots=True)
class EffectData:
    """The documents of a regression: those with topics, and with a value in each covariate.

    kept: which documents of the source these are; rows, values: their columns and covariates; clusters: None where each document is
    independent.
    """

    source: Source
    formula: Formula
    design: Design
    kept: BoolArray
    rows: pa.Table
    values: dict[str, Covariate]
    clusters: Clusters | None

    @property
    def run(self) -> Run:
        """The run of the source, for what only a run has."""
        assert self.source.run is not None
        return self.source.run


def effect_data(run: Any, options: EffectOptions, *, verify: bool) -> EffectData:
    """Return the documents of a run, or the units of a table, with the covariates of the regression.

    Documents without a value in a covariate are left out, with a note.

    Raises:
        UsageError: there are no covariates; InputError: one cannot be used, or the run is of another kind.
    """
    source = source_of(run, options, verify=verify)
    text = options.prevalence if options.prevalence is not None else source.fitted
    if text is None:
        if options.permutations is not None:
            hint = "`permutations` needs those of a fit with `prevalence`"
        else:
            hint = "name those of the regression with `prevalence`"
        raise UsageError(f"{source.where} was fitted without covariates; {hint}", parameter="prevalence")
    formula = parse_formula(text)
    if not formula.terms:
        raise UsageError(
            f"`prevalence={text}` names no column; write for example: party + s(date)", parameter="prevalence"
        )
    values = covariates_of(source.rows, formula, where=source.where)
    kept = np.ones(source.rows.num_rows, bool)
    for name, column in values.items():
        there = _present(column)
        if not there.any():
            raise InputError(f"'{name}' has no value in any document of {source.where}", parameter="prevalence")
        if not there.all():
            reporting.note(f"left out: {wording.counted(int((~there).sum()), 'document')} without a value in '{name}'")
        kept &= there
    rows = source.rows.filter(pa.array(kept))
    values = {name: _selected(column, kept) for name, column in values.items()}
    design = fit_design(formula, values)
    if options.prevalence is not None:
        note_dropped_knots(design)
    groups = options.random or options.cluster
    clusters = None if groups is None else clusters_of(rows, groups, source.where, design, values)
    return EffectData(source, formula, design, kept, rows, values, clusters)


def source_of(run: Any, options: EffectOptions, *, verify: bool) -> Source:
    """Return a run, or a table of units, as documents with topics.

    Raises:
        InputError: it is neither; UsageError: an option that it has no use for.
    """
    path = Path(run) if isinstance(run, str | Path) else None
    if isinstance(run, pa.Table) or hasattr(run, "__arrow_c_stream__") or (path is not None and path.is_file()):
        return _of_table(run, options)
    if options.permutations is not None:
        opened = run if isinstance(run, Run) else open_run(Path(run), ["stm"], verify=verify)
    else:
        opened = topic_run(run, Execution(verify=verify))
    kind = opened.manifest["kind"]
    documents, labels = opened.table("documents"), labels_of(opened)
    main = options.count == "main" or (options.count == "auto" and not opened.is_mixture)
    with opened.intact():
        # a document of bertopic that is between topics has none, and 0 of each; one without words is left out
        filled: BoolArray = numbers(documents, "topic" if opened.is_mixture else "nearest_topic", least=-1) >= 0
    if not filled.any():
        raise InputError(f"no document of {opened.path} has a topic")
    fitted = opened.model_config("options")["options"].get("prevalence") if kind == "stm" else None
    posterior = MODELS[kind].posterior if not main else ""
    if posterior:
        draws: Draws = resolved(posterior)(opened, filled)
    elif opened.is_mixture and not main:
        draws = _fixed(read_theta(opened)(np.flatnonzero(filled)))
    else:
        weights = read_membership(opened, mixed=not main).weights[np.flatnonzero(filled)].toarray()
        draws = _fixed(np.asarray(weights, np.float64))
    rows = documents.filter(pa.array(filled))
    return Source(str(opened.path), labels, filled, rows, draws, bool(posterior), opened, (), fitted)


def _of_table(data: Any, options: EffectOptions) -> Source:
    """Return a table of units with the columns topic_0, topic_1, …, as `topic_units` writes it."""
    if options.permutations is not None:
        raise UsageError("`permutations` needs a run of stm, not a table", parameter="permutations")
    path = Path(data) if isinstance(data, str | Path) else None
    where = "the table" if path is None else str(path)
    footer = read_footer(path) if path is not None and path.suffix == ".parquet" else None
    if path is not None and footer is not None:
        table = read_table(path, ["topic_units"])
        inputs = [InputInfo(where, table.num_rows, sha256_of(path), None)]
    else:
        corpus = as_corpus(data) if path is None else read_corpus(where)
        with corpus.with_options(text_needed=False).open() as stream:
            table, inputs = stream.read_all(), list(stream.inputs)
    named = {int(match[1]): name for name in table.column_names if (match := SHARE.fullmatch(name))}
    if sorted(named) != list(range(len(named))) or not named:
        raise InputError(
            f"{where} is neither a run nor a table of units with the columns topic_0, topic_1, … (`topic_units()`)"
        )
    columns = []
    for k in range(len(named)):
        values = covariate_of(table, named[k], where=where, is_category=False)
        if not isinstance(values, np.ndarray) or np.nanmin(values) < -1e-9 or np.nanmax(values) > 1 + 1e-9:
            raise InputError(f"column '{named[k]}' of {where} holds other values than shares from 0 to 1")
        columns.append(values)
    theta = np.column_stack(columns)
    filled = np.asarray(np.isfinite(theta).all(axis=1), bool)
    names = [named[k] for k in range(len(named))]
    labels = ((footer or {}).get("parameters") or {}).get("topic_labels") or ()
    names = list(labels) if len(labels) == len(names) else names
    return Source(where, names, filled, table.filter(pa.array(filled)), _fixed(theta[filled]), False, None, inputs)


def _fixed(theta: FloatArray) -> Draws:
    """Return draws that are all the same: of topics that are taken as known."""

    def draws(rng: np.random.Generator, count: int) -> Iterator[FloatArray]:
        for _ in range(count):
            yield theta

    return draws


def _present(values: Covariate) -> BoolArray:
    if isinstance(values, np.ndarray):
        return np.asarray(~np.isnan(values))
    return np.array([value is not None for value in values], bool)


def _selected(values: Covariate, kept: BoolArray) -> Covariate:
    return values[kept] if isinstance(values, np.ndarray) else [v for v, k in zip(values, kept, strict=True) if k]


def clusters_of(rows: pa.Table, column: str, where: str, design: Design, values: dict[str, Covariate]) -> Clusters:
    """Return the clusters of documents that a column makes.

    Raises:
        InputError: a document has no value, or there are too few; ColumnError: the column is not there.
    """
    labels = as_labels(covariate_of(rows, column, where=where, is_category=True, parameter="cluster"))
    missing = sum(label is None for label in labels)
    if missing:
        raise InputError(
            f"'{column}' has no value in {missing:,} of {len(labels):,} documents; a document without one belongs to no cluster",
            parameter="cluster",
        )
    clusters = Clusters.of_labels([str(label) for label in labels], column)
    check_clusters(design.matrix(values), clusters, tuple(design.names))
    if len(clusters.starts) < FEW_CLUSTERS:
        reporting.warn(
            f"'{column}' has {len(clusters.starts)} values; intervals by cluster are rough below {FEW_CLUSTERS}"
        )
    return clusters


def effects_of(data: EffectData, options: EffectOptions, seed: int) -> Effects:
    """Return the regressions of the topics on the covariates, of as many draws as the options say."""
    rng = np.random.Generator(np.random.Philox(key=stream_key(seed, "effects")))
    X, names = data.design.matrix(data.values), tuple(data.design.names)
    count = options.draws if data.source.drawn else 1
    draws = (theta if data.kept.all() else theta[data.kept] for theta in data.source.draws(rng, count))
    logit = options.link == "logit"
    if data.clusters is None and not logit:
        effects = regress_draws(draws, X, names)
    else:
        kind = "random" if options.random is not None else options.link
        clusters = data.clusters or Clusters.of_documents(len(X))
        degrees = len(X) - X.shape[1] if data.clusters is None else len(clusters.starts) - 1
        effects = regress_with(ESTIMATORS[kind](X, clusters), draws, names, degrees, is_logit=logit)
    if options.bootstrap is not None:
        effects = _bootstrapped(effects, data, X, options, rng)
    lost = [f"{k} {data.source.labels[k]}" for k in np.flatnonzero(np.isnan(effects.coefficients[:, 0]))]
    if lost:
        reporting.warn(
            f"no estimate for {wording.counted(len(lost), 'topic')} ({wording.listed(lost, 3)}): some values of the covariates never, or "
            "always, have it, and the logit is infinite there; use the linear regression, or put values together"
        )
    return effects


def _bootstrapped(
    effects: Effects, data: EffectData, X: FloatArray, options: EffectOptions, rng: np.random.Generator
) -> Effects:
    """Return the effects with the covariance of their estimates over samples of the documents, or clusters, with replacement."""
    clusters = data.clusters or Clusters.of_documents(len(X))
    kind = "random" if options.random is not None else options.link
    estimates, failed = [], 0
    for theta in data.source.draws(rng, int(options.bootstrap or 0)):
        rows, sample = resampled(clusters, rng)
        chosen = X[rows]
        if not can_be_estimated(chosen):
            failed += 1
            continue
        estimates.append(ESTIMATORS[kind](chosen, sample)((theta[data.kept])[rows])[0])
    if len(estimates) < 2:
        raise InputError(
            "samples of the documents lack some values of the covariates, so that there is no bootstrap; put values together",
            parameter="bootstrap",
        )
    if failed:
        reporting.note(f"{failed} of {options.bootstrap} samples left out, as they lack some values of the covariates")
    several = np.array(estimates)
    spread = several - np.nanmean(several, axis=0)
    covariance = np.einsum("mkp,mkq->kpq", spread, spread) / (len(several) - 1)
    return Effects(effects.names, effects.coefficients, covariance, effects.degrees, effects.is_logit)
