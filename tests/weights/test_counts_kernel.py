"""Counting terms of documents against collections.Counter."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.weights.kernels import count_rows
from tests.strategies import repeatable


@repeatable
@given(st.lists(st.lists(st.integers(0, 6), max_size=9), max_size=6))
def test_counts_by_document(documents: list[list[int]]) -> None:
    offsets = np.cumsum([0, *map(len, documents)])
    ids = np.array([t for d in documents for t in d], np.int32)
    indptr, indices, counts = count_rows(offsets, ids, 7)
    found = [list(zip(indices[a:b].tolist(), counts[a:b].tolist(), strict=True)) for a, b in pairwise(indptr)]
    assert found == [sorted(Counter(d).items()) for d in documents]
    assert ids.tolist() == [t for d in documents for t in d]  # as they came
