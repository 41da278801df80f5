"""Values of Arrow columns that Python has no type for, in all outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.platform.values import python_values
from tests.command_line import run_cli

NS = pa.array([1_700_000_000_123_456_789, 1_700_000_000_123_456_000, 1_700_000_000_000_000_000, None])
TEXTS = ["2023-11-14 22:13:20.123456789", "2023-11-14 22:13:20.123456", "2023-11-14 22:13:20", None]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (NS.cast(pa.timestamp("ns")), TEXTS),
        (NS.cast(pa.timestamp("ns")).dictionary_encode(), TEXTS),
        (pa.chunked_array([NS.cast(pa.timestamp("ns"))] * 2), TEXTS * 2),
        (NS.cast(pa.timestamp("ns", "+01:00"))[:1], ["2023-11-14 23:13:20.123456789+01:00"]),
        (NS.cast(pa.timestamp("ns", "America/St_Johns"))[:1], ["2023-11-14 18:43:20.123456789-03:30"]),
        (pa.array([3_600_000_000_001]).cast(pa.time64("ns")), ["01:00:00.000000001"]),
        (pa.array([-1, 90_061_000_000_000]).cast(pa.duration("ns")), ["-1 day, 23:59:59.999999999", "1 day, 1:01:01"]),
        (pa.array([10**18, -(10**17)]).cast(pa.timestamp("us")), ["33658-09-27 01:46:40", "-1199-02-15 14:13:20"]),
        (pa.array([10**7], pa.int32()).cast(pa.date32()), ["29349-01-26"]),
        (pa.ListArray.from_arrays([0, 2, 4], NS.cast(pa.timestamp("ns"))), [TEXTS[:2], TEXTS[2:]]),
        (pa.ListArray.from_arrays([0, 2, 4], NS.cast(pa.timestamp("ns")))[1:], [TEXTS[2:]]),
        (pa.array([[1], None, []], pa.list_(pa.timestamp("ns"))), [["1970-01-01 00:00:00.000000001"], None, []]),
        (pa.array([{"a": 1}, None], pa.struct([("a", pa.time64("ns"))])), [{"a": "00:00:00.000000001"}, None]),
        (pa.MapArray.from_arrays([0, 1, 2], ["k", "l"], NS[:2].cast(pa.timestamp("ns")))[1:], [[("l", TEXTS[1])]]),
        (pa.array([1, None]), [1, None]),
    ],
)
def test_values(array: pa.Array, expected: list[Any]) -> None:
    assert python_values(array) == expected


@given(st.lists(st.none() | st.datetimes(), max_size=5), st.sampled_from([None, "UTC", "Asia/Kolkata"]))
def test_times_of_python_are_as_python_has_them(times: list[Any], zone: str | None) -> None:
    counts = pa.array(times, pa.timestamp("us")).cast(pa.int64())
    array = counts.cast(pa.timestamp("us", zone))
    try:
        expected = array.to_pylist()
    except (ValueError, OverflowError):
        return
    assert python_values(array) == expected


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "xlsx", "parquet", "-"])
def test_outputs(tmp_path: Path, suffix: str) -> None:
    """Each of these but Parquet ended in "a bug in nlpkit", or wrote <value out of range> (apache/arrow#34614, #44420)."""
    path, target = tmp_path / "x.parquet", tmp_path / f"y.{suffix}"
    times = NS.cast(pa.timestamp("ns"))
    far = pa.array([10**18, 0, 1, None]).cast(pa.timestamp("us"))
    pq.write_table(pa.table({"text": ["a b"] * 4, "time": times, "far": far}), path)
    output = "-" if suffix == "-" else str(target)
    done = run_cli("preprocess", path, "--min-df", 1, "--stop-words", "none", "-q", "-o", output)
    assert done.code == 0, done
    if suffix in ("jsonl", "-"):
        lines = done.out if suffix == "-" else target.read_text(encoding="utf-8")
        rows = [json.loads(line) for line in lines.splitlines()]
        assert [row["time"] for row in rows] == TEXTS
    elif suffix == "csv":
        rows = [{"far": line.split(",")[3].strip('"')} for line in target.read_text(encoding="utf-8").splitlines()[1:]]
    elif suffix == "xlsx":
        names, *cells = openpyxl.load_workbook(target).active.iter_rows(values_only=True)
        rows = [dict(zip(names, row, strict=True)) for row in cells]
        assert [row["time"] for row in rows] == TEXTS
    else:
        assert pq.read_table(target).column("time").type == times.type
        return
    assert rows[0]["far"] == "33658-09-27 01:46:40"
