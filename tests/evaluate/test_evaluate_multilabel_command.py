"""nlpkit evaluate on lists of labels, beside scikit-learn, and on the run directories of classifiers."""

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
from sklearn.preprocessing import MultiLabelBinarizer

import nlpkit as nk
from tests.command_line import SAMPLES, run_cli, write_jsonl

LABELS = ("courts", "economy", "health", "space", "sport")
SHARES = (0.3, 0.5, 0.2, 0.15, 0.35)
Row = dict[str, Any]


def rows(n: int = 120, *, wrong: float = 0.1, seed: int = 1) -> list[Row]:
    """Documents with the same sets of labels for any seed; some of them, and of the predictions, without a label."""
    true = np.random.default_rng(0).random((n, len(LABELS))) < SHARES
    found = true ^ (np.random.default_rng(1000 + seed).random(true.shape) < wrong)
    names = [[[LABELS[j] for j in np.flatnonzero(own)] for own in Y] for Y in (true, found)]
    pairs = enumerate(zip(*names, strict=True))
    return [{"id": f"d{i}", "label": t, "prediction": p, "prediction_prob": 0.5} for i, (t, p) in pairs]


def gaps(found: list[Row]) -> list[Row]:
    """The same with a document without a list of labels, and one without a prediction."""
    return [
        {**row, "label": None if i == 4 else row["label"], "prediction": None if i == 7 else row["prediction"]}
        for i, row in enumerate(found)
    ]


def write(path: Path, found: list[Row]) -> Path:
    if path.suffix == ".jsonl":
        write_jsonl(path, found)
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(found[0])
            writer.writerows([json.dumps(v) if isinstance(v, list) else v for v in row.values()] for row in found)
    else:
        pq.write_table(pa.Table.from_pylist(found), path)
    return path


def target(table: Any, **settings: Any) -> Row:
    found: Row = nk.evaluate(table, **settings).to_dict()["targets"][0]
    return found


def values(found: Row) -> dict[str, float]:
    return {name: score["value"] for name, score in found["metrics"].items()}


def scikit_learns(found: list[Row], beta: float = 1.0) -> dict[str, float]:
    kept = [row for row in found if row["label"] is not None]
    true, predicted = [r["label"] for r in kept], [r["prediction"] or [] for r in kept]
    binarizer = MultiLabelBinarizer().fit([*true, *predicted])
    Y, Z = binarizer.transform(true), binarizer.transform(predicted)
    expected = {
        "subset_accuracy": theirs.accuracy_score(Y, Z),
        "hamming_loss": theirs.hamming_loss(Y, Z),
        "samples_jaccard": theirs.jaccard_score(Y, Z, average="samples", zero_division=0),
    }
    for average in ("macro", "micro", "weighted", "samples"):
        p, r, f, _ = theirs.precision_recall_fscore_support(Y, Z, beta=beta, average=average, zero_division=0)
        expected |= {f"{average}_precision": p, f"{average}_recall": r, f"{average}_f{beta:g}": f}
    empty = float(np.mean(~(Y.any(axis=1) | Z.any(axis=1))))  # right, and not 0/0
    return {name: value + empty * name.startswith("samples_") for name, value in expected.items()}


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl", "t.csv"])
def test_scores_are_scikit_learns(tmp_path: Path, name: str) -> None:
    found = gaps(rows())
    assert any(row["label"] == [] for row in found)
    table = write(tmp_path / name, found)
    got = target(table, metrics="multilabel,classification")
    assert values(got) == pytest.approx(scikit_learns(found), abs=1e-12)
    assert {score["n"] for score in got["metrics"].values()} == {119}
    scores = got["metrics"]["macro_f1"]
    assert scores["low"] < scores["value"] < scores["high"]
    default = target(table, ci=0)
    assert list(default["metrics"])[:3] == ["subset_accuracy", "hamming_loss", "samples_jaccard"]
    assert {"macro_f1", "micro_f1", "weighted_f1", "samples_f1"} < set(default["metrics"])
    assert not {"accuracy", "kappa", "ece", "brier", "samples_recall"} & set(default["metrics"])


def test_by_hand(tmp_path: Path) -> None:
    """Sets {a,b} {b} {} {c}, found {a} {b} {} and none; a row without a list is left out, and so is its label."""
    cells = [(["a", "b"], ["a", "a"]), (["b"], [" b", ""]), ([], []), (["c"], None), (None, ["z"])]
    table = write(tmp_path / "t.jsonl", [{"label": t, "prediction": p} for t, p in cells])
    done = run_cli("evaluate", table, "--ci", "0")
    got = target(table, ci=0)
    assert [c["name"] for c in got["classes"]] == ["a", "b", "c"]
    assert (got["labels"], got["predicted"]) == ([1, 2, 1], [1, 1, 0])
    assert got["metrics"]["macro_f1"]["values"] == pytest.approx([1, 2 / 3, 0])
    assert values(got)["subset_accuracy"] == 2 / 4
    assert values(got)["hamming_loss"] == pytest.approx(2 / 12)
    assert values(got)["samples_jaccard"] == pytest.approx((1 / 2 + 1 + 1) / 4)  # two empty sets are alike
    assert got["metrics"]["samples_jaccard"]["parameters"]["empty"] == "right"
    assert values(got)["micro_f1"] == pytest.approx(2 * 2 / (2 * 2 + 2))
    for note in (
        "1 document without a prediction, which counts as a set without labels",
        "1 document with an empty list of labels: right where none is predicted",
        "1 document without a label that gets none: right, and 1 in the samples scores",
        "1 row without a label, left out",
        "labels that are never predicted: c",
    ):
        assert note in done.err
    assert ["b", "1.000", "0.500", "0.667", "2", "1"] in [line.split() for line in done.out.splitlines()]


def test_numbers_are_labels_as_in_other_tables(tmp_path: Path) -> None:
    found = [{"label": [1, 2.0], "prediction": ["1", "2"]}, {"label": [3], "prediction": [3.0, None]}]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(r) + "\n" for r in found), encoding="utf-8")
    got = target("t.jsonl", ci=0)
    assert [c["name"] for c in got["classes"]] == ["1", "2", "3"]
    assert values(got)["subset_accuracy"] == 1


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("t.parquet", ("label", "prediction")),
        ("t.jsonl", ("label",)),
        ("t.jsonl", ("prediction",)),
        ("t.csv", ("label", "prediction")),  # it has no lists, of which one column would be
    ],
)
def test_cells_with_several_labels_are_split(tmp_path: Path, name: str, split: tuple[str, ...]) -> None:
    """Cells cut at the separator score as the lists that were joined; an empty cell is no list."""
    lists = [{k: v or None for k, v in row.items()} for row in gaps(rows())]
    cells = [{k: " ;; ".join([*v, v[0]]) if k in split and v else v for k, v in row.items()} for row in lists]
    if name == "t.csv":
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(cells[0]))
            writer.writeheader()
            writer.writerows(cells)
    else:
        write(tmp_path / name, cells)
    got = target(tmp_path / name, label_sep=";")
    assert got["metrics"] == target(write(tmp_path / "lists.parquet", lists))["metrics"]
    assert 0.3 < got["metrics"]["subset_accuracy"]["value"] < 0.9


def test_split_numbers_are_labels_and_a_lone_separator_is_an_empty_list(tmp_path: Path) -> None:
    cells = [(1, "1"), ("1|2", "2|1.0"), ("|", "|"), ("2.0", " ")]
    table = write(tmp_path / "t.jsonl", [{"label": t, "prediction": p} for t, p in cells])
    got = target(table, label_sep="|", ci=0)
    assert [c["name"] for c in got["classes"]] == ["1", "1.0", "2", "2.0"]
    assert values(got)["subset_accuracy"] == 2 / 4


def test_topics_have_no_cells_to_split(tmp_path: Path) -> None:
    table = write(tmp_path / "t.jsonl", [{"label": "a;b", "topic": 0}, {"label": "b", "topic": 1}])
    for given in (table, SAMPLES / "topics.txt"):
        message = run_cli("evaluate", given, "--label-sep", ";", code=2).error()
        assert message.startswith("error: --label-sep is for tables with several labels"), given


def test_f_beta(tmp_path: Path) -> None:
    table = write(tmp_path / "t.parquet", rows())
    got = values(target(table, beta=2, ci=0))
    expected = scikit_learns(rows(), beta=2)
    assert {name: got[name] for name in ("macro_f2", "micro_f2", "weighted_f2", "samples_f2")} == pytest.approx(
        {name: expected[name] for name in ("macro_f2", "micro_f2", "weighted_f2", "samples_f2")}
    )
    assert not [name for name in got if name.endswith("_f1")]
    run_cli("evaluate", table, "--beta", "2", "--ci", "0", "--fail-under", "samples_f2=0.999", code=1)


def test_gates_and_baseline(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good.parquet", rows()), write(tmp_path / "bad.parquet", rows(wrong=0.3))
    done = run_cli("evaluate", good, "--ci", "0", "--fail-under", "micro_f1=0.6", "--fail-over", "hamming_loss=0.3")
    assert "gate passed" in done.err
    run_cli("evaluate", good, "--ci", "0", "--fail-under", "subset_accuracy=0.99", code=1)
    run_cli("evaluate", good, "--ci", "0", "-q", "-o", "metrics.json")
    against = ("--ci", "0", "--baseline", "metrics.json")
    run_cli("evaluate", good, *against)
    failed = run_cli("evaluate", bad, *against, "--max-drop", "hamming_loss=0.01", code=1)
    assert "hamming_loss" in failed.err.splitlines()[-1]
    beta = run_cli("evaluate", good, *against, "--beta", "2", "--metrics", "macro_recall", code=3)
    assert "another definition in the baseline metrics.json (beta: 1.0, now 2.0)" in beta.error()


def test_what_is_written(tmp_path: Path) -> None:
    table = write(tmp_path / "t.parquet", rows())
    page = run_cli("evaluate", table, "--markdown", "--ci", "0", "-q", "-o", "s.parquet").out
    assert "| subset_accuracy |" in page
    assert "| economy |" in page
    scores = pl.read_parquet("s.parquet")
    f1 = scores.filter(pl.col("metric") == "macro_f1")
    of_labels = f1.filter(pl.col("unit").is_not_null())
    assert of_labels["unit"].to_list() == list(LABELS)
    assert of_labels["value"].mean() == pytest.approx(f1.filter(pl.col("unit").is_null())["value"][0])


def test_two_tables_are_compared_by_document(tmp_path: Path) -> None:
    one, two = gaps(rows()), gaps(rows(wrong=0.3, seed=2))
    first, second = write(tmp_path / "one.parquet", one), write(tmp_path / "two.jsonl", two[::-1])
    done = run_cli("evaluate", first, second, "--metrics", "subset_accuracy,macro_f1,samples_f1", "--json").json()
    found = {c["metric"]: c for c in done["comparisons"]}
    expected = {name: scikit_learns(one)[name] - scikit_learns(two)[name] for name in found}
    assert {name: c["difference"] for name, c in found.items()} == pytest.approx(expected)
    assert found["macro_f1"]["p_value"] < 0.01
    assert found["macro_f1"]["low"] < found["macro_f1"]["difference"] < found["macro_f1"]["high"]
    assert "bootstrap" in found["macro_f1"]["interval"]
    # the same against itself
    same = run_cli("evaluate", first, first, "--metrics", "macro_f1", "--json").json()["comparisons"][0]
    assert (same["difference"], same["p_value"]) == (0, 1)
    # other documents, other labels of them, and ids that come twice: a difference and no p
    others = {
        "fewer": one[:100],
        "relabelled": [{**one[0], "label": ["war"]}, *one[1:]],
        "twice": [{**row, "id": str(i // 2)} for i, row in enumerate(one)],
    }
    for name, found_rows in others.items():
        other = write(tmp_path / f"{name}.parquet", found_rows)
        pair = [other, other] if name == "twice" else [first, other]
        apart = run_cli("evaluate", *pair, "--metrics", "macro_f1", "--json").json()["comparisons"][0]
        assert apart["p_value"] is None, name


def test_pairing_knows_labels_by_their_names(tmp_path: Path) -> None:
    """One table predicts a label that the other does not have: the columns of the labels are others, the documents the same."""
    one = rows()
    two = [{**row, "prediction": ["arts", *row["prediction"]]} for row in one]
    first, second = write(tmp_path / "one.parquet", one), write(tmp_path / "two.parquet", two)
    found = run_cli("evaluate", first, second, "--metrics", "micro_precision", "--json").json()["comparisons"][0]
    assert found["difference"] > 0.2
    assert found["p_value"] < 0.01


def test_many_documents_are_left_out_in_groups(tmp_path: Path) -> None:
    first = write(tmp_path / "one.parquet", rows(2500))
    second = write(tmp_path / "two.parquet", rows(2500, wrong=0.12, seed=2))
    done = run_cli("evaluate", first, second, "--metrics", "micro_f1", "--json").json()
    (found,) = done["comparisons"]
    assert found["interval"] == "jackknife over documents"
    assert done["targets"][0]["metrics"]["micro_f1"]["interval"] == "jackknife over documents"
    assert 0 < found["low"] < found["difference"] < found["high"]


@pytest.mark.parametrize(
    ("cells", "words", "code", "message"),
    [
        ([(["a"], ["a"])], ["--metrics", "accuracy"], 2, "accuracy: no score of a table of sets of labels and predictions"),
        ([(["a"], ["a"])], ["--metrics", "calibration"], 2, "ece, brier, brier_top: no score of a table of sets"),
        ([(["a"], "a")], [], 3, "'label' holds lists of labels and 'prediction' does not; both need lists"),
        ([("a", ["a"])], [], 3, "'prediction' holds lists of labels and 'label' does not"),
        ([(["a"], None)], [], 3, "no row has a prediction (1 row); name the column with --prediction-col"),
        ([(None, ["a"])], [], 3, "no row has a label (1 row); name the column with --label-col"),
        ([(["a"], ["a"]), ("b", ["a"])], [], 3, "'label' of row 2 is 'b', and others are lists of labels"),
        ([(["a"], [{"label": "a"}])], [], 3, "'prediction' of row 1 is [{'label': 'a'}]"),
        ([([], []), ([], None)], [], 3, "all lists of 'label' and 'prediction' are empty"),
        ([("a;b", ["a"])], [], 3, "split them with --label-sep ';', or name the columns with --label-col and --prediction-col"),
        ([(["a"], "a, b")], [], 3, "split them with --label-sep ','"),
        ([("a", "a")], ["--label-sep", ""], 2, "--label-sep is empty"),
        ([(1, 1.5), (2, 2.5)], ["--label-sep", ";"], 2, "does not apply to numbers, which"),
        ([("a;b", {"c": 1})], ["--label-sep", ";"], 3, "'label' holds lists of labels and 'prediction' does not"),
        ([(";", " ; ")], ["--label-sep", ";"], 3, "all lists of 'label' and 'prediction' are empty"),
        ([("a", "a")], ["--metrics", "subset_accuracy"], 2, "subset_accuracy: no score of a table of predictions and labels"),
    ],
)  # fmt: skip
def test_what_cannot_be_scored(
    tmp_path: Path, cells: list[tuple[Any, Any]], words: list[str], code: int, message: str
) -> None:
    write(tmp_path / "t.jsonl", [{"label": t, "prediction": p} for t, p in cells])
    assert message in run_cli("evaluate", "t.jsonl", *words, code=code).error()


def test_lists_and_single_labels_have_no_score_in_common(tmp_path: Path) -> None:
    sets = write(tmp_path / "sets.jsonl", rows())
    single = write(tmp_path / "single.jsonl", [{"id": "a", "label": "a", "prediction": "a"}])
    message = run_cli("evaluate", sets, single, code=2).error()
    assert "sets.jsonl holds lists of labels and" in message
    assert "They have no score in common; evaluate them separately" in message


def test_topics_are_not_held_against_lists(tmp_path: Path) -> None:
    table = write(tmp_path / "t.jsonl", [{"label": ["a"], "topic": 0}, {"label": ["b"], "topic": 1}])
    assert "'label' holds lists; topics are compared" in run_cli("evaluate", table, code=3).error()


def test_a_topic_model_of_documents_with_lists(own_run: Path) -> None:
    table = pq.read_table(own_run / "documents.parquet")
    lists = pa.array([[v] for v in table.column("label").to_pylist()])
    at = table.column_names.index("label")
    pq.write_table(table.set_column(at, "label", lists), own_run / "documents.parquet")
    done = run_cli("evaluate", own_run, "--metrics", "diversity", "--no-verify")
    assert "'label' holds lists; topics are compared" in done.err
    table = pq.read_table(own_run / "documents.parquet")
    pq.write_table(table.append_column("tags", lists), own_run / "documents.parquet")
    for column in ("label", "tags"):
        line = ("evaluate", own_run, "--metrics", "fmi", "--no-verify", "--label-col", column)
        assert f"column '{column}' does not have one label of each document" in run_cli(*line).out


# ---------------------------------------------------------------- run directories of classifiers

WORDS = {
    "sport": "match goal team coach player season",
    "space": "orbit rocket planet telescope launch moon",
    "politics": "vote minister parliament election party law",
}


def corpus(*, several: bool = False) -> list[Row]:
    rng = np.random.default_rng(5)
    found: list[Row] = []
    for i in range(36):
        label = list(WORDS)[i % 3]
        other = list(WORDS)[(i + 1 + i // 3 % 2) % 3]
        own = [label, other] if several and i % 4 == 0 else [label]
        words = [w for name in own for w in rng.choice(WORDS[name].split(), 3)]
        words += list(rng.choice(WORDS[other].split(), 2))
        found.append({"id": f"n{i}", "text": " ".join(words), "label": own if several else label})
    found[5]["label"] = None
    return found


def classifier(path: Path, found: list[Row], model: str) -> Path:
    write_jsonl(path.with_suffix(".jsonl"), found)
    run_cli("classify", path.with_suffix(".jsonl"), "--model", model, "--cv", "3", "-q", "-o", path)
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[bool, str], Path]:
    where = tmp_path_factory.mktemp("classifiers")
    return {
        (several, model): classifier(where / f"{model}{several:d}", corpus(several=several), model)
        for several in (False, True)
        for model in ("nb", "logreg")
    }


@pytest.mark.parametrize("several", [False, True])
def test_the_run_of_a_classifier_is_scored_as_it_scored_itself(
    runs: dict[tuple[bool, str], Path], several: bool
) -> None:
    run = runs[several, "nb"]
    own = json.loads((run / "metrics.json").read_text(encoding="utf-8"))["targets"][0]
    done = run_cli("evaluate", run, "--json")
    got = done.json()["targets"][0]
    assert got["target"] == str(run)
    of_all_classes = values(own).keys() - values(got).keys()  # which the run keeps with --probabilities
    assert of_all_classes == (set() if several else {"brier"})
    expected = {k: v for k, v in values(own).items() if k not in of_all_classes}
    assert values(got) == pytest.approx(expected, abs=1e-6)  # probabilities are stored as float32
    name = "subset_accuracy" if several else "accuracy"
    assert got["metrics"][name] == own["metrics"][name]
    assert got["metrics"]["macro_f1"]["values"] == own["metrics"]["macro_f1"]["values"]
    assert got["metrics"][name]["n"] == 35
    assert "1 row without a label, left out" in run_cli("evaluate", run, "--ci", "0").err
    table = run_cli("evaluate", run / "documents.parquet", "--json").json()["targets"][0]
    assert table["metrics"] == got["metrics"]


@pytest.mark.parametrize("several", [False, True])
def test_runs_of_classifiers_are_compared(runs: dict[tuple[bool, str], Path], several: bool) -> None:
    first, second = runs[several, "nb"], runs[several, "logreg"]
    found = run_cli("evaluate", first, second, "--metrics", "macro_f1", "--json").json()
    assert [t["target"] for t in found["targets"]] == [str(first), str(second)]
    one, two = (t["metrics"]["macro_f1"]["value"] for t in found["targets"])
    assert one != two
    (comparison,) = found["comparisons"]
    assert comparison["difference"] == pytest.approx(one - two)
    assert 0 < comparison["p_value"] <= 1


def test_a_run_of_a_classifier_is_no_topic_model(runs: dict[tuple[bool, str], Path], planted_run: Path) -> None:
    run = runs[False, "nb"]
    assert "no column 'kind' (found: id, label" in run_cli("evaluate", run, "--label-col", "kind", code=3).error()
    assert run_cli("evaluate", run, "--dry-run").out.split()[-2:] == [str(run), "predictions"]


def test_a_run_of_a_classifier_without_documents(tmp_path: Path) -> None:
    run = classifier(tmp_path / "run", corpus(), "nb")
    (run / "documents.parquet").unlink()
    assert "has no documents.parquet; it is incomplete" in run_cli("evaluate", run, code=3).error()
