"""The joint log-likelihood: by hand, token by token, against tomotopy."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.special import gammaln

from nlpkit.topics.base.heldout import dirichlet_multinomial
from nlpkit.topics.lda.sampler import GibbsSampler
from tests.reference import gibbs as plain
from tests.strategies import repeatable, token_table

COUNTS = hnp.arrays(np.int32, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=st.integers(0, 9))


def test_by_hand() -> None:
    # two of the first of two columns, one of the second, prior 1 each: 1/2 · 2/3 · 1/4, in any order of the draws
    assert dirichlet_multinomial(sparse.csr_array([[2, 1]]), 1.0) == pytest.approx(math.log(1 / 12), rel=1e-14)
    # prior (1, 3): 1/4 · 2/5 · 3/6
    assert dirichlet_multinomial(sparse.csr_array([[2, 1]]), np.array([1.0, 3.0])) == pytest.approx(math.log(1 / 20))
    # rows are independent, one without counts is certain
    assert dirichlet_multinomial(sparse.csr_array([[2, 1], [0, 0], [1, 0]]), 1.0) == pytest.approx(math.log(1 / 24))


def test_without_rows_or_counts_it_is_certain() -> None:
    for shape in [(0, 3), (4, 3)]:
        for prior in (0.5, np.array([0.5, 1, 2])):
            assert dirichlet_multinomial(sparse.csr_array(shape, dtype=np.int32), prior) == 0


@repeatable
@given(COUNTS, st.floats(1e-3, 5), st.booleans(), st.booleans())
def test_equals_the_dense_formula(counts: Any, scale: float, asymmetric: bool, weighted: bool) -> None:
    n = counts / 256 if weighted else counts
    a = scale * np.arange(1, n.shape[1] + 1) if asymmetric else np.full(n.shape[1], scale)
    dense = gammaln(a.sum()) - gammaln(n.sum(axis=1) + a.sum()) + (gammaln(n + a) - gammaln(a)).sum(axis=1)
    found = dirichlet_multinomial(sparse.csr_array(n), a if asymmetric else scale)
    assert found == pytest.approx(dense.sum(), rel=1e-10, abs=1e-10)


def test_stored_zeros_add_nothing() -> None:
    stored = sparse.csr_array((np.array([0, 2, 1, 0]), np.array([0, 1, 2, 0]), np.array([0, 3, 4])), shape=(2, 3))
    for prior in (0.3, np.array([0.3, 1, 2])):
        assert dirichlet_multinomial(stored, prior) == pytest.approx(
            dirichlet_multinomial(sparse.csr_array(stored.toarray()), prior), rel=1e-14
        )


def test_memory_goes_with_the_counts_that_are_there() -> None:
    rng = np.random.default_rng(0)
    places = rng.integers(0, 1000, 5000), rng.integers(0, 200_000, 5000)
    counts = sparse.coo_array((np.ones(5000, np.int32), places), shape=(1000, 200_000)).tocsr()
    tracemalloc.start()
    dirichlet_multinomial(counts, 0.01)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000  # dense: 800 MB


@st.composite
def states(draw: st.DrawFn) -> dict[str, Any]:
    """A tiny corpus with the topic of each token."""
    V, K = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    documents = draw(st.lists(st.lists(st.integers(0, V - 1), max_size=6), min_size=1, max_size=5))
    tokens = token_table(documents, [str(v) for v in range(V)])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    alpha = rng.gamma(1.0, size=K) + 0.01
    z = rng.integers(0, K, len(tokens.term_ids)).astype(np.int32)
    return {
        "tokens": tokens, "n_topics": K, "alpha": alpha, "eta": draw(st.floats(0.01, 2)), "seed": 0, "assignments": z,
    }  # fmt: skip


def steps(state: dict[str, Any], **more: Any) -> Any:
    return plain.chain_rule(state["tokens"], state["assignments"], state["alpha"], state["eta"], **more)


@repeatable
@given(states())
def test_is_the_product_of_the_predictive_probabilities(state: dict[str, Any]) -> None:
    assert GibbsSampler(**state).log_likelihood() == pytest.approx(steps(state).sum(), rel=1e-10, abs=1e-10)


def some_frozen(state: dict[str, Any]) -> tuple[Any, Any]:
    """Every second document frozen, (D,), and whether a token is in one, (N,)."""
    frozen = np.arange(state["tokens"].n_docs) % 2 == 1
    return frozen, frozen[plain.documents_of(state["tokens"])]


@repeatable
@given(states())
def test_frozen_documents_are_given(state: dict[str, Any]) -> None:
    frozen, in_frozen = some_frozen(state)
    found = GibbsSampler(**state, frozen=frozen).log_likelihood()
    expected = steps(state, frozen=frozen)[:, ~in_frozen].sum()
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


@repeatable
@given(states())
def test_fixed_topics_have_words_of_a_known_probability(state: dict[str, Any]) -> None:
    frozen, in_frozen = some_frozen(state)
    fixed = np.arange(state["n_topics"]) % 2 == 0
    found = GibbsSampler(**state, frozen=frozen, fixed=fixed).log_likelihood()
    expected = steps(state, frozen=frozen, fixed=fixed)[:, ~in_frozen].sum()
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_equals_tomotopy() -> None:
    # LDAModel.ll_per_word is log p(w, z) / N with the priors in force, in 32 bits
    tomotopy = pytest.importorskip("tomotopy")
    rng = np.random.default_rng(0)
    model = tomotopy.LDAModel(k=3, alpha=[0.3, 0.5, 0.1], eta=0.2, seed=1)
    model.optim_interval = 0
    for n in (15, 1, 40, 7):
        model.add_doc([chr(97 + v) for v in rng.integers(0, 10, n)])
    model.train(5, workers=1)
    tokens = token_table([list(doc.words) for doc in model.docs], list(model.used_vocabs))
    z = np.concatenate([doc.topics for doc in model.docs]).astype(np.int32)
    ours = GibbsSampler(tokens, n_topics=3, alpha=np.array([0.3, 0.5, 0.1]), eta=0.2, seed=1, assignments=z)
    assert ours.log_likelihood() / len(z) == pytest.approx(model.ll_per_word, abs=1e-5)
