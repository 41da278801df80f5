"""Spans of words: what BIO labels mark, and how many of them are found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.metrics.bootstrap import Statistic
from nlpkit.types import FloatArray, LongArray

Span = tuple[str, int, int]


def are_bio(names: Sequence[str]) -> bool:
    """Whether labels mark spans: O, and B- or I- before a type."""
    return len(names) > 1 and all(name == "O" or name[:2] in ("B-", "I-") for name in names)


def spans_of(labels: Sequence[str]) -> set[Span]:
    """Return the spans (type, start, stop) of the labels of a text, as the script of CoNLL-2000 reads them.

    A span starts with B-, or with I- of another type than the word before; it goes on with I- of its type.
    """
    found: set[Span] = set()
    kind, start = "", 0
    for i, label in enumerate([*labels, "O"]):
        mark, _, own = label.partition("-")
        if kind and (mark != "I" or own != kind):
            found.add((kind, start, i))
            kind = ""
        if mark in ("B", "I") and not kind:
            kind, start = own, i
    return found


def span_counts(true: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> LongArray:
    """Return of each text (n, 3): spans in both, true ones, found ones; a span counts when type and both ends agree."""
    rows = []
    for a, b in zip(true, found, strict=True):
        own, theirs = spans_of(a), spans_of(b)
        rows.append((len(own & theirs), len(own), len(theirs)))
    return np.array(rows, np.int64).reshape(-1, 3)


def statistic(counts: LongArray, name: str) -> Statistic:
    """Return span_precision, span_recall or span_f1 of weighted texts: weights (B, n) → (B,); 0 where there is nothing."""

    def found(weights: FloatArray) -> FloatArray:
        both, true, told = (weights @ counts).T
        over = {"span_precision": told, "span_recall": true, "span_f1": (true + told) / 2}[name]
        return np.where(over > 0, both / np.where(over > 0, over, 1.0), 0.0)

    return found
