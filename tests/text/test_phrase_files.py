"""Phrases written and read back, and lists of the user."""

from __future__ import annotations

import math
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.errors import ColumnError, InputError, OutputExistsError, SchemaError
from nlpkit.platform.runs.artifacts import footer_block, read_footer, write_table
from nlpkit.platform.runs.tables import save_table
from nlpkit.text.files import PHRASES_TABLE, phrases_table, read_phrases
from nlpkit.text.phrases import PhraseTable

FOUND = PhraseTable(
    parts=(("new", "york"), ("new_york", "times")),
    words=(("new", "york"), ("new", "york", "times")),
    levels=(1, 2),
    scores=(0.91, 0.625),
    counts=(12, 7),
    measure="npmi",
)
BLOCK = footer_block("phrases", command="preprocess", parameters={"phrases": "npmi:0.5"}, seed=None, inputs=[])


def test_found_phrases_come_back(tmp_path: Path) -> None:
    path = tmp_path / "phrases.parquet"
    save_table(path, phrases_table(FOUND), BLOCK, force=False)
    assert read_phrases(path) == FOUND
    footer = read_footer(path)
    assert footer is not None
    assert footer["kind"] == "phrases"
    with pytest.raises(OutputExistsError):
        save_table(path, phrases_table(FOUND), BLOCK, force=False)
    rows = duckdb.sql(f"select phrase, words, measure, score, count from '{path}'").fetchall()
    assert rows[1] == ("new_york_times", ["new", "york", "times"], "npmi", 0.625, 7)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
@pytest.mark.parametrize("phrases", [FOUND, PhraseTable.from_words([["rock", "n", "roll"]])])
def test_phrases_come_back_from_text_formats(tmp_path: Path, suffix: str, phrases: PhraseTable) -> None:
    path = tmp_path / f"p{suffix}"
    save_table(path, phrases_table(phrases), BLOCK, force=False)
    back = read_phrases(path)
    assert (back.parts, back.words, back.levels, back.counts) == (
        phrases.parts,
        phrases.words,
        phrases.levels,
        phrases.counts,
    )
    assert repr(back.scores) == repr(phrases.scores)


def test_a_column_of_phrases_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("nr,phrase\n1,San Francisco\n2,\n", encoding="utf-8")
    assert read_phrases(tmp_path / "p.csv").parts == (("San", "Francisco"),)
    (tmp_path / "q.csv").write_text("term\nSan Francisco\n", encoding="utf-8")
    with pytest.raises(ColumnError):
        read_phrases(tmp_path / "q.csv")
    (tmp_path / "r.csv").write_text(
        "phrase,words,measure,score,count,parts,level\na b,x,npmi,1,2,y,1\n", encoding="utf-8"
    )
    with pytest.raises(InputError):
        read_phrases(tmp_path / "r.csv")


def test_given_phrases_have_no_score(tmp_path: Path) -> None:
    path = tmp_path / "phrases.parquet"
    save_table(path, phrases_table(PhraseTable.from_words([["rock", "n", "roll"]])), BLOCK, force=False)
    assert pq.read_table(path).select(["score", "count"]).to_pylist() == [{"score": None, "count": None}]
    back = read_phrases(path)
    assert (back.parts, back.measure, back.counts) == ((("rock", "n", "roll"),), "given", (-1,))
    assert math.isnan(back.scores[0])


def test_no_phrase_was_found(tmp_path: Path) -> None:
    path = tmp_path / "phrases.parquet"
    save_table(path, phrases_table(PhraseTable(measure="llr")), BLOCK, force=False)
    assert len(read_phrases(path)) == 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_list_of_the_user(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "given.txt"
    path.write_text(
        "# names of places and of people that are written as two words or more\nSan Francisco\r\n\nBad Königshofen im "
        "Grabfeld\nstate-of-the-art\nSan Francisco\nGroße Österreichische Volkszählung\n",
        encoding=encoding,
    )
    phrases = read_phrases(path, lambda line: line.lower().split())
    assert phrases.words == (
        ("san", "francisco"),
        ("bad", "königshofen", "im", "grabfeld"),
        ("große", "österreichische", "volkszählung"),
    )
    assert phrases.phrases[0] == "san_francisco"


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "one\ntwo\n"])
def test_a_list_without_a_phrase(tmp_path: Path, text: str) -> None:
    path = tmp_path / "given.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=r"given\.txt"):
        read_phrases(path)


def test_files_that_hold_no_phrases(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_phrases(tmp_path / "missing.txt")
    with pytest.raises(InputError):
        read_phrases(tmp_path)
    other = tmp_path / "docs.parquet"
    write_table(other, pa.table({"id": ["a"]}), {**BLOCK, "kind": "documents"})
    with pytest.raises(SchemaError):
        read_phrases(other)
    raw = tmp_path / "raw.parquet"
    pq.write_table(pa.table({"phrase": ["a b"]}), raw)
    with pytest.raises(ColumnError):
        read_phrases(raw)
    mixed = tmp_path / "mixed.parquet"
    tables = [phrases_table(FOUND), phrases_table(PhraseTable.from_words([["a", "b"]]))]
    pq.write_table(pa.concat_tables(tables).cast(PHRASES_TABLE.schema), mixed)
    with pytest.raises(SchemaError):
        read_phrases(mixed)
