"""Words around words: an example by hand, the plain version, properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.platform.types import TokenTable
from nlpkit.words import learn as cooccurrence
from nlpkit.words.learn import cooccurrences, distance_weights
from tests.reference import skipgrams as plain

DOCS = st.lists(st.lists(st.integers(0, 5), max_size=12), max_size=6)


def table(docs: list[list[int]], V: int = 6) -> TokenTable:
    offsets = np.cumsum([0, *map(len, docs)]).astype(np.int64)
    ids = np.array([v for doc in docs for v in doc], np.int32)
    return TokenTable(offsets, ids, tuple(f"w{v}" for v in range(V)))


def test_by_hand() -> None:
    """a b a c | b: a and b are neighbours twice, a and a at distance 2; nothing goes over the end of a document."""
    X = cooccurrences(table([[0, 1, 0, 2], [1]], 3), 2).toarray()
    assert X.tolist() == [[1.0, 2.0, 1.0], [2.0, 0.0, 0.5], [1.0, 0.5, 0.0]]
    assert distance_weights(4, "linear").tolist() == [1, 0.75, 0.5, 0.25]
    assert distance_weights(2, "none").tolist() == [1, 1]


@given(DOCS, st.integers(1, 14), st.sampled_from(["harmonic", "linear", "none"]))
def test_equals_the_plain_version(docs: list[list[int]], window: int, decay: cooccurrence.Decay) -> None:
    X = cooccurrences(table(docs), window, decay=decay)
    np.testing.assert_allclose(X.toarray(), plain.cooccurrences(docs, 6, distance_weights(window, decay)))
    np.testing.assert_allclose(X.toarray(), X.toarray().T)
    assert X.has_sorted_indices


def test_the_same_in_parts_and_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    docs = [list(map(int, rng.integers(0, 40, rng.integers(0, 30)))) for _ in range(60)]
    whole = cooccurrences(table(docs, 40), 5)
    monkeypatch.setattr(cooccurrence, "_CELLS", 50)
    for threads in (1, 3):
        parts = cooccurrences(table(docs, 40), 5, threads=threads)
        assert (parts.data == whole.data).all()
        assert (parts.indices == whole.indices).all()
        assert (parts.indptr == whole.indptr).all()
