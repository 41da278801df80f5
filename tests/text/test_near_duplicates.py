"""Documents of one part that are in another too: by hand, against all pairs, and where very many are alike."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import UsageError
from nlpkit.text import duplicates as near_duplicates
from nlpkit.text.duplicates import Duplicates, DuplicateSpec, NearDuplicates, find_near_duplicates
from tests.refusals import refuses
from tests.strategies import corpora, repeatable

LONG = "the quick brown fox jumps over the lazy dog while seven wizards make toxic brew for the evil queen and jack"


def find(texts: Sequence[str | None], groups: Sequence[int], threshold: float = 0.9) -> NearDuplicates:
    return find_near_duplicates(pa.array(texts, pa.string()), np.array(groups, np.int32), threshold=threshold)


def by_all_pairs(texts: Sequence[str], groups: Sequence[int], threshold: float) -> tuple[list[int], list[float]]:
    """Return the nearest rows and similarities from sets of word triples of plain ASCII texts with three words or more."""
    sets = []
    for text in texts:
        words = re.findall(r"\w+", text.lower())
        sets.append({tuple(words[i : i + 3]) for i in range(len(words) - 2)})
    found, similarities = [], []
    for d, own in enumerate(sets):
        best, highest = -1, 0.0
        for e, other in enumerate(sets):
            if groups[d] < 0 or groups[e] < 0 or groups[d] == groups[e]:
                continue
            similarity = len(own & other) / len(own | other)
            if similarity >= threshold and similarity > highest:
                best, highest = e, similarity
        found.append(best)
        similarities.append(highest)
    return found, similarities


def test_by_hand() -> None:
    texts = [LONG, "something else is said here", LONG.upper() + "!", LONG + " again", "one two three four"]
    result = find(texts, [0, 0, 1, 1, 1])
    assert result.nearest.tolist() == [2, -1, 0, 0, -1]
    assert result.similarity.tolist() == pytest.approx([1, 0, 1, 19 / 20, 0], abs=1e-15)
    assert (result.nearest.dtype, result.similarity.dtype) == (np.int32, np.float64)
    assert result.n_unresolved == 0


def test_the_own_part_and_documents_in_none_are_no_near_duplicates() -> None:
    assert find([LONG, LONG, "a b c"], [0, 0, 1]).nearest.tolist() == [-1, -1, -1]
    assert find([LONG, LONG, LONG], [0, -1, -1]).nearest.tolist() == [-1, -1, -1]
    assert find([LONG, LONG, LONG], [-1, 1, 0]).nearest.tolist() == [-1, 2, 1]


def test_of_equal_ones_the_lower_row() -> None:
    assert find([LONG, LONG, LONG, LONG], [1, 0, 0, 1]).nearest.tolist() == [1, 0, 0, 1]
    # both of the first are 19/20 like the last; the second set is in two parts, and its row in the own part does not count
    texts = [LONG + " again", LONG + " again", "so " + LONG, LONG]
    result = find(texts, [2, 1, 1, 2])
    assert result.nearest.tolist() == [1, 0, 3, 1]
    assert result.similarity.tolist() == pytest.approx([1, 1, 19 / 20, 19 / 20])


def test_a_more_similar_one_of_the_own_part_does_not_hide_the_near_duplicate() -> None:
    assert find([LONG, LONG, LONG + " again"], [0, 0, 1]).nearest.tolist() == [2, 2, 0]


def test_folds() -> None:
    texts = [LONG, LONG + " again", "so " + LONG, "none of its words begins and ends with a letter or digit, so"]
    assert find(texts, [0, 1, 2, 3]).nearest.tolist() == [1, 0, 0, -1]
    assert find(texts, [0, 10_000, 2**31 - 1, 3]).nearest.tolist() == [1, 0, 0, -1]


def test_empty_texts_and_no_texts() -> None:
    result = find(["", None, " \n", "", "?!", "? !"], [0, 1, 0, 1, 0, 1])
    assert result.nearest.tolist() == [-1, -1, -1, -1, 5, 4]
    assert find([], []).nearest.shape == (0,)
    assert find(["", None], [0, 1]).similarity.tolist() == [0, 0]


def test_wrong_arguments() -> None:
    with refuses("threshold"):
        find(["a"], [0], 0.1)
    with pytest.raises(UsageError, match="2 texts and 1 groups"):
        find(["a", "b"], [0])


def varied(n: int, seed: int, length: tuple[int, int]) -> tuple[list[str], list[int]]:
    """Random texts, copies of them with up to six words changed, and the parts of both, in any order."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(2000)]
    originals = [[rng.choice(words) for _ in range(rng.randint(*length))] for _ in range(n)]
    texts = []
    for original in originals:
        texts.append(" ".join(original))
        for _ in range(rng.randint(0, 3)):
            copy = list(original)
            for _ in range(rng.randint(0, 6)):
                copy[rng.randrange(len(copy))] = rng.choice(words)
            texts.append(" ".join(copy))
    rng.shuffle(texts)
    return texts, [rng.choice([-1, 0, 0, 1, 2]) for _ in texts]


@pytest.mark.parametrize(
    ("threshold", "length"),
    [(0.5, (20, 60)), (0.8, (20, 60)), pytest.param(0.9, (60, 120), marks=pytest.mark.slow), (1.0, (5, 9))],
)
def test_against_all_pairs(threshold: float, length: tuple[int, int]) -> None:
    texts, groups = varied(250, 3, length)
    expected, similarities = by_all_pairs(texts, groups, threshold)
    result = find(texts, groups, threshold)
    same = result.nearest == np.array(expected)
    assert np.count_nonzero(np.array(expected) >= 0) > 35
    assert same.mean() > 0.985
    assert result.similarity[same] == pytest.approx(np.array(similarities)[same], abs=1e-15)
    missed = ~same
    assert (result.similarity[missed] < np.array(similarities)[missed]).all()


@repeatable
@given(corpora(), st.integers(0, 3))
def test_each_text_finds_its_copy(documents: list[str | None], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(2 * len(documents))
    texts = [(documents + documents)[i] for i in order]
    groups = [int(i < len(documents)) for i in order]
    result = find(texts, groups)
    for d, (text, nearest) in enumerate(zip(texts, result.nearest.tolist(), strict=True)):
        assert (nearest >= 0) == bool((text or "").strip())
        if nearest >= 0:
            assert groups[nearest] != groups[d]
            assert result.similarity[d] == 1.0
    chunked = pa.chunked_array([texts[:3], texts[3:]], pa.large_string())
    again = find_near_duplicates(chunked, np.array(groups, np.int32))
    assert again.nearest.tolist() == result.nearest.tolist()


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, groups = varied(60, 4, (3, 30))
    whole = find(texts, groups, 0.5)
    monkeypatch.setattr(near_duplicates, "_BATCH", 7)
    assert find(texts, groups, 0.5).nearest.tolist() == whole.nearest.tolist()


def test_the_same_definition_as_copies() -> None:
    """Of two parts, what the second has of the first is what `preprocess --dedupe near` drops of short texts."""
    texts, _ = varied(300, 5, (20, 60))
    first, second = texts[:400], texts[400:]
    groups = [0] * len(first) + [1] * len(second)
    nearest = find([*first, *second], groups, 0.7).nearest
    work = Duplicates(DuplicateSpec(0.7))
    kept_of_first = set(range(len(first))) - {
        row for row, *_ in work.check([str(i) for i in range(len(first))], pa.array(first))
    }
    found = work.check([str(len(first) + i) for i in range(len(second))], pa.array(second))
    of_first = {len(first) + row for row, other, _ in found if int(other) in kept_of_first}
    assert len(of_first) > 50
    assert of_first <= set(np.flatnonzero(nearest >= 0).tolist())


def test_many_equal_texts_are_quick() -> None:
    find([LONG, LONG + " again"], [0, 1])  # compiled
    n = 100_000
    texts = pa.array([LONG, LONG, LONG + " again", LONG]).take(pa.array(np.arange(n) % 4))
    start = time.process_time()
    result = find_near_duplicates(texts, (np.arange(n) % 2).astype(np.int32))
    assert time.process_time() - start < 10  # pairs would take minutes
    assert set(result.nearest[1:].tolist()) == {0, 1}
    assert result.similarity[2] == pytest.approx(19 / 20)


def test_a_form_filled_in_by_many_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "MOST_COMPARED", 50)
    monkeypatch.setattr(near_duplicates, "MOST_DUPLICATES", 5)
    near = [f"{LONG} number {i} x{i} y{i}" for i in range(400)]  # 20/26 alike
    result = find(near, [0, 1] * 200, 0.7)
    assert (result.nearest >= 0).all()
    assert result.n_unresolved == 0
    result = find(near, [0, 1] * 200, 0.8)
    assert (result.nearest == -1).all()
    assert result.n_unresolved > 100
    assert find([*near, near[0]], [*([0, 1] * 200), 1], 0.8).nearest[[0, 400]].tolist() == [400, 0]
