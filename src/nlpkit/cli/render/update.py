"""What bertopic --update shows: what became of each topic when newer documents came."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nlpkit import reporting, wording
from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.workflows.bertopic_update import UpdatedRun

TERMS_SHOWN = 8


def show_update(longer: UpdatedRun, target: Path, run: Path) -> None:
    """Print the topics of a run with newer documents that was written, or their JSON object."""
    topics = longer.topics.to_pylist()
    if console.settings.json:
        rows = [{**topic, **change} for topic, change in zip(topics, longer.changes, strict=True)]
        results = {name: value for name, value in longer.model.results().items() if name not in ("evidence", "merges")}
        console.emit_json(
            {"run": str(target), **longer.lineage, "results": results, "unlike": longer.unlike, "topics": rows}
        )
        return
    cells: list[list[str]] = []
    for topic, change in zip(topics, longer.changes, strict=True):
        came, went = sum(change["from_topics"].values()), sum(change["to_topics"].values())
        cells.append(
            [
                f"{topic['topic']}{' new' if change['is_new'] else ''}",
                "" if change["is_new"] else wording.count(change["before"]),
                wording.count(change["now"]),
                f"+{change['new']:,}" if change["new"] else "",
                f"+{came:,}" if came else "",
                f"-{went:,}" if went else "",
                topic["label"],
                " ".join(topic["top_terms"][:TERMS_SHOWN]),
            ]
        )
    columns = ["topic", "before", "now", "newer", "moved in", "moved out", "name", "top words"]
    sizes = [change["now"] for change in longer.changes]
    console.table(columns, cells, right=columns[1:6], noun="topics", rest="topics.parquet of the run", sizes=sizes)
    n_new = sum(change["is_new"] for change in longer.changes)
    joined = sum(change["new"] for change in longer.changes if not change["is_new"])
    in_new = sum(change["new"] for change in longer.changes if change["is_new"])
    reporting.note(
        f"{wording.counted(longer.n_newer, 'newer document')}: {joined:,} joined topics of {run}, {in_new:,} in "
        f"{wording.counted(n_new, 'new topic')}, {longer.n_newer - joined - in_new:,} without a topic"
        + (f" ({longer.unlike:,} different ones unlike everything there)" if longer.unlike else "")
    )
    for change in longer.changes:
        came = change["from_topics"]
        if came:
            where = [f"no topic ({n:,})" if other == "-1" else f"{other} ({n:,})" for other, n in came.items()]
            n = sum(came.values())
            reporting.note(
                f"{wording.counted(n, 'document')} moved to topic {change['topic']}, from {wording.listed(where, 10)}"
            )
    console.note_topic_run(target)
