"""The columns of tables and runs that an evaluation reads: labels, predictions, topics."""

from __future__ import annotations

from nlpkit import reporting
from nlpkit.cli.evaluate_targets import TableTarget, TopicTarget
from nlpkit.errors import missing_column
from nlpkit.evaluation.labels import PROBABILITIES, LabelledPredictions, PredictionTable, labelled_predictions
from nlpkit.evaluation.options import TargetFlags
from nlpkit.io.plain_tables import read_columns
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.run_reading import numbers, strings


def read_table(target: TableTarget, flags: TargetFlags, read: ReadOptions) -> PredictionTable:
    """Return the columns of a table that are scored. Raises ColumnError when it has no labels, InputError when it cannot be read."""
    found_col = flags.prediction_col if target.kind == "predictions" else flags.topic_col
    wanted = [read.label_col, found_col]
    more = (flags.prob_col, read.id_col, *([PROBABILITIES] if target.kind == "predictions" else []))
    wanted += [name for name in more if name in target.columns and name not in wanted]
    if read.label_col not in target.columns:
        raise missing_column(str(target.path), read.label_col, target.columns, "label_col")
    columns = read_columns(target.path, wanted, encoding=read.encoding)
    columns = {name: values[: read.limit] for name, values in columns.items()}
    prob = columns.get(flags.prob_col) if target.kind == "predictions" else None
    ids = columns.get(read.id_col)
    return PredictionTable(
        target.name, target.kind == "predictions", columns[read.label_col], columns[found_col], prob,
        None if ids is None else [str(i) for i in ids], read.label_col, found_col,
        columns.get(PROBABILITIES) if target.kind == "predictions" else None,
    )  # fmt: skip


def run_labelled(target: TopicTarget, label_col: str) -> LabelledPredictions | None:
    """Return the documents of a run with topics and labels, None when they have no such column, or lists in it."""
    if target.run is None:
        return None
    table = target.run.table("documents")
    if label_col not in table.column_names:
        return None
    labels = table.column(label_col).to_pylist()
    if all(value is None for value in labels):
        return None
    if any(isinstance(value, list) for value in labels):
        reporting.warn(
            f"{target.name}: '{label_col}' holds lists; topics are held against one label of each document, so not against these"
        )
        return None
    with target.run.intact():
        ids, topics = strings(table, "id"), numbers(table, "topic", least=-1).tolist()
    return labelled_predictions(PredictionTable(target.name, False, labels, topics, None, ids, label_col, "topic"))


def run_columns(target: TopicTarget) -> list[str]:
    """Return the columns of the documents of a run."""
    return [] if target.run is None else list(target.run.table("documents").column_names)
