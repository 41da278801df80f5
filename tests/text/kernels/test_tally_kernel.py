"""Words by group against dictionaries, whatever the batches."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.explore.stats.frequent import WordTally
from nlpkit.text.vocab import EncodedBatch
from tests.reference import tally as plain
from tests.strategies import repeatable

documents_of_ids = st.lists(st.lists(st.integers(-1, 6), max_size=12), max_size=10)


def batch_of(documents: list[list[int]]) -> EncodedBatch:
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    return EncodedBatch(offsets, np.array([w for d in documents for w in d], np.int32))


def tallied(documents: list[list[int]], groups: list[int], n_groups: int, size: int) -> WordTally:
    tally = WordTally(n_groups)
    for at in range(0, len(documents), size):
        tally.add(batch_of(documents[at : at + size]), np.array(groups[at : at + size], np.int32))
    return tally


def test_by_hand() -> None:
    first, second = tallied([[0, 1, 2], [2, 0, 1], [0, -1, 3]], [0, 1, 0], 2, 2).groups()
    assert first.n_tokens == 5
    assert first.term_ids.tolist() == [0, 1, 2, 3]
    assert first.cf.tolist() == [2, 1, 1, 1]
    assert first.df.tolist() == [2, 1, 1, 1]
    assert first.first_seen.tolist() == [1, 2, 3, 5]
    assert second.term_ids.tolist() == [2, 0, 1]


@repeatable
@given(documents_of_ids, st.data())
def test_as_counted_plainly(documents: list[list[int]], data: st.DataObject) -> None:
    n_groups = data.draw(st.integers(0, 3))
    groups = [data.draw(st.integers(-1, n_groups - 1)) for _ in documents]
    found = tallied(documents, groups, n_groups, data.draw(st.integers(1, 5))).groups()
    expected = plain.tally(documents, groups, n_groups)
    assert len(found) == n_groups
    for words, wanted in zip(found, expected, strict=True):
        rows = zip(words.cf.tolist(), words.df.tolist(), words.first_seen.tolist(), strict=True)
        assert dict(zip(words.term_ids.tolist(), rows, strict=True)) == wanted
        assert words.term_ids.tolist() == list(wanted)
        assert words.n_tokens == sum(cf for cf, _, _ in wanted.values())


def test_tables_grow() -> None:
    rng = np.random.default_rng(0)
    documents = [rng.integers(0, 30_000, 20_000).tolist() for _ in range(3)]
    (words,) = tallied(documents, [0, 0, 0], 1, 1).groups()
    (expected,) = plain.tally(documents, [0, 0, 0], 1)
    assert words.term_ids.tolist() == list(expected)
    assert words.df.tolist() == [df for _, df, _ in expected.values()]
    assert words.first_seen.tolist() == [first for _, _, first in expected.values()]
