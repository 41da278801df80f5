"""The commands of divided work: parts done here or by Ray, and `nlpkit merge`, which joins them.

Parts, in this order:
- Commands whose documents are divided: one part of them is done here, or Ray does all parts.
- nlpkit merge: parts of a table to the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from nlpkit.platform import reporting, wording
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.platform.options import READ, TABLE_WRITTEN, Param

if TYPE_CHECKING:
    from nlpkit.platform.documents.options import ReadOptions
    from nlpkit.platform.documents.parts import ShardOptions


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

    settings: as `nlpkit.shards.documents.map_documents` takes them, which says what is raised.
    """
    sharing.reading(read, target)  # options that contradict each other
    if sharing.shard is None and not sharing.on_ray:
        return False
    from nlpkit.shards.documents import map_documents

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


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit merge: parts of a table to the whole.


def merge_cli(
    *,
    parts: Annotated[
        list[str],
        Argument("Files that a command wrote with --shard, in any order, or a folder of them.", metavar="PART"),
        READ,
    ],
    out: OutputFlags,
    save_vocab: Annotated[
        Path | None,
        Param("Table of the terms kept (term, cf, df). For parts of preprocess.", metavar="FILE"),
        TABLE_WRITTEN,
    ] = None,
    run: RunFlags,
) -> None:
    """Combine the parts of a table written with --shard.

    All parts must be present and come from the same input, command, options and version. The output has the same bytes as
    without --shard. The parts of preprocess hold all words; merge selects the final terms (--min-df and similar options) by the
    counts of all parts. The lists of dropped rows are combined too.

    \b
    Examples:
      nlpkit merge parts/ -o docs.parquet
      nlpkit merge parts/1.parquet parts/2.parquet -o docs.csv
      nlpkit merge parts/ --save-vocab vocab.parquet -o docs.parquet --force
    """
    from nlpkit.shards.merge import merge, size_of

    target = out.target("docs.parquet")
    if run.dry_run:
        console.plan(size_of(parts))
        return
    summary = merge(parts, target, vocab=save_vocab, force=out.force)
    if target == "-":
        return
    n_parts = wording.counted(summary["parts"], "part")
    reporting.note(f"wrote {target}: {wording.counted(summary['rows'], 'row')} of {n_parts}")
    if run.json:
        console.emit_json({"output": target, **summary})
