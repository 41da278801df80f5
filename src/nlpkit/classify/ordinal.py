"""Classes in an order: one logistic regression for each place between two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nlpkit.classify.logistic import fit_label_logistic
from nlpkit.classify.model import Array, Features, LinearModel, Link
from nlpkit.types import FloatArray, IntArray

LEAST = 1e-12  # probability of a class whose logarithm is taken


@dataclass(frozen=True, slots=True)
class OrdinalModel:
    """Probabilities of J ordered classes by the J - 1 places between them (Frank & Hall 2001, "A simple approach to ordinal
    classification", §2).

        G_k = P(y > k | x) = σ(x·w_k + b_k),  k = 0 … J-2;   P(0) = 1 - G_0,  P(k) = G_{k-1} - G_k,  P(J-1) = G_{J-2}

    The regressions know nothing of each other, so G may rise where it must not; G_k is then lowered to G_{k-1}. above: the
    log-odds of G, a linear model of J - 1 labels.
    """

    above: LinearModel
    kind: ClassVar[str] = "ordinal"
    link: ClassVar[Link] = "softmax"
    multi_label: ClassVar[bool] = False

    @property
    def n_classes(self) -> int:
        """J."""
        return self.above.n_classes + 1

    @property
    def converged(self) -> bool:
        """Whether all regressions converged."""
        return self.above.converged

    @property
    def direction(self) -> FloatArray:
        """How much a unit of each feature (V,) moves a document up: the mean of w_k over k."""
        mean: FloatArray = self.above.coef.mean(axis=1)
        return mean

    def probabilities(self, X: Features) -> FloatArray:
        """Return the probability (D, J) of each class."""
        above = self.above.probabilities(X)
        assert above is not None
        return class_probabilities(above)

    def decision(self, X: Features) -> FloatArray:
        """Return the log-probability (D, J) of each class."""
        return np.log(np.maximum(self.probabilities(X), LEAST))

    def config(self) -> dict[str, Any]:
        """Return kind, n_features, n_classes and converged."""
        whole = {"kind": self.kind, "n_classes": self.n_classes, "multi_label": False, "link": self.link}
        return whole | {"n_features": len(self.above.coef), "converged": self.converged}

    def arrays(self) -> dict[str, Array]:
        """Return coef (V, J-1) and intercept (J-1,)."""
        return self.above.arrays()

    @classmethod
    def restored(cls, config: Mapping[str, Any], arrays: Mapping[str, Array]) -> OrdinalModel:
        """Return the model of `config` and `arrays`. Raises KeyError, SchemaError."""
        flags = {"link": "sigmoid", "presence": False, "unit_rows": False, "multi_label": True}
        return cls(LinearModel.restored({**config, **flags, "n_classes": config["n_classes"] - 1}, arrays))


def fit_ordinal(
    X: Features,
    y: IntArray,
    n_classes: int,
    *,
    C: float = 1.0,
    weights: FloatArray | None = None,
    max_steps: int,
    threads: int = 1,
) -> OrdinalModel:
    """Return the model of ordered classes whose regressions each have all documents, those above k against the others.

    Args:
        X: (D, V) CSR, or (D, E) array. y: (D,) 0 … J-1, the lowest first, each in at least one document. n_classes: J, at least 2.
        C, max_steps: of the regressions (see `logistic.fit_logistic`). weights: (D,) of the documents; None = 1 each.
        threads: at work at a time; bytes do not depend on them.
    """
    above = y[:, None] > np.arange(n_classes - 1)
    of_places = None if weights is None else np.repeat(weights[:, None], n_classes - 1, axis=1)
    return OrdinalModel(fit_label_logistic(X, above, C=C, weights=of_places, max_steps=max_steps, threads=threads))


def class_probabilities(above: FloatArray) -> FloatArray:
    """Return the probabilities (D, J) of ordered classes from G (D, J-1), P(y > k), which is lowered where it rises."""
    falling = np.minimum.accumulate(above, axis=1)
    ends = np.ones((len(above), 1)), np.zeros((len(above), 1))
    p: FloatArray = -np.diff(np.hstack([ends[0], falling, ends[1]]), axis=1)
    return p


def median_class(probabilities: FloatArray) -> IntArray:
    """Return the median class (D,) of each row of (D, J): the first up to which the probability is ½, which errs by the fewest
    classes on average."""
    below = np.cumsum(probabilities, axis=1)[:, :-1] < 0.5 - 1e-12
    return np.asarray(below.sum(axis=1), np.int32)
