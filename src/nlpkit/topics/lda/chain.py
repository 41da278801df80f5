"""The chains of LDA: how one begins, and how many are compared for LDAPrototype.

Parts, in this order:
- The chain that a fit begins with: a sampler over the corpus, with what is known before.
- LDAPrototype of a corpus: many chains of LDA from different seeds, and the one most like the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.platform import reporting
from nlpkit.platform.options import Execution
from nlpkit.platform.parallel import Start
from nlpkit.platform.types import FloatArray, IntArray, TokenTable
from nlpkit.topics.base.guide import Guidance, seeded_start
from nlpkit.topics.base.prototype import MEASURES, Prototype, Replications, run_prototype
from nlpkit.topics.lda.distributed import DistributedSampler
from nlpkit.topics.lda.options import AD_LDA, ESTIMATED, USUAL, LdaOptions, PrototypeOptions
from nlpkit.topics.lda.sampler import GibbsSampler

Chain: TypeAlias = GibbsSampler | DistributedSampler


def make_sampler(
    tokens: TokenTable,
    options: LdaOptions,
    execution: Execution = USUAL,
    guidance: Guidance | None = None,
    weights: FloatArray | None = None,
    start: IntArray | None = None,
    *,
    shards: Start | None = None,
) -> Chain:
    """Return the chain of a fit at its start: over the corpus and, as one frozen document more, the pseudo-counts.

    Args:
        start: topics of all tokens to start from; those of pseudo-counts, which may come after them, are known.
        shards: where those of ad-lda are; by default in threads.
    """
    K = options.n_topics
    common: dict[str, Any] = {
        "n_topics": K,
        "alpha": options.start_alpha,
        "eta": options.start_eta,
        "seed": execution.seed,
        "threads": execution.n_threads(),
        "shards": options.shards,
    }
    if guidance is None and options.scheme == AD_LDA:
        return DistributedSampler(tokens, weights=weights, assignments=start, start=shards, **common)
    if guidance is None:
        return GibbsSampler(tokens, weights=weights, assignments=start, **common)
    start = seeded_start(tokens, guidance, execution.seed) if start is None else start[: len(tokens.term_ids)]
    fixed = np.arange(K) < guidance.n_fixed
    if options.scheme == AD_LDA:
        pseudo_tokens = (guidance.term_ids, guidance.topics)
        return DistributedSampler(
            tokens, weights=weights, assignments=start, start=shards, fixed=fixed, pseudo_tokens=pseudo_tokens, **common
        )
    extra = len(guidance.term_ids)
    whole = TokenTable(
        np.append(tokens.offsets, tokens.offsets[-1] + extra),
        np.concatenate([tokens.term_ids, guidance.term_ids]),
        tokens.terms,
    )
    frozen = np.zeros(whole.n_docs, bool)
    frozen[-1] = True
    return GibbsSampler(
        whole,
        assignments=np.concatenate([start, guidance.topics]),
        frozen=frozen,
        fixed=fixed,
        weights=None if weights is None else np.concatenate([weights, np.ones(extra)]),
        **common,
    )


# ------------------------------------------------------------------------------------------------------------------------
# LDAPrototype of a corpus: many chains of LDA from different seeds, and the one most like the others.


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
        "optimize_interval": bool(chain.optimize_interval),
        **{name: getattr(chain, name) for name in ESTIMATED},
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
