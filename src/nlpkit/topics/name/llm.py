"""Names of topics by a language model: what it is asked, how its answer is read, and whether its evidence is in the documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nlpkit.platform.llm_options import Messages, conversation, fitted_documents, json_object

LONGEST = 60
SYSTEM = (
    "You name topics of a corpus. Answer with one JSON object and nothing else: "
    '{"name": "...", "evidence": "..."}. The name is a noun phrase of two to five words in the language of the documents, as '
    "specific as the documents allow. The evidence is a passage of three to fifteen words, copied letter by letter from one of the "
    "documents, that shows what the topic is about."
)


@dataclass(frozen=True, slots=True)
class TopicSource:
    """What a language model is shown of a topic: top words, typical documents (texts), and what is said of the topics around it."""

    topic: int
    words: Sequence[str]
    documents: Sequence[str]
    around: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class NameAnswer:
    """A name with the passage that speaks for it, or why the answer cannot be used."""

    name: str = ""
    evidence: str = ""
    problem: str = ""


def messages_for(source: TopicSource, taken: Sequence[str], *, budget: int, complaint: str = "") -> Messages:
    """Return the messages that ask for the name of a topic.

    Args:
        taken: names that other topics have. budget: tokens of the documents. complaint: what was wrong with the answer before.
    """
    parts = [f"Most distinctive words: {', '.join(source.words)}", *source.around]
    documents = fitted_documents(source.documents, budget)
    parts += [f"Document {number}: {text}" for number, text in enumerate(documents, start=1)]
    if taken:
        parts.append(f"Names that are taken: {'; '.join(taken)}")
    return conversation(SYSTEM, parts, complaint)


def read_answer(text: str, source: TopicSource, taken: Sequence[str]) -> NameAnswer:
    """Return the name and the evidence of an answer; its `problem` says why it cannot be used.

    The name must be new, and the evidence must stand in one of the documents, or in the words where there are no documents; capitals,
    quotation marks and white space do not count.
    """
    answer = json_object(text)
    if answer is None or not isinstance(answer.get("name"), str):
        return NameAnswer(problem="it is not the JSON object that was asked for")
    name = " ".join(answer["name"].split()).strip(" .\"'")
    evidence = answer.get("evidence")
    if not name:
        return NameAnswer(problem="the name is empty")
    if len(name) > LONGEST:
        return NameAnswer(problem=f"the name is longer than {LONGEST} characters")
    if name.casefold() in {other.casefold() for other in taken}:
        return NameAnswer(problem=f"the name '{name}' is taken")
    if not isinstance(evidence, str) or not evidence.strip():
        return NameAnswer(problem="there is no evidence: a passage of the documents was needed")
    shown = [_plain(text) for text in (source.documents or [" ".join(source.words)])]
    passage = _plain(evidence)
    if len(passage) < 3 or not any(passage in text for text in shown):
        return NameAnswer(problem="the evidence is not a passage of the documents")
    return NameAnswer(name, " ".join(evidence.split()))


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[\"'“”„‘’«»]", "", text).casefold().split()).strip(" .…")
