"""nlpkit finetune: one model trained, scored and applied to new documents, and what real files bring."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.platform.documents.corpora import DocumentStream, open_documents
from nlpkit.platform.documents.options import ReadOptions
from tests.command_line import files, footer, needs_minilm, read, run_cli, write_jsonl
from tests.few import few
from tests.finetune.finetune_data import SPORT, TEXTS, VOCABULARY, base_model, chances, pair_rows, refused, rows, tune
from tests.finetune.tiny import tiny_bert


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of full fine-tuning that has learned the three classes."""
    folder = tmp_path_factory.mktemp("trained")
    write_jsonl(folder / "train.jsonl", rows(4, date="2020-01-01"))
    tune(folder / "train.jsonl", "--lr", "0.003", "--probabilities", "-q", "-o", folder / "run", base=base, steps=40)
    return folder / "run"


def metrics(run: Path | str = "run", target: int = 0) -> dict[str, Any]:
    report = json.loads((Path(run) / "metrics.json").read_text())
    return {name: score["value"] for name, score in report["targets"][target]["metrics"].items()}


def fit(own: list[dict[str, Any]], *words: Any, base: Path, **how: Any) -> Any:
    """Train on rows, into run/."""
    return tune(write_jsonl(Path("train.jsonl"), own), *words, "-f", "-o", "run", base=base, **how)


def denied(own: list[dict[str, Any]], *words: Any, base: Path, code: int = 3, **how: Any) -> str:
    """Train on rows, which is refused, before anything is written."""
    error = refused(write_jsonl(Path("train.jsonl"), own), *words, "-o", "run", base=base, code=code, **how)
    assert not Path("run").exists()
    assert not Path("run.checkpoint").exists()
    return error


def predict(model: Path | str, own: list[dict[str, Any]], *words: Any, code: int = 0) -> Any:
    table = write_jsonl(Path("new.jsonl"), own)
    return run_cli("predict", model, table, *words, "--threads", "1", "-f", "-o", "p.parquet", code=code)


# ---------------------------------------------------------------- a run


def test_a_run_has_what_was_promised(trained: Path) -> None:
    names = {p.relative_to(trained).as_posix() for p in trained.rglob("*") if p.is_file()}
    assert names >= {
        "manifest.json", "metrics.json", "curve.jsonl", "documents.parquet", "classes.parquet", "confusion.parquet",
        "model/config.json", "model/classifier/README.md", "model/classifier/config.json",
        "model/classifier/model.safetensors", "model/classifier/nlpkit.json", "model/classifier/tokenizer.json",
    }  # fmt: skip
    assert not any(n.endswith((".pkl", ".bin", ".pt")) for n in names)
    documents = read(trained / "documents.parquet")
    given = [row["id"] for row in rows(4)]
    own = documents.column("id").to_pylist()
    assert own == [i for i in given if i in set(own)]
    assert "text" not in documents.column_names
    assert set(documents.column("date").to_pylist()) == {"2020-01-01"}
    assert chances(trained / "documents.parquet").sum(axis=1) == pytest.approx(1, abs=1e-5)
    manifest = json.loads((trained / "manifest.json").read_text())
    assert manifest["kind"] == "finetune"
    assert manifest["parameters"]["classes"] == sorted(TEXTS)
    facts = manifest["parameters"]["training"]
    assert facts["training_documents"] + documents.num_rows == 48
    assert (
        facts["parameters"] - 32 * 33 == facts["trained_parameters"] > 20_000
    )  # all but the pooler, which the mean does not read
    assert facts["steps"] == 40
    assert facts["bytes"] == sum(file.stat().st_size for file in (trained / "model/classifier").rglob("*.safetensors"))
    assert footer(trained / "documents.parquet")["command"] == "finetune"
    curve = [json.loads(line) for line in (trained / "curve.jsonl").read_text().splitlines()]
    assert curve[-1]["step"] == 40
    assert curve[-1]["loss"] < 0.7 * curve[0]["loss"]
    card = (trained / "model/classifier/README.md").read_text()
    assert "train.jsonl" in card
    assert "macro_f1" in card
    assert "transformers " in card


def test_scores_stand_beside_the_majority_class_and_evaluate_says_the_same(trained: Path) -> None:
    own = metrics(trained)
    assert own["accuracy"] > 0.8
    assert metrics(trained, 1)["accuracy"] == pytest.approx(1 / 3, abs=0.15)
    for what in (trained, trained / "documents.parquet"):
        found = run_cli("evaluate", what, "--json", "-q").json()["targets"][0]["metrics"]
        assert found["macro_f1"]["value"] == pytest.approx(own["macro_f1"], abs=1e-12)


def test_other_commands_know_the_run(trained: Path) -> None:
    assert "run (finetune)" in run_cli("info", trained).out
    write_jsonl(Path("new.jsonl"), rows(1))
    for command in ("classify", "bertopic"):
        assert "predict" in run_cli(command, "new.jsonl", "--model", trained, "-o", "x.parquet", code=2).error()


def test_shown_on_stdout_and_told_on_stderr(base: Path) -> None:
    done = fit(rows(), base=base)
    for part in ("macro_f1", "majority baseline", "on test documents", "loss of training"):
        assert part in done.out
    assert "28 training documents, 8 test" in done.err
    assert "next: nlpkit predict run NEW.jsonl" in done.err
    assert "macro_f1" not in done.err
    one = fit(rows(), "--json", "-q", base=base).json()
    assert one["run"] == "run"
    assert one["training"]["method"] == "full"
    done = fit(rows(), "--markdown", "-q", base=base)
    assert "| metric |" in done.out
    assert "```text\nloss of training" in done.out
    assert done.out.rstrip().endswith("```")
    assert done.err == ""
    assert "stdout" in tune("train.jsonl", "--markdown", "--json", "-f", "-o", "run", base=base, code=2).error()


def test_the_same_bytes_twice_on_one_and_two_threads(base: Path) -> None:
    texts = [f"{row['text']} {'goal ' * (i % 9)}" for i, row in enumerate(rows())]
    write_jsonl(Path("train.jsonl"), [{**row, "text": text} for row, text in zip(rows(), texts, strict=True)])
    found = []
    for threads in (1, 1, 2):
        own = ["--base", base, "--method", "full", "--max-steps", "6", "--threads", threads]
        run_cli("finetune", "train.jsonl", *own, "-q", "-f", "-o", "run")
        found.append(
            {n: b for n, b in files(Path("run")).items() if n not in ("manifest.json", "metrics.json", "curve.jsonl")}
        )
    assert "documents.parquet" in found[0]
    assert "model/classifier/model.safetensors" in found[0]
    assert found[0] == found[1]
    assert found[0] == found[2]
    tune("train.jsonl", "--seed", "1", "-q", "-f", "-o", "run", base=base, steps=6)
    assert files(Path("run"))["model/classifier/model.safetensors"] != found[0]["model/classifier/model.safetensors"]


def test_auto_takes_setfit_for_few_documents_and_full_for_what_it_cannot(base: Path) -> None:
    assert "--method auto: setfit (9 training documents a class)" in fit(rows(), base=base, method=None).err
    assert Path("run/model/setfit/head.safetensors").exists()
    assert "--method auto: full" in fit(pair_rows(), "--pair-col", "other", base=base, method=None).err
    assert "--method auto: setfit" in fit(rows()[:2] + rows()[4:7], base=base, method=None).err  # five documents
    many = [{"id": str(i), "text": f"{SPORT[i % 4]} {i}", "label": f"c{i % 17}"} for i in range(51)]
    assert "--method auto: lora (2 training documents a class; 17 classes" in fit(many, base=base, method=None).err


# ---------------------------------------------------------------- tasks


def test_several_labels_a_document(base: Path) -> None:
    own = [{**row, "label": [["a"], ["a", "b"], [], ["b"]][i % 4]} for i, row in enumerate(rows())]
    fit(own, "-q", base=base)
    assert {"micro_f1", "subset_accuracy"} <= set(metrics())
    predict("run", own)
    assert str(read("p.parquet").schema.field("prediction").type) == "list<element: string>"
    joined = [{**row, "label": ";".join(row["label"]) or None} for row in own]
    fit(joined, "--label-sep", ";", "-q", base=base)
    assert metrics().keys() >= {"micro_f1"}
    assert (
        "--task labels"
        in tune("train.jsonl", "--label-sep", ";", "--task", "classes", "-f", "-o", "x", base=base, code=2).error()
    )


def test_numbers(base: Path) -> None:
    own = [{**row, "label": 100 + len(row["text"]) / 4} for row in rows()]
    fit(own, "--lr", "0.003", "-q", base=base, steps=60)
    found = metrics()
    assert found["rmse"] < metrics(target=1)["rmse"]
    assert found["spearman"] > 0.5
    documents = read("run/documents.parquet")
    assert str(documents.schema.field("prediction").type) == "double"
    assert 95 < np.mean(documents.column("prediction").to_numpy()) < 110
    errors = read("run/errors.parquet").column("error").to_numpy()
    assert (np.diff(np.abs(errors)) <= 0).all()
    predict("run", [{"id": "x", "text": ""}, *own])
    assert read("p.parquet").num_rows == 37
    # whole numbers are classes, with fractions or not
    fit([{**row, "label": float(i % 3)} for i, row in enumerate(rows())], "-q", base=base)
    assert json.loads(Path("run/manifest.json").read_text())["parameters"]["classes"] == ["0", "1", "2"]
    fit([{**row, "label": i % 5} for i, row in enumerate(rows())], "--task", "regression", "-q", base=base)
    assert "rmse" in metrics()


def test_words(base: Path) -> None:
    own = [
        {"id": f"{name}{i}", "text": text, "words": text.split(), "label": ["B-X" if w in ("the", "a") else "O" for w in text.split()]}
        for i in range(4) for name, texts in TEXTS.items() for text in texts
    ]  # fmt: skip
    own = [{**row, "id": f"{row['id']}-{i}"} for i, row in enumerate(own)]
    fit(own, "--lr", "0.003", "-q", base=base, steps=100)
    assert metrics()["span_f1"] > 0.9
    long = ["the"] * 100
    texts = [SPORT[0].split(), long, []]
    predict("run", [{"id": i, "words": words, "text": ""} for i, words in zip("abc", texts, strict=True)])
    first, second, third = read("p.parquet").column("prediction").to_pylist()
    assert first == ["B-X", "O", "O", "B-X", "O"]
    assert (second, third) == (["B-X"] * 100, [])  # in several windows
    predict("run", [{"id": "a", "text": SPORT[0]}])
    assert read("p.parquet").column("prediction").to_pylist() == [first]
    assert (
        "--probabilities is for classes"
        in predict("run", [{"id": "a", "text": "a"}], "--probabilities", code=2).error()
    )


@pytest.mark.parametrize("name", ["train.jsonl", "train.parquet"])
def test_words_without_a_text(name: str, base: Path) -> None:
    words = [text.split() for text in SPORT] * 4
    own = [{"id": str(i), "tokens": w, "tags": ["X" if v == "the" else "O" for v in w]} for i, w in enumerate(words)]
    table = write_jsonl(Path(name), own) if name.endswith("l") else Path(name)
    pq.write_table(pa.Table.from_pylist(own), "train.parquet")
    columns = ["--words-col", "tokens", "--label-col", "tags"]
    assert "no column 'text'" in refused(table, "--label-col", "tags", "-o", "run", base=base, code=3)
    tune(table, *columns, "-q", "-o", "run", base=base)
    predict("run", [{"id": "a", "tokens": words[0]}, {"id": "b", "tokens": None}])
    found = read("p.parquet")
    assert found.column_names[:3] == ["id", "text", "tokens"]
    assert found.column("text").to_pylist() == [SPORT[0]]
    assert found.column("tokens").to_pylist() == [words[0]]
    assert len(found.column("prediction").to_pylist()[0]) == len(words[0])


def test_words_without_a_label_are_not_learned_from_nor_scored(base: Path) -> None:
    own: list[dict[str, Any]] = []
    for row in rows(1):
        words = row["text"].split()
        own.append({"id": row["id"], "words": words, "label": ["X" if w[0] in "aeiou" else "Y" for w in words]})
    test = [{**row, "id": "t" + row["id"], "label": [None, *row["label"][1:]]} for row in own]
    test.append({"id": "none", "words": ["the"], "label": [None]})
    own[0]["label"] = [None] * len(own[0]["label"])
    write_jsonl(Path("test.jsonl"), test)
    done = fit(own, "--test", "test.jsonl", base=base)
    assert "12 words without a label: not used for training or scoring" in done.err
    assert "11 training documents, 13 test; 2 labels of words" in done.err
    assert read("run/documents.parquet").column("label").to_pylist() == [
        row["label"] if any(row["label"]) else None for row in test
    ]
    assert None not in read("run/errors.parquet").column("label").to_pylist()
    scored = json.loads(Path("run/metrics.json").read_text())["targets"][0]["metrics"]["accuracy"]
    assert scored["parameters"]["words"] == sum(len(row["label"]) - 1 for row in test)
    again = run_cli("evaluate", "run/documents.parquet", "--json")
    assert "12 words without a label: left out of the scores" in again.out
    found = again.json()["targets"][0]["metrics"]["accuracy"]
    assert (found["value"], found["parameters"]) == (scored["value"], scored["parameters"])


def in_batches(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let new documents come n at a time."""

    def few(inputs: list[str], options: ReadOptions, **further: Any) -> DocumentStream:
        return open_documents(inputs, replace(options, batch_rows=n), **further)

    monkeypatch.setattr("nlpkit.platform.documents.corpus.open_documents", few)


def test_new_documents_are_predicted_batch_by_batch(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = [{**row, "prediction": "old", "more": [i]} for i, row in enumerate(rows(2))]
    own[4]["text"] = " "
    done = predict(trained, own, "--json")
    assert "1 document without a word: predicted like any other" in done.err
    assert "the column 'prediction' of the input is replaced" in done.err
    whole, told = read("p.parquet"), done.json()
    in_batches(5, monkeypatch)
    assert predict(trained, own, "--json").json() == told
    again = read("p.parquet")
    assert again.schema == whole.schema
    for name in ("id", "text", "more", "prediction"):
        assert again.column(name).to_pylist() == whole.column(name).to_pylist()
    probs = [table.column("prediction_prob").to_numpy() for table in (whole, again)]
    assert probs[1] == pytest.approx(probs[0], abs=1e-5)
    assert sum(told["predictions"].values()) == told["documents"] == len(own)


def test_pairs_and_context(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit(pair_rows(), "--pair-col", "other", "-q", base=base)
    error = predict("run", rows(1), code=3).error()
    assert "no column 'other'" in error
    assert "--pair-col" in error
    done = predict(
        "run", [{**row, "two": None if i == 1 else "x"} for i, row in enumerate(rows(1))], "--pair-col", "two"
    )
    assert "1 pair without a second text: read as if it were empty" in done.err
    own = [{**row, "speech": i // 4} for i, row in enumerate(rows())]
    fit(own, "--context", "1", "--context-by", "speech", "-q", base=base)
    predict("run", own, "--probabilities")
    before = chances("p.parquet")
    changed = [{**row, "text": "planet planet" if i == 7 else row["text"]} for i, row in enumerate(own)]
    predict("run", changed, "--probabilities")
    moved = np.flatnonzero(np.abs(chances("p.parquet") - before).max(axis=1) > 1e-6).tolist()
    assert moved == [6, 7]  # the next speech begins with 8
    whole = chances("p.parquet")
    in_batches(3, monkeypatch)
    predict("run", changed, "--probabilities")
    assert np.array_equal(chances("p.parquet"), whole)  # neighbours are not lost between batches
    assert "--context-by" in predict("run", rows(1), code=3).error()


# ---------------------------------------------------------------- roles


def test_dev_tells_when_to_stop(base: Path) -> None:
    write_jsonl(Path("dev.jsonl"), [{**row, "id": "d" + row["id"]} for row in rows(1)])
    done = fit(rows(), "--dev", "dev.jsonl", "--lr", "0.01", "--patience", "2", "--epochs", "40", base=base, steps=None)
    assert "12 dev" in done.err
    assert "stopped early" in done.err
    assert "dev  " in done.out
    facts = json.loads(Path("run/metrics.json").read_text())["training"]
    assert facts["stopped_early"]
    assert facts["best_step"] < facts["steps"] < 80


def test_split_test_and_cross_validation(base: Path) -> None:
    own = [{**row, "part": ["train", "train", "test", "other"][i % 4]} for i, row in enumerate(rows())]
    fit(own, "--split", "part", "-q", base=base)
    assert read("run/documents.parquet").column("id").to_pylist() == [r["id"] for r in own if r["part"] == "test"]
    write_jsonl(Path("test.jsonl"), [{**row, "id": "t" + row["id"]} for row in rows(1)])
    done = fit(rows(), "--test", "test.jsonl", base=base)
    assert read("run/documents.parquet").column("id").to_pylist() == ["t" + row["id"] for row in rows(1)]
    assert "test documents are near-duplicates of a training document" in done.err
    assert read("run/twins.parquet").num_rows == 12
    fit(rows(), "--cv", "3", "-q", base=base)
    documents = read("run/documents.parquet")
    assert documents.column("id").to_pylist() == [row["id"] for row in rows()]
    assert set(documents.column("fold").to_pylist()) == {0, 1, 2}
    assert (
        json.loads(Path("run/metrics.json").read_text())["training"]["training_documents"] == 36
    )  # the model that is kept


def test_shots_learn_from_so_many_of_each_class(base: Path) -> None:
    fit(rows(), "--shots", "2", "-q", base=base)
    facts = json.loads(Path("run/metrics.json").read_text())["training"]
    assert (facts["training_documents"], facts["shots"]) == (6, 2)
    assert read("run/documents.parquet").num_rows == 30
    done = fit(
        [{**row, "label": "rare" if i < 2 else row["label"]} for i, row in enumerate(rows())], "--shots", "4", base=base
    )
    assert "classes with fewer than 4 documents: 'rare' (2)" in done.err


def test_class_weights_change_the_model(base: Path) -> None:
    own = [row for row in rows() if row["label"] != "sport"] + rows()[:2]
    found = []
    for how in ("none", "balanced"):
        fit(own, "--class-weight", how, "-q", base=base)
        found.append(files(Path("run"))["model/classifier/model.safetensors"])
    assert found[0] != found[1]


def test_gates_and_junit(base: Path) -> None:
    done = fit(rows(), "--fail-under", "accuracy=1.01", "--junit", "j.xml", base=base, code=1)
    assert done.err.splitlines()[-1].startswith("error: gate failed: ")
    assert 'failures="1"' in Path("j.xml").read_text()
    assert read("run/documents.parquet").num_rows == 8  # the run is there all the same
    fit(rows(), "--fail-over", "brier=1", "-q", base=base)
    assert json.loads(Path("run/metrics.json").read_text())["passed"]


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("lora(r=0)", "1 or more"),
        ("lora(rank=8)", "its options: r=8"),
        ("lora(targets=foo)", "q, k, v"),
        ("lorra", "did you mean 'lora'"),
        ("foo", "give one of full, head"),
        ("qlora", "--method lora with --quantize nf4"),
        ("dpo", "nlpkit train-encoder"),
        ("full,full", "twice"),
        ("setfit(R=0)", "at least 1"),
        ("compacter(n=5)", "divide"),
        (",", "a name is needed"),
    ],
)
def test_methods_that_are_none(method: str, said: str, base: Path) -> None:
    assert said in denied(rows(), base=base, method=method, code=2)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--shots", "0"], 2, "such as 8,64,all"),
        (["--shots", "x"], 2, "such as 8,64,all"),
        (["--shots", "100"], 3, "--shots 100 leaves no document to test on"),
        (["--cv", "1"], 2, "--cv"),
        (["--cv", "50"], 2, "only 36 documents"),
        (["--cv", "2", "--shots", "2"], 2, "--shots"),
        (["--cv", "2", "--split", "label"], 2, "do not go together"),
        (["--holdout", "1"], 2, "--holdout"),
        (["--holdout", "0.999"], 3, "no document is left for training, because"),
        (["--lr", "0"], 2, "above 0"),
        (["--head-lr", "0"], 2, "above 0"),
        (["--warmup", "2"], 2, "--warmup"),
        (["--patience", "2"], 2, "--dev"),
        (["--max-tokens", "5000"], 2, "up to 64 tokens"),
        (["--precision", "fp16", "--device", "cpu"], 2, "fp16 needs cuda"),
        (["--device", "tpu"], 2, "not available"),
        (["--task", "foo"], 2, "regression"),
        (["--task", "regression"], 3, "'sport' is not a number"),
        (["--class-weight", "x"], 2, "balanced"),
        (["--merge"], 2, "lora or dora"),
        (["--quantize", "nf4"], 2, "adds no trainable weights; use one of"),
        (["--quantize", "fp4"], 2, "nf4, int8"),
        (["--double-quant"], 2, "needs --quantize nf4"),
        (["--export", "x"], 2, "setfit"),
        (["--junit", "no/such/j.xml"], 3, "no/such does not exist"),
        (["--baseline", "none.json"], 3, "name the metrics.json of a run"),
        (["--split", "label"], 2, "no row is train"),
        (["--context", "1", "--pair-col", "text"], 2, "do not go together"),
        (["--context-by", "label"], 2, "needs --context"),
        (["--fail-under", "foo=1"], 2, "'foo' is not a metric"),
        (["--ci", "2"], 2, "below 1"),
        (["--label-col", "labl"], 3, "did you mean 'label'"),
        (["--text-col", "body"], 3, "--text-col"),
        (["--pair-col", "other"], 3, "--pair-col"),
        (["--split", "part"], 3, "--split"),
        (["--context", "1", "--context-by", "speech"], 3, "--context-by"),
        (["--words-col", "wordz", "--task", "words"], 3, "--words-col"),
        (["--task", "words"], 3, "one label for each word"),
        (["--test", "nix.jsonl"], 3, "--test nix.jsonl: no such file"),
        (["--dev", "nix.jsonl"], 3, "--dev nix.jsonl: no such file"),
    ],
)  # fmt: skip
def test_options_that_cannot_be(words: list[str], code: int, said: str, base: Path) -> None:
    assert said in denied(rows(), *words, base=base, code=code)


def test_outputs_that_are_there_and_stdout(base: Path) -> None:
    fit(rows(), "-q", base=base)
    assert "--force" in tune("train.jsonl", "-o", "run", base=base, code=2).error()
    assert "a run is a directory" in tune("train.jsonl", "-o", "-", base=base, code=2).error()
    tune("train.jsonl", "-q", base=base)
    assert Path("train.finetune/manifest.json").exists()
    before = files(Path("run"))
    done = tune("train.jsonl", "--dry-run", "-f", "-o", "run", base=base)
    assert "nothing was written" in done.err
    assert files(Path("run")) == before


@pytest.mark.parametrize("method", few(["full", "head", "setfit(R=2)", "setfit(R=9,max_pairs=50,epochs=2)"], 2))
def test_a_dry_run_tells_the_steps(method: str, base: Path) -> None:
    words = [write_jsonl(Path("train.jsonl"), rows()), "--cv", "2", "-o", "run", "--json"]
    plan = tune(*words, "--dry-run", base=base, method=method, steps=None).json()
    assert not Path("run").exists()
    done = tune(*words, "--epochs", "1", "-q", base=base, method=method, steps=None).json()
    shutil.rmtree("run")
    assert plan["rows"] == len(rows())
    assert plan["seconds_about"] > 0
    one = tune(*words, "--epochs", "1", "--dry-run", base=base, method=method, steps=None).json()["plan"]
    assert [row["trainings"] for row in one] == [2, 1]
    assert one[1]["steps"] == done["training"]["steps"]
    assert [a["steps"] >= b["steps"] for a, b in zip(plan["plan"], one, strict=True)] == [True, True]


def test_a_dry_run_of_a_comparison(base: Path) -> None:
    write_jsonl(Path("train.jsonl"), rows())
    words = ["train.jsonl", "--shots", "2,4", "--seeds", "3", "--dry-run", "-o", "run"]
    done = tune(*words, base=base, method="full,head")
    assert [line.split()[:5] for line in done.out.splitlines()[2:6]] == [
        ["full", "2", "3", "6", "4"], ["full", "4", "3", "12", "4"], ["head", "2", "3", "6", "4"], ["head", "4", "3", "12", "4"],
    ]  # fmt: skip
    assert "nothing was written" in done.err
    assert "--task words" in denied(
        [{**row, "label": ["a", "b"]} for row in rows()], "--task", "words", "--dry-run", base=base
    )


def test_options_from_a_file(base: Path) -> None:
    Path("own.toml").write_text(f'base = "{base.as_posix()}"\nmethod = "lora(r=2)"\nmax-steps = 2\nseed = 7\n')
    write_jsonl(Path("train.jsonl"), rows())
    run_cli("finetune", "train.jsonl", "--config", "own.toml", "-q", "-o", "run")
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert (manifest["seed"], manifest["parameters"]["methods"]) == (7, ["lora(r=2)"])
    Path("own.toml").write_text("metod = 'full'\n")
    assert "metod" in run_cli("finetune", "train.jsonl", "--config", "own.toml", "-o", "no", code=2).error()


def test_bases_that_are_none(base: Path, tmp_path: Path) -> None:
    for name, said in (("nowhere/foo", "--offline"), ("./nodir", "does not exist")):
        assert said in denied(rows(), "--offline", base=Path(name) if name[0] != "." else name, code=4)  # type: ignore[arg-type]
    folder = tiny_bert(tmp_path / "damaged", words=VOCABULARY)
    (folder / "model.safetensors").write_bytes(b"nothing")
    error = denied(rows(), base=folder, code=4)
    assert "damaged" in error


# ---------------------------------------------------------------- what real files bring


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (rows()[:1], "documents of two classes"),
        ([{**row, "label": "a"} for row in rows()], "documents of two classes"),
        ([{**row, "label": None} for row in rows()], "none of 36 documents has a label"),
        ([{**row, "label": []} for row in rows()], "has a label"),
        ([{**row, "text": " "} for row in rows()], "has a word"),
        ([{**row, "label": 1.5} for row in rows()], "the value 1.5"),
        ([{**row, "label": [0.5, 1.5e300][i % 2]} for i, row in enumerate(rows())], "from -1e+100 to 1e+100"),
        ([*rows(), rows()[0]], "the id 'sport00' occurs twice, in train.jsonl row 1 and in train.jsonl row 37"),
        ([rows()[i] for i in (0, 4, 8)], "labels 'politics', 'space', 'sport' have one document"),
        ([{**row, "label": "lonely" if i == 0 else row["label"]} for i, row in enumerate(rows())], "'lonely' has one document"),
        ([{"id": "w", "text": "", "words": ["a", "b"], "label": ["O"]}] * 1, "2 words and 1 label"),
        ([{"id": f"w{i}", "text": "a", "words": ["a"], "label": ["O"]} for i in range(9)], "all words have the label 'O'"),
    ],
)  # fmt: skip
def test_labels_that_nothing_can_be_learned_from(own: list[dict[str, Any]], said: str, base: Path) -> None:
    assert said in denied(own, base=base)


def test_empty_files(base: Path) -> None:
    Path("empty.jsonl").write_text("")
    Path("header.csv").write_text("id,text,label\n")
    for name in ("empty.jsonl", "header.csv"):
        assert f"{name} has no rows" in refused(name, "-o", "run", base=base, code=3)
    assert "did you mean" in refused("emty.jsonl", "-o", "run", base=base, code=3)


def test_dev_and_test_with_labels_of_their_own(base: Path) -> None:
    own = [{**row, "id": "x" + row["id"]} for row in rows(1)]
    write_jsonl(Path("new.jsonl"), [{**own[0], "label": "new"}, *own[1:]])
    assert "'new' (1)" in denied(rows(), "--dev", "new.jsonl", base=base)
    done = fit(rows(), "--test", "new.jsonl", base=base)
    assert (
        "warning: labels of test documents that no training document has: 'new' (1); these are always counted as wrong"
        in done.err
    )
    shutil.rmtree("run")
    write_jsonl(Path("none.jsonl"), [{**row, "label": None} for row in own])
    assert "--test none.jsonl: none of 12 documents has a label" in denied(rows(), "--test", "none.jsonl", base=base)
    assert "--dev none.jsonl: no document has a label" in denied(rows(), "--dev", "none.jsonl", base=base)


def test_empty_and_long_texts_and_missing_labels(base: Path) -> None:
    own = rows()
    own[3]["text"], own[4]["text"], own[5]["text"], own[6]["label"] = "team " * 100, "", " ", None
    write_jsonl(
        Path("test.jsonl"), [{"id": "t0", "text": "", "label": "sport"}, {"id": "t1", "text": None, "label": "space"}]
    )
    done = fit(own, "--test", "test.jsonl", base=base)
    assert "2 training documents without a word: left out" in done.err
    assert "33 training documents, 1 test" in done.err
    assert "1 document without a label" in done.err
    assert "longer than the window" in done.err
    assert "1 test document without a word" in done.err
    assert read("run/documents.parquet").column("prediction").null_count == 0
    dropped = read("run/dropped.parquet")
    assert dropped.column("id").to_pylist() == ["t1", own[4]["id"], own[5]["id"], own[6]["id"]]
    assert dropped.column("reason").to_pylist() == ["text is null", "no word", "no word", "no label"]
    assert "longer than the window" in predict("run", own).err
    assert read("p.parquet").column("id").to_pylist() == [row["id"] for row in own]


def test_labels_of_any_spelling(base: Path) -> None:
    names = ["日本/語", "a\"b'c", "../x", "é,è"]
    fit([{**row, "label": names[i % 4]} for i, row in enumerate(rows())], "--probabilities", "-q", base=base)
    predict("run", rows(1), "--probabilities")
    assert set(read("p.parquet").column("probabilities")[0].as_py()) == set(names)
    assert set(read("p.parquet").column("prediction").to_pylist()) <= set(names)
    assert json.loads(Path("run/model/classifier/config.json").read_text())["id2label"].keys() == {"0", "1", "2", "3"}
    assert "../x" in Path("run/model/classifier/README.md").read_text()


def test_labels_that_are_numbers_are_said_to_be_classes(base: Path) -> None:
    stars = {"sport": 1, "space": 3, "politics": 5}
    numbered = [{**row, "label": stars[row["label"]]} for row in rows()]
    assert "the labels are numbers and treated as" in fit(numbered, base=base).err
    assert "are numbers" not in fit(numbered, "--task", "classes", "--force", base=base).err


def test_a_latin_1_table(base: Path) -> None:
    lines = ["id,text,label", *(f"{row['id']},{row['text']} é,{row['label']}ö" for row in rows())]
    Path("latin.csv").write_bytes("\n".join(lines).encode("latin-1"))
    done = tune("latin.csv", "-o", "run", base=base)
    assert "warning: latin.csv: read as" in done.err
    assert set(read("run/documents.parquet").column("label").to_pylist()) == {"sportö", "spaceö", "politicsö"}


# ---------------------------------------------------------------- prediction


def test_predictions_keep_every_row_and_column(trained: Path) -> None:
    own = [{**row, "date": "1999", "n": i} for i, row in enumerate(rows(2))]
    own += [{"id": i, "text": t, "label": None, "date": None, "n": None} for i, t in (("y", ""), ("z", None))]
    done = predict(trained, own, "--json")
    table = read("p.parquet")
    assert table.column("id").to_pylist() == [row["id"] for row in own[:-1]]
    assert read("p.dropped.parquet").column("id").to_pylist() == ["z"]  # a null text is no document
    assert table.column_names == ["id", "text", "label", "date", "n", "prediction", "prediction_prob"]
    assert done.json()["documents"] == 25
    right = [
        a == b for a, b in zip(table.column("label").to_pylist(), table.column("prediction").to_pylist(), strict=True)
    ]
    assert np.mean(right[:24]) > 0.8
    found = run_cli("evaluate", "p.parquet", "--json", "-q").json()["targets"][0]["metrics"]
    assert found["accuracy"]["value"] == pytest.approx(np.mean(right[:24]))


def test_predictions_replace_those_of_before(trained: Path) -> None:
    own = [{"id": "a", "prediction": "old", "text": SPORT[0], "prediction_prob": 2.0}]
    done = predict(trained, own)
    assert "the column 'prediction' of the input is replaced" in done.err
    table = read("p.parquet")
    assert table.column_names == ["id", "text", "prediction", "prediction_prob"]
    assert table.column("prediction")[0].as_py() == "sport"


def test_predictions_to_a_pipe(trained: Path) -> None:
    write_jsonl(Path("new.jsonl"), rows(1))
    done = run_cli("predict", trained, "new.jsonl", "-q", "-o", "-")
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == [row["id"] for row in rows(1)]


def test_prediction_is_refused(trained: Path, base: Path) -> None:
    write_jsonl(Path("new.jsonl"), rows(1))
    assert "nomodel" in run_cli("predict", "nomodel", "new.jsonl", "-o", "p.parquet", code=3).error()
    for words, code, said in (
        (["--text-col", "body"], 3, "--text-col"),
        (["--base", base], 2, "needs no --base"),
        (["--assign-outliers"], 2, "--assign-outliers"),
        (["--max-tokens", "9"], 2, "--max-tokens"),
    ):
        assert said in run_cli("predict", trained, "new.jsonl", *words, "-o", "p.parquet", code=code).error()
    for option, value, command in (("--model", trained, "predict"), ("--objective", "mlm", "train-encoder")):
        assert f"nlpkit {command}" in run_cli("finetune", "new.jsonl", option, value, code=2).error()
    assert "-o predicted.parquet" in run_cli("predict", trained, "new.jsonl", "--json", code=2).error()
    shown = run_cli("predict", trained, "new.jsonl", "-q").out.splitlines()
    assert [line.split()[0] for line in shown[2:] if line] == [row["id"] for row in rows(1)]
    Path("p.parquet").write_bytes(b"")
    assert "--force" in run_cli("predict", trained, "new.jsonl", "-o", "p.parquet", code=2).error()


@pytest.mark.parametrize("method", ["lora(r=2)", "pfeiffer(r=4)", "head"])
def test_a_base_that_is_gone_or_changed(method: str, base: Path) -> None:
    own = Path(shutil.copytree(base, "own"))
    fit(rows(), "-q", base=own, method=method)
    predict("run", rows(1), "--probabilities", "--offline")
    before = chances("p.parquet")
    own.rename("elsewhere")
    Path("run").rename("moved")
    error = predict("moved", rows(1), "--offline", code=4).error()
    assert "the model it was trained on" in error
    assert "--base" in error
    predict("moved", rows(1), "--probabilities", "--offline", "--base", "elsewhere")
    np.testing.assert_array_equal(chances("p.parquet"), before)
    other = base_model(Path("other"))
    config = json.loads((other / "config.json").read_text())
    assert config["hidden_size"] == 32
    from tests.finetune.tiny import tiny_sentence_model

    shutil.rmtree(other)
    tiny_sentence_model(other, words=VOCABULARY, seed=9)
    assert "has weights" in predict("moved", rows(1), "--offline", "--base", "other", code=4).error()


@pytest.mark.parametrize("file", ["nlpkit.json", "model.safetensors", "tokenizer.json"])
def test_a_damaged_run(file: str, trained: Path) -> None:
    shutil.copytree(trained, "own")
    path = Path("own/model/classifier") / file
    path.write_bytes(path.read_bytes()[:50])
    said = predict("own", rows(1), "--no-verify", code=3).error()
    assert "train it again" in said.replace("the model again", "it again")
    assert not Path("p.parquet").exists()


# ---------------------------------------------------------------- the real model


@needs_minilm
def test_minilm_from_a_few_news(tmp_path: Path) -> None:
    texts = {
        "sport": "the striker scored twice and the team won the cup",
        "space": "the probe entered orbit around the red planet",
    }
    own = [{"id": f"{n}{i}", "text": f"{t}, report {i}", "label": n} for i in range(4) for n, t in texts.items()]
    write_jsonl(Path("train.jsonl"), own)
    run_cli("finetune", "train.jsonl", "--shots", "2", "--method", "setfit(R=1)", "--offline", "-q", "-o", "run")
    assert metrics()["accuracy"] == 1.0


# ---------------------------------------------------------------- what would be found out late


def scores_file(path: str, *targets: str) -> str:
    own = [{"target": name, "metrics": {"accuracy": {"value": 0.5}}} for name in targets]
    Path(path).write_text(json.dumps({"targets": own}))
    return path


def test_gates_that_cannot_be_checked_are_told_before_training_or_after_the_run_is_written(base: Path) -> None:
    words = [{"id": str(i), "text": "", "words": ["the", "goal"], "label": ["A", "B"]} for i in range(9)]
    assert "a gate on span_f1" in denied(words, "--fail-under", "span_f1=0.5", base=base, code=2)
    Path("bad.json").write_text("{}")
    assert "bad.json" in denied(rows(), "--baseline", "bad.json", base=base)
    done = fit(rows(), "--baseline", scores_file("other.json", "a", "b"), base=base, code=3)
    assert "has no target 'predictions'" in done.err.splitlines()[-1]
    assert read("run/documents.parquet").num_rows == 8
    assert Path("run/model/classifier").is_dir()
    assert not Path("run.checkpoint").exists()


def test_gates_look_at_the_mean_of_the_seeds(base: Path) -> None:
    done = fit(rows(), "--seeds", "3", "--fail-under", "accuracy=0", base=base)
    assert "gates look at the means of 3 seeds" in done.err
    report = json.loads(Path("run/metrics.json").read_text())
    assert len({row["accuracy"] for row in report["seeds"]["runs"]}) > 1
    assert report["gates"][0]["value"] == report["seeds"]["mean"]["accuracy"]
    shutil.copytree("run", "before")
    done = fit(rows(), "--seeds", "3", "--baseline", "before/metrics.json", base=base)  # equal to itself
    assert f"accuracy {report['seeds']['mean']['accuracy']:.4g} is not worse than" in done.err
    assert "another test" not in done.err
    done = fit(rows(5), "--seeds", "2", "--baseline", "before/metrics.json", "--max-drop", "1", base=base)
    assert "a difference may come from the other test" in done.err
    card = Path("before/model/classifier/README.md").read_text()
    assert f"{report['seeds']['mean']['accuracy']:.4f} ± {report['seeds']['sd']['accuracy']:.4f}" in card


def test_what_auto_takes_is_looked_at_as_if_it_had_been_named(base: Path) -> None:
    error = denied(pair_rows(), "--pair-col", "other", "--export", "out", base=base, code=2, method="auto")
    assert "--export writes a folder for the setfit library" in error
    assert "setfit(head=differentiable,head_rate=" in denied(
        rows(), "--head-lr", "0.1", base=base, code=2, method="setfit"
    )


def test_numbers_without_fractions_in_the_test_are_numbers_still(base: Path) -> None:
    lines = [f"{row['id']},{row['text']},{i % 5 + 0.5}" for i, row in enumerate(rows())]
    Path("train.csv").write_text("\n".join(["id,text,label", *lines]))
    Path("test.csv").write_text("\n".join(["id,text,label", *(f"t{i},the goal {i},{i}" for i in range(6))]))
    done = tune("train.csv", "--test", "test.csv", "-o", "run", base=base)
    assert "36 training documents, 6 test; numbers" in done.err
    assert "spearman" in metrics("run")


def test_labels_of_words_without_their_words_are_asked_about(base: Path) -> None:
    own = [{"id": str(i), "text": "the goal the", "label": ["O", "B-X", "O"]} for i in range(9)]
    assert "--task words" in denied(own, base=base, code=2)
    assert "3 classes" in fit(rows(), base=base).err
    assert "several of 3 labels a document" in fit([{**r, "label": [r["label"]]} for r in rows()], base=base).err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--task", "regression", "--class-weight", "balanced"], "is not for numbers; leave it out"),
        (["--task", "regression", "--probabilities"], "is not for numbers; leave it out"),
        (["--task", "regression", "--label-sep", ";"], "is not for numbers; leave it out"),
        (["--negative-col", "text"], "nlpkit train-encoder"),
        (["--labels", "a,b"], "nlpkit predict"),
        (["--holdout", "0.5", "--cv", "3"], "--holdout and --cv do not go together"),
    ],
)
def test_options_without_use_are_refused(words: list[str], said: str, base: Path) -> None:
    assert said in denied([{**row, "label": str(i)} for i, row in enumerate(rows())], *words, base=base, code=2)


def test_facts_of_setfit_are_those_in_force(base: Path) -> None:
    fit(rows(2), "--epochs", "2", "--class-weight", "balanced", "-q", base=base, method="setfit(R=1)")
    facts = json.loads(Path("run/metrics.json").read_text())["training"]
    assert facts["epochs"] == facts["options"]["epochs"] == 2
    assert facts["options"]["balanced"] is True


def test_numbers_without_a_prediction_are_told() -> None:
    own = [{"id": str(i), "text": "a", "label": i / 2, "prediction": None if i < 3 else i / 2 + 0.1} for i in range(10)]
    done = run_cli("evaluate", write_jsonl(Path("p.jsonl"), own))
    assert "3 documents without a prediction: left out of the scores" in done.out + done.err


def test_where_a_setfit_folder_cannot_go(base: Path) -> None:
    for folder, code, said in (
        ("run", 2, "is already written there; name another file"),
        ("no/such", 3, "no does not exist"),
    ):
        assert said in denied(rows(), "--export", folder, base=base, code=code, method="setfit(R=1)")


def test_texts_of_another_language(base: Path) -> None:
    done = fit([{**row, "text": f"{row['text']} 北京 天气"} for row in rows()], base=base)
    assert "% of the tokens are not in the vocabulary of" in done.err
    assert "not in the vocabulary" not in fit(rows(), base=base).err
