"""What the report shows of another run beside its own: which topics correspond, and how documents went from one to the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nlpkit import wording
from nlpkit.io.runs import Run
from nlpkit.parameters import Execution
from nlpkit.report.page import Section
from nlpkit.views.html import paragraphs, table
from nlpkit.workflows.diff import TopicDiff, diff


def comparison(other: Path, run: Run, execution: Execution) -> tuple[Section, dict[str, Any]]:
    """Return the section on what became of the topics of another run in this one, and its data for the picture.

    Raises:
        InputError: the other is no run of a topic model.
    """
    result = diff(other, run.path, execution=execution)
    facts = result.facts()
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
    columns = [
        "",
        result.a.path.name,
        "This run",
        "Documents",
        "Of the one, %",
        "Of the other, %",
        "Words gained",
        "Words lost",
    ]
    rows = [
        [
            row["relation"], row["a_label"], row["b_label"], "" if row["documents"] is None else wording.count(row["documents"]),
            _percent(row["share_of_a"]), _percent(row["share_of_b"]), ", ".join(row["gained"][:5]), ", ".join(row["lost"][:5]),
        ]
        for row in result.relations.to_pylist()
    ]  # fmt: skip
    section = Section(
        "compared", "Compared", paragraphs([_sentence(result, facts)]) + table(columns, rows, numeric=(3, 4, 5))
    )
    return section, data


def _topics(result: TopicDiff) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = result.a.table("topics", ["label", "size"]).to_pylist()
    return rows


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f}"


def _sentence(result: TopicDiff, facts: dict[str, Any]) -> str:
    counts = ", ".join(f"{n} {relation}" for relation, n in facts["relations"].items() if n)
    sentence = (
        f"{wording.counted(facts['a_topics'], 'topic')} of {result.a.path.name} beside {wording.count(facts['b_topics'])} of this run, "
        f"compared by {facts['by']}: {counts}."
    )
    if facts["ami"] is not None:
        shared = wording.counted(facts["shared_documents"], "document")
        sentence += (
            f" {shared} in both, {wording.count(facts['same'])} of them in topics that correspond; adjusted mutual information "
            f"{facts['ami']:.2f}."
        )
    return sentence
