"""How much the topics of several models agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.evaluation.results import Evaluation, detail_table
from nlpkit.evaluation.topics import RBO_P, TopicSet
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.score import Uncertainty, mean_score
from nlpkit.metrics.stability import Stability, common_term_ids, compare_models
from nlpkit.plain import finite_or_none

SHOWN_TOPICS = 30
SHOWN_WORDS = 5


def add_stability(
    evaluation: Evaluation, targets: Sequence[TopicSet], names: Sequence[str], n: int, uncertainty: Uncertainty
) -> None:
    """Add the agreement of several models: the mean over all pairs of them, and of each topic of the first.

    Raises:
        UsageError: there is only one model; InputError: one has no topics.
    """
    if len(targets) < 2:
        raise UsageError("`stability` compares several models: name two or more, such as runs with other seeds")
    for target in targets:
        if not any(target.topics):
            raise InputError(f"{target.name} has no topics to compare")
    models, _ = common_term_ids([target.topics for target in targets], n=n)
    agreement = compare_models(models, p=RBO_P)
    pairs = np.triu_indices(len(targets), 1)
    similarities = {"s_clop": agreement.sclop, "matched_jaccard": agreement.jaccard, "matched_rbo": agreement.rbo}
    for name in names:
        parameters: dict[str, Any] = {"models": len(targets), "top_n": [n]}
        parameters |= {"p": RBO_P} if name == "matched_rbo" else {}
        score = mean_score(
            METRICS[name], similarities[name][pairs], uncertainty, over="pairs of models", parameters=parameters
        )
        evaluation.shared[name] = score
    _add_matches(evaluation, targets, agreement)


def _add_matches(evaluation: Evaluation, targets: Sequence[TopicSet], agreement: Stability) -> None:
    """Add the agreement of each pair of models, and the topics matched with those of the first."""
    first, R = targets[0], len(targets)
    evaluation.facts["stability"] = {
        "models": [target.name for target in targets],
        **{
            name: [[finite_or_none(value) for value in row] for row in getattr(agreement, name).tolist()]
            for name in ("sclop", "jaccard", "rbo", "average_jaccard")
        },
        "matched_topics": [
            {
                "topic": first.names[k],
                "mean_similarity": float(agreement.by_topic[k]),
                "matches": [
                    {
                        "model": targets[r].name,
                        "topic": targets[r].names[agreement.matches[k, r]] if agreement.matches[k, r] >= 0 else None,
                        "jaccard": float(agreement.similarity[k, r]),
                    }
                    for r in range(1, R)
                ],
            }
            for k in range(len(first.topics))
        ],
        "unmatched": {
            target.name: [target.names[k] for k in unmatched]
            for target, unmatched in zip(targets, agreement.unmatched, strict=True)
        },
    }
    rows: list[list[Any]] = []
    for k in np.argsort(-agreement.by_topic, kind="stable")[:SHOWN_TOPICS]:
        partners = []
        for r in range(1, min(R, 4)):
            j = agreement.matches[k, r]
            words = "" if j < 0 else " ".join(targets[r].topics[j][:SHOWN_WORDS])
            partners.append("–" if j < 0 else f"{targets[r].names[j]} ({agreement.similarity[k, r]:.2f}) {words}")
        words = " ".join(first.topics[k][:SHOWN_WORDS])
        rows.append([first.names[k], float(agreement.by_topic[k]), words, *partners])
    columns = ("topic", "agreement", first.name, *(target.name for target in targets[1:4]))
    title = "Matched topics, by the Jaccard similarity of their top words"
    evaluation.tables[title] = detail_table(columns, rows)
