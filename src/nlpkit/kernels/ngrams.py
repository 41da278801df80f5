"""N-grams as numbers: an n-gram is its first n-1 terms, already numbered, and its last term."""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit
from nlpkit.kernels.idtable import AHEAD, expect_key, expect_slot, insert, with_room

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
