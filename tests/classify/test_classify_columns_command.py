"""nlpkit classify --feature-cols: columns beside the words or alone, in the run and in what it predicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from nlpkit.platform.documents.corpus import Corpus
from tests.command_line import run_cli, write_jsonl


def rows(n: int = 60) -> list[dict[str, Any]]:
    """Documents whose words tell nothing; the author tells three of four labels, the price most of the rest."""
    rng = np.random.default_rng(5)
    made = []
    for i in range(n):
        label = "ab"[i % 2]
        made.append(
            {
                "id": f"d{i}",
                "text": " ".join(rng.choice(["river", "boat", "water", "bridge"], 6)),
                "label": label,
                "author": label.upper() if rng.random() < 0.75 else "C",
                "price": None if i % 11 == 0 else float(rng.normal(3 * (i % 2), 1)),
            }
        )
    return made


def score(run: str, name: str = "accuracy") -> float:
    report = json.loads(Path(run, "metrics.json").read_text())
    return float(report["targets"][0]["metrics"][name]["value"])


def test_numbers_of_a_csv_are_text_and_told(tmp_path: Path) -> None:
    lines = ["text,label,price", *(f"river boat,{'ab'[i % 2]},{i % 2 + i % 5}" for i in range(40))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    words = ("classify", "t.csv", "--feature-cols", "price", "--on", "columns")
    told = "'price' is text, and each of its 6 numbers a category; --types price=float makes it a number"
    assert told in run_cli(*words, "-o", "texts").err
    assert told not in run_cli(*words, "--types", "price=float", "-o", "numbers").err


@pytest.mark.parametrize("model", ["logreg", "svm"])
def test_columns_beside_words_and_alone(model: str, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", rows())
    columns = ("--feature-cols", "author,price")
    run_cli("classify", "t.jsonl", "--model", model, "-q", "-o", "words")
    done = run_cli("classify", "t.jsonl", "--model", model, *columns, "-o", "both")
    run_cli("classify", "t.jsonl", "--model", model, *columns, "--on", "columns", "-q", "-o", "alone")
    assert "without a value: price (6 documents)" in done.err
    assert score("words") < 0.7 < 0.85 < score("both")
    assert score("alone") > 0.85
    terms = pq.read_table("both/class_terms.parquet").to_pylist()
    assert terms[0]["term"] == "<author=A>"
    assert {"<author=B>", "<price>"} <= {row["term"] for row in terms if row["class"] == "b"}
    assert not Path("alone/model/vocab.parquet").exists()


@pytest.mark.parametrize("on", ["words", "columns"])
def test_a_run_predicts_as_it_was_trained(on: str, tmp_path: Path) -> None:
    table = rows(80)
    write_jsonl(tmp_path / "train.jsonl", table[:60])
    test = [{**row, "author": "D" if i == 3 else row["author"]} for i, row in enumerate(table[60:])]
    write_jsonl(tmp_path / "test.jsonl", test)
    options = ("--on", on, "--feature-cols", "author,price", "--hand-features", "characters")
    run_cli("classify", "train.jsonl", "--test", "test.jsonl", *options, "-q", "-o", "run")
    done = run_cli("predict", "run", "test.jsonl", "--explain", "d61", "-o", "p.parquet")
    assert "with a value that no training document has: author (1 document)" in done.err
    assert "<author=" in done.out
    then, now = pq.read_table("run/documents.parquet"), pq.read_table("p.parquet")
    for name in ("id", "prediction", "prediction_prob"):
        assert then.column(name).to_pylist() == now.column(name).to_pylist()
    write_jsonl(tmp_path / "bare.jsonl", [{"id": "x", "text": "river", "author": "A"}])
    error = run_cli("predict", "run", "bare.jsonl", "-o", "q.parquet", code=3).error()
    assert "bare.jsonl has no column 'price'" in error
    assert "uses the columns" in error


def test_from_python() -> None:
    import nlpkit as nk

    table = rows()
    names = ("author", "price")
    import pyarrow as pa

    model = nk.train_classifier(Corpus.from_frame(pa.Table.from_pylist(table)), feature_cols=names, on="columns")
    assert model.predict(pa.Table.from_pylist(table)).num_rows == 60


def test_types_that_differ_between_training_and_test_are_numbers(tmp_path: Path) -> None:
    made = rows()
    write_jsonl(tmp_path / "train.jsonl", [{**row, "price": int(row["price"] or 0)} for row in made[:40]])
    write_jsonl(tmp_path / "test.jsonl", [{**row, "price": (row["price"] or 0) + 0.5} for row in made[40:]])
    run_cli("classify", "train.jsonl", "--test", "test.jsonl", "--feature-cols", "price", "-q", "-o", "run")
    assert pq.read_table("run/model/feature_columns.parquet").column("kind").to_pylist() == ["number"]


def test_columns_that_are_the_label_or_ids_are_warned_of(tmp_path: Path) -> None:
    made = [{**row, "copy": f"it is {row['label']}", "key": f"k{i}"} for i, row in enumerate(rows())]
    write_jsonl(tmp_path / "t.jsonl", made)
    done = run_cli("classify", "t.jsonl", "--feature-cols", "copy,key", "-o", "run")
    assert "each value of 'copy' comes with one label only" in done.err
    assert "'key' has 60 categories in 60 training documents" in done.err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--feature-cols", "prize"], 3, "has no column 'prize'"),
        (["--feature-cols", "label"], 2, "--feature-cols label: the column is what is predicted"),
        (
            ["--feature-cols", "author", "--split", "author=C"],
            2,
            "the column divides training and test documents; leave it out",
        ),
        (["--on", "columns"], 2, "needs feature columns; name them with"),
        (
            ["--on", "columns", "--feature-cols", "author", "--select", "chi2:5"],
            2,
            "is about words, and this model sees columns",
        ),
        (["--on", "columns", "--feature-cols", "author", "--model", "nb"], 2, "counts words and cannot use"),
        (["--feature-cols", "when"], 3, "column 'when' holds list"),
    ],
)
def test_refusals(words: list[str], code: int, says: str, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", [{**row, "when": ["a"]} for row in rows(20)])
    assert says in run_cli("classify", "t.jsonl", *words, "-o", "run", code=code).error()


def test_auto_compares_models_on_columns_alone(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", rows())
    by = ("--model", "auto", "--on", "columns", "--feature-cols", "author", "--cv", "3")
    run_cli("classify", "t.jsonl", *by, "-q", "-o", "run")
    assert [one["name"] for one in json.loads(Path("run/metrics.json").read_text())["candidates"]] == [
        "svm",
        "logreg",
        "logreg, C = 10",
    ]
