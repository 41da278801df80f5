"""Scores of predicted classes that have an order against labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit import wording
from nlpkit.cells import as_label, is_number
from nlpkit.evaluation.labels import LabelledPredictions, PredictionTable
from nlpkit.evaluation.results import TargetResult
from nlpkit.metrics import ordinal
from nlpkit.metrics.catalogue import METRICS, in_group
from nlpkit.metrics.score import Uncertainty, statistic_score

ORDINAL = (*in_group("ordinal"), "spearman")


def scale_of(tables: Sequence[PredictionTable], order: Sequence[str]) -> tuple[str, ...]:
    """Return all labels and predictions of tables from low to high: the labels of `order`, or else numbers; empty for neither."""
    cells = (as_label(v) for table in tables for v in (*table.labels, *table.assigned))
    names = {v for v in cells if v is not None}
    if order:
        return tuple(order) if names <= set(order) else ()
    return tuple(sorted(names, key=float)) if all(map(is_number, names)) else ()


def add_ordinal(
    result: TargetResult,
    data: LabelledPredictions,
    scale: Sequence[str],
    names: Sequence[str],
    uncertainty: Uncertainty,
) -> None:
    """Add scores of ranks to a result; documents without a prediction are left out. scale: all labels, the lowest first."""
    rank = np.array([scale.index(name) for name in data.class_names], np.int32)
    kept = (data.true >= 0) & (data.assigned >= 0)
    by_name = ordinal.statistics(rank[data.true[kept]], rank[data.assigned[kept]])
    counts, parameters = np.ones(int(kept.sum()), np.int64), {"documents": int(kept.sum()), "ranks": len(scale)}
    for name in names:
        why = "labels, or predictions, are all alike"
        result.add(
            statistic_score(
                METRICS[name], by_name[name], counts, uncertainty, over="documents", parameters=parameters, why=why
            )
        )
    missing = int(((data.true >= 0) & (data.assigned < 0)).sum())
    if missing and names:
        without = wording.counted(missing, "document")
        result.notes.append(f"{without} without a prediction: left out of {', '.join(names)}")
