"""Tables of labels: the scores of predictions, or of topics, against them."""

from __future__ import annotations

from collections.abc import Sequence

from nlpkit.cli import console
from nlpkit.cli.evaluate_columns import read_table
from nlpkit.cli.evaluate_separation import add_table_separation
from nlpkit.cli.evaluate_targets import CLASSIFIERS, TableTarget
from nlpkit.errors import UsageError
from nlpkit.evaluation.clusters import CLUSTERING, add_clustering
from nlpkit.evaluation.comparisons import compare_labelled, compare_sets
from nlpkit.evaluation.labels import PredictionTable, labelled_predictions
from nlpkit.evaluation.multilabel import (
    POSSIBLE,
    SCORES,
    add_multilabel,
    are_multilabel,
    label_sets,
    note_sets,
    split_cells,
)
from nlpkit.evaluation.options import MetricFlags, TargetFlags
from nlpkit.evaluation.predictions import (
    CALIBRATION,
    CLASSIFICATION,
    DEFAULT_CLASSIFICATION,
    add_calibration,
    add_classification,
)
from nlpkit.evaluation.regression import REGRESSION, add_numbers, are_numeric, numbers_of
from nlpkit.evaluation.results import Evaluation, TargetResult
from nlpkit.evaluation.token_labels import SPANS, WORDS, add_words, are_token_labels, words_of
from nlpkit.io.artifacts import read_footer
from nlpkit.io.footers import step_parameters, steps_of
from nlpkit.io.read_options import ReadOptions
from nlpkit.metrics.score import METRICS, Uncertainty, in_group


def evaluate_tables(
    tables: Sequence[TableTarget],
    wanted: Sequence[str],
    asked: bool,
    target: TargetFlags,
    metric: MetricFlags,
    how: Uncertainty,
    read: ReadOptions,
) -> Evaluation:
    """Score tables, all of them with predictions or all with topics; predictions and labels may be sets of labels.

    Args:
        wanted: metrics to make at least; asked: only them.

    Raises:
        UsageError: a score that cannot be of these tables, or tables of different kinds; InputError: labels that cannot be scored.
    """
    predictions = tables[0].kind == "predictions"
    columns = [read_table(table, target, read) for table in tables]
    if target.label_sep is not None:
        if are_numeric(columns):
            raise UsageError(
                f"--label-sep is not for numbers, which the predictions of {tables[0].name} are; leave it out"
            )
        columns = [split_cells(own, target.label_sep) for own in columns]
    if predictions and (are_numeric(columns) or are_token_labels(columns)):
        return _numbers_or_words(tables, columns, wanted, asked, metric, how, read)
    if are_multilabel(columns):
        names = _chosen(POSSIBLE, SCORES, wanted, asked, metric, "sets of labels and predictions")
        sets = [label_sets(own) for own in columns]
        results = []
        for table, documents in zip(tables, sets, strict=True):
            result = TargetResult(table.name, f"sets of predictions against '{read.label_col}'")
            add_multilabel(result, documents.names, documents.true, documents.predicted, names, how, beta=metric.beta)
            note_sets(result, documents)
            _note_learned(result, table)
            results.append(result)
        return Evaluation(results, compare_sets(sets, results, how))
    embedded = all("embedding" in table.columns for table in tables)
    separation = in_group("separation") if embedded else []
    possible = [*CLASSIFICATION, *CALIBRATION] if predictions else [*CLUSTERING, *separation]
    default = [*DEFAULT_CLASSIFICATION, *CALIBRATION] if predictions else possible
    kind = "predictions" if predictions else "topics"
    names = _chosen([n for n in METRICS if n in possible], default, wanted, asked, metric, f"{kind} and labels")
    data = [labelled_predictions(own) for own in columns]
    results = []
    for table, own in zip(tables, data, strict=True):
        result = TargetResult(table.name, f"{kind} against '{read.label_col}'")
        if predictions:
            add_classification(result, own, [n for n in names if n in CLASSIFICATION], how, beta=metric.beta)
            if own.prob is not None or asked:
                add_calibration(result, own, [n for n in names if n in CALIBRATION], how, asked=metric.named("brier"))
        else:
            add_clustering(result, own, [n for n in names if n in CLUSTERING], how)
            apart = [n for n in names if n in separation]
            if apart:
                add_table_separation(result, table, target.topic_col, apart, how)
        _note_learned(result, table)
        results.append(result)
    return Evaluation(results, compare_labelled(data, results, how, beta=metric.beta))


def _numbers_or_words(
    tables: Sequence[TableTarget],
    columns: Sequence[PredictionTable],
    wanted: Sequence[str],
    asked: bool,
    metric: MetricFlags,
    how: Uncertainty,
    read: ReadOptions,
) -> Evaluation:
    """Score tables of predicted numbers, or of labels of words."""
    numbers = are_numeric(columns)
    possible = REGRESSION if numbers else (*WORDS, *SPANS)
    names = _chosen(possible, possible, wanted, asked, metric, "numbers" if numbers else "labels of words")
    results = []
    for table, own in zip(tables, columns, strict=True):
        what = "numbers" if numbers else "labels of words"
        result = TargetResult(table.name, f"{what} against '{read.label_col}'")
        if numbers:
            add_numbers(result, *numbers_of(own), how, names)
        else:
            add_words(result, *words_of(own), how, names)
        _note_learned(result, table)
        results.append(result)
    return Evaluation(results, [])


def _note_learned(result: TargetResult, table: TableTarget) -> None:
    """Say when the footer tells that the model had learned from these documents."""
    if table.path.suffix != ".parquet":
        return
    steps = steps_of([read_footer(table.path)])
    for command in ("predict", *CLASSIFIERS):
        made = step_parameters(steps, command) or {}
        if made.get("learned_from"):
            result.facts["learned_from"] = made["learned_from"]
            result.notes.append(console.learned_from(made["learned_from"], made.get("model")))


def _chosen(
    possible: Sequence[str],
    default: Sequence[str],
    wanted: Sequence[str],
    asked: bool,
    metric: MetricFlags,
    what: str,
) -> list[str]:
    """Return the metrics to make, in the order of the possible ones. Raises UsageError when one was named that cannot be made."""
    names = [n for n in possible if n in wanted or (not asked and n in default)]
    wrong = [n for n in wanted if n not in possible and (metric.named(n) or not names)]
    if wrong:
        raise UsageError(f"{', '.join(wrong)}: no score of a table of {what}; there are {', '.join(possible)}")
    return names
