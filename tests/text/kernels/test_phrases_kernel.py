"""Pairs counted and phrases joined, against lists and dictionaries."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.platform.kernels.idtable import insert_all, new_table
from nlpkit.text.kernels.ngrams import count_pairs, join_phrases, spell_ngrams
from tests.reference import phrases as plain
from tests.strategies import repeatable

V = 5
DOCUMENTS = st.lists(st.lists(st.integers(-1, V - 1), max_size=30), max_size=5)


def arrays(documents: list[list[int]]) -> tuple[Any, Any]:
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    term_ids = np.array([t for terms in documents for t in terms], np.int32)
    term_ids.setflags(write=False)  # as those of the program: for others the kernels would be compiled once more
    return offsets, term_ids


def count(
    documents: list[list[int]], connectors: set[int], frequent: set[int], max_between: int
) -> tuple[Counter[tuple[int, ...]], Any, Any]:
    table = new_table(2)
    before, after = np.zeros(V, np.int64), np.zeros(V, np.int64)
    flags = [np.array([t in s for t in range(V)], np.bool_) for s in (connectors, frequent)]
    counts = np.zeros(len(table.keys), np.int64)
    table, counts = count_pairs(table, counts, *arrays(documents), *flags, max_between, before, after)
    n = int(table.size[0])
    words, lengths = np.full((n, max_between + 2), -1, np.int32), np.zeros(n, np.int64)
    spell_ngrams(table.keys[:0], table.keys, np.arange(n), 2, words, lengths)
    pairs = {tuple(w[:k]): c for w, k, c in zip(words.tolist(), lengths.tolist(), counts.tolist(), strict=False)}
    return Counter({p: c for p, c in pairs.items() if c}), before, after


def test_by_hand() -> None:
    # bank of america, bank of the west: 1 and 2 connect
    pairs, before, after = count([[0, 1, 3], [0, 1, 2, 4], [0, 3, -1, 3]], {1, 2}, set(range(V)), 2)
    assert pairs == {(0, 1, 3): 1, (0, 1, 2, 4): 1, (0, 3): 1}
    assert (before.tolist(), after.tolist()) == ([3, 0, 0, 0, 0], [0, 0, 0, 2, 1])


@pytest.mark.parametrize("max_between", [0, 1, 2, 5])
@repeatable
@given(DOCUMENTS, st.sets(st.integers(0, V - 1), max_size=3), st.sets(st.integers(0, V - 1), min_size=2))
def test_pairs_equal_lists(
    max_between: int, documents: list[list[int]], connectors: set[int], frequent: set[int]
) -> None:
    pairs, before, after = count(documents, connectors, frequent, max_between)
    expected = plain.count(documents, connectors, max_between)
    assert pairs == {p: c for p, c in expected.items() if p[0] in frequent and p[-1] in frequent}
    assert before.tolist() == [sum(c for p, c in expected.items() if p[0] == t) for t in range(V)]
    assert after.tolist() == [sum(c for p, c in expected.items() if p[-1] == t) for t in range(V)]


def join(documents: list[list[int]], phrases: dict[tuple[int, ...], int]) -> list[list[int]]:
    table, begins = new_table(4), np.full(V, -1, np.int32)
    ends: dict[int, int] = {}
    for phrase, joined in phrases.items():
        key = -1 - phrase[0]
        for at, term in enumerate((*phrase[1:], -1)):
            node = np.empty(1, np.int32)
            table = insert_all(table, np.array([key]), node)
            if at == 0:
                begins[phrase[0]] = node[0]
            key = (int(node[0]) << 32) | term
        ends[int(node[0])] = joined
    accept = np.array([ends.get(n, -1) for n in range(int(table.size[0]))], np.int32)
    offsets, term_ids = arrays(documents)
    out_offsets, out_ids = np.empty_like(offsets), np.empty_like(term_ids)
    join_phrases(table, accept, begins, offsets, term_ids, out_offsets, out_ids)
    return [out_ids[a:b].tolist() for a, b in pairwise(out_offsets.tolist())]


def test_the_longest_from_the_left() -> None:
    phrases = {(0, 1): 10, (1, 2): 11, (0, 1, 2, 3): 12}
    assert join([[0, 1, 2, 3], [0, 1, 2, 4], [1, 2, 2, 0, -1, 1], [0, 1, 2]], phrases) == [
        [12],
        [10, 2, 4],
        [11, 2, 0, -1, 1],
        [10, 2],
    ]


@repeatable
@given(DOCUMENTS, st.sets(st.lists(st.integers(0, V - 1), min_size=2, max_size=4).map(tuple), max_size=6))
def test_joins_equal_lists(documents: list[list[int]], phrases: set[tuple[int, ...]]) -> None:
    ids = {p: V + i for i, p in enumerate(sorted(phrases))}
    assert join(documents, ids) == [plain.join(terms, ids) for terms in documents]
