"""Tables out: the suffix says the format, each format reads back by other programs, and what it cannot hold is refused."""

from __future__ import annotations

import csv
import datetime
import json
import logging
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.errors import InputError, OutputExistsError, UsageError
from nlpkit.platform.documents.arrays import embedding_column
from nlpkit.platform.runs import tables
from nlpkit.platform.runs.tables import FORMATS, MATRICES, check_table, save_table, table_format, table_sink

TEXTS = ['a,b "c"\nd\te', "=1+1", "Ärger 中文 🎉", ""]
BLOCK = {"kind": "documents", "schema_version": 1}


def table() -> pa.Table:
    return pa.table(
        {
            "id": ["1", "2", "3", "4"],
            "text": pa.array(TEXTS, pa.large_string()),
            "n": pa.array([1, None, -3, 1 << 60], pa.int64()),
            "p": pa.array([0.1, 0.2, None, float("nan")], pa.float32()),
            "x": pa.array([1e-300, float("inf"), 1 / 3, 0.0]),
            "yes": [True, False, None, True],
            "day": pa.array([datetime.date(1848, 3, 13), None, None, datetime.date(2024, 2, 29)]),
            "kind": pa.array(["u", "v", None, "u"]).dictionary_encode(),
            "none": pa.nulls(4),
            "tokens": pa.array([["a", 'b"'], [], ["ä"], ["c"]]),
            "embedding": embedding_column(np.array([[0.1, 2], [3, 4], [5, 6], [7, 8]], np.float32)),
        }
    )


def sheet(path: Path) -> list[list[Any]]:
    """Return the cells of a workbook, by the XML inside."""
    space = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    with zipfile.ZipFile(path) as book:
        root = ET.fromstring(book.read("xl/worksheets/sheet1.xml"))
    assert not root.findall(".//m:f", space)  # no formula
    rows = []
    for row in root.iterfind(".//m:row", space):
        cells: dict[str, Any] = {}
        for cell in row.iterfind("m:c", space):
            name = cell.attrib["r"].rstrip("0123456789")
            if cell.get("t") == "inlineStr":
                cells[name] = "".join(t.text or "" for t in cell.iterfind(".//m:t", space))
            else:
                value = float(cell.find("m:v", space).text)  # type: ignore[union-attr,arg-type]
                cells[name] = bool(value) if cell.get("t") == "b" else value
        rows.append([cells.get(c) for c in "ABCDEFGHIJK"])
    return rows


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_csv_and_tsv(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    save_table(path, table(), BLOCK, force=False)
    assert not path.read_bytes().startswith(b"\xef\xbb\xbf")
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file, delimiter="\t" if suffix == ".tsv" else ",")
    assert head == table().column_names
    columns = dict(zip(head, zip(*rows, strict=True), strict=True))
    assert list(columns["text"]) == TEXTS
    assert columns["n"] == ("1", "", "-3", str(1 << 60))
    assert columns["p"][:3] == ("0.1", "0.2", "")
    assert [float(x) for x in columns["x"]] == [1e-300, float("inf"), 1 / 3, 0.0]
    assert columns["day"] == ("1848-03-13", "", "", "2024-02-29")
    assert columns["kind"] == ("u", "v", "", "u")
    assert [json.loads(cell) for cell in columns["tokens"]] == [["a", 'b"'], [], ["ä"], ["c"]]
    assert json.loads(columns["embedding"][0]) == [0.1, 2.0]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".xlsx"])
def test_bytes_are_hexadecimal(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    save_table(path, pa.table({"b": [b"\xff\0", b"ab", None], "l": [[b"\xff"], [], None]}), BLOCK, force=False)
    if suffix == ".xlsx":
        cells = [row[:2] for row in sheet(path)[1:]]
    elif suffix == ".csv":
        cells = list(csv.reader(path.read_text().splitlines()))[1:]
    else:
        rows = map(json.loads, path.read_text().splitlines())
        cells = [[row["b"], json.dumps(row["l"])] for row in rows]
    assert cells[:2] == [["ff00", '["ff"]'], ["6162", "[]"]]


def test_json_lines_have_nothing_that_json_has_not(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    save_table(path, table(), BLOCK, force=False)

    def never(word: str) -> None:
        raise AssertionError(word)

    rows = [json.loads(line, parse_constant=never) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [row["text"] for row in rows] == TEXTS
    assert rows[0]["p"] == 0.1
    assert (rows[1]["x"], rows[3]["p"]) == (None, None)
    assert rows[0]["tokens"] == ["a", 'b"']


@pytest.mark.parametrize("suffix", [".arrow", ".feather"])
def test_arrow_keeps_types_and_the_footer(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    other = table().set_column(7, "kind", pa.array(["w", "x", "y", "z"]).dictionary_encode())  # another dictionary
    with table_sink(path, table().schema, BLOCK, force=False) as sink:
        for part in (table(), other):
            for batch in part.to_batches():
                sink.write(batch)
    with pa.ipc.open_file(path) as file:
        found = file.read_all()
    assert found.column("embedding").type == pa.list_(pa.float32(), 2)
    assert found.column("kind").to_pylist() == ["u", "v", None, "u", "w", "x", "y", "z"]
    assert json.loads(found.schema.metadata[b"nlpkit"]) == BLOCK
    assert pl.read_ipc(path).height == 8


def test_xlsx(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "t.xlsx"
    save_table(path, table(), BLOCK, force=False)
    head, *rows = sheet(path)
    assert head == table().column_names
    columns = dict(zip(head, zip(*rows, strict=True), strict=True))
    assert columns["text"] == (*TEXTS[:3], None)
    assert columns["id"] == ("1", "2", "3", "4")  # the names of documents stay texts
    assert columns["n"] == (1.0, None, -3.0, str(1 << 60))  # Excel has 15 digits
    assert columns["p"] == (0.1, 0.2, None, None)
    assert columns["x"][1] is None  # a column of numbers holds numbers
    assert "cells of Excel hold no infinite numbers; left empty: 1 cell" in caplog.text
    assert columns["yes"] == (True, False, None, True)
    assert columns["day"] == ("1848-03-13", None, None, "2024-02-29")
    assert columns["tokens"][0] == '["a", "b\\""]'
    assert [p.name for p in tmp_path.iterdir()] == ["t.xlsx"]


@pytest.mark.parametrize("suffix", [s for s in FORMATS if s != ".parquet"])
def test_the_same_rows_have_the_same_bytes_and_a_failure_leaves_nothing(tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        save_table(tmp_path / f"{name}{suffix}", table(), BLOCK, force=False)
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()
    with pytest.raises(OutputExistsError):
        save_table(tmp_path / f"a{suffix}", table(), BLOCK, force=False)

    def fail() -> None:
        with table_sink(tmp_path / f"c{suffix}", table().schema, BLOCK, force=False) as sink:
            sink.write(table().to_batches()[0])
            raise RuntimeError("on the way")

    with pytest.raises(RuntimeError, match="on the way"):
        fail()
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"a{suffix}", f"b{suffix}"]


@pytest.mark.parametrize("suffix", list(FORMATS))
def test_a_table_without_rows(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    save_table(path, table().slice(0, 0), BLOCK, force=False)
    if suffix == ".csv":
        assert path.read_text(encoding="utf-8").startswith('"id","text"')
    elif suffix == ".xlsx":
        assert sheet(path) == [table().column_names]
    assert path.exists()


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["0", "17", None, "", "-3"], [0, 17, None, None, -3]),
        (["1", "2.5"], [1, 2.5]),
        (["0.0", "12.25", "3.0"], [0, 12.25, 3]),  # as pandas writes floats
        (["1.50", "2.00"], [1.5, 2]),
        (["007", "12"], None),
        (["1.9", "1.10"], None),  # versions
        (["1", "1.0"], None),  # would be one value
        (["0", "-0"], None),
        (["5.70301E+17"], None),
        (["1" * 15, "2"], [int("1" * 15), 2]),
        (["1" * 16, "2"], None),
        (["12", "n/a"], None),
        (["1,5", "2"], None),
        (["+1"], None),
        (["\u0663"], None),  # an Arabic digit
        (["", None], [None, None]),
    ],
)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_that_are_numbers_are_numbers_in_a_workbook(
    texts: list[str | None], numbers: list[float | None] | None, kind: pa.DataType, tmp_path: Path
) -> None:
    """users.md U13: counts of a CSV file, of which Excel makes no sums while they are texts."""
    whole = pa.table({"n": pa.array(texts).cast(kind), "user_id": texts, "at": range(len(texts))})
    with tables.table_sink(tmp_path / "t.xlsx", whole.schema, BLOCK, force=False) as sink:
        for at in range(len(texts)):  # known after the last batch alone
            sink.write(whole.slice(at, 1).to_batches()[0])
    _, *rows = sheet(tmp_path / "t.xlsx")
    as_texts = [text or None for text in texts]
    assert [row[0] for row in rows] == (as_texts if numbers is None else numbers)
    assert [row[1] for row in rows] == as_texts


def test_what_excel_has_no_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for long in ("x" * 32_768, "🎉" * 16_384):  # Excel counts code units of UTF-16
        with pytest.raises(UsageError, match=r"32,767 characters.*row 2.*'text'.*write \.csv"):
            save_table(tmp_path / "t.xlsx", pa.table({"text": ["a", long]}), BLOCK, force=False)
    save_table(tmp_path / "t.xlsx", pa.table({"text": ["x" * 32_767]}), BLOCK, force=False)
    monkeypatch.setattr(tables, "XLSX_ROWS", 5)
    with pytest.raises(UsageError, match="a sheet of Excel has 5 rows"):
        save_table(tmp_path / "u.xlsx", pa.table({"n": range(5)}), BLOCK, force=False)
    save_table(tmp_path / "u.xlsx", pa.table({"n": range(4)}), BLOCK, force=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.xlsx", "u.xlsx"]


def test_a_full_disk_while_the_workbook_is_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import xlsxwriter

    def full(book: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(xlsxwriter.Workbook, "_store_workbook", full)
    with pytest.raises(InputError):
        save_table(tmp_path / "t.xlsx", pa.table({"n": [1]}), BLOCK, force=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["a.rds", "a", "a.json", "a.xls", "a.csv.gz", "a.txt", ".parquet", *(f"a{s}" for s in MATRICES)]
)
def test_other_suffixes_are_refused_with_the_list(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"\.parquet \.csv \.tsv \.jsonl \.xlsx \.dta \.sav \.arrow or \.feather"):
        check_table(tmp_path / name, force=False)


def test_suffixes_in_capitals_and_an_existing_list_of_dropped_rows(tmp_path: Path) -> None:
    assert table_format("A.CSV") == "csv"
    (tmp_path / "x.dropped.parquet").write_bytes(b"of another output")
    with pytest.raises(OutputExistsError):
        check_table(tmp_path / "x.csv", force=False)
    check_table(tmp_path / "x.csv", force=True)


def test_formulas_in_csv_and_lists_in_cells_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "nlpkit")
    logging.getLogger("nlpkit").propagate = True
    save_table(tmp_path / "t.csv", table(), BLOCK, force=False)
    assert "'tokens', 'embedding'" in caplog.text
    assert "formulas (here: 1)" in caplog.text
    caplog.clear()
    save_table(tmp_path / "t.jsonl", table(), BLOCK, force=False)
    assert caplog.text == ""


def test_tokens_in_parquet_are_strings_for_every_reader(tmp_path: Path) -> None:
    """They are written as codes; terms that occur nowhere do not come along, and nulls stay."""
    terms = pa.array(["a", "b", "spare", "ä"])
    flat = pa.DictionaryArray.from_arrays(pa.array([3, 0, 0, 1], pa.int32()), terms)
    lists = pa.ListArray.from_arrays(pa.array([0, 2, None, 2, 4], pa.int32()), flat)
    rows = pa.table({"id": ["1", "2", "3", "4"], "text": pa.array(TEXTS, pa.large_string()), "tokens": lists})
    wanted = [["ä", "a"], [], None, ["a", "b"]]
    for name, part in (("all", rows), ("some", rows.slice(1))):
        path = tmp_path / f"{name}.parquet"
        with table_sink(path, part.schema, BLOCK, force=False) as sink:
            for batch in (*part.to_batches(), *part.slice(2).to_batches()):
                sink.write(batch)
        back = pq.read_table(path)
        assert back.schema.field("tokens").type == pa.list_(pa.string())
        assert back.column("tokens").to_pylist() == [*wanted[-part.num_rows :], *wanted[-part.num_rows :][2:]]
        assert pl.read_parquet(path)["tokens"].to_list() == back.column("tokens").to_pylist()
        assert json.loads(back.schema.metadata[b"nlpkit"])["kind"] == "documents"
        coded = pq.read_table(path, read_dictionary=["tokens.list.element"]).column("tokens").combine_chunks().flatten()
        assert "spare" not in coded.dictionary.to_pylist()
        assert not pq.read_metadata(path).row_group(0).column(1).has_dictionary_page  # each text is another
