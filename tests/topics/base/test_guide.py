"""Seed words, fixed topics and weights of tokens: pseudo-counts by hand, and what they do to a fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base.guide import Guidance, Seeds, fixed_counts, joined, seed_counts, seeded_start, token_weights
from nlpkit.topics.base.model import MixtureModel, main_topics
from nlpkit.topics.lda.fit import LdaFit, fit_lda
from nlpkit.topics.lda.options import LdaOptions
from tests.refusals import refuses
from tests.strategies import OWN_WORDS, planted, token_table

TERMS = ("bank", "economy", "economic", "goal", "Goal")
CF = np.array([3, 2, 5, 4, 1])


def counted(guidance: Guidance) -> dict[tuple[int, int], int]:
    """Pseudo-counts by (topic, term)."""
    pairs, times = np.unique(np.stack([guidance.topics, guidance.term_ids]), axis=1, return_counts=True)
    return {(int(k), int(v)): int(n) for (k, v), n in zip(pairs.T, times, strict=True)}


def frequencies(tokens: TokenTable) -> Any:
    return np.bincount(tokens.term_ids, minlength=tokens.n_terms)


def model_of(counts: Any, terms: tuple[str, ...]) -> MixtureModel:
    matrix = sparse.csr_array(np.asarray(counts))
    return MixtureModel(terms, matrix, np.full(matrix.shape[0], 0.5), 0.5)


# --- pseudo-counts ---


def test_pseudo_counts_by_hand() -> None:
    seeds = [Seeds("money", ("bank", "economy"), weight=0.5), Seeds("sport", ("goal",))]
    found = seed_counts(seeds, TERMS, CF)
    # ⌈0.5 · 3⌉, ⌈0.5 · 2⌉, ⌈1 · 4⌉
    assert counted(found) == {(0, 0): 2, (0, 1): 1, (1, 3): 4}
    assert found.term_ids.dtype == found.topics.dtype == np.int32
    assert (found.n_fixed, found.names, found.missing) == (0, ("money", "sport"), ())


@pytest.mark.parametrize(
    ("seeds", "first", "expected", "missing"),
    [
        ([Seeds("sport", ("goal",))], 3, {(3, 3): 4}, ()),
        ([Seeds("x", ("economy", "econom*", "economy"))], 0, {(0, 1): 2, (0, 2): 5}, ()),  # found twice, counted once
        ([Seeds("x", ("bank",)), Seeds("y", ("bank", "goal"))], 0, {(0, 0): 3, (1, 0): 3, (1, 3): 4}, ()),
        ([Seeds("x", ("bank", "river*")), Seeds("y", ("goal", "Bank"))], 0, {(0, 0): 3, (1, 3): 4}, ("river*", "Bank")),
    ],
)
def test_words_of_seeds(
    seeds: list[Seeds], first: int, expected: dict[tuple[int, int], int], missing: tuple[str, ...]
) -> None:
    found = seed_counts(seeds, TERMS, CF, first=first)
    assert (counted(found), found.missing) == (expected, missing)


def test_pseudo_counts_are_those_of_the_decimal_number() -> None:
    assert counted(seed_counts([Seeds("x", ("a",), weight=0.07)], ("a",), np.array([100]))) == {(0, 0): 7}


@pytest.mark.parametrize(
    ("pattern", "terms"),
    [("econom*", {1, 2}), ("econom?", {1}), ("[Gg]oal", {3, 4}), ("goal", {3}), ("*", set(range(5))), ("*o*", {1, 2, 3, 4})],
)  # fmt: skip
def test_patterns(pattern: str, terms: set[int]) -> None:
    found = seed_counts([Seeds("x", (pattern,))], TERMS, CF)
    assert counted(found) == {(0, v): int(CF[v]) for v in terms}


@pytest.mark.parametrize("weight", [-1.0, 0.0, math.nan])
def test_weights_that_seed_nothing_are_refused(weight: float) -> None:
    with pytest.raises(UsageError):
        seed_counts([Seeds("x", ("bank",), weight=weight)], TERMS, CF)


def test_counts_of_an_earlier_model_are_found_by_their_terms() -> None:
    model = model_of([[2, 1, 0], [0, 3, 4]], ("goal", "river", "bank"))
    found = fixed_counts(model, TERMS, ("a", "b"))
    assert counted(found) == {(0, 3): 2, (1, 0): 4}  # the corpus has no "river"
    assert (found.n_fixed, found.names, found.missing) == (2, ("a", "b"), ())


def test_means_of_samples_are_rounded() -> None:
    found = fixed_counts(model_of([[1.4, 1.6, 0.2]], ("bank", "goal", "economy")), TERMS, ("a",))
    assert counted(found) == {(0, 0): 1, (0, 3): 2}


def test_what_guides_nothing_is_refused() -> None:
    with refuses("seed_words"):
        seed_counts([Seeds("x", ("bank",)), Seeds("water", ("river*", "sea"))], TERMS, CF)
    with refuses("fixed_topics"):
        fixed_counts(model_of([[2, 1]], ("sea", "river")), TERMS, ("a",))


def test_joined() -> None:
    fixed = fixed_counts(model_of([[2], [1]], ("bank",)), TERMS, ("a", "b"))
    seeds = seed_counts([Seeds("x", ("goal", "sea"))], TERMS, CF, first=2)
    both = joined(fixed, seeds)
    assert both is not None
    assert counted(both) == {(0, 0): 2, (1, 0): 1, (2, 3): 4}
    assert (both.n_fixed, both.names, both.missing) == (2, ("a", "b", "x"), ("sea",))
    assert joined(fixed, None) is fixed
    assert joined(None, seeds) is seeds
    assert joined(None, None) is None


# --- the start ---


def test_guided_words_start_in_their_topics_the_others_anywhere() -> None:
    tokens = token_table([[0, 1, 3], [], [3, 2, 0, 4]], list(TERMS))
    guidance = seed_counts([Seeds("x", ("bank",)), Seeds("y", ("goal",))], TERMS, frequencies(tokens))
    start = seeded_start(tokens, guidance, 42)
    assert (start.tolist(), start.dtype) == ([0, -1, 1, 1, -1, 0, -1], np.int32)


def test_words_of_two_topics_start_by_their_pseudo_counts() -> None:
    tokens = token_table([[0] * 40_000], ["bank"])
    guidance = Guidance(np.zeros(4, np.int32), np.array([2, 0, 2, 2], np.int32), 0, ("", "", ""))
    start = seeded_start(tokens, guidance, 42)
    # three of four in topic 2: the share has a standard deviation of 0.2 %
    assert np.bincount(start, minlength=3) / 40_000 == pytest.approx([0.25, 0, 0.75], abs=0.01)
    np.testing.assert_array_equal(start, seeded_start(tokens, guidance, 42))
    assert (start != seeded_start(tokens, guidance, 43)).any()


# --- what seed words do to a fit ---

SIZES = [90, 80, 70, 60, 50]
CORPUS = planted(SIZES, seed=1)


def fitted(tokens: TokenTable, guidance: Guidance | None = None, weights: Any = None, **options: Any) -> LdaFit:
    return fit_lda(tokens, LdaOptions(**{"k": 5, "sweeps": 60} | options), guidance=guidance, weights=weights)


def labels_of_topics(fit: LdaFit, n_labels: int = 5) -> list[int]:
    """The planted topic of most of the words of each topic that belong to one."""
    own = fit.model.topic_term.toarray()[:, : n_labels * OWN_WORDS].reshape(fit.model.n_topics, n_labels, OWN_WORDS)
    return [int(k) for k in own.sum(axis=2).argmax(axis=1)]


def test_without_seed_words_topics_are_numbered_by_size() -> None:
    fit = fitted(CORPUS.tokens)
    assert labels_of_topics(fit) == [0, 1, 2, 3, 4]
    assert fit.names == ("",) * 5


@pytest.mark.parametrize("order", [[4, 3], [3, 4], [2, 4, 0], [4, 3, 2, 1, 0]])
def test_seed_words_pull_their_topic_to_its_number_and_name(order: list[int]) -> None:
    # two of the twelve words of each topic
    seeds = [Seeds(f"planted {k}", (f"a{chr(97 + k)}own", f"b{chr(97 + k)}own")) for k in order]
    tokens = CORPUS.tokens
    fit = fitted(tokens, seed_counts(seeds, tokens.terms, frequencies(tokens)))
    rest = [k for k in range(5) if k not in order]
    assert labels_of_topics(fit) == order + rest
    assert fit.names == (*(seed.name for seed in seeds), *[""] * len(rest))
    assert fit.assignments.shape == tokens.term_ids.shape
    assert fit.doc_topic.shape == (tokens.n_docs, 5)
    topics = main_topics(fit.doc_topic, fit.model.alpha).topic
    assert (np.array(labels_of_topics(fit))[topics] == CORPUS.labels).mean() > 0.95


def test_strong_seed_words_join_what_the_corpus_has_apart() -> None:
    words = tuple(f"{chr(97 + w)}{chr(97 + k)}own" for k in (1, 3) for w in range(OWN_WORDS))
    tokens = CORPUS.tokens
    guidance = seed_counts([Seeds("both", words, weight=20.0)], tokens.terms, frequencies(tokens))
    fit = fitted(tokens, guidance)
    theirs = np.isin(tokens.term_ids // OWN_WORDS, (1, 3))
    assert (fit.assignments[theirs] == 0).mean() > 0.8  # apart, one of the two would be elsewhere
    assert (fit.assignments[(tokens.term_ids < 5 * OWN_WORDS) & ~theirs] == 0).mean() < 0.05


def test_pseudo_counts_are_part_of_the_word_counts_and_of_nothing_else() -> None:
    tokens = CORPUS.tokens
    guidance = seed_counts([Seeds("x", ("aaown",), weight=0.5)], tokens.terms, frequencies(tokens))
    fit = fitted(tokens, guidance, sweeps=3)
    by_hand = np.zeros((5, tokens.n_terms), int)
    np.add.at(by_hand, (fit.assignments, tokens.term_ids), 1)
    by_hand[0, 0] += len(guidance.term_ids)
    np.testing.assert_array_equal(fit.model.topic_term.toarray(), by_hand)
    assert fit.doc_topic.sum() == len(tokens.term_ids)


# --- fixed topics ---


def earlier_model() -> MixtureModel:
    """Topics of the labels 3, 1 and 0, of a corpus of these alone, with a word that is in no other."""
    corpus = planted(SIZES, seed=2)
    keep = np.flatnonzero(np.isin(corpus.labels, (3, 1, 0)))
    tokens = corpus.tokens
    documents = [[*tokens.term_ids[tokens.offsets[d] : tokens.offsets[d + 1]], tokens.n_terms] for d in keep]
    fit = fitted(token_table(documents, [*tokens.terms, "elsewhere"]), k=3)
    assert labels_of_topics(fit) == [0, 1, 3]
    return fit.model.renumbered(np.array([2, 1, 0]))


@pytest.mark.parametrize("estimate", ["last", "mean", "best"])
@pytest.mark.parametrize("scheme", ["one", "idf"])
def test_fixed_topics_keep_their_words_while_the_others_adapt(estimate: str, scheme: str) -> None:
    model, tokens = earlier_model(), CORPUS.tokens
    guidance = fixed_counts(model, tokens.terms, ("three", "one", "zero"))
    fit = fitted(tokens, guidance, token_weights(tokens, scheme), estimate=estimate)
    found = fit.model.topic_term.toarray()
    np.testing.assert_array_equal(found[:3], model.topic_term.toarray()[:, : tokens.n_terms])
    assert labels_of_topics(fit) == [3, 1, 0, 2, 4]
    assert fit.names == ("three", "one", "zero", "", "")
    topics = main_topics(fit.doc_topic, fit.model.alpha).topic
    assert (np.array([3, 1, 0, 2, 4])[topics] == CORPUS.labels).mean() > 0.9


def test_all_topics_fixed_is_an_old_model_on_new_documents() -> None:
    model, tokens = earlier_model(), CORPUS.tokens
    fit = fitted(tokens, fixed_counts(model, tokens.terms, ("", "", "")), k=3)
    np.testing.assert_array_equal(fit.model.topic_term.toarray(), model.topic_term.toarray()[:, : tokens.n_terms])
    topics = main_topics(fit.doc_topic, fit.model.alpha).topic
    known = np.isin(CORPUS.labels, (3, 1, 0))
    assert (np.array([3, 1, 0])[topics[known]] == CORPUS.labels[known]).mean() > 0.95


def test_fixed_topics_and_seed_words_together() -> None:
    model, tokens = earlier_model(), CORPUS.tokens
    seeds = seed_counts([Seeds("four", ("aeown", "beown"))], tokens.terms, frequencies(tokens), first=3)
    fit = fitted(tokens, joined(fixed_counts(model, tokens.terms, ("three", "one", "zero")), seeds))
    assert labels_of_topics(fit) == [3, 1, 0, 4, 2]
    assert fit.names == ("three", "one", "zero", "four", "")


def test_fewer_topics_than_are_given_are_refused() -> None:
    tokens = CORPUS.tokens
    with refuses("k"):
        fitted(tokens, fixed_counts(earlier_model(), tokens.terms, ("", "", "")), k=2)


def test_fewer_topics_than_are_given_are_refused_when_the_last_has_no_words_here() -> None:
    model = model_of([[3, 0], [4, 0], [0, 5]], ("aaown", "elsewhere"))
    with refuses("k"):
        fitted(CORPUS.tokens, fixed_counts(model, CORPUS.tokens.terms, ("", "", "")), k=2)


# --- weights of tokens ---

WEIGHTED = token_table([[0, 0, 1, 2], [1, 2, 2, 3], [], [0, 3, 3]], ["a", "b", "c", "d"])


def test_idf_by_hand() -> None:
    # four documents, one of them empty; each word is in two of them
    found = token_weights(WEIGHTED, "idf")
    np.testing.assert_allclose(found, np.full(11, math.log(4 / 2)))


def test_pmi_by_hand() -> None:
    found = token_weights(WEIGHTED, "pmi")
    # N = 11; a: n = 3, twice in the first document of 4 tokens, once in the last of 3; …
    by_hand = [
        *[math.log(2 * 11 / (4 * 3))] * 2, math.log(11 / (4 * 2)), 0.0,  # a a b c: ln(11 / (4 · 3)) < 0
        math.log(11 / (4 * 2)), *[math.log(2 * 11 / (4 * 3))] * 2, 0.0,  # b c c d
        math.log(11 / (3 * 3)), *[math.log(2 * 11 / (3 * 3))] * 2,  # a d d
    ]  # fmt: skip
    assert found is not None
    assert found.tolist() == pytest.approx(by_hand, abs=1e-15)


def test_all_alike_is_no_weight() -> None:
    assert token_weights(WEIGHTED, "one") is None


def test_weights_are_those_of_tomotopy() -> None:
    tp = pytest.importorskip("tomotopy")
    rng = np.random.default_rng(5)
    documents = [rng.zipf(1.5, rng.integers(1, 40)) % 30 for _ in range(60)]
    tokens = token_table(documents, [f"w{v}" for v in range(30)])
    for scheme in ("idf", "pmi"):
        peer = tp.LDAModel(tw=getattr(tp.TermWeight, scheme.upper()), k=2, seed=1)
        for document in documents:
            peer.add_doc([tokens.terms[v] for v in document])
        peer.train(0, workers=1)
        weights = token_weights(tokens, scheme)
        assert weights is not None
        own = dict(zip(tokens.terms, np.bincount(tokens.term_ids, weights, 30), strict=True))
        sums = [float(x) for x in peer.used_vocab_weighted_freq]
        assert sums == pytest.approx([own[term] for term in peer.used_vocabs], rel=1e-5, abs=1e-5)


def test_words_of_every_document_count_for_nothing() -> None:
    tokens = token_table([[0, 1], [0, 2], [0, 1]], ["the", "b", "c"])
    fit = fitted(tokens, weights=token_weights(tokens, "idf"), k=2, sweeps=5)
    sums = np.asarray(fit.model.topic_term.sum(axis=0)).ravel()
    # 1/256 each at the least, whole 256ths else
    assert sums.tolist() == [3 / 256, 2 * round(math.log(3 / 2) * 256) / 256, round(math.log(3) * 256) / 256]
    assert fit.doc_topic.sum() == pytest.approx(sums.sum())
