"""Classifiers that read the mean of the tokens: what they read, when they are taken, and what is trained of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from nlpkit.embed.pooling import mean_of_tokens
from nlpkit.finetune.data.inputs import encode
from nlpkit.finetune.methods import KINDS as METHODS
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.tasks import FinetuneTask, Targets
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.frozen import FrozenBodyObjective
from nlpkit.finetune.training.heads import MeanForSequenceClassification, is_mean, pooling_of
from nlpkit.finetune.training.network import ClassifierObjective, load_network
from tests.finetune.eight import KINDS, batch, build, one_thread  # noqa: F401
from tests.finetune.tiny import tiny_bert, tiny_sentence_model
from tests.refusals import refuses

CPU = torch.device("cpu")
WORDS = ("cat", "dog", "sat", "ran", "the")
TEXTS = ["the cat sat", "dog ran", "a", "the the dog ran"]
TASK = FinetuneTask("single", ("a", "b", "c"))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_sentence_model(tmp_path_factory.mktemp("mean") / "sentences", words=WORDS)


def test_the_mean_by_hand() -> None:
    states = torch.tensor([[[1.0, 4.0], [3.0, 0.0], [9.0, 9.0]], [[2.0, 2.0], [0.0, 1.0], [1.0, 0.0]]])
    mask = torch.tensor([[1, 1, 0], [1, 1, 1]])
    by_hand = torch.tensor([[2.0, 2.0], [1.0, 1.0]])
    torch.testing.assert_close(mean_of_tokens(states, mask), by_hand)
    before_keys = torch.cat([torch.ones(2, 4, dtype=torch.int64), mask], dim=1)  # of a prefix, which has no states
    torch.testing.assert_close(mean_of_tokens(states, before_keys), by_hand)


@pytest.mark.parametrize("kind", KINDS)
def test_logits_of_all_kinds_are_those_of_the_mean(kind: str) -> None:
    model = MeanForSequenceClassification(build(kind, ""), 3).eval()
    inputs = batch()
    states, seen = model.encoder(**inputs).last_hidden_state, inputs["attention_mask"].bool()
    means = torch.stack([own[here].mean(dim=0) for own, here in zip(states, seen, strict=True)])
    assert not bool(seen.all())
    torch.testing.assert_close(model(**inputs).logits, model.classifier(means), atol=1e-5, rtol=1e-5)


def test_it_is_taken_for_sentence_encoders_with_mean_pooling(base: Path, tmp_path: Path) -> None:
    assert pooling_of(base, "auto", "single") == pooling_of(base, "auto", "regression") == "mean"
    assert pooling_of(base, "auto", "tokens") == pooling_of(base, "transformers", "single") == "transformers"
    plain = tiny_bert(tmp_path / "plain", words=WORDS)
    assert (pooling_of(plain, "auto", "multi"), pooling_of(plain, "mean", "multi")) == ("transformers", "mean")
    first = tiny_sentence_model(tmp_path / "first", words=WORDS)
    (first / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    assert pooling_of(first, "auto", "single") == "transformers"
    modules = json.loads((base / "modules.json").read_text())
    (tmp_path / "more").mkdir()
    further = [*modules, {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}]
    for own in (base / "config.json", base / "1_Pooling" / "config.json"):
        target = tmp_path / "more" / own.relative_to(base)
        target.parent.mkdir(exist_ok=True)
        target.write_text(own.read_text())
    (tmp_path / "more" / "modules.json").write_text(json.dumps(further))
    assert pooling_of(tmp_path / "more", "auto", "single") == "mean"  # as of a classifier that is trained on
    with refuses("pooling"):
        pooling_of(base, "mean", "answer")
    with refuses("pooling"):
        pooling_of(base, "first", "single")
    config = json.loads((plain / "config.json").read_text())
    (plain / "config.json").write_text(json.dumps({**config, "model_type": "gpt2"}))
    with refuses("pooling"):
        pooling_of(plain, "mean", "single")


@pytest.mark.parametrize("name", [name for name, kind in METHODS.items() if "pooling" in kind.uses])
def test_every_method_trains_the_head_and_none_the_pooler(name: str, base: Path) -> None:
    spelled = {"prefix": "prefix(length=4)", "prompt": "prompt(length=4)"}.get(name, name)
    network = load_network(base, TASK, parse_method(spelled), seed=3, device=CPU, pooling="mean")
    assert is_mean(network.model)
    assert not [n for n in network.trained if "pooler" in n]
    assert sorted(network.trained[n].shape for n in network.heads) == [(3,), (3, 32)]
    inputs = encode(network.tokenizer, network.frame, TEXTS, max_tokens=20)
    rows = np.arange(4)
    objective = ClassifierObjective(network, inputs, Targets(TASK, np.array([0, 1, 2, 0])), rows)
    with Engine(CPU, "fp32", threads=1) as engine:
        objective.mode(True)
        whole = engine.separate(objective, rows, objective.parameters(), seed=(1, 2))
        gradients = {n: p.grad for n, p in objective.parameters().items()}
        assert all(g is not None for g in gradients.values())
        if name == "head":
            kept = FrozenBodyObjective(network, inputs, objective.targets, rows, engine)
            kept.mode(True)
            assert engine.separate(kept, rows, kept.parameters(), seed=(1, 2)) == pytest.approx(whole, rel=1e-5)
            for n, p in kept.parameters().items():
                torch.testing.assert_close(p.grad, gradients[n], rtol=1e-4, atol=1e-6)


def test_rates_of_the_head() -> None:
    def rate(spelled: str, classes: int = 4, **settings: float) -> float | None:
        options = TrainingOptions(pooling="mean", **settings)  # type: ignore[arg-type]
        return options.schedule(parse_method(spelled), 100, classes).head_rate

    assert [rate(name) for name in ("full", "lora", "head", "setfit")] == [2e-3, 2e-3, 2e-3, 1e-2]
    assert [rate(name, 77) for name in ("full", "lora", "head", "setfit")] == [5e-3, 5e-3, 5e-3, 1e-2]
    assert (rate("lora", head_lr=0.1), rate("head", 77, lr=0.1)) == (0.1, None)
