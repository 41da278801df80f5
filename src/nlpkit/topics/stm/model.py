"""A fitted structural topic model: what prediction, effects and run directories start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.topics.stm import kernels
from nlpkit.topics.stm.content import ContentModel
from nlpkit.types import FloatArray, LongArray


@dataclass(frozen=True, slots=True)
class Prior:
    """The logistic-normal prior of documents, η_d ~ Normal(μ_d, Σ); the last topic has η_K = 0.

    mean: (D, K-1) μ_d, or (1, K-1) where it is the same for all documents; covariance: (K-1, K-1) Σ.
    """

    mean: FloatArray
    covariance: FloatArray

    def part(self, rows: LongArray | slice) -> Prior:
        """Return the prior of some of the documents."""
        return self if len(self.mean) == 1 else Prior(self.mean[rows], self.covariance)


@dataclass(frozen=True, slots=True)
class StmModel:
    """Parameters of a structural topic model.

    terms (V,); topic_term (K, V) n_kv, expected counts of terms in topics, with content n_k times the average of the
    levels; prior of the documents of the fit; gamma (P, K-1): μ = X γ,
    None without covariates; eta (D, K-1) modes of the documents of the fit; noise (K-1, K-1): the mean over documents of ν_d, the
    covariance of η_d about its mode; content: the words of topics at each level, None where they are the same in all documents.
    """

    terms: tuple[str, ...]
    topic_term: FloatArray
    prior: Prior
    gamma: FloatArray | None
    eta: FloatArray
    noise: FloatArray
    content: ContentModel | None = None

    @property
    def n_topics(self) -> int:
        """K."""
        return len(self.topic_term)

    @property
    def phi(self) -> FloatArray:
        """phi_kv = n_kv / n_k (K, V)."""
        return np.asarray(self.topic_term / self.topic_term.sum(axis=1, keepdims=True))

    @property
    def theta(self) -> FloatArray:
        """theta (D, K), the softmax of the modes."""
        return softmax(self.eta)

    def average_prior(self) -> Prior:
        """Return the prior of a document of which no covariates are known: the mean of μ_d, and Σ + the covariance of μ_d.

        As prevalencePrior="Average" of R's fitNewDocuments, which takes the covariance of η_d about the mean of μ_d and not of μ_d alone.
        """
        mean = self.prior.mean.mean(axis=0, keepdims=True)
        spread = self.eta - self.prior.mean, self.eta - mean
        covariances = [each.T @ each / len(self.eta) for each in spread]
        return Prior(mean, self.prior.covariance - covariances[0] + covariances[1])

    def renumbered(self, order: LongArray) -> StmModel:
        """Return the same model with topic order[k] as topic k.

        The last topic is the one whose η is 0: η' = A η with A_ij = 1[i' = j] - 1[last' = j], and so for μ, γ, Σ and ν.
        """
        K = self.n_topics
        identity = np.eye(K)[:, : K - 1]  # of η with its last 0
        A = identity[order[:-1]] - identity[order[-1]]
        return StmModel(
            self.terms,
            self.topic_term[order],
            Prior(self.prior.mean @ A.T, A @ self.prior.covariance @ A.T),
            None if self.gamma is None else self.gamma @ A.T,
            self.eta @ A.T,
            A @ self.noise @ A.T,
            None if self.content is None else self.content.renumbered(order),
        )


def softmax(eta: FloatArray) -> FloatArray:
    """Return theta (D, K) of eta (D, K-1), whose last topic has 0."""
    theta = np.empty((len(eta), eta.shape[1] + 1))
    kernels.softmax_rows(np.ascontiguousarray(eta, np.float64), theta)
    return theta
