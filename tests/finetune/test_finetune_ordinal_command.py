"""`nlpkit finetune --task ordinal`: classes in an order, scored as ranks, and read by transformers as they are."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import read, run_cli, write_jsonl
from tests.finetune.finetune_data import FIRST, GRADED, GRADES, graded, refused, tune

pytest.importorskip("torch")


@pytest.mark.parametrize("method", ["full", "lora(r=4)"])
def test_grades_are_learned_scored_and_predicted(method: str, base: Path) -> None:
    write_jsonl(Path("train.jsonl"), graded())
    done = tune(
        "train.jsonl", *GRADED, *shlex.split("--lr 0.003 --probabilities -f -o run"), base=base, steps=60, method=method
    )
    assert "3 classes in an order" in done.err
    target = json.loads(Path("run/metrics.json").read_text())["targets"]
    scores = {name: score["value"] for name, score in target[0]["metrics"].items()}
    assert {"quadratic_kappa", "rank_mae", "macro_mae", "accuracy", "ece"} <= scores.keys()
    assert target[1]["target"] == "median of training"
    if method == "full":
        assert scores["quadratic_kappa"] > 0.7
    tested = read("run/documents.parquet").to_pylist()
    texts = {row["id"]: row["text"] for row in graded()}
    write_jsonl(Path("new.jsonl"), [{"id": row["id"], "text": texts[row["id"]]} for row in tested])
    run_cli("predict", "run", "new.jsonl", "--probabilities", "--threads", "1", "-f", "-o", "p.parquet")
    again = read("p.parquet").to_pylist()
    assert [row["prediction"] for row in again] == [row["prediction"] for row in tested]
    for row in again:
        p = dict(row["probabilities"])
        assert sum(p.values()) == pytest.approx(1, abs=1e-5)
        below = np.cumsum([p[name] for name in GRADES])
        assert row["prediction"] == GRADES[int(np.argmax(below >= 0.5 - 1e-6))]


def test_transformers_gives_the_same_chances(base: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    own = graded()
    write_jsonl(Path("train.jsonl"), own)
    tune("train.jsonl", *GRADED, "--lr", "0.003", *FIRST, "-q", "-o", "run", base=base, steps=20)
    model = AutoModelForSequenceClassification.from_pretrained("run/model/transformers")
    assert list(model.config.id2label.values()) == [">bad", ">ok"]
    write_jsonl(Path("new.jsonl"), own[:8])
    run_cli("predict", "run", "new.jsonl", "--probabilities", "-q", "-o", "p.parquet")
    tokenizer = AutoTokenizer.from_pretrained("run/model/transformers")
    batch = tokenizer([row["text"] for row in own[:8]], padding=True, return_tensors="pt")
    with torch.no_grad():
        above = np.minimum.accumulate(torch.sigmoid(model.eval()(**batch).logits).numpy(), axis=1)
    expected = np.column_stack([1 - above[:, 0], above[:, 0] - above[:, 1], above[:, 1]])
    found = [[dict(row)[name] for name in GRADES] for row in read("p.parquet").column("probabilities").to_pylist()]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    first = [GRADES[int(np.argmax(np.append(z <= 0, True)))] for z in torch.logit(torch.from_numpy(above)).numpy()]
    assert read("p.parquet").column("prediction").to_pylist() == first  # as the model card says


def test_numbers_need_no_order_and_methods_are_compared_by_kappa(base: Path) -> None:
    write_jsonl(Path("train.jsonl"), graded(names=[1, 2, 10]))
    done = tune("train.jsonl", "--task", "ordinal", "--shots", "8", "-o", "run", base=base, method="full,head,setfit")
    assert "setfit learns classes from one text" in done.err
    assert "quadratic_kappa" in done.out
    rows = read("run/comparison.parquet").to_pylist()
    assert {row["method"] for row in rows} == {"full", "head", "majority"}
    tune("train.jsonl", "--task", "ordinal", "-q", "-o", "one", base=base)
    assert json.loads(Path("one/manifest.json").read_text())["parameters"]["classes"] == ["1", "2", "10"]


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--order", "bad,ok,good"], 2, "--task ordinal"),
        (["--task", "ordinal"], 2, "--order bad,good,ok"),
        (["--task", "ordinal", "--order", "bad,good"], 2, "leaves out the label 'ok'"),
        (["--task", "ordinal", "--order", "bad,ok,ok,good"], 2, "names 'ok' twice"),
        ([*GRADED, "--method", "setfit"], 2, "not ordered ones"),
        ([*GRADED, "--crf"], 2, "--crf is not for 3 classes in an order"),
        ([*GRADED, "--label-sep", ";"], 2, "needs one label per document, but the column has lists"),
    ],
)
def test_what_cannot_be(more: list[str], code: int, said: str, base: Path) -> None:
    write_jsonl(Path("train.jsonl"), graded())
    assert said in refused("train.jsonl", *more, "-o", "run", base=base, code=code, method=None)


def test_one_grade_is_not_enough(base: Path) -> None:
    write_jsonl(Path("train.jsonl"), [{**row, "label": "ok"} for row in graded()])
    error = refused("train.jsonl", *GRADED, "-o", "run", base=base, code=3)
    assert "all labelled training documents have the label 'ok'" in error
