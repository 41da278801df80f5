"""The mixture model: what a fit of topics gives, selections of documents, and trees of topics.

Parts, in this order:
- A fitted mixture model: what prediction, scores and run directories start from.
- Documents selected from tables of tokens, appended to others, and reduced to the terms that they use.
- The tree that the topics of a fit may be, and the path of each document in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray, TokenTable, ranges

HELD_OUT_ETA = 0.01  # added to each expected count n_kv of a model without priors where it scores held-out documents
ORDER_ROUNDS = 20
CELLS = 1 << 22  # probabilities held at a time

# (offsets (D + 1,), term ids (N,)) of documents → theta (D, K): topics of documents under a model that stays as it is
Inference: TypeAlias = Callable[[LongArray, IntArray], Float32Array]


@dataclass(frozen=True, slots=True)
class MixtureModel:
    """Counts and priors of a model whose documents are mixtures of topics; letters as in the lecture.

    terms (V,); topic_term (K, V) CSR n_kv with ascending indices: int32 of a state of Gibbs sampling, float64 where counts are
    means, weighted, or expected ones, Σ_d n_dv p(k | d, v), as of pLSA; alpha (K,) prior of the topics in a document, eta prior
    of the words in a topic, each; 0 for a model without priors, whose phi is n_kv / n_k.
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
        """Return phi_kv = (n_kv + η) / (n_k + Vη) of some terms (K, len(term_ids)); 0 of a topic without words where η is 0."""
        counts = self.topic_term[:, term_ids].toarray() + self.eta
        totals = np.broadcast_to((self.topic_totals + self.n_terms * self.eta)[:, None], counts.shape)
        phi: FloatArray = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
        return phi

    @property
    def phi(self) -> FloatArray:
        """phi of all terms (K, V), dense."""
        return self.phi_of(np.arange(self.n_terms))

    def smoothed(self, eta: float = HELD_OUT_ETA) -> MixtureModel:
        """Return the model with another η: without one, words of held-out documents can have the probability 0."""
        return MixtureModel(self.terms, self.topic_term, self.alpha, eta)

    def renumbered(self, order: LongArray) -> MixtureModel:
        """Return the model with topic order[k] as topic k."""
        return MixtureModel(self.terms, sparse.csr_array(self.topic_term[order]), self.alpha[order], self.eta)


@dataclass(frozen=True, slots=True)
class MixtureFit:
    """A model that was fitted, and its documents: what a run directory is made of.

    doc_topic (D, K) CSR n_dk, of which theta is made (`theta_of`); trace: a record for each point that was looked at on the way;
    numbers: what the manifest says of the fit; notes, warnings: what people are told of it; topic_scores (K,):
    columns of topics.parquet that this kind of model alone has; names (K,) of topics, "" for none, or nothing; assignments (N,): topics
    of the tokens, None where a model has none. arrays: further parameters that inference needs, (n,) or (n, m) float64 by name;
    weights: those of a neural network, of any shape.
    """

    model: MixtureModel
    doc_topic: CsrMatrix
    trace: Sequence[Any] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    assignments: IntArray | None = None
    arrays: Mapping[str, FloatArray] = field(default_factory=dict)
    weights: Mapping[str, Float32Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    topic_scores: Mapping[str, FloatArray] = field(default_factory=dict)


def expected_counts(weights: FloatArray, totals: FloatArray) -> CsrMatrix:
    """Return rows of probabilities (R, C) times the totals (R,) of the rows, CSR; counts below a millionth are 0.

    Of phi and n_k these are n_kv, of theta and N_d they are n_dk.
    """
    R, C = weights.shape
    blocks, step = [], max(1, CELLS // max(C, 1))
    for begin in range(0, max(R, 1), step):
        rows = slice(begin, begin + step)
        counts = weights[rows] * totals[rows, None]
        counts[counts < 1e-6] = 0.0
        blocks.append(sparse.csr_array(counts))
    return sparse.csr_array(sparse.vstack(blocks)) if len(blocks) > 1 else blocks[0]


def theta_of(doc_topic: CsrMatrix, alpha: FloatArray, rows: slice | LongArray) -> FloatArray:
    """Return theta_dk = (n_dk + α_k) / (N_d + Σ α) of some documents (rows, K).

    An empty document has the prior's mean, 1 / K where there is no prior.
    """
    counts = doc_topic[rows].toarray() + alpha
    if not alpha.any():
        counts[counts.sum(axis=1) == 0] = 1.0
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


def reordered(doc_topic: CsrMatrix, order: LongArray) -> CsrMatrix:
    """Return n_dk (D, K) with topic order[k] as topic k."""
    counts = sparse.csr_array(doc_topic[:, order])
    counts.sort_indices()
    return counts


def order_by_size(doc_topic: CsrMatrix, alpha: FloatArray, n_given: int = 0) -> LongArray:
    """Return the topics in their new order: given ones as they are, the others by documents, then tokens, most first.

    A document with two main topics counts for the one that comes first in the end, which the order itself decides: so it is
    sorted until nothing changes.
    """
    order = np.arange(doc_topic.shape[1])
    for _ in range(ORDER_ROUNDS):
        here = sparse.csr_array(doc_topic[:, order])
        topics = main_topics(here, alpha[order]).topic
        documents = np.bincount(topics[topics >= 0], minlength=len(order))
        tokens = np.asarray(here.sum(axis=0)).ravel()
        places = np.lexsort((np.arange(len(order)), -tokens, -documents))
        places = np.concatenate([np.arange(n_given), places[places >= n_given]])
        if np.array_equal(places, np.arange(len(order))):
            break
        order = order[places]
    return order


# ------------------------------------------------------------------------------------------------------------------------
# Documents selected from tables of tokens, appended to others, and reduced to the terms that they use.


def select_documents(tokens: TokenTable, documents: LongArray) -> TokenTable:
    """Return some documents of a table, in the order of their numbers."""
    lengths = np.diff(tokens.offsets)[documents]
    term_ids = tokens.term_ids[ranges(tokens.offsets[documents], lengths)]
    return TokenTable(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), term_ids, tokens.terms)


def with_used_terms(tokens: TokenTable) -> TokenTable:
    """Return the documents with the terms that occur in them, in alphabetical order."""
    used = sorted(np.unique(tokens.term_ids), key=tokens.terms.__getitem__)
    number = np.zeros(tokens.n_terms, np.int32)
    number[used] = np.arange(len(used))
    return TokenTable(tokens.offsets, number[tokens.term_ids], tuple(tokens.terms[v] for v in used))


def append_documents(a: TokenTable, b: TokenTable) -> TokenTable:
    """Return the documents of two tables, one after the other."""
    number = {term: v for v, term in enumerate(a.terms)}
    of_b = np.array([number.setdefault(term, len(number)) for term in b.terms], np.int32)
    return TokenTable(
        np.concatenate([a.offsets, a.offsets[-1] + b.offsets[1:]]),
        np.concatenate([a.term_ids, of_b[b.term_ids]]),
        tuple(number),
    )


# ------------------------------------------------------------------------------------------------------------------------
# The tree that the topics of a fit may be, and the path of each document in it.

TREE = "tree"  # array (K, 3) of a fit, with the columns
PARENT, LEVEL, DOCS = range(3)


def paths_of(theta: CsrMatrix | FloatArray | Float32Array, tree: FloatArray) -> IntArray:
    """Return the topics on the path of each document (D, L) from theta (D, K), which is above 0 there only; -1 where it is 0.

    Args:
        tree: (K, 3) of a fit.
    """
    entries, level = sparse.coo_array(theta), tree[:, LEVEL].astype(np.int64)
    paths = np.full((entries.shape[0], int(level.max()) + 1), -1, np.int32)
    there = entries.data > 0
    paths[entries.row[there], level[entries.col[there]]] = entries.col[there]
    return paths
