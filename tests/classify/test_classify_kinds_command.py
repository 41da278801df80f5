"""Every kind of classifier by its declaration: learns, is saved, predicts as in training, and refuses what it has no use for."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import nlpkit as nk
from nlpkit.classify.kinds import KINDS
from nlpkit.errors import InputError
from tests.command_line import WORDS, files, planted_rows, run_cli, write_embedded
from tests.refusals import refuses

TORCH = importlib.util.find_spec("torch") is not None
LEARNED = [name for name, kind in KINDS.items() if kind.learned and (TORCH or name not in ("kan", "lstm", "cnn"))]
OF_CLASSES = [name for name in LEARNED if KINDS[name].task == "classes"]
QUICK: dict[str, Any] = {"near_duplicates": 0, "ci": 0}
QUICK_WORDS = ("--near-duplicates", "0", "--ci", "0", "-q")
OPTIONS: dict[str, tuple[str, Any]] = {  # the ability of kinds that have it, and a value
    "alpha": ("counts", 2.0), "priors": ("counts", "uniform"), "cost": ("penalty", 2.0), "hand_features": ("penalty", "all"),
    "feature_cols": ("penalty", "n"), "class_weight": ("balanced", "balanced"), "hidden": ("hidden", 9),
    "annotators": ("soft", "label,label"),
}  # fmt: skip


def documents(kind: str, per_topic: int = 12) -> list[dict[str, Any]]:
    """Four topics that words and vectors tell apart; of numbers and ordered classes, their places."""
    found = planted_rows(per_topic=per_topic)
    if KINDS[kind].task != "classes":
        found = [{**row, "label": list(WORDS).index(row["label"])} for row in found]
    return found


def options(kind: str) -> dict[str, Any]:
    task = KINDS[kind].task
    return {"model": kind} if task == "classes" else {"task": task}


@pytest.mark.parametrize("name", LEARNED)
def test_a_run_learns_and_predicts_as_in_training_on_any_number_of_threads(name: str, tmp_path: Path) -> None:
    kind, found = KINDS[name], documents(name)
    write_embedded(tmp_path / "train.parquet", found[:32])
    write_embedded(tmp_path / "test.parquet", found[32:])
    words = [text for key, value in options(name).items() for text in (f"--{key}", value)]
    for threads in ("1", "2"):
        split = ("--test", "test.parquet", "--threads", threads, "-o", threads)
        run_cli("classify", "train.parquet", *words, *QUICK_WORDS, *split)
    one, two = ({k: v for k, v in files(Path(run)).items() if k.endswith(".parquet")} for run in "12")
    assert one == two
    assert {Path(k).suffix for k in files(Path("1/model"))} == {".json", ".parquet"}
    report = json.loads(Path("1/metrics.json").read_text())["targets"][0]["metrics"]
    assert report["r2" if kind.task == "regression" else "accuracy"]["value"] > 0.7
    why = () if kind.dense else ("--explain", found[32]["id"])  # words of a vector are left out by its encoder
    run_cli("predict", "1", "test.parquet", *why, "-q", "-o", "p.parquet")
    then, now = pq.read_table("1/documents.parquet"), pq.read_table("p.parquet")
    columns = ["prediction"] if kind.task == "regression" else ["prediction", "prediction_prob"]
    assert [then.column(column).to_pylist() for column in columns] == [
        now.column(column).to_pylist() for column in columns
    ]
    assert now.column_names[-len(columns) :] == columns
    if kind.task != "regression":
        assert (now.column("prediction_prob").null_count == 0) == kind.probabilities
    told = json.loads(Path("1/manifest.json").read_text())["parameters"]
    assert (told["model"], told["sees"]) == (name, "embedding" if kind.dense else "words")


@pytest.mark.parametrize("name", LEARNED)
def test_it_refuses_what_it_has_no_use_for(name: str, tmp_path: Path) -> None:
    kind, data = KINDS[name], nk.read_corpus(write_embedded(tmp_path / "rows.parquet", documents(name, 4)))
    for option, (ability, value) in OPTIONS.items():
        able = getattr(kind, ability) and (option != "annotators" or kind.task == "classes")
        if not able:
            with refuses(option):
                nk.cross_validate(data, folds=2, **options(name), **QUICK, **{option: value})
    if name != "knn":
        with refuses("neighbors"):
            nk.cross_validate(data, folds=2, **options(name), **QUICK, neighbors=3)
    if not kind.probabilities:
        with refuses("probabilities"):
            nk.cross_validate(data, folds=2, **options(name), **QUICK, probabilities=True)
        with refuses("costs"):
            nk.cross_validate(data, folds=2, **options(name), **QUICK, costs={"rivers": {"stars": 2.0}})


@pytest.mark.parametrize("name", OF_CLASSES)
def test_several_labels_or_a_refusal(name: str, tmp_path: Path) -> None:
    found = [{**row, "label": [row["label"], *(["old"] if i % 8 < 4 else [])]} for i, row in enumerate(documents(name))]
    for row in found:
        if "old" in row["label"]:
            row |= {"text": f"{row['text']} ancient ancient", "embedding": [*row["embedding"][:-1], 1.0]}
    data = nk.read_corpus(write_embedded(tmp_path / "rows.parquet", found))
    if not KINDS[name].multi_label:
        with refuses("model"):
            nk.cross_validate(data, folds=2, model=name, **QUICK)
        return
    result = nk.cross_validate(data, folds=2, model=name, **QUICK)
    assert (result.evaluation["micro_f1"].value or 0) > 0.6
    result.classifier.save(tmp_path / "run")
    again = nk.load(tmp_path / "run").predict(data)
    assert again.column("prediction").to_pylist() == result.classifier.predict(data).column("prediction").to_pylist()


@pytest.mark.parametrize("name", OF_CLASSES)
def test_nothing_to_learn_from(name: str, tmp_path: Path) -> None:
    found = documents(name, 4)
    vector = found[0]["embedding"]
    empty, letters = ([{**row, "text": text, "embedding": vector} for row in found] for text in (" ", "a"))
    for rows in (empty, letters, [{**row, "label": "a"} for row in found]):
        data = nk.read_corpus(write_embedded(tmp_path / "rows.parquet", rows))
        with pytest.raises(InputError):
            nk.cross_validate(data, folds=2, model=name, **QUICK)
