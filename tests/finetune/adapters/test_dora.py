"""The forward pass of DoRA from factors, beside peft's: values, gradients, what is saved and merged."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from peft.tuners.lora.dora import DoraLinearLayer
from torch import Tensor

from nlpkit.finetune.adapters.dora import FactoredDora
from nlpkit.finetune.adapters.peft_modules import apply_peft, merge
from nlpkit.finetune.adapters.quantized import quantize
from nlpkit.finetune.quantization import Quantization
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.training.loading import load_model
from tests.finetune.tiny import tiny_bert, tiny_gpt2

TASK = FinetuneTask("single", ("a", "b", "c"))
IDS = torch.tensor([[5, 6, 7, 8], [6, 5, 9, 7]])


def network(folder: Path, kind: str, quantization: Quantization | None = None, **options: Any) -> Any:
    """A peft model whose updates and magnitudes are not those of the start."""
    tiny = tiny_gpt2 if kind == "gpt2" else tiny_bert
    base = tiny(folder / "base", words=list("abcdefgh"))
    model, _ = load_model(base, TASK, whole=False, mean=False)
    model.config.pad_token_id = 0
    if quantization is not None:
        quantize(model, quantization, keep=frozenset({"classifier.weight"}))
    wrapped = apply_peft(model, "dora", {"r": 3, **options}, seed=1)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, parameter in wrapped.named_parameters():
            if "lora_" in name:
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
    return wrapped.eval()


def as_peft_has_it(model: Any) -> Any:
    theirs = copy.deepcopy(model)
    layers = [module for module in theirs.modules() if type(module) is FactoredDora]
    assert layers
    for layer in layers:
        layer.__class__ = DoraLinearLayer
    return theirs


def outputs(model: Any) -> tuple[Tensor, list[Tensor]]:
    torch.manual_seed(5)
    logits = model(input_ids=IDS, attention_mask=torch.ones_like(IDS)).logits
    trained = [p for n, p in model.named_parameters() if p.requires_grad and "lora_" in n]
    return logits.detach(), list(torch.autograd.grad(logits.square().sum(), trained))


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_values_and_gradients_are_those_of_peft(kind: str, dropout: float, tmp_path: Path) -> None:
    ours = network(tmp_path, kind, dropout=dropout)
    theirs = as_peft_has_it(ours)
    if dropout:
        ours.train()
        theirs.train()
    (logits, gradients), (their_logits, their_gradients) = outputs(ours), outputs(theirs)
    torch.testing.assert_close(logits, their_logits, atol=1e-5, rtol=1e-5)
    for one, other in zip(gradients, their_gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
    assert list(ours.state_dict()) == list(theirs.state_dict())


@pytest.mark.parametrize("code", ["nf4", "int8"])
def test_on_a_quantised_base(code: str, tmp_path: Path) -> None:
    ours = network(tmp_path, "bert", Quantization(code))
    torch.testing.assert_close(outputs(ours)[0], outputs(as_peft_has_it(ours))[0], atol=1e-5, rtol=1e-5)


def test_16_bit_products(tmp_path: Path) -> None:
    ours = network(tmp_path, "bert")
    with torch.autocast("cpu", torch.bfloat16):
        low = outputs(ours)[0]
    torch.testing.assert_close(low.float(), outputs(ours)[0], atol=0.05, rtol=0.05)


def test_merged_it_is_the_same_model(tmp_path: Path) -> None:
    ours = network(tmp_path, "bert")
    before = outputs(ours)[0]
    with torch.no_grad():
        after = merge(ours)(input_ids=IDS, attention_mask=torch.ones_like(IDS)).logits
    torch.testing.assert_close(before, after, atol=1e-5, rtol=1e-5)
