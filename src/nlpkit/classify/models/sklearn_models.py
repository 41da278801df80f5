"""The classifiers that scikit-learn fits, kept as weights: linear support vector machines and a small neural network.

Parts, in this order:
- Linear support vector machines, fitted by scikit-learn's LIBLINEAR and kept as weights.
- A small neural network, one hidden layer of rectified units, fitted by scikit-learn and kept as its weights.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.classify.models.linear import (
    Array,
    Features,
    LinearModel,
    Link,
    by_link,
    checked_features,
    product,
    two_sided,
)
from nlpkit.errors import MissingError, SchemaError
from nlpkit.platform.types import BoolArray, FloatArray, IntArray


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


# ------------------------------------------------------------------------------------------------------------------------
# A small neural network, one hidden layer of rectified units, fitted by scikit-learn and kept as its weights.

HELD_OUT = 0.1  # share of the documents that tell when to stop
STOP_EARLY_FROM = 2000  # documents; of fewer, a tenth would tell too little
FEW_EPOCHS, FEW_DECAY = 60, 0.01  # for fewer: epochs at most, and the penalty of large weights, else 0.0001
UPDATES = 50  # of the weights in an epoch, at least, where that leaves batches of SMALLEST; batches have at most LARGEST documents
SMALLEST, LARGEST = 16, 200


@dataclass(frozen=True, slots=True)
class MlpModel:
    """Scores max(0, x·W + a)·U + b, whose softmax, or sigmoid of each if multi-label, are probabilities.

    hidden: W (V, H); hidden_bias: a (H,); output: U (H, J); output_bias: b (J,); all float64.
    """

    hidden: FloatArray
    hidden_bias: FloatArray
    output: FloatArray
    output_bias: FloatArray
    multi_label: bool = False
    converged: bool = True

    kind: ClassVar[str] = "mlp"

    @property
    def n_classes(self) -> int:
        """J."""
        return len(self.output_bias)

    @property
    def link(self) -> Link:
        """Function that turns scores into probabilities."""
        return "sigmoid" if self.multi_label else "softmax"

    def decision(self, X: Features) -> FloatArray:
        """Return the scores (D, J) float64.

        Raises:
            InputError: X has another number of features than the model, or values that are not finite.
        """
        features = checked_features(X, len(self.hidden))
        with threadpool_limits(1, user_api="blas"):
            units = product(features, self.hidden)
            units += self.hidden_bias
            scores = product(np.maximum(units, 0.0, out=units), self.output)
        scores += self.output_bias
        return scores

    def probabilities(self, X: Features) -> FloatArray:
        """Return the softmax of a row's scores, or the sigmoid of each if multi-label, (D, J) float64."""
        return by_link(self.decision(X), self.link)

    def config(self) -> dict[str, Any]:
        """Return kind, sizes and flags."""
        return {
            "kind": self.kind,
            "n_features": len(self.hidden),
            "n_classes": self.n_classes,
            "hidden": len(self.hidden_bias),
            "multi_label": self.multi_label,
            "converged": self.converged,
        }

    def arrays(self) -> dict[str, Array]:
        """Return hidden (V, H), hidden_bias (H,), output (H, J), output_bias (J,)."""
        return {
            "hidden": self.hidden,
            "hidden_bias": self.hidden_bias,
            "output": self.output,
            "output_bias": self.output_bias,
        }

    @classmethod
    def restored(cls, config: Mapping[str, Any], arrays: Mapping[str, Array]) -> MlpModel:
        """Return the model of `config` and `arrays`. Raises KeyError, SchemaError."""
        names = ("hidden", "hidden_bias", "output", "output_bias")
        parts = [np.ascontiguousarray(arrays[name], np.float64) for name in names]
        V, H, J = config["n_features"], config["hidden"], config["n_classes"]
        if [part.shape for part in parts] != [(V, H), (H,), (H, J), (J,)]:
            raise SchemaError(f"the weights of an mlp model do not fit {V} features, {H} hidden units and {J} classes")
        W, a, U, b = parts
        return cls(W, a, U, b, bool(config["multi_label"]), bool(config["converged"]))


def fit_mlp(
    X: Features, y: IntArray, n_classes: int, *, hidden: int, epochs: int, balanced: bool = False, seed: int
) -> MlpModel:
    """Return a network of one hidden layer that gives one of J classes: the least cross-entropy found by Adam.

    scikit-learn's MLPClassifier with its defaults but for batches of D / 50 documents, 16 to 200 (its 200 would leave few
    documents few updates), fitted by one thread, so that bytes do not depend on how many there are. From 2000 documents
    on it stops early: a tenth of them, classes in their shares, is held out, and when accuracy on these has not
    risen for 10 epochs the best weights stay. With fewer, or where a class is too small to be held out, there are 60 epochs at
    most, and large weights cost a hundred times as much.

    Args:
        X: (D, V) CSR or (D, E) array. y: (D,) 0 … J-1, each in at least one document.
        hidden: H units. epochs: at most.
        balanced: documents weigh D / (J n_j).
        seed: of the first weights, the order of the documents and which are held out.

    Raises:
        MissingError: balanced, and scikit-learn is older than 1.7.
    """
    sizes = np.bincount(y, minlength=n_classes)
    early = len(y) >= max(STOP_EARLY_FROM, 2 * n_classes / HELD_OUT) and int(sizes.min()) >= 2
    weights = (len(y) / (n_classes * sizes))[y] if balanced else None
    fitted, converged = _mlp_fit(X, y, weights, early=early, hidden=hidden, epochs=epochs, seed=seed)
    first, second = (np.asarray(w, np.float64) for w in fitted.coefs_)
    a, b = (np.asarray(w, np.float64) for w in fitted.intercepts_)
    if n_classes == 2:  # one score, of the second class against the first
        sides = np.array([-0.5, 0.5])
        second, b = second * sides, b * sides
    return MlpModel(first, a, np.ascontiguousarray(second), b, converged=converged)


def fit_labels_mlp(
    X: Features, Y: BoolArray, varies: BoolArray, fixed: FloatArray, *, hidden: int, epochs: int, seed: int
) -> MlpModel:
    """Return a network of labels Y (D, J); a label that does not vary has its fixed score whatever the document."""
    if not varies.any():
        return MlpModel(np.zeros((X.shape[1], 1)), np.zeros(1), np.zeros((1, Y.shape[1])), fixed, multi_label=True)
    model = fit_label_mlp(X, Y[:, varies], hidden=hidden, epochs=epochs, seed=seed)
    output, bias = np.zeros((model.output.shape[0], Y.shape[1])), fixed
    output[:, varies], bias[varies] = model.output, model.output_bias
    return replace(model, output=output, output_bias=bias)


def fit_label_mlp(X: Features, Y: BoolArray, *, hidden: int, epochs: int, seed: int) -> MlpModel:
    """Return a network of one hidden layer that gives the log-odds of J labels: the least sum of their cross-entropies.

    As `fit_mlp`; accuracy on the documents held out is that of their whole sets of labels.

    Args:
        Y: (D, J) bool, every label on some, not all documents.
    """
    early = len(Y) >= STOP_EARLY_FROM
    target = Y.astype(np.int32) if Y.shape[1] > 1 else Y[:, 0].astype(np.int32)
    if Y.shape[1] == 1:
        early = early and int(np.bincount(target).min()) >= 2
    fitted, converged = _mlp_fit(X, target, None, early=early, hidden=hidden, epochs=epochs, seed=seed)
    parts = [np.asarray(w, np.float64) for w in (*fitted.coefs_, *fitted.intercepts_)]
    return MlpModel(parts[0], parts[2], parts[1], parts[3], multi_label=True, converged=converged)


def batch_size(D: int) -> int:
    """Return how many of D documents are looked at before the weights change."""
    return min(max(D // UPDATES, SMALLEST), LARGEST, int(D * (1 - HELD_OUT)) or 1)


def _mlp_fit(
    X: Features, target: IntArray, weights: FloatArray | None, *, early: bool, hidden: int, epochs: int, seed: int
) -> tuple[Any, bool]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    if weights is not None and "sample_weight" not in inspect.signature(MLPClassifier.fit).parameters:
        raise MissingError("balanced weights of mlp need scikit-learn 1.7; run: pip install 'scikit-learn>=1.7'")
    features = checked_features(X)
    rows = sparse.csr_matrix(features, dtype=np.float64) if sparse.issparse(features) else features
    network = MLPClassifier(
        (hidden,),
        batch_size=batch_size(features.shape[0]),
        early_stopping=early,
        validation_fraction=HELD_OUT,
        max_iter=epochs if early else min(epochs, FEW_EPOCHS),
        alpha=0.0001 if early else FEW_DECAY,
        random_state=seed % 2**32,
    )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the model says it
        network.fit(rows, target, **({} if weights is None else {"sample_weight": weights}))
    return network, not early or int(network.n_iter_) < epochs
