"""What is said of a task for people that was written."""

from __future__ import annotations

from pathlib import Path

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.evaluation.tasks import Task
from nlpkit.io.tasks import task_paths
from nlpkit.plain import shell_line


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
