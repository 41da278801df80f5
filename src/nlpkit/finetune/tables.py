"""The tables of a fine-tuned model's run directory: documents with predictions, classes, confusions, errors, near-duplicates, curves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.scores import ClassifierScores
from nlpkit.classify.tables import (
    ADDED,
    NOT_CARRIED,
    WORD_CONFUSION,
    classes_table,
    confusion_table,
    documents_table,
    errors_table,
    number_errors_table,
    prediction_columns,
    twins_table,
)
from nlpkit.finetune.comparison import SIZES
from nlpkit.finetune.data.answers import answers_of
from nlpkit.finetune.data.dataset import FinetuneDataset
from nlpkit.finetune.predictions import TaskPredictions
from nlpkit.finetune.tasks import CLASSES, FinetuneTask
from nlpkit.finetune.training.train import LogPoint
from nlpkit.finetune.trials import TrialResult
from nlpkit.metrics.texts.generation import answer_exact, answer_f1
from nlpkit.platform import reporting
from nlpkit.platform.types import FloatArray, LongArray
from nlpkit.text.duplicates import NearDuplicates


def run_tables(
    dataset: FinetuneDataset,
    predictions: TaskPredictions,
    scores: ClassifierScores,
    duplicates: NearDuplicates | None,
    *,
    probabilities: bool,
) -> dict[str, pa.Table]:
    """Return the tables of a run by file stem."""
    tested = dataset.tested()
    rows = np.arange(dataset.table.num_rows) if dataset.n_folds else tested
    labelled = dataset.labelled(tested)
    for name in ADDED:
        if name in dataset.table.column_names:
            reporting.warn(f"the column '{name}' of the input is dropped, because the run has a column with this name")
    if dataset.kind in CLASSES:
        assert predictions.predicted is not None
        tables = {
            "documents": documents_table(dataset, rows, predictions.predicted, probabilities=probabilities),
            "classes": classes_table(scores.model, dataset),
            "errors": errors_table(dataset, labelled, predictions.predicted),
        }
        confusion = confusion_table(scores.model)
        if confusion is not None:
            tables["confusion"] = confusion
    elif dataset.kind == "answer":
        tables = {
            "documents": _documents(dataset, rows, predictions),
            "errors": _answer_errors(dataset, labelled, predictions),
        }
    elif dataset.kind == "regression":
        assert predictions.values is not None
        tables = {
            "documents": _documents(dataset, rows, predictions),
            "errors": number_errors_table(dataset, labelled, predictions.values),
        }
    else:
        tables = {
            "documents": _documents(dataset, rows, predictions),
            "errors": _word_errors(dataset, labelled, predictions),
        }
        confusion = confusion_table(scores.model)
        if confusion is not None:
            tables["confusion"] = confusion.rename_columns(WORD_CONFUSION.schema.names)
    if duplicates is not None and (duplicates.nearest >= 0).any():
        tables["twins"] = twins_table(dataset, duplicates)
    return tables


def task_columns(
    task: FinetuneTask, predictions: TaskPredictions, rows: LongArray, texts: Sequence[str], *, probabilities: bool
) -> dict[str, pa.Array]:
    """Return the columns prediction and prediction_prob of some rows, and with `probabilities` one of every class by name.

    A number is a float64 and has no column of probabilities; of labels of words both are lists, null for words beyond the window.
    An answer has its place in the text as `answer_start`, null where there is none. texts: of the documents `rows`.
    """
    if predictions.spans is not None:
        assert predictions.span_probs is not None
        spans = predictions.spans[rows]
        answers = answers_of(texts, spans)
        starts = [
            int(start) + len(text[start:end]) - len(text[start:end].lstrip()) if answer else None
            for text, answer, (start, end) in zip(texts, answers, spans.tolist(), strict=True)
        ]
        return {
            "prediction": pa.array(answers, pa.string()),
            "prediction_prob": pa.array(predictions.span_probs[rows], pa.float32(), from_pandas=True),
            "answer_start": pa.array(starts, pa.int32()),
        }
    if predictions.values is not None:
        return {"prediction": pa.array(predictions.values[rows], pa.float64(), from_pandas=True)}
    if predictions.tags is not None:
        assert predictions.tag_probs is not None
        probs = [predictions.tag_probs[row] for row in rows.tolist()]
        return {
            "prediction": pa.array([predictions.tags[row] for row in rows.tolist()], pa.list_(pa.string())),
            "prediction_prob": pa.array([_of_words(p) for p in probs], pa.list_(pa.float32())),
        }
    assert predictions.predicted is not None
    return prediction_columns(task.names, predictions.predicted.take(rows), probabilities=probabilities)


def _of_words(probs: FloatArray | None) -> list[float | None] | None:
    return None if probs is None else [float(p) if np.isfinite(p) else None for p in probs]


def _documents(dataset: FinetuneDataset, rows: LongArray, predictions: TaskPredictions) -> pa.Table:
    table = dataset.table.take(pa.array(rows))
    labels: list[Any] = [dataset.raw_labels[d] for d in rows.tolist()]
    columns: dict[str, Any] = {"id": table.column("id"), "label": pa.array(labels, dataset.label_type)}
    texts = [dataset.texts[d] for d in rows.tolist()] if dataset.kind == "answer" else []
    columns |= task_columns(
        FinetuneTask(dataset.kind, dataset.tag_names), predictions, rows, texts, probabilities=False
    )
    if dataset.n_folds:
        fold = dataset.split[rows]
        columns["fold"] = pa.array(fold, pa.int32(), mask=fold < 0)
    columns |= {n: table.column(n) for n in table.column_names if n not in NOT_CARRIED}
    return pa.table(columns)


def _answer_errors(dataset: FinetuneDataset, rows: LongArray, predictions: TaskPredictions) -> pa.Table:
    """Return the documents whose answer is not the true one, those that share the fewest words first."""
    assert dataset.second is not None
    assert predictions.spans is not None
    true = [dataset.raw_labels[d] for d in rows.tolist()]
    texts = dataset.texts
    answers = [a or "" for a in answers_of([texts[d] for d in rows.tolist()], predictions.spans[rows])]
    exact, f1 = answer_exact(true, answers), answer_f1(true, answers)
    wrong = np.flatnonzero(exact == 0)
    wrong = wrong[np.argsort(f1[wrong], kind="stable")]
    ids = dataset.table.column("id").to_pylist()
    return pa.table(
        {
            "id": pa.array([ids[rows[i]] for i in wrong], pa.string()),
            "label": pa.array([true[i] for i in wrong], pa.string()),
            "prediction": pa.array([answers[i] for i in wrong], pa.string()),
            "answer_f1": pa.array(f1[wrong], pa.float64()),
            "question": pa.array([dataset.second[rows[i]] for i in wrong], pa.string()),
        }
    )


def _word_errors(dataset: FinetuneDataset, rows: LongArray, predictions: TaskPredictions) -> pa.Table:
    """Return the words with a wrong label."""
    assert dataset.tags is not None
    assert dataset.words is not None
    assert predictions.tags is not None
    ids = dataset.table.column("id").to_pylist()
    errors = []
    for d in rows.tolist():
        predicted = predictions.tags[d] or []
        for i, label in enumerate(dataset.tags[d] or []):
            guess = predicted[i] if i < len(predicted) else None
            if label is not None and guess != label:
                errors.append((ids[d], i, dataset.words[d][i], label, guess))
    columns = list(zip(*errors, strict=True)) or [()] * 5
    names, kinds = ("id", "word", "text", "label", "prediction"), (pa.string(), pa.int32(), *[pa.string()] * 3)
    return pa.table({n: pa.array(c, k) for n, c, k in zip(names, columns, kinds, strict=True)})


def curve_lines(points: Sequence[LogPoint], facts: Mapping[str, Any]) -> str:
    """Return a learning curve as JSON lines that begin with some facts: step, epoch, loss, rate, seconds, dev."""
    return "".join(json.dumps({**facts, **asdict(point)}, ensure_ascii=False) + "\n" for point in points)


def trial_curves(results: Sequence[TrialResult]) -> str:
    """Return the learning curves of trainings as JSON lines: method, shots, seed, fold, and what `curve_lines` has."""
    return "".join(
        curve_lines(
            r.curve,
            {n: r.facts[n] for n in ("method", "shots", "total", "seed", "fold") if n in r.facts},
        )
        for r in results
    )


def comparison_curves(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the learning curves of a comparison as JSON lines: method, shots, sample, seed, and what `curve_lines` has."""
    return "".join(
        curve_lines(curve, {name: row[name] for name in ("method", *SIZES, "sample", "seed") if name in row})
        for row in rows
        for curve in row.get("curves", ())
    )
