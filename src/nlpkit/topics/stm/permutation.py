"""A permutation test of a binary covariate: is its effect larger than that of a column without meaning (permutationTest of R's stm)?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from nlpkit.errors import InputError
from nlpkit.parameters import Execution
from nlpkit.topics.stm.content import Content
from nlpkit.topics.stm.design import Covariate, Design, sorted_levels
from nlpkit.topics.stm.effects import contrast, regress_draws
from nlpkit.topics.stm.fit import fit_stm, start_of
from nlpkit.topics.stm.inference import draw_thetas
from nlpkit.topics.stm.options import StmOptions
from nlpkit.topics.streams import stream_key
from nlpkit.types import FloatArray, TokenTable


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
