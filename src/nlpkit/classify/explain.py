"""Why a classifier decides as it does: the words that tell its classes apart, and those that pushed one decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nlpkit.classify.classifier import Classifier
from nlpkit.classify.model import LinearModel
from nlpkit.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Push:
    """What speaks for a class (above 0) and against it: features by name, strongest first, with their contributions."""

    names: tuple[str, ...]
    values: tuple[float, ...]


def has_weights(classifier: Classifier) -> bool:
    """Whether the model gives each word a weight for each class."""
    return isinstance(classifier.model, LinearModel) and bool(classifier.features.names)


def pushes(classifier: Classifier, place: int) -> FloatArray:
    """Return how much a unit of each feature (F,) speaks for a class rather than for the mean of the others.

        w_v = coef_vc - Σ_{c' ≠ c} coef_vc' / (J - 1);   of several labels, coef_vc itself

    Of Naive Bayes it is the log-ratio of P(v | c) and the geometric mean of the others; of two classes in logistic regression
    the coefficient.

    Args:
        place: of the class among those the classifier was trained on (`Classifier.present`).
    """
    model = classifier.model
    assert isinstance(model, LinearModel)
    coef = model.coef
    own: FloatArray = coef[:, place]
    if classifier.multiple or coef.shape[1] < 2:
        return own
    others = (coef.sum(axis=1) - own) / (coef.shape[1] - 1)
    push: FloatArray = own - others
    return push


def class_terms(classifier: Classifier, n: int) -> list[tuple[IntArray, FloatArray]]:
    """Return the n features that speak most for each class of the training documents, best first, with their weights.

    Only those above 0; ties by name. Of multinomial Naive Bayes the order is that of P(v | c) · w_v, what a word of the class adds
    on average: log-ratios alone are highest for words that hardly ever occur.
    """
    best = []
    for place in range(len(classifier.present)):
        weights = key = pushes(classifier, place)
        if classifier.model.kind == "nb" and not classifier.multiple:
            assert isinstance(classifier.model, LinearModel)
            key = weights * np.exp(classifier.model.coef[:, place])
        order = np.lexsort((np.arange(len(weights)), -key))[:n]
        order = order[weights[order] > 0]
        best.append((order.astype(np.int32), weights[order]))
    return best


def explain_words(classifier: Classifier, x: Any, place: int) -> Push:
    """Return what each feature of one document contributes to a class: x_v · w_v (see `pushes`).

    Args:
        x: (1, F) CSR. place: see `pushes`.
    """
    row = sparse.csr_array(x)
    model = classifier.model
    assert isinstance(model, LinearModel)
    values = np.ones(len(row.data)) if model.presence else row.data
    parts = values * pushes(classifier, place)[row.indices]
    order = np.argsort(-np.abs(parts), kind="stable")
    names = classifier.features.names
    return Push(tuple(names[row.indices[i]] for i in order), tuple(float(parts[i]) for i in order))


def explain_by_omission(
    words: Sequence[str], without: Sequence[str], text: str, decide: Callable[[list[str]], FloatArray]
) -> Push:
    """Return what each word of a text contributes to a decision: how much the score falls when the word is left out.

    Li, Monroe & Jurafsky 2016, "Understanding neural networks through representation erasure".

    Args:
        words: the different words. without: the text without each of them. decide: scores (n,) of the class for n texts.
    """
    scores = decide([text, *without])
    falls = scores[0] - scores[1:]
    order = np.argsort(-np.abs(falls), kind="stable")
    return Push(tuple(words[i] for i in order), tuple(float(falls[i]) for i in order))
