"""Further regressions of topic proportions: clusters of documents, the fractional logit, random intercepts, the bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy

from nlpkit.errors import InputError
from nlpkit.platform.types import FloatArray, LongArray
from nlpkit.topics.effects.design import LEAST_ADDED, added_lengths
from nlpkit.topics.effects.regression import ALONE, Effects, combined

STEPS = 50  # of Newton's method
SETTLED = 1e-8  # change of X β that ends it
LARGEST_LOGIT = 15.0  # of a document: beyond it a share is 0 or 1 somewhere, and the logit has no finite estimate
MOST_STEP = 5.0  # of X β in one step

# theta (D, K) → estimates (K, P) and their covariances (K, P, P)
Estimator: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, slots=True)
class Clusters:
    """Documents that are not independent of each other: order (D,) sorts them by cluster, starts (G,) is where each begins.

    column, names: what they are, for messages; cluster_of (D,): the cluster of each document.
    """

    column: str
    names: list[str]
    cluster_of: LongArray
    order: LongArray
    starts: LongArray

    @classmethod
    def of_labels(cls, labels: list[str], column: str) -> Clusters:
        """Return the clusters of documents by the name that each has."""
        names, numbers = np.unique(np.array(labels, object).astype(str), return_inverse=True)
        order = np.argsort(numbers, kind="stable")
        starts = np.searchsorted(numbers[order], np.arange(len(names)))
        return cls(column, [str(name) for name in names], numbers.astype(np.int64), order, starts)

    @classmethod
    def of_documents(cls, D: int) -> Clusters:
        """Return D documents that are independent, each a cluster."""
        each = np.arange(D)
        return cls("", [], each, each, each)

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sums of values (D, …) over each cluster (G, …)."""
        return np.asarray(np.add.reduceat(values[self.order], self.starts, axis=0))

    @property
    def sizes(self) -> LongArray:
        """Documents of each cluster (G,)."""
        return np.bincount(self.cluster_of, minlength=len(self.starts))


def regress_with(
    estimator: Estimator,
    draws: Iterable[FloatArray],
    names: tuple[str, ...],
    degrees: int,
    *,
    is_logit: bool = False,
) -> Effects:
    """Return the regressions of draws of theta by an estimator, combined by Rubin's rules."""
    estimates: list[FloatArray] = []
    within: list[FloatArray] = []
    for theta in draws:
        coefficients, covariance = estimator(theta)
        estimates.append(coefficients)
        within = [covariance] if not within else [within[0] + covariance]  # the sum alone
    return combined(names, np.array(estimates), within[0] / len(estimates), degrees, is_logit=is_logit)


def jackknife_covariance(
    X: FloatArray, residual: FloatArray, inverse: FloatArray, clusters: Clusters, weight: FloatArray | None = None
) -> FloatArray:
    """Return the covariance (P, P) of estimates without each cluster in turn, one step from those of all: CV3, HC3 of single documents.

        s_g = (I - X_gᵀ W X_g A)⁻¹ X_gᵀ ε_g,   A = (Xᵀ W X)⁻¹,   Cov β = A Σ_g s_g s_gᵀ A

    For least squares β - A s_g is exactly the estimate without cluster g (Bell and McCaffrey 2002; MacKinnon, Nielsen and Webb 2023,
    who multiply by (G - 1) / G).

    Args:
        X: (D, P). residual: (D,). inverse: A. weight: (D,) W, 1 by default.
    """
    weighted = X if weight is None else X * weight[:, None]
    if len(clusters.starts) == len(X):
        free = np.maximum(1 - np.einsum("dp,pq,dq->d", weighted, inverse, X), ALONE)
        scores = X * (residual / free)[:, None]
    else:
        P = X.shape[1]
        step = max(1, (1 << 24) // (P * P))
        sums = [np.zeros((len(clusters.starts), P, P))]
        if len(X) <= step:
            sums = [clusters.sums(weighted[:, :, None] * X[:, None, :])]
        else:
            for begin in range(0, len(X), step):
                rows = slice(begin, begin + step)
                np.add.at(sums[0], clusters.cluster_of[rows], weighted[rows, :, None] * X[rows, None, :])
        left = np.eye(P) - sums[0] @ inverse
        scores = np.linalg.solve(left, clusters.sums(X * residual[:, None])[:, :, None])[:, :, 0]
    moves = scores @ inverse
    return np.asarray(moves.T @ moves)


def check_clusters(X: FloatArray, clusters: Clusters, names: tuple[str, ...]) -> None:
    """Raise InputError where the documents of one cluster alone decide a coefficient, whose error then cannot be known."""
    G, P = len(clusters.starts), X.shape[1]
    if G <= P:
        raise InputError(
            f"'{clusters.column}' has {G:,} values in these documents, and the formula has {P} columns: errors by cluster need more "
            "clusters than columns; leave covariates out, or name a finer column",
            parameter="cluster",
        )
    Q, R = np.linalg.qr(X)
    for g in range(G):
        rows = Q[clusters.order[clusters.starts[g] : (clusters.starts[g + 1] if g + 1 < G else None)]]
        values, vectors = np.linalg.eigh(rows.T @ rows)
        if 1 - values[-1] < ALONE:
            size = np.abs(np.linalg.solve(R, vectors[:, -1])) * np.linalg.norm(X, axis=0)
            column = names[int(size[1:].argmax()) + 1] if P > 1 else names[0]
            raise InputError(
                f"the coefficient of {column} is decided by the documents of '{clusters.names[g]}' alone, one value of "
                f"'{clusters.column}', so that its error cannot be known; leave the covariate out, or put its values together",
                parameter="cluster",
            )


def linear(X: FloatArray, clusters: Clusters) -> Estimator:
    """Return least squares with the covariance of clusters (`jackknife_covariance`)."""
    inverse: FloatArray = np.asarray(np.linalg.inv(X.T @ X), np.float64)

    def estimate(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        coefficients = inverse @ (X.T @ theta)
        residuals = theta - X @ coefficients
        covariance = [jackknife_covariance(X, residual, inverse, clusters) for residual in residuals.T]
        return coefficients.T, np.array(covariance)

    return estimate


def fractional_logit(X: FloatArray, clusters: Clusters) -> Estimator:
    """Return the fractional logit of each topic, by quasi-likelihood (Papke and Wooldridge 1996), with the covariance of clusters.

        E[θ_dk] = expit(x_dᵀ β_k),   Σ_d x_d (θ_dk - expit(x_dᵀ β_k)) = 0

    A topic that some combination of covariates has never, or always, has no finite estimate: NaN.
    """
    P = X.shape[1]
    before: dict[int, FloatArray] = {}

    def one(y: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
        mean = float(np.clip(y.mean(), 1e-12, 1 - 1e-12))
        start = np.zeros(P)
        start[0] = np.log(mean) - np.log1p(-mean)  # the first column is the intercept
        beta = before.get(k, start)
        for _ in range(STEPS):
            p = scipy.special.expit(X @ beta)
            weight = np.maximum(p * (1 - p), 1e-300)
            try:
                step = np.linalg.solve((X * weight[:, None]).T @ X, X.T @ (y - p))
            except np.linalg.LinAlgError:
                break
            change = float(np.abs(X @ step).max())
            beta = beta + step * min(1.0, MOST_STEP / max(change, 1e-300))
            if np.abs(X @ beta).max() > LARGEST_LOGIT:
                break
            if change < SETTLED:
                p = scipy.special.expit(X @ beta)
                weight = p * (1 - p)
                inverse = np.linalg.inv((X * weight[:, None]).T @ X)
                before[k] = beta
                return beta, jackknife_covariance(X, y - p, inverse, clusters, weight)
        return np.full(P, np.nan), np.full((P, P), np.nan)

    def estimate(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        parts = [one(y, k) for k, y in enumerate(theta.T)]
        return np.array([beta for beta, _ in parts]), np.array([covariance for _, covariance in parts])

    return estimate


def random_intercepts(X: FloatArray, clusters: Clusters) -> Estimator:
    """Return least squares with a random intercept for each cluster, u_g, by generalised least squares; errors clustered as well.

        θ_dk = x_dᵀ β_k + u_gk + ε_dk,   λ_g = 1 - √(σ² / (σ² + n_g τ²)),   (θ_d - λ_g θ̄_g) on (x_d - λ_g x̄_g) by least squares
        σ² = SSR of deviations from the means of clusters / (D - G - their rank)
        τ² = (SSR of least squares - σ² (D - P)) / (D - tr (XᵀX)⁻¹ Σ_g t_g t_gᵀ), at least 0,   t_g = X_gᵀ 1

    Variances are unbiased ("fitting constants", Henderson 1953, method 3; Greene 2012, section 11.5 for λ). The errors hold where
    the variances are wrong, too, as they are those of clusters.
    """
    D, P = X.shape
    sizes = clusters.sizes.astype(np.float64)
    place, G = clusters.cluster_of, len(sizes)
    mean_X = clusters.sums(X) / sizes[:, None]
    within = X - mean_X[place]
    rank = int(np.linalg.matrix_rank(within, tol=1e-7 * max(1.0, float(np.abs(X).max()) * np.sqrt(D))))
    if D - G - rank < 1:
        raise InputError(
            f"random intercepts need values of '{clusters.column}' with several documents: {D:,} documents have {G:,} values",
            parameter="random",
        )
    inverse = np.linalg.inv(X.T @ X)
    totals = mean_X * sizes[:, None]
    spread = D - float(np.einsum("gp,pq,gq->", totals, inverse, totals))

    def one(y: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean_y = clusters.sums(y) / sizes
        deviations = y - mean_y[place]
        rest = deviations - within @ np.linalg.lstsq(within, deviations, rcond=None)[0]
        sigma2 = float(rest @ rest) / (D - G - rank)
        residual = y - X @ (inverse @ (X.T @ y))
        tau2 = max(0.0, (float(residual @ residual) - sigma2 * (D - P)) / max(spread, 1e-12))
        total = sigma2 + sizes * tau2
        shift = 1 - np.sqrt(np.divide(sigma2, total, out=np.ones(G), where=total > 0))
        rows, values = X - (shift[:, None] * mean_X)[place], y - (shift * mean_y)[place]
        bread = np.linalg.inv(rows.T @ rows)
        beta = bread @ (rows.T @ values)
        return beta, jackknife_covariance(rows, values - rows @ beta, bread, clusters)

    def estimate(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        parts = [one(y) for y in theta.T]
        return np.array([beta for beta, _ in parts]), np.array([covariance for _, covariance in parts])

    return estimate


ESTIMATORS: dict[str, Callable[[FloatArray, Clusters], Estimator]] = {
    "linear": linear,
    "logit": fractional_logit,
    "random": random_intercepts,
}


def resampled(clusters: Clusters, rng: np.random.Generator) -> tuple[LongArray, Clusters]:
    """Return documents of as many clusters, drawn with replacement, and their clusters, one drawn twice being two."""
    G = len(clusters.starts)
    chosen = rng.integers(G, size=G)
    sizes = clusters.sizes[chosen]
    cluster_of = np.repeat(np.arange(G), sizes)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = clusters.order[np.repeat(clusters.starts[chosen], sizes) + within]
    starts = np.cumsum(sizes) - sizes
    return rows, Clusters(clusters.column, [str(g) for g in range(G)], cluster_of, np.arange(len(cluster_of)), starts)


def can_be_estimated(X: FloatArray) -> bool:
    """Whether the columns of X (D, P) do not follow from each other, as they may in a sample without one level."""
    return len(X) > X.shape[1] and bool((added_lengths(X) > LEAST_ADDED).all())
