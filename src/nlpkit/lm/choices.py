"""Questions with numbered options to a language model, and ratings of topics by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nlpkit.lm.ask import usable_answer
from nlpkit.metrics.topics.intrusion import RATED_WORDS, RATING_INSTRUCTION, RATING_QUESTION, RATINGS
from nlpkit.platform.llm import KeptAnswers
from nlpkit.platform.llm_options import Messages, conversation, short_answer


@dataclass(frozen=True, slots=True)
class Judgement:
    """The option of a question that was chosen, by its place; -1 and the problem where the answer cannot be used.

    expected: mean number of the option by the probabilities of the answer, where they were asked for.
    """

    choice: int = -1
    problem: str = ""
    expected: float | None = None


def choice_question(
    question: str, instruction: str, shown: Sequence[str], options: Sequence[str], complaint: str = ""
) -> Messages:
    """Return the messages that ask to choose one of some options by its number.

    Args:
        shown: paragraphs before the options. complaint: what was wrong with the answer before.
    """
    parts = [*shown, "\n".join(f"{n}. {option}" for n, option in enumerate(options, start=1))]
    system = (
        f"You are a coder in a study. {question} {instruction} Answer with one JSON object and nothing else: "
        f'{{"answer": N}}. N is the number of your choice, from 1 to {len(options)}.'
    )
    return conversation(system, parts, complaint)


def read_choice(text: str, options: Sequence[str]) -> Judgement:
    """Return the choice of an answer: the number of an option, or its text where that is no number of another; nothing else counts."""
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


def rate_topics(model: KeptAnswers, topics: Sequence[Sequence[str]], *, attempts: int) -> list[Judgement]:
    """Return how related the first words of topics are by a language model, as `annotate judge` asks it of a task of ratings.

    Args:
        topics: words of each, best first. attempts: how often a question is asked again whose answer cannot be used.

    Raises:
        MissingError, InputError: see `nlpkit.platform.llm.ChatModel.complete`.
    """

    def rated(words: Sequence[str]) -> Judgement:
        shown = [f"Words: {', '.join(words[:RATED_WORDS])}"]
        return usable_answer(
            model,
            lambda complaint: choice_question(RATING_QUESTION, RATING_INSTRUCTION, shown, RATINGS, complaint),
            lambda answer: read_choice(answer.text, RATINGS),
            attempts=attempts,
        )

    return [rated(words) for words in topics]
