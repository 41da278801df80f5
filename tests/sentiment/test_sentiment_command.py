"""Sentiment by a lexicon from the command line: what is written, what is held against labels, what cannot be."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.command_line import NEWS, SAMPLES, Done, footer, read, write_jsonl
from tests.command_line import run_cli as run
from tests.peer_data import PEER_DATA

LEXICON = str(SAMPLES / "lexicon.tsv")


def run_cli(*words: Any, code: int = 0) -> Done:
    return run("sentiment", *words, code=code)


ROWS = [
    {"id": "a", "text": "A good and happy film", "label": "pos", "stars": 5, "n": 1},
    {"id": "b", "text": "It was not good.", "label": "neg", "stars": 2, "n": 2},
    {"id": "c", "text": "A terrible, terrible disaster", "label": "neg", "stars": 1, "n": 3},
    {"id": "d", "text": "1234 ???", "label": "pos", "stars": 3, "n": 4},
    {"id": "e", "text": "Very good", "label": None, "stars": None, "n": 5},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "rows.jsonl", ROWS)


@pytest.fixture
def lists(tmp_path: Path) -> str:
    (tmp_path / "pos.txt").write_text("; c\ngood\nhappy\n")
    (tmp_path / "neg.txt").write_bytes(b"; c\nterrible\ndisaster\nna\xefve\nclich\xe9\n")
    return f"{tmp_path / 'pos.txt'},{tmp_path / 'neg.txt'}"


def test_a_file_of_weights(rows: Path, tmp_path: Path) -> None:
    done = run_cli(rows, "--lexicon", LEXICON, "--language", "en", "-o", "out.parquet", "--json")
    table = read(tmp_path / "out.parquet")
    assert table.column_names == ["id", "text", "label", "stars", "n", "sentiment", "prediction"]
    assert table.column("id").to_pylist() == list("abcde")
    assert table.column("sentiment").to_pylist() == [4.0, -2.0, -9.0, 0.0, 3.0]
    assert str(table.schema.field("sentiment").type) == "float"
    assert table.column("prediction").to_pylist() == ["pos", "neg", "neg", "pos", "pos"]
    found = done.json()
    assert found["targets"][0]["metrics"]["accuracy"]["value"] == 1.0
    assert found["targets"][0]["metrics"]["accuracy"]["n"] == 4
    assert found["without_sentiment"] == 1
    assert found["predicted"] == {"neg": 2, "pos": 3}
    assert "1 document of 5 with a score of 0: predicted pos (--zero)" in done.err
    block = footer(tmp_path / "out.parquet")
    assert block["command"] == "sentiment"
    assert block["parameters"]["lexicon"] == LEXICON


def test_classes_zero_and_neutral(rows: Path, lists: str) -> None:
    def predicted(*words: Any) -> list[str]:
        out = run_cli(rows, "--lexicon", lists, "--language", "en", "-o", "-", *words).out
        return [json.loads(line)["prediction"] for line in out.splitlines() if line.startswith("{")]

    assert predicted() == ["pos", "neg", "neg", "pos", "pos"]
    assert predicted("--zero", "negative") == ["pos", "neg", "neg", "neg", "pos"]
    assert predicted("--classes", "bad,mixed,fine") == ["fine", "bad", "bad", "mixed", "fine"]
    assert predicted("--classes", "bad,mixed,fine", "--neutral", 1) == ["fine", "mixed", "bad", "mixed", "mixed"]
    assert predicted("--no-negation")[1] == "pos"
    assert predicted("--label-col", "n") == ["positive", "negative", "negative", "neutral", "positive"]


def test_numbers_as_labels(rows: Path, lists: str) -> None:
    found = run_cli(rows, "--lexicon", lists, "--language", "en", "--label-col", "stars", "--json").json()
    metrics = found["targets"][0]["metrics"]
    expected = np.corrcoef([2, -1, -3, 0], [5, 2, 1, 3])[0, 1]
    assert metrics["pearson"]["value"] == pytest.approx(expected, abs=1e-12)
    assert metrics["spearman"]["value"] == pytest.approx(1.0)
    assert metrics["pearson"]["low"] < expected < metrics["pearson"]["high"]
    assert metrics["pearson"]["n"] == 4


def test_labels_that_are_no_sentiment(lists: str) -> None:
    done = run_cli(NEWS, "--lexicon", LEXICON, "-o", "news.parquet", "--json")
    assert done.json()["documents"] == read("news.parquet").num_rows
    assert "not sentiment classes" in done.err
    assert "--classes" in run_cli(NEWS, "--lexicon", LEXICON, code=2).err


def test_vader_and_afinn_by_their_packages(rows: Path) -> None:
    vader = pytest.importorskip("vaderSentiment.vaderSentiment").SentimentIntensityAnalyzer()
    afinn = pytest.importorskip("afinn").Afinn()
    for name, one in (("vader", lambda t: vader.polarity_scores(t)["compound"]), ("afinn", afinn.score)):
        run_cli(rows, "--lexicon", name, "--language", "en", "-o", f"{name}.parquet")
        found = read(f"{name}.parquet").column("sentiment").to_pylist()
        assert found == pytest.approx([one(row["text"]) for row in ROWS], abs=1e-6)
    three = run_cli(rows, "--lexicon", "vader", "--classes", "n,o,p", "--json").json()
    assert three["neutral"] == 0.05


def test_one_row_and_threads(tmp_path: Path, lists: str) -> None:
    one = write_jsonl(tmp_path / "one.jsonl", [{"text": "good"}])
    run_cli(one, "--lexicon", lists, "-o", "one.parquet", "--threads", 1)
    run_cli(one, "--lexicon", lists, "-o", "two.parquet", "--threads", 4)
    assert read("one.parquet").column("prediction").to_pylist() == ["positive"]
    assert Path("one.parquet").read_bytes() == Path("two.parquet").read_bytes()


def test_columns_of_the_file(rows: Path, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("Wort_x,Zahl\ngood,2\n")
    given = ["--lexicon", "l.csv", "--language", "en", "-o", "-"]
    assert '"sentiment": 2.0' in run_cli(rows, *given, "--lexicon-cols", "word=Wort_x,weight=Zahl").out
    assert "Wort_x, Zahl" in run_cli(rows, *given, code=3).error()
    assert "Wort_x, Zahl" in run_cli(rows, *given, "--lexicon-cols", "word=Wort_x,weight=Zahlen", code=3).error()
    assert "role" not in run_cli(rows, *given, "--lexicon-cols", "term=x", code=2).error()


def test_without_labels_an_output_is_needed(tmp_path: Path, lists: str) -> None:
    plain = write_jsonl(tmp_path / "plain.jsonl", [{"text": "good"}])
    assert "-o sentiment.parquet" in run_cli(plain, "--lexicon", lists, code=2).error()
    (tmp_path / "empty.jsonl").write_text("")
    run_cli("empty.jsonl", "--lexicon", lists, "-o", "x.parquet", code=3)


def test_what_is_said(rows: Path, tmp_path: Path) -> None:
    (tmp_path / "one.tsv").write_text("good\t1\n:-)\t2\n")
    done = run_cli(rows, "--lexicon", "one.tsv", "--language", "fi", "--min-length", "3", "-o", "x.parquet")
    assert "has no negative words" in done.err
    assert "no list of negations exists for" in done.err
    assert "--min-length: a lexicon looks at every word; not used" in done.err
    assert "1 entries are not words" in done.err


def test_lex2sent(tmp_path: Path, lists: str) -> None:
    pytest.importorskip("gensim")
    rng = np.random.default_rng(0)
    sides = {
        "pos": ["good", "happy", "sunny", "warm", "bright"],
        "neg": ["terrible", "disaster", "rainy", "cold", "dark"],
    }
    rows = [{"text": " ".join(rng.choice(sides[side], 20)) + ".", "label": side} for side in ("pos", "neg") * 40]
    path = write_jsonl(tmp_path / "l.jsonl", [*rows, {"text": "", "label": "pos"}, {"text": "?!", "label": "pos"}])
    few = ["--l2s-resamples", 1, "--l2s-epochs", "60", "--l2s-sizes", "16", "--l2s-windows", "5"]
    found = run_cli(
        path, "--lexicon", lists, "--lex2sent", *few, "--language", "en", "-o", "l.parquet", "--json"
    ).json()
    assert found["targets"][0]["metrics"]["accuracy"]["value"] > 0.8
    assert found["lex2sent"]["resamples"] == 1
    assert read("l.parquet").column("sentiment").to_pylist()[-1] == 0.0


def test_dry_run(rows: Path, lists: str) -> None:
    run_cli(rows, "--lexicon", lists, "-o", "x.parquet", "--dry-run")
    assert not Path("x.parquet").exists()


def test_scores_are_those_of_vader(tmp_path: Path) -> None:
    analyzer = pytest.importorskip("vaderSentiment.vaderSentiment").SentimentIntensityAnalyzer()
    news = [json.loads(line) for line in Path(NEWS).read_text(encoding="utf-8").splitlines()[:300]]
    rows = [{"id": row["id"], "text": row["text"], "score": i % 7 - 3} for i, row in enumerate(news)]
    path = write_jsonl(tmp_path / "scored.jsonl", rows)
    found = run_cli(path, "--lexicon", "vader", "--label-col", "score", "-o", "v.parquet", "--json").json()
    own = np.array([analyzer.polarity_scores(row["text"])["compound"] for row in rows])
    assert np.abs(np.array(read("v.parquet").column("sentiment")) - own).max() < 1e-6
    expected = np.corrcoef(own, [row["score"] for row in rows])[0, 1]
    assert found["targets"][0]["metrics"]["pearson"]["value"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.peer_data("imdb/imdb_5k.jsonl.gz", "lexicons/liu_positive-words.txt", "lexicons/liu_negative-words.txt")
def test_liu_on_reviews(tmp_path: Path) -> None:
    lexicons = PEER_DATA / "lexicons"
    with gzip.open(PEER_DATA / "imdb" / "imdb_5k.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    path = write_jsonl(tmp_path / "some.jsonl", rows[::10])
    both = f"{lexicons / 'liu_positive-words.txt'},{lexicons / 'liu_negative-words.txt'}"
    found = run_cli(path, "--lexicon", both, "--language", "en", "--json").json()
    assert found["targets"][0]["metrics"]["accuracy"]["value"] > 0.68
