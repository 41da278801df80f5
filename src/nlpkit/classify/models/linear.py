"""The protocol of a fitted classifier, and the linear model that most are: a weight per term and class, summed over a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
import numpy.typing as npt
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.errors import InputError, SchemaError
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray

Link: TypeAlias = Literal["softmax", "sigmoid", "margin", "identity"]
Features: TypeAlias = Any  # CsrMatrix (D, V) of float64 or counts, or an array (D, E)
Array: TypeAlias = npt.NDArray[Any]

BLOCK_ROWS = 256  # rows of dense features in a product, never fewer: BLAS adds up otherwise for another number of rows


@runtime_checkable
class Model(Protocol):
    """A fitted classifier: scores, probabilities, and itself as plain values and arrays.

    kind: its name in `fit.KINDS`; n_classes: J; multi_label: a document may have several labels, or none; link: what the scores
    are: "softmax": log-probabilities up to a constant of the document, "sigmoid": log-odds of each label, "margin": neither,
    "identity": one score, the number itself.
    converged: False where the fit stopped at its most iterations.
    """

    @property
    def kind(self) -> str: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def multi_label(self) -> bool: ...
    @property
    def link(self) -> Link: ...
    @property
    def converged(self) -> bool: ...

    def decision(self, X: Features) -> FloatArray:
        """Return scores (D, J): the prediction is the argmax, the lower class on ties; multi-label: where above 0."""
        ...

    def probabilities(self, X: Features) -> FloatArray | None:
        """Return (D, J) in [0, 1], rows summing to 1 unless multi-label; None where the model has none."""
        ...

    def config(self) -> dict[str, Any]:
        """Return plain values that with `arrays` make the model again."""
        ...

    def arrays(self) -> dict[str, Array]:
        """Return 1-D and 2-D arrays; those by feature have the features on their first axis."""
        ...


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Scores x·coef + intercept: the maximum of a sum of weights (lecture).

    coef: (V, J) float64; intercept: (J,) float64.
    presence: x is 1 where a feature is above 0, else 0 (Bernoulli Naive Bayes).
    unit_rows: x is scaled to length 1 first, where it is not 0 (nearest centroid).
    """

    kind: str
    coef: FloatArray
    intercept: FloatArray
    link: Link
    presence: bool = False
    unit_rows: bool = False
    multi_label: bool = False
    converged: bool = True

    @property
    def n_classes(self) -> int:
        """J."""
        return len(self.intercept)

    def decision(self, X: Features) -> FloatArray:
        """Return x·coef + intercept, (D, J) float64.

        Raises:
            InputError: X has another number of features than the model, or values that are not finite.
        """
        features = checked_features(X, len(self.coef))
        with threadpool_limits(1, user_api="blas"):
            scores = product(features, self.coef, presence=self.presence)
        if self.unit_rows:
            scores /= row_lengths(features)[:, None]
        scores += self.intercept
        return scores

    def probabilities(self, X: Features) -> FloatArray | None:
        """Return the softmax of a row's scores, the sigmoid of each score, or None for margins and numbers, (D, J) float64."""
        return by_link(self.decision(X), self.link) if self.link in ("softmax", "sigmoid") else None

    def config(self) -> dict[str, Any]:
        """Return kind, n_features, n_classes, link and the flags."""
        return {
            "kind": self.kind,
            "n_features": len(self.coef),
            "n_classes": self.n_classes,
            "link": self.link,
            "presence": self.presence,
            "unit_rows": self.unit_rows,
            "multi_label": self.multi_label,
            "converged": self.converged,
        }

    def arrays(self) -> dict[str, Array]:
        """Return coef (V, J) and intercept (J,)."""
        return {"coef": self.coef, "intercept": self.intercept}

    @classmethod
    def restored(cls, config: Mapping[str, Any], arrays: Mapping[str, Array]) -> LinearModel:
        """Return the model of `config` and `arrays`. Raises KeyError, SchemaError."""
        coef = np.ascontiguousarray(arrays["coef"], np.float64)
        intercept = np.ascontiguousarray(arrays["intercept"], np.float64)
        link = config["link"]
        if coef.shape != (config["n_features"], config["n_classes"]) or intercept.shape != coef.shape[1:]:
            raise SchemaError(
                f"a model of {config['n_features']} features and {config['n_classes']} classes needs coef and intercept of "
                f"that shape, got {coef.shape} and {intercept.shape}"
            )
        if link not in get_args(Link):
            raise SchemaError(f"no link of scores is called {link!r} (known: {', '.join(get_args(Link))})")
        flags = ("presence", "unit_rows", "multi_label", "converged")
        return cls(config["kind"], coef, intercept, link, *(bool(config[name]) for name in flags))


def two_sided(kind: str, weights: FloatArray, intercept: float, link: Link, *, converged: bool = True) -> LinearModel:
    """Return a model of two classes from the weights (V,) of the second against the first: -w/2 and +w/2.

    The softmax of both is the sigmoid of x·w + intercept.
    """
    sides = np.array([-0.5, 0.5])
    return LinearModel(kind, weights[:, None] * sides, intercept * sides, link, converged=converged)


def by_link(scores: FloatArray, link: Link) -> FloatArray:
    """Return the softmax of each row of scores (D, J) for "softmax", else the sigmoid of each score."""
    return softmax(scores) if link == "softmax" else sigmoid(scores)


def softmax(scores: FloatArray) -> FloatArray:
    """Return exp(s_j) / Σ exp(s_i) of each row of (D, J); no overflow."""
    p: FloatArray = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p


def sigmoid(scores: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-s)); no overflow."""
    small = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1.0, small) / (1.0 + small)


def checked_features(X: Features, n_features: int | None = None) -> Features:
    """Return X as a CSR array or an array (D, V).

    Raises:
        InputError: X has no two axes, other than n_features columns, or values that are not finite.
    """
    features = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    if features.ndim != 2:
        raise InputError(f"features are a matrix of documents and features, got {features.ndim} axes")
    if n_features is not None and features.shape[1] != n_features:
        raise InputError(
            f"the model has {n_features} features and the documents {features.shape[1]}; make them with the same vocabulary or encoder"
        )
    values: Any = features.data if sparse.issparse(features) else features
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError("features must be finite numbers, got NaN or infinity; leave such documents out")
    return features


def present(X: Features) -> Features:
    """Return 1.0 where a feature is above 0, else 0.0, in the shape of X."""
    if not sparse.issparse(X):
        return (X > 0).astype(np.float64)
    rows: CsrMatrix = sparse.csr_array(X)
    return sparse.csr_array(((rows.data > 0).astype(np.float64), rows.indices, rows.indptr), shape=rows.shape)


def row_lengths(X: Features) -> FloatArray:
    """Return the Euclidean length (D,) of each row, 1 where it is 0."""
    if sparse.issparse(X):
        rows = sparse.csr_array(X)
        squares = rows.data.astype(np.float64) ** 2
        sums = np.bincount(np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), squares, rows.shape[0])
    else:
        sums = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    lengths: FloatArray = np.sqrt(sums)
    return np.where(lengths > 0, lengths, 1.0)


def product(X: Features, coef: FloatArray, *, presence: bool = False) -> FloatArray:
    """Return x·coef (D, J) float64, each row of which is the same whatever the other rows are; BLAS is to have one thread."""
    if sparse.issparse(X):
        return np.asarray((present(X) if presence else X) @ coef, np.float64)
    scores, block = np.empty((X.shape[0], coef.shape[1])), np.zeros((BLOCK_ROWS, X.shape[1]))
    for start in range(0, len(X), BLOCK_ROWS):
        rows = X[start : start + BLOCK_ROWS]
        block[: len(rows)] = present(rows) if presence else rows
        scores[start : start + len(rows)] = (block @ coef)[: len(rows)]
    return scores


def labels_that_vary(X: Features, Y: BoolArray, varies: BoolArray) -> tuple[Features, BoolArray]:
    """Return documents and labels to learn from: those labels that vary, or where none does, the first label of one document."""
    return (X, Y[:, varies]) if varies.any() else (X[:1], Y[:1, :1])


def widened(values: Array, varies: BoolArray, fixed: FloatArray | None = None) -> Array:
    """Return weights of the labels that vary as those of all (J, …): 0 for the others, or their fixed scores."""
    wide = np.zeros((len(varies), *values.shape[1:]), np.float32)
    if fixed is not None:
        wide[:] = fixed
    if varies.any():
        wide[varies] = values
    return wide
