"""Scores of the answers to a task: precision or mean rating, by topic and by coder, and agreement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.annotate.tasks import LABEL, Answers, Task, choices
from nlpkit.metrics.labels.coders import PEOPLE, agreement_scores, measurement
from nlpkit.metrics.results import TargetResult, detail_table
from nlpkit.metrics.score import Uncertainty, mean_score
from nlpkit.metrics.topics.intrusion import RATING, RATINGS, TOPIC, model_precision, topic_log_odds
from nlpkit.platform import wording
from nlpkit.platform.types import FloatArray


def task_result(task: Task, answers: Answers, level: str | None, uncertainty: Uncertainty) -> TargetResult:
    """Return the scores of the answers to a task.

    Precision, or the mean rating, is the mean over topics (documents in a topic intrusion), and its interval is over them.
    Agreement is that on the option chosen, whether it is right or not. Labels of texts are only compared: none is known to be right.

    Args:
        level: of measurement for alpha; by default ordinal for ratings and nominal for intruders.

    Raises:
        UsageError: no such level.
    """
    result = TargetResult(task.name, f"{task.kind} task answered by {wording.counted(len(answers.coders), 'coder')}")
    ratings = np.where(answers.chosen >= 0, answers.chosen + 1.0, np.nan)
    if task.kind == RATING:
        _add_ratings(result, task, answers, ratings, uncertainty)
    elif task.kind == LABEL:
        _add_labels(result, task, answers)
    else:
        _add_precision(result, task, answers, uncertainty)
    measured = measurement(level or ("ordinal" if task.kind == RATING else "nominal"))
    scale = list(range(1, task.n_choices + 1))
    for score in agreement_scores(ratings, measured, uncertainty, categories=scale, over="questions").values():
        result.add(score)
    missing = int((answers.chosen < 0).sum())
    result.facts |= {
        "task": task.mark,
        "questions": len(task.ids),
        "coders": len(answers.coders),
        "answers": answers.chosen.size - missing,
        "missing": missing,
        "skipped_topics": {str(k): why for k, why in task.design.skipped.items()} if task.kind != TOPIC else {},
    }
    if missing:
        result.notes.append(f"{missing:,} of {answers.chosen.size:,} answers are missing, and do not count")
    return result


def _add_precision(result: TargetResult, task: Task, answers: Answers, uncertainty: Uncertainty) -> None:
    items, chosen = task.design.items, answers.chosen
    right = np.array([item.answer for item in items], np.int32)
    chance, why = 1 / task.n_choices, "nobody answered"
    if task.kind == TOPIC:
        result.unit, result.units = "document", [item.document for item in items]
        result.unit_texts = [""] * len(items)
        groups = np.arange(len(items))
    else:
        result.units = [name for name, _ in task.topics]
        result.unit_texts = [" ".join(words) for _, words in task.topics]
        result.unit_words = [list(words) for _, words in task.topics]
        groups = np.array([item.topic for item in items])
    precision = model_precision(chosen, right, groups, len(result.units))
    over = f"{result.unit}s"
    result.add(
        mean_score(PEOPLE["precision"], precision, uncertainty, over=over, parameters={"chance": chance}, why=why)
    )
    if task.kind == TOPIC:
        floor = 1 / (10 * len(task.topics))  # runs leave out what is less
        probs = np.array([item.probs for item in items], np.float64)
        odds = topic_log_odds(chosen, right, probs, floor=floor)
        parameters = {"floor": floor}
        result.add(mean_score(PEOPLE["topic_log_odds"], odds, uncertainty, over=over, parameters=parameters, why=why))
        result.tables["Documents"] = detail_table(
            ("question", "document", "answers", "precision", "log odds"),
            zip(task.ids, result.units, (chosen >= 0).sum(axis=1), precision, odds, strict=True),
        )
    each = [
        float(model_precision(chosen[:, [c]], right, np.zeros(len(right), np.int64), 1)[0]) for c in _coders(answers)
    ]
    _add_coders(result, answers, "precision", each)
    result.facts["chance"] = chance
    result.notes.append(f"who chooses at random is right {chance:.3f} of the time")


def _add_ratings(
    result: TargetResult, task: Task, answers: Answers, ratings: FloatArray, uncertainty: Uncertainty
) -> None:
    means = np.full(len(task.topics), np.nan)
    for item, row in zip(task.design.items, ratings, strict=True):
        if not np.isnan(row).all():
            means[item.topic] = float(np.nanmean(row))
    result.units = [name for name, _ in task.topics]
    result.unit_texts = [" ".join(words) for _, words in task.topics]
    result.unit_words = [list(words) for _, words in task.topics]
    parameters = {"scale": [f"{n} {text}" for n, text in enumerate(RATINGS, start=1)]}
    result.add(mean_score(PEOPLE["rating"], means, uncertainty, parameters=parameters, why="nobody answered"))
    labels = [(result.units[task.design.items[i].topic], answers.coders[c], text) for i, c, text in answers.labels]
    if labels:
        result.tables["Names that coders gave"] = detail_table(("topic", "coder", "name"), labels)
        result.facts["labels"] = [dict(zip(("topic", "coder", "label"), row, strict=True)) for row in labels]
    _add_coders(result, answers, "rating", [float(np.nanmean(ratings[:, c])) for c in _coders(answers)])


def _add_labels(result: TargetResult, task: Task, answers: Answers) -> None:
    """Add how often each coder gave each label."""
    labels = choices(task.kind, task.design.items[0])
    counts = [[int((answers.chosen[:, c] == j).sum()) for c in _coders(answers)] for j in range(len(labels))]
    result.tables["Labels"] = detail_table(
        ("label", *answers.coders), [[name, *row] for name, row in zip(labels, counts, strict=True)]
    )
    result.facts["by_label"] = [
        {"label": name, **dict(zip(answers.coders, row, strict=True))} for name, row in zip(labels, counts, strict=True)
    ]


def _coders(answers: Answers) -> range:
    return range(len(answers.coders))


def _add_coders(result: TargetResult, answers: Answers, name: str, values: Sequence[float]) -> None:
    """Add how many questions each coder answered, and their score."""
    n_answers = (answers.chosen >= 0).sum(axis=0).tolist()
    missing = [len(answers.chosen) - n for n in n_answers]
    names = ("coder", "answers", "missing", name)
    rows = list(zip(answers.coders, n_answers, missing, values, strict=True))
    result.tables["Coders"] = detail_table(names, rows)
    result.facts["by_coder"] = [dict(zip(names, row, strict=True)) for row in rows]
