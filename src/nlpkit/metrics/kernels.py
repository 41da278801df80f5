"""The compiled loops of the metrics: counts of words, pairs and windows, mutual information, linkage.

Parts, in this order:
- Expected mutual information of two partitions under chance.
- Lexical diversity of documents: words that come back, counted along the text.
- Counts of documents in which pairs of terms co-occur, for the few terms requested.
- Counts of sliding windows that contain words and pairs of words, for the few words and pairs requested.
- Complete linkage with the tie rule of R's hclust; scipy's chain of neighbours breaks ties in another order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nlpkit.platform.kernels import njit


def _steps(rows, columns, logs, log_totals, floor):  # type: ignore[no-untyped-def]
    """Return about how many steps `expected_information` takes: in each cell a few deviations of a count."""
    return rows.size * columns.shape[1] * min(len(logs), 100)


@njit(nogil=True, work=_steps)
def expected_information(rows, columns, logs, log_totals, floor):  # type: ignore[no-untyped-def]
    """Return the expected mutual information (B,) in nats of partitions of sizes rows (B, R), columns (B, C), float64.

    The cell of a row of size a and a column of size b holds n documents with the hypergeometric probability p(n); its share
    is Σ_n p(n) · n/N · ln(n N / (a b)). The sum runs from the most probable n outwards, by the ratio of neighbouring p(n), until
    p(n) falls below `floor` of the largest; p sums to 1, so no factorial is needed. logs[n] = ln n up to the largest size,
    log_totals (B,) = ln N.
    """
    result = np.zeros(len(rows))
    for t in range(len(rows)):
        N = rows[t].sum()
        expected = 0.0
        for a in rows[t]:
            for b in columns[t]:
                if a == 0.0 or b == 0.0:
                    continue
                shift = log_totals[t] - logs[np.int64(a)] - logs[np.int64(b)]
                low, high, rest = max(0.0, a + b - N), min(a, b), N - a - b
                mode = min(max(np.floor((a + 1) * (b + 1) / (N + 2)), low), high)
                p, total = 1.0, 1.0
                share = mode * (logs[np.int64(mode)] + shift) if mode > 0 else 0.0
                n = mode
                while n < high and p > floor:
                    p *= (a - n) * (b - n) / ((n + 1) * (rest + n + 1))
                    n += 1
                    total += p
                    share += p * n * (logs[np.int64(n)] + shift)
                p, n = 1.0, mode
                while n > low and p > floor:
                    p *= n * (rest + n) / ((a - n + 1) * (b - n + 1))
                    n -= 1
                    total += p
                    if n > 0:
                        share += p * n * (logs[np.int64(n)] + shift)
                expected += share / total / N
        result[t] = expected
    return result


# ------------------------------------------------------------------------------------------------------------------------
# Lexical diversity of documents: words that come back, counted along the text.


@njit(nogil=True, work="term_ids")
def diversity_of_documents(offsets, term_ids, window, threshold, draws, seen, counts, mtld, mattr, hdd):  # type: ignore[no-untyped-def]
    """Fill mtld, mattr, hdd (D,) float64 for documents offsets (D+1,), term_ids (N,) in 0 … V-1; nan where a document is too short.

    seen (V,) int64 and counts (V,) int64 are work space that is 0; they come back as 0. The formulas
    stand in `nlpkit.metrics.texts.corpus`.
    """
    for d in range(len(offsets) - 1):
        ids = term_ids[offsets[d] : offsets[d + 1]]
        n = len(ids)
        mtld[d] = mattr[d] = hdd[d] = math.nan
        if n == 0:
            continue
        mtld[d] = (_mtld(ids, threshold, seen, 1) + _mtld(ids, threshold, seen, -1)) / 2
        if n >= window:
            types, total = 0, 0
            for i in range(n):
                counts[ids[i]] += 1
                types += counts[ids[i]] == 1
                if i >= window:
                    counts[ids[i - window]] -= 1
                    types -= counts[ids[i - window]] == 0
                if i >= window - 1:
                    total += types
            for i in range(n - window, n):
                counts[ids[i]] = 0
            mattr[d] = total / (window * (n - window + 1))
        if n >= draws:
            for i in range(n):
                counts[ids[i]] += 1
            expected = 0.0
            for i in range(n):
                tf = counts[ids[i]]
                if tf > 0:
                    expected += 1.0 - _never_drawn(n, tf, draws)
                    counts[ids[i]] = 0
            hdd[d] = expected / draws


@njit(nogil=True)
def _never_drawn(n, tf, draws):  # type: ignore[no-untyped-def]
    """Return the probability that none of tf among n is drawn without replacement: C(n - tf, draws) / C(n, draws)."""
    if n - tf < draws:
        return 0.0
    never = 1.0
    for i in range(tf):  # as if the tf came one by one: the sum of all tf is n
        never *= (n - draws - i) / (n - i)
    return never


@njit(nogil=True)
def _mtld(ids, threshold, seen, step):  # type: ignore[no-untyped-def]
    """Return the tokens for each factor in one direction, step 1 or -1."""
    n = len(ids)
    factors, types, tokens = 0.0, 0, 0
    begin = 1  # a term is in the current factor if it was last seen at this place or later, places from 1
    for i in range(n):
        term = ids[i] if step > 0 else ids[n - 1 - i]
        types += seen[term] < begin
        seen[term] = i + 1
        tokens += 1
        if types <= threshold * tokens:
            factors += 1.0
            types, tokens, begin = 0, 0, i + 2
    if tokens > 0:
        factors += (1.0 - types / tokens) / (1.0 - threshold)
    for i in range(n):
        seen[ids[i]] = 0
    return n / factors if factors > 0 else float(n)


# ------------------------------------------------------------------------------------------------------------------------
# Counts of documents in which pairs of terms co-occur, for the few terms requested.


@njit()
def joint_document_counts(term_ids, indptr, indices, joint):  # type: ignore[no-untyped-def]
    """Fill joint (K, n, n) int64 with the number of documents that hold both terms of each pair of a topic's top terms.

    term_ids (K, n), -1 for none; indptr (V+1,), indices: ascending document lists of each term (CSC). The diagonal is df.
    """
    K, n = term_ids.shape
    for k in range(K):
        for i in range(n):
            u = term_ids[k, i]
            if u < 0:
                continue
            joint[k, i, i] = indptr[u + 1] - indptr[u]
            for j in range(i + 1, n):
                v = term_ids[k, j]
                if v < 0:
                    continue
                a, b, together = np.int64(indptr[u]), np.int64(indptr[v]), 0
                while a < indptr[u + 1] and b < indptr[v + 1]:
                    if indices[a] == indices[b]:
                        together += 1
                        a += 1
                        b += 1
                    elif indices[a] < indices[b]:
                        a += 1
                    else:
                        b += 1
                joint[k, i, j] = joint[k, j, i] = together


# ------------------------------------------------------------------------------------------------------------------------
# Counts of sliding windows that contain words and pairs of words, for the few words and pairs requested.


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


# ------------------------------------------------------------------------------------------------------------------------
# Complete linkage with the tie rule of R's hclust; scipy's chain of neighbours breaks ties in another order.


@njit(nogil=True)
def complete_linkage(distances):  # type: ignore[no-untyped-def]
    """Return left (n-1,), right (n-1,) int64 and height (n-1,) float64 of the merges of n points, closest first.

    distances (n, n) float64, symmetric and finite, is overwritten. A cluster sits in the place of its first point; of
    equally close pairs of places (i, j), i < j, the first in the order of (i, j) merges. Node i < n is point i, node n+m
    is merge m; left is the node at place i, right the one at place j.
    """
    n = len(distances)
    left, right, height = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    node = np.arange(n)
    alive = np.ones(n, np.bool_)
    near, gap = np.zeros(n, np.int64), np.full(n, np.inf)  # of each place: the first of the nearest places after it
    for i in range(n - 1):
        for j in range(i + 1, n):
            if distances[i, j] < gap[i]:
                near[i], gap[i] = j, distances[i, j]
    for m in range(n - 1):
        a = 0  # the first place is never given up
        for i in range(1, n):
            if alive[i] and gap[i] < gap[a]:
                a = i
        b = near[a]
        left[m], right[m], height[m] = node[a], node[b], gap[a]
        node[a] = n + m
        alive[b] = False
        for k in range(n):
            if alive[k] and k != a and distances[b, k] > distances[a, k]:
                distances[a, k] = distances[k, a] = distances[b, k]
        # no pair comes closer: only who was nearest to a or b has to look again
        for i in range(b):
            if alive[i] and (i == a or near[i] == a or near[i] == b):
                gap[i] = np.inf
                for j in range(i + 1, n):
                    if alive[j] and distances[i, j] < gap[i]:
                        near[i], gap[i] = j, distances[i, j]
    return left, right, height
