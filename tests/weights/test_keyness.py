"""Keyness against a hand example, published numbers and its formula."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chi2_contingency
from sklearn.feature_selection import chi2 as chi2_of_presence

from nlpkit.weights.ctfidf import document_chi_squared, effect_sizes, keyness
from tests.reference import keyness as plain
from tests.refusals import refuses
from tests.strategies import counts_dv, repeatable


def test_the_reference_gives_the_numbers_of_the_package_fightin_words() -> None:
    """Those of its README: two documents, a prior of 0.05 for each word."""
    first, second = "the quick brown fox jumps over the lazy pig", "the lazy purple pig jumps over the lazier donkey"
    words = sorted({*first.split(), *second.split()})
    y = [[text.split().count(word) for word in words] for text in (first, second)]
    _, zeta = plain.fighting_words(*y, [0.05] * len(words))
    found = dict(zip(words, zeta, strict=True))
    assert {word for word in words if abs(found[word]) < 1e-12} == {"jumps", "lazy", "over", "pig", "the"}
    for word, sign in {"fox": 1, "brown": 1, "quick": 1, "donkey": -1, "lazier": -1, "purple": -1}.items():
        assert found[word] == pytest.approx(sign * 0.6894227886807968, rel=1e-12)


def test_by_hand() -> None:
    # two classes of 4 and 6 words; the prior of 5 words is half the corpus: 2, 1, 2
    found = keyness(sparse.csr_array([[3, 1, 0], [1, 1, 4]]), prior_words=5)
    delta = math.log((3 + 2) / (4 + 5 - 3 - 2)) - math.log((1 + 2) / (6 + 5 - 1 - 2))
    assert found.log_odds[0, 0] == pytest.approx(delta, rel=1e-14)
    assert found.z[0, 0] == pytest.approx(delta / math.sqrt(1 / 5 + 1 / 3), rel=1e-14)
    assert found.log_odds[1, 0] == pytest.approx(-delta, rel=1e-14)
    assert found.z[1, 2] > 0 > found.z[1, 1]
    assert found.prior_words == 5


@repeatable
@given(counts_dv(), st.sampled_from([None, 0.1, 1.0, 50.0, 1e6]))
def test_equals_its_formula(counts: Any, prior_words: float | None) -> None:
    tf = counts.sum(axis=0)
    counts, tf = counts[:, tf > 0], tf[tf > 0]
    assume(len(tf) > 1)
    found = keyness(sparse.csr_array(counts), prior_words=prior_words)
    alpha = tf * (1 / len(counts) if prior_words is None else prior_words / tf.sum())
    for c, row in enumerate(counts):
        delta, zeta = plain.fighting_words(row, tf - row, alpha)
        np.testing.assert_allclose(found.log_odds[[c]].toarray()[0][row > 0], delta[row > 0], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(found.z[[c]].toarray()[0][row > 0], zeta[row > 0], rtol=1e-11, atol=1e-12)
        assert (delta[row == 0] <= 1e-12).all()  # what is not stored is no key term


@repeatable
@given(counts_dv(max_docs=2))
def test_two_classes_mirror_each_other(counts: Any) -> None:
    assume(len(counts) == 2)
    found = keyness(sparse.csr_array(counts)).z.toarray()
    both = (counts > 0).all(axis=0)
    np.testing.assert_allclose(found[0][both], -found[1][both], rtol=1e-12, atol=1e-12)


def test_a_longer_corpus_with_the_same_shares_is_surer() -> None:
    once, often = (keyness(sparse.csr_array([[3, 1, 0], [1, 1, 4]]) * n) for n in (1, 100))
    np.testing.assert_allclose(often.log_odds.toarray(), once.log_odds.toarray(), rtol=1e-12)
    np.testing.assert_allclose(often.z.toarray(), 10 * once.z.toarray(), rtol=1e-12)


@pytest.mark.parametrize("counts", [[[3], [1]], [[0, 0], [0, 0]], [[3, 0], [1, 0]], np.zeros((2, 0), int)])
def test_one_term_or_none_tells_nothing_apart(counts: Any) -> None:
    found = keyness(sparse.csr_array(np.array(counts)))
    assert not found.z.toarray().any()
    assert not found.log_odds.toarray().any()


def test_a_class_that_has_all_the_words() -> None:
    found = keyness(sparse.csr_array([[3, 2], [0, 0]]))
    assert np.isfinite(found.z.toarray()).all()


def test_stored_zeros_are_no_occurrences() -> None:
    counts = sparse.csr_array((np.array([2, 0, 0, 3]), np.array([0, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    found = keyness(counts)
    assert found.z.nnz == 2
    assert counts.nnz == 4  # the argument is as it was


@pytest.mark.parametrize("prior_words", [0, -1, math.nan, math.inf])
def test_a_prior_has_words(prior_words: float) -> None:
    with refuses("prior_words"):
        keyness(sparse.csr_array([[1, 2]]), prior_words=prior_words)


def test_effect_sizes_by_hand() -> None:
    # 4 of 10 words against 2 of 20: rates 0.4 and 0.1
    found = effect_sizes(sparse.csr_array([[4, 6, 0], [2, 15, 3]]))
    assert (found.tf[0, 0], found.tf_rest[0, 0]) == (4, 2)
    assert (found.rate[0, 0], found.rate_rest[0, 0]) == (400_000, 100_000)
    assert (found.log_ratio[0, 0], found.difference[0, 0]) == (pytest.approx(2), pytest.approx(300))
    cells = ((4, 10 * 6 / 30), (6, 10 * 24 / 30), (2, 20 * 6 / 30), (18, 20 * 24 / 30))
    assert found.g2[0, 0] == pytest.approx(2 * sum(o * math.log(o / e) for o, e in cells))
    assert (found.g2[1, 0], found.difference[1, 2]) == (pytest.approx(-found.g2[0, 0]), math.inf)
    assert found.log_ratio[1, 2] == pytest.approx(math.log2(3 / 20) - math.log2(0.5 / 10))


def test_chi_squared_of_documents_is_that_of_scipy_and_of_scikit_learn() -> None:
    """Three classes; the last term is in all documents. scikit-learn's counts the documents with the term alone."""
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], [20, 35, 5])
    holds = (rng.random((60, 6)) < [0.1, 0.3, 0.5, 0.7, 0.9, 1.0]).astype(int)
    present = np.array([holds[classes == c].sum(axis=0) for c in range(3)])
    found = document_chi_squared(sparse.csr_array(present), np.array([20, 35, 5]))
    dense = {name: matrix.toarray() for name, matrix in found.items()}
    for c in range(3):
        inside, df = classes == c, holds.sum(axis=0)
        for v in np.flatnonzero(present[c]):
            assert (dense["df"][c, v], dense["df_rest"][c, v]) == (present[c, v], df[v] - present[c, v])
            if df[v] == 60:
                assert (dense["chi2"][c, v], dense["p"][c, v]) == (0, 1)
                continue
            cells = [[(holds[side, v] == there).sum() for there in (1, 0)] for side in (inside, ~inside)]
            of_scipy = chi2_contingency(cells, correction=False)
            assert dense["chi2"][c, v] == pytest.approx(of_scipy.statistic, rel=1e-10)
            assert dense["p"][c, v] == pytest.approx(of_scipy.pvalue, rel=1e-10)
        stored = present[c] > 0
        of_sklearn = chi2_of_presence(holds, inside)[0]
        np.testing.assert_allclose((dense["chi2"][c] * (1 - df / 60))[stored], of_sklearn[stored], atol=1e-12)
