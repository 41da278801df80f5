"""Questions to a language model, one after another: who is asked, what is asked again, and how much there is to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from nlpkit.errors import UsageError
from nlpkit.lm.transformers import LocalModel
from nlpkit.platform import reporting
from nlpkit.platform.llm import ANSWER_TOKENS, AnswersQuestions, ChatModel, KeptAnswers, usual_cache
from nlpkit.platform.llm_options import LOCAL, Answer, LlmOptions, Messages, question_tokens

CUT = "it was cut off before it was complete; the model may think too long before it answers (see `llm_tokens`)"
SHORT_ANSWER = 10  # tokens of an answer such as {"label": "politics"}


class Usable(Protocol):
    """What was read from an answer; problem: why it cannot be used, empty where it can."""

    @property
    def problem(self) -> str:
        """Why it cannot be used."""


Read = TypeVar("Read", bound=Usable)


def language_model(options: LlmOptions, seed: int, *, temperature: int = 0, with_tokens: bool = False) -> KeptAnswers:
    """Return the language model of the options, whose answers are kept; with_tokens: with the probabilities of their tokens.

    Raises:
        UsageError: the address or `llm_extra` is none; MissingError: the folder of a local model is not there.
    """
    model: AnswersQuestions
    extra = options.extra_fields()
    if options.llm == LOCAL:
        if extra:
            raise UsageError("`llm_extra`: `llm=local` sends no requests; leave it out", parameter="llm_extra")
        tokens = options.llm_tokens or ANSWER_TOKENS
        model = LocalModel(str(options.llm_model), answer_tokens=tokens, with_tokens=with_tokens)
    else:
        model = ChatModel(
            str(options.llm), str(options.llm_model), options.timeout, seed, temperature, with_tokens, options.llm_tokens, extra
        )  # fmt: skip
    return KeptAnswers(model, Path(options.llm_cache or usual_cache()))


def usable_answer(
    model: KeptAnswers, messages_for: Callable[[str], Messages], read: Callable[[Answer], Read], *, attempts: int
) -> Read:
    """Return what is read from the answer to a question, which is asked up to `attempts` times again where that cannot be used.

    Args:
        messages_for: the question, with what was wrong with the answer before, empty at first.
        read: what an answer says; its `problem` says why it cannot be used. That of the last answer is returned, too.

    Raises:
        MissingError, InputError: see `nlpkit.platform.llm.ChatModel.complete`.
    """
    answer, asked = _chain(model, messages_for, read, attempts)
    if answer.problem:
        from_before = sum(model.forget(messages) for messages in asked)
        if from_before:
            answer, asked = _chain(model, messages_for, read, attempts)
    if answer.problem:
        for messages in asked:
            model.forget(messages)
    return answer


def _chain(
    model: KeptAnswers, messages_for: Callable[[str], Messages], read: Callable[[Answer], Read], attempts: int
) -> tuple[Read, list[Messages]]:
    """Return what is read from the last answer, and all that was asked."""
    asked: list[Messages] = []
    problem = ""
    while True:
        asked.append(messages_for(problem))
        answered = model.answer(asked[-1])
        answer = read(answered)
        if answer.problem and answered.cut:
            answer = replace(answer, problem=CUT)  # type: ignore[type-var]
        if not answer.problem or len(asked) > attempts:
            return answer, asked
        problem = answer.problem


def say_cached(model: KeptAnswers) -> None:
    """Say so where nothing was asked, because all answers were kept before."""
    if model.cached and not model.calls:
        reporting.note(f"nothing was asked: all answers were already saved in {model.folder}")


def planned_questions(model: KeptAnswers, questions: Iterable[Messages]) -> dict[str, int]:
    """Return how many questions are asked at least (calls), how many are answered (cached), and the tokens of those that are asked."""
    calls, cached, tokens = 0, 0, 0
    seen: set[str] = set()
    for messages in questions:
        text = str(messages)
        if text in seen or model.kept(messages) is not None:
            cached += 1
            continue
        seen.add(text)
        calls += 1
        tokens += question_tokens(messages)
    return {"calls": calls, "cached": cached, "tokens_to_read": tokens, "tokens_to_write": SHORT_ANSWER * calls}
