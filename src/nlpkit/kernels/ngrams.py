"""N-grams as numbers: an n-gram is its prefix of n-1 terms, already numbered, and its last term."""

from __future__ import annotations

import numba
import numpy as np

from nlpkit.kernels.idtable import insert, with_room

# In the low half of a key, above the term: the prefix is an id of the table the key is in, not a term or a stem.
LINKED = 1 << 31


@numba.njit(nogil=True, cache=True)
def number_ngrams(stems, grams, offsets, term_ids, n_min, n_max, out_offsets, out_ids):  # type: ignore[no-untyped-def]
    """Number the n-grams of documents offsets (D+1,), term_ids (N,), n in n_min … n_max; return (stems, grams), grown.

    At each position stand the n-grams that begin there, short ones first. A term below 0 is a gap: no n-gram holds it.
    `grams` numbers the n-grams asked for, `stems` shorter ones of two terms and more that only begin them. A key is
    (prefix, last term): the prefix is nothing or a term in the shortest of a table, a stem where grams begin beyond 2, else
    LINKED. Fills out_offsets (D+1,) and out_ids, long enough for all; out_offsets[D] of them are filled.
    """
    cursor = np.zeros(3, np.int64)
    out_offsets[0] = 0
    while not _number_until_full(stems, grams, offsets, term_ids, n_min, n_max, out_offsets, out_ids, cursor):
        stems = with_room(stems, n_max)
        grams = with_room(grams, n_max)
    return stems, grams


@numba.njit(nogil=True, cache=True)
def _number_until_full(stems, grams, offsets, term_ids, n_min, n_max, out_offsets, out_ids, cursor):  # type: ignore[no-untyped-def]
    """Go on from cursor = (document, position, n-grams out); tell whether all is done or a table must grow."""
    doc, at, out = cursor
    while doc < len(offsets) - 1:
        end = offsets[doc + 1]
        while at < end:
            if grams.size[0] + n_max > len(grams.keys) or stems.size[0] + n_max > len(stems.keys):
                cursor[0], cursor[1], cursor[2] = doc, at, out
                return False
            prefix = np.int64(term_ids[at])
            if prefix >= 0 and n_min == 1:
                prefix = np.int64(insert(grams, prefix))
                out_ids[out] = prefix
                out += 1
            for n in range(2, min(n_max, end - at) + 1):
                last = np.int64(term_ids[at + n - 1])
                if prefix < 0 or last < 0:
                    break
                key = (prefix << 32) | last
                if n > n_min or (n < n_min and n > 2):
                    key |= LINKED
                if n < n_min:
                    prefix = np.int64(insert(stems, key))
                else:
                    prefix = np.int64(insert(grams, key))
                    out_ids[out] = prefix
                    out += 1
            at += 1
        doc += 1
        out_offsets[doc] = out
    return True


@numba.njit(nogil=True, cache=True)
def spell_ngrams(stem_keys, gram_keys, ids, n_min, words, lengths):  # type: ignore[no-untyped-def]
    """Fill words (M, n_max) int32 and lengths (M,) with the terms of the n-grams ids (M,); unused places keep their value."""
    for i in range(len(ids)):
        key, in_grams, n = gram_keys[ids[i]], True, 0
        while True:  # last term first
            words[i, n] = key & (LINKED - 1)
            n += 1
            prefix = key >> 32
            if key & LINKED:
                key = gram_keys[prefix] if in_grams else stem_keys[prefix]
            elif in_grams and n_min > 2:
                key, in_grams = stem_keys[prefix], False
            else:
                if n_min > 1:
                    words[i, n] = prefix
                    n += 1
                break
        words[i, :n] = words[i, :n][::-1].copy()
        lengths[i] = n


@numba.njit(nogil=True, cache=True)
def count_occurrences(offsets, ids, first_doc, cf, df, last_doc):  # type: ignore[no-untyped-def]
    """Add the occurrences and documents of ids (N,), grouped by offsets (D+1,), to cf and df (V,); ids below 0 are gaps.

    last_doc (V,) holds the last document of an id, -1 at first; the documents here are numbered from first_doc.
    """
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            t = ids[i]
            if t < 0:
                continue
            cf[t] += 1
            if last_doc[t] != first_doc + d:
                last_doc[t] = first_doc + d
                df[t] += 1
