"""nlpkit classify --rules: scores on the same documents as other classifiers, the table of rules, prediction and explanation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.command_line import run_cli, write_jsonl

RULES = """
default = "other"
[[rule]]
name = "ball"
label = "sports"
any = ["goal*"]
[[rule]]
name = "law"
label = "courts"
any = ["judge"]
where = "stars > 1"
"""


def rows() -> list[dict[str, Any]]:
    texts = [
        ("goals today", "sports", 3),
        ("a judge", "courts", 3),
        ("judge scores goal", "courts", 2),
        ("nothing", "other", 1),
        ("judge", "other", 1),
    ]
    return [{"id": f"d{i}", "text": t, "label": label, "stars": stars} for i, (t, label, stars) in enumerate(texts * 4)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    return write_jsonl(tmp_path / "t.jsonl", rows())


def metrics(run: str) -> dict[str, Any]:
    report = json.loads(Path(run, "metrics.json").read_text())
    return {name: one["value"] for name, one in report["targets"][0]["metrics"].items()}


def test_scores_and_the_table_of_rules(corpus: Path) -> None:
    done = run_cli("classify", corpus, "--rules", "rules.toml", "--twins", "0", "-o", "run")
    assert metrics("run")["accuracy"] == pytest.approx(16 / 20)
    table = {row["rule"]: row for row in pq.read_table("run/rules.parquet").to_pylist()}
    kept = ("matched", "decided", "correct", "precision", "conflicts")
    assert {name: tuple(row[k] for k in kept) for name, row in table.items()} == {
        "ball": (8, 8, 4, 0.5, 0), "law": (8, 4, 4, 1.0, 4), "(no rule)": (8, 8, 8, 1.0, 0),
    }  # fmt: skip
    assert table["law"]["low"] == pytest.approx(0.5101, abs=1e-3)  # Wilson of 4 of 4
    assert "8 of 20 test documents match no rule: 'other'" in done.err
    assert "4 test documents match rules of different labels: the first rule decides" in done.err
    assert not Path("run/class_terms.parquet").exists()
    again = run_cli("evaluate", "run", "--metrics", "accuracy")
    assert "0.8000" in again.out


def test_prediction_and_explanation(corpus: Path) -> None:
    run_cli("classify", corpus, "--rules", "rules.toml", "-q", "-o", "run")
    done = run_cli("predict", "run", corpus, "--explain", "d2", "--explain", "d3", "--json", "-o", "p.parquet")
    assert pq.read_table("p.parquet").column("prediction").to_pylist()[:5] == [
        "sports",
        "courts",
        "sports",
        "other",
        "other",
    ]
    explained = json.loads(done.out)["explained"]
    assert explained["d2"][0]["words"] == [{"term": "ball", "contribution": 1.0}, {"term": "law", "contribution": 0.0}]
    assert explained["d3"][0]["words"] == [{"term": "(no rule)", "contribution": 1.0}]
    write_jsonl(Path("bare.jsonl"), [{"id": "x", "text": "goal"}])
    assert (
        "rules.toml:7: the input has no column 'stars'"
        in run_cli("predict", "run", "bare.jsonl", "-o", "q.parquet", code=3).error()
    )


def test_the_same_documents_as_a_classifier_that_learns(corpus: Path) -> None:
    for name, options in (("a", ["--rules", "rules.toml"]), ("b", ["--model", "nb"])):
        run_cli("classify", corpus, *options, "--cv", "4", "-q", "-o", name)
    one, other = (pq.read_table(f"{name}/documents.parquet").select(["id", "fold"]) for name in "ab")
    assert one.equals(other)


def test_several_labels(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text(RULES.replace("stars > 1", "stars > 0"), encoding="utf-8")
    write_jsonl(tmp_path / "t.jsonl", [{**row, "label": [row["label"], "any"]} for row in rows()])
    run_cli("classify", "t.jsonl", "--rules", "rules.toml", "-q", "-o", "run")
    predictions = pq.read_table("run/documents.parquet").column("prediction").to_pylist()
    assert predictions[2] == ["courts", "sports"]
    assert predictions[3] == ["other"]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--rules", "gone.toml"], 3, "gone.toml: no such file"),
        (
            ["--rules", "rules.toml", "--model", "svm"],
            2,
            "--model is about a classifier that learns, and --rules are written",
        ),
        (["--rules", "rules.toml", "--cost", "10"], 2, "--cost is about a classifier that learns"),
        (
            ["--rules", "rules.toml", "--stem", "english"],
            2,
            "options for words: rules search the unchanged words; leave",
        ),
        (["--rules", "rules.toml", "--probabilities"], 2, "rules have no probabilities; leave it out"),
        (["--rules", "rules.toml", "--learning-curve"], 2, "--learning-curve: rules learn nothing"),
        (
            ["--rules", "wrong.toml"],
            3,
            "wrong.toml:1: no training document has the label 'sprots' (found: courts, other, sports); did",
        ),
    ],
)
def test_refusals(words: list[str], code: int, says: str, corpus: Path) -> None:
    corpus.with_name("wrong.toml").write_text("[[rule]]\nlabel = 'sprots'\nany = ['x']\n", encoding="utf-8")
    assert says in run_cli("classify", corpus, *words, "-o", "run", code=code).error()


def test_from_python(corpus: Path) -> None:
    import nlpkit as nk

    model = nk.train_classifier(nk.read_corpus(corpus), rules="rules.toml")
    assert model.classes == ("courts", "other", "sports")
    assert model.predict(nk.read_corpus(corpus)).column("prediction").to_pylist()[0] == "sports"
