"""Phrases: the sentence of the lecture, gensim, plain counts, and what a table does to new text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from nlpkit.text.phrases import (
    PairCounts,
    PhraseCounter,
    PhraseMeasure,
    PhraseSpec,
    PhraseTable,
    find_phrases,
    parse_phrases,
    score_pairs,
)
from nlpkit.text.vocab import EncodedBatch
from tests.reference import phrases as plain
from tests.refusals import refuses
from tests.strategies import repeatable

TERMS = ("new", "york", "times", "of", "the", "bank", "america")
DOCUMENTS = st.lists(st.lists(st.integers(0, len(TERMS) - 1), max_size=25), max_size=6)
MEASURES: tuple[PhraseMeasure, ...] = ("npmi", "pmi", "llr")


def batch(documents: list[list[int]]) -> EncodedBatch:
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    return EncodedBatch(offsets, np.array([t for d in documents for t in d], np.int32))


def coded(texts: list[str]) -> tuple[list[list[int]], tuple[str, ...]]:
    names = tuple(dict.fromkeys(w for text in texts for w in text.split()))
    return [[names.index(w) for w in text.split()] for text in texts], names


def rows(found: EncodedBatch) -> list[list[int]]:
    return [found.term_ids[a:b].tolist() for a, b in pairwise(found.offsets.tolist())]


def joined(table: PhraseTable, documents: list[list[int]], terms: tuple[str, ...]) -> list[list[str]]:
    bound = table.bind(terms)
    return [[bound.terms[t] for t in row] for row in rows(bound.apply(batch(documents)))]


@pytest.mark.parametrize(
    ("phrases", "n_tokens", "n_types"),
    [([], 13, 12), (["swimming pool"], 12, 11), (["swimming pool", "san francisco"], 11, 10)],
)
@pytest.mark.parametrize("lemmas", [False, True])
def test_the_sentence_of_the_lecture(phrases: list[str], n_tokens: int, n_types: int, lemmas: bool) -> None:
    text = "they bought a swimming pool for their apartment in san francisco and they"  # L852
    if lemmas:
        text, n_types = text.replace("their", "they"), n_types - 1
    documents, terms = coded([text])
    (tokens,) = joined(PhraseTable.from_words(p.split() for p in phrases), documents, terms)
    assert (len(tokens), len(set(tokens))) == (n_tokens, n_types)
    assert tokens == _replace(text, phrases).split()


def _replace(text: str, phrases: list[str]) -> str:
    for p in phrases:
        text = text.replace(p, p.replace(" ", "_"))
    return text


def test_scores_by_hand() -> None:
    # 16 tokens, x and y 4 times each, together 4 times: P(x) = P(y) = P(x, y) = 1/4, the most there can be
    whole = PairCounts(np.array([4]), np.array([4]), np.array([4]), 16, np.array([4]), np.array([4]), 12)
    assert score_pairs("pmi", whole)[0] == pytest.approx(np.log(4))
    assert score_pairs("npmi", whole)[0] == pytest.approx(1.0)
    # by chance: P(x, y) = 1/16 = P(x) P(y), and 3 of 12 pairs where 6 · 6 / 12 = 3 are expected
    chance = PairCounts(np.array([1]), np.array([4]), np.array([4]), 16, np.array([6]), np.array([6]), 36)
    assert score_pairs("npmi", chance)[0] == pytest.approx(0.0, abs=1e-15)
    assert score_pairs("llr", chance)[0] == pytest.approx(0.0, abs=1e-12)


def test_llr_equals_scipy() -> None:
    tables = [
        (110, 2442, 111, 29114),
        (1, 10, 20, 4000),
        (3, 0, 0, 7),
        (5, 0, 4, 9),
    ]  # the first: Dunning 1993, table 1
    for a, b, c, d in tables:
        counts = PairCounts(
            *map(np.array, ([a], [a + b], [a + c])), a + b + c + d, np.array([a + b]), np.array([a + c]), a + b + c + d
        )  # type: ignore[arg-type]
        expected = chi2_contingency([[a, b], [c, d]], correction=False, lambda_="log-likelihood").statistic
        assert score_pairs("llr", counts)[0] == pytest.approx(expected)
    assert (
        score_pairs("llr", PairCounts(*map(np.array, ([1], [50], [50])), 100, np.array([50]), np.array([50]), 100)) < 0
    )  # type: ignore[arg-type]


@pytest.mark.parametrize("measure", MEASURES)
@repeatable
@given(DOCUMENTS, st.booleans(), st.integers(1, 3))
def test_pairs_equal_plain_counts(
    measure: PhraseMeasure, documents: list[list[int]], connect: bool, min_count: int
) -> None:
    connectors = {"of", "the"} if connect else set()
    counter = PhraseCounter(TERMS, connectors=connectors)
    counter.count(batch(documents[:2]))
    counter.count(batch(documents[2:]))
    low = -1e9
    found, scores, counts = counter.find(PhraseSpec(measure, low, min_count))
    pairs = plain.count(documents, {TERMS.index(c) for c in connectors}, 2)
    expected = {p: c for p, c in pairs.items() if c >= min_count}
    as_ids = [tuple(TERMS.index(w) for w in words) for words in found]
    assert dict(zip(as_ids, counts.tolist(), strict=True)) == expected
    for pair, s in zip(as_ids, scores, strict=True):
        assert s == pytest.approx(plain.score(measure, pair, pairs, documents), abs=1e-9)
    assert scores.tolist() == sorted(scores, reverse=True)
    assert measure != "npmi" or all(-1 - 1e-12 <= s <= 1 + 1e-12 for s in scores)


def _corpus(seed: int) -> list[list[str]]:
    """Sentences in which new york times, bank of america and the rest stand together more often than by chance."""
    rng = np.random.default_rng(seed)
    pieces = [
        "new york", "new york times", "bank of america", "bank of the west", "new", "times", "the bank", "of",
        "west",
    ]  # fmt: skip
    fill = [f"w{i}" for i in range(20)]
    return [" ".join(rng.choice(pieces + fill, 12)).split() for _ in range(150)]


@pytest.mark.parametrize("connectors", [frozenset[str](), frozenset({"of", "the"})])
@pytest.mark.parametrize("passes", [1, 2])
def test_equals_gensim(connectors: frozenset[str], passes: int) -> None:
    from gensim.models.phrases import Phrases

    sentences = _corpus(1)
    documents, terms = coded([" ".join(s) for s in sentences])
    # a run of more than MAX_BETWEEN connectors is the one case that gensim treats otherwise
    documents = [d for d, s in zip(documents, sentences, strict=True) if not _long_run(s, connectors)]
    sentences = [[terms[t] for t in d] for d in documents]
    ours = find_phrases(
        lambda: [batch(documents)], terms, PhraseSpec("npmi", 0.2), connectors=connectors, passes=passes
    )
    theirs = []
    for _ in range(passes):
        model = Phrases(sentences, min_count=5, threshold=0.2, scoring="npmi", connector_words=connectors)
        theirs.append(model.find_phrases(sentences))  # export_phrases cuts joined words at the separator
        sentences = [model[s] for s in sentences]
    for level in range(1, passes + 1):
        here = {ours.phrases[m]: ours.scores[m] for m in range(len(ours)) if ours.levels[m] == level}
        assert len(theirs[level - 1]) > 2
        assert theirs[level - 1] == pytest.approx({p: here[p] for p in theirs[level - 1]}, abs=1e-9)
    assert joined(ours, documents, terms) == sentences
    assert "new_york" in ours.phrases
    assert ("new_york_times" in ours.phrases) == (passes == 2)
    assert ("bank_of_america" in ours.phrases) == (passes == 2 or bool(connectors))


def _long_run(sentence: list[str], connectors: frozenset[str]) -> bool:
    run = 0
    for word in sentence:
        run = run + 1 if word in connectors else 0
        if run > 2:
            return True
    return False


@pytest.mark.parametrize("measure", MEASURES)
def test_result_depends_neither_on_the_batches_nor_on_leaving_out_rare_terms(measure: PhraseMeasure) -> None:
    documents, terms = coded([" ".join(s) for s in _corpus(2)])
    spec = PhraseSpec(measure, {"npmi": 0.1, "pmi": 0.5, "llr": 5.0}[measure], 6)

    def in_parts() -> Iterator[EncodedBatch]:
        for start in range(0, len(documents), 7):
            yield batch(documents[start : start + 7])

    cf = np.bincount([t for d in documents for t in d], minlength=len(terms))
    whole = find_phrases(lambda: [batch(documents)], terms, spec)
    assert len(whole) > 3
    assert find_phrases(in_parts, terms, spec, cf=cf) == whole
    bound = whole.bind(terms)
    assert [r for b in in_parts() for r in rows(bound.apply(b))] == rows(bound.apply(batch(documents)))


def test_words_parts_and_levels_of_a_longer_phrase() -> None:
    text = "in new york times square we met again and then read new york times on new york street"
    documents, terms = coded([text] * 5 + ["york in square", "new again", "we met and read on"] * 9)
    table = find_phrases(lambda: [batch(documents)], terms, PhraseSpec("npmi", 0.6, 9))
    m = table.phrases.index("new_york_times")
    assert (table.parts[m], table.words[m], table.levels[m]) == (("new_york", "times"), ("new", "york", "times"), 2)
    assert (table.measure, list(table.levels)) == ("npmi", sorted(table.levels))


def test_a_table_joins_the_same_in_new_text_whatever_its_ids() -> None:
    table = PhraseTable.from_words([["new", "york"], ["bank", "of", "america"], ["not", "here"], ["one"]])
    assert len(table) == 3
    documents, terms = coded(["the bank of america in new york", "york new york new bank of"])
    assert joined(table, documents, terms) == [
        ["the", "bank_of_america", "in", "new_york"],
        ["york", "new_york", "new", "bank", "of"],
    ]
    again, names = coded(["new york bank of america the in"])
    assert joined(table, again, names) == [["new_york", "bank_of_america", "the", "in"]]


def test_a_term_written_like_the_phrase_is_the_phrase() -> None:
    documents, terms = coded(["new_york or new york", "new york_times new_york times"])
    table = PhraseTable.from_words([["new", "york"], ["new", "york_times"], ["new_york", "times"]])
    bound = table.bind(terms)
    assert len(set(bound.terms)) == len(bound.terms) == len(terms) + 1
    assert joined(table, documents, terms) == [["new_york", "or", "new_york"], ["new_york_times", "new_york_times"]]


def test_gaps_stay_and_are_not_spanned() -> None:
    bound = PhraseTable.from_words([["a", "b"]]).bind(("a", "b"))
    assert rows(bound.apply(batch([[0, -1, 1], [-1, 0, 1]]))) == [[0, -1, 1], [-1, 2]]
    counter = PhraseCounter(("a", "b"))
    counter.count(batch([[0, -1, 1], [-1, 0, 1]]))
    found, _, counts = counter.find(PhraseSpec("pmi", -9, 1))
    assert (found, counts.tolist()) == ([("a", "b")], [1])


@pytest.mark.parametrize("documents", [[], [[]], [[], [3], []]])
@pytest.mark.parametrize("measure", MEASURES)
def test_nothing_to_find(documents: list[list[int]], measure: PhraseMeasure) -> None:
    table = find_phrases(lambda: [batch(documents)], TERMS, PhraseSpec(measure, -1e9, 1))
    assert len(table) == 0
    bound = table.bind(TERMS)
    assert bound.terms == TERMS
    assert rows(bound.apply(batch(documents))) == documents


def test_no_batch_at_all() -> None:
    assert len(find_phrases(list, (), PhraseSpec("npmi", 0.5))) == 0


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("npmi:0.5", PhraseSpec("npmi", 0.5, 5)),
        ("pmi:3", PhraseSpec("pmi", 3.0, 5)),
        ("LLR:10.83:20", PhraseSpec("llr", 10.83, 20)),
        (" npmi ", PhraseSpec("npmi", 0.5, 5)),
        ("llr", PhraseSpec("llr", 10.83, 5)),
        ("npmi:-1:1", PhraseSpec("npmi", -1.0, 1)),
    ],
)
def test_parse_phrases(text: str, spec: PhraseSpec) -> None:
    assert parse_phrases(text) == spec


@pytest.mark.parametrize(
    "text",
    [
        "dice:0.5", "", "npmi:0.5:5:1", "npmi:half", "npmi:", "npmi:0.5:2.5", "npmi:1.5", "pmi:nan", "pmi:3:0",
    ],
)  # fmt: skip
def test_phrases_that_cannot_be_meant(text: str) -> None:
    with refuses("phrases"):
        parse_phrases(text)
