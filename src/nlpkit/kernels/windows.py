"""Counts of sliding windows that contain words and pairs of words, for the few words and pairs requested."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlpkit.kernels import njit


class Pairs(NamedTuple):
    """The partners of each word and where to look one up; begins and indptr int64, the others int32.

    indptr (W+1,), neighbours, pair_ids (2P,): the partners of a word, ascending, and their pairs. begins (W,), masks (W,),
    slots: for each word a small hash table of its partners v, masks[u] + 1 slots from begins[u], the search starting at
    v & masks[u]; a slot holds a place in neighbours, -1 where empty.
    """

    indptr: np.ndarray
    neighbours: np.ndarray
    pair_ids: np.ndarray
    begins: np.ndarray
    masks: np.ndarray
    slots: np.ndarray


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


@njit(nogil=True, work="word_ids")
def count_windows(  # type: ignore[no-untyped-def]
    offsets, word_ids, rows, part, parts, window, skips_first, forgets, pairs, present, counts
):
    """Add to counts the windows of documents offsets (D+1,), word_ids (N,) int32, -1 for a word that is not asked for.

    A document of N tokens has max(1, N - window + 1) windows; window 0: the whole document. Document d adds to row rows[d]
    of the counts; only rows of `part` modulo `parts` are touched, so that parts can run at the same time. present.place is
    all -1, and so it is afterwards.

    A word is present from the window in which it comes to the one before it leaves; when it leaves, the windows in which
    it was there with each partner that still is are counted, so that a repeated word costs nothing in between.

    skips_first: a window of a document of `window` tokens or more does not see its first token (tomotopy).
    forgets: a word leaves the window with any of its occurrences, even if another is still inside (gensim).
    """
    start, last, alive, place, where = present
    indptr, neighbours, pair_ids, begins, masks, slots = pairs
    for d in range(len(offsets) - 1):
        if rows[d] % parts != part:
            continue
        tokens = word_ids[offsets[d] : offsets[d + 1]]
        N = len(tokens)
        whole = window == 0 or window >= N
        width = N if whole else window
        n = 1 if whole else N - window + 1
        unseen = 1 if skips_first and 0 < window <= N else 0
        counts.n_windows[rows[d]] += n
        n_relevant = 0
        for p in range(N):
            where[n_relevant] = p
            n_relevant += tokens[p] >= 0
        if n_relevant == 0:
            continue
        counts.relevant[rows[d]] += n
        single, joint = counts.single[rows[d]], counts.joint[rows[d]]
        tail, n_alive = 0, 0
        for head in range(n_relevant + 1):  # the last turn is the end of the document, when all words leave
            at_end = head == n_relevant
            first = N if at_end else max(0, where[head] - width + 1)  # the first window with this token
            while tail < head and where[tail] + 1 - unseen <= first:
                p = where[tail]
                u = tokens[p]
                tail += 1
                if place[u] < 0 or (last[u] != p and not forgets):
                    continue
                begin, end = start[u], min(n, p + 1 - unseen)
                single[u] += end - begin
                n_alive -= 1
                alive[place[u]] = alive[n_alive]
                place[alive[n_alive]] = place[u]
                place[u] = -1
                if n_alive < indptr[u + 1] - indptr[u]:
                    for i in range(n_alive):
                        v = alive[i]
                        at = v & masks[u]
                        while slots[begins[u] + at] >= 0:
                            entry = slots[begins[u] + at]
                            if neighbours[entry] == v:
                                joint[pair_ids[entry]] += end - max(begin, start[v])
                                break
                            at = (at + 1) & masks[u]
                else:
                    for i in range(indptr[u], indptr[u + 1]):
                        if place[neighbours[i]] >= 0:
                            joint[pair_ids[i]] += end - max(begin, start[neighbours[i]])
            if not at_end:
                u = tokens[where[head]]
                if place[u] < 0:
                    place[u] = n_alive
                    alive[n_alive] = u
                    start[u] = first
                    n_alive += 1
                last[u] = where[head]


@njit(nogil=True, work="neighbours")
def fill_slots(indptr, neighbours, begins, masks, slots):  # type: ignore[no-untyped-def]
    """Put the partners of each word into its table; slots are all -1, and at least one more than partners."""
    for u in range(len(masks)):
        for i in range(indptr[u], indptr[u + 1]):
            at = neighbours[i] & masks[u]
            while slots[begins[u] + at] >= 0:
                at = (at + 1) & masks[u]
            slots[begins[u] + at] = i


def new_present(n_words: int, longest: int) -> Present:
    """Return an empty window for n_words words and documents of at most `longest` tokens."""
    zeros = np.zeros(n_words, np.int64)
    return Present(zeros, zeros.copy(), zeros.copy(), np.full(n_words, -1, np.int64), np.empty(longest + 1, np.int64))
