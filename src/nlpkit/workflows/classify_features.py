"""What a classifier sees of labelled documents beside their words: hand-made features, columns of their table, embeddings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cells import is_number
from nlpkit.classify.columns import CategoryColumn, ColumnCounts, ColumnFeatures, tells_labels
from nlpkit.workflows.feature_columns import note_missing

if TYPE_CHECKING:
    from nlpkit.workflows.classify_job import ClassificationData, Job

MANY = 0.5  # categories for a document, from which a column is more like ids


def add_features(job: Job) -> dict[str, Any] | None:
    """Make the hand-made features, columns, matches of rules and embeddings that are wanted; return what made the embeddings."""
    data, options, encoder = job.data, job.options.classifier, job.options.encoder
    names, table = options.hand_feature_names(), data.dataset.table
    if names:
        from nlpkit.classify.hand_features import HAND_FEATURES, hand_features

        places = [list(HAND_FEATURES).index(name) for name in names]
        values = hand_features(table.column("text").combine_chunks())[:, places]
        data.sources = replace(data.sources, hand_names=names, hand=values)
    if options.feature_columns:
        columns = table.select(list(options.feature_columns)).combine_chunks()
        data.sources = replace(data.sources, columns=columns)
        _note_columns(data, columns)
    if job.rules is not None:
        job.rules.check_labels(data.dataset.labels.names)
        data.sources = replace(data.sources, rules=job.rules, matches=job.rules.matches(table))
    # the comparison has models on embeddings, too, where the documents bring them or an encoder is named
    brings = "embedding" in table.column_names or encoder.encoder is not None
    if not (job.sees == "embedding" or (job.sees == "words" and job.auto and brings)):
        return None
    from nlpkit.workflows.embeddings import embeddings_of

    vectors, info = embeddings_of(table, data.encoder, encoder, job.execution.n_threads())
    data.sources = replace(data.sources, embeddings=vectors)
    return info


def _note_columns(data: ClassificationData, columns: pa.Table) -> None:
    """Say which columns have missing values or numbers as text, and warn of those that are the labels, or ids."""
    dataset, counts = data.dataset, ColumnCounts()
    train = pa.array(dataset.train)
    fitted = ColumnFeatures.fit(columns.take(train))
    fitted.encode(columns, counts)
    note_missing(counts.missing)
    labels = [None if raw is None else str(raw) for raw in dataset.raw_labels]
    for column in fitted.columns:
        values = columns.column(column.name)
        if tells_labels(values, labels):
            reporting.warn(
                f"each value of '{column.name}' comes with one label only; if the column leaks the label, scores "
                "are too high"
            )
        elif len(column.features) > MANY * len(train):
            reporting.warn(
                f"'{column.name}' has {len(column.features):,} categories in {wording.counted(len(train), 'training document')}: "
                f"is it an id, or a number written as text (`types={column.name}=float`)?"
            )
        elif (
            isinstance(column, CategoryColumn) and len(column.categories) > 2 and all(map(is_number, column.categories))
        ):
            reporting.note(
                f"'{column.name}' is text, and each of its {len(column.categories)} numbers a category; "
                f"`types={column.name}=float` makes it a number"
            )
