"""Columns named by a place in JSON, and texts of several columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.errors import ColumnError, UsageError
from nlpkit.platform.documents.corpora import open_documents, open_table
from nlpkit.platform.documents.options import ReadOptions

ROWS: list[dict[str, Any]] = [
    {"key": {"n": "x1"}, "title": "A", "body": {"text": "river"}, "parts": [{"text": "one"}, {"text": "two"}],
     "meta": {"tags": ["a", "b"]}},
    {"key": {"n": "x2"}, "title": None, "body": {"text": None}, "parts": [{"other": "-"}, {"text": "three"}], "meta": {"tags": ["c"]}},
    {"key": {"n": "x3"}, "title": "C", "body": None, "parts": [], "meta": {"tags": []}},
]  # fmt: skip


@pytest.fixture(params=["jsonl", "json", "parquet"])
def corpus(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The rows in each format that holds objects."""
    path = tmp_path / f"x.{request.param}"
    if request.param == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        text = json.dumps(ROWS) if request.param == "json" else "\n".join(map(json.dumps, ROWS))
        path.write_text(text, encoding="utf-8")
    return path


def read(path: Path, **options: Any) -> list[dict[str, Any]]:
    return list(open_documents([str(path)], ReadOptions(**options)).read_all().to_pylist())


def texts(path: Path, **options: Any) -> list[tuple[str, str]]:
    return [(row["id"], row["text"]) for row in read(path, **options)]


def test_a_place_in_an_object(corpus: Path) -> None:
    stream = open_documents([str(corpus)], ReadOptions(text_col="body.text", id_col="key.n", label_col="meta.tags"))
    (row,) = stream.read_all().to_pylist()
    assert (row["id"], row["text"], row["label"]) == ("x1", "river", ["a", "b"])
    assert row["title"] == "A"
    assert row["body"] == {"text": "river"}  # what it was made from travels along
    assert [(one.id, one.reason) for one in stream.dropped] == [("x2", "text is null"), ("x3", "text is null")]


def test_each_item_of_a_list_joined_by_blank_lines(corpus: Path) -> None:
    assert texts(corpus, text_col="parts[].text") == [("x:1", "one\n\ntwo"), ("x:2", "three")]
    assert texts(corpus, text_col="meta.tags[]", id_col="key.n") == [("x1", "a\n\nb"), ("x2", "c")]
    assert [row["label"] for row in read(corpus, text_col="title", label_col="parts[].text")] == [["one", "two"], []]


def test_several_columns_of_which_some_values_are_missing(corpus: Path) -> None:
    assert texts(corpus, text_col="title,body.text,parts[].text") == [
        ("x:1", "A\n\nriver\n\none\n\ntwo"),
        ("x:2", "three"),
        ("x:3", "C"),
    ]
    assert texts(corpus, text_col=" title , key.n") == [("x:1", "A\n\nx1"), ("x:2", "x2"), ("x:3", "C\n\nx3")]


def test_what_is_not_there_is_named(corpus: Path) -> None:
    with pytest.raises(
        ColumnError, match=r"has no column 'body\.txt' \(found: .*body\.text.*\); did you mean 'body\.text'"
    ):
        read(corpus, text_col="body.txt")
    with pytest.raises(ColumnError, match="has no column 'titel' "):
        read(corpus, text_col="titel,body.text")
    with pytest.raises(ColumnError, match="has no columns 'titel' and 'bodi' "):
        read(corpus, text_col="titel,bodi")
    with pytest.raises(ColumnError, match=r"parts\[\]\.text"):
        read(corpus, text_col="parts[].txt")
    with pytest.raises(ColumnError):
        read(corpus, text_col="title", label_col="meta.section")
    with pytest.raises(UsageError, match="gives several values"):
        read(corpus, text_col="title", id_col="parts[].text")


def test_a_column_of_the_whole_name_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    row = {"body.text": "plain", "body": {"text": "inside"}, "a,b": "comma", "a": "1", "b": "2", "c.d": {"e": "deep"}}
    path.write_text(json.dumps(row), encoding="utf-8")
    assert texts(path, text_col="body.text") == [("x:1", "plain")]
    assert texts(path, text_col="a,b") == [("x:1", "comma")]
    assert texts(path, text_col="c.d.e,a") == [("x:1", "deep\n\n1")]


def test_the_column_text_itself_may_be_one_of_several(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "x.csv"
    path.write_text("title;text;n\nA;one, two;1\n;three;2\nC;;3\n", encoding="utf-8")
    assert read(path, text_col="title,text") == [
        {"id": "x:1", "text": "A\n\none, two", "title": "A", "text_given": "one, two", "n": "1"},
        {"id": "x:2", "text": "three", "title": "", "text_given": "three", "n": "2"},
        {"id": "x:3", "text": "C", "title": "C", "text_given": "", "n": "3"},
    ]
    table = pa.table({"title": ["A"], "text": ["b"], "n": [1]})
    assert open_table(table, ReadOptions(text_col="title,n")).read_all()["text"].to_pylist() == ["A\n\n1"]
    kept = open_documents([str(path)], ReadOptions(text_col="title,text", columns=("n",))).read_all()
    assert kept.column_names == ["id", "text", "n"]


def test_an_object_in_a_text_of_several_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"title": "A", "body": ["x"]}\n{"title": "B", "body": []}\n{"title": null, "body": null}\n', encoding="utf-8"
    )
    stream = open_documents([str(path)], ReadOptions(text_col="title,body"))
    assert stream.read_all().num_rows == 0
    assert [row.reason for row in stream.dropped] == ["text is a list", "text is a list", "text is null"]


def test_one_document_in_a_json_file(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"title": "A", "parts": [{"text": "one"}, {"text": "two"}]}', encoding="utf-8")
    assert texts(path, text_col="parts[].text") == [("x:1", "one\n\ntwo")]
    assert texts(path) == [("x:1", "one"), ("x:2", "two")]


def test_several_elements_of_xml(tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    path.write_text("<r><d><t>A</t><p>one</p><p>two</p></d><d><p>three</p></d></r>", encoding="utf-8")
    assert texts(path, xml_record="d", text_col="t,p") == [("x:1", "A\n\none\ntwo"), ("x:2", "three")]
    with pytest.raises(ColumnError):
        read(path, xml_record="d", text_col="q,s")
