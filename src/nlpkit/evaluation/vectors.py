"""Scores of topics by vectors of their words: coherence, and the intruder that vectors find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nlpkit import wording
from nlpkit.evaluation.results import TargetResult
from nlpkit.evaluation.topics import TopicSet
from nlpkit.metrics.intrusion import automatic_precision
from nlpkit.metrics.intrusion_design import design_word_intrusion
from nlpkit.metrics.score import METRICS, Score, Uncertainty, mean_score
from nlpkit.metrics.word_vectors import Kind, embedding_coherence
from nlpkit.types import BoolArray, Float32Array

ITEMS_PER_TOPIC = 10


def words_of_topics(targets: Sequence[TopicSet]) -> list[str]:
    """Return all words of the topics of some targets, sorted."""
    return sorted({word for target in targets for topic in target.topics for word in topic})


def add_vector_scores(
    results: Sequence[TargetResult],
    targets: Sequence[TopicSet],
    names: Sequence[str],
    vectors: Float32Array,
    known: BoolArray,
    source: str,
    n: int,
    uncertainty: Uncertainty,
) -> None:
    """Add scores by vectors to the results.

    Args:
        vectors, known: (V, E), (V,) of `words_of_topics(targets)`: their vectors, and whether a word has one.
        source: what the vectors are, for the definition of the scores.
        n: number of top words.
    """
    words = words_of_topics(targets)
    place = {word: i for i, word in enumerate(words)}
    of_word = {word: vectors[i].astype(np.float64) for word, i in place.items() if known[i]}
    for result, target in zip(results, targets, strict=True):
        ids = np.full((len(target.topics), n), -1, np.int32)
        for k, topic in enumerate(target.topics):
            row = [place[word] for word in topic[:n]]
            ids[k, : len(row)] = row
        unknown = sorted({words[i] for i in ids[ids >= 0] if not known[i]})
        if unknown:
            result.facts["words_without_vector"] = unknown
            result.notes.append(f"{len(unknown):,} words have no vector: {wording.listed(unknown, 8)}")
        parameters: dict[str, Any] = {"vectors": source, "top_n": [n]}
        for name in names:
            if name == "intruder_found":
                result.add(_intruder_score(target, of_word, source, uncertainty))
                continue
            kind: Kind = "pairwise" if name == "we_pairwise" else "centroid"
            values = embedding_coherence(ids, vectors, known, kind=kind)
            why = "no topic has two words with a vector"
            result.add(mean_score(METRICS[name], values, uncertainty, parameters=parameters, why=why))


def _intruder_score(target: TopicSet, vectors: dict[str, Any], source: str, uncertainty: Uncertainty) -> Score:
    """Ask the questions of word intrusion of the vectors: each topic several times, with other intruders."""
    K = len(target.topics)
    design = design_word_intrusion(target.topics, seed=uncertainty.seed, n_items=K * ITEMS_PER_TOPIC)
    share, _ = automatic_precision(design.items, vectors)
    values = np.full(K, np.nan)
    values[: len(share)] = share
    parameters = {"vectors": source, "questions": len(design.items), "seed": uncertainty.seed, "chance": 1 / 6}
    why = "no question could be made: topics need 5 words, and others that they do not share"
    return mean_score(METRICS["intruder_found"], values, uncertainty, parameters=parameters, why=why)
