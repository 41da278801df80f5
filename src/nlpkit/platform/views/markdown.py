"""Blocks as Markdown, as GitHub has it."""

from __future__ import annotations

from collections.abc import Sequence

from nlpkit.platform.views.blocks import Block, Figure, Note, Table


def write(block: Block, most: int | None = None) -> str:
    """Return a block as Markdown; at most so many rows of a table that may be long, no table for 0."""
    match block:
        case Table() if most == 0:
            return ""
        case Table(columns, right=right, title=title):
            rows, line = block.shown(most)
            parts = [f"#### {title}" if title else "", table(columns, rows, right=right), line]
            return "".join(f"{part}\n\n" for part in parts if part)
        case Figure(text):
            return f"```text\n{text}\n```\n"
        case Note(text):
            return f"> {text}\n\n"
    return f"{block.text}\n"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> str:
    """Return a table in GitHub's Markdown; `right` names the columns of numbers."""
    line = ["---:" if name in right else "---" for name in columns]
    return "\n".join("| " + " | ".join(_cell(c) for c in row) + " |" for row in (columns, line, *rows))


def _cell(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(escaped.split())
