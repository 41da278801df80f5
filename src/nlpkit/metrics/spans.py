"""Labels of words, counted text by text, and spans: what BIO labels mark, and how many of them are found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nlpkit.metrics.bootstrap import Statistic
from nlpkit.metrics.classification import averages_of_sums
from nlpkit.types import FloatArray, IntArray, LongArray

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
