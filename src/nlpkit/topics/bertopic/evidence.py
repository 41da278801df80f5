"""Evidence for a number of topics: do halves of the documents, two views of them, and their words agree with it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from nlpkit.cluster.hierarchy import Fits, Repeat, plain_view
from nlpkit.cluster.options import Range
from nlpkit.errors import InputError
from nlpkit.metrics.labels.clustering import adjusted_mutual_information
from nlpkit.platform.parallel import one_thread
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray
from nlpkit.topics.bertopic.engine import Engine
from nlpkit.weights.dtm import group_rows

SAMPLE = 4000
SPLITS = 3
FEWEST = 3
MOST = 190
POINTS_PER_TOPIC = 6
GRID_RATIO = 2**0.25
TOLERANCE, NEARLY, RISE = 0.015, 0.06, 0.02  # radians
CLEAR = 0.95
PRIOR_COUNT = 0.1


@dataclass(frozen=True, slots=True)
class NumberEvidence:
    """A number of topics and its evidence, each an AMI in [-1, 1], higher is better; `score` is their mean, averaged with that
    of the number before.

    halves: of the topics that two halves of the documents give, each fitted without the other. views: of topics from the
    embeddings themselves and from what the engine clusters, such as embeddings averaged with their neighbours. words: of the
    topics of held-out documents and the topics that a naive Bayes classifier reads from their words.
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


class Sample:
    """At most 4,000 of the points, on which evidence is collected, so that the number of topics does not grow with the corpus.

    rows (S,): which points. number: of several samples of a corpus.
    """

    def __init__(self, embeddings: Float32Array, engine: Engine, number: int = 0) -> None:
        self.engine = engine
        seed = [engine.execution.seed, *([number] if number else [])]
        self.rows = np.sort(np.random.default_rng(seed).permutation(len(embeddings))[:SAMPLE])
        self.embeddings = embeddings[self.rows]
        self._splits: dict[int, _Halves] = {}

    @cached_property
    def fits(self) -> Fits:
        """Clusterings of the sample."""
        return self.engine.fits(self.engine.view(self.embeddings, self.engine.neighbours(self.embeddings)))

    def split(self, number: int) -> _Halves:
        """Return a division by its number, the same each time."""
        if number not in self._splits:
            self._splits[number] = _Halves(self.embeddings, self.engine, number)
        return self._splits[number]

    def repeats(self, k: int) -> list[Repeat]:
        """Return the topics of each half of the documents that a fit to the other half gives them; none of too few documents."""
        halves = self.split(0)
        if k > min(len(part) for part in halves.parts):
            return []
        return [
            Repeat(self.rows[part], z) for part, z in zip(halves.parts, halves.by_other(halves.fit(k)), strict=True)
        ]


class _Halves:
    """Two halves of the documents, each with its own neighbours, in one space. parts: the rows of each."""

    def __init__(self, X: Float32Array, engine: Engine, number: int) -> None:
        self.parts: list[LongArray] = np.array_split(
            np.random.default_rng([engine.execution.seed, number]).permutation(len(X)), 2
        )
        self.views = engine.views_of_parts(X, self.parts)
        self._fits = [engine.fits(view) for view in self.views]

    def fit(self, k: int) -> list[tuple[IntArray, Any]]:
        """Return the labels and the model of each half by itself."""
        return [half.fit(k) for half in self._fits]

    def by_other(self, fits: Sequence[tuple[IntArray, Any]]) -> list[IntArray]:
        """Return the labels that the documents of each half have by the fit to the other."""
        return [self._fits[1 - i].assign(fits[1 - i][1], view) for i, view in enumerate(self.views)]

    def agreement(self, k: int) -> float:
        """Return the mean AMI of each half's topics with those that the topics of the other half give it."""
        fits = self.fit(k)
        pairs = zip(fits, self.by_other(fits), strict=True)
        return float(np.mean([adjusted_mutual_information(fit[0], z) for fit, z in pairs]))


def samples(embeddings: Float32Array, engine: Engine) -> list[Sample]:
    """Return the samples of a corpus: one that is all of it where it has at most 4,000 points, else as many as there are splits."""
    return [Sample(embeddings, engine, number) for number in range(SPLITS if len(embeddings) > SAMPLE else 1)]


def choose_number(
    samples: Sequence[Sample],
    counts: CsrMatrix,
    wanted: Range,
    *,
    grain: str = "middle",
    progress: Callable[[float], None] | None = None,
) -> list[NumberEvidence]:
    """Return the evidence for each number of topics in the range, fewest first, the chosen one marked.

    Chosen is the largest number whose score is within 0.015 of the best (on the arcsine scale): merging two topics that are
    alike is easy for a reader, and dividing one is not. Where the score rises again after the best, by 0.02 or more and up to
    0.06 below it, there are several layers, and the last such peak counts in place of the best. Where all three kinds of
    evidence are nearly perfect, 0.95 or more, the largest such number is chosen. Two topics are chosen only when no
    other number is compared. A coarse or fine grain takes the next layer instead.

    Args:
        samples: of the corpus, whose evidence is averaged; there are three divisions into halves in all.
        counts: (U, V) of the words of each point. progress: called with the share done.

    Raises:
        InputError: the range has no number that so few documents allow.
    """
    grid = _grid(wanted, len(samples[0].rows))
    progress = progress or (lambda share: None)
    n_splits = SPLITS // len(samples)
    with (
        ThreadPoolExecutor(samples[0].engine.execution.n_threads()) as pool,
        one_thread(),
    ):
        evidence = [
            _evidence(sample, counts, grid, n_splits, pool, partial(_part_done, progress, number, len(samples)))
            for number, sample in enumerate(samples)
        ]
    table = np.mean(evidence, axis=0)
    numbers = [
        NumberEvidence(k, halves=float(h), views=float(v), words=float(w), score=float(total))
        for k, h, v, w, total in zip(grid, *table, _smoothed(table.mean(axis=0)), strict=True)
    ]
    middle = middle_number(numbers)
    choice = {"coarse": coarser(numbers, middle)[:1], "middle": [middle], "fine": finer(numbers, middle)[:1]}[grain]
    chosen = grid.index((choice or [middle])[0])
    numbers[chosen] = replace(numbers[chosen], chosen=True)
    return numbers


def _part_done(progress: Callable[[float], None], number: int, n_parts: int, share: float) -> None:
    progress((number + share) / n_parts)


def _evidence(
    sample: Sample,
    counts: CsrMatrix,
    grid: Sequence[int],
    n_splits: int,
    pool: ThreadPoolExecutor,
    progress: Callable[[float], None],
) -> FloatArray:
    """Return halves, views and words (3, numbers) of a sample, see `NumberEvidence`."""
    engine, words = sample.engine, _present(counts[sample.rows])
    labels = [z for z, _ in pool.map(sample.fits.fit, grid)]
    progress(1 / (n_splits + 2))
    plain = engine.fits(plain_view(sample.embeddings))
    views = list(pool.map(lambda k, z: adjusted_mutual_information(plain.fit(k)[0], z), grid, labels))
    read = list(pool.map(lambda z: _agreement_of_words(words, z, engine.execution.seed), labels))
    halves = []
    for number in range(n_splits):
        progress((number + 2) / (n_splits + 2))
        halves.append(list(pool.map(sample.split(number).agreement, grid)))
    return np.array([np.mean(halves, axis=0), views, read])


def middle_number(numbers: Sequence[NumberEvidence], tolerance: float = TOLERANCE) -> int:
    """Return the number to choose, see `choose_number`."""
    allowed = [n for n in numbers if n.k >= FEWEST] or list(numbers)
    clear = [n.k for n in allowed if min(n.halves, n.views, n.words) >= CLEAR]
    if clear:
        return clear[-1]
    level = np.array([angle(n.score) for n in allowed])
    peak = _finest_peak(level)
    return allowed[int(np.flatnonzero(level >= level[peak] - tolerance)[-1])].k


def _finest_peak(level: FloatArray) -> int:
    """Return the place of the best level, or of the last that is nearly as good and rises from a dip, with no better one after it."""
    peak = best = int(level.argmax())
    for i in range(best + 1, len(level)):
        before = int(np.flatnonzero(level[:i] >= level[i])[-1])
        if level[i] == level[i:].max() >= level[best] - NEARLY and level[i] - level[before:i].min() >= RISE:
            peak = i
    return peak


def coarser(numbers: Sequence[NumberEvidence], k: int) -> list[int]:
    """Return the numbers of coarser layers, the next one first: of a quarter to half as many topics, the one of best score."""
    return _best_in_bands(numbers, lambda k: (max(k / 4, 2), k / 2), k)


def finer(numbers: Sequence[NumberEvidence], k: int) -> list[int]:
    """Return the numbers of finer layers, the next one first: of twice to four times as many topics, the one of best score."""
    return _best_in_bands(numbers, lambda k: (2 * k, 4 * k), k)


def _best_in_bands(numbers: Sequence[NumberEvidence], band: Callable[[int], tuple[float, float]], k: int) -> list[int]:
    layers: list[int] = []
    while within := [n for n in numbers if band(k)[0] <= n.k <= band(k)[1]]:
        k = max(within, key=lambda n: (n.score, n.k)).k
        layers.append(k)
    return layers


def _agreement_of_words(words: CsrMatrix, labels: IntArray, seed: int) -> float:
    """Return the AMI of labels and those that naive Bayes reads from the words, each half read by a fit to the other."""
    fold = np.random.default_rng([seed, SPLITS]).permutation(len(labels)) % 2
    read = np.empty_like(labels)
    for held_out in (0, 1):
        fitted = fold != held_out
        read[~fitted] = read_by_words(words[fitted], labels[fitted], words[~fitted])
    return adjusted_mutual_information(labels, read)


def read_by_words(words: CsrMatrix, labels: IntArray, others: CsrMatrix) -> IntArray:
    """Return the labels of other documents (D',) by multinomial naive Bayes with PRIOR_COUNT, scikit-learn's MultinomialNB.

        argmax_k ln n_k + Σ_v x_v ln((c_kv + a) / (c_k + a V)),   of which Σ_v x_v ln((c_kv + a) / a) is a product of sparse matrices

    Args:
        words: (D, V) of documents with labels (D,), all ≥ 0. others: (D', V).
    """
    classes, z, n = np.unique(labels, return_inverse=True, return_counts=True)
    counts = group_rows(words, z.astype(np.int32), len(classes))
    V = max(words.shape[1], 1)  # without a word the largest class is read
    total = np.log(np.asarray(counts.sum(axis=1)).ravel() + PRIOR_COUNT * V) - np.log(PRIOR_COUNT)
    counts.data = np.log1p(counts.data / PRIOR_COUNT)
    scores = (others @ counts.T).toarray()
    scores -= np.asarray(others.sum(axis=1)).reshape(-1, 1) * total
    return np.asarray(classes[(scores + np.log(n)).argmax(axis=1)], labels.dtype)


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


def angle(share: Any) -> Any:
    """Return the arcsine of the root of a share, in radians: on this scale it is as uncertain near 1 as elsewhere."""
    return np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0)))


def _smoothed(mean: FloatArray) -> FloatArray:
    """Return the evidence of each number averaged with that of the number before, as angles.

    Single fits are noisy, hence the average. The number after stays out of it: where the evidence falls off sharply, the last
    good number keeps its score.
    """
    level = angle(mean)
    return np.asarray(np.sin((np.concatenate([level[:1], level[:-1]]) + level) / 2) ** 2)
