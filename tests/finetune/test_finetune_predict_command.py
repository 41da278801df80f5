"""nlpkit finetune NEW --model: what predicting has no use for is refused, and a damaged model is told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.command_line import read, run_cli, write_jsonl
from tests.finetune.finetune_data import FIRST, base_model, rows, tune


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with new.jsonl, the runs full/ and setfit/, and theirs/: a model of transformers."""
    folder = tmp_path_factory.mktemp("models")
    base = base_model(folder / "tiny")
    write_jsonl(folder / "new.jsonl", rows(2))
    for method in ("full", "setfit(R=1)"):
        tune(folder / "new.jsonl", "-q", "-o", folder / method.partition("(")[0], base=base, method=method)
    tune(folder / "new.jsonl", *FIRST, "-q", "-o", folder / "first", base=base)
    shutil.copytree(folder / "first" / "model" / "transformers", folder / "theirs")
    (folder / "theirs" / "nlpkit.json").unlink()
    return folder


def predict(folder: Path, model: str, *words: Any, code: int = 0) -> Any:
    own = ("predict", folder / model, folder / "new.jsonl")
    done = run_cli(*own, *words, "--threads", "1", "-f", "-o", "p.parquet", code=code)
    return read("p.parquet") if not code else done.error()


@pytest.mark.parametrize("model", ["full", "full/model/classifier", "setfit"])
def test_what_a_run_knows_itself_is_no_option(model: str, models: Path) -> None:
    error = predict(models, model, "--labels", "a,b,c", code=2)
    assert f"{model} was trained by nlpkit and records its labels: politics, space, sport" in error
    assert "leave --labels out" in error
    assert "was trained by nlpkit and records its task" in predict(models, model, "--task", "labels", code=2)
    assert predict(models, model, "--task", "auto").num_rows == 24


def test_what_a_folder_of_transformers_knows_itself(models: Path) -> None:
    assert "leave --task out" in predict(models, "theirs", "--task", "labels", code=2)
    assert "--task label is not known" in predict(models, "theirs", "--task", "label", code=2)
    for names in ("a,b,a", "a,,b", ""):
        assert "each class needs a different name, such as no,yes" in predict(
            models, "theirs", "--labels", names, code=2
        )
    assert "--labels names 2 classes" in predict(models, "theirs", "--labels", "a,b", code=2)
    found = predict(models, "theirs", "--labels", "a, b, c", "--probabilities").column("probabilities")[0].as_py()
    assert list(dict(found)) == ["a", "b", "c"]
    words = ("predict", models / "theirs", models / "new.jsonl", "-f", "-o", "p.parquet")
    assert f"task: classes ({models / 'theirs'}/ of transformers)" in run_cli(*words).err
    assert "task:" not in run_cli(*words, "-q").err


def test_a_damaged_head_of_a_run_is_told(models: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(models / "setfit", tmp_path / "setfit"))
    shutil.copy(models / "new.jsonl", tmp_path)
    file = folder / "model" / "setfit" / "head.safetensors"
    whole = file.read_bytes()
    for at in (0, 7, 8, 12, 40):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        assert "is damaged" in predict(tmp_path, "setfit", "--no-verify", code=3)
    file.write_bytes(whole[:-8])
    assert "is damaged" in predict(tmp_path, "setfit", "--no-verify", code=3)
    file.write_bytes(whole)
    assert predict(tmp_path, "setfit").num_rows == 24


@pytest.mark.parametrize("model", ["full", "setfit"])
def test_weights_that_are_no_numbers_are_told(model: str, models: Path, tmp_path: Path) -> None:
    """Every document got the first class, with the probability NaN, and exit code 0."""
    from safetensors.numpy import load_file, save_file

    folder = Path(shutil.copytree(models / model, tmp_path / model))
    shutil.copy(models / "new.jsonl", tmp_path)
    file = next((folder / "model").rglob("head.safetensors" if model == "setfit" else "model.safetensors"))
    weights = load_file(file)
    name = next(name for name, values in weights.items() if values.dtype.kind == "f")
    weights[name] = np.full_like(weights[name], np.nan)
    save_file(weights, file, metadata={"format": "pt"})
    assert not (tmp_path / "p.parquet").exists()
    assert "not finite" in predict(tmp_path, model, "--no-verify", code=3)
    assert not (tmp_path / "p.parquet").exists()


def test_numbers_have_no_probability_and_words_one_each(models: Path, tmp_path: Path) -> None:
    own = [{"id": str(i), "text": row["text"], "label": 0.5 + i} for i, row in enumerate(rows(1))]
    tune(write_jsonl(tmp_path / "numbers.jsonl", own), "-q", "-o", "numbers", base=models / "tiny")
    run_cli("predict", "numbers", tmp_path / "numbers.jsonl", "-q", "-o", "n.parquet")
    assert read("n.parquet").column_names == ["id", "text", "label", "prediction"]
    assert "prediction_prob" not in read("numbers/documents.parquet").column_names
    words = [{"id": str(i), "text": "a b c", "label": ["X", "Y", "X"]} for i in range(12)]
    tune(write_jsonl(tmp_path / "words.jsonl", words), "--task", "words", "-q", "-o", "words", base=models / "tiny")
    run_cli("predict", "words", tmp_path / "words.jsonl", "-q", "-o", "w.parquet")
    for row in (*read("w.parquet").to_pylist(), *read("words/documents.parquet").to_pylist()):
        assert len(row["prediction_prob"]) == len(row["prediction"]) == 3
        assert all(0.5 <= p <= 1 for p in row["prediction_prob"])
    assert "accuracy" in run_cli("evaluate", "w.parquet").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pair-col", "text"], "was trained without --pair-col; leave it out"),
        (["--context-by", "label"], "was trained without --context-by; leave it out"),
        (["--words-col", "text"], "was trained without --words-col; leave it out"),
    ],
)
@pytest.mark.parametrize("model", ["full", "setfit"])
def test_columns_that_a_model_does_not_read_are_refused(model: str, words: list[str], said: str, models: Path) -> None:
    assert f"{models / model} {said}" in predict(models, model, *words, code=2)
    assert f"{models / model} {said}" in predict(models, model, *words, "--dry-run", code=2)


def test_a_folder_of_transformers_may_read_pairs(models: Path) -> None:
    alone = predict(models, "theirs", "--probabilities").column("probabilities").to_pylist()
    assert (
        predict(models, "theirs", "--pair-col", "label", "--probabilities").column("probabilities").to_pylist() != alone
    )


def test_a_dry_run_looks_at_the_model_and_its_columns(models: Path, tmp_path: Path) -> None:
    assert "does not exist" in predict(models, "nope", "--dry-run", code=3)
    base = models / "tiny"
    own = [{**row, "other": row["text"]} for row in rows(2)]
    tune(write_jsonl(tmp_path / "pairs.jsonl", own), "--pair-col", "other", "-q", "-o", "pairs", base=base)
    words = ("--dry-run", "-o", "p.parquet")
    assert "other" in run_cli("predict", "pairs", models / "new.jsonl", *words, code=3).error()
    assert "nothing was written" in run_cli("predict", "pairs", tmp_path / "pairs.jsonl", *words).err
    assert not Path("p.parquet").exists()


def test_the_next_command_scores_the_predictions(models: Path, tmp_path: Path) -> None:
    own = [{"id": row["id"], "text": row["text"], "topic": row["label"]} for row in rows(2)]
    write_jsonl(tmp_path / "topics.jsonl", own)
    words = ("predict", models / "full", tmp_path / "topics.jsonl", "-f", "-o", "p.parquet")
    assert "next:" not in run_cli(*words).err
    assert "accuracy" in run_cli("evaluate", "p.parquet", "--label-col", "topic").out
    # of documents that the model learned from, its own scores are those that tell
    done = run_cli("predict", models / "full", models / "new.jsonl", *words[3:])
    assert done.err.rstrip().endswith(f"next: nlpkit evaluate {models / 'full'}")
    assert f"{models / 'full'} learned from {models / 'new.jsonl'}" in done.err
    assert "learned from" in run_cli("evaluate", "p.parquet").err


@pytest.mark.parametrize("text", [True, False])
def test_the_next_command_of_words_and_of_several_labels(text: bool, models: Path, tmp_path: Path) -> None:
    words = ["a b", "b a c"]
    labels: list[Any] = ["X Y", "Y X X"] if text else [["X", "Y"], ["Y", "X", "X"]]
    own = [{"id": str(i), "text": words[i % 2], "label": labels[i % 2]} for i in range(12)]
    tune(write_jsonl(tmp_path / "words.jsonl", own), "--task", "words", "-q", "-o", "words", base=models / "tiny")
    write_jsonl(tmp_path / "other.jsonl", own[:-1])
    done = run_cli("predict", "words", tmp_path / "other.jsonl", "-o", "p.parquet")
    assert ("next: nlpkit evaluate p.parquet" in done.err) == (not text)
    assert "accuracy" in run_cli("evaluate", "p.parquet", *(["--label-sep", " "] if text else [])).out
    several: list[Any] = ["x", "x;y"] if text else [["x"], ["x", "y"]]
    own = [{**row, "label": several[i % 2]} for i, row in enumerate(own)]
    write_jsonl(tmp_path / "several.jsonl", own)
    tune(
        tmp_path / "several.jsonl",
        "--task",
        "labels",
        *(["--label-sep", ";"] if text else []),
        "-q",
        "-o",
        "run",
        base=models / "tiny",
    )
    write_jsonl(tmp_path / "other.jsonl", own[:-1])
    done = run_cli("predict", "run", tmp_path / "other.jsonl", "-f", "-o", "p.parquet")
    assert ("next:" in done.err) == (not text)
    assert text or "micro_f1" in run_cli("evaluate", "p.parquet").out


def test_a_run_as_a_base_names_the_model_in_it(models: Path) -> None:
    error = tune(models / "new.jsonl", "-o", "no", base=models / "setfit", code=4).error()
    assert f"is a run of nlpkit, whose model lies in it: give {models}/setfit/model/setfit" in error
    tune(models / "new.jsonl", "-q", "-o", "adapter", base=models / "tiny", method="head")
    error = tune(models / "new.jsonl", "-o", "no", base=Path("adapter"), code=4).error()
    assert "without a whole model, such as an adapter; give the model it was trained on" in error
