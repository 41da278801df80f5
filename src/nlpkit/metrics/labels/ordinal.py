"""The scores of predicted classes that have an order: errors and agreement of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse

from nlpkit.metrics.catalogue import METRICS, in_group
from nlpkit.metrics.intervals import Statistic
from nlpkit.metrics.labels import numbers as regression
from nlpkit.metrics.labels.labels import LabelledPredictions, PredictionTable
from nlpkit.metrics.results import TargetResult
from nlpkit.metrics.score import Uncertainty, statistic_score
from nlpkit.platform import wording
from nlpkit.platform.types import FloatArray, IntArray
from nlpkit.platform.values import as_label, is_number


def statistics(true: IntArray, predicted: IntArray) -> Mapping[str, Statistic]:
    """Return scores of weighted documents by name, each weights (B, n) → (B,).

        rank_mae = mean |t - p|;   macro_mae = mean over true ranks of the mean |t - p| of their documents
        quadratic_kappa = 1 - mean (t - p)² / (mean t² + mean p² - 2 · mean t · mean p)

    The last is Cohen's kappa with weights (i - j)², scikit-learn's cohen_kappa_score(weights="quadratic") (Cohen 1968); macro_mae is
    the macroaveraged MAE of Baccianella, Esuli & Sebastiani 2009, §3. spearman: see `regression.statistics`.

    Args:
        true, predicted: (n,) ranks, 0 … J-1.
    """
    t, p = np.asarray(true, np.float64), np.asarray(predicted, np.float64)
    of_numbers = regression.statistics(t, p)
    error = np.abs(p - t)
    ranks, codes = np.unique(true, return_inverse=True)
    n = len(t)
    of_rank = sparse.csr_array((np.ones(n), (np.arange(n), codes)), shape=(n, len(ranks)))

    def macro_mae(w: FloatArray) -> FloatArray:
        sizes, errors = np.asarray(w @ of_rank), np.asarray((w * error) @ of_rank)
        drawn = sizes > 0
        mean: FloatArray = np.where(drawn, errors / np.where(drawn, sizes, 1.0), 0.0).sum(axis=1) / drawn.sum(axis=1)
        return mean

    def quadratic_kappa(w: FloatArray) -> FloatArray:
        total = w.sum(axis=1)
        mean_t, mean_p, squares, observed = (w @ values / total for values in (t, p, t * t + p * p, error * error))
        by_chance = squares - 2 * mean_t * mean_p
        some = by_chance > 1e-12
        kappa: FloatArray = np.where(some, 1.0 - observed / np.where(some, by_chance, 1.0), np.nan)
        return kappa

    return {
        "rank_mae": of_numbers["mae"],
        "macro_mae": macro_mae,
        "quadratic_kappa": quadratic_kappa,
        "spearman": of_numbers["spearman"],
    }


# ------------------------------------------------------------------------------------------------------------------------
# Scores of predicted classes that have an order against labels.

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
    by_name = statistics(rank[data.true[kept]], rank[data.assigned[kept]])
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
