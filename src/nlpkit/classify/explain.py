"""Why a classifier decides as it does: the words that tell its classes apart, and those that pushed one decision."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.classify.classifier import TextClassifier
from nlpkit.classify.models.linear import LinearModel
from nlpkit.classify.models.logistic import OrdinalModel
from nlpkit.classify.models.networks import WordRows
from nlpkit.classify.prediction_values import Predicted
from nlpkit.platform.types import Float32Array, FloatArray, IntArray

MOST_WORDS = 400  # of a text that are left out in turn
LEAST_SHARE = 0.001  # of the words of a class, of those that Naive Bayes is shown by
_WORD = re.compile(r"\w[\w'’-]*")


@dataclass(frozen=True, slots=True)
class Push:
    """Evidence for a class (above 0) and against it: features by name, strongest first, with their contributions."""

    names: tuple[str, ...]
    values: tuple[float, ...]


UP, DOWN = "higher", "lower"  # in the place of classes, where words move a number or a rank up or down


def has_weights(classifier: TextClassifier) -> bool:
    """Whether the model gives each word a weight for each class, or one up or down."""
    return isinstance(classifier.model, LinearModel | OrdinalModel) and bool(classifier.features.names)


def direction(classifier: TextClassifier) -> FloatArray | None:
    """Return how much a unit of each feature (F,) moves the number up, or the rank (see `OrdinalModel.direction`); None of others."""
    model = classifier.model
    if isinstance(model, OrdinalModel):
        return model.direction
    return model.coef[:, 0] if isinstance(model, LinearModel) and model.link == "identity" else None


def pushes(classifier: TextClassifier, place: int) -> FloatArray:
    """Return how much a unit of each feature (F,) speaks for a class rather than for the mean of the others, or see `direction`.

        w_v = coef_vc - Σ_{c' ≠ c} coef_vc' / (J - 1);   of several labels, coef_vc itself

    Of Naive Bayes it is the log-ratio of P(v | c) and the geometric mean of the others; of two classes in logistic regression
    the coefficient.

    Args:
        place: of the class among those the classifier was trained on (`TextClassifier.present`).
    """
    model, moves = classifier.model, direction(classifier)
    if moves is not None:
        return moves
    assert isinstance(model, LinearModel)
    coef = model.coef
    of_class: FloatArray = coef[:, place]
    if classifier.multiple or coef.shape[1] < 2:
        return of_class
    others = (coef.sum(axis=1) - of_class) / (coef.shape[1] - 1)
    push: FloatArray = of_class - others
    return push


def class_terms(classifier: TextClassifier, n: int) -> list[tuple[IntArray, FloatArray]]:
    """Return the n features that speak most for each class of the training documents, best first, with their weights.

    Where there is a `direction`, those that move most up, and those that move most down, whose weights are below 0.

    Only those above 0; ties by name. For multinomial Naive Bayes, words that make up one in a thousand words of the class come first:
    the weights, log-ratios of P(v | c), are highest for words that hardly ever occur.
    """
    best = []
    moves = direction(classifier)
    if moves is not None:
        for sign in (1.0, -1.0):
            order = np.lexsort((np.arange(len(moves)), -sign * moves))[:n]
            order = order[sign * moves[order] > 0]
            best.append((order.astype(np.int32), moves[order]))
        return best
    for place in range(len(classifier.present)):
        weights, frequent = pushes(classifier, place), np.ones(len(classifier.features.names), bool)
        if classifier.model.kind == "nb" and not classifier.multiple:
            assert isinstance(classifier.model, LinearModel)
            frequent = np.exp(classifier.model.coef[:, place]) >= LEAST_SHARE
        order = np.lexsort((np.arange(len(weights)), -weights, ~(frequent & (weights > 0))))[:n]
        order = order[weights[order] > 0]
        best.append((order.astype(np.int32), weights[order]))
    return best


def explain_words(classifier: TextClassifier, x: Any, place: int) -> Push:
    """Return what each feature of one document contributes to a class: x_v · w_v (see `pushes`).

    Args:
        x: (1, F) CSR. place: see `pushes`.
    """
    row = sparse.csr_array(x)
    values = np.ones(len(row.data)) if getattr(classifier.model, "presence", False) else row.data
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


class Explainer:
    """Collects why a classifier decides as it does on the documents with some ids.

    Of models that weigh words, a contribution is weight times value (see `pushes`); of those that see embeddings, or words in their
    order, what the score of the class loses when the word is left out. Of a number and of ordered classes a contribution above 0
    moves the prediction up, one below 0 down, whatever was predicted. Of rules, those that match: 1 for one that decides, else 0.

    Args:
        ids: of the documents. `explanations` has them by id, as values that go into JSON.
        encode: returns the embeddings (n, E) of texts; None for models that see words.
    """

    def __init__(
        self, classifier: TextClassifier, ids: Sequence[str], encode: Callable[[list[str]], Float32Array] | None
    ) -> None:
        self._classifier, self._encode = classifier, encode
        self.ids = list(dict.fromkeys(ids))
        self.explanations: dict[str, list[dict[str, Any]]] = {}

    def add(self, batch: pa.RecordBatch, X: Any, predicted: Predicted) -> None:
        """Explain the documents of a batch that were asked for. X: their features."""
        if len(self.explanations) == len(self.ids):
            return
        ids = batch.column("id").to_pylist()
        for row in [i for i, name in enumerate(ids) if name in self.ids]:
            text = batch.column("text")[row].as_py() or ""
            x = X[row : row + 1] if not isinstance(X, np.ndarray) else None
            codes = self._codes(predicted, row)
            self.explanations[ids[row]] = [self._explain(code, x, text, predicted, row) for code in codes]

    def _codes(self, predicted: Predicted, row: int) -> list[int]:
        if predicted.sets is not None:
            chosen = np.flatnonzero(predicted.sets[row]).tolist()
            return chosen or [int(predicted.decision[row].argmax())]
        return [0 if predicted.codes is None else int(predicted.codes[row])]

    def _explain(self, code: int, x: Any, text: str, predicted: Predicted, row: int) -> dict[str, Any]:
        rules = self._classifier.features.rules
        if rules is not None:
            matched = [rules.rules[r] for r in np.flatnonzero(sparse.csr_array(x).toarray()[0]).tolist()]
            label, first = self._classifier.names[code], predicted.sets is None
            decides = [rule is matched[0] if first else rule.label == label for rule in matched]
            push = Push(tuple(rule.name for rule in matched), tuple(map(float, decides)))
            push = push if matched else Push(("(no rule)",), (1.0,))
        elif x is not None and has_weights(self._classifier):
            place = np.flatnonzero(self._classifier.present == code)
            push = explain_words(self._classifier, x, int(place[0]) if len(place) else 0)
        elif isinstance(x, WordRows):
            words, rows = x.without_each()
            terms = [self._classifier.features.names[word] for word in words]
            push = explain_by_omission(terms, terms, "", lambda _: self._scores(rows, code))
        else:
            push = self._by_omission(text, code)
        p, names = predicted.probabilities, self._classifier.names
        number = round(float(predicted.decision[row, 0]), 6)
        return {
            **({"class": names[code]} if names else {"number": number}),
            "prob": None if p is None else round(float(p[row, code]), 6),
            "words": [{"term": n, "contribution": round(v, 6)} for n, v in zip(push.names, push.values, strict=True)],
        }

    def _by_omission(self, text: str, code: int) -> Push:
        encode = self._encode
        assert encode is not None
        words = list(dict.fromkeys(m.group().lower() for m in _WORD.finditer(text)))[:MOST_WORDS]
        without = [re.sub(rf"\b{re.escape(word)}\b", " ", text, flags=re.IGNORECASE) for word in words]

        return explain_by_omission(words, without, text, lambda texts: self._scores(encode(texts), code))

    def _scores(self, X: Any, code: int) -> FloatArray:
        """Return how much each document (n,) speaks for a class rather than for the mean of the others; of ordered classes, its rank."""
        decision = self._classifier.predict(X).decision
        if self._classifier.scale:
            ranks: FloatArray = np.exp(decision) @ np.arange(decision.shape[1])
            return ranks
        others = np.delete(decision, code, axis=1)
        score: FloatArray = decision[:, code] - (others.mean(axis=1) if others.shape[1] else 0.0)
        return score
