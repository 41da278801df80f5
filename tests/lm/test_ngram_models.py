"""N-gram models: the lecture's numbers, counting by dictionaries, plain formulas, KenLM and NLTK."""

from __future__ import annotations

import random
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import UsageError
from nlpkit.lm import counting, smoothing
from nlpkit.lm.files import load_arpa
from nlpkit.lm.model import NgramModel
from nlpkit.lm.options import SMOOTHING, NgramModelOptions
from nlpkit.lm.trie import SPECIAL
from nlpkit.platform.runs import scratch
from nlpkit.platform.runs.scratch import Scratch
from tests.lm.helpers import SAM, model_of, perplexity_of, prob
from tests.reference import language_model as plain
from tests.strategies import repeatable

KENLM = Path(__file__).parents[1] / "data" / "kenlm"
WORDS = ("a", "b", "c", "d")
sentences = st.lists(st.lists(st.sampled_from(WORDS), max_size=6), min_size=1, max_size=8)


def kenlm_sentences(n: int) -> list[list[str]]:
    lines = (KENLM / "sentences.txt").read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines][:n]


def test_numbers_of_the_lecture() -> None:
    bigrams = model_of(SAM, order=2, smoothing="mle", closed=True)
    assert prob(bigrams, "I", "do") == pytest.approx(1 / 3)
    assert prob(bigrams, "I", "am") == pytest.approx(2 / 3)
    assert prob(model_of(SAM, order=3, smoothing="mle"), "ham and", "eggs") == 1
    perplexities = [perplexity_of(bigrams, [s]).perplexity for s in SAM]
    assert perplexities == pytest.approx([1.7321, 2.0598, 1.2068], abs=5e-5)
    laplace = model_of(SAM, order=2, smoothing="add-k", closed=True)
    assert prob(laplace, "I", "do") == pytest.approx(2 / 13)


@repeatable
@given(sentences, st.integers(1, 4), st.integers(1, 4))
def test_counts_equal_dictionaries_in_any_number_of_parts(some: list[list[str]], order: int, parts: int) -> None:
    model = model_of(some, parts=parts, order=order, smoothing="mle")
    assert model.counts is not None
    suffixes = smoothing._suffixes(model.trie, Scratch())
    for m in range(1, order + 1):
        level = model.trie.level(m)
        nodes = np.arange(level.start, level.stop)
        spelled = [tuple(model.words[i] for i in ids) for ids in model.trie.spelled(nodes)]
        counted = {g: int(n) for g, n in zip(spelled, model.counts[nodes], strict=True) if n}
        assert counted == plain.ngrams(some, m)
        assert len(set(spelled)) == len(spelled)
        if m > 1:
            suffix = suffixes[m - 2] + model.trie.level(m - 1).start
            found = [tuple(model.words[i] for i in ids) for ids in model.trie.spelled(suffix)]
            assert found == [g[1:] for g in spelled]


@pytest.mark.parametrize("smoothing_", ["kneser-ney", "witten-bell", "backoff"])
def test_the_same_bytes_however_little_is_held_in_memory(smoothing_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = kenlm_sentences(150)
    whole = model_of(text, order=4, smoothing=smoothing_)
    small = {"BLOCK_TOKENS": 100, "_ROOM": 7, "_MERGED_NUMBERS": 300, "PART": 50, "WIDE": 90}
    for name, value in small.items():
        monkeypatch.setattr(counting if hasattr(counting, name) else smoothing, name, value)
    monkeypatch.setattr(smoothing, "HELD", 200)
    monkeypatch.setattr(scratch, "HELD", 400)
    parts = model_of(text, parts=40, order=4, smoothing=smoothing_)
    assert whole.smoothed is not None
    assert parts.smoothed is not None
    assert isinstance(parts.smoothed.log_prob, np.memmap)
    assert max(np.diff(parts.trie.levels)) > 400
    for a, b in (
        (parts.trie.words, whole.trie.words),
        (parts.trie.starts, whole.trie.starts),
        (parts.counts, whole.counts),
        (parts.smoothed.log_prob, whole.smoothed.log_prob),
        (parts.smoothed.log_backoff, whole.smoothed.log_backoff),
    ):
        assert a is not None
        assert b is not None
        assert a.tobytes() == b.tobytes()
    assert parts.smoothed.discounts == whole.smoothed.discounts


@pytest.mark.parametrize(("file", "order", "n"), [("bigrams", 2, 200), ("fallback", 4, 60)])
def test_kneser_ney_equals_kenlm(file: str, order: int, n: int) -> None:
    theirs, ours = load_arpa(KENLM / f"{file}.arpa.gz"), model_of(kenlm_sentences(n), order=order)
    assert ours.smoothed is not None
    assert theirs.smoothed is not None
    assert ours.smoothed.estimated[-1] == (file == "bigrams")
    assert np.diff(ours.trie.levels).tolist() == np.diff(theirs.trie.levels).tolist()
    text = [*kenlm_sentences(200)[-30:], ["unheard", "of", "words"]]
    p, q = ours.score(*ours.encode(text)), theirs.score(*theirs.encode(text))
    np.testing.assert_allclose(np.exp(p.log_prob), np.exp(q.log_prob), atol=1e-6)
    np.testing.assert_array_equal(p.length, q.length)
    a, b = spelled(ours), spelled(theirs)
    assert a.keys() == b.keys()
    assert max(abs(np.exp(a[g]) - np.exp(b[g])) for g in a) < 1e-6


def spelled(model: NgramModel) -> dict[tuple[str, ...], float]:
    """Return the logarithm of the probability of each n-gram."""
    assert model.smoothed is not None
    result: dict[tuple[str, ...], float] = {}
    for m in range(1, model.trie.order + 1):
        nodes = np.arange(model.trie.level(m).start, model.trie.level(m).stop)
        grams = model.trie.spelled(nodes)
        result |= {
            tuple(model.words[i] for i in g): float(p)
            for g, p in zip(grams, model.smoothed.log_prob[nodes], strict=True)
        }
    return result


@repeatable
@given(sentences, st.integers(1, 3), st.sampled_from(["open", "closed"]), st.sampled_from([0.1, 0.75]))
def test_kneser_ney_and_witten_bell_equal_their_formulas(
    some: list[list[str]], order: int, kind: str, discount: float
) -> None:
    closed = kind == "closed"
    kneser_ney = model_of(some, order=order, discount=discount, closed=closed)
    witten_bell = model_of(some, order=order, smoothing="witten-bell", closed=closed)
    words = [w for w in kneser_ney.words if w not in SPECIAL or w == "</s>"]
    V = len(words) + (not closed)
    for context in product(["<s>", *words[1:]], repeat=order - 1):
        if "<s>" in context[1:]:
            continue
        for word in words:
            expected = plain.kneser_ney(some, order, V, discount, context, word)
            assert prob(kneser_ney, " ".join(context), word) == pytest.approx(expected, abs=1e-12)
            expected = plain.witten_bell(some, None if closed else V, context, word)
            assert prob(witten_bell, " ".join(context), word) == pytest.approx(expected, abs=1e-12)


@repeatable
@given(sentences, st.integers(1, 3))
def test_backoff_equals_its_formula(some: list[list[str]], order: int) -> None:
    model = model_of(some, order=order, smoothing="backoff", discount=0.5, closed=True)
    words = [w for w in model.words if w not in SPECIAL or w == "</s>"]
    for context in product(["<s>", *words[1:]], repeat=order - 1):
        if "<s>" in context[1:]:
            continue
        rest = [plain.backoff(some, words, 0.5, context, word) for word in words]
        ours = [prob(model, " ".join(context), word) for word in words]
        if sum(rest) == pytest.approx(1, abs=1e-9):  # where all words follow, there is nobody to take what is left
            assert ours == pytest.approx(rest, abs=1e-9)


@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_probabilities_sum_to_one_and_scores_are_those_of_the_next_words(
    smoothing: str, closed: bool, order: int
) -> None:
    text = kenlm_sentences(120)
    model, other = model_of(text, order=order, smoothing=smoothing, closed=closed), kenlm_sentences(200)[150:160]
    scored = model.score(*model.encode(other))
    rows = iter(scored.log_prob)
    rng = random.Random(1)
    for sentence in other:
        ids = [model.ids.get(w, 0) if model.ids.get(w, 0) >= 3 else 0 for w in sentence]
        for i, word in enumerate([*ids, 2]):
            log_prob = next(rows)
            context = [1, *ids[:i]]
            if closed and 0 in [*context, word]:
                continue
            if rng.random() < 0.3:
                after = model.next_words(context)
                assert after.min() >= 0
                assert after.sum() == pytest.approx(1 if smoothing != "mle" or after.any() else 0, abs=1e-9)
                assert np.exp(log_prob) == pytest.approx(after[word], rel=1e-9)


@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("some", [[["a"]], [[]], [[], ["a", "b"]]])
def test_longer_n_grams_than_there_are_sentences(smoothing: str, closed: bool, some: list[list[str]]) -> None:
    model, short = (model_of(some, order=order, smoothing=smoothing, closed=closed) for order in (30, 4))
    scored, again = (m.score(*m.encode([["a"], ["b", "a"]])) for m in (model, short))
    np.testing.assert_allclose(scored.log_prob, again.log_prob)
    assert model.next_words([1]).sum() == pytest.approx(1)


def test_nltk_agrees() -> None:
    nltk = pytest.importorskip("nltk.lm")
    from nltk.util import everygrams

    padded = [("<s>", *s, "</s>") for s in SAM]
    vocabulary = nltk.Vocabulary([w for s in padded for w in s if w != "<s>"] + ["<s>"])
    for theirs, settings in (
        (nltk.WittenBellInterpolated(2, vocabulary=vocabulary), {"smoothing": "witten-bell", "closed": True}),
        (nltk.MLE(2, vocabulary=vocabulary), {"smoothing": "mle", "closed": True}),
    ):
        theirs.fit([list(everygrams(s, max_len=2)) for s in padded])
        ours = model_of(SAM, order=2, **settings)
        for sentence in padded:
            for context, word in pairwise(sentence):
                if isinstance(theirs, nltk.WittenBellInterpolated):
                    # its single words count <s>, which nothing predicts
                    n, starts = sum(map(len, padded)), len(padded)
                    alpha, gamma = theirs.estimator.alpha_gamma(word, (context,))
                    expected = alpha + gamma * theirs.estimator.unigram_score(word) * n / (n - starts)
                else:
                    expected = theirs.score(word, (context,))
                assert prob(ours, context, word) == pytest.approx(expected, abs=1e-6)


def test_unknown_words() -> None:
    model = model_of(SAM, order=2)
    measured = perplexity_of(model, [["I", "hate", "ham"]])
    assert (measured.n_words, measured.n_unknown, measured.n_impossible) == (4, 1, 0)
    assert measured.perplexity > measured.without_unknown
    closed = perplexity_of(model_of(SAM, order=2, closed=True), [["I", "hate", "ham"]])
    assert closed.perplexity == closed.without_unknown < np.inf
    mle = perplexity_of(model_of(SAM, order=2, smoothing="mle"), [["eggs", "like"]])
    assert (mle.perplexity, mle.n_impossible) == (np.inf, 3)
    assert np.isnan(perplexity_of(model, []).perplexity)
    assert perplexity_of(model, [["<s>", "</s>", "<unk>"]]).n_unknown == 3  # markers in a text are words like others


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"smoothing": "good-turing"}, "good-turing"),
        ({"unit": "line"}, "line"),
        ({"add": 0.5}, "add-k"),
        ({"smoothing": "mle", "discount": 0.5}, "discount"),
        ({"closed": True, "min_count": 2}, "min_count"),
    ],
)
def test_options_that_contradict_each_other(settings: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        NgramModelOptions(**settings)  # type: ignore[arg-type]
