"""Reports about reading tables and documents: repository#issue of each beside its case."""

from __future__ import annotations

import csv
import datetime
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import docx
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
import zstandard
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from nlpkit.errors import InputError
from nlpkit.platform.documents.corpora import DocumentStream, open_documents
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.runs.tables import save_table
from tests.command_line import run_cli

Row = dict[str, Any]


def opened(path: Path, content: str | bytes | None = None, **options: Any) -> DocumentStream:
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_documents([str(path)], ReadOptions(**options))


def rows(path: Path, content: str | bytes | None = None, **options: Any) -> list[Row]:
    return opened(path, content, **options).read_all().to_pylist()


def column(path: Path, content: str | bytes | None = None, name: str = "text", **options: Any) -> list[Any]:
    return [row[name] for row in rows(path, content, **options)]


def refused(path: Path, content: str | bytes, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        opened(path, content, **options).read_all()
    return str(error.value)


# ---------------------------------------------------------------- quotation marks in CSV and TSV

GLUE = "".join(
    f'{i}\t{chr(34) * (i in (20, 70))}sentence {i} of "films"{chr(34) * (i == 150)}\t{"np"[i % 2]}\n'
    for i in range(200)
)


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        pytest.param(f"id\ttext\tlabel\n{GLUE}", 200, id="pytext#376 tarql#45 jiant#1073 web-xforge#3404: lone marks"),
        pytest.param(
            'label\ttext\nham\ta\nham\t"b\nham\tc\nspam\td" she\nham\te\n',
            ["a", '"b', "c", 'd" she', "e"],
            id="SMS Spam",
        ),
        pytest.param(
            'id\ttext\n1\t"Random text that has " char inside"\n2\t"plain"\n',
            ['Random text that has " char inside', "plain"],
            id="duckdb#10975",
        ),
        pytest.param(
            'id\ttext\n1\t"said \\"hello\\" and left"\n2\tplain\n3\t"a ""b"" c"\n',
            ['said "hello" and left', "plain", 'a "b" c'],
            id="cudf#11984 spark-csv#390",
        ),
        pytest.param(
            'id\ttext\n1\t"said \\"hello\t you\\" and"\n2\t"path C:\\\\"\n',
            ['said "hello\t you" and', "path C:\\"],
            id="h2o-3#2246",
        ),
    ],
)
def test_quotation_marks_that_are_not_rfc_4180(
    tmp_path: Path, content: str, texts: int | list[str], caplog: pytest.LogCaptureFixture
) -> None:
    for name, delimiter in (("x.tsv", "\t"), ("x.csv", ",")):
        caplog.clear()
        read = column(tmp_path / name, content.replace("\t", delimiter))
        assert (len(read) if isinstance(texts, int) else read) == (
            texts if isinstance(texts, int) else [text.replace("\t", delimiter) for text in texts]
        )
        assert len(caplog.messages) == 1
        assert "quotation marks" in caplog.messages[0]


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        pytest.param(
            'id,text\n1,"a\n"\n2,"b\n"\n3,c\n',
            ["a\n", "b\n", "c"],
            id="duckdb#7706: an end of line before the closing mark",
        ),
        pytest.param('id,text\r\n1,"a\r\n"\r\n2,b\r\n', ["a\r\n", "b"], id="duckdb#7706: CRLF"),
        pytest.param(
            "id,text\n" + "1,a\n" * 20_001 + '2,"b, c"\n',
            [*["a"] * 20_001, "b, c"],
            id="duckdb#21000: the first quoted cell late",
        ),
        pytest.param('id,text\n1,"=(""0084"")"\n2,x\n', ['=("0084")', "x"], id="pandas#55105"),
        pytest.param("\n\nid , text\n1, a \n", [" a "], id="readr#747 csv-parse#120: lines above, blanks around names"),
        pytest.param("id,text,\n1,a,\n2,b,x\n", ["a", "b"], id="csv-parse#120: a delimiter at the end"),
    ],
)
def test_files_of_rfc_4180(tmp_path: Path, content: str, texts: list[str], caplog: pytest.LogCaptureFixture) -> None:
    assert column(tmp_path / "x.csv", content, id_col="none") == texts
    assert not [message for message in caplog.messages if "quot" in message]


def test_a_header_over_two_lines(tmp_path: Path) -> None:
    """duckdb#16760, polars#8402."""
    content = 'id,"text\n(German)"\n1,a b\n2,c d\n'
    assert column(tmp_path / "x.csv", content, text_col="text (German)") == ["a b", "c d"]
    assert column(tmp_path / "x.csv", content) == ["a b", "c d"]  # the only column of texts


@pytest.mark.parametrize("break_", ["\n", "\r", "\r\n", "\u2028", "\x0b", "\x85"])
def test_line_breaks_in_cells_come_back(tmp_path: Path, break_: str) -> None:
    """polars#4130, #6328."""
    table = pa.table({"id": ["1", "2"], "text": [f"a{break_}b", 'say "x", y']})
    for suffix in ("csv", "tsv"):
        target = tmp_path / f"x.{suffix}"
        save_table(target, table, {}, force=True)
        assert rows(target) == table.to_pylist()


# ---------------------------------------------------------------- delimiters, headers, rows


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_first_line_for_excel(tmp_path: Path, delimiter: str, encoding: str) -> None:
    """PowerShell#7776, rainbow_csv#108, PapaParse#951."""
    content = f"sep={delimiter}\r\nid;text;label\r\n1;good film;pos\r\n".replace(";", delimiter)
    assert rows(tmp_path / "x.csv", content.encode(encoding)) == [{"id": "1", "text": "good film", "label": "pos"}]


def test_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    """orange3#3875, pandas#59299, readr#1445, tad#139: the columns are right; numbers stay text until they can be asked for."""
    content = "id;text;score\n1;Der Zug, pünktlich;1,5\n2;Der Bus;2.345,75\n"
    assert column(tmp_path / "x.csv", content, "score") == ["1,5", "2.345,75"]
    assert 'should be float (`types`), but is "1,5" here' in refused(
        tmp_path / "x.csv", content, types=(("score", "float"),)
    )


def test_lines_above_the_header_and_a_missing_header(tmp_path: Path) -> None:
    """rainbow_csv#13; rows#233, csvlens#60, csvkit#189, modelbuilder#74: nothing is read wrong in silence."""
    assert column(tmp_path / "x.csv", "# exported 2024-01-01\nid,text\n1,a\n") == ["a"]
    for more in (
        "spam\tFree entry\n",
        "ham\tAh poop, looks like ill have to fix the pipes\nspam\tFree entry in a weekly competition\n",
    ):
        assert "`header=False`" in refused(tmp_path / "x.tsv", f"ham\tGo until jurong point\n{more}")
    assert column(tmp_path / "x.csv", '"text","label"\n"1","good","pos"\n') == ["good"]  # of R


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(
            "id,text,label\n1,a,p\nid,text,label\n2,b,n\n",
            id="s3-concat#3 csvkit#390 datapusher#74: a header in the middle",
        ),
        pytest.param("id,text,label\n1,a,p\n\ufeffid,text,label\n2,b,n\n", id="readr#1075: with a mark before it"),
        pytest.param('\ufeff\ufeff"id",text,label\n1,a,p\n2,b,n\n', id="visidata#1711: the mark twice, before quotes"),
        pytest.param("id,text,label\n,,\n1,a,p\n,,\n2,b,n\n,,\n,,\n", id="rows that Excel leaves"),
    ],
)
def test_headers_marks_and_blank_rows_are_no_documents(tmp_path: Path, content: str) -> None:
    stream = opened(tmp_path / "x.csv", content)
    assert stream.read_all().to_pylist() == [
        {"id": "1", "text": "a", "label": "p"},
        {"id": "2", "text": "b", "label": "n"},
    ]
    reasons = {row.reason for row in stream.dropped}
    assert reasons <= {"the row repeats the header", "all cells of the row are empty"}
    assert len(stream.dropped) == content.count("\nid") + content.count("\ufeffid") + content.count(",,")


def test_blank_rows_do_not_count(tmp_path: Path) -> None:
    """`tfidf` had M = 130 and `stats` said 130 documents."""
    path = tmp_path / "x.csv"
    path.write_text("id,text\n" + "".join(f"{i},good film {i}\n" for i in range(30)) + ",\n" * 100, encoding="utf-8")
    done = run_cli("preprocess", path, "-o", tmp_path / "d.parquet", "--min-df", 1)
    assert "30 documents" in done.err
    assert "100 rows could not be used, such as x:31: all cells of the row are empty" in done.err
    assert len(pq.read_table(tmp_path / "d.dropped.parquet")) == 100


def test_nul_bytes_and_line_ends(tmp_path: Path) -> None:
    assert "it holds only NUL bytes, as after a broken download" in refused(
        tmp_path / "x.csv", b"id,text\n1,a\n" + bytes(4096)
    )
    assert "looks binary" in refused(tmp_path / "x.csv", b"id,text\n1,a\0b\n2,c\n")
    assert column(tmp_path / "x.csv", b"id,text\n1,a\0b\n2,c\n", encoding="utf-8") == ["a\0b", "c"]
    assert column(tmp_path / "x.csv", "id,text\r1,a\r2,b\r") == ["a", "b"]
    assert column(tmp_path / "x.csv", "id,text\r\n1,a\n2,b\r\n") == ["a", "b"]


def test_encodings(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """charset_normalizer#174, #477, #32: smart quotes only; one odd line in many."""
    assert column(tmp_path / "x.csv", "id,text\n1,“yes” – he’s\n".encode("cp1252")) == ["“yes” – he’s"]
    assert "read as cp1252 (detected)" in caplog.messages[0]
    many = "id,text\n" + "1,schön\n" * 50
    assert "byte" in refused(tmp_path / "x.csv", many.encode() + "2,schön\n".encode("cp1252"))


def test_numbers_of_csv_stay_text(tmp_path: Path) -> None:
    """duckdb#5782, #5794, #11411: leading zeros; 01, 1 and 1.0 are three classes."""
    content = "id,text,label\n007,a,01\n7,b,1\n7.0,c,1.0\n"
    assert column(tmp_path / "x.csv", content, "id") == ["007", "7", "7.0"]
    assert column(tmp_path / "x.csv", content, "label") == ["01", "1", "1.0"]


def test_many_empty_columns(tmp_path: Path) -> None:
    table = opened(tmp_path / "x.csv", "id,text" + "," * 500 + "\n1,a" + "," * 500 + "\n").read_all()
    assert table.num_columns == 502


# ---------------------------------------------------------------- JSON


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, 2**64, 10**20])
def test_long_ids(tmp_path: Path, number: int) -> None:
    """jsonfile#59, node#8320, gnip#18, snscrape#794."""
    content = f'{{"id": {number}, "text": "a"}}\n{{"id": {number + 2}, "text": "b"}}\n'
    assert column(tmp_path / "x.jsonl", content, "id") == [str(number), str(number + 2)]


def test_long_numbers_beside_fractions_keep_their_digits(tmp_path: Path) -> None:
    """demian85/gnip#18, node#8320, node-twitter-api-v2#73."""
    values = [9007199254740993, 1.5, 781250306873012233]
    lines = [json.dumps({"id": str(i), "text": "a", "author": value}) for i, value in enumerate(values)]
    assert column(tmp_path / "x.jsonl", "\n".join(lines), "author") == ["9007199254740993", "1.5", "781250306873012233"]
    late = ['{"text": "a", "author": 1.5}'] * 3_000 + ['{"text": "a", "author": 9007199254740993}']
    assert "x.jsonl:3001: column 'author' was float" in refused(tmp_path / "x.jsonl", "\n".join(late))


def test_numbers_that_are_none(tmp_path: Path) -> None:
    """jsonlite#281, lossless-json#242."""
    content = '{"text": "a", "n": NaN}\n{"text": "b", "n": Infinity}\n{"text": "c", "n": 1}\n'
    values = column(tmp_path / "x.jsonl", content, "n")
    assert np.isnan(values[0])
    assert values[1:] == [float("inf"), 1.0]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param('{"text": "a", "text": "b"}\n', ["b"], id="the last of two keys"),
        pytest.param('[\n {"text": "a"},\n {"text": "b"}\n]', ["a", "b"], id="a list over lines"),
        pytest.param('{"text": "a\tb"}\n', "x.jsonl:1", id="a tab in a string"),
        pytest.param(
            '{"text": "a"},\n{"text": "b"}\n',
            "x.jsonl:1: a comma follows the object; remove the commas",
            id="commas at line ends",
        ),
        pytest.param('{"text": "a"}{"text": "b"}\n', "write one object a line", id="two on a line"),
        pytest.param('{"text": "a",}\n', "x.jsonl:1: not JSON", id="a comma before the brace"),
        pytest.param('// made by hand\n{"text": "a"}\n', "x.jsonl:1: not JSON", id="a comment"),
        pytest.param(
            '{"text": {"0": "a"}, "label": {"0": "x"}}', "orient='records', lines=True", id="to_json() of pandas"
        ),
        pytest.param(
            '{"text": "a", "label": "x"}\n{"text": "b", "label": ["x", "y"]}\n',
            "column 'label' holds lists",
            id="classes as lists and text",
        ),
        pytest.param(
            '{"text": "a", "id": "x"}\n{"text": "b", "id": ["x"]}\n',
            "column 'id' holds lists",
            id="ids as lists and text",
        ),
        pytest.param(
            '{"text": "a", "n": 1}\n' * 1001 + '{"text": "b", "n": "x"}\n',
            "x.jsonl:1002: column 'n' was int",
            id="another type late",
        ),
    ],
)
def test_json(tmp_path: Path, content: str, expected: str | list[str]) -> None:
    name = "x.json" if content.startswith("[") or "pandas" in str(expected) or '"0"' in content else "x.jsonl"
    if isinstance(expected, str):
        assert expected in refused(tmp_path / name, content)
    else:
        assert column(tmp_path / name, content) == expected


def test_lists_and_text_in_another_column_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = '{"text": "a", "tags": "x"}\n{"text": "b", "tags": ["x", "y"]}\n'
    assert column(tmp_path / "x.jsonl", content, "tags") == ["x", '["x", "y"]']
    assert "column 'tags' holds lists or objects in some rows" in caplog.messages[0]
    lists = '{"text": "a", "label": []}\n{"text": "b", "label": ["x", "y"]}\n'
    assert column(tmp_path / "x.jsonl", lists, "label") == [[], ["x", "y"]]


@pytest.mark.parametrize("window", [27, 28])
@pytest.mark.parametrize("name", ["x.jsonl.zst", "RC_2024-01.zst"])
def test_zstd_of_reddit(tmp_path: Path, window: int, name: str) -> None:
    """Pushshift-Importer#1, arctic_shift#19, python-zstandard#157, xopen#155, datasets#5197."""
    parameters = zstandard.ZstdCompressionParameters(window_log=window, enable_ldm=True, write_content_size=False)
    frames = b""
    for part in range(2):
        packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        lines = "".join(json.dumps({"text": f"post {i}"}) + "\n" for i in range(part * 100, part * 100 + 100))
        frames += packer.compress(lines.encode()) + packer.flush()
    assert column(tmp_path / name, frames) == [f"post {i}" for i in range(200)]


# ---------------------------------------------------------------- Parquet


def test_folders_of_spark(tmp_path: Path) -> None:
    """spark#11697, #11088, datasette-parquet#15, polars#17362, spark-hadoopoffice-ds#26, eel-sdk#390."""
    folder = tmp_path / "part" / "label=pos" / "year=2024"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": ["1"], "text": ["good"]}), folder / "part-00000.snappy.parquet")
    (folder / ".part-00000.snappy.parquet.crc").write_bytes(b"crc")
    (tmp_path / "part" / "_SUCCESS").touch()
    (tmp_path / "part" / "_temporary" / "0").mkdir(parents=True)
    (tmp_path / "part" / "_temporary" / "0" / "part-1.parquet").write_bytes(b"begun")
    assert rows(tmp_path / "part") == [{"id": "1", "text": "good", "label": "pos", "year": "2024"}]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        pytest.param(
            pa.array([1_700_000_000_123_456_789]).cast(pa.timestamp("ns")),
            "2023-11-14 22:13:20.123456789",
            id="arrow#34614",
        ),
        pytest.param(pa.array([123_456_789]).cast(pa.time64("ns")), "00:00:00.123456789", id="arrow#44420"),
        pytest.param(pa.array([1_001]).cast(pa.duration("ns")), "0:00:00.000001001", id="arrow-odbc-py#47"),
        pytest.param(pa.array([10**18]).cast(pa.timestamp("us")), "33658-09-27 01:46:40", id="a year beyond 9999"),
    ],
)
def test_times_that_python_cannot_hold(tmp_path: Path, values: pa.Array, shown: str) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": ["good film"], "when": values}), path)
    for command in (
        ["preprocess", "--min-df", "1", "--stop-words", "none", "-q", "-o", "-"],
        ["kwic", "film", "--show-cols", "when"],
    ):
        done = run_cli(command[0], *command[1:2] * (command[0] == "kwic"), path, *command[1 + (command[0] == "kwic") :])
        assert shown in done.out


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array([datetime.date(2024, 1, 2), None]),
        pa.array([1, None], pa.decimal128(10, 2)),
        pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
        pa.array([{"a": {"b": [1]}}, None]),
        pa.array([b"\x00\xff", None]),
        pa.nulls(2),
        pa.array([2**64 - 1, 0], pa.uint64()),
        pa.array(np.array([0.5, 1], np.float16)),
        pa.array(["a", None], pa.string_view()),
    ],
    ids=lambda array: str(array.type),
)
def test_columns_of_parquet_travel_unchanged(tmp_path: Path, array: pa.Array) -> None:
    path, target = tmp_path / "x.parquet", tmp_path / "y.parquet"
    pq.write_table(pa.table({"text": ["good film", "bad film"], "x": array}), path)
    run_cli("preprocess", path, "--min-df", 1, "-o", target, "-q")
    assert pq.read_table(target).column("x").to_pylist() == array.to_pylist()


def test_the_index_of_pandas_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    frame = pd.DataFrame({"text": ["a", "b"]}, index=[5, 3])
    frame.to_parquet(tmp_path / "x.parquet")
    assert rows(tmp_path / "x.parquet")[0]["__index_level_0__"] == 5
    assert "'__index_level_0__' is the index of a pandas table" in caplog.messages[0]


def test_files_of_a_folder_that_differ_are_refused(tmp_path: Path) -> None:
    for name, values in (("a", [1]), ("b", ["x"])):
        pq.write_table(pa.table({"text": ["t"], "n": values}), tmp_path / f"{name}.parquet")
    with pytest.raises(InputError, match="types=n=string"):
        open_documents([str(tmp_path)])


# ---------------------------------------------------------------- workbooks


def workbook(path: Path, *cells: list[Any], merged: str = "") -> Path:
    book = openpyxl.Workbook()
    for row in cells:
        book.active.append(row)
    if merged:
        book.active.merge_cells(merged)
    book.save(path)
    return path


def test_escapes_of_workbooks(tmp_path: Path) -> None:
    """readxl#51, opensanctions#5001, XlsxWriter#589, roo#223, creek#29."""
    stored = [
        "First_x000D_\nsecond_x000D_", "_x005F_x000D_ stays", "a_x2019_b", "_xD83D__xDE00_", "snake_x_case", "_x00",
    ]  # fmt: skip
    meant = ["First\r\nsecond\r", "_x000D_ stays", "a’b", "\U0001f600", "snake_x_case", "_x00"]
    path = workbook(tmp_path / "inline.xlsx", ["text"], *([text] for text in stored))
    assert column(path) == meant
    with xlsxwriter.Workbook(str(tmp_path / "shared.xlsx")) as book:  # shared strings, escaped by the writer
        sheet = book.add_worksheet()
        for row, text in enumerate(["text", *meant]):
            sheet.write_string(row, 0, text)
    assert column(tmp_path / "shared.xlsx") == meant


def test_merged_cells_count_for_all_their_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """tabulator-py#171, #320, libhxl-python#90: `classify` trained on two of twelve."""
    cells = [[i, f"text {i}", "pos" if i == 1 else None] for i in range(1, 5)]
    path = workbook(tmp_path / "x.xlsx", ["id", "text", "label"], *cells, [5, "text 5", "neg"], merged="C2:C5")
    assert column(path, name="label") == ["pos"] * 4 + ["neg"]
    assert "1 merged range gave 3 empty cells below their value" in caplog.messages[0]


def test_a_title_above_the_header_is_left_out(tmp_path: Path) -> None:
    """readxl#383."""
    path = workbook(tmp_path / "x.xlsx", ["Survey 2024"], [], ["id", "text"], [1, "a"])
    assert column(path) == ["a"]


def test_headers_and_blank_rows_of_workbooks(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", ["id", "text"], [1, "a"], ["id", "text"], [None, None], [2, "b"])
    stream = opened(path)
    assert stream.read_all()["text"].to_pylist() == ["a", "b"]
    assert [row.reason for row in stream.dropped] == ["the row repeats the header"]


def test_days_and_times_of_workbooks(tmp_path: Path) -> None:
    """readxl#716, agate-excel#15."""
    values = [datetime.datetime(2024, 1, 2), datetime.datetime(2024, 1, 2, 3, 4), datetime.time(5, 6)]
    path = workbook(tmp_path / "x.xlsx", ["text", "when"], *(["a", value] for value in values))
    assert column(path, name="when") == ["2024-01-02", "2024-01-02T03:04:00", "05:06:00"]
    with pytest.raises(InputError, match="'text' twice"):
        opened(workbook(tmp_path / "y.xlsx", ["text", "text"], ["a", "b"]))


def test_a_workbook_that_is_a_bomb(tmp_path: Path) -> None:
    path = workbook(tmp_path / "x.xlsx", ["text"], ["@"])
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "y.xlsx", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"@", b"x" * (5 << 20)))
    with pytest.raises(InputError, match="a cell holds more than"):
        opened(tmp_path / "y.xlsx").read_all()


# ---------------------------------------------------------------- Word and web pages


def test_word(tmp_path: Path) -> None:
    """python-docx#1123, #803, #6, #930: insertions, deletions, controls, fields; #1392, #1604: footnotes and comments are left out."""
    document = docx.Document()
    paragraph = document.add_paragraph("kept ")
    run = "<w:r><w:t>{}</w:t></w:r>"
    for tag, text in (("ins", "inserted "), ("smartTag", "smart "), ("hyperlink", "link ")):
        paragraph._p.append(parse_xml(f"<w:{tag} {nsdecls('w')}>{run.format(text)}</w:{tag}>"))
    paragraph._p.append(parse_xml(f"<w:del {nsdecls('w')}><w:r><w:delText>gone</w:delText></w:r></w:del>"))
    paragraph._p.append(
        parse_xml(f"<w:sdt {nsdecls('w')}><w:sdtContent>{run.format('control ')}</w:sdtContent></w:sdt>")
    )
    paragraph._p.append(parse_xml(f'<w:fldSimple {nsdecls("w")} w:instr="DATE">{run.format("2024")}</w:fldSimple>'))
    table = document.add_table(2, 2)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "merged"
    table.cell(1, 0).add_table(1, 1).cell(0, 0).text = "nested"
    document.add_comment(paragraph.runs, "a comment")
    document.save(str(tmp_path / "x.docx"))
    (text,) = column(tmp_path / "x.docx")
    words = text.split()
    assert words == ["kept", "inserted", "smart", "link", "control", "2024", "merged", "nested"]


def test_a_web_page(tmp_path: Path) -> None:
    """trafilatura#10, #81, #430, #569, firecrawl#78: lists and tables stay, menus go, smart quotes of a page that says latin-1."""
    body = "".join(
        f"<p>The river rose for the {i}th day, and “nobody” was surprised by so much water in the town.</p>"
        for i in range(9)
    )
    page = (
        '<html><head><meta charset="iso-8859-1"><title>River</title></head><body><nav><a href="/">Home</a><a href="/x">Menu</a></nav>'
        f"<main><article><h1>River</h1>{body}<ul><li>first item of the list</li><li>second item of the list</li></ul>"
        "<table><tr><td>one cell</td><td>another cell</td></tr></table></article></main><footer>Cookies?</footer></body></html>"
    )
    (row,) = rows(tmp_path / "x.html", page.encode("cp1252"))
    assert "“nobody”" in row["text"]
    assert "second item of the list" in row["text"]
    assert "another cell" in row["text"]
    assert "Menu" not in row["text"]


def test_a_cell_of_csv_is_as_the_csv_module_has_it(tmp_path: Path) -> None:
    """The same cells for a table of everything above, written by another program."""
    cells = [["id", "text"], ["1", 'a "b", c\nd'], ["2", "=1+1"], ["3", "x\ty;z|"], ["4", "'quoted'"], ["5", "\u2028"]]
    out = io.StringIO()
    csv.writer(out).writerows(cells)
    assert [[row["id"], row["text"]] for row in rows(tmp_path / "x.csv", out.getvalue())] == cells[1:]
