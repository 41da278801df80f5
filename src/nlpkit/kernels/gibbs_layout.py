"""Tokens laid out for Gibbs sampling word by word, and the counts a chain starts from."""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit
from nlpkit.kernels.gibbs import COUNT_BITS, topic_width, uniform
from nlpkit.kernels.sorting import sort


@njit(nogil=True)
def sort_by_word(offsets, term_ids, n_terms):  # type: ignore[no-untyped-def]
    """Return word_start (V + 1,) int64, docs (N,) uint32 of the tokens sorted by word, and their places (N,) in that order.

    Tokens of one word keep the order of the corpus.
    """
    word_start = np.zeros(n_terms + 1, np.int64)
    for i in range(len(term_ids)):
        word_start[term_ids[i] + 1] += 1
    for v in range(n_terms):
        word_start[v + 1] += word_start[v]
    free = word_start[:-1].copy()
    docs = np.empty(len(term_ids), np.uint32)
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            v = term_ids[i]
            docs[free[v]] = d
            free[v] += 1
    return word_start, docs


@njit(nogil=True)
def to_word_order(term_ids, word_start, values, out):  # type: ignore[no-untyped-def]
    """Write values (N,) in corpus order to out (N,) in word order."""
    free = word_start[:-1].copy()
    for i in range(len(term_ids)):
        v = term_ids[i]
        out[free[v]] = values[i]
        free[v] += 1


@njit(nogil=True)
def to_corpus_order(term_ids, word_start, values, out):  # type: ignore[no-untyped-def]
    """Write values (N,) in word order to out (N,) in corpus order."""
    free = word_start[:-1].copy()
    for i in range(len(term_ids)):
        v = term_ids[i]
        out[i] = values[free[v]]
        free[v] += 1


@njit(nogil=True)
def block_bounds(offsets, term_ids, word_start, blocks):  # type: ignore[no-untyped-def]
    """Return bounds (B + 1, V) uint32 of `Layout` for document blocks (B + 1,): documents blocks[b] : blocks[b + 1]."""
    n_blocks, n_terms = len(blocks) - 1, len(word_start) - 1
    bounds = np.empty((n_blocks + 1, n_terms), np.uint32)
    free = word_start[:-1].copy()
    for b in range(n_blocks):
        for v in range(n_terms):
            bounds[b, v] = free[v]
        for i in range(offsets[blocks[b]], offsets[blocks[b + 1]]):
            free[term_ids[i]] += 1
    for v in range(n_terms):
        bounds[n_blocks, v] = free[v]
    return bounds


@njit(nogil=True)
def start_topics(initial, key, n_topics, z):  # type: ignore[no-untyped-def]
    """Write topics to z (N,) uint16: those of `initial` (N,) or (0,); where below 0 or absent, token i from the i-th number of `key`."""
    for i in range(len(z)):
        if len(initial) and initial[i] >= 0:
            z[i] = initial[i]
        else:
            z[i] = np.int64(uniform(key, np.uint64(i)) * n_topics)


@njit(nogil=True)
def topic_totals(layout, z, step):  # type: ignore[no-untyped-def]
    """Return n_k (K,) int64 of z (N,): sampled tokens count where step is 1, frozen ones always."""
    bounds, _, units = layout
    n_k = np.zeros(len(step), np.int64)
    frozen = len(bounds) - 2
    for v in range(bounds.shape[1]):
        for i in range(bounds[0, v], bounds[frozen + 1, v]):
            amount = np.int64(units[i]) if len(units) else 1
            n_k[z[i]] += amount if i >= bounds[frozen, v] else amount * step[z[i]]
    return n_k


@njit(nogil=True)
def fill_lists(layout, lists, z, n_docs_sampled):  # type: ignore[no-untyped-def]
    """Count the topics of documents into lists, which are empty before."""
    _, docs, units = layout
    start, length, entries = lists
    shift, topic_bits = topic_width(entries)
    for i in range(len(z)):
        d = docs[i]
        if d >= n_docs_sampled:
            continue
        at, n, topic = start[d], length[d], np.uint64(z[i])
        amount = (np.uint64(units[i]) if len(units) else np.uint64(1)) << shift
        for j in range(n):
            if entries[at + j] & topic_bits == topic:
                entries[at + j] += amount
                break
        else:
            entries[at + n] = amount | topic
            length[d] = n + 1


@njit(nogil=True)
def fill_word_lists(layout, word_lists, z, step):  # type: ignore[no-untyped-def]
    """Count the topics of the words that have room into their lists, which are empty before; step as in `Priors`."""
    bounds, _, units = layout
    start, length, entries = word_lists
    frozen = len(bounds) - 2
    counts = np.zeros(len(step), np.int64)
    for v in range(bounds.shape[1]):
        if start[v + 1] == start[v]:
            continue
        for i in range(bounds[0, v], bounds[frozen + 1, v]):
            amount = np.int64(units[i]) if len(units) else 1
            counts[z[i]] += amount if i >= bounds[frozen, v] else amount * step[z[i]]
        for i in range(bounds[0, v], bounds[frozen + 1, v]):
            k = z[i]
            if counts[k] > 0:
                entries[start[v] + length[v]] = np.uint64(counts[k]) << np.uint64(COUNT_BITS) | np.uint64(k)
                length[v] += 1
                counts[k] = 0


@njit(nogil=True)
def fill_from_counts(lists, indptr, topics, counts):  # type: ignore[no-untyped-def]
    """Write counts (R, K), CSR without zeros, to the lists of the rows that have room for them; the others stay empty."""
    start, length, entries = lists
    for r in range(len(length)):
        if start[r + 1] == start[r]:
            continue
        length[r] = indptr[r + 1] - indptr[r]
        for j in range(length[r]):
            i = indptr[r] + j
            entries[start[r] + j] = np.uint64(counts[i]) << np.uint64(COUNT_BITS) | np.uint64(topics[i])


@njit(nogil=True)
def read_lists(lists, n_docs):  # type: ignore[no-untyped-def]
    """Return the counts of the first documents as CSR (n_docs, K): indptr int64, topics int32 ascending, counts int64."""
    start, length, entries = lists
    shift, topic_bits = topic_width(entries)
    indptr = np.zeros(n_docs + 1, np.int64)
    longest = 0
    for d in range(n_docs):
        indptr[d + 1] = indptr[d] + length[d]
        longest = max(longest, length[d])
    topics = np.empty(indptr[n_docs], np.int32)
    counts = np.empty(indptr[n_docs], np.int64)
    turned = np.empty(longest, entries.dtype)  # topic << shift | count
    for d in range(n_docs):
        for j in range(length[d]):
            entry = entries[start[d] + j]
            turned[j] = (entry & topic_bits) << shift | entry >> shift
        sort(turned[: length[d]])
        for j in range(length[d]):
            topics[indptr[d] + j] = turned[j] >> shift
            counts[indptr[d] + j] = turned[j] & topic_bits
    return indptr, topics, counts
