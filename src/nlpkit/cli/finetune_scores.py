"""ClassifierScores of a fine-tuned model on documents it has not seen, of all four tasks, each beside a guess without any text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.classify.classifier import Predicted
from nlpkit.classify.scores import MAJORITY, MODEL, ClassifierScores, score_predictions
from nlpkit.cli.finetune_corpus import TuneDocuments
from nlpkit.errors import InputError
from nlpkit.evaluation.regression import add_numbers
from nlpkit.evaluation.results import TargetResult
from nlpkit.evaluation.token_labels import add_words
from nlpkit.finetune.tasks import Task, probabilities
from nlpkit.metrics.score import Uncertainty
from nlpkit.types import BoolArray, FloatArray, LongArray

MAIN = {"single": "accuracy", "multi": "micro_f1", "regression": "spearman", "tokens": "macro_f1"}


@dataclass(slots=True)
class Guesses:
    """What a model says of documents (D): of classes as `Predicted`; numbers (D,), NaN for none; or labels of words."""

    predicted: Predicted | None = None
    values: FloatArray | None = None
    tags: list[list[str | None] | None] | None = None
    tag_probs: list[FloatArray | None] | None = None


def nothing_yet(documents: TuneDocuments) -> Guesses:
    """Return guesses of which none is made yet."""
    D, J = len(documents.raw_labels), len(documents.labels.names)
    if documents.kind == "regression":
        return Guesses(values=np.full(D, np.nan))
    if documents.kind == "tokens":
        return Guesses(tags=[None] * D, tag_probs=[None] * D)
    codes = None if documents.labels.multiple else np.full(D, -1, np.int32)
    sets = np.zeros((D, J), bool) if documents.labels.multiple else None
    return Guesses(Predicted(np.full((D, J), np.nan), np.full((D, J), np.nan), codes, sets))


def put(guesses: Guesses, task: Task, rows: LongArray, outputs: Any) -> None:
    """Add the outputs of a network for some rows: (n, J), or of words one array per row."""
    if task.kind == "regression":
        assert guesses.values is not None
        guesses.values[rows] = outputs[:, 0] * task.scale + task.mean
    elif task.kind == "tokens":
        assert guesses.tags is not None
        assert guesses.tag_probs is not None
        for row, logits in zip(rows.tolist(), outputs, strict=True):
            seen = np.isfinite(logits).all(axis=1)
            p = np.full(logits.shape, np.nan)
            if seen.any():
                p[seen] = probabilities(task, logits[seen])
            best = np.where(seen, np.nan_to_num(p).argmax(axis=1), -1)
            guesses.tags[row] = [task.names[j] if j >= 0 else None for j in best]
            guesses.tag_probs[row] = np.where(seen, np.nan_to_num(p).max(axis=1, initial=0.0), np.nan)
    else:
        own = guesses.predicted
        assert own is not None
        assert own.probabilities is not None
        own.decision[rows] = outputs
        own.probabilities[rows] = probabilities(task, outputs)
        if own.sets is not None:
            own.sets[rows] = outputs > 0
        else:
            assert own.codes is not None
            own.codes[rows] = outputs.argmax(axis=1)


def score_guesses(
    documents: TuneDocuments, guesses: Guesses, has_twin: BoolArray | None, how: Uncertainty
) -> ClassifierScores:
    """Return the scores of all test documents that have a label. Raises InputError when none has."""
    if documents.kind in ("single", "multi"):
        assert guesses.predicted is not None
        return score_predictions(documents, guesses.predicted, has_twin, how)
    tested = np.sort(np.concatenate([test for _, test in documents.rounds]))
    rows = np.array([d for d in tested.tolist() if documents.raw_labels[d] is not None], np.int64)
    if not len(rows):
        raise InputError("no test document has a label, so nothing can be scored; name the column with --label-col")
    few = Uncertainty(None, how.seed)
    if documents.kind == "regression":
        assert documents.values is not None
        assert guesses.values is not None
        mean = np.full(len(documents.raw_labels), np.nan)
        for train, test in documents.rounds:
            mean[test] = documents.values[train].mean()
        return ClassifierScores(
            _numbers(MODEL, documents.values[rows], guesses.values[rows], how),
            _numbers("mean of training", documents.values[rows], mean[rows], few),
            None,
        )
    assert guesses.tags is not None
    assert documents.tags is not None
    most = _most_frequent_tag(documents)
    plain: list[list[str | None] | None] = [[most] * len(own or ()) for own in documents.tags]
    return ClassifierScores(
        _words(MODEL, documents, guesses.tags, rows, how), _words(MAJORITY, documents, plain, rows, few), None
    )


def _numbers(name: str, true: FloatArray, found: FloatArray, how: Uncertainty) -> TargetResult:
    result = TargetResult(name, "numbers against 'label'")
    add_numbers(result, true, found, how)
    return result


def _words(
    name: str, documents: TuneDocuments, tags: list[list[str | None] | None], rows: LongArray, how: Uncertainty
) -> TargetResult:
    assert documents.tags is not None
    true = [list(documents.tags[d] or ()) for d in rows.tolist()]
    found = [list(tags[d] or [None] * len(own)) for d, own in zip(rows.tolist(), true, strict=True)]
    result = TargetResult(name, "labels of words against 'label'")
    add_words(result, true, found, how)
    return result


def _most_frequent_tag(documents: TuneDocuments) -> str:
    assert documents.tags is not None
    sizes: dict[str, int] = {}
    for d in documents.train.tolist():
        for tag in documents.tags[d] or ():
            if tag is not None:
                sizes[tag] = sizes.get(tag, 0) + 1
    return max(sorted(sizes), key=lambda tag: sizes[tag])
