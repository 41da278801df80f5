"""The tables of a fine-tuned model's run directory: documents with predictions, classes, confusions, errors, twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.cli import console
from nlpkit.cli.classify_scores import Scores
from nlpkit.cli.classify_tables import (
    NOT_CARRIED,
    OWN,
    TEXT_CHARS,
    classes_table,
    confusion_table,
    documents_table,
    errors_table,
    prediction_columns,
    twins_table,
)
from nlpkit.cli.finetune_corpus import TuneDocuments
from nlpkit.cli.finetune_flags import TuneTellFlags
from nlpkit.cli.finetune_scores import Guesses
from nlpkit.finetune.tasks import Task
from nlpkit.text.twins import Twins, find_twins
from nlpkit.types import FloatArray, LongArray


def twins_of(documents: TuneDocuments, threshold: float) -> Twins | None:
    """Return test documents that are near-duplicates of training documents; of pairs and words they are not looked for."""
    if not threshold or documents.words is not None or documents.second is not None:
        return None
    part = np.where(documents.part > 1, -1, documents.part) if not documents.n_folds else documents.part
    found = find_twins(documents.table.column("text"), part.astype(np.int32), threshold=threshold)
    if documents.n_folds:
        return found
    return Twins(np.where(documents.part == 1, found.twin, -1).astype(np.int32), found.similarity, found.n_unsure)


def say_twins(documents: TuneDocuments, threshold: float) -> None:
    """Say how many test documents are near-duplicates of training documents."""
    twins = twins_of(documents, threshold)
    n = 0 if twins is None else int((twins.twin >= 0).sum())
    if n:
        console.note(f"{console.counted(n, 'test document')} near-duplicates of a training document; see --twins")


def run_tables(
    documents: TuneDocuments, guesses: Guesses, scores: Scores, twins: Twins | None, *, say: TuneTellFlags
) -> tuple[dict[str, pa.Table], list[str]]:
    """Return the tables of a run by file stem, and what is to be said of them."""
    tested = np.sort(np.concatenate([test for _, test in documents.rounds]))
    rows = np.arange(documents.table.num_rows) if documents.n_folds else tested
    labelled = np.array([d for d in tested.tolist() if documents.own[d] is not None], np.int64)
    notes: list[str] = []
    for name in OWN:
        if name in documents.table.column_names:
            console.warn(f"the column '{name}' of the input is not kept: the run has its own")
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
    if twins is not None:
        found = twins_table(documents, twins)
        if found.num_rows:
            tables["twins"] = found
            same = sum(a == b for a, b in zip(found["label"].to_pylist(), found["twin_label"].to_pylist(), strict=True))
            notes.append(
                f"{console.counted(found.num_rows, 'test document')} of {len(tested):,} are near-duplicates of a training document "
                f"({same:,} with the same label); see twins.parquet"
            )
    return tables, notes


def guess_columns(task: Task, guesses: Guesses, rows: LongArray, *, probabilities: bool) -> dict[str, pa.Array]:
    """Return the columns prediction and prediction_prob of some rows, and with `probabilities` one of every class by name.

    A number is a float64 without a probability; labels of words are lists, null for words beyond the window.
    """
    if guesses.values is not None:
        own = guesses.values[rows]
        return {
            "prediction": pa.array(own, pa.float64(), from_pandas=True),
            "prediction_prob": pa.nulls(len(rows), pa.float32()),
        }
    if guesses.tags is not None:
        assert guesses.tag_probs is not None
        probs = [guesses.tag_probs[row] for row in rows.tolist()]
        return {
            "prediction": pa.array([guesses.tags[row] for row in rows.tolist()], pa.list_(pa.string())),
            "prediction_prob": pa.array([_whole(p) for p in probs], pa.float32(), from_pandas=True),
        }
    assert guesses.predicted is not None
    from nlpkit.cli.classify_tables import take

    return prediction_columns(task.names, take(guesses.predicted, rows), probabilities=probabilities)


def _whole(probs: FloatArray | None) -> float:
    """Return the probability that all words of a text are labelled right, as if they were independent; NaN without words."""
    if probs is None or not np.isfinite(probs).any():
        return float("nan")
    return float(np.prod(probs[np.isfinite(probs)]))


def _documents(documents: TuneDocuments, rows: LongArray, guesses: Guesses) -> pa.Table:
    table = documents.table.take(pa.array(rows))
    own: list[Any] = [documents.own[d] for d in rows.tolist()]
    kind = pa.float64() if documents.kind == "regression" else pa.list_(pa.string())
    task = Task("regression" if documents.kind == "regression" else "tokens", documents.tag_names)
    columns: dict[str, Any] = {"id": table.column("id"), "label": pa.array(own, kind)}
    columns |= guess_columns(task, guesses, rows, probabilities=False)
    if documents.n_folds:
        fold = documents.part[rows]
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
            if guess != label:
                found.append((ids[d], i, documents.words[d][i], label, guess))
    columns = list(zip(*found, strict=True)) or [()] * 5
    names, kinds = ("id", "word", "text", "label", "prediction"), (pa.string(), pa.int32(), *[pa.string()] * 3)
    return pa.table({n: pa.array(c, k) for n, c, k in zip(names, columns, kinds, strict=True)})
