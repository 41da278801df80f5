"""A fitted structural topic model: what prediction, effects and run directories start from.

Further parts, in this order:
- The E-step: modes of η, their covariance, the bound, and the expected counts of terms in topics.
- The M-step: the means of topics given covariates, and their covariance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.types import CsrMatrix, FloatArray, LongArray
from nlpkit.topics.stm import kernels
from nlpkit.topics.stm.content import ContentModel


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


# ------------------------------------------------------------------------------------------------------------------------
# The E-step: modes of η, their covariance, the bound, and the expected counts of terms in topics.

CHUNK = 64  # documents, or terms, that a thread takes at a time


@dataclass(frozen=True, slots=True)
class Inference:
    """Posteriors of D documents, each approximated by Normal(η_d, ν_d) at its mode.

    eta (D, K-1); covariance (K-1, K-1): Σ_d ν_d of the documents that have words; bounds (D,): contributions to the bound, 0 of documents
    without words; unsettled: documents whose mode was not reached in 200 steps, or is no isolated minimum.
    """

    eta: FloatArray
    covariance: FloatArray
    bounds: FloatArray
    unsettled: int


def as_counts(dtm: CsrMatrix) -> CsrMatrix:
    """Return counts as kernels take them: CSR of float64 with int64 row ends and int32 columns in ascending order, without zeros."""
    counts = sparse.csr_array(dtm, dtype=np.float64, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    counts.indptr, counts.indices = counts.indptr.astype(np.int64), counts.indices.astype(np.int32)
    return counts


def infer_posteriors(
    counts: CsrMatrix, phi: FloatArray, prior: Prior, *, start: FloatArray | None = None, threads: int = 1
) -> Inference:
    """Return the Laplace approximation of p(η_d | words of d) (Roberts, Stewart and Airoldi 2016, section 3.2).

        f(η)  = ½ (η - μ_d)ᵀ Σ⁻¹ (η - μ_d) - Σ_v c_dv log Σ_k θ_k φ_kv,    η_d = argmin f,  ν_d = (∂²f(η_d))⁻¹
        bound = -f(η_d) - ½ log |∂²f(η_d)| - ½ log |Σ|                      as R's stm has it

    R minimises by BFGS until f changes by 1e-8 of itself; here Newton's method ends where less than 1e-10 nats are left to a minimum,
    or as many as the last digits of f hold. Sums over documents are added in the order of chunks of 64: the bytes do not depend on
    the number of threads.

    Args:
        counts: (D, V) from `as_counts`.
        phi: (K, V), K ≥ 2, rows sum to 1.
        start: (D, K-1) where the search begins; 0 by default.
    """
    D, J = counts.shape[0], len(phi) - 1
    eta = np.zeros((D, J)) if start is None else np.array(start, np.float64, order="C")
    bounds = np.empty(D)
    model = kernel_model(phi, prior)
    half_log_det = np.linalg.slogdet(prior.covariance)[1] / 2

    def work(begin: int) -> tuple[FloatArray, int]:
        covariance = np.zeros((J, J))
        end = min(begin + CHUNK, D)
        unsettled = kernels.infer(
            counts.indptr, counts.indices, counts.data, model, begin, end, eta, bounds, covariance
        )
        return covariance, int(unsettled)

    total, unsettled = np.zeros((J, J)), 0
    for _, (covariance, several) in map_ahead(work, range(0, D, CHUNK), threads=threads):
        total += covariance
        unsettled += several
    bounds[np.diff(counts.indptr) > 0] -= half_log_det
    return Inference(eta, total + np.tril(total, -1).T, bounds, unsettled)


def expected_counts(counts: CsrMatrix, theta: FloatArray, phi: FloatArray, *, threads: int = 1) -> FloatArray:
    """Return n_kv = Σ_d c_dv θ_dk φ_kv / Σ_j θ_dj φ_jv (K, V), added in the order of documents, term by term."""
    by_term = sparse.csc_array(counts)
    V = counts.shape[1]
    rows, out = np.ascontiguousarray(phi.T), np.empty((V, len(phi)))
    indptr, docs = by_term.indptr.astype(np.int64), by_term.indices.astype(np.int32)

    def work(begin: int) -> None:
        kernels.expected_counts(indptr, docs, by_term.data, theta, rows, begin, min(begin + CHUNK, V), out)

    for _ in map_ahead(work, range(0, V, CHUNK), threads=threads):
        pass
    return np.ascontiguousarray(out.T)


def draw_thetas(
    eta: FloatArray, noise: FloatArray, sigma: FloatArray, X: FloatArray, rng: np.random.Generator, count: int
) -> Iterator[FloatArray]:
    """Yield draws of theta (D, K) by the mean covariance ν of all documents, which needs no words ("Global" in R's stm).

        η_d* ~ Normal(η_d + ν Σ⁻¹ (γ* - γ)ᵀ x_d, ν),   γ* - γ ~ Normal(0, (XᵀX)⁻¹ ⊗ (1 - ν Σ⁻¹)⁻¹ Σ)

    R leaves γ where it is. Then all documents of a group have the same estimated mean in every draw, and intervals are too narrow
    (Rubin 1987, section 4.2: imputations must be proper). ν Σ⁻¹ is the share of the information on γ that words do not have, so that
    the covariance of γ is that of the information observed (Louis 1982), and a document with other covariates has another mode:
    ∂η_d / ∂μ_d = ν_d Σ⁻¹. With ν = W Λ Wᵀ and Σ = W Wᵀ, η* = η + (Q Z Λ (1 - Λ)^-½ + Z' Λ^½) Wᵀ, Z and Z' standard normal.

    Args:
        eta: (D, K-1) modes; noise: (K-1, K-1) ν; sigma: (K-1, K-1) Σ.
        X: (D, P) covariates of the fit, a column of ones for a fit without.
    """
    Q = np.linalg.qr(X)[0]
    lacking, vectors = scipy.linalg.eigh(noise, sigma)
    lacking = np.clip(lacking, 0.0, 1 - 1 / len(eta))  # the words of all documents together tell as much as one η would
    W = sigma @ vectors
    for _ in range(count):
        shift = Q @ (rng.standard_normal((Q.shape[1], len(lacking))) * lacking / np.sqrt(1 - lacking))
        yield softmax(eta + (shift + rng.standard_normal(eta.shape) * np.sqrt(lacking)) @ W.T)


def kernel_model(phi: FloatArray, prior: Prior) -> kernels.Model:
    """Return phi and the prior as kernels take them."""
    precision = np.linalg.inv(prior.covariance)
    precision = (precision + precision.T) / 2
    return kernels.Model(
        np.ascontiguousarray(phi.T, np.float64), np.ascontiguousarray(precision), np.ascontiguousarray(prior.mean)
    )


# ------------------------------------------------------------------------------------------------------------------------
# The M-step: the means of topics given covariates, and their covariance.

STEPS = 1000  # of the variational regression, at most


def regress(eta: FloatArray, X: FloatArray) -> FloatArray:
    """Return γ (P, K-1) of η_k = X γ_k + ε by variational Bayes, its ridge estimated for each topic (gamma.prior="Pooled" of R's stm).

        γ_k ~ Normal(0, 1 / a), ε ~ Normal(0, 1 / e),  √a and √e half-Cauchy
        V = (e XᵀX + a I₋₁)⁻¹,  γ_k = e V Xᵀη_k,  e = (1 + D) / (Σ ε² + tr XᵀX V + 2 b),  b = 1 / (e + 1)
        a = P / (‖γ_k‖² + tr V - the intercept's + 2 d),  d = 2 / (a + 1)

    repeated until γ_k changes by less than 1e-4 in sum. The intercept, the first column, is not shrunk. Constants are those of
    vb.variational.reg in R's stm, after Wand.

    Args:
        eta: (D, K-1).
        X: (D, P), the first column of ones.

    Raises:
        InputError: it does not converge in 1,000 steps.
    """
    D, P = X.shape
    J = eta.shape[1]
    XX, XY, YY = X.T @ X, X.T @ eta, np.einsum("dk,dk->k", eta, eta)
    error, spread, scale = np.ones(J), np.full(J, float(P)), np.ones(J)
    shrunk = np.ones(P)
    shrunk[0] = 0.0
    gamma = np.zeros((P, J))
    active = np.arange(J)
    for _ in range(STEPS):
        e, a = error[active], spread[active]
        V = np.linalg.inv(e[:, None, None] * XX + a[:, None, None] * np.diag(shrunk))
        new = e * np.einsum("kpq,qk->pk", V, XY[:, active])
        squares = YY[active] - 2 * np.einsum("pk,pk->k", new, XY[:, active]) + np.einsum("pk,pq,qk->k", new, XX, new)
        b = (np.maximum(squares, 0.0) + np.einsum("pq,kqp->k", XX, V)) / 2 + scale[active]
        error[active] = (1 + D) / 2 / b
        scale[active] = 1 / (error[active] + 1)
        variances = np.einsum("kpp,p->k", V, shrunk)
        spread[active] = P / (4 / (a + 1) + np.einsum("pk,p->k", new**2, shrunk) + variances)
        change = np.abs(new - gamma[:, active]).sum(axis=0)
        gamma[:, active] = new
        active = active[change > 1e-4]
        if not len(active):
            return gamma
    raise InputError(
        f"the regression of topics on covariates does not converge in {STEPS:,} steps; give columns of numbers in comparable units"
    )


def covariance_of(eta: FloatArray, mean: FloatArray, covariance: FloatArray, *, shrinkage: float = 0.0) -> FloatArray:
    """Return Σ = ((η - μ)ᵀ (η - μ) + Σ_d ν_d) / D, of which a share `shrinkage` is its diagonal alone (sigma.prior of R's stm)."""
    residual = eta - mean
    sigma = (residual.T @ residual + covariance) / len(eta)
    return np.asarray(shrinkage * np.diag(np.diag(sigma)) + (1 - shrinkage) * sigma)
