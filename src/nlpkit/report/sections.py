"""What the report of a topic run shows over time and by column: shares with intervals, from `nlpkit.topics`.

Further parts, in this order:
- What the report of a classifier or a fine-tuned model shows: scores with intervals, confusions, calibration, errors, learning
  curves.
- What the report shows of another run beside its own: which topics correspond, and how documents went from one to the other.
- What the report of a comparison shows: scores of each model by its number of topics, the words of its topics, all fits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.classify.tables import CLASSES
from nlpkit.classify.views import errors_blocks, terms_blocks
from nlpkit.errors import ColumnError
from nlpkit.evaluate.compare.run import OWN, ModelComparison
from nlpkit.evaluate.compare.views import direction, number, number_of_topics, summary_block, title_of
from nlpkit.metrics.catalogue import METRICS, in_group
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.date_columns import calendar, check_years, date_format_of, days_of
from nlpkit.platform.documents.dates import PARTS
from nlpkit.platform.options import Execution
from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.runs.runs import Run, open_run
from nlpkit.platform.types import IntArray, LongArray
from nlpkit.platform.views.html import paragraphs, table, write
from nlpkit.platform.views.page import Section
from nlpkit.report.class_table import classes_block
from nlpkit.report.options import ReportOptions
from nlpkit.report.prose import training_paths
from nlpkit.topics.diff.run import TopicDiff, diff
from nlpkit.topics.diff.views import diff_blocks
from nlpkit.topics.edit.files import hidden_topics
from nlpkit.topics.over_time.prevalence import CellSums, share_bounds
from nlpkit.topics.over_time.run import TopicShares
from nlpkit.topics.over_time.run import topics as topic_shares

MOST_PERIODS = 60
FEWEST_DOCUMENTS = 30
MOST_VALUES = 30
MOST_COLUMNS = 4
LENGTHS = (("day", 1), ("week", 7), ("month", 30.4), ("quarter", 91.3), ("year", 365.25), ("decade", 3652.5))


def usual_periods(documents: pa.Table, *, groups: int = 1) -> str | None:
    """Return the part of the dates for periods, as date:month; None without dates or with one period.

    It is the shortest that makes at most 60 periods of 30 documents of each group on average; of few documents the longest that makes
    two.
    """
    if "date" not in documents.column_names:
        return None
    try:
        days, _ = days_of(documents.column("date"), format=date_format_of(documents.schema, "date"), strict=True)
        check_years(days, "date")
    except ColumnError as error:
        reporting.warn(f"the report has no topics over time: {error}", always=True)
        return None
    known = days[~np.isnat(days)]
    if not len(known):
        return None
    span = int((known.max() - known.min()).astype(np.int64))
    yearly = bool((known == known.astype("datetime64[Y]").astype("datetime64[D]")).all())  # years alone, perhaps
    most = min(MOST_PERIODS, max(len(known) // (FEWEST_DOCUMENTS * groups), 4))
    parts = [(name, length) for name, length in LENGTHS if not (yearly and length < 365)]
    n_periods = {name: _n_periods(name, known.min().item(), known.max().item()) for name, _ in parts}
    several = [(name, length) for name, length in parts if 2 <= n_periods[name] <= MOST_PERIODS]
    longest = several[-1][0] if several else None
    part = next((name for name, length in several if span / length <= most), longest)
    return f"date:{part}" if part else None


def _n_periods(part: str, first: date, last: date) -> int:
    """Return the number of periods from one day to another, both in it; one more than the most where they are too many."""
    write = PARTS[part][1]
    names = calendar(part, write(first), write(last), most=MOST_PERIODS)
    return MOST_PERIODS + 1 if names is None else len(names)


def over_time(run: Run, documents: pa.Table, options: ReportOptions, execution: Execution) -> dict[str, Any] | None:
    """Return shares of the topics in periods with their intervals, and changes where the run tested for them.

    "of" holds the period of each document (D,), -1 for none.
    """
    over = options.over or usual_periods(documents)
    if over is None:
        return None
    shares = topic_shares(run, over=over, execution=execution)
    periods, sums = shares.periods, shares.over_time
    if periods is None or sums is None or len(periods.names) < 2:
        return None
    series = _series(shares, sums)
    trends = shares.trends
    for k, row in enumerate(trends.to_pylist() if trends is not None else []):
        if row["change"]:
            series[k]["change"] = row["change"]
            series[k]["note"] = (
                f"{row['change']} from {wording.percent(row['share_first'])} to {wording.percent(row['share_last'])} (q = {row['q']:.2g})"
            )
    _mark_changes(run, over, periods.names, series)
    return {
        "over": over,
        "cells": periods.names,
        "n": sums.n,
        "series": series,
        "left_out": shares.left_out,
        "tested": trends is not None,
        "of": shares.cell_of,
    }


def _mark_changes(run: Run, over: str, names: Sequence[str], series: list[dict[str, Any]]) -> None:
    """Mark the periods in which a rolling model found that the words of a topic changed."""
    if not (run.path / "changes.parquet").is_file() or ":" not in over:
        return
    table = run.table("changes")
    place = {name: i for i, name in enumerate(names)}
    part = over.partition(":")[2]
    with run.intact():
        for row in table.filter(pc.field("changed")).to_pylist():
            period = place.get(PARTS[part][1](row["start_date"]))
            if period is None:
                continue
            one = series[row["topic"]]
            one.setdefault("changed", [False] * len(names))[period] = True
            one.setdefault("changes", {}).setdefault(names[period], []).extend(row["words"][:3])
    for one in series:
        changes = [f"{name} ({', '.join(dict.fromkeys(words))})" for name, words in one.pop("changes", {}).items()]
        if changes:
            one["note"] = "; ".join(filter(None, [one.get("note"), f"words change: {wording.listed(changes, 3)}"]))


def by_column(
    run: Run,
    documents: pa.Table,
    columns: Sequence[str],
    options: ReportOptions,
    execution: Execution,
    *,
    most: int = MOST_COLUMNS,
) -> list[dict[str, Any]]:
    """Return shares of the topics in the values of columns, with their intervals, and how many topics differ between them.

    Without `by`: of the first columns, `most` of them, of 2 to 30 values that are neither numbers nor dates. "of" holds which of the
    values each document has (D,), -1 for none.
    """
    tables = []
    for name in options.by or [c for c in columns if has_few_values(documents, c)][:most]:
        shares = topic_shares(run, by=(name,), execution=execution)
        axis = shares.groups[0]
        sums = shares.by_group(axis)
        order = np.lexsort((np.arange(len(axis.names)), -np.asarray(sums.n)))[:MOST_VALUES]
        tested = shares.differences
        differ = int(np.sum(np.array(tested.column("q").to_pylist(), float) <= 0.05)) if tested is not None else 0
        note = f"{differ} of {len(shares.labels)} topics differ between the values (false discovery rate 5 %)."
        if len(axis.names) > len(order):
            note += f" The {len(order)} most frequent of {len(axis.names)} values."
        if shares.left_out:
            note += f" {wording.counted(shares.left_out, 'document')} without a value."
        series: list[dict[str, Any]] = [
            {key: [values[i] for i in order] for key, values in row.items()} for row in _series(shares, sums)
        ]
        for k, row in enumerate(tested.to_pylist() if tested is not None else []):
            tests: dict[str, Any] = {name: row[name] for name in ("q", "effect")}
            series[k].update(tests)
        tables.append(
            {
                "name": name,
                "values": [axis.names[i] for i in order],
                "n": np.asarray(sums.n)[order],
                "series": series,
                "note": note,
                "of": _places(order, len(axis.names))[shares.cell_of],
            }
        )
    return tables


def _places(order: LongArray, n: int) -> IntArray:
    """Return the place in an order of each of n cells (n+1,), -1 for those that are not in it, and for the cell -1."""
    places: IntArray = np.full(n + 1, -1, np.int32)
    places[order] = np.arange(len(order))
    return places


def has_few_values(documents: pa.Table, name: str) -> bool:
    """Whether a column of documents holds 2 to 30 texts that are no dates."""
    kind = documents.schema.field(name).type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind)):
        return False
    n = pc.count_distinct(documents.column(name)).as_py()
    return 1 < n <= MOST_VALUES and name != "date"


def _series(shares: TopicShares, sums: CellSums) -> list[dict[str, Any]]:
    """Return share, low and high of each topic in each cell, None where a cell has no document."""
    low, high = share_bounds(sums, level=shares.options.ci)
    tables = {"share": sums.shares, "low": low, "high": high}
    return [
        {name: [_short(v) for v in values[:, k]] for name, values in tables.items()} for k in range(len(shares.labels))
    ]


def _short(value: float) -> float | None:
    known = finite_or_none(value)
    return None if known is None else round(known, 5)


# ------------------------------------------------------------------------------------------------------------------------
# What the report of a classifier or a fine-tuned model shows: scores with intervals, confusions, calibration, errors, learning curves.

MOST_ERRORS, MOST_TERMS = 100, 15


def score_sections(run: Run, options: ReportOptions) -> tuple[str, list[Section], dict[str, Any]]:
    """Return the lead, the sections and the data of the report of a model with predictions."""
    metrics = json.loads(run.file("metrics.json").read_text(encoding="utf-8"))
    target = metrics["targets"][0]
    errors = [m for m in in_group("regression", "ordinal") if METRICS[m].better == "low"]  # which may be above 1
    scores = [
        {
            "name": name,
            "error": name in errors,
            **{key: one.get(key) for key in ("value", "low", "high", "n", "interval")},
        }
        for name, one in target["metrics"].items()
        if one.get("value") is not None
    ]
    ordered = any(s["name"] == "rank_mae" for s in scores)
    data: dict[str, Any] = {"scores": scores}
    sections = [Section("overview", "Overview", paragraphs(_sentences(run, target)))]
    sections.append(
        Section(
            "scores",
            "Scores",
            table(
                ["Score", "Value", "95 % interval", "Interval by", "Documents", "Meaning"],
                [_score_row(s) for s in scores],
                numeric=(1, 2, 4),
            ),
        )
    )
    if (run.path / "classes.parquet").is_file():
        classes = run.table("classes")
        CLASSES.check(classes, None, {})
        sections.append(Section("classes", "Classes", write([classes_block(classes.to_pylist(), "")])))
    confusion = target.get("confusion")
    if confusion and len(confusion["columns"]) <= 80:
        data["confusion"] = {"names": confusion["columns"], "counts": confusion["counts"]}
        sections.append(Section("confusion", "Confusions"))
    bins = (target.get("calibration") or {}).get("bins")
    if bins:
        data["calibration"] = bins
        note = "Points under the diagonal are too confident: the predicted probability is higher than the share that is right."
        sections.append(Section("calibration", "Calibration", paragraphs([note])))
    curves = _curves(run)
    if curves:
        data["learning"] = curves
        sections.append(Section("learning", "Learning curves"))
    if (run.path / "class_terms.parquet").is_file():
        sections.append(Section("words", "Words", write(terms_blocks(run.table("class_terms"), MOST_TERMS))))
    if (run.path / "errors.parquet").is_file():
        wrong = errors_blocks(run.table("errors"), MOST_ERRORS, options.snippet, ranks=ordered, texts=options.texts)
        sections.append(Section("errors", "Errors", write(wrong)))
    chief = ("rank_mae", "quadratic_kappa") if ordered else ("accuracy", "macro_f1")
    main = [s for s in scores if s["name"] in chief] or scores[:2]
    lead = ", ".join(f"{s['name'].replace('_', ' ')} {s['value']:.3f}" for s in main)
    return lead, sections, data


def _sentences(run: Run, target: Mapping[str, Any]) -> list[str]:
    parameters = run.manifest["parameters"]
    model = parameters.get("model") or wording.listed(list(parameters.get("methods") or []), 3) or run.manifest["kind"]
    base = f" on {parameters['base']}" if parameters.get("base") else ""
    scored_by = (
        f"{parameters['folds']}-fold cross-validation"
        if parameters.get("folds")
        else f"documents of {parameters['test']}"
        if parameters.get("test")
        else "documents held out"
    )
    classes = parameters.get("classes")
    sentences = [
        f"{model}{base}, trained on {wording.listed(training_paths(run.manifest), 3)}; scored by {scored_by}"
        + (f"; {wording.counted(len(classes), 'class', 'classes')}." if classes and isinstance(classes, list) else ".")
    ]
    return sentences + [str(note) for note in target.get("notes") or []]


def _score_row(score: Mapping[str, Any]) -> list[object]:
    low, high = score["low"], score["high"]
    span = "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
    return [
        score["name"].replace("_", " "),
        wording.score_text(score["value"]),
        span,
        score.get("interval") or "",
        score.get("n"),
        METRICS[score["name"]].title if score["name"] in METRICS else "",
    ]


def _curves(run: Run) -> list[dict[str, Any]]:
    """Return the learning curves: of a fine-tuned model every number of curve.jsonl by step, of a classifier the score by documents."""
    if (run.path / "learning_curve.parquet").is_file():
        points = run.table("learning_curve").to_pylist()
        metric = run.table("learning_curve").column_names[2]
        shown = [(metric, False), ("low", True), ("high", True)]
        by_documents = [
            {"name": name, "x": [p["documents"] for p in points], "y": [p[name] for p in points], "dashed": dashed}
            for name, dashed in shown
            if all(p[name] is not None for p in points)
        ]
        return [
            {"title": metric.replace("_", " ").replace("f1", "F1"), "x": "training documents", "lines": by_documents}
        ]
    if not (run.path / "curve.jsonl").is_file():
        return []
    points = [json.loads(line) for line in run.file("curve.jsonl").read_text(encoding="utf-8").splitlines() if line]
    names = [
        n
        for n in dict.fromkeys(key for point in points for key in point)
        if n not in ("step", "epoch", "steps", "seconds")
    ]
    lines = []
    for name in names:
        known = [p for p in points if isinstance(p.get(name), int | float) and not isinstance(p.get(name), bool)]
        if len(known) > 1 and len({p[name] for p in known}) > 1:
            lines.append({"name": name, "x": [p["step"] for p in known], "y": [p[name] for p in known]})
    return [{"title": line["name"].replace("_", " "), "x": "step", "lines": [line]} for line in lines]


# ------------------------------------------------------------------------------------------------------------------------
# What the report shows of another run beside its own: which topics correspond, and how documents went from one to the other.


def comparison(other: Path, run: Run, execution: Execution) -> tuple[Section, dict[str, Any]]:
    """Return the section on what became of the topics of another run in this one, and its data for the picture.

    Raises:
        InputError: the other is no run of a topic model.
    """
    result = diff(other, run.path, execution=execution)
    hidden = [hidden_topics(one) for one in (result.a, result.b)]
    seen = replace(result, links=[link for link in result.links if link.a not in hidden[0] and link.b not in hidden[1]])
    by_documents = bool(result.shared)
    flows = [
        [row["a"], row["b"], row["documents"] if by_documents else round(row["words"], 3)]
        for row in result.overlaps.to_pylist()
        if row["a"] not in (-1, *hidden[0])
        and row["b"] not in (-1, *hidden[1])
        and (row["documents"] if by_documents else (row["words"] or 0) >= 0.15)
    ]
    data = {
        "of": result.a.path.name,
        "by": "documents" if by_documents else "words",
        "flows": flows,
        "before": _topics(result),
        "hidden": sorted(hidden[0]),
    }
    return Section("compared", "Compared", write(diff_blocks(seen))), data


def _topics(result: TopicDiff) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = result.a.table("topics", ["label", "size"]).to_pylist()
    return rows


# ------------------------------------------------------------------------------------------------------------------------
# What the report of a comparison shows: scores of each model by its number of topics, the words of its topics, all fits.

TOP_TERMS = 10


def comparison_sections(comparison: ModelComparison) -> tuple[str, list[Section], dict[str, Any]]:
    """Return the lead, the sections and the data of the report of a comparison.

    Raises:
        InputError: a run of the comparison is gone, or damaged.
    """
    rows = comparison.summary.to_pylist()
    names = [name for name in (*comparison.scores, *OWN) if any(row[name] is not None for row in rows)]
    models, numbers = (
        list(dict.fromkeys(row["model"] for row in rows)),
        sorted({row["k"] for row in rows if row["k"] is not None}),
    )
    fits = max(row["fits"] for row in rows)
    lead = (
        f"{wording.listed(models, len(models))}; {wording.listed([str(k) for k in numbers] or ['found numbers of'], 12)} topics; "
        f"{wording.counted(fits, 'fit')} each"
    )
    sections = [
        Section(
            "overview", "Overview", paragraphs(_report_comparison_sentences(fits)) + write([summary_block(comparison)])
        ),
        Section("words", "Words", _words(comparison)),
        Section("fits", "All fits", _fits(comparison, names)),
    ]
    data: dict[str, Any] = {}
    curves = number_curves(comparison)
    if curves:
        data["learning"] = curves
        spread = " Bands reach a standard deviation of the fits to each side." if fits > 1 else ""
        sections.insert(
            1, Section("learning", "By the number of topics", paragraphs([f"Means over the fits.{spread}"]))
        )
    return lead, sections, data


def number_curves(comparison: ModelComparison) -> list[dict[str, Any]]:
    """Return a curve for each score: means over the fits by the number of topics, a line for each model, with `low` and `high` a standard
    deviation away; nothing where fewer than two numbers were tried.
    """
    rows = comparison.summary.to_pylist()
    if len({row["k"] for row in rows if row["k"] is not None}) < 2:
        return []
    models = list(dict.fromkeys(row["model"] for row in rows))
    names = [name for name in (*comparison.scores, *OWN) if any(row[name] is not None for row in rows)]
    curves = [_curve(name, models, rows) for name in names]
    return [curve for curve in curves if curve["lines"]]


def _report_comparison_sentences(fits: int) -> list[str]:
    several = "Values are means over the fits, with the standard deviation; each fit has another seed and leaves out other documents."
    return [
        several if fits > 1 else "Values are those of one fit, so nothing is known of how they vary.",
        "stable words: share of the ten first words of a topic that its match in another fit has; stable docs: agreement "
        "(AMI) of the topics of documents in two fits; seconds and MB: of a process that fits the model and does nothing else.",
        "No score tells which model is best: look at the words of two or three candidates.",
    ]


def _fits(comparison: ModelComparison, names: Sequence[str]) -> str:
    heads = ["Model", "Topics asked for", "Topics", "Seed", *map(title_of, names), "Run"]
    cells = [
        [
            row["model"],
            number_of_topics(row),
            row["topics"],
            row["seed"],
            *(number(row[name], name) for name in names),
            row["run"],
        ]
        for row in comparison.fits.to_pylist()
    ]
    return table(heads, cells, numeric=range(1, len(heads) - 1))


def _words(comparison: ModelComparison) -> str:
    """Return the topics of the first fit of each model and number, each list behind a line that opens it."""
    parts = [paragraphs(["The topics of the first fit of each model and number; a line opens its list."])]
    shown = set()
    for row in comparison.fits.to_pylist():
        if (row["model"], row["k"]) in shown:
            continue
        shown.add((row["model"], row["k"]))
        topics = open_run(comparison.path / row["run"], verify=False).table("topics", ["topic", "share", "top_terms"])
        cells = [
            [t["topic"], f"{100 * t['share']:.1f}", ", ".join(t["top_terms"][:TOP_TERMS])] for t in topics.to_pylist()
        ]
        heading = escape(f"{row['model']}, {wording.counted(row['topics'], 'topic')}")
        words = table(["Topic", "Share, %", "Words"], cells, numeric=(1,))
        parts.append(f"<details><summary>{heading}</summary>\n{words}\n</details>")
    return "\n".join(parts)


def _curve(name: str, models: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    lines = []
    for model in models:
        points = [row for row in rows if row["model"] == model and None not in (row["k"], row[name])]
        if points:
            spread = {
                end: [row[name] + sign * (row[f"{name}_sd"] or 0.0) for row in points]
                for end, sign in (("low", -1), ("high", 1))
            }
            lines.append(
                {"name": model, "x": [row["k"] for row in points], "y": [row[name] for row in points], **spread}
            )
    return {"title": f"{title_of(name)}{direction(name)}", "x": "topics", "lines": lines}
