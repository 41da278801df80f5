"""Scores of a classifier to probabilities that are as often right as they say, fitted on documents it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from nlpkit.classify.models.linear import Array, Link, by_link, sigmoid
from nlpkit.errors import InputError, SchemaError, UsageError
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray

Method: TypeAlias = Literal["sigmoid", "isotonic", "temperature"]

MOST_STEPS = 100  # of Newton's method
WIDEST = 1e4  # the inverse temperature is sought between 1 / WIDEST and WIDEST, of the typical score


@dataclass(frozen=True, slots=True)
class Calibrator:
    """Maps scores (D, J) to probabilities (D, J).

    method: see `fit_calibrator`. multi_label: each label for itself, rows are not normalised.
    link: "softmax": scores become log-odds of a class against the others first; else they are taken as they are.
    parts: sigmoid: slope (J,), offset (J,); isotonic: score (P,), value (P,), ends (J+1,) int64, the steps of class j being
    ends[j] … ends[j+1]; temperature: inverse (1,), 1/T.
    """

    method: Method
    n_classes: int
    multi_label: bool
    link: Link
    parts: Mapping[str, Array] = field(repr=False)

    def probabilities(self, decision: FloatArray) -> FloatArray:
        """Return probabilities (D, J) float64 of scores (D, J); rows sum to 1 unless multi-label.

        A row whose probabilities are all 0 before they are normalised gets 1/J each, as in scikit-learn.

        Raises:
            InputError: scores are not finite or of another number of classes.
        """
        scores = _checked(decision)
        if scores.shape[1] != self.n_classes:
            raise InputError(f"the calibration is of {self.n_classes} classes, the scores of {scores.shape[1]}")
        if self.method == "temperature":
            return by_link(scores * self.parts["inverse"][0], "sigmoid" if self.multi_label else "softmax")
        scores = against_rest(scores, self.link)
        if self.method == "sigmoid":
            p = sigmoid(scores * self.parts["slope"] + self.parts["offset"])
        else:
            p, ends = np.empty(scores.shape), self.parts["ends"]
            for j in range(self.n_classes):
                steps = slice(int(ends[j]), int(ends[j + 1]))
                p[:, j] = np.interp(scores[:, j], self.parts["score"][steps], self.parts["value"][steps])
        if self.multi_label:
            return p
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / self.n_classes)

    def config(self) -> dict[str, Any]:
        """Return method, n_classes, multi_label and link."""
        return {
            "method": self.method,
            "n_classes": self.n_classes,
            "multi_label": self.multi_label,
            "link": self.link,
        }

    def arrays(self) -> dict[str, Array]:
        """Return the parts."""
        return dict(self.parts)


_PARTS = {"sigmoid": ("slope", "offset"), "isotonic": ("score", "value", "ends"), "temperature": ("inverse",)}


def fit_calibrator(
    method: Method,
    decision: FloatArray,
    y: IntArray | BoolArray,
    *,
    link: Link = "margin",
    weights: FloatArray | None = None,
) -> Calibrator:
    """Return how scores become probabilities, from documents that the classifier was not fitted to.

        sigmoid       1 / (1 + exp(-(a_j s_j + b_j))), each class against the others, with Platt's targets (N₊+1)/(N₊+2) and
                      1/(N₋+2) instead of 1 and 0 (Platt 1999; Newton's method of Lin, Lin & Weng 2007)
        isotonic      the increasing step function with the least squares, each class against the others, linear between
                      the steps (Zadrozny & Elkan 2002); needs some hundred documents of a class
        temperature   softmax(s / T), multi-label sigmoid(s / T), T of the least cross-entropy (Guo et al. 2017); never
                      changes which class is first

    The first two are normalised over the classes. They are those of scikit-learn's CalibratedClassifierCV.

    Args:
        decision: (D, J) scores.
        y: (D,) 0 … J-1, or (D, J) bool of labels, which makes the calibration multi-label.
        link: of the model. "softmax": scores are log-probabilities up to a constant of the document (Naive Bayes: its length),
            which says nothing; sigmoid and isotonic then look at log-odds, s_j - log Σ_{i≠j} exp(s_i).
        weights: (D,) or (D, J) above 0, how much each document counts: those of the classifier, whose balance the calibration would
            undo else. N₊ and N₋ are then sums of weights, as in scikit-learn with sample_weight.

    Raises:
        UsageError: no such method.
        InputError: no documents, scores that are not finite, or as many classes and documents as do not fit.
    """
    if method not in get_args(Method):
        raise UsageError(
            f"unknown calibration {method!r}; use one of {', '.join(get_args(Method))}", parameter="calibrate"
        )
    scores = _checked(decision)
    targets: Array = np.asarray(y)
    multi_label = targets.ndim == 2
    D, J = scores.shape
    if not D or len(targets) != D or (multi_label and targets.shape != scores.shape):
        raise InputError(
            f"calibration needs the class of each document, got scores {scores.shape} and classes {targets.shape}"
        )
    if not multi_label and not bool(((targets >= 0) & (targets < J)).all()):
        raise InputError(f"classes of {J} are 0 … {J - 1}, got {int(targets.min())} … {int(targets.max())}")
    is_class = targets.astype(np.bool_) if multi_label else targets[:, None] == np.arange(J)
    if weights is not None and (weights.shape not in ((D,), (D, J)) or not bool((weights > 0).all())):
        raise InputError(f"weights are numbers above 0 of {D} documents, got shape {weights.shape}")
    each = np.ones(D) if weights is None else np.asarray(weights, np.float64)
    w = np.broadcast_to(each if each.ndim == 2 else each[:, None], (D, J))
    if multi_label and link == "softmax":
        link = "sigmoid"
    if method == "temperature":
        parts: dict[str, Array] = {"inverse": np.array([_inverse_temperature(scores, is_class, w, multi_label)])}
    elif method == "sigmoid":
        against = against_rest(scores, link)
        pairs = np.array([_platt(against[:, j], is_class[:, j], w[:, j]) for j in range(J)])
        parts = {"slope": pairs[:, 0].copy(), "offset": pairs[:, 1].copy()}
    else:
        against = against_rest(scores, link)
        steps = [_isotonic(against[:, j], is_class[:, j], w[:, j]) for j in range(J)]
        ends: LongArray = np.cumsum([0, *(len(score) for score, _ in steps)], dtype=np.int64)
        parts = {
            "score": np.concatenate([score for score, _ in steps]),
            "value": np.concatenate([value for _, value in steps]),
            "ends": ends,
        }
    return Calibrator(method, J, multi_label, link, parts)


def calibrator_from(config: Mapping[str, Any], arrays: Mapping[str, Array]) -> Calibrator:
    """Return the calibrator whose `config` and `arrays` these are; its probabilities are equal to the bit.

    Raises:
        SchemaError: a method that this nlpkit does not know, or parts that are missing.
    """
    try:
        method, link = config["method"], config["link"]
        parts = {name: np.asarray(arrays[name]) for name in _PARTS[method]}
        return Calibrator(method, int(config["n_classes"]), bool(config["multi_label"]), link, parts)
    except KeyError as missing:
        raise SchemaError(f"the calibration lacks {missing}; fit it again") from None


def _checked(decision: FloatArray) -> FloatArray:
    scores = np.asarray(decision, np.float64)
    if scores.ndim != 2 or not np.isfinite(scores).all():
        raise InputError(
            f"scores are finite numbers by document and class, got shape {scores.shape} or NaN or infinity"
        )
    return scores


def against_rest(scores: FloatArray, link: Link) -> FloatArray:
    """Return s_j - log Σ_{i≠j} exp(s_i) for "softmax", else the scores themselves, (D, J)."""
    J = scores.shape[1]
    if link != "softmax" or J < 2:
        return scores
    log_odds = np.empty(scores.shape)
    for j in range(J):
        rest = np.delete(scores, j, axis=1)
        most = rest.max(axis=1)
        log_odds[:, j] = scores[:, j] - most - np.log(np.exp(rest - most[:, None]).sum(axis=1))
    return log_odds


def _platt(scores: FloatArray, positive: BoolArray, weights: FloatArray) -> tuple[float, float]:
    """Return a and b of the sigmoid (Lin, Lin & Weng 2007, Algorithm 1, with s scaled to length 1 for the numbers' sake)."""
    n, rest = float(weights[positive].sum()), float(weights[~positive].sum())
    target = np.where(positive, (n + 1.0) / (n + 2.0), 1.0 / (rest + 2.0))
    size = float(np.abs(scores).max()) or 1.0
    s = scores / size
    a, b = 0.0, float(np.log((n + 1.0) / (rest + 1.0)))

    def loss(a: float, b: float) -> float:
        z = a * s + b
        return float((weights * (np.logaddexp(0.0, z) - target * z)).sum())

    value = loss(a, b)
    for _ in range(MOST_STEPS):
        p = sigmoid(a * s + b)
        off, bend = weights * (p - target), weights * p * (1.0 - p)
        g, h = (off * s).sum(), off.sum()
        if max(abs(g), abs(h)) < 1e-10 * (n + rest):
            break
        aa, ab, bb = (bend * s * s).sum() + 1e-12, (bend * s).sum(), bend.sum() + 1e-12
        det = aa * bb - ab * ab
        da, db = -(bb * g - ab * h) / det, -(aa * h - ab * g) / det
        t = 1.0
        while t > 1e-10:
            new = loss(a + t * da, b + t * db)
            if new < value + 1e-4 * t * (g * da + h * db):
                break
            t /= 2
        else:
            break
        a, b, value = a + t * da, b + t * db, new
    return float(a / size), float(b)


def _isotonic(scores: FloatArray, positive: BoolArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return scores, ascending, and the values there, both ends of each step; equal scores count together."""
    from scipy.optimize import isotonic_regression

    x, place = np.unique(scores, return_inverse=True)
    count = np.bincount(place, weights, len(x))
    mean = np.bincount(place, weights * positive, len(x)) / count
    value = np.asarray(isotonic_regression(mean, weights=count).x, np.float64)
    turns = np.ones(len(x), np.bool_)
    turns[1:-1] = (value[1:-1] != value[:-2]) | (value[1:-1] != value[2:])
    return x[turns], np.clip(value[turns], 0.0, 1.0)


def _inverse_temperature(scores: FloatArray, is_class: BoolArray, weights: FloatArray, multi_label: bool) -> float:
    """Return 1/T where the slope of the cross-entropy, which rises with 1/T, is 0; at the ends of the range if it never is."""
    from scipy.optimize import brentq

    spread = np.abs(scores) if multi_label else scores.max(axis=1, keepdims=True) - scores
    scale = float(spread.mean())
    if scale == 0.0:
        return 1.0

    def slope(log_inverse: float) -> float:
        p = by_link(scores * np.exp(log_inverse), "sigmoid" if multi_label else "softmax")
        return float((weights * (p - is_class) * scores).sum())

    low, high = -np.log(WIDEST * scale), np.log(WIDEST / scale)
    if slope(low) >= 0:
        return float(np.exp(low))
    if slope(high) <= 0:
        return float(np.exp(high))
    return float(np.exp(brentq(slope, low, high, xtol=1e-12, rtol=1e-12)))
