"""Scores of predicted labels of words against true ones, and of the spans that BIO labels mark."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit import wording
from nlpkit.errors import InputError
from nlpkit.evaluation.labels import LabelledPredictions, PredictionTable
from nlpkit.evaluation.predictions import add_classification
from nlpkit.evaluation.results import TargetResult
from nlpkit.metrics import spans
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.classification import encode_labels
from nlpkit.metrics.score import Uncertainty, statistic_score

WORDS = ("accuracy", "macro_f1", "weighted_f1")
SPANS = ("span_f1", "span_precision", "span_recall")
WordLabels = Sequence[Sequence[str | None]]  # of each document those of its words, None for none


def are_token_labels(tables: Sequence[PredictionTable]) -> bool:
    """Whether labels and predictions are lists that go word by word: as long as each other, with labels that come twice."""
    repeated = False
    for table in tables:
        for true, predicted in zip(table.labels, table.assigned, strict=True):
            if true is None or predicted is None:
                continue
            if not isinstance(true, list) or not isinstance(predicted, list) or len(true) != len(predicted):
                return False
            repeated = repeated or len(set(true)) < len(true)
    return repeated


def words_of(table: PredictionTable) -> tuple[list[list[str | None]], list[list[str | None]]]:
    """Return labels and predictions of the words of documents that have labels; without a prediction: none."""
    rows = [(list(a), b) for a, b in zip(table.labels, table.assigned, strict=True) if a is not None]
    true = [[None if t is None else str(t) for t in a] for a, _ in rows]
    return true, [list(b) if b is not None else [None] * len(a) for a, b in rows]


def add_words(
    result: TargetResult,
    true: WordLabels,
    predicted: WordLabels,
    uncertainty: Uncertainty,
    names: Sequence[str] = (*WORDS, *SPANS),
) -> None:
    """Add scores of the labels of words, and of the spans that BIO labels mark; their intervals draw texts.

    A word without a label is left out, one without a prediction counts as wrong.

    Raises:
        InputError: no word has a label.
    """
    paired = [
        [(t, p) for t, p in zip(a, b, strict=True) if t is not None] for a, b in zip(true, predicted, strict=True)
    ]
    without = sum(map(len, true)) - sum(map(len, paired))
    if without:
        result.notes.append(f"{wording.counted(without, 'word')} without a label: left out of the scores")
    paired = [words for words in paired if words]  # a draw of texts without words would have no score
    if not paired:
        raise InputError("no word has a label, so nothing can be scored")
    true, predicted = [[t for t, _ in words] for words in paired], [[p for _, p in words] for words in paired]
    classes, a, b = encode_labels([t for words in true for t in words], [p for words in predicted for p in words])
    data = LabelledPredictions(None, a, b, classes, classes, None, 0)
    n = len(true)
    texts = np.repeat(np.arange(n), [len(words) for words in true])
    once = np.ones(n, np.int64)
    add_classification(
        result, data, [m for m in names if m not in SPANS], Uncertainty(None, uncertainty.seed), beta=1.0, noun="word"
    )
    for name, score in list(result.scores.items()):
        of_words = spans.word_statistic(texts, a, b, n, len(classes), name)
        parameters = {"words": len(a), "classes": len(classes)}
        result.scores[name] = statistic_score(
            METRICS[name], of_words, once, uncertainty, over="documents", parameters=parameters, values=score.values
        )
    if not spans.are_bio([c for c in classes if c is not None]):
        return
    counts = spans.span_counts(
        [[t or "O" for t in words] for words in true], [[p or "O" for p in words] for words in predicted]
    )
    for name in (m for m in names if m in SPANS):
        score_of = spans.statistic(counts, name)
        result.add(statistic_score(METRICS[name], score_of, once, uncertainty, over="documents"))
