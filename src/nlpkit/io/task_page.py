"""The page on which people answer the questions of a task: one HTML file that needs nothing else and sends nothing anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


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
