"""Hierarchical LDA: paths by joint probabilities, the posterior by enumeration, planted trees, tomotopy, new documents."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base.model import MixtureFit, paths_of, select_documents
from nlpkit.topics.hdp import kernels as words
from nlpkit.topics.hlda import kernels as kernel
from nlpkit.topics.hlda import model as hlda
from nlpkit.topics.hlda.model import fit_hlda, infer_paths
from nlpkit.topics.hlda.options import HldaOptions
from tests.reference import hlda as plain
from tests.refusals import refuses
from tests.strategies import token_table

WORDS = 12  # of each topic that is planted


def planted_tree(seed: int = 0, D: int = 300, N: int = 40) -> tuple[TokenTable, Any, Any]:
    """Documents on paths of a root, three topics below it and two below each, all of words of their own; (D,) of both levels."""
    rng = np.random.default_rng(seed)
    leaf = rng.integers(4, 10, D)
    middle = 1 + (leaf - 4) // 2
    docs = [
        [int(WORDS * node + rng.integers(WORDS)) for node in rng.choice([0, m, k], N, p=rng.dirichlet([2, 2, 2]))]
        for m, k in zip(middle, leaf, strict=True)
    ]
    return token_table(docs, [f"w{v}" for v in range(10 * WORDS)]), middle, leaf


@pytest.fixture(scope="module")
def corpus() -> tuple[TokenTable, Any, Any]:
    return planted_tree()


@pytest.fixture(scope="module")
def fit(corpus: tuple[TokenTable, Any, Any]) -> MixtureFit:
    return fit_hlda(corpus[0], HldaOptions(iterations=100), Execution(1))


def small_tree(documents: Any, paths: Any, levels: Any, V: int, eta: float) -> kernel.Tree:
    """The tree of some documents; nodes are slots."""
    tree = hlda._slots(V, 12, *hlda._logs(40, 40, V, eta))
    tree.level[0] = 0
    for tokens, path, mine in zip(documents, paths, levels, strict=True):
        for level, node in enumerate(path):
            tree.level[node], tree.parent[node] = level, path[max(level - 1, 0)]
        kernel.put(np.array(tokens), np.array(mine), path[-1], 1, tree, np.empty(3, np.int64))
    return tree


def test_paths_are_as_probable_as_their_joint_probability_says() -> None:
    documents, levels = (
        [[0, 0, 2], [1, 2, 3], [0, 3, 3, 3], [0, 0, 1, 3]],
        [[0, 1, 2], [2, 1, 1], [0, 2, 2, 2], [1, 1, 2, 0]],
    )
    paths, gamma, eta, V = [(0, 1, 2), (0, 1, 3), (0, 4, 5)], 0.7, 0.3, 4
    tree = small_tree(documents[:3], paths, levels[:3], V, eta)
    logs = np.empty(12)
    kernel.weigh(np.array(documents[3]), np.array(levels[3]), 3, gamma, tree, np.empty(12), np.empty(4), logs)
    ways = {2: (0, 1, 2), 3: (0, 1, 3), 5: (0, 4, 5), 1: (0, 1, 6), 4: (0, 4, 6), 0: (0, 6, 7)}
    expected = np.full(12, -np.inf)
    for slot, path in ways.items():
        everyone = [*paths, path]
        expected[slot] = plain.log_paths(everyone, gamma) + plain.log_words(documents, everyone, levels, eta, V)
    np.testing.assert_allclose(np.exp(logs - logs.max()), np.exp(expected - expected.max()), rtol=1e-9)
    path = np.empty(3, np.int64)
    leaf = kernel.grow(4, 3, tree)
    assert (leaf, tree.level[leaf], tree.parent[leaf]) == (6, 2, 4)
    kernel.put(np.array(documents[3]), np.array(levels[3]), leaf, 1, tree, path)
    assert path.tolist() == [0, 4, 6]
    kernel.put(np.array(documents[3]), np.array(levels[3]), leaf, -1, tree, path)
    before = small_tree(documents[:3], paths, levels[:3], V, eta)
    for name in ("level", "n_docs", "n_k", "n_vk"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(before, name))


@pytest.mark.parametrize(("documents", "depth"), [([[0, 1], [0], [1]], 2), ([[0, 1], [0]], 3)])
def test_states_are_as_frequent_as_enumeration_says(documents: Any, depth: int) -> None:
    """All paths and levels of tiny corpora, by sweeps and exchanges of nodes with their only children."""
    exact = plain.posterior(documents, depth, 0.6, 1.3, 0.4, 2)
    tokens, options = token_table(documents, ["a", "b"]), HldaOptions(depth, 0.6, 1.3, 0.4)
    rng, n_sweeps = np.random.default_rng(1), 8000
    levels, leaves = np.zeros(len(tokens.term_ids), np.int32), np.full(len(documents), -1, np.int64)
    tree = hlda._slots(2, 16, *hlda._logs(9, 9, 2, 0.4))
    tree.level[0] = 0
    of, seen = np.repeat(np.arange(len(documents)), np.diff(tokens.offsets)), Counter[Any]()
    for n in range(n_sweeps):
        tree = hlda._sweep(tokens.offsets, tokens.term_ids, levels, leaves, tree, options, options.eta, n)
        hlda._swap(tree, levels, leaves[of], depth, rng)
        paths, children = [], dict[Any, dict[Any, int]]()
        for leaf in leaves:
            slots = [leaf]
            while len(slots) < depth:
                slots.insert(0, tree.parent[slots[0]])
            path: list[tuple[int, ...]] = [()]
            for above, below in pairwise(slots):
                numbers = children.setdefault(above, {})
                path.append((*path[-1], numbers.setdefault(below, len(numbers))))
            paths.append(tuple(path))
        seen[tuple(paths), tuple(tuple(levels[of == d].tolist()) for d in range(len(documents)))] += 1
    assert set(seen) <= set(exact)
    assert (
        sum(abs(p - seen[state] / n_sweeps) for state, p in exact.items()) / 2 < 0.06
    )  # 80 or 81 states; by chance 0.04


@pytest.mark.parametrize("seed", [1, 2, 3])  # of six seeds one ends with a topic of the middle in two
def test_a_planted_tree_comes_back(seed: int, corpus: tuple[TokenTable, Any, Any]) -> None:
    tokens, middle, leaf = corpus
    fit = fit_hlda(tokens, HldaOptions(iterations=200), Execution(seed))
    paths, tree = paths_of(fit.doc_topic, fit.arrays["tree"]), fit.arrays["tree"]
    assert adjusted_rand_score(middle, paths[:, 1]) > 0.99
    assert adjusted_rand_score(leaf, paths[:, 2]) > 0.9
    large = tree[:, hlda.DOCS] >= 10
    assert [int((large & (tree[:, hlda.LEVEL] == level)).sum()) for level in range(3)] == [1, 3, 6]
    top = fit.model.phi[0].argsort()[-WORDS:]
    assert set(top.tolist()) == set(range(WORDS))  # the words of the root


@pytest.mark.parametrize("iterations", [1, 5, 100])
def test_eta_begins_small_and_is_whole_after_a_tenth_of_the_sweeps(iterations: int) -> None:
    options = HldaOptions(eta=0.5, iterations=iterations)
    etas = [hlda.eta_of_sweep(n, options) for n in range(1, iterations + 1)]
    assert etas[0] == pytest.approx(0.15)
    assert etas == sorted(etas)
    assert set(etas[max(1, iterations // 10) :]) <= {0.5}


def test_the_tree_and_the_mixtures_fit_together(corpus: tuple[TokenTable, Any, Any], fit: MixtureFit) -> None:
    tokens, tree = corpus[0], fit.arrays["tree"].astype(int)
    paths, K = paths_of(fit.doc_topic, fit.arrays["tree"]), fit.model.n_topics
    assert (paths[:, 0] == 0).all()
    assert all((tree[paths[:, level], hlda.PARENT] == paths[:, level - 1]).all() for level in (1, 2))
    np.testing.assert_array_equal(np.bincount(paths.ravel(), minlength=K), tree[:, hlda.DOCS])
    assert tree.tolist() == sorted(tree.tolist(), key=lambda row: (row[hlda.LEVEL], -row[hlda.DOCS]))
    np.testing.assert_allclose(np.asarray(fit.doc_topic.sum(axis=1)).ravel(), np.diff(tokens.offsets))
    n_kv = np.zeros((K, tokens.n_terms), np.int64)
    np.add.at(n_kv, (fit.assignments, tokens.term_ids), 1)
    np.testing.assert_array_equal(fit.model.topic_term.toarray(), n_kv)
    assert [sum(tree[:, hlda.LEVEL] == level) for level in range(3)] == list(fit.trace[-1].topics)


def test_words_are_as_probable_as_under_tomotopy(corpus: tuple[TokenTable, Any, Any], fit: MixtureFit) -> None:
    """log p(w | c, z) per token of the last state of both, the same priors, tokens and number of sweeps."""
    tomotopy = pytest.importorskip("tomotopy")
    tokens = corpus[0]
    peer = tomotopy.HLDAModel(depth=3, alpha=1.0, gamma=1.0, eta=0.5, seed=1)
    for d in range(tokens.n_docs):
        peer.add_doc([f"w{v}" for v in tokens.term_ids[tokens.offsets[d] : tokens.offsets[d + 1]]])
    peer.train(100, workers=1)
    n_vk = np.zeros((tokens.n_terms, peer.k), np.int32)
    for document in peer.docs:
        np.add.at(n_vk, (np.array(document.words), np.array(document.topics)), 1)
    theirs = words.log_likelihood(n_vk.sum(axis=0, dtype=np.int64), n_vk, 0.5) / len(tokens.term_ids)
    assert fit.trace[-1].log_likelihood > theirs - 0.02


def test_new_documents_get_the_path_of_their_words(corpus: tuple[TokenTable, Any, Any], fit: MixtureFit) -> None:
    tokens, tree, options = corpus[0], fit.arrays["tree"], HldaOptions(iterations=100)
    theta, again = (
        infer_paths(fit.model, tree, options, tokens.offsets, tokens.term_ids, seed=1, threads=n) for n in (1, 3)
    )
    np.testing.assert_array_equal(theta, again)
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-5)
    assert np.mean(paths_of(theta, tree) == paths_of(fit.doc_topic, tree)) > 0.95
    part = infer_paths(fit.model, tree, options, tokens.offsets[20:31], tokens.term_ids, seed=1, threads=1)
    np.testing.assert_array_equal(part, theta[20:30])
    nothing = infer_paths(fit.model, tree, options, np.zeros(2, np.int64), tokens.term_ids[:0], seed=1, threads=1)
    assert nothing[0, 0] == 1


def test_more_topics_than_slots() -> None:
    tokens = token_table([[v, v, v] for v in range(90)], [f"w{v}" for v in range(90)])
    fit = fit_hlda(tokens, HldaOptions(gamma=1e6, eta=1e-3, iterations=3))
    assert fit.model.n_topics > hlda.STEP
    assert fit.model.topic_totals.sum() == 270


def test_the_seed_decides(corpus: tuple[TokenTable, Any, Any]) -> None:
    tokens = select_documents(corpus[0], np.arange(40))
    a, b, c = (
        fit_hlda(tokens, HldaOptions(iterations=6), Execution(seed, threads))
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    )
    np.testing.assert_array_equal(a.assignments, b.assignments)
    assert a.trace == b.trace != c.trace


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(UsageError, match="no tokens"):
        fit_hlda(token_table([[]], ["a"]))
    for name in ("alpha", "gamma", "eta"):
        with refuses(name):
            HldaOptions(**{name: 0.0})
