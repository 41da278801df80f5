"""The scores of predicted labels of words, and of the spans that BIO labels mark.

Parts, in this order:
- Labels of words, counted text by text, and spans: what BIO labels mark, and how many of them are found.
- The scores, added to a result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nlpkit.errors import InputError
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.intervals import Statistic
from nlpkit.metrics.labels.classification import averages_of_sums, encode_labels
from nlpkit.metrics.labels.labels import LabelledPredictions, PredictionTable
from nlpkit.metrics.labels.predictions import add_classification
from nlpkit.metrics.results import TargetResult
from nlpkit.metrics.score import Uncertainty, statistic_score
from nlpkit.platform import wording
from nlpkit.platform.types import FloatArray, IntArray, LongArray

Span = tuple[str, int, int]


def are_bio(names: Sequence[str]) -> bool:
    """Whether labels mark spans: O, and B- or I- before a type."""
    return len(names) > 1 and all(name == "O" or name[:2] in ("B-", "I-") for name in names)


def spans_of(labels: Sequence[str]) -> set[Span]:
    """Return the spans (type, start, stop) of the labels of a text, as the script of CoNLL-2000 reads them.

    A span starts with B-, or with I- of another type than the word before; it goes on with I- of its type.
    """
    spans: set[Span] = set()
    kind, start = "", 0
    for i, label in enumerate([*labels, "O"]):
        mark, _, label_kind = label.partition("-")
        if kind and (mark != "I" or label_kind != kind):
            spans.add((kind, start, i))
            kind = ""
        if mark in ("B", "I") and not kind:
            kind, start = label_kind, i
    return spans


def span_counts(true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> LongArray:
    """Return of each text (n, 3): spans in both, true ones, predicted ones; a span counts when type and both ends agree."""
    rows = []
    for a, b in zip(true, predicted, strict=True):
        true_spans, predicted_spans = spans_of(a), spans_of(b)
        rows.append((len(true_spans & predicted_spans), len(true_spans), len(predicted_spans)))
    return np.array(rows, np.int64).reshape(-1, 3)


def statistic(counts: LongArray, name: str) -> Statistic:
    """Return span_precision, span_recall or span_f1 of weighted texts: weights (B, n) → (B,); 0 where there is nothing."""

    def score(weights: FloatArray) -> FloatArray:
        both, true, predicted = (weights @ counts).T
        over = {"span_precision": predicted, "span_recall": true, "span_f1": (true + predicted) / 2}[name]
        return np.where(over > 0, both / np.where(over > 0, over, 1.0), 0.0)

    return score


def word_statistic(
    texts: LongArray, true: IntArray, predicted: IntArray, n_texts: int, n_classes: int, name: str
) -> Statistic:
    """Return a score of `classification.averages` over the words of weighted texts: weights (B, n) → (B,).

    Words of a text are not drawn apart: they have their subject and their writer in common (Cameron et al. 2008, on clusters).

    Args:
        texts, true, predicted: (W,) of each word its text, and the codes of its label and its prediction, -1 for none. Every text has
            a word with a label.
    """
    from scipy.sparse import csr_array

    def table(codes: IntArray, kept: NDArray[np.bool_], width: int) -> csr_array:
        ones = np.ones(int(kept.sum()))
        return csr_array((ones, (texts[kept], codes[kept])), shape=(n_texts, width))

    labelled = true >= 0
    hits, support = table(true, labelled & (true == predicted), n_classes), table(true, labelled, n_classes)
    predicted_table = table(np.where(predicted < 0, n_classes, predicted), labelled, n_classes + 1)

    def score(weights: FloatArray) -> FloatArray:
        sums = [np.asarray((matrix.T @ weights.T).T) for matrix in (hits, support, predicted_table)]
        return np.asarray(averages_of_sums(*sums)[name], np.float64)

    return score


# ------------------------------------------------------------------------------------------------------------------------
# Scores of predicted labels of words against true ones, and of the spans that BIO labels mark.

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
        of_words = word_statistic(texts, a, b, n, len(classes), name)
        parameters = {"words": len(a), "classes": len(classes)}
        result.scores[name] = statistic_score(
            METRICS[name], of_words, once, uncertainty, over="documents", parameters=parameters, values=score.values
        )
    if not are_bio([c for c in classes if c is not None]):
        return
    counts = span_counts(
        [[t or "O" for t in words] for words in true], [[p or "O" for p in words] for words in predicted]
    )
    for name in (m for m in names if m in SPANS):
        score_of = statistic(counts, name)
        result.add(statistic_score(METRICS[name], score_of, once, uncertainty, over="documents"))
