"""Linear support vector machines, fitted by scikit-learn's LIBLINEAR and kept as weights."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from nlpkit.classify.model import Features, LinearModel, checked_features, two_sided
from nlpkit.types import BoolArray, FloatArray, IntArray


def fit_svm(
    X: Features, y: IntArray, n_classes: int, *, C: float = 1.0, balanced: bool = False, max_iter: int = 1000, seed: int
) -> LinearModel:
    """Return the linear SVM of each class against the others, as a linear model of margins (lecture).

        min_w,b  ½ (|w|² + b²) + C Σ_d s_d max(0, 1 - t_d (x_d·w + b))²,   t_d = ±1

    scikit-learn's LinearSVC with its defaults (squared hinge; LIBLINEAR, Fan et al. 2008, penalises b too). Two classes are
    one problem, kept as -w/2 and +w/2. A margin is no probability: see `calibration`.

    Args:
        X: (D, V) CSR, or (D, E) array. y: (D,) 0 … J-1, each in at least one document. n_classes: J, at least 2.
        balanced: s_d is D / (J n_j), else 1.
        max_iter: of LIBLINEAR; the model says whether it converged.
        seed: of the order in which LIBLINEAR takes the documents.
    """
    fitted, converged = _fit(_as_liblinear(X), y, C=C, balanced=balanced, max_iter=max_iter, seed=seed)
    weights, intercept = np.asarray(fitted.coef_, np.float64), np.asarray(fitted.intercept_, np.float64)
    if n_classes == 2:
        return two_sided("svm", weights[0], float(intercept[0]), "margin", converged=converged)
    return LinearModel("svm", np.ascontiguousarray(weights.T), intercept, "margin", converged=converged)


def fit_label_svm(
    X: Features, Y: BoolArray, *, C: float = 1.0, balanced: bool = False, max_iter: int = 1000, seed: int
) -> LinearModel:
    """Return the SVM of each label against the documents without it; the label is given where its margin is above 0.

    Args:
        X: as in `fit_svm`. Y: (D, J) bool, every label on some, not all documents.
    """
    features = _as_liblinear(X)
    coef: FloatArray = np.empty((features.shape[1], Y.shape[1]))
    intercept: FloatArray = np.empty(Y.shape[1])
    converged = True
    for j in range(Y.shape[1]):  # LIBLINEAR has one generator for the whole process: no two at a time
        fitted, ended = _fit(features, Y[:, j].astype(np.int32), C=C, balanced=balanced, max_iter=max_iter, seed=seed)
        coef[:, j], intercept[j] = fitted.coef_[0], fitted.intercept_[0]
        converged &= ended
    return LinearModel("svm", coef, intercept, "margin", multi_label=True, converged=converged)


def _as_liblinear(X: Features) -> Features:
    features = checked_features(X)
    return sparse.csr_matrix(features, dtype=np.float64) if sparse.issparse(features) else features.astype(np.float64)


def _fit(X: Features, y: IntArray, *, C: float, balanced: bool, max_iter: int, seed: int) -> tuple[Any, bool]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    machine = LinearSVC(
        C=C, class_weight="balanced" if balanced else None, max_iter=max_iter, random_state=seed % 2**32, dual="auto"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the model says it
        machine.fit(X, y)
    return machine, int(np.max(machine.n_iter_)) < max_iter
