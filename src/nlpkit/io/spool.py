"""A place for work that needs two passes over a stream: memory, then a temporary file beside the output, gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from nlpkit.io.atomic import naming

MEMORY = 256 << 20  # bytes of batches that are held before the file is begun


class Spool:
    """Batches written once and read back once or more, in order. Memory: MEMORY, and one batch."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._held: list[pa.RecordBatch] = []
        self._size = 0
        self._file: IO[bytes] | None = None
        self._writer: pa.RecordBatchStreamWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch; all must have one schema."""
        if self._size < MEMORY:
            self._held.append(batch)
            self._size += batch.nbytes
            return
        if self._writer is None:
            self._file = tempfile.TemporaryFile(prefix=".nlpkit-spool-", dir=self._directory)  # noqa: SIM115
            # a stream, not a file: the dictionary of a categorical column may differ from batch to batch
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writer = pa.ipc.new_stream(self._file, batch.schema, options=options)
        with naming(self._directory or Path(tempfile.gettempdir())):
            self._writer.write_batch(batch)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self._held
        if self._writer is None or self._file is None:
            return
        self._writer.close()
        self._file.seek(0)
        yield from pa.ipc.open_stream(self._file)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle holds: all batches, in memory."""
        return {**self.__dict__, "_held": list(self), "_file": None, "_writer": None}

    def close(self) -> None:
        """Remove the file."""
        self._held.clear()
        if self._file is not None:
            self._file.close()


@contextmanager
def spool_in(directory: Path | None) -> Iterator[Spool]:
    """Yield a spool in a directory, None for the temporary one."""
    spool = Spool(directory)
    try:
        yield spool
    finally:
        spool.close()
