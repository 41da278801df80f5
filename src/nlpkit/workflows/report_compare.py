"""What the report shows of another run beside its own: which topics correspond, and how documents went from one to the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nlpkit.io.runs import Run
from nlpkit.parameters import Execution
from nlpkit.report.page import Section
from nlpkit.views.html import write
from nlpkit.workflows.diff import TopicDiff, diff
from nlpkit.workflows.topic_views import diff_blocks


def comparison(other: Path, run: Run, execution: Execution) -> tuple[Section, dict[str, Any]]:
    """Return the section on what became of the topics of another run in this one, and its data for the picture.

    Raises:
        InputError: the other is no run of a topic model.
    """
    result = diff(other, run.path, execution=execution)
    by_documents = bool(result.shared)
    flows = [
        [row["a"], row["b"], row["documents"] if by_documents else round(row["words"], 3)]
        for row in result.overlaps.to_pylist()
        if row["a"] >= 0 and row["b"] >= 0 and (row["documents"] if by_documents else (row["words"] or 0) >= 0.15)
    ]
    data = {
        "of": result.a.path.name,
        "by": "documents" if by_documents else "words",
        "flows": flows,
        "before": _topics(result),
    }
    return Section("compared", "Compared", write(diff_blocks(result))), data


def _topics(result: TopicDiff) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = result.a.table("topics", ["label", "size"]).to_pylist()
    return rows
