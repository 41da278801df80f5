"""The fit of a classifier of any kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from inspect import signature
from pkgutil import resolve_name
from typing import Any

import numpy as np

from nlpkit.classify.kinds import KINDS, ModelOptions
from nlpkit.classify.models.linear import Array, Features, LinearModel, Model, checked_features
from nlpkit.errors import InputError, SchemaError, UsageError
from nlpkit.platform.types import BoolArray, FloatArray, IntArray


def fit_model(
    X: Features, y: IntArray | FloatArray, n_classes: int, options: ModelOptions, *, seed: int = 0, threads: int = 1
) -> Model:
    """Return a classifier that gives each document one of J classes.

    Args:
        X: (D, V) CSR of float64 or counts, or (D, E) array; all kinds take both, but lstm and cnn, which take `WordRows`.
        y: (D,) 0 … J-1, each in at least one document; or soft labels (D, J) float64, of each document the shares of the classes, which
            kinds with `soft` learn: the least cross-entropy with them, or Naive Bayes of documents that count by them.
        n_classes: J, at least 2.
        seed: of svm, mlp, kan, lstm and cnn, the only ones with chance in them.
        threads: at work at a time; the model does not depend on them.

    Raises:
        UsageError: an invalid option, or negative features for nb and complement-nb.
        InputError: a class without a document, fewer than two classes, or features that do not fit.
    """
    ordered = KINDS[options.kind].ordered
    features = X if ordered else checked_features(X)
    target: Any = np.asarray(y)
    soft = target.ndim == 2
    if soft and not KINDS[options.kind].soft:
        raise UsageError(f"{options.kind} learns from one label per document, not from shares", parameter="model")
    if target.shape != ((features.shape[0], n_classes) if soft else (features.shape[0],)):
        raise InputError(f"each document needs a class, got {features.shape[0]} documents and {len(target)} classes")
    if n_classes < 2:
        raise InputError(f"a classifier needs at least two classes to choose from, got {n_classes}")
    if len(target) and not soft and (int(target.min()) < 0 or int(target.max()) >= n_classes):
        raise InputError(
            f"classes of {n_classes} are 0 … {n_classes - 1}, got {int(target.min())} … {int(target.max())}"
        )
    sizes = target.sum(axis=0) if soft else np.bincount(target, minlength=n_classes)
    if not sizes.all():
        empty = ", ".join(map(str, np.flatnonzero(sizes == 0)))
        raise InputError(
            f"every class needs a training document, class {empty} of 0 … {n_classes - 1} has none; leave it out"
        )
    C = options.penalty(len(target), 2 if KINDS[options.kind].task == "ordinal" else n_classes)
    weighed = options.balanced or options.weighs_few(len(target), n_classes)
    weights = balanced_weights(target, n_classes) if weighed else None
    if not KINDS[options.kind].fit:
        raise UsageError(f"{options.kind} gives documents no class", parameter="model")
    keywords = _keywords(options, C=C, weights=weights, seed=seed, threads=threads)
    return _fitted_by(KINDS[options.kind].fit, (features, target, n_classes), keywords)


def _keywords(options: ModelOptions, **learning: Any) -> dict[str, Any]:
    """Return what the functions that fit models can ask for by name."""
    most = {"max_iter": options.max_iter, "max_steps": options.max_iter}
    return {**asdict(options), **most, "balanced": bool(options.balanced), **learning}


def _fitted_by(name: str, data: Sequence[Any], keywords: Mapping[str, Any]) -> Model:
    """Return the model of a function, which gets the keywords that it names."""
    fit = resolve_name(name)
    model: Model = fit(*data, **{key: value for key, value in keywords.items() if key in signature(fit).parameters})
    return model


def fit_multilabel(X: Features, Y: BoolArray, options: ModelOptions, *, seed: int = 0, threads: int = 1) -> Model:
    """Return a classifier that gives each document any number of J labels: those whose score is above 0.

    Each label against the documents without it. A label that all training documents have, or none, has the score
    ±log(2D + 1) (with svm ±1) whatever the document: of knn, which only looks at its neighbours, it comes out all the same.

    Args:
        X: as in `fit_model`. Y: (D, J) bool, D and J at least 1.
        options: of any kind but centroid; priors given are P(label).

    Raises:
        UsageError: as in `fit_model`, or a kind that gives one class only.
        InputError: as in `fit_model`.
    """
    kind, Y = KINDS[options.kind], np.asarray(Y, np.bool_)
    features = X if kind.ordered else checked_features(X)
    if not kind.multi_label:
        raise UsageError(
            f"{options.kind} gives each document one class; for several labels use logreg, svm, nb, knn, mlp, "
            "kan, lstm or cnn",
            parameter="model",
        )
    if Y.ndim != 2 or len(Y) != features.shape[0] or not Y.size:
        raise InputError(
            f"labels are a matrix of documents and labels, got {Y.shape} for {features.shape[0]} documents"
        )
    n = Y.sum(axis=0)
    varies = (n > 0) & (n < len(Y))
    fixed = np.where(n > 0, 1.0, -1.0) * (np.log(2 * len(Y) + 1) if kind.probabilities else 1.0)
    if isinstance(options.priors, tuple):
        if len(options.priors) != Y.shape[1]:
            raise UsageError(
                f"priors of {Y.shape[1]} labels must be as many numbers, got {len(options.priors)}", parameter="priors"
            )
        options = replace(options, priors=tuple(np.asarray(options.priors)[varies].tolist()))
    if not kind.linear:
        if options.balanced:
            raise UsageError(f"{options.kind} does not weight labels; use logreg or svm", parameter="class_weight")
        keywords = _keywords(options, seed=seed, threads=threads)
        return _fitted_by(kind.fit_labels, (features, Y, varies, fixed), keywords)
    coef, intercept, some = np.zeros((features.shape[1], Y.shape[1])), fixed, Y[:, varies]
    if not varies.any():
        link: Any = "sigmoid" if kind.probabilities else "margin"
        return LinearModel(options.kind, coef, intercept, link, options.kind == "bernoulli-nb", multi_label=True)
    weights = balanced_weights(some, some.shape[1]) if options.balanced else None
    keywords = _keywords(options, C=options.penalty(len(Y), 2), weights=weights, seed=seed, threads=threads)
    model = _fitted_by(kind.fit_labels, (features, some), keywords)
    assert isinstance(model, LinearModel)
    coef[:, varies], intercept[varies] = model.coef, model.intercept
    return replace(model, coef=coef, intercept=intercept)


def model_from(config: Mapping[str, Any], arrays: Mapping[str, Array]) -> Model:
    """Return the model whose `config` and `arrays` these are; its scores are equal to the bit.

    Raises:
        SchemaError: a kind that this nlpkit does not know, or arrays or values that are missing or do not fit.
    """
    kind = config.get("kind")
    if kind not in KINDS:
        raise SchemaError(f"no model is of kind {kind!r} (known: {', '.join(KINDS)})")
    try:
        model: Model = resolve_name(KINDS[kind].model).restored(config, arrays)
        return model
    except KeyError as missing:
        raise SchemaError(f"a model of kind {kind} needs {missing}, which is not there; fit it again") from None


def balanced_weights(y: IntArray | BoolArray | FloatArray, n_classes: int) -> FloatArray:
    """Return weights that give classes the same sum: D / (J n_j) (D,) of classes, D / (2 n) (D, J) of labels and their absence.

    Args:
        y: (D,) 0 … J-1; (D, J) float64 shares of classes, which documents weigh by; or (D, J) bool. A label that all documents have,
            or none, weighs 1.
    """
    if y.dtype == np.float64:
        return np.asarray(y @ (len(y) / (n_classes * y.sum(axis=0))))
    if y.ndim == 1:
        return np.asarray((len(y) / (n_classes * np.maximum(np.bincount(y, minlength=n_classes), 1)))[y])
    n = y.sum(axis=0)
    with_label, without = (len(y) / (2.0 * np.maximum(k, 1)) for k in (n, len(y) - n))
    return np.where((n == 0) | (n == len(y)), 1.0, np.where(y, with_label, without))
