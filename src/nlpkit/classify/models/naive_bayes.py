"""Naive Bayes: the probability of a document's words in each class, as weights of a linear model (lecture)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from nlpkit.classify.models.linear import Features, LinearModel, checked_features, present
from nlpkit.errors import UsageError
from nlpkit.platform.types import BoolArray, FloatArray, IntArray

ClassPriors: TypeAlias = Literal["empirical", "uniform"] | tuple[float, ...]


def fit_naive_bayes(
    X: Features,
    y: IntArray | FloatArray,
    n_classes: int,
    *,
    kind: str,
    alpha: float = 1.0,
    priors: ClassPriors = "empirical",
) -> LinearModel:
    """Return Naive Bayes as a linear model; its scores are the joint log-likelihoods of document and class.

        nb              P(w|c) = (tf_{w|c} + α) / (αV + Σ_w tf_{w|c}),   log P(c) + Σ_w tf_w log P(w|c)   (lecture)
        bernoulli-nb    p_{w|c} = (n_{w,c} + α) / (n_c + 2α), n_{w,c} the documents of c with w;
                        log P(c) + Σ_{w present} log p + Σ_{w absent} log(1 - p)   (McCallum & Nigam 1998)
        complement-nb   -Σ_w tf_w log P(w|not c), without a prior   (Rennie et al. 2003, §3.1, no weight normalisation)

    With tf-idf weights in the place of counts the sums are over weights. P(c) is n_c / D, 1/J, or given. Equal to
    scikit-learn's MultinomialNB, BernoulliNB(binarize=0) and ComplementNB(norm=False); the softmax of complement-nb is what
    scikit-learn's predict_proba gives too, and no probability. scikit-learn lets α be 0 and then gives infinite scores.

    Args:
        X: (D, V) CSR or array, not negative (bernoulli-nb: any, features above 0 are present).
        y: (D,) 0 … J-1, each of them in at least one document; or (D, J) shares of the classes in each document, which then counts so
            much for each class.
        n_classes: J.
        alpha: α above 0: with 0 a word that a class does not have would rule it out, log 0 (lecture).
        priors: P(c) by class, above 0 and summing to 1, or how it is found.

    Raises:
        UsageError: features are negative, α is not above 0, or the priors do not fit.
    """
    features = _checked(X, kind, alpha)
    members = _members(y, n_classes)
    sizes = np.asarray(members.sum(axis=1), np.float64)
    sums = _sums(members, features)  # (J, V): tf_{w|c}, or n_{w,c}
    if kind == "complement-nb":
        if priors != "empirical":
            raise UsageError("complement-nb has no class priors; use nb or bernoulli-nb with them, or leave them out")
        coef = -_log_share(sums.sum(axis=0) - sums, alpha)
        return LinearModel(kind, _by_feature(coef), np.zeros(n_classes), "softmax")
    prior = np.log(_prior(priors, sizes))
    if kind == "bernoulli-nb":
        present_, absent = _log_presence(sums, sizes[:, None], alpha)
        return LinearModel(kind, _by_feature(present_ - absent), prior + absent.sum(axis=1), "softmax", presence=True)
    return LinearModel(kind, _by_feature(_log_share(sums, alpha)), prior, "softmax")


def fit_label_naive_bayes(
    X: Features, Y: BoolArray, *, kind: str, alpha: float = 1.0, priors: ClassPriors = "empirical"
) -> LinearModel:
    """Return Naive Bayes of each label against the documents without it; scores (D, J) are log-odds.

    All labels at once, each equal to `fit_naive_bayes` of two classes: the score of the second less that of the first. A
    complement-nb of two classes is nb without priors. Every label must be on some, not all documents.

    Args:
        X: as in `fit_naive_bayes`. Y: (D, J) bool.
        priors: given: P(label), each above 0 and below 1.

    Raises:
        UsageError: as in `fit_naive_bayes`.
    """
    features = _checked(X, kind, alpha)
    D = len(Y)
    n = Y.sum(axis=0).astype(np.float64)
    sums = _sums(sparse.csr_array(Y.T.astype(np.float64)), features)
    rest = np.maximum(_sums(sparse.csr_array(np.ones((1, D))), features) - sums, 0.0)
    if kind == "complement-nb" and priors != "empirical":
        raise UsageError(
            "complement-nb has no class priors; use nb or bernoulli-nb with them, or leave them out",
            parameter="priors",
        )
    if kind == "complement-nb" or priors == "uniform":
        odds = np.zeros(len(n))
    elif priors == "empirical":
        odds = np.log(n) - np.log(D - n)
    else:
        label_shares = np.asarray(priors, np.float64)
        if label_shares.shape != n.shape or not ((label_shares > 0) & (label_shares < 1)).all():
            raise UsageError(f"priors of {len(n)} labels must be as many numbers above 0 and below 1, got {priors}")
        odds = np.log(label_shares) - np.log1p(-label_shares)
    if kind == "bernoulli-nb":
        present_, absent = _log_presence(sums, n[:, None], alpha)
        other_present, other_absent = _log_presence(rest, (D - n)[:, None], alpha)
        coef = (present_ - absent) - (other_present - other_absent)
        intercept = odds + (absent - other_absent).sum(axis=1)
        return LinearModel(kind, _by_feature(coef), intercept, "sigmoid", presence=True, multi_label=True)
    coef = _log_share(sums, alpha) - _log_share(rest, alpha)
    return LinearModel(kind, _by_feature(coef), odds, "sigmoid", multi_label=True)


def _checked(X: Features, kind: str, alpha: float) -> Features:
    if not 0 < alpha < float("inf"):
        raise UsageError(
            f"alpha of Naive Bayes must be above 0, got {alpha:g}: the probability of a word that a class does not have would be 0",
            parameter="alpha",
        )
    features = checked_features(X)
    if kind == "bernoulli-nb":
        return present(features)
    values = features.data if sparse.issparse(features) else features
    if values.size and values.min() < 0:
        raise UsageError(
            f"{kind} needs features that are not negative, such as counts or tf-idf; use logreg, svm or knn",
            parameter="model",
        )
    return features


def _members(y: IntArray | FloatArray, n_classes: int) -> sparse.csr_array:
    """Return how much of each document (D) a class (J) has, (J, D)."""
    if y.ndim == 2:
        return sparse.csr_array(y.T)
    return sparse.csr_array((np.ones(len(y)), (y, np.arange(len(y)))), shape=(n_classes, len(y)))


def _sums(members: sparse.csr_array, X: Features) -> FloatArray:
    """Return the sums (J, V) of the rows of X (D, V) over the members (J, D) of each class."""
    if sparse.issparse(X):
        return np.asarray((members @ sparse.csr_array(X, dtype=np.float64)).toarray(), np.float64)
    return np.asarray(members @ X.astype(np.float64), np.float64)


def _log_share(sums: FloatArray, alpha: float) -> FloatArray:
    """Return log((s + α) / Σ_w (s + α)) of each row of sums (J, V)."""
    smooth = sums + alpha
    return np.asarray(np.log(smooth) - np.log(smooth.sum(axis=1, keepdims=True)))


def _log_presence(documents: FloatArray, sizes: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Return log p and log(1 - p), (J, V) each, of documents (J, V) with a word among sizes (J, 1)."""
    total = np.log(sizes + 2 * alpha)
    return np.log(documents + alpha) - total, np.log(sizes - documents + alpha) - total


def _by_feature(weights: FloatArray) -> FloatArray:
    return np.ascontiguousarray(weights.T)


def _prior(priors: ClassPriors, sizes: FloatArray) -> FloatArray:
    """Return P(c), (J,)."""
    J = len(sizes)
    if priors == "empirical":
        return np.asarray(sizes / sizes.sum())
    if priors == "uniform":
        return np.full(J, 1.0 / J)
    shares = np.asarray(priors, np.float64)
    if shares.shape != (J,) or not (shares > 0).all() or abs(shares.sum() - 1) > 1e-6:
        raise UsageError(
            f"priors of {J} classes must be as many numbers above 0 that sum to 1, got {priors}", parameter="priors"
        )
    return shares
