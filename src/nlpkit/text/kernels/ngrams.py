"""The compiled loops over term ids: n-grams, neighbouring pairs, phrases, and word counts by group.

Parts, in this order:
- N-grams as numbers: an n-gram is its first n-1 terms, already numbered, and its last term.
- Neighbouring terms counted, and phrases joined.
- Words counted by group, and when each was first seen.
"""

from __future__ import annotations

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.platform.kernels.arrays import longer
from nlpkit.platform.kernels.idtable import AHEAD, expect_key, expect_slot, find, insert, with_room

# In the low half of a key, above the last term: the high half is the id of an n-gram of the same table.
LINKED = 1 << 31


@njit(nogil=True)
def number_ngrams(stems, grams, unigrams, offsets, term_ids, n_min, n_max, out_offsets, out_ids):  # type: ignore[no-untyped-def]
    """Number the n-grams of documents offsets (D+1,), term_ids (N,), n in n_min … n_max; return (stems, grams), grown.

    Of each document first the n-grams of n_min terms, then those of one more …, each in order of position. A term below 0
    is a gap: no n-gram holds it. `grams` numbers the n-grams asked for, `stems` those of 2 … n_min-1 terms, which only begin
    them. Keys: -1 - term of a unigram; (term, term) of a bigram; (prefix, last term) of longer ones, LINKED unless the prefix
    of an n-gram is a stem. unigrams (V,): ids in grams, -1 for none. Fills out_offsets (D+1,) and out_ids, which has
    room for all.
    """
    longest = 0
    for d in range(len(offsets) - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    prefixes = np.empty(longest, np.int64)
    cursor = np.array([0, 1, 0, 0])
    out_offsets[0] = 0
    while not _number_until_full(
        stems, grams, unigrams, offsets, term_ids, n_min, n_max, prefixes, out_offsets, out_ids, cursor
    ):
        stems = with_room(stems, 1)
        grams = with_room(grams, 1)
    return stems, grams


@njit(nogil=True)
def _number_until_full(  # type: ignore[no-untyped-def]
    stems, grams, unigrams, offsets, term_ids, n_min, n_max, prefixes, out_offsets, out_ids, cursor
):
    """Continue from cursor = (document, n, position in it, n-grams out); return whether all is done, else a table must grow.

    prefixes (longest document,): at each position the n-gram of the last n there, -1 for none.
    """
    doc, n, at, out = cursor
    while doc < len(offsets) - 1:
        terms = term_ids[offsets[doc] : offsets[doc + 1]]
        while n <= n_max:
            table = grams if n >= n_min else stems
            linked = LINKED if n > 2 and n != n_min else 0
            while at <= len(terms) - n:
                if table.size[0] == len(table.keys):
                    cursor[0], cursor[1], cursor[2], cursor[3] = doc, n, at, out
                    return False
                last = np.int64(terms[at + n - 1])
                ngram = np.int64(-1)
                if n == 1:
                    prefixes[at] = last
                    if n_min > 1 or last < 0:
                        at += 1
                        continue
                    ngram = np.int64(unigrams[last])
                    if ngram < 0:
                        ngram = np.int64(insert(table, -1 - last))
                        unigrams[last] = ngram
                else:
                    far = at + AHEAD
                    if far <= len(terms) - n:
                        expect_slot(table, (prefixes[far] << 32) | linked | terms[far + n - 1])
                        far -= AHEAD // 2
                        expect_key(table, (prefixes[far] << 32) | linked | terms[far + n - 1])
                    if prefixes[at] >= 0 and last >= 0:
                        ngram = np.int64(insert(table, (prefixes[at] << 32) | linked | last))
                    prefixes[at] = ngram
                if ngram >= 0 and n >= n_min:
                    out_ids[out] = ngram
                    out += 1
                at += 1
            n, at = n + 1, 0
        doc, n = doc + 1, 1
        out_offsets[doc] = out
    return True


@njit(nogil=True)
def spell_ngrams(stem_keys, gram_keys, ids, n_min, words, lengths):  # type: ignore[no-untyped-def]
    """Fill words (M, n_max) int32 and lengths (M,) with the terms of the n-grams ids (M,); unused places keep their value."""
    for i in range(len(ids)):
        key, in_grams, n = gram_keys[ids[i]], True, 0
        while key >= 0:  # last term first
            words[i, n] = key & (LINKED - 1)
            n += 1
            prefix = key >> 32
            if key & LINKED:
                key = gram_keys[prefix] if in_grams else stem_keys[prefix]
            elif in_grams and n_min > 2:
                key, in_grams = stem_keys[prefix], False
            else:
                key = -1 - prefix
        words[i, n] = -1 - key
        n += 1
        for j in range(n // 2):
            words[i, j], words[i, n - 1 - j] = words[i, n - 1 - j], words[i, j]
        lengths[i] = n


# ------------------------------------------------------------------------------------------------------------------------
# Neighbouring terms counted, and phrases joined.


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


# ------------------------------------------------------------------------------------------------------------------------
# Words counted by group, and when each was first seen.

PIECE = 4096  # tokens between two looks at the room in the table


@njit(nogil=True, work="ids")
def tally_words(table, offsets, ids, groups, first_doc, n_tokens, cf, df, last_doc, first_seen):  # type: ignore[no-untyped-def]
    """Count the words of documents offsets (D+1,), ids (N,), groups (D,); return the table and the arrays, grown if need be.

    A word of a group has the key group << 32 | id and a slot in the table; an id or group below 0 is left out. By slot:
    cf, df occurrences and documents, last_doc the last of these (documents are numbered from first_doc), first_seen the
    place 1 … of the first occurrence among the tokens of its group. n_tokens (G,) counts the tokens of each group.
    """
    for d in range(len(offsets) - 1):
        group = np.int64(groups[d])
        if group < 0:
            continue
        at = n_tokens[group]
        for start in range(offsets[d], offsets[d + 1], PIECE):
            end = min(start + PIECE, offsets[d + 1])
            table = with_room(table, PIECE)
            room = len(table.keys)
            if room > len(cf):
                cf, df = longer(cf, room), longer(df, room)
                last_doc, first_seen = longer(last_doc, room), longer(first_seen, room)
            for i in range(start, end):
                if ids[i] < 0:
                    continue
                at += 1
                slot = insert(table, (group << 32) | np.int64(ids[i]))
                if cf[slot] == 0:
                    first_seen[slot] = at
                    last_doc[slot] = -1
                cf[slot] += 1
                if last_doc[slot] != first_doc + d:
                    last_doc[slot] = first_doc + d
                    df[slot] += 1
        n_tokens[group] = at
    return table, cf, df, last_doc, first_seen
