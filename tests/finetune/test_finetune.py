"""Fine-tuning and encoder training from Python: data, options, results and what is saved of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import nlpkit as nk
from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.data.read import corpora_of, task_kind
from nlpkit.finetune.encoders.data import read_pairs
from nlpkit.finetune.encoders.run import EncoderResult, estimate_encoder_training
from nlpkit.finetune.options import DatasetOptions, HeldOutOptions
from nlpkit.finetune.resume import open_store
from nlpkit.finetune.run import FinetuneResult, estimate_finetuning
from nlpkit.metrics.files import read_gates
from nlpkit.metrics.gates import GateRules
from nlpkit.metrics.options import GateOptions
from tests.finetune.finetune_data import base_model, pair_rows, rows

pytest.importorskip("torch")
HEAD: dict[str, Any] = {"method": "head", "max_steps": 3, "threads": 1, "near_duplicates": 0.0}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base_model(tmp_path_factory.mktemp("base") / "model")


@pytest.fixture(scope="module")
def tuned(base: Path) -> FinetuneResult:
    return nk.finetune(pd.DataFrame(rows()), base=str(base), **HEAD)


def pairs(n: int = 12) -> pa.Table:
    columns = ("id", "text", "other", "negative", "label", "score")
    return pa.Table.from_pylist([{name: row[name] for name in columns} for row in pair_rows(n)])


def test_a_model_is_tuned_on_a_data_frame_and_knows_how_it_came_about(tuned: FinetuneResult) -> None:
    assert set(tuned.evaluation) >= {"accuracy", "macro_f1"}
    assert {"documents", "classes", "errors"} <= set(tuned.tables())
    assert tuned.tables()["documents"].num_rows == len(tuned.dataset.rounds[0][1]) > 0
    assert (tuned.facts["method"], tuned.facts["steps"]) == ("head", 3)
    assert tuned.curve
    assert tuned.report["targets"][0]["metrics"]["accuracy"]["value"] == tuned.evaluation["accuracy"].value
    assert tuned.spread is None
    assert tuned.problem is None


def test_a_tuned_model_is_saved_loaded_and_copied(tuned: FinetuneResult, tmp_path: Path) -> None:
    new = ["the team won", "a planet"]
    before = tuned.predict(new)
    run = tuned.save(tmp_path / "run")
    loaded = nk.load(run)
    assert loaded.predict(new).equals(before)
    assert set(loaded.tables()) == set(tuned.tables())
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["parameters"]["training"]["steps"] == 3  # a fact of the training, which footers do not have
    tuned.save(tmp_path / "again")  # the checkpoint is gone: a copy
    assert (tmp_path / "again" / "manifest.json").read_bytes() == (run / "manifest.json").read_bytes()


def test_methods_are_compared_in_a_table(base: Path, tmp_path: Path) -> None:
    options = HEAD | {"method": "head,full", "shots": "2,all"}
    compared = nk.compare_methods(pa.Table.from_pylist(rows()), base=str(base), **options)
    table = compared.table()
    rows_of = set(zip(table["method"].to_pylist(), table["shots"].to_pylist(), strict=True))
    assert {(method, shots) for method in ("head", "full", "majority") for shots in (2, None)} == rows_of
    assert compared.best is not None
    assert compared.scarce_shots() == []
    run = compared.save(tmp_path / "both")
    assert not (run / "model" / "transformers").exists()
    assert json.loads((run / "manifest.json").read_text())["results"]["train_best"].startswith(
        "nk.finetune(data, method="
    )


def test_the_plan_of_a_training_is_told_without_it(base: Path) -> None:
    data = pa.Table.from_pylist(rows())
    plan = estimate_finetuning(data, base=str(base), dataset=DatasetOptions(holdout=0.5), **HEAD)
    assert len(plan["plan"]) == 1
    assert len(estimate_finetuning(data, base=str(base), **HEAD | {"method": "head,full"})["plan"]) == 2
    encoder = estimate_encoder_training(pairs(), base=str(base), objective="mnrl", pair_col="other", max_steps=2)
    assert encoder["plan"]


@pytest.mark.parametrize(
    ("call", "options", "parameter"),
    [
        ("finetune", {"method": "head,full"}, "method"),
        ("compare_methods", {"method": "head"}, "method"),
        ("compare_methods", {"method": "head,full", "probabilities": True}, "probabilities"),
        ("finetune", {"merge": True}, "merge"),
        ("finetune", {"export": Path("nowhere")}, "export"),
        ("finetune", {"resume": True}, "resume"),
        ("finetune", {"test": "nowhere.jsonl"}, "test"),
    ],
)
def test_options_that_cannot_be_name_themselves(call: str, options: dict[str, Any], parameter: str, base: Path) -> None:
    with pytest.raises((UsageError, InputError)) as error:
        getattr(nk, call)(pa.Table.from_pylist(rows()), base=str(base), **HEAD | options)
    assert error.value.parameter == parameter


def test_gates_are_of_the_scores(base: Path) -> None:
    rules: GateRules = read_gates(GateOptions(fail_under="accuracy=1.1"), None)
    result = nk.finetune(pa.Table.from_pylist(rows()), base=str(base), gates=rules, **HEAD)
    assert [gate.passed for gate in result.gates] == [False]
    assert result.report["passed"] is False


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["a", "b"], "single"),
        (["1", "2"], "single"),
        (["1.5", "2"], "regression"),
        ([["a"], ["a", "b"]], "multi"),
        ([["O", "B"], ["B"]], "multi"),
    ],
)
def test_labels_say_what_the_task_is(labels: list[Any], kind: str) -> None:
    assert task_kind(pa.table({"text": ["x", "y"], "label": labels}), DatasetOptions()) == kind


@pytest.mark.parametrize("labels", [["1,5", "2,5"], [["a", "a"], ["b"]]])
def test_labels_that_say_too_little_are_asked_about(labels: list[Any]) -> None:
    with pytest.raises(UsageError) as error:
        task_kind(pa.table({"text": ["x", "y"], "label": labels}), DatasetOptions())
    assert error.value.parameter == "task"


def test_held_out_documents_are_read_as_those_of_training(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("body,label\nx,a\n")
    corpus = nk.Corpus.from_frame(pa.table({"body": ["y"]}), text="body").with_options(limit=1)
    (_, _), (test, _) = corpora_of(corpus, HeldOutOptions(test=tmp_path / "test.csv"))
    assert test.table()["text"].to_pylist() == ["x"]
    assert test.options.limit is None


def test_a_store_without_an_output_leaves_nothing() -> None:
    store = open_store(None, {}, resume=False, force=False)
    folder = store.checkpoint.path.parent
    assert folder.is_dir()
    del store
    assert not folder.exists()


@pytest.fixture(scope="module")
def encoder(base: Path) -> EncoderResult:
    return nk.train_encoder(pairs(), base=str(base), objective="mnrl", pair_col="other", max_steps=2, threads=1)


def test_an_encoder_is_scored_before_and_after(encoder: EncoderResult, tmp_path: Path) -> None:
    table = encoder.tables()["scores"].to_pylist()
    assert [row["metric"] for row in table] == list(encoder.after or {})
    assert encoder.report["test_rows"] == encoder.n_tested > 0
    run = encoder.save(tmp_path / "encoder")
    assert encoder.path == run
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["kind"] == "finetune-encoder"
    assert manifest["parameters"]["training"]["steps"] == encoder.facts["steps"] > 0
    embedded = nk.embed(["the team", "a planet"], encoder=str(run))
    assert embedded.table()["embedding"].type.list_size == 32


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"objective": "mnrl"}, "pair_col"),
        ({"objective": "triplet", "pair_col": "other"}, "negative_col"),
        ({"objective": "cosine", "pair_col": "other", "negative_col": "negative"}, "negative_col"),
        ({"objective": "mlm(share=2)"}, "objective"),
        ({"objective": "mnrl", "pair_col": "other", "resume": True}, "resume"),
    ],
)
def test_objectives_name_what_they_lack(options: dict[str, Any], parameter: str, base: Path) -> None:
    with pytest.raises(UsageError) as error:
        nk.train_encoder(pairs(), base=str(base), threads=1, **options)
    assert error.value.parameter == parameter


def test_pairs_with_an_empty_text_are_left_out() -> None:
    table = pairs(10)
    texts = ["" if i == 3 else text for i, text in enumerate(table["other"].to_pylist())]
    table = table.set_column(2, "other", pa.array(texts))
    columns = {"pair_col": "other", "negative_col": None}
    dataset, provenance = read_pairs(
        nk.Corpus.from_frame(table), HeldOutOptions(pair_col="other", holdout=0.3), columns, "mnrl", seed=1
    )
    assert sorted({int(split) for split in dataset.split}) == [-1, 0, 1]
    assert int((dataset.split == -1).sum()) == 1
    assert provenance.inputs[0].rows == 10
