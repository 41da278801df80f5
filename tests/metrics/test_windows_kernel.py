"""Windows of words and pairs against sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.metrics.kernels import Counts, Pairs, count_windows, fill_slots, new_present
from tests.reference import windows as plain
from tests.strategies import repeatable

RULES = ("boolean", "gensim", "tomotopy")
W = 5
SIZES = st.one_of(st.none(), st.integers(2, 12))
DOCUMENTS = st.lists(st.lists(st.integers(-1, W - 1), max_size=25), max_size=6)


def table(pairs: list[tuple[int, int]]) -> Pairs:
    both = sorted([(u, v, i) for i, (u, v) in enumerate(pairs)] + [(v, u, i) for i, (u, v) in enumerate(pairs)])
    indptr = np.searchsorted([u for u, _, _ in both], np.arange(W + 1)).astype(np.int64)
    columns = np.array([(v, i) for _, v, i in both], np.int32).reshape(-1, 2)
    neighbours = columns[:, 0].copy()
    begins, masks, slots = np.arange(W) * 8, np.full(W, 7, np.int32), np.full(8 * W, -1, np.int32)
    fill_slots(indptr, neighbours, begins, masks, slots)
    return Pairs(indptr, neighbours, columns[:, 1].copy(), begins, masks, slots)


def count(
    documents: list[list[int]], size: int | None, rule: str, pairs: list[tuple[int, int]], parts: int = 1
) -> tuple[int, int, dict[int, int], dict[tuple[int, int], int]]:
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    ids = np.array([u for tokens in documents for u in tokens], np.int32)
    rows = 3
    counts = Counts(*(np.zeros(s, np.int64) for s in ((rows,), (rows,), (rows, W), (rows, len(pairs)))))
    slots = np.arange(len(documents), dtype=np.int32) % rows
    present = new_present(W, max(map(len, documents), default=0))
    for part in range(parts):
        how = (size or 0, rule == "tomotopy", rule == "gensim")
        count_windows(offsets, ids, slots, part, parts, *how, table(pairs), present, counts)
        assert (present.place == -1).all()
    single, joint = counts.single.sum(axis=0), counts.joint.sum(axis=0)
    return (
        int(counts.n_windows.sum()),
        int(counts.relevant.sum()),
        {u: int(single[u]) for u in range(W) if single[u]},
        {pair: int(joint[i]) for i, pair in enumerate(pairs) if joint[i]},
    )


ALL = [(u, v) for u in range(W) for v in range(u + 1, W)]


def test_by_hand() -> None:
    # windows of 3: (0 1 0), (1 0 2), (0 2 3)
    assert count([[0, 1, 0, 2, 3]], 3, "boolean", ALL) == (
        3,
        3,
        {0: 3, 1: 2, 2: 2, 3: 1},
        {(0, 1): 2, (0, 2): 2, (0, 3): 1, (1, 2): 1, (2, 3): 1},
    )


def test_gensim_forgets_a_repeated_word() -> None:
    # 0 leaves the first window and is forgotten, though the second and third hold it too
    _, _, single, joint = count([[0, 1, 0, 2, 3]], 3, "gensim", ALL)
    assert single == {0: 1, 1: 2, 2: 2, 3: 1}
    assert joint == {(0, 1): 1, (1, 2): 1, (2, 3): 1}


def test_tomotopy_does_not_see_the_first_token() -> None:
    # (1 0), (0 2), (2 3)
    assert count([[0, 1, 0, 2, 3]], 3, "tomotopy", ALL) == (
        3,
        3,
        {0: 2, 1: 1, 2: 2, 3: 1},
        {(0, 1): 1, (0, 2): 1, (2, 3): 1},
    )


@pytest.mark.parametrize("size", [None, 3, 4])
def test_a_short_or_an_empty_document_is_one_window(size: int | None) -> None:
    found = count([[2, -1, 0], []], size, "boolean", ALL)
    assert found == (2, 1, {0: 1, 2: 1}, {(0, 2): 1})


def test_words_that_are_not_asked_for_keep_their_place() -> None:
    assert count([[0, -1, 1]], 2, "boolean", ALL)[3] == {}
    assert count([[0, -1, 1]], 3, "boolean", ALL)[3] == {(0, 1): 1}


@pytest.mark.parametrize("rule", RULES)
@repeatable
@given(DOCUMENTS, SIZES, st.sets(st.sampled_from(ALL)), st.integers(1, 3))
def test_equals_sets(
    rule: str, documents: list[list[int]], size: int | None, asked: set[tuple[int, int]], parts: int
) -> None:
    n_windows, relevant, single, joint = plain.count(documents, size, rule)
    assert count(documents, size, rule, sorted(asked), parts) == (
        n_windows,
        relevant,
        dict(single),
        {pair: n for pair, n in joint.items() if pair in asked},
    )


@pytest.mark.parametrize("rule", RULES)
def test_long_rows_of_partners_are_searched(rule: str) -> None:
    # few words in the window, many partners: the other way to find a pair
    rng = np.random.default_rng(0)
    documents: Any = [rng.choice([-1, 0, 1, 2, 3, 4], 60, p=[0.8, 0.04, 0.04, 0.04, 0.04, 0.04]).tolist()]
    for size in (2, 4, 15):
        _, _, single, joint = plain.count(documents, size, rule)
        assert count(documents, size, rule, ALL)[2:] == (dict(single), dict(joint))
