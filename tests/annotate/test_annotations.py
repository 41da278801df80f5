"""Tables of what several people said."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from nlpkit.annotate.answers import read_long, read_wide
from nlpkit.errors import ColumnError, InputError, NlpkitError, UsageError
from nlpkit.metrics.labels.coders import Annotations
from nlpkit.platform.runs.plain_tables import arrow_table, read_rows
from tests.refusals import refuses

NONE = math.nan


def wide(
    folder: Path, text: str, *coders: str, encoding: str = "utf-8", name: str = "t.csv", **how: Any
) -> Annotations:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return read_wide(path, coders or ("a", "b"), **{"level": "nominal", **how})


def same(found: Any, expected: list[list[float]]) -> bool:
    return np.array_equal(found, np.array(expected, np.float64), equal_nan=True)


# ---------------------------------------------------------------- wide


def test_labels_are_coded_by_the_alphabet(tmp_path: Path) -> None:
    found = wide(tmp_path, "id,text,a,b\nu1,x,yes,no\nu2,y,no, no \nu3,z,,maybe\n")
    assert (found.units, found.coders, found.names) == (("u1", "u2", "u3"), ("a", "b"), ("maybe", "no", "yes"))
    assert same(found.ratings, [[2, 1], [1, 1], [NONE, 0]])
    assert (found.codes.tolist(), found.rows) == ([[2, 1], [1, 1], [-1, 0]], (0, 1, 2))


@pytest.mark.parametrize("missing", ["", " ", "NA", "NaN", "nan", "null", "NULL"])
def test_missing_cells(missing: str, tmp_path: Path) -> None:
    assert same(wide(tmp_path, f"a,b\n1,{missing}\n{missing},2\n").ratings, [[1, NONE], [NONE, 2]])


def test_none_and_other_words_are_labels(tmp_path: Path) -> None:
    assert wide(tmp_path, "a,b\nnone,None\n.,n/a\n").names == (".", "None", "n/a", "none")


def test_numbers_are_numbers_however_written(tmp_path: Path) -> None:
    # pandas writes 1.0 where a column has gaps, German Excel writes 2,5
    found = wide(tmp_path, "a;b\n1;1.0\n2,5;\n-3;10\n", level="interval")
    assert same(found.ratings, [[1, 1], [2.5, NONE], [-3, 10]])
    assert (found.values.tolist(), found.names) == ([-3, 1, 2.5, 10], ("-3", "1", "2.5", "10"))
    assert found.codes.tolist() == [[1, 1], [2, -1], [0, 3]]


def test_numbers_with_leading_zeros_are_labels(tmp_path: Path) -> None:
    assert wide(tmp_path, "a,b\n007,7\n").names == ("007", "7")
    with pytest.raises(InputError, match=r"t\.csv:2: column 'a' has '007', but interval data are numbers"):
        wide(tmp_path, "a,b\n007,7\n", level="interval")


def test_the_first_cell_that_is_no_number_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t\.csv:3: column 'a' has 'x'"):
        wide(tmp_path, "a,b\n1,1\nx,2\n2,3\nx,2\n", level="interval")


def test_large_numbers_keep_their_digits(tmp_path: Path) -> None:
    assert wide(tmp_path, "a,b\n1234567,0.125\n").names == ("0.125", "1234567")


def test_an_order_of_labels(tmp_path: Path) -> None:
    text = "a,b\nhigh,low\nmid,low\n"
    found = wide(tmp_path, text, level="ordinal", order=["low", " mid", "high", "very high"])
    assert same(found.ratings, [[2, 0], [1, 0]])
    assert found.names == ("low", "mid", "high", "very high")  # also what nobody said
    numbers = wide(tmp_path, "a,b\n3,1\n", level="ordinal", order=["3", "1"])
    assert (numbers.names, numbers.ratings.tolist()) == (("3", "1"), [[0, 1]])


@pytest.mark.parametrize(
    ("text", "how", "kind", "says"),
    [
        ("a,b\nlow,mid\n", {"level": "ordinal"}, InputError,
         r"ordinal data are numbers, or labels in an order; give `order` .*\(found: low,mid\)"),
        ("a,b\nlow,1\n", {"level": "ratio"}, InputError, "'low', but ratio data are numbers; labels are nominal"),
        ("a,b\n1,inf\n", {"level": "interval"}, InputError, "'inf', but interval data are numbers"),
        ("a,b\nlow,mdi\n", {"level": "ordinal", "order": ["low", "mid"]}, InputError,
         r"t\.csv:2: column 'b' has 'mdi', which is not in the order low,mid; did you mean 'mid'"),
        ("a,b\n1,2\n", {"level": "interval", "order": ["1", "2"]}, UsageError, "interval data are numbers"),
        ("a,b\n1,2\n", {"level": "ordinal", "order": ["1", "1"]}, UsageError, "has '1' twice"),
        ("a,b\n1,2\n", {"level": "ordinal", "order": ["1", ""]}, UsageError, "empty label"),
        ("a,c\n1,2\n", {}, ColumnError, r"has no column 'b' \(found: a, c\)"),
        ("a,b\n1\n", {}, InputError, r"t\.csv:2: 1 field, but the header has 2"),
    ],
)  # fmt: skip
def test_tables_that_cannot_be_used(
    text: str, how: dict[str, Any], kind: type[NlpkitError], says: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=says):
        wide(tmp_path, text, **how)


def test_coders_are_two_or_more_and_different(tmp_path: Path) -> None:
    with refuses("annotators"):
        wide(tmp_path, "a,b\n1,2\n", "a")
    with refuses("annotators"):
        wide(tmp_path, "a,b\n1,2\n", "a", "b", "a")


def test_an_empty_table(tmp_path: Path) -> None:
    found = wide(tmp_path, "a,b\n")
    assert (found.units, found.ratings.shape, found.names, found.codes.shape) == ((), (0, 2), (), (0, 2))
    nothing_said = wide(tmp_path, "id,a,b\nx,,\n", level="ordinal")
    assert (nothing_said.units, nothing_said.codes.tolist()) == (("x",), [[-1, -1]])


def test_blank_lines_of_a_spreadsheet_are_no_units(tmp_path: Path) -> None:
    found = wide(tmp_path, "id;a;b\nx;1;2\n;;\ny;2;2\n;;\n", encoding="utf-8-sig")
    assert (found.units, found.rows) == (("x", "y"), (0, 2))


def test_encodings_and_formats(tmp_path: Path) -> None:
    for encoding in ("utf-8-sig", "utf-16", "cp1252"):
        assert wide(tmp_path, "a;b\nmüde;früh\n", encoding=encoding).names == ("früh", "müde")
    lines = '{"a": 1, "b": true}\n{"b": "x"}\n{"a": null, "b": 2.0}\n'
    found = wide(tmp_path, lines, name="t.jsonl")
    assert found.names == ("1", "2", "True", "x")
    assert found.codes.tolist() == [[0, 2], [-1, 3], [-1, 1]]
    pl.DataFrame({"id": [7, 8], "a": [1.0, None], "b": [float("nan"), 3.5]}).write_parquet(tmp_path / "t.parquet")
    stored = read_wide(tmp_path / "t.parquet", ["a", "b"], level="ratio")
    assert stored.units == ("7", "8")
    assert same(stored.ratings, [[1, NONE], [NONE, 3.5]])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("t.ods", "is a spreadsheet; save it as CSV"),
        ("t.txt", "is not a table by its file name; it must end in one of .csv .tsv"),
        ("no.csv", "no such file"),
        ("folder", "is a directory; name the table in it"),
    ],
)
def test_files_that_are_no_tables(name: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "t.ods").write_bytes(b"PK")
    (tmp_path / "t.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=says):
        read_wide(tmp_path / name, ["a", "b"], level="nominal")


# ---------------------------------------------------------------- long


def long(folder: Path, text: str, **how: Any) -> Annotations:
    path = folder / "t.csv"
    path.write_text(text)
    return read_long(path, unit="unit", coder="coder", value="value", **{"level": "nominal", **how})


def test_a_row_a_judgement(tmp_path: Path) -> None:
    found = long(tmp_path, "unit,coder,value\nu2,ben,no\nu1,anna,yes\nu2,anna,\nu1,carla,no\n")
    assert (found.units, found.coders, found.rows) == (("u2", "u1"), ("ben", "anna", "carla"), (0, 1))
    assert found.codes.tolist() == [[0, -1, -1], [-1, 1, 0]]


@pytest.mark.parametrize(
    ("text", "how", "says"),
    [
        ("unit,coder,value\nu,a,1\nu,a,1\n", {}, r"t\.csv:3: 'a' already judged 'u' at .*t\.csv:2"),
        ("unit,coder,value\nu,,1\n", {}, r"t\.csv:2: column 'coder' is empty"),
        ("unit,coder,value\n,a,1\n", {}, r"t\.csv:2: column 'unit' is empty"),
        ("unit,coder,value\nu,a,1\nu,b,x\n", {"level": "interval"}, r"t\.csv:3: column 'value' has 'x'"),
    ],
)
def test_judgements_that_cannot_be_used(text: str, how: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=says):
        long(tmp_path, text, **how)


def test_wide_and_long_agree(tmp_path: Path) -> None:
    one = wide(tmp_path, "id,a,b\nu,x,y\nv,y,\n")
    other = long(tmp_path, "unit,coder,value\nu,a,x\nu,b,y\nv,a,y\n")
    assert same(one.ratings, other.ratings.tolist())
    assert (one.units, one.coders, one.names) == (other.units, other.coders, other.names)


# ---------------------------------------------------------------- whole tables


def test_places_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"two\nlines"\n\n,\n3,4\n')
    rows = read_rows(path)
    assert (rows.places, rows.numbers) == ([f"{path}:2", f"{path}:6"], [0, 2])
    assert rows.columns == {"a": ["1", "3"], "b": ["two\nlines", "4"]}
    with refuses("x", ColumnError):
        rows.column("c", "--x")


def test_keys_that_come_late(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n' * 1500 + '{"b": 2}\n')
    rows = read_rows(path)
    assert (len(rows.columns["a"]), len(rows.columns["b"])) == (1501, 1501)
    assert (rows.columns["b"][:1500], rows.columns["b"][1500]) == ([None] * 1500, 2)


def test_the_table_as_arrow_keeps_what_parquet_has(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([1, 2], pa.int16()), "l": [["a"], None], "d": pa.array([1, 2], pa.date32())})
    pl.from_arrow(table).write_parquet(tmp_path / "t.parquet")  # type: ignore[union-attr]
    assert arrow_table(tmp_path / "t.parquet").schema.field("x").type == pa.int16()
    assert arrow_table(tmp_path / "t.parquet").to_pylist() == table.to_pylist()
    (tmp_path / "t.csv").write_text("a,b\n1,\n,\n")
    assert arrow_table(tmp_path / "t.csv").to_pylist() == [{"a": "1", "b": None}, {"a": None, "b": None}]
    (tmp_path / "t.jsonl").write_text('{"a": 1, "b": [1]}\n{"a": "x", "b": [2, 3]}\n')
    assert arrow_table(tmp_path / "t.jsonl").to_pylist() == [{"a": "1", "b": [1]}, {"a": "x", "b": [2, 3]}]
