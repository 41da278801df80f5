"""nlpkit classify: labels that are numbers (--task regression) or have an order (--task ordinal)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pacsv
import pytest
from sklearn.metrics import cohen_kappa_score, mean_absolute_error, r2_score

import nlpkit as nk
from tests.command_line import read, run_cli, write_jsonl

WORDS = {"splendid": 2.0, "good": 1.0, "fair": 0.3, "dull": -0.8, "awful": -2.0}
FILLERS = [f"word{chr(97 + i)}" for i in range(20)]
QUALITY = ("bad", "ok", "good")


def rated(n: int = 200, seed: int = 5) -> list[dict[str, Any]]:
    """Documents whose score is the sum of their words' values and a little noise; rating: it in five classes, quality: in three."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        said = list(rng.choice(list(WORDS), 5))
        score = sum(WORDS[word] for word in said) + rng.normal() * 0.3
        rating = int(np.searchsorted([-3, -1, 1, 3], score)) * 2 + 2  # 2, 4 … 10: '10' is no label between '1' and '2'
        text = " ".join(rng.permutation([*said, *rng.choice(FILLERS, 8)]))
        quality = QUALITY[int(np.searchsorted([-1.5, 1.5], score))]
        rows.append(
            {"id": f"r{i}", "text": text, "score": score, "rating": rating, "quality": quality, "group": f"g{i // 4}"}
        )
    return rows


@pytest.fixture
def reviews(tmp_path: Path) -> str:
    write_jsonl(tmp_path / "reviews.jsonl", rated())
    return "reviews.jsonl"


def metrics(run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(run, "metrics.json").read_text())["targets"]
    return found


# ---------------------------------------------------------------- numbers


def test_numbers_from_corpus_to_scores(reviews: str) -> None:
    result = run_cli(
        "classify", reviews, "--label-col", "score", "--task", "regression", "--cost", "0.1,3", "--cv", "2",
        "--learning-curve", "-o", "run",
    )  # fmt: skip
    assert "mean of training" in result.out
    assert "The predictions that are farthest off" in result.out
    documents = read("run/documents.parquet")
    label, prediction = (documents.column(name).to_numpy() for name in ("label", "prediction"))
    assert "prediction_prob" not in documents.column_names
    model, mean = metrics("run")[:2]
    assert model["metrics"]["mae"]["value"] == pytest.approx(mean_absolute_error(label, prediction))
    assert model["metrics"]["r2"]["value"] == pytest.approx(r2_score(label, prediction))
    assert model["metrics"]["r2"]["value"] > 0.8
    assert model["metrics"]["mae"]["low"] < model["metrics"]["mae"]["value"] < model["metrics"]["mae"]["high"]
    # the baseline is the mean of each fold's training documents
    fold = documents.column("fold").to_numpy()
    means = np.array([label[fold != f].mean() for f in fold])
    assert mean["metrics"]["mae"]["value"] == pytest.approx(np.abs(label - means).mean())
    search = json.loads(Path("run/metrics.json").read_text())["search"]
    assert search["metric"] == "mae"
    assert search["value"] == min(search["tried"], key=lambda row: row["mae"])["value"]
    curve = read("run/learning_curve.parquet")
    assert curve.column_names == ["share", "documents", "mae", "low", "high"]
    assert curve.column("mae")[0].as_py() > curve.column("mae")[-1].as_py() == model["metrics"]["mae"]["value"]
    moves = read("run/class_terms.parquet").to_pylist()
    best = {name: next(row["term"] for row in moves if row["class"] == name) for name in ("higher", "lower")}
    assert best == {"higher": "splendid", "lower": "awful"}
    errors = read("run/errors.parquet").column("error").to_numpy()
    assert (np.diff(np.abs(errors)) <= 0).all()


def test_a_run_of_numbers_predicts_explains_and_is_evaluated(reviews: str, tmp_path: Path) -> None:
    run_cli("classify", reviews, "--label-col", "score", "--task", "regression", "-q", "-o", "run")
    write_jsonl(tmp_path / "new.jsonl", [{**row, "label": row["score"]} for row in rated(60, seed=9)])
    result = run_cli("predict", "run", "new.jsonl", "--explain", "r3", "-o", "p.parquet")
    table = read("p.parquet")
    assert str(table.schema.field("prediction").type) == "double"
    value = table.column("prediction")[3].as_py()
    assert f"r3: {value:.4g}" in result.out
    summary = json.loads(run_cli("predict", "run", "new.jsonl", "--explain", "r3", "--json", "-o", "q.parquet").out)
    intercept = nk.load("run").classifier.model.intercept[0]
    parts = sum(word["contribution"] for word in summary["explained"]["r3"][0]["words"])
    assert intercept + parts == pytest.approx(value, abs=1e-4)
    assert summary["numbers"]["lowest"] <= summary["numbers"]["mean"] <= summary["numbers"]["highest"]
    again = json.loads(run_cli("evaluate", "p.parquet", "--json").out)["targets"][0]["metrics"]
    assert again["mae"]["value"] == pytest.approx(
        np.abs(table["label"].to_numpy() - table["prediction"].to_numpy()).mean()
    )
    assert "regression" in run_cli("info", "run").out
    run_cli("report", "run", "-o", "run.html")
    page = Path("run.html").read_text()
    assert "The predictions that are farthest off" in page
    assert (
        "predicts numbers" in run_cli("predict", "run", "new.jsonl", "--probabilities", "-o", "x.parquet", code=2).err
    )


def test_whole_numbers_train_where_fractions_are_tested(reviews: str, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "test.jsonl", rated(40, seed=2))
    rows = [{**row, "score": round(row["score"])} for row in rated()]
    write_jsonl(tmp_path / "whole.jsonl", rows)
    task = ("--label-col", "score", "--task", "regression")
    run_cli("classify", "whole.jsonl", "--test", "test.jsonl", *task, "-q", "-o", "run")
    assert metrics("run")[0]["metrics"]["r2"]["value"] > 0.7


def test_columns_and_embeddings_give_numbers_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [
        {**row, "length": row["score"] * 3 + rng.normal(), "embedding": [row["score"], *rng.normal(size=3)]}
        for row in rated()
    ]
    write_jsonl(tmp_path / "wide.jsonl", rows)
    both = ("classify", "wide.jsonl", "--label-col", "score", "--task", "regression", "-q")
    run_cli(*both, "--on", "columns", "--feature-cols", "length", "-o", "columns")
    run_cli(*both, "--on", "embedding", "-o", "embedded")
    for run in ("columns", "embedded"):
        assert metrics(run)[0]["metrics"]["r2"]["value"] > 0.75


# ---------------------------------------------------------------- ordered classes


def test_ordered_classes_from_corpus_to_scores(reviews: str) -> None:
    result = run_cli(
        "classify", reviews, "--label-col", "rating", "--task", "ordinal", "--cost", "1,10", "--cv", "2", "--probabilities",
        "-o", "run",
    )  # fmt: skip
    assert "median of training" in result.out
    assert "5 ordered classes" in result.out
    documents = read("run/documents.parquet")
    label, prediction = (
        np.array(documents.column(name).to_pylist()).astype(int) // 2 for name in ("label", "prediction")
    )
    model, median = metrics("run")[:2]
    scores = {name: one["value"] for name, one in model["metrics"].items()}
    assert scores["rank_mae"] == pytest.approx(np.abs(label - prediction).mean())
    assert scores["quadratic_kappa"] == pytest.approx(cohen_kappa_score(label, prediction, weights="quadratic"))
    assert scores["macro_mae"] == pytest.approx(
        np.mean([np.abs(label - prediction)[label == k].mean() for k in set(label)])
    )
    assert scores["quadratic_kappa"] > 0.8
    assert scores["rank_mae"] < median["metrics"]["rank_mae"]["value"] / 2
    assert model["confusion"]["columns"] == ["2", "4", "6", "8", "10"]
    p = np.array([list(row.values()) for row in documents.column("probabilities").to_pylist()])
    assert p.sum(axis=1) == pytest.approx(np.ones(len(p)), abs=1e-5)
    assert list(documents.column("probabilities")[0].as_py()) == ["2", "4", "6", "8", "10"]
    assert ((p.cumsum(axis=1) < 0.5).sum(axis=1) + 1 == prediction).all()  # the median
    # evaluate reads the order from the footer, and of plain tables with numbers takes that of the numbers
    run_scores = json.loads(run_cli("evaluate", "run", "--json").out)["targets"][0]["metrics"]
    assert run_scores["quadratic_kappa"]["value"] == pytest.approx(scores["quadratic_kappa"])


def test_an_order_of_names(reviews: str, tmp_path: Path) -> None:
    ordered = ("--label-col", "quality", "--task", "ordinal", "--order", "bad,ok,good")
    run_cli("classify", reviews, *ordered, "-q", "-o", "run")
    assert nk.load("run").classes == QUALITY
    write_jsonl(tmp_path / "new.jsonl", [{**row, "label": row["quality"]} for row in rated(60, seed=9)])
    result = run_cli("predict", "run", "new.jsonl", "--explain", "r0", "-o", "p.parquet")
    assert "contribution" in result.out
    scores = json.loads(run_cli("evaluate", "p.parquet", "--json").out)["targets"][0]["metrics"]
    table = read("p.parquet")
    rank = [np.array([QUALITY.index(name) for name in table[column].to_pylist()]) for column in ("label", "prediction")]
    assert scores["rank_mae"]["value"] == pytest.approx(np.abs(rank[0] - rank[1]).mean())
    pacsv.write_csv(table.select(["id", "label", "prediction"]), "plain.csv")  # without a footer names have no order
    refused = run_cli("evaluate", "plain.csv", "--metrics", "rank_mae", code=2)
    assert "labels need an order" in refused.err
    # costs decide on ordered classes as on others
    Path("costs.toml").write_text("[good]\nbad = 50\nok = 50\n")
    run_cli(
        "classify", reviews, *ordered, "--costs", "costs.toml", "--fail-over", "mean_cost=100", "-q", "-o", "costly"
    )
    counted = read("costly/documents.parquet").column("prediction").to_pylist()
    assert counted.count("good") > read("run/documents.parquet").column("prediction").to_pylist().count("good")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task", "ordinal", "--label-col", "quality"], "is not a number; give the order of the labels, lowest first:"),
        (["--task", "ordinal", "--label-col", "quality", "--order", "bad,good"], "--order bad,good leaves out the label 'ok'"),
        (["--task", "ordinal", "--label-col", "quality", "--order", "bad,ok,bad"], "names 'bad' twice"),
        (["--task", "ordinal", "--label-col", "rating", "--model", "svm"], "--model is of classes without an order"),
        (["--task", "ordinal", "--label-col", "rating", "--calibrate", "sigmoid"], "leave it out with --task ordinal"),
        (["--task", "ordinal", "--label-col", "rating", "--threshold", "recall=0.5:2"], "leave it out with --task ordinal"),
        (["--task", "regression", "--label-col", "score", "--class-weight", "balanced"], "predicts numbers; leave it out"),
        (["--task", "regression", "--label-col", "score", "--select", "chi2:9"], "predicts numbers; leave it out"),
        (["--task", "regression", "--label-col", "score", "--probabilities"], "numbers have no probabilities; leave it out"),
        (["--task", "regression", "--label-col", "score", "--model", "auto"], "is fitted by ridge regression"),
        (["--task", "regression", "--label-col", "score", "--label-sep", ";"], "several labels per document"),
        (["--order", "a,b", "--label-col", "quality"], "--order is of the labels of --task ordinal"),
        (["--task", "numbers", "--label-col", "score"], "one of auto, classes, regression, ordinal"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant(options: list[str], message: str, reviews: str) -> None:
    assert message in run_cli("classify", reviews, *options, "-o", "run", code=2).err
    assert not Path("run").exists()


def test_labels_that_are_no_numbers_or_all_alike(reviews: str, tmp_path: Path) -> None:
    refused = run_cli("classify", reviews, "--task", "regression", "--label-col", "quality", "-o", "run", code=3)
    assert (
        "the label 'ok' is not a number" in refused.err
        or "is not a number; --task regression needs numbers" in refused.err
    )
    write_jsonl(tmp_path / "same.jsonl", [{**row, "label": 3} for row in rated(20)])
    refused = run_cli("classify", "same.jsonl", "--task", "regression", "-o", "run", code=3)
    assert "every training document has the number" in refused.err


@pytest.mark.parametrize(
    ("task", "labels", "message"),
    [
        ("ordinal", ["1,5", "2,5", "3,5"], "the label '1,5' is not a number; --task ordinal needs numbers, such as 1.5"),
        ("ordinal", [1, 2, 3, "n/a"], "the label 'n/a' is not a number, as most labels are; leave that cell empty"),
        ("regression", [None, None], "no training document has a label; name the column with --label-col"),
        ("regression", [1, 2, 3e300], "document n2: the label is 3e+300; --task regression needs numbers from -1e+100 to 1e+100"),
    ],
)  # fmt: skip
def test_labels_that_are_nearly_numbers(task: str, labels: list[Any], message: str, tmp_path: Path) -> None:
    rows = [{"id": f"n{i}", "text": f"good soup {i}", "label": labels[i % len(labels)]} for i in range(12)]
    write_jsonl(tmp_path / "odd.jsonl", rows)
    assert message in run_cli("classify", "odd.jsonl", "--task", task, "-o", "run", code=3).err
    assert not Path("run").exists()


def test_numbers_and_ordered_classes_are_compared_as_numbers(reviews: str) -> None:
    for task in ("regression", "ordinal"):
        run_cli("classify", reviews, "--label-col", "rating", "--task", task, "--cv", "2", "-q", "-o", task)
    scores = json.loads(run_cli("evaluate", "regression", "ordinal", "--metrics", "mae", "--json").out)["targets"]
    ordinal = read("ordinal/documents.parquet")
    label, prediction = (ordinal.column(name).to_pylist() for name in ("label", "prediction"))
    expected = mean_absolute_error([float(v) for v in label], [float(v) for v in prediction])
    assert scores[1]["metrics"]["mae"]["value"] == pytest.approx(expected)
    assert "accuracy" in run_cli("evaluate", "ordinal").out


def test_numbers_without_a_task_are_noted(reviews: str) -> None:
    note = "--task regression predicts numbers, --task ordinal ordered classes"
    assert note in run_cli("classify", reviews, "--label-col", "rating", "--cv", "2", "-o", "a").err
    named = run_cli("classify", reviews, "--label-col", "rating", "--task", "classes", "--cv", "2", "-o", "b").err
    words = run_cli("classify", reviews, "--label-col", "quality", "--cv", "2", "-o", "c").err
    assert note not in named
    assert note not in words
    assert read("a/documents.parquet").equals(read("b/documents.parquet"))


# ---------------------------------------------------------------- what else decides


def test_a_kind_of_model_beside_a_run_of_that_name(reviews: str) -> None:
    ordinary = ("classify", reviews, "--label-col", "quality", "--model", "nb", "--cv", "2")
    assert "trains a new classifier" not in run_cli(*ordinary, "-o", "nb").err
    assert (
        "to classify with the run in the folder nb/: nlpkit predict nb reviews.jsonl"
        in run_cli(*ordinary, "-o", "x").err
    )
    assert "trains a new classifier" not in run_cli(*ordinary, "-o", "nb", "--force").err


def test_auto_with_thresholds_and_costs(reviews: str) -> None:
    both = ("classify", reviews, "--label-col", "quality", "--model", "auto", "--cv", "2", "--budget", "1000", "-q")
    run_cli(*both, "--threshold", "recall=0.95:good", "-o", "wanted")
    report = json.loads(Path("wanted/metrics.json").read_text())
    assert report["thresholds"][0]["expected"]["recall"]["value"] >= 0.95
    run_cli(*both, "-o", "plain")
    plain = json.loads(Path("plain/metrics.json").read_text())
    scored = [[(c["name"], c["macro_f1"]) for c in one["candidates"]] for one in (report, plain)]
    assert scored[0] == scored[1]  # candidates are compared without the threshold
    Path("costs.toml").write_text("[good]\nbad = 9\n")
    run_cli(*both, "--costs", "costs.toml", "--fail-over", "mean_cost=9", "-o", "costly")
    report = json.loads(Path("costly/metrics.json").read_text())
    assert not [
        c for c in report["candidates"] if c["name"].startswith("svm")
    ]  # it has no probabilities to weigh costs by
    cost = report["targets"][0]["metrics"]["mean_cost"]["value"]
    assert cost == pytest.approx(report["costs"]["decisions"][0]["mean_cost"])
    failed = run_cli(
        *both[:4], "--model", "nb", "--costs", "costs.toml", "--fail-over", "mean_cost=0.0001", "-q", "-o", "f", code=1
    )
    assert "mean_cost" in failed.err


def test_micro_scores_of_single_labels(reviews: str) -> None:
    run_cli("classify", reviews, "--label-col", "quality", "-q", "-o", "run")
    named = ("--metrics", "accuracy,micro_precision,micro_recall")
    found = json.loads(run_cli("evaluate", "run/documents.parquet", *named, "--json").out)["targets"][0]["metrics"]
    assert found["micro_precision"]["value"] == found["micro_recall"]["value"] == found["accuracy"]["value"]


def test_texts_without_words_are_told(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "blank.jsonl", [{"id": f"b{i}", "text": "", "label": i % 2} for i in range(4)])
    told = run_cli("classify", "blank.jsonl", "--task", "ordinal", "--cv", "4", "-o", "run", code=3).err
    assert "no word to learn from in 3 training documents; try --min-df 1" in told
