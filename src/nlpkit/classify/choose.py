"""Which of several classifiers: cross-validation inside the training documents, and nested for an honest score of the choice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.classify.classifier import Fitted, Material, Predicted, Recipe, cross_predict, fit_classifier, together
from nlpkit.classify.labels import Labels
from nlpkit.classify.splits import stratified_folds
from nlpkit.metrics.classification import averages, confusion_matrix
from nlpkit.types import LongArray

INNER_FOLDS = 3


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate: mean macro F1 and accuracy over inner folds, the standard error of the former, and the seconds it took.

    why: why it was not tried, or why it cannot be had; its scores are NaN then.
    """

    recipe: Recipe
    macro_f1: float
    error: float
    accuracy: float
    seconds: float
    why: str = ""


def try_candidate(
    material: Material, labels: Labels, train: LongArray, recipe: Recipe, *, seed: int, threads: int
) -> Tried:
    """Return the scores of a candidate by cross-validation in three folds of the training documents, and nothing else."""
    # counted once for all folds, and so no part of what folds will take
    if material.words is not None and recipe.space is not None:
        material.words.counted(train, ngrams=recipe.ngrams, least=recipe.least)
    start = time.perf_counter()
    folds = stratified_folds(labels.strata(train), min(INNER_FOLDS, len(train)), seed=seed)
    rounds = [(train[folds != f], train[folds == f]) for f in range(int(folds.max()) + 1)]
    found, _ = cross_predict(material, labels, rounds, recipe, seed=seed, threads=threads)
    scores = np.array([score_rows(labels, found, test) for _, test in rounds])
    mean = scores.mean(axis=0)
    error = scores[:, 0].std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else float("nan")
    return Tried(recipe, float(mean[0]), float(error), float(mean[1]), time.perf_counter() - start)


def score_rows(labels: Labels, found: Predicted, rows: LongArray) -> tuple[float, float]:
    """Return macro F1 and accuracy (of several labels: exactly the right ones) of some documents."""
    if labels.sets is not None:
        assert found.sets is not None
        true, own = labels.sets[rows], found.sets[rows]
        hits = (true & own).sum(axis=0)
        total = true.sum(axis=0) + own.sum(axis=0)
        there = total > 0
        return float((2 * hits[there] / total[there]).mean()) if there.any() else 0.0, float(
            (true == own).all(axis=1).mean()
        )
    assert found.codes is not None
    table = confusion_matrix(labels.of(rows), found.codes[rows], len(labels.names))
    scores = averages(table)
    return float(scores["macro_f1"]), float(scores["accuracy"])


def best_of(tried: Sequence[Tried]) -> int:
    """Return the place of the candidate of the highest macro F1; of equals the first."""
    values = np.array([t.macro_f1 if t.macro_f1 == t.macro_f1 else -1.0 for t in tried])
    return int(values.argmax())


def compare_within(
    material: Material,
    labels: Labels,
    train: LongArray,
    recipes: Sequence[Recipe],
    *,
    n_outer: int,
    budget: float,
    seed: int,
    threads: int,
    said: Callable[[int, str], None] = lambda n, name: None,
) -> list[Tried]:
    """Return the candidates that the budget has room for, in their order; the first is tried in any case.

    A candidate is tried as long as the time so far, and what `nested` will take for all that were tried, stay within the budget.

    Args:
        n_outer: folds of the nested comparison to come, 0 for none. budget: seconds.
    """
    tried: list[Tried] = []
    spent = last = 0.0
    for i, recipe in enumerate(recipes):
        said(i, recipe.name)
        # the outer folds hold (n - 1)/n of the documents: about as long as once on all of them
        if tried and spent + last + n_outer * (spent + last) > budget:
            nan = float("nan")
            tried.append(Tried(recipe, nan, nan, nan, 0.0, "no time"))
            continue
        found = try_candidate(material, labels, train, recipe, seed=seed, threads=threads)
        last = found.seconds
        spent += last
        tried.append(found)
    return tried


def nested(
    material: Material,
    labels: Labels,
    rounds: Sequence[tuple[LongArray, LongArray]],
    recipes: Sequence[Recipe],
    *,
    seed: int,
    threads: int,
    said: Callable[[int, str], None] = lambda n, name: None,
) -> tuple[Predicted, Fitted, list[str]]:
    """Return predictions of test documents by whatever wins in the training documents of their round (Cawley & Talbot 2010).

    So the choice among candidates is part of what is scored. Also the last classifier, and the winner of each round.
    """
    winners: list[str] = []
    parts: list[tuple[LongArray, Predicted]] = []
    for i, (train, test) in enumerate(rounds):
        tried = []
        for recipe in recipes:
            said(i, recipe.name)
            tried.append(try_candidate(material, labels, train, recipe, seed=seed, threads=threads))
        best = recipes[best_of(tried)]
        winners.append(best.name)
        fitted = fit_classifier(material, labels, train, best, seed=seed, threads=threads)
        parts.append((test, fitted.predict(test)))
    return together(material.n_docs, labels, parts), fitted, winners
