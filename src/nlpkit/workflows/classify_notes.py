"""What is said about labelled documents and about a classifier that was trained on them, and the tables of its run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.classify.classifier import TextClassifier
from nlpkit.classify.dataset import LabelledDataset
from nlpkit.classify.kinds import KINDS
from nlpkit.classify.splits import TEST, TRAIN
from nlpkit.io.classifier_tables import (
    class_terms_table,
    classes_table,
    confusion_table,
    documents_table,
    errors_table,
    number_errors_table,
    twins_table,
)
from nlpkit.workflows.corpus import has_text

if TYPE_CHECKING:
    from nlpkit.classify.labels import Labels
    from nlpkit.classify.scores import ClassifierScores
    from nlpkit.text.near_duplicates import NearDuplicates
    from nlpkit.types import LongArray
    from nlpkit.workflows.classify_fit import Training

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
    from nlpkit.text.near_duplicates import find_near_duplicates

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
