"""What report prints: where the page is and what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.workflows.report import Report


def report(page: Report, target: Path) -> None:
    """Print what was written as one JSON object; without `json` the note of `save` has said it."""
    if console.settings.json:
        console.emit_json(
            {
                "output": str(target),
                "title": page.title,
                "bytes": page.size,
                "documents": page.documents,
                "total": page.total,
            }
        )
