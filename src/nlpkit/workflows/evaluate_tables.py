"""Tables of labels: the scores of predictions, or of topics, against them."""

from __future__ import annotations

from collections.abc import Sequence

from nlpkit.errors import UsageError
from nlpkit.evaluation.clusters import CLUSTERING, add_clustering
from nlpkit.evaluation.comparisons import compare_labelled, compare_sets
from nlpkit.evaluation.generation import add_generated
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
from nlpkit.evaluation.ordinal import ORDINAL, add_ordinal, scale_of
from nlpkit.evaluation.predictions import (
    CALIBRATION,
    CLASSIFICATION,
    DEFAULT_CLASSIFICATION,
    RANKING,
    add_calibration,
    add_classification,
    add_ranking,
)
from nlpkit.evaluation.regression import REGRESSION, add_numbers, are_numeric, numbers_of
from nlpkit.evaluation.results import Evaluation, TargetResult
from nlpkit.evaluation.token_labels import SPANS, WORDS, add_words, are_token_labels, words_of
from nlpkit.io.footers import step_parameters, steps_of
from nlpkit.metrics.catalogue import METRICS, in_group
from nlpkit.wording import learned_from
from nlpkit.workflows.evaluation_targets import CLASSIFIERS, EvaluationSettings, TableTarget
from nlpkit.workflows.label_columns import read_table
from nlpkit.workflows.run_separation import add_table_separation

GENERATION = in_group("generation")


def evaluate_tables(tables: Sequence[TableTarget], settings: EvaluationSettings) -> Evaluation:
    """Score tables, all of them with predictions or all with topics; predictions and labels may be sets of labels.

    Raises:
        UsageError: a score that cannot be of these tables, or tables of different kinds; InputError: labels that cannot be scored.
    """
    separator = settings.options.label_sep
    if tables[0].kind == "predictions" and settings.names and set(settings.names) <= set(GENERATION):
        return _written_texts(tables, settings)
    columns = [read_table(table, settings) for table in tables]
    if separator is not None:
        if are_numeric(columns):
            raise UsageError(
                f"`label_sep` is not for numbers, which the predictions of {tables[0].name} are; leave it out",
                parameter="label_sep",
            )
        columns = [split_cells(table, separator) for table in columns]
    if tables[0].kind == "predictions" and (are_numeric(columns) or are_token_labels(columns)):
        evaluation = _numbers_or_words(columns, settings)
    elif are_multilabel(columns):
        evaluation = _label_sets(columns, settings)
    else:
        evaluation = _single_labels(tables, columns, settings)
    for table, result in zip(tables, evaluation.targets, strict=True):
        _note_learned(result, table)
    return evaluation


def _written_texts(tables: Sequence[TableTarget], settings: EvaluationSettings) -> Evaluation:
    """Score tables of written texts beside those that they should be."""
    names = _chosen(GENERATION, GENERATION, settings, "written texts")
    results = []
    for table in (read_table(target, settings) for target in tables):
        result = TargetResult(table.name, f"written texts against '{table.label_col}'")
        add_generated(result, table, names, settings.uncertainty)
        results.append(result)
    return Evaluation(results)


def _label_sets(columns: Sequence[PredictionTable], settings: EvaluationSettings) -> Evaluation:
    names = _chosen(POSSIBLE, SCORES, settings, "sets of labels and predictions")
    sets = [label_sets(table) for table in columns]
    results = []
    for table, documents in zip(columns, sets, strict=True):
        result = TargetResult(table.name, f"sets of predictions against '{table.label_col}'")
        add_multilabel(
            result,
            documents.names,
            documents.true,
            documents.predicted,
            names,
            settings.uncertainty,
            beta=settings.options.beta,
        )
        note_sets(result, documents)
        results.append(result)
    return Evaluation(results, compare_sets(sets, results, settings.uncertainty))


def _single_labels(
    tables: Sequence[TableTarget], columns: Sequence[PredictionTable], settings: EvaluationSettings
) -> Evaluation:
    """Score tables with one label and one prediction, or one topic, of each document."""
    predictions, uncertainty, beta = columns[0].predictions, settings.uncertainty, settings.options.beta
    embedded = all("embedding" in table.columns for table in tables)
    separation = in_group("separation") if embedded else []
    order = _order(tables)
    scale = scale_of(columns, order) if predictions else ()
    of_ranks = ORDINAL if scale else ()
    possible = [*CLASSIFICATION, *of_ranks, *CALIBRATION, *RANKING] if predictions else [*CLUSTERING, *separation]
    default = [*DEFAULT_CLASSIFICATION, *CALIBRATION, *(of_ranks if order else ())] if predictions else possible
    kind = "predictions" if predictions else "topics"
    names = _chosen([n for n in METRICS if n in possible], default, settings, f"{kind} and labels")
    ordinal = [n for n in names if n in of_ranks]
    data = [labelled_predictions(table, scale if ordinal else ()) for table in columns]
    results = []
    for table, documents in zip(tables, data, strict=True):
        result = TargetResult(table.name, f"{kind} against '{settings.read.label_col}'")
        if predictions:
            if ordinal:
                add_ordinal(result, documents, scale, ordinal, uncertainty)
            add_classification(result, documents, [n for n in names if n in CLASSIFICATION], uncertainty, beta=beta)
            if documents.prob is not None or settings.only:
                brier = settings.options.is_named("brier")
                add_calibration(result, documents, [n for n in names if n in CALIBRATION], uncertainty, asked=brier)
            add_ranking(result, documents, [n for n in names if n in RANKING], uncertainty)
        else:
            add_clustering(result, documents, [n for n in names if n in CLUSTERING], uncertainty)
            distances = [n for n in names if n in separation]
            if distances:
                add_table_separation(result, table, distances, settings)
        results.append(result)
    return Evaluation(results, compare_labelled(data, results, uncertainty, beta=beta))


def _order(tables: Sequence[TableTarget]) -> list[str]:
    """Return the ordered labels that the footer of a table tells of the model that predicted; empty where none does."""
    for table in tables:
        steps = steps_of([table.footer()])
        for command in ("predict", "classify"):
            order = (step_parameters(steps, command) or {}).get("order")
            if order:
                return list(order)
    return []


def _numbers_or_words(columns: Sequence[PredictionTable], settings: EvaluationSettings) -> Evaluation:
    """Score tables of predicted numbers, or of labels of words."""
    numeric = are_numeric(columns)
    possible = REGRESSION if numeric else (*WORDS, *SPANS)
    kind = "numbers" if numeric else "labels of words"
    names = _chosen(possible, possible, settings, kind)
    results = []
    for table in columns:
        result = TargetResult(table.name, f"{kind} against '{table.label_col}'")
        if numeric:
            add_numbers(result, *numbers_of(table), settings.uncertainty, names)
        else:
            add_words(result, *words_of(table), settings.uncertainty, names)
        results.append(result)
    return Evaluation(results)


def _note_learned(result: TargetResult, table: TableTarget) -> None:
    """Say when the footer tells that the model had learned from these documents."""
    steps = steps_of([table.footer()])
    for command in (*CLASSIFIERS, "predict"):
        parameters = step_parameters(steps, command) or {}
        if parameters.get("learned_from"):
            result.facts["learned_from"] = parameters["learned_from"]
            result.notes.append(learned_from(parameters["learned_from"], parameters.get("model")))


def _chosen(possible: Sequence[str], default: Sequence[str], settings: EvaluationSettings, kind: str) -> list[str]:
    """Return the metrics to make, in the order of the possible ones. Raises UsageError when one was named that cannot be made."""
    wanted = settings.names
    names = [n for n in possible if n in wanted or (not settings.only and n in default)]
    wrong = [n for n in wanted if n not in possible and (settings.options.is_named(n) or not names)]
    if wrong:
        ordered = ""
        if any(METRICS[n].group == "ordinal" for n in wrong):
            ordered = "; labels need an order: numbers, or predictions of `nlpkit classify` with `task=ordinal`"
        raise UsageError(
            f"{', '.join(wrong)}: no score of a table of {kind}; there are {', '.join(possible)}{ordered}",
            parameter="metrics",
        )
    return names
