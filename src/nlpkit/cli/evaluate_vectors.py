"""Scores of topics by vectors of their words: coherence, and the intruder that vectors find."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.cli.evaluate_targets import TopicTarget
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.evaluation.results import TargetResult
from nlpkit.io.word_vectors import read_word_vectors
from nlpkit.metrics.intrusion import automatic_precision
from nlpkit.metrics.intrusion_design import design_word_intrusion
from nlpkit.metrics.score import METRICS, Uncertainty, mean_score
from nlpkit.metrics.word_vectors import Kind, embedding_coherence

ENCODER = "encoder"
ITEMS_PER_TOPIC = 10


def check_vectors(names: Sequence[str], given: str | None) -> None:
    """Refuse scores by vectors without vectors. Raises UsageError."""
    if names and given is None:
        raise UsageError(
            f"{', '.join(names)}: word vectors are needed: --vectors FILE (word2vec or GloVe text, or Parquet with term and "
            f"embedding), or --vectors {ENCODER} for those of a sentence encoder"
        )


def add_vector_scores(
    results: Sequence[TargetResult],
    targets: Sequence[TopicTarget],
    names: Sequence[str],
    given: str,
    encoder: EncoderOptions,
    n: int,
    how: Uncertainty,
    *,
    threads: int,
) -> None:
    """Add scores by vectors to the results; the words of all targets are looked up, or embedded, once.

    Raises:
        InputError: the file cannot be used; MissingError: the encoder or its extra is not there.
    """
    words = sorted({word for target in targets for topic in target.topics for word in topic})
    if given == ENCODER:
        model = encoder.load(threads)
        vectors, known = np.asarray(model.encode(words)[0], np.float32), np.ones(len(words), bool)
        what = encoder.name
    else:
        vectors, known = read_word_vectors(Path(given), words)
        what = given
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
            result.notes.append(
                f"{len(unknown):,} words have no vector: {', '.join(unknown[:8])}{' …' if len(unknown) > 8 else ''}"
            )
        parameters: dict[str, Any] = {"vectors": what, "top_n": [n]}
        for name in names:
            if name == "intruder_found":
                result.add(_intruder_score(target, of_word, what, how))
                continue
            kind: Kind = "pairwise" if name == "we_pairwise" else "centroid"
            values = embedding_coherence(ids, vectors, known, kind=kind)
            why = "no topic has two words with a vector"
            result.add(mean_score(METRICS[name], values, how, parameters=parameters, why=why))


def _intruder_score(target: TopicTarget, vectors: dict[str, Any], what: str, how: Uncertainty) -> Any:
    """Ask the questions of word intrusion of the vectors: each topic several times, with other intruders."""
    K = len(target.topics)
    design = design_word_intrusion(target.topics, seed=how.seed, n_items=K * ITEMS_PER_TOPIC)
    share, _ = automatic_precision(design.items, vectors)
    values = np.full(K, np.nan)
    values[: len(share)] = share
    parameters = {"vectors": what, "questions": len(design.items), "seed": how.seed, "chance": 1 / 6}
    why = "no question could be made: topics need 5 words, and others that they do not share"
    return mean_score(METRICS["intruder_found"], values, how, parameters=parameters, why=why)
