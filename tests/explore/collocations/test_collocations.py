"""Collocations: an example by hand, every pair counted the slow way, NLTK's finder."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nlpkit as nk
from nlpkit.explore.collocations.model import CollocationCounter, CollocationOptions, PairTable
from nlpkit.platform.kernels.idtable import new_table
from nlpkit.text.segment import overlap
from nlpkit.text.vocab import EncodedBatch
from tests.refusals import refuses
from tests.strategies import repeatable

V = 4
DOCUMENTS = st.lists(st.lists(st.integers(-1, V - 1), max_size=12), max_size=5)


def batch(documents: list[list[int]]) -> EncodedBatch:
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    return EncodedBatch(offsets, np.array([t for d in documents for t in d], np.int32))


def count(documents: list[list[int]], window: int, *, node: int | None = None, both_orders: bool = False) -> PairTable:
    counter = CollocationCounter(np.ones(V, np.bool_), window=window, node=node)
    counter._table, counter._counts = new_table(1), np.zeros(2, np.int64)  # grows on the way
    for document in documents:
        counter.count(batch([document]))
    return counter.pairs(measure="count", min_count=1, both_orders=both_orders)


def counts(table: PairTable) -> dict[tuple[int, int], tuple[int, int, int]]:
    rows = zip(table.x, table.y, table.n_xy, table.n_x, table.n_y, strict=True)
    return {(int(x), int(y)): (int(a), int(b), int(c)) for x, y, a, b, c in rows}


def test_neighbours_by_hand() -> None:
    # strong tea and strong tea | tea strong: 4 + 1 pairs of places
    table = count([[0, 1, 2, 0, 1], [1, 0]], 1)
    assert table.n_pairs == 5
    assert counts(table) == {(0, 1): (2, 2, 2), (1, 2): (1, 2, 1), (2, 0): (1, 1, 2), (1, 0): (1, 2, 2)}
    folded = count([[0, 1, 2, 0, 1], [1, 0]], 1, both_orders=True)
    assert folded.n_pairs == 10
    assert counts(folded) == {(0, 1): (3, 4, 4), (1, 2): (1, 4, 2), (0, 2): (1, 4, 2)}


def test_a_node_and_its_sides() -> None:
    table = count([[0, 1, 2, 0, 3]], 2, node=0, both_orders=True)
    assert counts(table) == {(0, 1): (2, 5, 3), (0, 2): (2, 5, 4), (0, 3): (1, 5, 2)}
    sides = {int(y): (int(a), int(b)) for y, a, b in zip(table.y, table.n_left, table.n_right, strict=True)}
    assert sides == {1: (1, 1), 2: (1, 1), 3: (0, 1)}


def test_a_word_beside_itself() -> None:
    table = count([[0, 0, 1]], 1, node=0, both_orders=True)
    assert counts(table) == {(0, 0): (2, 3, 3), (0, 1): (1, 3, 1)}
    assert table.n_pairs == 4


@repeatable
@given(DOCUMENTS, st.integers(1, 4), st.booleans())
def test_like_the_slow_way(documents: list[list[int]], window: int, both_orders: bool) -> None:
    pairs = [
        (d[i], d[j])
        for d in documents
        for i in range(len(d))
        for j in range(i + 1, min(i + window + 1, len(d)))
        if d[i] >= 0 and d[j] >= 0
    ]
    if both_orders:
        pairs += [(y, x) for x, y in pairs]
    joint, first, second = Counter(pairs), Counter(x for x, _ in pairs), Counter(y for _, y in pairs)
    table = count(documents, window, both_orders=both_orders)
    assert table.n_pairs == len(pairs)
    wanted = {(x, y): (n, first[x], second[y]) for (x, y), n in joint.items() if x <= y or not both_orders}
    assert counts(table) == wanted
    if both_orders:
        for node in range(V):
            near = count(documents, window, node=node, both_orders=True)
            assert counts(near) == {(x, y): (n, first[x], second[y]) for (x, y), n in joint.items() if x == node}


@repeatable
@given(st.lists(st.integers(0, V - 1), min_size=2, max_size=30), st.integers(1, 4))
def test_counts_of_nltk(document: list[int], window: int) -> None:
    finder = pytest.importorskip("nltk.collocations").BigramCollocationFinder
    of_nltk = finder.from_words(document, window_size=window + 1).ngram_fd
    assert {pair: n for pair, (n, _, _) in counts(count([document], window)).items()} == dict(of_nltk)


def test_order_and_bounds() -> None:
    counter = CollocationCounter(np.array([True, True, False, True]), window=1)
    counter.count(batch([[0, 1, 0, 1, 2, 0, 3]]))
    table = counter.pairs(measure="g2", min_count=1, both_orders=False)
    assert np.all(np.diff(table.scores["g2"]) <= 0)
    assert 2 not in {*table.x.tolist(), *table.y.tolist()}  # not wanted, but in the margins
    assert counts(table)[(0, 3)] == (1, 3, 1)
    assert len(counter.pairs(measure="g2", min_count=2, both_orders=False)) == 1
    assert len(counter.pairs(measure="pmi", min_count=1, both_orders=False, min_score=0.5)) < len(table)
    assert len(counter.pairs(measure="pmi", min_count=9, both_orders=True)) == 0


def test_options() -> None:
    assert (CollocationOptions().distance, CollocationOptions(node="tea").distance) == (1, 5)
    with refuses("measure"):
        CollocationOptions(measure="chi2")
    with refuses("node"):
        CollocationOptions(node=" ")


# ---------------------------------------------------------------- texts without spaces


def test_pieces_of_one_word_are_no_collocation(caplog: pytest.LogCaptureFixture) -> None:
    """Neighbouring bigrams of Chinese share a character: each word of three characters would be one."""
    texts = ["打电话 Apple 好吃 Apple 好吃", "สวัสดีครับ"] * 5
    found = nk.collocations(texts, min_count=2).table()
    pairs = {*zip(found["x"].to_pylist(), found["y"].to_pylist(), strict=True)}
    assert ("打电", "电话") not in pairs
    assert {("apple", "好吃"), ("电话", "apple")} <= pairs
    assert not any(overlap(x, y) for x, y in pairs)
    assert any("`preprocess(segment=words)`" in message for message in caplog.messages)
    caplog.clear()
    nk.collocations(["the cat sat"] * 5)
    assert not caplog.messages


def test_phrases_are_not_made_of_pieces() -> None:
    rows = (
        nk.preprocess(["打电话给纽约 New York"] * 20, phrases="npmi:0.1", language="zh", min_df=1)
        .table()["tokens"]
        .to_pylist()
    )
    assert rows[0] == ["打电", "电话", "话给", "给纽", "纽约", "new_york"]
