"""What name shows: the names with the passages that speak for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.plain import shell_line

if TYPE_CHECKING:
    from nlpkit.workflows.name_topics import TopicNames


def names(result: TopicNames, target: Path | None) -> None:
    """Print a table, or one JSON object."""
    if console.settings.json:
        console.emit_json(
            {
                "run": str(result.run.path),
                "names": result.table().to_pylist(),
                "calls": result.calls,
                "cached": result.cached,
                "output": None if target is None else str(target),
            }
        )
        return
    rows = [[str(one.topic), one.before, one.name, wording.truncated(one.evidence, 60)] for one in result.names]
    console.table(["topic", "before", "name", "evidence"], rows, right=["topic"])
    if result.calls or result.cached:
        reporting.note(
            f"{wording.counted(result.calls, 'question')} asked, {wording.count(result.cached)} answered before"
        )
    if target is not None:
        is_edits = target.suffix == ".toml"
        words = ("edit", result.run.path, target, "-o", "named/") if is_edits else ("info", target)
        follow = shell_line("nlpkit", *words)
        reporting.note(f"wrote {target}; next: {follow}")
