"""`nlpkit evaluate RUN RUN … --stability`: how much the topics of several models agree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.cli.evaluate_result import Evaluation
from nlpkit.cli.evaluate_targets import TopicTarget
from nlpkit.cli.evaluate_topics import RBO_P
from nlpkit.errors import UsageError
from nlpkit.metrics.score import METRICS, Score, Uncertainty, mean_score
from nlpkit.metrics.stability import compare_models
from nlpkit.types import IntArray

SHOWN_TOPICS = 30
SHOWN_WORDS = 6


def add_stability(
    found: Evaluation, targets: Sequence[TopicTarget], names: Sequence[str], n: int, how: Uncertainty
) -> None:
    """Add the agreement of several models: over all pairs of them, and of each topic of the first.

    Raises:
        UsageError: there is only one model.
    """
    if len(targets) < 2:
        raise UsageError("--stability compares several models: name two or more, such as runs of other seeds")
    ids = _common_ids(targets, n)
    what = {measure: compare_models(ids, measure=measure, p=RBO_P) for measure in ("jaccard", "rbo")}
    parameters = {"models": len(targets), "top_n": [n]}
    for name in names:
        of = what["rbo" if name == "matched_rbo" else "jaccard"]
        if name == "s_clop":
            pairs = of.sclop[np.triu_indices(len(targets), 1)]
            score = Score(
                METRICS[name], float(pairs.mean()), "pairs of models", len(pairs), {**parameters, "measure": "jaccard"}
            )
        else:
            own = {**parameters, **({"p": RBO_P} if name == "matched_rbo" else {})}
            pairs = of.matched[np.triu_indices(len(targets), 1)]
            score = mean_score(METRICS[name], pairs, how, over="pairs of models", parameters=own)
        found.shared[name] = score
    _tell_matches(found, targets, what["jaccard"])


def _common_ids(targets: Sequence[TopicTarget], n: int) -> list[IntArray]:
    """Return the first n words of each topic of each model (K, n), numbered in one vocabulary, -1 for none."""
    number: dict[str, int] = {}
    out = []
    for target in targets:
        ids = np.full((len(target.topics), n), -1, np.int32)
        for k, words in enumerate(target.topics):
            row = [number.setdefault(word, len(number)) for word in dict.fromkeys(words[:n])]
            ids[k, : len(row)] = row
        out.append(ids)
    return out
