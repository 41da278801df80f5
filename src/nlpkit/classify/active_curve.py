"""Learning curves of active learning: strategies against random choice, on documents whose labels are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from nlpkit import wording
from nlpkit.classify.active import select
from nlpkit.classify.active_options import RANDOM
from nlpkit.classify.fit import fit_model
from nlpkit.classify.kinds import ModelOptions
from nlpkit.classify.learning_curve import in_nested_order
from nlpkit.errors import InputError
from nlpkit.metrics.classification import averages, confusion_matrix
from nlpkit.types import FloatArray, IntArray, LongArray

METRICS = ("accuracy", "macro_f1")


@dataclass(frozen=True, slots=True)
class Curves:
    """Scores of classifiers of more and more labelled documents.

    strategies (S,); sizes (R,) int64: labelled documents in each round; scores (S, R, N, 2) float64: accuracy and macro F1 of N
    repetitions. n_pool, n_test: documents to choose from, and to score on.
    """

    strategies: tuple[str, ...]
    sizes: LongArray
    scores: FloatArray
    n_pool: int
    n_test: int

    def rows(self, level: float | None) -> list[dict[str, Any]]:
        """Return a row for each strategy and number of labels: mean scores, and how far they are above those of random choice.

        An interval is that of Student's t over the repetitions, cut at what a score can be; of a difference over the differences of
        each repetition, whose test documents and first batch are the same. None without a level, or with one repetition. It tells
        chance of the choice and of the split, not of the corpus.
        """
        random = self.scores[self.strategies.index(RANDOM)]
        rows = []
        for s, by in enumerate(self.strategies):
            for r, size in enumerate(self.sizes.tolist()):
                row: dict[str, Any] = {"by": by, "labels": size, "seeds": self.scores.shape[2]}
                for m, metric in enumerate(METRICS):
                    values = self.scores[s, r, :, m]
                    low, high = _interval(values, level, 0.0)
                    row |= {metric: float(values.mean()), f"{metric}_low": low, f"{metric}_high": high}
                for m, metric in enumerate(METRICS):
                    gain = self.scores[s, r, :, m] - random[r, :, m]
                    low, high = (None, None) if by == RANDOM else _interval(gain, level, -1.0)
                    row |= {
                        f"{metric}_gain": None if by == RANDOM else float(gain.mean()),
                        f"{metric}_gain_low": low,
                        f"{metric}_gain_high": high,
                    }
                rows.append(row)
        return rows


def _interval(values: FloatArray, level: float | None, least: float) -> tuple[float | None, float | None]:
    """Return mean ± t · s / √N of values (N,), cut at what can be: `least` and 1."""
    if level is None or len(values) < 2:
        return None, None
    half = float(stdtrit(len(values) - 1, (1 + level) / 2) * values.std(ddof=1) / np.sqrt(len(values)))
    return max(float(values.mean()) - half, least), min(float(values.mean()) + half, 1.0)


def learning_curves(
    points: Any,
    y: IntArray,
    n_classes: int,
    strategies: Sequence[str],
    options: ModelOptions,
    *,
    rounds: int,
    batch_size: int,
    seeds: int,
    test_share: float,
    seed: int,
    threads: int = 1,
    done: Callable[[int], None] = lambda n: None,
) -> Curves:
    """Return how well a classifier does after each round of labelling, for each strategy.

    In each repetition a part of every class is held out to score on; the others are the pool. All strategies begin with the same batch,
    drawn at random from the pool; after each round a classifier is fitted to what is labelled, scored, and asked for the next batch.

    Args:
        points: (D, E) array or CSR of the documents, which both classifier and strategies see.
        y: (D,) 0 … J-1. n_classes: J.
        strategies: random choice among them.
        options: of the classifier.
        test_share: of the documents, above 0 and below 1.
        seed: of all that is drawn. done: called with the number of classifiers that are fitted.

    Raises:
        InputError: one class, or a pool that is smaller than all rounds together.
    """
    n_docs = len(y)
    n_test = round(test_share * n_docs)
    n_pool, needed = n_docs - n_test, rounds * batch_size
    if n_classes < 2:
        raise InputError(
            "all documents have the same label; strategies are compared on documents of two classes or more"
        )
    if not n_test or needed > n_pool:
        raise InputError(
            f"{rounds:,} rounds of {batch_size:,} need {wording.counted(needed, 'document')} and a test. There are "
            f"{n_docs:,} documents, and {n_test:,} are held out for scoring; use fewer `rounds`, a smaller "
            "`batch_size` or another `test_share`",
            parameter="rounds",
        )
    scores = np.empty((len(strategies), rounds, seeds, len(METRICS)))
    n_done = 0
    for repetition in range(seeds):
        order = in_nested_order(y, np.random.default_rng([seed, 41, repetition]))
        test, pool = np.sort(order[:n_test]), np.sort(order[n_test:])
        start = pool[np.random.default_rng([seed, 42, repetition]).permutation(n_pool)[:batch_size]]
        for s, by in enumerate(strategies):
            rng, labelled = np.random.default_rng([seed, 43, repetition]), start
            for r in range(rounds):
                probabilities = _classifier(points, y, n_classes, labelled, options, seed=seed, threads=threads)
                codes = probabilities(test).argmax(axis=1).astype(np.int32)
                values = averages(confusion_matrix(y[test], codes, n_classes))
                scores[s, r, repetition] = [float(values[metric]) for metric in METRICS]
                n_done += 1
                done(n_done)
                if r + 1 < rounds:
                    rest = np.setdiff1d(pool, labelled)
                    chosen = select(
                        by, batch_size, len(rest), rng=rng, probabilities=probabilities(rest), points=points[rest],
                        labelled=points[labelled],
                    )  # fmt: skip
                    labelled = np.concatenate((labelled, rest[chosen.rows]))
    sizes = batch_size * np.arange(1, rounds + 1, dtype=np.int64)
    return Curves(tuple(strategies), sizes, scores, n_pool, n_test)


def _classifier(
    points: Any, y: IntArray, n_classes: int, labelled: LongArray, options: ModelOptions, *, seed: int, threads: int
) -> Callable[[LongArray], FloatArray]:
    """Return what gives the probabilities (n, J) of documents by a classifier of the labelled ones; those of unseen classes are 0."""
    present, compact = np.unique(y[labelled], return_inverse=True)
    model = None
    if len(present) > 1:
        X = points[labelled]
        model = fit_model(X, compact.astype(np.int32), len(present), options, seed=seed, threads=threads)

    def probabilities(rows: LongArray) -> FloatArray:
        p = np.zeros((len(rows), n_classes))
        known = None if model is None else model.probabilities(points[rows])
        p[:, present] = 1.0 if known is None else known
        return p

    return probabilities
