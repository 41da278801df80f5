"""Phrases: found by how often two terms stand together, or given, and joined to one term (new york → new_york)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.metrics.association import log_likelihood, npmi, pmi
from nlpkit.platform.kernels.idtable import IdTable, insert_all, new_table
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray
from nlpkit.text.kernels.ngrams import count_pairs, join_phrases, spell_ngrams
from nlpkit.text.vocab import EncodedBatch

PhraseMeasure = Literal["npmi", "pmi", "llr"]
# 10.83: the pairs that chance alone makes this uneven once in a thousand (χ², one degree of freedom)
THRESHOLDS: dict[PhraseMeasure, float] = {"npmi": 0.5, "pmi": 3.0, "llr": 10.83}
MIN_COUNT = 5
MAX_BETWEEN = 2
PASSES = 2
SEPARATOR = "_"


@dataclass(frozen=True, slots=True)
class PhraseSpec:
    """The criterion for phrases: pairs with a score of at least `threshold` that occur at least `min_count` times."""

    measure: PhraseMeasure
    threshold: float
    min_count: int = MIN_COUNT


def parse_phrases(text: str) -> PhraseSpec:
    """Return what measure[:threshold[:min_count]] asks for: "npmi:0.5", "pmi:3", "llr:10.83:10", "npmi".

    Raises:
        UsageError: another measure, no number, NPMI outside [-1, 1], or a count below 1.
    """
    name, *rest = text.strip().split(":")
    measure = next((m for m in get_args(PhraseMeasure) if m == name.lower()), None)
    if measure is None or len(rest) > 2:
        raise UsageError(
            f"`phrases` '{text}': give MEASURE:THRESHOLD[:MIN_COUNT] such as npmi:0.5, pmi:3 or llr:10.83:10"
        )
    try:
        threshold = float(rest[0]) if rest else THRESHOLDS[measure]
        min_count = int(rest[1]) if len(rest) > 1 else MIN_COUNT
    except ValueError:
        raise UsageError(
            f"`phrases` '{text}': '{':'.join(rest)}' is not a threshold and a whole number; example: {measure}:"
            f"{THRESHOLDS[measure]:g}:{MIN_COUNT}"
        ) from None
    if not np.isfinite(threshold) or (measure == "npmi" and not -1 <= threshold <= 1):
        raise UsageError(
            f"`phrases` '{text}': the threshold is {rest[0]}; NPMI lies in -1 … 1, other measures are finite"
        )
    if min_count < 1:
        raise UsageError(f"`phrases` '{text}': a phrase occurs at least once, the least count is {min_count}")
    return PhraseSpec(measure, threshold, min_count)


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Counts of M pairs (x, y), each (M,) or a number.

    n_xy: occurrences of the pair; n_x, n_y: of its terms among n_tokens tokens; before_x: pairs that begin with x; after_y:
    pairs that end with y; n_pairs: all pairs.
    """

    n_xy: LongArray
    n_x: LongArray
    n_y: LongArray
    n_tokens: int
    before_x: LongArray
    after_y: LongArray
    n_pairs: int


def score_pairs(measure: PhraseMeasure, counts: PairCounts) -> FloatArray:
    """Return the association of each pair (M,).

        PMI(x, y)  = ln(P(x, y) / (P(x) P(y))),   NPMI(x, y) = PMI(x, y) / -ln P(x, y)   in [-1, 1]
        LLR(x, y)  = ± 2 Σ_ij O_ij ln(O_ij / E_ij)

    PMI and NPMI (lecture; Bouma 2009) take P(x) = n_x/N and P(x, y) = n_xy/N with the number of tokens N, as
    gensim's npmi_scorer does; N stands for the pairs, too, so that P(x, y) ≤ P(x) and NPMI ≤ 1. LLR is G² (Dunning 1993) of
    the 2 × 2 table of all pairs, x first or not by y second or not, negative where the pair is rarer than by chance.
    """
    if not len(counts.n_xy):
        return np.zeros(0)
    if measure == "llr":
        return log_likelihood(counts.n_xy, counts.before_x, counts.after_y, counts.n_pairs)
    return (pmi if measure == "pmi" else npmi)(counts.n_xy, counts.n_x, counts.n_y, counts.n_tokens)


@dataclass(frozen=True, slots=True)
class PhraseTable:
    """Phrases (M,) in the order they are joined: all of level 1 first, then those of level 2, which may hold joined ones.

    parts: the terms of each at its level (new_york, times), words: their words (new, york, times); levels: ascending from 1;
    scores: NaN, counts: -1 for phrases that were given; measure: npmi, pmi, llr or given.
    """

    parts: tuple[tuple[str, ...], ...] = ()
    words: tuple[tuple[str, ...], ...] = ()
    levels: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    measure: str = "given"

    @classmethod
    def from_words(cls, phrases: Iterable[Sequence[str]]) -> PhraseTable:
        """Return the table of given phrases, each a sequence of terms; those of fewer than two terms are one already."""
        parts = tuple(dict.fromkeys(tuple(p) for p in phrases if len(p) > 1))
        M = len(parts)
        return cls(parts, parts, (1,) * M, (float("nan"),) * M, (-1,) * M)

    def __len__(self) -> int:
        """M."""
        return len(self.parts)

    @property
    def phrases(self) -> list[str]:
        """(M,) the joined terms."""
        return [SEPARATOR.join(p) for p in self.parts]

    def bind(self, terms: Sequence[str]) -> BoundPhrases:
        """Return the phrases ready to be joined in documents whose term ids are places in `terms` (V,)."""
        return BoundPhrases(self, terms)


class BoundPhrases:
    """Phrases over a finished vocabulary: `apply` joins them, `terms` are those of the result.

    A phrase gets a new id after the V given ones, or that of a term which is written like it already (new_york in the
    text and new york joined are one term). Phrases with a word that the vocabulary does not have cannot occur.
    """

    def __init__(self, table: PhraseTable, terms: Sequence[str]) -> None:
        ids = {term: i for i, term in enumerate(terms)}
        self._trees: list[_Tree] = []
        names = table.phrases
        for level in sorted(set(table.levels)):
            here = [m for m in range(len(table)) if table.levels[m] == level and all(p in ids for p in table.parts[m])]
            n_terms = len(ids)
            joined = [ids.setdefault(names[m], len(ids)) for m in here]
            if here:
                self._trees.append(_Tree([[ids[p] for p in table.parts[m]] for m in here], joined, n_terms))
        self.terms: tuple[str, ...] = tuple(ids) if len(ids) > len(terms) else tuple(terms)

    def apply(self, batch: EncodedBatch) -> EncodedBatch:
        """Return the batch with one id for each phrase: level by level, from the left, the longest at each place.

        A term id below 0 is a gap: it stays, and no phrase holds it.
        """
        for tree in self._trees:
            batch = tree.apply(batch)
        return batch


class _Tree:
    """The phrases of one level, see `join_phrases`."""

    def __init__(self, phrases: list[list[int]], joined: list[int], n_terms: int) -> None:
        lengths = np.array([len(p) for p in phrases])
        words = np.full((len(phrases), lengths.max()), -1, np.int64)
        for row, phrase in zip(words, phrases, strict=True):
            row[: len(phrase)] = phrase
        nodes = np.empty(len(phrases), np.int32)
        self._table: IdTable = insert_all(new_table(4 * len(phrases)), -1 - words[:, 0], nodes)
        self._begins: IntArray = np.full(n_terms, -1, np.int32)
        self._begins[words[:, 0]] = nodes
        for at in range(1, words.shape[1]):
            longer = np.flatnonzero(lengths > at)
            children = np.empty(len(longer), np.int32)
            keys = (nodes[longer].astype(np.int64) << 32) | words[longer, at]
            self._table = insert_all(self._table, keys, children)
            nodes[longer] = children
        self._joined: IntArray = np.full(self._table.size[0], -1, np.int32)
        self._joined[nodes] = joined

    def apply(self, batch: EncodedBatch) -> EncodedBatch:
        # a phrase takes the place of its terms: no document grows
        offsets, ids = np.empty(len(batch.offsets), np.int64), np.empty(len(batch.term_ids), np.int32)
        join_phrases(self._table, self._joined, self._begins, batch.offsets, batch.term_ids, offsets, ids)
        return EncodedBatch(offsets, ids[: offsets[-1]].copy())


class PhraseCounter:
    """Counts terms and pairs of neighbours in batches over a finished vocabulary, and finds the phrases among them.

    A pair is two neighbours in a document; connectors (of, the) between two other terms join them to a longer one (bank of
    america), at most `max_between`, and neither begin nor end one. A term id below 0 is a gap that no pair spans.

    Args:
        terms: (V,) the vocabulary.
        connectors: terms that may only stand inside a phrase.
        frequent: (V,) pairs of other terms are not kept, which saves memory where they cannot reach a least count.
        max_between: connectors between two terms of a pair.
    """

    def __init__(
        self,
        terms: Sequence[str],
        *,
        connectors: Set[str] = frozenset(),
        frequent: BoolArray | None = None,
        max_between: int = MAX_BETWEEN,
    ) -> None:
        V = len(terms)
        self._terms = terms
        self._connects = np.fromiter((t in connectors for t in terms), np.bool_, V)
        self._frequent = np.ones(V, np.bool_) if frequent is None else frequent
        self._max_between = max_between
        self._table: IdTable = new_table(1024)
        self._counts: LongArray = np.zeros(len(self._table.keys), np.int64)
        self._cf, self._before, self._after = (np.zeros(V, np.int64) for _ in range(3))

    def count(self, batch: EncodedBatch) -> None:
        """Count the terms and pairs of a batch."""
        self._cf += np.bincount(batch.term_ids[batch.term_ids >= 0], minlength=len(self._cf))
        self._table, self._counts = count_pairs(
            self._table, self._counts, batch.offsets, batch.term_ids, self._connects, self._frequent, self._max_between,
            self._before, self._after,
        )  # fmt: skip

    def find(self, spec: PhraseSpec) -> tuple[list[tuple[str, ...]], FloatArray, LongArray]:
        """Return the phrases as terms (M), their scores (M,) and counts (M,), highest score first, then in order of appearance.

        See `score_pairs` for the measures.
        """
        size = int(self._table.size[0])
        ids = np.flatnonzero(self._counts[:size] >= spec.min_count)
        # two terms, and what connects them
        words, lengths = np.empty((len(ids), self._max_between + 2), np.int32), np.empty(len(ids), np.int64)
        no_stems = self._table.keys[:0]
        spell_ngrams(no_stems, self._table.keys, ids, 2, words, lengths)
        x, y = words[:, 0], words[np.arange(len(ids)), lengths - 1]
        counts = PairCounts(
            n_xy=self._counts[ids], n_x=self._cf[x], n_y=self._cf[y], n_tokens=int(self._cf.sum()),
            before_x=self._before[x], after_y=self._after[y], n_pairs=int(self._before.sum()),
        )  # fmt: skip
        scores = score_pairs(spec.measure, counts)
        best = np.flatnonzero(scores >= spec.threshold)
        best = best[np.argsort(-scores[best], kind="stable")]
        phrases = [tuple(self._terms[w] for w in words[m, : lengths[m]].tolist()) for m in best]
        return phrases, scores[best], counts.n_xy[best]


def find_phrases(
    read: Callable[[], Iterable[EncodedBatch]],
    terms: Sequence[str],
    spec: PhraseSpec,
    *,
    cf: LongArray | None = None,
    connectors: Set[str] = frozenset(),
    passes: int = PASSES,
) -> PhraseTable:
    """Return the phrases of a corpus: those found in it, then those found in it with the former joined, and so on.

    Two passes give phrases of up to four words. Agrees with gensim's Phrases(scoring="npmi", connector_words) applied as often,
    except: a score equal to the threshold suffices; at most MAX_BETWEEN connectors stand between two words; nothing is pruned
    while counting; a phrase of words that are connectors alone does not exist.

    Args:
        read: returns the batches of the corpus from the start, as often as it is called (once a pass).
        terms: (V,) the vocabulary of the batches.
        spec: which pairs are phrases.
        cf: (V,) occurrences of the terms; with them rare terms need no memory.
        connectors: terms that may stand only inside a phrase.
        passes: how often phrases are looked for.
    """
    table = PhraseTable(measure=spec.measure)
    words: dict[str, tuple[str, ...]] = {}
    for level in range(1, passes + 1):
        bound = table.bind(terms)
        frequent = None
        if cf is not None:  # joining only takes occurrences away; what was joined is frequent
            frequent = np.ones(len(bound.terms), np.bool_)
            frequent[: len(terms)] = cf >= spec.min_count
            frequent[[i for i, t in enumerate(terms) if t in words]] = True
        counter = PhraseCounter(bound.terms, connectors=connectors, frequent=frequent)
        for batch in read():
            counter.count(bound.apply(batch))
        new_parts, scores, counts = counter.find(spec)
        if not new_parts:
            break
        spelled = tuple(tuple(w for part in parts for w in words.get(part, (part,))) for parts in new_parts)
        words |= {SEPARATOR.join(parts): flat for parts, flat in zip(new_parts, spelled, strict=True)}
        table = PhraseTable(
            table.parts + tuple(new_parts),
            table.words + spelled,
            table.levels + (level,) * len(new_parts),
            table.scores + tuple(scores.tolist()),
            table.counts + tuple(counts.tolist()),
            spec.measure,
        )
    return table
