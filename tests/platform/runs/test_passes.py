"""A pass over documents: its maker sees all of them once, and what it gives is the same with and without a spool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import nlpkit as nk
from nlpkit.platform.runs.passes import ColumnMaker, Pass, WithColumns
from nlpkit.platform.runs.tables import spool_in


class Lengths(ColumnMaker):
    """Characters of each text, and of all together."""

    command, replaces, total = "lengths", ("n",), 0

    def columns(self) -> Iterator[WithColumns]:
        for batch in self.stream:
            n = [len(text) for text in batch.column("text").to_pylist()]
            self.total += sum(n)
            yield batch, {"n": pa.array(n)}

    def completed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.append_column("total", pa.array([self.total] * batch.num_rows))

    def parameters(self) -> dict[str, Any]:
        return {"total": self.total}

    def summary(self) -> dict[str, Any]:
        return {"documents": self.documents}


@pytest.mark.parametrize("spooled", [False, True])
def test_columns_are_added_counted_and_written(spooled: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = pa.table({"id": ["a", "b"], "text": ["one", "three"], "n": [0, 0]})
    with nk.Corpus.from_frame(table).open() as stream, spool_in(None) as spool:
        made = Pass(Lengths("lengths", stream, None), spool if spooled else None)
        assert made.save(str(tmp_path / "n.parquet")) == {"documents": 2}
        assert made.block()["parameters"] == {"total": 8}
    written = nk.read_corpus(tmp_path / "n.parquet").table()
    assert (written.column("n").to_pylist(), written.column("total").to_pylist()) == ([3, 5], [8, 8])
    assert "the column 'n' of the input is replaced" in caplog.messages
