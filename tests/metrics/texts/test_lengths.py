"""Lengths of documents: quartiles as NumPy has them, bins that hold every document once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.metrics.texts.corpus import LengthBin, LengthSummary, bin_lengths, summarize_lengths
from tests.strategies import repeatable


def test_by_hand() -> None:
    assert summarize_lengths(np.array([0, 4, 2, 10], np.int32)) == LengthSummary(4, 1, 0, 1.5, 3.0, 4.0, 5.5, 10)
    assert summarize_lengths(np.zeros(0, np.int32)) == LengthSummary(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0)


def test_bins_by_hand() -> None:
    assert bin_lengths(np.zeros(0, np.int32)) == []
    assert bin_lengths(np.array([0, 0], np.int32)) == [LengthBin(0, 0, 2)]
    assert bin_lengths(np.array([3, 5, 5], np.int32)) == [LengthBin(3, 3, 1), LengthBin(4, 4, 0), LengthBin(5, 5, 2)]
    usual = np.repeat(np.arange(100, 200, dtype=np.int32), 10)
    bins = bin_lengths(np.append(usual, np.int32(5000)))
    assert (bins[0], bins[-1]) == (LengthBin(100, 109, 100), LengthBin(200, None, 1))


@repeatable
@given(st.lists(st.integers(0, 3000), min_size=1, max_size=80), st.integers(1, 20))
def test_every_document_is_in_one_bin(given_: list[int], n_bins: int) -> None:
    lengths = np.array(given_, np.int32)
    bins = bin_lengths(lengths, n_bins)
    assert sum(b.documents for b in bins) == len(lengths)
    assert len(bins) <= n_bins + 2
    widths = {b.high - b.low + 1 for b in bins if b.high is not None}
    assert len(widths) == 1
    for b in bins:
        inside = (lengths >= b.low) & (lengths <= (np.inf if b.high is None else b.high))
        assert b.documents == inside.sum()
    assert all(a.high is not None and a.high + 1 == b.low for a, b in itertools.pairwise(bins))
    summary = summarize_lengths(lengths)
    assert summary.mean == pytest.approx(lengths.mean())
    assert (summary.min, summary.max, summary.empty) == (lengths.min(), lengths.max(), (lengths == 0).sum())
