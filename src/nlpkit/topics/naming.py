"""Names of topics from their top terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from nlpkit.topics.words import share_in_topic
from nlpkit.types import CsrMatrix, IntArray
from nlpkit.weighting.ctfidf import class_tfidf, top_terms
from nlpkit.weighting.dtm import without_terms

LABEL_TERMS = 3
EXCLUSIVE_TERMS = 20


def topic_names(term_ids: IntArray, vocabulary: Sequence[str]) -> tuple[str, ...]:
    """Return a name of each topic, its first terms (see `topic_label`): three, or as many as tell it from the other topics.

    Args:
        term_ids: (K, n) terms of the topics, best first, -1 for none.
    """
    rows = [[vocabulary[t] for t in row if t >= 0] for row in term_ids]
    return unique_names(lambda k, n: topic_label(rows[k], n), len(rows), LABEL_TERMS, term_ids.shape[1])


def unique_names(name: Callable[[int, int], str], n_topics: int, shortest: int, longest: int) -> tuple[str, ...]:
    """Return name(k, n) of each topic k, n as small as tells it from the others; with its number where no n does."""
    names = [name(k, shortest) for k in range(n_topics)]
    for n in range(shortest + 1, longest + 1):
        times = Counter(names)
        names = [name(k, n) if times[of_topic] > 1 else of_topic for k, of_topic in enumerate(names)]
    times = Counter(names)
    return tuple(f"{one or 'topic'} {k}" if not one or times[one] > 1 else one for k, one in enumerate(names))


def exclusive_terms(counts: CsrMatrix, hidden: Sequence[int] = ()) -> IntArray:
    """Return the terms of highest c-tf-idf times share in the topic (K, 20): a word of all topics names none.

    Args:
        counts: (K, V) term counts of the topics. hidden: terms that name no topic.
    """
    counts = without_terms(counts, hidden) if len(hidden) else counts
    best = top_terms(class_tfidf(counts), EXCLUSIVE_TERMS)
    order = np.argsort(-best.weights * share_in_topic(best.term_ids, counts), axis=1, kind="stable")
    return np.take_along_axis(best.term_ids, order, axis=1)


def topic_label(terms: Sequence[str], n: int = LABEL_TERMS) -> str:
    """Return a name of up to n terms, best first, skipping forms of a word that is already in it.

    Two terms are forms of one word when they share a prefix of at least four letters that leaves at most three letters
    of either (rate, rates; bank, banking), or one holds the other whole with at least four letters (court, high-court).
    """
    chosen: list[str] = []
    for term in terms:
        if len(chosen) == n:
            break
        if not any(same_word(term, other) for other in chosen):
            chosen.append(term)
    return ", ".join(chosen)


def same_word(a: str, b: str) -> bool:
    """Return whether two terms are forms of one word, see `topic_label`."""
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) >= 4 and shorter in longer:
        return True
    common = 0
    while common < len(shorter) and a[common] == b[common]:
        common += 1
    return common >= 4 and len(longer) - common <= 3
