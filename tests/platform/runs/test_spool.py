"""Batches kept for a second pass: in memory, on disk, and both."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from nlpkit.platform.runs import tables as module
from nlpkit.platform.runs.tables import spool_in


@pytest.mark.parametrize("memory", [0, 100, 10**9])
def test_batches_come_back_in_order_as_often_as_asked(
    memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MEMORY", memory)
    batches = [
        pa.record_batch({"id": [f"{i}"], "kind": pa.array(["ab"[i % 2]]).dictionary_encode(), "n": [[i] * i]})
        for i in range(1, 21)
    ]
    with spool_in(tmp_path) as spool:
        assert list(spool) == []
        for batch in batches:
            spool.write(batch)
        for _ in range(2):
            assert [batch.to_pylist() for batch in spool] == [batch.to_pylist() for batch in batches]
    assert list(tmp_path.iterdir()) == []
