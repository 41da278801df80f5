"""Effects of covariates on topics: regressions of drawn topic proportions, combined over draws (estimateEffect of R's stm)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from nlpkit.errors import UsageError
from nlpkit.platform.types import FloatArray
from nlpkit.topics.effects.design import Covariate, Design

GRID = 100  # values of a number at which proportions are predicted
ALONE = 1e-9  # 1 - h_d of a document that alone decides a coefficient


@dataclass(frozen=True, slots=True)
class Effects:
    """Coefficients of the regressions of K topics on P columns, and their covariances.

    names (P,) of the columns; coefficients (K, P); covariance (K, P, P); degrees: of freedom of the t distribution, (K,) where topics
    differ. is_logit: whether X β_k is the logit of a share and not the share.
    """

    names: tuple[str, ...]
    coefficients: FloatArray
    covariance: FloatArray
    degrees: int | FloatArray
    is_logit: bool = False

    @property
    def errors(self) -> FloatArray:
        """Standard errors (K, P)."""
        return np.asarray(np.sqrt(np.maximum(np.einsum("kpp->kp", self.covariance), 0.0)))

    @property
    def t(self) -> FloatArray:
        """t values (K, P)."""
        empty = np.full_like(self.errors, np.nan)
        return np.divide(self.coefficients, self.errors, out=empty, where=self.errors > 0)

    @property
    def p(self) -> FloatArray:
        """Two-sided p values of coefficients of 0 (K, P)."""
        return self.p_of(self.coefficients.T, self.errors.T).T

    def p_of(self, mean: FloatArray, error: FloatArray) -> FloatArray:
        """Return the two-sided p values of values (N, K) of 0, NaN where there is no error."""
        t = np.divide(mean, error, out=np.full_like(mean, np.nan), where=error > 0)
        return np.asarray(2 * scipy.special.stdtr(self.degrees, -np.abs(t)))

    def quantile(self, level: float) -> float:
        """Return the quantile of t that the ends of intervals are away, in standard errors."""
        return float(self.quantiles(level))

    def quantiles(self, level: float) -> FloatArray:
        """Return the same for each topic (K,), or one for all."""
        return np.asarray(scipy.special.stdtrit(self.degrees, (1 + level) / 2))

    def at(self, X: FloatArray, *, level: float = 0.95) -> Expected:
        """Return the expected proportions of rows of covariates X (N, P), X β_k or with the logit expit(X β_k), with intervals.

        Intervals of the logit are those of X β_k, so that they stay within 0 and 1; its standard errors follow from the delta method.
        """
        line = X @ self.coefficients.T
        error = np.sqrt(np.maximum(np.einsum("np,kpq,nq->nk", X, self.covariance, X), 0.0))
        half = self.quantiles(level) * error
        if not self.is_logit:
            return Expected(line, error, line - half, line + half)
        mean, low, high = (scipy.special.expit(each) for each in (line, line - half, line + half))
        return Expected(mean, mean * (1 - mean) * error, low, high)

    def between(self, X: FloatArray, base: FloatArray, *, level: float = 0.95) -> Expected:
        """Return the differences of the expected proportions of rows X (N, P) and base (N or 1, P), with intervals (delta method)."""
        if not self.is_logit:
            return self.at(X - base, level=level)
        first, second = (scipy.special.expit(each @ self.coefficients.T) for each in (X, base))
        slopes = [(p * (1 - p))[:, :, None] * rows[:, None, :] for p, rows in ((first, X), (second, base))]
        slope = slopes[0] - slopes[1]
        error = np.sqrt(np.maximum(np.einsum("nkp,kpq,nkq->nk", slope, self.covariance, slope), 0.0))
        mean, half = first - second, self.quantiles(level) * error
        return Expected(mean, error, mean - half, mean + half)


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected proportions of K topics in N cases (N, K), or their differences: means, standard errors, ends of the intervals."""

    mean: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray


def regress_draws(draws: Iterable[FloatArray], X: FloatArray, names: tuple[str, ...]) -> Effects:
    """Return the regressions of topic proportions on covariates, with the uncertainty of the proportions.

        θ_k = X β_k + ε  by least squares in each of M draws of θ,   β_k = mean of the draws
        within = (XᵀX)⁻¹ Xᵀ diag(mean of the draws' ε_d² / (1 - h_d)²) X (XᵀX)⁻¹,   h_d = x_dᵀ (XᵀX)⁻¹ x_d
        Cov β_k = within + (1 + 1/M) · covariance of the draws' β_k (Rubin 1987, p. 76)

    The covariance within draws is HC3 (MacKinnon and White 1985), as shares vary the more the nearer to a half they are; a document
    that alone decides a coefficient, h_d = 1, has the mean square of the residuals. R's estimateEffect supposes equal variances, and
    draws coefficients from each draw's normal distribution.

    Args:
        draws: of theta (D, K), of the documents that have words.
        X: (D, P), P < D.
    """
    D, P = X.shape
    Q, R = np.linalg.qr(X)
    inverse = np.linalg.inv(R)
    estimates: list[FloatArray] = []
    squares: FloatArray | float = 0.0
    for theta in draws:
        along = Q.T @ theta
        estimates.append((inverse @ along).T)
        squares = squares + (theta - Q @ along) ** 2
    squares = np.asarray(squares / len(estimates))
    free = 1 - np.einsum("dp,dp->d", Q, Q)
    alone = free < ALONE
    variances = squares / np.where(alone, 1.0, free)[:, None] ** 2
    variances[alone] = squares.sum(axis=0) / (D - P)
    weights = Q @ inverse.T
    within = np.array([(weights.T * variance) @ weights for variance in variances.T])
    return combined(names, np.array(estimates), within, D - P)


def combined(
    names: tuple[str, ...], several: FloatArray, within: FloatArray, degrees: int, *, is_logit: bool = False
) -> Effects:
    """Return estimates of M draws (M, K, P) as one, by Rubin's rules (1987, p. 76); within (K, P, P): their mean covariance."""
    M = len(several)
    mean = several.mean(axis=0)
    spread = several - mean
    between = np.einsum("mkp,mkq->kpq", spread, spread) / max(M - 1, 1)
    return Effects(names, mean, within + (1 + 1 / M) * between, degrees, is_logit)


def cases(
    design: Design,
    column: str,
    *,
    values: Covariate | None = None,
    others: Mapping[str, float | str] | None = None,
) -> tuple[list[float] | list[str], FloatArray]:
    """Return values of a covariate and X (N, P) with them, all others at their median or most frequent category.

    values: by default the levels of a category, or 100 numbers from the least to the greatest of the fit. others: values of some of
    the other covariates.

    Raises:
        ColumnError: the formula does not have the column.
    """
    coding = design.coding_of(column)
    middles = {**design.middles(), **(others or {})}
    shown: list[float] | list[str]
    if values is None:
        shown = list(coding.levels) or np.linspace(*coding.ends, GRID).tolist()
    else:
        shown = [value for value in values if value is not None]
    filled: dict[str, Covariate] = {
        name: [middle] * len(shown) if isinstance(middle, str) else np.full(len(shown), middle)
        for name, middle in middles.items()
    }
    filled[column] = np.array(shown, np.float64) if coding.is_number else [str(value) for value in shown]
    return shown, design.matrix(filled)


def compared_rows(
    design: Design,
    column: str,
    first: float | str,
    second: float | str,
    *,
    others: Mapping[str, float | str] | None = None,
) -> FloatArray:
    """Return the rows (2, P) of the covariates of two values of a column, all others as in `cases`.

    Raises:
        UsageError: the two are the same.
    """
    if first == second:
        raise UsageError(f"the two values of '{column}' that are compared are both '{first}'")
    coding = design.coding_of(column)
    pair: Covariate = np.array([float(first), float(second)]) if coding.is_number else [str(first), str(second)]
    return cases(design, column, values=pair, others=others)[1]
