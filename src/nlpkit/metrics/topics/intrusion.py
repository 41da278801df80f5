"""Intrusion tests of topics: the questions that show an intruder, and the share in which it is found.

A question shows options, each a few words; one of them, the intruder, is of another topic. Everything is drawn from a seed.

Parts, in this order:
- Questions that tell whether people see in topics what a model sees: who finds the intruder understands the topic.
- Share of questions in which people, or word vectors, find the intruder among the options of a question (see
  `intrusion_design`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.types import FloatArray, IntArray, LongArray

WORD, TOPIC, SET, RATING = "word-intrusion", "topic-intrusion", "word-set-intrusion", "rating"
GROUP, NAME = "document-intrusion", "optimal-label"
KINDS = (WORD, TOPIC, SET, GROUP, NAME, RATING)
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
GROUP_TEXTS, GROUP_CHARS = 3, 300
OTHER_NAMES = 3  # Ying, Montgomery & Stewart 2022
RATED_WORDS = 10  # Newman et al. 2010
DOCUMENTS = 50  # asked about by default
TEXT_CHARS = 1000

Topics = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Document:
    """A document to ask about: probs are those of its topics, by number; a topic that is not among them has almost none.

    topic: the one that it is assigned to, -1 for none.
    """

    id: str
    text: str
    probs: Mapping[int, float]
    topic: int = -1


@dataclass(frozen=True, slots=True)
class Item:
    """One question, its options in the order shown.

    topic: that it is about, -1 for one about a document; options (O,) of words, none in a rating; answer: place of the
    intruder or of the right name, -1 in a rating; option_topics (O,): where an option is from; words: shown to be rated; probs (O,): of the
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


def design_document_intrusion(
    n_topics: int, documents: Sequence[Document], *, seed: int, n_items: int | None = None
) -> Design:
    """Return document intrusions: three documents of a topic and an intruder, the beginning of each.

    It is a word intrusion (Chang et al. 2009) with documents for words. People judge the group itself, as in ProxAnn (Hoyle et al.
    2025), and not its words. The three are drawn from all documents assigned to the topic. The intruder is assigned to another one
    and has at most the share 1/K of this topic.

    Args:
        n_topics: K. documents: to draw from; those of one text count once.
        seed, n_items: see `design_word_intrusion`.

    Raises:
        InputError, UsageError: see `design_word_intrusion`.
    """
    groups = _by_topic(n_topics, documents)

    def question(k: int, rng: np.random.Generator) -> Item | str:
        if len(groups[k]) < GROUP_TEXTS:
            return f"{len(groups[k])} document{'' if len(groups[k]) == 1 else 's'} with different text, {GROUP_TEXTS} needed"
        others = [d for j, group in enumerate(groups) if j != k for d in group if d.probs.get(k, 0.0) <= 1 / n_topics]
        beginnings = {shortened(d.text, GROUP_CHARS) for d in groups[k]}
        others = [d for d in others if shortened(d.text, GROUP_CHARS) not in beginnings]
        if not others:
            return "no document of another topic is far enough from this one"
        members = [groups[k][i] for i in rng.choice(len(groups[k]), GROUP_TEXTS, replace=False)]
        shown = [*members, others[rng.integers(len(others))]]
        return _shuffled(k, [((shortened(d.text, GROUP_CHARS),), d.topic) for d in shown], rng)

    return _design(GROUP, question, n_topics, seed, n_items)


def design_optimal_labels(
    names: Sequence[str], documents: Sequence[Document], *, seed: int, n_items: int | None = None
) -> Design:
    """Return questions for the name of a document's topic among those of three others (Optimal Label; Ying et al. 2022).

    The document is drawn from those assigned to the topic. Here the answer is the right name, not an intruder.

    Args:
        names: of each topic, "" for none.
        documents, seed, n_items: see `design_document_intrusion`.

    Raises:
        InputError, UsageError: see `design_word_intrusion`.
    """
    groups = _by_topic(len(names), documents)

    def question(k: int, rng: np.random.Generator) -> Item | str:
        if not groups[k]:
            return "no document"
        if not names[k].strip():
            return "no name"
        others = {name.casefold(): j for j, name in enumerate(names) if name.strip()}
        del others[names[k].casefold()]
        if len(others) < OTHER_NAMES:
            return f"{len(others)} other name{'' if len(others) == 1 else 's'}, {OTHER_NAMES} needed"
        document = groups[k][rng.integers(len(groups[k]))]
        wrong = rng.choice(list(others.values()), OTHER_NAMES, replace=False).tolist()
        item = _shuffled(k, [((names[j],), j) for j in (*wrong, k)], rng)
        return replace(item, document=document.id, text=shortened(document.text))

    return _design(NAME, question, len(names), seed, n_items)


def _by_topic(n_topics: int, documents: Sequence[Document]) -> list[list[Document]]:
    """Return the documents assigned to each topic, each text once, without empty ones."""
    groups: list[dict[str, Document]] = [{} for _ in range(n_topics)]
    for document in documents:
        if document.topic >= 0 and document.text.strip():
            groups[document.topic].setdefault(shortened(document.text, GROUP_CHARS), document)
    return [list(group.values()) for group in groups]


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
    """Return the question of these options in random order; the last one is the answer."""
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
    """Return the share of right answers by topic (Chang et al. 2009, Eq. 1), in [0, 1].

        MP_k = Σ_s 1(i_ks = ω_k) / S

    Chance is 1/O with O options. The answers of several questions about a topic are taken together.

    Args:
        chosen: (I, C) option that coder c chose for item i, -1 for none.
        answers: (I,) place of the intruder, or of the right name.
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
