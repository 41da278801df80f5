"""Search in a trie of n-grams, whose nodes are numbered order by order, the children of each node beside each other by word."""

from __future__ import annotations

import numba


@numba.njit(nogil=True, cache=True)
def child(starts, words, node, word):  # type: ignore[no-untyped-def]
    """Return the child of a node with a word, -1 where there is none, where the node is -1, or one that can have no children.

    starts (C + 1,) int64: children of node c < C are starts[c] … starts[c + 1] - 1; words (T,) int32: last word of each node.
    """
    if node < 0 or node >= len(starts) - 1:
        return -1
    low, high = starts[node], starts[node + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and words[low] == word else -1


@numba.njit(nogil=True, cache=True)
def children(starts, words, nodes, last, out):  # type: ignore[no-untyped-def]
    """Fill out (M,) int64 with the child of each node (M,) with a word (M,), see `child`."""
    for i in range(len(nodes)):
        out[i] = child(starts, words, nodes[i], last[i])


@numba.njit(nogil=True, cache=True)
def look_up(starts, words, first, tokens, out):  # type: ignore[no-untyped-def]
    """Fill out (N, n) int64: at each token the node of the m words that end there in column m - 1, -1 where the trie has none.

    first (S,) int64: where each sequence begins, ascending, tokens[first[0]] the first of all; tokens (N,) int32, -1 for a word that
    is not in the trie; node w < V is the word w. No n-gram crosses the start of a sequence.
    """
    n = out.shape[1]
    sequence = 0
    for i in range(len(tokens)):
        out[i] = -1
        out[i, 0] = tokens[i]
        if sequence < len(first) and first[sequence] == i:
            sequence += 1
            continue
        if i == 0:
            continue
        for m in range(1, n):
            if tokens[i] >= 0:
                out[i, m] = child(starts, words, out[i - 1, m - 1], tokens[i])
