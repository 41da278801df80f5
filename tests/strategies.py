"""What the tests draw from: corpora, counts, embeddings, trees, each named by its axes; planted corpora by seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nlpkit.platform.types import TokenTable

# the same examples on every run, and no deadline: the first example waits for the compiler; as many as tests/conftest.py says
repeatable = settings(derandomize=True, deadline=None, max_examples=min(60, settings.default.max_examples))

LETTERS = "aábßçİıσς'’-_.@&;:/<>#0159\u0308\u00ad\u200b 日本語カナひらがなภาษาไทย한국नमस\t\n"


def texts() -> st.SearchStrategy[str]:
    """Text of letters of many scripts, marks, and the signs that the tokeniser treats in a way of their own."""
    words = st.sampled_from(
        ["the", "The", "don’t", "U.S.A.", "state-of-the-art", "https://a.b/c", "me@x.org", "<b>", "&amp;", "自然语言"]
    )
    anything = st.text(alphabet=st.one_of(st.sampled_from(LETTERS), st.characters(codec="utf-8")), max_size=12)
    return st.lists(st.one_of(words, anything), max_size=8).map(" ".join)


def corpora(max_docs: int = 12) -> st.SearchStrategy[list[str | None]]:
    """Texts of documents (D,), some null, some empty; or a column of codes, as when the wrong one is named."""
    plain = st.lists(st.one_of(st.none(), texts(), texts(), texts()), max_size=max_docs)
    # no gap between the texts, so these hold the most tokens that so few bytes can
    short = st.one_of(
        st.just(""), st.sampled_from("yn15AB日é?"), st.sampled_from(["a b c", "1 2 3 4 5", "?!?!?!", "a©a©a©a©a"])
    )
    return st.one_of(plain, plain, st.lists(short, max_size=4 * max_docs))


@st.composite
def counts_dv(draw: st.DrawFn, max_docs: int = 12, max_terms: int = 8, max_count: int = 4) -> Any:
    """Dense counts (D, V) int32, D and V at least 1; rows and columns of zeros occur."""
    shape = draw(st.integers(1, max_docs)), draw(st.integers(1, max_terms))
    return draw(hnp.arrays(np.int32, shape, elements=st.integers(0, max_count)))


@st.composite
def term_ids_kn(draw: st.DrawFn, n_terms: int) -> Any:
    """Top terms (K, n) int32 of 1 … 4 topics: different terms first, then -1."""
    K, n = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    ids = np.full((K, n), -1, np.int32)
    for row in ids:
        terms = draw(st.lists(st.integers(0, n_terms - 1), unique=True, max_size=n))
        row[: len(terms)] = terms
    return ids


@st.composite
def trees_n(draw: st.DrawFn, max_points: int = 40) -> tuple[Any, Any]:
    """A spanning tree of N points: ends (N-1, 2) int64 in ascending length, heights (N-1,) float64, all different."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, max_points))
    order = rng.permutation(n)
    # every point hangs on one before it; near ones make chains, far ones stars
    reach = draw(st.integers(1, n))
    before = [rng.integers(max(i - reach, 0), i) for i in range(1, n)]
    ends = np.array([[order[i], order[j]] for i, j in zip(range(1, n), before, strict=True)], np.int64)
    ends = np.sort(ends[rng.permutation(n - 1)], axis=1)
    heights = np.sort(rng.lognormal(sigma=draw(st.sampled_from([0.1, 1.0, 3.0])), size=n - 1))
    return ends, heights


def unit_rows(rng: np.random.Generator, n: int, n_dims: int) -> Any:
    """Random embeddings (n, n_dims) float32 of length 1."""
    rows = rng.normal(size=(n, n_dims))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Planted:
    """A corpus with known topics: embeddings (D, E) float32 in K bundles, tokens with words of their topic, labels (D,)."""

    embeddings: Any
    tokens: TokenTable
    labels: Any

    @property
    def usable(self) -> Any:
        """(D,) all true."""
        return np.ones(len(self.labels), bool)


OWN_WORDS = 12
SHARED_WORDS = 20


def planted(sizes: list[int], *, seed: int, spread: float = 0.35, noise: int = 0, n_dims: int = 24) -> Planted:
    """Documents of len(sizes) topics in random order, and `noise` documents of none (label -1).

    Embeddings: an axis per topic plus noise of length `spread`; of none: random directions. Words: 8 of the 12 of the topic
    (named <letter><letter of the topic>own, no two alike to the eye of topic_label) and 6 of the 20 that all share.
    """
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.concatenate([np.repeat(np.arange(len(sizes)), sizes), np.full(noise, -1)]))
    centers = np.linalg.qr(rng.normal(size=(n_dims, n_dims)))[0][: len(sizes)]
    X = centers[labels] + rng.normal(scale=spread / np.sqrt(n_dims), size=(len(labels), n_dims))
    X[labels < 0] = rng.normal(size=(noise, n_dims))
    embeddings = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    first_shared = OWN_WORDS * len(sizes)
    documents = []
    for k in labels:
        own = OWN_WORDS * k + rng.integers(0, OWN_WORDS, 8)
        documents.append(np.concatenate([own if k >= 0 else [], first_shared + rng.integers(0, SHARED_WORDS, 6)]))
    names = [f"{chr(97 + w)}{chr(97 + k)}own" for k in range(len(sizes)) for w in range(OWN_WORDS)]
    names += [f"{chr(97 + w)}shared" for w in range(SHARED_WORDS)]
    return Planted(embeddings, token_table(documents, names), labels)


def token_table(documents: list[Any], terms: list[str]) -> TokenTable:
    """A token table of documents given as term ids."""
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    return TokenTable(offsets, np.concatenate(documents).astype(np.int32), tuple(terms))


def take(corpus: Planted, rows: list[int]) -> tuple[Any, TokenTable, Any]:
    """Embeddings, tokens and usable of some documents in a given order, again and again if asked; -1: one without text."""
    tokens = corpus.tokens
    documents = [tokens.term_ids[tokens.offsets[d] : tokens.offsets[d + 1]] if d >= 0 else [] for d in rows]
    usable = np.array(rows) >= 0
    embeddings = np.where(usable[:, None], corpus.embeddings[rows], 0).astype(np.float32)
    return embeddings, token_table(documents, list(tokens.terms)), usable


def same_partition(a: Any, b: Any) -> bool:
    """Tell whether two labellings (N,) group the points alike, -1 for none in both, whatever the numbers."""
    a, b = np.asarray(a), np.asarray(b)
    if not np.array_equal(a < 0, b < 0):
        return False
    pairs = set(zip(a[a >= 0].tolist(), b[b >= 0].tolist(), strict=True))
    return len(pairs) == len({x for x, _ in pairs}) == len({y for _, y in pairs})


def blobs(sizes: list[int], *, seed: int, noise: int = 0, n_dims: int = 3) -> tuple[Any, Any]:
    """Points (N, n_dims) float32 in round groups ten apart, `noise` points between them; labels (N,), -1 for noise."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*[np.arange(3)] * n_dims), axis=-1).reshape(-1, n_dims)
    centers = 10.0 * grid[rng.permutation(len(grid))[: len(sizes)]]
    points = np.concatenate([c + rng.normal(size=(n, n_dims)) for c, n in zip(centers, sizes, strict=True)])
    points = np.concatenate([points, rng.uniform(-5, 25, (noise, n_dims))])
    labels = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), np.full(noise, -1)])
    order = rng.permutation(len(points))
    return points[order].astype(np.float32), labels[order].astype(np.int32)
