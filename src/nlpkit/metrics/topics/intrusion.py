"""Intrusion tests of topics: the questions that show an intruder, and the share in which it is found.

A question shows options, each a few words; one of them, the intruder, is of another topic. Everything is drawn from a seed.

Parts, in this order:
- Questions that tell whether people see in topics what a model sees: who finds the intruder understands the topic.
- Share of questions in which people, or word vectors, find the intruder among the options of a question (see
  `intrusion_design`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.types import FloatArray, IntArray, LongArray

WORD, TOPIC, SET, RATING = "word-intrusion", "topic-intrusion", "word-set-intrusion", "rating"
KINDS = (WORD, TOPIC, SET, RATING)
RATINGS = ("not related", "somewhat related", "very related")
RATING_QUESTION = "How much are these words related to each other?"
RATING_INSTRUCTION = (
    "The words are those of one topic. Very related: you see at once what they have in common. "
    "Not related: they could as well come from anywhere."
)

WORDS_SHOWN = 5  # of the topic in a word intrusion; Chang et al. 2009
HIGH_RANK = 10  # an intruder is among so many first words of its own topic
LOW_RANK = 50  # and not among so many of the topic it is put into
TOPIC_WORDS = 8  # a topic in a topic intrusion is so many words; Chang et al. 2009
TRUE_TOPICS = 3
SETS, SET_WORDS, SET_RANK = 3, 4, 20  # Ying, Montgomery & Stewart 2022
RATED_WORDS = 10  # Newman et al. 2010
DOCUMENTS = 50  # asked about by default
TEXT_CHARS = 1000

Topics = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Document:
    """A document to ask about: probs are those of its topics, by number; a topic that is not among them has almost none."""

    id: str
    text: str
    probs: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Item:
    """One question, its options in the order shown.

    topic: that it is about, -1 for one about a document; options (O,) of words, none in a rating; answer: place of the
    intruder, -1 in a rating; option_topics (O,): where an option is from; words: shown to be rated; probs (O,): of the
    option topics in the document, 0 where not known.
    """

    topic: int
    options: tuple[tuple[str, ...], ...] = ()
    answer: int = -1
    option_topics: tuple[int, ...] = ()
    words: tuple[str, ...] = ()
    document: str = ""
    text: str = ""
    probs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Design:
    """The questions of a task in the order asked; skipped: topics that no question could be made of, and why."""

    kind: str
    seed: int
    items: tuple[Item, ...]
    skipped: Mapping[int, str]


# ---------------------------------------------------------------- questions


def design_word_intrusion(topics: Topics, *, seed: int, n_items: int | None = None) -> Design:
    """Return word intrusions (Chang et al. 2009, "Reading Tea Leaves", §3.1): the five first words of a topic and an intruder.

    The intruder is any of the words that are among the first 10 of another topic and not among the first 50 of this one
    (case aside), so that it is not rare and not of this topic.

    Args:
        topics: words of each topic, best first; more than 10 where there are more, so that intruders are truly low.
        seed: of the choice of intruders, of the order of options and of questions.
        n_items: number of questions, one a topic by default; with fewer, topics are drawn, with more, they come again
            with other intruders.

    Raises:
        InputError: no question can be made; the message tells what is missing.
        UsageError: n_items is below 1.
    """
    words = _clean(topics)
    pool: dict[str, int] = {}  # word → the topic where it is best
    for rank in range(HIGH_RANK):
        for k, ranked in enumerate(words):
            if rank < len(ranked):
                pool.setdefault(ranked[rank], k)

    def question(k: int, rng: np.random.Generator) -> Item | str:
        if len(words[k]) < WORDS_SHOWN:
            return _too_few(words[k], WORDS_SHOWN)
        excluded = {word.casefold() for word in words[k][:LOW_RANK]}
        strangers = [word for word in pool if word.casefold() not in excluded]
        if not strangers:
            return f"no other topic has a word among its first {HIGH_RANK} that this one does not have"
        intruder = strangers[rng.integers(len(strangers))]
        shown = [((word,), k) for word in words[k][:WORDS_SHOWN]]
        return _shuffled(k, [*shown, ((intruder,), pool[intruder])], rng)

    return _design(WORD, question, len(words), seed, n_items)


def design_word_sets(
    topics: Topics, weights: Sequence[Sequence[float]] | None = None, *, seed: int, n_items: int | None = None
) -> Design:
    """Return random 4-word set intrusions (R4WSI; Ying, Montgomery & Stewart 2022, "Topics, Concepts, and Measurement").

    Three sets of four words are drawn from the first 20 words of a topic, each word once, and a fourth set from those of
    another topic. Words are drawn in proportion to their weights where these are all above 0, else all alike. Unlike in the
    authors' package validateIt, no word of the fourth set is among the first 50 of the topic itself.

    Args:
        topics: words of each topic, best first, at least 12.
        weights: of these words, in the same shape; None if not known.
        seed, n_items: see `design_word_intrusion`.

    Raises:
        InputError, UsageError: see `design_word_intrusion`.
    """
    words = _clean(topics)
    needed = SETS * SET_WORDS
    weight = [_weights(topic, None if weights is None else weights[k]) for k, topic in enumerate(topics)]

    def draw(k: int, choices: list[str], n: int, rng: np.random.Generator) -> list[str]:
        p = np.array([weight[k][word] for word in choices])
        return [choices[i] for i in rng.choice(len(choices), n, replace=False, p=p / p.sum())]

    def question(k: int, rng: np.random.Generator) -> Item | str:
        if len(words[k]) < needed:
            return _too_few(words[k], needed)
        excluded = {word.casefold() for word in words[k][:LOW_RANK]}
        strangers = {
            j: candidates
            for j in range(len(words))
            if len(candidates := [word for word in words[j][:SET_RANK] if word.casefold() not in excluded]) >= SET_WORDS
        }
        if not strangers:
            return f"no other topic has {SET_WORDS} words among its first {SET_RANK} that this one does not have"
        drawn = draw(k, words[k][:SET_RANK], needed, rng)
        j = list(strangers)[rng.integers(len(strangers))]
        sets = [(tuple(drawn[i::SETS]), k) for i in range(SETS)]
        return _shuffled(k, [*sets, (tuple(draw(j, strangers[j], SET_WORDS, rng)), j)], rng)

    return _design(SET, question, len(words), seed, n_items)


def design_topic_intrusion(
    topics: Topics, documents: Sequence[Document], *, seed: int, n_items: int | None = None
) -> Design:
    """Return topic intrusions (Chang et al. 2009, §3.2): a document, its three most probable topics and an intruder.

    A topic is shown as its eight first words. The intruder is any topic that is less probable than these three in this
    document and has at most the share 1/K that falls to each of K topics by chance; the least probable one if all have more.

    Args:
        topics: words of each topic, best first.
        documents: to draw from. One of which fewer than three topics are known, or without text, is not asked about.
        seed: see `design_word_intrusion`.
        n_items: number of documents, 50 by default or all if there are fewer.

    Raises:
        InputError, UsageError: see `design_word_intrusion`.
    """
    words = [tuple(ranked[:TOPIC_WORDS]) for ranked in _clean(topics)]
    usable = [k for k, ranked in enumerate(words) if len(ranked) == TOPIC_WORDS]
    if len(usable) <= TRUE_TOPICS:
        raise InputError(
            f"a topic intrusion needs {TRUE_TOPICS + 1} topics of {TOPIC_WORDS} words or more, found {len(usable)}"
        )

    def question(d: int, rng: np.random.Generator) -> Item | str:
        document = documents[d]
        if not document.text.strip():
            return "no text"
        known = {k: p for k in usable if (p := document.probs.get(k, 0.0)) > 0}
        best = sorted(known, key=lambda k: (-known[k], k))[:TRUE_TOPICS]
        if len(best) < TRUE_TOPICS or len({words[k] for k in best}) < TRUE_TOPICS:
            return f"fewer than {TRUE_TOPICS} topics"
        others = [k for k in usable if words[k] not in {words[b] for b in best}]
        others = [k for k in others if known.get(k, 0.0) < known[best[-1]]]
        if not others:
            return "no topic is less probable than its first three"
        low = [k for k in others if known.get(k, 0.0) <= 1 / len(words)]
        intruder = low[rng.integers(len(low))] if low else min(others, key=lambda k: (known[k], k))
        item = _shuffled(-1, [*((words[k], k) for k in best), (words[intruder], intruder)], rng)
        probs = tuple(float(known.get(k, 0.0)) for k in item.option_topics)
        return Item(-1, item.options, item.answer, item.option_topics, (), document.id, shortened(document.text), probs)

    wanted = DOCUMENTS if n_items is None else n_items
    return _design(TOPIC, question, len(documents), seed, wanted, what="document", again=False)


def design_ratings(topics: Topics, *, seed: int, n_items: int | None = None) -> Design:
    """Return topics to be rated from 1 to 3 by how much their first ten words belong together (Newman et al. 2010, §4).

    Args:
        topics: words of each topic, best first.
        seed, n_items: see `design_word_intrusion`; a topic is never asked about twice.

    Raises:
        InputError, UsageError: see `design_word_intrusion`.
    """
    words = _clean(topics)

    def question(k: int, rng: np.random.Generator) -> Item | str:
        return Item(k, words=tuple(words[k][:RATED_WORDS])) if len(words[k]) > 1 else _too_few(words[k], 2)

    return _design(RATING, question, len(words), seed, n_items, again=False)


def shortened(text: str, chars: int = TEXT_CHARS) -> str:
    """Return the beginning of a text of at most `chars` characters, cut at white space where there is some."""
    text = text.strip()
    if len(text) <= chars:
        return text
    head = text[:chars]
    words = head.rsplit(maxsplit=1)
    return (words[0] if len(words) > 1 else head).rstrip() + " …"


def _design(
    kind: str,
    question: Callable[[int, np.random.Generator], Item | str],
    n: int,
    seed: int,
    n_items: int | None,
    *,
    what: str = "topic",
    again: bool = True,
) -> Design:
    """Ask about topics or documents in random order, in another one again where more questions are wanted."""
    if n_items is not None and n_items < 1:
        raise UsageError(f"a task has at least one question, not {n_items}")
    rng = np.random.default_rng(seed)
    items: list[Item] = []
    skipped: dict[int, str] = {}
    wanted = n if n_items is None else n_items
    while len(items) < wanted:
        before = len(items)
        for i in rng.permutation(n).tolist():
            if i in skipped or len(items) == wanted:
                continue
            outcome = question(i, rng)
            if isinstance(outcome, str):
                skipped[i] = outcome
            else:
                items.append(outcome)
        if n_items is None or not again or len(items) == before:
            break
    if not items:
        first = next(iter(skipped), None)
        why = f"there is no {what}" if first is None else f"{what} {first}: {skipped[first]}"
        raise InputError(f"no {kind} can be made of {n} {what}s ({why})")
    return Design(kind, seed, tuple(items), dict(sorted(skipped.items())))


def _shuffled(topic: int, options: Sequence[tuple[tuple[str, ...], int]], rng: np.random.Generator) -> Item:
    """Return the question of these options, the last of which is the intruder, in random order."""
    order = rng.permutation(len(options)).tolist()
    return Item(
        topic,
        tuple(options[i][0] for i in order),
        order.index(len(options) - 1),
        tuple(options[i][1] for i in order),
    )


def _clean(topics: Topics) -> list[list[str]]:
    """Return the words of each topic once each, without empty ones."""
    return [list(dict.fromkeys(word for word in topic if word.strip())) for topic in topics]


def _weights(topic: Sequence[str], weights: Sequence[float] | None) -> dict[str, float]:
    """Return the weight of each word, all 1 where they are not known or cannot be shares."""
    if weights is None or len(weights) != len(topic) or not all(0 < w < float("inf") for w in weights):
        return dict.fromkeys(topic, 1.0)
    return {word: float(w) for word, w in zip(reversed(topic), reversed(weights), strict=True)}


def _too_few(words: Sequence[str], needed: int) -> str:
    return f"{len(words)} word{'' if len(words) == 1 else 's'}, {needed} needed"


# ------------------------------------------------------------------------------------------------------------------------
# Share of questions in which people, or word vectors, find the intruder among the options of a question (see `intrusion_design`).


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
