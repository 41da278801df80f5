"""nlpkit ctfidf: classes of any column, and columns that are none."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import NEWS, WORDS, footer, needs_hdbscan, read, run_cli, write_jsonl

ROWS = [
    {"text": "river river bank", "label": "a", "date": "2023-05-01", "n": 10, "topic": 0, "list": ["x"]},
    {"text": "moon star", "label": "b", "date": "2024-05-01", "n": 9, "topic": 1, "list": ["x"]},
    {"text": "moon bank", "label": None, "date": None, "n": None, "topic": -1, "list": []},
    {"text": "star star", "label": "", "date": "2024-06-01", "n": 9, "topic": 1, "list": ["y"]},
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "x.jsonl", ROWS)


def classes(corpus: Path, by: str, *words: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = run_cli("ctfidf", corpus, "--by", by, "--json", "-q", *words).json()["terms"]
    return found


def test_weights_by_hand(corpus: Path) -> None:
    done = run_cli("ctfidf", corpus, "-o", "terms.parquet")
    table = read("terms.parquet")
    assert table.schema.names == ["class", "rank", "term", "weight"]
    assert footer("terms.parquet")["kind"] == "class_terms"
    assert footer("terms.parquet")["parameters"] == {"by": "label", "top_n": 30, "classes": 2, "left_out": 2}
    # A = (3 + 2) / 2 words a class; river is 2 of the 3 words of a and there 2 times in all
    weights = {(r["class"], r["term"]): r["weight"] for r in table.to_pylist()}
    assert weights["a", "river"] == pytest.approx(2 / 3 * math.log(1 + 2.5 / 2))
    assert weights["a", "bank"] == pytest.approx(1 / 3 * math.log(1 + 2.5 / 1))
    assert weights["b", "moon"] == pytest.approx(1 / 2 * math.log(1 + 2.5 / 1))
    assert [r["rank"] for r in table.to_pylist()] == [1, 2, 1, 2]
    assert "left out: 2 documents without a value in 'label'" in done.err
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == ["label", "documents", "top", "terms"]
    assert lines[2] == ["a", "1", "river", "bank"]


def test_classes_of_columns(corpus: Path) -> None:
    assert list(classes(corpus, "label")) == ["a", "b"]
    assert list(classes(corpus, "n")) == ["9", "10"]  # numbers in the order of numbers
    assert list(classes(corpus, "topic")) == ["0", "1"]
    assert list(classes(corpus, "date:year")) == ["2023", "2024"]
    assert list(classes(corpus, "date:month")) == ["2023-05", "2024-05", "2024-06"]
    assert list(classes(corpus, "date:day")) == ["2023-05-01", "2024-05-01", "2024-06-01"]
    assert classes(corpus, "label", "--top-n", "1") == {"a": ["river"], "b": ["moon"]}
    assert list(classes(corpus, "label", "--label-col", "topic")) == ["-1", "0", "1"]  # a label of the user's
    assert "left out: 1 document without a topic" in run_cli("ctfidf", corpus, "--by", "topic").err


def test_types_of_classes(tmp_path: Path) -> None:
    import datetime

    columns = {
        "text": pa.array(["river", "moon", "star"]),
        "when": pa.array([datetime.date(2023, 1, 1), datetime.date(2024, 1, 1), None]),
        "stamp": pa.array([0, 1, 2], pa.timestamp("ns", "UTC")),
        "yes": pa.array([True, False, None]),
        "score": pa.array([0.5, float("nan"), 1.5]),
        "kind": pa.array(["u", "v", "u"]).dictionary_encode(),
        "a:year": pa.array(["p", "q", "p"]),
    }
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    x = tmp_path / "x.parquet"
    assert list(classes(x, "when:year")) == ["2023", "2024"]
    assert list(classes(x, "yes")) == ["False", "True"]
    assert list(classes(x, "score")) == ["0.5", "1.5"]
    assert list(classes(x, "kind")) == ["u", "v"]
    assert list(classes(x, "a:year")) == ["p", "q"]  # a column of that very name
    assert "'stamp:year' of" in run_cli("ctfidf", x, "--by", "stamp:year", code=3).error()


@pytest.mark.parametrize(
    ("by", "code", "says"),
    [
        ("nope", 3, "x.jsonl has no column 'nope' (found: id, text, label, date, n, topic, list); name it with --by"),
        ("lable", 3, "did you mean 'label'? Name it with --by"),
        ("list", 3, "column 'list' holds list<item: string>; classes must be single values"),
        ("label:year", 3, "has no dates like 2024-01-31 (found 'a')"),
        ("date:week", 2, "--by date:week: after the colon goes year, month or day"),
        ("id:month", 3, "has no dates like 2024-01-31"),
    ],
)
def test_columns_that_are_no_classes(by: str, code: int, says: str, corpus: Path) -> None:
    assert says in run_cli("ctfidf", corpus, "--by", by, code=code).error()


def test_one_class_or_none(tmp_path: Path) -> None:
    x = write_jsonl(tmp_path / "x.jsonl", [{"text": "river", "label": "a", "none": None}] * 3)
    says = run_cli("ctfidf", x, code=3).error()
    assert "'label' of" in says
    assert "has 1 class (a); c-tf-idf compares at least two" in says
    assert "has 0 classes; c-tf-idf compares" in run_cli("ctfidf", x, "--by", "none", code=3).error()


def test_no_words_are_left(tmp_path: Path) -> None:
    x = write_jsonl(tmp_path / "x.jsonl", [{"text": "the and", "label": c} for c in "ab"])
    assert "no words are left" in run_cli("ctfidf", x, code=3).error()


def test_tokens_that_are_there_are_used(tmp_path: Path) -> None:
    rows = [{"text": "x", "label": c, "tokens": [c * 3]} for c in "ab"]
    done = run_cli("ctfidf", write_jsonl(tmp_path / "x.jsonl", rows), "--json", "-q")
    assert done.json()["terms"] == {"a": ["aaa"], "b": ["bbb"]}
    rows = [{"text": "x", "label": c, "tokens": c} for c in "ab"]
    says = run_cli("ctfidf", write_jsonl(tmp_path / "x.jsonl", rows), code=3).error()
    assert "column 'tokens' holds" in says
    assert "make it with: nlpkit preprocess" in says


def test_to_stdout(corpus: Path) -> None:
    done = run_cli("ctfidf", corpus, "-q", "-o", "-")
    assert len(done.out.splitlines()) == 4
    assert done.out.startswith('{"class": "a", "rank": 1, "term": "river", "weight": 0.5')


@needs_hdbscan
def test_topics_of_a_prediction(planted: Path, planted_run: Path) -> None:
    run_cli("bertopic", planted, "--model", planted_run, "-o", "p.parquet")
    terms = run_cli("ctfidf", "p.parquet", "--by", "topic", "--json", "-q").json()["terms"]
    assert sorted(terms) == ["0", "1", "2", "3"]
    assert {frozenset(t[:8]) <= frozenset(w.split()) for t in terms.values() for w in WORDS.values()} == {True, False}


def test_news_by_label() -> None:
    done = run_cli("ctfidf", NEWS, "--by", "label", "--top-n", "5", "--json", "-q").json()
    assert (done["documents"], done["left_out"], len(done["terms"])) == (416, 0, 8)
    assert "judge" in done["terms"]["courts"]
    assert "league" in done["terms"]["football"]
