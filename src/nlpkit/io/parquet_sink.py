"""Document tables to Parquet, batch by batch."""

from __future__ import annotations

import base64
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nlpkit.io.artifacts import DICTIONARY_BYTES, leaves, repeating, stored, stored_schema, with_footer
from nlpkit.io.footers import SHARD


class ParquetSink:
    """Parquet files, written in a thread while the next batch is made. Tokens are written as the codes they are, half the time of
    strings, and every reader sees strings.

    Each text and each id is another: a dictionary of them would cost as long as all the rest, and be as large.
    """

    def __init__(self, path: Path, schema: pa.Schema, block: dict[str, Any]) -> None:
        self._stored = with_footer(stored_schema(schema), block)
        self._coded = self._stored
        if "tokens" in schema.names:
            self._coded = self._stored.set(schema.get_field_index("tokens"), schema.field("tokens"))
        columns = leaves(self._stored)
        self._writer = pq.ParquetWriter(
            path,
            self._coded,
            store_schema=False,  # this one has codes; that of the reader's columns is added below
            compression="zstd",
            dictionary_pagesize_limit=DICTIONARY_BYTES,
            write_page_checksum=SHARD in block,  # a part is checked when it is put together with the others
            use_dictionary=[leaf for leaf in repeating(columns) if leaf not in ("id", "text")],
            write_statistics=[leaf for leaf in columns if leaf.partition(".")[0] not in ("text", "tokens")],
        )
        self._writer.add_key_value_metadata(
            {**self._stored.metadata, b"ARROW:schema": base64.b64encode(self._stored.serialize().to_pybytes())}
        )

        self._pool = ThreadPoolExecutor(1, thread_name_prefix="nlpkit-write")
        self._written: Future[None] | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch as a row group, once the one before is written. Raises OSError where that failed."""
        table = pa.Table.from_batches([batch])
        if _has_spare_terms(batch):
            table = stored(table, self._stored)
        table = stored(table, self._coded)
        self._wait()
        self._written = self._pool.submit(self._writer.write_table, table)

    def _wait(self) -> None:
        written, self._written = self._written, None
        if written is not None:
            written.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._wait()
        finally:
            self._pool.shutdown()
            self._writer.close()


def _has_spare_terms(batch: pa.RecordBatch) -> bool:
    """Return whether the dictionary of the tokens has terms that do not occur in them, as where rows were left out."""
    at = batch.schema.get_field_index("tokens")
    if at < 0 or not pa.types.is_list(batch.schema.field(at).type):
        return False
    flat = batch.column(at).flatten()
    return pa.types.is_dictionary(flat.type) and len(pc.unique(flat.indices)) < len(flat.dictionary)
