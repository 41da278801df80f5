"""Metadata of documents: columns from paths, and a table that joins them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.errors import ColumnError, InputError, UsageError
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.documents.options import ReadOptions


def speeches(folder: Path) -> Path:
    """Six texts in two folders."""
    for party in ("R", "D"):
        for year in (1961, 1962, 1963):
            path = folder / "texts" / party / f"{year}_van Smith-{year % 10}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"a speech of {party} in {year}", encoding="utf-8")
    return folder / "texts"


def rows_of(path: Path | str, **settings: Any) -> list[dict[str, Any]]:
    return open_documents([str(path)], ReadOptions(**settings)).read_all().to_pylist()


@pytest.mark.parametrize("glob", ["", "/**/*.txt"])
def test_columns_from_folders_and_file_names(glob: str, tmp_path: Path) -> None:
    rows = rows_of(f"{speeches(tmp_path)}{glob}", path_cols="party/year_name-{nr}", label_col="party")
    first = {key: rows[0][key] for key in ("label", "party", "year", "name", "nr", "path")}
    assert first == {
        "label": "D", "party": "D", "year": "1961", "name": "van Smith", "nr": "1", "path": "D/1961_van Smith-1.txt",
    }  # fmt: skip
    assert len(rows) == 6


def test_columns_of_paths_can_be_conditions(tmp_path: Path) -> None:
    rows = rows_of(speeches(tmp_path), path_cols="party/year_name", keep_if="party == 'R' and year >= '1962'")
    assert [row["year"] for row in rows] == ["1962", "1963"]


@pytest.mark.parametrize("pattern", ["_", "a/a", "a//b", "", "path/x"])
def test_patterns_that_cannot_be(pattern: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="path_cols"):
        rows_of(speeches(tmp_path), path_cols=pattern)


def test_paths_unlike_the_pattern_are_named(tmp_path: Path) -> None:
    folder = speeches(tmp_path)
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"1 path of 7 is not like `path_cols=party/year_name`: notes\.txt"):
        rows_of(folder, path_cols="party/year_name")


def test_a_column_of_a_path_that_the_file_has_already(tmp_path: Path) -> None:
    (tmp_path / "R.csv").write_text("text,party\na,x\n", encoding="utf-8")
    with pytest.raises(InputError, match="a column 'party' already"):
        rows_of(tmp_path / "R.csv", path_cols="party")


def test_a_table_joins_files_by_path_or_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = speeches(tmp_path)
    table = tmp_path / "meta.csv"
    table.write_text(
        "file,state,age\nR/1961_van Smith-1,NY,50\nD/1962_van Smith-2.txt,CA,61\nR/1999,TX,1\n", encoding="utf-8"
    )
    rows = rows_of(folder, meta=str(table), meta_on="file", label_col="state", keep_if="age is null or age == '61'")
    assert [(row["id"][:6], row["label"], row["age"]) for row in rows if row["age"]] == [("D/1962", "CA", "61")]
    assert len(rows) == 5
    assert "has no row for 4 documents, such as 'D/1961_van Smith-1.txt'" in caplog.text
    assert "1 row has no document, such as 'R/1999'" in caplog.text


def test_a_table_joins_rows_by_a_column_or_the_id(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(
        '{"id": 1, "who": "a", "text": "one"}\n{"id": 2, "who": "b", "text": "two"}\n{"id": 3, "who": "a", "text": "three"}\n'
    )
    pq.write_table(pa.table({"who": ["a", "b"], "age": [50, 61]}), tmp_path / "people.parquet")
    rows = rows_of(tmp_path / "x.jsonl", meta=str(tmp_path / "people.parquet"), meta_on="who", keep_if="age < 55")
    assert [(row["text"], row["age"]) for row in rows] == [("one", 50), ("three", 50)]
    pq.write_table(pa.table({"id": [2, 1, 3], "score": [0.5, None, 1.5]}), tmp_path / "scores.parquet")
    assert [r["score"] for r in rows_of(tmp_path / "x.jsonl", meta=str(tmp_path / "scores.parquet"))] == [
        None,
        0.5,
        1.5,
    ]
    pq.write_table(pa.table({"id": ["p", "q"], "text": ["one", "two"]}), tmp_path / "y.parquet")
    pq.write_table(pa.table({"id": ["q"], "kind": ["z"]}), tmp_path / "kinds.parquet")
    assert [r["kind"] for r in rows_of(tmp_path / "y.parquet", meta=str(tmp_path / "kinds.parquet"))] == [None, "z"]


def test_tables_that_cannot_join(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,text,age\n1,one,5\n", encoding="utf-8")
    meta = tmp_path / "meta.csv"
    meta.write_text("id,age\n1,50\n", encoding="utf-8")
    with pytest.raises(InputError, match="have a column 'age' both"):
        rows_of(tmp_path / "x.csv", meta=str(meta))
    meta.write_text("id,state\n1,NY\n1,CA\n", encoding="utf-8")
    with pytest.raises(InputError, match="'1'"):
        rows_of(tmp_path / "x.csv", meta=str(meta))
    with pytest.raises(ColumnError, match="'who'"):
        rows_of(tmp_path / "x.csv", meta=str(meta), meta_on="who")
    with pytest.raises(InputError, match="no such file"):
        rows_of(tmp_path / "x.csv", meta=str(tmp_path / "none.csv"))


def test_rows_without_the_key_have_no_metadata(tmp_path: Path) -> None:
    lines = [f'{{"who": "a", "text": "t{i}"}}' for i in range(1_500)] + [f'{{"text": "t{i}"}}' for i in range(1_500)]
    (tmp_path / "x.jsonl").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    (tmp_path / "m.csv").write_text("who,age\na,5\n", encoding="utf-8", newline="\n")
    rows = rows_of(tmp_path / "x.jsonl", meta=str(tmp_path / "m.csv"), meta_on="who")
    assert [rows[0]["age"], rows[-1]["age"]] == ["5", None]
