"""The files of an annotation task: the page for coders, the same questions as CSV, and the key.

Parts, in this order:
- The page on which people answer the questions of a task: one HTML file that needs nothing else and sends nothing
  anywhere.
- A task for people on disk: a page, the same as CSV, and the key that stays with us.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from nlpkit.annotate.tasks import INSTRUCTIONS, LABEL, QUESTIONS, WITH_TEXT, Task, choices
from nlpkit.errors import InputError, SchemaError, UsageError
from nlpkit.metrics.topics.intrusion import KINDS, NAME, RATING, TOPIC, Design, Item
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.atomic import atomic_file, check_target
from nlpkit.platform.runs.nlpkit_files import TASK_KEY
from nlpkit.platform.runs.plain_tables import read_rows
from nlpkit.platform.values import text_of
from nlpkit.platform.wording import truncated
from nlpkit.version import __version__


@dataclass(frozen=True, slots=True)
class PageItem:
    """A question as it is shown: text or words it is about, then what may be chosen. The correct answer is not part of it."""

    id: str
    choices: Sequence[str]
    text: str = ""
    words: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class TaskPage:
    """A task as it is shown: task marks the answers as its own, file begins the name of the file they are saved to."""

    task: str
    name: str
    file: str
    question: str
    instructions: str
    items: Sequence[PageItem]
    asks_label: bool = False


def task_page(page: TaskPage) -> str:
    """Return the page. Every text is escaped: words of a topic may be anything.

    Answers are kept in the browser's own storage, and saved as CSV by the browser. A content security policy forbids any
    other script, and all traffic.
    """
    total = len(page.items)
    items = "\n".join(_item(item, page, number, total) for number, item in enumerate(page.items, start=1))
    policy = (
        f"default-src 'none'; script-src '{_hash(_SCRIPT)}'; style-src '{_hash(_STYLE)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape(page.name)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main id="task" data-task="{escape(page.task)}" data-file="{escape(page.file)}" data-labels="{int(page.asks_label)}">
<h1 dir="auto">{escape(page.name)}</h1>
<p>{escape(page.instructions)}</p>
<p>Answer with the mouse, or with the keys 1 to {min(max(len(i.choices) for i in page.items), 9)} and Enter for the next question.
A question may be left open. Answers stay in this browser until you save them as a file, which you then send back.</p>
<noscript><p><strong>This page needs JavaScript. Without it, fill in the file {escape(page.file)}.csv instead.</strong></p></noscript>
<p class="who"><label for="coder">Your name or initials</label>
<input id="coder" type="text" autocomplete="off" maxlength="80"></p>
<p class="how-far"><label for="done">Answered</label> <progress id="done" max="{total}" value="0"></progress>
<span id="count">0 of {total}</span></p>
{items}
<p class="buttons"><button type="button" id="back">Back</button>
<button type="button" id="next">Next</button>
<button type="button" id="open">Next without an answer</button>
<button type="button" id="clear">Clear this answer</button></p>
<p class="buttons"><button type="button" id="save">Save answers</button>
<button type="button" id="restart">Start over</button></p>
<p id="said" role="status"></p>
</main>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _item(item: PageItem, page: TaskPage, number: int, total: int) -> str:
    id_ = escape(item.id)
    parts = [
        f'<fieldset class="item" id="{id_}" tabindex="-1">',
        f"<legend>Question {number} of {total}: {escape(page.question)}</legend>",
    ]
    if item.text:
        parts.append(f'<blockquote dir="auto" tabindex="0">{escape(item.text)}</blockquote>')
    if item.words:
        words = " ".join(f"<li>{escape(word)}</li>" for word in item.words)
        parts.append(f'<ul class="words" dir="auto">{words}</ul>')
    for place, choice in enumerate(item.choices, start=1):
        parts.append(
            f'<label class="option"><input type="radio" name="{id_}" value="{place}"> '
            f'<kbd aria-hidden="true">{place}</kbd> <span class="choice" dir="auto">{escape(choice)}</span></label>'
        )
    if page.asks_label:
        parts.append(
            f'<p><label for="label-{id_}">A name for these words, if you see one</label>'
            f' <input class="label" id="label-{id_}" type="text" autocomplete="off" maxlength="200"></p>'
        )
    return "\n".join([*parts, "</fieldset>"])


def _hash(code: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


_STYLE = """
:root { color-scheme: light dark; font: 1.05rem/1.5 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 1rem; }
fieldset { border: 1px solid GrayText; border-radius: .5rem; margin: 1rem 0; padding: .5rem 1rem 1rem; }
legend { font-weight: 600; padding: 0 .3rem; }
blockquote { margin: .5rem 0 1rem; padding-left: 1rem; border-left: .2rem solid GrayText; white-space: pre-line;
  max-height: 15rem; overflow: auto; overflow-wrap: anywhere; }
.words { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; list-style: none; padding: 0; font-size: 1.15rem; }
.option { display: flex; gap: .6rem; align-items: baseline; padding: .45rem .6rem; margin: .3rem 0;
  border: 1px solid transparent; border-radius: .4rem; cursor: pointer; overflow-wrap: anywhere; }
.option:hover { border-color: GrayText; }
.option:has(input:checked) { border-color: AccentColor; font-weight: 600; }
kbd { border: 1px solid GrayText; border-radius: .25rem; padding: 0 .35rem; font-size: .8rem; font-weight: 400; }
input[type=text] { font: inherit; width: 100%; max-width: 24rem; display: block; box-sizing: border-box; }
button { font: inherit; padding: .35rem .9rem; margin: .2rem .3rem .2rem 0; }
:focus-visible { outline: .2rem solid Highlight; outline-offset: .15rem; }
fieldset:focus { outline: none; }
[hidden] { display: none; }
"""

_SCRIPT = r"""
"use strict";
(function () {
  var main = document.getElementById("task");
  var items = Array.from(document.querySelectorAll("fieldset.item"));
  var coder = document.getElementById("coder");
  var key = "nlpkit-task-" + main.dataset.task;
  var at = 0;

  function by(id) { return document.getElementById(id); }
  function say(text) { by("said").textContent = text; }
  function radios(item) { return Array.from(item.querySelectorAll("input[type=radio]")); }
  function chosen(item) { return radios(item).find(function (r) { return r.checked; }); }
  function label(item) { return item.querySelector("input.label"); }
  function open() { return items.filter(function (item) { return !chosen(item); }).length; }
  function left() {
    return (open() === 1 ? "1 question is" : open() + " questions are") + " without an answer.";
  }

  function keep() {
    var kept = { coder: coder.value, at: at, answers: {}, labels: {} };
    items.forEach(function (item) {
      if (chosen(item)) { kept.answers[item.id] = chosen(item).value; }
      if (label(item) && label(item).value) { kept.labels[item.id] = label(item).value; }
    });
    try { localStorage.setItem(key, JSON.stringify(kept)); } catch (e) { /* private window: kept in the page only */ }
    by("done").value = items.length - open();
    by("count").textContent = (items.length - open()) + " of " + items.length;
  }

  function fill() {
    var kept = null;
    try { kept = JSON.parse(localStorage.getItem(key)); } catch (e) { kept = null; }
    if (!kept) { return; }
    coder.value = kept.coder || "";
    at = Math.min(kept.at || 0, items.length - 1);
    items.forEach(function (item) {
      var value = (kept.answers || {})[item.id];
      radios(item).forEach(function (r) { r.checked = r.value === value; });
      if (label(item)) { label(item).value = (kept.labels || {})[item.id] || ""; }
    });
  }

  function show(place, focus) {
    at = Math.max(0, Math.min(place, items.length - 1));
    items.forEach(function (item, i) { item.hidden = i !== at; });
    by("back").disabled = at === 0;
    by("next").disabled = at === items.length - 1;
    if (focus) { items[at].focus(); }
    keep();
  }

  function next() {
    if (at === items.length - 1) {
      say(open() ? left() : "That was the last question. Save your answers now.");
    } else {
      say("");
      show(at + 1, true);
    }
  }

  function nextOpen() {
    for (var step = 1; step <= items.length; step++) {
      var place = (at + step) % items.length;
      if (!chosen(items[place])) { say(""); show(place, true); return; }
    }
    say("All questions are answered. Save your answers now.");
  }

  function cell(text) {
    var safe = /^[=+\-@\t\r]/.test(text) ? "'" + text : text;  // a spreadsheet would compute it
    return '"' + safe.replace(/"/g, '""') + '"';
  }

  function save() {
    var name = coder.value.trim();
    if (!name) {
      say("Enter your name or initials first.");
      coder.focus();
      return;
    }
    var labels = main.dataset.labels === "1";
    var rows = [["task", "coder", "item", "answer", "choice"].concat(labels ? ["label"] : [])];
    items.forEach(function (item) {
      var mark = chosen(item);
      var words = mark ? mark.closest("label").querySelector(".choice").textContent : "";
      var row = [main.dataset.task, name, item.id, mark ? mark.value : "", words];
      rows.push(labels ? row.concat([label(item).value.trim()]) : row);
    });
    var text = rows.map(function (row) { return row.map(cell).join(","); }).join("\r\n") + "\r\n";
    var file = main.dataset.file + "." + name.replace(/[^\p{L}\p{N}_-]+/gu, "_") + ".csv";
    var link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff" + text], { type: "text/csv;charset=utf-8" }));
    link.download = file;
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 60000);
    say("Saved as " + file + (open() ? "; " + left() : ". Thank you!"));
  }

  function restart() {
    if (!confirm("Delete all answers in this browser and start over?")) { return; }
    coder.value = "";
    items.forEach(function (item) {
      radios(item).forEach(function (r) { r.checked = false; });
      if (label(item)) { label(item).value = ""; }
    });
    say("");
    show(0, false);
    coder.focus();
  }

  document.addEventListener("keydown", function (event) {
    var target = event.target;
    if (event.altKey || event.ctrlKey || event.metaKey || target.tagName === "BUTTON") { return; }
    if (event.key === "Enter") {
      event.preventDefault();
      if (target === coder) { items[at].focus(); } else { next(); }
    } else if (target.type !== "text" && /^[1-9]$/.test(event.key)) {
      var mark = radios(items[at])[Number(event.key) - 1];
      if (mark) { mark.checked = true; mark.focus(); keep(); }
    }
  });
  main.addEventListener("input", keep);
  by("back").addEventListener("click", function () { say(""); show(at - 1, true); });
  by("next").addEventListener("click", next);
  by("open").addEventListener("click", nextOpen);
  by("clear").addEventListener("click", function () {
    radios(items[at]).forEach(function (r) { r.checked = false; });
    keep();
  });
  by("save").addEventListener("click", save);
  by("restart").addEventListener("click", restart);
  fill();
  show(at, false);
})();
"""


# ------------------------------------------------------------------------------------------------------------------------
# A task for people on disk: a page, the same as CSV, and the key that stays with us.
#
# task.html       for coders: the page (see `task_page`)
# task.csv        for coders who prefer a spreadsheet: a row a question, an empty column `answer`
# task.key.json   for us: the right answers, the seed, what the questions are about; of texts to be labelled, ids and texts
# task.anna.csv   what comes back (see `task_answers`)

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
        OutputExistsError, UsageError, InputError: see `nlpkit.platform.runs.atomic.check_target`, for any of the three.
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
    rating, about_text = task.kind == RATING, task.kind in WITH_TEXT
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
        elif task.kind in WITH_TEXT:
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
        items = tuple(
            replace(_tasks_item(row), options=labels) if labels else _tasks_item(row) for row in value["items"]
        )
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


def _tasks_item(row: Mapping[str, Any]) -> Item:
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
    """Return a task with the texts that its questions are about, which are in the CSV beside its key; others as they are.

    Raises:
        InputError, ColumnError: it is not there, is of another task, or has no text of a question.
    """
    if task.kind not in (TOPIC, NAME):
        return task
    table = key.with_name(key.name.removesuffix(".json").removesuffix(".key") + ".csv")
    if not table.is_file():
        raise InputError(f"{table}: no such file; the texts of {task.kind} are in the CSV next to its key")
    rows = read_rows(table, encoding="utf-8", hint="item")
    columns = [[text_of(value) for value in rows.column(name)] for name in ("task", "item", "text")]
    texts = {item: without_apostrophe(text) for mark, item, text in zip(*columns, strict=True) if mark == task.mark}
    without = next((id_ for id_ in task.ids if not texts.get(id_)), None)
    if without is not None:
        raise InputError(f"{table} has no text of item {without} of task {task.mark}; make the task again")
    items = tuple(replace(item, text=texts[id_]) for id_, item in zip(task.ids, task.design.items, strict=True))
    return replace(task, design=replace(task.design, items=items))
