"""The label of a document as a regression on the shares of its topics: a number, or one of several classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from nlpkit.classify.models.logistic import fit_logistic
from nlpkit.errors import InputError
from nlpkit.platform.types import BoolArray, FloatArray, LongArray


@dataclass(frozen=True, slots=True)
class Response:
    """The labels of D documents. y (D,): numbers, or numbers of the classes, NaN for no label; names: of the classes, () for numbers."""

    y: FloatArray
    names: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Real, binary or classes."""
        return "real" if not self.names else "binary" if len(self.names) == 2 else "classes"

    @property
    def known(self) -> BoolArray:
        """Whether a document has a label (D,)."""
        return np.isfinite(self.y)

    def take(self, documents: LongArray) -> Response:
        """Return the labels of some documents, without the classes that none of them has."""
        return Response(self.y[documents], self.names).among(np.ones(len(documents), bool))

    def among(self, usable: BoolArray) -> Response:
        """Return the labels of documents (D,), those that are not usable without theirs, without classes that no document has."""
        y = np.where(usable, self.y, np.nan)
        if not self.names:
            return Response(y)
        there, codes = np.unique(y[np.isfinite(y)], return_inverse=True)
        y[np.isfinite(y)] = codes
        return Response(y, tuple(self.names[int(c)] for c in there))

    def check(self) -> None:
        """Raise InputError for labels that are all alike, or none."""
        values = np.unique(self.y[self.known])
        if len(values) >= 2:
            return
        label = self.names[0] if len(self.names) == 1 else f"{values[0]:g}" if len(values) else ""
        what = f"all documents with a label have '{label}'" if len(values) else "no document with words has a label"
        raise InputError(
            f"{what}, and two different labels are needed; name another `label_col`", parameter="label_col"
        )


@dataclass(frozen=True, slots=True)
class Regression:
    """A label given z̄, the shares of the topics among the tokens of a document.

    A number is Normal(b_0 + Σ_k b_k z̄_k, variance): coef (K, 1), intercept (1,). Classes have p(c) ∝ exp(b_0c + Σ_k b_kc z̄_k): coef
    (K, C), intercept (C,); variance is then 1 and means nothing.
    """

    coef: FloatArray
    intercept: FloatArray
    variance: float = 1.0

    def predict(self, shares: FloatArray) -> FloatArray:
        """Return the expected number (D, 1), or the probability of each class (D, C), of documents with z̄ = shares (D, K)."""
        # sums in a fixed order, whatever the number of documents: a product of matrices has one that depends on it
        scores = self.intercept + np.einsum("dk,kc->dc", shares, self.coef)
        return scores if scores.shape[1] == 1 else np.asarray(scipy.special.softmax(scores, axis=1))


def start(n_topics: int, response: Response) -> Regression:
    """Return the regression before there are topics: no topic says anything."""
    C = max(len(response.names), 1)
    known = response.y[response.known]
    mean = np.array([known.mean()]) if C == 1 else np.zeros(C)
    return Regression(np.zeros((n_topics, C)), mean, float(known.var()) if C == 1 else 1.0)


def regress(shares: FloatArray, y: FloatArray, n_classes: int, *, coef_variance: float, variance: float) -> Regression:
    """Fit the label to the shares of topics, coefficients with the prior Normal(0, τ²), the intercept with none.

        numbers   least Σ_d (y_d − b_0 − Σ_k b_k z̄_dk)² / σ² + Σ_k b_k² / (τ² s²), then σ² = Σ_d residual² / D
        classes   least Σ_d −log p(y_d | z̄_d) + Σ_kc b_kc² / (2 τ²)  (`fit_logistic` with C = τ²)

    Args:
        shares: z̄ (D, K). y: (D,) numbers, whose standard deviation is s, or numbers of classes.
        n_classes: C, 0 for numbers. coef_variance: τ². variance: σ² of the regression before this one; numbers only.
    """
    if n_classes:
        linear = fit_logistic(shares, y.astype(np.int32), n_classes, C=coef_variance)
        return Regression(linear.coef, linear.intercept)
    scale = float(y.var())
    with threadpool_limits(1, user_api="blas"):
        centre = shares.mean(axis=0)
        X, residual = shares - centre, y - y.mean()
        penalty = variance / (coef_variance * scale)
        coef = np.linalg.solve(X.T @ X + penalty * np.eye(X.shape[1]), X.T @ residual)
        errors = residual - X @ coef
    floor = 1e-6 * scale  # labels that follow from the topics without an error
    return Regression(coef[:, None], np.array([y.mean() - centre @ coef]), max(float(np.mean(errors**2)), floor))


def quality(regression: Regression, shares: FloatArray, y: FloatArray) -> float:
    """Return R² of numbers, the share of right classes otherwise, of documents with z̄ = shares and known labels y."""
    predicted = regression.predict(shares)
    if predicted.shape[1] > 1:
        return float(np.mean(predicted.argmax(axis=1) == y))
    return 1.0 - float(np.mean((y - predicted[:, 0]) ** 2) / y.var())
