"""Tables of labels and answers, read whole."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.errors import ColumnError, InputError
from nlpkit.platform.runs.plain_tables import column_names, read_columns
from nlpkit.platform.values import as_label
from tests.refusals import refuses

CSV = "id,label,prediction\n1,a,b\n2,ä,\n"
WANTED = {"label": ["a", "ä"], "prediction": ["b", None]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_csv_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(CSV.encode(encoding))
    assert column_names(path) == ["id", "label", "prediction"]
    assert read_columns(path, ["label", "prediction"]) == WANTED


def test_other_formats(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text(CSV.replace(",", "\t"), encoding="utf-8")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    (tmp_path / "s.csv").write_text(CSV.replace(",", ";"), encoding="utf-8")
    lines = '{"label": "a", "prediction": "b", "n": 1}\n{"label": "ä"}\n'
    (tmp_path / "t.jsonl").write_text(lines, encoding="utf-8")
    pq.write_table(pa.table({"prediction": ["b", None], "label": ["a", "ä"]}), tmp_path / "t.parquet")
    for name in ("t.tsv", "t.csv.gz", "s.csv", "t.jsonl", "t.parquet"):
        assert read_columns(tmp_path / name, ["label", "prediction"]) == WANTED, name


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(CSV, encoding="utf-8")
    with refuses("label_col", ColumnError):
        read_columns(path, ["labels"], option="--label-col")


def test_what_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.csv"):
        column_names(tmp_path / "gone.csv")
    (tmp_path / "t.txt").write_text("a", encoding="utf-8")
    with pytest.raises(InputError):
        column_names(tmp_path / "t.txt")
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    with pytest.raises(InputError):
        column_names(tmp_path / "bad.parquet")


def test_labels_are_the_same_in_any_format() -> None:
    assert [as_label(v) for v in (1, 1.0, "1", 1.5, True, None, float("nan"), "")] == [
        "1", "1", "1", "1.5", "True", None, None, None,
    ]  # fmt: skip
