"""nlpkit evaluate on tables: predictions and topics against labels, beside scikit-learn."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import metrics as theirs

import nlpkit as nk
from nlpkit.platform.runs.tables import save_table
from tests.command_line import NEWS, SAMPLES, run_cli, write_jsonl

PREDICTIONS = SAMPLES / "predictions.csv"


def scores(table: Any, **settings: Any) -> dict[str, Any]:
    found: dict[str, Any] = nk.evaluate(table, **settings).to_dict()["targets"][0]["metrics"]
    return found


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def sample() -> list[dict[str, Any]]:
    with PREDICTIONS.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_classification_is_scikit_learns() -> None:
    rows = sample()
    true, found = [r["label"] for r in rows], [r["prediction"] for r in rows]
    got = {name: score["value"] for name, score in scores(PREDICTIONS, metrics="classification,calibration").items()}
    expected = {
        "accuracy": theirs.accuracy_score(true, found),
        "balanced_accuracy": theirs.balanced_accuracy_score(true, found),
        "macro_precision": theirs.precision_score(true, found, average="macro"),
        "macro_recall": theirs.recall_score(true, found, average="macro"),
        "macro_f1": theirs.f1_score(true, found, average="macro"),
        "micro_f1": theirs.f1_score(true, found, average="micro"),
        "weighted_precision": theirs.precision_score(true, found, average="weighted"),
        "weighted_recall": theirs.recall_score(true, found, average="weighted"),
        "weighted_f1": theirs.f1_score(true, found, average="weighted"),
        "mcc": theirs.matthews_corrcoef(true, found),
        "kappa": theirs.cohen_kappa_score(true, found),
        "brier_top": theirs.brier_score_loss(
            [t == f for t, f in zip(true, found, strict=True)], [float(r["prediction_prob"]) for r in rows]
        ),
    }
    assert {name: got[name] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert 0 < got["ece"] < 1
    assert "brier" not in got  # which needs the probabilities of all classes


def test_clustering_is_scikit_learns(tmp_path: Path) -> None:
    rows = [{"id": r["id"], "label": r["label"], "topic": hash_of(r["prediction"])} for r in sample()]
    table = write(tmp_path / "topics.csv", rows)
    true, found = [r["label"] for r in rows], [r["topic"] for r in rows]
    got = {name: score["value"] for name, score in scores(table).items()}
    expected = {
        "nmi": theirs.normalized_mutual_info_score(true, found),
        "ami": theirs.adjusted_mutual_info_score(true, found),
        "ari": theirs.adjusted_rand_score(true, found),
        "v_measure": theirs.v_measure_score(true, found),
        "homogeneity": theirs.homogeneity_score(true, found),
        "completeness": theirs.completeness_score(true, found),
    }
    assert {name: got[name] for name in expected} == pytest.approx(expected, abs=1e-9)
    assert got["purity_f1"] == pytest.approx(
        2 * got["purity"] * got["inverse_purity"] / (got["purity"] + got["inverse_purity"])
    )


def hash_of(name: str) -> int:
    return {"climate": 0, "courts": 1, "culture": 2, "economy": 3}.get(name, 4)


def test_by_hand(tmp_path: Path) -> None:
    """Labels a a b b c; predicted a b b b (none)."""
    rows = [{"label": t, "prediction": p} for t, p in zip("aabbc", ["a", "b", "b", "b", ""], strict=True)]
    done = run_cli("evaluate", write(tmp_path / "t.csv", rows), "--ci", "0")
    got = scores(tmp_path / "t.csv", ci=0)
    assert got["accuracy"]["value"] == pytest.approx(3 / 5)
    # F of a: P 1, R 1/2 → 2/3; of b: P 2/3, R 1 → 4/5; of c: 0
    assert got["macro_f1"]["value"] == pytest.approx((2 / 3 + 4 / 5) / 3)
    assert got["macro_f1"]["values"] == pytest.approx([2 / 3, 4 / 5, 0])
    assert "low" not in got["accuracy"]
    assert "1 document without a prediction, which counts as wrong" in done.err
    assert "never predicted: c" in done.err


def test_f_beta_has_a_name_of_its_own(tmp_path: Path) -> None:
    rows = sample()
    got = scores(PREDICTIONS, beta=2, metrics="macro_f1")
    expected = theirs.fbeta_score([r["label"] for r in rows], [r["prediction"] for r in rows], beta=2, average="macro")
    assert (list(got), got["macro_f2"]["value"]) == (["macro_f2"], pytest.approx(expected))
    run_cli("evaluate", PREDICTIONS, "--beta", "2", "--metrics", "macro_f1", "--fail-under", "macro_f2=0.99", code=1)


def test_two_predictions_are_compared_by_document(tmp_path: Path) -> None:
    rows = sample()
    better = [{**r, "prediction": r["label"] if i % 3 else r["prediction"]} for i, r in enumerate(rows)]
    other = write(tmp_path / "better.csv", better[::-1])  # another order of rows: paired by id
    found = run_cli("evaluate", PREDICTIONS, other, "--metrics", "accuracy,macro_f1", "--json").json()
    by_name = {c["metric"]: c for c in found["comparisons"]}
    one, two = (t["metrics"] for t in found["targets"])
    assert by_name["accuracy"]["difference"] == pytest.approx(one["accuracy"]["value"] - two["accuracy"]["value"])
    assert by_name["accuracy"]["p_value"] < 0.01
    assert by_name["accuracy"]["high"] < 0
    assert found["targets"][1]["mcnemar"]["only_first_right"] == 0
    assert found["targets"][1]["mcnemar"]["p_value"] < 1e-6
    assert found["targets"][1]["mcnemar"]["mid_p_value"] < found["targets"][1]["mcnemar"]["p_value"]
    assert "McNemar's exact p " in found["targets"][1]["notes"][-1]
    # of other documents: a difference, and no p-value
    fewer = write(tmp_path / "fewer.csv", rows[:100])
    apart = run_cli("evaluate", PREDICTIONS, fewer, "--metrics", "accuracy", "--json").json()["comparisons"]
    assert apart[0]["p_value"] is None


def test_ids_that_come_twice_pair_nothing(tmp_path: Path) -> None:
    rows = [{**r, "id": str(i // 2)} for i, r in enumerate(sample())]
    table = write(tmp_path / "twice.csv", rows)
    done = run_cli("evaluate", table, table, "--metrics", "accuracy", "--json")
    assert done.json()["comparisons"][0]["p_value"] is None
    assert f"warning: {table} is named twice and compared with itself" in done.err


def test_calibration_needs_probabilities(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("label,prediction\na,a\nb,a\n", encoding="utf-8")
    assert "name it with `prob_col`" in scores("t.csv", metrics="ece")["ece"]["why"]


def test_intervals_stay_within_the_range_of_the_score(tmp_path: Path) -> None:
    """Three predictions that are 0.6 sure, two of them right: an ECE of 0.07 ± 0.39 without a cut."""
    table = write(tmp_path / "t.csv", [{"label": "a", "prediction": p, "prediction_prob": 0.6} for p in "aab"])
    got = scores(table)
    assert got["ece"]["low"] == 0 < got["ece"]["value"] < got["ece"]["high"] <= 1


def test_parquet_of_scores(tmp_path: Path) -> None:
    run_cli("evaluate", PREDICTIONS, "-q", "-o", tmp_path / "s.parquet")
    table = pl.read_parquet(tmp_path / "s.parquet")
    assert table.columns == ["target", "metric", "unit", "value", "low", "high", "n"]
    f1 = table.filter(pl.col("metric") == "macro_f1")
    assert f1.filter(pl.col("unit").is_not_null()).height == 8
    assert f1.filter(pl.col("unit").is_not_null())["value"].mean() == pytest.approx(
        f1.filter(pl.col("unit").is_null())["value"][0]
    )


def test_another_seed_draws_other_intervals() -> None:
    assert scores(PREDICTIONS, seed=7) != scores(PREDICTIONS)


def test_json_lines_and_latin_1(tmp_path: Path) -> None:
    rows = [
        {"label": "für", "prediction": "für"},
        {"label": "wider", "prediction": "für"},
        {"label": "für", "prediction": "für"},
    ]
    (tmp_path / "t.csv").write_bytes("label;prediction\nfür;für\nwider;für\nfür;für\n".encode("latin-1"))
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    for name in ("t.csv", "t.jsonl"):
        assert scores(name)["accuracy"]["value"] == pytest.approx(2 / 3), name


@pytest.mark.parametrize(
    ("text", "words", "code", "message"),
    [
        ("label,prediction\n", [], 3, "no row has a label"),
        ("label,prediction\na,\nb,\n", [], 3, "no row has a prediction (2 rows); name the column with --prediction-col"),
        ("label,prediction\n,a\n", [], 3, "no row has a label (1 row); name the column with --label-col"),
        ("klasse,prediction\na,a\n", ["--target-format", "table"], 3, "but no column 'label' (found: klasse, prediction)"),
        ("id,prediction\n1,a\n", [], 3, "t.csv has predictions but no column 'label' (found: id, prediction); name it with --label-col"),
        ("text,labels,prediction\nx,a,a\n", [], 3, "(found: text, labels, prediction); did you mean 'labels'? Name it with --label-col"),
        ("label,predicted\na,a\n", ["--target-format", "table"], 3, "neither a column 'prediction' nor 'topic'"),
        ("label,prediction,prediction_prob\na,a,7\n", [], 3, "probabilities of predictions from"),
        ("label,prediction,prediction_prob\na,a,high\n", [], 3, "the probabilities of predictions are not numbers; name the"),
        ("label,prediction\na,a\n", ["--metrics", "foo"], 2, "'foo' is not a metric; there are metrics of coherence (npmi …)"),
        ("label,prediction\na,a\n", ["--fail-under", "foo=1"], 2, "'foo' is not a metric; there are metrics of coherence"),
        ("label,prediction\na,a\n", ["--ci", "95"], 2, "--ci must be below 1"),
        ("label,prediction\na,a\n", ["--beta", "0"], 2, "--beta must be above 0, got 0"),
        ("label,prediction\na,a\n", ["-o", "scores.rds"], 2, "output scores.rds: '.rds' is not a format of nlpkit"),
    ],
)  # fmt: skip
def test_what_cannot_be_scored(tmp_path: Path, text: str, words: list[str], code: int, message: str) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    assert message in run_cli("evaluate", "t.csv", *words, code=code).error()


def test_a_spreadsheet_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "t.ods").write_bytes(b"PK\x03\x04\0\0")
    message = "t.ods is a spreadsheet; save it as CSV (UTF-8) or xlsx and name that file"
    assert message in run_cli("evaluate", "t.ods", code=3).error()


def test_a_workbook_is_scored_as_the_same_table_of_csv(tmp_path: Path) -> None:
    rows = pa.table({"id": ["1", "2", "3"], "label": [["a"], ["a", "b"], []], "prediction": [["a"], ["b"], ["b"]]})
    for name in ("t.xlsx", "t.csv"):
        save_table(tmp_path / name, rows, {}, force=False)
    of_workbook = scores("t.xlsx")
    assert of_workbook == scores("t.csv")
    assert of_workbook["micro_f1"]["value"] == pytest.approx(2 / 3)


def numbers(*pairs: tuple[Any, Any]) -> str:
    """Write a table of labels and predictions, and return its name."""
    rows = [{"id": f"d{i}", "label": true, "prediction": found} for i, (true, found) in enumerate(pairs)]
    Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return "t.jsonl"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("sport", None, "econ"), "but the predictions are numbers; name the column with"),
        ((1, "n/a", "x", ""), "but the predictions are numbers; name the column with"),
        ((1, "inf"), "label 'inf' is not a number (row 2; 1 of 2 labels are none)"),
        ((["1"], ["2"]), "but the predictions are numbers; name the column with"),
        ((1, 2e300), "row 2 has the label 2e+300 and the prediction 0.5; numbers from -1e+100 to 1e+100 are needed"),
    ],
)  # fmt: skip
def test_numbers_are_not_held_against_text(labels: tuple[Any, ...], message: str) -> None:
    assert message in run_cli("evaluate", numbers(*((label, 0.5) for label in labels)), code=3).error()


def test_numbers_with_empty_labels() -> None:
    """Errors 0.5, -0.5 and 0 of the three that have a label; the others are counted."""
    table = numbers((1, 1.5), ("2", 1.5), (2.5, 2.5), ("", 9.5), (None, 9.5), ("NaN", 9.5))
    got = run_cli("evaluate", table, "--json").json()["targets"][0]
    assert got["metrics"]["mae"]["value"] == pytest.approx(1 / 3)
    assert got["notes"] == ["3 documents without a label: left out of the scores"]


def test_numbers_of_a_csv_are_numbers_unless_they_are_classes() -> None:
    Path("t.csv").write_text("label,prediction\n1,1.5\n2,1.25\n2.5,2.5\n3,\n", encoding="utf-8")
    got = run_cli("evaluate", "t.csv", "--json").json()["targets"][0]
    assert got["metrics"]["mae"]["value"] == pytest.approx((0.5 + 0.75) / 3)
    Path("s.csv").write_text("label,prediction\n1.5,1.5\n2.0,1.5\n2.5,2.5\n3.0,3.5\n", encoding="utf-8")  # stars
    got = run_cli("evaluate", "s.csv", "--json").json()["targets"][0]
    assert got["metrics"]["accuracy"]["value"] == 0.5


@pytest.mark.parametrize(
    ("pairs", "reasons"),
    [
        ([(1, None), (None, 2.5)], dict.fromkeys(("rmse", "mae", "r2", "pearson", "spearman"), "no document has both a label")),
        ([(1, None), (2, 2.5)], dict.fromkeys(("r2", "pearson", "spearman"), "only one document has both a label")),
        ([(1, 1.5), (1, 2.5), (1, 2.5)], dict.fromkeys(("r2", "pearson", "spearman"), "labels are all alike")),
        ([(1, 1.5), (2, 1.5), (1, 1.5)], dict.fromkeys(("pearson", "spearman"), "predictions are all alike")),
        ([(1, 1.5), (1, 1.5)], {"r2": "labels are all alike", "pearson": "labels and predictions are all alike"}),
    ],
)  # fmt: skip
def test_why_scores_of_numbers_are_not_defined(pairs: list[tuple[Any, Any]], reasons: dict[str, str]) -> None:
    got = scores(numbers(*pairs), metrics=",".join({"rmse", *reasons}))
    assert {name: got[name]["why"][: len(why)] for name, why in reasons.items()} == reasons
    assert (got["rmse"]["value"] is None) == ("rmse" in reasons)


def test_predictions_and_topics_in_one_table(tmp_path: Path) -> None:
    rows = [{"label": t, "prediction": t, "topic": k} for t, k in zip("aabb", [0, 0, 0, 1], strict=True)]
    table = write(tmp_path / "t.csv", rows)
    assert scores(table, metrics="accuracy")["accuracy"]["value"] == 1
    assert scores(table, metrics="purity")["purity"]["value"] == pytest.approx(3 / 4)


def test_labels_that_are_spelt_differently_are_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("label,prediction\n1.0,1\n2.0,2\n", encoding="utf-8")
    assert "no prediction is one of the labels: are they spelt the same" in run_cli("evaluate", "t.csv").err


def test_only_the_first_rows(tmp_path: Path) -> None:
    assert scores(PREDICTIONS, metrics="accuracy", limit=50)["accuracy"]["n"] == 50


def test_one_row(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("label,prediction\na,a\n", encoding="utf-8")
    got = scores("t.csv")
    assert got["accuracy"]["value"] == 1
    assert got["accuracy"]["low"] == pytest.approx(0.2065, abs=1e-4)  # Wilson, 1 of 1
    assert "low" not in got["mcc"]  # of one class it is not defined, and counts as 0


def test_scores_at_the_end_of_their_range_have_intervals(tmp_path: Path) -> None:
    """Ten of ten right: a bootstrap draws 1.0 again and again; Wilson says [0.72, 1]."""
    names = "aaaaabbbbb"
    right = [{"label": t, "prediction": t, "prediction_prob": 1.0} for t in names]
    got = scores(write(tmp_path / "right.csv", right))
    for name in ("accuracy", "macro_f1", "balanced_accuracy", "weighted_f1"):
        assert (got[name]["low"], got[name]["high"]) == pytest.approx((0.72247, 1), abs=1e-5), name
    for name in ("mcc", "kappa"):
        assert (got[name]["low"], got[name]["high"]) == pytest.approx((2 * 0.72247 - 1, 1), abs=1e-4), name
    assert (got["brier_top"]["low"], got["brier_top"]["high"]) == pytest.approx((0, 1 - 0.72247), abs=1e-5)
    assert got["accuracy"]["interval"] == "Wilson"
    wrong = [{"label": t, "prediction": "ab"[t == "a"]} for t in names]
    got = scores(write(tmp_path / "wrong.csv", wrong))
    for name in ("accuracy", "macro_f1"):
        assert (got[name]["low"], got[name]["high"]) == pytest.approx((0, 1 - 0.72247), abs=1e-5), name
    assert "0.7225, 1.0000" in run_cli("evaluate", tmp_path / "right.csv").out


def test_micro_scores_of_single_labels(tmp_path: Path) -> None:
    """Labels a a b b c; predicted a b b b and nothing: 3 of 4 predictions are right, and 3 of 5 labels found."""
    rows = [{"label": t, "prediction": p} for t, p in zip("aabbc", ["a", "b", "b", "b", ""], strict=True)]
    got = scores(write(tmp_path / "t.csv", rows), metrics="micro_precision,micro_recall,micro_f1")
    assert {name: s["value"] for name, s in got.items()} == pytest.approx(
        {"micro_f1": 6 / 9, "micro_precision": 3 / 4, "micro_recall": 3 / 5}
    )
    assert (got["micro_precision"]["low"], got["micro_recall"]["interval"]) == (
        pytest.approx(0.3006, abs=1e-4),
        "Wilson",
    )


def test_brier_is_of_all_classes(tmp_path: Path) -> None:
    rows = [
        {"label": "a", "prediction": "a", "prediction_prob": 0.6, "probabilities": {"a": 0.6, "b": 0.3, "c": 0.1}},
        {"label": "c", "prediction": "b", "prediction_prob": 0.5, "probabilities": {"a": 0.4, "b": 0.5, "c": 0.1}},
        {"label": "z", "prediction": "b", "prediction_prob": 0.5, "probabilities": {"a": 0.4, "b": 0.5, "c": 0.1}},
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "t.parquet")
    got = scores("t.parquet", metrics="calibration")
    expected = (0.16 + 0.09 + 0.01 + 0.16 + 0.25 + 0.81 + 0.16 + 0.25 + 0.01 + 1) / 3
    assert got["brier"]["value"] == pytest.approx(expected)
    assert got["brier_top"]["value"] == pytest.approx((0.16 + 0.25 + 0.25) / 3)
    assert [got[name]["parameters"]["of"] for name in ("brier", "brier_top")] == ["all classes", "the predicted class"]
    # without the probabilities of all classes it is not made, and says so when it was asked for by name
    plain = write(tmp_path / "t.csv", [{k: v for k, v in row.items() if k != "probabilities"} for row in rows])
    assert "brier" not in scores(plain)
    named = scores(plain, metrics="brier")["brier"]
    assert named["value"] is None
    assert "probability of every class" in named["why"]
    broken = pl.DataFrame([{**row, "probabilities": {"a": 2.0}} for row in rows])
    broken.write_parquet(tmp_path / "broken.parquet")
    done = run_cli("evaluate", "broken.parquet")
    assert "the column 'probabilities' is ignored" in done.err


def test_nested_cells_of_csv_are_read_back(tmp_path: Path) -> None:
    """Probabilities of all classes, and labels of words with a probability each, as `predict` writes them to CSV."""
    cell = json.dumps({"a": 0.6, "b": 0.4})
    rows = [{"label": label, "prediction": "a", "prediction_prob": 0.6, "probabilities": cell} for label in "ab"]
    assert scores(write(tmp_path / "p.csv", rows), metrics="brier")["brier"]["value"] == pytest.approx(0.52)
    labels = json.dumps(["B-X", "O", "O"])
    words = [{"label": labels, "prediction": labels, "prediction_prob": "[0.9, 0.5, 0.5]"}] * 3
    assert scores(write(tmp_path / "w.csv", words))["span_f1"]["value"] == 1


def test_an_old_brier_is_not_held_against_the_new_one(tmp_path: Path) -> None:
    """`brier` was the score of the predicted class alone; its baselines say nothing of a definition."""
    rows = [{"label": "a", "prediction": "a", "prediction_prob": 0.9, "probabilities": {"a": 0.9, "b": 0.1}}] * 3
    pl.DataFrame([*rows, {**rows[0], "label": "b"}]).write_parquet(tmp_path / "t.parquet")
    run_cli("evaluate", "t.parquet", "-q", "-o", "now.json")
    old = json.loads((tmp_path / "now.json").read_text())
    old["targets"][0]["metrics"].pop("brier_top")
    old["targets"][0]["metrics"]["brier"] |= {"parameters": {}, "value": 0.5}
    (tmp_path / "old.json").write_text(json.dumps(old))
    says = run_cli("evaluate", "t.parquet", "--baseline", "old.json", code=3).error()
    assert "brier was measured by another definition in the baseline old.json (of: None, now all classes)" in says
    plain = write(tmp_path / "t.csv", [{k: v for k, v in row.items() if k != "probabilities"} for row in rows * 2])
    for baseline in ("old.json", "now.json"):
        done = run_cli("evaluate", plain, "--baseline", baseline)
        assert f"brier of the baseline {baseline} is not compared with anything" in done.err


def test_documents_without_a_topic_are_a_cluster_of_their_own(tmp_path: Path) -> None:
    rows = [{"label": t, "topic": k} for t, k in zip("aabb", [0, -1, -1, ""], strict=True)]
    done = run_cli("evaluate", write(tmp_path / "t.csv", rows), "--json")
    got = done.json()["targets"][0]
    assert got["metrics"]["purity"]["value"] == pytest.approx(3 / 4)
    assert got["metrics"]["purity"]["parameters"]["without_topic"] == 3
    assert got["matched_labels"] == {"0": "a", "-1": "b"}


def test_separation_of_a_table_with_embeddings(planted: Path, tmp_path: Path) -> None:
    table = pl.read_parquet(planted)
    topics = table["label"].replace_strict({"rivers": 0, "courts": 1, "music": 2, "space": 3}, return_dtype=pl.Int32)
    table.with_columns(topic=topics).write_parquet(tmp_path / "t.parquet")
    got = scores("t.parquet", metrics="ami,silhouette,dbcv")
    vectors = table["embedding"].to_numpy()
    assert got["silhouette"]["value"] == pytest.approx(
        theirs.silhouette_score(vectors, topics, metric="cosine"), abs=1e-6
    )
    assert got["silhouette"]["low"] < got["silhouette"]["value"] < got["silhouette"]["high"]
    assert got["dbcv"]["value"] > 0
    assert got["ami"]["value"] == pytest.approx(1)


def test_roc_auc_average_precision_and_the_label_among_three() -> None:
    run_cli("classify", NEWS, "--model", "nb", "--probabilities", "-q", "-o", "nb")
    got = scores("nb", metrics="ranking")
    rows = pq.read_table("nb/documents.parquet", columns=["label", "probabilities"]).to_pylist()
    names = list(rows[0]["probabilities"])
    p = np.array([[row["probabilities"][name] for name in names] for row in rows])
    true = [row["label"] for row in rows]
    binary = np.array([[label == name for name in names] for label in true])
    assert got["roc_auc"]["value"] == pytest.approx(theirs.roc_auc_score(binary, p, average="macro"))
    assert got["average_precision"]["value"] == pytest.approx(theirs.average_precision_score(binary, p))
    assert got["top3_accuracy"]["value"] == pytest.approx(theirs.top_k_accuracy_score(true, p, k=3, labels=names))
    assert got["roc_auc"]["low"] < got["roc_auc"]["value"] < got["roc_auc"]["high"]
    without = run_cli("evaluate", PREDICTIONS, "--metrics", "auc")
    assert "not defined: it needs the probability of every class" in " ".join(without.out.split())


def test_written_texts(tmp_path: Path) -> None:
    rows = [("The cat is on the mat.", "The cat sat on the mat."), ("hello there", None), (None, "more")]
    write_jsonl(tmp_path / "x.jsonl", [{"id": str(i), "label": a, "prediction": b} for i, (a, b) in enumerate(rows)])
    done = run_cli("evaluate", "x.jsonl", "--metrics", "rouge,bleu,chrf")
    assert [name for name in ("rouge_1", "rouge_2", "rouge_l", "bleu", "chrf") if name in done.out] == [
        "rouge_1", "rouge_2", "rouge_l", "bleu", "chrf",
    ]  # fmt: skip
    assert "1 document without a text to compare with: left out" in done.err
    assert "1 document without a written text: compared as an empty one" in done.err
    run_cli("evaluate", "x.jsonl", "--fail-under", "bleu=90", "-q", code=1)
    wrong = run_cli("evaluate", "x.jsonl", "--metrics", "rouge,accuracy", code=2).error()
    assert "rouge_1, rouge_2, rouge_l: no score of a table of predictions" in wrong
    write_jsonl(tmp_path / "ja.jsonl", [{"label": "猫が好きです。", "prediction": "犬が好きです。"}])
    assert "bleu cut: they count" in run_cli("evaluate", "ja.jsonl", "--metrics", "bleu,chrf").err
    assert "no spaces" not in done.err + run_cli("evaluate", "ja.jsonl", "--metrics", "chrf").err
    write_jsonl(tmp_path / "n.jsonl", [{"label": 1, "prediction": 2}])
    assert "texts are needed" in run_cli("evaluate", "n.jsonl", "--metrics", "bleu", code=3).error()
