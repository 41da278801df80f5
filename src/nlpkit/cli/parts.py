"""Commands whose documents are divided: one part of them is done here, or Ray does all parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.cli.options import OutputFlags, RunFlags
    from nlpkit.io.read_options import ReadOptions
    from nlpkit.io.shards import ShardOptions


def divided(
    command: str,
    inputs: Sequence[str],
    target: str | None,
    *,
    sharing: ShardOptions,
    read: ReadOptions,
    out: OutputFlags,
    run: RunFlags,
    **settings: Any,
) -> bool:
    """Do a part of a command, or all parts by Ray, where that is asked for; return whether it was.

    settings: as `nlpkit.workflows.map_documents.map_documents` takes them, which says what is raised.
    """
    sharing.reading(read, target)  # options that contradict each other
    if sharing.shard is None and not sharing.on_ray:
        return False
    from nlpkit.workflows.map_documents import map_documents

    summary = map_documents(
        command, *inputs, target=str(target), read=read, execution=run, sharing=sharing, force=out.force, **settings
    )
    rows = wording.counted(summary["rows"], "row")
    if sharing.shard is not None:
        reporting.note(
            f"wrote {target}: part {sharing.shard}, {rows}; with the other parts: nlpkit merge PARTS -o whole.parquet"
        )
        summary = {"part": sharing.shard, "rows": summary["rows"], "dropped": summary["dropped"]}
    else:
        parts = wording.counted(summary["parts"], "part")
        workers = f" by {wording.counted(summary['workers'], 'process', 'processes')}" if summary["workers"] else ""
        reporting.note(f"wrote {target}: {rows} in {parts}{workers}")
    if run.json:
        console.emit_json({"output": target, **summary})
    return True
