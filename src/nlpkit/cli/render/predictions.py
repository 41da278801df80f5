"""What was predicted and where it went, and how it goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.io.tables import is_readable

if TYPE_CHECKING:
    from nlpkit.workflows.model import Predictions

SHOWN_WORDS = 15  # of an explanation


def show_predictions(predictions: Predictions, target: str | None) -> None:
    """Say what was written and the next command that makes something of it, and show the explanations."""
    if target == "-":
        show_explanations(predictions.explanations, to_stderr=True)
        return
    if target is not None:
        words = _next(predictions, target) if is_readable(target) else None
        reporting.note(f"wrote {target}{'' if words is None else console.next_step(*words)}")
    if not console.settings.json:
        show_explanations(predictions.explanations)


def show_explanations(explained: Mapping[str, Sequence[Mapping[str, Any]]], *, to_stderr: bool = False) -> None:
    """Print the strongest words of each document, for each class that it got."""
    for name, classes in explained.items():
        for one in classes:
            prob = "" if one["prob"] is None else f", probability {one['prob']:.3f}"
            what = one["class"] if "class" in one else f"{one['number']:.4g}"
            title = f"{name}: {what}{prob}"
            words = one["words"][:SHOWN_WORDS]
            if to_stderr:
                reporting.note(title + "; " + ", ".join(f"{w['term']} {w['contribution']:+.3f}" for w in words))
                continue
            rows = [[w["term"], f"{w['contribution']:+.4f}"] for w in words] or [["(no word that the model knows)", ""]]
            console.table(["word", "contribution"], rows, right=["contribution"], title=title)


def show_embeddings(summary: Mapping[str, Any], target: str) -> None:
    """Say how many documents were written, and the next command."""
    goes_on = console.next_step("bertopic", target, "-o", "run/") if is_readable(target) else ""
    reporting.note(f"wrote {target}: {wording.counted(summary['docs'], 'document')}{goes_on}")


def _next(predictions: Predictions, target: str) -> tuple[str, ...] | None:
    if predictions.gives == "topics":
        return "ctfidf", target, "--by", "topic"
    if predictions.gives == "classes" and "label" in predictions.stream.schema.names:
        return "evaluate", predictions.model if predictions.learned_from else target
    return None
