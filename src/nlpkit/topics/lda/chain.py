"""The chain that a fit begins with: a sampler over the corpus, with what is known before."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from nlpkit.actors import Start
from nlpkit.parameters import Execution
from nlpkit.topics.lda.distributed import DistributedSampler
from nlpkit.topics.lda.guide import Guidance, seeded_start
from nlpkit.topics.lda.options import AD_LDA, USUAL, LdaOptions
from nlpkit.topics.lda.sampler import GibbsSampler
from nlpkit.types import FloatArray, IntArray, TokenTable

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
