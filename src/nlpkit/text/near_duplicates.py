"""Near-duplicates across the parts of a data set, such as test documents that also occur in the training set.

Similarity is that of `nlpkit.text.duplicates`: the Jaccard similarity of the two documents' sets of word triples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nlpkit.errors import UsageError
from nlpkit.kernels.minhash import EMPTY, band_tags, first_equals, nearest_in_band, set_keys
from nlpkit.text.duplicates import DEFAULT_THRESHOLD, LEAST_THRESHOLD, choose_bands, hash_functions, shingles_of
from nlpkit.types import BoolArray, FloatArray, IntArray, LongArray

MOST_DUPLICATES = 100  # of a document, among which the best is looked for
MOST_COMPARED = 1000  # candidates of a document: only texts that are one form filled in differently have so many
_BATCH = 10_000  # texts in lower case at a time


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """For each document, the most similar document of another part.

    nearest (D,) int32: its row, -1 for none; similarity (D,) from the threshold to 1, 0 for none. n_unresolved: documents without
    a near-duplicate that had more candidates than were compared.
    """

    nearest: IntArray
    similarity: FloatArray
    n_unresolved: int = 0


def find_near_duplicates(
    texts: pa.Array | pa.ChunkedArray, groups: IntArray, *, threshold: float = DEFAULT_THRESHOLD
) -> NearDuplicates:
    """Return for each document the most similar one of another part, if they are as similar as the threshold.

        J(A, B) = |A ∩ B| / |A ∪ B|   of the sets of word triples of two texts (Broder 1997; see `text.duplicates.Duplicates`)

    The similarity of two candidates is exact; of equal ones the lower row is taken. Candidates share a band of min-hashes,
    which 98 % of the pairs at the threshold do, and more above it; texts with the same set always find each other. Texts without
    any word or sign have no near-duplicate.

    A corpus of one form filled in n times has n² pairs of candidates: a search ends after 100 near-duplicates, the best of which
    is returned, or after 1,000 candidates; if there is no near-duplicate among these, the document counts as unresolved.

    Memory: 4 bytes a triple of the different sets, about 70 a document.

    Args:
        texts: (D,) string or large_string, null counts as empty.
        groups: (D,) the part of each document (0 training, 1 test; or its fold), -1 for a document of no part, which is ignored.
        threshold: least similarity, 0.3 to 1.

    Raises:
        UsageError: the threshold is another, or there is not one group per text.
    """
    if not LEAST_THRESHOLD <= threshold <= 1:
        raise UsageError(
            f"near-duplicates are documents with a similarity from {LEAST_THRESHOLD} to 1, got {threshold:g}",
            parameter="threshold",
        )
    if len(texts) != len(groups):
        raise UsageError(f"each text needs a group, got {len(texts)} texts and {len(groups)} groups")
    D = len(texts)
    nearest, similarity = np.full(D, EMPTY, np.int32), np.zeros(D)
    inside = np.flatnonzero(np.asarray(groups) >= 0)
    if len(np.unique(np.asarray(groups)[inside])) < 2:
        return NearDuplicates(nearest, similarity)
    kept = texts if len(inside) == D else texts.take(pa.array(inside))
    sets, offsets, hashes = _different_sets(kept)
    there = sets >= 0
    rows = inside[there].astype(np.int32)
    parts_of_rows, members = np.asarray(groups)[rows].astype(np.int32), sets[there]
    U = len(offsets) - 1
    if not U:
        return NearDuplicates(nearest, similarity)
    places, parts = _places(rows, parts_of_rows, members, U)
    best, highest, cut = np.full(U, EMPTY, np.int32), np.zeros(U), np.zeros(U, np.bool_)
    if threshold < 1:
        cut = _compare(offsets, hashes, parts, places, threshold, best, highest)
    in_several = parts[members] < 0  # the same set is in another part
    lowest, other = places[members, 0], places[members, 1]
    equal_sets = np.where(places[members, 2] == parts_of_rows, other, lowest)
    nearest[rows] = np.where(in_several, equal_sets, best[members])
    similarity[rows] = np.where(in_several, 1.0, highest[members])
    return NearDuplicates(nearest, similarity, int((cut[members] & (nearest[rows] == EMPTY)).sum()))


def _different_sets(texts: pa.Array | pa.ChunkedArray) -> tuple[IntArray, LongArray, npt.NDArray[np.uint32]]:
    """Return the number of the set of each text, -1 for empty ones, and the different sets in the order they come in."""
    D = len(texts)
    # as if every text were another: one entry, one key and one number each
    heads, nexts = np.full(1 << max(10, D.bit_length()), EMPTY, np.int32), np.zeros(D, np.int32)
    known = np.zeros((D, 2), np.uint64)
    sets = np.empty(D, np.int32)
    _, multipliers = hash_functions(4)
    sizes: list[LongArray] = []
    pieces: list[npt.NDArray[np.uint32]] = []
    n = 0
    for start in range(0, D, _BATCH):
        batch = texts.slice(start, _BATCH)
        offsets, hashes = shingles_of(batch.combine_chunks() if isinstance(batch, pa.ChunkedArray) else batch)
        keys = np.empty((len(batch), 2), np.uint64)
        set_keys(offsets, hashes, multipliers, keys)
        batch_sets = sets[start : start + len(batch)]
        first = n
        n = first_equals(keys, heads, nexts, known, n, batch_sets)
        lengths = np.diff(offsets)
        new = (batch_sets == EMPTY) & (lengths > 0)
        batch_sets[new] = np.arange(first, n, dtype=np.int32)
        sizes.append(lengths[new])
        pieces.append(hashes[np.repeat(new, lengths)])
    return sets, np.concatenate([[0], *sizes]).cumsum(dtype=np.int64), np.concatenate(pieces or [_NOTHING])


_NOTHING = np.zeros(0, np.uint32)


def _places(rows: IntArray, parts: IntArray, sets: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return of each set the lowest row, the lowest of another part, and the part of the first (U, 3); and its only part (U,).

    rows ascend; a set in several parts has the part -1.
    """
    _, at = np.unique(sets, return_index=True)  # the first of each, so that of the lowest row
    places = np.full((n, 3), EMPTY, np.int32)
    places[:, 0], places[:, 2] = rows[at], parts[at]
    others = np.flatnonzero(parts != places[sets, 2])
    several, at = np.unique(sets[others], return_index=True)
    places[several, 1] = rows[others[at]]
    return places, np.where(places[:, 1] >= 0, np.int32(EMPTY), places[:, 2])


def _compare(
    offsets: LongArray,
    hashes: npt.NDArray[np.uint32],
    parts: IntArray,
    places: IntArray,
    threshold: float,
    best: IntArray,
    highest: FloatArray,
) -> BoolArray:
    """Fill in the best near-duplicate of each set that is in one part only; return for which the search was cut short (U,)."""
    bands, per_band = choose_bands(threshold)
    seeds, multipliers = hash_functions(bands * per_band)
    tags = np.empty((len(parts), bands), np.uint32)
    band_tags(offsets, hashes, seeds, multipliers, tags)
    n_found = np.zeros((len(parts), 2), np.int32)
    limits = np.array([MOST_DUPLICATES, MOST_COMPARED], np.int32)
    for band in range(bands):
        keys = (tags[:, band].astype(np.uint64) << np.uint64(32)) | (parts + np.int64(1)).astype(np.uint64)
        order = np.argsort(keys, kind="stable").astype(np.int32)
        nearest_in_band(order, tags, band, parts, places, offsets, hashes, threshold, limits, n_found, best, highest)
    return n_found[:, 1] >= MOST_COMPARED
