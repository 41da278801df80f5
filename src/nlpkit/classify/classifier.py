"""A classifier: features, model and calibration, all fitted to the same training documents and to nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nlpkit.classify.calibration import Calibrator, Method, fit_calibrator
from nlpkit.classify.features import Features, Scaling, SpaceOptions, fit_space
from nlpkit.classify.fit import ModelOptions, balanced_weights, fit_model, fit_multilabel
from nlpkit.classify.labels import Labels
from nlpkit.classify.model import LinearModel, Model
from nlpkit.classify.splits import stratified_folds
from nlpkit.classify.words import Counted, CutWords, GivenWords
from nlpkit.text.options import PreprocessReport
from nlpkit.text.phrases import PhraseTable
from nlpkit.types import BoolArray, Float32Array, FloatArray, IntArray, LongArray

CALIBRATION_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Material:
    """All documents in every form a model may want: words, hand-made features (D, H), embeddings (D, E)."""

    n_docs: int
    words: CutWords | GivenWords | None = None
    hand_names: tuple[str, ...] = ()
    hand: FloatArray | None = None
    embeddings: Float32Array | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a classifier is made. space: None where the model sees embeddings; ngrams: None for those of the words;
    calibrate: None for none."""

    name: str
    model: ModelOptions
    space: SpaceOptions | None
    ngrams: tuple[int, int] | None = None
    hand: bool = False
    calibrate: Method | None = None

    @property
    def least(self) -> int:
        """Documents of a term below which it is not even counted; a share of documents is left to each training set."""
        bound = None if self.space is None else self.space.bounds.min_df
        return bound if isinstance(bound, int) else 1


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a classifier says of documents. decision (D, J), -inf for classes unseen in training; probabilities (D, J) or None;
    codes (D,) int32 of one label each, or sets (D, J) bool."""

    decision: FloatArray
    probabilities: FloatArray | None
    codes: IntArray | None
    sets: BoolArray | None = None

    @property
    def confidence(self) -> FloatArray | None:
        """Probability (D,) of what was predicted; of a set of labels, as if they were independent."""
        p = self.probabilities
        if p is None:
            return None
        if self.sets is not None:
            product: FloatArray = np.where(self.sets, p, 1 - p).prod(axis=1)
            return product
        assert self.codes is not None
        own: FloatArray = p[np.arange(len(p)), self.codes]
        return own


@dataclass(frozen=True, slots=True)
class Classifier:
    """A fitted classifier of J classes. present (J',) int32: the classes that its training documents have; phrases, report: of the
    words it sees, None where it sees none, or they were given."""

    names: tuple[str, ...]
    multiple: bool
    present: IntArray
    features: Features
    model: Model
    calibrator: Calibrator | None = None
    phrases: PhraseTable | None = None
    n_train: int = 0
    report: PreprocessReport | None = None

    def predict(self, X: Any) -> Predicted:
        """Return the predictions of features (D, F); equal scores go to the class that comes first."""
        decision = self.model.decision(X)
        if self.calibrator is not None:
            found: FloatArray | None = self.calibrator.probabilities(decision)
        else:
            found = self.model.probabilities(X)
        if self.multiple:
            sets = decision > 0 if found is None else found > 0.5
            return Predicted(decision, found, None, sets)
        best = decision if self.calibrator is None or found is None else found
        codes = self.present[best.argmax(axis=1)] if len(best) else np.zeros(0, np.int32)
        J = len(self.names)
        if len(self.present) < J:
            decision = _spread(decision, self.present, J, -np.inf)
            found = None if found is None else _spread(found, self.present, J, 0.0)
        return Predicted(decision, found, codes.astype(np.int32))


@dataclass(frozen=True, slots=True)
class Fitted:
    """A classifier, with the features (n, F) of any documents of the material it was fitted in."""

    classifier: Classifier
    matrix: Callable[[LongArray], Any]

    def predict(self, rows: LongArray) -> Predicted:
        """Return the predictions of some documents."""
        return self.classifier.predict(self.matrix(rows))


def fit_classifier(
    material: Material, labels: Labels, train: LongArray, recipe: Recipe, *, seed: int, threads: int
) -> Fitted:
    """Return a classifier that has seen the training documents and no other.

    For calibration the training documents are dealt into folds; each is scored by a classifier of the others, features and
    all, and the calibrator learns from these scores (as scikit-learn's CalibratedClassifierCV with ensemble=False). Classes that
    weigh the same in the fit weigh the same here, else the calibration would bring their shares back; the probabilities are then
    those of classes of equal size.

    Args:
        train: (n,) rows with labels.
    """
    fitted = _fit(material, labels, train, recipe, seed=seed, threads=threads)
    if recipe.calibrate is None:
        return fitted
    own = fitted.classifier
    n_folds = min(CALIBRATION_FOLDS, len(train))
    folds = stratified_folds(labels.strata(train), n_folds, seed=seed)
    decision = np.zeros((len(train), len(labels.names)))
    for fold in range(n_folds):
        inner = _fit(material, labels, train[folds != fold], recipe, seed=seed, threads=threads)
        decision[folds == fold] = inner.predict(train[folds == fold]).decision
    y = labels.of(train)
    if not labels.multiple:  # classes that a part does not have: as low as can be
        finite = np.isfinite(decision)
        decision = np.where(finite, decision, decision[finite].min(initial=0.0))[:, own.present]
        y = _compact(y, own.present, len(labels.names))
    weights = balanced_weights(y, decision.shape[1]) if recipe.model.balanced else None
    calibrator = fit_calibrator(recipe.calibrate, decision, y, link=own.model.link, weights=weights)
    return Fitted(replace(own, calibrator=calibrator), fitted.matrix)


def _fit(material: Material, labels: Labels, train: LongArray, recipe: Recipe, *, seed: int, threads: int) -> Fitted:
    y = labels.of(train)
    features, matrix, counted = _features(material, y, train, recipe)
    X = matrix(train)
    J = len(labels.names)
    model: Model
    if labels.multiple:
        present = np.arange(J, dtype=np.int32)
        model = fit_multilabel(X, y, recipe.model, seed=seed, threads=threads)
    else:
        present = np.unique(y).astype(np.int32)
        if len(present) == 1:
            model = LinearModel(recipe.model.kind, np.zeros((X.shape[1], 1)), np.zeros(1), "softmax")
        else:
            compact = _compact(y, present, J)
            model = fit_model(X, compact, len(present), recipe.model, seed=seed, threads=threads)
    own = Classifier(labels.names, labels.multiple, present, features, model, n_train=len(train))
    if counted is not None:
        own = replace(own, phrases=counted.phrases, report=counted.report)
    return Fitted(own, matrix)


def _features(
    material: Material, y: Any, train: LongArray, recipe: Recipe
) -> tuple[Features, Callable[[LongArray], Any], Counted | None]:
    """Return features fitted to the training documents, a function that gives those of any rows, and the words they are made of."""
    if recipe.space is None:
        assert material.embeddings is not None
        embeddings = material.embeddings
        return Features(None), lambda rows: embeddings[rows], None
    assert material.words is not None
    counted = material.words.counted(train, ngrams=recipe.ngrams, least=recipe.least)
    space, columns = fit_space(counted.counts[train], counted.terms, y, recipe.space)
    scaling = None
    if recipe.hand:
        assert material.hand is not None
        scaling = Scaling.fit(material.hand_names, material.hand[train])
    features = Features(space, scaling)

    def matrix(rows: LongArray) -> Any:
        words = space.of(counted.counts[rows], columns)
        return features.join(words, None if material.hand is None else material.hand[rows])

    return features, matrix, counted


def cross_predict(
    material: Material,
    labels: Labels,
    rounds: Sequence[tuple[LongArray, LongArray]],
    recipe: Recipe,
    *,
    seed: int,
    threads: int,
    done: Callable[[int], None] = lambda n: None,
) -> tuple[Predicted, Fitted]:
    """Return predictions (D, …) of the test documents of each round by a classifier of its training documents, and the last of these.

    Documents in no test set have decision NaN and code -1.

    Args:
        rounds: (training rows, test rows); test rows of different rounds are different.
        done: called with the number of rounds that are done.
    """
    parts: list[tuple[LongArray, Predicted]] = []
    for i, (train, test) in enumerate(rounds):
        fitted = fit_classifier(material, labels, train, recipe, seed=seed, threads=threads)
        parts.append((test, fitted.predict(test)))
        done(i + 1)
    return together(material.n_docs, labels, parts), fitted


def together(n_docs: int, labels: Labels, parts: Sequence[tuple[LongArray, Predicted]]) -> Predicted:
    """Return the predictions of different rows as those of all documents (D, …); NaN and code -1 for rows in none of them."""
    J = len(labels.names)
    decision = np.full((n_docs, J), np.nan)
    all_have = all(found.probabilities is not None for _, found in parts)
    probabilities = np.full((n_docs, J), np.nan) if all_have else None
    codes, sets = np.full(n_docs, -1, np.int32), np.zeros((n_docs, J), bool)
    for rows, found in parts:
        decision[rows] = found.decision
        if probabilities is not None:
            probabilities[rows] = found.probabilities
        if found.sets is not None:
            sets[rows] = found.sets
        if found.codes is not None:
            codes[rows] = found.codes
    return (
        Predicted(decision, probabilities, None, sets) if labels.multiple else Predicted(decision, probabilities, codes)
    )


def _compact(y: IntArray, present: IntArray, n_classes: int) -> IntArray:
    places = np.full(n_classes, -1, np.int32)
    places[present] = np.arange(len(present), dtype=np.int32)
    compact: IntArray = places[y]
    return compact


def _spread(values: FloatArray, present: IntArray, n_classes: int, fill: float) -> FloatArray:
    wide = np.full((len(values), n_classes), fill)
    wide[:, present] = values
    return wide
