"""The saving of results: run directories, tables made from documents, pictures and pages.

Parts, in this order:
- Pictures and pages as files.
- How results are written: run directories, and tables that were made from documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import warn_dropped
from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.runs.provenance import HasProvenance, source_block
from nlpkit.platform.runs.runs import NewRun, Run
from nlpkit.platform.runs.tables import save_table, write_dropped


def write_picture(path: Path, content: bytes | str, *, force: bool) -> None:
    """Write a picture, or a page as UTF-8; it appears whole or not at all.

    Raises:
        OutputExistsError, UsageError, InputError: see `check_target`.
    """
    with atomic_file(path, force=force) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


# ------------------------------------------------------------------------------------------------------------------------
# How results are written: run directories, and tables that were made from documents.


def save_run(run: Run | NewRun, path: str | Path, *, force: bool = False, drops_told: bool = False) -> Path:
    """Write a run directory, with a word on rows that were dropped, or a copy of one that was read.

    drops_told: the fit has warned of the rows; where they are listed is all there is to say.

    Raises:
        OutputExistsError: it is there and `force` was not given; and what `check_target` raises.
    """
    target = Path(path)
    if isinstance(run, Run):
        run.copy_to(target, force=force)
    else:
        run.write(target, force=force)
        listed = target / "dropped.parquet"
        if not drops_told:
            warn_dropped(run.files, listed)
        elif run.files.dropped:
            reporting.note(f"dropped rows are listed in {listed}")
    return target


def save_derived_table(
    target: str | Path,
    table: pa.Table,
    kind: str,
    source: HasProvenance,
    *,
    command: str,
    parameters: Mapping[str, Any],
    row: str = "",
    force: bool = False,
) -> None:
    """Write a table that a command made from documents, with the list of dropped rows beside it.

    Args:
        target: a table, or "-" for JSON lines on stdout.
        kind, command, parameters: of the footer.
        row: what a row is, for the note on what was written; "" for no note.

    Raises:
        UsageError: the suffix of the name is not one of a table; OutputExistsError: it is there.
    """
    block = source_block(kind, source, command=command, parameters=parameters)
    save_table(target, table, block, force=force)
    warn_dropped(source, write_dropped(str(target), source.dropped, block))
    if row and str(target) != "-":
        reporting.note(f"wrote {target}: {wording.counted(table.num_rows, row)}")
