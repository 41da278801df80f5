"""The fit of a classifier: predictions of test documents by classifiers that have not seen them, and the classifier of the run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting
from nlpkit.classify.choose import Tried, best_of, compare_within, nested
from nlpkit.classify.classifier import Fitted
from nlpkit.classify.configs import bounded, candidates
from nlpkit.classify.costs import add_mean_cost, compare_costs
from nlpkit.classify.dataset import LabelledDataset
from nlpkit.classify.kinds import KINDS
from nlpkit.classify.labels import Labels
from nlpkit.classify.learning_curve import DRAWS, SHARES, learning_curve
from nlpkit.classify.predicted import Predicted, objective
from nlpkit.classify.prepared import ClassifierConfig
from nlpkit.classify.scores import ClassifierScores, majority_of
from nlpkit.classify.thresholds import reached
from nlpkit.classify.words import TokenizedWords
from nlpkit.evaluation.results import TargetResult
from nlpkit.types import BoolArray, FloatArray, IntArray, LongArray
from nlpkit.workflows.classify_job import Job


@dataclass(frozen=True, slots=True)
class Training:
    """The classifier, the predictions for test documents, and what was compared; rounds: the values that were searched for in
    each fold, none where there was no search."""

    job: Job
    fitted: Fitted
    predicted: Predicted
    candidates: list[dict[str, Any]] = field(default_factory=list)
    rounds: list[float] = field(default_factory=list)

    @property
    def config(self) -> ClassifierConfig:
        """What was fitted."""
        return self.fitted.config

    def decisions(self) -> dict[str, Any]:
        """Return what was chosen and what came of it, as metrics.json has it: search, thresholds, costs."""
        dataset, uncertainty = self.job.dataset, self.job.uncertainty
        facts: dict[str, Any] = {}
        if self.fitted.searched is not None:
            facts["search"] = {**self.fitted.searched.to_dict(), "folds": self.rounds}
        tested, known = dataset.labelled(dataset.tested()), _with_class(dataset)
        thresholds = self.fitted.classifier.thresholds
        if thresholds:
            outcomes = [reached(one, *self._decided(dataset.labels, one.label, tested)) for one in thresholds]
            facts["thresholds"] = [one.to_dict(uncertainty.level) for one in outcomes]
        costs = self.fitted.classifier.costs
        if costs is not None and len(known):
            facts["costs"] = {
                "documents": len(known),
                "decisions": compare_costs(
                    dataset.labels.targets(known),
                    self._alternatives(known, np.array(costs)),
                    np.array(costs),
                    uncertainty,
                ),
            }
        return facts

    def add_scores(self, result: TargetResult) -> None:
        """Add the mean cost of the decisions to a result where there are costs."""
        costs, codes = self.fitted.classifier.costs, self.predicted.codes
        dataset = self.job.dataset
        known = _with_class(dataset)
        if costs is not None and codes is not None and len(known):
            add_mean_cost(result, dataset.labels.targets(known), codes[known], np.array(costs), self.job.uncertainty)

    def _alternatives(self, rows: LongArray, costs: FloatArray) -> dict[str, IntArray]:
        """Return the decisions (n,) for some documents: those of the model, and those that know no costs, or no text."""
        dataset, codes, p = self.job.dataset, self.predicted.codes, self.predicted.probabilities
        assert codes is not None
        assert p is not None
        cheapest = np.zeros(len(codes), np.int32)
        for train, test in dataset.rounds:
            cheapest[test] = int((dataset.labels.sizes(train) @ costs).argmin())
        majority = majority_of(dataset).codes
        assert majority is not None
        return {
            "least expected cost": codes[rows],
            "most probable class": p[rows].argmax(axis=1).astype(np.int32),
            "majority class": majority[rows],
            "cheapest class for all": cheapest[rows],
        }

    def _decided(self, labels: Labels, label: str, rows: LongArray) -> tuple[BoolArray, BoolArray]:
        """Return which of some documents have a label, and which were predicted to have it."""
        j, predicted = labels.names.index(label), self.predicted
        if predicted.sets is not None:
            return labels.targets(rows)[:, j], predicted.sets[rows, j]
        assert predicted.codes is not None
        return labels.targets(rows) == j, predicted.codes[rows] == j


def _with_class(dataset: LabelledDataset) -> LongArray:
    """Return the test documents whose label is one of training: other labels have no cost."""
    tested = dataset.labelled(dataset.tested())
    return tested[np.asarray(dataset.usable)[tested]]


def fit_and_predict(job: Job) -> Training:
    """Return the classifier of all training documents, and the predictions of test documents by those of each round."""
    dataset, learner, rounds = job.dataset, job.learner, job.dataset.rounds
    values: list[float] = []
    if job.auto:
        config, training = _choose(job)
    else:
        config = bounded(job.config, dataset.least_train)
        n_done = 0
        with reporting.progress("folds", len(rounds)) as update:

            def done(fitted: Fitted) -> None:
                nonlocal n_done
                n_done += 1
                update(n_done)
                if fitted.searched is not None and dataset.n_folds:
                    values.append(fitted.searched.value)

            predicted, fitted = learner.cross_predict(rounds, config, done)
        training = Training(job, fitted, predicted, rounds=values)
    if not dataset.n_folds:
        return training
    fitted = learner.fit(dataset.train, config)
    rest = np.flatnonzero(dataset.split < 0)  # documents without a label
    if len(rest):
        training.predicted.fill(rest, fitted.predict(rest))
    return replace(training, fitted=fitted)


def _choose(job: Job) -> tuple[ClassifierConfig, Training]:
    """Return the configuration that is best in the training documents, and predictions of test documents.

    With a test set the winner predicts it. In cross-validation the winner of each fold's training documents predicts the fold.
    """
    dataset, sources, base, options = job.dataset, job.data.sources, job.config, job.options.classifier
    budget, rounds, n_outer, learner = options.budget, dataset.rounds, dataset.n_folds, job.learner
    needs_probabilities = job.options.report.probabilities or base.costs is not None

    def deciding(winner: ClassifierConfig) -> ClassifierConfig:
        return replace(winner, wanted=base.wanted, costs=base.costs)

    configs = [  # compared by their most probable classes; the winner decides by thresholds or costs
        bounded(replace(config, wanted=(), costs=None), dataset.least_train)
        for config in candidates(
            base, options, multiple=dataset.labels.multiple, words_are_cut=not isinstance(sources.words, TokenizedWords),
            embeddings=sources.embeddings is not None,
        )
        if not needs_probabilities or config.calibrate is not None or KINDS[config.model.kind].probabilities
    ]  # fmt: skip
    with reporting.progress("models", len(configs)) as update:
        tried = compare_within(
            learner, dataset.train, configs, n_outer=n_outer, budget=budget, on_candidate=lambda n, name: update(n, f"models: {name}"),
        )  # fmt: skip
    best = best_of(tried)
    config = deciding(configs[best])
    left_out = [t.config.name for t in tried if t.why]
    if left_out:
        reporting.note(
            f"not tried within `budget={budget:g}`: {', '.join(left_out)}; the choice depends on the speed of "
            "this machine"
        )
    rows = [_candidate_row(t, chosen=i == best) for i, t in enumerate(tried)]
    if not n_outer:
        train, test = rounds[0]
        fitted = learner.fit(train, config)
        return config, Training(job, fitted, learner.together([(test, fitted.predict(test))]), rows)
    kept = [t.config for t in tried if not t.why]
    with reporting.progress("nested folds", n_outer) as update:
        predicted, fitted, winners = nested(
            learner, rounds, kept, deciding=deciding, on_candidate=lambda n, name: update(n, f"nested folds: {name}"),
        )  # fmt: skip
    won = ", ".join(f"{name} {winners.count(name)}" for name in dict.fromkeys(winners))
    reporting.note(
        f"chosen: {config.name}; the scores come from choosing again in each of {n_outer} folds (chosen there: {won})"
    )
    return config, Training(job, fitted, predicted, rows)


def _candidate_row(tried: Tried, *, chosen: bool) -> dict[str, Any]:
    def known(value: float) -> float | None:
        return float(value) if np.isfinite(value) else None

    return {
        "name": tried.config.name,
        "macro_f1": known(tried.macro_f1),
        "error": known(tried.error),
        "accuracy": known(tried.accuracy),
        "seconds": round(tried.seconds, 3),
        "chosen": chosen,
        "why": tried.why,
    }


def curve_table(training: Training, scores: ClassifierScores) -> pa.Table:
    """Return a row for each share of the training documents: share, documents, the score by its name, low, high (see `learning_curve`)."""
    job, dataset = training.job, training.job.dataset
    metric = objective(dataset.labels)
    with reporting.progress("learning curve", len(SHARES) * DRAWS * len(dataset.rounds)) as update:
        points = learning_curve(
            dataset, job.learner, training.config, scores.model.scores[metric], job.uncertainty, done=update
        )  # fmt: skip
    rows = []
    for point in points:
        bounds = point.score.interval
        low, high = (None, None) if bounds is None else (bounds.low, bounds.high)
        value = point.score.value
        rows.append((point.share, round(point.documents), value, low, high))
    kinds = {
        "share": pa.float64(),
        "documents": pa.int64(),
        metric: pa.float64(),
        "low": pa.float64(),
        "high": pa.float64(),
    }
    columns = zip(*rows, strict=True)
    return pa.table({name: pa.array(column, kinds[name]) for name, column in zip(kinds, columns, strict=True)})
