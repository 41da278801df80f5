"""The E-step: modes of η, their covariance, the bound, and the expected counts of terms in topics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from scipy import sparse

from nlpkit.parallel import map_ahead
from nlpkit.topics.stm import kernels
from nlpkit.topics.stm.model import Prior, softmax
from nlpkit.types import CsrMatrix, FloatArray

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
