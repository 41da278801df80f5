"""The choice among several classifiers by cross-validation, and the learning curve of one.

Parts, in this order:
- Choice among several classifiers by cross-validation inside the training documents; nested for an honest score of the
  choice.
- The score of a classifier by how many training documents it was fitted on: would more of them help?
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.classify.classifier import Fitted, Learner
from nlpkit.classify.configs import ClassifierConfig
from nlpkit.classify.dataset import LabelledDataset
from nlpkit.classify.prediction_values import Predicted, objective, score_rows
from nlpkit.classify.scores import label_sets, labelled_predictions
from nlpkit.classify.search import INNER_FOLDS
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.intervals import Statistic
from nlpkit.metrics.labels import numbers as regression
from nlpkit.metrics.labels import ordinal
from nlpkit.metrics.labels.labels import ContingencyCells
from nlpkit.metrics.labels.multilabel import statistic as sets_statistic
from nlpkit.metrics.labels.predictions import classification_statistic
from nlpkit.metrics.score import Score, Uncertainty, statistic_score
from nlpkit.platform.types import FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate: mean macro F1 and accuracy over inner folds, the standard error of the former, and the seconds it took.

    why: why it was not tried, or why it cannot be had; its scores are NaN then.
    """

    config: ClassifierConfig
    macro_f1: float
    error: float
    accuracy: float
    seconds: float
    why: str = ""


def try_candidate(learner: Learner, train: LongArray, config: ClassifierConfig) -> Tried:
    """Return the scores of a candidate by cross-validation in three folds of the training documents, and nothing else."""
    # counted once for all folds, and so no part of what folds will take
    words, labels = learner.sources.words, learner.labels
    if words is not None and config.vectorizer is not None:
        words.counted(train, ngrams=config.ngrams, least=config.least)
    start = time.perf_counter()
    folds = labels.folds(train, INNER_FOLDS, seed=learner.seed)
    rounds = [(train[folds != f], train[folds == f]) for f in range(int(folds.max()) + 1)]
    predicted, _ = learner.cross_predict(rounds, config)
    scores = np.array([score_rows(labels, test, predicted.take(test)) for _, test in rounds])
    mean = scores.mean(axis=0)
    error = scores[:, 0].std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else float("nan")
    return Tried(config, float(mean[0]), float(error), float(mean[1]), time.perf_counter() - start)


def best_of(tried: Sequence[Tried]) -> int:
    """Return the place of the candidate of the highest macro F1; of equals the first."""
    values = np.array([t.macro_f1 if t.macro_f1 == t.macro_f1 else -1.0 for t in tried])
    return int(values.argmax())


def compare_within(
    learner: Learner,
    train: LongArray,
    configs: Sequence[ClassifierConfig],
    *,
    n_outer: int,
    budget: float,
    on_candidate: Callable[[int, str], None] = lambda n, name: None,
) -> list[Tried]:
    """Return the candidates that the budget has room for, in their order; the first is tried in any case.

    A candidate is tried as long as the time so far, and what `nested` will take for all that were tried, stay within the budget.

    Args:
        n_outer: folds of the nested comparison to come, 0 for none. budget: seconds.
    """
    tried: list[Tried] = []
    spent = all_once = last = 0.0

    def has_room() -> bool:
        # the outer folds hold (n - 1)/n of the documents: about as long as once on all of them
        return spent + last + n_outer * (all_once + last) <= budget

    for i, config in enumerate(configs):
        on_candidate(i, config.name)
        if tried and tried[-1].seconds and not has_room() and spent + last <= budget:
            # it may have waited for what is loaded once: it is timed again before the others are given up
            again = try_candidate(learner, train, configs[i - 1]).seconds
            spent, all_once, last = spent + again, all_once - last + min(last, again), min(last, again)
        if tried and not has_room():
            nan = float("nan")
            tried.append(Tried(config, nan, nan, nan, 0.0, "no time"))
            continue
        candidate = try_candidate(learner, train, config)
        last = candidate.seconds
        spent, all_once = spent + last, all_once + last
        tried.append(candidate)
    return tried


def nested(
    learner: Learner,
    rounds: Sequence[tuple[LongArray, LongArray]],
    configs: Sequence[ClassifierConfig],
    *,
    deciding: Callable[[ClassifierConfig], ClassifierConfig] = lambda config: config,
    on_candidate: Callable[[int, str], None] = lambda n, name: None,
) -> tuple[Predicted, Fitted, list[str]]:
    """Return predictions of test documents by whatever wins in the training documents of their round (Cawley & Talbot 2010).

    So the choice among candidates is part of what is scored. Also the last classifier, and the winner of each round.

    Args:
        deciding: returns the winner with what decides for it, such as thresholds.
    """
    winners: list[str] = []
    parts: list[tuple[LongArray, Predicted]] = []
    for i, (train, test) in enumerate(rounds):
        tried = []
        for config in configs:
            on_candidate(i, config.name)
            tried.append(try_candidate(learner, train, config))
        best = configs[best_of(tried)]
        winners.append(best.name)
        fitted = learner.fit(train, deciding(best))
        parts.append((test, fitted.predict(test)))
    return learner.together(parts), fitted, winners


# ------------------------------------------------------------------------------------------------------------------------
# The score of a classifier by how many training documents it was fitted on: would more of them help?

SHARES = (0.1, 0.2, 0.4, 0.6, 0.8)  # and all
DRAWS = 3
LEAST = 10  # training documents of a point


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A share of the training documents, how many these are on average over the folds, and the score on the test documents."""

    share: float
    documents: float
    score: Score


def in_nested_order(strata: IntArray, rng: np.random.Generator) -> LongArray:
    """Return the places (n,) of documents in an order of which every beginning has the classes (n,) in their shares.

    The i-th of the n_c documents of a class, drawn at random, stands at (i - ½) / n_c.
    """
    order = rng.permutation(len(strata))
    place = np.empty(len(strata))
    for code in np.unique(strata):
        members = order[strata[order] == code]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return order[np.argsort(place[order], kind="stable")]


def learning_curve(
    dataset: LabelledDataset,
    learner: Learner,
    config: ClassifierConfig,
    whole: Score,
    uncertainty: Uncertainty,
    *,
    done: Callable[[int], None] = lambda n: None,
) -> list[CurvePoint]:
    """Return the score of a classifier of 10, 20, 40, 60, 80 and 100 % of the training documents, on the same test documents.

    The score is that of `predicted.objective`. In each round three sequences of nested parts are drawn, and a part is all that the
    classifier learns from. A point is the mean of the three; its interval is over test documents (see `nlpkit.metrics.intervals`),
    which are drawn for the three together. Parts of fewer than ten documents are left out.

    Args:
        whole: the score of all training documents. done: called with the number of classifiers that are fitted.
    """
    rounds, labels = dataset.rounds, dataset.labels
    rows = dataset.labelled(dataset.tested())
    mean_size = float(np.mean([len(train) for train, _ in rounds]))
    orders = [
        [
            train[in_nested_order(labels.strata(train), np.random.default_rng([learner.seed, 11, i, r]))]
            for r in range(DRAWS)
        ]
        for i, (train, _) in enumerate(rounds)
    ]
    points, n_done = [], 0
    for share in SHARES:
        if round(share * dataset.least_train) < LEAST:
            continue
        predictions = []
        for r in range(DRAWS):
            parts = []
            for (train, test), of_round in zip(rounds, orders, strict=True):
                part = np.sort(of_round[r][: round(share * len(train))])
                fitted = learner.fit(part, config)
                parts.append((test, fitted.predict(test)))
                n_done += 1
                done(n_done)
            predictions.append(learner.together(parts))
        points.append(CurvePoint(share, share * mean_size, score_of_draws(dataset, predictions, rows, uncertainty)))
    return [*points, CurvePoint(1.0, mean_size, whole)]


def score_of_draws(
    dataset: LabelledDataset, predictions: Sequence[Predicted], rows: LongArray, uncertainty: Uncertainty
) -> Score:
    """Return the mean score of several predictions for the same documents, with its interval over these."""
    statistics: list[Statistic]
    labels, metric = dataset.labels, objective(dataset.labels)
    counts = np.ones(len(rows), np.int64)
    if labels.numbers is not None:
        true = labels.numbers[rows]
        statistics = [regression.statistics(true, p.values[rows])[metric] for p in predictions if p.values is not None]
    elif labels.scale:
        statistics = []
        for predicted in predictions:
            data = labelled_predictions(dataset.raw_labels, predicted, labels, rows)
            rank = np.array([labels.scale.index(name) for name in data.class_names], np.int32)
            statistics.append(ordinal.statistics(rank[data.true], rank[data.assigned])[metric])
    elif labels.multiple:
        names, sets = label_sets(dataset.raw_labels, dataset.labels.names, rows)
        statistics = []
        for predicted in predictions:
            assert predicted.sets is not None
            assigned = np.zeros((len(rows), len(names)), bool)
            assigned[:, : len(dataset.labels.names)] = predicted.sets[rows]
            statistics.append(sets_statistic(sets, assigned, metric))
    else:
        # classes are those of labels and predictions, so they differ, and a document is a row of all its codes
        single = [labelled_predictions(dataset.raw_labels, predicted, labels, rows) for predicted in predictions]
        codes = np.stack([column for one in single for column in (one.true, one.assigned)], axis=1)
        cells, counts = np.unique(codes, axis=0, return_counts=True)
        statistics = [
            classification_statistic(one, ContingencyCells(cells[:, 2 * r], cells[:, 2 * r + 1], counts), metric, 1.0)
            for r, one in enumerate(single)
        ]

    def mean(weights: FloatArray) -> FloatArray:
        return np.asarray(np.mean([statistic(weights) for statistic in statistics], axis=0))

    return statistic_score(METRICS[metric], mean, counts, uncertainty, over="documents")
