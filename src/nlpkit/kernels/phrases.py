"""Neighbouring terms counted, and phrases joined."""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit
from nlpkit.kernels.arrays import longer
from nlpkit.kernels.idtable import AHEAD, expect_key, expect_slot, find, insert, with_room
from nlpkit.kernels.ngrams import LINKED


@njit(nogil=True)
def count_pairs(table, counts, offsets, term_ids, connects, frequent, max_between, before, after):  # type: ignore[no-untyped-def]
    """Count pairs of terms that follow each other in documents offsets (D+1,), term_ids (N,); return (table, counts), grown.

    A pair is two terms that do not connect, with nothing or 1 … max_between terms that do between them. A term below 0 is a
    gap. connects, frequent (V,) bool; before, after (V,) int64 count in how many pairs a term is the first and the last. Pairs
    of two frequent terms also get an id in `table`, whose keys are those of number_ngrams with n_min = 2, and a count in
    counts (len(table.keys),) int64; a key that only leads to such a pair (bank, of) counts 0.
    """
    cursor = np.array([0, 0, -1])
    while not _count_until_full(
        table, counts, offsets, term_ids, connects, frequent, max_between, before, after, cursor
    ):
        table = with_room(table, max_between + 1)
        counts = longer(counts, len(table.keys))
    return table, counts


@njit(nogil=True)
def _count_until_full(  # type: ignore[no-untyped-def]
    table, counts, offsets, term_ids, connects, frequent, max_between, before, after, cursor
):
    """Continue from cursor = (document, position, position of the first term or -1); return whether all is done, else the table
    must grow."""
    doc, at, first = cursor
    while doc < len(offsets) - 1:
        at = max(at, offsets[doc])
        while at < offsets[doc + 1]:
            if table.size[0] + max_between >= len(table.keys):
                cursor[0], cursor[1], cursor[2] = doc, at, first
                return False
            if at + AHEAD < len(term_ids):
                far = at + AHEAD
                expect_slot(table, (np.int64(term_ids[far - 1]) << 32) | term_ids[far])
                far -= AHEAD // 2
                expect_key(table, (np.int64(term_ids[far - 1]) << 32) | term_ids[far])
            term = term_ids[at]
            if term < 0 or (connects[term] and at - first > max_between):
                first = -1
            elif not connects[term]:
                if first >= 0:
                    x = term_ids[first]
                    before[x] += 1
                    after[term] += 1
                    if frequent[x] and frequent[term]:
                        key = (np.int64(x) << 32) | term_ids[first + 1]
                        for i in range(first + 2, at + 1):
                            key = (np.int64(insert(table, key)) << 32) | LINKED | term_ids[i]
                        counts[insert(table, key)] += 1
                first = at
            at += 1
        doc, first = doc + 1, -1
    return True


@njit(nogil=True, work="term_ids")
def count_window_pairs(table, counts, offsets, term_ids, window, wanted, nodes, before, after):  # type: ignore[no-untyped-def]
    """Count pairs of terms at most `window` places apart in documents offsets (D+1,), term_ids (N,); return (table, counts), grown.

    before, after (V,) int64 count in how many pairs a term is the first and the second. Pairs of two wanted terms, one of them a
    node, also get an id in `table`, whose keys are first << 32 | second, and a count in counts (len(table.keys),) int64. wanted,
    nodes (V,) bool. A term below 0 takes a place and is in no pair.
    """
    cursor = np.array([0, 0])
    while not _count_windows_until_full(table, counts, offsets, term_ids, window, wanted, nodes, before, after, cursor):
        table = with_room(table, window)
        counts = longer(counts, len(table.keys))
    return table, counts


@njit(nogil=True)
def _count_windows_until_full(  # type: ignore[no-untyped-def]
    table, counts, offsets, term_ids, window, wanted, nodes, before, after, cursor
):
    """Continue from cursor = (document, position); return whether all is done, else the table must grow.

    A position inserts at most one key for each of the `window` places before it: a table with room for as many holds them.
    """
    doc, at = cursor
    while doc < len(offsets) - 1:
        begin = offsets[doc]
        at = max(at, begin)
        while at < offsets[doc + 1]:
            if table.size[0] + window > len(table.keys):
                cursor[0], cursor[1] = doc, at
                return False
            second = term_ids[at]
            if second >= 0:
                for i in range(max(begin, at - window), at):
                    first = term_ids[i]
                    if first < 0:
                        continue
                    before[first] += 1
                    after[second] += 1
                    if wanted[first] and wanted[second] and (nodes[first] or nodes[second]):
                        counts[insert(table, (np.int64(first) << 32) | second)] += 1
            at += 1
        doc += 1
    return True


@njit(nogil=True)
def join_phrases(table, joined, begins, offsets, term_ids, out_offsets, out_ids):  # type: ignore[no-untyped-def]
    """Put one id for each phrase in documents offsets (D+1,), term_ids (N,); from the left, the longest one at each place.

    The phrases are a tree whose nodes `table` numbers: begins (V,) int32 is the node of a first term, -1 if no phrase begins
    with it; (node, term) is the key of the next one; joined (nodes,) int32 is the id of the phrase that ends there, -1 if
    none does. A term below 0 is a gap. Fills out_offsets (D+1,) and out_ids (N,); out_offsets[D] of them are filled.
    """
    out = 0
    out_offsets[0] = 0
    for d in range(len(offsets) - 1):
        at, end = offsets[d], offsets[d + 1]
        while at < end:
            term = term_ids[at]
            best, length = term, 1
            node = begins[term] if term >= 0 else np.int32(-1)
            ahead = at + 1
            while node >= 0 and ahead < end and term_ids[ahead] >= 0:
                node = find(table, (np.int64(node) << 32) | term_ids[ahead])
                ahead += 1
                if node >= 0 and joined[node] >= 0:
                    best, length = joined[node], ahead - at
            out_ids[out] = best
            out += 1
            at += length
        out_offsets[d + 1] = out
