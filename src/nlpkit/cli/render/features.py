"""Where a table of text features went, and how it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nlpkit import reporting
from nlpkit.cli import console

if TYPE_CHECKING:
    pass


def show_features(summary: Mapping[str, Any], target: str) -> None:
    """Say what was written, or print its JSON object."""
    if target == "-":
        return
    reporting.note(f"wrote {target}")
    if console.settings.json:
        console.emit_json({"output": target, **summary})
