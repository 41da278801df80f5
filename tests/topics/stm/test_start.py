"""Where a fit of a structural topic model begins: weights of anchors, starts compared by held-out words, what people are told."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.stm import kernels
from nlpkit.topics.stm.fit import StmFit, StmPoint, fit_stm, start_of
from nlpkit.topics.stm.fitter import as_mixture
from nlpkit.topics.stm.model import as_counts
from nlpkit.topics.stm.options import StmOptions
from nlpkit.topics.stm.start import (
    Start,
    anchor_sets,
    anchor_start,
    anchor_terms,
    best_start,
    candidate_starts,
    choose_start,
    held_out_words,
    recovered,
)
from nlpkit.weights.dtm import count_terms
from tests.strategies import token_table
from tests.topics.test_stm import planted


def answers(seed: int = 0, n: int = 300) -> TokenTable:
    """Short answers, in which the rows of co-occurrences of rare words are long."""
    rng = np.random.default_rng(seed)
    zipf = 1 / (np.arange(300) + 1.0)
    phi = np.array([rng.dirichlet(30 * zipf / zipf.sum()) for _ in range(3)])
    docs = [rng.choice(300, size=rng.integers(2, 8), p=phi[d % 3]).tolist() for d in range(n)]
    return token_table(docs, [f"w{v}" for v in range(300)])


def best_of_faces(gram: np.ndarray, product: np.ndarray) -> np.ndarray:
    """The minimum over the simplex by trying every set of vertices."""
    K = len(gram)
    best, least = np.zeros(K), np.inf
    for size in range(1, K + 1):
        for some in map(list, combinations(range(K), size)):
            system = np.ones((size + 1, size + 1))
            system[:size, :size], system[size, size] = gram[np.ix_(some, some)], 0
            a = np.zeros(K)
            a[some] = np.linalg.solve(system, np.append(product[some], 1.0))[:size]
            value = a @ gram @ a - 2 * a @ product
            if (a >= -1e-12).all() and value < least:
                best, least = a, value
    return best


@pytest.mark.parametrize("spread", [0.02, 0.2, 5.0])
@pytest.mark.parametrize("K", [1, 2, 5])
def test_exact_weights_are_those_of_the_best_face(K: int, spread: float) -> None:
    rng = np.random.default_rng(K)
    rows, X = rng.dirichlet(np.full(60, spread), 40), rng.dirichlet(np.full(60, spread), K)
    rows[:K] = X  # an anchor itself
    products, gram, out = rows @ X.T, X @ X.T, np.empty((40, K))
    kernels.exact_weights(products, gram, 0, 40, out)
    np.testing.assert_allclose(out, [best_of_faces(gram, p) for p in products], atol=1e-9)
    np.testing.assert_allclose(out.sum(axis=1), 1)


def test_the_gradient_of_r_swings_between_corners_where_rows_are_long() -> None:
    """Anchors that never occur together, as in gadarian: of exact weights (.3, .3, .4) it makes one corner."""
    products, gram, out = np.array([[0.3, 0.3, 0.4]]), np.eye(3), np.empty((1, 3))
    kernels.simplex_weights(products, gram, 0, 1, out)
    assert out.max() > 0.99
    kernels.exact_weights(products, gram, 0, 1, out)
    np.testing.assert_allclose(out, products)


def test_weights_that_did_not_converge_are_counted() -> None:
    short, long = (as_counts(count_terms(tokens)) for tokens in (answers(), planted(0, D=150)[0]))
    for counts, is_arbitrary in ((short, True), (long, False)):
        start = anchor_start(counts, 3)
        assert start.is_arbitrary == is_arbitrary
        terms = anchor_terms(counts, 3)
        _, anchor = next(anchor_sets(terms, 3))
        exact = recovered(terms, anchor, exact=True)
        assert exact.arbitrary == 0
        if not is_arbitrary:
            assert start.arbitrary == 0
            np.testing.assert_allclose(start.phi, exact.phi, atol=2e-3)


def test_a_start_that_is_arbitrary_is_warned_of() -> None:
    tokens = answers()
    fit = fit_stm(tokens, 3, StmOptions(start="anchors", iterations=2))
    (warning,) = as_mixture(fit, tokens).warnings
    assert f"the start of {fit.choice.start.arbitrary} words (" in warning  # type: ignore[union-attr]
    assert "`start=lda`" in warning
    names = [each.name for each in candidate_starts(tokens, as_counts(count_terms(tokens)), 3, Execution())]
    assert names[-1] == "LDA"
    assert all(name.endswith("exact weights") for name in names[:-1])
    fit = fit_stm(tokens, 3, StmOptions(iterations=2))
    assert not as_mixture(fit, tokens).warnings


def test_half_of_the_words_of_every_fifth_document_is_held_out() -> None:
    dense = np.random.default_rng(0).poisson(0.3, (40, 12)) + np.eye(12)[np.arange(40) % 11]
    dense[:, -1] = np.arange(40) == 7
    counts = as_counts(sparse.csr_array(dense))
    every = np.zeros((40, 12))
    for fold in range(5):
        seen, held = held_out_words(counts, fold)
        np.testing.assert_array_equal((seen + held).toarray()[:, :-1], counts.toarray()[:, :-1])
        sizes = counts.sum(axis=1) - seen.sum(axis=1)
        np.testing.assert_array_equal(sizes[fold::5], counts.sum(axis=1)[fold::5] // 2)
        assert sizes.sum() == sizes[fold::5].sum()
        assert seen.sum(axis=1).min() >= 1
        assert held[:, -1].sum() == 0  # one word of one document: where it is held out, nobody can know it
        every += held.toarray()
    assert (every <= counts.toarray()).all()


def test_the_start_that_predicts_held_out_words_is_taken() -> None:
    tokens, _, theta = planted(4, D=200)
    counts = as_counts(count_terms(tokens))
    rng = np.random.default_rng(0)
    right = theta.T @ counts.toarray()  # near the truth
    right /= right.sum(axis=1, keepdims=True)
    even = np.full_like(right, 1 / right.shape[1]) * rng.uniform(0.999, 1.001, right.shape)
    starts = [Start(even / even.sum(axis=1, keepdims=True), "even"), Start(right, "right"), Start(right, "the same")]
    choice = best_start(starts, counts)
    assert choice.start.name == "right"
    assert [(each.name, each.steps) for each in choice.scores] == [("even", 12), ("right", 12), ("the same", 12)]
    assert choice.scores[0].held_out < choice.scores[1].held_out == choice.scores[2].held_out
    assert choice == best_start(starts, counts, threads=3)


def test_a_single_start_is_not_tried() -> None:
    choice = best_start([Start(np.full((2, 3), 1 / 3), "one")], as_counts(sparse.csr_array(np.eye(3))))
    assert (choice.start.name, choice.scores) == ("one", ())


def test_anchors_are_chosen_from_nothing_and_shared_by_the_fits() -> None:
    tokens, x, _ = planted(3, D=120)
    X = np.column_stack([np.ones(len(x)), x])
    counts = as_counts(count_terms(tokens))
    first = anchor_start(counts, 4)
    fit = fit_stm(tokens, 4, StmOptions(start="anchors", iterations=2), X=X)
    assert fit.choice is not None
    assert (fit.choice.start.name, fit.choice.scores) == ("anchors among all words", ())
    np.testing.assert_array_equal(fit.choice.start.phi, first.phi)
    for seed in (1, 2):
        again = choose_start(tokens, counts, 4, "spectral", Execution(seed))
        assert again.start.phi.tobytes() == start_of(tokens, 4, StmOptions(), Execution(0)).tobytes()
    numbers = as_mixture(fit_stm(tokens, 4, StmOptions(iterations=2), X=X), tokens)
    assert numbers.numbers["start"] in [each["start"] for each in numbers.numbers["starts"]]
    assert numbers.notes[0].startswith(
        f"start: {numbers.numbers['start']}, the best of {len(numbers.numbers['starts'])}"
    )


def test_a_bound_that_fell_is_told() -> None:
    tokens, _, _ = planted(3, D=60)
    fit = fit_stm(tokens, 3, StmOptions(iterations=3))
    assert fit.fall == 0
    assert not any("fell" in note for note in as_mixture(fit, tokens).notes)
    fallen = StmFit(fit.model, (StmPoint(1, -4.0), StmPoint(2, -4.25)), fit.bound, True, 0)
    assert fallen.fall == 0.25
    assert "the bound fell in the last step, by 0.25 nats a token" in as_mixture(fallen, tokens).notes[0]


def test_short_texts_give_the_same_bytes_on_any_number_of_threads() -> None:
    """Exact weights, LDA and the trial take part."""
    tokens = answers(1, 120)
    a, b = (fit_stm(tokens, 3, StmOptions(iterations=3), Execution(seed, n)) for seed, n in ((1, 1), (2, 3)))
    assert a.choice is not None
    assert len(a.choice.scores) > 1
    assert a.choice.scores == b.choice.scores  # type: ignore[union-attr]
    assert a.model.eta.tobytes() == b.model.eta.tobytes()
    assert a.model.topic_term.tobytes() == b.model.topic_term.tobytes()
