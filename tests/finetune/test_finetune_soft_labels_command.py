"""nlpkit finetune --annotators: the shares of coders as targets; one label each as their limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nlpkit.finetune.tasks import FinetuneTask, Targets, balanced
from tests.command_line import read, run_cli, write_jsonl
from tests.finetune.finetune_data import CODERS, chances, coded, refused, tune, without_clocks

TASK = FinetuneTask("single", ("a", "b", "c"))


def fit(*words: Any, base: Path, method: str, run: str, **options: Any) -> Any:
    return tune(
        "c.jsonl", "--lr", "0.005", *words, "--probabilities", "-f", "-o", run, base=base, method=method, **options
    )


def test_the_loss_by_hand_and_its_limit_to_the_byte() -> None:
    z = torch.tensor([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]], requires_grad=True)
    q, rows_ = torch.tensor([[2 / 3, 1 / 3, 0.0], [0.0, 0.0, 1.0]]), np.array([0, 1])
    log_p = torch.log_softmax(z.detach(), 1)
    by_hand = -float(2 / 3 * log_p[0, 0] + 1 / 3 * log_p[0, 1] + log_p[1, 2])
    soft = Targets(TASK, np.array([0, 2]), shares=q)
    assert float(soft.loss(z, rows_).detach()) == pytest.approx(by_hand, rel=1e-6)
    assert soft.weight(rows_) == 2.0
    w = torch.tensor([3.0, 1.0, 2.0])
    weighted = Targets(TASK, np.array([0, 2]), w, shares=q)
    assert weighted.weight(rows_) == pytest.approx(2 / 3 * 3 + 1 / 3 + 2)
    expected = -float(2 / 3 * 3 * log_p[0, 0] + 1 / 3 * log_p[0, 1] + 2 * log_p[1, 2])
    assert float(weighted.loss(z, rows_).detach()) == pytest.approx(expected, rel=1e-6)
    y = np.array([1, 2])
    for weights in (None, w):
        hard, limit = (Targets(TASK, y, weights, shares=s) for s in (None, torch.eye(3)[torch.from_numpy(y)]))
        assert hard.weight(rows_) == limit.weight(rows_)
        one, other = (torch.autograd.grad(t.loss(z, rows_), z)[0] for t in (hard, limit))
        assert one.numpy().tobytes() == other.numpy().tobytes()
    sizes = np.array([2, 1, 0])
    assert torch.equal(balanced(sizes, 3), balanced(sizes.astype(np.float64), 3))


@pytest.mark.parametrize("method", ["full", "head", "lora(r=2)", "setfit(R=2)"])
def test_coders_who_agree_give_the_model_of_their_labels(method: str, base: Path) -> None:
    write_jsonl(Path("c.jsonl"), coded(0))
    words = ["--class-weight", "balanced"] if method in ("full", "setfit(R=2)") else []
    fit(*words, "-q", base=base, method=method, run="hard")
    done = fit(*words, *CODERS, base=base, method=method, run="soft")
    assert "soft labels by 3 coders, who disagree on 0 of 24 documents" in done.err
    hard, soft = without_clocks("hard"), without_clocks("soft")
    weights = [name for name in hard if name.endswith(".safetensors")]
    assert weights
    for name in weights:
        assert hard[name] == soft[name], name
    np.testing.assert_array_equal(chances("hard/documents.parquet"), chances("soft/documents.parquet"))


@pytest.mark.parametrize("method", ["head", "setfit(epochs=0,C=1000)"])
def test_disagreement_makes_probabilities_softer_and_the_score_is_by_the_majority(method: str, base: Path) -> None:
    rate = ("--lr", "0.1") if method == "head" else ()
    write_jsonl(Path("c.jsonl"), [{k: v for k, v in row.items() if k != "label"} for row in coded(2)])
    run_cli("annotate", "majority", "c.jsonl", *CODERS, "-q", "-o", "m.jsonl")
    fit(*CODERS, *rate, "-q", base=base, method=method, run="soft", steps=60)
    Path("m.jsonl").rename("c.jsonl")
    fit(*rate, "-q", base=base, method=method, run="hard", steps=60)
    hard, soft = (read(f"{name}/documents.parquet") for name in ("hard", "soft"))
    assert soft["label"].to_pylist() == hard["label"].to_pylist()
    assert np.mean(soft["prediction_prob"].to_pylist()) < np.mean(hard["prediction_prob"].to_pylist())
    assert max(soft["label_entropy"].to_pylist()) == pytest.approx(-(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)))
    facts = json.loads(Path("soft/manifest.json").read_text())
    assert facts["parameters"]["annotators"] == ["anna", "ben", "chiara"]


def test_labels_by_reliability_are_those_of_the_coders_who_agree(base: Path) -> None:
    """A third coder who says space everywhere changes nothing: the model is that of the labels of the other two."""
    write_jsonl(Path("c.jsonl"), coded(1))
    done = fit(*CODERS, "--annotators-by", "dawid-skene", base=base, method="head", run="soft")
    assert "accuracy by Dawid & Skene: anna 1.00, ben 1.00, chiara 0." in done.err
    fit("-q", base=base, method="head", run="hard")
    np.testing.assert_array_equal(chances("hard/documents.parquet"), chances("soft/documents.parquet"))
    facts = json.loads(Path("soft/manifest.json").read_text())
    assert facts["parameters"]["annotators_by"] == "dawid-skene"


@pytest.mark.parametrize(
    ("words", "method", "code", "said"),
    [
        ([*CODERS, "--task", "ordinal"], "full", 2, "--annotators"),
        ([*CODERS, "--label-sep", ";"], "full", 2, "--annotators"),
        (["--annotators", "anna,dora"], "full", 3, "no column 'dora'"),
        (["--annotators", "anna,anna"], "full", 2, "twice"),
        (["--annotators-by", "dawid-skene"], "full", 2, "needs --annotators"),
        (CODERS, "setfit(head=differentiable)", 2, "one label a document"),
    ],
)
def test_what_cannot_be(words: list[str], method: str, code: int, said: str, base: Path) -> None:
    write_jsonl(Path("c.jsonl"), coded(3))
    assert said in refused("c.jsonl", *words, "-o", "no", base=base, method=method, code=code)
    assert not Path("no").exists()
