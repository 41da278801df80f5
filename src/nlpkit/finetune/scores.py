"""Scores of a fine-tuned model on documents it has not seen, of all tasks, each beside a guess without any text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nlpkit.classify.models.logistic import median_class
from nlpkit.classify.scores import MAJORITY, MEAN, OF_ORDERED, ClassifierScores, score_predictions
from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.data.answers import answers_of
from nlpkit.finetune.data.dataset import FinetuneDataset
from nlpkit.finetune.predictions import TaskPredictions, predictions_of
from nlpkit.finetune.tasks import CLASSES, FinetuneTask, probabilities, word_labels
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.labels import ordinal
from nlpkit.metrics.labels.numbers import REGRESSION, add_numbers, statistics
from nlpkit.metrics.labels.ordinal import ORDINAL
from nlpkit.metrics.labels.predictions import CALIBRATION, DEFAULT_CLASSIFICATION, SCORES
from nlpkit.metrics.labels.spans import SPANS, WORDS, add_words, are_bio
from nlpkit.metrics.results import MODEL, Bound, TargetResult
from nlpkit.metrics.score import Uncertainty, mean_score
from nlpkit.metrics.texts.generation import PER_PAIR, answer_f1
from nlpkit.platform.types import BoolArray, FloatArray, LongArray

ANSWERS, NO_ANSWER = ("answer_exact", "answer_f1"), "no answer"
MAIN = {
    "single": "accuracy",
    "multi": "micro_f1",
    "ordinal": "quadratic_kappa",
    "regression": "spearman",
    "tokens": "macro_f1",
    "answer": "answer_f1",
}  # what methods are ranked by


def score_task(
    dataset: FinetuneDataset,
    predictions: TaskPredictions,
    has_near_duplicate: BoolArray | None,
    uncertainty: Uncertainty,
) -> ClassifierScores:
    """Return the scores of all test documents that have a label.

    Args:
        has_near_duplicate: (D,) documents with a near-duplicate in training; None: not looked for.

    Raises:
        InputError: no test document has a label.
    """
    if dataset.kind in CLASSES:
        assert predictions.predicted is not None
        return score_predictions(dataset, predictions.predicted, has_near_duplicate, uncertainty)
    rows = dataset.labelled(dataset.tested())
    if not len(rows):
        raise InputError("no test document has a label, so nothing can be scored; name the column with `label_col`")
    no_interval = Uncertainty(None, uncertainty.seed)
    if dataset.kind == "regression":
        assert dataset.values is not None
        assert predictions.values is not None
        mean = np.full(len(dataset.raw_labels), np.nan)
        for train, test in dataset.rounds:
            mean[test] = dataset.values[train].mean()
        return ClassifierScores(
            _of_numbers(MODEL, dataset.values[rows], predictions.values[rows], uncertainty),
            _of_numbers(MEAN, dataset.values[rows], mean[rows], no_interval),
            None,
        )
    if dataset.kind == "answer":
        answers = answers_of(dataset.texts, predictions.spans)
        return ClassifierScores(
            _of_answers(MODEL, dataset, answers, rows, uncertainty),
            _of_answers(NO_ANSWER, dataset, [""] * len(answers), rows, no_interval),
            None,
        )
    assert predictions.tags is not None
    assert dataset.tags is not None
    most = _most_frequent_tag(dataset)
    majority: list[list[str | None] | None] = [[most] * len(tags or ()) for tags in dataset.tags]
    return ClassifierScores(
        _of_words(MODEL, dataset, predictions.tags, rows, uncertainty),
        _of_words(MAJORITY, dataset, majority, rows, no_interval),
        None,
    )


def dev_score(dataset: FinetuneDataset, task: FinetuneTask, rows: LongArray, outputs: Any) -> float:
    """Return the score on dev documents that early stopping looks at.

    Accuracy, of ordered classes quadratic kappa, of several labels micro-F1, of numbers Spearman's rho, of words their accuracy,
    of answers F1.
    """
    if task.kind == "single":
        assert dataset.labels.codes is not None
        return float((outputs.argmax(axis=1) == dataset.labels.codes[rows]).mean())
    if task.kind == "ordinal":
        assert dataset.labels.codes is not None
        ranks = median_class(probabilities(task, outputs))
        kappa = ordinal.statistics(dataset.labels.codes[rows], ranks)["quadratic_kappa"](np.ones((1, len(rows))))[0]
        return float(kappa) if np.isfinite(kappa) else -1.0
    if task.kind == "multi":
        assert dataset.labels.sets is not None
        both = dataset.labels.sets[rows] & (outputs > 0)
        return float(2 * both.sum() / max(1, dataset.labels.sets[rows].sum() + (outputs > 0).sum()))
    if task.kind == "regression":
        assert dataset.values is not None
        rho = statistics(dataset.values[rows], outputs[:, 0])["spearman"](np.ones((1, len(rows))))[0]
        return float(rho) if np.isfinite(rho) else -1.0
    if task.kind == "answer":
        predicted = predictions_of(task, outputs).spans
        texts = [dataset.texts[d] for d in rows.tolist()]
        answers = [answer or "" for answer in answers_of(texts, predicted)]
        return float(answer_f1([dataset.raw_labels[d] for d in rows.tolist()], answers).mean())
    assert dataset.tags is not None
    hits = n = 0
    for row, logits in zip(rows.tolist(), outputs, strict=True):
        true = dataset.tags[row] or []
        best, _ = word_labels(task, logits)
        hits += sum(j >= 0 and a == task.names[j] for a, j in zip(true, best.tolist(), strict=False))
        n += sum(a is not None for a in true)
    return hits / max(1, n)


def check_bounds(bounds: Sequence[Bound], dataset: FinetuneDataset) -> None:
    """Raise UsageError for a gate on a score that this task does not have, before training."""
    possible = {
        "single": (*DEFAULT_CLASSIFICATION, *CALIBRATION), "multi": SCORES, "ordinal": (*ORDINAL, *OF_ORDERED, *CALIBRATION),
        "regression": REGRESSION, "answer": ANSWERS,
        "tokens": (*WORDS, *(SPANS if are_bio(dataset.tag_names) else ())),
    }[dataset.kind]  # fmt: skip
    for bound in bounds:
        if bound.metric and bound.metric not in possible:
            raise UsageError(f"a gate on {bound.metric}: possible are {', '.join(possible)}")


def spread_over_seeds(by_seed: Mapping[int, ClassifierScores]) -> dict[str, Any]:
    """Return the scores of each seed, their mean and standard deviation (n - 1)."""
    runs = [
        {"seed": seed, **{n: s.value for n, s in scores.model.scores.items() if s.value is not None}}
        for seed, scores in by_seed.items()
    ]
    names = [n for n in runs[0] if n != "seed" and all(n in run for run in runs)]
    values = {n: np.array([run[n] for run in runs]) for n in names}
    return {
        "runs": runs,
        "mean": {n: float(v.mean()) for n, v in values.items()},
        "sd": {n: float(v.std(ddof=1)) if len(v) > 1 else 0.0 for n, v in values.items()},
    }


def with_means(result: TargetResult, spread: Mapping[str, Any] | None) -> TargetResult:
    """Return what gates look at: of several seeds the means."""
    if spread is None:
        return result
    scores = {
        name: replace(score, value=spread["mean"].get(name, score.value), interval=None)
        for name, score in result.scores.items()
    }
    return replace(result, scores=scores)


def _of_numbers(name: str, true: FloatArray, predicted: FloatArray, uncertainty: Uncertainty) -> TargetResult:
    result = TargetResult(name, "numbers against 'label'")
    add_numbers(result, true, predicted, uncertainty)
    return result


def _of_answers(
    name: str, dataset: FinetuneDataset, answers: Sequence[str | None], rows: LongArray, uncertainty: Uncertainty
) -> TargetResult:
    result = TargetResult(name, "answers against 'label'")
    true, predicted = [dataset.raw_labels[d] for d in rows.tolist()], [answers[d] or "" for d in rows.tolist()]
    for metric in ANSWERS:
        result.add(mean_score(METRICS[metric], PER_PAIR[metric](true, predicted), uncertainty, over="documents"))
    return result


def _of_words(
    name: str,
    dataset: FinetuneDataset,
    tags: Sequence[list[str | None] | None],
    rows: LongArray,
    uncertainty: Uncertainty,
) -> TargetResult:
    assert dataset.tags is not None
    true = [list(dataset.tags[d] or ()) for d in rows.tolist()]
    predicted = [list(tags[d] or [None] * len(row)) for d, row in zip(rows.tolist(), true, strict=True)]
    result = TargetResult(name, "labels of words against 'label'")
    add_words(result, true, predicted, uncertainty)
    return result


def _most_frequent_tag(dataset: FinetuneDataset) -> str:
    assert dataset.tags is not None
    counts = Counter(tag for d in dataset.train.tolist() for tag in dataset.tags[d] or () if tag is not None)
    return str(max(sorted(counts), key=lambda tag: counts[tag]))
