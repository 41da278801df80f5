"""c-tf-idf against a hand example, its formula and BERTopic."""

from __future__ import annotations

import importlib.util
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.weights.ctfidf import class_tfidf, inverse_class_frequency, top_terms, values_of
from nlpkit.weights.dtm import ClassTermCounts, group_rows
from tests.reference import ctfidf as plain
from tests.strategies import counts_dv, repeatable


def bertopic_weights(counts: Any, **options: Any) -> Any:
    """c-tf-idf of bertopic, its module loaded alone: the package would import torch, umap and plotly."""
    package = importlib.util.find_spec("bertopic")
    if package is None or package.origin is None:
        pytest.skip("bertopic is not installed")
    path = Path(package.origin).parent / "vectorizers" / "_ctfidf.py"
    spec = importlib.util.spec_from_file_location("bertopic_ctfidf", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    matrix = sparse.csr_matrix(counts)
    return module.ClassTfidfTransformer(**options).fit(matrix).transform(matrix).toarray()


def test_by_hand() -> None:
    weights = class_tfidf(sparse.csr_array([[2, 1, 0], [0, 1, 3]])).toarray()
    A = 3.5  # (3 + 4) / 2, not 3
    expected = [
        [2 / 3 * math.log(1 + A / 2), 1 / 3 * math.log(1 + A / 2), 0],
        [0, 1 / 4 * math.log(1 + A / 2), 3 / 4 * math.log(1 + A / 3)],
    ]
    np.testing.assert_allclose(weights, expected, rtol=1e-15)


def test_equals_bertopic_when_the_mean_is_a_whole_number() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        counts = rng.poisson(1.5, (rng.integers(1, 8), rng.integers(2, 30)))
        counts[:, -1] += 1  # bertopic divides by the words of a class
        counts[0, 0] += -counts.sum() % len(counts)
        counts = counts[:, counts.sum(axis=0) > 0]  # and by the occurrences of a word
        assert counts.sum() % len(counts) == 0
        np.testing.assert_allclose(
            class_tfidf(sparse.csr_array(counts)).toarray(), bertopic_weights(counts), rtol=1e-12
        )


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("bm25", [False, True])
def test_equals_bertopic_for_every_setting_with_the_mean_truncated(root: bool, bm25: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        counts = rng.poisson(1.5, (rng.integers(1, 8), rng.integers(2, 30)))
        counts[:, -1] += 1
        counts = counts[:, counts.sum(axis=0) > 0]
        ours = class_tfidf(sparse.csr_array(counts), reduce_frequent_words=root, bm25=bm25, truncate_mean=True)
        theirs = bertopic_weights(counts, reduce_frequent_words=root, bm25_weighting=bm25)
        np.testing.assert_allclose(ours.toarray(), theirs, rtol=1e-12, atol=1e-15)


def test_differs_from_bertopic_when_the_mean_is_none() -> None:
    counts = np.array([[2, 1, 1], [1, 1, 3]])
    ours, theirs = class_tfidf(sparse.csr_array(counts)).toarray(), bertopic_weights(counts)
    assert (ours > theirs).all()  # A = 4.5, theirs 4
    np.testing.assert_allclose(ours, plain.class_tfidf(counts), rtol=1e-14)


@repeatable
@given(counts_dv(), st.booleans(), st.booleans())
def test_equals_its_formula(counts: Any, root: bool, bm25: bool) -> None:
    weights = class_tfidf(sparse.csr_array(counts), reduce_frequent_words=root, bm25=bm25)
    expected = plain.class_tfidf(counts.tolist(), root=root, bm25=bm25)
    np.testing.assert_allclose(weights.toarray(), expected, rtol=1e-13, atol=1e-15)


@repeatable
@given(counts_dv(), st.randoms(use_true_random=False))
def test_order_of_classes_and_terms_does_not_matter(counts: Any, random: Any) -> None:
    rows, columns = list(range(counts.shape[0])), list(range(counts.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    shuffled = class_tfidf(sparse.csr_array(counts[rows][:, columns])).toarray()
    np.testing.assert_allclose(shuffled, class_tfidf(sparse.csr_array(counts)).toarray()[rows][:, columns], rtol=1e-13)


@repeatable
@given(counts_dv(), st.integers(2, 9))
def test_a_corpus_repeated_has_the_same_weights(counts: Any, times: int) -> None:
    once, often = (class_tfidf(sparse.csr_array(n * counts)).toarray() for n in (1, times))
    np.testing.assert_allclose(often, once, rtol=1e-13)


def test_a_class_without_words_is_a_row_of_zeros() -> None:
    weights = class_tfidf(sparse.csr_array([[2, 1], [0, 0], [0, 4]])).toarray()
    assert weights[1].tolist() == [0, 0]
    assert np.isfinite(weights).all()
    assert (weights[[0, 0, 2], [0, 1, 1]] > 0).all()


def test_nothing_but_empty_classes() -> None:
    assert class_tfidf(sparse.csr_array((3, 4), dtype=np.int32)).toarray().tolist() == [[0] * 4] * 3
    assert class_tfidf(sparse.csr_array((2, 0), dtype=np.int32)).shape == (2, 0)


def test_a_term_that_never_occurs_has_no_inverse_frequency() -> None:
    icf = inverse_class_frequency(sparse.csr_array([[1, 0], [3, 0]]))
    assert icf.tolist() == [math.log1p(2 / 4), 0.0]


def test_a_large_vocabulary_is_never_dense() -> None:
    C, V = 20_000, 2_000_000  # dense: 320 GB
    rng = np.random.default_rng(1)
    counts = sparse.csr_array((np.ones(C, np.int32), (np.arange(C), rng.integers(0, V, C))), shape=(C, V))
    weights = class_tfidf(counts)
    assert sparse.issparse(weights)
    assert weights.nnz == C


def test_counts_come_back_as_they_went_in() -> None:
    counts = sparse.csr_array(np.array([[2, 1, 0], [0, 1, 3]], np.int32))
    class_tfidf(counts)
    assert (counts.dtype, counts.toarray().tolist()) == (np.int32, [[2, 1, 0], [0, 1, 3]])
    floats = counts.astype(np.float64)
    class_tfidf(floats)
    assert floats.toarray().tolist() == [[2, 1, 0], [0, 1, 3]]


def test_top_terms_by_hand() -> None:
    best = top_terms(sparse.csr_array([[0.1, 0.5, 0.3, 0.5], [0.0, 0.0, 0.2, 0.0], [0.0] * 4]), 3)
    assert best.term_ids.tolist() == [[1, 3, 2], [2, -1, -1], [-1, -1, -1]]  # ties by term id
    np.testing.assert_allclose(best.weights, [[0.5, 0.5, 0.3], [0.2, 0, 0], [0, 0, 0]], rtol=1e-6)
    assert best.term_ids.dtype == np.int32


def test_weights_that_are_not_positive_are_no_top_terms() -> None:
    matrix = sparse.csr_array((np.array([0.0, -1.0, 2.0]), np.array([0, 1, 2]), np.array([0, 3])), shape=(1, 3))
    assert top_terms(matrix, 3).term_ids.tolist() == [[2, -1, -1]]


@repeatable
@given(counts_dv(), st.integers(1, 10))
def test_top_terms_equal_sorting(counts: Any, n: int) -> None:
    assume(counts.any())
    best = top_terms(sparse.csr_array(counts.astype(float)), n)
    for row, ids in zip(counts, best.term_ids, strict=True):
        order = sorted((v for v in range(len(row)) if row[v] > 0), key=lambda v: (-row[v], v))[:n]
        assert ids.tolist() == order + [-1] * (n - len(order))


@repeatable
@given(counts_dv())
def test_many_more_terms_than_asked_for(counts: Any) -> None:
    wide = np.tile(counts, 5)  # rows of more than four terms are cut before they are sorted
    best = top_terms(sparse.csr_array(wide.astype(float)), 1)
    for row, ids in zip(wide, best.term_ids, strict=True):
        assert ids.tolist() == ([int(np.argmax(row))] if row.any() else [-1])


def test_values_at_the_top_terms() -> None:
    matrix = sparse.csr_array([[0.1, 0.5, 0.3], [0.0, 0.0, -2.0]])
    found = values_of(matrix, np.array([[1, 0], [2, -1]], np.int32))
    np.testing.assert_array_equal(found, [[0.5, 0.1], [-2.0, np.nan]])


# ---------------------------------------------------------------- counts of classes, batch by batch


@repeatable
@given(counts_dv(max_docs=20), st.data())
def test_class_counts_do_not_depend_on_the_batches(counts: Any, data: st.DataObject) -> None:
    D = len(counts)
    groups = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=D, max_size=D)), np.int32)
    n = int(groups.max(initial=-1)) + 1
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, D), max_size=4))), D]
    sums = ClassTermCounts(counts.shape[1])
    for start, end in pairwise(cuts):
        sums.add(groups[start:end], sparse.csr_array(counts[start:end]))
    order = np.array(data.draw(st.permutations(range(n))), np.int32)
    got, sizes = sums.finish(order)
    expected = group_rows(sparse.csr_array(counts), groups, n).toarray()
    np.testing.assert_array_equal(got.toarray(), expected[order])
    assert got.dtype == np.int64
    assert got.has_sorted_indices
    assert sizes.tolist() == [int((groups == c).sum()) for c in order]


def test_class_counts_are_summed_when_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlpkit.weights.dtm._FOLD_FROM", 2)
    rng = np.random.default_rng(0)
    counts, groups = rng.poisson(0.5, (50, 9)), rng.integers(-1, 12, 50).astype(np.int32)
    sums = ClassTermCounts(9)
    for d in range(50):
        sums.add(groups[[d]], sparse.csr_array(counts[[d]]))
    got, _ = sums.finish(np.arange(12, dtype=np.int32))
    np.testing.assert_array_equal(got.toarray(), group_rows(sparse.csr_array(counts), groups, 12).toarray())


def test_class_counts_of_nothing() -> None:
    got, sizes = ClassTermCounts(3).finish(np.zeros(0, np.int32))
    assert got.shape == (0, 3)
    assert len(sizes) == 0
