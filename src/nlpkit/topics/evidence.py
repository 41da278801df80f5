"""Evidence for a number of topics of k-means: do halves of the documents, two views of them, and their words agree with it?"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.errors import InputError
from nlpkit.metrics.clustering import adjusted_mutual_information
from nlpkit.parameters import Execution
from nlpkit.topics.kmeans import KMeansFits, nearest_centers, plain_view, smoothed
from nlpkit.topics.neighbours import nearest_neighbours
from nlpkit.topics.options import Range
from nlpkit.types import CsrMatrix, Float32Array, IntArray

SAMPLE = 4000
SPLITS = 3
FEWEST = 3
MOST = 190
POINTS_PER_TOPIC = 6
GRID_RATIO = 2**0.25
TOLERANCE = 0.02
PRIOR_COUNT = 0.1


@dataclass(frozen=True, slots=True)
class NumberEvidence:
    """A number of topics and its evidence, each an AMI in [-1, 1], higher is better; `score` is their mean, smoothed over k.

    halves: of the topics that two halves of the documents give, each fitted without the other. views: of topics from the
    embeddings themselves and from embeddings averaged with their neighbours. words: of the topics of held-out documents and
    the topics that a naive Bayes classifier reads from their words.
    """

    k: int
    halves: float
    views: float
    words: float
    score: float
    chosen: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary, for the manifest."""
        return asdict(self)


def choose_number(
    embeddings: Float32Array, counts: CsrMatrix, *, wanted: Range, n_neighbors: int, execution: Execution
) -> list[NumberEvidence]:
    """Return the evidence for each number of topics in the range, fewest first, the chosen one marked.

    Evidence is collected on at most 4,000 documents, so that the number does not grow with the corpus. Chosen is the largest
    number whose score is within 0.02 of the best and, among these, whose mean before smoothing is, too: merging two topics
    that are alike is easy for a reader, and dividing one is not. Two topics are chosen only when no other number is compared.

    Args:
        embeddings: (U, E) different unit rows; counts: (U, V) of the words of each; n_neighbors: documents in an average.

    Raises:
        InputError: the range has no number that so few documents allow.
    """
    rows = _sample(len(embeddings), execution.seed)
    grid = _grid(wanted, len(rows))
    X, words = embeddings[rows], _present(counts[rows])
    with ThreadPoolExecutor(execution.n_threads()) as pool, threadpool_limits(1, user_api="blas"):
        near = nearest_neighbours(X, k=n_neighbors - 1, threads=execution.n_threads())
        plain, view = (KMeansFits(plain_view(x), seed=execution.seed) for x in (X, smoothed(X, near)))
        labels = [z for z, _ in pool.map(view.fit, grid)]
        views = pool.map(lambda k, z: adjusted_mutual_information(plain.fit(k)[0], z), grid, labels)
        read = pool.map(lambda z: _agreement_of_words(words, z, execution.seed), labels)
        halves = [
            list(pool.map(_Halves(X, n_neighbors, execution, number).agreement, grid)) for number in range(SPLITS)
        ]
        table = np.array([np.mean(halves, axis=0), list(views), list(read)])
    mean = table.mean(axis=0)
    score = _smooth(mean)
    numbers = [
        NumberEvidence(k, halves=float(h), views=float(v), words=float(w), score=float(total))
        for k, h, v, w, total in zip(grid, *table, score, strict=True)
    ]
    allowed = [i for i, k in enumerate(grid) if k >= FEWEST] or list(range(len(grid)))
    for values in (score, mean):  # a curve that is smoothed hides a sharp peak, one that is not shows peaks of noise
        best = max(values[i] for i in allowed)
        allowed = [i for i in allowed if values[i] >= best - TOLERANCE]
    choice = max(allowed)
    numbers[choice] = replace(numbers[choice], chosen=True)
    return numbers


class _Halves:
    """Two halves of the documents, each with its own neighbours, in one space."""

    def __init__(self, X: Float32Array, n_neighbors: int, execution: Execution, number: int) -> None:
        order = np.random.default_rng([execution.seed, number]).permutation(len(X))
        parts = np.array_split(order, 2)
        near = [nearest_neighbours(X[part], k=n_neighbors - 1, threads=execution.n_threads()) for part in parts]
        both = plain_view(np.concatenate([smoothed(X[part], n) for part, n in zip(parts, near, strict=True)]))
        self.halves = both[: len(parts[0])], both[len(parts[0]) :]
        self.fits = [KMeansFits(half, seed=execution.seed) for half in self.halves]

    def agreement(self, k: int) -> float:
        """Return the mean AMI of each half's topics with those that the topics of the other half give it."""
        fits = [half.fit(k) for half in self.fits]
        given_by_other = [nearest_centers(half, fits[1 - i][1]) for i, half in enumerate(self.halves)]
        return float(
            np.mean([adjusted_mutual_information(fit[0], z) for fit, z in zip(fits, given_by_other, strict=True)])
        )


def _agreement_of_words(words: CsrMatrix, labels: IntArray, seed: int) -> float:
    """Return the AMI of labels and those that naive Bayes reads from the words, each half read by a fit to the other."""
    from sklearn.naive_bayes import MultinomialNB

    fold = np.random.default_rng([seed, SPLITS]).permutation(len(labels)) % 2
    read = np.empty_like(labels)
    for held_out in (0, 1):
        reader = MultinomialNB(alpha=PRIOR_COUNT).fit(words[fold != held_out], labels[fold != held_out])
        read[fold == held_out] = reader.predict(words[fold == held_out])
    return adjusted_mutual_information(labels, read)


def _sample(n: int, seed: int) -> IntArray:
    rows = np.random.default_rng(seed).permutation(n)[:SAMPLE]
    return np.sort(rows).astype(np.int32)


def _present(counts: CsrMatrix) -> CsrMatrix:
    """Return 1.0 for each word of a document, without words of a single document."""
    present = counts.astype(bool).astype(np.float64)
    return present[:, np.flatnonzero(np.asarray(present.sum(axis=0)).ravel() >= 2)]


def _grid(wanted: Range, n: int) -> list[int]:
    """Return the numbers of topics to compare: those of a range with a step, else 2 … 10 and on in steps of 19 %."""
    most = min(wanted.high or max(min(n // POINTS_PER_TOPIC, MOST), 2), n // 2)
    if wanted.step is not None:
        grid = list(range(wanted.low, most + 1, wanted.step))
    else:
        usual = {*range(2, 11), *(round(10 * GRID_RATIO**i) for i in range(1, 60)), wanted.low, wanted.high}
        grid = sorted(k for k in usual if k and wanted.low <= k <= most)
    if not grid:
        raise InputError(
            f"the evidence for a number of topics comes from halves of {n} different documents, too few for "
            f"{wanted.low} to {wanted.high} topics; give another range, or `k=N`"
        )
    return grid


def _smooth(score: Any) -> Any:
    """Return a curve averaged with its neighbours, half of the weight on the point itself: single fits are noisy."""
    padded = np.concatenate([score[:1], score, score[-1:]])
    return 0.25 * padded[:-2] + 0.5 * padded[1:-1] + 0.25 * padded[2:]
