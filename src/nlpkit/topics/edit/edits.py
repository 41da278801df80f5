"""Edits of topics after a fit, as plain data: what is wanted, which topics it means, and what these become.

Parts, in this order:
- Topics of one fit found again in another, by their words.
- The edits themselves, from a person's words to new topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.types import FloatArray, IntArray, LongArray
from nlpkit.platform.wording import listed

JUDGEMENTS = ("understood", "mixed", "junk")  # of a person who read the documents of a topic
LEAST_SHARED = 0.3  # of the words of a topic
SAME_NUMBER, SAME_NAME = 0.02, 0.05  # less than one word of ten: they decide between topics that share as many words


@dataclass(frozen=True, slots=True)
class TopicWords:
    """A topic as people know it: its name and its top words, best first."""

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """The topic of a fit that another topic is, and how many of so many words they share."""

    topic: int
    shared: int
    words: int


def match_topics(known: Mapping[int, TopicWords], present: Sequence[TopicWords]) -> dict[int, Match]:
    """Return which topic of a fit each known one is, by number; those that share less than three in ten words are none.

    Each topic is one at most: the pairs are those of the greatest sum of shares of common words (Kuhn & Munkres); the number and
    the name decide where words do not.
    """
    numbers = list(known)
    shared = np.array(
        [[len({*known[n].words} & {*topic.words}) for topic in present] for n in numbers], np.float64
    ).reshape(len(numbers), len(present))
    words = np.array([[max(min(len(known[n].words), len(t.words)), 1) for t in present] for n in numbers]).reshape(
        shared.shape
    )
    share = shared / words
    bonus = np.array(
        [
            [SAME_NUMBER * (n == k) + SAME_NAME * (known[n].name == t.name) for k, t in enumerate(present)]
            for n in numbers
        ]
    ).reshape(shared.shape)
    likely = share >= LEAST_SHARED
    rows, columns = scipy.optimize.linear_sum_assignment(np.where(likely, share + bonus, 0.0), maximize=True)
    return {
        numbers[i]: Match(int(k), int(shared[i, k]), int(words[i, k]))
        for i, k in zip(rows, columns, strict=True)
        if likely[i, k]
    }


# ------------------------------------------------------------------------------------------------------------------------
# Edits of topics after a fit, as plain data: what is wanted, which topics of a run it means, and what the topics are then.

Reference: TypeAlias = int | str  # a topic by its number or its name


@dataclass(frozen=True, slots=True)
class Edits:
    """What is to be done to the topics of a run, in the order in which it is done.

    merge: topics that become one, which has the number of the first. split: into how many parts. drop: topics whose documents
    have none afterwards. reduce: the number of topics that is left when the most similar pairs are merged. max_outliers: share of
    the documents that may be without a topic; the others go to their nearest one. stop_words: terms that describe no topic.
    pin: topics that `reduce` leaves alone and that keep their names. reorder: topics that come first, or all by size.
    hide: all topics that reports do not list, None: as before. judgements: one of JUDGEMENTS by topic, "" for none any more; notes
    alike. open: what coders disagree on, by topic. coder: who decided.
    topics: the topics that the numbers mean, by the numbers. by_people: whether a person chose the names.
    """

    merge: tuple[tuple[Reference, ...], ...] = ()
    split: tuple[tuple[Reference, int], ...] = ()
    drop: tuple[Reference, ...] = ()
    reduce: int | None = None
    max_outliers: float | None = None
    stop_words: tuple[str, ...] = ()
    rename: tuple[tuple[Reference, str], ...] = ()
    pin: tuple[Reference, ...] = ()
    reorder: tuple[Reference, ...] | Literal["size"] = ()
    hide: tuple[Reference, ...] | None = None
    judgements: tuple[tuple[Reference, str], ...] = ()
    notes: tuple[tuple[Reference, str], ...] = ()
    open: tuple[tuple[Reference, tuple[str, ...]], ...] = ()
    coder: str = ""
    topics: Mapping[int, TopicWords] = field(default_factory=dict)
    by_people: bool = True


def edits_from_words(
    merge: Iterable[str],
    rename: Iterable[str],
    reduce: int | None,
    split: Iterable[str] = (),
    hide: Iterable[str] = (),
) -> Edits:
    """Return edits that are written in a few words: topics that become one as 6,8, a name as 0=Prices, parts as 4 or 4=3.

    Raises:
        UsageError: they are written in another way.
    """
    groups = []
    for text in merge:
        numbers = [part.strip() for part in text.split(",")]
        if len(numbers) < 2 or not all(number.isdecimal() for number in numbers):
            raise UsageError(f"`merge={text}`: write the numbers of two topics or more, such as 6,8", parameter="merge")
        groups.append(tuple(map(int, numbers)))
    names = []
    for text in rename:
        number, _, name = (part.strip() for part in text.partition("="))
        if not number.isdecimal() or not name:
            raise UsageError(f"`rename={text}`: write a topic and its name, such as 0=Prices", parameter="rename")
        names.append((int(number), name))
    parts = []
    for text in split:
        number, equals, n = (part.strip() for part in text.partition("="))
        if not number.isdecimal() or (equals and not n.isdecimal()) or int(n or 2) < 2:
            raise UsageError(
                f"`split={text}`: write a topic, such as 4 for two parts, or 4=3 for three", parameter="split"
            )
        parts.append((int(number), int(n or 2)))
    hidden = [number.strip() for text in hide for number in text.split(",")]
    if not all(number.isdecimal() for number in hidden):
        raise UsageError(f"`hide={','.join(hidden)}`: write the numbers of topics, such as 7,9", parameter="hide")
    return Edits(
        merge=tuple(groups), rename=tuple(names), reduce=reduce, split=tuple(parts),
        hide=tuple(map(int, hidden)) if hidden else None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class EditPlan:
    """Edits in numbers of the topics of a run.

    moved: topics of the file that have another number here. skipped: what does not apply, a sentence each.
    """

    merge: tuple[tuple[int, ...], ...] = ()
    split: Mapping[int, int] = field(default_factory=dict)
    drop: frozenset[int] = frozenset()
    reduce: int | None = None
    max_outliers: float | None = None
    stop_words: tuple[str, ...] = ()
    rename: Mapping[int, str] = field(default_factory=dict)
    pin: frozenset[int] = frozenset()
    reorder: tuple[int, ...] | Literal["size"] = ()
    hide: tuple[int, ...] | None = None
    judgements: Mapping[int, str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    moved: Mapping[int, Match] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic after an edit: sources (numbers in the run, the one whose number it keeps first), and which part of a split one it is."""

    sources: tuple[int, ...]
    part: int = 0
    is_split: bool = False
    is_pinned: bool = False


def plan_edits(edits: Edits, present: Sequence[TopicWords], *, file: str, run: str) -> EditPlan:
    """Return edits in numbers of the topics that are present.

    A topic that the file describes is the one here that shares most of its words, whatever its number is; another number or name
    must be there as it is.

    Args:
        present: the topics of the run, by number. file, run: their names in messages.

    Raises:
        InputError: a topic that neither the file nor the run knows, or edits that contradict each other.
    """
    reader = _References(edits, present, file, run)
    merge = tuple(group for topics in edits.merge if len(group := reader.group(topics)) > 1)
    split = {k: n for topic, n in edits.split if (k := reader.one("split", topic)) is not None}
    drop = [k for topic in edits.drop if (k := reader.one("drop", topic)) is not None]
    rename = [(k, name) for topic, name in edits.rename if (k := reader.one("rename", topic)) is not None]
    pin = [k for topic in edits.pin if (k := reader.one("pin", topic)) is not None]
    reorder: tuple[int, ...] | Literal["size"] = "size"
    if edits.reorder != "size":
        reorder = tuple(k for topic in edits.reorder if (k := reader.one("reorder", topic)) is not None)
    hide = None
    if edits.hide is not None:
        hide = tuple(k for topic in edits.hide if (k := reader.one("hide", topic)) is not None)
    judged = [(k, text) for topic, text in edits.judgements if (k := reader.one("judgements", topic)) is not None]
    noted = [(k, text) for topic, text in edits.notes if (k := reader.one("notes", topic)) is not None]
    undecided = [
        f"topic {k} is open ({'; '.join(texts)})"
        for topic, texts in edits.open
        if (k := reader.one("open", topic)) is not None
    ]
    moved = {
        number: match for number, match in reader.matches.items() if number in reader.used and match.topic != number
    }
    plan = EditPlan(
        merge, split, frozenset(drop), edits.reduce, edits.max_outliers, edits.stop_words, dict(rename), frozenset(pin),
        reorder, hide, dict(judged), dict(noted), moved, (*reader.skipped, *undecided),
    )  # fmt: skip
    named = (
        ("drop", drop), ("rename", [k for k, _ in rename]), ("pin", pin), ("reorder", reorder), ("hide", hide or ()),
        ("judgements", [k for k, _ in judged]), ("notes", [k for k, _ in noted]),
    )  # fmt: skip
    for name, topics in named:
        twice = _repeated(topics) if topics != "size" else None
        if twice is not None:
            raise InputError(f"{file}: '{name}' names topic {twice} twice", parameter="edits")
    _check(plan, len(present), file)
    return plan


class _References:
    """The topics of a run that a file of edits names."""

    def __init__(self, edits: Edits, present: Sequence[TopicWords], file: str, run: str) -> None:
        self.known, self.present, self.file, self.run = edits.topics, present, file, run
        self.matches = match_topics(edits.topics, present)
        self.used: set[int] = set()
        self.skipped: list[str] = []

    def one(self, edit: str, topic: Reference) -> int | None:
        """Return the number of a topic here, None where it is not here, which is noted."""
        number = topic if isinstance(topic, int) else self._numbered(topic)
        if number in self.known:
            self.used.add(number)
            if number in self.matches:
                return self.matches[number].topic
            words = " ".join(self.known[number].words[:5])
            self.skipped.append(f"{edit} of topic {number} ({words}): no topic of {self.run} has these words")
            return None
        if isinstance(topic, int) and 0 <= topic < len(self.present):
            return topic
        names = [t.name for t in self.present]
        if topic in names:
            return names.index(str(topic))
        known = (
            f"its topics are 0 to {len(names) - 1}"
            if isinstance(topic, int)
            else f"its names are {listed(names, 8, between='; ')}"
        )
        what = f"topic {topic}" if isinstance(topic, int) else f"a topic '{topic}'"
        raise InputError(
            f"{self.file}: '{edit}' names {what}, which {self.run} does not have; {known}", parameter="edits"
        )

    def group(self, topics: Sequence[Reference]) -> tuple[int, ...]:
        """Return the topics of a merge that are here; a single one is no merge, which is noted."""
        if len(topics) < 2:
            raise InputError(
                f"{self.file}: 'merge' has a group of one topic; a merge takes two or more", parameter="edits"
            )
        here = tuple(k for topic in topics if (k := self.one("merge", topic)) is not None)
        if len(set(here)) < len(here):
            raise InputError(
                f"{self.file}: 'merge' names topic {_repeated(here)} twice in one group", parameter="edits"
            )
        if len(here) == 1:
            self.skipped.append(f"merge of {listed(topics, 10)}: only topic {here[0]} is in {self.run}")
        return here

    def _numbered(self, name: str) -> int:
        """Return the number that the file gives a name, -1 for none."""
        return next((number for number, topic in self.known.items() if topic.name == name), -1)


def _repeated(topics: Sequence[int] | str) -> int | None:
    """Return the first topic that is there twice."""
    seen: set[int] = set()
    for topic in topics:
        if topic in seen:
            return int(topic)
        seen.add(int(topic))
    return None


def _check(plan: EditPlan, K: int, file: str) -> None:
    """Raise InputError where edits contradict each other."""

    def refuse(topic: int, first: str, second: str, hint: str = "") -> InputError:
        return InputError(f"{file}: topic {topic} is both {first} and {second}{hint}", parameter="edits")

    group_of: dict[int, int] = {}
    for number, group in enumerate(plan.merge):
        for topic in group:
            if topic in group_of:
                whole = list(dict.fromkeys([*plan.merge[group_of[topic]], *group]))
                raise InputError(f"{file}: topic {topic} is in two merges; combine them: {whole}", parameter="edits")
            group_of[topic] = number
    for topic in sorted(group_of):
        if topic in plan.drop:
            raise refuse(topic, "merged", "dropped")
        if topic in plan.split:
            raise refuse(topic, "merged", "split", "; split the merged topic in a second edit")
    for topic in sorted(plan.pin):
        if topic in plan.drop or topic in plan.split or topic in group_of:
            raise refuse(
                topic, "pinned", "dropped" if topic in plan.drop else "split" if topic in plan.split else "merged"
            )
    for topic in sorted(plan.split):
        if topic in plan.drop:
            raise refuse(topic, "split", "dropped")
        if topic in plan.rename:
            raise refuse(topic, "split", "renamed", "; name its parts in a second edit")
    for topic in sorted(plan.rename):
        if topic in plan.drop:
            raise refuse(topic, "renamed", "dropped")
    for topic in sorted(plan.hide or ()):
        if topic in plan.drop:
            raise refuse(topic, "hidden", "dropped")
        if topic in plan.split:
            raise refuse(topic, "hidden", "split", "; hide its parts in a second edit")
    for group in plan.merge:
        names = {plan.rename[topic] for topic in group if topic in plan.rename}
        if len(names) > 1:
            raise InputError(f"{file}: topics {list(group)} become one, and have several new names: "
                f"{listed(sorted(names), 3, between=' and ')}",
                             parameter="edits")  # fmt: skip
    if plan.reorder != "size":
        placed: dict[int, int] = {}
        for topic in plan.reorder:
            if topic in plan.drop:
                raise refuse(topic, "reordered", "dropped")
            number = group_of.get(topic, -1)
            if number >= 0 and placed.setdefault(number, topic) != topic:
                raise InputError(
                    f"{file}: topics {placed[number]} and {topic} become one; list only one of them in 'reorder'",
                    parameter="edits",
                )
    left = K - len(plan.drop) - sum(len(group) - 1 for group in plan.merge)
    if left < 1:
        raise InputError(f"{file}: no topic would be left; keep one", parameter="edits")
    if plan.reduce is not None and plan.reduce <= len(plan.pin) and plan.reduce < left:
        pinned = f"there are {len(plan.pin)} pinned topics and {left - len(plan.pin)} others"
        raise InputError(f"{file}: 'reduce = {plan.reduce}' is too few, {pinned}", parameter="edits")


def new_topics(plan: EditPlan, K: int) -> tuple[list[NewTopic], IntArray]:
    """Return the topics after merges and drops, and which of them each topic of the run becomes (K,), -1 for dropped ones.

    A topic that is to be split is one here.
    """
    head = {topic: group for group in plan.merge for topic in group}
    topics: list[NewTopic] = []
    place: dict[int, int] = {}
    into = np.full(K, -1, np.int32)
    for k in range(K):
        if k in plan.drop:
            continue
        group = head.get(k, (k,))
        if group[0] not in place:
            place[group[0]] = len(topics)
            topics.append(NewTopic(group, is_split=k in plan.split, is_pinned=k in plan.pin))
        into[k] = place[group[0]]
    return topics, into


def joined_topics(topics: Sequence[NewTopic], into: IntArray) -> list[NewTopic]:
    """Return the topics that `into` (K,) makes of topics; the first of each keeps its number."""
    joined: list[NewTopic] = []
    for k in range(int(into.max(initial=-1)) + 1):
        members = sorted((topics[i] for i in np.flatnonzero(into == k).tolist()), key=lambda topic: topic.part > 0)
        sources = tuple(dict.fromkeys(source for member in members for source in member.sources))
        is_split = any(member.is_split for member in members)
        joined.append(replace(members[0], sources=sources, is_split=is_split))
    return joined


def new_numbers(topics: Sequence[NewTopic], size: LongArray | FloatArray, reorder: Sequence[int] | str) -> IntArray:
    """Return the number of each topic (K,), a permutation of 0 … K - 1.

    A topic keeps the number of its first source if that is under K; the numbers that are free then go to those whose number is
    not, in their order, and to further parts of split topics, the largest first. `reorder`: sources whose topics come first, the
    others follow as they stand; or "size".

    Args:
        size: (K,) documents of each topic.
    """
    K = len(topics)
    if reorder == "size":
        rank = np.empty(K, np.int32)
        rank[np.lexsort((np.arange(K), -np.asarray(size)))] = np.arange(K, dtype=np.int32)
        return rank
    rank = np.full(K, -1, np.int32)
    free = set(range(K))
    for i, topic in enumerate(topics):
        if topic.part == 0 and topic.sources[0] in free:
            rank[i] = topic.sources[0]
            free.discard(topic.sources[0])
    left = [i for i in range(K) if rank[i] < 0]
    left.sort(key=lambda i: (topics[i].part > 0, topics[i].sources[0] if topics[i].part == 0 else -size[i], i))
    for i, number in zip(left, sorted(free), strict=True):
        rank[i] = number
    first = [next(i for i, t in enumerate(topics) if source in t.sources and t.part == 0) for source in reorder]
    order = [*dict.fromkeys(first), *(i for i in np.argsort(rank).tolist() if i not in first)]
    rank[order] = np.arange(K, dtype=np.int32)
    return rank


def names_after(
    topics: Sequence[NewTopic], plan: EditPlan, labels: Sequence[str], generated: Sequence[str]
) -> Iterator[str]:
    """Yield the name that each topic keeps or is given, "" where its words name it anew.

    A topic of one topic of the run keeps its name, unless words of it may be stop words now; of a merge or a run with new stop words
    a name stays that someone gave.

    Args:
        labels: names of the topics of the run; generated: those that their words would give them: another was given by someone.
    """
    for topic in topics:
        renamed = [plan.rename[source] for source in topic.sources if source in plan.rename]
        source = topic.sources[0]
        is_same = len(topic.sources) == 1 and not plan.stop_words
        if renamed:
            yield renamed[0]
        elif topic.is_pinned or (not topic.is_split and (is_same or labels[source] != generated[source])):
            yield labels[source]
        else:
            yield ""


def review_after(
    topics: Sequence[tuple[Sequence[int], bool]], plan: EditPlan, before: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what people say of the topics of a run: `hidden` (numbers), `judgements` and `notes` (by number).

    A topic of several has the judgement of the first that has one, and all their notes. A judgement of a topic that was split says
    nothing of its parts.

    Args:
        topics: (K,) the topics of the run before that each is made of, and whether it is a part. before: the same of that run.
    """
    judgements, notes = ({int(k): v for k, v in before.get(name, {}).items()} for name in ("judgements", "notes"))
    judgements, notes = {**judgements, **plan.judgements}, {**notes, **plan.notes}
    hidden = set(before.get("hidden", ()) if plan.hide is None else plan.hide)
    now: dict[str, Any] = {"hidden": [], "judgements": {}, "notes": {}}
    for k, (sources, is_part) in enumerate(topics):
        judged = [judgements[s] for s in sources if judgements.get(s)]
        if judged and not is_part:
            now["judgements"][str(k)] = judged[0]
        noted = " / ".join(dict.fromkeys(notes[s] for s in sources if notes.get(s)))
        if noted:
            now["notes"][str(k)] = noted
        if hidden.intersection(sources[:1]) or (plan.hide is not None and hidden.intersection(sources)):
            now["hidden"].append(k)
    return {name: value for name, value in now.items() if value}
