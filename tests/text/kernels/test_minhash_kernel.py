"""Shingle sets, band tags and the index of kept documents against plain sets."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.text.duplicates import SHINGLE, hash_functions, shingles_of
from nlpkit.text.kernels.minhash import (
    EMPTY,
    Kept,
    band_tags,
    drop_or_keep,
    first_equals,
    jaccard,
    link_all,
    link_keys,
    shingle_sets,
)
from tests.reference import minhash as plain
from tests.strategies import corpora, repeatable

sets = st.lists(st.integers(0, 40), unique=True, min_size=1, max_size=30).map(sorted)


def kept_arrays(n_docs: int, n_hashes: int, n_bands: int, n_buckets: int = 4) -> Kept:
    return Kept(
        heads=np.full(n_buckets, EMPTY, np.int32),
        tags=np.zeros((n_docs, n_bands), np.uint32),
        nexts=np.zeros((n_docs, n_bands), np.int32),
        offsets=np.zeros(n_docs + 1, np.int64),
        hashes=np.zeros(n_hashes, np.uint32),
        sizes=np.zeros(n_docs, np.int32),
        seen=np.zeros(n_docs, np.int64),
    )


@repeatable
@given(corpora())
def test_shingles_equal_sets_of_words(documents: list[str | None]) -> None:
    offsets, hashes = shingles_of(pa.array(documents, pa.string()))
    for d, document in enumerate(documents):
        text = unicodedata.normalize("NFC", document or "")
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
        if any(len(c.lower()) > 1 for c in text) or lowered != text.lower():
            continue  # Arrow lowers letter by letter
        assert hashes[offsets[d] : offsets[d + 1]].tolist() == plain.shingles(lowered, SHINGLE)


@pytest.mark.parametrize("text", ["?!", "?.;!", "a©", "日a", "a ", "😀", "y", "\n"])
def test_a_word_in_each_byte_has_room(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pa.array(["", text * 400, None, text, text * 300 + "a"])
    untouched = []

    def with_a_margin(*arrays: Any) -> None:
        room = len(arrays[-1])
        wider = np.full(room + 2000, 7, np.uint32)
        shingle_sets(*arrays[:-1], wider)
        arrays[-1][:] = wider[:room]
        untouched.append((wider[room:] == 7).all())

    monkeypatch.setattr("nlpkit.text.duplicates.shingle_sets", with_a_margin)
    shingles_of(texts)
    assert untouched == [True]


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("", 0),
        (" \n", 0),
        ("one", 1),
        ("one two", 1),
        ("one two three", 1),
        ("one two three four", 2),
        ("a a a a a a", 1),
        ("It's 5!", 1),
        ("日本語です", 3),
        ("😀😀😀😀", 1),
        ("😀a𠀀b", 2),
        ("?!", 1),
        ("?! ...", 3),
    ],
)
def test_how_many_shingles(text: str, n: int) -> None:
    offsets, hashes = shingles_of(pa.array([text, "x"]).slice(0, 1))
    assert offsets.tolist() == [0, n]
    assert len(hashes) == n


@repeatable
@given(st.lists(st.one_of(st.just([]), sets), max_size=5), st.integers(1, 4), st.integers(1, 3))
def test_band_tags_equal_minima(documents: list[list[int]], bands: int, rows: int) -> None:
    seeds, multipliers = hash_functions(bands * rows)
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    hashes = np.array([x for own in documents for x in own], np.uint32)
    tags = np.zeros((len(documents), bands), np.uint32)
    band_tags(offsets, hashes, seeds, multipliers, tags)
    assert tags.tolist() == [plain.band_tags(own, seeds, multipliers, bands) for own in documents]


def test_min_hashes_agree_as_often_as_sets_overlap() -> None:
    rng = np.random.default_rng(1)
    n, K = 60, 64
    seeds, multipliers = hash_functions(K)
    agree = total = 0
    for _ in range(12):
        union = np.sort(rng.choice(2**32, n, replace=False)).astype(np.uint32)
        sides = rng.random(n)
        a, b = union[sides < 0.75], union[sides > 0.25]  # half of the union in both
        tags = np.zeros((2, K), np.uint32)
        band_tags(np.array([0, len(a), len(a) + len(b)]), np.concatenate([a, b]), seeds, multipliers, tags)
        agree += int((tags[0] == tags[1]).sum())
        total += K * len(np.intersect1d(a, b)) / n
    assert abs(agree - total) < 4 * np.sqrt(12 * K * 0.25)


@repeatable
@given(sets, sets, st.integers(1, 40))
def test_jaccard_equals_sets(a: list[int], b: list[int], most: int) -> None:
    left, right = np.array(a[:most], np.uint32), np.array(b[:most], np.uint32)
    found = jaccard(left, 0, len(a), right, 0, len(b), most)
    assert found == plain.jaccard(a, b, most)


def test_jaccard_by_hand() -> None:
    a, b = np.array([1, 2, 3, 5], np.uint32), np.array([2, 3, 4], np.uint32)
    assert jaccard(a, 0, 4, b, 0, 3, 10) == 2 / 5
    assert jaccard(a, 0, 4, b, 0, 3, 3) == 2 / 3  # of 1 2 3


@repeatable
@given(st.data())
def test_copies_equal_the_plain_ones(data: st.DataObject) -> None:
    originals = data.draw(st.lists(st.one_of(st.just([]), sets), min_size=1, max_size=6))
    documents = []
    for own in originals:  # with copies that lack some
        documents += [own, [x for x in own if x % data.draw(st.integers(2, 9))]]
    documents = data.draw(st.permutations(documents))
    threshold, most = data.draw(st.sampled_from([0.3, 0.5, 0.8, 1.0])), data.draw(st.sampled_from([4, 100]))
    bands = 3
    seeds, multipliers = hash_functions(bands)
    tags = [plain.band_tags(own, seeds, multipliers, bands) for own in documents]
    expected = plain.drop_or_keep(documents, tags, threshold, most)

    kept = kept_arrays(len(documents), sum(map(len, documents)), bands)
    n = asked = 0
    found = []
    for part in np.array_split(np.arange(len(documents)), data.draw(st.integers(1, 3))):
        own = [documents[d] for d in part]
        offsets = np.cumsum([0, *map(len, own)]).astype(np.int64)
        hashes = np.array([x for one in own for x in one], np.uint32)
        twins, similarities = np.empty(len(own), np.int32), np.empty(len(own))
        part_tags = np.array([tags[d] for d in part], np.uint32).reshape(-1, bands)
        n = drop_or_keep(offsets, hashes, part_tags, threshold, most, kept, n, asked, twins, similarities)
        asked += len(own)
        found += list(zip(twins.tolist(), similarities.tolist(), strict=True))
        kept.heads[:] = EMPTY  # a new index of the same documents
        link_all(kept, n)
    assert found == expected


@repeatable
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=20), st.integers(1, 3))
def test_equal_keys(keys: list[tuple[int, int]], parts: int) -> None:
    heads, nexts = np.full(2, EMPTY, np.int32), np.zeros(20, np.int32)
    known, n, found = np.zeros((20, 2), np.uint64), 0, []
    for part in np.array_split(np.array(keys, np.uint64).reshape(-1, 2), parts):
        twins = np.empty(len(part), np.int32)
        n = first_equals(part, heads, nexts, known, n, twins)
        found += twins.tolist()
        heads[:] = EMPTY
        link_keys(heads, nexts, known, n)
    seen: dict[tuple[int, int], int] = {}
    expected = []
    for key in keys:
        expected.append(EMPTY if key == (0, 0) else seen.get(key, EMPTY))
        if key != (0, 0):
            seen.setdefault(key, len(seen))
    assert found == expected
    assert n == len(seen)
