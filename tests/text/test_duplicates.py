"""Copies of documents: what counts as one, which stays, and that batches do not matter."""

from __future__ import annotations

import random
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.text.duplicates import Duplicates, DuplicateSpec, choose_bands, hash_functions, parse_duplicates
from tests.refusals import refuses
from tests.strategies import corpora, repeatable

EXACT, NEAR = DuplicateSpec(), DuplicateSpec(0.9)
Dropped = list[tuple[int, str, float]]


def check(texts: list[str | None], spec: DuplicateSpec = EXACT, cuts: tuple[int, ...] = ()) -> Dropped:
    """Return what is dropped of texts with the ids 0, 1 …, given in batches that end at `cuts`."""
    work, found = Duplicates(spec), []
    for start, end in zip((0, *cuts), (*cuts, len(texts)), strict=True):
        ids = [str(row) for row in range(start, end)]
        found += [(start + row, *rest) for row, *rest in work.check(ids, pa.array(texts[start:end], pa.string()))]
    return [(row, twin, similarity) for row, twin, similarity in found]


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("exact", EXACT),
        ("near", NEAR),
        (" Near:0.9", NEAR),
        ("near:1", DuplicateSpec(1.0)),
        ("near:.5", DuplicateSpec(0.5)),
    ],
)
def test_parse(text: str, spec: DuplicateSpec) -> None:
    assert parse_duplicates(text) == spec
    assert parse_duplicates(str(spec)) == spec


@pytest.mark.parametrize("text", ["", "exact:1", "near:", "near:90", "near:0", "near:nan", "near:x", "fuzzy", "0.9"])
def test_parse_says_what_to_give(text: str) -> None:
    with refuses("dedupe"):
        parse_duplicates(text)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("One text.", "One text.", True),
        ("One text.", " One\n\ttext.\u3000", True),
        ("caf\u00e9", "cafe\u0301", True),
        ("One text.", "one text.", False),
        ("One text.", "One text", False),
        ("One text.", "Onetext.", False),
        ("ﬁ", "fi", False),  # NFC, not NFKC
    ],
)
def test_what_is_the_same_text(first: str, second: str, same: bool) -> None:
    assert check([first, second]) == ([(1, "0", 1.0)] if same else [])


@pytest.mark.parametrize("spec", [EXACT, NEAR], ids=str)
def test_the_first_stays_and_empty_texts_are_no_copies(spec: DuplicateSpec) -> None:
    texts = ["a b c", "", None, "x y z", "a b c", " \n", "x y z", "a b c"]
    assert check(texts, spec) == [(4, "0", 1.0), (6, "3", 1.0), (7, "0", 1.0)]


@pytest.mark.parametrize("spec", [EXACT, NEAR], ids=str)
def test_no_rows_and_slices(spec: DuplicateSpec) -> None:
    assert check([], spec) == []
    work = Duplicates(spec)
    part = pa.array(["no", "one two", "x", "one two"], pa.large_string()).slice(1)
    assert work.check(pa.array(["a", "b", "c"]), part) == [(2, "a", 1.0)]
    assert work.check(["d"], part.slice(1, 1)) == [(0, "b", 1.0)]


LONG = "the quick brown fox jumps over the lazy dog while seven wizards make toxic brew for the evil queen and jack"


@pytest.mark.parametrize(
    ("second", "similarity"),
    [
        (LONG.upper() + "!", 1.0),  # case and punctuation are no words
        (LONG.replace(" ", "\n* "), 1.0),
        (LONG + " again", 19 / 20),
        ("So " + LONG + " again", 19 / 21),
        ("So, so " + LONG + " again", 0.0),  # 19 / 22
        (LONG.replace("lazy", "old"), 0.0),  # 16 / 22
        (LONG[::-1], 0.0),
    ],
)
def test_near_by_hand(second: str, similarity: float) -> None:
    assert check([LONG, second], NEAR) == ([(1, "0", pytest.approx(similarity))] if similarity else [])


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Yes.", "yes", True),
        ("no way", "No way!!", True),
        ("no way", "way no", False),
        ("今日は晴れ。", "今日は、晴れ", True),
        ("今日は晴れ。", "今日は雨だ。", False),
        ("?!", "? !", True),  # no word at all: the signs count
        ("?!", "!?", False),
        ("😀😀", "😀 😀", True),
    ],
)
def test_near_of_short_texts(first: str, second: str, same: bool) -> None:
    assert bool(check([first, second], NEAR)) == same


def test_the_most_similar_of_those_kept_is_the_twin() -> None:
    words = LONG.split()
    texts = [LONG, " ".join(words[5:]), " ".join(words[4:]), " ".join(words[1:])]
    found = check(texts, DuplicateSpec(0.8))
    assert [(row, twin) for row, twin, _ in found] == [(2, "1"), (3, "0")]  # 14/19 alike: the second stays


def test_copies_of_a_dropped_text_are_dropped_for_the_one_that_stays() -> None:
    assert [(r, t) for r, t, _ in check([LONG, LONG + " again", LONG + " again"], NEAR)] == [(1, "0"), (2, "0")]


@repeatable
@given(corpora(), st.lists(st.integers(0, 24), max_size=3), st.sampled_from([EXACT, NEAR, DuplicateSpec(0.5)]))
def test_batches_do_not_matter(documents: list[str | None], cuts: list[int], spec: DuplicateSpec) -> None:
    texts = documents + documents[::-1]
    whole = check(texts, spec)
    assert check(texts, spec, tuple(sorted(min(cut, len(texts)) for cut in cuts))) == whole
    dropped = {row for row, _, _ in whole}
    for row, twin, similarity in whole:
        assert int(twin) < row
        assert int(twin) not in dropped
        assert (spec.threshold or 1) - 1e-9 <= similarity <= 1
    for row, text in enumerate(documents):  # each is there twice
        if (text or "").strip():
            assert len(texts) - 1 - row in dropped


@repeatable
@given(corpora())
def test_exact_copies_are_near_copies(documents: list[str | None]) -> None:
    texts = documents + documents
    assert {row for row, *_ in check(texts, EXACT)} <= {row for row, *_ in check(texts, DuplicateSpec(1.0))}


def varied(n: int, seed: int, length: tuple[int, int]) -> list[str]:
    """Random texts and for each a copy with up to six words changed."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(3000)]
    originals = [[rng.choice(words) for _ in range(rng.randint(*length))] for _ in range(n)]
    copies = [list(text) for text in originals]
    for text in copies:
        for _ in range(rng.randint(0, 6)):
            text[rng.randrange(len(text))] = rng.choice(words)
    return [" ".join(text) for text in originals + copies]


def by_brute_force(texts: list[str], threshold: float) -> tuple[set[int], list[float]]:
    """Return the rows to drop and all similarities to an original, from sets of word triples."""
    sets = []
    for text in texts:
        words = re.findall(r"\w+", text)
        sets.append({tuple(words[i : i + 3]) for i in range(len(words) - 2)})
    half = len(texts) // 2
    similarities = [len(a & b) / len(a | b) for a, b in zip(sets[:half], sets[half:], strict=True)]
    return {half + i for i, s in enumerate(similarities) if s >= threshold}, similarities


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.9])
def test_short_texts_are_compared_exactly(threshold: float) -> None:
    texts = varied(1500, 1, (20, 90))
    expected, _ = by_brute_force(texts, threshold)
    found = {row for row, *_ in check(texts, DuplicateSpec(threshold))}
    assert found <= expected
    assert len(found) > 0.985 * len(expected)
    assert len(expected) > 200


def test_long_texts_are_estimated() -> None:
    texts = varied(400, 2, (200, 500))
    _, similarities = by_brute_force(texts, 0.9)
    found = {row - 400: similarity for row, _, similarity in check(texts, NEAR)}
    assert all(i in found for i, s in enumerate(similarities) if s > 0.98)
    assert all(i not in found for i, s in enumerate(similarities) if s < 0.82)
    errors = np.array([found[i] - similarities[i] for i in found])
    assert abs(errors.mean()) < 0.01
    assert errors.std() < 0.03


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0])
def test_bands_find_98_of_100_at_the_threshold(threshold: float) -> None:
    bands, rows = choose_bands(threshold)
    assert bands * rows <= 96
    assert 1 - (1 - threshold**rows) ** bands >= 0.98


def test_hash_functions_are_those_of_splitmix64() -> None:
    seeds, multipliers = hash_functions(2)
    assert seeds.tolist() == [0x910A2DEC, 0xBEEB8DA1]  # the published numbers for the seed 1
    assert multipliers.tolist() == [0xF893A2EE | 1, 0x71C18690 | 1]


@pytest.mark.parametrize(("spec", "most"), [(EXACT, 70), (NEAR, 400)], ids=["exact", "near"])
def test_memory_of_many_short_texts(spec: DuplicateSpec, most: int) -> None:
    work = Duplicates(spec)
    for start in range(0, 20_000, 5000):
        ids = [f"news:{i}" for i in range(start, start + 5000)]
        assert (
            work.check(ids, pa.array([" ".join(f"{w * i}" for w in range(1, 40)) for i in range(start, start + 5000)]))
            == []
        )
    assert work.nbytes / 20_000 < most
