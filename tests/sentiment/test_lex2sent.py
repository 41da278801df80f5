"""Lex2Sent: halves with merged negations, resampled documents, planted sentiment found again, the same on any number of processes."""

from __future__ import annotations

import os

import numpy as np
import pytest

from nlpkit.errors import InputError, UsageError
from nlpkit.sentiment.lex2sent import HalvedCorpus, Lex2SentOptions, halve, lex2sent, resample
from tests.refusals import refuses

TERMS = [".", "not", "good", "bad", "film", "the"]
WEIGHTS = np.array([0, 0, 2.0, -1.0, 0, 0])
FLAGS = {
    "negates": np.array([0, 1, 0, 0, 0, 0], bool),
    "marks": np.array([1, 0, 0, 0, 0, 0], bool),
    "stops": np.array([0, 1, 1, 0, 0, 1], bool),  # not and good are stop words too, and stay what they are
}


def halved(*docs: str) -> HalvedCorpus:
    ids = [[TERMS.index(w) for w in doc.split()] for doc in docs]
    offsets = np.cumsum([0, *map(len, ids)])
    return halve(offsets, np.array([i for doc in ids for i in doc], np.int32), TERMS, WEIGHTS, **FLAGS)


def words(corpus: HalvedCorpus) -> list[str]:
    return [" ".join(corpus.words[i] for i in part) for part in np.split(corpus.ids, corpus.offsets[1:-1])]


def test_halves() -> None:
    found = halved("not the bad film", "", "not . good", "the the", "film not", "bad not not good")
    assert words(found) == ["NOT_bad film", "", "good", "", "film", "bad NOT_good"]
    sign = dict(zip(found.words, found.sign.tolist(), strict=True))
    assert (sign["good"], sign["NOT_good"], sign["bad"], sign["NOT_bad"], sign["film"]) == (1, -1, -1, 1, 0)


def test_one_half_is_not_enough() -> None:
    with pytest.raises(InputError):
        halve(np.array([0, 1]), np.array([2], np.int32), TERMS, np.maximum(WEIGHTS, 0), **FLAGS)


def test_resampling() -> None:
    corpus = halved("good film bad film film", "", "film", "bad good")
    drawn = resample(corpus, "bootstrap", np.random.default_rng(0))
    shuffled = resample(corpus, "shuffle", np.random.default_rng(0))
    for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        assert set(drawn[a:b]) <= set(corpus.ids[a:b])
        assert sorted(shuffled[a:b]) == sorted(corpus.ids[a:b])
    assert resample(corpus, "none", np.random.default_rng(0)) is corpus.ids
    assert (resample(corpus, "bootstrap", np.random.default_rng(0)) == drawn).all()
    seen = np.array([resample(corpus, "bootstrap", np.random.default_rng(s))[0] for s in range(300)])
    assert abs((seen == TERMS.index("film")).mean() - 0.6) < 0.1  # each word as often as it is there
    with refuses("l2s_resampling"):
        resample(corpus, "twice", np.random.default_rng(0))


def test_fits_go_through_the_grid() -> None:
    fits = Lex2SentOptions().fits()
    assert len(fits) == len(set(fits)) == 27
    assert fits[0] == (10, 10, 128)
    assert len({epochs for epochs, _, _ in Lex2SentOptions(resamples=3).fits()}) == 3
    assert Lex2SentOptions((5,), (2,), (8,), resamples=3).fits() == [(5, 2, 8)] * 3


def planted(D: int = 120) -> tuple[HalvedCorpus, np.ndarray]:
    """Documents of twenty words: two of the lexicon, the others of its side, which the lexicon does not know."""
    rng = np.random.default_rng(5)
    terms = [*"abcdefghij", *"klmnopqrst", *"uvwxyz"]
    sign = np.array([1] * 3 + [0] * 7 + [-1] * 3 + [0] * 13, np.int8)
    positive = np.arange(D) % 2 == 0
    docs = [np.concatenate([rng.integers(0, 3, 2), rng.integers(3, 10, 18)]) + (0 if good else 10) for good in positive]
    docs[7] = docs[7][:0]
    offsets = np.cumsum([0, *map(len, docs)])
    return HalvedCorpus(offsets, np.concatenate(docs).astype(np.int32), tuple(terms), sign), positive


@pytest.mark.slow  # test_sentiment has the command
def test_planted_sentiment_is_found_and_processes_change_nothing() -> None:
    pytest.importorskip("gensim")
    corpus, positive = planted()
    options = Lex2SentOptions((60,), (5,), (16,), resamples=2)
    before = os.environ.get("PYTHONHASHSEED")
    done: list[int] = []
    one = lex2sent(corpus, options, seed=1, workers=1, update=done.append)
    assert done == [1, 2]
    assert one[7] == 0
    assert np.delete((one < 0) == positive, 7).mean() > 0.8
    assert (lex2sent(corpus, options, seed=1, workers=2) == one).all()
    assert os.environ.get("PYTHONHASHSEED") == before


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (Lex2SentOptions(min_count=500), InputError, "no positive word"),
        (Lex2SentOptions(resampling="x"), UsageError, "bootstrap"),
        (Lex2SentOptions(epochs=()), UsageError, "must be at least 1"),
        (Lex2SentOptions(windows=(0,)), UsageError, "must be at least 1"),
    ],
)
def test_what_cannot_be(options: Lex2SentOptions, error: type[Exception], message: str) -> None:
    pytest.importorskip("gensim")
    with pytest.raises(error, match=message):
        lex2sent(planted()[0], options, seed=0)
