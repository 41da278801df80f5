"""Contextualized topic models: topics of words, inferred from embeddings of the documents; ProdLDA, from their words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nlpkit.platform.options import Execution
from nlpkit.platform.types import CsrMatrix, Float32Array, TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.model import MixtureFit
from nlpkit.topics.base.scores import Keeper
from nlpkit.topics.neural.embedded import EmbeddedFitter, Weights, ctm_phi, ctm_theta, renumbered
from nlpkit.topics.neural.options import CtmOptions
from nlpkit.topics.neural.points import as_counts, check_torch, documents_of

BETAS = (0.99, 0.999)  # of Adam, as Srivastava & Sutton have them


def fit_ctm(
    tokens: TokenTable,
    n_topics: int,
    options: CtmOptions | None = None,
    execution: Execution | None = None,
    *,
    embeddings: Float32Array | None = None,
    progress: Callable[..., None] | None = None,
    keeper: Keeper | None = None,
) -> MixtureFit:
    """Fit ZeroShotTM, CombinedTM or ProdLDA, variational autoencoders of words; `networks.ProdLda` says what they are.

    θ is softmax(m(x)), the mode of the posterior of each document put through the softmax; contextualized-topic-models takes the mean of
    20 samples. φ is the softmax of the rows of the decoder, as that program gives it. The model itself is a product of experts,
    p(w | θ) = softmax(norm(θ β)), and no mixture Σ_k θ_k φ_k: n_kv are φ_kv n_k all the same, with n_k = Σ_d θ_dk N_d.

    A tenth of the documents is held out of training, which ends when their bound has not risen for ten passes
    of 200 steps in all; the weights are those of the best pass after the first 200 steps. One thread computes, with random numbers of
    numpy: the result does not depend on how many there are.

    Args:
        tokens: corpus; documents without tokens have no topic.
        n_topics: K; execution: the seed.
        embeddings: (D, E) float32 of the documents, where the options infer topics from them.
        progress: called after each pass; keeper: keeps states to go on from.

    Raises:
        UsageError: no topic, or more than tokens; InputError: fewer than ten documents with words; MissingError: no torch.

    Sources: Srivastava & Sutton (2017), ICLR; Bianchi, Terragni & Hovy (2021), ACL; Bianchi et al. (2021), EACL, for ZeroShotTM.
    """
    options, execution = options or CtmOptions(), execution or Execution()
    check_torch("ctm")
    full, dtm = documents_of(tokens, n_topics)
    from nlpkit.topics.neural.training import ProdLda, Schedule, train

    vectors = None if embeddings is None or not options.embeds else embeddings[full]
    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "ctm")))
    network = ProdLda(
        rng,
        inference=options.inference,
        V=dtm.shape[1],
        E=0 if vectors is None else vectors.shape[1],
        K=n_topics,
        hidden=options.hidden,
        alpha=options.alpha,
    )
    schedule = Schedule(options.rate, BETAS, 0.0, options.iterations, options.batch_size, options.dropout)
    trained = train(network, dtm, vectors, schedule, rng, n_topics=n_topics, progress=progress, keeper=keeper)
    theta = ctm_theta(trained.weights, dtm, vectors)
    model, doc_topic, order = as_counts(tokens, full, theta, ctm_phi(trained.weights))
    return MixtureFit(
        model,
        doc_topic,
        trained.trace,
        {
            "prior_alpha": options.alpha,
            "bound_per_token": round(-trained.best.held_out_loss, 6),
            "epochs": len(trained.trace),
            "best_epoch": trained.best.epoch,
            "converged": trained.converged,
        },
        weights=renumbered(trained.weights, order),
    )


@dataclass(frozen=True, slots=True)
class CtmFitter(EmbeddedFitter):
    """A contextualized topic model whose numbers of topics are compared, and that is fitted."""

    options: CtmOptions

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""
        return fit_ctm(
            tokens, n_topics, self.options, execution, embeddings=self.embeddings, progress=progress, keeper=keeper
        )

    def width(self, weights: Weights) -> int:
        """Return E, the dimensions of the embeddings that the weights are for."""
        return len(weights["adapt.weight" if "adapt.weight" in weights else "input.weight"])

    def theta(self, weights: Weights, dtm: CsrMatrix, embeddings: Float32Array | None) -> Float32Array:
        """Return θ (D, K) of new documents by the inference network."""
        return ctm_theta(weights, dtm, embeddings)
