"""Topic coherence: how often the top words of a topic occur together, in documents or in windows.

A pair is (W', W*). Arguments are arrays of one shape: joint, the windows with both; u, those with W'; v, those with W*; and
n, the number of all windows. p(x) = x / n. Logarithms are natural. Nothing is NaN: where a measure has no value, because a
word is in no window, it is `undefined`.

Parts, in this order:
- Support of one word by another, from numbers of windows: the confirmation measures of Röder, Both & Hinneburg (2015).
- Definitions of the coherence measures: segmentation × probability × confirmation × aggregation (Röder, Both &
  Hinneburg 2015).
- Topic coherence by document co-occurrence.
- Topic coherence by windows of a reference corpus, as in Röder, Both & Hinneburg (2015).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.metrics.kernels import joint_document_counts
from nlpkit.metrics.topics.window_counts import CountArray, WindowCounts, Windows
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray

EPSILON = 1e-12  # Stevens et al. (2012), Röder et al. (2015) §3.3


def log_ratio(
    joint: CountArray,
    u: CountArray,
    v: CountArray,
    n: float,
    *,
    epsilon: float = EPSILON,
    below: float = 0.0,
    undefined: float = 0.0,
) -> FloatArray:
    """Return the log-ratio m_lr, the PMI of words: ln((p(W', W*) + ε) / (p(W') p(W*) + below)).

    ε keeps the logarithm of a pair that never meets finite. Röder et al. (2015), §3.3; gensim and Palmetto have below = 0,
    tomotopy below = ε.
    """
    result, seen = np.full(joint.shape, undefined), (u > 0) & (v > 0)
    result[seen] = np.log((joint[seen] / n + epsilon) / ((u[seen] / n) * (v[seen] / n) + below))
    return result


def normalized_log_ratio(
    joint: CountArray,
    u: CountArray,
    v: CountArray,
    n: float,
    *,
    epsilon: float = EPSILON,
    below: float = 0.0,
    undefined: float = 0.0,
) -> FloatArray:
    """Return the normalized log-ratio m_nlr, the NPMI of words with ε: m_lr / -ln(p(W', W*) + ε).

    A pair that never meets has ln(ε / p(W') p(W*)) / -ln ε, which is above -1, and the more the rarer its words are; one
    that is in all windows has -1, as ε makes a probability of more than 1. `nlpkit.metrics.topics.coherence.npmi` has neither.
    Röder et al. (2015), §3.3; gensim, Palmetto, tomotopy (below = ε).
    """
    result = log_ratio(joint, u, v, n, epsilon=epsilon, below=below, undefined=undefined)
    seen = (u > 0) & (v > 0)
    result[seen] /= -np.log(joint[seen] / n + epsilon)
    return result


def log_conditional(
    joint: CountArray, u: CountArray, v: CountArray, n: float, *, epsilon: float = EPSILON, undefined: float = 0.0
) -> FloatArray:
    """Return the log-conditional probability m_lc: ln((p(W', W*) + ε) / p(W*)).

    Röder et al. (2015), §3.3; gensim and Palmetto. Palmetto has no value for a pair with u = 0 either, and nor has this.
    """
    result, seen = np.full(joint.shape, undefined), (u > 0) & (v > 0)
    result[seen] = np.log((joint[seen] / n + epsilon) / (v[seen] / n))
    return result


def log_conditional_after(joint: CountArray, v: CountArray, n: float, *, epsilon: float = EPSILON) -> FloatArray:
    """Return tomotopy's log-conditional probability: ln(p(W', W*) / (p(W*) + ε) + ε)."""
    return np.asarray(np.log(joint / n / (v / n + epsilon) + epsilon))


def smoothed_log_conditional(joint: CountArray, v: CountArray, *, undefined: float = 0.0) -> FloatArray:
    """Return ln((D(W', W*) + 1) / D(W*)) with numbers D of windows, of documents in the paper (Mimno et al. 2011, §4)."""
    result, seen = np.full(joint.shape, undefined), v > 0
    result[seen] = np.log((joint[seen] + 1) / v[seen])
    return result


def fitelson(joint: CountArray, u: CountArray, v: CountArray, n: float, *, undefined: float = 0.0) -> FloatArray:
    """Return Fitelson's confirmation m_f (2003), in [-1, 1]: the difference over the sum of p(W' | W*) and p(W' | ¬W*).

    A conditional probability given what never happens counts as 0, as in Palmetto, so that a W* of all windows confirms
    with 1, and a W* of none with -1. Röder et al. (2015), §3.3.
    """
    with_v = np.divide(joint, v, out=np.zeros(joint.shape), where=v > 0)
    without = np.divide(u - joint, n - v, out=np.zeros(joint.shape), where=v < n)
    total = with_v + without
    result = np.full(joint.shape, undefined)
    np.divide(with_v - without, total, out=result, where=total > 0)
    return result


def cosine(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the cosine of vectors along the last axis; 0 where one of them is zero, as in Palmetto."""
    dot = (a * b).sum(axis=-1)
    lengths = np.sqrt((a * a).sum(axis=-1)) * np.sqrt((b * b).sum(axis=-1))
    result = np.zeros(dot.shape)
    np.divide(dot, lengths, out=result, where=lengths > 0)
    return result


# ------------------------------------------------------------------------------------------------------------------------
# Definitions of the coherence measures: segmentation × probability × confirmation × aggregation (Röder, Both & Hinneburg 2015).

Segmentation: TypeAlias = Literal["one_one", "one_preceding", "one_succeeding", "one_set", "one_all"]
Confirmation: TypeAlias = Literal["npmi", "pmi", "log_conditional", "fitelson"]
Unseen: TypeAlias = Literal["floor", "plus_one", "epsilon", "epsilon_both", "none"]
Absent: TypeAlias = Literal["as_asked", "dropped", "dropped_first", "zero"]


@dataclass(frozen=True, slots=True)
class CoherenceMeasure:
    """A coherence measure.

    - segmentation: which words W' are compared with which W*. one_one: all pairs of different words; one_preceding: each
      word against those before it in the list; one_succeeding: against those after it; one_set, one_all: against the sum
      of all words, or of all others (only with context vectors).
    - windows: the definition of co-occurrence, see `Windows`.
    - confirmation: how much W* supports W', see `nlpkit.metrics.topics.coherence`.
    - context_vectors: instead of the confirmation of W' by W* the cosine of their vectors of confirmations by all words
      of the topic, each to the power gamma.
    - aggregation: of the confirmations of a topic.
    - unseen: what a pair that never meets is worth. floor: -1 of NPMI, and 1 for a pair in all windows (Bouma 2009);
      plus_one: one window more (Mimno et al. 2011); epsilon: ε is added to its probability; epsilon_both: and to the
      product of the probabilities of its words (tomotopy); none: the measure is defined as it is.
    - absent: what becomes of words that are in no window. as_asked: the argument of `coherence`; dropped: they are left out
      of the topic; dropped_first: before it is cut to its top words; zero: they confirm with 0.
    - min_count: fewer windows count as none.
    - relevant_only: probabilities are shares of the windows of documents that hold a word of any topic.
    - all_pairs: the vectors hold confirmations by the words of all topics: needs plan_pairs(topics, all_pairs=True).
    - compat: the program whose scores these are; source: where the definition stands.
    """

    name: str
    segmentation: Segmentation
    windows: Windows
    confirmation: Confirmation
    unseen: Unseen
    source: str
    context_vectors: bool = False
    gamma: int = 1
    epsilon: float = EPSILON
    aggregation: Literal["mean", "median"] = "mean"
    absent: Absent = "as_asked"
    min_count: int = 1
    relevant_only: bool = False
    all_pairs: bool = False
    compat: str | None = None

    def __post_init__(self) -> None:
        if self.segmentation in ("one_set", "one_all") and not self.context_vectors:
            raise UsageError(
                f"the segmentation {self.segmentation} needs context vectors: sets of words are not counted"
            )

    @property
    def window(self) -> int | None:
        """Tokens of a window; None: the whole document."""
        return self.windows.size

    def describe(self) -> dict[str, Any]:
        """Return the definition as plain values, for JSON."""
        uses_epsilon = self.unseen in ("epsilon", "epsilon_both")
        return {
            "name": self.name,
            "segmentation": self.segmentation,
            "window": "document" if self.window is None else self.window,
            "window_rule": self.windows.rule,
            "confirmation": self.confirmation,
            "context_vectors": self.context_vectors,
            "gamma": self.gamma if self.context_vectors else None,
            "aggregation": self.aggregation,
            "unseen_pairs": self.unseen,
            "epsilon": self.epsilon if uses_epsilon else None,
            "absent_words": self.absent,
            "min_count": self.min_count,
            "relevant_documents_only": self.relevant_only,
            "vectors_over_all_topics": self.all_pairs,
            "compat": self.compat,
            "source": self.source,
        }


_RODER = "Röder, Both & Hinneburg 2015"
DEFINITIONS: dict[str, CoherenceMeasure] = {
    m.name: m
    for m in (
        CoherenceMeasure(
            "npmi", "one_one", Windows(10), "npmi", "floor", f"Bouma 2009; Lau, Newman & Baldwin 2014; {_RODER}, C_NPMI"
        ),
        CoherenceMeasure("pmi", "one_one", Windows(10), "pmi", "epsilon", f"Newman et al. 2010; {_RODER}, C_UCI"),
        CoherenceMeasure(
            "umass", "one_preceding", Windows(None), "log_conditional", "plus_one", "Mimno et al. 2011; mean, not sum"
        ),
        CoherenceMeasure("c_v", "one_set", Windows(110), "npmi", "epsilon", f"{_RODER}, C_V", context_vectors=True),
        CoherenceMeasure("c_p", "one_preceding", Windows(70), "fitelson", "none", f"{_RODER}, C_P; Fitelson 2003"),
    )
}
COMPAT = ("gensim", "octis", "palmetto", "tomotopy")


def measure(name: str, *, window: int | Literal["own"] | None = "own", compat: str | None = None) -> CoherenceMeasure:
    """Return a coherence measure by its name.

    Our own definitions (compat None), of boolean sliding windows or documents, all means over the pairs of a topic:

        npmi   one_one, window 10:  ln(p(u, v) / p(u) p(v)) / -ln p(u, v);  -1 if never together, 1 if in all windows
        pmi    one_one, window 10 (C_UCI):  ln((p(u, v) + ε) / p(u) p(v)),  ε = 1e-12
        umass  one_preceding, document:  ln((D(u, v) + 1) / D(v)),  v before u
        c_v    one_set, window 110:  the cosine of a word's vector of NPMI (with ε, as in the paper) with the sum of all
               words' vectors. It is high for words that never meet, too (their vectors are alike): prefer npmi.
        c_p    one_preceding, window 70:  Fitelson's confirmation of u by v

    Those of other programs, from the same tokens:

    - gensim (CoherenceModel of 4.4: c_npmi, c_uci, u_mass, c_v, per topic to 1e-9): ε is added to p(u, v), so that a pair
      that never meets has not -1, and one in all windows has; in windows a repeated word is forgotten too early (`Windows`).
      Words that are not in the texts are dropped before a list is cut to its top words, as if the dictionary came from the
      same texts, and no list is cut unless the first is longer than top_n; a topic without two of them is NaN (gensim: NaN
      of one, ValueError of none). Words that a topic repeats count once here.
    - octis (Coherence of 1.14): gensim's CoherenceModel with topk = 10; it raises if the first topic is shorter.
    - tomotopy (coherence.Coherence of 0.14.0: c_npmi, c_uci, u_mass, to 1e-9, c_v, in single precision there, to 1e-5), with
      all words of the plan as its `targets`: ε stands in the denominator too; windows do not see their first token, and
      documents without a target are not counted (`Windows`); unknown words are left out. Its c_v has vectors over all targets,
      so that the score of a topic depends on the other topics, and needs plan_pairs(topics, all_pairs=True). A word that only
      stands first in documents counts as unknown here. An LDAModel as its corpus lacks the words that the model removed.
    - palmetto (npmi, uci, umass, c_v, c_p; read in its source, not run): counts below 10 · window (10 for documents) are 0,
      which zeroes rare words; a pair with such a word confirms with 0 (c_p: with -1 if only W* is rare).

    Args:
        window: tokens of a window, None for the whole document, "own" for the size the measure is known with.
        compat: a program of COMPAT.

    Raises:
        UsageError: no such measure, program or window.
    """
    if name not in DEFINITIONS:
        raise unknown_value("measure", name, DEFINITIONS)
    definition = DEFINITIONS[name]
    if compat == "stm":
        raise UsageError(f"R's stm has no {name}; it has semantic_coherence and frex_exclusivity", parameter="metrics")
    if compat is not None and compat not in COMPAT:
        raise unknown_value("compat", compat, COMPAT)
    if window != "own":
        if name == "umass" and window is not None and compat not in (None, "palmetto"):
            raise UsageError(
                f"u_mass of {compat} counts documents, not windows of {window}; leave the window out",
                parameter="window",
            )
        definition = replace(definition, windows=Windows(window))
    if compat is None:
        return definition
    if compat == "palmetto":
        rare = 10 * (definition.window or 1)
        return _as_of(definition, compat, "Palmetto, dice-group/Palmetto", "boolean", absent="zero", min_count=rare)
    if name == "c_p":
        raise UsageError(f"{compat} has no c_p; it is in palmetto, and without `compat`", parameter="compat")
    if compat == "tomotopy":
        every, relevant = name == "c_v", definition.window is not None
        options: dict[str, Any] = {"absent": "dropped", "relevant_only": relevant, "all_pairs": every}
        return replace(
            _as_of(definition, compat, "tomotopy 0.14.0, Coherence", "tomotopy", **options), unseen="epsilon_both"
        )
    source = "gensim 4.4, CoherenceModel" + ("; OCTIS 1.14, Coherence" if compat == "octis" else "")
    return _as_of(definition, compat, source, "gensim", absent="dropped_first")


def _as_of(
    definition: CoherenceMeasure,
    compat: str,
    source: str,
    rule: Literal["boolean", "gensim", "tomotopy"],
    **options: Any,
) -> CoherenceMeasure:
    """Return the measure as another program has it; documents as windows are the same everywhere."""
    windows = Windows(definition.window, rule if definition.window is not None else "boolean")
    unseen: Unseen = "none" if definition.confirmation == "fitelson" else "epsilon"
    return replace(definition, windows=windows, unseen=unseen, compat=compat, source=source, **options)


# ------------------------------------------------------------------------------------------------------------------------
# Topic coherence by document co-occurrence.


@dataclass(frozen=True, slots=True)
class Postings:
    """The ascending documents of each term: indptr (V+1,), indices (nnz,) int32; n_docs D. Built once per corpus."""

    indptr: IntArray
    indices: IntArray
    n_docs: int


def postings(dtm: CsrMatrix) -> Postings:
    """Return the document lists of the terms of a document-term matrix (D, V)."""
    columns = sparse.csc_array(dtm)
    columns.sort_indices()
    return Postings(columns.indptr, columns.indices, dtm.shape[0])


def npmi_by_document(term_ids: IntArray, reference: Postings) -> FloatArray:
    """Return the mean NPMI over the pairs of top terms of each topic (K,), in [-1, 1]; nan for a topic of under two terms.

        NPMI(u, v) = ln(p(u, v) / (p(u) p(v))) / -ln p(u, v),   p by documents

    A pair that never co-occurs scores -1 (Bouma 2009), one that shares every document of the corpus 1. A term that is in
    no document scores -1 with every other.

    Args:
        term_ids: (K, n) top terms of each topic, -1 for none.
        reference: document lists of the reference corpus.
    """
    term_ids = np.ascontiguousarray(term_ids, np.int32)
    K, n = term_ids.shape
    joint = np.zeros((K, n, n), np.int64)
    joint_document_counts(term_ids, reference.indptr, reference.indices, joint)
    df = np.diagonal(joint, axis1=1, axis2=2)
    rows, columns = np.triu_indices(n, 1)
    present = (term_ids[:, rows] >= 0) & (term_ids[:, columns] >= 0)
    scores = npmi(joint[:, rows, columns], df[:, rows], df[:, columns], reference.n_docs)
    pairs = present.sum(axis=1)
    total = np.where(present, scores, 0.0).sum(axis=1)
    means: FloatArray = np.divide(total, pairs, out=np.full(K, np.nan), where=pairs > 0)
    return means


def npmi(joint: LongArray, df_u: LongArray, df_v: LongArray, n_docs: int) -> FloatArray:
    """Return NPMI of pairs from document counts, elementwise; -1 where joint is 0 and 1 where it is n_docs."""
    result = np.full(joint.shape, -1.0)
    seen = joint > 0
    p_uv = joint[seen] / n_docs
    pmi = np.log(p_uv) - np.log(df_u[seen] / n_docs) - np.log(df_v[seen] / n_docs)
    surprise = -np.log(p_uv)
    result[seen] = np.where(surprise > 0, pmi / np.where(surprise > 0, surprise, 1.0), 1.0)
    return result


# ------------------------------------------------------------------------------------------------------------------------
# Topic coherence by windows of a reference corpus, as in Röder, Both & Hinneburg (2015).
#
# m = measure("npmi", window=10)
# plan = plan_pairs(topics, all_pairs=m.all_pairs)
# counter = WindowCounter(plan, m.windows)  # fed with the reference corpus
# scores = coherence(counter.result(), m, top_n=10)

__all__ = ["CoherenceMeasure", "absent_words", "coherence", "measure"]

_BLOCK = 64  # topics whose context vectors are in memory at a time


def absent_words(counts: WindowCounts) -> list[str]:
    """Return the words of the topics that the reference corpus does not hold."""
    seen = counts.single.sum(axis=0) > 0
    return [word for word, there in zip(counts.plan.words, seen, strict=True) if not there]


def coherence(
    counts: WindowCounts, measure: CoherenceMeasure, *, top_n: int, absent: Literal["worst", "skip"] = "worst"
) -> FloatArray:
    """Return the coherence of each topic (K,); NaN for a topic of under two words, or under two usable ones.

    Of a resample that drew no document, all are NaN.

    Args:
        counts: those of `measure.windows`, of one group or of several together.
        top_n: how many words of each topic count.
        absent: what becomes of words that the reference does not hold, unless the measure says it itself. worst: they lower
            the score to the floor of the measure: -1 for npmi and c_p, ln ε for pmi, -ln(all windows) for umass; for c_v they
            add nothing to any vector and confirm with 0. skip: they are left out.

    Raises:
        InputError: the reference has no documents.
        UsageError: top_n is under two.
        ValueError: the counts are of other windows than those of the measure, or of too few pairs.
    """
    if top_n < 2:
        raise UsageError(f"coherence needs the top 2 words of a topic or more, got {top_n}", parameter="top_n")
    if counts.windows != measure.windows:
        raise ValueError(f"{measure.name} needs counts of {measure.windows}, got {counts.windows}")
    if measure.all_pairs and not counts.plan.all_pairs:
        raise ValueError(f"{measure.name} of {measure.compat} needs plan_pairs(topics, all_pairs=True)")
    counts = counts.total()
    n = float((counts.n_windows_relevant if measure.relevant_only else counts.n_windows)[0])
    if counts.n_docs == 0:
        raise InputError("the reference corpus has no documents to count words in; give one with text")
    K, width = counts.plan.topics.shape
    if counts.n_windows[0] == 0:
        return np.full(K, np.nan)
    single, joint = (np.where(a[0] >= measure.min_count, a[0], 0) for a in (counts.single, counts.joint))
    chosen = _chosen(counts.plan.topics, single > 0, measure.absent, top_n, absent)
    used = int(np.flatnonzero(chosen.any(axis=0)).max(initial=-1)) + 1
    pairs = counts.plan.topic_pairs[:, np.triu_indices(width, 1)[1] < used]
    topics, chosen = counts.plan.topics[:, :used], chosen[:, :used]
    reference = _Reference(measure, single, joint, n)
    score = _by_vectors if measure.context_vectors else _by_pairs
    scores = np.full(K, np.nan)
    for k in range(0, K, _BLOCK):
        block = slice(k, k + _BLOCK)
        values, confirmed = score(reference, topics[block], pairs[block], chosen[block])
        scores[block] = _aggregate(values, confirmed & (chosen[block].sum(axis=1) > 1)[:, None], measure.aggregation)
    return scores


def _chosen(topics: IntArray, seen: BoolArray, rule: Absent, top_n: int, absent: Literal["worst", "skip"]) -> BoolArray:
    """Return which places of the topics (K, n) count."""
    present = topics >= 0
    known: BoolArray = present & np.append(seen, False)[topics]
    if rule == "dropped_first":
        # gensim looks at the length of the first list only
        cut = len(known) > 0 and known[0].sum() > top_n
        return np.logical_and(known, known.cumsum(axis=1) <= top_n) if cut else known
    skip = rule == "dropped" or (rule == "as_asked" and absent == "skip")
    return np.logical_and(known if skip else present, np.arange(topics.shape[1]) < top_n)


@dataclass(frozen=True, slots=True)
class _Reference:
    """A measure and the counts it is applied to: single (W,), joint (P,), n windows."""

    measure: CoherenceMeasure
    single: CountArray
    joint: CountArray
    n: float

    def confirm(self, joint: CountArray, u: CountArray, v: CountArray) -> FloatArray:
        """Return how much W*, in v windows, supports W', in u windows."""
        m, n = self.measure, self.n
        below = m.epsilon if m.unseen == "epsilon_both" else 0.0
        if m.confirmation == "fitelson":
            return fitelson(joint, u, v, n, undefined=0.0 if m.absent == "zero" else -1.0)
        if m.confirmation == "log_conditional":
            if m.unseen == "plus_one":
                floor = -np.log(n)
                return np.where(u > 0, smoothed_log_conditional(joint, v, undefined=floor), floor)
            if m.unseen == "epsilon_both":
                return log_conditional_after(joint, v, n, epsilon=m.epsilon)
            return log_conditional(joint, u, v, n, epsilon=m.epsilon)
        if m.confirmation == "pmi":
            floor = np.log(m.epsilon) if m.absent == "as_asked" else 0.0
            return log_ratio(joint, u, v, n, epsilon=m.epsilon, below=below, undefined=floor)
        if m.unseen == "floor":
            return np.clip(npmi(joint, u, v, n), -1.0, 1.0)  # type: ignore[arg-type]
        values = normalized_log_ratio(joint, u, v, n, epsilon=m.epsilon, below=below)
        return np.where(joint >= n, 1.0, values) if m.compat is None else values

    def of_pair(self, pairs: IntArray, u: IntArray, v: IntArray) -> FloatArray:
        """Return the confirmations of words u by words v, given their pairs."""
        return self.confirm(self.joint[pairs], self.single[u], self.single[v])


def _by_pairs(
    reference: _Reference, topics: IntArray, pairs: IntArray, chosen: BoolArray
) -> tuple[FloatArray, BoolArray]:
    """Return confirmations (K, S) of the pairs of words of topics (K, n), and which of them count."""
    left, right = np.triu_indices(topics.shape[1], 1)
    first, second, both_chosen = topics[:, left], topics[:, right], chosen[:, left] & chosen[:, right]
    both_ways = {"one_preceding": [(second, first)], "one_succeeding": [(first, second)]}
    ways = both_ways.get(reference.measure.segmentation, [(first, second), (second, first)])
    if reference.measure.confirmation in ("npmi", "pmi"):
        ways = ways[:1]  # the other way round is worth the same
    values = np.zeros((len(ways), *both_chosen.shape))
    for way, (u, v) in zip(values, ways, strict=True):
        way[both_chosen] = reference.of_pair(pairs[both_chosen], u[both_chosen], v[both_chosen])
    return np.concatenate(list(values), axis=1), np.tile(both_chosen, len(ways))


def _by_vectors(
    reference: _Reference, topics: IntArray, pairs: IntArray, chosen: BoolArray
) -> tuple[FloatArray, BoolArray]:
    """Return cosines (K, S) of context vectors of the segments of topics (K, n), and which of them count."""
    m = reference.measure
    make = _vectors_over_all if m.all_pairs else _vectors
    vectors = make(reference, topics, pairs, chosen) ** m.gamma
    if m.segmentation in ("one_set", "one_all"):
        total = vectors.sum(axis=1, keepdims=True)
        return cosine(vectors, total if m.segmentation == "one_set" else total - vectors), chosen
    left, right = np.triu_indices(topics.shape[1], 1)
    return cosine(vectors[:, left], vectors[:, right]), chosen[:, left] & chosen[:, right]


def _vectors(reference: _Reference, topics: IntArray, pairs: IntArray, chosen: BoolArray) -> FloatArray:
    """Return vectors (K, n, n): the confirmation of each word of a topic by each; zeros for words that do not count."""
    K, n = topics.shape
    left, right = np.triu_indices(n, 1)
    k, s = np.nonzero(chosen[:, left] & chosen[:, right])
    i, j = left[s], right[s]
    vectors = np.zeros((K, n, n))
    vectors[k, i, j] = reference.of_pair(pairs[k, s], topics[k, i], topics[k, j])
    vectors[k, j, i] = reference.of_pair(pairs[k, s], topics[k, j], topics[k, i])
    k, i = np.nonzero(chosen)
    single = reference.single[topics[k, i]]
    vectors[k, i, i] = reference.confirm(single, single, single)
    return vectors


def _vectors_over_all(reference: _Reference, topics: IntArray, pairs: IntArray, chosen: BoolArray) -> FloatArray:
    """Return vectors (K, n, W): the confirmation of each word of a topic by the words of all topics, by itself with 1."""
    W = len(reference.single)
    vectors = np.zeros((*topics.shape, W))
    seen = np.flatnonzero(reference.single > 0)
    for k, i in np.argwhere(chosen):
        word = topics[k, i]
        low, high = np.minimum(seen, word), np.maximum(seen, word)
        others = seen != word
        pair_ids = (low * W - low * (low + 1) // 2 + high - low - 1)[others]
        vectors[k, i, seen[others]] = reference.of_pair(pair_ids, np.full(len(pair_ids), word), seen[others])
        vectors[k, i, word] = 1.0
    return vectors


def _aggregate(values: FloatArray, counted: BoolArray, average: Literal["mean", "median"]) -> FloatArray:
    """Return the mean or median of the values (K, S) of each topic that are given; NaN where none is."""
    n = counted.sum(axis=1)
    result = np.full(len(values), np.nan)
    if average == "mean":
        np.divide(np.where(counted, values, 0.0).sum(axis=1), n, out=result, where=n > 0)
    else:
        result[n > 0] = [np.median(row[there]) for row, there in zip(values[n > 0], counted[n > 0], strict=True)]
    return result
