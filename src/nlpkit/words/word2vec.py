"""Vectors of words and documents by neural networks of one layer: word2vec, fastText and doc2vec, as gensim has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

from nlpkit.errors import missing_extra
from nlpkit.platform.types import BoolArray, Float32Array, TokenTable
from nlpkit.words.options import WordEmbeddingOptions
from nlpkit.words.vectors import Subwords

SETTINGS: dict[str, Any] = {
    "vector_size": 100,
    "window": 5,
    "min_count": 1,
    "epochs": 5,
}  # gensim's defaults, but for min_count
_LONGEST = 10_000  # words of a document that gensim reads; it drops the rest
Progress = Callable[[float | None], None]  # gets the loss of an epoch


def has_word2vec() -> bool:
    """Whether the package that learns the vectors is installed."""
    return find_spec("gensim") is not None


def need_word2vec(what: str = "word2vec of the corpus, for c_in and interpretability,") -> None:
    """Raise MissingError when the package that learns the vectors is not installed."""
    if not has_word2vec():
        raise missing_extra(what, "words")


def train_word2vec(tokens: TokenTable, words: Sequence[str], *, seed: int) -> tuple[Float32Array, BoolArray]:
    """Return the vectors of some words (W, 100) float32, learned from a corpus by word2vec, and which words it has (W,) bool.

    Continuous bag of words with negative sampling, as gensim's Word2Vec(texts, min_count=1) learns it; on one thread, so that the
    same seed gives the same vectors. Documents of more than 10,000 words are several, where gensim would cut them off.

    Raises:
        MissingError: gensim is not installed.

    Source: Mikolov, Chen, Corrado & Dean (2013), "Efficient Estimation of Word Representations in Vector Space", ICLR workshop.
    """
    need_word2vec()
    from gensim.models.word2vec import Word2Vec
    from threadpoolctl import threadpool_limits

    vectors, known = np.zeros((len(words), SETTINGS["vector_size"]), np.float32), np.zeros(len(words), bool)
    if not len(tokens.term_ids):
        return vectors, known
    with threadpool_limits(1):
        model = Word2Vec(_Sentences(tokens), **SETTINGS, seed=seed % 2**32, workers=1)
    for i, word in enumerate(words):
        if word in model.wv:
            vectors[i], known[i] = model.wv[word], True
    return vectors, known


@dataclass(frozen=True, slots=True)
class NetworkVectors:
    """Vectors that a network learned: of words (V, E), of documents (D, E) by doc2vec, of n-grams by fastText.

    words (V,): those with min_count occurrences. losses: the mean loss of a word that was trained on, of each epoch that had any; of
    word2vec alone, as gensim sums it up.
    """

    words: tuple[str, ...]
    vectors: Float32Array
    documents: Float32Array | None
    subwords: Subwords | None
    losses: list[float]


def fit_network(
    tokens: TokenTable, options: WordEmbeddingOptions, *, seed: int, progress: Progress = lambda loss: None
) -> NetworkVectors:
    """Return vectors learned by word2vec (sgns, cbow), fastText's skip-gram, or doc2vec (PV-DM with the mean, PV-DBOW).

    Equal to those of gensim with the same settings. One thread gives the same bytes for the same seed, whatever PYTHONHASHSEED is;
    several do not, for they write the same vectors at the same time. Documents of more than 10,000 words are several to
    gensim, where it would cut them off; to doc2vec they stay one. PV-DBOW learns word vectors by skip-gram beside, which makes
    its documents better, too (Lau & Baldwin 2016, §3).

    Args:
        options: of a method of gensim, in force.
        progress: gets the loss of each epoch, None where gensim has none.

    Raises:
        MissingError: gensim is not installed.

    Source: Mikolov, Sutskever, Chen, Corrado & Dean (2013), "Distributed Representations of Words and Phrases", NIPS; Bojanowski et al.
    (2017), TACL 5; Le & Mikolov (2014), "Distributed Representations of Sentences and Documents", ICML.
    """
    need_word2vec(f"`method={options.method}`")
    from gensim.models.callbacks import CallbackAny2Vec
    from threadpoolctl import threadpool_limits

    losses: list[float] = []

    class Epochs(CallbackAny2Vec):  # type: ignore[misc]
        def on_epoch_end(self, model: Any) -> None:
            loss = model.epoch_loss() if hasattr(model, "epoch_loss") else None
            if loss is not None:
                losses.append(loss)
            progress(loss)

    shared: dict[str, Any] = {
        "vector_size": options.dimensions, "window": options.window, "min_count": options.min_count, "epochs": options.epochs,
        "alpha": options.rate, "negative": options.negative, "hs": int(bool(options.hs)), "sample": options.subsample,
        "workers": options.workers, "seed": seed % 2**32, "callbacks": (Epochs(),),
    }  # fmt: skip
    with threadpool_limits(1):
        model = _trained(tokens, options, shared)
    documents = None
    if options.method.startswith("doc2vec"):
        documents = np.array(model.dv.vectors, np.float32)
        documents[np.diff(tokens.offsets) == 0] = 0.0  # nothing was learned for it
    words = tuple(model.wv.index_to_key)
    return NetworkVectors(words, np.array(model.wv.vectors, np.float32), documents, _subwords(model, options), losses)


def _trained(tokens: TokenTable, options: WordEmbeddingOptions, shared: dict[str, Any]) -> Any:
    """Return the trained model of gensim."""
    if options.method == "fasttext":
        from gensim.models.fasttext import FastText

        low, high = options.ngram_lengths()
        return FastText(_Sentences(tokens), sg=1, min_n=low, max_n=high, bucket=options.buckets, **shared)
    if options.method in ("sgns", "cbow"):
        return _word2vec()(_Sentences(tokens), sg=int(options.method == "sgns"), compute_loss=True, **shared)
    from gensim.models.doc2vec import Doc2Vec

    dm = options.method == "doc2vec-dm"
    return Doc2Vec(_Documents(tokens), dm=int(dm), dbow_words=int(not dm), **shared)


def _word2vec() -> type:
    """Return gensim's Word2Vec with the mean loss of an epoch, which it sums up in float32, too coarse for more than a batch."""
    from gensim.models.word2vec import Word2Vec

    class WithLoss(Word2Vec):  # type: ignore[misc]
        total, trained = 0.0, 0

        def _do_train_job(self, sentences: Any, alpha: float, inits: Any) -> tuple[int, int]:
            self.running_training_loss = 0.0
            tally, raw = super()._do_train_job(sentences, alpha, inits)
            self.total += float(self.running_training_loss)
            self.trained += tally
            return tally, raw

        def epoch_loss(self) -> float | None:
            """Return the mean loss of the epoch that ends, None where subsampling left no pair of words to train on."""
            loss = self.total / self.trained if self.total else None
            self.total, self.trained = 0.0, 0
            return loss

    return WithLoss


def _subwords(model: Any, options: WordEmbeddingOptions) -> Subwords | None:
    if options.method != "fasttext" or options.buckets is None:
        return None
    ids = np.unique(np.concatenate([np.zeros(0, np.int64), *map(np.asarray, model.wv.buckets_word)])).astype(np.int32)
    return Subwords(*options.ngram_lengths(), options.buckets, ids, np.array(model.wv.vectors_ngrams[ids], np.float32))


class _Sentences:
    """Documents as lists of words, as often as they are read."""

    def __init__(self, tokens: TokenTable) -> None:
        self.tokens = tokens
        self.terms = np.array(tokens.terms, dtype=object)

    def __iter__(self) -> Iterator[Any]:
        for _, words in self.pieces():
            yield words

    def pieces(self) -> Iterator[tuple[int, list[str]]]:
        """Yield document and words, of at most as many words as gensim reads."""
        offsets, ids = self.tokens.offsets.tolist(), self.tokens.term_ids
        for document, (start, end) in enumerate(pairwise(offsets)):
            for first in range(start, end, _LONGEST):
                yield document, self.terms[ids[first : min(first + _LONGEST, end)]].tolist()


class _Documents(_Sentences):
    """Documents with their numbers, also those without words, so that there are as many vectors as documents."""

    def __iter__(self) -> Iterator[Any]:
        from gensim.models.doc2vec import TaggedDocument

        last = self.tokens.n_docs - 1
        for document, words in self.pieces():
            yield TaggedDocument(words, [document])
        if last >= 0 and self.tokens.offsets[-1] == self.tokens.offsets[-2]:
            yield TaggedDocument([], [last])
