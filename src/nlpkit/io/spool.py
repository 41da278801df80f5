"""A temporary file for work that needs two passes over a stream: Arrow IPC beside the output, gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa


class Spool:
    """Batches written once and read back once or more, in order. Memory: one batch."""

    def __init__(self, directory: Path | None) -> None:
        self._file = tempfile.TemporaryFile(prefix=".nlpkit-spool-", dir=directory)  # noqa: SIM115
        self._writer: pa.RecordBatchStreamWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch; all must have one schema."""
        if self._writer is None:
            # a stream, not a file: the dictionary of a categorical column may differ from batch to batch
            how = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writer = pa.ipc.new_stream(self._file, batch.schema, options=how)
        self._writer.write_batch(batch)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._writer is None:
            return
        self._writer.close()
        self._file.seek(0)
        yield from pa.ipc.open_stream(self._file)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


@contextmanager
def spool_beside(target: str) -> Iterator[Spool]:
    """Yield a spool in the directory of an output (where there is room for the output), or the temporary directory for stdout."""
    spool = Spool(None if target == "-" else Path(target).resolve().parent)
    try:
        yield spool
    finally:
        spool.close()
