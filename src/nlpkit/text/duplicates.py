"""Duplicate documents: exact copies by hash, near-duplicates by min-hash; the first one stays.

One pass, in the order of the corpus; what is dropped does not depend on how the corpus is cut into batches.
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
from nlpkit.kernels.minhash import (
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
    shingle_sets,
)
from nlpkit.types import IntArray
from nlpkit.widths import check_width

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
