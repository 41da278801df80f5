"""The fit of topic models: perplexity of held-out documents with its interval, its comparison, and counts for residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit import reporting
from nlpkit.evaluation.results import ScoreDifference, TargetResult
from nlpkit.metrics.bootstrap import Statistic, compare, ratio_of
from nlpkit.metrics.score import Uncertainty
from nlpkit.topics.mixtures.heldout import HeldOut
from nlpkit.types import LongArray

GROUPS = 500  # of documents, when there are more of them


@dataclass(frozen=True, slots=True)
class HeldOutScores:
    """Held-out documents of one target: their likelihoods, the files they come from, and the group of each (D,), for comparisons."""

    scores: HeldOut
    inputs: object
    groups: LongArray


def bootstrap_groups(documents: LongArray) -> LongArray:
    """Return the number of the bootstrap unit of each document: itself, or one of GROUPS groups."""
    n = len(documents)
    if n <= GROUPS:
        return np.arange(n)
    # at random: a corpus may be sorted
    return np.asarray(np.random.default_rng(0).permutation(n) % GROUPS, np.int64)


def perplexity_statistic(scores: HeldOut, groups: LongArray) -> Statistic:
    """Return the perplexity of weighted groups of documents."""
    size = int(groups.max()) + 1
    logs = np.asarray(np.bincount(groups, weights=scores.doc_log_likelihood, minlength=size), np.float64)
    tokens = np.asarray(np.bincount(groups, weights=scores.doc_tokens, minlength=size), np.float64)
    mean = ratio_of(logs, tokens)
    return lambda weights: np.asarray(np.exp(-mean(weights)), np.float64)


def compare_perplexity(
    held: Sequence[HeldOutScores | None], results: Sequence[TargetResult], uncertainty: Uncertainty
) -> list[ScoreDifference]:
    """Compare held-out perplexities with that of the first target, paired by document."""
    out: list[ScoreDifference] = []
    first = held[0]
    if first is None or uncertainty.level is None:
        return out
    for other, result in zip(held[1:], results[1:], strict=True):
        if other is None or other.inputs != first.inputs:
            continue
        same = np.array_equal(other.scores.documents, first.scores.documents)
        if not same or other.scores.n_tokens != first.scores.n_tokens:
            reporting.warn(
                f"{results[0].name} and {result.name} have different vocabularies, so their perplexities cannot be "
                "compared"
            )
            continue
        units = np.ones(int(first.groups.max()) + 1, np.int64)
        pair = perplexity_statistic(first.scores, first.groups), perplexity_statistic(other.scores, other.groups)
        comparison = compare(*pair, units, level=uncertainty.level, seed=uncertainty.seed, over="documents")
        out.append(ScoreDifference("perplexity", results[0].name, result.name, comparison))
    return out
