"""The Dirichlet multinomial mixture for short texts by Gibbs sampling (GSDMM): each document has one topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.choose import SEEDS
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel, expected_counts, order_by_size, reordered
from nlpkit.topics.base.scores import Fitted, Keeper, RunningState, TokenFitter, resumable
from nlpkit.topics.gsdmm import kernels as kernel
from nlpkit.topics.gsdmm.options import GsdmmOptions
from nlpkit.weights.dtm import count_terms


@dataclass(frozen=True, slots=True)
class GsdmmPoint:
    """After a sweep: topics that have documents, and share of the documents whose topic changed."""

    sweep: int
    topics: int
    moved: float


def fit_gsdmm(
    tokens: TokenTable,
    n_topics: int,
    options: GsdmmOptions | None = None,
    execution: Execution | None = None,
    *,
    progress: Callable[[int, GsdmmPoint], None] | None = None,
    keeper: Keeper | None = None,
) -> MixtureFit:
    """Fit a mixture in which each document has one topic, by collapsed Gibbs sampling.

        p(z_d = k | others) ∝ (m_k + α) Π_v Π_{j=1}^{n_dv} (n_kv + β + j − 1) / Π_{i=1}^{N_d} (n_k + V β + i − 1)

    with m_k the documents and n_kv the words of topic k without document d. Topics empty out as documents gather: n_topics is the most
    there can be, and those without documents are left out. theta_dk is that probability after the last sweep. One thread samples:
    the result does not depend on how many there are.

    Args:
        tokens: corpus; documents without tokens have no topic.
        n_topics: K; execution: the seed.
        progress: called after each sweep; keeper: keeps states to go on from.

    Raises:
        UsageError: no tokens, or no topic.

    Source: Yin & Wang (2014), "A Dirichlet Multinomial Mixture Model-based Approach for Short Text Clustering", KDD, equation 4.
    """
    options, execution = options or GsdmmOptions(), execution or Execution()
    if not len(tokens.term_ids):
        raise UsageError("the corpus has no tokens to find topics in")
    if n_topics < 1:
        raise UsageError(f"`k={n_topics}`: at least 1 topic is needed", parameter="k")
    dtm = count_terms(tokens)
    full = np.flatnonzero(np.diff(dtm.indptr) > 0)
    used = sparse.csr_array(dtm[full])
    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "gsdmm")))
    topics = rng.integers(0, n_topics, len(full)).astype(np.int32)
    sizes, n_k = np.bincount(topics, minlength=n_topics).astype(np.int64), np.zeros(n_topics, np.int64)
    # the kernel writes n_vk[v, k] and weights[k]: v is a term of the matrix, below V; k a topic, below K, as `sweep` draws none above
    n_vk = np.zeros((dtm.shape[1], n_topics), np.int32)
    rows = np.repeat(topics, np.diff(used.indptr))
    np.add.at(n_vk, (used.indices, rows), used.data)
    np.add.at(n_k, rows, used.data)
    data = (used.indptr, used.indices, used.data)
    trace: list[GsdmmPoint] = []
    weights = np.empty(n_topics)
    changed: dict[str, np.ndarray] = {"topics": topics, "sizes": sizes, "n_k": n_k, "n_vk": n_vk}
    for n in resumable(options.iterations, RunningState(trace, GsdmmPoint, changed, rng), keeper):
        moved = kernel.sweep(
            *data, topics, sizes, n_k, n_vk, options.alpha, options.eta, rng.random(len(full)), weights
        )
        trace.append(GsdmmPoint(n, int((sizes > 0).sum()), moved / len(full)))
        if progress is not None:
            progress(n, trace[-1])
    kept = np.flatnonzero(sizes > 0)
    sizes, n_k, n_vk = sizes[kept], n_k[kept], np.ascontiguousarray(n_vk[:, kept])
    places = np.zeros(n_topics, np.int32)
    places[kept] = np.arange(len(kept))
    theta = np.zeros((tokens.n_docs, len(kept)))
    inner = np.empty((len(full), len(kept)))
    kernel.probabilities(*data, places[topics], sizes, n_k, n_vk, options.alpha, options.eta, inner)
    theta[full] = inner
    doc_topic, alpha = expected_counts(theta, np.asarray(dtm.sum(axis=1), np.float64).ravel()), np.zeros(len(kept))
    order = order_by_size(doc_topic, alpha)
    model = MixtureModel(tokens.terms, sparse.csr_array(n_vk.T[order]), alpha, options.eta)
    numbers = {"sweeps": options.iterations, "most_topics": n_topics, "documents_moved": round(trace[-1].moved, 6)}
    arrays = {"sizes": sizes[order].astype(np.float64)}
    return MixtureFit(model, reordered(doc_topic, order), trace, numbers, arrays=arrays)


def assign(
    model: MixtureModel, sizes: FloatArray, alpha: float, offsets: LongArray, term_ids: IntArray
) -> Float32Array:
    """Return p(z_d = k) of new documents (D, K), each as if it were the next one; equal shares for one without words.

    Args:
        sizes: (K,) documents of each topic. alpha: of the fit.
        offsets, term_ids: the documents; terms of the model.
    """
    first = int(offsets[0])
    ids = term_ids[first : int(offsets[-1])]
    dtm = count_terms(TokenTable(offsets - first, ids, model.terms))
    n_vk = np.ascontiguousarray(model.topic_term.toarray().T.astype(np.int32))
    theta = np.empty((dtm.shape[0], model.n_topics))
    nowhere = np.full(dtm.shape[0], -1, np.int32)
    n_k = n_vk.sum(axis=0, dtype=np.int64)
    kernel.probabilities(
        dtm.indptr, dtm.indices, dtm.data, nowhere, sizes.astype(np.int64), n_k, n_vk, alpha, model.eta, theta
    )  # fmt: skip
    theta[np.diff(dtm.indptr) == 0] = 1.0 / model.n_topics
    return theta.astype(np.float32)


@dataclass(frozen=True, slots=True)
class GsdmmFitter(TokenFitter):
    """GSDMM whose numbers of topics are compared, and that is fitted."""

    options: GsdmmOptions
    seeds: int = SEEDS

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""
        return fit_gsdmm(tokens, n_topics, self.options, execution, progress=progress, keeper=keeper)

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model, and the probability of its topics in a document."""
        return fit.model, partial(assign, fit.model, fit.arrays["sizes"], self.options.alpha)
