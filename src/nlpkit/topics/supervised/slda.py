"""Supervised LDA: topics of documents and their labels together, by Gibbs sampling and regression in turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.kernels import slda as kernel
from nlpkit.parameters import Execution
from nlpkit.topics.lda.infer import infer_topics
from nlpkit.topics.lda.likelihood import dirichlet_multinomial
from nlpkit.topics.mixtures.by_term import words_of
from nlpkit.topics.mixtures.choose import SEEDS
from nlpkit.topics.mixtures.model import Inference, MixtureFit, MixtureModel, order_by_size, reordered
from nlpkit.topics.mixtures.scores import Fitted, HeldOutCorpus
from nlpkit.topics.mixtures.token_tables import select_documents
from nlpkit.topics.streams import stream_key
from nlpkit.topics.supervised.options import SldaOptions, prior
from nlpkit.topics.supervised.response import Regression, Response, quality, regress, start
from nlpkit.types import CsrMatrix, FloatArray, IntArray, LongArray, TokenTable

TRACE_EVERY = 10
FIRST = 10  # sweep after which the labels are looked at for the first time
EVERY = 5  # sweeps between two regressions


@dataclass(frozen=True, slots=True)
class SldaPoint:
    """After a sweep: log p(w, z) per token, and R² or the share of right classes, topics drawn with the labels in sight."""

    sweep: int
    log_likelihood: float
    fitted: float


def fit_slda(
    tokens: TokenTable,
    n_topics: int,
    response: Response,
    options: SldaOptions | None = None,
    execution: Execution | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> MixtureFit:
    """Fit supervised LDA by stochastic expectation maximisation.

        E   p(z_i = k | others, y) ∝ (n_dk + α) (n_kw + η) / (n_k + Vη) · p(y_d | z̄_d)    a sweep of Gibbs sampling
        M   the regression of y on z̄, the shares of topics in documents (`regress`), every fifth sweep

    y given z̄ is normal for numbers and the softmax of b_c + Σ_k b_kc z̄_k for classes (Wang, Blei & Fei-Fei 2009, "Simultaneous
    image classification and annotation", use it so). Documents without a label are sampled as in LDA. One thread samples: the
    result does not depend on how many there are.

    The regression that predicts is fitted last, to the topics of the labelled documents as they are inferred from their words
    alone (`infer_topics`): those drawn with the label in sight tell it, as those of no new document do.

    Args:
        tokens: corpus; documents without tokens have no topic, and their labels say nothing.
        n_topics: K. response: (D,) labels.
        execution: seed and threads (of the last inference).
        progress: called after each sweep.

    Raises:
        UsageError: no tokens, or no topic; InputError: labels that are all alike.

    Source: Blei & McAuliffe (2007), "Supervised Topic Models", NIPS 20, who fit it by variational EM.
    """
    options, execution = options or SldaOptions(), execution or Execution()
    chain = sample(tokens, n_topics, response, options, execution, progress)
    rows = np.flatnonzero(response.known & (np.diff(tokens.offsets) > 0))
    labelled, y = select_documents(tokens, rows), response.y[rows]
    infer = partial(infer_topics, chain.model, seed=execution.seed, threads=execution.n_threads())
    z_bar = shares_of(infer(labelled.offsets, labelled.term_ids), np.diff(labelled.offsets), chain.model.alpha)
    variance = float(y.var()) if not response.names else 1.0
    last = regress(z_bar, y, len(response.names), coef_variance=options.coef_variance, variance=variance)
    numbers = {
        **chain.numbers,
        **({} if response.names else {"variance": round(last.variance, 6)}),
        f"{'accuracy' if response.names else 'r2'}_in_sample": round(quality(last, z_bar, y, response.names), 6),
    }
    arrays = {"coefficients": last.coef, "intercept": last.intercept}
    return replace(chain, numbers=numbers, arrays=arrays)


def sample(
    tokens: TokenTable,
    n_topics: int,
    response: Response,
    options: SldaOptions,
    execution: Execution,
    progress: Callable[[int], None] | None = None,
) -> MixtureFit:
    """Return the topics of the chain after its last sweep, without the regression that predicts; see `fit_slda`."""
    if not len(tokens.term_ids):
        raise UsageError("the corpus has no tokens, so there is nothing to find topics in")
    if n_topics < 1:
        raise UsageError(f"`k={n_topics}`: a model has at least 1 topic", parameter="k")
    lengths = np.diff(tokens.offsets)
    rows = np.flatnonzero(response.known & (lengths > 0))
    y = np.full(tokens.n_docs, np.nan)
    y[rows] = response.y[rows]
    response = Response(y, response.names)
    response.check()
    alpha, eta = prior(options.alpha, n_topics), prior(options.eta, n_topics)
    C = max(len(response.names), 1)
    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "slda")))
    # the kernel writes z[i], n_vk[v, k] and room by topic and class: i < N, v < V as ids of the table are, k < K as `draw` has it
    z = np.full(len(tokens.term_ids), -1, np.int32)
    n_vk, n_k = np.zeros((tokens.n_terms, n_topics), np.int32), np.zeros(n_topics, np.int64)
    of_topics = (np.empty(n_topics) for _ in range(3))
    room = kernel.Room(np.zeros(n_topics, np.int64), *of_topics, np.empty(C), np.empty((n_topics, C)))
    regression, trace = start(n_topics, response), []
    for sweep in range(1, options.iterations + 1):
        kernel.sweep(
            tokens.offsets, tokens.term_ids, z, n_vk, n_k, alpha, eta, regression.coef, regression.intercept, y,
            regression.variance, rng.random(len(z)), room,
        )  # fmt: skip
        last = sweep == options.iterations
        if (sweep >= FIRST and (sweep - FIRST) % EVERY == 0) or last:
            z_bar = doc_topics(tokens, z, n_topics)[rows].toarray() / lengths[rows, None]
            regression = regress(
                z_bar, y[rows], len(response.names), coef_variance=options.coef_variance, variance=regression.variance
            )  # fmt: skip
            if sweep % TRACE_EVERY == 0 or last:
                likelihood = dirichlet_multinomial(sparse.csr_array(n_vk.T), eta)
                likelihood += dirichlet_multinomial(doc_topics(tokens, z, n_topics), np.full(n_topics, alpha))
                at = quality(regression, z_bar, y[rows], response.names)
                trace.append(SldaPoint(sweep, likelihood / len(z), at))
        if progress is not None:
            progress(sweep)
    doc_topic, each = doc_topics(tokens, z, n_topics), np.full(n_topics, alpha)
    order = order_by_size(doc_topic, each)
    place = np.empty(n_topics, np.int32)
    place[order] = np.arange(n_topics, dtype=np.int32)
    model = MixtureModel(tokens.terms, sparse.csr_array(n_vk.T[order]), each, eta)
    numbers = {
        "log_likelihood_per_token": round(trace[-1].log_likelihood, 6),
        "sweeps": options.iterations,
        "alpha": round(alpha, 8),
        "eta": round(eta, 8),
        "labelled": len(rows),
    }
    return MixtureFit(model, reordered(doc_topic, order), trace, numbers, assignments=place[z])


def doc_topics(tokens: TokenTable, z: IntArray, n_topics: int) -> CsrMatrix:
    """Return n_dk (D, K), CSR int32 with ascending topics, of the topics z (N,) of the tokens."""
    rows = np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets))
    ones = np.ones(len(z), np.int32)
    counts = sparse.coo_array((ones, (rows, z)), shape=(tokens.n_docs, n_topics)).tocsr()
    counts.sort_indices()
    return counts


def shares_of(theta: FloatArray, lengths: LongArray, alpha: FloatArray) -> FloatArray:
    """Return z̄ (D, K), the expected shares of topics among tokens, of theta_dk = (N_d z̄_dk + α_k) / (N_d + Σα).

    A document without tokens has the shares of the prior.
    """
    N = lengths[:, None]
    counts = theta * (N + alpha.sum()) - alpha
    return np.where(N > 0, np.maximum(counts, 0.0) / np.maximum(N, 1), alpha / alpha.sum())


@dataclass(frozen=True, slots=True)
class SldaFitter:
    """Supervised LDA whose numbers of topics are compared, and that is fitted. response: labels of the documents."""

    options: SldaOptions
    response: Response | None = None
    seeds: int = SEEDS

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None
    ) -> MixtureFit:
        """Fit a corpus."""
        assert self.response is not None
        return fit_slda(tokens, n_topics, self.response, self.options, execution, progress=progress)

    def fit(
        self, corpus: HeldOutCorpus, n_topics: int, execution: Execution, progress: Callable[..., None]
    ) -> MixtureFit:
        """Fit the documents that are not held out, with their labels."""
        assert self.response is not None
        return sample(
            corpus.train, n_topics, self.response.take(corpus.documents), self.options, execution, progress
        )  # fmt: skip

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model, and Gibbs sampling of the topics of documents without their labels."""
        return fit.model, partial(infer_topics, words_of(fit.model), seed=seed, threads=threads)


def regression_of(arrays: dict[str, FloatArray]) -> Regression:
    """Return the regression that the arrays of a fit hold."""
    return Regression(arrays["coefficients"], arrays["intercept"])
