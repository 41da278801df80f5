"""The tables of a fine-tuned model's run directory: documents with predictions, classes, confusions, errors, twins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.classify.scores import ClassifierScores
from nlpkit.classify.splits import DEV, TEST, TRAIN
from nlpkit.cli.finetune_corpus import TuneDocuments, with_shots
from nlpkit.cli.finetune_flags import TuneTellFlags
from nlpkit.cli.finetune_scores import Guesses
from nlpkit.finetune.tasks import Task
from nlpkit.io.classifier_tables import (
    ADDED,
    NOT_CARRIED,
    TEXT_CHARS,
    classes_table,
    confusion_table,
    documents_table,
    errors_table,
    prediction_columns,
    twins_table,
)
from nlpkit.text.twins import Twins, find_twins
from nlpkit.types import FloatArray, LongArray


def twins_of(documents: TuneDocuments, threshold: float, *, part: int = TEST, among: int = TRAIN) -> Twins | None:
    """Return test documents that are near-duplicates of training documents; of pairs and words they are not looked for.

    Args:
        part, among: other parts to compare; in cross-validation each fold is, with all others.
    """
    if not threshold or documents.words is not None or documents.second is not None:
        return None
    texts = documents.table.column("text")
    if documents.n_folds:
        return find_twins(texts, documents.split.astype(np.int32), threshold=threshold)
    both = np.select([documents.split == among, documents.split == part], [0, 1], -1)
    found = find_twins(texts, both.astype(np.int32), threshold=threshold)
    return Twins(np.where(both == 1, found.twin, -1).astype(np.int32), found.similarity, found.n_unsure)


def twin_notes(documents: TuneDocuments, twins: Twins | None, threshold: float) -> list[str]:
    """Return what is to be said of test documents that are in training as well, and of dev documents that are there or in the test."""
    notes = []
    at = np.zeros(0, np.int64) if twins is None else np.flatnonzero(twins.twin >= 0)
    if twins is not None and len(at):
        of = sum(len(test) for _, test in documents.rounds)
        same = sum(documents.raw_labels[d] == documents.raw_labels[twins.twin[d]] for d in at.tolist())
        notes.append(f"{_near(len(at), of, 'test', 'training')} ({same:,} with the same label)")
    for part, among, name, other in ((DEV, TRAIN, "dev", "training"), (TEST, DEV, "test", "dev")):
        found = twins_of(documents, threshold, part=part, among=among) if len(documents.dev) else None
        n = 0 if found is None else int((found.twin >= 0).sum())
        if n:
            why = (
                "dev scores are too good, and end training late"
                if part == DEV
                else "training ended where these were best"
            )
            notes.append(f"{_near(n, int((documents.split == part).sum()), name, other)}: {why}")
    return notes


def _near(n: int, of: int, part: str, other: str) -> str:
    are = "is a near-duplicate" if n == 1 else "are near-duplicates"
    return f"{n:,} of {wording.counted(of, f'{part} document')} {are} of a {other} document"


def say_twins(documents: TuneDocuments, sizes: Sequence[int | None], threshold: float, *, seed: int) -> None:
    """Say which documents are near-duplicates of others, of a comparison where it learns from most."""
    most = None if None in sizes else max(size for size in sizes if size is not None)
    own = with_shots(documents, most, seed=seed)
    where = "" if most is None else f"{most} shots, seed {seed}: "
    for note in twin_notes(own, twins_of(own, threshold), threshold):
        reporting.note(f"{where}{note}")


def run_tables(
    documents: TuneDocuments, guesses: Guesses, scores: ClassifierScores, twins: Twins | None, *, say: TuneTellFlags
) -> dict[str, pa.Table]:
    """Return the tables of a run by file stem."""
    tested = np.sort(np.concatenate([test for _, test in documents.rounds]))
    rows = np.arange(documents.table.num_rows) if documents.n_folds else tested
    labelled = np.array([d for d in tested.tolist() if documents.raw_labels[d] is not None], np.int64)
    for name in ADDED:
        if name in documents.table.column_names:
            reporting.warn(f"the column '{name}' of the input is not kept: the run has its own")
    if documents.kind in ("single", "multi"):
        assert guesses.predicted is not None
        tables = {
            "documents": documents_table(documents, rows, guesses.predicted, probabilities=say.probabilities),
            "classes": classes_table(scores.model, documents),
            "errors": errors_table(documents, labelled, guesses.predicted),
        }
        confusion = confusion_table(scores.model)
        if confusion is not None:
            tables["confusion"] = confusion
    else:
        tables = {"documents": _documents(documents, rows, guesses), "errors": _errors(documents, labelled, guesses)}
        if documents.kind == "tokens":
            confusion = confusion_table(scores.model)
            if confusion is not None:
                tables["confusion"] = confusion.rename_columns(["label", "prediction", "words"])
    if twins is not None and (twins.twin >= 0).any():
        tables["twins"] = twins_table(documents, twins)
    return tables


def guess_columns(task: Task, guesses: Guesses, rows: LongArray, *, probabilities: bool) -> dict[str, pa.Array]:
    """Return the columns prediction and prediction_prob of some rows, and with `probabilities` one of every class by name.

    A number is a float64 and has no column of probabilities; of labels of words both are lists, null for words beyond the window.
    """
    if guesses.values is not None:
        return {"prediction": pa.array(guesses.values[rows], pa.float64(), from_pandas=True)}
    if guesses.tags is not None:
        assert guesses.tag_probs is not None
        probs = [guesses.tag_probs[row] for row in rows.tolist()]
        return {
            "prediction": pa.array([guesses.tags[row] for row in rows.tolist()], pa.list_(pa.string())),
            "prediction_prob": pa.array([_of_words(p) for p in probs], pa.list_(pa.float32())),
        }
    assert guesses.predicted is not None
    from nlpkit.io.classifier_tables import take

    return prediction_columns(task.names, take(guesses.predicted, rows), probabilities=probabilities)


def _of_words(probs: FloatArray | None) -> list[float | None] | None:
    return None if probs is None else [float(p) if np.isfinite(p) else None for p in probs]


def _documents(documents: TuneDocuments, rows: LongArray, guesses: Guesses) -> pa.Table:
    table = documents.table.take(pa.array(rows))
    own: list[Any] = [documents.raw_labels[d] for d in rows.tolist()]
    task = Task("regression" if documents.kind == "regression" else "tokens", documents.tag_names)
    columns: dict[str, Any] = {"id": table.column("id"), "label": pa.array(own, documents.label_type)}
    columns |= guess_columns(task, guesses, rows, probabilities=False)
    if documents.n_folds:
        fold = documents.split[rows]
        columns["fold"] = pa.array(fold, pa.int32(), mask=fold < 0)
    columns |= {n: table.column(n) for n in table.column_names if n not in NOT_CARRIED}
    return pa.table(columns)


def _errors(documents: TuneDocuments, rows: LongArray, guesses: Guesses) -> pa.Table:
    """Return numbers by how far off they are, the farthest first; or of words those with a wrong label."""
    ids = documents.table.column("id").to_pylist()
    texts = documents.texts
    if guesses.values is not None:
        assert documents.values is not None
        off = guesses.values[rows] - documents.values[rows]
        order = np.argsort(-np.abs(off), kind="stable")
        at = rows[order]
        return pa.table(
            {
                "id": pa.array([ids[d] for d in at.tolist()], pa.string()),
                "label": pa.array(documents.values[at]),
                "prediction": pa.array(guesses.values[at]),
                "error": pa.array(off[order]),
                "text": pa.array([texts[d][:TEXT_CHARS] for d in at.tolist()], pa.string()),
            }
        )
    assert documents.tags is not None
    assert documents.words is not None
    assert guesses.tags is not None
    found = []
    for d in rows.tolist():
        own, told = documents.tags[d] or [], guesses.tags[d] or []
        for i, label in enumerate(own):
            guess = told[i] if i < len(told) else None
            if label is not None and guess != label:
                found.append((ids[d], i, documents.words[d][i], label, guess))
    columns = list(zip(*found, strict=True)) or [()] * 5
    names, kinds = ("id", "word", "text", "label", "prediction"), (pa.string(), pa.int32(), *[pa.string()] * 3)
    return pa.table({n: pa.array(c, k) for n, c, k in zip(names, columns, kinds, strict=True)})
