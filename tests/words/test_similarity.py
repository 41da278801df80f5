"""Similar words: the lecture's example, plain strings, and words of many scripts."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import UsageError
from nlpkit.words.spelling import GRAM_MEASURES, MEASURES, WordIndex, compare_words
from tests.reference import levenshtein as plain
from tests.refusals import refuses
from tests.strategies import repeatable


def words_of() -> st.SearchStrategy[str]:
    return st.text(alphabet="abÄä\u0308語", min_size=1, max_size=9)


def test_the_example_of_the_lecture() -> None:
    """Trigrams: work {wor ork}, worker {wor ork rke ker}, working {wor ork rki kin ing} (lecture L957, L973)."""
    found = {(p.first, p.second): p for p in compare_words(["work", "worker", "working"])}
    expected = {
        ("work", "worker"): (2 / 4, 4 / 6, 2 / 2, 2 / math.sqrt(8), 2),
        ("work", "working"): (2 / 5, 4 / 7, 2 / 2, 2 / math.sqrt(10), 3),
        ("worker", "working"): (2 / 7, 4 / 9, 2 / 4, 2 / math.sqrt(20), 3),
    }
    assert list(found) == list(expected)
    for pair, numbers in expected.items():
        p = found[pair]
        assert (p.jaccard, p.dice, p.overlap, p.cosine, p.levenshtein) == pytest.approx(numbers, rel=1e-15)
        assert p.levenshtein_normalized == p.levenshtein / max(map(len, pair))


@repeatable
@given(st.lists(words_of(), min_size=2, max_size=4), st.integers(1, 4), st.booleans(), st.booleans())
def test_pairs_equal_plain_strings(words: list[str], n: int, padded: bool, lower: bool) -> None:
    index = WordIndex(words, n=n, padded=padded, lower=lower)
    for p in compare_words(words, n=n, padded=padded, lower=lower):
        a, b = (index.forms[words.index(w)] for w in (p.first, p.second))
        for measure in GRAM_MEASURES:
            score, expected = getattr(p, measure), plain.similarity(a, b, measure, n, padded=padded)
            assert (score is None and math.isnan(expected)) or score == pytest.approx(expected, rel=1e-14)
        assert p.levenshtein == plain.levenshtein(a, b)
        if p.jaccard is not None:
            assert p.dice == pytest.approx(2 * p.jaccard / (p.jaccard + 1), rel=1e-14)


@repeatable
@given(
    st.lists(words_of(), max_size=12, unique=True),
    words_of(),
    st.sampled_from(MEASURES),
    st.integers(1, 5),
    st.booleans(),
)
def test_nearest_words_equal_sorting_all(words: list[str], word: str, measure: str, top: int, padded: bool) -> None:
    frequency = np.arange(len(words), dtype=np.int64) % 3
    index = WordIndex(words, n=2, padded=padded, frequency=frequency)
    form = WordIndex([word]).forms[0]
    if measure in GRAM_MEASURES and not plain.grams(form, 2, padded=padded):
        with refuses("n"):
            index.nearest(word, measure=measure, top=top)
        return
    scores = []
    for other in index.forms:
        if measure in GRAM_MEASURES:
            scores.append(plain.similarity(form, other, measure, 2, padded=padded))
        else:
            longest = max(len(form), len(other)) if measure == "levenshtein-normalized" else 1
            scores.append(plain.levenshtein(form, other) / longest)
    sign = -1 if measure in GRAM_MEASURES else 1
    ids = [i for i, s in enumerate(scores) if index.forms[i] != form and (sign > 0 or s > 0)]
    ids = sorted(ids, key=lambda i: (round(sign * scores[i], 12), -frequency[i], words[i]))[:top]
    found = index.nearest(word, measure=measure, top=top)
    assert (found.ids.tolist(), found.scores) == (ids, pytest.approx([scores[i] for i in ids]))
    assert found.self_ids.tolist() == [i for i, other in enumerate(index.forms) if other == form]


def test_umlauts_are_letters_and_composed_or_not_is_one() -> None:
    index = WordIndex(["fußgängerübergang", "fussgangerubergang", "bär", "bar"])
    assert index.nearest("Fußga\u0308ngeru\u0308berga\u0308nge", top=1).ids.tolist() == [0]
    assert index.nearest("bär", measure="levenshtein").scores[0] == 1
    assert index.nearest("ba\u0308r", measure="levenshtein").self_ids.tolist() == [2]
    pair = compare_words(["ä", "a\u0308"])[0]
    assert (pair.levenshtein, pair.jaccard) == (0, None)


def test_signs_beyond_the_basic_plane_are_one_character() -> None:
    assert compare_words(["😀a", "a"])[0].levenshtein == 1
    assert WordIndex(["𝒜𝒷𝒸"], n=3).sizes.tolist() == [1]


def test_case() -> None:
    assert compare_words(["Work", "WORK"])[0].levenshtein == 0
    assert compare_words(["Work", "WORK"], lower=False)[0].levenshtein == 3


def test_words_shorter_than_the_n_grams() -> None:
    pair = compare_words(["自然", "自然语言"])[0]
    assert (pair.jaccard, pair.dice, pair.overlap, pair.cosine, pair.levenshtein) == (None, None, None, None, 2)
    pair = compare_words(["自然", "自然语言"], n=2)[0]
    assert (pair.jaccard, pair.overlap) == (1 / 3, 1)
    pair = compare_words(["自然", "自然语言"], padded=True)[
        0
    ]  # ··自 ·自然 自然· 然·· and ··自 ·自然 自然语 然语言 语言· 言··
    assert pair.jaccard == 2 / 8
    index = WordIndex(["自然", "自然语言", "语言"], n=3)
    assert (index.n_short, index.nearest("自然语言处理").ids.tolist()) == (2, [1])
    with refuses("n"):
        index.nearest("自然")


def test_padding_makes_the_ends_count() -> None:
    plain_, padded = (compare_words(["ship", "hips"], n=2, padded=p)[0].jaccard for p in (False, True))
    assert plain_ == 2 / 4  # hi ip of sh hi ip ps
    assert padded == 2 / 8


def test_equally_near_words_come_by_frequency_then_alphabet() -> None:
    words = ["cat", "bat", "eat", "hat"]
    often = np.array([1, 5, 5, 9])
    assert WordIndex(words, frequency=often).nearest("rat", measure="levenshtein").ids.tolist() == [3, 1, 2, 0]
    assert WordIndex(words).nearest("rat", measure="levenshtein", top=2).ids.tolist() == [1, 0]


def test_words_that_share_no_n_gram_are_not_found() -> None:
    assert len(WordIndex(["moon"]).nearest("river").ids) == 0
    assert WordIndex(["moon"]).nearest("river", measure="levenshtein").scores.tolist() == [5]


def test_no_words() -> None:
    for measure in MEASURES:
        assert len(WordIndex([]).nearest("river", measure=measure).ids) == 0
    assert compare_words(["river"]) == []


def test_what_is_no_word() -> None:
    index = WordIndex(["", "x" * 1001, "river"])
    assert (index.n_long, index.nearest("rivers", measure="levenshtein").ids.tolist()) == (1, [2])
    for word in ("", "x" * 1001):
        with pytest.raises(UsageError, match="a word has 1 to 1,000 characters"):
            index.nearest(word)
        with pytest.raises(UsageError, match="a word has 1 to 1,000 characters"):
            compare_words([word, "river"])
    for n in (0, 1001, 10**30):
        with refuses("n"):
            WordIndex(["a"], n=n)
    with refuses("measure"):
        index.nearest("river", measure="hamming")


@pytest.mark.slow
def test_half_a_million_words_take_no_time() -> None:
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgkäöü"))
    words = ["".join(rng.choice(letters, rng.integers(4, 16))) for _ in range(500_000)]
    index = WordIndex(words)
    index.nearest("warm"), index.nearest("warm", measure="levenshtein")
    start = time.perf_counter()
    for word in ("parliament", "übergänge", "government"):
        for measure in ("jaccard", "levenshtein"):
            index.nearest(word, measure=measure)
    assert time.perf_counter() - start < 4  # two measures of three words
