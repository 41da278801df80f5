"""What explain-transformer shows: each matrix below its formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlpkit import reporting
from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.workflows.explain_transformer import WorkedTransformer


def steps(worked: WorkedTransformer, target: str | None) -> None:
    """Print the matrices, or one JSON object; nothing where they were written, but the notes on stderr."""
    from nlpkit.workflows.explain_transformer import PARTS, cells, remarks

    if console.settings.json:
        console.emit_json({"output": target, **worked.to_dict()})
        return
    if target is None:
        for number, step in enumerate(worked.steps, 1):
            title = f"{number}. {PARTS[step.part]}: {step.name} {step.symbol}    {step.formula}"
            rows = [[name, *row] for name, row in zip(step.rows, cells(step), strict=True)]
            console.table(["", *step.columns], rows, right=step.columns, title=title)
            for remark in remarks(step):
                console.out(remark)
            if remarks(step):
                console.out("")
    for note in worked.notes:
        reporting.note(note)
