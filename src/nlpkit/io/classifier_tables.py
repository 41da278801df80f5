"""The tables of a classifier's run directory: documents with predictions, classes, confusions, informative terms, errors, duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.classifier import TextClassifier
from nlpkit.classify.dataset import LabelledDataset
from nlpkit.classify.explain import DOWN, UP, class_terms, direction, has_weights
from nlpkit.classify.predicted import Predicted
from nlpkit.evaluation.results import TargetResult
from nlpkit.io.prediction_columns import chosen_names, prediction_columns
from nlpkit.io.table_spec import Column, TableSpec
from nlpkit.text.near_duplicates import NearDuplicates
from nlpkit.types import FloatArray, LongArray

ADDED = ("prediction", "prediction_prob", "probabilities", "fold")
NOT_CARRIED = ("id", "text", "tokens", "embedding", "label", *ADDED)
TEXT_CHARS = 300
CLASSES = TableSpec(
    "classes", "A class of a classifier.",
    Column("class", pa.string(), "Name of the class."),
    Column("training_documents", pa.int64(), "Documents to learn from."),
    Column("precision", pa.float64(), "Precision on the test documents."),
    Column("recall", pa.float64(), "Recall."),
    Column("f1", pa.float64(), "F1."),
    Column("labels", pa.int64(), "Test documents that have the class as label."),
    Column("predicted", pa.int64(), "Test documents for which it is predicted."),
)  # fmt: skip
CONFUSION = TableSpec(
    "confusion", "A cell of the confusion matrix that is not 0, the largest first.",
    Column("label", pa.string(), "Label of the documents."),
    Column("prediction", pa.string(), "Class that is predicted for them, null for none.", gaps=True),
    Column("documents", pa.int64(), "Number of these documents."),
)  # fmt: skip
WORD_CONFUSION = TableSpec(
    "confusion_of_words", "A cell of the confusion matrix of a model that labels words.",
    *CONFUSION.columns[:2], Column("words", pa.int64(), "Number of these words."),
)  # fmt: skip
CLASS_TERMS = TableSpec(
    "class_terms", "One of the most telling features of a class.",
    Column("class", pa.string(), "Name of the class."),
    Column("rank", pa.int32(), "1 for the most telling one."),
    Column("term", pa.string(), "Name of the feature."),
    Column("weight", pa.float64(), "Its weight in the model."),
    Column("df", pa.int64(), "Training documents that have it, null for what is no word.", gaps=True),
)  # fmt: skip


def documents_table(
    dataset: LabelledDataset, rows: LongArray, predicted: Predicted, *, probabilities: bool
) -> pa.Table:
    """Return id, label, prediction, prediction_prob, fold (of cross-validation) and the user's own columns of some documents."""
    table = dataset.table.take(pa.array(rows))
    raw_labels = [dataset.raw_labels[d] for d in rows]
    label_type = dataset.label_type
    columns: dict[str, Any] = {"id": table.column("id"), "label": pa.array(raw_labels, label_type)}
    columns |= prediction_columns(dataset.labels.names, predicted.take(rows), probabilities=probabilities)
    if dataset.n_folds:
        fold = dataset.split[rows]
        columns["fold"] = pa.array(fold, pa.int32(), mask=fold < 0)
    columns |= {n: table.column(n) for n in table.column_names if n not in NOT_CARRIED}
    return pa.table(columns)


def classes_table(result: TargetResult, dataset: LabelledDataset) -> pa.Table:
    """Return a row for each class: documents to learn from, scores, and how often it is a label and a prediction."""
    names = list(result.units)
    trained = dict(zip(dataset.labels.names, dataset.labels.sizes(dataset.train).tolist(), strict=True))
    columns: dict[str, Any] = {"class": names, "training_documents": [trained.get(name, 0) for name in names]}
    columns |= {column: result.scores[f"macro_{column}"].values for column in ("precision", "recall", "f1")}
    if "confusion" in result.facts:
        counts = confusion_counts(result.facts["confusion"])
        labels, predicted = counts.sum(axis=1), counts.sum(axis=0)[: len(names)]
    else:
        labels, predicted = (np.array(result.facts[name]) for name in ("labels", "predicted"))
    return CLASSES.table(**columns, labels=labels, predicted=predicted)


def confusion_counts(confusion: dict[str, Any]) -> Any:
    """Return the confusion matrix (J, J or J + 1) that the facts of a result hold."""
    if "counts" in confusion:
        return np.array(confusion["counts"])
    cells = np.array(confusion["cells"])
    J = len(confusion["columns"]) - int("(none)" in confusion["columns"])
    counts = np.zeros((J, len(confusion["columns"])), np.int64)
    counts[cells[:, 0], cells[:, 1]] = cells[:, 2]
    return counts


def confusion_table(result: TargetResult) -> pa.Table | None:
    """Return label, prediction and documents in long form, the largest cells first; None where documents have several labels."""
    confusion = result.facts.get("confusion")
    if confusion is None:
        return None
    counts = confusion_counts(confusion)
    rows, columns = np.nonzero(counts)
    order = np.argsort(-counts[rows, columns], kind="stable")
    names, heads = list(result.units), [None if c == "(none)" else c for c in confusion["columns"]]
    return CONFUSION.table(
        label=[names[i] for i in rows[order]], prediction=[heads[i] for i in columns[order]],
        documents=counts[rows, columns][order]
    )  # fmt: skip


def class_terms_table(classifier: TextClassifier, n: int) -> pa.Table | None:
    """Return the most telling features of each class, None of models that have no weights of words."""
    if not has_weights(classifier):
        return None
    names, vectorizer = classifier.features.names, classifier.features.vectorizer
    df = {} if vectorizer is None else dict(zip(vectorizer.terms, vectorizer.df.tolist(), strict=True))
    rows = []
    classes = [classifier.names[code] for code in classifier.present] if direction(classifier) is None else [UP, DOWN]
    for name, (ids, weights) in zip(classes, class_terms(classifier, n), strict=True):
        for rank, (i, weight) in enumerate(zip(ids.tolist(), weights.tolist(), strict=True), 1):
            rows.append((name, rank, names[i], weight, df.get(names[i])))
    return CLASS_TERMS.rows([dict(zip(CLASS_TERMS.schema.names, row, strict=True)) for row in rows])


def number_errors_table(dataset: LabelledDataset, rows: LongArray, predicted: FloatArray) -> pa.Table:
    """Return labels and predicted numbers (D,) of some documents, those that are farthest off first, with the start of their text."""
    off = predicted[rows] - np.array([dataset.raw_labels[d] for d in rows], np.float64)
    order = np.argsort(-np.abs(off), kind="stable")
    at = rows[order]
    table = dataset.table.take(pa.array(at))
    return pa.table(
        {
            "id": table.column("id"),
            "label": pa.array([dataset.raw_labels[d] for d in at], pa.float64()),
            "prediction": pa.array(predicted[at]),
            "error": pa.array(off[order]),
            "text": pa.array([(t or "")[:TEXT_CHARS] for t in table.column("text").to_pylist()], pa.string()),
        }
    )


def errors_table(dataset: LabelledDataset, rows: LongArray, predicted: Predicted) -> pa.Table:
    """Return the documents whose prediction is not their label, those the model was surest of first, with the start of their text.

    Of ordered classes those come first whose prediction is the most ranks off.
    """
    of_rows = predicted.take(rows)
    names = dataset.labels.names
    if of_rows.sets is not None:
        assigned: list[Any] = [chosen_names(names, s) for s in of_rows.sets]
        wrong = [set(dataset.raw_labels[d] or ()) != set(p) for d, p in zip(rows, assigned, strict=True)]
    else:
        assert of_rows.codes is not None
        assigned = [names[c] if c >= 0 else None for c in of_rows.codes]
        wrong = [dataset.raw_labels[d] != p for d, p in zip(rows, assigned, strict=True)]
    sure = of_rows.confidence if of_rows.confidence is not None else _margin(of_rows.decision)
    at = np.flatnonzero(wrong)
    at = at[np.lexsort((at, -sure[at], -_ranks_off(dataset, rows[at], [assigned[i] for i in at])))]
    table = dataset.table.take(pa.array(rows[at]))
    kind = dataset.label_type
    texts = [(t or "")[:TEXT_CHARS] for t in table.column("text").to_pylist()]
    sureness = "prediction_prob" if of_rows.confidence is not None else "margin"
    return pa.table(
        {
            "id": table.column("id"),
            "label": pa.array([dataset.raw_labels[d] for d in rows[at]], kind),
            "prediction": pa.array([assigned[i] for i in at], kind),
            sureness: pa.array(sure[at], pa.float32()),
            "text": pa.array(texts, pa.string()),
        }
    )


def _ranks_off(dataset: LabelledDataset, rows: LongArray, assigned: Sequence[Any]) -> LongArray:
    """Return the ranks between label and prediction (n,), 0 where classes have no order."""
    place = {name: rank for rank, name in enumerate(dataset.labels.scale)}
    pairs = [(dataset.raw_labels[d], p) for d, p in zip(rows.tolist(), assigned, strict=True)]
    off = [abs(place[label] - place[p]) if place and p is not None else 0 for label, p in pairs]
    return np.array(off, np.int64)


def _margin(decision: FloatArray) -> FloatArray:
    """Return the distance (n,) of the best score of a document to its second."""
    ordered = np.sort(decision, axis=1)
    margin: FloatArray = ordered[:, -1] - ordered[:, -2] if decision.shape[1] > 1 else np.abs(decision[:, 0])
    return margin


def twins_table(dataset: LabelledDataset, duplicates: NearDuplicates) -> pa.Table:
    """Return the test documents with a near-duplicate among the training documents: the most similar one, and both labels."""
    rows = np.flatnonzero(duplicates.nearest >= 0)
    ids, kind = dataset.table.column("id"), dataset.label_type
    other = duplicates.nearest[rows]
    return pa.table(
        {
            "id": ids.take(pa.array(rows)),
            "twin": ids.take(pa.array(other)),
            "similarity": pa.array(duplicates.similarity[rows], pa.float32()),
            "label": pa.array([dataset.raw_labels[d] for d in rows], kind),
            "twin_label": pa.array([dataset.raw_labels[d] for d in other], kind),
        }
    )
