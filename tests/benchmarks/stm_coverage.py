"""How often intervals of effects hold the true effect: simulated corpora, fitted topics beside known ones.

    python tests/benchmarks/stm_coverage.py [--corpora 200] [--docs 200] [--length 100] [--design half|rare|number] [--effect 1] [--fitted]

Of each corpus the effect of a covariate on the share of each of three topics is estimated in several ways:

    known θ          least squares on the true shares: what is left is chance of the regression
    known words      γ and Σ fitted, the words of the topics held at the truth
    own posteriors   the same, each document drawn by its own covariance in place of the mean of all ("Local" in R in place of "Global")
    true start       nlpkit stm that begins at the true words, which nobody can: the best optimum there is
    fitted           nlpkit stm from its own start, as users have it
    fitted, as R     the same fit, the effects as R's estimateEffect has them: equal variances, γ where it is

The last two alone with --fitted.

The covariate is binary, in one half or one of eight documents, or a number with the quantiles of the normal distribution; --effect
multiplies its effects on η. The true effect is the coefficient of the least-squares line through E[softmax(η_d)] of the documents, by
Gauss-Hermite quadrature; topics of a fit are matched by their words. A fit has lost a topic where Σ_v √(φ φ') of one and its match is
below 0.9.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import ndtri

from nlpkit.platform.options import Execution
from nlpkit.platform.types import CsrMatrix, FloatArray, TokenTable
from nlpkit.topics.effects.regression import regress_draws
from nlpkit.topics.stm.fit import fit_stm
from nlpkit.topics.stm.model import (
    Inference,
    Prior,
    as_counts,
    covariance_of,
    draw_thetas,
    infer_posteriors,
    regress,
    softmax,
)
from nlpkit.topics.stm.options import StmOptions
from nlpkit.weights.dtm import count_terms

K, V, DRAWS, NODES = 3, 90, 25, 40
GAMMA = np.array([[0.0, 0.0], [1.0, -0.5]])  # intercepts, effects of x on η
SIGMA = np.array([[1.0, 0.3], [0.3, 1.0]])
DESIGNS = {
    "half": lambda i: i % 2 * 1.0,
    "rare": lambda i: (i % 8 == 0) * 1.0,
    "number": lambda i: ndtri((i + 0.5) / len(i)),
}

Estimate = tuple[FloatArray, FloatArray, float]  # effects (K,), standard errors (K,), likeness of the worst match


def true_effect(X: FloatArray) -> FloatArray:
    """Return the coefficients of the second column of X in the regressions of E[θ_d] (K,)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    noise = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, K - 1) @ np.linalg.cholesky(SIGMA).T
    weight = np.outer(weights, weights).ravel() / weights.sum() ** 2
    rows, which = np.unique(X, axis=0, return_inverse=True)
    expected = np.array([weight @ softmax(noise + mean) for mean in rows @ GAMMA])
    return np.asarray(np.linalg.lstsq(X, expected[which.ravel()], rcond=None)[0][1])


def estimate(draws: Iterable[FloatArray], X: FloatArray, order: slice | FloatArray, match: float) -> Estimate:
    """Return the effects of drawn shares by `regress_draws`, topics in the order of the truth."""
    effects = regress_draws(draws, X, ("1", "x"))
    return effects.coefficients[order, 1], effects.errors[order, 1], match


def draw_own(
    step: Inference, counts: CsrMatrix, phi: FloatArray, prior: Prior, X: FloatArray, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield what `draw_thetas` does, with ν_d of each document in place of their mean; γ is drawn as there, by the mean."""
    alone = [
        infer_posteriors(counts[[d]], phi, Prior(prior.mean[[d]], prior.covariance), start=step.eta[[d]]).covariance
        for d in range(len(X))
    ]
    roots, moves = np.linalg.cholesky(alone), np.array(alone) @ np.linalg.inv(prior.covariance)
    gamma = np.linalg.inv(np.eye(K - 1) - moves.mean(axis=0)) @ prior.covariance
    Q, root = np.linalg.qr(X)[0], np.linalg.cholesky((gamma + gamma.T) / 2)
    for _ in range(DRAWS):
        shift = Q @ rng.standard_normal((X.shape[1], K - 1)) @ root.T
        noise = rng.standard_normal(step.eta.shape)
        yield softmax(step.eta + np.einsum("dij,dj->di", moves, shift) + np.einsum("dij,dj->di", roots, noise))


def as_r_has_it(eta: FloatArray, noise: FloatArray, X: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, ...]:
    """Return effects and standard errors with equal variances of the residuals and a fixed γ."""
    root, inverse = np.linalg.cholesky(noise), np.linalg.inv(X.T @ X)
    thetas = np.array([softmax(eta + rng.standard_normal(eta.shape) @ root.T) for _ in range(DRAWS)])
    coefficients = np.einsum("pd,mdk->mpk", inverse @ X.T, thetas)
    rest = (thetas - np.einsum("dp,mpk->mdk", X, coefficients)) ** 2
    within = rest.sum(axis=1).mean(axis=0) / (len(X) - X.shape[1]) * inverse[1, 1]
    effects = coefficients[:, 1]
    return effects.mean(axis=0), np.sqrt(within + (1 + 1 / DRAWS) * effects.var(axis=0, ddof=1))


def estimates(seed: int, X: FloatArray, length: int, only_fitted: bool) -> Iterator[tuple[str, Estimate]]:
    """Yield the effects of one corpus in each way, or as users have it only."""
    rng, D = np.random.default_rng(seed), len(X)
    phi = np.asarray(rng.dirichlet(np.full(V, 0.1), K)) * 0.95 + 0.05 / V
    theta = softmax(X @ GAMMA + rng.multivariate_normal(np.zeros(K - 1), SIGMA, D))
    ids = np.concatenate([rng.choice(V, length, p=row @ phi) for row in theta]).astype(np.int32)
    tokens = TokenTable(np.arange(D + 1) * length, ids, tuple(f"w{v}" for v in range(V)))
    if not only_fitted:
        yield "known θ", estimate([theta] * 2, X, slice(None), 1.0)
        counts, prior = as_counts(count_terms(tokens)), Prior(X @ GAMMA, SIGMA)
        step = infer_posteriors(counts, phi, prior)
        for _ in range(100):
            before, mean = step.eta, X @ regress(step.eta, X)
            prior = Prior(mean, covariance_of(step.eta, mean, step.covariance))
            step = infer_posteriors(counts, phi, prior, start=step.eta)
            if np.abs(step.eta - before).max() < 1e-3:
                break
        draws = draw_thetas(step.eta, step.covariance / D, prior.covariance, X, rng, DRAWS)
        yield "known words", estimate(draws, X, slice(None), 1.0)
        yield "own posteriors", estimate(draw_own(step, counts, phi, prior, X, rng), X, slice(None), 1.0)
    for name, start in (("true start", phi), ("fitted", None))[only_fitted:]:
        model = fit_stm(tokens, K, StmOptions(), Execution(seed, 1), X=X, phi=start).model
        alike = np.sqrt(phi) @ np.sqrt(model.phi).T
        rows, order = linear_sum_assignment(alike, maximize=True)
        match = float(alike[rows, order].min())
        draws = draw_thetas(model.eta, model.noise, model.prior.covariance, X, rng, DRAWS)
        yield name, estimate(draws, X, order, match)
    effects, errors = as_r_has_it(model.eta, model.noise, X, rng)
    yield "fitted, as R", (effects[order], errors[order], match)


def main() -> None:
    """Print, for each way, the share of intervals that hold the truth, the bias, the spread and the mean standard error."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpora", type=int, default=200)
    parser.add_argument("--docs", type=int, default=200)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--design", choices=DESIGNS, default="half")
    parser.add_argument("--fitted", action="store_true", help="no other ways")
    parser.add_argument("--effect", type=float, default=1.0, help="of the covariate, times the one of GAMMA")
    given = parser.parse_args()
    GAMMA[1] *= given.effect
    X = np.column_stack([np.ones(given.docs), DESIGNS[given.design](np.arange(given.docs))])
    truth = true_effect(X)
    t = regress_draws([np.ones((given.docs, 1))] * 2, X, ("1", "x")).quantile(0.95)
    found: dict[str, list[Estimate]] = {}
    for seed in range(given.corpora):
        for name, values in estimates(seed, X, given.length, given.fitted):
            found.setdefault(name, []).append(values)
    print(
        f"{given.design}, effect times {given.effect:g}: {given.corpora} corpora of {given.docs} documents of {given.length} words, {K} "
        f"topics; true effects {truth.round(3)}"
    )
    print(f"{'':16} {'coverage':>9} {'bias':>8} {'sd':>8} {'mean se':>8} {'se / sd':>8} {'lost a topic':>13}")
    for name, rows in found.items():
        values, errors = (np.array([row[i] for row in rows]) for i in (0, 1))
        inside = np.abs(values - truth) <= t * errors
        sd = values.std(axis=0, ddof=1).mean()
        bias = (np.sign(truth) * (values.mean(axis=0) - truth)).mean()
        lost = sum(row[2] < 0.9 for row in rows)
        print(
            f"{name:16} {inside.mean():9.1%} {bias:8.4f} {sd:8.4f} {errors.mean():8.4f} {errors.mean() / sd:8.2f} {lost:13}"
        )


if __name__ == "__main__":
    main()
