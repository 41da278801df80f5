"""N-grams of documents with lists and dictionaries."""

from __future__ import annotations


def ngrams_of(terms: list[int], n_min: int, n_max: int) -> list[tuple[int, ...]]:
    """All n-grams of a document, short ones first; a term below 0 is in none."""
    return [
        tuple(terms[at : at + n])
        for n in range(n_min, n_max + 1)
        for at in range(len(terms) - n + 1)
        if min(terms[at : at + n]) >= 0
    ]


def number(documents: list[list[int]], n_min: int, n_max: int) -> tuple[list[list[int]], list[tuple[int, ...]]]:
    """N-grams of each document as numbers in order of first appearance, and what they are."""
    ids: dict[tuple[int, ...], int] = {}
    coded = [[ids.setdefault(g, len(ids)) for g in ngrams_of(terms, n_min, n_max)] for terms in documents]
    return coded, list(ids)
