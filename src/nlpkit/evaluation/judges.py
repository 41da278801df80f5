"""Tasks for people as questions to a language model: what it is shown, and how its answer is read."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from itertools import accumulate

from nlpkit.evaluation.tasks import INSTRUCTIONS, QUESTIONS, Task, choices
from nlpkit.lm.questions import Answer, Messages, conversation, short_answer

_FIELD, _DIGIT, _NUMBER = re.compile(r'"answer"\s*:\s*"?(\d)'), re.compile(r"(\d)"), re.compile(r"\D*(\d)\D*")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The option of a question that was chosen, by its place; -1 and the problem where the answer cannot be used.

    expected: mean number of the option by the probabilities of the answer, where they were asked for.
    """

    choice: int = -1
    problem: str = ""
    expected: float | None = None


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
    return Judgement(problem=f"it is not a number from 1 to {len(options)}")


def read_rating(answer: Answer, task: Task, i: int) -> Judgement:
    """Return the choice of an answer with its expected number, Σ_k k p(k) / Σ_k p(k) (G-Eval, Liu et al. 2023, section 2).

    p(k): probability that the model writes k in the place of its answer, summed over the tokens that read so (3, " 3", '"3'); where
    no likely token is a number the mean is the rating itself.
    """
    judgement = read_judgement(answer.text, task, i)
    if judgement.problem:
        return judgement
    n = len(choices(task.kind, task.design.items[i]))
    written = "".join(token for token, _ in answer.tokens)
    start = written.rfind("</think>") + 1
    place = _FIELD.search(written, start) or _DIGIT.search(written, start)
    if place is None or int(place[1]) != judgement.choice + 1:  # the text of an option
        return Judgement(problem=f"it is not a number from 1 to {n}")
    ends = accumulate(len(token) for token, _ in answer.tokens)
    likely = next(likely for (_, likely), end in zip(answer.tokens, ends, strict=True) if end > place.start(1))
    weights = [0.0] * n
    for other, logarithm in likely.items():
        number = _NUMBER.fullmatch(other)
        if number and 1 <= int(number[1]) <= n:
            weights[int(number[1]) - 1] += math.exp(logarithm)
    total = sum(weights)
    mean = sum(k * weight for k, weight in enumerate(weights, start=1)) / total if total else judgement.choice + 1.0
    return replace(judgement, expected=mean)
