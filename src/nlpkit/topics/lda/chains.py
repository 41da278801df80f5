"""LDAPrototype of a corpus: many chains of LDA from different seeds, and the one most like the others."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nlpkit import reporting
from nlpkit.errors import UsageError
from nlpkit.parameters import Execution
from nlpkit.topics.lda.chain import Chain, make_sampler
from nlpkit.topics.lda.guide import Guidance
from nlpkit.topics.lda.options import LdaOptions, PrototypeOptions
from nlpkit.topics.lda.prototype import Prototype, Replications, run_prototype
from nlpkit.topics.lda.similarity import MEASURES
from nlpkit.types import FloatArray, TokenTable


@dataclass(frozen=True, slots=True)
class ComparedChains:
    """Chains that were compared, the prototype among them, and the measure of the similarity of topics."""

    runs: Replications
    prototype: Prototype
    measure: str

    @property
    def seed(self) -> int:
        """Seed of the prototype's chain."""
        return self.runs.seeds[self.prototype.run]


def check_prototype(chain: LdaOptions) -> None:
    """Refuse options that do not go with several chains, before any work is done.

    Raises:
        UsageError: there is one.
    """
    for name, used in {
        "optimize_interval": chain.optimize_interval > 0,
        "early_stop": chain.early_stop is not None,
    }.items():
        if used:
            raise not_with_prototype(name)


def not_with_prototype(name: str) -> UsageError:
    """Return the error for an option that does not go with several chains."""
    return UsageError(
        f"`{name}` and `prototype` do not go together: its chains have equal priors and lengths, and run at once",
        parameter=name,
    )


def compare_chains(
    tokens: TokenTable,
    options: LdaOptions,
    prototype: PrototypeOptions,
    execution: Execution,
    *,
    guidance: Guidance | None = None,
    weights: FloatArray | None = None,
) -> ComparedChains:
    """Run the chains and compare their topics.

    Args:
        tokens, options, guidance, weights: of each chain, as `fit_lda` takes them.
        prototype: how many chains, and the measure; execution: the seed that theirs come from, and their threads together.
    """

    def chain(seed: int) -> Chain:
        return make_sampler(tokens, options, replace(execution, seed=seed, threads=1), guidance, weights)

    with reporting.progress("chains", 100, percent=True) as update:
        runs, chosen = run_prototype(
            chain,
            runs=prototype.prototype or 0,
            sweeps=options.n_sweeps,
            seed=execution.seed,
            threads=execution.n_threads(),
            measure=MEASURES[prototype.similarity],
            progress=lambda share: update(int(100 * share)),
        )
    return ComparedChains(runs, chosen, prototype.similarity)
