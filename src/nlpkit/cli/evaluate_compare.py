"""Targets against the first of them: differences of scores with intervals and p-values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nlpkit.cli.evaluate_clusters import clustering_statistic
from nlpkit.cli.evaluate_labels import Cells, Labelled, paired
from nlpkit.cli.evaluate_predictions import classification_statistic
from nlpkit.cli.evaluate_result import Compared, TargetResult
from nlpkit.metrics.bootstrap import Comparison, Statistic, compare
from nlpkit.metrics.classification import discordant, mcnemar
from nlpkit.metrics.jackknife import jackknife_comparison
from nlpkit.metrics.score import MANY_UNITS, Metric, Uncertainty, metric_of


def compare_labelled(
    data: Sequence[Labelled | None], results: Sequence[TargetResult], how: Uncertainty, *, beta: float
) -> list[Compared]:
    """Compare each target with the first, paired by document: the same ids in both, with equal labels."""
    first = data[0]
    out: list[Compared] = []
    if how.level is None or first is None:
        return out
    for other, result in zip(data[1:], results[1:], strict=True):
        if other is None:
            continue
        pairs = paired(first, other)
        for name in results[0].scores:
            metric = metric_of(name)
            if metric is None or name not in result.scores or metric.group not in ("clustering", "classification"):
                continue
            a, b = results[0].scores[name], result.scores[name]
            if a.value is None or b.value is None:
                continue
            if pairs is None:
                out.append(Compared(name, results[0].name, result.name, Comparison(a.value - b.value, None, None)))
                continue
            one, two, counts = pairs
            statistics = (_statistic(first, one, metric, beta), _statistic(other, two, metric, beta))
            if metric.group == "clustering" or len(counts) > MANY_UNITS:
                found = jackknife_comparison(*statistics, counts, level=how.level)
            else:
                found = compare(*statistics, counts, level=how.level, seed=how.seed, over="documents")
            out.append(Compared(name, results[0].name, result.name, found))
        if pairs is not None and first.class_names == other.class_names == first.found_names == other.found_names:
            result.facts["mcnemar"] = _mcnemar(first, other)
    return out


def _statistic(data: Labelled, cells: Cells, metric: Metric, beta: float) -> Statistic:
    if metric.group == "clustering":
        return clustering_statistic(data, cells, metric.name)
    return classification_statistic(data, cells, metric.name, beta)


def _mcnemar(first: Labelled, second: Labelled) -> dict[str, Any]:
    assert first.ids is not None
    assert second.ids is not None
    row = {name: i for i, name in enumerate(second.ids)}
    order = np.array([row[name] for name in first.ids])
    only_second, only_first = discordant(first.true, first.found, second.found[order])
    return {
        "against": "the first target",
        "only_this_right": only_second,
        "only_first_right": only_first,
        "p_value": mcnemar(only_second, only_first),
    }
