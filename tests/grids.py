"""What tests of grids of fits share: their files without facts of machine and time, and a worker that is lost."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from nlpkit.shards.schedule import ProcessWorkers

# what differs between two fits of the same documents
OF_MACHINE = ("command_line", "made_in", "threads", "packages", "seconds", "peak_memory_mb")


def bytes_of(folder: Path) -> dict[str, Any]:
    """Every file below a folder; of manifests without what depends on machine and time."""
    files: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            files[path.relative_to(folder).as_posix()] = path.read_bytes()
        if path.name == "manifest.json":
            facts = json.loads(path.read_text(encoding="utf-8"))
            files[path.relative_to(folder).as_posix()] = {k: v for k, v in facts.items() if k not in OF_MACHINE}
    return files


def kill_first_worker(patch: pytest.MonkeyPatch) -> list[int]:
    """Let the first worker that gets a fit be killed; returns a list of its number, as soon as it is."""
    killed: list[int] = []
    submit = ProcessWorkers.submit

    def killing(self: ProcessWorkers, worker: Any, task: Any, target: str) -> Any:
        event = submit(self, worker, task, target)
        if not killed:
            killed.append(worker.process.pid)
            os.kill(worker.process.pid, signal.SIGKILL)
        return event

    patch.setattr(ProcessWorkers, "submit", killing)
    return killed
