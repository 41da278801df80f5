"""A fitted LDA model: what prediction, scores and run directories start from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray

CELLS = 1 << 22  # probabilities held at a time


@dataclass(frozen=True, slots=True)
class LdaModel:
    """Counts and priors of an LDA model; letters as in the lecture.

    terms (V,); topic_term (K, V) CSR n_kv with ascending indices, int32, float64 where counts are means of samples or weighted;
    alpha (K,) prior of the topics in a document, eta prior of the words in a topic, each.
    """

    terms: tuple[str, ...]
    topic_term: CsrMatrix
    alpha: FloatArray
    eta: float

    @property
    def n_topics(self) -> int:
        """K."""
        return int(self.topic_term.shape[0])

    @property
    def n_terms(self) -> int:
        """V."""
        return len(self.terms)

    @property
    def topic_totals(self) -> FloatArray:
        """n_k (K,)."""
        return np.asarray(self.topic_term.sum(axis=1), np.float64).ravel()

    def phi_of(self, term_ids: IntArray | LongArray) -> FloatArray:
        """Return phi_kv = (n_kv + η) / (n_k + Vη) of some terms (K, len(term_ids))."""
        counts = self.topic_term[:, term_ids].toarray()
        return np.asarray((counts + self.eta) / (self.topic_totals + self.n_terms * self.eta)[:, None])

    def renumbered(self, order: LongArray) -> LdaModel:
        """Return the model with topic order[k] as topic k."""
        return LdaModel(self.terms, sparse.csr_array(self.topic_term[order]), self.alpha[order], self.eta)


def theta_of(doc_topic: CsrMatrix, alpha: FloatArray, rows: slice) -> FloatArray:
    """Return theta_dk = (n_dk + α_k) / (N_d + Σ α) of some documents (rows, K); an empty one has the prior's mean."""
    counts = doc_topic[rows].toarray() + alpha
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def main_topics(doc_topic: CsrMatrix, alpha: FloatArray, *, block: int | None = None) -> MainTopics:
    """Return the most probable topic of each document; ties go to the lower number.

    topic is -1 and prob 0 for a document without tokens; margin is the lead over the second topic, 0 where K = 1.
    block: documents taken at a time, by default as many as have 2²² probabilities.
    """
    n_docs, K = doc_topic.shape
    topic = np.full(n_docs, -1, np.int32)
    prob, margin = np.zeros(n_docs, np.float32), np.zeros(n_docs, np.float32)
    for rows, weight in _weights(doc_topic, alpha, block):
        best, total = weight.argmax(axis=1), weight.sum(axis=1)
        at = np.arange(len(weight))
        top = weight[at, best]
        weight[at, best] = 0.0
        topic[rows] = best
        prob[rows] = top / total
        margin[rows] = (top - weight.max(axis=1)) / total if K > 1 else 0.0
    return MainTopics(topic, prob, margin)


def _weights(doc_topic: CsrMatrix, alpha: FloatArray, block: int | None) -> Iterator[tuple[LongArray, FloatArray]]:
    """Yield documents that have tokens and their n_dk + α_k (rows, K): proportional to theta, and equal where counts are."""
    K = doc_topic.shape[1]
    full = np.flatnonzero(np.asarray(doc_topic.sum(axis=1)).ravel() > 0)
    step = max(1, CELLS // K) if block is None else block
    for start in range(0, len(full), step):
        rows = full[start : start + step]
        yield rows, doc_topic[rows].toarray() + alpha


@dataclass(frozen=True, slots=True)
class MainTopics:
    """topic (D,) int32, -1 for none; prob, margin (D,) float32."""

    topic: IntArray
    prob: Float32Array
    margin: Float32Array
