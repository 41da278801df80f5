"""Duplicate documents: exact copies by hash and near-duplicates by min-hash, within a corpus and across its splits.

One pass, in the order of the corpus; what is dropped does not depend on how the corpus is cut into batches.

Parts, in this order:
- Duplicates within a corpus: the first one stays.
- Near-duplicates across the parts of a data set, such as test documents that also occur in the training set.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import OutOfMemoryError, UsageError
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray, check_width
from nlpkit.text.kernels.minhash import (
    EMPTY,
    LETTER,
    SEPARATOR,
    WORD,
    Kept,
    band_tags,
    drop_or_keep,
    first_equals,
    link_all,
    link_keys,
    nearest_in_band,
    set_keys,
    shingle_sets,
)

DEFAULT_THRESHOLD = 0.9
LEAST_THRESHOLD = 0.3
SHINGLE = 3  # words
MOST_HASHES = 96  # of a document that are kept to compare it; documents with no more shingles are compared exactly
RECALL = 0.98  # of two documents just as similar as the threshold
MOST_FUNCTIONS = 96
_POINTS = 0x20000  # above: Han of the supplementary planes
_UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3006), (0x3040, 0x30FF), (0x3400, 0x4DBF),
             (0x4E00, 0x9FFF), (0xF900, 0xFAFF))  # fmt: skip


@dataclass(frozen=True, slots=True)
class DuplicateSpec:
    """The definition of a duplicate: threshold None = the same text, else a Jaccard similarity in (0, 1]."""

    threshold: float | None = None

    def __str__(self) -> str:
        return "exact" if self.threshold is None else f"near:{self.threshold:g}"


def parse_duplicates(text: str) -> DuplicateSpec:
    """Read exact, near or near:S with a similarity S from 0.3 to 1; near alone is near:0.9.

    Raises:
        UsageError: it is none of them.
    """
    kind, colon, value = text.strip().lower().partition(":")
    if kind == "exact" and not colon:
        return DuplicateSpec()
    if kind == "near" and not colon:
        return DuplicateSpec(DEFAULT_THRESHOLD)
    try:
        threshold = float(value) if kind == "near" else math.nan
    except ValueError:
        threshold = math.nan
    if not LEAST_THRESHOLD <= threshold <= 1:
        raise UsageError(
            f"`dedupe={text}`: give exact, or near:S with a similarity from {LEAST_THRESHOLD} to 1 such as near:0.9"
        )
    return DuplicateSpec(threshold)


class Duplicates:
    """The documents of a corpus seen so far, without their copies.

    - exact: the same text after Unicode NFC, white space at the ends removed and elsewhere made one space; case counts.
      128 bits of BLAKE2b stand for a text.
    - near: Jaccard similarity |A ∩ B| / |A ∪ B| of the sets of word triples (Broder 1997, shingles of 3 words; of a text of
      one or two words: all of it), words being runs of letters, marks and digits in lower case; a character of a script
      without spaces is a word, and so is a pictograph; a text without any word counts its other characters. Candidates share
      a band of min-hashes (b bands of r, so that 98 % of the pairs at the threshold meet, more above it); they are compared
      exactly up to 96 triples, else by the 96 least hashes of their union (standard error at most 0.05).

    A document is dropped for the most similar of those kept before it. Empty texts are no copies of each other.
    Memory: 24 bytes and the id for each kept document (exact); 4 bytes a triple, 384 at most, and 12 to 16 bytes a band, of which
    near:0.9 has 8 (near).
    """

    def __init__(self, spec: DuplicateSpec) -> None:
        self.spec = spec
        self._ids = _Ids()
        self._index: _Exact | _Near = _Exact() if spec.threshold is None else _Near(spec.threshold)

    def check(self, ids: Sequence[str] | pa.Array, texts: pa.Array) -> list[tuple[int, str, float]]:
        """Return the rows (row, id of the kept near-duplicate, similarity) to drop of a batch, and remember the others.

        Args:
            ids: (D,); texts: (D,) Arrow string or large_string, null counts as empty.
        """
        nearest, similarities, kept = self._index.check(texts)
        self._ids.add(pa.array(ids, pa.string()).filter(pa.array(kept)))
        rows = np.flatnonzero(nearest != EMPTY)
        return [(int(row), self._ids[int(nearest[row])], float(similarities[row])) for row in rows]

    @property
    def nbytes(self) -> int:
        """Bytes held for the documents kept so far."""
        return self._index.nbytes + self._ids.nbytes


class _Ids:
    """Ids by number, in Arrow chunks: a corpus of millions holds no Python string per document."""

    def __init__(self) -> None:
        self._chunks: list[pa.Array] = []
        self._ends: list[int] = []

    def add(self, ids: pa.Array) -> None:
        if len(ids):
            self._chunks.append(ids)
            self._ends.append(len(ids) + (self._ends[-1] if self._ends else 0))

    def __getitem__(self, number: int) -> str:
        at = int(np.searchsorted(self._ends, number, side="right"))
        return str(self._chunks[at][number - (self._ends[at - 1] if at else 0)].as_py())

    @property
    def nbytes(self) -> int:
        return sum(chunk.nbytes for chunk in self._chunks)


CheckResult = tuple[IntArray, npt.NDArray[np.float64], npt.NDArray[np.bool_]]  # nearest, similarities, kept (D,)


class _Exact:
    def __init__(self) -> None:
        self._n = 0
        self._heads = np.full(1024, EMPTY, np.int32)
        self._nexts = np.zeros(1024, np.int32)
        self._known = np.zeros((1024, 2), np.uint64)

    def check(self, texts: pa.Array) -> CheckResult:
        keys = np.frombuffer(b"".join(_digest(text.as_py()) for text in texts), np.uint64).reshape(-1, 2)
        check_width(self._n + len(keys), "documents")
        # as if every document stayed
        _make_long(self._nexts, self._n + len(keys))
        _make_long(self._known, self._n + len(keys))
        if self._n + len(keys) > len(self._heads):
            self._heads = _buckets(self._n + len(keys))
            link_keys(self._heads, self._nexts, self._known, self._n)
        nearest = np.empty(len(keys), np.int32)
        self._n = first_equals(keys, self._heads, self._nexts, self._known, self._n, nearest)
        is_duplicate = nearest != EMPTY
        return nearest, is_duplicate.astype(np.float64), ~is_duplicate & keys.any(axis=1)

    @property
    def nbytes(self) -> int:
        return self._heads.nbytes + self._nexts.nbytes + self._known.nbytes


def _digest(text: str | None) -> bytes:
    """Return 16 bytes that stand for a text, zeros for one without any character but white space."""
    plain = " ".join(unicodedata.normalize("NFC", text or "").split())
    return hashlib.blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=16).digest() if plain else bytes(16)


class _Near:
    def __init__(self, threshold: float) -> None:
        bands, rows = choose_bands(threshold)
        self._threshold = threshold
        self._seeds, self._multipliers = hash_functions(bands * rows)
        self._n = self._asked = 0
        self._kept = Kept(
            heads=np.full(1024, EMPTY, np.int32),
            tags=np.zeros((1024, bands), np.uint32),
            nexts=np.zeros((1024, bands), np.int32),
            offsets=np.zeros(1025, np.int64),
            hashes=np.zeros(1024, np.uint32),
            sizes=np.zeros(1024, np.int32),
            seen=np.zeros(1024, np.int64),
        )

    def check(self, texts: pa.Array) -> CheckResult:
        offsets, hashes = shingles_of(texts)
        D = len(texts)
        tags = np.empty((D, self._kept.tags.shape[1]), np.uint32)
        band_tags(offsets, hashes, self._seeds, self._multipliers, tags)
        self._make_room(D, int(np.minimum(np.diff(offsets), MOST_HASHES).sum()))
        nearest, similarities = np.empty(D, np.int32), np.empty(D, np.float64)
        self._n = drop_or_keep(
            offsets, hashes, tags, self._threshold, MOST_HASHES, self._kept, self._n, self._asked, nearest, similarities
        )
        self._asked += D
        return nearest, similarities, (nearest == EMPTY) & (np.diff(offsets) > 0)

    def _make_room(self, documents: int, hashes: int) -> None:
        kept, need = self._kept, self._n + documents
        bands = kept.tags.shape[1]
        if need * bands >= 2**31:
            raise OutOfMemoryError(
                f"`dedupe` near holds {2**31 // bands:,} documents at most, and there are more; use exact, or "
                "split the corpus"
            )
        # as if every document stayed, with the hashes that are kept of each
        for array in (kept.tags, kept.nexts, kept.sizes, kept.seen):
            _make_long(array, need)
        _make_long(kept.offsets, need + 1)
        _make_long(kept.hashes, int(kept.offsets[self._n]) + hashes)
        if need * bands > len(kept.heads):
            self._kept = kept._replace(heads=_buckets(need * bands))
            link_all(self._kept, self._n)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._kept)


def choose_bands(threshold: float) -> tuple[int, int]:
    """Return bands b and rows r: the largest r for which 1 - (1 - threshold^r)^b reaches 0.98 with b·r <= 96.

    More rows mean fewer candidates that turn out not to be copies (Leskovec, Rajaraman & Ullman, ch. 3.4).
    """
    best = (1, 1)
    for rows in range(1, MOST_FUNCTIONS + 1):
        together = threshold**rows
        bands = 1 if together == 1 else math.ceil(math.log(1 - RECALL) / math.log(1 - together))
        if bands * rows > MOST_FUNCTIONS or (threshold == 1 and rows > 4):
            break
        best = (bands, rows)
    return best


def hash_functions(n: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return seeds and odd multipliers (n,) below 2**32, the same in every run (SplitMix64 from 1)."""
    state, drawn = 1, []
    for _ in range(2 * n):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        drawn.append((z ^ (z >> 31)) >> 32)
    return np.array(drawn[:n], np.uint64), np.array(drawn[n:], np.uint64) | np.uint64(1)


def shingles_of(texts: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """Return offsets (D+1,) and the ascending 32-bit hashes of the shingles of each text, see `Duplicates`."""
    lowered = pc.utf8_lower(pc.utf8_normalize(pc.fill_null(texts.cast(pa.large_string()), ""), form="NFC"))
    _, bounds, data = lowered.buffers()
    text_offsets = np.frombuffer(bounds, np.int64)[lowered.offset : lowered.offset + len(lowered) + 1]
    raw = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    classes, anything = _character_classes()
    offsets = np.empty(len(texts) + 1, np.int64)
    # a word has a byte at least ("!!!" has three words), and the words of a text are written behind the shingles of those
    # before it, of which none has more shingles than words
    out = np.empty(int(text_offsets[-1] - text_offsets[0]), np.uint32)
    shingle_sets(raw, text_offsets, classes, anything, SHINGLE, offsets, out)
    return offsets, out[: offsets[-1]]


@lru_cache(maxsize=1)
def _character_classes() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return the class of each character, and the classes for texts without a word: all but white space are words."""
    categories = [unicodedata.category(chr(point)) for point in range(_POINTS)]
    classes = np.full(_POINTS, SEPARATOR, np.uint8)
    classes[[c[0] in "LMN" for c in categories]] = LETTER
    classes[[c == "So" for c in categories]] = WORD
    for first, last in _UNSPACED:
        points = np.arange(first, last + 1)
        classes[points[classes[points] == LETTER]] = WORD
    anything = np.array([SEPARATOR if chr(point).isspace() else WORD for point in range(_POINTS)], np.uint8)
    return classes, anything


def _make_long(array: npt.NDArray[Any], n: int) -> None:
    """Make the array in place at least n rows long; in place, for a copy would need the memory twice."""
    if n > len(array):
        array.resize((n + n // 8, *array.shape[1:]), refcheck=False)


def _buckets(n: int) -> IntArray:
    """Return empty buckets for n entries, a power of two and at most one entry in each on average."""
    return np.full(1 << max(10, (n - 1).bit_length()), EMPTY, np.int32)


# ------------------------------------------------------------------------------------------------------------------------
# Near-duplicates across the parts of a data set, such as test documents that also occur in the training set.
#
# Similarity is that of `nlpkit.text.duplicates`: the Jaccard similarity of the two documents' sets of word triples.

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
