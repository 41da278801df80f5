"""Topics in a tree of fixed depth: Gibbs sampling of the paths of documents and the levels of tokens (Blei, Griffiths & Jordan 2010)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.topics.base.kernels import uniform


class Tree(NamedTuple):
    """Nodes in C slots, the root in slot 0; a free slot has level -1 and no tokens.

    parent, level (C,) int32; n_docs (C,) int64 documents whose path leads through the node; n_k (C,) int64, n_vk (V, C) int32
    its tokens. log_term (n,) log(n + η) up to the most tokens of a term, log_gamma (N + 1,) log Γ(n + Vη).
    """

    parent: np.ndarray
    level: np.ndarray
    n_docs: np.ndarray
    n_k: np.ndarray
    n_vk: np.ndarray
    log_term: np.ndarray
    log_gamma: np.ndarray


@njit(nogil=True)
def put(tokens, levels, leaf, sign, tree, path):  # type: ignore[no-untyped-def]
    """Put a document on the path that ends in `leaf` (sign 1), or take it off (-1), freeing nodes without documents; fill path (L,)."""
    L, k = len(path), leaf
    for level in range(L - 1, -1, -1):
        path[level] = k
        tree.n_docs[k] += sign
        k = tree.parent[k]
    for i in range(len(tokens)):
        k = path[levels[i]]
        tree.n_vk[tokens[i], k] += sign
        tree.n_k[k] += sign
    for level in range(1, L):
        if tree.n_docs[path[level]] == 0:
            tree.level[path[level]] = -1


@njit(nogil=True)
def weigh(tokens, levels, L, gamma, tree, fits, tail, logs):  # type: ignore[no-untyped-def]
    """Fill logs (C,) with log p(path, words | others) of a document (N_d,) that is on no path, but for the words of the root, which all
    paths share: of a leaf that of its path; of a node above that of a new branch below it; -inf in free slots.

    Its tokens are sorted by term. Room: fits (C,) log-probability of the path to a node and of the tokens there; tail (L + 1,) that of
    the tokens of this level and all below in new nodes.
    """  # fmt: skip
    C = len(tree.level)
    nodes = np.empty(C, np.int64)  # those of one level: no more than there are slots
    logs[:] = -np.inf
    fits[0] = logs[0] = 0.0
    tail[:] = 0.0
    for level in range(1, L):
        n_nodes = 0
        for k in range(C):
            if tree.level[k] == level:
                above = tree.parent[k]
                fits[k] = fits[above] + math.log(tree.n_docs[k] / (tree.n_docs[above] + gamma))
                nodes[n_nodes] = k
                n_nodes += 1
        new, n, term, earlier = 0.0, 0, -1, 0
        for i in range(len(tokens)):
            if levels[i] != level:
                continue
            earlier = earlier + 1 if tokens[i] == term else 0
            term = tokens[i]
            row = tree.n_vk[term]
            for k in nodes[:n_nodes]:
                fits[k] += tree.log_term[row[k] + earlier]
            new += tree.log_term[earlier]
            n += 1
        for k in nodes[:n_nodes]:
            fits[k] -= tree.log_gamma[tree.n_k[k] + n] - tree.log_gamma[tree.n_k[k]]
            logs[k] = fits[k]
        tail[level] = new - (tree.log_gamma[n] - tree.log_gamma[0])
    for level in range(L - 2, 0, -1):
        tail[level] += tail[level + 1]
    for k in range(C):
        if 0 <= tree.level[k] < L - 1:
            logs[k] += math.log(gamma / (tree.n_docs[k] + gamma)) + tail[tree.level[k] + 1]


@njit(nogil=True)
def draw(logs, u):  # type: ignore[no-untyped-def]
    """Return the place drawn by a uniform number in proportion to exp(logs), of which one at least is above -inf."""
    most = logs.max()
    total = 0.0
    for k in range(len(logs)):
        total += math.exp(logs[k] - most)
    left, last = u * total, 0
    for k in range(len(logs)):
        p = math.exp(logs[k] - most)
        if p > 0:
            left -= p
            last = k
            if left < 0:
                break
    return last


@njit(nogil=True)
def grow(node, L, tree):  # type: ignore[no-untyped-def]
    """Make a branch of new nodes below a node down to level L - 1, in the lowest free slots; return its leaf."""
    k = node
    while tree.level[k] < L - 1:
        slot = 0
        while tree.level[slot] >= 0:
            slot += 1
        tree.level[slot], tree.parent[slot] = tree.level[k] + 1, k
        k = slot
    return k


@njit(nogil=True)
def draw_levels(tokens, levels, path, alpha, eta, tree, n_level, weights, key, at, fixed):  # type: ignore[no-untyped-def]
    """Draw the level of each token of a document given its path, p ∝ (n_dl + α)(n_kv + η) / (n_k + Vη) of the node k of the path.

    Token i takes number at + i of the stream. fixed: the tree stays as it is, the document being no part of it. Room: n_level,
    weights (L,).
    """
    L, V = len(path), tree.n_vk.shape[0]
    n_level[:] = 0
    for i in range(len(tokens)):
        n_level[levels[i]] += 1
    for i in range(len(tokens)):
        v, old = tokens[i], levels[i]
        n_level[old] -= 1
        if not fixed:
            tree.n_vk[v, path[old]] -= 1
            tree.n_k[path[old]] -= 1
        total = 0.0
        for level in range(L):
            k = path[level]
            weights[level] = (n_level[level] + alpha) * (tree.n_vk[v, k] + eta) / (tree.n_k[k] + V * eta)
            total += weights[level]
        left, new = uniform(key, np.uint64(at + i)) * total, 0
        while new < L - 1 and left >= weights[new]:
            left -= weights[new]
            new += 1
        levels[i] = new
        n_level[new] += 1
        if not fixed:
            tree.n_vk[v, path[new]] += 1
            tree.n_k[path[new]] += 1


@njit(nogil=True)
def sweep(offsets, term_ids, levels, leaves, d, L, tree, alpha, gamma, eta, key):  # type: ignore[no-untyped-def]
    """Draw the path of each document from d on, then the levels of its tokens; return the next document, D at the end.

    leaves (D,): last node of the path, -1 for none yet, and for documents without tokens. The sweep stops where fewer than
    L - 1 slots are free, as many as a document can need. Document d takes the numbers offsets[d] + d … of the stream.
    """  # fmt: skip
    C = len(tree.level)
    fits, logs, tail = np.empty(C), np.empty(C), np.empty(L + 1)
    path, n_level, weights = np.empty(L, np.int64), np.empty(L, np.int64), np.empty(L)
    while d < len(offsets) - 1:
        tokens, mine = term_ids[offsets[d] : offsets[d + 1]], levels[offsets[d] : offsets[d + 1]]
        if len(tokens) > 0:
            free = 0
            for k in range(C):
                free += tree.level[k] < 0
            if free < L - 1:
                return d
            if leaves[d] >= 0:
                put(tokens, mine, leaves[d], -1, tree, path)
            weigh(tokens, mine, L, gamma, tree, fits, tail, logs)
            at = offsets[d] + d
            leaves[d] = grow(draw(logs, uniform(key, np.uint64(at))), L, tree)
            put(tokens, mine, leaves[d], 1, tree, path)
            draw_levels(tokens, mine, path, alpha, eta, tree, n_level, weights, key, at + 1, False)
        d += 1
    return d


@njit(nogil=True)
def infer(offsets, term_ids, L, tree, alpha, gamma, eta, sweeps, keys, theta):  # type: ignore[no-untyped-def]
    """Fill theta (D, C) of new documents, the tree as it is: on the path that is drawn most often after a fifth of the sweeps, the mean
    of (n_dl + α) / (N_d + Lα) over these draws; 0 elsewhere. keys (D,): streams; tokens sorted by term.
    """  # fmt: skip
    C = len(tree.level)
    fits, logs, tail = np.empty(C), np.empty(C), np.empty(L + 1)
    path, n_level, weights = np.empty(L, np.int64), np.empty(L, np.int64), np.empty(L)
    visits, shares = np.zeros(C, np.int64), np.zeros((C, L))
    for d in range(len(offsets) - 1):
        tokens = term_ids[offsets[d] : offsets[d + 1]]
        N = len(tokens)
        if N == 0:
            continue
        levels = np.empty(N, np.int32)
        for i in range(N):
            levels[i] = int(uniform(keys[d], np.uint64(i)) * L)
        visits[:] = 0
        shares[:] = 0.0
        for s in range(sweeps):
            weigh(tokens, levels, L, gamma, tree, fits, tail, logs)
            for k in range(C):
                if tree.level[k] != L - 1:  # no branch begins
                    logs[k] = -np.inf
            at = N + s * (N + 1)
            leaf = draw(logs, uniform(keys[d], np.uint64(at)))
            k = leaf
            for level in range(L - 1, -1, -1):
                path[level] = k
                k = tree.parent[k]
            draw_levels(tokens, levels, path, alpha, eta, tree, n_level, weights, keys[d], at + 1, True)
            if 5 * s >= sweeps:
                visits[leaf] += 1
                for level in range(L):
                    shares[leaf, level] += (n_level[level] + alpha) / (N + L * alpha)
        leaf = visits.argmax()
        k = leaf
        for level in range(L - 1, -1, -1):
            theta[d, k] = shares[leaf, level] / visits[leaf]
            k = tree.parent[k]
