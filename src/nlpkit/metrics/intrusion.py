"""Share of questions in which people, or word vectors, find the intruder among the options of a question (see `intrusion_design`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nlpkit.metrics.intrusion_design import Item
from nlpkit.types import FloatArray, IntArray, LongArray


def model_precision(chosen: IntArray, answers: IntArray, groups: IntArray | LongArray, n_groups: int) -> FloatArray:
    """Return the share of answers that name the intruder, by topic (Chang et al. 2009, Eq. 1), in [0, 1].

        MP_k = Σ_s 1(i_ks = ω_k) / S

    Chance is 1/O with O options. The answers of several questions about a topic are taken together.

    Args:
        chosen: (I, C) option that coder c chose for item i, -1 for none.
        answers: (I,) place of the intruder.
        groups: (I,) topic of each item (or the item itself).
        n_groups: K.

    Returns:
        (K,); NaN for a topic without answers.
    """
    answered = chosen >= 0
    right = answered & (chosen == np.asarray(answers)[:, None])
    total = np.bincount(groups, weights=answered.sum(axis=1), minlength=n_groups)
    hits = np.bincount(groups, weights=right.sum(axis=1), minlength=n_groups)
    return np.asarray(np.divide(hits, total, out=np.full(n_groups, np.nan), where=total > 0))


def topic_log_odds(chosen: IntArray, answers: IntArray, probs: FloatArray, *, floor: float) -> FloatArray:
    """Return how much likelier than the intruder the model holds what coders took for it (Chang et al. 2009, Eq. 2).

        TLO_d = Σ_s (ln θ_d,j* - ln θ_d,j_s) / S,   j* the intruder, j_s the choice of coder s

    0 when all found the intruder, the more below 0 the more probable the topics that they took for it.

    Args:
        chosen: (I, C) option chosen, -1 for none.
        answers: (I,) place of the intruder.
        probs: (I, O) probability of the topic of each option in the document.
        floor: taken for a probability below it. Models give 0, or leave small ones out, where the logarithm has no bound.

    Returns:
        (I,); NaN for a document without answers.
    """
    logs = np.log(np.maximum(probs, floor))
    rows = np.arange(len(chosen))
    answered = chosen >= 0
    gap = logs[rows, answers][:, None] - logs[rows[:, None], np.where(answered, chosen, 0)]
    total = np.where(answered, gap, 0.0).sum(axis=1)
    counts = answered.sum(axis=1)
    return np.asarray(np.divide(total, counts, out=np.full(len(chosen), np.nan), where=counts > 0))


# ---------------------------------------------------------------- intruders found by word vectors


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
