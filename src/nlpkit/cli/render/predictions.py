"""What was predicted and where it went, and how it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.io.tables import is_readable

if TYPE_CHECKING:
    from nlpkit.workflows.model import Predictions


def show_predictions(predictions: Predictions, target: str) -> None:
    """Say what was written, and the next command that makes something of it."""
    words = _next(predictions, target) if is_readable(target) else None
    reporting.note(f"wrote {target}{'' if words is None else console.next_step(*words)}")


def show_embeddings(summary: Mapping[str, Any], target: str) -> None:
    """Say how many documents were written, and the next command."""
    goes_on = console.next_step("bertopic", target, "-o", "run/") if is_readable(target) else ""
    reporting.note(f"wrote {target}: {wording.counted(summary['docs'], 'document')}{goes_on}")


def _next(predictions: Predictions, target: str) -> tuple[str, ...] | None:
    if predictions.gives == "topics":
        return "ctfidf", target, "--by", "topic"
    if predictions.gives == "classes" and "label" in predictions.stream.schema.names:
        return "evaluate", target
    return None
