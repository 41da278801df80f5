"""A classifier: features, model and calibration, all fitted to the same training documents and to nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nlpkit.classify.calibration import Calibrator, fit_calibrator
from nlpkit.classify.configs import ClassifierConfig, FeatureSources, PreparedFeatures, prepare_features
from nlpkit.classify.dataset import Labels
from nlpkit.classify.features import Features
from nlpkit.classify.fit import balanced_weights, fit_model, fit_multilabel
from nlpkit.classify.kinds import KINDS, ModelOptions
from nlpkit.classify.models.linear import LinearModel, Model
from nlpkit.classify.models.logistic import fit_ridge, median_class
from nlpkit.classify.models.rule_list import fit_rules
from nlpkit.classify.prediction_values import Predicted, objective, objective_score
from nlpkit.classify.search import INNER_FOLDS, Searched
from nlpkit.classify.thresholds import Costs, Threshold, choose_thresholds, decision_scores, least_cost, score_scale
from nlpkit.errors import InputError
from nlpkit.platform.types import FloatArray, IntArray, LongArray
from nlpkit.text.options import PreprocessReport
from nlpkit.text.phrases import PhraseTable

CALIBRATION_FOLDS = 5


@dataclass(frozen=True, slots=True)
class TextClassifier:
    """A fitted classifier of J classes. present (J',) int32: the classes that its training documents have; phrases, report: of the
    words it sees, None where it sees none, or the tokens were there before; thresholds: of single classes; costs: (J, J) of
    errors, None where the most probable class is predicted; scale: all labels of ordered classes, the
    lowest first. A regression has no names, and its model one score: the number."""

    names: tuple[str, ...]
    multiple: bool
    present: IntArray
    features: Features
    model: Model
    calibrator: Calibrator | None = None
    phrases: PhraseTable | None = None
    n_train: int = 0
    report: PreprocessReport | None = None
    thresholds: tuple[Threshold, ...] = ()
    costs: Costs | None = None
    scale: tuple[str, ...] = ()

    def predict(self, X: Any) -> Predicted:
        """Return the predictions of features (D, F); equal scores go to the class that comes first.

        A class with a threshold is predicted where its score is the threshold or above, and nowhere else; where it is not, a
        document of one label gets the best of the other classes. With costs the class of the least expected cost is predicted, of
        ordered classes without them the median (see `ordinal.median_class`).
        """
        decision = self.model.decision(X)
        if not self.names:
            return Predicted(decision, None, None)
        if self.calibrator is not None:
            probabilities: FloatArray | None = self.calibrator.probabilities(decision)
        else:
            probabilities = self.model.probabilities(X)
        if self.multiple:
            sets = decision > 0 if probabilities is None else probabilities > 0.5
            for threshold, scores in self._scores(decision):
                sets[:, self.names.index(threshold.label)] = scores >= threshold.score
            return Predicted(decision, probabilities, None, sets)
        best = decision if self.calibrator is None or probabilities is None else probabilities
        codes = self.present[best.argmax(axis=1)] if len(best) else np.zeros(0, np.int32)
        if self.costs is not None and len(best):
            assert probabilities is not None
            costs = np.array(self.costs)[np.ix_(self.present, self.present)]
            codes = self.present[least_cost(probabilities, costs)]
        elif KINDS[self.model.kind].task == "ordinal" and probabilities is not None:
            codes = self.present[median_class(probabilities)]
        for threshold, scores in self._scores(decision) if len(best) else ():
            j = self.names.index(threshold.label)
            others = self.present[np.where(self.present == j, -np.inf, best).argmax(axis=1)]
            codes = np.where(scores >= threshold.score, j, others)
        J = len(self.names)
        if len(self.present) < J:
            decision = _spread(decision, self.present, J, -np.inf)
            probabilities = None if probabilities is None else _spread(probabilities, self.present, J, 0.0)
        return Predicted(decision, probabilities, codes.astype(np.int32))

    def _scores(self, decision: FloatArray) -> Iterator[tuple[Threshold, FloatArray]]:
        """Yield each threshold with the scores (D,) of its class."""
        if self.thresholds:
            scores = decision_scores(decision, self.calibrator, self.model.link, multiple=self.multiple)
            for one in self.thresholds:
                yield one, scores[:, np.flatnonzero(self.present == self.names.index(one.label))[0]]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A classifier, with the features (n, F) of any documents of the sources it was fitted in.

    config: what it was fitted with, the number that was searched for in its place; searched: that search, None for none.
    """

    classifier: TextClassifier
    matrix: Callable[[LongArray], Any]
    config: ClassifierConfig
    searched: Searched | None = None

    def predict(self, rows: LongArray) -> Predicted:
        """Return the predictions of some documents."""
        return self.classifier.predict(self.matrix(rows))


@dataclass(frozen=True, slots=True)
class Learner:
    """Fits classifiers to some of the documents; the result depends on the seed, not on the threads."""

    sources: FeatureSources
    labels: Labels
    seed: int
    threads: int = 1

    def fit(self, train: LongArray, config: ClassifierConfig) -> Fitted:
        """Return a classifier that has seen the training documents and no other.

        A number that is searched for is chosen first, before any calibration: the value of the best mean score (see
        `predicted.objective`) over folds of the training documents. For calibration these are dealt into folds, too; each is scored
        by a classifier of the others, features and all, and the calibrator learns from these scores (as scikit-learn's
        CalibratedClassifierCV with ensemble=False). Classes that weigh the same in the fit weigh the same here, else the calibration
        would bring their shares back; the probabilities are then those of classes of equal size. Thresholds are chosen on the same
        scores, calibrated. Groups of `Labels.groups` stay together in all these folds.

        Args:
            train: (n,) rows with labels.
        """
        labels, searched = self.labels, None
        if config.search is not None:
            searched = self._best_value(train, config)
            config = replace(config, model=config.search.applied(config.model, searched.value))
        fitted = replace(self._fit(train, config), searched=searched)
        if config.costs is not None:
            fitted = replace(fitted, classifier=replace(fitted.classifier, costs=config.costs))
        classifier = fitted.classifier
        if (
            not classifier.names
            or (config.calibrate is None and not config.wanted)
            or (not labels.multiple and len(classifier.present) < 2)
        ):
            return fitted
        decision, y = self._unseen_decisions(train, config, classifier.present)
        link = classifier.model.link
        if config.calibrate is not None:
            weights = balanced_weights(y, decision.shape[1]) if config.model.balanced else None
            calibrator = fit_calibrator(config.calibrate, decision, y, link=link, weights=weights)
            classifier = replace(classifier, calibrator=calibrator)
        if config.wanted:
            scores = decision_scores(decision, classifier.calibrator, link, multiple=labels.multiple)
            positive = y if labels.multiple else y[:, None] == np.arange(len(classifier.present))
            names = [labels.names[j] for j in classifier.present]
            scale = score_scale(classifier.calibrator is not None, link)
            classifier = replace(
                classifier, thresholds=choose_thresholds(scores, positive, names, config.wanted, scale)
            )
        return replace(fitted, classifier=classifier)

    def _unseen_decisions(
        self, train: LongArray, config: ClassifierConfig, present: IntArray
    ) -> tuple[FloatArray, Any]:
        """Return scores (n, J') of the training documents by classifiers of other training documents, and their classes in J'."""
        labels = self.labels
        folds = labels.folds(train, CALIBRATION_FOLDS, seed=self.seed)
        decision = np.zeros((len(train), len(labels.names)))
        for fold in range(int(folds.max()) + 1):
            inner = self._fit(train[folds != fold], config)
            decision[folds == fold] = inner.predict(train[folds == fold]).decision
        y = labels.targets(train)
        if labels.multiple:
            return decision, y
        finite = np.isfinite(decision)  # classes that a part does not have: as low as can be
        lowest = np.where(finite, decision, decision[finite].min(initial=0.0))
        return lowest[:, present], _compact(y, present, len(labels.names))

    def _best_value(self, train: LongArray, config: ClassifierConfig) -> Searched:
        """Return the scores of each value of a search in folds of the training documents, whose features all values share."""
        labels, search = self.labels, config.search
        assert search is not None
        if len(train) < 2:
            raise InputError(
                f"`{search.option}`: a single training document is too few to choose among values; name one value",
                parameter=search.option,
            )
        folds = labels.folds(train, INNER_FOLDS, seed=self.seed)
        scores = np.zeros((int(folds.max()) + 1, len(search.values)))
        for fold in range(len(scores)):
            inner, rest = train[folds != fold], train[folds == fold]
            prepared = prepare_features(self.sources, labels.targets(inner), inner, config)
            X, X_rest = prepared.matrix(inner), prepared.matrix(rest)
            for i, value in enumerate(search.values):
                fitted = self._fit_model(prepared, X, inner, search.applied(config.model, value))
                scores[fold, i] = objective_score(labels, rest, fitted.predict(X_rest))
        return Searched(search, objective(labels), tuple(scores.mean(axis=0).tolist()))

    def _fit(self, train: LongArray, config: ClassifierConfig) -> Fitted:
        prepared = prepare_features(self.sources, self.labels.targets(train), train, config)
        classifier = self._fit_model(prepared, prepared.matrix(train), train, config.model)
        return Fitted(classifier, prepared.matrix, config)

    def _fit_model(self, prepared: PreparedFeatures, X: Any, train: LongArray, options: ModelOptions) -> TextClassifier:
        """Return a classifier of training documents whose features X (n, F) are prepared."""
        labels, chance = self.labels, {"seed": self.seed, "threads": self.threads}
        y, J = labels.targets(train), len(labels.names)
        model: Model
        if prepared.features.rules is not None:
            present = np.arange(J, dtype=np.int32)
            model = fit_rules(prepared.features.rules, labels, train)
        elif labels.numbers is not None:
            present = np.zeros(0, np.int32)
            model = fit_ridge(X, y, C=options.penalty(len(y), 1))
        elif labels.multiple:
            present = np.arange(J, dtype=np.int32)
            model = fit_multilabel(X, y, options, **chance)
        else:
            shares = None if labels.shares is None else labels.shares[train]
            present = (np.unique(y) if shares is None else np.flatnonzero(shares.any(axis=0))).astype(np.int32)
            if len(present) == 1:
                model = LinearModel(options.kind, np.zeros((X.shape[1], 1)), np.zeros(1), "softmax")
            else:
                target = _compact(y, present, J) if shares is None else shares[:, present]
                model = fit_model(X, target, len(present), options, **chance)
        classifier = TextClassifier(
            labels.names, labels.multiple, present, prepared.features, model, n_train=len(train), scale=labels.scale
        )
        if prepared.counted is None:
            return classifier
        return replace(classifier, phrases=prepared.counted.phrases, report=prepared.counted.report)

    def cross_predict(
        self,
        rounds: Sequence[tuple[LongArray, LongArray]],
        config: ClassifierConfig,
        done: Callable[[Fitted], None] = lambda fitted: None,
    ) -> tuple[Predicted, Fitted]:
        """Return predictions (D, …) of the test documents of each round by a classifier of its training documents, and the last of these.

        Documents in no test set have decision NaN and code -1.

        Args:
            rounds: (training rows, test rows); test rows of different rounds are different.
            done: called with the classifier of each round.
        """
        parts: list[tuple[LongArray, Predicted]] = []
        for train, test in rounds:
            fitted = self.fit(train, config)
            parts.append((test, fitted.predict(test)))
            done(fitted)
        return self.together(parts), fitted

    def together(self, parts: Sequence[tuple[LongArray, Predicted]]) -> Predicted:
        """Return the predictions of different rows as those of all documents (D, …); NaN and code -1 for rows in none of them."""
        labels, n_docs = self.labels, self.sources.n_docs
        J = len(labels.names) or 1
        decision = np.full((n_docs, J), np.nan)
        all_have = all(predicted.probabilities is not None for _, predicted in parts)
        probabilities = np.full((n_docs, J), np.nan) if all_have else None
        codes, sets = np.full(n_docs, -1, np.int32), np.zeros((n_docs, J), bool)
        for rows, predicted in parts:
            decision[rows] = predicted.decision
            if probabilities is not None:
                probabilities[rows] = predicted.probabilities
            if predicted.sets is not None:
                sets[rows] = predicted.sets
            if predicted.codes is not None:
                codes[rows] = predicted.codes
        if labels.numbers is not None:
            return Predicted(decision, None, None)
        return (
            Predicted(decision, probabilities, None, sets)
            if labels.multiple
            else Predicted(decision, probabilities, codes)
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
