"""Hierarchical LDA by collapsed Gibbs sampling: a tree of topics that grows with the documents, each on a path from the root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base import kernels as gibbs_infer
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.by_term import in_chunks
from nlpkit.topics.base.model import DOCS, LEVEL, PARENT, Inference, MixtureFit, MixtureModel
from nlpkit.topics.base.scores import Arrays, Fitted, Keeper, RunningState, TokenFitter, resumable
from nlpkit.topics.base.topic_words import joined
from nlpkit.topics.hdp.kernels import log_likelihood
from nlpkit.topics.hlda import kernels as kernel
from nlpkit.topics.hlda.options import HldaOptions

MOVE_EVERY, MOVE_SHARE = 2, 0.75  # sweeps between exchanges and merges of nodes; share of the sweeps that have some
ETA_FIRST, ETA_SHARE = 0.3, 0.1  # share of eta at the first sweep; share of the sweeps until it is whole
STEP = 64  # slots that are made at a time
SWEEPS = 50  # of the inference of a new document

TREE_ARRAYS = ("parent", "level", "n_docs", "n_k", "n_vk")  # those of a tree that sweeps change


@dataclass(frozen=True, slots=True)
class HldaPoint:
    """After a sweep: topics on each level, and log p(w | paths, levels) per token."""

    sweep: int
    topics: tuple[int, ...]
    log_likelihood: float


def fit_hlda(
    tokens: TokenTable,
    options: HldaOptions | None = None,
    execution: Execution | None = None,
    *,
    progress: Callable[[int, HldaPoint], None] | None = None,
    keeper: Keeper | None = None,
) -> MixtureFit:
    """Fit a tree of topics by collapsed Gibbs sampling.

    The path c_d of a document is drawn from the nested Chinese restaurant process (γ), a child k of u having n_k / (n_u + γ) of
    the documents and a new one γ / (n_u + γ); the level of each of its tokens from θ_d ~ Dir(α); the word from φ of the node
    there, φ ~ Dir(η). A sweep draws of each document

        p(c_d | others)       ∝ p(c_d | c_-d) Π_l p(words of level l | node, others)
        p(z_di = l | others)  ∝ (n_dl + α) (n_kv + η) / (n_k + Vη),   k the node of level l on the path

    In the first tenth of the sweeps η is smaller (see `eta_of_sweep`). theta_dk of the last state is (n_dl + α) / (N_d + Lα) on the
    path and 0 elsewhere. Topics are numbered from the root down, within a level by their documents, most first. One thread samples:
    the result does not depend on how many there are.

    Returns:
        arrays["tree"] (K, 3): parent (-1 for the root), level, documents of each topic.

    Raises:
        UsageError: no tokens.

    Source: Blei, Griffiths & Jordan (2010), "The nested Chinese restaurant process and Bayesian nonparametric inference of topic
    hierarchies", JACM 57(2), section 5; levels of a Dirichlet distribution as in Blei, Griffiths, Jordan & Tenenbaum (2003, NIPS).
    """
    options, execution = options or HldaOptions(), execution or Execution()
    if not len(tokens.term_ids):
        raise UsageError("the corpus has no tokens to find topics in")
    L, N, V = options.depth, len(tokens.term_ids), tokens.n_terms
    order = np.lexsort((tokens.term_ids, np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets))))
    ids = tokens.term_ids[order]
    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "hlda")))
    levels: IntArray = rng.integers(0, L, N).astype(np.int32)
    leaves = np.full(tokens.n_docs, -1, np.int64)
    # n_kv of the others and the occurrences before it in the document are fewer than the tokens of the term
    most, eta = int(np.bincount(ids).max()), options.eta
    tree = _slots(V, STEP, *_logs(most, N, V, eta))
    tree.level[0] = 0
    trace: list[HldaPoint] = []

    def put_back(arrays: Arrays) -> None:
        nonlocal tree
        tree = tree._replace(**{name: arrays[name] for name in TREE_ARRAYS})

    state = RunningState(
        trace, HldaPoint, {"levels": levels, "leaves": leaves}, rng,
        lambda: {name: getattr(tree, name) for name in TREE_ARRAYS}, put_back,
    )  # fmt: skip
    for n in resumable(options.iterations, state, keeper):
        if (now := eta_of_sweep(n, options)) != eta:
            eta = now
            log_term, log_gamma = _logs(most, N, V, eta)
            tree = tree._replace(log_term=log_term, log_gamma=log_gamma)
        tree = _sweep(tokens.offsets, ids, levels, leaves, tree, options, eta, stream_key(execution.seed, "hlda", n))
        if n % MOVE_EVERY == 0 and n <= MOVE_SHARE * options.iterations:
            _swap(tree, levels, np.repeat(leaves, np.diff(tokens.offsets)), L, rng)
            if eta == options.eta:
                _merge(tree, leaves, options)
        counts = np.bincount(tree.level[tree.level >= 0], minlength=L)
        trace.append(HldaPoint(n, tuple(counts.tolist()), _log_likelihood(tree, options.eta) / N))
        if progress is not None:
            progress(n, trace[-1])
    return _fit(tokens, order, levels, leaves, tree, options, trace)


def eta_of_sweep(n: int, options: HldaOptions) -> float:
    """Return eta of sweep n: it rises from ETA_FIRST of itself, geometrically, and is whole after ETA_SHARE of the sweeps.

    A small eta lets branches begin. With the whole one from the start, the first documents gather all that follow on their path.
    """
    return float(options.eta * ETA_FIRST ** max(0.0, 1 - (n - 1) / (ETA_SHARE * options.iterations)))


def _logs(most: int, N: int, V: int, eta: float) -> tuple[FloatArray, FloatArray]:
    """Return log(n + η) of n < most, and log Γ(n + Vη) of n ≤ N."""
    from scipy.special import gammaln

    return np.log(np.arange(most) + eta), gammaln(np.arange(N + 1) + V * eta)


def _slots(V: int, slots: int, log_term: FloatArray, log_gamma: FloatArray) -> kernel.Tree:
    return kernel.Tree(
        np.zeros(slots, np.int32), np.full(slots, -1, np.int32), np.zeros(slots, np.int64), np.zeros(slots, np.int64),
        np.zeros((V, slots), np.int32), log_term, log_gamma,
    )  # fmt: skip


def _sweep(
    offsets: LongArray,
    ids: IntArray,
    levels: IntArray,
    leaves: LongArray,
    tree: kernel.Tree,
    options: HldaOptions,
    eta: float,
    key: int,
) -> kernel.Tree:
    """Draw all paths and levels; return the tree, with more slots where it needed them.

    A document needs at most depth - 1 new nodes, and the kernel stops before one for which fewer slots are free; STEP is more.
    """
    d = 0
    while True:
        with np.errstate(over="ignore"):  # hashes wrap around, which NumPy tells of where kernels are not compiled
            d = kernel.sweep(
                offsets, ids, levels, leaves, d, options.depth, tree, options.alpha, options.gamma, eta, np.uint64(key)
            )  # fmt: skip
        if d == len(offsets) - 1:
            return tree
        C = len(tree.level)
        longer = _slots(tree.n_vk.shape[0], C + STEP, tree.log_term, tree.log_gamma)
        for new, old in zip(longer[:4], tree[:4], strict=True):
            new[:C] = old
        longer.n_vk[:, :C] = tree.n_vk
        tree = longer


def _swap(tree: kernel.Tree, levels: IntArray, leaf: LongArray, L: int, rng: np.random.Generator) -> None:
    """Exchange the tokens of nodes and their only children, each with probability 1/2: both states are equally probable.

    Args:
        leaf: (N,) last node of the path of each token's document.
    """
    for level in range(1, L - 1):
        above = leaf.copy()
        for _ in range(L - 2 - level):
            above = tree.parent[above]  # the child, of level + 1
        children = np.bincount(tree.parent[tree.level == level + 1], minlength=len(tree.level))
        for k in np.flatnonzero((tree.level == level + 1) & (children[tree.parent] == 1)):
            if rng.random() < 0.5:
                pair = [tree.parent[k], k]
                tree.n_k[pair] = tree.n_k[pair[::-1]]
                tree.n_vk[:, pair] = tree.n_vk[:, pair[::-1]]
                mine = above == k
                levels[mine] = np.array([*range(level), level + 1, level, *range(level + 2, L)], np.int32)[levels[mine]]


def _merge(tree: kernel.Tree, leaves: LongArray, options: HldaOptions) -> None:
    """Join children of one node, with all that is below them, where that makes the state more probable (see `joined`).

    p(c) changes by Γ(n_a + n_b) / (Γ(n_a) Γ(n_b) γ) at their parent, and at them by Γ(γ + n_a) Γ(γ + n_b) / (Γ(γ) Γ(γ + n_a + n_b)).
    """
    from scipy.special import gammaln

    gamma, L = options.gamma, options.depth
    for parent in np.flatnonzero((tree.level >= 0) & (tree.level < L - 1)):
        children = np.flatnonzero((tree.level == tree.level[parent] + 1) & (tree.parent == parent))
        is_leaf, n = tree.level[parent] == L - 2, tree.n_docs[children].astype(np.float64)

        def gain(a: int, b: int, n: FloatArray = n, is_leaf: bool = bool(is_leaf)) -> float:
            both = gammaln(n[a] + n[b]) - gammaln(n[a]) - gammaln(n[b]) - np.log(gamma)
            below = gammaln(gamma + n[a]) + gammaln(gamma + n[b]) - gammaln(gamma) - gammaln(gamma + n[a] + n[b])
            return float(both + (0.0 if is_leaf else below))

        into = children[joined(np.ascontiguousarray(tree.n_vk[:, children].T), options.eta, gain)]
        for a, b in zip(into, children, strict=True):
            if a != b:
                for values in (tree.n_docs, tree.n_k, tree.n_vk.T):
                    values[a] += values[b]
                    values[b] = 0
                tree.parent[(tree.parent == b) & (tree.level >= 0)] = a
                tree.level[b] = -1
                leaves[leaves == b] = a


def _log_likelihood(tree: kernel.Tree, eta: float) -> float:
    return float(log_likelihood(tree.n_k, tree.n_vk, eta))


def _fit(
    tokens: TokenTable, order: LongArray, levels: IntArray, leaves: LongArray, tree: kernel.Tree, options: HldaOptions,
    trace: list[HldaPoint],
) -> MixtureFit:  # fmt: skip
    """Return the fit of the last state."""
    L, alpha = options.depth, options.alpha
    nodes = np.flatnonzero(tree.level >= 0)
    nodes = nodes[np.lexsort((-tree.n_docs[nodes], tree.level[nodes]))]
    place = np.full(len(tree.level), -1, np.int64)
    place[nodes] = np.arange(len(nodes))
    full = np.flatnonzero(leaves >= 0)
    path = np.empty((len(full), L), np.int64)
    path[:, L - 1] = leaves[full]
    for level in range(L - 1, 0, -1):
        path[:, level - 1] = tree.parent[path[:, level]]
    document = np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets))
    n_dl = np.bincount(document * L + levels, minlength=tokens.n_docs * L).reshape(-1, L)[full]
    lengths = n_dl.sum(axis=1, keepdims=True)
    expected = (n_dl + alpha) * (lengths / (lengths + L * alpha))
    shape = (tokens.n_docs, len(nodes))
    doc_topic = sparse.coo_array((expected.ravel(), (np.repeat(full, L), place[path].ravel())), shape=shape).tocsr()
    doc_topic.sort_indices()
    row = np.full(tokens.n_docs, -1)
    row[full] = np.arange(len(full))
    assignments = np.empty(len(levels), np.int32)
    assignments[order] = place[path[row[document], levels]]
    parent = np.where(nodes == 0, -1, place[tree.parent[nodes]])
    model = MixtureModel(
        tokens.terms, sparse.csr_array(np.ascontiguousarray(tree.n_vk[:, nodes].T)), np.zeros(len(nodes)), options.eta
    )
    numbers = {
        "sweeps": options.iterations,
        "log_likelihood_per_token": round(trace[-1].log_likelihood, 6),
        "topics_by_level": list(trace[-1].topics),
    }
    arrays = {"tree": np.stack([parent, tree.level[nodes], tree.n_docs[nodes]], axis=1).astype(np.float64)}
    return MixtureFit(model, doc_topic, trace, numbers, assignments=assignments, arrays=arrays)


def infer_paths(
    model: MixtureModel, tree: FloatArray, options: HldaOptions, offsets: LongArray, term_ids: IntArray, *, seed: int, threads: int
) -> Float32Array:  # fmt: skip
    """Return theta (D, K) of new documents by Gibbs sampling of their paths and levels, the tree as it is.

    theta is above 0 on one path, which was drawn most often. A document's draws depend on the seed and its words. One without
    words has the shares of the root's tokens, 1 for the root.

    Args:
        tree: (K, 3) of the fit. offsets, term_ids: the documents; terms of the model.
    """
    first = int(offsets[0])
    starts, ids = (offsets - first).astype(np.int64), term_ids[first : int(offsets[-1])]
    lengths = np.diff(starts)
    ids = ids[np.lexsort((ids, np.repeat(np.arange(len(lengths)), lengths)))]
    n_vk = np.ascontiguousarray(model.topic_term.toarray().T.astype(np.int32))
    V, longest = n_vk.shape[0], int(lengths.max(initial=0))
    n_k = n_vk.sum(axis=0, dtype=np.int64)
    # n_kv and the occurrences before it in the document, n_k and the tokens of the document
    state = kernel.Tree(
        np.maximum(tree[:, PARENT], 0).astype(np.int32), tree[:, LEVEL].astype(np.int32), tree[:, DOCS].astype(np.int64), n_k, n_vk,
        *_logs(int(n_vk.max()) + longest, int(n_k.max()) + longest, V, options.eta),
    )  # fmt: skip
    theta = np.zeros((len(lengths), model.n_topics), np.float32)
    key = np.uint64(stream_key(seed, "hlda infer"))
    keys = np.empty(len(lengths), np.uint64)

    def fill(begin: int, end: int) -> None:
        for d in range(begin, end):
            keys[d] = gibbs_infer.document_key(ids[starts[d] : starts[d + 1]], key)
        kernel.infer(
            starts[begin : end + 1], ids, options.depth, state, options.alpha, options.gamma, options.eta, SWEEPS,
            keys[begin:end], theta[begin:end],
        )  # fmt: skip

    in_chunks(fill, len(lengths), threads)
    theta[lengths == 0, 0] = 1.0
    return theta


@dataclass(frozen=True, slots=True)
class HldaFitter(TokenFitter):
    """Hierarchical LDA that is fitted."""

    options: HldaOptions
    seeds: int = 1

    def check(self, fit: MixtureFit) -> None:
        """Look whether the topics are a tree: parents one level above. Raises ValueError."""
        parent, level, documents = fit.arrays["tree"].T
        is_root = parent == -1
        above = np.where(is_root, 0, parent).astype(np.int64)
        if not (
            is_root.sum() == 1
            and is_root[0]
            and np.array_equal(level, np.round(level))
            and ((above >= 0) & (above < len(parent))).all()
            and (level[is_root] == 0).all()
            and (level[~is_root] == level[above[~is_root]] + 1).all()
            and level.max() < self.options.depth
            and documents.min() >= 0
        ):
            raise ValueError("tree of topics")

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus, whatever the number of topics that is asked for."""
        return fit_hlda(tokens, self.options, execution, progress=progress, keeper=keeper)

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model, and the path of a document with its levels."""
        return fit.model, partial(infer_paths, fit.model, fit.arrays["tree"], self.options, seed=seed, threads=threads)
