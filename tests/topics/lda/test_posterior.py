"""The distribution of the Gibbs sampler's states: exact posteriors of tiny corpora, and Geweke's joint test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from nlpkit.platform.types import TokenTable
from nlpkit.topics.lda.sampler import GibbsSampler
from tests.reference import gibbs as plain
from tests.strategies import token_table

TINY = token_table([[0, 1, 2], [0, 0], [1, 2, 2]], ["a", "b", "c"])
GUIDED = token_table([[0, 1, 2, 0], [1, 1, 0, 2, 2], [2, 0, 2]], ["a", "b", "c"])  # the one in the middle is frozen
KNOWN = np.array([-1, -1, -1, -1, 0, 0, 1, 1, 0, -1, -1, -1], np.int32)
MIDDLE = np.array([False, True, False])

POSTERIORS = {
    "symmetric": {"tokens": TINY, "alpha": np.array([0.5, 0.5]), "eta": 0.5},
    "asymmetric": {"tokens": TINY, "alpha": np.array([0.2, 1.5]), "eta": 0.3},
    "frozen": {"tokens": GUIDED, "alpha": np.array([0.8, 0.3]), "eta": 0.4, "frozen": MIDDLE, "assignments": KNOWN},
    "fixed": {
        "tokens": GUIDED, "alpha": np.array([0.8, 0.3]), "eta": 0.4, "frozen": MIDDLE, "assignments": KNOWN,
        "fixed": np.array([True, False]),
    },
}  # fmt: skip


def sampled_states(case: dict[str, Any], seeds: int = 8, each: int = 1500, thin: int = 4) -> Any:
    """States of chains of several seeds: (seeds, each) int, the topics of all tokens as digits of a binary number."""
    powers = 2 ** np.arange(len(case["tokens"].term_ids))[::-1]
    codes = np.empty((seeds, each), int)
    for s in range(seeds):
        chain = GibbsSampler(**case, n_topics=2, seed=s)
        chain.run(20)
        for i in range(each):
            chain.run(thin)
            codes[s, i] = chain.assignments() @ powers
    return codes


def chi_square(codes: Any, states: Any, p: Any) -> float:
    """p-value of the states that were seen; rare states are one."""
    powers = 2 ** np.arange(states.shape[1])[::-1]
    number = {int(code): i for i, code in enumerate(states @ powers)}
    seen = np.bincount([number[c] for c in codes.ravel().tolist()], minlength=len(p))
    expected = p * codes.size
    common = expected >= 8
    seen, expected = (np.append(x[common], x[~common].sum()) for x in (seen, expected))
    return float(stats.chisquare(seen[expected > 0], expected[expected > 0]).pvalue)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "asymmetric" else pytest.mark.slow) for name in POSTERIORS],
)  # asymmetric priors are the harder case of the same code as symmetric ones, and "fixed" has the frozen document, too
def test_states_have_the_exact_posterior(name: str) -> None:
    case = POSTERIORS[name]
    tokens, alpha, eta = case["tokens"], case["alpha"], case["eta"]
    more = {key: case[key] for key in ("frozen", "fixed") if key in case}
    codes = sampled_states(case)
    assert chi_square(codes, *plain.posterior(tokens, alpha, eta, case.get("assignments"), **more)) > 1e-3
    # and it would show: priors that are a quarter higher, or topics that are not fixed
    for wrong in [(alpha * 1.25, eta), (alpha, eta * 1.25)]:
        assert chi_square(codes, *plain.posterior(tokens, *wrong, case.get("assignments"), **more)) < 1e-6
    if name == "fixed":
        assert chi_square(codes, *plain.posterior(tokens, alpha, eta, KNOWN, frozen=MIDDLE)) < 1e-6


# Geweke (2004), Getting It Right: (w, z) drawn from the model, and (w, z) of a chain that draws z | w by the sampler and w | z
# from the model, have the same distribution if and only if the sampler keeps p(z | w).
LENGTHS, G_V, G_ALPHA, G_ETA = np.array([4, 6, 3, 0, 7]), 4, np.array([0.4, 0.8, 1.2]), 0.6
OFFSETS, G_DOC = np.concatenate([[0], np.cumsum(LENGTHS)]), np.repeat(np.arange(5), LENGTHS)


def topics_of_model(rng: Any) -> Any:
    theta = rng.dirichlet(G_ALPHA, len(LENGTHS)).cumsum(axis=1)[G_DOC, :-1]
    return (rng.random((len(G_DOC), 1)) > theta).sum(axis=1).astype(np.int32)


def words_of_model(z: Any, rng: Any) -> Any:
    phi = rng.dirichlet(np.full(G_V, G_ETA), len(G_ALPHA)).cumsum(axis=1)[z, :-1]
    return (rng.random((len(z), 1)) > phi).sum(axis=1).astype(np.int32)


def statistics(w: Any, z: Any) -> list[float]:
    K = len(G_ALPHA)
    n_kv = np.bincount(z * G_V + w, minlength=K * G_V).reshape(K, G_V)
    n_dk = np.bincount(G_DOC * K + z, minlength=len(LENGTHS) * K).reshape(-1, K)
    n_k = n_kv.sum(axis=1)
    words = gammaln(n_kv + G_ETA).sum() - gammaln(n_k + G_V * G_ETA).sum()
    topics = gammaln(n_dk + G_ALPHA).sum()
    return [
        *n_k, *n_k**2, *n_kv[0], *n_kv[2] ** 2, (n_kv**2).sum(), (n_dk**2).sum(), n_dk[1, 0] * n_kv[0, 1],
        z[0] == z[1], words, topics, (words + topics) ** 2,
    ]  # fmt: skip


def largest_z(chain: Any, independent: Any, batches: int = 40) -> float:
    """The largest |z| of the differences of means; the error of the chain's by means of batches."""
    means = chain.reshape(batches, -1, chain.shape[1]).mean(axis=1)
    variance = means.var(axis=0, ddof=1) / batches + independent.var(axis=0, ddof=1) / len(independent)
    return float(np.abs((means.mean(axis=0) - independent.mean(axis=0)) / np.sqrt(variance)).max())


def joint_chain(steps: int, alpha: Any, eta: float) -> Any:
    """Statistics of the chain, whose sampler has these priors."""
    rng = np.random.default_rng(8)
    terms, found = tuple("abcd"), []
    z = topics_of_model(rng)
    for step in range(steps):
        w = words_of_model(z, rng)
        gibbs = GibbsSampler(TokenTable(OFFSETS, w, terms), n_topics=3, alpha=alpha, eta=eta, seed=step, assignments=z)
        gibbs.run(1)
        z = gibbs.assignments()
        found.append(statistics(w, z))
    return np.array(found, float)


@pytest.mark.slow  # make test has the exact posterior above
def test_chain_of_words_and_topics_keeps_the_model() -> None:
    rng = np.random.default_rng(9)
    independent = []
    for _ in range(5000):
        z = topics_of_model(rng)
        independent.append(statistics(words_of_model(z, rng), z))
    model = np.array(independent, float)
    assert largest_z(joint_chain(4000, G_ALPHA, G_ETA), model) < 4
    # and it would show
    assert largest_z(joint_chain(1200, G_ALPHA, 2 * G_ETA), model) > 6
    assert largest_z(joint_chain(1200, 1.5 * G_ALPHA, G_ETA), model) > 6
    assert largest_z(joint_chain(1200, G_ALPHA[[1, 0, 2]], G_ETA), model) > 6
