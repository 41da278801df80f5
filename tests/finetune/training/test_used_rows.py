"""Word embeddings of the tokens that are there: trained as those of the whole vocabulary, the others stay as they are."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nlpkit.finetune.data.inputs import encode
from nlpkit.finetune.fit import words_of
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.tasks import FinetuneTask, Targets
from nlpkit.finetune.training import used_rows as module
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.network import ClassifierObjective, load_network, predict
from nlpkit.finetune.training.train import Schedule, State, train
from nlpkit.finetune.training.used_rows import used_rows
from tests.finetune.eight import one_thread  # noqa: F401
from tests.finetune.tiny import tiny_bert

TEXTS = ["cat sat", "the dog ran", "cat", "the cat ran"]
TABLE = "bert.embeddings.word_embeddings.weight"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    others = [f"word{i}" for i in range(40)]
    return tiny_bert(tmp_path_factory.mktemp("rows") / "bert", words=("cat", "dog", "sat", "ran", "the", *others))


def trained(
    base: Path, method: str = "full", decay: float = 0.0
) -> tuple[dict[str, torch.Tensor], np.ndarray, set[str]]:
    """Train, and return the parameters, the outputs of the texts, and the shapes of the embeddings meanwhile."""
    task, rows = FinetuneTask("single", ("a", "b")), np.arange(4)
    network = load_network(base, task, parse_method(method), seed=0, device=torch.device("cpu"))
    inputs = encode(network.tokenizer, network.frame, TEXTS, max_tokens=20)
    seen = set()
    with Engine(torch.device("cpu"), "fp32", threads=1) as engine:
        objective = ClassifierObjective(network, inputs, Targets(task, np.array([0, 1, 0, 1])), rows)

        def score() -> dict[str, float]:
            table = network.model.get_input_embeddings().weight
            seen.add(f"{table.shape[0]} {table.requires_grad}")
            return {"score": -float(predict(network, inputs, rows, engine).std())}

        plan = Schedule(epochs=4, batch=2, rate=1e-2, weight_decay=decay, patience=0)
        with words_of(network, inputs):
            train(objective, engine, plan, seed=3, score=score, better="score")
        outputs = predict(network, inputs, rows, engine)
    return {n: p.detach().clone() for n, p in network.model.named_parameters()}, outputs, seen


def test_training_is_that_of_all_embeddings(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part, outputs, seen = trained(base)
    monkeypatch.setattr(module, "SHARE", 0.0)
    whole, expected, every = trained(base)
    assert (seen, every) == ({"8 True"}, {f"{len(whole[TABLE])} True"})  # five words, and [PAD], [CLS], [SEP]
    np.testing.assert_allclose(outputs, expected, atol=1e-6)
    for name, value in whole.items():
        torch.testing.assert_close(part[name], value, atol=1e-6, rtol=1e-5, msg=name)


def test_rows_without_a_token_do_not_decay(base: Path) -> None:
    before = load_network(
        base, FinetuneTask("single", ("a", "b")), parse_method("full"), seed=0, device=torch.device("cpu")
    )
    table = before.trained[TABLE].detach()
    changed = (trained(base, decay=0.5)[0][TABLE] != table).any(dim=1)
    assert 6 <= int(changed.sum()) <= 8


def test_frozen_embeddings_and_large_shares_stay(base: Path) -> None:
    assert trained(base, "lora(r=2)")[2] == {f"{len(trained(base)[0][TABLE])} False"}
    network = load_network(
        base, FinetuneTask("single", ("a", "b")), parse_method("full"), seed=0, device=torch.device("cpu")
    )
    table: Any = network.model.get_input_embeddings()
    with used_rows(network.model, np.arange(table.num_embeddings)) as stands_for:
        assert stands_for == {}
        assert network.model.get_input_embeddings() is table
    with used_rows(network.model, np.arange(3)):
        assert network.model.get_input_embeddings() is not table
    assert network.model.get_input_embeddings() is table


def test_a_training_that_was_cut_off_goes_on_with_the_same_rows(base: Path) -> None:
    task, rows, kept = FinetuneTask("single", ("a", "b")), np.arange(4), list[State]()

    def run(stop: int = 0, state: State | None = None) -> dict[str, torch.Tensor]:
        network = load_network(base, task, parse_method("full"), seed=0, device=torch.device("cpu"))
        inputs = encode(network.tokenizer, network.frame, TEXTS, max_tokens=20)

        def on_step(step: int, *_: Any) -> None:
            if step == stop:
                raise KeyboardInterrupt

        with Engine(torch.device("cpu"), "fp32", threads=1) as engine, suppress(KeyboardInterrupt):
            objective = ClassifierObjective(network, inputs, Targets(task, np.array([0, 1, 0, 1])), rows)
            plan = Schedule(epochs=3, batch=2, rate=1e-2)
            with words_of(network, inputs):
                train(
                    objective,
                    engine,
                    plan,
                    seed=3,
                    state=state,
                    save=lambda s: kept.append(deepcopy(s)),
                    on_step=on_step,
                )
        return {n: p.detach().clone() for n, p in network.model.named_parameters()}

    whole = run()
    run(stop=3)
    again = run(state=kept[-1])
    assert kept[-1].values[TABLE].shape[0] == 8
    assert all(torch.equal(whole[name], again[name]) for name in whole)
