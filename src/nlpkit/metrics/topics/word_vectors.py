"""The scores of topics by vectors of their words: coherence, interpretability, and the intruder that vectors find.

Parts, in this order:
- Topic coherence by word vectors: how near the words of a topic are to each other.
- The intruder that word vectors find among the options of a question.
- The scores, added to a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nlpkit.errors import InputError
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.intervals import Statistic, mean_of
from nlpkit.metrics.results import TargetResult
from nlpkit.metrics.score import Score, Uncertainty, mean_score, statistic_score
from nlpkit.metrics.topics.diversity import unique_share_of
from nlpkit.metrics.topics.intrusion import Item, design_word_intrusion
from nlpkit.metrics.topics.topics import TopicSet
from nlpkit.platform import wording
from nlpkit.platform.types import BoolArray, Float32Array, FloatArray, IntArray

Kind = Literal["pairwise", "centroid"]


def embedding_coherence(
    topic_ids: IntArray, vectors: Float32Array, known: BoolArray, *, kind: Kind = "pairwise"
) -> FloatArray:
    """Return the coherence of each topic (K,), in [-1, 1]; NaN for a topic of under two words with a vector.

    With e_i the vector of word i of a topic, of length 1, and m words that have one:

        pairwise  1 / (m (m - 1)) Σ_{i ≠ j} e_i · e_j      the mean cosine of all pairs
        centroid  1 / m Σ_i e_i · c,  c = Σ_i e_i / |Σ_i e_i|   the mean cosine with the centre; 0 if that is 0

    Words without a vector, or with one of zeros, are left out.

    Args:
        topic_ids: (K, n) int32 words of each topic, -1 for none.
        vectors: (W, E) float32, a row per word.
        known: (W,) whether a word has a vector.

    Raises:
        InputError: a vector that is used has a value that is not finite.

    Source: Fang, Macdonald, Ounis & Habel (2016); Ding, Nallapati & Xiang (2018), §3, WETC. The formulas of OCTIS 1.14 are
    these, but its WECoherencePairwise divides by the pairs of all words, known or not; its WECoherenceCentroid is a mean
    distance (1 - cosine, less is better) from the centre of vectors of any length; and both divide a vector by the sum of
    its components, which turns it round if that is negative.
    """
    scores = np.full(len(topic_ids), np.nan)
    for k, row in enumerate(topic_ids):
        ids = row[row >= 0]
        words = vectors[ids[known[ids]]].astype(np.float64)
        if not np.isfinite(words).all():
            raise InputError("word vectors hold values that are not finite; make them again, or leave those words out")
        lengths = np.linalg.norm(words, axis=1)
        units = words[lengths > 0] / lengths[lengths > 0, None]
        m = len(units)
        if m < 2:
            continue
        total = np.linalg.norm(units.sum(axis=0))
        # Σ_{i ≠ j} e_i · e_j = |Σ e_i|² - m, and Σ e_i · c = |Σ e_i|
        score = (total**2 - m) / (m * (m - 1)) if kind == "pairwise" else total / m
        scores[k] = np.clip(score, -1.0, 1.0)
    return scores


def interpretability_of(topic_ids: IntArray, c_in: FloatArray, c_ex: FloatArray) -> Statistic:
    """Return sqrt(d sqrt(C_in C_ex)) of weighted topics, in [0, 1]; NaN where a coherence is below 0 or of no topic.

    d is the share of different words among the top words of topics of a weight above 0, C_in and C_ex the means of a coherence
    that each topic has by vectors from the corpus and from elsewhere. It is for a jackknife, as `unique_share_of`.

    Args:
        topic_ids: (K, n) int32 words of each topic, -1 for none.
        c_in, c_ex: (K,), NaN for a topic without.

    Source: Kardos et al. (2025), "S³ – Semantic Signal Separation", ACL, and scripts/s3_paper of x-tabdeveloping/topic-benchmark.
    """
    share, inside, outside = unique_share_of(topic_ids), mean_of(c_in), mean_of(c_ex)

    def statistic(weights: FloatArray) -> FloatArray:
        a, b = inside(weights), outside(weights)
        coherence = np.sqrt(np.where((a >= 0) & (b >= 0), a * b, np.nan))
        return np.asarray(np.sqrt(share(weights) * coherence), np.float64)

    return statistic


# ------------------------------------------------------------------------------------------------------------------------
# Intruders found by word vectors.


def detect_intruders(options: Sequence[Sequence[Sequence[str]]], vectors: Mapping[str, FloatArray]) -> IntArray:
    """Return the option least like the others (I,), by word vectors; -1 where fewer than three options have a vector.

        intruder = argmin_o Σ_{p ≠ o} cos(v_o, v_p),   v of an option: mean of the unit vectors of its words

    Lau, Newman & Baldwin (2014, "Machine Reading Tea Leaves", §4) train an SVM that ranks words by association features
    counted in a reference corpus; this is the variant with embeddings, which needs neither training nor a corpus. Of equal
    options the first is taken.

    Args:
        options: the options of each item, each a list of words.
        vectors: word → (E,) vector; words without one, or with zeros, do not count.
    """
    intruders = np.full(len(options), -1, np.int32)
    for i, item in enumerate(options):
        rows = [_option_vector(words, vectors) for words in item]
        known = [o for o, row in enumerate(rows) if row is not None]
        if len(known) < 3:
            continue
        units = np.stack([row for row in rows if row is not None])
        cosines = np.einsum("oe,pe->op", units, units)
        np.fill_diagonal(cosines, 0.0)
        intruders[i] = known[int(cosines.sum(axis=1).argmin())]
    return intruders


def automatic_precision(items: Sequence[Item], vectors: Mapping[str, FloatArray]) -> tuple[FloatArray, IntArray]:
    """Return the share of a topic's items whose intruder the vectors find (K,), and how many could be asked (K,).

    An item counts where three options and its intruder have a vector. K is one more than the highest topic of the items.

    Args:
        items: word or word-set intrusions.
        vectors: see `detect_intruders`.

    Returns:
        share, NaN for a topic without an item that counts; items that count.
    """
    detected = detect_intruders([item.options for item in items], vectors)
    asked = [
        i
        for i, item in enumerate(items)
        if detected[i] >= 0 and _option_vector(item.options[item.answer], vectors) is not None
    ]
    K = max((item.topic for item in items), default=-1) + 1
    topics = np.array([items[i].topic for i in asked], np.int64)
    right = np.array([detected[i] == items[i].answer for i in asked], np.float64)
    total = np.bincount(topics, minlength=K)
    hits = np.bincount(topics, weights=right, minlength=K)
    share = np.divide(hits, total, out=np.full(K, np.nan), where=total > 0)
    return share, total.astype(np.int32)


def _option_vector(words: Sequence[str], vectors: Mapping[str, FloatArray]) -> FloatArray | None:
    """Return the mean of the unit vectors of words, of length 1; None if none has one."""
    rows = [np.asarray(vectors[word], np.float64) for word in words if word in vectors]
    units = [row / norm for row in rows if (norm := float(np.linalg.norm(row))) > 0]
    if not units:
        return None
    mean = np.mean(units, axis=0)
    norm = float(np.linalg.norm(mean))
    return np.asarray(mean / norm) if norm > 0 else None


# ------------------------------------------------------------------------------------------------------------------------
# Scores of topics by vectors of their words: coherence, interpretability, and the intruder that vectors find.

ITEMS_PER_TOPIC = 10
OF_CORPUS = ("c_in", "interpretability")  # which need vectors that are trained on the corpus
NO_PAIR = "no topic has two words with a vector"


@dataclass(frozen=True, slots=True)
class WordVectors:
    """Vectors (W, E) float32 of all words of some topics (W,), whether a word has one (W,), and what the vectors are."""

    words: Sequence[str]
    rows: Float32Array
    known: BoolArray
    source: Mapping[str, Any]

    def ids(self, target: TopicSet, n: int) -> IntArray:
        """Return the first n words of each topic as (K, n) int32, -1 for none."""
        place = {word: i for i, word in enumerate(self.words)}
        ids = np.full((len(target.topics), n), -1, np.int32)
        for k, topic in enumerate(target.topics):
            row = [place[word] for word in topic[:n]]
            ids[k, : len(row)] = row
        return ids

    def coherence(self, ids: IntArray, kind: Kind = "pairwise") -> FloatArray:
        """Return the coherence of each topic (K,)."""
        return embedding_coherence(ids, self.rows, self.known, kind=kind)

    def unknown(self, ids: IntArray) -> list[str]:
        """Return the words without a vector."""
        return sorted({self.words[i] for i in ids[ids >= 0] if not self.known[i]})


def words_of_topics(targets: Sequence[TopicSet]) -> list[str]:
    """Return all words of the topics of some targets, sorted."""
    return sorted({word for target in targets for topic in target.topics for word in topic})


def add_vector_scores(
    result: TargetResult,
    target: TopicSet,
    names: Sequence[str],
    external: WordVectors | None,
    internal: WordVectors | None,
    n: int,
    uncertainty: Uncertainty,
) -> None:
    """Add scores by vectors to a result.

    Args:
        external: vectors from elsewhere, None if none of the scores needs them.
        internal: vectors that were trained on the reference of the target, for the scores of OF_CORPUS, which are left out without.
        n: number of top words.
    """
    coherence: dict[str, FloatArray] = {}
    top: dict[str, Any] = {"top_n": [n]}
    if external is not None:
        ids = external.ids(target, n)
        coherence["we_pairwise"] = external.coherence(ids)
        unknown = external.unknown(ids)
        if unknown:
            result.facts["words_without_vector"] = unknown
            result.notes.append(f"{len(unknown):,} words have no vector: {wording.listed(unknown, 8)}")
    if internal is not None:
        ids = internal.ids(target, n)
        coherence["c_in"] = internal.coherence(ids)
        unknown = internal.unknown(ids)
        if unknown:
            result.notes.append(f"{len(unknown):,} words are not in the corpus of c_in: {wording.listed(unknown, 8)}")
    for name in names:
        if name in OF_CORPUS and internal is None:
            continue
        if name == "interpretability":
            assert external is not None
            assert internal is not None
            about = {"external": dict(external.source), "internal": dict(internal.source), **top}
            score = _interpretability(ids, coherence["c_in"], coherence["we_pairwise"], uncertainty, about)
        elif name == "c_in":
            assert internal is not None
            score = mean_score(
                METRICS[name], coherence[name], uncertainty, parameters={**internal.source, **top}, why=NO_PAIR
            )
        elif name == "intruder_found":
            assert external is not None
            score = _intruder_score(target, external, uncertainty)
        else:
            assert external is not None
            values = coherence[name] if name in coherence else external.coherence(external.ids(target, n), "centroid")
            score = mean_score(METRICS[name], values, uncertainty, parameters={**external.source, **top}, why=NO_PAIR)
        result.add(score)


def _interpretability(
    ids: IntArray, c_in: FloatArray, c_ex: FloatArray, uncertainty: Uncertainty, parameters: Mapping[str, Any]
) -> Score:
    """Return the interpretability of the topics that have words, with the interval of a jackknife, as diversity has it."""
    full = (ids >= 0).any(axis=1)
    statistic = interpretability_of(ids[full], c_in[full], c_ex[full])
    why = "C_in or C_ex is below 0, or of no topic"
    return statistic_score(
        METRICS["interpretability"], statistic, np.ones(int(full.sum()), np.int64), uncertainty, over="topics",
        parameters=parameters, why=why, jackknife=True,
    )  # fmt: skip


def _intruder_score(target: TopicSet, vectors: WordVectors, uncertainty: Uncertainty) -> Score:
    """Ask the questions of word intrusion of the vectors: each topic several times, with other intruders."""
    K = len(target.topics)
    of_word = {w: vectors.rows[i].astype(np.float64) for i, w in enumerate(vectors.words) if vectors.known[i]}
    design = design_word_intrusion(target.topics, seed=uncertainty.seed, n_items=K * ITEMS_PER_TOPIC)
    share, _ = automatic_precision(design.items, of_word)
    values = np.full(K, np.nan)
    values[: len(share)] = share
    parameters = {**vectors.source, "questions": len(design.items), "seed": uncertainty.seed, "chance": 1 / 6}
    why = "no question could be made: topics need 5 words, and others that they do not share"
    return mean_score(METRICS["intruder_found"], values, uncertainty, parameters=parameters, why=why)
