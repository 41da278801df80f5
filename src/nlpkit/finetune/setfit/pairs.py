"""Pairs of documents for contrastive training: pair k of an epoch is computed when it is asked for, from the seed, e and k."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.classify.dataset import Labels
from nlpkit.errors import InputError
from nlpkit.platform.types import BoolArray, Float32Array, FloatArray, IntArray, LongArray

TRIES = 64  # draws of a second document before the whole list is looked through

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class SampledPairs:
    """Pairs of documents. first, second (P,) positions among the sampler's documents; similar (P,) float32, 1 or 0."""

    first: LongArray
    second: LongArray
    similar: Float32Array


class PairSampler:
    """R positive and R negative pairs for each of n documents and epoch, as many of each class (Tunstall et al. 2022, §3.1).

    The paper has R of either kind for each class; here R is of a document, as `num_iterations` of setfit, and of n documents in K
    classes each class has R·n/K, documents of rare classes more often than others. Pairs 2k and 2k+1 of an epoch have the same
    first document: in turn one of each class, of a class in an order that is another one each time round; with several labels a
    document, any in such an order. 2k is positive: its second document is any other of the same class; 2k+1 is negative: its second
    document is any of another class, all as likely. With several labels a document, positive pairs share at least one, negative none.

    - A class with a single document: it is paired with itself (`n_alone` counts them); never otherwise. A document with no label
      has no positive pair; one that shares a label with all others has no negative pair. The missing pair is replaced by one of
      the other kind (`n_one_sided` counts those documents); with none of either kind a document is left out.
    - Above `most` pairs, only the first `most` of an epoch are used: documents in random order, so each epoch has others.

    Where setfit 1.2.0 differs: it lists all n(n+1)/2 pairs, in an order that is the same for every seed, which takes O(n²) memory and
    time. The list holds each document with itself, as positive. `num_iterations`=R takes n·R positive and n·R negative pairs from
    the top of the list, again from the top when it ends; `oversampling`, its default, as many of each kind as the larger has;
    `undersampling` as many as the smaller; `unique` each pair once. So classes there weigh as their pairs, that is by the square of
    their size, and epochs repeat the same pairs; here classes weigh the same and every epoch draws anew.

    Memory and time to make it are O(n); a pair is O(1), with several labels O(J) for each draw.
    """

    def __init__(self, labels: Labels, rows: LongArray, *, R: int = 20, most: int | None = None, seed: int = 0) -> None:
        """Sample from the documents `rows` (n,), each with a known label.

        Raises:
            InputError: no two documents that a negative pair can be made of.
        """
        self.n, self._seed = len(rows), seed
        if labels.sets is None:
            self._kind: _One | _Many = _One(np.asarray(labels.targets(rows), np.int32))
        else:
            self._kind = _Many(np.asarray(labels.targets(rows), bool))
        positive, negative = self._kind.has_positive, self._kind.has_negative
        if not negative.any():
            raise InputError(
                "all training documents share a label, so no two differ; setfit needs documents of two classes"
            )
        self.n_alone, self.n_one_sided = self._kind.n_alone, int((positive != negative).sum())
        self._usable = np.flatnonzero(positive | negative)
        self._classes: list[LongArray] = []  # the documents of each class, where classes differ in size
        if labels.sets is None:
            classes = np.asarray(labels.targets(rows))
            by_class = [np.flatnonzero(classes == c) for c in np.unique(classes)]
            self._classes = by_class if len({len(c) for c in by_class}) > 1 else []
        whole = 2 * R * len(self._usable)
        self.n_pairs = whole if most is None else min(whole, most)

    def draw(self, epoch: int) -> SampledPairs:
        """Return the pairs of an epoch."""
        return self.pairs(epoch, np.arange(self.n_pairs))

    def pairs(self, epoch: int, numbers: LongArray) -> SampledPairs:
        """Return pairs k (P,) of an epoch, 0 ≤ k < n_pairs: the same ones in whatever order and company they are asked for."""
        first = np.empty(len(numbers), np.int64)
        classes = self._classes or [self._usable]
        K = len(classes)
        for c in np.unique(numbers // 2 % K).tolist():
            members, of_class = classes[c], np.flatnonzero(numbers // 2 % K == c)
            turns = numbers[of_class] // 2 // K
            rounds, place = turns // len(members), turns % len(members)
            for r in np.unique(rounds).tolist():
                seed = [self._seed, 17, epoch, r, *([c] if self._classes else [])]
                order = np.random.default_rng(seed).permutation(len(members))
                first[of_class[rounds == r]] = members[order[place[rounds == r]]]
        similar = numbers % 2 == 0
        similar = np.where(similar, self._kind.has_positive[first], ~self._kind.has_negative[first])
        key = np.random.SeedSequence([self._seed, 19, epoch]).generate_state(1, np.uint64)[0]
        second = np.empty(len(numbers), np.int64)
        for wanted in (True, False):
            chosen = np.flatnonzero(similar == wanted)
            second[chosen] = self._kind.partners(first[chosen], wanted, key, numbers[chosen])
        return SampledPairs(first, second, similar.astype(np.float32))


class _One:
    """Documents with one class each: sorted by class, so that a class is a range and the others are the rest."""

    def __init__(self, codes: IntArray) -> None:
        self._order = np.argsort(codes, kind="stable")
        classes, code, sizes = np.unique(codes, return_inverse=True, return_counts=True)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._start, self._size = starts[code], sizes[code]
        self._place = np.empty(len(codes), np.int64)
        self._place[self._order] = np.arange(len(codes))
        self.n_alone = int((sizes == 1).sum())
        self.has_positive: BoolArray = np.ones(len(codes), bool)
        self.has_negative: BoolArray = np.full(len(codes), len(classes) > 1)

    def partners(self, first: LongArray, similar: bool, key: np.uint64, numbers: LongArray) -> LongArray:
        start, size, u = self._start[first], self._size[first], _uniform(key, numbers, 0)
        if similar:  # one of the class but the document itself, which is stepped over
            at = start + (u * np.maximum(size - 1, 1)).astype(np.int64)
            at += (at >= self._place[first]) & (size > 1)
        else:
            at = (u * (len(self._order) - size)).astype(np.int64)
            at += np.where(at >= start, size, 0)
        return np.asarray(self._order[at], np.int64)


class _Many:
    """Documents with sets of labels (n, J). A second document is drawn until it fits, then looked for among all."""

    def __init__(self, sets: BoolArray) -> None:
        self._sets, n = sets, len(sets)
        self._sizes = sets.sum(axis=0)
        self._by_label = np.nonzero(sets.T)[1]  # documents of label 0, then of label 1, …
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)])
        self._alone = sets.any(axis=1) & (np.where(sets, self._sizes, 0).max(axis=1, initial=0) == 1)
        self.n_alone = int((self._sizes == 1).sum())
        self.has_positive: BoolArray = np.asarray(sets.any(axis=1), np.bool_)
        self.has_negative: BoolArray = _has_stranger(sets) if n > 1 else np.zeros(n, np.bool_)

    def partners(self, first: LongArray, similar: bool, key: np.uint64, numbers: LongArray) -> LongArray:
        partner = np.where(self._alone[first], first, -1) if similar else np.full(len(first), -1)
        for t in range(TRIES):
            todo = np.flatnonzero(partner < 0)
            if not len(todo):
                break
            d = first[todo]
            tried = self._draw(d, similar, key, numbers[todo], t)
            shared = (self._sets[d] & self._sets[tried]).sum(axis=1)
            fits = shared > 0 if similar else shared == 0
            if similar:  # drawn by label: as likely as labels it shares, so one in as many is kept
                fits &= _uniform(key, numbers[todo], 3 * t + 2) * np.maximum(shared, 1) < 1
            fits &= tried != d
            partner[todo[fits]] = tried[fits]
        for i in np.flatnonzero(partner < 0).tolist():
            d = first[i]
            fits = (self._sets & self._sets[d]).any(axis=1) == similar
            fits[d] = False
            all_of = np.flatnonzero(fits)
            partner[i] = all_of[int(_uniform(key, numbers[i : i + 1], 3 * TRIES)[0] * len(all_of))]
        return partner

    def _draw(self, first: LongArray, similar: bool, key: np.uint64, numbers: LongArray, t: int) -> LongArray:
        u = _uniform(key, numbers, 3 * t)
        if not similar:
            return np.asarray((u * len(self._sets)).astype(np.int64))
        # a label with a probability of its size among the document's, then any document with it: by the cumulated sizes
        sizes = np.where(self._sets[first], self._sizes, 0)
        ends = np.cumsum(sizes, axis=1)
        at = (u * ends[:, -1]).astype(np.int64)
        label = (ends <= at[:, None]).sum(axis=1)
        at -= np.take_along_axis(ends - sizes, label[:, None], 1)[:, 0]
        return np.asarray(self._by_label[self._starts[label] + at], np.int64)


def _has_stranger(sets: BoolArray) -> BoolArray:
    """Return whether there is a document that shares no label, for each document of sets (n, J), (n,).

    Most find one among 256 documents from all over; the others are compared with each set of labels that occurs.
    """
    probe = sets[np.linspace(0, len(sets) - 1, min(len(sets), 256)).astype(np.int64)].astype(np.float32)
    _, firsts, which = np.unique(np.packbits(sets, axis=1), axis=0, return_index=True, return_inverse=True)
    distinct = sets[firsts].astype(np.float32)
    has_stranger = np.zeros(len(distinct), np.bool_)
    for start in range(0, len(distinct), 4096):
        has_stranger[start : start + 4096] = (distinct[start : start + 4096] @ probe.T == 0).any(axis=1)
    left = np.flatnonzero(~has_stranger)
    for start in range(0, len(left), 4096):
        undecided = left[start : start + 4096]
        for other in range(0, len(distinct), 4096):
            has_stranger[undecided] |= (distinct[undecided] @ distinct[other : other + 4096].T == 0).any(axis=1)
            undecided = undecided[~has_stranger[undecided]]
            if not len(undecided):
                break
    return np.asarray(has_stranger[which.reshape(-1)], np.bool_)


def _uniform(key: np.uint64, numbers: LongArray, draw: int) -> FloatArray:
    """Return uniforms in [0, 1) of pairs' numbers (P,), float64: SplitMix64 (Steele et al. 2014) at the counter key + pair·draws."""
    with np.errstate(over="ignore"):
        z = key + (numbers.astype(np.uint64) * np.uint64(4 * TRIES) + np.uint64(draw + 1)) * _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return np.asarray((z >> np.uint64(11)).astype(np.float64) * 2.0**-53)
