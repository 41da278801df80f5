"""BM25 by hand, by its formula, and as the package rank-bm25 has it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.weights.options import PRESETS, Scheme, with_parts
from nlpkit.weights.tfidf import CorpusStats, okapi_idf, rsj_idf, weighting
from tests.reference import tfidf as plain
from tests.strategies import counts_dv, repeatable


def weigh(counts: Any, scheme: Scheme) -> Any:
    counts = np.asarray(counts, np.int32)
    stats = CorpusStats(len(counts), (), counts.sum(axis=0), (counts > 0).sum(axis=0))
    return weighting(stats, scheme).weigh(sparse.csr_array(counts)).toarray()


def test_by_hand() -> None:
    """Documents of 2 and 4 tokens, mean 3; k1 = 1.2, b = 0.75: the bend of the first is 1.2 · (0.25 + 0.75 · 2/3) = 0.9."""
    got = weigh([[2, 0], [1, 3]], PRESETS["bm25"])
    assert got[0, 0] == pytest.approx(2 / 2.9 * math.log(1 + 0.5 / 2.5), rel=1e-14)
    assert got[1, 1] == pytest.approx(3 / (3 + 1.2 * (0.25 + 0.75 * 4 / 3)) * math.log(1 + 1.5 / 1.5), rel=1e-14)
    assert got[0, 1] == 0


@repeatable
@given(counts_dv(), st.floats(0, 3), st.floats(0, 1))
def test_okapi_equals_rank_bm25(counts: Any, k1: float, b: float) -> None:
    counts = counts[:, counts.any(axis=0)]
    assume(counts.size)
    expected = plain.bm25_okapi(counts.tolist(), k1=k1, b=b)
    got = weigh(counts, with_parts(PRESETS["bm25-okapi"], k1=k1, b=b))
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-13)


@repeatable
@given(counts_dv(), st.sampled_from(["bm25-lucene", "bm25-robertson", "bm25-atire"]))
def test_variants_equal_their_formula(counts: Any, name: str) -> None:
    counts = counts[:, counts.any(axis=0)]
    assume(counts.size)
    scheme = PRESETS[name]
    expected = plain.bm25(counts.tolist(), k1=1.2, b=0.75, idf=scheme.idf, scaled=scheme.tf == "bm25-scaled")
    np.testing.assert_allclose(weigh(counts, scheme), expected, rtol=1e-12, atol=1e-14)


def test_limits() -> None:
    counts = [[1, 5], [3, 1], [0, 2]]
    binary = weigh(counts, Scheme("bm25", "lucene", k1=0.0))  # k1 = 0: presence
    np.testing.assert_allclose(binary, weigh(counts, Scheme("binary", "lucene")), rtol=1e-14)
    flat = weigh(counts, Scheme("bm25", "none", b=0.0))  # b = 0: lengths do not matter
    np.testing.assert_allclose(flat[0, 0], 1 / 2.2, rtol=1e-14)


def test_common_terms_weigh_less_than_nothing_in_robertsons_and_not_in_okapis() -> None:
    df = np.array([1, 9, 10])
    assert (rsj_idf(10, df) < 0).tolist() == [False, True, True]
    mean = rsj_idf(10, df).mean()
    np.testing.assert_allclose(okapi_idf(10, df), [math.log(9.5 / 1.5), 0.25 * mean, 0.25 * mean])
    assert okapi_idf(10, df[:0]).shape == (0,)
