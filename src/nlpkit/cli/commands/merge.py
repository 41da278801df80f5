"""nlpkit merge: parts of a table to the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.parameters import READ, TABLE_WRITTEN, Param


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
    from nlpkit.workflows.merge import merge, size_of

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
