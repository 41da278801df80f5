"""Labels of texts by a language model: what it is asked, and how its answer is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nlpkit.lm.questions import Messages, conversation, fitted_documents, short_answer


@dataclass(frozen=True, slots=True)
class LabelAnswer:
    """The label of a text by its place; -1 and the problem where the answer cannot be used."""

    code: int = -1
    problem: str = ""


def question_of(
    labels: Mapping[str, Sequence[str]],
    text: str,
    *,
    budget: int,
    complaint: str = "",
    examples: Sequence[tuple[str, str]] = (),
) -> Messages:
    """Return the messages that ask for the label of a text.

    Args:
        labels: with their descriptions. budget: tokens of the text, and of each example. complaint: what was wrong with the answer
            before. examples: texts with their labels.
    """
    lines = [f"- {name}" + (f": {'; '.join(described)}" if described else "") for name, described in labels.items()]
    system = (
        "You classify texts. The labels are:\n" + "\n".join(lines) + "\nAnswer with one JSON object and nothing else: "
        '{"label": "..."}. The label is the one of these that fits the text best, written exactly as it is here.'
    )

    def shown(document: str) -> str:
        return f"Text: {''.join(fitted_documents([document], budget))}"

    answered = [(shown(document), json.dumps({"label": label}, ensure_ascii=False)) for document, label in examples]
    return conversation(system, [shown(text)], complaint, answered)


def read_label(text: str, names: Sequence[str]) -> LabelAnswer:
    """Return the label that an answer names, in whatever case; its `problem` says why it cannot be used."""
    value = short_answer(text, "label")
    if value is None:
        return LabelAnswer(problem="it is not the JSON object that was asked for")
    for codes in (
        [j for j, name in enumerate(names) if name == str(value)],
        [j for j, name in enumerate(names) if name.casefold() == str(value).casefold()],
    ):
        if len(codes) == 1:
            return LabelAnswer(codes[0])
    return LabelAnswer(problem=f"'{str(value)[:40]}' is none of the labels {', '.join(names)}")
