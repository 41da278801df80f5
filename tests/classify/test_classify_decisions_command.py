"""nlpkit classify: what it does with numbers, thresholds and costs of errors, and how it chooses its regularisation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.classify.search import AUTO
from tests.command_line import NEWS, read, run_cli, write_jsonl
from tests.refusals import refuses

# ---------------------------------------------------------------- a search for cost or alpha


def test_a_run_says_what_was_taken(tmp_path: Path) -> None:
    result = run_cli("classify", NEWS, "--model", "nb", "--alpha", "auto", "--cv", "3", "-o", "run")
    assert "Values of alpha" in result.out
    report = json.loads(Path("run/metrics.json").read_text())
    search = report["search"]
    assert [row["value"] for row in search["tried"]] == list(AUTO["alpha"])
    best = max(search["tried"], key=lambda row: row["macro_f1"])
    assert search["value"] == best["value"]
    assert len(search["folds"]) == 3
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert manifest["parameters"]["options"]["alpha"] == search["value"]
    # the run predicts as one that was trained with that value
    run_cli("classify", NEWS, "--model", "nb", "--alpha", search["value"], "--cv", "3", "-q", "-o", "fixed")
    weights: list[Any] = [nk.load(run).classifier.model.coef for run in ("run", "fixed")]
    assert (weights[0] == weights[1]).all()


def test_a_value_at_the_end_is_told() -> None:
    result = run_cli("classify", NEWS, "--cost", "0.001,0.01", "--cv", "2", "-o", "run")
    assert "is at the end of the values that were tried" in result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "auto", "--cost", "auto"], "compares several classifiers; name one, such as"),
        (["--cost", "1,x"], "--cost 1,x: a number above 0 is needed"),
    ],
)
def test_what_cannot_be_meant(options: list[str], message: str) -> None:
    assert message in run_cli("classify", NEWS, *options, "-o", "run", code=2).err


# ---------------------------------------------------------------- thresholds


def test_a_threshold_is_stored_and_used_by_predict() -> None:
    wanted = "recall=0.95:courts"
    result = run_cli("classify", NEWS, "--threshold", wanted, "-o", "run")
    assert "Thresholds, chosen in folds of the training documents" in result.out
    run_cli("classify", NEWS, "-q", "-o", "usual")
    (one,) = json.loads(Path("run/metrics.json").read_text())["thresholds"]
    assert one["expected"]["recall"]["value"] >= 0.95
    assert one["reached"]
    scored = read("run/documents.parquet").to_pylist()
    right = [row["prediction"] == "courts" for row in scored if row["label"] == "courts"]
    assert one["test"]["recall"]["value"] == sum(right) / len(right)
    assert one["test"]["assigned"] == sum(row["prediction"] == "courts" for row in scored)
    assert one["test"]["recall"]["low"] < one["test"]["recall"]["value"] < one["test"]["recall"]["high"]
    for run in ("run", "usual"):
        run_cli("predict", run, NEWS, "--probabilities", "-q", "-o", f"{run}.parquet")
    usual = read("usual.parquet").to_pylist()
    for row, before in zip(read("run.parquet").to_pylist(), usual, strict=True):
        p = row["probabilities"]
        odds = np.log(p["courts"] / (1 - p["courts"]))
        if abs(odds - one["score"]) > 1e-4:
            assert (row["prediction"] == "courts") == (odds > one["score"])
        if row["prediction"] != "courts" and before["prediction"] != "courts":
            assert row["prediction"] == before["prediction"]


def test_a_precision_that_no_score_has_is_told() -> None:
    rows = [{"id": str(i), "text": "the same words", "label": "ab"[i % 2]} for i in range(80)]
    write_jsonl(Path("t.jsonl"), rows)
    result = run_cli("classify", "t.jsonl", "--threshold", "precision=1:a", "--model", "nb", "-o", "run")
    assert "--threshold: no score has precision 1 for 'a'" in result.err
    assert not json.loads(Path("run/metrics.json").read_text())["thresholds"][0]["reached"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "recall=0.9:court"], "did you mean 'courts'?"),
        (["--threshold", "recall=2:courts"], "above 0 and at most 1"),
        (["--threshold", "recall=0.9:courts", "--threshold", "recall=0.9:health"], "one class can have a threshold"),
    ],
)
def test_thresholds_that_cannot_be_meant(options: list[str], message: str) -> None:
    assert message in run_cli("classify", NEWS, *options, "-o", "run", code=2).err


def test_a_threshold_of_a_class_that_the_run_lacks_is_damage() -> None:
    run_cli("classify", NEWS, "--threshold", "recall=0.9:courts", "--cv", "2", "-q", "-o", "run")
    config = Path("run/model/config.json")
    config.write_text(config.read_text().replace('"label": "courts"', '"label": "none"'))
    assert "run" in run_cli("predict", "run", NEWS, "--no-verify", "-o", "p.parquet", code=3).err


# ---------------------------------------------------------------- the learning curve


def test_a_learning_curve_is_shown_kept_and_drawn() -> None:
    result = run_cli("classify", NEWS, "--model", "nb", "--learning-curve", "--cv", "3", "-o", "run")
    assert "Learning curve" in result.out
    curve = read("run/learning_curve.parquet").to_pylist()
    assert [row["share"] for row in curve] == [0.1, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert curve[-1]["documents"] == 277
    report = json.loads(Path("run/metrics.json").read_text())
    assert curve[-1]["macro_f1"] == report["targets"][0]["metrics"]["macro_f1"]["value"]
    assert curve[0]["high"] < curve[-1]["low"]
    run_cli("plot", "run", "learning", "-o", "curve.svg")
    assert "training documents" in Path("curve.svg").read_text()
    run_cli("report", "run", "-o", "report.html", "--no-texts")
    assert "Learning curves" in Path("report.html").read_text()
    run_cli("classify", NEWS, "--model", "nb", "--learning-curve", "--cv", "3", "--threads", "1", "-q", "-o", "again")
    assert read("again/learning_curve.parquet").to_pylist() == curve


def test_a_learning_curve_needs_a_test() -> None:
    with refuses("learning_curve"):
        nk.train_classifier(nk.read_corpus(NEWS), learning_curve=True)


# ---------------------------------------------------------------- costs


def test_costs_are_stored_and_used_by_predict() -> None:
    Path("costs.toml").write_text("[courts]\nclimate = 20\neconomy = 20\nhealth = 20\n")
    result = run_cli("classify", NEWS, "--costs", "costs.toml", "--calibrate", "sigmoid", "--cv", "3", "-o", "run")
    assert "Costs of 416 test documents" in result.out
    report = json.loads(Path("run/metrics.json").read_text())["costs"]
    mine, probable, majority, cheapest = report["decisions"]
    assert mine["mean_cost"] < probable["mean_cost"] < majority["mean_cost"]
    assert cheapest["mean_cost"] < majority["mean_cost"]
    assert probable["saved"] == pytest.approx(probable["mean_cost"] - mine["mean_cost"])
    # the mean cost of what the run holds
    scored = read("run/documents.parquet").to_pylist()
    dear = ("climate", "economy", "health")
    costs = [
        20 if r["label"] == "courts" and r["prediction"] in dear else r["label"] != r["prediction"] for r in scored
    ]
    assert mine["mean_cost"] == pytest.approx(np.mean(costs))
    run_cli("predict", "run", NEWS, "--probabilities", "-q", "-o", "p.parquet")
    names = sorted({r["label"] for r in scored})
    matrix = 1 - np.eye(8)
    matrix[names.index("courts"), [names.index(name) for name in dear]] = 20
    for row in read("p.parquet").to_pylist():
        expected = np.array([row["probabilities"][name] for name in names]) @ matrix
        assert expected[names.index(row["prediction"])] <= expected.min() + 1e-5
    model: Any = nk.load("run")
    assert model.classifier.costs == tuple(map(tuple, matrix.tolist()))
    same = nk.cross_validate(
        nk.read_corpus(NEWS), folds=3, calibrate="sigmoid", costs={"courts": dict.fromkeys(dear, 20)}
    )
    assert same.predictions["prediction"].to_pylist() == [r["prediction"] for r in scored]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "recall=0.9:courts"], "each say when a class is predicted"),
        ([], "did you mean 'courts'?"),
    ],
)
def test_costs_that_cannot_be_meant(options: list[str], message: str) -> None:
    Path("costs.toml").write_text("[court]\nclimate = 20\n")
    assert message in run_cli("classify", NEWS, "--costs", "costs.toml", *options, "-o", "run", code=2).err


def test_costs_of_several_labels_are_refused() -> None:
    rows = [{"id": str(i), "text": f"word{i % 3} other", "label": ["ab"[i % 2], "c"]} for i in range(30)]
    write_jsonl(Path("t.jsonl"), rows)
    Path("costs.toml").write_text("[a]\nc = 20\n")
    assert (
        "--costs need one label per document"
        in run_cli("classify", "t.jsonl", "--costs", "costs.toml", "-o", "run", code=2).err
    )
