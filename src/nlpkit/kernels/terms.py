"""Tokens to terms: what the codes of a batch stand for, counted on the way."""

from __future__ import annotations

from typing import Any

from numba import njit

WORD, NOTHING, OTHER = 1, 0, 2


@njit(cache=True, nogil=True)
def plain_words(arena: Any, starts: Any, ends: Any, longest: int, out: Any) -> None:
    """Tell of each string (T,) whether it is a word as it stands (a–z and 0–9 with a letter), nothing (digits, one byte), or other."""
    for t in range(len(starts)):
        letters = 0
        kind = WORD
        for i in range(starts[t], ends[t]):
            c = arena[i]
            if 97 <= c <= 122:
                letters += 1
            elif not 48 <= c <= 57:
                kind = OTHER
                break
        if kind == WORD and (letters == 0 or not 1 < ends[t] - starts[t] <= longest):
            kind = NOTHING
        out[t] = kind


@njit(cache=True, nogil=True)
def count_expanded(codes: Any, raw_ids: Any, starts: Any) -> int:
    """Return how many terms the tokens codes (N,) stand for; raw r stands for starts[r+1] - starts[r]."""
    n = 0
    for i in range(len(codes)):
        r = raw_ids[codes[i]]
        n += starts[r + 1] - starts[r]
    return n


@njit(cache=True, nogil=True)
def expand_terms(
    offsets: Any, codes: Any, raw_ids: Any, starts: Any, terms: Any,
    cf: Any, df: Any, last_doc: Any, first_doc: int, out_offsets: Any, out: Any,
) -> None:  # fmt: skip
    """Write the terms of each token into out and add to cf and df (V,); last_doc (V,) remembers where a term was last seen."""
    n = 0
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            r = raw_ids[codes[i]]
            for j in range(starts[r], starts[r + 1]):
                v = terms[j]
                out[n] = v
                n += 1
                cf[v] += 1
                if last_doc[v] != first_doc + d:
                    last_doc[v] = first_doc + d
                    df[v] += 1
        out_offsets[d + 1] = n


@njit(cache=True, nogil=True)
def count_ids(offsets: Any, ids: Any, cf: Any, df: Any, last_doc: Any, first_doc: int) -> None:
    """Add the ids (N,) of documents that end at offsets (D+1,) to cf and df (V,)."""
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            v = ids[i]
            cf[v] += 1
            if last_doc[v] != first_doc + d:
                last_doc[v] = first_doc + d
                df[v] += 1


@njit(cache=True, nogil=True)
def map_ids(offsets: Any, ids: Any, new_ids: Any, out_offsets: Any, out: Any) -> int:
    """Write new_ids[ids] into out without those that are -1; return how many are left."""
    n = 0
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            v = new_ids[ids[i]]
            if v >= 0:
                out[n] = v
                n += 1
        out_offsets[d + 1] = n
    return n
