"""All kinds of encoders in 16 bits on a CPU: a step of training and a prediction of each; DeBERTa v1 stays in fp32."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nlpkit.finetune.adapters.peft_modules import apply_peft
from nlpkit.finetune.patterns.mlm import MlmObjective, cut_windows, perplexity
from nlpkit.finetune.setfit.embedder import embed_all, load_embedder
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.training import engine as engine_module
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.frozen import FrozenBodyObjective
from nlpkit.finetune.training.network import ClassifierObjective, Network, predict
from tests.finetune.eight import KINDS, build, one_thread  # noqa: F401
from tests.finetune.patterns.test_mlm import habits, load, write_base
from tests.finetune.training.test_frozen import CLASSES, CPU, TAGS, N, examples, network

ROWS = np.arange(N)
SAID = "DeBERTa v1 runs in fp32: transformers cannot run it in "


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "_warned", set())


def whole(kind: str, task: FinetuneTask) -> Network:
    own = network(kind, task, "full")
    own.model.requires_grad_(True)
    own.trained = dict(own.model.named_parameters())
    return own


def step(objective: Any, engine: Engine) -> tuple[float, dict[str, torch.Tensor]]:
    """Return the loss and the gradients of all rows."""
    parameters = objective.parameters()
    loss = engine.separate(objective, np.arange(objective.n), parameters, seed=(0,))
    assert engine.unscale(parameters)
    return loss, {name: p.grad.clone() for name, p in parameters.items() if p.grad is not None}


def finite(values: Any) -> bool:
    return all(bool(np.isfinite(np.asarray(own)).all()) for own in values)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("task", [CLASSES, TAGS], ids=["classes", "words"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_trains_and_predicts_in_16_bits(
    kind: str, task: FinetuneTask, precision: str, caplog: pytest.LogCaptureFixture
) -> None:
    own = whole(kind, task)
    inputs, targets = examples(task)
    if task is TAGS:
        inputs = replace(
            inputs,
            words=[np.arange(n) for n in inputs.lengths],
            n_words=inputs.lengths,
            documents=np.arange(len(inputs.lengths)),
        )
    found = {}
    for asked in ("fp32", precision):
        with Engine(CPU, asked, threads=2) as engine:
            own.mode(False)
            loss, gradients = step(ClassifierObjective(own, inputs, targets, ROWS), engine)
            outputs = np.concatenate(list(predict(own, inputs, ROWS, engine)), axis=None)
        assert finite([loss, outputs, *gradients.values()])
        found[asked] = (loss, outputs, gradients)
    exact, rounded = found.values()
    assert rounded[0] == pytest.approx(exact[0], rel=0.05)
    assert np.array_equal(rounded[1], exact[1]) == (kind == "deberta")
    said = [record.message for record in caplog.records if record.message.startswith(SAID)]
    assert said == ([SAID + precision] if kind == "deberta" else [])


def test_deberta_v1_is_the_same_in_every_precision() -> None:
    inputs, targets = examples(CLASSES)
    found = []
    for precision in ("fp32", "bf16"):
        own = whole("deberta", CLASSES)
        with Engine(CPU, precision, threads=2) as engine:
            found.append(step(ClassifierObjective(own, inputs, targets, ROWS), engine))
    assert found[0][0] == found[1][0]
    assert found[0][1].keys() == found[1][1].keys()
    assert all(torch.equal(gradient, found[1][1][name]) for name, gradient in found[0][1].items())


@pytest.mark.parametrize("task", [CLASSES, TAGS], ids=["classes", "words"])
def test_a_head_on_a_frozen_deberta_v1(task: FinetuneTask) -> None:
    inputs, targets = examples(task)
    own = network("deberta", task)
    with Engine(CPU, "bf16", threads=1) as engine:
        objective = FrozenBodyObjective(own, inputs, targets, ROWS, engine)
        objective.mode(True)
        loss, gradients = step(objective, engine)
    assert finite([loss, *gradients.values()])
    assert len(gradients) >= 2


def test_deberta_v1_with_lora() -> None:
    inputs, targets = examples(CLASSES)
    own = whole("deberta", CLASSES)
    own.model = apply_peft(own.model, "lora", seed=1)
    own.trained = {name: p for name, p in own.model.named_parameters() if p.requires_grad}
    with Engine(CPU, "bf16", threads=1) as engine:
        loss, gradients = step(ClassifierObjective(own, inputs, targets, ROWS), engine)
        assert finite([loss, predict(own, inputs, ROWS, engine), *gradients.values()])
    assert any("lora" in name for name in gradients)


@pytest.mark.parametrize("head_only", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_guesses_masked_words_in_bf16(kind: str, head_only: bool, tmp_path: Path) -> None:
    own = load(write_base(tmp_path / "base", kind, head=False))
    windows, _ = cut_windows(own, habits(8, 0))
    objective = MlmObjective(own, windows, share=0.4, head_only=head_only)
    with Engine(CPU, "bf16", threads=1) as engine:
        loss, gradients = step(objective, engine)
        assert finite([loss, perplexity(own, windows, engine, seed=1), *gradients.values()])
    assert gradients.keys() <= objective.parameters().keys()
    assert len(gradients) >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_encodes_in_bf16(kind: str, tmp_path: Path) -> None:
    embedder = load_embedder(write_base(tmp_path / "base", kind, head=False), max_tokens=None, device=CPU)
    read = embedder.read(habits(8, 0))
    exact = embed_all(embedder, read, Engine(CPU, "fp32", threads=1))
    with Engine(CPU, "bf16", threads=2) as engine:
        rounded = embed_all(embedder, read, engine)
    np.testing.assert_allclose(rounded, exact, atol=0.1)
    assert np.array_equal(rounded, exact) == (kind == "deberta")
