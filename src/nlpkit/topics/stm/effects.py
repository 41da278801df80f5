"""Effects of covariates on topics: regressions of drawn topic proportions, combined over draws (estimateEffect of R's stm).

Further parts, in this order:
- A permutation test of a binary covariate: is its effect larger than that of a column without meaning (permutationTest of R's
  stm)?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import FloatArray, TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.stm.content import Content
from nlpkit.topics.stm.design import Covariate, Design, sorted_levels
from nlpkit.topics.stm.fit import fit_stm, start_of
from nlpkit.topics.stm.model import draw_thetas
from nlpkit.topics.stm.options import StmOptions

DRAWS = 25  # of theta, as in R's stm
GRID = 100  # values of a number at which proportions are predicted
ALONE = 1e-9  # 1 - h_d of a document that alone decides a coefficient


@dataclass(frozen=True, slots=True)
class Effects:
    """Coefficients of the regressions of K topics on P columns, and their covariances.

    names (P,) of the columns; coefficients (K, P); covariance (K, P, P); degrees: of freedom of the t distribution.
    """

    names: tuple[str, ...]
    coefficients: FloatArray
    covariance: FloatArray
    degrees: int

    @property
    def errors(self) -> FloatArray:
        """Standard errors (K, P)."""
        return np.asarray(np.sqrt(np.einsum("kpp->kp", self.covariance)))

    @property
    def t(self) -> FloatArray:
        """t values (K, P)."""
        return np.asarray(self.coefficients / self.errors)

    @property
    def p(self) -> FloatArray:
        """Two-sided p values of coefficients of 0 (K, P)."""
        return self.p_of(self.coefficients, self.errors)

    def p_of(self, mean: FloatArray, error: FloatArray) -> FloatArray:
        """Return the two-sided p values of values of 0, NaN where there is no error."""
        t = np.divide(mean, error, out=np.full_like(mean, np.nan), where=error > 0)
        return np.asarray(2 * scipy.special.stdtr(self.degrees, -np.abs(t)))

    def quantile(self, level: float) -> float:
        """Return the quantile of t that the ends of intervals are away, in standard errors."""
        return float(scipy.special.stdtrit(self.degrees, (1 + level) / 2))

    def at(self, X: FloatArray, *, level: float = 0.95) -> Expected:
        """Return the expected proportions X β_k of rows of covariates X (N, P), or of their differences, with intervals."""
        mean = X @ self.coefficients.T
        error = np.sqrt(np.einsum("np,kpq,nq->nk", X, self.covariance, X))
        half = self.quantile(level) * error
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
    several = np.array(estimates)
    M = len(several)
    squares = np.asarray(squares / M)
    free = 1 - np.einsum("dp,dp->d", Q, Q)
    alone = free < ALONE
    variances = squares / np.where(alone, 1.0, free)[:, None] ** 2
    variances[alone] = squares.sum(axis=0) / (D - P)
    weights = Q @ inverse.T
    within = np.array([(weights.T * variance) @ weights for variance in variances.T])
    mean = several.mean(axis=0)
    spread = several - mean
    between = np.einsum("mkp,mkq->kpq", spread, spread) / max(M - 1, 1)
    return Effects(names, mean, within + (1 + 1 / M) * between, D - P)


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


def contrast(
    design: Design,
    column: str,
    first: float | str,
    second: float | str,
    *,
    others: Mapping[str, float | str] | None = None,
) -> FloatArray:
    """Return the row (1, P) of the covariates of one value of a column minus those of another, all others as in `cases`.

    Raises:
        UsageError: the two are the same.
    """
    if first == second:
        raise UsageError(f"the two values of '{column}' that are compared are both '{first}'")
    coding = design.coding_of(column)
    pair: Covariate = np.array([float(first), float(second)]) if coding.is_number else [str(first), str(second)]
    _, X = cases(design, column, values=pair, others=others)
    return X[:1] - X[1:]


# ------------------------------------------------------------------------------------------------------------------------
# A permutation test of a binary covariate: is its effect larger than that of a column without meaning (permutationTest of R's stm)?


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """Effects of a column that was permuted, R times, beside the one of the fit.

    effect (K,): the share of each topic at the second value less that at the first; permuted (R, K): the same in a model that was fitted
    with the column permuted; match (R, K): how alike the words of its topic and the topic of the fit are, Σ_v √(φ_kv φ'_kv).
    """

    effect: FloatArray
    permuted: FloatArray
    match: FloatArray

    @property
    def p(self) -> FloatArray:
        """(1 + permuted effects that are at least as large) / (R + 1), two-sided (K,)."""
        larger = (np.abs(self.permuted) >= np.abs(self.effect)).sum(axis=0)
        return np.asarray((1 + larger) / (len(self.permuted) + 1))


def two_values(design: Design, column: str, values: Mapping[str, Covariate]) -> tuple[str, str]:
    """Return the two values of a binary covariate, in order.

    Raises:
        InputError: it has others; ColumnError: the formula does not have it.
    """
    coding = design.coding_of(column)
    both = sorted_levels(values[column]) if coding.is_number else coding.levels
    if len(both) != 2:
        raise InputError(
            f"a permutation test compares two values, and '{column}' has {len(both)}: {', '.join(both[:5])}"
            + (" …" if len(both) > 5 else "")
        )
    return both[0], both[1]


def permutation_test(
    tokens: TokenTable,
    phi: FloatArray,
    effect: FloatArray,
    design: Design,
    values: Mapping[str, Covariate],
    column: str,
    *,
    options: StmOptions,
    execution: Execution,
    content: Content | None = None,
    permutations: int = 100,
    draws: int = 25,
    seed: int = 42,
    done: Callable[[int], None] | None = None,
) -> PermutationTest:
    """Fit the model again with the values of a binary column permuted over documents, and estimate its effect each time.

    Topics of each fit are matched one to one with those of the model for the highest Σ_k Σ_v √(φ_kv φ'_kv). R draws the column from a
    Bernoulli distribution in place of permuting it, and matches by Σ_v φ_kv φ'_kv.

    Args:
        tokens, values: of the documents of the fit that have words.
        phi, effect: (K, V) and (K,) of the fit.
        options, execution: of the fit, with the seed of its start; seed: of permutations and draws.
        done: called after each fit with how many there are.

    Raises:
        InputError: the column has other than two values.
    """
    first, second = two_values(design, column, values)
    row = contrast(design, column, second, first)[0]
    K, names = len(phi), tuple(design.names)
    effects, match = np.empty((permutations, K)), np.empty((permutations, K))
    start = start_of(tokens, K, options, execution)
    for r in range(permutations):
        rng = np.random.Generator(np.random.Philox(key=stream_key(seed, "permutation", r)))
        order = rng.permutation(tokens.n_docs)
        fitted = values[column]
        shuffled: Covariate = fitted[order] if isinstance(fitted, np.ndarray) else [fitted[i] for i in order.tolist()]
        X = design.matrix({**values, column: shuffled})
        model = fit_stm(tokens, K, options, execution, X=X, content=content, phi=start).model
        with threadpool_limits(1, user_api="blas"):
            thetas = draw_thetas(model.eta, model.noise, model.prior.covariance, X, rng, draws)
            coefficients = regress_draws(thetas, X, names).coefficients
            alike = np.sqrt(phi) @ np.sqrt(model.phi).T
        _, same = scipy.optimize.linear_sum_assignment(alike, maximize=True)
        effects[r], match[r] = coefficients[same] @ row, alike[np.arange(K), same]
        if done is not None:
            done(r + 1)
    return PermutationTest(effect, effects, match)
