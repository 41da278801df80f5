"""The columns of tables and runs that an evaluation reads: labels, predictions, topics."""

from __future__ import annotations

from nlpkit import reporting
from nlpkit.errors import missing_column
from nlpkit.evaluation.labels import PROBABILITIES, LabelledPredictions, PredictionTable, labelled_predictions
from nlpkit.io.read_options import SELECTING
from nlpkit.io.selection import select_table
from nlpkit.io.table_spec import numbers, strings
from nlpkit.values import python_values
from nlpkit.workflows.evaluation_targets import TableTarget
from nlpkit.workflows.reference import EvaluationSettings, TopicTarget


def read_table(target: TableTarget, settings: EvaluationSettings) -> PredictionTable:
    """Return the columns of a table that are scored. Raises ColumnError when it has no labels, InputError when it cannot be read."""
    options, read = settings.options, settings.read
    predictions = target.kind == "predictions"
    assigned_col = options.prediction_col if predictions else options.topic_col
    wanted = [read.label_col, assigned_col]
    others = (options.prob_col, read.id_col, *([PROBABILITIES] if predictions else []))
    annotators = options.annotator_columns()
    for name in annotators:
        if name not in target.columns:
            raise missing_column(str(target.path or target.name), name, target.columns, "annotators")
    wanted += [name for name in (*others, *annotators) if name in target.columns and name not in wanted]
    if read.label_col not in target.columns:
        raise missing_column(str(target.path or target.name), read.label_col, target.columns, "label_col")
    columns = dict(target.values(wanted, read.encoding))
    if all(getattr(read, name) is None for name in SELECTING):
        columns = {name: values[: read.limit] for name, values in columns.items()}
    else:
        rows = select_table(target.table(), read).tolist()
        columns = {name: [values[row] for row in rows] for name, values in columns.items()}
    ids = columns.get(read.id_col)
    return PredictionTable(
        target.name,
        predictions,
        columns[read.label_col],
        columns[assigned_col],
        columns.get(options.prob_col) if predictions else None,
        None if ids is None else [str(i) for i in ids],
        read.label_col,
        assigned_col,
        columns.get(PROBABILITIES) if predictions else None,
        [columns[name] for name in annotators] if annotators else None,
        annotators,
    )


def run_labelled(target: TopicTarget, label_col: str) -> LabelledPredictions | None:
    """Return the documents of a run with topics and labels, None when they have no such column, or lists in it."""
    if target.run is None:
        return None
    table = target.run.table("documents")
    if label_col not in table.column_names:
        return None
    labels = python_values(table.column(label_col))
    if all(value is None for value in labels):
        return None
    if any(isinstance(value, list) for value in labels):
        reporting.warn(
            f"{target.name}: '{label_col}' holds lists; topics are compared with one label of each document, so "
            "these are skipped"
        )
        return None
    with target.run.intact():
        ids, topics = strings(table, "id"), numbers(table, "topic", least=-1).tolist()
    return labelled_predictions(PredictionTable(target.name, False, labels, topics, None, ids, label_col, "topic"))


def run_columns(target: TopicTarget) -> list[str]:
    """Return the columns of the documents of a run."""
    return [] if target.run is None else list(target.run.table("documents").column_names)
