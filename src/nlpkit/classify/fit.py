"""The fit of a classifier of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nlpkit.classify.kinds import KINDS, ModelOptions
from nlpkit.classify.model import Array, Features, LinearModel, Model, checked_features
from nlpkit.classify.naive_bayes import NB_KINDS, fit_label_naive_bayes, fit_naive_bayes
from nlpkit.errors import InputError, SchemaError, UsageError
from nlpkit.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from nlpkit.classify.kan import KanModel
    from nlpkit.classify.mlp import MlpModel
    from nlpkit.classify.word_networks import WordNetworkModel


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
    C = options.penalty(len(target), 2 if options.kind == "ordinal" else n_classes)
    match options.kind:
        case "nb" | "bernoulli-nb" | "complement-nb":
            return fit_naive_bayes(
                features, target, n_classes, kind=options.kind, alpha=options.alpha, priors=options.priors
            )
        case "logreg":
            from nlpkit.classify.logistic import fit_logistic, fit_soft_logistic

            weighed = options.balanced or options.weighs_few(len(target), n_classes)
            weights = balanced_weights(target, n_classes) if weighed else None
            further: Any = {"C": C, "weights": weights, "max_steps": options.max_iter, "threads": threads}
            return (
                fit_soft_logistic(features, target, **further)
                if soft
                else fit_logistic(features, target, n_classes, **further)
            )
        case "svm":
            from nlpkit.classify.svm import fit_svm

            return fit_svm(
                features,
                target,
                n_classes,
                C=C,
                balanced=bool(options.balanced),
                max_iter=options.max_iter,
                seed=seed,
            )
        case "knn":
            from nlpkit.classify.neighbours import fit_neighbours

            labels = target[:, None] == np.arange(n_classes)
            return fit_neighbours(features, labels, k=options.k, vote=options.vote, threads=threads)
        case "ordinal":
            from nlpkit.classify.ordinal import fit_ordinal

            weights = balanced_weights(target, n_classes) if options.balanced else None
            return fit_ordinal(
                features, target, n_classes, C=C, weights=weights, max_steps=options.max_iter, threads=threads
            )
        case "centroid":
            from nlpkit.classify.neighbours import fit_centroids

            return fit_centroids(features, target, n_classes)
        case "mlp":
            from nlpkit.classify.mlp import fit_mlp

            return fit_mlp(
                features,
                target,
                n_classes,
                hidden=options.hidden,
                epochs=options.epochs,
                balanced=bool(options.balanced),
                seed=seed,
            )
        case "kan":
            from nlpkit.classify.kan import fit_kan

            weights = balanced_weights(target, n_classes) if options.balanced else None
            return fit_kan(features, target, n_classes, hidden=options.hidden, weights=weights, seed=seed)
        case "lstm" | "cnn":
            from nlpkit.classify.word_networks import fit_word_network

            weights = balanced_weights(target, n_classes) if options.balanced else None
            return fit_word_network(
                features, target, n_classes, kind=options.kind, hidden=options.hidden, weights=weights, seed=seed
            )
        case _:
            raise UsageError(f"{options.kind} gives documents no class", parameter="model")


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
    features, Y = X if KINDS[options.kind].ordered else checked_features(X), np.asarray(Y, np.bool_)
    if not KINDS[options.kind].multi_label:
        raise UsageError(
            f"{options.kind} gives each document one class; for several labels use logreg, svm, nb, knn, mlp, "
            "kan, lstm or cnn",
            parameter="model",
        )
    if Y.ndim != 2 or len(Y) != features.shape[0] or not Y.size:
        raise InputError(
            f"labels are a matrix of documents and labels, got {Y.shape} for {features.shape[0]} documents"
        )
    if options.kind == "knn":
        from nlpkit.classify.neighbours import fit_neighbours

        return fit_neighbours(features, Y, k=options.k, vote=options.vote, multi_label=True, threads=threads)
    n = Y.sum(axis=0)
    varies = (n > 0) & (n < len(Y))
    fixed = np.where(n > 0, 1.0, -1.0) * (1.0 if options.kind == "svm" else np.log(2 * len(Y) + 1))
    if isinstance(options.priors, tuple):
        if len(options.priors) != Y.shape[1]:
            raise UsageError(
                f"priors of {Y.shape[1]} labels must be as many numbers, got {len(options.priors)}", parameter="priors"
            )
        options = replace(options, priors=tuple(np.asarray(options.priors)[varies].tolist()))
    if options.kind == "mlp":
        return _mlp(features, Y, varies, fixed, options, seed)
    if options.kind == "kan":
        return _kan(features, Y, varies, fixed, options, seed)
    if KINDS[options.kind].ordered:
        return _word_network(features, Y, varies, fixed, options, seed)
    coef, intercept = np.zeros((features.shape[1], Y.shape[1])), fixed
    model = _linear_labels(features, Y[:, varies], options, seed=seed, threads=threads) if varies.any() else None
    if model is None:
        link: Any = "margin" if options.kind == "svm" else "sigmoid"
        return LinearModel(options.kind, coef, intercept, link, options.kind == "bernoulli-nb", multi_label=True)
    coef[:, varies], intercept[varies] = model.coef, model.intercept
    return replace(model, coef=coef, intercept=intercept)


def _linear_labels(X: Features, Y: BoolArray, options: ModelOptions, *, seed: int, threads: int) -> LinearModel:
    """Return a linear model of labels (D, J), each of which some and not all documents have."""
    if options.kind in NB_KINDS:
        return fit_label_naive_bayes(X, Y, kind=options.kind, alpha=options.alpha, priors=options.priors)
    C = options.penalty(len(Y), 2)
    if options.kind == "svm":
        from nlpkit.classify.svm import fit_label_svm

        return fit_label_svm(X, Y, C=C, balanced=bool(options.balanced), max_iter=options.max_iter, seed=seed)
    from nlpkit.classify.logistic import fit_label_logistic

    weights = balanced_weights(Y, Y.shape[1]) if options.balanced else None
    return fit_label_logistic(X, Y, C=C, weights=weights, max_steps=options.max_iter, threads=threads)


def model_from(config: Mapping[str, Any], arrays: Mapping[str, Array]) -> Model:
    """Return the model whose `config` and `arrays` these are; its scores are equal to the bit.

    Raises:
        SchemaError: a kind that this nlpkit does not know, or arrays or values that are missing or do not fit.
    """
    kind = config.get("kind")
    if kind not in KINDS:
        raise SchemaError(f"no model is of kind {kind!r} (known: {', '.join(KINDS)})")
    try:
        if kind == "knn":
            from nlpkit.classify.neighbours import NeighboursModel

            return NeighboursModel.restored(config, arrays)
        if kind == "ordinal":
            from nlpkit.classify.ordinal import OrdinalModel

            return OrdinalModel.restored(config, arrays)
        if kind == "rules":
            from nlpkit.classify.rule_list import RuleModel

            return RuleModel.restored(config)
        if kind == "mlp":
            from nlpkit.classify.mlp import MlpModel

            return MlpModel.restored(config, arrays)
        if kind == "kan":
            from nlpkit.classify.kan import KanModel

            return KanModel.restored(config, arrays)
        if KINDS[kind].ordered:
            from nlpkit.classify.word_networks import WordNetworkModel

            return WordNetworkModel.restored(config, arrays)
        return LinearModel.restored(config, arrays)
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


def _mlp(X: Features, Y: BoolArray, varies: BoolArray, fixed: FloatArray, options: ModelOptions, seed: int) -> MlpModel:
    from nlpkit.classify.mlp import MlpModel, fit_label_mlp

    rows, some = _that_vary(X, Y, varies, options)
    if not varies.any():
        return MlpModel(np.zeros((X.shape[1], 1)), np.zeros(1), np.zeros((1, Y.shape[1])), fixed, multi_label=True)
    model = fit_label_mlp(rows, some, hidden=options.hidden, epochs=options.epochs, seed=seed)
    output, bias = np.zeros((model.output.shape[0], Y.shape[1])), fixed
    output[:, varies], bias[varies] = model.output, model.output_bias
    return replace(model, output=output, output_bias=bias)


def _kan(X: Features, Y: BoolArray, varies: BoolArray, fixed: FloatArray, options: ModelOptions, seed: int) -> KanModel:
    from nlpkit.classify.kan import fit_kan

    rows, some = _that_vary(X, Y, varies, options)
    model = fit_kan(rows, some, some.shape[1], hidden=options.hidden, seed=seed)
    base, spline = (_widened(values, varies) for values in (model.base_2, model.spline_2))
    return replace(model, base_2=base, spline_2=spline, bias=_widened(model.bias, varies, fixed))


def _word_network(
    X: Features, Y: BoolArray, varies: BoolArray, fixed: FloatArray, options: ModelOptions, seed: int
) -> WordNetworkModel:
    from nlpkit.classify.word_networks import fit_word_network

    rows, some = _that_vary(X, Y, varies, options)
    model = fit_word_network(rows, some, some.shape[1], kind=options.kind, hidden=options.hidden, seed=seed)
    weight, bias = model.parameters["out.weight"], model.parameters["out.bias"]
    wide = {"out.weight": _widened(weight, varies), "out.bias": _widened(bias, varies, fixed)}
    return replace(model, n_classes=Y.shape[1], parameters={**model.parameters, **wide})


def _that_vary(X: Features, Y: BoolArray, varies: BoolArray, options: ModelOptions) -> tuple[Features, BoolArray]:
    """Return documents and labels to learn from: those labels that vary, or where none does, the first label of one document."""
    if options.balanced:
        raise UsageError(f"{options.kind} does not weight labels; use logreg or svm", parameter="class_weight")
    return (X, Y[:, varies]) if varies.any() else (X[:1], Y[:1, :1])


def _widened(values: Array, varies: BoolArray, fixed: FloatArray | None = None) -> Array:
    """Return weights of the labels that vary as those of all (J, …): 0 for the others, or their fixed scores."""
    wide = np.zeros((len(varies), *values.shape[1:]), np.float32)
    if fixed is not None:
        wide[:] = fixed
    if varies.any():
        wide[varies] = values
    return wide
