"""What edit shows: the topics after the edit, and what each of them was."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.plain import shell_line

if TYPE_CHECKING:
    from nlpkit.workflows.edit import EditedRun

TERMS_SHOWN = 8


def template(text: str, path: Path | None, run: Path) -> None:
    """Print a file of edits, or say where it is and how it is used."""
    if console.settings.json:
        console.emit_json({"output": None if path is None else str(path), "edits": text})
    elif path is None:
        console.out(text.rstrip("\n"))
    if path is None:
        return
    command = shell_line("nlpkit", "edit", run, path, "-o", f"{run.name}-edited/")
    reporting.note(f"wrote {path}; take the # from the lines that you need, then: {command}")


def edited(result: EditedRun, target: Path) -> None:
    """Print the topics of a run that was written with those they were, or one JSON object."""
    topics, lineage = result.topics.to_pylist(), result.lineage
    if console.settings.json:
        figures = {k: v for k, v in result.model.run.manifest["results"].items() if k not in ("evidence", "trace")}
        rows = [
            {**topic, "from": row["from"], "split": row["split"]}
            for topic, row in zip(topics, lineage["topics"], strict=True)
        ]
        console.emit_json({"run": str(target), **lineage, "results": figures, "topics": rows})
        return
    columns = ["topic", "was", "size", "share", "npmi", "name", "top words"]
    cells = [
        [
            str(topic["topic"]),
            _was(row),
            wording.count(topic["size"]),
            f"{topic['share']:.1%}",
            "" if topic["npmi"] is None else f"{topic['npmi']:.3f}",
            topic["label"],
            " ".join(topic["top_terms"][:TERMS_SHOWN]),
        ]
        for topic, row in zip(topics, lineage["topics"], strict=True)
    ]
    console.table(
        columns, cells, right=["topic", "size", "share", "npmi"], noun="topics", rest="topics.parquet of the run"
    )
    _notes(lineage, len(topics), result)
    console.note_topic_run(target)


def _was(row: dict[str, Any]) -> str:
    """Return the topics of the run before that a topic is made of: 1 + 4, or part of 3; "" for one that kept its number."""
    sources = row["from"]
    if row["split"]:
        return "part of " + " + ".join(map(str, sources))
    return "" if sources == [row["topic"]] else " + ".join(map(str, sources))


def _notes(lineage: dict[str, Any], K: int, result: EditedRun) -> None:
    for a, b, similarity in lineage["reduced"]:
        first, second = (" + ".join(map(str, topics)) for topics in (a, b))
        reporting.note(f"reduce: topics {first} and {second} merged (cosine of c-tf-idf {similarity:.3f})")
    if lineage["dropped"]:
        n = len(lineage["dropped"])
        reporting.note(f"{wording.counted(n, 'topic')} dropped: {wording.listed(lineage['dropped'], 10)}")
    if lineage["outliers_moved"]:
        n = lineage["outliers_moved"]
        reporting.note(
            f"{wording.counted(n, 'document')} without a topic {'was' if n == 1 else 'were'} moved to the nearest one"
        )
    figures = result.model.run.manifest["results"]
    npmi, diversity = (wording.if_defined(figures.get(name)) for name in ("npmi", "diversity"))
    lost = round(float(figures["unassigned"]) * int(figures["documents"]))
    reporting.note(
        f"{wording.counted(K, 'topic')}; NPMI {npmi} (documents), diversity {diversity}; "
        f"{wording.counted(lost, 'document')} without a topic"
    )
