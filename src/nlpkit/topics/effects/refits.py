"""Effects over the fits of robust topics: a regression in each fit, and all combined, with the uncertainty of the topics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import BoolArray, FloatArray, LongArray
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.effects.data import EffectData, Source, source_of
from nlpkit.topics.effects.estimators import ESTIMATORS, Clusters, can_be_estimated, regress_with
from nlpkit.topics.effects.options import EffectOptions
from nlpkit.topics.effects.regression import Effects


def effects_over_fits(
    data: EffectData, options: EffectOptions, seed: int, *, verify: bool
) -> tuple[Effects, int, bool]:
    """Return the effects on robust topics over the fits that have them, how many fits there are, and whether topics were drawn.

        Cov β_k = mean covariance of the R_k fits that have topic k + (1 + 1/R_k) · covariance of their β_k (Rubin 1987, p. 76)

    The covariance of a fit is that of its own documents, and includes its draws where its model has a posterior. Each topic has its
    degrees of freedom, by Barnard and Rubin (1999), the fewest of its coefficients.

    Raises:
        UsageError: the run is not one of robust topics, or of segments; InputError: a fit is not there, is another one, or lacks values
        of the covariates.
    """
    run = data.source.run
    if run is None or run.manifest["kind"] != "robust":
        raise UsageError(
            f"`refits` needs a run of robust topics, and {data.source.where} is another",
            parameter="refits",
        )
    fits = run.table("robust_runs").to_pylist()
    if any(fit.get("segment") is not None for fit in fits):
        raise UsageError(f"`refits`: the fits of {run.path} are of segments, not of all documents", parameter="refits")
    members = run.table("robust_members", ["run", "topic"])
    run_of, topic_of = (members.column(name).to_numpy().astype(np.int64) for name in ("run", "topic"))
    rng = np.random.Generator(np.random.Philox(key=stream_key(seed, "effects")))
    X, names, K = data.design.matrix(data.values), tuple(data.design.names), len(data.source.labels)
    has = np.zeros((len(fits), K), bool)
    coefficients, covariance = np.zeros((len(fits), K, len(names))), np.zeros((K, len(names), len(names)))
    logit, drawn = options.link == "logit", False
    kind = "random" if options.random is not None else options.link
    for r, fit in enumerate(fits):
        source = source_of(_path(run, str(fit["path"])), options, verify=verify)
        topics = topic_of[run_of == r]
        if len(topics) != len(source.labels):
            raise InputError(f"{source.where} is not the fit that {run.path} was made of; find robust topics again")
        place = pc.fill_null(pc.index_in(data.rows.column("id"), value_set=source.rows.column("id")), -1).to_numpy()
        rows: LongArray = np.flatnonzero(place >= 0).astype(np.int64)
        if not can_be_estimated(X[rows]):
            raise InputError(f"the documents of {source.where} lack some values of the covariates", parameter="refits")
        has[r] = [k in topics or k > topic_of.max() for k in range(K)]
        draws = _shares(source, rng, options, topics, np.flatnonzero(has[r]).astype(np.int64), place[rows])
        clusters = _of_rows(data.clusters, rows)
        estimate = regress_with(ESTIMATORS[kind](X[rows], clusters), draws, names, 1, is_logit=logit)
        coefficients[r, has[r]] = estimate.coefficients
        covariance[has[r]] += estimate.covariance
        drawn |= source.drawn
    degrees = len(X) - len(names) if data.clusters is None else len(data.clusters.starts) - 1
    return _combined(names, coefficients, covariance, has, degrees, is_logit=logit), len(fits), drawn


def _path(run: Run, name: str) -> Path:
    """Return the directory of a fit, as it was named or beside the run. Raises InputError where it is not there."""
    places = [Path(name), run.path.parent / name, *(run.path.parent / Path(*Path(name).parts[i:]) for i in (-3, -1))]
    for place in places:
        if (place / MANIFEST).is_file():
            return place
    raise InputError(f"{name}, a fit of {run.path}, is not there; `refits` needs all fits", parameter="refits")


def _shares(
    source: Source,
    rng: np.random.Generator,
    options: EffectOptions,
    topics: LongArray,
    kept: LongArray,
    rows: LongArray,
) -> Iterator[FloatArray]:
    """Yield draws of the shares of robust topics in documents of a fit; what has none of them is the rest, if this is a topic."""
    into = (topics[:, None] == kept).astype(np.float64)
    for theta in source.draws(rng, options.draws if source.drawn else 1):
        shares = theta[rows] @ into
        rest = kept > topics.max(initial=-1)
        shares[:, rest] = np.maximum(1 - shares[:, ~rest].sum(axis=1), 0.0)[:, None]
        yield shares


def _of_rows(clusters: Clusters | None, rows: LongArray) -> Clusters:
    if clusters is None:
        return Clusters.of_documents(len(rows))
    return Clusters.of_labels([clusters.names[g] for g in clusters.cluster_of[rows]], clusters.column)


def _combined(
    names: tuple[str, ...], several: FloatArray, within: FloatArray, has: BoolArray, degrees: int, *, is_logit: bool
) -> Effects:
    """Return estimates of fits (R, K, P), of which those that have topic k (R, K) count, as one; within: sum of their covariances."""
    n = has.sum(axis=0).astype(np.float64)
    mean = several.sum(axis=0) / n[:, None]
    spread = np.where(has[:, :, None], several - mean, 0.0)
    between = np.einsum("rkp,rkq->kpq", spread, spread) * ((1 + 1 / n) / np.maximum(n - 1, 1))[:, None, None]
    total = within / n[:, None, None] + between
    part = np.einsum("kpp->kp", between) / np.maximum(np.einsum("kpp->kp", total), 1e-300)
    between_degrees = np.maximum(n - 1, 1)[:, None] / np.maximum(part, 1e-12) ** 2
    complete = (degrees + 1) / (degrees + 3) * degrees * np.maximum(1 - part, 1e-12)
    return Effects(names, mean, total, (1 / (1 / between_degrees + 1 / complete)).min(axis=1), is_logit)
