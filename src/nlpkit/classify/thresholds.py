"""Thresholds of a decision for or against one class, at a wanted recall or precision, chosen on documents the model has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nlpkit.classify.calibration import Calibrator, against_rest
from nlpkit.classify.decision_options import Measure, Wanted
from nlpkit.classify.model import Link
from nlpkit.metrics.proportion import wilson
from nlpkit.types import BoolArray, FloatArray


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
