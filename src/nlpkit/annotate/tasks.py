"""Tasks for people: questions about the topics of a model, or about texts to be labelled, and the answers of coders."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from nlpkit.errors import InputError, unknown_value
from nlpkit.metrics.topics.intrusion import (
    GROUP,
    KINDS,
    NAME,
    RATING,
    RATING_INSTRUCTION,
    RATING_QUESTION,
    RATINGS,
    SET,
    TOPIC,
    WORD,
    Design,
    Document,
    Item,
    design_document_intrusion,
    design_optimal_labels,
    design_ratings,
    design_topic_intrusion,
    design_word_intrusion,
    design_word_sets,
)
from nlpkit.platform.types import IntArray

LABEL = "label"  # of a task about texts; those of KINDS are about topics
OF_DOCUMENTS = (TOPIC, GROUP, NAME)  # questions that show documents of a run
WITH_TEXT = (TOPIC, NAME, LABEL)  # questions about one text
_ALIASES = {"intrusion": WORD, "word": WORD, "topic": TOPIC, "word-set": SET, "group": GROUP, "label": NAME}
KIND_NAMES = {**{kind: kind for kind in KINDS}, **_ALIASES}
QUESTIONS = {
    WORD: "Which word does not belong to the others?",
    TOPIC: "Which group of words does not belong to the text?",
    SET: "Which group of words does not belong to the others?",
    GROUP: "Which text does not belong to the others?",
    NAME: "Which name fits the text?",
    RATING: RATING_QUESTION,
    LABEL: "Which label fits the text?",
}
INSTRUCTIONS = {
    WORD: "All words but one are of one topic. Choose the one that is not; if you cannot tell, choose the likeliest.",
    TOPIC: "Each group of words is a topic. All but one are topics of the text, of which you see the beginning. "
    "Choose the one that is not; if you cannot tell, choose the likeliest.",
    SET: "All groups of words but one are of one topic. Choose the one that is not; if you cannot tell, choose the likeliest.",
    GROUP: "You see the beginnings of texts. All but one are of one group. Choose the one that is not; "
    "if you cannot tell, choose the likeliest.",
    NAME: "Each option is the name of a topic. Choose the one that fits the text best; if you cannot tell, choose the likeliest.",
    RATING: RATING_INSTRUCTION,
    LABEL: "Choose the label that fits the text best. Leave the question open if none does.",
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_KEPT = 10  # words of a topic in the key


@dataclass(frozen=True, slots=True)
class Task:
    """A task: ids (I,) of its questions; mark: tells its answers from those of others; topics: name and words of each."""

    name: str
    design: Design
    ids: tuple[str, ...]
    mark: str
    topics: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def kind(self) -> str:
        """What is asked."""
        return self.design.kind

    @property
    def n_choices(self) -> int:
        """How many options a question has."""
        return len(choices(self.kind, self.design.items[0]))


def choices(kind: str, item: Item) -> tuple[str, ...]:
    """Return the options of a question as they are shown."""
    return RATINGS if kind == RATING else tuple(_CONTROL.sub(" ", ", ".join(words)) for words in item.options)


def task_of(
    name: str, design: Design, topics: Sequence[Sequence[str]], topic_names: Sequence[str] | None = None
) -> Task:
    """Return the task of a design, its questions numbered in order; the mark depends only on what coders see."""
    width = len(str(len(design.items)))
    ids = tuple(f"q{n:0{width}d}" for n in range(1, len(design.items) + 1))
    seen = [
        [id_, item.text, item.words, choices(design.kind, item)] for id_, item in zip(ids, design.items, strict=True)
    ]
    shown = json.dumps([design.kind, seen], ensure_ascii=False)
    mark = hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    names = [str(k) for k in range(len(topics))] if topic_names is None else topic_names
    kept = tuple((name_, tuple(words[:_KEPT])) for name_, words in zip(names, topics, strict=True))
    return Task(name, design, ids, mark, kept)


def label_task(name: str, documents: Sequence[tuple[str, str]], labels: Sequence[str]) -> Task:
    """Return the task to give each document (its id and text) one of two labels or more; no answer is the right one."""
    options = tuple((label,) for label in labels)
    items = tuple(Item(-1, options, document=id_, text=text) for id_, text in documents)
    return task_of(name, Design(LABEL, 0, items, {}), [])


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of C coders: chosen (I, C) place of the option, -1 for none; labels: (item, coder, text) of ratings."""

    coders: tuple[str, ...]
    chosen: IntArray
    labels: tuple[tuple[int, int, str], ...]


def task_kind(name: str) -> str:
    """Return the kind of task of a name or alias. Raises UsageError when there is none."""
    if name not in KIND_NAMES:
        raise unknown_value("kind", name, KINDS)
    return KIND_NAMES[name]


def design_task(
    kind: str,
    topics: Sequence[Sequence[str]],
    weights: Sequence[Sequence[float]] | None = None,
    documents: Sequence[Document] | None = None,
    *,
    names: Sequence[str] = (),
    n_items: int | None = None,
    seed: int = 0,
) -> Design:
    """Return the questions of a task, drawn with a seed.

    Args:
        kind: one of KINDS or an alias.
        topics: words of each topic, best first, as many as are known.
        weights: of these words; word sets are drawn by them.
        documents: needed for the kinds of OF_DOCUMENTS. names: of topics, needed for optimal-label.
        n_items: number of questions; by default one a topic, or 50 documents.

    Raises:
        UsageError: unknown kind; InputError: no question can be made.
    """
    kind = task_kind(kind)
    if kind == WORD:
        return design_word_intrusion(topics, seed=seed, n_items=n_items)
    if kind == SET:
        return design_word_sets(topics, weights, seed=seed, n_items=n_items)
    if kind == RATING:
        return design_ratings(topics, seed=seed, n_items=n_items)
    if not documents:
        raise InputError(
            f"questions of {kind} show documents with their topics, which this target does not have; name a run directory"
        )
    if kind == GROUP:
        return design_document_intrusion(len(topics), documents, seed=seed, n_items=n_items)
    if kind == NAME:
        return design_optimal_labels(names, documents, seed=seed, n_items=n_items)
    return design_topic_intrusion(topics, documents, seed=seed, n_items=n_items)
