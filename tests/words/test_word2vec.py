"""Vectors of words learned from a corpus."""

from __future__ import annotations

import numpy as np
import pytest

from nlpkit.errors import MissingError
from nlpkit.platform.types import TokenTable
from nlpkit.words import word2vec
from nlpkit.words.options import WordEmbeddingOptions
from nlpkit.words.vectors import Subwords, ngram_buckets
from nlpkit.words.word2vec import fit_network, train_word2vec
from tests.reference import glove as plain


def token_table(texts: list[list[str]]) -> TokenTable:
    terms = sorted({word for text in texts for word in text})
    ids = np.array([terms.index(word) for text in texts for word in text], np.int32)
    return TokenTable(np.cumsum([0, *map(len, texts)]).astype(np.int64), ids, tuple(terms))


def planted() -> list[list[str]]:
    rng = np.random.default_rng(0)
    halves = [["sun", "moon", "star", "sky"], ["court", "judge", "law", "jury"]]
    return [list(rng.choice(halves[d % 2], 8)) for d in range(600)]


def test_equals_gensim() -> None:
    models = pytest.importorskip("gensim.models")
    texts = planted()
    expected = models.Word2Vec(texts, min_count=1, workers=1, seed=7).wv
    words = ["court", "nowhere", "sun"]
    vectors, known = train_word2vec(token_table(texts), words, seed=7)
    assert known.tolist() == [True, False, True]
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors[[0, 2]], np.stack([expected["court"], expected["sun"]]))
    assert not vectors[1].any()


def test_the_same_seed_gives_the_same_vectors_and_words_of_one_theme_are_near() -> None:
    pytest.importorskip("gensim")
    tokens, words = token_table(planted() * 5), ["sun", "moon", "court", "judge"]
    vectors, _ = train_word2vec(tokens, words, seed=1)
    assert np.array_equal(vectors, train_word2vec(tokens, words, seed=1)[0])
    assert not np.array_equal(vectors, train_word2vec(tokens, words, seed=2)[0])
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units @ units.T
    assert min(cosines[0, 1], cosines[2, 3]) > max(cosines[0, 2], cosines[0, 3], cosines[1, 2], cosines[1, 3]) + 0.2


def test_a_document_of_any_length_is_read_to_its_end() -> None:
    pytest.importorskip("gensim")
    text = ["a", "b"] * 5_000 + ["late"] * 20
    assert train_word2vec(token_table([text]), ["late"], seed=1)[1].all()


def test_no_words() -> None:
    pytest.importorskip("gensim")
    vectors, known = train_word2vec(TokenTable(np.zeros(1, np.int64), np.zeros(0, np.int32), ()), ["a"], seed=1)
    assert (vectors.shape, known.tolist()) == ((1, 100), [False])


def test_without_gensim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word2vec, "find_spec", lambda name: None)
    with pytest.raises(MissingError, match="needs the extra 'words'"):
        train_word2vec(token_table([["a", "b"]]), ["a"], seed=1)


def options(method: str, **values: object) -> WordEmbeddingOptions:
    return WordEmbeddingOptions(method=method, **{"min_count": 1, "dimensions": 8, **values}).resolved()  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["sgns", "cbow", "fasttext", "doc2vec-dm", "doc2vec-dbow"])
def test_all_methods_equal_gensims(method: str) -> None:
    models = pytest.importorskip("gensim.models")
    texts = planted()
    shared = {"min_count": 1, "workers": 1, "seed": 5, "vector_size": 8, "epochs": 2}
    if method in ("sgns", "cbow"):
        model = models.Word2Vec(texts, sg=int(method == "sgns"), **shared)
    elif method == "fasttext":
        model = models.FastText(texts, sg=1, bucket=1000, **shared)
    else:
        tagged = [models.doc2vec.TaggedDocument(text, [d]) for d, text in enumerate(texts)]
        model = models.Doc2Vec(tagged, dm=int(method == "doc2vec-dm"), dbow_words=1, **shared)
    extra = {"buckets": 1000} if method == "fasttext" else {}
    learned = fit_network(token_table(texts), options(method, epochs=2, **extra), seed=5)
    assert all((learned.vectors[i] == model.wv[word]).all() for i, word in enumerate(learned.words))
    if learned.documents is not None:
        assert (learned.documents == model.dv.vectors).all()
    if learned.subwords is not None:
        for word in ("sunny", "judges", "sk"):
            ours, known = learned.subwords.vector(word), set(learned.subwords.ids.tolist())
            hashed = models.fasttext.ft_ngram_hashes(word, 3, 6, 1000)
            trained = [model.wv.vectors_ngrams[h] for h in hashed if h in known]
            np.testing.assert_allclose(ours, np.mean(trained, axis=0), rtol=1e-5)


def test_one_pair_is_updated_as_on_the_slide() -> None:
    """L = -[log σ(c_pos w) + Σ log σ(-c_neg w)]: gensim's vectors and loss after the text "a b" are those of its derivatives.

    The only negative example that there can be is the word itself; whether it is drawn is left to gensim, so there are four cases.
    """
    models = pytest.importorskip("gensim.models")
    rate, cases = 0.5, []
    settings = {"negative": 1, "window": 1, "epochs": 1, "subsample": 0.0, "rate": rate}
    learned = fit_network(token_table([["a", "b"]]), options("sgns", **settings), seed=3)
    start = models.Word2Vec(vector_size=8, min_count=1, seed=3)
    start.build_vocab([["a", "b"]])
    words = list(learned.words)
    for drawn in np.ndindex(2, 2):
        W, C = start.wv.vectors.astype(np.float64), np.zeros((2, 8))
        loss = 0.0
        for (target, center), negative in zip([(words.index("a"), words.index("b")), (words.index("b"), words.index("a"))],
                                              drawn, strict=True):  # fmt: skip
            negatives = C[[center] * negative]
            loss += plain.sgns_loss(W[center], C[target], negatives)
            of_w, of_positive, of_negatives = plain.sgns_gradients(W[center], C[target], negatives)
            W[center] -= rate * of_w
            C[target] -= rate * of_positive
            if negative:
                C[center] -= rate * of_negatives[0]
        cases.append((W, loss / 2))
    fits = [np.allclose(learned.vectors, W, atol=1e-4) for W, _ in cases]
    losses = [abs(learned.losses[0] - loss) < 0.05 for _, loss in cases]  # its tables have steps of 0.012
    assert any(a and b for a, b in zip(fits, losses, strict=True))


def test_the_derivatives_of_the_slide_are_those_of_its_loss() -> None:
    rng = np.random.default_rng(0)
    w, positive, negatives = rng.normal(size=4), rng.normal(size=4), rng.normal(size=(3, 4))
    of_w, of_positive, of_negatives = plain.sgns_gradients(w, positive, negatives)
    step = 1e-6
    for e in range(4):
        change = np.eye(4)[e] * step
        of = [
            (plain.sgns_loss(w + change, positive, negatives), of_w[e]),
            (plain.sgns_loss(w, positive + change, negatives), of_positive[e]),
            (plain.sgns_loss(w, positive, negatives + np.eye(3)[:, [1]] * change), of_negatives[1, e]),
        ]
        for after, derivative in of:
            assert abs((after - plain.sgns_loss(w, positive, negatives)) / step - derivative) < 1e-4


def test_losses_fall_and_are_not_cut_off_by_float32() -> None:
    pytest.importorskip("gensim")
    learned = fit_network(token_table(planted()), options("sgns", epochs=8), seed=1)
    assert len(learned.losses) == 8
    assert learned.losses[-1] < learned.losses[0]
    more = fit_network(token_table(planted() * 3), options("sgns", epochs=1), seed=1)
    assert abs(more.losses[0] - learned.losses[0]) / learned.losses[0] < 0.5  # a mean, not a sum


def test_an_epoch_that_trains_no_word_has_no_loss() -> None:
    pytest.importorskip("gensim")
    one = token_table([[f"w{n}" for n in range(12)]])
    learned = fit_network(one, options("sgns", epochs=30, min_count=1, subsample=0.001), seed=1)
    assert 0 < len(learned.losses) < 30
    assert min(learned.losses) > 0


def test_a_document_without_words_has_a_vector_of_zeros() -> None:
    pytest.importorskip("gensim")
    texts = [["a", "b"], [], ["b", "a"], []]
    documents = fit_network(token_table(texts), options("doc2vec-dm"), seed=1).documents
    assert documents is not None
    assert documents.any(axis=1).tolist() == [True, False, True, False]


@pytest.mark.parametrize(("low", "high"), [(3, 6), (1, 2), (2, 2)])
@pytest.mark.parametrize("word", ["the", "a", "", "Straße", "日本語", "🙂x"])
def test_buckets_are_gensims(word: str, low: int, high: int) -> None:
    fasttext = pytest.importorskip("gensim.models.fasttext")
    assert ngram_buckets(word, low, high, 4099) == fasttext.ft_ngram_hashes(word, low, high, 4099)


def test_a_word_without_a_known_ngram_has_no_vector() -> None:
    subwords = Subwords(
        3, 3, 50_000, np.array(sorted(ngram_buckets("river", 3, 3, 50_000)), np.int32), np.eye(5, 2, dtype=np.float32)
    )
    assert subwords.vector("zzz") is None
    assert subwords.vector("rivers") is not None
