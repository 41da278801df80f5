"""nlpkit classify: training, scores, prediction, and what real files bring."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.platform.runs.artifacts import read_footer, write_table
from tests.command_line import NEWS, planted_rows, run_cli, write_embedded, write_jsonl
from tests.encoder_models import write_model

SPORT = ["the team won the match", "a goal in the last minute", "the coach praised the team", "fans cheered the goal"]
SPACE = [
    "the probe reached orbit",
    "a telescope saw the planet",
    "the rocket left its orbit",
    "stars around the planet",
]
POLITICS = [
    "the vote in parliament",
    "a minister lost the vote",
    "parliament passed the law",
    "the minister signed a law",
]


def rows(times: int = 5, **more: Any) -> list[dict[str, Any]]:
    """Three classes that words tell apart, `times` · 4 documents each."""
    texts = {"sport": SPORT, "space": SPACE, "politics": POLITICS}
    found = []
    for i in range(times):
        for name, own in texts.items():
            found += [
                {"id": f"{name}{i}{j}", "text": f"{text} no {i}{j}", "label": name, **more}
                for j, text in enumerate(own)
            ]
    return found


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of Naive Bayes on the three classes."""
    folder = tmp_path_factory.mktemp("classify")
    wrong = [{**row, "label": "space"} if i % 20 == 0 else row for i, row in enumerate(rows())]
    write_jsonl(folder / "train.jsonl", wrong)
    run_cli("classify", folder / "train.jsonl", "--model", "nb", "-q", "-o", folder / "run")
    return folder / "run"


def metrics(run: Path | str) -> dict[str, float]:
    report = json.loads((Path(run) / "metrics.json").read_text())
    return {name: score["value"] for name, score in report["targets"][0]["metrics"].items()}


# ---------------------------------------------------------------- a run


@pytest.mark.parametrize(
    ("times", "options", "C"),
    [
        (5, (), 10.0),
        (3, (), 1.0),
        (5, ("--cost", "2"), 2.0),
        (5, ("--model", "svm"), 1.0),
        (5, ("--tf", "raw"), 1.0),
        (5, ("--on", "columns", "--feature-cols", "size"), 1.0),
    ],
)
def test_the_penalty_is_weak_for_words_of_many_documents(times: int, options: tuple[str, ...], C: float) -> None:
    """Of 20 documents a class 16 are in the training part of a fold, of 12 none has as many."""
    write_jsonl(Path("train.jsonl"), [{**row, "size": i} for i, row in enumerate(rows(times))])
    shown = run_cli("classify", "train.jsonl", *options, "-q", "-o", "run").out
    assert json.loads(Path("run/manifest.json").read_text())["parameters"]["options"]["C"] == C
    assert f"training documents, cost {C:g}), cross-validation" in shown


def test_a_run_has_what_was_promised(trained: Path) -> None:
    names = {p.name for p in trained.iterdir()}
    assert names >= {
        "manifest.json", "metrics.json", "documents.parquet", "classes.parquet", "confusion.parquet", "class_terms.parquet",
        "errors.parquet", "model",
    }  # fmt: skip
    assert {p.suffix for p in (trained / "model").iterdir()} == {".json", ".parquet"}
    documents = pq.read_table(trained / "documents.parquet")
    assert documents.column("id").to_pylist() == [row["id"] for row in rows()]
    assert set(documents.column("fold").to_pylist()) == {0, 1, 2, 3, 4}
    assert documents.column("prediction_prob").to_numpy().min() > 1 / 3
    footer = read_footer(trained / "documents.parquet")
    assert footer is not None
    assert footer["command"] == "classify"
    manifest = json.loads((trained / "manifest.json").read_text())
    assert manifest["kind"] == "classify"
    assert manifest["parameters"]["classes"] == ["politics", "space", "sport"]


def test_scores_stand_beside_the_majority_class(trained: Path) -> None:
    report = json.loads((trained / "metrics.json").read_text())
    model, majority, *_ = report["targets"]
    assert 0.85 < model["metrics"]["accuracy"]["value"] < 1
    assert model["metrics"]["accuracy"]["low"] < model["metrics"]["accuracy"]["value"]
    assert majority["target"] == "majority baseline"
    assert majority["metrics"]["accuracy"]["value"] == pytest.approx(1 / 3, abs=0.1)
    shown = run_cli("evaluate", trained / "documents.parquet", "--json", "-q").json()
    again = shown["targets"][0]["metrics"]
    assert again["macro_f1"]["value"] == pytest.approx(model["metrics"]["macro_f1"]["value"], abs=1e-12)


def test_words_that_tell_classes_apart(trained: Path) -> None:
    table = pq.read_table(trained / "class_terms.parquet").to_pylist()
    best = {row["term"] for row in table if row["class"] == "space" and row["rank"] <= 3}
    assert best & {"orbit", "planet"}
    assert {row["term"] for row in table if row["class"] == "politics"} >= {"vote", "law", "minister", "parliament"}
    assert all(row["weight"] > 0 for row in table)
    ranks = [row["rank"] for row in table if row["class"] == "sport"]
    assert ranks == list(range(1, len(ranks) + 1))


def test_shown_on_stdout_and_told_on_stderr(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", rows())
    done = run_cli("classify", "t.jsonl", "--model", "nb", "-o", "run")
    for part in ("macro_f1", "majority baseline", "Most telling words", "cross-validation in 5 folds"):
        assert part in done.out
    assert "cost" not in done.out  # Naive Bayes has none
    assert "wrote run/" in done.err
    assert "macro_f1" not in done.err
    one = run_cli("classify", "t.jsonl", "--model", "nb", "--force", "--json", "-q", "-o", "run").json()
    assert one["run"] == "run"
    assert one["targets"][0]["metrics"]["macro_f1"]["value"] > 0.9
    markdown = run_cli("classify", "t.jsonl", "--model", "nb", "--force", "--markdown", "-q", "-o", "run").out
    assert "| metric |" in markdown


def test_the_same_bytes_on_any_number_of_threads(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", rows(8))
    options = ["--calibrate", "sigmoid", "--select", "chi2:20", "--ngrams", "1,2"]
    for threads in ("1", "2"):
        run_cli("classify", "t.jsonl", *options, "--threads", threads, "-q", "-o", f"run{threads}")
    for path in sorted(Path("run1").rglob("*.parquet")):
        assert path.read_bytes() == (Path("run2") / path.relative_to("run1")).read_bytes(), path


# ---------------------------------------------------------------- test sets


def test_a_test_file(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "train.jsonl", rows(4))
    write_jsonl(tmp_path / "test.jsonl", [{**row, "id": f"t{i}", "source": "x"} for i, row in enumerate(rows(1))])
    run_cli("classify", "train.jsonl", "--test", "test.jsonl", "--twins", "0", "-q", "-o", "run")
    documents = pq.read_table("run/documents.parquet")
    assert documents.column("id").to_pylist() == [f"t{i}" for i in range(12)]
    assert "fold" not in documents.column_names


def test_a_split_column(tmp_path: Path) -> None:
    found = [
        {**row, "part": "test" if i % 4 == 0 else "dev" if i % 4 == 1 else "train"} for i, row in enumerate(rows(8))
    ]
    write_jsonl(tmp_path / "t.jsonl", found)
    done = run_cli("classify", "t.jsonl", "--split", "part", "-o", "run")
    assert "24 documents are neither train nor test in 'part'" in done.err
    documents = pq.read_table("run/documents.parquet")
    assert set(documents.column("part").to_pylist()) == {"test"}
    run_cli("classify", "t.jsonl", "--split", "part=dev", "-q", "-o", "run2")
    assert set(pq.read_table("run2/documents.parquet").column("part").to_pylist()) == {"dev"}
    error = run_cli("classify", "t.jsonl", "--split", "part=no", "-o", "run3", code=2).error()
    assert "no row is test (values found: dev, test, train)" in error


def test_groups_stay_in_one_fold(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", [{**row, "author": f"a{i % 17}"} for i, row in enumerate(rows())])
    run_cli("classify", "t.jsonl", "--model", "nb", "--groups", "author", "--cv", "4", "-q", "-o", "run")
    table = pq.read_table("run/documents.parquet")
    folds: dict[str, set[int]] = {}
    for author, fold in zip(table.column("author").to_pylist(), table.column("fold").to_pylist(), strict=True):
        folds.setdefault(author, set()).add(fold)
    assert all(len(own) == 1 for own in folds.values())


def test_classes_of_one_group_are_told(tmp_path: Path) -> None:
    found = rows()
    by_author = [{**row, "author": f"a{i % 5}"} for i, row in enumerate(found)]
    write_jsonl(
        tmp_path / "t.jsonl",
        [*by_author, *({**found[0], "id": f"n{i}", "label": "new", "author": "new"} for i in range(3))],
    )
    done = run_cli("classify", "t.jsonl", "--model", "nb", "--groups", "author", "--cv", "2", "-o", "run")
    assert "classes in a single group: new; such a document is always wrong" in done.err


def test_more_documents_are_predicted_at_once(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", rows())
    write_jsonl(tmp_path / "new.jsonl", [{"id": "a", "text": "a rocket in orbit"}])
    run_cli("classify", "t.jsonl", "--model", "nb", "--predict", "new.jsonl", "-q", "-o", "run")
    assert pq.read_table("run/predictions.parquet").column("prediction").to_pylist() == ["space"]
    told = run_cli("classify", "t.jsonl", "--model", "nb", "--predict", "new.jsonl", "--json", "-q", "-f", "-o", "run")
    assert told.json()["predicted"]["predictions"] == {"politics": 0, "space": 1, "sport": 0}
    error = run_cli("classify", "t.jsonl", "--predict", "no.jsonl", "-o", "never", code=3).error()
    assert error.startswith("error: --predict no.jsonl")
    assert not Path("never").exists()


def test_near_duplicates_are_found_and_left_out_once(tmp_path: Path) -> None:
    train = rows(4)
    long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    train += [{"id": "twin", "text": f"{long} the rocket in orbit", "label": "space"}]
    test = [{**row, "id": f"t{i}"} for i, row in enumerate(rows(1, source="new"))]
    test = [{**row, "text": f"{row['text']} different words here"} for row in test]
    test += [{"id": "copy", "text": f"{long} the rocket in orbit!", "label": "sport"}]
    write_jsonl(tmp_path / "train.jsonl", train)
    write_jsonl(tmp_path / "test.jsonl", test)
    done = run_cli("classify", "train.jsonl", "--test", "test.jsonl", "--model", "nb", "-o", "run")
    assert "1 test document of 13 is a near-duplicate" in done.err
    twins = pq.read_table("run/twins.parquet").to_pylist()
    assert [(t["id"], t["twin"], t["label"], t["twin_label"]) for t in twins] == [("copy", "twin", "sport", "space")]
    assert "without near-duplicates" in done.out
    apart = json.loads(Path("run/metrics.json").read_text())["targets"][2]
    assert apart["metrics"]["accuracy"]["n"] == 12


def test_twins_with_the_same_labels_in_another_order(tmp_path: Path) -> None:
    long = "one two three four five six seven eight nine ten eleven twelve"
    train = [{**row, "id": f"a{i}", "label": [row["label"]]} for i, row in enumerate(rows(3))]
    train += [{"id": "twin", "text": long, "label": ["space", "sport"]}]
    write_jsonl(tmp_path / "train.jsonl", train)
    test = [{"id": "t", "text": long, "label": ["sport", "space"]}, {"id": "u", "text": long, "label": None}]
    write_jsonl(tmp_path / "test.jsonl", [*test, {"id": "v", "text": "the vote", "label": ["politics"]}])
    done = run_cli("classify", "train.jsonl", "--test", "test.jsonl", "-o", "run")
    assert (
        "2 test documents of 3 are near-duplicates of a training document (1 with the same label, 1 without one)"
        in done.err
    )
    assert (
        "1 document without a label: predicted in documents.parquet of the run, but not used for training or scoring"
        in done.err
    )


def test_own_columns_in_the_way(tmp_path: Path) -> None:
    found = [{**row, "fold": 7, "meta": {"a": 1}, "note": "x"} for row in rows()]
    write_jsonl(tmp_path / "t.jsonl", found)
    write_jsonl(tmp_path / "test.jsonl", [{**row, "meta": {"b": "y"}} for row in found])
    done = run_cli("classify", "t.jsonl", "--test", "test.jsonl", "--model", "nb", "--twins", "0", "-o", "run")
    assert "columns of other types in the test documents are left out: meta" in done.err
    assert "of the input is dropped, because the run has a column with" in done.err
    assert pq.read_table("run/documents.parquet").column("note").to_pylist() == ["x"] * 60


# ---------------------------------------------------------------- gates


def test_gates(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", rows())
    base = ["classify", "t.jsonl", "--model", "nb", "-o"]
    done = run_cli(*base, "run", "--fail-under", "macro_f1=0.5,accuracy=0.5", "--junit", "j.xml")
    assert "gate passed: predictions: macro_f1" in done.err
    assert 'failures="0"' in Path("j.xml").read_text()
    done = run_cli(*base, "run2", "--baseline", "run/metrics.json")
    assert done.err.count("gate passed: ") > 5  # nothing is worse than in the run before
    done = run_cli(*base, "run3", "--fail-over", "ece=0.000001", code=1)
    assert "error: gate failed: predictions: ece" in done.err
    assert Path("run3/metrics.json").exists()  # the run is there to look at


# ---------------------------------------------------------------- what real labels are like


def test_labels_missing_in_some_rows(tmp_path: Path) -> None:
    found = rows()
    for row in found[:3]:
        row["label"] = None
    found[3]["label"] = ""
    write_jsonl(tmp_path / "t.jsonl", found)
    done = run_cli("classify", "t.jsonl", "--model", "nb", "-o", "run")
    assert (
        "4 documents without a label: predicted in documents.parquet of the run, but not used for training or scoring"
        in done.err
    )
    table = pq.read_table("run/documents.parquet")
    assert table.column("id").to_pylist() == [row["id"] for row in found]
    assert table.column("label").null_count == 4
    assert table.column("prediction").to_pylist()[:4] == ["sport"] * 4
    assert table.column("fold").null_count == 4


@pytest.mark.parametrize(
    ("found", "options", "code", "says"),
    [
        ([{"text": "a b", "label": "x"}] * 6, [], 3, "all labelled training documents have the label 'x'"),
        ([{"text": "a b", "label": None}] * 6, [], 3, "no training document has a label"),
        ([{"text": "a b"}] * 6, [], 3, "has no column 'label'"),
        ([], [], 3, "no documents: t.jsonl has no rows"),
        ([{"text": "a b", "label": "x"}, {"text": "c", "label": "y"}], [], 3, "with a label: this is too few to train and test"),
        ([{"text": "", "label": "x"}, {"text": " ", "label": "y"}] * 6, [], 3, "no word to learn from"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant(
    found: list[dict[str, Any]], options: list[str], code: int, says: str, tmp_path: Path
) -> None:
    write_jsonl(tmp_path / "t.jsonl", found)
    done = run_cli("classify", "t.jsonl", *options, "-o", "run", code=code)
    assert says in done.error()
    assert not Path("run").exists()


def test_a_class_of_one_document(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", [*rows(), {"id": "one", "text": "a violin in the orchestra", "label": "music"}])
    done = run_cli("classify", "t.jsonl", "--model", "logreg", "--calibrate", "sigmoid", "-o", "run")
    assert "classes of a single document: music" in done.err
    table = pq.read_table("run/documents.parquet").to_pylist()
    assert table[-1]["prediction"] != "music"
    write_jsonl(tmp_path / "new.jsonl", [{"text": "violin orchestra"}])
    run_cli("predict", "run", "new.jsonl", "--probabilities", "-q", "-o", "p.parquet")
    found = pq.read_table("p.parquet").to_pylist()[0]
    assert set(found["probabilities"]) == {"music", "politics", "space", "sport"}
    assert sum(found["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert found["prediction_prob"] == pytest.approx(max(found["probabilities"].values()))


def test_labels_that_training_does_not_have(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "train.jsonl", rows(4))
    write_jsonl(tmp_path / "test.jsonl", [*rows(1), {"id": "m", "text": "a violin", "label": "music"}])
    done = run_cli("classify", "train.jsonl", "--test", "test.jsonl", "--model", "nb", "--twins", "0", "-o", "run")
    assert (
        "labels of test documents that no training document has: 'music' (1); these are always counted as wrong"
        in done.err
    )
    assert metrics("run")["accuracy"] <= 12 / 13
    classes = pq.read_table("run/classes.parquet").to_pylist()
    music = next(row for row in classes if row["class"] == "music")
    assert (music["training_documents"], music["labels"], music["recall"]) == (0, 1, 0.0)


def test_numbers_and_other_scripts_as_labels(tmp_path: Path) -> None:
    names = {"sport": 1, "space": 2, "politics": 10}
    write_jsonl(tmp_path / "n.jsonl", [{**row, "label": names[row["label"]]} for row in rows()])
    run_cli("classify", "n.jsonl", "--model", "nb", "-q", "-o", "n")
    assert json.loads(Path("n/manifest.json").read_text())["parameters"]["classes"] == ["1", "2", "10"]
    scripts = {"sport": "スポーツ", "space": "größe/ß", "politics": '政治 "x"'}
    write_jsonl(tmp_path / "s.jsonl", [{**row, "label": scripts[row["label"]]} for row in rows()])
    run_cli("classify", "s.jsonl", "--model", "nb", "--probabilities", "-q", "-o", "s")
    table = pq.read_table("s/documents.parquet")
    assert set(table.column("prediction").to_pylist()) <= set(scripts.values())
    assert {f.name for f in table.schema.field("probabilities").type} == set(scripts.values())


def test_empty_texts_keep_their_rows(tmp_path: Path) -> None:
    found = rows()
    found[5]["text"] = ""
    found[6]["text"] = "!!!"
    write_jsonl(tmp_path / "t.jsonl", found)
    done = run_cli("classify", "t.jsonl", "--model", "svm", "-o", "run")
    assert (
        "warning: 1 document without text: they are used for training and scoring like all others; --keep-if can leave them out"
        in done.err
    )
    table = pq.read_table("run/documents.parquet")
    assert table.num_rows == len(found)
    assert table.column("prediction").null_count == 0
    write_jsonl(tmp_path / "new.jsonl", [{"id": "e", "text": ""}, {"id": "x", "text": "zzzz qqqq"}])
    done = run_cli("predict", "run", "new.jsonl", "-o", "p.parquet")
    assert "2 documents hold no word that run knows: they get the class of a text without words" in done.err
    assert pq.read_table("p.parquet").column("id").to_pylist() == ["e", "x"]


def test_sets_of_labels(tmp_path: Path) -> None:
    found = [{**row, "label": [row["label"], *(["old"] if i % 3 else [])]} for i, row in enumerate(rows(8))]
    found = [{**row, "text": row["text"] + (" ancient" if "old" in row["label"] else "")} for row in found]
    found[0]["label"] = []
    write_jsonl(tmp_path / "t.jsonl", found)
    done = run_cli("classify", "t.jsonl", "--model", "logreg", "--cost", "10", "-o", "run")
    assert "subset_accuracy" in done.out
    assert metrics("run")["micro_f1"] > 0.9
    table = pq.read_table("run/documents.parquet")
    assert str(table.schema.field("prediction").type).startswith("list<")
    write_jsonl(tmp_path / "new.jsonl", [{"text": "an ancient planet and its orbit"}])
    run_cli("predict", "run", "new.jsonl", "-q", "-o", "p.parquet")
    assert sorted(pq.read_table("p.parquet").column("prediction").to_pylist()[0]) == ["old", "space"]
    cells = [{**row, "label": " ; ".join(row["label"])} for row in found]
    write_jsonl(tmp_path / "c.jsonl", cells)
    run_cli("classify", "c.jsonl", "--model", "logreg", "--cost", "10", "--label-sep", ";", "-q", "-o", "cells")
    assert metrics("cells")["micro_f1"] > 0.9


# ---------------------------------------------------------------- prediction


def test_prediction_is_that_of_the_model_and_ids_stay(trained: Path, tmp_path: Path) -> None:
    found = [{"id": row["id"], "text": row["text"], "note": i} for i, row in enumerate(reversed(rows()))]
    write_jsonl(tmp_path / "new.jsonl", found)
    done = run_cli("predict", trained, "new.jsonl", "--json", "-o", "p.parquet")
    table = pq.read_table("p.parquet")
    assert table.column_names == ["id", "text", "note", "prediction", "prediction_prob"]
    assert table.column("id").to_pylist() == [row["id"] for row in found]
    assert done.json()["predictions"] == {"politics": 20, "space": 20, "sport": 20}
    lines = run_cli("predict", trained, "new.jsonl", "-q", "-o", "-").out.splitlines()
    assert json.loads(lines[0])["prediction"] == "politics"
    error = run_cli("predict", trained, "new.jsonl", "--assign-outliers", "-o", "q.parquet", code=2).error()
    assert "--assign-outliers" in error


def test_why(trained: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "new.jsonl", [{"id": "a", "text": "the rocket reached the planet before the vote"}])
    done = run_cli("predict", trained, "new.jsonl", "--explain", "a")
    assert done.out.startswith("a: space, probability")
    told = run_cli("predict", trained, "new.jsonl", "--explain", "a", "--json", "-q").json()
    words = {w["term"]: w["contribution"] for w in told["explained"]["a"][0]["words"]}
    assert words["planet"] > 0 > words["vote"]
    assert (
        "no document of new.jsonl has that id"
        in run_cli("predict", trained, "new.jsonl", "--explain", "b", code=3).error()
    )


@pytest.mark.parametrize(
    "options",
    [
        ["--ngrams", "1,2"],
        ["--tokenizer", "chars:2-3"],
        ["--stem", "english", "--stop-words", "en"],
        ["--phrases", "npmi:0.1:2"],
        ["--hand-features", "all"],
        ["--select", "mi:10"],
        ["--scheme", "bm25"],
        ["--calibrate", "isotonic"],
        ["--html", "--keep", "number"],
        ["--class-weight", "balanced", "--lemma", "dict", "--language", "en"],
    ],
    ids=lambda o: o[0],
)
def test_a_model_predicts_documents_as_it_was_trained(options: list[str], tmp_path: Path) -> None:
    """With a test set, the run predicts the same file as in training: to the bit."""
    write_jsonl(tmp_path / "train.jsonl", rows(6))
    write_jsonl(tmp_path / "test.jsonl", [{**row, "id": f"t{i}"} for i, row in enumerate(rows(2))])
    run_cli("classify", "train.jsonl", "--test", "test.jsonl", *options, "-q", "-o", "run")
    run_cli("predict", "run", "test.jsonl", "-q", "-o", "p.parquet")
    then, now = pq.read_table("run/documents.parquet"), pq.read_table("p.parquet")
    for name in ("id", "prediction", "prediction_prob"):
        assert then.column(name).to_pylist() == now.column(name).to_pylist()


def test_tokens_of_preprocess_are_used(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", rows())
    run_cli("preprocess", "t.jsonl", "--stem", "english", "-q", "-o", "docs.parquet")
    run_cli("classify", "docs.parquet", "--model", "nb", "-q", "-o", "run")
    run_cli("predict", "run", "t.jsonl", "-q", "-o", "p.parquet")  # cut as then
    assert pq.read_table("p.parquet").column("prediction").to_pylist() == [row["label"] for row in rows()]
    error = run_cli("classify", "docs.parquet", "--model", "nb", "--ngrams", "1,2", "-o", "r2", code=2).error()
    assert error.startswith("error: --ngrams: the documents of docs.parquet already have tokens, which")


def test_broken_runs(trained: Path, tmp_path: Path) -> None:
    import shutil

    write_jsonl(tmp_path / "new.jsonl", [{"text": "a"}])
    own = Path(shutil.copytree(trained, tmp_path / "own"))
    (own / "model" / "weights_coef.parquet").unlink()
    assert run_cli("predict", own, "new.jsonl", "-o", "p.parquet", code=3).error()
    assert "does not exist" in run_cli("predict", "no/run", "new.jsonl", "-o", "p.parquet", code=3).error()


# ---------------------------------------------------------------- choice


def test_auto_compares_and_says_so(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", rows())
    done = run_cli("classify", "t.jsonl", "--model", "auto", "--cv", "3", "--budget", "1000", "-o", "run")
    assert "Models, by cross-validation in the training documents" in done.out
    assert "the scores come from choosing again in each of 3 folds" in done.err
    report = json.loads(Path("run/metrics.json").read_text())
    chosen = [c for c in report["candidates"] if c["chosen"]]
    assert len(chosen) == 1
    assert chosen[0]["macro_f1"] == max(c["macro_f1"] for c in report["candidates"])
    write_jsonl(tmp_path / "new.jsonl", [{"text": "the rocket and the planet"}])
    run_cli("predict", "run", "new.jsonl", "-q", "-o", "p.parquet")
    assert pq.read_table("p.parquet").column("prediction").to_pylist() == ["space"]


def test_auto_with_pairs_of_words_predicts_with_them(tmp_path: Path) -> None:
    """Classes that only the order of words tells apart: a model of pairs wins, and is applied to new texts as one."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(120):
        pair = ["good", "bad"] if i % 2 else ["bad", "good"]
        text = " ".join([*rng.choice(["tea", "cup", "milk", "pot"], 4), "not", pair[0], "but", pair[1]])
        found.append({"id": f"d{i}", "text": text, "label": "ab"[i % 2]})
    write_jsonl(tmp_path / "train.jsonl", found[:80])
    write_jsonl(tmp_path / "test.jsonl", found[80:])
    done = run_cli(
        *[
            "classify",
            "train.jsonl",
            "--test",
            "test.jsonl",
            "--model",
            "auto",
            "--budget",
            "1000",
            "--twins",
            "0",
            "-o",
            "run",
        ]
    )
    report = json.loads(Path("run/metrics.json").read_text())
    assert "words and pairs" in next(c["name"] for c in report["candidates"] if c["chosen"])
    assert metrics("run")["accuracy"] == 1
    assert json.loads(Path("run/model/config.json").read_text())["tokens"]["ngrams"] == [1, 2]
    run_cli("predict", "run", "test.jsonl", "-q", "-o", "p.parquet")
    assert pq.read_table("p.parquet").column("prediction").to_pylist() == [row["label"] for row in found[80:]]
    assert "80 training documents" in done.out


def test_auto_compares_embeddings_that_are_there(planted: Path) -> None:
    run_cli("classify", planted, "--model", "auto", "--cv", "2", "--budget", "1000", "-q", "-o", "run")
    names = [c["name"] for c in json.loads(Path("run/metrics.json").read_text())["candidates"]]
    assert "nb" in names
    assert "centroid on embeddings" in names


def test_auto_that_chose_embeddings_predicts_with_them(tmp_path: Path) -> None:
    found = [{**row, "text": f"the same words {i % 3}"} for i, row in enumerate(planted_rows())]
    write_embedded(tmp_path / "e.parquet", found)
    run_cli(
        "classify", "e.parquet", "--model", "auto", "--cv", "2", "--budget", "1000", "--twins", "0", "-q", "-o", "run"
    )
    report = json.loads(Path("run/metrics.json").read_text())
    assert "on embeddings" in next(c["name"] for c in report["candidates"] if c["chosen"])
    run_cli("predict", "run", "e.parquet", "-q", "-o", "p.parquet")
    assert pq.read_table("p.parquet").column("prediction").to_pylist() == [row["label"] for row in found]


def test_auto_keeps_to_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nlpkit.classify import choose

    times = iter(np.arange(0.0, 1e6, 30.0).tolist())  # each candidate takes 30 seconds
    monkeypatch.setattr(choose.time, "perf_counter", lambda: next(times))
    write_jsonl(tmp_path / "t.jsonl", rows())
    done = run_cli("classify", "t.jsonl", "--model", "auto", "--cv", "3", "--budget", "300", "-o", "run")
    assert "not tried within --budget 300" in done.err
    tried = [c for c in json.loads(Path("run/metrics.json").read_text())["candidates"] if not c["why"]]
    assert len(tried) == 2  # 2 · 30 s and three times as much for the nested folds; a third would make it 360


def test_news_is_learned_well(tmp_path: Path) -> None:
    run_cli("classify", NEWS, "--cv", "4", "-q", "-o", "run")
    assert metrics("run")["macro_f1"] > 0.65
    shares = pq.read_table("run/classes.parquet").to_pylist()
    assert sum(row["labels"] for row in shares) == 416


@pytest.fixture
def two_encoders(tmp_path: Path) -> tuple[Path, Path]:
    """Two tiny models of different weights."""
    pytest.importorskip("torch")
    return write_model(tmp_path / "first"), write_model(tmp_path / "second", seed=1)


def test_an_encoder_that_is_named_wins_over_a_column_of_another(two_encoders: tuple[Path, Path]) -> None:
    first, second = two_encoders
    texts = [
        f"{a} {b} on the {c}" for a in ("cat", "dog") for b in ("sat", "ran", "was") for c in ("mat", "house", "old")
    ]
    write_jsonl(Path("docs.jsonl"), [{"text": text, "label": text[:3]} for text in texts])
    run_cli("sbert-embed", "docs.jsonl", "--model", first, "-q", "-o", "first.parquet")
    centroid = ("--model", "centroid", "--twins", "0")
    done = run_cli("classify", "first.parquet", *centroid, "--encoder", second, "-o", "anew")
    assert f"the column 'embedding' was made by {first}; {second}" in done.err
    run_cli("classify", "docs.jsonl", *centroid, "--encoder", second, "-q", "-o", "raw")
    weights = [pq.read_table(f"{run}/model/weights_coef.parquet") for run in ("anew", "raw")]
    assert weights[0].equals(weights[1])
    same = run_cli("classify", "first.parquet", *centroid, "--encoder", first, "-o", "same")
    assert "anew" not in same.err
    assert "embeddings: " not in same.err
    # new documents: the column is made anew, too; another model than that of the run is refused
    for table, run in (("first.parquet", "anew"), ("docs.jsonl", "anew")):
        run_cli("predict", f"./{run}", table, "--encoder", second, "-q", "-f", "-o", f"{table}.p.parquet")
    found = [pq.read_table(f"{table}.p.parquet")["prediction_prob"] for table in ("first.parquet", "docs.jsonl")]
    assert found[0].equals(found[1])
    says = run_cli("predict", "./anew", "docs.jsonl", "--encoder", first, "-o", "p.parquet", code=2).error()
    assert f"--encoder {first}: the run was fitted with {second}" in says


def test_options_on_encoders_that_would_change_nothing_are_refused(planted: Path, trained: Path) -> None:
    def says(*words: Any, code: int = 2) -> str:
        return run_cli("classify", *words, "-o", "x", code=code).error()

    assert "--max-tokens: the documents have embeddings already" in says(planted, "--model", "knn", "--max-tokens", "4")
    assert "--encoder: nb sees words here" in says(planted, "--model", "nb", "--encoder", "e")
    predict = ("predict", trained, NEWS, "--encoder", "e", "-o", "p.parquet")
    assert "sees words; leave it out" in run_cli(*predict, code=2).error()
    says = run_cli("evaluate", NEWS, "--encoder", "e", code=2).error()
    assert "--encoder: only --vectors encoder embeds anything here" in says


def test_embeddings_of_another_number_of_tokens_are_refused(planted: Path, tmp_path: Path) -> None:
    run_cli("classify", planted, "--model", "centroid", "-q", "-o", "run")
    other = write_embedded(tmp_path / "other.parquet", planted_rows()[:3], max_tokens=4)
    says = run_cli("predict", "./run", other, "-o", "p.parquet", code=3).error()
    assert "column 'embedding' was made with --max-tokens 4, the embeddings of the run with --max-tokens 8" in says


def test_weights_that_are_no_numbers_are_told(trained: Path, tmp_path: Path) -> None:
    """Every document got the first class, with the probability NaN, and exit code 0."""
    for name, change in (("weights_coef", np.nan), ("weights_intercept", np.inf)):
        run = Path(shutil.copytree(trained, tmp_path / name))
        file = run / "model" / f"{name}.parquet"
        block = read_footer(file)
        column = pq.read_table(file).column("value").combine_chunks()
        flat = column.flatten() if pa.types.is_fixed_size_list(column.type) else column
        values = flat.to_numpy().copy()
        values[0] = change
        made: Any = pa.array(values)
        if pa.types.is_fixed_size_list(column.type):
            made = pa.FixedSizeListArray.from_arrays(made, column.type.list_size)
        write_table(file, pa.table({"value": made}), block)
        done = run_cli("predict", run, NEWS, "--no-verify", "-o", "p.parquet", code=3).error()
        assert "finite" in done
        assert not Path("p.parquet").exists()


def test_probabilities_of_a_model_that_has_none_are_refused(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "train.jsonl", rows())
    svm = ("classify", "train.jsonl", "--model", "svm", "--twins", "0", "-q", "-o", "run")
    run_cli(*svm)
    predict = ("predict", "run", "train.jsonl", "-q", "-o", "p.parquet")
    assert "--probabilities: the model has none" in run_cli(*predict, "--probabilities", code=2).error()
    run_cli(*svm, "--calibrate", "sigmoid", "--probabilities", "-f")
    run_cli(*predict, "--probabilities")
    table = pq.read_table("p.parquet")
    assert table["prediction_prob"].null_count == 0
    assert all(sum(row.values()) == pytest.approx(1) for row in table["probabilities"].to_pylist())
    auto = ("classify", "train.jsonl", "--model", "auto", "--cv", "2", "--budget", "1000", "--twins", "0")
    run_cli(*auto, "--probabilities", "-q", "-o", "auto")
    names = [c["name"] for c in json.loads(Path("auto/metrics.json").read_text())["candidates"]]
    assert names
    assert not any("svm" in name for name in names)


def test_predictions_for_what_the_model_learned_from_are_told(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "train.jsonl", rows())
    write_jsonl(tmp_path / "test.jsonl", [{**row, "text": row["text"] + " again"} for row in rows(2)])
    run_cli("classify", "train.jsonl", "--model", "nb", "--test", "test.jsonl", "--twins", "0", "-q", "-o", "run")
    shutil.copy("train.jsonl", "copy.jsonl")
    done = run_cli("predict", "run", "copy.jsonl", "-o", "p.parquet")
    said = "run learned from copy.jsonl: scores on documents that it learned from are too good"
    assert f"warning: {said}" in done.err
    assert done.err.rstrip().endswith("next: nlpkit evaluate run")
    assert said in run_cli("evaluate", "p.parquet").err
    assert run_cli("evaluate", "p.parquet", "--json").json()["targets"][0]["learned_from"] == ["copy.jsonl"]
    new = run_cli("predict", "run", "test.jsonl", "-f", "-o", "p.parquet")
    assert "learned from" not in new.err
    assert new.err.rstrip().endswith("next: nlpkit evaluate p.parquet")
    assert "learned from" not in run_cli("evaluate", "p.parquet").err


def test_lengths_of_vectors_do_not_count_and_that_is_told(tmp_path: Path) -> None:
    """XOR of two numbers: in directions alone (0, 0) is nowhere, so .94 was the most; between -1 and 1 it is learned."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (200, 2))
    for low, least in ((0, 0.0), (-1, 0.99)):
        points = np.where(bits == 1, 1, low) + rng.normal(0, 0.1, bits.shape)
        found = [
            {"id": str(i), "text": f"t{i}", "label": str(a ^ b), "embedding": point.tolist()}
            for i, ((a, b), point) in enumerate(zip(bits.tolist(), points, strict=True))
        ]
        write_jsonl(tmp_path / "x.jsonl", found)
        done = run_cli("classify", "x.jsonl", "--model", "mlp", "--cv", "2", "--twins", "0", "-f", "-o", "run")
        assert "only their directions count" in done.err
        assert metrics("run")["accuracy"] >= least


def test_a_classifier_that_is_not_better_than_the_largest_class_is_doubted(tmp_path: Path) -> None:
    found = rows()
    write_jsonl(tmp_path / "clear.jsonl", found)
    assert "what now?" not in run_cli("classify", "clear.jsonl", "--model", "nb", "--cv", "5", "-o", "clear").err
    for i, row in enumerate(found):
        row["label"] = "ab"[i * 7 % 5 % 2]  # nothing to do with the text
    write_jsonl(tmp_path / "chance.jsonl", found)
    done = run_cli("classify", "chance.jsonl", "--model", "nb", "--cv", "5", "-o", "chance")
    assert "what now? These labels do not show that the model is better than the largest class alone" in done.err
