"""Topics of documents by variational Bayes, words as they are: the E-step of online LDA and of dynamic topic models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base.by_term import entries_by_term, in_chunks
from nlpkit.topics.lda import kernels
from nlpkit.topics.matrix import kernels as factors
from nlpkit.weights.dtm import count_terms

STEPS, CLOSE = 100, 1e-3  # of a document at most, and the mean change of its γ_k that ends them, as in scikit-learn


@dataclass(frozen=True, slots=True)
class Posterior:
    """q(θ_d) = Dir(γ_d) of documents.

    gamma (D, K); weights (D, K): exp E[log θ_dk], up to a factor of each row; ratios (N,): n_dv / Σ_k weights[d, k] words[v, k] of each
    count; bound: the share of the documents in the bound.
    """

    gamma: FloatArray
    weights: FloatArray
    ratios: FloatArray
    bound: float

    @property
    def theta(self) -> Float32Array:
        """The means (D, K)."""
        return np.asarray(self.gamma / self.gamma.sum(axis=1, keepdims=True), np.float32)


class Batch:
    """Documents and their counts, words numbered among those that occur in them: rows (U,) are their numbers in the vocabulary."""

    def __init__(self, dtm: CsrMatrix) -> None:
        """Take counts (D, V) CSR."""
        there = np.zeros(dtm.shape[1], bool)
        there[dtm.indices] = True
        self.rows = np.flatnonzero(there)
        number = np.cumsum(there) - 1
        self.indptr, self.counts = dtm.indptr.astype(np.int64), dtm.data.astype(np.float64)
        self.terms, self.n_docs = number[dtm.indices].astype(np.int32), dtm.shape[0]

    def infer(self, words: FloatArray, peaks: FloatArray, alpha: FloatArray, threads: int) -> Posterior:
        """Return the posteriors, fitted from γ = 1.

        Args:
            words: (U, K) exp(E[log β_kv] - peak_v) of the words of the batch; peaks (U,). alpha: (K,).
        """
        # written at d below D, and at the places of the counts of d
        gamma, bounds, ratios = np.ones((self.n_docs, len(alpha))), np.empty(self.n_docs), np.empty(len(self.counts))
        weights = np.empty_like(gamma)

        def fill(begin: int, end: int) -> None:
            kernels.infer(
                self.indptr, self.terms, self.counts, words, peaks, alpha, STEPS, CLOSE, begin, end, gamma, weights, ratios, bounds
            )  # fmt: skip

        in_chunks(fill, self.n_docs, threads)
        return Posterior(gamma, weights, ratios, float(bounds.sum()))

    def sums(self, posterior: Posterior, words: FloatArray, threads: int) -> FloatArray:
        """Return Σ_d n_dv φ_dvk (U, K), added in the order of the documents."""
        dtm = sparse.csr_array((self.counts, self.terms, self.indptr), shape=(self.n_docs, len(self.rows)))
        starts, documents, entries = entries_by_term(dtm)
        sums = np.empty_like(words)  # written at u below U

        def fill(begin: int, end: int) -> None:
            factors.update_terms(
                starts, documents, entries, posterior.weights, words, begin, end, posterior.ratios, sums
            )  # fmt: skip

        in_chunks(fill, len(words), threads)
        return sums


def count_between(offsets: LongArray, term_ids: IntArray, n_terms: int) -> CsrMatrix:
    """Return the counts (D, V) of documents; a batch may begin anywhere in term_ids."""
    first = int(offsets[0])
    return count_terms(TokenTable(offsets - first, term_ids[first : int(offsets[-1])], ("",) * n_terms))
