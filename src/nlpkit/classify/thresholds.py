"""The decisions of a classifier: by thresholds for a wanted recall or precision, or by the costs of errors.

Parts, in this order:
- Thresholds of a decision for or against one class, at a wanted recall or precision, chosen on documents the model has
  not seen.
- Costs of errors: the decision of least expected cost, and what decisions cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from nlpkit.classify.calibration import Calibrator, against_rest
from nlpkit.classify.models.linear import Link
from nlpkit.classify.options import Measure, Wanted
from nlpkit.errors import UsageError
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.intervals import edge_interval, interval, mean_of, wilson
from nlpkit.metrics.results import TargetResult
from nlpkit.metrics.score import Uncertainty, mean_score
from nlpkit.platform.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Threshold:
    """The score from which on a document is taken for `label`, and what that came to on documents the model had not seen.

    scale: of the scores, see `decision_scores`. hits: documents of the class, of `documents`, that were taken for it, among the
    `assigned`, so that recall is hits / documents and precision hits / assigned. reached: whether the wanted value was.
    """

    label: str
    measure: Measure
    wanted: float
    score: float
    scale: str
    hits: int
    documents: int
    assigned: int
    reached: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values that go into JSON."""
        return asdict(self)

    @classmethod
    def restored(cls, values: Mapping[str, Any]) -> Threshold:
        """Return the threshold of `to_dict`. Raises KeyError."""
        return cls(**{name: values[name] for name in cls.__dataclass_fields__})


def score_scale(calibrated: bool, link: Link) -> str:
    """Return what `decision_scores` are: a probability, log-odds, or a margin."""
    return "probability" if calibrated else "margin" if link == "margin" else "log-odds"


def decision_scores(decision: FloatArray, calibrator: Calibrator | None, link: Link, *, multiple: bool) -> FloatArray:
    """Return scores (n, J) of each class against the others, which thresholds are on.

    Calibrated: probabilities. Else of a model with probabilities the log-odds log(p / (1 - p)), which stay apart where p is 1
    to the last digit; of others the score less the best of the other classes, or where there are several labels the score.
    """
    if calibrator is not None:
        return calibrator.probabilities(decision)
    if multiple or decision.shape[1] < 2:
        return decision
    if link != "margin":
        return against_rest(decision, link)
    best = np.sort(decision, axis=1)
    others = np.where(decision == best[:, -1:], best[:, -2:-1], best[:, -1:])
    return np.asarray(decision - others)


def choose_thresholds(
    scores: FloatArray, positive: BoolArray, names: Sequence[str], wanted: Sequence[Wanted], scale: str
) -> tuple[Threshold, ...]:
    """Return the thresholds of classes that some of the documents have; see `choose_threshold`.

    Args:
        scores: (n, J). positive: (n, J) documents of each class. names: (J,).
    """
    places = [(one, names.index(one.label)) for one in wanted if one.label in names]
    return tuple(
        choose_threshold(scores[:, j], positive[:, j], one, scale=scale) for one, j in places if positive[:, j].any()
    )


def choose_threshold(scores: FloatArray, positive: BoolArray, wanted: Wanted, *, scale: str = "margin") -> Threshold:
    """Return the threshold t of a class, whose documents are taken for it where their score is t or more.

        recall      the highest t with hits / documents of the class ≥ the wanted value: the best precision it leaves
        precision   the lowest t with hits / documents taken for it ≥ the wanted value: the best recall it leaves

    t is the score of a document; equal scores are taken together. Where no t has the wanted precision, the one of the highest is
    returned, of equals the lowest.

    Args:
        scores: (n,) of documents that the model has not seen. positive: (n,) documents of the class, one at least.
    """
    values, place = np.unique(-scores, return_inverse=True)  # the highest score first
    hits = np.cumsum(np.bincount(place, positive, len(values)))
    assigned = np.cumsum(np.bincount(place, minlength=len(values)))
    share = hits / (positive.sum() if wanted.measure == "recall" else assigned)
    enough = np.flatnonzero(share >= wanted.value - 1e-12)
    best = enough if len(enough) else np.flatnonzero(share == share.max())
    at = int(best[0 if wanted.measure == "recall" else -1])
    return Threshold(
        wanted.label, wanted.measure, wanted.value, float(-values[at]), scale, int(hits[at]), int(positive.sum()),
        int(assigned[at]), bool(len(enough)),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReachedThreshold:
    """A threshold of the final classifier, and what those of each round came to on test documents, in the numbers of `Threshold`."""

    threshold: Threshold
    hits: int
    documents: int
    assigned: int

    def to_dict(self, level: float | None) -> dict[str, Any]:
        """Return the threshold with recall and precision, expected and reached, and their Wilson intervals, as values for JSON."""
        return {
            **self.threshold.to_dict(),
            "expected": _shares(self.threshold, level),
            "test": {"hits": self.hits, "documents": self.documents, "assigned": self.assigned, **_shares(self, level)},
        }


def reached(threshold: Threshold, positive: BoolArray, assigned: BoolArray) -> ReachedThreshold:
    """Return what the decisions for a class came to on test documents.

    Args:
        positive: (n,) documents of the class. assigned: (n,) documents that were taken for it.
    """
    return ReachedThreshold(threshold, int((positive & assigned).sum()), int(positive.sum()), int(assigned.sum()))


def _shares(counts: Threshold | ReachedThreshold, level: float | None) -> dict[str, Any]:
    """Return recall and precision with their intervals; value None where there is nothing to divide by."""
    shares: dict[str, Any] = {}
    for measure, n in (("recall", counts.documents), ("precision", counts.assigned)):
        shares[measure] = {"value": counts.hits / n if n else None}
        bounds = None if level is None else wilson(counts.hits, n, level=level)
        if bounds is not None:
            shares[measure] |= {"low": bounds.low, "high": bounds.high, "level": level}
    return shares


# ------------------------------------------------------------------------------------------------------------------------
# Costs of errors: the decision of least expected cost, and what decisions cost.

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
