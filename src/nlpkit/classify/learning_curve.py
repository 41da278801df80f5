"""The score of a classifier by how many training documents it was fitted on: would more of them help?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.classify.classifier import Learner
from nlpkit.classify.dataset import LabelledDataset
from nlpkit.classify.predicted import Predicted, objective
from nlpkit.classify.prepared import ClassifierConfig
from nlpkit.classify.scores import label_sets, labelled_predictions
from nlpkit.evaluation.labels import ContingencyCells
from nlpkit.evaluation.predictions import classification_statistic
from nlpkit.metrics import ordinal, regression
from nlpkit.metrics.bootstrap import Statistic
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.multilabel import statistic as sets_statistic
from nlpkit.metrics.score import Score, Uncertainty, statistic_score
from nlpkit.types import FloatArray, IntArray, LongArray

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
    classifier learns from. A point is the mean of the three; its interval is over test documents (see `nlpkit.metrics.bootstrap`),
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
