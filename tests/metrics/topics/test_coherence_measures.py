"""Coherence measures by hand, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isnan, log, sqrt
from statistics import mean, median
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.topics.coherence import (
    COMPAT,
    DEFINITIONS,
    CoherenceMeasure,
    absent_words,
    coherence,
    measure,
    npmi_by_document,
    postings,
)
from nlpkit.metrics.topics.window_counts import WindowCounter, WindowCounts, Windows, plan_pairs
from tests.few import few
from tests.refusals import refuses
from tests.strategies import repeatable

EPS = 1e-12
NAMES = tuple(DEFINITIONS)
KINDS = [
    (name, compat) for name in NAMES for compat in (None, *COMPAT) if name != "c_p" or compat in (None, "palmetto")
]

# documents: a 4, b 3, c 2, d 1; ab 2, ac 2, ad 0, bc 1, bd 1, cd 0; 6 in all
TEXTS = ["ab", "abc", "ac", "a", "bd", "x"]


def count(topics: Sequence[Sequence[str]], texts: Sequence[str], m: CoherenceMeasure, groups: int = 1) -> WindowCounts:
    plan = plan_pairs(topics, all_pairs=m.all_pairs)
    number = {word: i for i, word in enumerate(plan.words)}
    counter = WindowCounter(plan, m.windows, groups=groups)
    offsets = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    counter.add(offsets, np.array([number.get(word, -1) for text in texts for word in text], np.int32))
    return counter.result()


def scores(
    topics: Sequence[Sequence[str]], m: CoherenceMeasure, texts: Sequence[str] = TEXTS, **options: Any
) -> list[float]:
    return coherence(count(topics, texts, m), m, **{"top_n": 10} | options).tolist()


def score(topic: str, name: str, *, texts: Sequence[str] = TEXTS, **options: Any) -> float:
    how = {key: options.pop(key) for key in ("compat",) if key in options}
    return scores([topic], measure(name, window=None, **how), texts, **options)[0]


# ---------------------------------------------------------------- our own definitions


def test_npmi() -> None:
    ab = log((2 / 6) / (4 / 6 * 3 / 6)) / -log(2 / 6)  # 0: as often as by chance
    ac = log((2 / 6) / (4 / 6 * 2 / 6)) / -log(2 / 6)
    bc = log((1 / 6) / (3 / 6 * 2 / 6)) / -log(1 / 6)
    assert score("abc", "npmi") == pytest.approx((ab + ac + bc) / 3, rel=1e-14)
    assert score("ad", "npmi") == -1.0
    assert score("ab", "npmi", texts=["ab", "ba"]) == 1.0


@pytest.mark.parametrize(
    ("words", "name", "expected"),
    [
        ("ac", "pmi", log(1.5)),
        ("ad", "pmi", log(EPS / (4 / 6 * 1 / 6))),
        (
            "abc",
            "umass",
            (log(3 / 4) + log(3 / 4) + log(2 / 3)) / 3,
        ),  # each word given those before it: b | a, c | a, c | b
        ("cab", "umass", (log(3 / 2) + log(2 / 2) + log(3 / 4)) / 3),  # the order matters: a | c, b | c, b | a
        # b given a: 2/4 against 1/2; c given a: 2/4 against 0; c given b: 1/3 against 1/3
        ("abc", "c_p", (0 + 1 + 0) / 3),
        # a given b: 2/3 against 2/3; d given a: 0 against 1/2; d given b: 1/3 against 0
        ("bad", "c_p", (0 + 1 - 1) / 3),
    ],
)
def test_by_hand(words: str, name: str, expected: float) -> None:
    assert score(words, name) == pytest.approx(expected, rel=1e-11, abs=1e-15)


def test_c_v() -> None:
    ab, ac = 0.0, log(1.5) / log(3)
    bc = 0.0  # 1/6 is 3/6 · 2/6
    vectors = np.array([[1, ab, ac], [ab, 1, bc], [ac, bc, 1]])
    total = vectors.sum(axis=0)
    expected = mean(float(v @ total / sqrt(v @ v) / sqrt(total @ total)) for v in vectors)
    assert score("abc", "c_v") == pytest.approx(expected, rel=1e-9)
    # with epsilon, as in the paper: ln(ε / p p) / -ln ε for a pair that never meets
    ad = log(EPS / (4 / 6 * 1 / 6)) / -log(EPS)
    cosine = (1 + ad) * (1 + ad) / sqrt(1 + ad * ad) / sqrt(2 * (1 + ad) ** 2)
    assert score("ad", "c_v") == pytest.approx(cosine, rel=1e-8)
    assert score("ab", "c_v", texts=["ab", "ba"]) == pytest.approx(1.0, rel=1e-15)


def test_windows_of_tokens() -> None:
    # ab | bxa | xab ... with window 3: "abxab" has abx, bxa, xab: a 3, b 3, ab 3; "cxxa" has cxx, xxa: ac 0
    m = measure("npmi", window=3)
    assert scores([["a", "c"]], m, ["abxab", "cxxa"]) == [-1.0]
    # a 4/5, b 3/5, ab 3/5
    assert scores([["a", "b"]], m, ["abxab", "cxxa"]) == pytest.approx([log(1 / 0.8) / -log(0.6)], rel=1e-14)


def test_segmentations() -> None:
    base = measure("umass", window=None)
    forward = [log(3 / 4), log(3 / 4), log(2 / 3)]  # b | a, c | a, c | b
    backward = [log(3 / 3), log(3 / 2), log(2 / 2)]  # a | b, a | c, b | c
    for segmentation, expected in (("one_succeeding", backward), ("one_one", forward + backward)):
        m = replace(base, segmentation=segmentation)
        assert scores([list("abc")], m) == pytest.approx([mean(expected)], rel=1e-14)
    assert scores([list("abc")], replace(base, aggregation="median")) == pytest.approx([median(forward)], rel=1e-14)


def test_segmentations_of_context_vectors() -> None:
    m = replace(measure("c_v", window=None), gamma=2)
    ac = (log(1.5) / log(3)) ** 2
    a, b, c = (np.array(v) for v in ([1, 0, ac], [0, 1, 0], [ac, 0, 1]))

    def cos(x: Any, y: Any) -> float:
        return float(x @ y / sqrt(x @ x) / sqrt(y @ y))

    expected = {
        "one_set": [cos(x, a + b + c) for x in (a, b, c)],
        "one_all": [cos(a, b + c), cos(b, a + c), cos(c, a + b)],
        "one_one": [cos(a, b), cos(a, c), cos(b, c)],
    }
    for segmentation, values in expected.items():
        found = scores([list("abc")], replace(m, segmentation=segmentation))
        assert found == pytest.approx([mean(values)], rel=1e-9)


def test_sets_need_context_vectors() -> None:
    with pytest.raises(UsageError, match="one_set needs context vectors"):
        replace(measure("npmi"), segmentation="one_set")


def test_top_n_takes_the_first_words() -> None:
    for name in NAMES:
        m = measure(name, window=None)
        topics = [list("acbd"), list("ab"), list("dcba")]
        assert scores(topics, m, top_n=2) == scores([t[:2] for t in topics], m)
        assert scores(topics, m, top_n=3) == scores([t[:3] for t in topics], m)


def test_npmi_by_documents_is_the_one_of_the_models() -> None:
    rng = np.random.default_rng(0)
    dtm = rng.poisson(0.4, (50, 12)).astype(np.int32)
    words = "abcdefghijkl"
    texts = ["".join(w * n for w, n in zip(words, row, strict=True)) for row in dtm]
    topics = [rng.permutation(12)[:6] for _ in range(5)]
    found = scores([[words[i] for i in t] for t in topics], measure("npmi", window=None), texts)
    expected = npmi_by_document(np.array(topics, np.int32), postings(dtm))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# ---------------------------------------------------------------- words that are not there


def test_absent_words_lower_the_score_to_the_floor() -> None:
    for topic in ("az", "za", "zy"):
        assert score(topic, "npmi") == -1.0
        assert score(topic, "pmi") == pytest.approx(log(EPS), rel=1e-14)
        assert score(topic, "umass") == pytest.approx(-log(6), rel=1e-14)
        assert score(topic, "c_p") == -1.0
    # the vectors of z are zeros: the word confirms with 0
    assert score("acz", "c_v") == pytest.approx(score("ac", "c_v") * 2 / 3, rel=1e-14)
    assert score("zy", "c_v") == 0.0


def test_absent_words_can_be_left_out() -> None:
    for name in NAMES:
        assert score("zaxcb", name, absent="skip") == score("axcb", name)
        assert isnan(score("az", name, absent="skip"))
    # among the top words, not in exchange for the next
    assert score("azb", "umass", absent="skip", top_n=2) != score("ab", "umass")


def test_absent_words_are_told() -> None:
    counts = count([["z", "a"], ["y", "a"]], TEXTS, measure("npmi", window=None), groups=3)
    assert absent_words(counts) == ["y", "z"]


@pytest.mark.parametrize(("name", "compat"), KINDS)
def test_a_topic_of_under_two_words_has_no_score(name: str, compat: str | None) -> None:
    m = measure(name, window=None if name != "umass" else "own", compat=compat)
    found = scores([["a", "b"], ["a"], [], ["a", "a"]], m)
    assert [isnan(s) for s in found] == [False, True, True, True]
    assert scores([], m) == []
    assert isnan(scores([[]], m)[0])


def test_a_reference_without_documents_is_refused() -> None:
    m = measure("npmi")
    with pytest.raises(InputError):
        scores([["a", "b"]], m, [])
    drawn = count([["a", "b"]], TEXTS, m, groups=3).resampled(np.zeros(3, np.int64))
    assert np.isnan(coherence(drawn, m, top_n=2)).tolist() == [True]


def test_a_reference_without_any_of_the_words() -> None:
    for name, compat in KINDS:
        m = measure(name, compat=compat)
        found = scores([["y", "z"]], m)[0]
        assert isnan(found) == (compat in ("gensim", "octis", "tomotopy"))


def test_one_word_is_no_topic() -> None:
    with refuses("top_n"):
        score("ab", "npmi", top_n=1)


# ---------------------------------------------------------------- what holds for all


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    texts = draw(st.lists(st.text("abcdefx", max_size=15), min_size=1, max_size=12))
    topics = draw(st.lists(st.lists(st.sampled_from("abcdefz"), unique=True, max_size=6), min_size=1, max_size=4))
    return texts, topics


@pytest.mark.parametrize(("name", "compat"), few(KINDS, 12))
@repeatable
@given(corpora(), st.integers(2, 6), st.sampled_from(["worst", "skip"]))
def test_scores_are_finite_and_within_bounds(
    name: str, compat: str | None, corpus: tuple[list[str], list[list[str]]], top_n: int, absent: str
) -> None:
    texts, topics = corpus
    m = measure(name, window=None if name == "umass" else 4, compat=compat)
    found = np.array(scores(topics, m, texts, top_n=top_n, absent=absent))
    given = found[~np.isnan(found)]
    if compat is None and absent == "worst":
        assert np.isnan(found).tolist() == [len(t[:top_n]) < 2 for t in topics]
    low, high = {"npmi": (-1, 1), "c_v": (-1, 1), "c_p": (-1, 1), "pmi": (log(EPS), inf), "umass": (-inf, inf)}[name]
    if compat in ("gensim", "octis", "tomotopy") and name == "npmi":
        high = 1 + 1e-3  # where ε makes the probability of a pair more than 1
    assert np.isfinite(given).all()
    assert ((given >= low - 1e-3 * (compat is not None) - 1e-12) & (given <= high + 1e-12)).all()


@pytest.mark.parametrize("name", ["npmi", "pmi", "c_v"])
@repeatable
@given(corpora(), st.randoms(use_true_random=False))
def test_the_order_of_words_topics_and_documents_does_not_matter(
    name: str, corpus: tuple[list[str], list[list[str]]], random: Any
) -> None:
    texts, topics = corpus
    m = measure(name, window=3)
    expected = scores(topics, m, texts)
    order = random.sample(range(len(topics)), len(topics))
    mixed = [random.sample(topics[k], len(topics[k])) for k in order]
    found = scores(mixed, m, random.sample(texts, len(texts)))
    np.testing.assert_allclose(found, [expected[k] for k in order], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "compat"), KINDS)
def test_groups_together_score_as_one(name: str, compat: str | None) -> None:
    m = measure(name, window=None if name == "umass" else 3, compat=compat)
    topics = [list("abc"), list("dab")]
    one, several = count(topics, TEXTS, m), count(topics, TEXTS, m, groups=4)
    np.testing.assert_array_equal(coherence(one, m, top_n=3), coherence(several, m, top_n=3))
    drawn = several.resampled(np.array([2, 0, 1, 1]))
    assert coherence(drawn, m, top_n=3).shape == (2,)


def test_many_topics_are_scored_in_blocks() -> None:
    topics = [list("abc"), list("ab"), list("dcb")] * 50
    for name in ("c_v", "npmi"):
        m = measure(name, window=None)
        assert scores(topics, m) == scores(topics[:3], m) * 50


# ---------------------------------------------------------------- names, windows, programs


def test_measures_know_their_windows() -> None:
    assert {name: measure(name).window for name in NAMES} == {
        "npmi": 10,
        "pmi": 10,
        "umass": None,
        "c_v": 110,
        "c_p": 70,
    }
    assert measure("npmi", window=None).windows == Windows(None)
    assert measure("npmi", window=5, compat="gensim").windows == Windows(5, "gensim")
    assert measure("npmi", window=None, compat="tomotopy").windows == Windows(None)
    assert measure("c_v", compat="tomotopy").all_pairs
    assert measure("npmi", compat="palmetto").min_count == 100
    assert measure("umass", compat="palmetto").min_count == 10


def test_a_description_is_plain() -> None:
    assert measure("npmi", window=None).describe() == {
        "name": "npmi",
        "segmentation": "one_one",
        "window": "document",
        "window_rule": "boolean",
        "confirmation": "npmi",
        "context_vectors": False,
        "gamma": None,
        "aggregation": "mean",
        "unseen_pairs": "floor",
        "epsilon": None,
        "absent_words": "as_asked",
        "min_count": 1,
        "relevant_documents_only": False,
        "vectors_over_all_topics": False,
        "compat": None,
        "source": "Bouma 2009; Lau, Newman & Baldwin 2014; Röder, Both & Hinneburg 2015, C_NPMI",
    }
    for name, compat in KINDS:
        described = measure(name, compat=compat).describe()
        assert described["compat"] == compat
        assert all(isinstance(v, str | int | float | bool | None) for v in described.values())


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"name": "uci"}, "measure"),
        ({"name": "npmi", "compat": "mallet"}, "compat"),
        ({"name": "c_p", "compat": "gensim"}, "compat"),
        ({"name": "umass", "compat": "gensim", "window": 10}, "window"),
        ({"name": "npmi", "window": 1}, "window"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], parameter: str) -> None:
    with refuses(parameter):
        measure(**options)


def test_counts_must_be_those_of_the_measure() -> None:
    counts = count([["a", "b"]], TEXTS, measure("npmi", window=3))
    with pytest.raises(ValueError, match="needs counts of"):
        coherence(counts, measure("npmi"), top_n=5)
    with pytest.raises(ValueError, match="needs counts of"):
        coherence(counts, measure("npmi", window=3, compat="gensim"), top_n=5)
    m = measure("c_v", window=None, compat="tomotopy")
    with pytest.raises(ValueError, match="all_pairs"):
        coherence(count([["a", "b"]], TEXTS, replace(m, all_pairs=False)), m, top_n=5)


# ---------------------------------------------------------------- Palmetto, by hand from its source


def test_palmetto() -> None:
    texts = ["ab"] * 12 + ["abc"] * 9 + ["d"] * 10 + ["x"] * 9
    # documents count from 10 up: a 21, b 21, ab 21, c 0, ac 0, d 10, of 40
    same = log((21 / 40 + EPS) / (21 / 40) ** 2)
    assert score("ab", "npmi", texts=texts, compat="palmetto") == pytest.approx(same / -log(21 / 40 + EPS), rel=1e-12)
    assert score("ac", "npmi", texts=texts, compat="palmetto") == 0.0
    unseen = log(EPS / (21 / 40 * 10 / 40))
    assert score("ad", "pmi", texts=texts, compat="palmetto") == pytest.approx(unseen, rel=1e-12)
    assert score("abcz", "pmi", texts=texts, compat="palmetto") == pytest.approx(same / 6, rel=1e-12)
    umass = measure("umass", compat="palmetto")
    found = scores([list("ab"), list("ad"), list("ca"), list("ac")], umass, texts)
    assert found == pytest.approx([log((21 / 40 + EPS) / (21 / 40)), log(EPS / (21 / 40)), 0, 0], rel=1e-12)
    # a given c, which is too rare: nothing is with c; c given a: no value, 0
    assert score("ca", "c_p", texts=texts, compat="palmetto") == -1.0
    assert score("ac", "c_p", texts=texts, compat="palmetto") == 0.0
    assert score("ab", "c_p", texts=texts, compat="palmetto") == 1.0
    # c has a vector of zeros, a and b the same one
    assert score("abc", "c_v", texts=texts, compat="palmetto") == pytest.approx(2 / 3, rel=1e-6)
