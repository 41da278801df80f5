"""Sets of word shingles, their min-hashes in bands, and an index of the documents kept so far.

Hashes are 32-bit numbers held in uint64 wherever they are multiplied, so that no product overflows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.platform.kernels.arrays import copy_into, sort

MASK = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
QUARTER = np.uint64(15)
SIX, TAIL, LEAD2, LEAD3, LEAD4 = (
    np.uint64(6),
    np.uint64(0x3F),
    np.uint64(0x1F),
    np.uint64(0x0F),
    np.uint64(0x07),
)  # UTF-8
START, PRIME, FINAL = np.uint64(0x811C9DC5), np.uint64(0x01000193), np.uint64(0x9E3779B1)
SEPARATOR, LETTER, WORD = 0, 1, 2  # what a character is: between words, in a word, a word by itself
EMPTY = -1


class Kept(NamedTuple):
    """The documents kept so far, n of them, in arrays with room for more.

    heads (C,) int32: first entry of each bucket, C a power of two, -1 for none. tags (N, B) uint32 and nexts (N, B) int32:
    entry e = n * B + b is band b of document n, nexts the entry after it in its bucket. offsets (N+1,) int64: document n
    keeps hashes[offsets[n]:offsets[n+1]], uint32, ascending; sizes (N,) int32 of its whole set. seen (N,) int64: the last
    query that came across it.
    """

    heads: np.ndarray
    tags: np.ndarray
    nexts: np.ndarray
    offsets: np.ndarray
    hashes: np.ndarray
    sizes: np.ndarray
    seen: np.ndarray


@njit(nogil=True)
def mix(x, multiplier):  # type: ignore[no-untyped-def]
    """Fold the halves of a product of two 32-bit numbers into 32 bits."""
    product = x * multiplier
    return (product ^ (product >> HALF)) & MASK


@njit(nogil=True)
def decode(data, at):  # type: ignore[no-untyped-def]
    """Return the code point of the UTF-8 character at a byte, and where the next one begins."""
    first = np.uint64(data[at])
    if first < 0x80:
        return first, at + 1
    second = np.uint64(data[at + 1]) & TAIL
    if first < 0xE0:
        return ((first & LEAD2) << SIX) | second, at + 2
    third = np.uint64(data[at + 2]) & TAIL
    if first < 0xF0:
        return ((((first & LEAD3) << SIX) | second) << SIX) | third, at + 3
    fourth = np.uint64(data[at + 3]) & TAIL
    return ((((((first & LEAD4) << SIX) | second) << SIX) | third) << SIX) | fourth, at + 4


@njit(nogil=True)
def hash_words(data, start, end, classes, out, at):  # type: ignore[no-untyped-def]
    """Write the hash of each word of the UTF-8 bytes data[start:end] to out from `at` on; return where it ends.

    classes (C,) uint8 of the code points below C; those above are words by themselves.
    """
    inside, value = False, START
    i = start
    while i < end:
        point, i = decode(data, i)
        kind = classes[point] if point < len(classes) else WORD
        if inside and kind != LETTER:
            out[at] = mix(value, FINAL)
            at += 1
            inside = False
        if kind == WORD:
            out[at] = mix(START ^ point, FINAL)
            at += 1
        elif kind == LETTER:
            value = (((value if inside else START) ^ point) * PRIME) & MASK
            inside = True
    if inside:
        out[at] = mix(value, FINAL)
        at += 1
    return at


@njit(nogil=True)
def shingle_sets(data, text_offsets, classes, anything, width, offsets, out):  # type: ignore[no-untyped-def]
    """Fill out with the set of shingles of each text as ascending 32-bit hashes; offsets (D+1,) hold where each begins.

    A shingle is `width` words in a row, or all words of a text with fewer. Where there is no word, `anything` (C,) takes
    the place of `classes`. out (uint32) has room for a hash per byte of the texts.
    """
    at = 0
    offsets[0] = 0
    for d in range(len(text_offsets) - 1):
        start, end = text_offsets[d], text_offsets[d + 1]
        stop = hash_words(data, start, end, classes, out, at)
        if stop == at:
            stop = hash_words(data, start, end, anything, out, at)
        n_words = stop - at
        n = min(width, n_words)
        for i in range(at, stop - n + 1 if n else at):
            value = START
            for j in range(i, i + n):
                value = ((value ^ np.uint64(out[j])) * PRIME) & MASK
                value ^= value >> QUARTER
            out[i] = mix(value, FINAL)
        first, last = at, stop - n + 1 if n else at
        sort(out[first:last])
        for i in range(first, last):
            if i == first or out[i] != out[at - 1]:
                out[at] = out[i]
                at += 1
        offsets[d + 1] = at


@njit(nogil=True)
def band_tags(offsets, hashes, seeds, multipliers, tags):  # type: ignore[no-untyped-def]
    """Fill tags (D, B) uint32: the min-hashes of each set under K = len(seeds) functions, K/B of them folded into a tag.

    Function k of a hash x is mix(x ^ seeds[k], multipliers[k]); seeds, multipliers (K,) uint64 below 2**32.
    """
    D, B = tags.shape
    K = len(seeds)
    rows = K // B
    least = np.empty(K, np.uint64)
    for d in range(D):
        least[:] = MASK
        for i in range(offsets[d], offsets[d + 1]):
            x = np.uint64(hashes[i])
            for k in range(K):
                value = mix(x ^ seeds[k], multipliers[k])
                least[k] = min(least[k], value)
        for b in range(B):
            value = START ^ np.uint64(b)
            for k in range(b * rows, (b + 1) * rows):
                value = mix(value ^ least[k], FINAL)
            tags[d, b] = value


@njit(nogil=True)
def jaccard(a, a_start, a_size, b, b_start, b_size, most):  # type: ignore[no-untyped-def]
    """Return |A ∩ B| / |A ∪ B| of two sets given by their least hashes, ascending, `most` at most.

    Exact when both are whole (size <= most); else the share of common ones among the `most` least of the union.
    """
    a_end, b_end = a_start + min(a_size, most), b_start + min(b_size, most)
    limit = most if max(a_size, b_size) > most else a_size + b_size
    i, j, union, common = a_start, b_start, 0, 0
    while union < limit and (i < a_end or j < b_end):
        if j == b_end or (i < a_end and a[i] < b[j]):
            i += 1
        elif i == a_end or b[j] < a[i]:
            j += 1
        else:
            i += 1
            j += 1
            common += 1
        union += 1
    return common / union


@njit(nogil=True)
def link(kept, n):  # type: ignore[no-untyped-def]
    """Put the entries of document n first into their buckets."""
    B = kept.tags.shape[1]
    last = len(kept.heads) - 1
    for b in range(B):
        bucket = np.int64(kept.tags[n, b]) & last
        kept.nexts[n, b] = kept.heads[bucket]
        kept.heads[bucket] = n * B + b


@njit(nogil=True)
def link_all(kept, n):  # type: ignore[no-untyped-def]
    """Put the entries of the first n documents into empty buckets."""
    for i in range(n):
        link(kept, i)


@njit(nogil=True)
def drop_or_keep(offsets, hashes, tags, threshold, most, kept, n, asked, nearest, similarities):  # type: ignore[no-untyped-def]
    """Fill nearest (D,) int32 with the kept document most like each one, -1 for none; keep those without; return the new n.

    Near-duplicates share a tag, are not too different in size and have a Jaccard similarity of at least the threshold, which goes
    into similarities (D,) float64; of equals the one kept first. offsets, hashes: as of `shingle_sets`; an empty set has no
    near-duplicate and is not kept. `kept` has room for D more; asked: documents seen before.
    """
    D, B = tags.shape
    last = len(kept.heads) - 1
    for d in range(D):
        start = offsets[d]
        size = offsets[d + 1] - start
        best, highest = EMPTY, 0.0
        for b in range(B if size else 0):
            entry = kept.heads[np.int64(tags[d, b]) & last]
            while entry != EMPTY:
                other, band = entry // B, entry % B
                entry = kept.nexts[other, band]
                if kept.seen[other] == asked + d or kept.tags[other, band] != tags[d, b]:
                    continue
                kept.seen[other] = asked + d
                other_size = np.int64(kept.sizes[other])
                larger = max(size, other_size)
                if min(size, other_size) < threshold * larger - 1e-6:  # even a subset is not that similar
                    continue
                similarity = jaccard(hashes, start, size, kept.hashes, kept.offsets[other], other_size, most)
                if similarity > highest or (similarity == highest and other < best):
                    best, highest = other, similarity
        if highest < threshold - 1e-9:
            best, highest = EMPTY, 0.0
        nearest[d] = best
        similarities[d] = highest
        if size and best == EMPTY:
            held = min(size, most)
            copy_into(kept.tags[n], tags[d])
            kept.sizes[n] = size
            kept.seen[n] = EMPTY
            copy_into(kept.hashes[kept.offsets[n] :], hashes[start : start + held])
            kept.offsets[n + 1] = kept.offsets[n] + held
            link(kept, n)
            n += 1
    return n


@njit(nogil=True)
def first_equals(keys, heads, nexts, known, n, nearest):  # type: ignore[no-untyped-def]
    """Fill nearest (D,) int32 with the first document of the same key, -1 for none; keep those without; return the new n.

    keys (D, 2) uint64, (0, 0) for a document that equals no other by definition; heads, nexts as of `Kept` with one band;
    known (N, 2): the keys kept so far, n of them, with room for D more.
    """
    last = np.uint64(len(heads) - 1)
    for d in range(len(keys)):
        nearest[d] = EMPTY
        if keys[d, 0] == 0 and keys[d, 1] == 0:
            continue
        bucket = keys[d, 0] & last
        other = heads[bucket]
        while other != EMPTY and (known[other, 0] != keys[d, 0] or known[other, 1] != keys[d, 1]):
            other = nexts[other]
        nearest[d] = other
        if other == EMPTY:
            copy_into(known[n], keys[d])
            nexts[n] = heads[bucket]
            heads[bucket] = n
            n += 1
    return n


@njit(nogil=True)
def link_keys(heads, nexts, known, n):  # type: ignore[no-untyped-def]
    """Put the first n keys into empty buckets."""
    last = np.uint64(len(heads) - 1)
    for i in range(n):
        bucket = known[i, 0] & last
        nexts[i] = heads[bucket]
        heads[bucket] = i


@njit(nogil=True)
def set_keys(offsets, hashes, multipliers, keys):  # type: ignore[no-untyped-def]
    """Fill keys (D, 2) uint64 with 128 bits that stand for each set, (0, 0) for an empty one; multipliers (4,) as of `mix`."""
    for d in range(len(offsets) - 1):
        keys[d] = 0
        if offsets[d] == offsets[d + 1]:
            continue
        for k in range(2):
            first, second = START, START
            for i in range(offsets[d], offsets[d + 1]):
                x = np.uint64(hashes[i])
                first = mix(first ^ x, multipliers[2 * k])
                second = mix(second ^ x, multipliers[2 * k + 1])
            keys[d, k] = (first << HALF) | second
        keys[d, 0] |= np.uint64(1)  # never (0, 0)


@njit(nogil=True)
def nearest_in_band(order, tags, band, parts, rows, offsets, hashes, threshold, limits, n_found, nearest, similarities):  # type: ignore[no-untyped-def]
    """Compare the sets that share their tag in one band with those of other parts, and keep the most similar one of each.

    order (U,): the sets, ascending by tag, then by part. tags (U, B). parts (U,): the only part a set is in, -1 for one that
    is in several: it is compared with all, and no near-duplicate is searched for it. rows (U, 3): the lowest row of a set, the
    lowest of any other part than that one's, and the part of the first. offsets, hashes: as of `shingle_sets`. Pairs that met in a band
    before are passed over. n_found (U, 2): near-duplicates seen, and sets compared so far; at `limits` (2,) of either the search ends.
    nearest (U,), similarities (U,): the best so far, of equals the lower row.
    """
    U = len(order)
    start = 0
    while start < U:
        tag = tags[order[start], band]
        end = start + 1
        while end < U and tags[order[end], band] == tag:
            end += 1
        first = start
        while first < end and end - start > 1:
            part = parts[order[first]]
            last = first + 1
            while last < end and parts[order[last]] == part:
                last += 1
            for i in range(first, last if part >= 0 else first):
                u = order[i]
                j = start if first > start else last  # all of the run but what is of the same part
                while j < end and n_found[u, 0] < limits[0] and n_found[u, 1] < limits[1]:
                    v = order[j]
                    j += 1
                    if j == first:
                        j = last
                    seen = False
                    for b in range(band):
                        seen = seen or tags[u, b] == tags[v, b]
                    if seen:
                        continue
                    size, other = offsets[u + 1] - offsets[u], offsets[v + 1] - offsets[v]
                    larger = max(size, other)
                    if min(size, other) < threshold * larger - 1e-6:  # even a subset is not that similar
                        continue
                    n_found[u, 1] += 1
                    similarity = jaccard(hashes, offsets[u], size, hashes, offsets[v], other, larger)
                    if similarity < threshold - 1e-9:
                        continue
                    n_found[u, 0] += 1
                    row = rows[v, 1] if parts[v] < 0 and rows[v, 2] == part else rows[v, 0]
                    if similarity > similarities[u] or (similarity == similarities[u] and row < nearest[u]):
                        nearest[u], similarities[u] = row, similarity
            first = last
        start = end
