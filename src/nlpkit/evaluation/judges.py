"""Tasks for people as questions to a language model: what it is shown, and how its answer is read."""

from __future__ import annotations

from dataclasses import dataclass

from nlpkit.evaluation.tasks import INSTRUCTIONS, QUESTIONS, Task, choices
from nlpkit.lm.questions import Messages, conversation, short_answer


@dataclass(frozen=True, slots=True)
class Judgement:
    """The option of a question that was chosen, by its place; -1 and the problem where the answer cannot be used."""

    choice: int = -1
    problem: str = ""


def question_for(task: Task, i: int, complaint: str = "") -> Messages:
    """Return the messages that ask question i of a task: what a person is shown of it, and the options by number.

    Args:
        complaint: what was wrong with the answer before.
    """
    item, kind = task.design.items[i], task.kind
    options = choices(kind, item)
    parts = [f"Text: {item.text}"] if item.text else []
    parts += [f"Words: {', '.join(item.words)}"] if item.words else []
    parts.append("\n".join(f"{n}. {option}" for n, option in enumerate(options, start=1)))
    system = (
        f"You are a coder in a study. {QUESTIONS[kind]} {INSTRUCTIONS[kind]} Answer with one JSON object and nothing else: "
        f'{{"answer": N}}. N is the number of your choice, from 1 to {len(options)}.'
    )
    return conversation(system, parts, complaint)


def read_judgement(text: str, task: Task, i: int) -> Judgement:
    """Return the choice of an answer: the number of an option, or its text where that is no number of another; nothing else counts."""
    options = choices(task.kind, task.design.items[i])
    value = short_answer(text, "answer")
    if value is None:
        return Judgement(problem="it is not the JSON object that was asked for")
    by_text = [k for k, option in enumerate(options) if option.casefold() == str(value).casefold()]
    is_number = isinstance(value, int) or (value.isascii() and value.isdigit() and len(value) < 5)
    number = int(value) if is_number else 0
    if 1 <= number <= len(options) and (isinstance(value, int) or by_text in ([], [number - 1])):
        return Judgement(number - 1)
    if number and 1 <= number <= len(options):
        return Judgement(problem="it is the number of one option and the text of another; answer with a JSON number")
    if isinstance(value, str) and len(by_text) == 1:
        return Judgement(by_text[0])
    return Judgement(problem=f"it is no number from 1 to {len(options)}")
