"""Models whose tokens are drawn with columns of their documents in sight: what supervised LDA and its relatives have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.topics.lda.infer import infer_topics
from nlpkit.topics.mixtures.by_term import words_of
from nlpkit.topics.mixtures.choose import SEEDS
from nlpkit.topics.mixtures.model import Inference, MixtureFit, MixtureModel, order_by_size, reordered
from nlpkit.topics.mixtures.scores import Fitted, TokenFitter
from nlpkit.types import CsrMatrix, IntArray, LongArray, TokenTable

TRACE_EVERY = 10  # sweeps between two points of the trace


class ColumnFitter(TokenFitter):
    """A kind of model that takes a column of the documents, whose numbers of topics are compared, and that is fitted."""

    __slots__ = ()

    @property
    def seeds(self) -> int:
        """Fits of each number of topics that is compared."""
        return SEEDS

    @abstractmethod
    def take(self, documents: LongArray, terms: LongArray) -> Self:
        """Return the fitter with the column of some of the documents."""

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model, and Gibbs sampling of the topics of documents from their words alone."""
        return fit.model, partial(infer_topics, words_of(fit.model), seed=seed, threads=threads)


def check(tokens: TokenTable, n_topics: int) -> None:
    """Raise UsageError where there are no tokens or no topics."""
    if not len(tokens.term_ids):
        raise UsageError("the corpus has no tokens to find topics in")
    if n_topics < 1:
        raise UsageError(f"`k={n_topics}`: at least 1 topic is needed", parameter="k")


def doc_topics(tokens: TokenTable, z: IntArray, n_topics: int) -> CsrMatrix:
    """Return n_dk (D, K), CSR int32 with ascending topics, of the topics z (N,) of the tokens."""
    rows = np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets))
    return _counted(rows, z, (tokens.n_docs, n_topics))


def mixture_of(
    tokens: TokenTable, z: IntArray, n_topics: int, *, alpha: float, eta: float, trace: Sequence[Any]
) -> tuple[MixtureFit, LongArray]:
    """Return a state, topics z (N,) of the tokens, as a fit with its topics by size, and their order: topic order[k] is now k.

    trace: points of the chain with a `sweep` and a `log_likelihood`.
    """
    doc_topic, each = doc_topics(tokens, z, n_topics), np.full(n_topics, alpha)
    order = order_by_size(doc_topic, each)
    place = np.empty(n_topics, np.int32)
    place[order] = np.arange(n_topics, dtype=np.int32)
    topics = place[z]
    model = MixtureModel(tokens.terms, _counted(topics, tokens.term_ids, (n_topics, tokens.n_terms)), each, eta)
    numbers = {
        "log_likelihood_per_token": round(trace[-1].log_likelihood, 6),
        "sweeps": trace[-1].sweep,
        "alpha": round(alpha, 8),
        "eta": round(eta, 8),
    }
    return MixtureFit(model, reordered(doc_topic, order), trace, numbers, assignments=topics), order


def _counted(rows: IntArray | LongArray, columns: IntArray, shape: tuple[int, int]) -> CsrMatrix:
    """Return how often each pair occurs, CSR int32."""
    counts = sparse.coo_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape).tocsr()
    counts.sort_indices()
    return counts
