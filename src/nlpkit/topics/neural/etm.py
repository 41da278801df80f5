"""The embedded topic model: topics are vectors in the space of the words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse.linalg  # noqa: F401  # here, as threads are limited only of the libraries that are loaded

from nlpkit.platform.options import Execution
from nlpkit.platform.types import BoolArray, Float32Array, IntArray, LongArray, TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel
from nlpkit.topics.base.scores import Fitted, Keeper, TokenFitter
from nlpkit.topics.neural.embedded import Weights, check_theta, etm_phi, etm_theta, renumbered
from nlpkit.topics.neural.options import PMI_SVD, RANDOM, EtmOptions
from nlpkit.topics.neural.points import as_counts, check_torch, documents_of
from nlpkit.weights.dtm import count_terms
from nlpkit.words.learn import learn
from nlpkit.words.options import WordEmbeddingOptions

BETAS = (0.9, 0.999)  # of Adam
DECAY = 1.2e-6  # of weights, as in the program of Dieng et al.
UNKNOWN = 0.6  # standard deviation of the vector of a word that has none


def fit_etm(
    tokens: TokenTable,
    n_topics: int,
    options: EtmOptions | None = None,
    execution: Execution | None = None,
    *,
    vectors: Float32Array | None = None,
    known: BoolArray | None = None,
    progress: Callable[..., None] | None = None,
    keeper: Keeper | None = None,
) -> MixtureFit:
    """Fit the embedded topic model, a variational autoencoder of words; `networks.Etm` says what it is.

    θ is softmax(m(x)), as in the authors' program. A tenth of the documents is held out of training, which
    ends when their bound has not risen for ten passes of 200 steps in all; the weights are those of the best pass after the first 200
    steps. One thread computes, with random numbers of numpy: the result does not depend on how many there are.

    Args:
        tokens: corpus; documents without tokens have no topic.
        n_topics: K; execution: the seed.
        vectors: (V, E) float32 of the words, None to make them as the options say: PMI-SVD of the corpus, or random and learned.
            known: (V,) words that have one; the others start from N(0, 0.6²).
        progress: called after each pass; keeper: keeps states to go on from.

    Raises:
        UsageError: no topic, or more than tokens; InputError: fewer than ten documents with words, or too few words for PMI-SVD;
            MissingError: no torch.

    Source: Dieng, Ruiz & Blei (2020), "Topic Modeling in Embedding Spaces", TACL 8.
    """
    options, execution = options or EtmOptions(), execution or Execution()
    check_torch("etm")
    full, dtm = documents_of(tokens, n_topics)
    from nlpkit.topics.neural.training import Etm, Schedule, train

    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "etm")))
    if vectors is None:
        vectors, known = _vectors(tokens, options, rng, execution)
    words = np.array(vectors, np.float32)
    if known is not None:
        words[~known] = UNKNOWN * rng.standard_normal((int((~known).sum()), words.shape[1]), np.float32)
    tune = options.tune or options.vectors == RANDOM
    network = Etm(rng, vectors=words, tune=tune, K=n_topics, hidden=options.hidden)
    schedule = Schedule(options.rate, BETAS, DECAY, options.iterations, options.batch_size, options.dropout)
    trained = train(network, dtm, None, schedule, rng, n_topics=n_topics, progress=progress, keeper=keeper)
    theta = etm_theta(trained.weights, dtm)
    model, doc_topic, order = as_counts(tokens, full, theta, etm_phi(trained.weights))
    return MixtureFit(
        model,
        doc_topic,
        trained.trace,
        {
            "bound_per_token": round(-trained.best.held_out_loss, 6),
            "epochs": len(trained.trace),
            "best_epoch": trained.best.epoch,
            "converged": trained.converged,
            "dimensions": int(words.shape[1]),
        },
        weights=renumbered(trained.weights, order),
    )


def _vectors(
    tokens: TokenTable, options: EtmOptions, rng: np.random.Generator, execution: Execution
) -> tuple[Float32Array, BoolArray | None]:
    """Return vectors (V, E) of the words, and which have one: of PMI-SVD, of length 1 on average; or uniform from ±1/√E."""
    V, E = tokens.n_terms, options.dimensions
    if options.vectors == RANDOM:
        bound = 1.0 / np.sqrt(E)
        return rng.uniform(-bound, bound, (V, E)).astype(np.float32), None
    settings = WordEmbeddingOptions(method=PMI_SVD, dimensions=max(min(E, V - 1), 1), min_count=1).resolved()
    learned = learn(tokens, settings, seed=execution.seed, threads=execution.n_threads()).vectors
    vectors = np.zeros((V, learned.vectors.shape[1]), np.float32)
    rows = learned.rows(tokens.terms)
    vectors[rows >= 0] = learned.vectors[rows[rows >= 0]]
    lengths = np.linalg.norm(vectors, axis=1)
    return vectors / max(float(lengths.mean()), 1e-12), lengths > 0


@dataclass(frozen=True, slots=True)
class EtmFitter(TokenFitter):
    """An embedded topic model whose numbers of topics are compared, and that is fitted.

    vectors: (V, E) of the words, where they were given, and known (V,) which have one. seeds: one, since each fit costs minutes.
    """

    options: EtmOptions
    vectors: Float32Array | None = None
    known: BoolArray | None = None
    seeds: int = 1

    def check(self, fit: MixtureFit) -> None:
        """Try the weights on one document with every word. Raises ValueError, KeyError where they are none of this model."""
        K, V = fit.model.topic_term.shape
        if len(fit.weights["words"]) != V:
            raise ValueError(f"vectors of {len(fit.weights['words'])} words, where the model has {V}")
        with np.errstate(all="ignore"):
            check_theta(infer_theta(fit.weights, np.array([0, V]), np.arange(V, dtype=np.int32)), K)

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""
        return fit_etm(
            tokens, n_topics, self.options, execution, vectors=self.vectors, known=self.known, progress=progress, keeper=keeper
        )  # fmt: skip

    def take(self, documents: LongArray, terms: LongArray) -> EtmFitter:
        """Return the fitter with the vectors of some of the terms."""
        vectors = None if self.vectors is None else self.vectors[terms]
        return replace(self, vectors=vectors, known=None if self.known is None else self.known[terms])

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model with every term possible in every topic, and the inference network."""
        return fit.model.smoothed(), partial(infer_theta, fit.weights)


def infer_theta(weights: Weights, offsets: LongArray, term_ids: IntArray) -> Float32Array:
    """Return θ (D, K) of new documents by the inference network.

    Args:
        offsets: (D + 1,) document d owns term_ids[offsets[d]:offsets[d + 1]]; a batch may begin anywhere in term_ids.
    """
    first = int(offsets[0])
    ids = term_ids[first : int(offsets[-1])]
    return etm_theta(weights, count_terms(TokenTable(offsets - first, ids, ("",) * len(weights["words"]))))
