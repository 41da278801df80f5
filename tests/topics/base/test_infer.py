"""Topics of new documents: planted ones, the same for the same text, whoever stands beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.topics.base.by_term import words_of
from nlpkit.topics.base.heldout import infer_topics
from nlpkit.topics.base.model import MixtureModel
from nlpkit.topics.lda.sampler import GibbsSampler
from tests.refusals import refuses
from tests.strategies import planted, token_table

# three topics over six words, and a word that no topic has
MODEL = MixtureModel(
    tuple("abcdefg"),
    sparse.csr_array(np.array([[9, 8, 1, 0, 0, 0, 0], [0, 0, 7, 9, 0, 0, 0], [1, 0, 0, 0, 8, 9, 0]], np.int32)),
    np.array([0.2, 0.3, 0.5]),
    0.1,
)
DOCS = [[0, 1, 1, 0], [], [3, 2, 3, 5], [6], [4, 5, 5, 4, 4, 0, 2], [1, 0, 0, 1]]


def infer(docs: list[list[int]], model: Any = MODEL, **options: Any) -> Any:
    tokens = token_table(docs, list(MODEL.terms))
    return infer_topics(model, tokens.offsets, tokens.term_ids, **{"seed": 1, "sweeps": 20} | options)


def test_theta_by_hand() -> None:
    theta = infer(DOCS)
    assert theta.dtype == np.float32
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(theta[1], [0.2, 0.3, 0.5])  # no words: the mean of the prior
    # one token of a word without counts: (α + α phi / Σ α phi) / 2, phi = 0.1 / (n_k + 0.7)
    p = MODEL.alpha * 0.1 / (np.array([18, 16, 18]) + 0.7)
    np.testing.assert_allclose(theta[3], (MODEL.alpha + p / p.sum()) / 2, rtol=1e-6)
    assert theta[[0, 2, 4, 5]].argmax(axis=1).tolist() == [0, 1, 2, 0]


def test_planted_topics_come_back_on_new_documents() -> None:
    corpus = planted([60, 50, 40, 30], seed=3)
    old, new = slice(0, 120), slice(120, None)
    documents = np.split(corpus.tokens.term_ids, corpus.tokens.offsets[1:-1])
    fitted = token_table(documents[old], list(corpus.tokens.terms))
    sampler = GibbsSampler(fitted, n_topics=4, alpha=0.1, eta=0.1, seed=5)
    sampler.run(150)
    model = MixtureModel(fitted.terms, sampler.topic_term(), sampler.alpha, sampler.eta)
    tokens = token_table(documents[new], list(corpus.tokens.terms))
    topics = infer_topics(model, tokens.offsets, tokens.term_ids, seed=1).argmax(axis=1)
    # 8 words of the topic and 6 that all topics share
    table = np.zeros((4, 4), int)
    np.add.at(table, (corpus.labels[new], topics), 1)
    assert table.max(axis=1).sum() >= 0.95 * len(topics)
    assert sorted(table.argmax(axis=1)) == [0, 1, 2, 3]


def test_same_text_same_topics() -> None:
    theta = infer(DOCS)
    np.testing.assert_array_equal(theta[0], theta[5])  # the same words in another order
    np.testing.assert_array_equal(infer(DOCS[::-1]), theta[::-1])
    for d, words in enumerate(DOCS):
        np.testing.assert_array_equal(infer([words])[0], theta[d])
    assert not np.array_equal(infer(DOCS, seed=2)[0], theta[0])


def test_neither_batches_nor_threads_matter() -> None:
    rng = np.random.default_rng(0)
    tokens = token_table([rng.integers(0, 7, n) for n in rng.integers(0, 30, 400)], list(MODEL.terms))
    offsets, term_ids = tokens.offsets, tokens.term_ids
    whole = infer_topics(MODEL, offsets, term_ids, seed=1, sweeps=10)
    for threads in (2, 3, 8):
        again = infer_topics(words_of(MODEL), offsets, term_ids, seed=1, sweeps=10, threads=threads)
        assert again.tobytes() == whole.tobytes()
    parts = [infer_topics(MODEL, offsets[a : a + 31], term_ids, seed=1, sweeps=10) for a in range(0, 400, 30)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_the_same_without_jit() -> None:
    code = (
        "import numpy as np\n"
        "from tests.topics.base.test_infer import DOCS, infer\n"
        "print(infer(DOCS, chains=2).tobytes().hex())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=Path(__file__).parents[3],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == infer(DOCS, chains=2).tobytes().hex()


def test_chains_are_means_of_chains() -> None:
    tokens = [[0, 1, 2, 3, 4, 5] * 3]
    exact = infer(tokens, sweeps=20_000)
    np.testing.assert_allclose(infer(tokens, sweeps=40, chains=500), exact, atol=0.02)
    assert np.abs(infer(tokens, sweeps=2, chains=1) - exact).max() > 0.02


def test_one_topic() -> None:
    model = MixtureModel(MODEL.terms, MODEL.topic_term[[1]], np.array([0.4]), 0.1)
    np.testing.assert_array_equal(infer(DOCS, model), np.ones((len(DOCS), 1)))


def test_no_documents() -> None:
    assert infer_topics(MODEL, np.zeros(1, np.int64), np.zeros(0, np.int32), seed=1).shape == (0, 3)


def test_counts_that_are_means_of_samples() -> None:
    model = MixtureModel(MODEL.terms, MODEL.topic_term * 2.5, MODEL.alpha, 0.25)  # the same phi
    np.testing.assert_allclose(infer(DOCS, model), infer(DOCS), rtol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"sweeps": 0},
        {"sweeps": 5, "burn_in": 5},
        {"burn_in": -1},
        {"chains": 0},
    ],
)
def test_options_out_of_range(options: dict[str, int]) -> None:
    with refuses("sweeps"):
        infer(DOCS, **options)


def test_unknown_words_and_priors_are_refused() -> None:
    with pytest.raises(UsageError, match="from 0 to 6, found 0 to 7"):
        infer([[0, 7]])
    with refuses("alpha"):
        infer(DOCS, MixtureModel(MODEL.terms, MODEL.topic_term, MODEL.alpha, 0.0))


def test_theta_is_that_of_tomotopy() -> None:
    tomotopy = pytest.importorskip("tomotopy")
    rng = np.random.default_rng(1)
    corpus = planted([40, 40, 40], seed=2)
    names = corpus.tokens.terms
    theirs = tomotopy.LDAModel(k=3, alpha=0.5, eta=0.1, seed=1)
    theirs.optim_interval = 0
    for words in np.split(corpus.tokens.term_ids, corpus.tokens.offsets[1:-1]):
        theirs.add_doc([names[v] for v in words])
    theirs.train(100, workers=1)
    terms = tuple(theirs.used_vocabs)
    counts = np.zeros((3, len(terms)), np.int32)
    for doc in theirs.docs:
        np.add.at(counts, (np.asarray(doc.topics), np.asarray(doc.words)), 1)
    model = MixtureModel(terms, sparse.csr_array(counts), np.asarray(theirs.alpha, np.float64), float(theirs.eta))
    tokens = token_table([rng.integers(0, len(terms), n) for n in (5, 10, 20, 40) * 5], list(terms))
    new = [theirs.make_doc([terms[v] for v in w]) for w in np.split(tokens.term_ids, tokens.offsets[1:-1])]
    # their theta is that of one state, ours the mean: the mean over many runs of theirs
    runs = [theirs.infer(new, iterations=30 + r, workers=1)[0] for r in range(200)]
    ours = infer_topics(model, tokens.offsets, tokens.term_ids, seed=1, sweeps=5000)
    assert np.abs(np.mean(runs, axis=0) - ours).sum(axis=1).mean() / 2 < 0.03
