"""Tokens to terms: the codes of a batch are mapped and counted in one pass."""

from __future__ import annotations

from typing import Any

from nlpkit.kernels import njit

WORD, NOTHING, OTHER = 1, 0, 2


@njit(nogil=True, work="starts")
def plain_words(arena: Any, starts: Any, ends: Any, longest: int, apostrophes: bool, out: Any) -> None:
    """Classify each string (T,): a word as it stands, nothing, or other.

    A word is a–z and 0–9 with a letter in it; hyphens, ampersands, underscores and, if they may stay, apostrophes in its
    midst. Nothing is digits alone, and one byte.
    """
    for t in range(len(starts)):
        letters, joins = 0, 0
        kind = WORD
        for i in range(starts[t], ends[t]):
            c = arena[i]
            if 97 <= c <= 122:
                letters += 1
            elif not 48 <= c <= 57:
                inside = starts[t] < i < ends[t] - 1
                if not inside or not (c == 45 or c == 38 or c == 95 or (c == 39 and apostrophes)):
                    kind = OTHER
                    break
                joins += 1
        if kind == WORD and (letters == 0 or not 1 < ends[t] - starts[t] <= longest):
            kind = NOTHING if joins == 0 else OTHER
        out[t] = kind


@njit(nogil=True, work="raw_ids")
def local_terms(
    raw_ids: Any, starts: Any, terms: Any, raw_cf: Any, raw_df: Any, users: Any, out: Any, cf: Any, df: Any
) -> int:
    """Write what each type (T,) of a batch stands for: a term, -1 for none, -2 for several terms or a term of several types.

    Adds the counts of the types with a term of their own to cf and df (V,). users (V,) uint8 zeros. Returns how many
    tokens come of the others at most.
    """
    for t in range(len(raw_ids)):
        for j in range(starts[raw_ids[t]], starts[raw_ids[t] + 1]):
            users[terms[j]] = min(users[terms[j]] + 1, 2)
    n_tokens = 0
    for t in range(len(raw_ids)):
        first, last = starts[raw_ids[t]], starts[raw_ids[t] + 1]
        if first == last:
            out[t] = -1
        elif last - first > 1 or users[terms[first]] > 1:
            out[t] = -2
            n_tokens += raw_cf[t] * (last - first)
        else:
            out[t] = terms[first]
            cf[terms[first]] += raw_cf[t]
            df[terms[first]] += raw_df[t]
            n_tokens += raw_cf[t]
    return n_tokens


@njit(nogil=True, work="codes")
def expand_terms(
    offsets: Any, codes: Any, local: Any, raw_ids: Any, starts: Any, terms: Any,
    cf: Any, df: Any, last_doc: Any, first_doc: int, out_offsets: Any, out: Any,
) -> int:  # fmt: skip
    """Write the terms of each token into out; count those that `local_terms` did not. Return how many there are."""
    n = 0
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            v = local[codes[i]]
            if v >= 0:
                out[n] = v
                n += 1
            elif v == -2:
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
    return n


@njit(nogil=True, work="ids")
def count_ids(offsets: Any, ids: Any, cf: Any, df: Any, last_doc: Any, first_doc: int) -> None:
    """Add the ids (N,) of documents that end at offsets (D+1,) to cf and df (V,)."""
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            v = ids[i]
            cf[v] += 1
            if last_doc[v] != first_doc + d:
                last_doc[v] = first_doc + d
                df[v] += 1


@njit(nogil=True, work="ids")
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
