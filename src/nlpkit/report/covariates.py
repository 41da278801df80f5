"""What the report shows of columns: what they explain, effects, topics that go together, words by level, time by group.

Further parts, in this order:
- The same as single pictures: what draws them, their usual height in cm, and the texts in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from threadpoolctl import threadpool_limits

from nlpkit.errors import InputError, NlpkitError, UsageError
from nlpkit.platform import reporting
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import FloatArray
from nlpkit.platform.views.figures import Draw, PlotOptions
from nlpkit.platform.views.html import paragraphs, table
from nlpkit.platform.views.picture import Picture
from nlpkit.report.figures import LEAST, classical_scaling, draw_content, draw_time_by_group
from nlpkit.report.options import ReportOptions
from nlpkit.topics.base.tables import read_membership
from nlpkit.topics.edit.files import hidden_topics
from nlpkit.topics.effects.data import EffectData, effect_data, effects_of
from nlpkit.topics.effects.design import Coding
from nlpkit.topics.effects.figures import MOST_PANELS, draw_differences, plot_effects
from nlpkit.topics.effects.formula import parse_formula
from nlpkit.topics.effects.options import EffectOptions
from nlpkit.topics.effects.regression import Effects, cases
from nlpkit.topics.effects.run import estimate_effects
from nlpkit.topics.effects.values import holds_dates, moderated
from nlpkit.topics.over_time.columns import topic_columns
from nlpkit.topics.over_time.prevalence import correlations, share_bounds
from nlpkit.topics.over_time.run import topics as topic_shares
from nlpkit.topics.stm.options import TERMS_BY_CONTENT

GRID = 40  # values of a number
MOST_LEVELS = 12
MOST_GROUPS, MOST_TOPICS = 6, 24  # lines and panels of a picture of time by group
WORDS = 8
DOMINATES = 0.25  # share that a column explains from which the remedy is named
LEVEL = 0.95
CAN_DEBIAS = ("bertopic", "lda-gibbs")


def column_ranking(run: Run, columns: Sequence[str], execution: Execution) -> dict[str, Any] | None:
    """Return the columns by how well they explain the topics, and what to do where one dominates; None where there is none to rank."""
    try:
        rows = topic_columns(run, execution=execution).table.to_pylist()
    except InputError:
        return None
    rows = [row for row in rows if row["column"] in columns]
    strong = [row["column"] for row in rows if row["kind"] == "text" and row["low"] >= DOMINATES]
    note = ""
    if strong:
        command = run.manifest["kind"] if run.manifest["kind"] in CAN_DEBIAS else "bertopic or lda-gibbs"
        note = (
            f"{strong[0]} explains much of the topics. If it is their subject, such as a label, that is good. If topics should not "
            f"follow it, such as a source or an author, fit again with nlpkit {command} --debias {strong[0]}."
        )
    return {"rows": rows, "note": note} if rows else None


def has_covariates(run: Run) -> bool:
    """Whether a run was fitted with covariates, whose effects are then known."""
    return run.manifest["kind"] == "stm" and run.model_config("options")["options"].get("prevalence") is not None


def effects(run: Run, options: ReportOptions, execution: Execution) -> dict[str, Any] | None:
    """Return the shares of topics at the values of each covariate, and what their differences are computed from.

    A category has the mean and the covariance of its levels for each topic, so that the page can compare any two. A number has a line
    with its interval. Each pair of an interaction has these for each value of the other column.

    Raises:
        UsageError, InputError: the formula or the clusters that are asked for cannot be used.
    """
    if options.prevalence is None and not has_covariates(run):
        if options.cluster is not None:
            raise UsageError("`cluster` belongs to effects; name their formula with `prevalence`", parameter="cluster")
        return None
    regression = EffectOptions(prevalence=options.prevalence, cluster=options.cluster)
    try:
        data = effect_data(run, regression, verify=False)
    except NlpkitError as error:
        if options.prevalence is not None or options.cluster is not None:
            raise
        reporting.warn(f"the report has no effects: {error}", always=True)
        return None
    with threadpool_limits(1, user_api="blas"):
        estimated = effects_of(data, regression, execution.seed)
        columns = [_entry(data, estimated, name, None) for name in data.formula.columns]
        pairs = {
            (a, b)
            for term in data.formula.terms
            for a in {f.column for f in term}
            for b in {f.column for f in term} - {a}
        }
        columns += [_entry(data, estimated, a, b) for a, b in sorted(pairs)]
    return {
        "formula": data.formula.text, "documents": data.rows.num_rows, "cluster": options.cluster, "t": round(estimated.quantile(LEVEL), 5),
        "columns": [entry for entry in columns if entry is not None],
    }  # fmt: skip


def _entry(data: EffectData, estimated: Effects, column: str, moderator: str | None) -> dict[str, Any] | None:
    """Return what the page draws of one column, at each value of a moderator; None where that has too many values."""
    coding = data.design.coding_of(column)
    others: list[dict[str, float | str]] = [{}]
    lines = [""]
    if moderator is not None:
        try:
            varied = moderated(data, column, moderator)
        except UsageError:
            return None
        others, lines = [{moderator: value} for _, value in varied.values], [name for name, _ in varied.values]
    entry: dict[str, Any] = {"name": column, "moderator": moderator, "lines": lines}
    is_date = holds_dates(data, column)
    levels = _levels(coding, np.array(data.values[column]), is_date=is_date)
    if len(levels):
        names = [level if isinstance(level, str) else f"{level:g}" for level in levels]
        entry |= {
            "type": "category",
            "values": names,
            "of": max(len(coding.levels), len(levels)),
            "mean": [],
            "cov": [],
        }
        for other in others:
            _, X = cases(data.design, column, values=levels, others=other)
            entry["mean"].append(_rounded(X @ estimated.coefficients.T, 5).T.tolist())
            cov = np.einsum("ap,kpq,bq->kab", X, estimated.covariance, X)
            entry["cov"].append(np.vectorize(lambda v: float(f"{v:.4g}"))(cov).tolist())
        return entry
    grid = np.unique(np.linspace(*coding.ends, GRID).round()) if is_date else np.linspace(*coding.ends, GRID)
    entry |= {
        "type": "date" if is_date else "number",
        "x": _rounded(grid, 6).tolist(),
        "share": [],
        "low": [],
        "high": [],
    }
    for other in others:
        _, X = cases(data.design, column, values=grid, others=other)
        at = estimated.at(X, level=LEVEL)
        for name, values in (("share", at.mean), ("low", at.low), ("high", at.high)):
            entry[name].append(_rounded(values, 4).T.tolist())
    return entry


def _levels(coding: Coding, values: np.ndarray, *, is_date: bool) -> list[str] | FloatArray:
    """Return the most frequent levels of a category, in their order; of a number its values, where it has two, such as 0 and 1."""
    if not coding.levels:
        two = np.unique(values.astype(np.float64))
        return [] if is_date or len(two) != 2 else two
    counts = dict(zip(*np.unique(values.astype(str), return_counts=True), strict=True))
    most = sorted(coding.levels, key=lambda level: -counts.get(level, 0))[:MOST_LEVELS]
    return sorted(most, key=coding.levels.index)


def _rounded(values: FloatArray, digits: int) -> FloatArray:
    return np.asarray(np.round(values, digits), np.float64)


def network(run: Run) -> dict[str, Any] | None:
    """Return the places of topics by their correlation over documents, and the pairs [j, k, r]; None but for mixtures of two topics."""
    if not run.is_mixture or run.table("topics", ["topic"]).num_rows < 2:
        return None
    r = np.nan_to_num(correlations(read_membership(run, mixed=True)))
    np.fill_diagonal(r, 1.0)
    places = classical_scaling(2.0 * (1.0 - r))
    pairs = [[j, k, round(float(r[j, k]), 3)] for k in range(len(r)) for j in range(k) if abs(r[j, k]) >= LEAST]
    return {"places": _rounded(places, 4).tolist(), "pairs": pairs}


def content_table(run: Run, labels: Sequence[str]) -> str:
    """Return the words that set the levels of the content apart, as a table: topics × levels; "" for runs without content."""
    if not (run.path / f"{TERMS_BY_CONTENT}.parquet").is_file():
        return ""
    options, hidden = run.model_config("options"), hidden_topics(run)
    levels, column = options["content_levels"], options["options"]["content"]
    rows = (
        run.table(TERMS_BY_CONTENT)
        .filter((pc.field("contrast_rank") <= WORDS) & (pc.field("log_ratio") > 0))
        .to_pylist()
    )
    words: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["contrast_rank"]):
        words.setdefault((row["topic"], row["level"]), []).append(row)
    cells = [
        [label, *(", ".join(row["term"] for row in words.get((k, level), [])) or "–" for level in levels)]
        for k, label in enumerate(labels)
        if k not in hidden
    ]
    note = (
        f"Words that a topic has more of in documents of one {column} than on average, by weight times the logarithm of the ratio. "
        "The words are fitted, not counted: a word may be here that few documents have."
    )
    return paragraphs([note]) + table(["Topic", *levels], cells, id="content-table")


def time_by_group(
    run: Run, documents: pa.Table, columns: Sequence[str], over: str | None, execution: Execution
) -> list[dict[str, Any]]:
    """Return shares of topics in periods and groups with their intervals, of the most frequent groups and the largest topics.

    over: the periods. Nothing is returned of a column with fewer than two groups, or of fewer than two periods.
    """
    tables: list[dict[str, Any]] = []
    for name in columns if over is not None else ():
        with reporting.quiet():  # of documents without a value the table by column tells
            shares = topic_shares(run, over=over, by=(name,), execution=execution)
        periods, axis = shares.periods, shares.groups[0]
        if periods is None or len(periods.names) < 2 or len(axis.names) < 2:
            continue
        P, G, K = len(periods.names), len(axis.names), min(len(shares.labels), MOST_TOPICS)
        sizes = np.asarray(shares.by_group(axis).n)
        groups = np.sort(np.argsort(-sizes, kind="stable")[:MOST_GROUPS])
        low, high = share_bounds(shares.cells, level=shares.options.ci)
        parts = {
            key: np.moveaxis(values.reshape(P, G, -1)[:, groups, :K], (2, 1), (0, 1))
            for key, values in (("share", shares.cells.shares), ("low", low), ("high", high))
        }  # (K, G, P)
        tables.append(
            {
                "name": name, "over": over, "cells": periods.names, "groups": [axis.names[g] for g in groups], "of": G,
                "n": shares.cells.n.reshape(P, G)[:, groups].T.tolist(),
                **{key: [[_known(line) for line in topic] for topic in values] for key, values in parts.items()},
            }
        )  # fmt: skip
    return tables


def _known(values: FloatArray) -> list[float | None]:
    return [None if np.isnan(v) else round(float(v), 4) for v in values]


# ------------------------------------------------------------------------------------------------------------------------
# The same as single pictures: what draws them, their usual height in cm, and the texts in them.

Prepared = tuple[Draw, float, Sequence[str]]


def effects_picture(run: Run, options: PlotOptions, execution: Execution) -> Picture:
    """Return the picture of the effect of a column, usually the first covariate.

    Raises:
        InputError: the run has no covariates; UsageError, ColumnError: as `estimate_effects`.
    """
    if options.prevalence is None and not has_covariates(run):
        raise InputError(
            f"{run.path} was not fitted with covariates, so that the effects to draw are not known; name them with `prevalence`"
        )
    formula = parse_formula(options.prevalence or run.model_config("options")["options"]["prevalence"])
    if not formula.columns:
        raise UsageError(f"`prevalence={formula.text}` names no column", parameter="prevalence")
    asked = EffectOptions(
        column=options.by or formula.columns[0], difference=options.difference, moderator=options.moderator,
        prevalence=options.prevalence, cluster=options.cluster,
    )  # fmt: skip
    table = estimate_effects(run, options=asked, execution=execution)
    shown = pc.invert(pc.is_in(table.table.column("topic"), pa.array(sorted(hidden_topics(run)), pa.int64())))
    table = replace(table, table=table.table.filter(shown))
    size: dict[str, Any] = {"width": options.wide, "height": options.height}
    return plot_effects(table, topics=options.topics, style=options.style, **size)


def plot_columns(run: Run, execution: Execution) -> Prepared:
    """Return what draws the columns by what they explain. Raises InputError where there is none."""
    rows = topic_columns(run, execution=execution).table.to_pylist()
    names = [f"{row['column']} ({row['values']:,}{'' if row['kind'] == 'text' else ' parts'})" for row in rows]
    effect = np.array([[row["effect"]] for row in rows])
    ends = {"low": np.minimum, "high": np.maximum}
    differences = {name: least(effect, np.array([[row[name]] for row in rows])) for name, least in ends.items()}
    title = "% of the variance of topics that a column explains"
    draw = partial(draw_differences, differences={**differences, "difference": effect}, names=names, title=title)
    return draw, 1.6 + 0.55 * len(rows), names


def plot_content(run: Run, topic: int, n_words: int, labels: Sequence[str]) -> Prepared:
    """Return what draws the words of a topic by level. Raises InputError for a run without content, UsageError for another topic."""
    if not (run.path / f"{TERMS_BY_CONTENT}.parquet").is_file():
        raise InputError(
            f"{run.path} was not fitted with a column for the words of topics (`fit_stm()` with `content`)"
        )
    if topic >= len(labels):
        raise UsageError(f"`topic={topic}`: the run has topics 0 to {len(labels) - 1}", parameter="topic")
    options = run.model_config("options")
    table = run.table(TERMS_BY_CONTENT).filter((pc.field("topic") == topic) & (pc.field("contrast_rank") <= n_words))
    rows = sorted(table.to_pylist(), key=lambda row: row["contrast_rank"])
    levels = options["content_levels"]
    title = f"{topic} {labels[topic]}, by {options['options']['content']}"
    draw = partial(draw_content, rows=rows, levels=levels, title=title)
    return draw, 1.6 + -(-len(levels) // 3) * (1.2 + 0.33 * n_words), [title, *levels, *(row["term"] for row in rows)]


def plot_time_by_group(
    run: Run, documents: pa.Table, options: PlotOptions, over: str | None, execution: Execution, labels: Sequence[str]
) -> Prepared:
    """Return what draws topics over time by group. Raises InputError where there are no two periods or groups."""
    tables = time_by_group(run, documents, [str(options.by)], over, execution)
    if not tables:
        raise InputError(f"the documents of {run.path} have no two periods and two values of '{options.by}'")
    hidden = hidden_topics(run)
    shown = [k for k in range(len(tables[0]["share"])) if k not in hidden][: options.topics or MOST_PANELS]
    table = {**tables[0], **{key: [tables[0][key][k] for k in shown] for key in ("share", "low", "high")}}
    names = [labels[k] for k in shown]
    draw = partial(draw_time_by_group, table=table, names=names)
    return draw, 1.8 + 3.5 * -(-len(shown) // 3), [*names, table["name"], *table["groups"]]
