"""LoRA, DoRA, (IA)³, prefix and prompt tuning in all kinds of encoders they work for."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from nlpkit.finetune.adapters.peft_modules import (
    DEFAULTS,
    PREFIX_TYPES,
    apply_peft,
    merge,
    resolve,
    split_targets,
    virtual_tokens,
)
from nlpkit.finetune.training.architectures import describe
from tests.few import few
from tests.finetune.eight import HEADS, KINDS, batch, build, one_thread, output  # noqa: F401
from tests.refusals import refuses

WORKING = [(kind, name) for kind in KINDS for name in DEFAULTS if name != "prefix" or kind in PREFIX_TYPES]
HEAD_PARAMETERS = 3 * 32 + 3 + 32 * 32 + 32


@contextmanager
def _peft_may_warn() -> Iterator[None]:
    """While peft 0.21 saves, it asks transformers 5.23 for a property that is to be renamed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing", category=FutureWarning)
        yield


def trained_parameters(model: torch.nn.Module) -> dict[str, Any]:
    """Return the parameters of a peft model that are trained, by name."""
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def _stir(model: Any) -> None:
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for p in trained_parameters(model).values():
            p.add_(torch.empty(p.shape).normal_(0.0, 0.2, generator=generator))


def _reloaded(base: Any, model: Any, folder: Path) -> Any:
    from peft import PeftModel

    with _peft_may_warn():
        model.save_pretrained(folder)
        return PeftModel.from_pretrained(base, folder).eval()


@pytest.mark.parametrize(("kind", "name"), few(WORKING, 14))
def test_trained_and_loaded_by_peft(kind: str, name: str, tmp_path: Path) -> None:
    model = apply_peft(build(kind), name, {}, seed=0).eval()
    _stir(model)
    logits = output(model)
    logits.square().sum().backward()
    trained = trained_parameters(model)
    assert not [n for n, p in trained.items() if p.grad is None or not p.grad.abs().sum() > 0]
    assert not [n for n, p in model.named_parameters() if p.grad is not None and not p.requires_grad]
    # the head is trained as a whole, the pooler before it too; nothing of the encoder
    heads = {n.replace("modules_to_save.default.", "") for n in trained if "modules_to_save" in n}
    assert {n.removeprefix("base_model.").removeprefix("model.") for n in heads} == set(describe(build(kind)).head)
    again = _reloaded(build(kind), model, tmp_path)
    with torch.no_grad():
        torch.testing.assert_close(output(again), output(model), atol=1e-5, rtol=1e-5)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "README.md",
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    assert json.loads((tmp_path / "adapter_config.json").read_text())["task_type"] == "SEQ_CLS"


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("kind", few(KINDS, 4))
def test_lora_begins_as_the_base_and_merges_into_it(kind: str, head: str) -> None:
    with torch.no_grad():
        base = output(build(kind, head))
        for name in ("lora", "dora", "ia3"):
            model = apply_peft(build(kind, head), name, {}, seed=0).eval()
            torch.testing.assert_close(output(model), base, atol=1e-6, rtol=1e-6)
            _stir(model)
            separate = output(model)
            assert not torch.allclose(separate, base, atol=1e-2)
            merged = merge(model).eval()
            torch.testing.assert_close(output(merged), separate, atol=1e-5, rtol=1e-5)
            plain = build(kind, head)
            assert type(merged) is type(plain)
            assert merged.state_dict().keys() == plain.state_dict().keys()


@pytest.mark.parametrize("name", ["lora", "dora"])
def test_merged_weights_are_w_plus_s_a_b(name: str) -> None:
    """Also of DoRA: m · (W + s A B) / ‖W + s A B‖, norms over the inputs of each output (Liu et al. 2024, eq. 5)."""
    plain = build("bert").bert.encoder.layer[1].attention.self.value.weight.detach()
    model = apply_peft(build("bert"), name, {"r": 4, "alpha": 12.0}, seed=0)
    _stir(model)
    layer = model.get_base_model().bert.encoder.layer[1].attention.self.value
    with torch.no_grad():
        expected = plain + 12.0 / 4 * layer.lora_B["default"].weight @ layer.lora_A["default"].weight
        if name == "dora":
            magnitude = layer.lora_magnitude_vector["default"].weight
            expected = magnitude[:, None] * expected / expected.norm(dim=1, keepdim=True)
        merged = merge(model).bert.encoder.layer[1].attention.self.value.weight
    torch.testing.assert_close(merged, expected)


@pytest.mark.parametrize(
    ("kind", "name", "options", "parameters"),
    [
        ("bert", "lora", {}, 2 * 2 * 2 * 32 * 8),
        ("bert", "lora", {"targets": "q+k+v+o", "r": 2}, 2 * 4 * 2 * 32 * 2),
        ("bert", "lora", {"targets": "up+down", "r": 2}, 2 * 2 * (32 + 64) * 2),
        (
            "modernbert",
            "lora",
            {},
            2 * (32 + 96) * 8,
        ),  # one matrix for q, k, v
        ("deberta", "lora", {}, 2 * (32 + 96) * 8),
        ("distilbert", "dora", {}, 2 * 2 * (2 * 32 * 8 + 32)),
        ("bert", "ia3", {}, 2 * (32 + 32 + 64)),
        ("mpnet", "ia3", {}, 2 * (32 + 32 + 64)),
        ("bert", "prefix", {"length": 5}, 2 * 5 * 2 * 32),
        ("roberta", "prompt", {"length": 7}, 7 * 32),
    ],
)
def test_as_many_parameters_as_the_formula_says(kind: str, name: str, options: dict[str, Any], parameters: int) -> None:
    model = apply_peft(build(kind), name, options, seed=0)
    found = sum(p.numel() for p in trained_parameters(model).values())
    assert found == parameters + HEAD_PARAMETERS


@pytest.mark.parametrize("head", HEADS[1:])
@pytest.mark.parametrize("kind", KINDS)
def test_prompts_lengthen_what_is_said_of_tokens(kind: str, head: str) -> None:
    model = apply_peft(build(kind, head), "prompt", {"length": 6}, seed=0).eval()
    assert virtual_tokens(model) == 6
    with torch.no_grad():
        found = output(model)
        alone = output(model, **{name: part[1:2, :6] for name, part in batch().items()})
    assert found.shape[:2] == (3, 9 + 6)
    torch.testing.assert_close(alone[0], found[1, :12], atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", PREFIX_TYPES)
def test_a_prefix_sees_no_padding(kind: str) -> None:
    model = apply_peft(build(kind), "prefix", {"length": 4}, seed=0).eval()
    assert virtual_tokens(model) == 0
    with torch.no_grad():
        alone = output(model, **{name: part[1:2, :6] for name, part in batch().items()})
        torch.testing.assert_close(alone[0], output(model)[1], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_first_values_depend_on_the_seed_alone(name: str) -> None:
    def drawn(seed: int) -> dict[str, torch.Tensor]:
        model = apply_peft(build("bert"), name, {}, seed=seed)
        return {n: p.detach() for n, p in trained_parameters(model).items() if "modules_to_save" not in n}

    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = drawn(3)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    second, third = drawn(3), drawn(4)
    assert all(torch.equal(first[n], second[n]) for n in first)
    assert name == "ia3" or any(not torch.equal(first[n], third[n]) for n in first)


def test_a_prompt_begins_as_words_or_anywhere() -> None:
    words = build("bert").bert.embeddings.word_embeddings.weight
    prompt = apply_peft(build("bert"), "prompt", {"length": 5}, seed=0).prompt_encoder["default"].embedding.weight
    assert all(any(torch.equal(row, word) for word in words) for row in prompt)
    random = apply_peft(build("bert"), "prompt", {"init": "random"}, seed=0).prompt_encoder["default"].embedding.weight
    assert not any(torch.equal(random[0], word) for word in words)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in PREFIX_TYPES])
def test_a_prefix_where_peft_has_none_is_refused_before_training(kind: str) -> None:
    with refuses("method"):
        apply_peft(build(kind), "prefix", {}, seed=0)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("adalora", {}),
        ("lora", {"rank": 8}),
        ("lora", {"r": 0}),
        ("lora", {"alpha": 0}),
        ("lora", {"dropout": 1.0}),
        ("lora", {"targets": "q+w"}),
        ("lora", {"targets": ""}),
        ("prefix", {"length": 2.5}),
        ("prompt", {"init": "text"}),
    ],
)
def test_options_that_cannot_be(name: str, options: dict[str, Any]) -> None:
    with refuses("method"):
        resolve(name, options)


def test_targets_and_what_cannot_be_merged() -> None:
    assert split_targets("q+v") == split_targets(" Q, v ") == ["q", "v"]
    with refuses("merge"):
        merge(apply_peft(build("bert"), "prompt", {}, seed=0))
