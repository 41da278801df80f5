"""Causal models on answers: log-probabilities by hand, losses by hand and of trl, what is cut, training, and what other programs load."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from nlpkit.finetune.adapters.peft_modules import in_order
from nlpkit.finetune.encoders.causal import (
    CausalNetwork,
    check_causal,
    check_method,
    dpo_loss,
    load_causal,
    pair_scores,
    read_answers,
    score_answers,
)
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.training.engine import Engine
from tests.finetune.tiny import tiny_bert, tiny_gpt2
from tests.refusals import refuses

CPU = torch.device("cpu")
WORDS = ("the", "sky", "is", "blue", "red", "what", "colour")
PROMPTS = ["what colour is the sky ", "the sky "]
CHOSEN, REJECTED = ["blue", "is blue blue"], ["red", "is red"]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_gpt2(tmp_path_factory.mktemp("causal") / "gpt2", words=WORDS)


@pytest.fixture(scope="module")
def network(base: Path) -> CausalNetwork:
    return load_causal(base, parse_method("full"), seed=0, device=CPU)


def by_hand(network: CausalNetwork, prompt: str, answer: str) -> float:
    """Sum over the tokens of an answer, one forward pass for each."""
    tokenizer = network.tokenizer
    ids = tokenizer(prompt, add_special_tokens=False).input_ids
    total = 0.0
    for token in [*tokenizer(answer, add_special_tokens=False).input_ids, tokenizer.eos_token_id]:
        with torch.no_grad():
            logits = network.model(input_ids=torch.tensor([ids])).logits[0, -1].double()
        total += float(torch.log_softmax(logits, dim=0)[token])
        ids.append(token)
    return total


def log_probs(network: CausalNetwork, prompts: list[str] | None, answers: list[str]) -> Any:
    with Engine(CPU, "fp32", threads=1) as engine:
        return score_answers(network, read_answers(network, prompts, answers), engine)


def test_log_probabilities_of_answers_by_hand(network: CausalNetwork) -> None:
    expected = [by_hand(network, *pair) for pair in zip(PROMPTS, CHOSEN, strict=True)]
    assert log_probs(network, PROMPTS, CHOSEN) == pytest.approx(expected, abs=1e-4)


def test_without_a_prompt_all_tokens_but_the_first_count(network: CausalNetwork) -> None:
    answers = read_answers(network, None, ["the sky is blue"])
    assert answers.counts.tolist() == [4]  # sky is blue, and the end
    assert log_probs(network, None, ["the sky is blue"])[0] == pytest.approx(
        by_hand(network, "the ", "sky is blue"), abs=1e-4
    )


def test_a_long_prompt_loses_its_beginning_then_the_answer_its_end(base: Path) -> None:
    network = load_causal(base, parse_method("full"), seed=0, device=CPU, max_tokens=8)
    answers = read_answers(network, ["the sky is " * 5, "the sky is " * 5, "the"], ["blue", "red " * 20, "sky"])
    inputs, ids = answers.inputs, network.tokenizer.convert_ids_to_tokens
    rows = [ids(inputs.flat[a:b].tolist()) for a, b in zip(inputs.starts[:-1], inputs.starts[1:], strict=True)]
    assert rows[0] == ["the", "sky", "is", "the", "sky", "is", "blue", "<end>"]
    assert rows[1] == ["is", "the", "sky", "is", "red", "red", "red", "red"]
    assert rows[2] == ["the", "sky", "<end>"]
    assert answers.first.tolist() == [6, 4, 1]
    assert inputs.cut.tolist() == [9, 28, 0]


def test_the_loss_is_ln_2_at_equality_and_falls_with_the_margin() -> None:
    values = torch.tensor([-3.0, -5.0], dtype=torch.float64)
    assert dpo_loss(values, values, values, values, beta=0.1).tolist() == pytest.approx([math.log(2)] * 2, abs=1e-12)
    loss = dpo_loss(values + 1, values - 2, values, values, beta=0.5)
    assert loss.tolist() == pytest.approx([math.log(1 + math.exp(-1.5))] * 2, abs=1e-12)
    scores = pair_scores(np.array([[1.0, -2.0], [0.0, 0.0]]), np.zeros((2, 2)), 0.5)
    assert scores["loss"] == pytest.approx((math.log(1 + math.exp(-1.5)) + math.log(2)) / 2)
    assert scores["accuracy"] == 0.75


def test_the_slide_without_logarithms_is_another_loss() -> None:
    """-log σ(β r₊ - β r₋) of the ratios r themselves is ln 2 at equality, too, and else another number."""
    chosen, rejected, zero = torch.tensor([0.7]), torch.tensor([-0.4]), torch.zeros(1)
    slide = -torch.nn.functional.logsigmoid(0.1 * (chosen.exp() - rejected.exp()))
    assert abs(float(slide - dpo_loss(chosen, rejected, zero, zero, beta=0.1))) > 1e-3


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="trl is not installed")
@pytest.mark.filterwarnings("ignore")
def test_losses_of_trl(base: Path, tmp_path: Path) -> None:
    from datasets import Dataset
    from transformers import AutoModelForCausalLM
    from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

    network = load_causal(base, parse_method("full"), seed=0, device=CPU)
    reference = load_causal(
        tiny_gpt2(tmp_path / "other", words=WORDS, seed=4), parse_method("full"), seed=0, device=CPU
    )
    common: dict[str, Any] = {
        "output_dir": str(tmp_path / "out"), "per_device_train_batch_size": 2, "report_to": "none", "use_cpu": True, "bf16": False,
    }  # fmt: skip
    rows = {"prompt": PROMPTS, "chosen": CHOSEN, "rejected": REJECTED}
    trainer = DPOTrainer(
        AutoModelForCausalLM.from_pretrained(base), ref_model=AutoModelForCausalLM.from_pretrained(tmp_path / "other"),
        args=DPOConfig(beta=0.3, **common), train_dataset=Dataset.from_dict(rows), processing_class=network.tokenizer,
    )  # fmt: skip
    batch = next(iter(trainer.get_train_dataloader()))
    theirs = float(trainer.compute_loss(trainer.model.eval(), batch))
    values = [
        torch.from_numpy(log_probs(model, PROMPTS, texts))
        for model in (network, reference)
        for texts in (CHOSEN, REJECTED)
    ]
    assert float(dpo_loss(*values, beta=0.3).mean()) == pytest.approx(theirs, abs=1e-6)
    tuner = SFTTrainer(
        AutoModelForCausalLM.from_pretrained(base), args=SFTConfig(max_length=None, **common), processing_class=network.tokenizer,
        train_dataset=Dataset.from_dict({"prompt": PROMPTS, "completion": CHOSEN}),
    )  # fmt: skip
    batch = next(iter(tuner.get_train_dataloader()))
    theirs = float(tuner.compute_loss(tuner.model.eval(), batch))
    answers = read_answers(network, PROMPTS, CHOSEN)
    assert -float(log_probs(network, PROMPTS, CHOSEN).sum()) / int(answers.counts.sum()) == pytest.approx(
        theirs, abs=1e-6
    )


def test_lora_freezes_the_model_and_starts_as_it(base: Path, network: CausalNetwork) -> None:
    adapted = load_causal(base, parse_method("lora(r=2)"), seed=0, device=CPU)
    assert all("lora_" in name for name in adapted.trained)
    assert sum(p.numel() for p in adapted.trained.values()) == 2 * 2 * (32 + 96)  # c_attn of two layers
    assert np.array_equal(log_probs(adapted, PROMPTS, CHOSEN), log_probs(network, PROMPTS, CHOSEN))


def test_the_configuration_of_an_adapter_names_its_modules_in_order() -> None:
    """peft holds them as sets, whose order differs between processes: the same bytes need another."""
    config = SimpleNamespace(target_modules={"q", "v", "k"}, feedforward_modules={"wo"}, r=8)
    in_order(SimpleNamespace(peft_config={"default": config}))
    assert (config.target_modules, config.feedforward_modules, config.r) == (["k", "q", "v"], ["wo"], 8)


def test_bases_and_methods_that_cannot_be(tmp_path: Path) -> None:
    with refuses("base") as raised:
        check_causal(tiny_bert(tmp_path / "bert", words=WORDS))
    assert "BertModel" in str(raised.value)
    with refuses("method"):
        check_method(parse_method("dora"))
    with refuses("method"):
        check_method(parse_method("lora(targets=q)"))
