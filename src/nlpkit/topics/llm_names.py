"""Names of topics by a language model: what it is asked, how its answer is read, and whether its evidence is in the documents."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 60
CHARACTERS_A_TOKEN = 4
SYSTEM = (
    "You name topics of a corpus. Answer with one JSON object and nothing else: "
    '{"name": "...", "evidence": "..."}. The name is a noun phrase of two to five words in the language of the documents, as '
    "specific as the documents allow. The evidence is a passage of three to fifteen words, copied letter by letter from one of the "
    "documents, that shows what the topic is about."
)


@dataclass(frozen=True, slots=True)
class TopicSource:
    """What a language model is shown of a topic: top words, and typical documents (texts)."""

    topic: int
    words: Sequence[str]
    documents: Sequence[str]


@dataclass(frozen=True, slots=True)
class NameAnswer:
    """A name with the passage that speaks for it, or why the answer cannot be used."""

    name: str = ""
    evidence: str = ""
    problem: str = ""


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has: four characters each, but one for each character beyond Latin letters."""
    wide = sum(ord(character) > 0x2FF for character in text)
    return wide + -(-(len(text) - wide) // CHARACTERS_A_TOKEN)


def fitted_documents(documents: Sequence[str], budget: int) -> list[str]:
    """Return the beginnings of documents that together have at most `budget` tokens; short ones leave more to the others."""
    texts = [" ".join(text.split()) for text in documents]
    left, kept = budget, [""] * len(texts)
    for place, i in enumerate(sorted(range(len(texts)), key=lambda i: (len(texts[i]), i))):
        share = left // (len(texts) - place)
        text = texts[i]
        while text and estimated_tokens(text) > share:
            text = text[: max(int(len(text) * share / estimated_tokens(text)) - 1, 0)]
        kept[i] = text
        left -= estimated_tokens(text)
    return [text for text in kept if text]


def messages_for(
    source: TopicSource, taken: Sequence[str], *, budget: int, complaint: str = ""
) -> list[dict[str, str]]:
    """Return the messages that ask for the name of a topic.

    Args:
        taken: names that other topics have. budget: tokens of the documents. complaint: what was wrong with the answer before.
    """
    parts = [f"Most distinctive words: {', '.join(source.words)}"]
    documents = fitted_documents(source.documents, budget)
    parts += [f"Document {number}: {text}" for number, text in enumerate(documents, start=1)]
    if taken:
        parts.append(f"Names that are taken: {'; '.join(taken)}")
    if complaint:
        parts.append(f"Your last answer could not be used: {complaint}. Answer again.")
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "\n\n".join(parts)}]


def read_answer(text: str, source: TopicSource, taken: Sequence[str]) -> NameAnswer:
    """Return the name and the evidence of an answer; its `problem` says why it cannot be used.

    The name must be new, and the evidence must stand in one of the documents, or in the words where there are no documents; capitals,
    quotation marks and white space do not count.
    """
    enclosed = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        answer = json.loads(enclosed[0]) if enclosed else None
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("name"), str):
        return NameAnswer(problem="it is not the JSON object that was asked for")
    name = " ".join(answer["name"].split()).strip(" .\"'")
    evidence = answer["evidence"] if isinstance(answer.get("evidence"), str) else ""
    if not name:
        return NameAnswer(problem="the name is empty")
    if len(name) > LONGEST:
        return NameAnswer(problem=f"the name is longer than {LONGEST} characters")
    if name.casefold() in {other.casefold() for other in taken}:
        return NameAnswer(problem=f"the name '{name}' is taken")
    shown = [_plain(text) for text in (source.documents or [" ".join(source.words)])]
    passage = _plain(evidence)
    if len(passage) < 3 or not any(passage in text for text in shown):
        return NameAnswer(problem="the evidence is not a passage of the documents")
    return NameAnswer(name, " ".join(evidence.split()))


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[\"'“”„‘’«»]", "", text).casefold().split()).strip(" .…")
