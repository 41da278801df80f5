"""Corpora as one stream: formats, columns, ids, dropped rows, limits, what was read."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import logging
import math
import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.errors import ColumnError, EncodingError, InputError, UsageError
from nlpkit.platform.documents.corpora import DocumentStream, open_documents
from nlpkit.platform.documents.inputs import InputInfo
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers.value_types import TOKENS
from tests.peer_data import PEER_DATA
from tests.refusals import refuses

REUTERS = "reuters21578/reuters21578.jsonl.gz"
any_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)


def opened(path: Path, content: str | bytes, **options: Any) -> DocumentStream:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_documents([str(path)], ReadOptions(**options))


def jsonl(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def table_of(path: Path, content: str | bytes, **options: Any) -> pa.Table:
    table = opened(path, content, **options).read_all()
    table.validate(full=True)
    return table


def rows_of(path: Path, content: str | bytes, **options: Any) -> list[dict[str, Any]]:
    return table_of(path, content, **options).to_pylist()


@pytest.fixture
def x(tmp_path: Path) -> Path:
    return tmp_path / "x.jsonl"


# ---------------------------------------------------------------- JSON Lines and JSON


def test_jsonl_schema_order_and_values(x: Path) -> None:
    stream = opened(x, jsonl({"label": "a", "text": "one", "n": 1}, {"text": "two", "id": 7, "n": None}))
    assert stream.schema == pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            ("text", pa.large_string()),
            ("label", pa.string()),
            ("n", pa.int64()),
        ]
    )
    assert stream.metadata is None
    assert stream.read_all().to_pylist() == [
        {"id": "x:1", "text": "one", "label": "a", "n": 1},
        {"id": "7", "text": "two", "label": None, "n": None},
    ]
    assert stream.inputs == [InputInfo(str(x), 2, hashlib.sha256(x.read_bytes()).hexdigest(), "utf-8")]
    assert list(stream) == []  # one pass


def test_jsonl_line_ends_blank_lines_and_row_numbers(x: Path) -> None:
    content = '{"text": "a\\nb"}\r\n\r\n  \n {"text": "c\u2028\x85"} \n{"text": "no end"}'
    assert rows_of(x, content) == [
        {"id": "x:1", "text": "a\nb"},
        {"id": "x:4", "text": "c\u2028\x85"},
        {"id": "x:5", "text": "no end"},
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a"', r"x\.jsonl:2: not JSON: .* at column 13"),
        ("text", r"x\.jsonl:2: not JSON"),
        ('["a"]', r"x\.jsonl:2: each line should be one JSON object, but this one is a list"),
        ("17", r"x\.jsonl:2: each line should be one JSON object, but this one is the value 17"),
        ('{"text": "a"}{"text": "b"}', r"x\.jsonl:2: more than one JSON value"),
        ("[" * 100_000, r"x\.jsonl:2: .*nested too deeply"),
        ('{"n": ' + "1" * 5000 + "}", r"x\.jsonl:2: not JSON"),
    ],
)
def test_malformed_lines_are_named(x: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        opened(x, f'{{"text": "fine"}}\n{line}\n').read_all()


def test_json_over_lines_is_pointed_to_the_json_reader(x: Path) -> None:
    with pytest.raises(InputError, match="`format=json`"):
        opened(x, '{\n "data": []\n}')
    with pytest.raises(InputError, match="`format=json`"):
        opened(x, '[{"text": "a"}]')


@pytest.mark.parametrize(
    "content",
    [
        '[{"text": "a"}, {"text": "b"}]',
        '{"version": 1, "tags": ["t"], "data": [{"text": "a"},\n {"text": "b"}]}',
        '{"text": "a"}\n{"text": "b"}\n',  # JSON Lines that is called .json
    ],
)
def test_json_layouts(tmp_path: Path, content: str) -> None:
    assert [row["text"] for row in rows_of(tmp_path / "x.json", content)] == ["a", "b"]


def test_json_with_one_document_a_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"text": name, "tags": [{"k": 1}]}), encoding="utf-8")
    table = open_documents([str(tmp_path)]).read_all()
    assert table.select(["id", "text"]).to_pylist() == [{"id": "a:1", "text": "a"}, {"id": "b:1", "text": "b"}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"text": "a"},\n {"text" "b"}]', r"x\.json:2:10: not JSON"),
        ('[{"text": "a"}, 3]', r"x\.json: item 2 of the list should be an object, is 3"),
        ('{"a": [{"t": 1}], "b": [{"t": 2}]}', r"one list of objects or be one document; it has 2 \(a, b\)"),
        ('{"a": 1}', "it has the keys a"),
        ('"text"', "should be a JSON list of objects"),
    ],
)
def test_json_messages(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        opened(tmp_path / "x.json", content)


# ---------------------------------------------------------------- CSV and TSV


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_delimiters_quotes_and_line_ends(tmp_path: Path, delimiter: str) -> None:
    records = [["id", "text", "n"], ["007", 'two\r\nlines, "quoted"; a|b\tc', ""], ["", "", "1.50"]]
    for end in ("\n", "\r\n", "\r"):
        buffer = io.StringIO()
        csv.writer(buffer, delimiter=delimiter, lineterminator=end).writerows(records)
        assert rows_of(tmp_path / "x.csv", buffer.getvalue()) == [
            {"id": "007", "text": 'two\r\nlines, "quoted"; a|b\tc', "n": ""},
            {"id": "x:2", "text": "", "n": "1.50"},
        ]


def test_csv_headers_are_stripped_and_unnamed_columns_numbered(tmp_path: Path) -> None:
    content = '\ufeff,"text" ,"la\nbel"\n0,a,x\n\n1,b,y\n'
    table = table_of(tmp_path / "x.csv", content)
    assert table.column_names == ["id", "text", "column_1", "la bel"]
    assert table["id"].to_pylist() == ["x:1", "x:2"]


def test_csv_of_one_column_with_commas_in_it(tmp_path: Path) -> None:
    assert [row["text"] for row in rows_of(tmp_path / "x.csv", "text\na, b\nc\nd, e, f\n")] == ["a, b", "c", "d, e, f"]


def test_csv_fields_may_be_long(tmp_path: Path) -> None:
    long = "word " * 100_000
    assert rows_of(tmp_path / "x.csv", f'id,text\n1,"{long}"\n')[0]["text"] == long


def test_csv_of_r_has_na_where_there_is_no_value(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = 'id,text,label,n\n1,NA,a,NA\n2,"NA NA",NA,3\n3,b,n/a,NA\n'
    table = table_of(tmp_path / "x.csv", content, types=(("n", "int"),))
    assert table["text"].to_pylist() == ["", "NA NA", "b"]
    assert table["label"].to_pylist() == ["a", "", "n/a"]
    assert table["n"].to_pylist() == [None, 3, None]
    assert caplog.messages == [
        f"{tmp_path}/x.csv: 4 cells are NA, which is not a value: n 2, text 1, label 1 (see `na_values`)"
    ]
    caplog.clear()
    table = table_of(tmp_path / "x.csv", content, na_values="n/a,b")
    assert [*table["text"].to_pylist(), *table["label"].to_pylist()] == ["NA", "NA NA", "", "a", "NA", ""]
    assert len(caplog.messages) == 1
    assert table_of(tmp_path / "x.csv", content, na_values="")["n"].to_pylist() == ["NA", "3", "NA"]
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,text,id\n1,a,2\n", r"x\.csv:1: the header has the column 'id' twice"),
        ('id,text\n1,"a\nb"\n2\n', r"x\.csv:4: 1 field, but the header has 2"),
        ("id,text\n1,a,b,c\n", r"x\.csv:2: 4 fields, but the header has 2; put fields"),
        ('id,text\n1,"a, b"\n2,"b\n3,c\n', r"x\.csv:3: a quote opened in the row of line 3 is not closed by the end"),
        (
            'id,text\n1,a\n2,"b\n3,c\n4,"d",e\n',
            r"x\.csv:3: a quoted cell in line 5 of the row that begins in line 3 goes on behind its closing mark; double",
        ),
    ],
)
def test_csv_messages(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        opened(tmp_path / "x.csv", content).read_all()


def test_csv_types(tmp_path: Path) -> None:
    content = "id,text,n,ok\n01,a,1,true\n02,b,,no\n"
    table = table_of(tmp_path / "x.csv", content, types=(("n", "int"), ("ok", "bool")))
    assert table.to_pylist()[0] == {"id": "01", "text": "a", "n": 1, "ok": True}
    assert table["n"].to_pylist() == [1, None]
    with pytest.raises(InputError, match=r"x\.csv:3: column 'n' should be int \(`types`\), but is \"4\.5\""):
        opened(tmp_path / "x.csv", "id,text,n\n1,a,1\n2,b,4.5\n", types=(("n", "int"),)).read_all()
    with refuses("types", ColumnError):
        opened(tmp_path / "x.csv", content, types=(("m", "int"),))
    with refuses("types"):
        opened(tmp_path / "x.csv", content, types=(("id", "int"),))


def test_lists_in_cells(tmp_path: Path) -> None:
    """JSON lists of strings in all cells of a column are lists; a text is never one, nor a column with another cell in it."""
    lines = ["text,labels,odd,years", '"[""a""]","[""b"", ""c""]","[""d""]",[1]', "e,,f,[2]", 'g,[],"[""h""]",[3]']
    assert rows_of(tmp_path / "x.csv", "\n".join(lines)) == [
        {"id": "x:1", "text": '["a"]', "labels": ["b", "c"], "odd": '["d"]', "years": "[1]"},
        {"id": "x:2", "text": "e", "labels": None, "odd": "f", "years": "[2]"},
        {"id": "x:3", "text": "g", "labels": [], "odd": '["h"]', "years": "[3]"},
    ]
    late = "text,labels\n" + 'a,"[""b""]"\n' * 1000
    assert opened(tmp_path / "y.csv", late + "c,\n").read_all()["labels"][-1].as_py() is None
    with pytest.raises(InputError, match=r"y\.csv:1002: column 'labels' was a list of string .* `types=labels=string`"):
        opened(tmp_path / "y.csv", late + "c,d\n").read_all()


def test_tsv(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "x.tsv", "text\tn\na, b; c|d\t1\n")[0] == {"id": "x:1", "text": "a, b; c|d", "n": "1"}


# ---------------------------------------------------------------- plain text


def test_one_text_file_is_read_by_line_several_by_file(tmp_path: Path) -> None:
    content = "first\r\n\n  \nsecond \rthird"
    by_line = [{"id": "a:1", "text": "first"}, {"id": "a:4", "text": "second "}, {"id": "a:5", "text": "third"}]
    by_file = [{"id": "a:1", "text": content}]
    assert rows_of(tmp_path / "a.txt", content) == by_line
    assert rows_of(tmp_path / "a.txt", content, txt_docs="file") == by_file
    assert open_documents([str(tmp_path)]).read_all().to_pylist() == by_file
    assert open_documents([str(tmp_path / "*.txt")]).read_all().to_pylist() == by_file
    assert open_documents([str(tmp_path)], ReadOptions(txt_docs="line")).read_all().to_pylist() == by_line
    (tmp_path / "b.txt").write_text("", encoding="utf-8")
    both = open_documents([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]).read_all().to_pylist()
    assert both == [*by_file, {"id": "b:1", "text": ""}]


def test_detected_encodings_are_reported_a_few_by_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for i in range(8):
        (tmp_path / f"{i}.txt").write_bytes("schöne Grüße aus Köln".encode("cp1252"))
    with caplog.at_level(logging.WARNING, "nlpkit.io"):
        stream = open_documents([str(tmp_path)])
        assert set(stream.read_all()["text"].to_pylist()) == {"schöne Grüße aus Köln"}
    assert {info.encoding for info in stream.inputs} == {"cp1252"}
    messages = [record.getMessage() for record in caplog.records]
    assert messages[0] == f"{tmp_path}/0.txt: read as cp1252 (detected); force with `encoding`"
    assert messages[5:] == ["8 files read in a detected encoding: 8 as cp1252; force with `encoding`"]


def test_forced_encoding_and_undecodable_bytes(x: Path) -> None:
    content = '{"text": "schön"}\n'.encode("latin-1")
    assert rows_of(x, content, encoding="cp1250")[0]["text"] == "schön"
    with pytest.raises(EncodingError):
        opened(x, content, encoding="utf-8")
    assert rows_of(x, content, encoding="utf8", encoding_errors="replace")[0]["text"] == "sch\ufffdn"
    with refuses("encoding"):
        opened(x, content, encoding="klingon")


def test_half_surrogates_follow_encoding_errors(x: Path) -> None:
    content = '{"text": "a"}\n{"text": "\\ud83d!"}\n'
    with pytest.raises(EncodingError):
        opened(x, content).read_all()
    assert rows_of(x, content, encoding_errors="replace")[1]["text"] == "\ufffd!"
    with pytest.raises(EncodingError):
        opened(x, '{"text": "a", "\\ud83d": 1}\n')


# ---------------------------------------------------------------- texts and dropped rows


def test_rows_without_text_are_listed(x: Path) -> None:
    content = jsonl(
        {"text": "a"}, {"text": None}, {"n": 1}, {"text": ["a"], "id": "L"}, {"text": {"a": 1}}, {"text": ""}
    )
    stream = opened(x, content + '{"text": NaN}\n')
    assert stream.read_all()["id"].to_pylist() == ["x:1", "x:6"]
    assert [(row.id, row.reason) for row in stream.dropped] == [
        ("x:2", "text is null"),
        ("x:3", "text is null"),
        ("L", "text is a list"),
        ("x:5", "text is an object"),
        ("x:7", "text is null"),
    ]
    assert {row.stage for row in stream.dropped} == {"read"}
    assert stream.inputs[0].rows == 7


def test_numbers_and_booleans_become_text(x: Path) -> None:
    assert [row["text"] for row in rows_of(x, jsonl({"text": 1}, {"text": 2.5}, {"text": True}))] == [
        "1",
        "2.5",
        "true",
    ]


# ---------------------------------------------------------------- columns


def test_columns_with_a_role_stay_under_their_own_names(x: Path) -> None:
    """--label-col score renamed the user's column, and a join back to the data set had to guess."""
    content = jsonl({"cat": "c", "body": "b", "key": 9, "when": "2020", "n": 1})
    table = table_of(x, content, text_col="body", id_col="key", label_col="cat", date_col="when")
    assert table.to_pylist() == [
        {"id": "9", "text": "b", "label": "c", "cat": "c", "key": 9, "date": "2020", "when": "2020", "n": 1}
    ]
    assert table.column_names == ["id", "text", "label", "cat", "key", "date", "when", "n"]


def test_a_column_in_the_way_is_kept_under_another_name(x: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = jsonl({"id": "i", "text": "t", "text_given": "g", "body": "b", "label": 1, "cat": "c"})
    table = table_of(x, content, text_col="body", id_col="none", label_col="cat")
    assert table.to_pylist() == [
        {
            "id": "x:1",
            "text": "b",
            "id_given": "i",
            "text_given_given": "t",
            "text_given": "g",
            "label_given": 1,
            "label": "c",
            "cat": "c",
        }
    ]
    assert "column 'text' is kept as 'text_given_given'" in caplog.text


def test_missing_columns_name_the_option(x: Path) -> None:
    content = jsonl({"txt": "a", "n": 1})
    with refuses("text_col", ColumnError):
        opened(x, jsonl({"txt": 2, "n": 1}))
    for role in ("id", "label", "date"):
        with pytest.raises(ColumnError, match=f"has no column 'm' .*`{role}_col`"):
            opened(x, content, text_col="txt", **{f"{role}_col": "m"})
    with refuses("text_col", ColumnError):
        opened(x.with_suffix(".csv"), "id,body\n")  # a header is enough to know


def test_columns_limits_what_is_kept(x: Path) -> None:
    content = jsonl({"id": 1, "text": "a", "label": "l", "n": 1, "m": {"k": [1]}})
    assert table_of(x, content, columns=("label", "absent")).column_names == ["id", "text", "label"]
    assert table_of(x, content, columns=()).column_names == ["id", "text"]
    assert table_of(x, content, columns=("n",), label_col="n").column_names == ["id", "text", "label", "n"]


def test_columns_of_several_inputs_are_joined(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(jsonl({"text": "a", "n": 1, "k": 1}), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(jsonl({"text": "b", "n": 2.5, "k": "z"}), encoding="utf-8")
    (tmp_path / "c.csv").write_text("text,m\nc,x\n", encoding="utf-8")
    table = open_documents([str(tmp_path)]).read_all()
    assert table.schema.field("n").type == pa.float64()
    assert table.to_pylist() == [
        {"id": "a:1", "text": "a", "n": 1.0, "k": "1", "m": None},
        {"id": "b:1", "text": "b", "n": 2.5, "k": "z", "m": None},
        {"id": "c:1", "text": "c", "n": None, "k": None, "m": "x"},
    ]


def test_a_column_that_comes_late_is_left_out_with_a_warning_or_kept(x: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = jsonl(*({"text": "a"} for _ in range(1000)), {"text": "b"}, {"text": "c", "note": 5})
    table = table_of(x, content)
    assert table.column_names == ["id", "text"]
    assert "x.jsonl:1002: column 'note' is not in the first rows and is left out; keep it with" in caplog.text
    table = table_of(x, content, types=(("note", "int"),))
    assert table["note"].to_pylist()[-2:] == [None, 5]


def test_a_value_that_does_not_fit_is_named_with_its_line(x: Path) -> None:
    content = jsonl(*({"text": "a", "n": 1} for _ in range(1000)), {"text": None}, {"text": "b", "n": 4.5})
    with pytest.raises(
        InputError, match=r"x\.jsonl:1002: column 'n' was int in the first rows, but 4\.5 here; use `types=n=float`"
    ):
        opened(x, content).read_all()
    assert table_of(x, content, types=(("n", "float"),))["n"][-1].as_py() == 4.5


def test_tables_piped_as_jsonl_come_back(x: Path) -> None:
    rows = [
        {"id": "1", "text": "a b", "tokens": ["a", "b"], "embedding": [0.5, 1.0], "topic": 0, "topic_prob": 0.25},
        {"id": "2", "text": "", "tokens": [], "embedding": None, "topic": -1, "topic_prob": 0},
    ]
    table = table_of(x, jsonl(*rows), batch_rows=1)
    assert [table.schema.field(i).type for i in range(2, 6)] == [
        TOKENS,
        pa.list_(pa.float32(), 2),
        pa.int32(),
        pa.float32(),
    ]
    assert table.to_pylist() == rows


# ---------------------------------------------------------------- ids


def test_ids_given_made_and_numbered(x: Path) -> None:
    content = jsonl(
        {"id": 17, "text": "a"}, {"id": None, "text": "b"}, {"id": "", "text": "c"}, {"id": "z", "text": "d"}
    )
    assert table_of(x, content)["id"].to_pylist() == ["17", "x:2", "x:3", "z"]
    assert table_of(x, content, id_col="none")["id"].to_pylist() == ["x:1", "x:2", "x:3", "x:4"]


def test_ids_of_packed_files_and_of_files_that_share_a_stem(tmp_path: Path) -> None:
    for name in ("pos/1.jsonl.gz", "neg/1.jsonl.gz"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(gzip.compress(b'{"text": "a"}\n', mtime=0))
    assert open_documents([str(tmp_path)]).read_all()["id"].to_pylist() == ["neg/1:1", "pos/1:1"]
    assert open_documents([str(tmp_path / "pos")]).read_all()["id"].to_pylist() == ["1:1"]


def test_duplicate_ids_name_both_places(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(jsonl({"id": "x", "text": "a"}, {"id": "y", "text": "b"}), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(jsonl({"id": "z", "text": "c"}, {"id": "y", "text": "d"}), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"the id 'y' occurs twice, in .*a\.jsonl row 2 and in .*b\.jsonl row 2, .*`id_col=none`"
    ):
        open_documents([str(tmp_path)]).read_all()
    assert open_documents([str(tmp_path)], ReadOptions(id_col="none")).read_all().num_rows == 4
    content = jsonl({"id": "c:2", "text": "a"}, {"text": "b"})  # a made id meets a given one
    with pytest.raises(InputError, match=r"'c:2' occurs twice, in .* row 1 and in .* row 2"):
        opened(tmp_path / "c.jsonl", content).read_all()


def test_a_duplicate_far_down_is_found(x: Path) -> None:
    rows = [{"id": f"d{i}", "text": "t"} for i in range(25_000)]
    rows[24_000]["id"] = "d11"
    with pytest.raises(InputError, match=r"the id 'd11' occurs twice, in .* row 12 and in .* row 24001"):
        opened(x, jsonl(*rows)).read_all()


# ---------------------------------------------------------------- batches, limits, stdin, nothing


def test_batches_have_at_most_batch_rows_over_inputs_too(tmp_path: Path) -> None:
    for i in range(7):
        (tmp_path / f"{i}.txt").write_text(str(i), encoding="utf-8")
    stream = open_documents([str(tmp_path)], ReadOptions(batch_rows=3))
    batches = list(stream)
    assert [batch.num_rows for batch in batches] == [3, 3, 1]
    assert all(batch.schema.equals(stream.schema) for batch in batches)


def test_long_documents_make_smaller_batches(x: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlpkit.platform.documents.readers.assemble._BATCH_CHARS", 3_000_000)
    stream = opened(x, jsonl(*({"text": "x" * 500_000} for _ in range(12))))
    sizes = [batch.num_rows for batch in stream]
    assert sum(sizes) == 12
    assert max(sizes) <= 8


def test_limit_counts_documents_and_the_hash_is_of_the_whole_file(tmp_path: Path) -> None:
    content = jsonl({"text": None}, *({"text": str(i)} for i in range(5000)))
    whole = hashlib.sha256(content.encode()).hexdigest()
    for limit, dropped in ((1, 1), (1500, 1)):
        stream = opened(tmp_path / "x.jsonl", content, limit=limit)
        assert (stream.read_all().num_rows, len(stream.dropped)) == (limit, dropped)
        assert [(info.rows, info.sha256) for info in stream.inputs] == [(limit + 1, whole)]
    (tmp_path / "y.jsonl").write_text(jsonl({"text": "y"}), encoding="utf-8")
    stream = open_documents([str(tmp_path)], ReadOptions(limit=5001))
    assert (stream.read_all()["id"][-1].as_py(), len(stream.inputs)) == ("y:1", 2)


def test_limit_in_a_packed_file_of_several_pieces(tmp_path: Path) -> None:
    """Ending the rows early must not close the file: the rest is read for the hash."""
    rng = random.Random(1)
    rows = ({"text": "".join(rng.choices("abcdefghij ", k=400))} for _ in range(6000))
    packed = gzip.compress(jsonl(*rows).encode())
    (tmp_path / "x.jsonl.gz").write_bytes(packed)
    for limit in (5, 5999, 6000, 6001):
        stream = open_documents([str(tmp_path / "x.jsonl.gz")], ReadOptions(limit=limit))
        assert stream.read_all().num_rows == min(limit, 6000)
        assert stream.inputs[0].sha256 == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize(
    ("content", "format", "text"),
    [
        (b'{"text": "a"}\n', None, "a"),
        (b'\n[{"text": "a"}]', None, "a"),
        (b"text,n\na,1\n", "csv", "a"),
        (b"a\n", "txt", "a"),
        (gzip.compress(b'{"text": "a"}\n', mtime=0), None, "a"),
    ],
)
def test_stdin(content: bytes, format: str | None, text: str) -> None:
    stream = open_documents(["-"], ReadOptions(format=format), stdin=io.BytesIO(content))
    assert stream.read_all().select(["id", "text"]).to_pylist() == [{"id": "stdin:1", "text": text}]
    reading = {} if format is None else {"format": format}
    dialect = "delimiter comma, quotation marks doubled" if format == "csv" else ""
    assert stream.inputs == [InputInfo("-", 1, hashlib.sha256(content).hexdigest(), "utf-8", reading, dialect)]


def test_stdin_that_could_be_anything_asks_for_the_format() -> None:
    with pytest.raises(InputError):
        open_documents(["-"], stdin=io.BytesIO(b"a,b\n"))
    with pytest.raises(InputError, match="stdin:1: not JSON"):
        open_documents(["-"], stdin=io.BytesIO(b"{a\n")).read_all()


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv", "x.tsv", "x.txt"])
def test_nothing_is_no_error(tmp_path: Path, name: str) -> None:
    for content in ("", "\n", "\ufeff"):
        stream = opened(tmp_path / name, content)
        assert (stream.schema.names, list(stream), stream.inputs[0].rows) == (["id", "text"], [], 0)
    assert open_documents(["-"], stdin=io.BytesIO()).read_all().num_rows == 0


def test_options_that_cannot_be_meant(x: Path) -> None:
    for options in (
        {"format": "odt"},
        {"txt_docs": "page"},
        {"encoding_errors": "ignore"},
        {"types": (("n", "integer"),)},
        {"batch_rows": 0},
        {"limit": -1},
    ):
        with pytest.raises(UsageError):
            opened(x, "", **options)


# ---------------------------------------------------------------- properties


def in_a_folder(name: str, content: bytes, **options: Any) -> pa.Table:
    with tempfile.TemporaryDirectory() as folder:
        return table_of(Path(folder, name), content, **options)


@given(st.lists(st.tuples(any_text.filter(bool), any_text), max_size=20, unique_by=lambda row: row[0]), st.booleans())
@settings(max_examples=60)
def test_any_text_and_id_survive_jsonl(rows: list[tuple[str, str]], ascii_only: bool) -> None:
    content = "".join(json.dumps({"id": i, "text": t}, ensure_ascii=ascii_only) + "\n" for i, t in rows).encode()
    table = in_a_folder("x.jsonl", content, encoding="utf-8")
    assert list(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True)) == rows


@given(st.lists(st.tuples(any_text.filter(bool), any_text), max_size=20, unique_by=lambda row: row[0]))
@settings(max_examples=60)
def test_any_text_and_id_survive_csv(rows: list[tuple[str, str]]) -> None:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([("id", "text"), *rows])
    table = in_a_folder("x.csv", buffer.getvalue().encode(), encoding="utf-8")
    assert list(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True)) == rows


@given(
    st.lists(st.none() | any_text, max_size=30),
    st.integers(1, 12),
    st.none() | st.integers(1, 30),
)
@settings(max_examples=60)
def test_the_result_does_not_depend_on_batch_rows(texts: list[str | None], batch_rows: int, limit: int | None) -> None:
    content = jsonl(*({"text": text, "tokens": [text or "", "x"]} for text in texts)).encode()
    if not any(text is not None for text in texts):
        return
    one = in_a_folder("x.jsonl", content, limit=limit)
    other = in_a_folder("x.jsonl", content, limit=limit, batch_rows=batch_rows)
    assert other.to_pylist() == one.to_pylist()
    assert one.num_rows == min(sum(text is not None for text in texts), math.inf if limit is None else limit)


# ---------------------------------------------------------------- real corpora


@pytest.mark.parametrize(
    ("name", "rows", "options"),
    [
        pytest.param(name, rows, options, marks=pytest.mark.peer_data(name))
        for name, rows, options in (
            (REUTERS, 21_578, {}),
            ("imdb/imdb_5k.jsonl.gz", 5_000, {}),
            ("livedoor/livedoor_540.jsonl", 540, {}),
            ("topic_human_ratings/hoyle2021_topics.csv", 300, {"text_col": "topic"}),
            ("stsbenchmark/stsbenchmark.jsonl", 8_628, {"text_col": "sentence1"}),
        )
    ],
)
def test_public_corpora(name: str, rows: int, options: dict[str, Any]) -> None:
    stream = open_documents([str(PEER_DATA / name)], ReadOptions(**options))
    table = stream.read_all()
    assert table.num_rows + len(stream.dropped) == rows
    assert (table["id"].null_count, len(set(table["id"].to_pylist()))) == (0, table.num_rows)


@pytest.mark.peer_data(REUTERS)
def test_reuters_columns() -> None:
    schema = open_documents([str(PEER_DATA / REUTERS)]).schema
    assert schema.field("labels").type == pa.list_(pa.string())
    assert schema.field("date").type == pa.string()


def test_words_are_the_text_where_there_is_none(tmp_path: Path) -> None:
    rows = [{"id": "a", "w": ["to", "be", None]}, {"id": "b", "w": []}, {"id": "c", "w": None}]
    for name, content in (("a.jsonl", jsonl(*rows).encode()), ("a.parquet", _parquet(rows, tmp_path))):
        stream = opened(tmp_path / name, content, words_col="w")
        table = stream.read_all()
        assert table.column_names == ["id", "text", "w"]
        assert table.column("text").to_pylist() == ["to be", ""]
        assert table.column("w").to_pylist() == [["to", "be", None], []]
        assert [(row.id, row.reason) for row in stream.dropped] == [("c", "text is null")]
        both = opened(tmp_path / name, content, words_col="w", text_col="w").read_all()
        assert both.equals(table)
        with refuses("text_col", ColumnError):
            opened(tmp_path / name, content, words_col="v")
        with refuses("label_col", ColumnError):
            opened(tmp_path / name, content, words_col="w", label_col="x")
    with_text = opened(tmp_path / "b.jsonl", jsonl({"text": "given", "w": ["to"]}), words_col="w").read_all()
    assert with_text.column("text").to_pylist() == ["given"]


def _parquet(rows: list[dict[str, Any]], folder: Path) -> bytes:
    pq.write_table(pa.Table.from_pylist(rows), folder / "plain.parquet")
    return (folder / "plain.parquet").read_bytes()


def test_markdown(tmp_path: Path) -> None:
    """.md needed --format; a file of it is one document, and a README beside a corpus is none of its documents."""
    (tmp_path / "a.md").write_text("# Title\n\nBody.\n", encoding="utf-8")
    with open_documents([str(tmp_path / "a.md")]) as stream:
        assert stream.read_all()["text"].to_pylist() == ["# Title\n\nBody.\n"]
    (tmp_path / "b.md").write_text("Other.", encoding="utf-8")
    with open_documents([str(tmp_path)]) as stream:
        assert stream.read_all().num_rows == 2
    (tmp_path / "c.jsonl").write_text('{"text": "three"}\n', encoding="utf-8")
    with open_documents([str(tmp_path)]) as stream:
        assert stream.read_all()["text"].to_pylist() == ["three"]


# ---------------------------------------------------------------- what is said of columns


def test_a_type_for_a_column_that_no_row_has(x: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"text": "a", "n": "1"}] * 3 + [{"text": "b", "late": 1}]
    table = table_of(x, jsonl(*rows), types=(("lable", "string"), ("n", "int"), ("late", "int")))
    assert table.column("n").to_pylist() == [1, 1, 1, None]
    assert [m for m in caplog.messages if "no row" in m] == ["no row has the column 'lable' of `types=lable=string`"]
    caplog.clear()
    table_of(x, jsonl(*rows), types=(("lable", "string"),), limit=2)
    assert not [m for m in caplog.messages if "no row" in m]  # of the rest nothing is known


def test_a_type_of_each_file_and_none_of_all(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name, values in (("a", [1, None]), ("b", [2, 3]), ("c", ["x"])):
        (tmp_path / f"{name}.jsonl").write_text(jsonl(*({"text": "t", "v": v, "w": v} for v in values)))
    options = ReadOptions(types=(("w", "string"),))
    table = open_documents([str(tmp_path)], options).read_all()
    assert table.column("v").to_pylist() == ["1", None, "2", "3", "x"]
    (said,) = [m for m in caplog.messages if "read as text" in m]
    assert said == f"column 'v' is int in {tmp_path}/a.jsonl and string in {tmp_path}/c.jsonl: it is read as text"


def test_a_corrupt_file_is_told_before_what_it_unpacks_to(tmp_path: Path) -> None:
    rows = [{"text": f"{random.Random(i).random()} {i}"} for i in range(20_000)]
    packed = bytearray(gzip.compress(jsonl(*rows).encode()))
    packed[len(packed) // 2] ^= 1
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(packed)
    with pytest.raises(InputError, match="corrupt gzip file"):
        open_documents([str(path)], ReadOptions()).read_all()
