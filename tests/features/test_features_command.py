"""nlpkit features: the table, its types, what stays of the input, lexica, bins, and the classifier after it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.command_line import NEWS, run_cli, write_jsonl

ROWS = [
    {"id": "a", "text": "Good news! It rains.", "label": "x", "price": 3.5},
    {"id": "b", "text": "", "label": "y", "price": None},
    {"id": "c", "text": "Bad, bad, bad news", "label": "x", "price": 10},
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "mood.tsv").write_text("good\tjoy\t1\nbad\tfear\t1\nrain*\tfear\t1\n", encoding="utf-8")
    return write_jsonl(tmp_path / "t.jsonl", ROWS)


def test_the_table(corpus: Path) -> None:
    done = run_cli(
        "features", corpus, "--include", "words,sentence_length", "--lexicon", "m=mood.tsv", "-o", "f.parquet"
    )
    table = pq.read_table("f.parquet")
    assert table.column_names == [
        "id", "text", "label", "price", "words", "sentence_length", "m_joy", "m_fear", "m_joy_share", "m_fear_share",
    ]  # fmt: skip
    assert table.schema.field("words").type == pa.int32()
    assert table.select(["words", "m_joy", "m_fear"]).to_pydict() == {
        "words": [4, 0, 4],
        "m_joy": [1, 0, 0],
        "m_fear": [1, 0, 3],
    }
    assert table.column("sentence_length").to_pylist() == [2.0, None, 4.0]
    assert table.column("m_fear_share").to_pylist() == [0.25, None, 0.75]
    assert "MB/s" in done.err


def test_columns_that_stay(corpus: Path) -> None:
    run_cli("features", corpus, "--include", "words", "--keep-cols", "label", "-o", "f.csv")
    assert Path("f.csv").read_text(encoding="utf-8").splitlines()[0] == '"id","label","words"'
    run_cli("features", corpus, "--include", "words", "--keep-cols", "none", "-o", "g.csv")
    assert Path("g.csv").read_text(encoding="utf-8").splitlines()[0] == '"id","words"'
    assert "no column 'pride'" in run_cli("features", corpus, "--keep-cols", "pride", "-o", "h.csv", code=3).error()


def test_bins(corpus: Path) -> None:
    bins = ("--bins", "words:2", "--bins", "price:edges:5", "--keep-cols", "none")
    done = run_cli("features", corpus, "--include", "words", *bins, "--json", "-o", "f.parquet")
    table = pq.read_table("f.parquet")
    assert table.column("words_bin").to_pylist() == ["4 and more", "below 4", "4 and more"]
    assert table.column("price_bin").to_pylist() == ["below 5", None, "5 and more"]
    assert json.loads(done.out)["bins"] == {
        "words_bin": ["below 4", "4 and more"],
        "price_bin": ["below 5", "5 and more"],
    }


def test_the_classifier_after_it(tmp_path: Path) -> None:
    run_cli("features", NEWS, "--include", "relative,readability", "-q", "-o", "f.parquet")
    names = "lix,flesch,word_length,digit_share"
    run_cli("classify", "f.parquet", "--on", "columns", "--feature-cols", names, "--twins", "0", "-q", "-o", "run")
    report = json.loads(Path("run/metrics.json").read_text())
    assert report["targets"][0]["metrics"]["accuracy"]["value"] > 0.15  # of eight classes of equal size
    run_cli("predict", "run", "f.parquet", "-q", "-o", "p.parquet")


def test_stdout_in_batches_and_from_python(corpus: Path) -> None:
    import nlpkit as nk

    done = run_cli("features", corpus, "--include", "characters", "--keep-cols", "none", "-o", "-")
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"id": "a", "characters": 20}, {"id": "b", "characters": 0}, {"id": "c", "characters": 18},
    ]  # fmt: skip
    table = nk.text_features(["one two"], include=("words", "types")).table()
    assert table.column("words").to_pylist() == [2]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--include", "word"], 2, "--include word is not known"),
        (["--include", "wiener", "--language", "en"], 2, "is for texts in"),
        (["--lexicon", "gone.tsv"], 3, "gone.tsv: no such file"),
        (["--lexicon", "mood.tsv", "--lexicon", "mood.tsv"], 2, "two features would be called 'mood_joy'"),
        (["--bins", "words"], 2, "--bins words: COL:N"),
        (["--bins", "size:3"], 3, "has no column 'size'"),
        (["--bins", "label:3"], 3, "column 'label' holds text; --bins needs numbers"),
        (["--include", "pos", "--spacy", "xx_no_such"], 4, "xx_no_such"),
    ],
)
def test_refusals(words: list[str], code: int, says: str, corpus: Path) -> None:
    assert says in run_cli("features", corpus, *words, "-o", "f.parquet", code=code).error()
    assert not Path("f.parquet").exists()
