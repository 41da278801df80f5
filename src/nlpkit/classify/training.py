"""The fit of a classifier, and its predictions of test documents by classifiers that have not seen them.

Parts, in this order:
- What is said of hand-written rules: how many documents each matches and decides, and how often it is right.
- The fit: the classifier of the run, and the predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.classify.choose import DRAWS, SHARES, Tried, best_of, compare_within, learning_curve, nested
from nlpkit.classify.classifier import Fitted
from nlpkit.classify.configs import ClassifierConfig, bounded, candidates
from nlpkit.classify.dataset import LabelledDataset, Labels
from nlpkit.classify.job import Job
from nlpkit.classify.kinds import KINDS
from nlpkit.classify.models.rule_list import RuleList
from nlpkit.classify.prediction_values import Predicted, objective
from nlpkit.classify.scores import ClassifierScores, majority_of
from nlpkit.classify.thresholds import add_mean_cost, compare_costs, reached
from nlpkit.classify.words import TokenizedWords
from nlpkit.metrics.intervals import wilson
from nlpkit.metrics.results import TargetResult
from nlpkit.platform import reporting, wording
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray

DEFAULT = "(no rule)"


def rule_tables(job: Job, rules: RuleList, predicted: Predicted) -> tuple[pa.Table, list[str]]:
    """Return a row for each rule, in their order, and one for documents that none matches; and notes.

    Of the test documents with a label: matched by the rule; decided by it (the first that matches; of several labels all that match);
    correct: those decided whose label it is; precision = correct / decided, with its Wilson interval; conflicts: matched, and decided by
    another rule with another label.
    """
    dataset, matches, level = job.dataset, job.data.sources.matches, job.options.report.level
    rows = dataset.labelled(dataset.tested())
    matched = np.asarray(sparse.csr_array(matches)[rows].toarray() > 0, bool)
    multiple = dataset.labels.multiple
    labels = [set(raw) if isinstance(raw, list) else {raw} for raw in (dataset.raw_labels[d] for d in rows)]
    has_rule = np.asarray(matched.any(axis=1), bool)
    first = np.where(has_rule, matched.argmax(axis=1), -1)
    table: list[dict[str, Any]] = []
    for r, rule in enumerate(rules.rules):
        decided = np.asarray(matched[:, r] if multiple else first == r, bool)
        other = np.array([rules.rules[f].label != rule.label for f in first], bool) & has_rule
        conflicts = np.zeros(len(rows), bool) if multiple else matched[:, r] & other
        right = np.fromiter((rule.label in one for one in labels), bool, len(labels))
        head = {"rule": rule.name, "label": rule.label, "priority": rule.priority, "place": rule.place}
        table.append(head | _row(np.asarray(matched[:, r]), decided, right, conflicts, level))
    if not multiple or rules.default is not None:
        right = _right_without(dataset, rules, predicted)[rows]
        head = {"rule": DEFAULT, "label": rules.default, "priority": None, "place": None}
        table.append(head | _row(np.asarray(~has_rule), np.asarray(~has_rule), right, np.zeros(len(rows), bool), level))
    return pa.Table.from_pylist(table, _SCHEMA), _notes(rules, matched, first, n=len(rows), multiple=multiple)


_SCHEMA = pa.schema(
    [("rule", pa.string()), ("label", pa.string()), ("priority", pa.int32()), ("place", pa.string()), ("matched", pa.int64()),
     ("decided", pa.int64()), ("share", pa.float64()), ("correct", pa.int64()), ("precision", pa.float64()), ("low", pa.float64()),
     ("high", pa.float64()), ("conflicts", pa.int64())]
)  # fmt: skip


def _row(
    matched: BoolArray, decided: BoolArray, right: BoolArray, conflicts: BoolArray, level: float | None
) -> dict[str, Any]:
    n, correct = int(decided.sum()), int((decided & right).sum())
    interval = None if level is None else wilson(correct, n, level=level)
    return {
        "matched": int(matched.sum()), "decided": n, "share": n / len(decided) if len(decided) else None, "correct": correct,
        "precision": correct / n if n else None, "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high, "conflicts": int(conflicts.sum()),
    }  # fmt: skip


def _right_without(dataset: LabelledDataset, rules: RuleList, predicted: Predicted) -> BoolArray:
    """Return which documents (D,) have the label that they get where no rule matches."""
    names = dataset.labels.names
    if predicted.codes is None:
        return np.array([rules.default in (raw or ()) for raw in dataset.raw_labels], bool)
    predictions = [names[code] if code >= 0 else None for code in predicted.codes.tolist()]
    return np.array(
        [raw is not None and raw == label for raw, label in zip(dataset.raw_labels, predictions, strict=True)], bool
    )


def _notes(rules: RuleList, matched: BoolArray, first: Any, *, n: int, multiple: bool) -> list[str]:
    notes = []
    without = int((first < 0).sum())
    if without:
        default = f"'{rules.default}'" if rules.default is not None else "the largest class of the training documents"
        gets = "no label" if multiple and rules.default is None else default
        notes.append(f"{without:,} of {wording.counted(n, 'test document')} match no rule: {gets}")
    if not multiple:
        labels = np.array([rule.label for rule in rules.rules])
        conflicts = sum(len(set(labels[row].tolist())) > 1 for row in matched)
        if conflicts:
            notes.append(
                f"{wording.counted(conflicts, 'test document')} match rules of different labels: the first rule decides"
            )
    return notes


# ------------------------------------------------------------------------------------------------------------------------
# The fit of a classifier: predictions of test documents by classifiers that have not seen them, and the classifier of the run.


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
