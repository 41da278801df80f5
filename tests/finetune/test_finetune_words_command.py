"""`nlpkit finetune --crf`: labels of words as a valid sequence, in every format of a model; resumed, refused, exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from nlpkit.finetune.training.crf import breaks_bio
from tests.command_line import run_cli, write_jsonl
from tests.few import few
from tests.finetune.finetune_data import VOCABULARY, refused, tagged, tune
from tests.finetune.tiny import tiny_bert

pytest.importorskip("torch")


def predictions(model: str) -> list[Any]:
    write_jsonl(Path("new.jsonl"), [*tagged()[:6], {"id": "none", "words": []}, {"id": "long", "words": ["the"] * 99}])
    run_cli("predict", model, "new.jsonl", "--threads", "1", "-f", "-o", "p.parquet")
    return pq.read_table("p.parquet").select(["prediction", "prediction_prob"]).to_pylist()


@pytest.mark.parametrize(
    ("method", "words"),
    few(
        [("full", []), ("head", []), ("lora", []), ("pfeiffer", []), ("lora", ["--quantize", "nf4", "--double-quant"])],
        2,
    ),
    ids=["full", "head", "lora", "pfeiffer", "qlora"],
)
def test_a_crf_is_trained_kept_and_read_again(method: str, words: list[str], base: Path) -> None:
    write_jsonl(Path("train.jsonl"), tagged())
    tune("train.jsonl", "--crf", "--lr", "0.003", *words, "-q", "-f", "-o", "run", base=base, steps=20, method=method)
    (folder,) = (p for p in Path("run/model").iterdir() if p.is_dir())
    assert (folder / "crf.safetensors").is_file()
    assert json.loads((folder / "nlpkit.json").read_text())["task"]["crf"] is True
    assert json.loads(Path("run/manifest.json").read_text())["parameters"]["crf"] is True
    card = (folder / "README.md").read_text()
    assert "which transformers and peft do not have" in card
    tested = pq.read_table("run/documents.parquet").to_pylist()
    write_jsonl(Path("again.jsonl"), [{k: row[k] for k in ("id", "words")} for row in tested])
    run_cli("predict", "run", "again.jsonl", "--threads", "1", "-f", "-o", "again.parquet")
    again = pq.read_table("again.parquet").to_pylist()
    assert [row["prediction"] for row in again] == [row["prediction"] for row in tested]
    np.testing.assert_allclose(
        np.concatenate([row["prediction_prob"] for row in again]),
        np.concatenate([row["prediction_prob"] for row in tested]), atol=1e-5,
    )  # fmt: skip
    found = predictions("run")
    assert all(breaks_bio(row["prediction"]) is None for row in found)
    assert found[-2]["prediction"] == []
    assert None not in found[-1]["prediction"]  # also beyond the first window
    assert all(p is None or 0 <= p <= 1.000001 for row in found for p in row["prediction_prob"])


def test_it_learns_spans_and_transformers_reads_the_scores_of_words(base: Path) -> None:
    from transformers import AutoModelForTokenClassification

    write_jsonl(Path("train.jsonl"), tagged())
    tune("train.jsonl", "--crf", "--lr", "0.003", "-q", "-o", "run", base=base, steps=80)
    scores = json.loads(Path("run/metrics.json").read_text())["targets"][0]["metrics"]
    assert scores["span_f1"]["value"] > 0.9
    model, info = AutoModelForTokenClassification.from_pretrained("run/model/transformers", output_loading_info=True)
    assert not info["unexpected_keys"]
    assert not info["missing_keys"]
    assert list(model.config.id2label.values()) == ["B-X", "B-Y", "I-X", "I-Y", "O"]


def test_a_crf_on_a_quantised_base_is_in_the_merged_model_too(base: Path) -> None:
    write_jsonl(Path("train.jsonl"), tagged())
    words = ["--crf", "--lr", "0.003", "--quantize", "nf4", "--merge", "-q", "-o", "run"]
    tune("train.jsonl", *words, base=base, steps=10, method="lora(r=2)")
    low, merged = predictions("run"), predictions("run/model/merged")
    assert Path("run/model/peft/crf.safetensors").read_bytes() == Path("run/model/merged/crf.safetensors").read_bytes()
    assert [row["prediction"] for row in low] == [row["prediction"] for row in merged]
    for one, other in zip(low, merged, strict=True):
        seen = [(a, b) for a, b in zip(one["prediction_prob"], other["prediction_prob"], strict=True) if a is not None]
        np.testing.assert_allclose(*np.array(seen).reshape(-1, 2).T, atol=1e-5)


def test_a_damaged_crf_is_told(base: Path) -> None:
    write_jsonl(Path("train.jsonl"), tagged())
    tune("train.jsonl", "--crf", "-q", "-o", "run", base=base)
    folder = Path("run/model/transformers")
    write_jsonl(Path("new.jsonl"), tagged()[:2])
    (folder / "crf.safetensors").write_bytes(b"no weights")
    error = run_cli("predict", folder, "new.jsonl", "-o", "p.parquet", code=3).error()
    assert "crf.safetensors is damaged or missing" in error


def test_labels_that_are_no_bio_scheme(base: Path) -> None:
    own = tagged()
    own[0]["label"] = ["I-X", *own[0]["label"][1:]]
    error = refused(write_jsonl(Path("t.jsonl"), own), "--crf", "-o", "run", base=base, code=3)
    assert "document d0, word 1: the label 'I-X' at the start does not follow the BIO scheme" in error
    own = [{**row, "label": [label[0] for label in row["label"]]} for row in tagged()]
    done = tune(write_jsonl(Path("t.jsonl"), own), "--crf", "-o", "run", base=base)
    assert "labels do not follow the BIO scheme (such as 'B')" in done.err


@pytest.mark.parametrize(
    ("more", "said"), [(["--class-weight", "balanced"], "keep one"), (["--method", "setfit"], "setfit learns classes")]
)
def test_options_that_do_not_go_with_it(more: list[str], said: str, base: Path) -> None:
    write_jsonl(Path("t.jsonl"), tagged())
    assert said in refused("t.jsonl", "--crf", *more, "-o", "run", base=base, code=2, method=None)


def test_it_is_for_words(base: Path) -> None:
    write_jsonl(Path("t.jsonl"), [{"id": str(i), "text": "a b", "label": "xy"[i % 2]} for i in range(9)])
    assert "--crf is not for 2 classes" in refused("t.jsonl", "--crf", "-o", "run", base=base, code=2)


def test_words_that_the_tokenizer_makes_nothing_of(tmp_path: Path) -> None:
    base = tiny_bert(tmp_path / "bert", words=VOCABULARY)
    own = tagged()
    for row in own[::2]:
        row["words"], row["label"] = ["\u200b", *row["words"]], ["B-X", "I-X", *row["label"][1:]]
    write_jsonl(Path("train.jsonl"), own)
    done = tune("train.jsonl", "--crf", "-o", "run", base=base)
    assert "loss grew" not in done.err
    table = pq.read_table("run/documents.parquet").to_pylist()
    assert all(len(row["prediction"]) == len(row["words"]) and None not in row["prediction"] for row in table)
