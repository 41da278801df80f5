"""The author-topic model and labelled LDA: their sweep by the formula, planted authors and labels, gensim and tomotopy."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
import pytest

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.supervised import kernels as kernel
from nlpkit.topics.supervised.options import AuthorTopicOptions, LabeledLdaOptions
from nlpkit.topics.supervised.restricted import (
    NameSets,
    fit_author_topic,
    fit_labeled_lda,
    rows_of_authors,
    rows_of_labels,
)
from tests.reference import supervised as plain
from tests.strategies import token_table

NAMES = ["ann", "bo", "cy"]


@cache
def written(D: int = 150, seed: int = 0) -> tuple[TokenTable, tuple[tuple[str, ...], ...]]:
    """Documents by one or two of three authors, each with a topic of ten words of its own; the fifth document has no author."""
    rng = np.random.default_rng(seed)
    authors, docs = [], []
    for d in range(D):
        here = sorted(rng.choice(3, 1 + d % 2, replace=False).tolist())
        docs.append([int(10 * a + rng.integers(10)) for a in rng.choice(here, 24)])
        authors.append(tuple(NAMES[a] for a in here) if d != 4 else ())
    return token_table(docs, [f"w{v:02d}" for v in range(30)]), tuple(authors)


@pytest.mark.parametrize("kind", ["authors", "labels"])
def test_a_sweep_is_that_of_the_formula(kind: str) -> None:
    rng = np.random.default_rng(5)
    K, V = 4, 5
    tokens = token_table([rng.integers(0, V, n).tolist() for n in (6, 0, 9, 5)], list("abcde"))
    sets = NameSets.encode([["x", "y"], ["x"], ["z", "y"], []])
    rows = rows_of_authors(sets, K) if kind == "authors" else rows_of_labels(sets, 1)
    owner = np.repeat(np.arange(len(rows.topic_start) - 1, dtype=np.int32), np.diff(rows.topic_start))
    pairs = [
        [(int(r), int(k)) for r in rows.rows[a:b] for k in rows.topics[rows.topic_start[r] : rows.topic_start[r + 1]]]
        for a, b in zip(rows.start, rows.start[1:], strict=False)
    ]
    if kind == "labels":
        assert [{k for _, k in several} for several in pairs] == [{0, 1, 3}, {0, 3}, {1, 2, 3}, {0, 1, 2, 3}]
    else:
        assert [{r for r, _ in several} for several in pairs] == [{0, 1}, {0}, {1, 2}, {3}]
    places, counts, sizes = (
        np.full(20, -1, np.int64),
        np.zeros(len(owner), np.int64),
        np.zeros(owner.max() + 1, np.int64),
    )
    n_vk, n_k, expected = np.zeros((V, K), np.int32), np.zeros(K, np.int64), [None] * 20
    for _ in range(3):
        uniforms = rng.random(20)
        expected = plain.restricted_sweep(tokens.offsets, tokens.term_ids, pairs, expected, K, V, 0.3, 0.2, uniforms)
        kernel.sweep(
            tokens.offsets, tokens.term_ids, rows.start, rows.rows, rows.topic_start, rows.topics, owner, places, counts,
            sizes, n_vk, n_k, 0.3, 0.2, uniforms, np.empty(2 * K),
        )  # fmt: skip
        assert [(int(owner[p]), int(rows.topics[p])) for p in places] == expected
    assert counts.sum() == sizes.sum() == n_k.sum() == n_vk.sum() == 20


def test_planted_authors_come_back() -> None:
    tokens, authors = written()
    fit = fit_author_topic(tokens, 3, NameSets.encode(authors), AuthorTopicOptions(iterations=100))
    theta = fit.arrays["authors"] / fit.arrays["authors"].sum(axis=1, keepdims=True)
    block = np.array([fit.model.topic_term[k].toarray().reshape(3, 10).sum(axis=1) for k in range(3)])
    topic = block.argmax(axis=0)  # of each author
    assert sorted(topic) == [0, 1, 2]
    assert (theta[range(3), topic] > 0.95).all()
    assert fit.doc_topic.sum() == len(tokens.term_ids)
    assert (
        fit.arrays["authors"].sum() == len(tokens.term_ids) - 24
    )  # those of the document without an author are in no row
    alone = fit.doc_topic.toarray()[4] / 24
    np.testing.assert_allclose(
        alone, np.bincount(tokens.term_ids[96:120] // 10, minlength=3)[np.argsort(topic)] / 24, atol=0.3
    )


def test_topics_of_authors_are_those_of_gensim() -> None:
    """Both find the same topics of each author: largest difference of θ_ak under .1 (gensim: online variational Bayes)."""
    gensim = pytest.importorskip("gensim.models")
    tokens, authors = written()
    sets = [several or ("nobody",) for several in authors]
    docs = [
        [(int(v), int(n)) for v, n in zip(*np.unique(tokens.term_ids[a:b], return_counts=True), strict=True)]
        for a, b in zip(tokens.offsets, tokens.offsets[1:], strict=False)
    ]
    theirs = gensim.AuthorTopicModel(
        docs, num_topics=3, id2word=dict(enumerate(tokens.terms)), passes=20, chunksize=30, random_state=1,
        author2doc={name: [d for d, several in enumerate(sets) if name in several] for name in (*NAMES, "nobody")},
    )  # fmt: skip
    expected = np.array(
        [[dict(theirs.get_author_topics(name, minimum_probability=0)).get(k, 0.0) for k in range(3)] for name in NAMES]
    )
    fit = fit_author_topic(tokens, 3, NameSets.encode(authors), AuthorTopicOptions(iterations=100))
    theta = fit.arrays["authors"] / fit.arrays["authors"].sum(axis=1, keepdims=True)
    assert min(np.abs(theta[:, order] - expected).max() for order in permutations(range(3))) < 0.1


def test_planted_labels_come_back_as_topics() -> None:
    tokens, labels = written()
    fit = fit_labeled_lda(tokens, NameSets.encode(labels), LabeledLdaOptions(iterations=60))
    assert sorted(fit.names) == NAMES
    for k, name in enumerate(fit.names):
        words = fit.model.topic_term[k].toarray().reshape(3, 10).sum(axis=1)
        assert words[NAMES.index(name)] / words.sum() > 0.95
    doc_topic = fit.doc_topic.toarray()
    for d, several in enumerate(labels):
        used = {fit.names[k] for k in np.flatnonzero(doc_topic[d])}
        assert used <= set(several or NAMES)


def test_labelled_topics_are_those_of_tomotopy() -> None:
    """Counts of words by label agree: correlation above .98 of φ with LLDAModel's, of the same priors."""
    tomotopy = pytest.importorskip("tomotopy")
    tokens, labels = written()
    theirs = tomotopy.LLDAModel(alpha=1 / 3, eta=1 / 3, seed=1)
    for d, several in enumerate(labels):
        if several:
            ids = tokens.term_ids[tokens.offsets[d] : tokens.offsets[d + 1]]
            theirs.add_doc([tokens.terms[v] for v in ids], labels=list(several))
    theirs.train(100, workers=1)
    fit = fit_labeled_lda(tokens, NameSets.encode(labels), LabeledLdaOptions(iterations=100))
    order = [list(theirs.used_vocabs).index(term) for term in tokens.terms]
    for k, name in enumerate(fit.names):
        phi = np.asarray(theirs.get_topic_word_dist(list(theirs.topic_label_dict).index(name)))[order]
        assert np.corrcoef(fit.model.phi[k], phi)[0, 1] > 0.98


def test_latent_topics_take_what_no_label_has() -> None:
    """Words that stand in every document, whatever its label, go to the latent topic."""
    rng = np.random.default_rng(1)
    labels = [NAMES[d % 3] for d in range(90)]
    docs = [
        [int(v) for v in [*(10 * NAMES.index(name) + rng.integers(0, 10, 12)), *(30 + rng.integers(0, 10, 12))]]
        for name in labels
    ]
    tokens = token_table(docs, [f"w{v:02d}" for v in range(40)])
    fit = fit_labeled_lda(
        tokens, NameSets.encode([[name] for name in labels]), LabeledLdaOptions(latent=1, alpha=0.5, iterations=150)
    )
    latent = fit.names.index("")
    assert fit.model.topic_term[latent].toarray().ravel()[30:].sum() / fit.model.topic_term[latent].sum() > 0.9


def test_parts_of_names() -> None:
    sets = NameSets.encode([["b", "a", "b"], [], ["c"]])
    assert sets.names == ("a", "b", "c")
    assert sets.codes.tolist() == [1, 0, 2]
    assert sets.documents.tolist() == [1, 1, 1]
    part = sets.take(np.array([2, 1]))
    assert (part.names, part.start.tolist(), part.codes.tolist()) == (("c",), [0, 1, 1], [0])


def test_the_seed_decides() -> None:
    tokens, authors = written()
    sets, options = NameSets.encode(authors), AuthorTopicOptions(iterations=10)
    a, b, c = (fit_author_topic(tokens, 3, sets, options, Execution(*how)) for how in ((1, 1), (1, 3), (2, 1)))
    assert (a.doc_topic != b.doc_topic).nnz == 0
    assert (a.doc_topic != c.doc_topic).nnz


def test_what_cannot_be_fitted_is_refused() -> None:
    nothing, sets = token_table([[]], ["a"]), NameSets.encode([["x"]])
    with pytest.raises(UsageError, match="no tokens"):
        fit_author_topic(nothing, 2, sets)
    with pytest.raises(UsageError, match="no tokens"):
        fit_labeled_lda(nothing, sets)
