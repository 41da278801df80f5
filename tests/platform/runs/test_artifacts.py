"""Footers and Parquet artifacts: what is written is read back, and what is not ours is refused."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit import __version__
from nlpkit.errors import ColumnError, EncodingError, InputError, OutputExistsError, SchemaError
from nlpkit.platform.documents.arrays import embedding_column, tokens_column
from nlpkit.platform.documents.inputs import DroppedRow, InputInfo
from nlpkit.platform.runs.artifacts import file_size, footer_block, parquet_shape, read_footer, read_table, write_table
from nlpkit.platform.runs.footers import SCHEMA_VERSION, check_footer, step_parameters, steps_of
from nlpkit.platform.runs.tables import dropped_path, spool_in, table_sink, write_dropped
from nlpkit.text.files import read_word_list


def block(kind: str = "documents", **more: Any) -> dict[str, Any]:
    how: dict[str, Any] = {
        "command": "preprocess",
        "parameters": {"ä": 1},
        "seed": 3,
        "inputs": [InputInfo("x", 2, "ab", None)],
    }
    return footer_block(kind, **{**how, **more})


# ---------------------------------------------------------------- footers


def test_block() -> None:
    assert block() == {
        "kind": "documents", "schema_version": SCHEMA_VERSION, "nlpkit_version": __version__, "command": "preprocess",
        "parameters": {"ä": 1}, "seed": 3, "steps": [],
        "inputs": [{"path": "x", "rows": 2, "sha256": "ab", "encoding": None}],
    }  # fmt: skip


def test_steps_are_kept_in_order() -> None:
    first = block(command="preprocess", parameters={"n": 1})
    second = block(command="sbert-embed", parameters={"n": 2}, steps=steps_of([first]))
    third = block(command="preprocess", parameters={"n": 3}, steps=steps_of([second]))
    steps = steps_of([third])
    assert [(s["command"], s["parameters"]["n"]) for s in steps] == [
        ("preprocess", 1),
        ("sbert-embed", 2),
        ("preprocess", 3),
    ]
    assert all("steps" not in s for s in steps)
    assert step_parameters(steps, "preprocess") == {"n": 3}
    assert step_parameters(steps, "sbert-embed") == {"n": 2}
    assert step_parameters(steps, "bertopic") is None
    assert steps_of([None, {}]) == []
    assert [s["command"] for s in steps_of([second, None, first])] == ["preprocess", "sbert-embed", "preprocess"]


def test_check_of_kind_and_version() -> None:
    check_footer(None, ["documents"], "x")
    check_footer(block(), ["documents"], "x")
    check_footer(block("topics"), ["documents", "topics"], "x")
    with pytest.raises(SchemaError):
        check_footer(block("topics"), ["documents"], "x")
    with pytest.raises(SchemaError):
        check_footer(block("topics"), ["documents", "vocab"], "x")
    newer = {**block(), "schema_version": SCHEMA_VERSION + 1, "nlpkit_version": "9.9"}
    with pytest.raises(SchemaError):
        check_footer(newer, ["documents"], "x")
    for odd in ({}, {"schema_version": "1"}, {"schema_version": None}):
        with pytest.raises(SchemaError):
            check_footer(odd, ["documents"], "x")


# ---------------------------------------------------------------- small tables


def test_a_table_and_its_block_come_back(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b"], "n": pa.array([1, None], pa.int8())})
    write_table(tmp_path / "x.parquet", table, block("vocab"))
    assert read_footer(tmp_path / "x.parquet") == block("vocab")
    back = read_table(tmp_path / "x.parquet", ["vocab"])
    assert back.to_pylist() == table.to_pylist()
    assert read_table(tmp_path / "x.parquet", ["vocab"], ["n"]).column_names == ["n"]
    assert parquet_shape(tmp_path / "x.parquet") == (2, 1, {"id": "string", "n": "int8"})
    assert file_size(tmp_path) == file_size(tmp_path / "x.parquet") == (tmp_path / "x.parquet").stat().st_size


def test_the_same_table_has_the_same_bytes(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b"]})
    for name, parameters in (("x", {"a": 1, "b": 2}), ("y", {"b": 2, "a": 1})):
        write_table(tmp_path / name, table, block(parameters=parameters))
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


def test_an_empty_table(tmp_path: Path) -> None:
    write_table(tmp_path / "x", pa.table({"id": pa.array([], pa.string())}), block("vocab"))
    assert read_table(tmp_path / "x", ["vocab"]).num_rows == 0


def test_what_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with pytest.raises(InputError):
        read_table(path, ["vocab"])
    for content in (b"", b"hello", b"PAR1" + bytes(50) + b"PAR1"):
        path.write_bytes(content)
        with pytest.raises(InputError):
            read_table(path, ["vocab"])
    write_table(path, pa.table({"id": ["a"] * 5000, "n": list(range(5000))}), block("vocab"))
    with pytest.raises(SchemaError):
        read_table(path, ["topics"])
    with pytest.raises(ColumnError):
        read_table(path, ["vocab"], ["m"])
    data = bytearray(path.read_bytes())
    data[100:2000] = bytes(1900)
    path.write_bytes(data)
    with pytest.raises(InputError):
        read_table(path, ["vocab"])


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    ends = np.array([0, 1, 3], np.int32)
    terms = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(ends), pa.py_buffer(b"a\xff\xfe")])
    write_table(tmp_path / "x.parquet", pa.table({"term": terms}), block("vocab"))
    with pytest.raises(EncodingError):
        read_table(tmp_path / "x.parquet", ["vocab"])


@pytest.mark.parametrize("value", [b"not json", b"[1]", b"\xff\xfe", b"3"])
def test_a_footer_that_is_no_object(value: bytes, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({b"nlpkit": value}), tmp_path / "x")
    with pytest.raises(SchemaError):
        read_footer(tmp_path / "x")


# ---------------------------------------------------------------- document tables


def batches() -> list[pa.RecordBatch]:
    """Two batches whose dictionaries differ."""
    made = []
    for first, terms in ((0, ["river", "bank"]), (2, ["moon", "river"])):
        tokens = tokens_column(np.array([0, 2, 2]), np.array([0, 1], np.int32), pa.array(terms))
        made.append(
            pa.record_batch(
                {
                    "id": [f"d{first}", f"d{first + 1}"],
                    "text": pa.array(["a", ""], pa.large_string()),
                    "kind": pa.array(["x", terms[0]]).dictionary_encode(),
                    "tokens": tokens,
                    "embedding": embedding_column(np.array([[0.1, 0.2], [1, 0]], np.float32)),
                }
            )
        )
    return made


def test_a_sink_writes_plain_strings(tmp_path: Path) -> None:
    target = tmp_path / "y.parquet"
    with table_sink(str(target), batches()[0].schema, block(), force=False) as sink:
        for batch in batches():
            sink.write(batch)
        assert not target.exists()
    table = pq.ParquetFile(target).read()
    assert table.to_pylist() == [row for batch in batches() for row in batch.to_pylist()]
    assert table.schema.field("tokens").type == pa.list_(pa.field("element", pa.string()))
    assert pa.types.is_dictionary(table.schema.field("kind").type)
    assert read_footer(target) == block()
    with pytest.raises(OutputExistsError), table_sink(str(target), batches()[0].schema, block(), force=False):
        pass


def test_a_sink_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(target: str) -> None:
        with table_sink(target, batches()[0].schema, block(), force=False) as sink:
            sink.write(batches()[0])
            raise RuntimeError("on the way")

    with pytest.raises(RuntimeError, match="on the way"):
        fail(str(tmp_path / "y.parquet"))
    assert list(tmp_path.iterdir()) == []


def test_the_same_rows_have_the_same_bytes(tmp_path: Path) -> None:
    for name in ("x", "y"):
        with table_sink(str(tmp_path / f"{name}.parquet"), batches()[0].schema, block(), force=False) as sink:
            for batch in batches():
                sink.write(batch)
    assert (tmp_path / "x.parquet").read_bytes() == (tmp_path / "y.parquet").read_bytes()


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_json_lines_carry_float32_exactly(values: list[float]) -> None:
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        batch = pa.record_batch(
            {"e": embedding_column(np.array([values], np.float32)), "p": pa.array(values[:1], pa.float32())}
        )
        with table_sink("-", batch.schema, {}, force=False) as sink:
            sink.write(batch)
        row = json.loads(sys.stdout.getvalue())
    finally:
        sys.stdout = out
    assert np.array_equal(np.array(row["e"], np.float32), np.array(values, np.float32))
    assert np.float32(row["p"]) == np.float32(values[0])


def test_json_lines_of_every_type(capsys: pytest.CaptureFixture[str]) -> None:
    import datetime

    batch = pa.record_batch(
        {"id": ["a\nb"], "day": [datetime.date(2024, 1, 2)], "none": pa.nulls(1), "tags": [["ä", "b"]]}
    )
    with table_sink("-", batch.schema, {}, force=False) as sink:
        sink.write(batch)
    assert capsys.readouterr().out == '{"id": "a\\nb", "day": "2024-01-02", "none": null, "tags": ["ä", "b"]}\n'


# ---------------------------------------------------------------- dropped rows, spools, word lists


def test_dropped_rows(tmp_path: Path) -> None:
    target = str(tmp_path / "y.parquet")
    rows = [DroppedRow("a", "read", "text is null")]
    assert dropped_path(target) == tmp_path / "y.dropped.parquet"
    assert dropped_path("-") is None
    assert write_dropped("-", rows, block()) is None
    path = write_dropped(target, rows, block())
    assert path == tmp_path / "y.dropped.parquet"
    assert read_table(path, ["dropped"]).to_pylist() == [{"id": "a", "stage": "read", "reason": "text is null"}]
    assert write_dropped(target, [], block()) is None
    assert not path.exists()


def test_a_spool_gives_back_what_it_got_as_often_as_asked(tmp_path: Path) -> None:
    with spool_in(tmp_path) as spool:
        assert list(spool) == []
        for batch in batches():
            spool.write(batch)
        for _ in range(2):
            assert [b.to_pylist() for b in spool] == [b.to_pylist() for b in batches()]
        assert list(tmp_path.glob("*")) == []  # a name nobody stumbles over
    assert list(tmp_path.iterdir()) == []


def test_word_lists(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("﻿# comment\nThe\n\n  of  \nand\nC#\ndon’t\n", encoding="utf-8")
    assert read_word_list(path).words == {"the", "of", "and", "c#", "don't"}
