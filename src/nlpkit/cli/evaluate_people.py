"""The part of `nlpkit evaluate` for people: tasks are made, and their answers scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit import reporting, wording
from nlpkit.cli.evaluate_coders import PEOPLE, agreement_scores, measurement
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluation.results import TargetResult
from nlpkit.io.task_answers import Answers, read_answers
from nlpkit.io.tasks import RATINGS, Task, read_key, task_of, task_paths, write_task
from nlpkit.metrics.intrusion import model_precision, topic_log_odds
from nlpkit.metrics.intrusion_design import (
    KINDS,
    RATING,
    SET,
    TOPIC,
    WORD,
    Design,
    Document,
    design_ratings,
    design_topic_intrusion,
    design_word_intrusion,
    design_word_sets,
)
from nlpkit.metrics.score import Uncertainty, mean_score
from nlpkit.plain import shell_line
from nlpkit.types import FloatArray

KIND_NAMES = {**{kind: kind for kind in KINDS}, "intrusion": WORD, "word": WORD, "topic": TOPIC, "word-set": SET}


# ---------------------------------------------------------------- a task


def make_task(
    kind: str,
    topics: Sequence[Sequence[str]],
    weights: Sequence[Sequence[float]] | None = None,
    documents: Sequence[tuple[str, str, Mapping[int, float]]] | None = None,
    *,
    output: Path,
    n_items: int | None = None,
    seed: int = 0,
    force: bool = False,
    name: str = "",
    topic_names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Write a task for people: page, CSV and key; return what was written as values for JSON, and tell how to go on.

    Args:
        kind: word-intrusion (or intrusion), topic-intrusion, word-set-intrusion or rating.
        topics: words of each topic, best first, as many as are known.
        weights: of these words; word sets are drawn by them.
        documents: (id, text, probability of each topic by its place in `topics`); for a topic intrusion.
        output: NAME.html.
        n_items: number of questions; by default one a topic, or 50 documents.
        seed: of all that is drawn.
        force: replace what is there.
        name: headline of the page; coders see it.
        topic_names: as reports name the topics; their numbers from 0 by default.

    Raises:
        UsageError: unknown kind, or an output that is not .html; OutputExistsError: it is there.
        InputError: no question can be made.
    """
    if kind not in KIND_NAMES:
        raise UsageError(f"--make-task {kind}: known are {', '.join(KINDS)}")
    kind = KIND_NAMES[kind]
    task_paths(output)
    design = _design(kind, topics, weights, documents, seed, n_items)
    task = task_of(name or kind.replace("-", " "), design, topics, topic_names)
    page, table, key = write_task(output, task, parameters={"n_items": n_items, "topics": len(topics)}, force=force)
    for k, why in design.skipped.items():
        if kind != TOPIC:
            reporting.warn(f"no question about topic {task.topics[k][0]}: {why}")
    if kind == TOPIC and design.skipped:
        reasons = Counter(design.skipped.values()).most_common(2)
        told = "; ".join(f"{n:,}: {why}" for why, n in reasons)
        reporting.note(f"no question about {wording.counted(len(design.skipped), 'document')} ({told})")
    reporting.note(
        f"wrote {page} with {wording.counted(len(design.items), 'question')}, {table}, and {key} with the answers"
    )
    reporting.note(f"next: give {page.name} (or {table.name}) to each coder, and keep {key.name} to yourself")
    reporting.note(
        f"then: {shell_line('nlpkit', 'evaluate', key, '--answers', 'FILE')}, once for each file that comes back"
    )
    return {
        "kind": kind,
        "name": task.name,
        "task": task.mark,
        "items": len(design.items),
        "skipped": {str(k): why for k, why in design.skipped.items()},
        "seed": seed,
        "outputs": [str(page), str(table), str(key)],
    }


def _design(
    kind: str,
    topics: Sequence[Sequence[str]],
    weights: Sequence[Sequence[float]] | None,
    documents: Sequence[tuple[str, str, Mapping[int, float]]] | None,
    seed: int,
    n_items: int | None,
) -> Design:
    if kind == WORD:
        return design_word_intrusion(topics, seed=seed, n_items=n_items)
    if kind == SET:
        return design_word_sets(topics, weights, seed=seed, n_items=n_items)
    if kind == RATING:
        return design_ratings(topics, seed=seed, n_items=n_items)
    if not documents:
        raise InputError(
            "a topic intrusion shows documents with their topics, and there are none here; it takes a run directory"
        )
    asked = [Document(id_, text, probs) for id_, text, probs in documents]
    return design_topic_intrusion(topics, asked, seed=seed, n_items=n_items)


# ---------------------------------------------------------------- its answers


def score_answers(
    answers: Sequence[Path],
    key: Path,
    *,
    level: str | None = None,
    ci: float | None = 0.95,
    seed: int = 0,
    encoding: str | None = None,
) -> TargetResult:
    """Return the scores of the answers to a task: precision or mean rating, by topic and by coder, and agreement.

    Precision, or the mean rating, is the mean over topics (documents in a topic intrusion), and its interval is over them.
    Agreement is that on the option chosen, whether it is right or not.

    Args:
        answers: tables, or directories of them.
        key: the key file of the task.
        level: of measurement for alpha; by default ordinal for ratings and nominal for intruders.
        ci: level of the intervals, None for none.
        seed: of the bootstrap.
        encoding: of the tables, told from their bytes if not given.

    Raises:
        InputError, ColumnError, SchemaError: see `read_key` and `read_answers`; UsageError: no such level.
    """
    task = read_key(key)
    found = read_answers(answers, task, encoding=encoding)
    how = Uncertainty(ci, seed)
    result = TargetResult(task.name, f"{task.kind} task answered by {wording.counted(len(found.coders), 'coder')}")
    ratings = np.where(found.chosen >= 0, found.chosen + 1.0, np.nan)
    if task.kind == RATING:
        _add_ratings(result, task, found, ratings, how)
    else:
        _add_precision(result, task, found, how)
    measured = measurement(level or ("ordinal" if task.kind == RATING else "nominal"))
    scale = list(range(1, task.n_choices + 1))
    for score in agreement_scores(ratings, measured, how, categories=scale, over="questions").values():
        result.add(score)
    missing = int((found.chosen < 0).sum())
    result.facts |= {
        "task": task.mark,
        "questions": len(task.ids),
        "coders": len(found.coders),
        "answers": found.chosen.size - missing,
        "missing": missing,
        "skipped_topics": {str(k): why for k, why in task.design.skipped.items()} if task.kind != TOPIC else {},
    }
    if missing:
        result.notes.append(f"{missing:,} of {found.chosen.size:,} answers are missing, and do not count")
    return result


def read_and_score(answers: Sequence[Path], key: Path, **how: Any) -> dict[str, Any]:
    """Return `score_answers` as values that go into JSON."""
    return score_answers(answers, key, **how).to_dict()


def _add_precision(result: TargetResult, task: Task, found: Answers, how: Uncertainty) -> None:
    items, chosen = task.design.items, found.chosen
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
    result.add(mean_score(PEOPLE["precision"], precision, how, over=over, parameters={"chance": chance}, why=why))
    if task.kind == TOPIC:
        floor = 1 / (10 * len(task.topics))  # runs leave out what is less
        probs = np.array([item.probs for item in items], np.float64)
        odds = topic_log_odds(chosen, right, probs, floor=floor)
        parameters = {"floor": floor}
        result.add(mean_score(PEOPLE["topic_log_odds"], odds, how, over=over, parameters=parameters, why=why))
        rows = [
            [id_, item.document, f"{(row >= 0).sum()}", _shown(p), _shown(o)]
            for id_, item, row, p, o in zip(task.ids, items, chosen, precision, odds, strict=True)
        ]
        result.tables["Documents"] = (("question", "document", "answers", "precision", "log odds"), rows)
    each = [float(model_precision(chosen[:, [c]], right, np.zeros(len(right), np.int64), 1)[0]) for c in _coders(found)]
    _add_coders(result, found, "precision", each)
    result.facts["chance"] = chance
    result.notes.append(f"who chooses at random is right {chance:.3f} of the time")


def _add_ratings(result: TargetResult, task: Task, found: Answers, ratings: FloatArray, how: Uncertainty) -> None:
    means = np.full(len(task.topics), np.nan)
    for item, row in zip(task.design.items, ratings, strict=True):
        if not np.isnan(row).all():
            means[item.topic] = float(np.nanmean(row))
    result.units = [name for name, _ in task.topics]
    result.unit_texts = [" ".join(words) for _, words in task.topics]
    result.unit_words = [list(words) for _, words in task.topics]
    parameters = {"scale": [f"{n} {text}" for n, text in enumerate(RATINGS, start=1)]}
    result.add(mean_score(PEOPLE["rating"], means, how, parameters=parameters, why="nobody answered"))
    labels = [(result.units[task.design.items[i].topic], found.coders[c], text) for i, c, text in found.labels]
    if labels:
        result.tables["Names that coders gave"] = (("topic", "coder", "name"), [list(row) for row in labels])
        result.facts["labels"] = [dict(zip(("topic", "coder", "label"), row, strict=True)) for row in labels]
    _add_coders(result, found, "rating", [float(np.nanmean(ratings[:, c])) for c in _coders(found)])


def _coders(found: Answers) -> range:
    return range(len(found.coders))


def _add_coders(result: TargetResult, found: Answers, name: str, values: Sequence[float]) -> None:
    """Tell how many questions each coder answered, and his score."""
    given = (found.chosen >= 0).sum(axis=0).tolist()
    total = len(found.chosen)
    rows = [
        [coder, f"{n:,}", f"{total - n:,}", _shown(v)] for coder, n, v in zip(found.coders, given, values, strict=True)
    ]
    result.tables["Coders"] = (("coder", "answers", "missing", name), rows)
    result.facts["by_coder"] = [
        {"coder": coder, "answers": n, "missing": total - n, name: v}
        for coder, n, v in zip(found.coders, given, values, strict=True)
    ]


def _shown(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"
