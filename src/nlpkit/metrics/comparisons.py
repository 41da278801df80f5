"""Comparisons of targets with the first of them: differences of scores with intervals and p-values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nlpkit.metrics.catalogue import Metric
from nlpkit.metrics.intervals import Comparison, Statistic, compare, jackknife_comparison
from nlpkit.metrics.labels.classification import discordant, mcnemar
from nlpkit.metrics.labels.labels import ContingencyCells, LabelledPredictions, LabelSets, paired, paired_rows
from nlpkit.metrics.labels.multilabel import statistic as sets_statistic
from nlpkit.metrics.labels.partitions import clustering_statistic
from nlpkit.metrics.labels.predictions import classification_statistic, paired_sets
from nlpkit.metrics.results import ScoreDifference, TargetResult
from nlpkit.metrics.score import MANY_UNITS, Uncertainty
from nlpkit.platform import wording
from nlpkit.platform.types import LongArray

GROUPS = ("clustering", "classification", "multilabel")
Statistics = Callable[[Metric], tuple[Statistic, Statistic]]  # a score of both targets, of the same units


def compare_labelled(
    data: Sequence[LabelledPredictions | None],
    results: Sequence[TargetResult],
    uncertainty: Uncertainty,
    *,
    beta: float,
) -> list[ScoreDifference]:
    """Compare each target with the first, paired by document: the same ids in both, with equal labels."""
    first = data[0]
    out: list[ScoreDifference] = []
    if uncertainty.level is None or first is None:
        return out
    for other, result in zip(data[1:], results[1:], strict=True):
        if other is None:
            continue
        pairs = paired(first, other)
        if pairs is None:
            out += _compared(results[0], result, None, uncertainty)
            continue
        one, two, counts = pairs
        out += _compared(results[0], result, (_of_cells(first, one, other, two, beta), counts), uncertainty)
        if first.class_names == other.class_names == first.assigned_names == other.assigned_names:
            test = result.facts["mcnemar"] = _mcnemar(first, other)
            result.notes.append(
                f"right where {results[0].name} is wrong on {wording.counted(test['only_this_right'], 'document')}, wrong where it is "
                f"right on {test['only_first_right']:,}: McNemar's exact p {test['p_value']:.2g}, mid-p {test['mid_p_value']:.2g}"
            )
    return out


def compare_sets(
    data: Sequence[LabelSets], results: Sequence[TargetResult], uncertainty: Uncertainty
) -> list[ScoreDifference]:
    """Compare each target with the first, paired by document: the same ids in both, with equal sets of true labels."""
    out: list[ScoreDifference] = []
    for other, result in zip(data[1:], results[1:], strict=True):
        both = paired_sets(data[0], other)
        if both is None:
            out += _compared(results[0], result, None, uncertainty)
        else:
            out += _compared(
                results[0], result, (_of_sets(*both), np.ones(both[0].true.shape[0], np.int64)), uncertainty
            )
    return out


def _compared(
    first: TargetResult, second: TargetResult, pair: tuple[Statistics, LongArray] | None, uncertainty: Uncertainty
) -> list[ScoreDifference]:
    """Return the differences of all scores that both have; without interval and p where the documents differ."""
    out: list[ScoreDifference] = []
    for name, a in first.scores.items():
        b = second.scores.get(name)
        if uncertainty.level is None or b is None or a.value is None or b.value is None or a.metric.group not in GROUPS:
            continue
        if pair is None:
            comparison = Comparison(a.value - b.value, None, None)
        else:
            statistics, counts = pair
            if a.metric.group == "clustering" or len(counts) > MANY_UNITS:
                comparison = jackknife_comparison(*statistics(a.metric), counts, level=uncertainty.level)
            else:
                comparison = compare(
                    *statistics(a.metric), counts, level=uncertainty.level, seed=uncertainty.seed, over="documents"
                )
        out.append(ScoreDifference(name, first.name, second.name, comparison))
    return out


def _of_sets(first: LabelSets, second: LabelSets) -> Statistics:
    return lambda metric: (
        sets_statistic(first.true, first.predicted, metric.name),
        sets_statistic(second.true, second.predicted, metric.name),
    )


def _of_cells(
    first: LabelledPredictions, one: ContingencyCells, second: LabelledPredictions, two: ContingencyCells, beta: float
) -> Statistics:
    return lambda metric: (_statistic(first, one, metric, beta), _statistic(second, two, metric, beta))


def _statistic(data: LabelledPredictions, cells: ContingencyCells, metric: Metric, beta: float) -> Statistic:
    if metric.group == "clustering":
        return clustering_statistic(data, cells, metric.name)
    return classification_statistic(data, cells, metric.name, beta)


def _mcnemar(first: LabelledPredictions, second: LabelledPredictions) -> dict[str, Any]:
    order = paired_rows(first.ids, second.ids)
    assert order is not None  # the documents of both have been compared
    only_second, only_first = discordant(first.true, first.assigned, second.assigned[order])
    return {
        "against": "the first target",
        "only_this_right": only_second,
        "only_first_right": only_first,
        "p_value": mcnemar(only_second, only_first),
        "mid_p_value": mcnemar(only_second, only_first, mid=True),
    }
