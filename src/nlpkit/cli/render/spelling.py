"""What spell shows: the commonest errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nlpkit.cli import console
from nlpkit.views.blocks import Block, Note, Table, cell

if TYPE_CHECKING:
    pass


def errors(summary: Mapping[str, Any], target: str | None) -> None:
    """Print the commonest errors with what was meant, or one JSON object."""
    if target == "-":
        return
    rows = [[one["word"], one["suggestion"], cell(one["n"])] for one in summary["commonest"]]
    blocks: list[Block] = [Table(["word", "suggestion", "n"], rows, right=["n"])] if rows else []
    blocks += [] if target is None else [Note(f"wrote {target}")]
    console.say(blocks, lambda: {"output": target, **summary})
