"""The tables of a classifier: the columns of its predictions, and what its run directory holds.

Parts, in this order:
- The columns that a prediction adds to a table of documents, by a classifier of any kind.
- The tables of a classifier's run directory: documents with predictions, classes, confusions, informative terms,
  errors, duplicates.
- What is said about labelled documents and about a classifier that was trained on them, and the tables of its run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.classifier import TextClassifier
from nlpkit.classify.dataset import TEST, TRAIN, LabelledDataset
from nlpkit.classify.explain import DOWN, UP, class_terms, direction, has_weights
from nlpkit.classify.kinds import KINDS
from nlpkit.classify.prediction_values import Predicted
from nlpkit.errors import UsageError
from nlpkit.metrics.results import TargetResult
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import has_text
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import BoolArray, FloatArray, LongArray
from nlpkit.text.duplicates import NearDuplicates

if TYPE_CHECKING:
    from nlpkit.classify.dataset import Labels
    from nlpkit.classify.scores import ClassifierScores
    from nlpkit.classify.training import Training

NO_PROBABILITIES = (
    "`probabilities`: the model has none; train it with `calibrate=sigmoid`, or leave `probabilities` out"
)


def prediction_columns(
    classifier_names: Sequence[str], predicted: Predicted, *, probabilities: bool
) -> dict[str, pa.Array]:
    """Return the columns that a classifier adds to documents (n,): prediction, prediction_prob and, if asked for, probabilities.

    A document that was not predicted (code -1) has null in all; so has prediction_prob where the model has no probabilities. Numbers
    are a float64 and have no prediction_prob.

    Raises:
        UsageError: probabilities of a model that has none.
    """
    if predicted.values is not None:
        return {"prediction": pa.array(predicted.values, pa.float64(), from_pandas=True)}
    is_predicted: BoolArray
    if predicted.sets is not None:
        is_predicted = np.asarray(np.isfinite(predicted.decision).all(axis=1))
        prediction = pa.array(
            [
                chosen_names(classifier_names, chosen) if ok else None
                for chosen, ok in zip(predicted.sets, is_predicted, strict=True)
            ],
            pa.list_(pa.string()),
        )
    else:
        assert predicted.codes is not None
        is_predicted = np.asarray(predicted.codes >= 0)
        names = pa.array([*classifier_names, None], pa.string())
        prediction = names.take(
            pa.array(np.where(is_predicted, predicted.codes, len(classifier_names)).astype(np.int64))
        )
    confidence = predicted.confidence
    prob = np.full(len(is_predicted), np.nan) if confidence is None else np.where(is_predicted, confidence, np.nan)
    columns = {"prediction": prediction, "prediction_prob": pa.array(prob, pa.float32(), from_pandas=True)}
    if probabilities:
        p = predicted.probabilities
        if p is None:
            raise UsageError(NO_PROBABILITIES, parameter="probabilities")
        missing = pa.array(~np.isfinite(p).all(axis=1))
        parts = [pa.array(p[:, j].astype(np.float32), from_pandas=True) for j in range(len(classifier_names))]
        columns["probabilities"] = pa.StructArray.from_arrays(parts, list(classifier_names), mask=missing)
    return columns


def chosen_names(names: Sequence[str], chosen: Any) -> list[str]:
    """Return the names of the labels of a document, of which `chosen` (J,) says whether it has them."""
    return [names[j] for j in np.flatnonzero(chosen).tolist()]


# ------------------------------------------------------------------------------------------------------------------------
# The tables of a classifier's run directory: documents with predictions, classes, confusions, informative terms, errors, duplicates.

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


# ------------------------------------------------------------------------------------------------------------------------
# What is said about labelled documents and about a classifier that was trained on them, and the tables of its run.

MANY_CLASSES = 50  # of more, a label may be a number that was measured


def note_dataset(dataset: LabelledDataset, split_column: str | None) -> None:
    """Say which documents are left out, and warn of labels that cannot be predicted."""
    labels, raw_labels = dataset.labels, dataset.raw_labels
    without = np.fromiter((v is None for v in raw_labels), bool, len(raw_labels))
    predicted = without if dataset.n_folds else without & (dataset.split == TEST)
    if predicted.any():
        n = wording.counted(int(predicted.sum()), "document")
        reporting.note(
            f"{n} without a label: predicted in documents.parquet of the run, but not used for training or scoring"
        )
    left = int((without & ~predicted & (dataset.split == TRAIN)).sum())
    if left:
        reporting.note(f"{wording.counted(left, 'training document')} without a label: left out")
    unused = int(((dataset.split < 0) & ~without).sum())
    if unused:
        reporting.note(f"{wording.counted(unused, 'document')} are neither train nor test in '{split_column}'")
    if "text" in dataset.table.column_names:
        empty = ~has_text(dataset.table.column("text")) & ~without
        if empty.any():
            n = wording.counted(int(empty.sum()), "document")
            reporting.warn(
                f"{n} without text: they are used for training and scoring like all others; `keep_if` can leave "
                "them out"
            )
    train = dataset.train
    sizes = labels.sizes(train)
    few = [name for name, n in zip(labels.names, sizes.tolist(), strict=True) if n < 2]
    if few and dataset.n_folds:
        reporting.warn(
            f"classes of a single document: {wording.listed(few, 5)}; such a document is always wrong in cross-validation"
        )
    alone = _in_one_group(labels, train) if dataset.n_folds else []
    if alone:
        reporting.warn(
            f"classes in a single group: {wording.listed(alone, 5)}; such a document is always wrong in cross-validation"
        )
    unseen = [f"'{name}' ({n:,})" for name, n in dataset.unseen_labels().items()]
    if unseen:
        reporting.warn(
            f"labels of test documents that no training document has: {wording.listed(unseen, 5)}; these are "
            "always counted as wrong"
        )
    if not labels.scale and len(labels.names) > MANY_CLASSES and len(labels.names) > len(train) / 4:
        reporting.warn(
            f"{len(labels.names):,} classes for {wording.counted(len(train), 'document')}; if the label is a "
            "measured number, use `task=regression`"
        )


def _in_one_group(labels: Labels, train: LongArray) -> list[str]:
    """Return the classes that have several documents, all of them in one group."""
    if labels.groups is None or labels.codes is None:
        return []
    groups, codes = labels.groups[train], labels.codes[train]
    sizes = [(int((codes == j).sum()), len(np.unique(groups[codes == j]))) for j in range(len(labels.names))]
    return [name for name, (n, n_groups) in zip(labels.names, sizes, strict=True) if n > 1 and n_groups == 1]


def find_overlap(dataset: LabelledDataset, threshold: float) -> NearDuplicates | None:
    """Return the near-duplicate of each test document in its training documents; None where they are not searched for."""
    if not threshold:
        return None
    from nlpkit.text.duplicates import find_near_duplicates

    split = dataset.split
    if not dataset.n_folds:
        split = np.where((split == TRAIN) & ~dataset.usable, -1, split).astype(np.int32)
    overlap = find_near_duplicates(dataset.table.column("text"), split, threshold=threshold)
    if not dataset.n_folds:  # those of training documents do not matter
        overlap = replace(overlap, nearest=np.where(split == TEST, overlap.nearest, -1).astype(np.int32))
    return overlap


def title_of(dataset: LabelledDataset, name: str, classifier: TextClassifier, C: float) -> str:
    """Return the headline of the scores: the model, what it sees, its penalty where it has one, and how it was tested."""
    features = classifier.features
    sees = "embeddings" if features.sees == "embedding" else f"{len(features.names):,} features"
    if features.rules is not None:
        sees = wording.counted(len(features.names), "rule")
    n, labels = len(dataset.train), dataset.labels
    what = "" if labels.numbers is not None else f", {len(labels.names):,} {'ordered ' if labels.scale else ''}classes"
    where = f"cross-validation in {dataset.n_folds} folds" if dataset.n_folds else "on test documents"
    penalty = f", cost {C:g}" if name in KINDS and KINDS[name].penalty else ""
    return f"{name} ({sees}{what}, {wording.counted(n, 'training document')}{penalty}), {where}"


def run_tables(
    training: Training, scores: ClassifierScores | None, overlap: NearDuplicates | None
) -> tuple[dict[str, pa.Table], list[str]]:
    """Return the tables of the run by name, and notes about them."""
    dataset, options = training.job.dataset, training.job.options.report
    fitted, predicted = training.fitted, training.predicted
    config, classifier, searched = fitted.config, fitted.classifier, fitted.searched
    tested = dataset.tested()
    rows = np.arange(dataset.table.num_rows) if dataset.n_folds else tested
    tables: dict[str, pa.Table] = {}
    if len(rows):  # none where nothing is tested: the model has seen all documents
        tables["documents"] = documents_table(dataset, rows, predicted, probabilities=options.probabilities)
    notes = []
    if scores is not None:
        labelled = dataset.labelled(tested)
        if predicted.values is None:
            tables["classes"] = classes_table(scores.model, dataset)
            tables["errors"] = errors_table(dataset, labelled, predicted)
        else:
            tables["errors"] = number_errors_table(dataset, labelled, predicted.values)
        confusion = confusion_table(scores.model)
        if confusion is not None:
            tables["confusion"] = confusion
    terms = class_terms_table(classifier, options.top_n)
    if terms is not None:
        tables["class_terms"] = terms
    if overlap is not None:
        duplicates = twins_table(dataset, overlap)
        if duplicates.num_rows:
            tables["twins"] = duplicates
            notes.append(_overlap_note(duplicates, len(tested)))
        if overlap.n_unresolved:
            n = wording.counted(overlap.n_unresolved, "document")
            notes.append(f"{n} like too many others to be compared with all: more may be near-duplicates")
    if searched is not None and searched.at_end:
        notes.append(
            f"`{searched.search.option}={searched.value:g}` is at the end of the values that were tried; name others to look beyond"
        )
    if config.model.weighs_few(len(dataset.train), len(classifier.present)) and not dataset.labels.multiple:
        sizes = dataset.labels.sizes(dataset.train)
        if sizes.min() < sizes.max():
            notes.append(
                f"{wording.counted(len(dataset.train), 'training document')} are few, so each of the {len(sizes):,} classes gets the same "
                "total weight, however many documents it has; `class_weight=none` changes that"
            )
    if scores is not None and (doubt := _doubt(scores)):
        notes.append(doubt)
    for one in classifier.thresholds:
        if not one.reached:
            notes.append(
                f"`threshold`: no score has precision {one.wanted:g} for '{one.label}' in folds of the training documents; the "
                f"highest is {one.hits / one.assigned:.3f}, and that threshold was taken"
            )
    if classifier.costs is not None and classifier.calibrator is None:
        notes.append(
            f"`costs` were weighed by the probabilities of {config.name} as they are; `calibrate=sigmoid` brings these nearer to shares"
        )
    if not classifier.model.converged:
        notes.append(
            f"{config.name} stopped before it had converged; the features may be of very different size, or `cost` large"
        )
    empty = 0 if predicted.sets is None else int((~predicted.sets[tested].any(axis=1)).sum())
    if 2 * empty > len(tested):
        notes.append(
            f"{empty:,} of {wording.counted(len(tested), 'test document')} get no label, since none is more probable than not; "
            "`cost=auto` or `class_weight=balanced` finds more"
        )
    if classifier.names and predicted.probabilities is None and classifier.features.rules is None:
        notes.append(f"{config.name} gives no probabilities; `calibrate=sigmoid` makes them")
    return tables, notes


def _doubt(scores: ClassifierScores) -> str:
    """Return a sentence where the interval of the accuracy reaches the accuracy of the largest class alone; "" where it does not."""
    accuracy, guess = scores.model.scores.get("accuracy"), scores.majority.scores.get("accuracy")
    if (
        accuracy is None
        or guess is None
        or accuracy.interval is None
        or accuracy.interval.low is None
        or guess.value is None
        or accuracy.interval.low > guess.value
    ):
        return ""
    return (
        f"what now? These labels do not show that the model is better than the largest class alone: its accuracy may be "
        f"{accuracy.interval.low:.2f}, the largest class has {guess.value:.2f}. Label more documents (see docs/what-now.md)"
    )


def _overlap_note(duplicates: pa.Table, n_tested: int) -> str:
    pairs = zip(duplicates["label"].to_pylist(), duplicates["twin_label"].to_pylist(), strict=True)
    alike = [_same_labels(a, b) for a, b in pairs if a is not None]
    unlabelled = duplicates.num_rows - len(alike)
    unknown = f", {unlabelled:,} without one" if unlabelled else ""
    are = "is a near-duplicate" if duplicates.num_rows == 1 else "are near-duplicates"
    return (
        f"{wording.counted(duplicates.num_rows, 'test document')} of {n_tested:,} {are} of a training document "
        f"({sum(alike):,} with the same label{unknown}); see twins.parquet"
    )


def _same_labels(a: Any, b: Any) -> bool:
    return set(a) == set(b) if isinstance(a, list) and isinstance(b, list) else bool(a == b)
