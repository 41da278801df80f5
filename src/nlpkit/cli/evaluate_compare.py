"""Targets against the first of them: differences of scores with intervals and p-values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nlpkit.cli.evaluate_clusters import clustering_statistic
from nlpkit.cli.evaluate_labels import Cells, Labelled, LabelSets, paired
from nlpkit.cli.evaluate_multilabel import paired_sets
from nlpkit.cli.evaluate_predictions import classification_statistic
from nlpkit.cli.evaluate_result import Compared, TargetResult
from nlpkit.metrics.bootstrap import Comparison, Statistic, compare
from nlpkit.metrics.classification import discordant, mcnemar
from nlpkit.metrics.jackknife import jackknife_comparison
from nlpkit.metrics.multilabel import statistic as sets_statistic
from nlpkit.metrics.score import MANY_UNITS, Metric, Uncertainty
from nlpkit.types import LongArray

GROUPS = ("clustering", "classification", "multilabel")
Statistics = Callable[[Metric], tuple[Statistic, Statistic]]  # a score of both targets, of the same units


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
        if pairs is None:
            out += _compared(results[0], result, None, how)
            continue
        one, two, counts = pairs
        out += _compared(results[0], result, (_of_cells(first, one, other, two, beta), counts), how)
        if first.class_names == other.class_names == first.found_names == other.found_names:
            result.facts["mcnemar"] = _mcnemar(first, other)
    return out


def compare_sets(data: Sequence[LabelSets], results: Sequence[TargetResult], how: Uncertainty) -> list[Compared]:
    """Compare each target with the first, paired by document: the same ids in both, with equal sets of true labels."""
    out: list[Compared] = []
    for other, result in zip(data[1:], results[1:], strict=True):
        both = paired_sets(data[0], other)
        if both is None:
            out += _compared(results[0], result, None, how)
        else:
            out += _compared(results[0], result, (_of_sets(*both), np.ones(both[0].true.shape[0], np.int64)), how)
    return out


def _compared(
    first: TargetResult, second: TargetResult, pair: tuple[Statistics, LongArray] | None, how: Uncertainty
) -> list[Compared]:
    """Return the differences of all scores that both have; without interval and p where the documents differ."""
    out: list[Compared] = []
    for name, a in first.scores.items():
        b = second.scores.get(name)
        if how.level is None or b is None or a.value is None or b.value is None or a.metric.group not in GROUPS:
            continue
        if pair is None:
            found = Comparison(a.value - b.value, None, None)
        else:
            statistics, counts = pair
            if a.metric.group == "clustering" or len(counts) > MANY_UNITS:
                found = jackknife_comparison(*statistics(a.metric), counts, level=how.level)
            else:
                found = compare(*statistics(a.metric), counts, level=how.level, seed=how.seed, over="documents")
        out.append(Compared(name, first.name, second.name, found))
    return out


def _of_sets(first: LabelSets, second: LabelSets) -> Statistics:
    return lambda metric: (
        sets_statistic(first.true, first.found, metric.name),
        sets_statistic(second.true, second.found, metric.name),
    )


def _of_cells(first: Labelled, one: Cells, second: Labelled, two: Cells, beta: float) -> Statistics:
    return lambda metric: (_statistic(first, one, metric, beta), _statistic(second, two, metric, beta))


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
