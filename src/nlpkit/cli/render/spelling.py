"""What spell shows: the commonest errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nlpkit import reporting, wording
from nlpkit.cli import console


def errors(summary: Mapping[str, Any], target: str | None) -> None:
    """Print the commonest errors with what was meant, or one JSON object."""
    if target == "-":
        return
    if console.settings.json:
        console.emit_json({"output": target, **summary})
        return
    if summary["commonest"]:
        rows = [[one["word"], one["suggestion"], wording.count(one["n"])] for one in summary["commonest"]]
        console.table(["word", "suggestion", "n"], rows, right=["n"])
    if target is not None:
        reporting.note(f"wrote {target}")
