"""Scores of predicted numbers, and of predicted labels of words, against true ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nlpkit import wording
from nlpkit.cli.evaluate_labels import Columns, Labelled, check_given
from nlpkit.cli.evaluate_predictions import add_classification
from nlpkit.cli.evaluate_result import TargetResult
from nlpkit.errors import InputError
from nlpkit.io.plain_tables import as_label
from nlpkit.metrics import regression, spans
from nlpkit.metrics.classification import encode_labels
from nlpkit.metrics.score import METRICS, Uncertainty, statistic_score
from nlpkit.types import FloatArray

REGRESSION = ("rmse", "mae", "r2", "pearson", "spearman")
WORDS = ("accuracy", "macro_f1", "weighted_f1")
SPANS = ("span_f1", "span_precision", "span_recall")


def hold_numbers(columns: Sequence[Columns]) -> bool:
    """Whether all predictions are numbers, some of them with fractions: no classes. Of numbers as text most are no labels, too."""
    return all(_are_numbers([v for v in own.found if v is not None], own.labels) for own in columns)


def _are_numbers(found: Sequence[Any], labels: Sequence[Any]) -> bool:
    as_text = [v for v in found if isinstance(v, str)]
    if len(as_text) < len(found) and not all(isinstance(v, float) for v in found):
        return False
    numbers = np.array([_number(v) for v in found], np.float64)
    if as_text:
        values = set(as_text)
        if np.isnan(numbers).any() or 2 * len(values & {v for v in labels if isinstance(v, str)}) >= len(values):
            return False
    return bool((numbers[np.isfinite(numbers)] % 1 != 0).any())


def hold_words(columns: Sequence[Columns]) -> bool:
    """Whether labels and predictions are lists that go word by word: as long as each other, with labels that come twice."""
    twice = False
    for own in columns:
        for true, found in zip(own.labels, own.found, strict=True):
            if true is None or found is None:
                continue
            if not isinstance(true, list) or not isinstance(found, list) or len(true) != len(found):
                return False
            twice = twice or len(set(true)) < len(true)
    return twice


def numbers_of(columns: Columns) -> tuple[FloatArray, FloatArray]:
    """Return true and predicted numbers of the documents, NaN for none. Raises InputError when a label is no number."""
    labels = [None if (as_label(v) or "nan").lower() == "nan" else v for v in columns.labels]
    check_given(columns, labels, columns.found)
    true = np.array([np.nan if v is None else _number(v) for v in labels])
    wrong = [i for i, v in enumerate(labels) if v is not None and not np.isfinite(true[i])]
    if wrong:
        first, n_given = labels[wrong[0]], sum(v is not None for v in labels)
        some = (
            "" if len(wrong) == n_given else f" (row {wrong[0] + 1:,}; {len(wrong):,} of {n_given:,} labels are none)"
        )
        raise InputError(
            f"{columns.name}: label {first!r:.60} is no number{some}, predictions are; name the column with --label-col"
        )
    return true, np.array([_number(v) for v in columns.found], np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def words_of(columns: Columns) -> tuple[list[list[str | None]], list[list[str | None]]]:
    """Return labels and predictions of the words of documents that have labels; without a prediction: none."""
    rows = [(list(a), b) for a, b in zip(columns.labels, columns.found, strict=True) if a is not None]
    true = [[None if t is None else str(t) for t in a] for a, _ in rows]
    return true, [list(b) if b is not None else [None] * len(a) for a, b in rows]


def add_numbers(
    result: TargetResult, true: FloatArray, found: FloatArray, how: Uncertainty, names: Sequence[str] = REGRESSION
) -> None:
    """Add scores of numbers (n,) to a result; documents without a prediction (NaN) are left out."""
    known = np.isfinite(found) & np.isfinite(true)
    own = regression.statistics(true[known], found[known])
    counts = np.ones(int(known.sum()), np.int64)
    for name in names:
        why = _why_undefined(name, true[known], found[known])
        result.add(statistic_score(METRICS[name], own[name], counts, how, over="documents", why=why))
    for what, missing in (("label", ~np.isfinite(true)), ("prediction", np.isfinite(true) & ~np.isfinite(found))):
        if missing.any():
            result.notes.append(
                f"{wording.counted(int(missing.sum()), 'document')} without a {what}: left out of the scores"
            )


def _why_undefined(name: str, true: FloatArray, found: FloatArray) -> str:
    """Return why a score of numbers (n,) is not defined, if it is not: r2 is of different labels, correlations of both."""
    if len(true) < 2:
        return f"{'only one' if len(true) else 'no'} document has both a label and a prediction"
    sides = {"labels": true} if name == "r2" else {"labels": true, "predictions": found}
    return f"{' and '.join(what for what, own in sides.items() if np.ptp(own) == 0)} are all alike"


def add_words(
    result: TargetResult, true: Sequence[Sequence[str | None]], found: Sequence[Sequence[str | None]], how: Uncertainty,
    names: Sequence[str] = (*WORDS, *SPANS),
) -> None:  # fmt: skip
    """Add scores of the labels of words, and of the spans that BIO labels mark; their intervals draw texts.

    A word without a label is left out, one without a prediction counts as wrong.
    """
    paired = [[(t, f) for t, f in zip(a, b, strict=True) if t is not None] for a, b in zip(true, found, strict=True)]
    without = sum(map(len, true)) - sum(map(len, paired))
    if without:
        result.notes.append(f"{wording.counted(without, 'word')} without a label: left out of the scores")
    paired = [own for own in paired if own]  # a draw of texts without words would have no score
    if not paired:
        raise InputError("no word has a label, so nothing can be scored")
    true, found = [[t for t, _ in own] for own in paired], [[f for _, f in own] for own in paired]
    classes, a, b = encode_labels([t for own in true for t in own], [t for own in found for t in own])
    data = Labelled(None, a, b, classes, classes, None, 0)
    n = len(true)
    texts = np.repeat(np.arange(n), [len(own) for own in true])
    once = np.ones(n, np.int64)
    add_classification(
        result, data, [m for m in names if m not in SPANS], Uncertainty(None, how.seed), beta=1.0, noun="word"
    )
    for name, plain in list(result.scores.items()):
        statistic = spans.word_statistic(texts, a, b, n, len(classes), name)
        given = {"words": len(a), "classes": len(classes)}
        result.scores[name] = statistic_score(
            METRICS[name], statistic, once, how, over="documents", parameters=given, values=plain.values
        )
    if not spans.are_bio([c for c in classes if c is not None]):
        return
    counts = spans.span_counts([[t or "O" for t in own] for own in true], [[t or "O" for t in own] for own in found])
    for name in (m for m in names if m in SPANS):
        statistic = spans.statistic(counts, name)
        result.add(statistic_score(METRICS[name], statistic, once, how, over="documents"))
