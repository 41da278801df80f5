"""A task for people on disk: a page, the same as CSV, and the key that stays with us.

task.html       for coders: the page (see `task_page`)
task.csv        for coders who prefer a spreadsheet: a row a question, an empty column `answer`
task.key.json   for us: the right answers, the seed, what the questions are about; of texts to be labelled, ids and texts
task.anna.csv   what comes back (see `task_answers`)
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nlpkit.cells import text_of
from nlpkit.errors import InputError, SchemaError, UsageError
from nlpkit.evaluation.tasks import INSTRUCTIONS, LABEL, QUESTIONS, Task, choices
from nlpkit.io.atomic import atomic_file, check_target
from nlpkit.io.nlpkit_files import TASK_KEY
from nlpkit.io.plain_tables import read_rows
from nlpkit.io.task_page import PageItem, TaskPage, task_page
from nlpkit.metrics.intrusion_design import KINDS, RATING, TOPIC, Design, Item
from nlpkit.plain import to_json
from nlpkit.version import __version__
from nlpkit.wording import truncated

KEY_VERSION = 1
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a cell that begins so is computed by a spreadsheet
_SHOWN = 40  # characters of an option that a message shows


# ---------------------------------------------------------------- out


def task_paths(output: Path) -> tuple[Path, Path, Path]:
    """Return page, CSV and key of a task. Raises UsageError for an output that is not named .html."""
    if output.suffix.lower() != ".html" or not output.stem:
        raise UsageError(
            f"a task is an HTML page, so `output={output}` must end in .html, for example `output=task.html`",
            parameter="output",
        )
    return output, output.with_suffix(".csv"), output.with_suffix(".key.json")


def write_task(output: Path, task: Task, *, parameters: Mapping[str, Any], force: bool) -> tuple[Path, Path, Path]:
    """Write page, CSV and key of a task, and return their paths; none is written where one must not be.

    Args:
        output: NAME.html; the others are NAME.csv and NAME.key.json beside it.
        task: what to write.
        parameters: further values of the key: of what, how.
        force: replace what is there.

    Raises:
        OutputExistsError, UsageError, InputError: see `nlpkit.io.atomic.check_target`, for any of the three.
    """
    paths = page, table, key = task_paths(output)
    for path in paths:
        check_target(path, force=force)
    with atomic_file(key, force=force) as part:
        part.write_text(
            to_json(_key(task, parameters), indent=1) + "\n", encoding="utf-8", newline="\n", errors="replace"
        )
    with (
        atomic_file(table, force=force) as part,
        part.open("w", encoding="utf-8-sig", errors="replace", newline="") as file,
    ):
        csv.writer(file).writerows([_safe(cell) for cell in row] for row in _table(task))
    with atomic_file(page, force=force) as part:
        part.write_text(task_page(_page(task, output.stem)), encoding="utf-8", newline="\n", errors="replace")
    return paths


def _page(task: Task, file: str) -> TaskPage:
    items = [
        PageItem(id_, choices(task.kind, item), item.text, item.words)
        for id_, item in zip(task.ids, task.design.items, strict=True)
    ]
    kind = task.kind
    return TaskPage(task.mark, task.name, file, QUESTIONS[kind], INSTRUCTIONS[kind], items, asks_label=kind == RATING)


def _table(task: Task) -> list[list[str]]:
    """Return the rows of the spreadsheet, header first."""
    rating, about_text = task.kind == RATING, task.kind in (TOPIC, LABEL)
    options = ["words"] if rating else [f"option_{n}" for n in range(1, task.n_choices + 1)]
    shown = choices(task.kind, task.design.items[0])
    answers = numbered(shown) if rating else " | ".join(shown) if task.kind == LABEL else "a number"
    question = f"{QUESTIONS[task.kind]} ({answers})"
    if task.kind == LABEL:
        options = []
    rows = [["task", "coder", "item", "question", *(["text"] if about_text else []), *options, "answer"]]
    rows[0] += ["label"] if rating else []
    for id_, item in zip(task.ids, task.design.items, strict=True):
        cells = [" ".join(item.words)] if rating else list(choices(task.kind, item))[: len(options)]
        text = [item.text] if about_text else []
        rows.append([task.mark, "", id_, question, *text, *cells, "", *([""] if rating else [])])
    return rows


def _safe(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def without_apostrophe(text: str) -> str:
    """Return a cell without the apostrophe that keeps a spreadsheet from computing it."""
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


def numbered(texts: Sequence[str]) -> str:
    """Return options with their numbers for a message: 1 river, 2 bank."""
    return ", ".join(f"{n} {truncated(text, _SHOWN)}" for n, text in enumerate(texts, start=1))


def _key(task: Task, parameters: Mapping[str, Any]) -> dict[str, Any]:
    items = []
    for id_, item in zip(task.ids, task.design.items, strict=True):
        row: dict[str, Any] = {"id": id_, "topic": item.topic}
        if item.answer >= 0:
            row |= {
                "answer": item.answer + 1,
                "answer_words": list(item.options[item.answer]),
                "options": [list(words) for words in item.options],
                "option_topics": list(item.option_topics),
            }
        if item.words:
            row["words"] = list(item.words)
        if task.kind == LABEL:
            row |= {"document": item.document, "text": item.text}
        elif item.topic < 0:
            row |= {"document": item.document, "probs": list(item.probs)}
        items.append(row)
    design = task.design
    labels = {"labels": list(choices(LABEL, design.items[0]))} if task.kind == LABEL else {}
    return {
        "format": TASK_KEY,
        "version": KEY_VERSION,
        "nlpkit_version": __version__,
        "task": task.mark,
        "name": task.name,
        "kind": task.kind,
        "seed": design.seed,
        "parameters": dict(parameters),
        **labels,
        "items": items,
        "topics": [{"name": name, "words": list(words)} for name, words in task.topics],
        "skipped": {str(k): why for k, why in design.skipped.items()},
    }


# ---------------------------------------------------------------- the key


def read_key(path: Path) -> Task:
    """Return the task of a key file.

    Raises:
        InputError: it cannot be read or is no key; SchemaError: it is of a version that this nlpkit does not read.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except IsADirectoryError:
        raise InputError(
            f"{path} is a folder, not the key of a task; name the NAME.key.json next to its page"
        ) from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; the key is the NAME.key.json next to the page") from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} is not the key of a task ({error}); name the NAME.key.json, and each file of answers with `answers`"
        ) from None
    if not isinstance(value, dict) or value.get("format") != TASK_KEY:
        raise InputError(f"{path} is not the key of a task; the key is the NAME.key.json next to the page")
    if value.get("version") != KEY_VERSION:
        raise SchemaError(f"{path} has version {value.get('version')}, this nlpkit ({__version__}) reads {KEY_VERSION}")
    try:
        labels = tuple((str(name),) for name in value["labels"]) if value["kind"] == LABEL else ()
        items = tuple(replace(_item(row), options=labels) if labels else _item(row) for row in value["items"])
        skipped = {int(k): str(why) for k, why in value["skipped"].items()}
        design = Design(str(value["kind"]), int(value["seed"]), items, skipped)
        topics = tuple((str(t["name"]), tuple(map(str, t["words"]))) for t in value["topics"])
        ids = tuple(str(row["id"]) for row in value["items"])
        task = Task(str(value["name"]), design, ids, str(value["task"]), topics)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"{path} is a damaged key of a task ({type(error).__name__}: {error}); make the task again"
        ) from None
    outside = [item.topic for item in items if item.topic >= len(topics)]
    if task.kind not in (*KINDS, LABEL) or not items or outside or len(set(ids)) < len(ids):
        raise InputError(
            f"{path} is a damaged key of a task (kind '{task.kind}', {len(items)} items); make the task again"
        )
    return task


def _item(row: Mapping[str, Any]) -> Item:
    options = tuple(tuple(map(str, words)) for words in row.get("options", ()))
    answer = int(row.get("answer", 0)) - 1
    if answer >= len(options) or (options and answer < 0):
        raise ValueError(f"item {row['id']} has {len(options)} options, its answer is {answer + 1}")
    return Item(
        int(row["topic"]),
        options,
        answer,
        tuple(map(int, row.get("option_topics", ()))),
        tuple(map(str, row.get("words", ()))),
        str(row.get("document", "")),
        str(row.get("text", "")),
        tuple(map(float, row.get("probs", ()))),
    )


def with_texts(task: Task, key: Path) -> Task:
    """Return a task with the texts of a topic intrusion, which are in the CSV beside its key; others as they are.

    Raises:
        InputError, ColumnError: it is not there, is of another task, or has no text of a question.
    """
    if task.kind != TOPIC:
        return task
    table = key.with_name(key.name.removesuffix(".json").removesuffix(".key") + ".csv")
    if not table.is_file():
        raise InputError(f"{table}: no such file; the texts of a topic intrusion are in the CSV next to its key")
    rows = read_rows(table, encoding="utf-8", hint="item")
    columns = [[text_of(value) for value in rows.column(name)] for name in ("task", "item", "text")]
    texts = {item: without_apostrophe(text) for mark, item, text in zip(*columns, strict=True) if mark == task.mark}
    without = next((id_ for id_ in task.ids if not texts.get(id_)), None)
    if without is not None:
        raise InputError(f"{table} has no text of item {without} of task {task.mark}; make the task again")
    items = tuple(replace(item, text=texts[id_]) for id_, item in zip(task.ids, task.design.items, strict=True))
    return replace(task, design=replace(task.design, items=items))
