"""The questions that word vectors answer: analogies, similarity, odd one out, bias, drift.

Parts, in this order:
- Analogies of word vectors: a is to b as c is to which word?
- How similar two words are by their vectors, compared with people's ratings; and the word that does not belong to
  others.
- Bias of word vectors: the association of two sets of words with two others, and places of words on a line between
  them.
- How far words moved between two vector spaces, such as those of two periods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.metrics.intervals import Interval, interval
from nlpkit.metrics.labels.numbers import statistics
from nlpkit.platform.types import Float32Array, FloatArray, LongArray
from nlpkit.words.vectors import WordVectors, unit_rows

Measure = Literal["3cosadd", "3cosmul"]
MEASURES = ("3cosadd", "3cosmul")
_EPSILON = 0.001
_BLOCK = 256  # questions that are compared with all words at a time


@dataclass(frozen=True, slots=True)
class Question:
    """a is to b as c is to d; section: the heading under which it stands."""

    section: str
    a: str
    b: str
    c: str
    d: str


@dataclass(frozen=True, slots=True)
class SectionScore:
    """How many questions of a section there are, how many have four known words, how many of these are answered rightly."""

    section: str
    questions: int
    answered: int
    right: int

    @property
    def accuracy(self) -> float:
        """Share of the answered questions that are right, NaN for none."""
        return self.right / self.answered if self.answered else float("nan")


def analogy_scores(units: Float32Array, rows: LongArray, *, measure: Measure = "3cosadd") -> Float32Array:
    """Return how well each word d answers each question (Q, V), larger is better; a, b and c themselves get -inf.

        3cosadd  cos(d, b) - cos(d, a) + cos(d, c)
        3cosmul  cos'(d, b) cos'(d, c) / (cos'(d, a) + 0.001),  cos' = (cos + 1) / 2

    Args:
        units: (V, E), vectors of length 1.
        rows: (Q, 3), the rows of a, b and c.

    Source: Mikolov, Yih & Zweig (2013), "Linguistic Regularities in Continuous Space Word Representations", §4 (after Levy and Goldberg's
    form); Levy & Goldberg (2014), "Linguistic Regularities in Sparse and Explicit Word Representations", §3 and §6.
    """
    a, b, c = (units[rows[:, i]] @ units.T for i in range(3))
    scores = b - a + c if measure == "3cosadd" else (b + 1) / 2 * ((c + 1) / 2) / ((a + 1) / 2 + _EPSILON)
    np.put_along_axis(scores, rows, -np.inf, axis=1)
    return np.asarray(scores, np.float32)


def answers(known: WordVectors, rows: LongArray, *, measure: Measure = "3cosadd") -> LongArray:
    """Return the row of the best answer to each question (Q,); rows (Q, 3). Raises what `analogy_scores` raises."""
    best = np.empty(len(rows), np.int64)
    with threadpool_limits(limits=1):
        for begin in range(0, len(rows), _BLOCK):
            block = slice(begin, begin + _BLOCK)
            best[block] = np.argmax(analogy_scores(known.units, rows[block], measure=measure), axis=1)
    return best


def score_analogies(
    known: WordVectors, questions: Sequence[Question], *, measure: Measure = "3cosadd", lower: bool = True
) -> list[SectionScore]:
    """Return the scores of the sections of a list of questions, in their order.

    A question counts as answered when all four words are known; with `lower`, capital and small letters are one. Agrees with
    gensim's `evaluate_word_analogies` for 3cosadd.
    """
    rows = np.array([known.rows((q.a, q.b, q.c, q.d), lower=lower) for q in questions], np.int64).reshape(-1, 4)
    answered = np.asarray((rows >= 0).all(axis=1))
    right = np.zeros(len(rows), bool)
    right[answered] = answers(known, rows[answered, :3], measure=measure) == rows[answered, 3]
    sections = list(dict.fromkeys(q.section for q in questions))
    section_of = np.array([sections.index(q.section) for q in questions], np.int64)
    return [
        SectionScore(
            name, int((section_of == s).sum()), int(answered[section_of == s].sum()), int(right[section_of == s].sum())
        )
        for s, name in enumerate(sections)
    ]


def total(scores: Sequence[SectionScore], name: str) -> SectionScore:
    """Return the score of several sections together."""
    return SectionScore(
        name, sum(s.questions for s in scores), sum(s.answered for s in scores), sum(s.right for s in scores)
    )


def is_syntactic(section: str) -> bool:
    """Whether a section of Google's questions is about grammar: its name begins with gram."""
    return section.startswith("gram")


# ------------------------------------------------------------------------------------------------------------------------
# How similar two words are by their vectors, compared with people's ratings; and the word that does not belong to others.


@dataclass(frozen=True, slots=True)
class RatedPairs:
    """Pairs of words with ratings (P,) of people, and cosines (P,) of their vectors, NaN where one has none."""

    pairs: Sequence[tuple[str, str]]
    ratings: FloatArray
    cosines: FloatArray

    @property
    def covered(self) -> int:
        """Pairs with two vectors."""
        return int(np.isfinite(self.cosines).sum())

    def correlations(self, *, level: float, seed: int) -> dict[str, tuple[float, Interval | None]]:
        """Return Spearman's rho and Pearson's r of ratings and cosines with their bootstrap intervals; NaN for under three pairs."""
        there = np.isfinite(self.cosines)
        if there.sum() < 3:
            return {"spearman": (float("nan"), None), "pearson": (float("nan"), None)}
        both = statistics(self.ratings[there], self.cosines[there])
        one = np.ones((1, int(there.sum())))
        return {
            name: (
                float(both[name](one)[0]),
                interval(both[name], np.ones(int(there.sum()), np.int64), level=level, seed=seed),
            )
            for name in ("spearman", "pearson")
        }


def cosine(first: Float32Array, second: Float32Array) -> float:
    """Return the cosine of two vectors (E,), 0 where one is zero."""
    a, b = unit_rows(np.stack([first, second])).astype(np.float64)
    return float(np.clip(a @ b, -1.0, 1.0))


def rate_pairs(
    known: WordVectors, pairs: Sequence[tuple[str, str]], ratings: FloatArray, *, lower: bool = True
) -> RatedPairs:
    """Return the cosines of pairs of words beside ratings of people; a word outside the vocabulary has the vector of its n-grams."""
    cosines = np.full(len(pairs), np.nan)
    for i, (first, second) in enumerate(pairs):
        a, b = (known.vector(word, lower=lower) for word in (first, second))
        if a is not None and b is not None:
            cosines[i] = cosine(a, b)
    return RatedPairs(pairs, ratings, cosines)


def odd_one_out(vectors: Float32Array) -> tuple[int, FloatArray]:
    """Return which of some vectors (n, E) is the least like the others, and the cosine of each with the mean of them all (n,).

    The mean is that of the vectors divided by their lengths, as in gensim's `doesnt_match`.
    """
    units = unit_rows(vectors).astype(np.float64)
    mean = units.mean(axis=0)
    length = np.linalg.norm(mean)
    cosines = units @ mean / (length if length > 0 else 1.0)
    return int(np.argmin(cosines)), cosines


# ------------------------------------------------------------------------------------------------------------------------
# Bias of word vectors: the association of two sets of words with two others, and places of words on a line between them.

EXACT = 100_000  # partitions up to which all are looked at
DRAWS = 99_999
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Weat:
    """A word embedding association test: the statistic, the effect size d, the one-sided p-value, the partitions looked at.

    association_x (n,), association_y (m,): s(w, A, B) of each word. exact: all partitions were looked at.
    """

    statistic: float
    effect_size: float
    p_value: float
    partitions: int
    exact: bool
    association_x: FloatArray
    association_y: FloatArray


def associations(words: Float32Array, a: Float32Array, b: Float32Array) -> FloatArray:
    """Return s(w, A, B) = mean_a cos(w, a) - mean_b cos(w, b) of words (n, E) with attributes (·, E), (n,)."""
    units, first, second = (unit_rows(v).astype(np.float64) for v in (words, a, b))
    return np.asarray((units @ first.T).mean(axis=1) - (units @ second.T).mean(axis=1))


def weat(x: Float32Array, y: Float32Array, a: Float32Array, b: Float32Array, *, seed: int) -> Weat:
    """Return whether target words X stand nearer to attribute words A than to B, compared with targets Y.

        statistic    Σ_x s(x, A, B) - Σ_y s(y, A, B)
        effect size  (mean_x s - mean_y s) / sd_{w ∈ X ∪ Y} s,  sd with n - 1
        p-value      share of the partitions of X ∪ Y into sets of |X| and |Y| with a statistic at least as large

    All partitions are looked at where they are 100,000 at most; else 99,999 are drawn, and the partition that is there counts
    as one more. Where all s are alike, the effect size is NaN.

    Args:
        x, y, a, b: (·, E) vectors of two words or more of the targets, one or more of the attributes.

    Source: Caliskan, Bryson & Narayanan (2017), "Semantics derived automatically from language corpora contain human-like biases",
    Science 356, supplement, p. 8 f. They count larger statistics alone, which makes p-values of 0; n - 1 as in May et al. (2019).
    """
    of_x, of_y = associations(x, a, b), associations(y, a, b)
    together = np.concatenate([of_x, of_y])
    n, N = len(of_x), len(together)
    deviation = float(together.std(ddof=1))
    alike = deviation <= _ROUNDING
    effect = float("nan") if alike else (of_x.mean() - of_y.mean()) / deviation
    observed, total = float(of_x.sum()), float(together.sum())
    number, exact = comb(N, n), comb(N, n) <= EXACT
    # Σ_x - Σ_y = 2 Σ_x - Σ of all: partitions are ordered by Σ_x
    if exact:
        sums = np.fromiter((together[list(rows)].sum() for rows in combinations(range(N), n)), np.float64, number)
        share = float((sums >= observed - _ROUNDING).mean())
    else:
        number, rng = DRAWS, np.random.default_rng(seed)
        sums = np.array([together[rng.permutation(N)[:n]].sum() for _ in range(DRAWS)])
        share = float((1 + (sums >= observed - _ROUNDING).sum()) / (DRAWS + 1))
    return Weat(2 * observed - total, float(effect), share, number, exact, of_x, of_y)


def direction(a: Float32Array, b: Float32Array) -> FloatArray:
    """Return the line from the words B to the words A (E,), of length 1: the difference of the means of vectors of length 1.

    0 where the means are equal. Source: Garg, Schiebinger, Jurafsky & Zou (2018), PNAS 115, for means of groups; Bolukbasi et al.
    (2016), §5.1, take the first principal component of differences of pairs, which has nearly this direction.
    """
    line = unit_rows(a).astype(np.float64).mean(axis=0) - unit_rows(b).astype(np.float64).mean(axis=0)
    length = np.linalg.norm(line)
    return np.asarray(line / (length if length > _ROUNDING else 1.0))


def projections(words: Float32Array, line: FloatArray) -> FloatArray:
    """Return the cosine of each word (n, E) with a line of length 1 (n,): above 0 on the side of A."""
    return np.asarray(unit_rows(words).astype(np.float64) @ line)


def pair_direction(a: Float32Array, b: Float32Array) -> FloatArray:
    """Return the first principal component of pairs around their middles (E,), on the side of A; Bolukbasi et al. (2016), §5.1.

    Args:
        a, b: (n, E), the two words of each pair.
    """
    first, second = unit_rows(a).astype(np.float64), unit_rows(b).astype(np.float64)
    middle = (first + second) / 2
    _, _, rows = np.linalg.svd(np.concatenate([first - middle, second - middle]), full_matrices=False)
    line = rows[0]
    return np.asarray(line if ((first - second) @ line).sum() >= 0 else -line)


# ------------------------------------------------------------------------------------------------------------------------
# How far words moved between two vector spaces, such as those of two periods.

LIKE = 200  # words of a similar frequency that a word is compared with


@dataclass(frozen=True, slots=True)
class Drift:
    """Words that two spaces share: cosine distance (n,) after rotation, expected (n,) for its frequency, z (n,) against words like it.

    agreement: mean cosine of all shared words after the rotation.
    """

    distance: FloatArray
    expected: FloatArray
    z: FloatArray
    agreement: float


def procrustes(first: Float32Array, second: Float32Array) -> FloatArray:
    """Return the orthogonal matrix R (E, E) that makes |first R - second| smallest: U Vᵀ of the SVD of firstᵀ second.

    Source: Schönemann (1966); Hamilton, Leskovec & Jurafsky (2016), "Diachronic Word Embeddings Reveal Statistical Laws of Semantic
    Change", ACL, §3.3. Agrees with scipy.linalg.orthogonal_procrustes.
    """
    with threadpool_limits(limits=1):
        U, _, Vt = np.linalg.svd(first.astype(np.float64).T @ second.astype(np.float64))
        return np.asarray(U @ Vt)


def drift(first: Float32Array, second: Float32Array, counts: LongArray) -> Drift:
    """Return how far shared words moved from one space to another.

    Vectors are divided by their lengths and centred, as their means differ between spaces, and the first space is rotated onto the second.
    Rare words have noisy vectors and seem to move far, so a distance is compared with those of the 200 words of the nearest
    frequency (all, of fewer): expected is their median, z = (distance - expected) / (1.4826 · median absolute deviation), 0 where
    that is 0.

    Args:
        first, second: (n, E) vectors of the shared words; counts: (n,) how sure the vectors are: the smaller count of the two.

    Source: Hamilton et al. (2016), §3.3; Artetxe, Labaka & Agirre (2016) for centring; Dubossarsky, Weinshall & Grossman (2017),
    "Outta Control", EMNLP, for frequency.
    """
    a, b = (unit_rows(v).astype(np.float64) for v in (first, second))
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    rotated = a @ procrustes(a.astype(np.float32), b.astype(np.float32))
    lengths = np.linalg.norm(rotated, axis=1) * np.linalg.norm(b, axis=1)
    cosines = (rotated * b).sum(axis=1) / np.where(lengths > 0, lengths, 1.0)
    distance = 1.0 - np.clip(cosines, -1.0, 1.0)
    expected, spread = _of_like_words(distance, counts)
    z = np.where(spread > 0, (distance - expected) / np.where(spread > 0, spread, 1.0), 0.0)
    return Drift(distance, expected, z, float(cosines.mean()))


def _of_like_words(distance: FloatArray, counts: LongArray) -> tuple[FloatArray, FloatArray]:
    """Return median and spread of the distances of the words next to each in the order of frequency (n,)."""
    n = len(distance)
    order = np.argsort(-counts, kind="stable")
    sorted_ = distance[order]
    width = min(LIKE, n)
    starts = np.clip(np.arange(n) - width // 2, 0, n - width)
    expected, spread = np.empty(n), np.empty(n)
    for i, start in enumerate(starts.tolist()):
        near = sorted_[start : start + width]
        middle = np.median(near)
        expected[order[i]], spread[order[i]] = middle, 1.4826 * np.median(np.abs(near - middle))
    return expected, spread
