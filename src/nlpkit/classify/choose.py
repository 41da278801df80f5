"""Choice among several classifiers by cross-validation inside the training documents; nested for an honest score of the choice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.classify.classifier import Fitted, Learner
from nlpkit.classify.predicted import Predicted, score_rows
from nlpkit.classify.prepared import ClassifierConfig
from nlpkit.classify.search import INNER_FOLDS
from nlpkit.types import LongArray


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
