"""How often intervals of effects hold the true effect: simulated corpora, fitted topics beside known ones.

    python tests/benchmarks/stm_coverage.py [--corpora 200] [--docs 200] [--length 100]

Of each corpus the effect of a binary covariate on the share of each of three topics is estimated in four ways, which differ in one thing
each from the one before:

    known θ         least squares on the true shares: what is left is chance of the regression
    known φ, γ, Σ   shares drawn from posteriors at the true parameters
    known φ         γ and Σ fitted, φ held at the truth
    fitted          nlpkit stm from its own start, as users have it

The true effect is the difference of E[softmax(η)] of the two groups, by 2 · 10⁶ draws; topics of a fit are matched by their words.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from scipy.optimize import linear_sum_assignment

from nlpkit.parameters import Execution
from nlpkit.topics.stm.effects import Effects, regress_draws
from nlpkit.topics.stm.fit import fit_stm
from nlpkit.topics.stm.inference import as_counts, draw_theta, draw_theta_by_noise, infer_posteriors
from nlpkit.topics.stm.model import Prior, softmax
from nlpkit.topics.stm.options import StmOptions
from nlpkit.topics.stm.update import covariance_of, regress
from nlpkit.types import FloatArray, TokenTable
from nlpkit.weighting.dtm import count_terms

K, V, DRAWS = 3, 90, 25
GAMMA = np.array([[0.0, 0.0], [1.0, -0.5]])  # intercepts, effects of x on η
SIGMA = np.array([[1.0, 0.3], [0.3, 1.0]])


def true_effect() -> FloatArray:
    """Return E[θ | x = 1] - E[θ | x = 0] (K,)."""
    noise = np.random.default_rng(0).multivariate_normal(np.zeros(K - 1), SIGMA, 2_000_000)
    return np.asarray((softmax(noise + GAMMA.sum(axis=0)) - softmax(noise + GAMMA[0])).mean(axis=0))


def estimates(seed: int, D: int, length: int) -> Iterator[tuple[str, Effects]]:
    """Yield the effects of one corpus in each way, topics in the order of the truth."""
    rng = np.random.default_rng(seed)
    phi = np.asarray(rng.dirichlet(np.full(V, 0.1), K)) * 0.95 + 0.05 / V
    X = np.column_stack([np.ones(D), np.arange(D) % 2])
    eta = X @ GAMMA + rng.multivariate_normal(np.zeros(K - 1), SIGMA, D)
    theta = softmax(eta)
    ids = np.concatenate([rng.choice(V, length, p=row @ phi) for row in theta]).astype(np.int32)
    tokens = TokenTable(np.arange(D + 1) * length, ids, tuple(f"w{v}" for v in range(V)))
    counts, names = as_counts(count_terms(tokens)), ("1", "x")
    yield "known θ", regress_draws([theta] * 2, X, names)
    prior = Prior(X @ GAMMA, SIGMA)
    known = infer_posteriors(counts, phi, prior)
    yield (
        "known φ, γ, Σ",
        regress_draws((draw_theta(counts, phi, prior, known.eta, rng) for _ in range(DRAWS)), X, names),
    )
    step = known
    for _ in range(100):
        before, mean = step.eta, X @ regress(step.eta, X)
        prior = Prior(mean, covariance_of(step.eta, mean, step.covariance))
        step = infer_posteriors(counts, phi, prior, start=step.eta)
        if np.abs(step.eta - before).max() < 1e-3:
            break
    yield "known φ", regress_draws((draw_theta(counts, phi, prior, step.eta, rng) for _ in range(DRAWS)), X, names)
    model = fit_stm(tokens, K, StmOptions(), Execution(seed, 1), X=X).model
    _, order = linear_sum_assignment(np.sqrt(phi) @ np.sqrt(model.phi).T, maximize=True)
    for name, draws in (
        ("fitted", (draw_theta_by_noise(model.eta, model.noise, rng) for _ in range(DRAWS))),
        ("fitted, Local", (draw_theta(counts, model.phi, model.prior, model.eta, rng) for _ in range(DRAWS))),
    ):
        yield name, regress_draws((theta[:, order] for theta in draws), X, names)


def main() -> None:
    """Print, for each way, the share of intervals that hold the truth, the bias, the spread and the mean standard error."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpora", type=int, default=200)
    parser.add_argument("--docs", type=int, default=200)
    parser.add_argument("--length", type=int, default=100)
    given = parser.parse_args()
    truth = true_effect()
    found: dict[str, list[tuple[FloatArray, FloatArray, float]]] = {}
    for seed in range(given.corpora):
        for name, effects in estimates(seed, given.docs, given.length):
            found.setdefault(name, []).append(
                (effects.coefficients[:, 1], effects.errors[:, 1], effects.quantile(0.95))
            )
    print(
        f"{given.corpora} corpora of {given.docs} documents of {given.length} words, {K} topics; true effects {truth.round(3)}"
    )
    print(f"{'':16} {'coverage':>9} {'bias':>8} {'sd':>8} {'mean se':>8} {'se / sd':>8}")
    for name, rows in found.items():
        values, errors = (np.array([row[i] for row in rows]) for i in (0, 1))
        inside = np.abs(values - truth) <= rows[0][2] * errors
        sd = values.std(axis=0, ddof=1).mean()
        bias = (np.sign(truth) * (values.mean(axis=0) - truth)).mean()
        print(f"{name:16} {inside.mean():9.1%} {bias:8.4f} {sd:8.4f} {errors.mean():8.4f} {errors.mean() / sd:8.2f}")


if __name__ == "__main__":
    main()
