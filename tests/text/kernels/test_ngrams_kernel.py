"""N-grams as numbers against lists of tuples."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.platform.kernels.idtable import new_table
from nlpkit.text.kernels.ngrams import number_ngrams, spell_ngrams
from tests.reference import ngrams as plain
from tests.strategies import repeatable

DOCUMENTS = st.lists(st.lists(st.integers(-1, 4), max_size=40), max_size=6)


def arrays(documents: list[list[int]]) -> tuple[Any, Any]:
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    term_ids = np.array([t for terms in documents for t in terms], np.int32)
    term_ids.setflags(write=False)  # as those of the program: for others the kernels would be compiled once more
    return offsets, term_ids


def number(documents: list[list[int]], n_min: int, n_max: int) -> tuple[list[list[int]], list[tuple[int, ...]]]:
    offsets, term_ids = arrays(documents)
    room = len(term_ids) * (n_max - n_min + 1)
    out_offsets, out_ids = np.empty(len(offsets), np.int64), np.empty(room, np.int32)
    unigrams = np.full(term_ids.max(initial=-1) + 1, -1, np.int32)
    stems, grams = number_ngrams(
        new_table(2), new_table(2), unigrams, offsets, term_ids, n_min, n_max, out_offsets, out_ids
    )
    n_grams = int(grams.size[0])
    words, lengths = np.full((n_grams, n_max), -1, np.int32), np.zeros(n_grams, np.int64)
    spell_ngrams(stems.keys, grams.keys, np.arange(n_grams), n_min, words, lengths)
    coded = [out_ids[a:b].tolist() for a, b in pairwise(out_offsets.tolist())]
    return coded, [tuple(row[:n]) for row, n in zip(words.tolist(), lengths.tolist(), strict=True)]


def test_by_hand() -> None:
    coded, grams = number([[5, 6, 5, 6], [6, 5]], 1, 2)
    assert grams == [(5,), (6,), (5, 6), (6, 5)]
    assert coded == [[0, 1, 0, 1, 2, 3, 2], [1, 0, 3]]


def test_a_gap_is_in_no_ngram() -> None:
    coded, grams = number([[1, 2, -1, 2, 1]], 2, 3)
    assert (coded, grams) == ([[0, 1]], [(1, 2), (2, 1)])


@pytest.mark.parametrize(("n_min", "n_max"), [(1, 1), (1, 2), (1, 4), (2, 2), (2, 4), (3, 3), (3, 5), (4, 5), (5, 5)])
@repeatable
@given(DOCUMENTS)
def test_equals_tuples(n_min: int, n_max: int, documents: list[list[int]]) -> None:
    assert number(documents, n_min, n_max) == plain.number(documents, n_min, n_max)
