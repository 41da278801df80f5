"""In how many sliding windows words and pairs of words occur, for the few words and pairs that are asked for."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np


class Pairs(NamedTuple):
    """indptr (W+1,) int64, neighbours and pair_ids (2P,) int32: the partners of each word, ascending, and their pairs."""

    indptr: np.ndarray
    neighbours: np.ndarray
    pair_ids: np.ndarray


class Counts(NamedTuple):
    """n_windows, relevant (S,), single (S, W), joint (S, P) int64; relevant: windows of documents with a word asked for."""

    n_windows: np.ndarray
    relevant: np.ndarray
    single: np.ndarray
    joint: np.ndarray


class Present(NamedTuple):
    """The words that are in the current window, all int64.

    start (W,): the window in which each came; last (W,): its last position; alive (W,): a list of them; place (W,): where a
    word stands in it, -1 for none. where (N,): the positions of a document's words.
    """

    start: np.ndarray
    last: np.ndarray
    alive: np.ndarray
    place: np.ndarray
    where: np.ndarray


@numba.njit(nogil=True, cache=True)
def count_windows(  # type: ignore[no-untyped-def]
    offsets, word_ids, slots, part, parts, window, skips_first, forgets, pairs, present, counts
):
    """Add to counts the windows of documents offsets (D+1,), word_ids (N,) int32, -1 for a word that is not asked for.

    A document of N tokens has max(1, N - window + 1) windows; window 0: the whole document. Document d adds to row slots[d]
    of the counts; only rows of `part` modulo `parts` are touched, so that parts can run at the same time. present.place is
    all -1, and so it is afterwards.

    skips_first: a window of a document of `window` tokens or more does not see its first token (tomotopy).
    forgets: a word leaves the window with any of its occurrences, even if another is still inside (gensim).
    """
    start, last, alive, place, where = present
    for d in range(len(offsets) - 1):
        slot = slots[d]
        if slot % parts != part:
            continue
        tokens = word_ids[offsets[d] : offsets[d + 1]]
        N = len(tokens)
        whole = window == 0 or window >= N
        width = N if whole else window
        n = 1 if whole else N - window + 1
        unseen = 1 if skips_first and 0 < window <= N else 0
        counts.n_windows[slot] += n
        found = 0
        for p in range(N):
            where[found] = p
            found += tokens[p] >= 0
        if found == 0:
            continue
        counts.relevant[slot] += n
        single, joint = counts.single[slot], counts.joint[slot]
        tail, n_alive = 0, 0
        for head in range(found):
            p = where[head]
            u = tokens[p]
            first = max(0, p - width + 1)  # the first window with this token
            while tail < head and where[tail] + 1 - unseen <= first:
                n_alive = _leave(tokens, where[tail], unseen, forgets, n_alive, present, pairs, single, joint)
                tail += 1
            if place[u] < 0:
                place[u] = n_alive
                alive[n_alive] = u
                start[u] = first
                n_alive += 1
            last[u] = p
        while tail < found and where[tail] + 1 - unseen < n:
            n_alive = _leave(tokens, where[tail], unseen, forgets, n_alive, present, pairs, single, joint)
            tail += 1
        while n_alive > 0:
            n_alive = _end(alive[n_alive - 1], n, n_alive, present, pairs, single, joint)


@numba.njit(nogil=True, cache=True)
def _leave(tokens, p, unseen, forgets, n_alive, present, pairs, single, joint):  # type: ignore[no-untyped-def]
    """Let the token at p slide out of the window; return how many words are left in it."""
    u = tokens[p]
    if present.place[u] >= 0 and (forgets or present.last[u] == p):
        return _end(u, p + 1 - unseen, n_alive, present, pairs, single, joint)
    return n_alive


@numba.njit(nogil=True, cache=True)
def _end(u, end, n_alive, present, pairs, single, joint):  # type: ignore[no-untyped-def]
    """Count the windows start[u] … end - 1, with each partner that was there too; return how many words are left."""
    start, _, alive, place, _ = present
    begin = start[u]
    single[u] += end - begin
    n_alive -= 1
    moved = alive[n_alive]
    alive[place[u]] = moved
    place[moved] = place[u]
    place[u] = -1
    row, stop = pairs.indptr[u], pairs.indptr[u + 1]
    if n_alive * 4 < stop - row:  # a search costs about four looks
        for i in range(n_alive):
            v = alive[i]
            low, high = row, stop
            while low < high:
                middle = (low + high) >> 1
                if pairs.neighbours[middle] < v:
                    low = middle + 1
                else:
                    high = middle
            if low < stop and pairs.neighbours[low] == v:
                joint[pairs.pair_ids[low]] += end - max(begin, start[v])
    else:
        for i in range(row, stop):
            v = pairs.neighbours[i]
            if place[v] >= 0:
                joint[pairs.pair_ids[i]] += end - max(begin, start[v])
    return n_alive


def new_present(n_words: int, longest: int) -> Present:
    """Return an empty window for n_words words and documents of at most `longest` tokens."""
    zeros = np.zeros(n_words, np.int64)
    return Present(zeros, zeros.copy(), zeros.copy(), np.full(n_words, -1, np.int64), np.empty(longest + 1, np.int64))
