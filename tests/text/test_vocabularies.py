"""Vocabularies in files: what is read, what is refused, and a round trip."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.errors import ColumnError, InputError, OutputExistsError
from nlpkit.platform.runs.artifacts import footer_block, read_footer
from nlpkit.platform.runs.tables import save_table
from nlpkit.text.files import read_vocabulary, vocabulary_table
from tests.refusals import refuses

BLOCK = footer_block("vocab", command="preprocess", parameters={"min_df": 2}, seed=None, inputs=[])


def text_file(tmp_path: Path, data: str | bytes) -> Path:
    path = tmp_path / "v.txt"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_lines_are_terms_in_their_order(tmp_path: Path) -> None:
    path = text_file(tmp_path, "\ufeffstorm\n\n# a comment\n  the sea \r\nÜber\n\tc#\n")
    assert read_vocabulary(path) == ("storm", "the sea", "Über", "c#")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    lines = "Straße\nBürgermeister\nÜbergänge\nKöln\nfrüh\n"
    assert read_vocabulary(text_file(tmp_path, lines.encode(encoding))) == tuple(lines.split())


def test_packed_files(tmp_path: Path) -> None:
    path = tmp_path / "v.txt.gz"
    path.write_bytes(gzip.compress(b"storm\nsea\n"))
    assert read_vocabulary(path) == ("storm", "sea")


def test_a_column_of_a_table_that_another_program_wrote(tmp_path: Path) -> None:
    path = tmp_path / "v.pq"  # known by its first bytes, not by its name
    column = pa.array(["b", "a", "# c"]).dictionary_encode()
    pq.write_table(pa.table({"n": [3, 2, 1], "term": column}), path)
    assert read_vocabulary(path) == ("b", "a", "# c")


@pytest.mark.parametrize("terms", [("storm", "the sea", "# x", "Übergänge", "two\nlines", " lead"), ("x",)])
def test_what_was_written_is_read_again(tmp_path: Path, terms: tuple[str, ...]) -> None:
    path = tmp_path / "v.parquet"
    cf = np.arange(len(terms), dtype=np.int64)
    save_table(path, vocabulary_table(terms, cf, cf), BLOCK, force=False)
    assert read_vocabulary(path) == terms
    table = pq.read_table(path)
    assert (table.column_names, table["cf"].to_pylist()) == (["term", "cf", "df"], cf.tolist())
    block = read_footer(path)
    assert block is not None
    assert (block["kind"], block["parameters"]) == ("vocab", {"min_df": 2})
    with pytest.raises(OutputExistsError):
        save_table(path, vocabulary_table(terms, cf, cf), BLOCK, force=False)
    save_table(path, vocabulary_table(terms[:1], cf[:1], cf[:1]), BLOCK, force=True)
    assert read_vocabulary(path) == terms[:1]
    assert [f.name for f in tmp_path.iterdir()] == ["v.parquet"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "has no term; give a file with a term on each line"),
        ("\n# only\n  \n", "has no term"),
        ("sea\nstorm\nsea\n", "v.txt lists the term 'sea' twice"),
        (bytes(range(256)) * 20, "looks binary"),
        (b"PAR1 is a car park\n", "is not a readable Parquet file"),
    ],
)
def test_files_that_are_no_vocabulary(tmp_path: Path, data: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_vocabulary(text_file(tmp_path, data))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with refuses("vocab", InputError):
        read_vocabulary(tmp_path / "nofile")
    with pytest.raises(InputError, match="directory"):
        read_vocabulary(tmp_path)


def test_tables_without_terms(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    pq.write_table(pa.table({"word": ["a"]}), path)
    with pytest.raises(ColumnError):
        read_vocabulary(path)
    pq.write_table(pa.table({"term": pa.array(["a", None])}), path)
    with pytest.raises(InputError):
        read_vocabulary(path)
    pq.write_table(pa.table({"term": pa.array([], pa.string())}), path)
    with pytest.raises(InputError):
        read_vocabulary(path)
    pq.write_table(pa.table({"term": pa.array([1, 2])}), path)
    with pytest.raises(ColumnError):
        read_vocabulary(path)
    pq.write_table(pa.table({"term": pa.array([["a"]])}), path)
    with pytest.raises(ColumnError):
        read_vocabulary(path)
    pq.write_table(pa.table({"term": ["a", ""]}), path)
    with pytest.raises(InputError):
        read_vocabulary(path)
