"""Commands that go through documents one by one: done here, on one share of the documents, or divided by Ray."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from nlpkit.errors import unknown_value
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import ShardOptions
from nlpkit.platform.options import Execution, takes
from nlpkit.shards.jobs import RECORDS, MapJob, records_of


@takes()
def map_documents(
    command: str,
    *inputs: str | Path,
    target: str | Path,
    read: ReadOptions | None = None,
    execution: Execution | None = None,
    sharing: ShardOptions | None = None,
    force: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Do a command that goes through documents one by one, and write its table: all of it, one part, or all parts by Ray.

    The bytes of the table do not depend on the number of parts or processes, nor on which of these were lost on the way.

    Args:
        command: preprocess, sbert-embed, predict, features, sentiment, zero-shot or spell.
        inputs: files, directories or globs. target: the table to write; of a part a Parquet file.
        read: how documents are read. execution: seed, and threads of each process.
        sharing: the part (`shard`), or how Ray divides the work (`workers`, `ray`, `resume`, `shard_timeout`).
        force: replace what is there.
        settings: the records of options that the command takes, as the function of Python does: for sbert-embed options
            (SbertOptions), kind, normalize; for preprocess tokens and rows; for predict and spell model and options.

    Raises:
        UsageError: options that need all documents, or contradict each other; MissingError: Ray is not installed, or its cluster not
            there; InputError: documents that cannot be used, or a part that could not be done.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("a.csv").write_text("text\\nA cat sat.\\nPrices rose.\\n")
        >>> nk.map_documents("preprocess", "a.csv", target="tokens.parquet")["rows"]
        2
    """
    if command not in RECORDS:
        raise unknown_value("command", command, tuple(RECORDS))
    job = MapJob(
        command, tuple(map(str, inputs)), read or ReadOptions(), execution or Execution(), records_of(command, settings)
    )
    sharing, name = sharing or ShardOptions(), str(target)
    job = replace(job, read=sharing.reading(job.read, name))
    if sharing.on_ray or job.read.shard is not None:
        job.check()
    if not sharing.on_ray:
        return job.run(name, force=force)
    from nlpkit.shards.ray import map_on_ray

    return map_on_ray(job, Path(name), sharing, force=force)
