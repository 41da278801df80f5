"""What is said of a task that was written, of those who answered it, and of coders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlpkit.annotate.task_files import task_paths
from nlpkit.annotate.tasks import Task
from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.plain import shell_line
from nlpkit.platform.views.blocks import Note, Table, cell

if TYPE_CHECKING:
    from nlpkit.annotate.judges import Judgements

LABELS_SHOWN = 8


def show_task(task: Task, output: Path) -> None:
    """Say which files a task is in and how it goes on; with --json print it as one object."""
    page, table, key = task_paths(output)
    reporting.note(
        f"wrote {page} with {wording.counted(len(task.design.items), 'question')}, {table}, and {key} with the answers"
    )
    reporting.note(f"next: give {page.name} (or {table.name}) to each coder, and keep {key.name} to yourself")
    line = shell_line("nlpkit", "annotate", "score", key, "--answers", "FILE")
    reporting.note(f"then: {line}, once for each file that comes back")
    if console.settings.json:
        console.emit_json(
            {
                "kind": task.kind,
                "name": task.name,
                "task": task.mark,
                "items": len(task.design.items),
                "skipped": {str(k): why for k, why in task.design.skipped.items()},
                "seed": task.design.seed,
                "outputs": [str(page), str(table), str(key)],
            }
        )


def show_labels(facts: Mapping[str, Any], output: str) -> None:
    """Print how often each label was given, and the next command; with --json all counts as one object."""
    rows = [[name, cell(n)] for name, n in facts["labels"].items()]
    following = Note(f"next: {shell_line('nlpkit', 'classify', output, '-o', 'model/')}")
    console.say([Table(["label", "texts"], rows, right=["texts"]), following], lambda: {"output": output, **facts})


def show_judgements(judgements: Judgements, key: Path, output: str) -> None:
    """Say how many questions a language model answered; with --json print it as one object."""
    n = len(judgements.answers)
    rated = judgements.expected_ratings() if any(one.expected is not None for one in judgements.answers) else []
    facts = {
        "output": output, "kind": judgements.task.kind, "task": judgements.task.mark, "coders": list(judgements.coders),
        "questions": n, "answered": n - len(judgements.failed), "calls": judgements.calls, "cached": judgements.cached,
        **({"ratings": [{"topic": name, "expected": rating} for name, _, rating in rated]} if rated else {}),
    }  # fmt: skip
    rows = [[name, cell(rating), " ".join(words)] for name, words, rating in rated]
    line = shell_line("nlpkit", "annotate", "score", key, "--answers", output)
    notes = (
        f"wrote {output}: {n - len(judgements.failed):,} of {wording.counted(n, 'question')} answered",
        f"{wording.counted(judgements.calls, 'question')} asked, {wording.count(judgements.cached)} answered before",
        f"next: {line}, with a further --answers FILE for each file of people",
    )
    table = Table(["topic", "expected", "words"], rows, right=["expected"], noun="topics", rest=output)
    console.say([*([table] if rows else []), *map(Note, notes)], lambda: facts)


def show_reliability(counts: Mapping[str, Any], output: str) -> None:
    """Print how each coder errs, where that was estimated; with --json all counts as one object."""
    console.say(_reliability(counts), lambda: {"output": output, **counts})


def _reliability(counts: Mapping[str, Any]) -> Iterator[Table]:
    if "coders" not in counts:
        return
    labels = list(counts["shares"])
    rows = [[one["coder"], cell(one["ratings"]), cell(one["accuracy"])] for one in counts["coders"]]
    yield Table(["coder", "judgements", "accuracy"], rows, right=["judgements", "accuracy"])
    if len(labels) <= LABELS_SHOWN:
        confusions = [
            [one["coder"], true, *(cell(one["confusion"][true][label]) for label in labels)]
            for one in counts["coders"]
            for true in labels
        ]
        yield Table(
            ["coder", "label", *(f"says {label}" for label in labels)], confusions, right=[f"says {n}" for n in labels]
        )
