"""Costs of errors: the decision of least expected cost, and what decisions cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.evaluation.results import TargetResult
from nlpkit.metrics.bootstrap import interval, mean_of
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.proportion import edge_interval
from nlpkit.metrics.score import Uncertainty, mean_score
from nlpkit.types import FloatArray, IntArray

Costs = tuple[tuple[float, ...], ...]


def cost_matrix(costs: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> Costs:
    """Return the cost (J, J) of predicting the second class where the first is true; 1 of errors without a cost, 0 of no error.

    Args:
        costs: by true class, then by predicted class. names: (J,) of the classes.

    Raises:
        UsageError: a class that is not known, a cost that is no finite number, or the same cost whatever is predicted.
    """
    matrix = 1.0 - np.eye(len(names))
    place = {name: j for j, name in enumerate(names)}
    for true, row in costs.items():
        for predicted, cost in row.items():
            unknown = next((name for name in (true, predicted) if name not in place), None)
            if unknown is not None:
                near = get_close_matches(unknown, names, n=1)
                meant = f"; did you mean '{near[0]}'?" if near else ""
                raise UsageError(
                    f"`costs` names '{unknown}', and the classes are {', '.join(names)}{meant}", parameter="costs"
                )
            if isinstance(cost, bool) or not isinstance(cost, int | float) or not np.isfinite(cost):
                raise UsageError(
                    f"`costs`: the cost of '{predicted}' where '{true}' is true must be a number, got {cost!r}",
                    parameter="costs",
                )
            matrix[place[true], place[predicted]] = cost
    if (matrix == matrix[:, :1]).all():
        raise UsageError(
            "`costs` are the same for all predictions; an error must cost more than a right prediction",
            parameter="costs",
        )
    return tuple(tuple(row) for row in matrix.tolist())


def least_cost(probabilities: FloatArray, costs: FloatArray) -> IntArray:
    """Return the class (D,) with the least expected cost Σ_i P(i | x) C_ij; of equals the first (Elkan 2001, eq. 1).

    Args:
        probabilities: (D, J). costs: C (J, J), of predicting j where i is true.
    """
    return np.asarray((probabilities @ costs).argmin(axis=1), np.int32)


def compare_costs(
    true: IntArray, decisions: Mapping[str, IntArray], costs: FloatArray, uncertainty: Uncertainty
) -> list[dict[str, Any]]:
    """Return the mean cost of decisions for the same documents with its interval, and how much less than it the first costs.

    Intervals are BCa bootstrap intervals over documents, those of the difference paired.

    Args:
        true: (n,) classes of documents. decisions: (n,) classes by name. costs: C (J, J).

    Returns:
        For each decision: decision, mean_cost, low, high, and of all but the first saved, saved_low, saved_high.
    """
    per_document = {name: costs[true, codes] for name, codes in decisions.items()}
    first = next(iter(per_document.values()))
    rows = []
    for i, (name, values) in enumerate(per_document.items()):
        row = {"decision": name, "mean_cost": float(values.mean()), **_bounds(values, costs, uncertainty, "")}
        if i:
            saved = values - first
            row |= {"saved": float(saved.mean()), **_bounds(saved, None, uncertainty, "saved_")}
        rows.append(row)
    return rows


def add_mean_cost(
    result: TargetResult, true: IntArray, codes: IntArray, costs: FloatArray, uncertainty: Uncertainty
) -> None:
    """Add the mean cost of decisions (n,) to a result, so that gates can be on it. See `compare_costs`."""
    values = costs[true, codes]
    score = mean_score(
        METRICS["mean_cost"], values, uncertainty, over="documents", parameters={"documents": len(values)}
    )
    result.add(replace(score, median=None))


def _bounds(values: FloatArray, costs: FloatArray | None, uncertainty: Uncertainty, prefix: str) -> dict[str, float]:
    """Return low and high of the mean of values (n,), nothing where it has no interval; costs: between whose ends values lie."""
    if uncertainty.level is None:
        return {}
    bounds = None
    if costs is not None:
        low, high = float(costs.min()), float(costs.max())
        bounds = edge_interval(float(values.mean()), len(values), low=low, high=high, level=uncertainty.level)
    if bounds is None:
        different, counts = np.unique(values, return_counts=True)
        bounds = interval(
            mean_of(different),
            counts.astype(np.int64),
            level=uncertainty.level,
            seed=uncertainty.seed,
            over="documents",
        )
    return {} if bounds is None else {f"{prefix}low": bounds.low, f"{prefix}high": bounds.high}
