"""Heads on frozen bodies: gradients from kept states are those of the whole network, of all kinds of models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from nlpkit.finetune.data.inputs import Frame, Inputs
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.tasks import IGNORED, FinetuneTask, Targets
from nlpkit.finetune.training import engine as engine_module
from nlpkit.finetune.training import frozen
from nlpkit.finetune.training.architectures import describe
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.frozen import FrozenBodyObjective, objective_of
from nlpkit.finetune.training.network import ClassifierObjective, Network, predict
from nlpkit.finetune.training.train import Schedule, train
from tests.finetune.eight import KINDS, build, one_thread  # noqa: F401

CPU = torch.device("cpu")
N = 12
CLASSES, TAGS = FinetuneTask("single", ("a", "b", "c")), FinetuneTask("tokens", ("O", "B-X", "I-X"))


def network(kind: str, task: FinetuneTask, method: str = "head", **changes: Any) -> Network:
    head = "ForTokenClassification" if task.kind == "tokens" else "ForSequenceClassification"
    model = build(kind, head, **changes)
    own = set(describe(model).head)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in own)
    trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
    frame = Frame((1,), (), (2,), 0, typed=False)
    return Network(model, None, frame, task, parse_method(method), 64, frozenset(own), trained)


def examples(task: FinetuneTask) -> tuple[Inputs, Targets]:
    rng = np.random.default_rng(3)
    lengths = rng.integers(2, 12, N)
    flat = rng.integers(3, 60, int(lengths.sum())).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    nothing = np.zeros(N, np.int64)
    inputs = Inputs(flat, None, starts, lengths, lengths, nothing, Frame((1,), (), (2,), 0, typed=False))
    if task.kind == "tokens":
        y: Any = [np.where(rng.random(n) < 0.3, IGNORED, rng.integers(0, 3, n)) for n in lengths]
    else:
        y = rng.integers(0, 3, N)
    return inputs, Targets(task, y)


def gradients(objective: ClassifierObjective, rows: Any, engine: Engine) -> tuple[float, dict[str, torch.Tensor]]:
    objective.mode(True)
    loss = engine.separate(objective, rows, objective.parameters(), seed=(1, 2))
    objective.mode(False)
    return loss, {name: p.grad for name, p in objective.parameters().items()}


@pytest.mark.parametrize("task", [CLASSES, TAGS], ids=["classes", "words"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_from_kept_states_are_those_of_the_whole_network(kind: str, task: FinetuneTask) -> None:
    inputs, targets = examples(task)
    rows = np.array([7, 2, 9, 4, 11, 0])  # the training documents; of these a batch
    of_batch = np.array([3, 1, 5])
    with Engine(CPU, "fp32", threads=1) as engine:
        own = network(kind, task)
        loss, wanted = gradients(ClassifierObjective(own, inputs, targets, rows), of_batch, engine)
        kept, found = gradients(FrozenBodyObjective(own, inputs, targets, rows, engine), of_batch, engine)
    assert kept == pytest.approx(loss, rel=1e-5)
    assert wanted.keys() == found.keys()
    for name, gradient in wanted.items():
        assert gradient.abs().max() > 0
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-6)


def test_a_modernbert_that_takes_the_mean_reads_all_tokens() -> None:
    inputs, targets = examples(CLASSES)
    rows = np.arange(N)
    with Engine(CPU, "fp32", threads=1) as engine:
        own = network("modernbert", CLASSES, classifier_pooling="mean")
        loss, wanted = gradients(ClassifierObjective(own, inputs, targets, rows), rows, engine)
        kept, found = gradients(FrozenBodyObjective(own, inputs, targets, rows, engine), rows, engine)
    assert kept == pytest.approx(loss, rel=1e-5)
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-6)


def test_the_body_is_run_once_and_is_back_in_its_place() -> None:
    inputs, targets = examples(CLASSES)
    own = network("bert", CLASSES)
    calls: list[int] = []
    own.model.bert.register_forward_hook(lambda *_: calls.append(1))
    plan = Schedule(epochs=30, batch=4, rate=0.05, patience=0)
    with Engine(CPU, "fp32", threads=1) as engine:
        objective = objective_of(own, inputs, targets, np.arange(N), engine)
        once = len(calls)
        assert once >= 1
        before = predict(own, inputs, np.arange(N), engine)
        each = len(calls) - once
        calls.clear()
        scored: list[int] = []

        def score() -> dict[str, float]:
            scored.append(len(calls))
            return {"score": float(predict(own, inputs, np.arange(N), engine)[0, 0])}

        train(objective, engine, plan, seed=1, score=score, better="score")
        assert len(calls) == each * len(scored) > 0  # for scores alone
        after = predict(own, inputs, np.arange(N), engine)
    assert (after.argmax(1) == targets.y).mean() > (before.argmax(1) == targets.y).mean()
    assert type(own.model.bert).__name__ == "BertModel"


@pytest.mark.parametrize("task", [CLASSES, TAGS], ids=["classes", "words"])
def test_of_a_text_no_more_is_held_than_the_head_reads(task: FinetuneTask, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, targets = examples(task)
    held: list[int] = []
    run = Engine.run

    def watched(self: Engine, work: Any, lengths: Any) -> Any:
        for part, found in run(self, work, lengths):
            held.append(found.untyped_storage().nbytes())
            yield part, found

    monkeypatch.setattr(Engine, "run", watched)
    monkeypatch.setitem(engine_module.RUN_TOKENS, "cpu", 40)
    with Engine(CPU, "fp32", threads=2) as engine:
        FrozenBodyObjective(network("bert", task), inputs, targets, np.arange(N), engine)
    assert len(held) > 2
    first_alone = 4 * 32 * N
    assert (sum(held) == first_alone) == (task is CLASSES)


@pytest.mark.parametrize("threads", [2, 3])
def test_states_do_not_depend_on_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engine_module.RUN_TOKENS, "cpu", 40)
    inputs, targets = examples(CLASSES)
    found = []
    for own in (1, threads):
        with Engine(CPU, "fp32", threads=own) as engine:
            found.append(FrozenBodyObjective(network("bert", CLASSES), inputs, targets, np.arange(N), engine)._states)
    assert torch.equal(*found)


def test_states_that_are_too_many_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, targets = examples(CLASSES)
    with Engine(CPU, "fp32", threads=1) as engine:
        monkeypatch.setattr(frozen, "MOST_BYTES", 4 * N * 32)
        assert isinstance(
            objective_of(network("bert", CLASSES), inputs, targets, np.arange(N), engine), FrozenBodyObjective
        )
        monkeypatch.setattr(frozen, "MOST_BYTES", 4 * N * 32 - 1)
        plain = objective_of(network("bert", CLASSES), inputs, targets, np.arange(N), engine)
        full = objective_of(network("bert", CLASSES, "full"), inputs, targets, np.arange(N), engine)
    assert type(plain) is type(full) is ClassifierObjective
