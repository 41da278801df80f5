"""Coherence as other programs compute it: gensim, OCTIS, which asks gensim, and tomotopy."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.metrics.topics.coherence import coherence, measure
from nlpkit.metrics.topics.window_counts import WindowCounter, plan_pairs

NEWS = Path(__file__).parents[3] / "data" / "samples" / "news.jsonl"
PEER_NAMES = {"npmi": "c_npmi", "pmi": "c_uci", "umass": "u_mass", "c_v": "c_v"}
CASES = [(name, window) for name in PEER_NAMES for window in ((None,) if name == "umass" else (None, 2, 5, 16))]

Texts = list[list[str]]


def ours(
    name: str, compat: str, topics: Texts, texts: Texts, *, window: int | None = None, top_n: int = 10
) -> tuple[Any, list[str]]:
    """Return our scores of topics; window None: the own one of the measure."""
    m = measure(name, compat=compat, window="own" if window is None else window)
    plan = plan_pairs(topics, all_pairs=m.all_pairs)
    number = {word: i for i, word in enumerate(plan.words)}
    counter = WindowCounter(plan, m.windows)
    for start in range(0, len(texts), 500):
        batch = texts[start : start + 500]
        offsets = np.cumsum([0, *map(len, batch)]).astype(np.int64)
        counter.add(offsets, np.array([number.get(word, -1) for word in chain(*batch)], np.int32))
    return coherence(counter.result(), m, top_n=top_n)


def gensims(name: str, topics: Texts, texts: Texts, *, window: int | None = None, top_n: int = 10) -> Any:
    models = pytest.importorskip("gensim.models")
    corpora = pytest.importorskip("gensim.corpora")
    model = models.CoherenceModel(
        topics=topics,
        texts=texts,
        dictionary=corpora.Dictionary(texts),
        coherence=PEER_NAMES[name],
        window_size=window,
        topn=top_n,
        processes=1,
    )
    return model.get_coherence_per_topic()


def tomotopys(
    name: str, topics: Texts, texts: Texts, *, window: int | None = None, targets: Texts | None = None
) -> Any:
    tomotopy = pytest.importorskip("tomotopy")
    corpus = tomotopy.utils.Corpus()
    for text in texts:
        corpus.add_doc(text)
    found = tomotopy.coherence.Coherence(
        corpus, coherence=PEER_NAMES[name], window_size=window or 0, targets=list(chain(*(targets or topics)))
    )
    return [found.get_score(topic) for topic in topics]


@pytest.fixture(scope="module")
def small() -> tuple[Texts, Texts]:
    """Topics and texts of 60 words: short, long and empty texts, words that are repeated at once."""
    rng = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(60)])
    p = 1 / np.arange(1, 61)
    texts = [rng.choice(words, rng.integers(0, 40), p=p / p.sum()).tolist() for _ in range(150)]
    return [rng.choice(words, 10, replace=False).tolist() for _ in range(30)], [*texts, []]


@pytest.fixture(scope="module")
def news() -> tuple[Texts, Texts]:
    """60 topics of 10 words that are rare and frequent, and 75 articles."""
    lines = NEWS.read_text(encoding="utf-8").splitlines()[:300:4]
    texts = [re.findall(r"[a-z]{3,}", json.loads(line)["text"].lower()) for line in lines]
    df = Counter(chain(*map(set, texts)))
    words = sorted(word for word, n in df.items() if n >= 3)
    weights = np.sqrt([df[word] for word in words])
    rng = np.random.default_rng(0)
    topics = [rng.choice(words, 10, replace=False, p=weights / weights.sum()).tolist() for _ in range(60)]
    return topics, texts


@pytest.mark.parametrize("name", PEER_NAMES)
def test_gensim_on_articles(name: str, news: tuple[Texts, Texts]) -> None:
    topics, texts = news
    theirs = gensims(name, topics, texts)
    assert len(theirs) == 60
    np.testing.assert_allclose(ours(name, "gensim", topics, texts), theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", PEER_NAMES)
def test_tomotopy_on_articles(name: str, news: tuple[Texts, Texts]) -> None:
    topics, texts = news[0][:60], news[1]
    theirs = tomotopys(name, topics, texts)
    np.testing.assert_allclose(
        ours(name, "tomotopy", topics, texts), theirs, rtol=0, atol=1e-5 if name == "c_v" else 1e-9
    )


@pytest.mark.parametrize(("name", "window"), CASES)
def test_gensim(name: str, window: int | None, small: tuple[Texts, Texts]) -> None:
    for top_n in (3, 10):
        theirs = gensims(name, *small, window=window, top_n=top_n)
        np.testing.assert_allclose(ours(name, "gensim", *small, window=window, top_n=top_n), theirs, rtol=0, atol=1e-9)
        octis = ours(name, "octis", *small, window=window, top_n=top_n)
        np.testing.assert_array_equal(octis, ours(name, "gensim", *small, window=window, top_n=top_n))


@pytest.mark.parametrize(("name", "window"), CASES)
def test_tomotopy(name: str, window: int | None, small: tuple[Texts, Texts]) -> None:
    theirs = tomotopys(name, *small, window=window)
    atol = 1e-5 if name == "c_v" else 1e-9
    np.testing.assert_allclose(ours(name, "tomotopy", *small, window=window), theirs, rtol=0, atol=atol)


@pytest.mark.parametrize("name", PEER_NAMES)
def test_our_own_scores_are_others(name: str, small: tuple[Texts, Texts]) -> None:
    own = ours(name, None, *small)  # type: ignore[arg-type]
    for compat in ("gensim", "tomotopy"):
        window = {"npmi": 5, "pmi": 5, "c_v": 5}.get(name)
        differ = np.abs(ours(name, compat, *small, window=window) - ours(name, None, *small, window=window))  # type: ignore[arg-type]
        assert differ.max() > 1e-3
    assert np.isfinite(own).all()


@pytest.mark.parametrize("name", PEER_NAMES)
@pytest.mark.parametrize("top_n", [4, 11])
def test_gensim_drops_unknown_words_before_it_cuts(name: str, top_n: int, small: tuple[Texts, Texts]) -> None:
    topics = [["nowhere", *words] if k % 3 == 1 else words for k, words in enumerate(small[0])]
    topics[0] = topics[0][: 11 if top_n == 4 else 3]  # with 3 words in the first topic none is cut
    theirs = gensims(name, topics, small[1], top_n=top_n)
    np.testing.assert_allclose(ours(name, "gensim", topics, small[1], top_n=top_n), theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", PEER_NAMES)
def test_tomotopy_leaves_unknown_words_out(name: str, small: tuple[Texts, Texts]) -> None:
    topics = [["nowhere", *words[:6]] for words in small[0]]
    theirs = tomotopys(name, topics, small[1])
    np.testing.assert_allclose(ours(name, "tomotopy", topics, small[1]), theirs, rtol=0, atol=1e-5)


def test_gensim_where_pairs_never_or_always_meet() -> None:
    texts = [["a", "b"], ["a", "b"], ["a", "b", "c"]]
    for name in PEER_NAMES:
        for topic in (["a", "b"], ["c", "a", "b"]):
            theirs = gensims(name, [topic], texts)
            np.testing.assert_allclose(ours(name, "gensim", [topic], texts), theirs, rtol=0, atol=1e-9)
    texts = [["a", "b"], ["a", "c"], ["d"]]
    for name in PEER_NAMES:
        theirs = gensims(name, [["b", "c"], ["a", "d", "b"]], texts)
        np.testing.assert_allclose(
            ours(name, "gensim", [["b", "c"], ["a", "d", "b"]], texts), theirs, rtol=0, atol=1e-9
        )


def test_c_v_of_tomotopy_depends_on_the_other_topics(small: tuple[Texts, Texts]) -> None:
    topics, texts = small
    together, alone = ours("c_v", "tomotopy", topics, texts)[0], ours("c_v", "tomotopy", topics[:1], texts)[0]
    assert abs(together - alone) > 0.01
    theirs = tomotopys("c_v", topics[:1], texts), tomotopys("c_v", topics[:1], texts, targets=topics)
    assert (alone, together) == pytest.approx((theirs[0][0], theirs[1][0]), abs=1e-5)
