"""Language models as judges: a model answers a task that was written for people.

Parts, in this order:
- Tasks for people as questions to a language model: what it is shown, and how its answer is read.
- The run: models judge, task by task.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.annotate.task_files import read_key, with_texts
from nlpkit.annotate.tasks import INSTRUCTIONS, QUESTIONS, Task, choices
from nlpkit.errors import UsageError
from nlpkit.lm.ask import language_model, planned_questions, say_cached, usable_answer
from nlpkit.lm.choices import Judgement, choice_question, read_choice
from nlpkit.metrics.options import JudgeOptions
from nlpkit.metrics.topics.intrusion import RATING
from nlpkit.platform import reporting, wording
from nlpkit.platform.llm import KeptAnswers
from nlpkit.platform.llm_options import Answer, Messages
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.tables import check_table, save_table

_FIELD, _DIGIT, _NUMBER = re.compile(r'"answer"\s*:\s*"?(\d)'), re.compile(r"(\d)"), re.compile(r"\D*(\d)\D*")


def question_for(task: Task, i: int, complaint: str = "") -> Messages:
    """Return the messages that ask question i of a task: what a person is shown of it, and the options by number.

    Args:
        complaint: what was wrong with the answer before.
    """
    item, kind = task.design.items[i], task.kind
    shown = [f"Text: {item.text}"] if item.text else []
    shown += [f"Words: {', '.join(item.words)}"] if item.words else []
    return choice_question(QUESTIONS[kind], INSTRUCTIONS[kind], shown, choices(kind, item), complaint)


def read_judgement(text: str, task: Task, i: int) -> Judgement:
    """Return the choice of an answer: the number of an option, or its text where that is no number of another; nothing else counts."""
    return read_choice(text, choices(task.kind, task.design.items[i]))


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


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit annotate judge: a language model answers a task that was written for people.


@dataclass(frozen=True, slots=True)
class Judgements(Tabular):
    """Answers of a language model to a task.

    coders: what its judges are called. answers: those of the first judge to all questions, then those of the next. seeds: of the judges.
    calls, cached: answers that were asked for, and that were there.
    """

    task: Task
    coders: Sequence[str]
    answers: Sequence[Judgement]
    seeds: Sequence[int]
    calls: int = 0
    cached: int = 0

    def __repr__(self) -> str:
        return wording.described(self, *self.coders)

    @property
    def failed(self) -> list[Judgement]:
        """Questions without an answer that can be used."""
        return [one for one in self.answers if one.problem]

    def table(self) -> pa.Table:
        """Return task, coder, item, answer (number of the option from 1) and choice (its text), as `nlpkit.score_answers` takes them;
        answer and choice are null where there was no usable answer. Where probabilities were asked for it has expected (float), too: the
        mean of the numbers of the options by their probabilities.
        """
        task = self.task
        names = [coder for coder in self.coders for _ in task.ids]
        options = [choices(task.kind, item) for item in task.design.items] * len(self.coders)
        chosen = [one.choice for one in self.answers]
        expected = [one.expected for one in self.answers]
        added = {"expected": pa.array(expected, pa.float64())} if any(e is not None for e in expected) else {}
        return pa.table(
            {
                "task": pa.array([task.mark] * len(names), pa.string()),
                "coder": pa.array(names, pa.string()),
                "item": pa.array([*task.ids] * len(self.coders), pa.string()),
                "answer": pa.array([c + 1 if c >= 0 else None for c in chosen], pa.int32()),
                "choice": pa.array(
                    [texts[c] if c >= 0 else None for c, texts in zip(chosen, options, strict=True)], pa.string()
                ),
                **added,
            }
        )

    def expected_ratings(self) -> list[tuple[str, tuple[str, ...], float | None]]:
        """Return the name of each topic, its words, and the mean of its expected ratings; None where it has none."""
        ratings: dict[int, list[float]] = {}
        for n, one in enumerate(self.answers):
            if one.expected is not None:
                ratings.setdefault(self.task.design.items[n % len(self.task.ids)].topic, []).append(one.expected)
        means = {topic: sum(values) / len(values) for topic, values in ratings.items()}
        return [(name, words, means.get(topic)) for topic, (name, words) in enumerate(self.task.topics)]

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the table of answers, in the format of its suffix.

        Raises:
            OutputExistsError, UsageError: see `nlpkit.platform.runs.tables.check_table`.
        """
        target = Path(path)
        check_table(target, force=force)
        parameters = {
            "task": self.task.mark,
            "kind": self.task.kind,
            "coders": list(self.coders),
            "seeds": list(self.seeds),
        }
        block = footer_block("answers", command="annotate judge", parameters=parameters, seed=self.seeds[0], inputs=[])
        save_table(target, self.table(), block, force=force)
        return target


def judge_task(
    key: str | Path, *, options: JudgeOptions | None = None, execution: Execution | None = None, **settings: Any
) -> Judgements:
    """Return the answers of a language model to a task that was written for people, which `nlpkit.score_answers` scores.

    The model is shown what people are shown: instructions, the text or words, and the options by number; never which one is right. An
    answer is the number or the text of an option; any other is asked again, and a question without a usable answer has none.
    Answers are kept by question: the same question is never asked twice. Of several judges each has a seed of its own (the seed of
    `execution` and the numbers after it) and is asked at temperature 1; a single one at temperature 0.

    Args:
        key: NAME.key.json; the texts of a topic intrusion are read from NAME.csv beside it.
        options: which model, how many judges. execution: the seed that is sent along.
        settings: fields of these, such as llm="http://localhost:11434/v1", llm_model="llama3.2".

    Raises:
        InputError, SchemaError: the key cannot be used, or the model sends something else than an answer; MissingError: the model
        cannot be reached, refuses, or sends no probabilities; UsageError: nobody is asked, or expected ratings of another kind of task.
    """
    options, execution = _settings(options, execution, settings)
    task, models = _task_and_models(Path(key), options, execution)
    answers: list[Judgement] = []
    with reporting.progress("answers", len(task.ids) * len(models)) as update:
        for model in models:
            for i in range(len(task.ids)):
                answers.append(_ask(model, task, i, options))
                update(1)
    name = str(options.llm_model)
    coders = [name] if len(models) == 1 else [f"{name} {n}" for n in range(1, len(models) + 1)]
    seeds = [execution.seed + n for n in range(len(models))]
    calls, cached = sum(model.calls for model in models), sum(model.cached for model in models)
    judgements = Judgements(task, coders, answers, seeds, calls, cached)
    if not calls:
        say_cached(models[0])
    if judgements.failed:
        n, first = len(judgements.failed), next(i for i, one in enumerate(answers) if one.problem)
        reporting.warn(
            f"{wording.counted(n, 'question has', 'questions have')} no usable answer; the last one to item "
            f"{task.ids[first % len(task.ids)]}: {answers[first].problem}"
        )
    return judgements


def plan_judgements(key: str | Path, options: JudgeOptions, execution: Execution) -> dict[str, int]:
    """Return how many questions would be asked at least, and their tokens; nothing is asked. Raises what `judge_task` does before."""
    task, models = _task_and_models(Path(key), options, execution)
    questions = [question_for(task, i) for i in range(len(task.ids))]
    plans = [planned_questions(model, questions) for model in models]
    return {"questions": len(questions) * len(models), **{name: sum(p[name] for p in plans) for name in plans[0]}}


def _settings(
    options: JudgeOptions | None, execution: Execution | None, settings: dict[str, Any]
) -> tuple[JudgeOptions, Execution]:
    if options is None:
        options = JudgeOptions(**{n: settings.pop(n) for n in list(settings) if n in JudgeOptions.__dataclass_fields__})
    options, execution = with_settings((options, execution or Execution()), settings)
    return options, execution


def _task_and_models(key: Path, options: JudgeOptions, execution: Execution) -> tuple[Task, list[KeptAnswers]]:
    task = with_texts(read_key(key), key)
    if options.expected and task.kind != RATING:
        raise UsageError(f"`expected` only applies to ratings; this task is {task.kind}", parameter="expected")
    several = options.judges > 1
    seeds = range(execution.seed, execution.seed + options.judges)
    return task, [
        language_model(options, seed, temperature=int(several), with_tokens=options.expected) for seed in seeds
    ]


def _ask(model: KeptAnswers, task: Task, i: int, options: JudgeOptions) -> Judgement:
    return usable_answer(
        model,
        lambda complaint: question_for(task, i, complaint),
        lambda answer: read_rating(answer, task, i) if options.expected else read_judgement(answer.text, task, i),
        attempts=options.attempts,
    )
