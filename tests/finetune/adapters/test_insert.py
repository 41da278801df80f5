"""Adapters in their places: what they compute, what they train, how they are saved, and that they can be taken out."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.adapters.insert import DEFAULTS, Inserted, count, insert, resolve
from nlpkit.finetune.training.architectures import describe
from tests.few import few
from tests.finetune.eight import HEADS, KINDS, batch, build, one_thread, output  # noqa: F401
from tests.refusals import refuses

SMALL = {
    "pfeiffer": {"r": 4},
    "houlsby": {"r": 4},
    "parallel": {"r": 4},
    "compacter": {"r": 4},
    "compacter++": {"r": 4},
}
SMALL |= {"mam": {"r": 4, "prefix_length": 3}, "unipelt": {"r": 4, "prefix_length": 3, "lora_r": 2}}


def _seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _insert(model: Any, method: str, seed: int = 0, **options: Any) -> Inserted:
    return insert(model, method, {**SMALL[method], **options}, generator=_seeded(seed))


def _stir(inserted: Inserted, seed: int = 6) -> None:
    """Give all trained parameters values as after training: none is zero."""
    generator = _seeded(seed)
    with torch.no_grad():
        for p in inserted.parameters().values():
            p.add_(torch.empty(p.shape).normal_(0.0, 0.2, generator=generator))


@pytest.fixture(scope="module")
def minilm_sized() -> Any:
    sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    return BertForSequenceClassification(BertConfig(vocab_size=20, max_position_embeddings=8, num_labels=4, **sizes))


@pytest.mark.parametrize(
    ("method", "options", "parameters"),
    [
        ("pfeiffer", {}, 262_420),
        ("pfeiffer", {"r": 24}, 262_420),
        ("houlsby", {}, 375_460),
        ("compacter", {}, 163_700),
        ("compacter++", {}, 156_572),
        ("parallel", {"reduction": 4}, 594_628),
        # prefix 2 · 30 · 384 and bottleneck 2 · 384 · 192 + 192 + 384 per layer, and the head's 149,380
        ("mam", {}, 6 * (23_040 + 148_032) + 149_380),
        # prefix 2 · 10 · 384, bottleneck 18,840, LoRA 4 · 8 · 384, four gates of 385
        ("unipelt", {}, 6 * (7_680 + 18_840 + 12_288 + 4 * 385) + 149_380),
    ],
)
def test_as_many_parameters_as_in_the_adapters_library(
    minilm_sized: Any, method: str, options: dict[str, Any], parameters: int
) -> None:
    assert count(minilm_sized, method, options) == parameters
    assert all(p.requires_grad for p in minilm_sized.parameters())
    assert not [name for name, _ in minilm_sized.named_modules() if "nlpkit" in name]


@pytest.mark.parametrize("method", DEFAULTS)
@pytest.mark.parametrize("kind", few(KINDS, 3))
def test_trained_saved_loaded_and_removed(kind: str, method: str) -> None:
    model = build(kind)
    names = [name for name, _ in model.named_parameters()]
    model.get_parameter(names[0]).requires_grad_(False)
    head = {name: model.get_parameter(name).detach().clone() for name in describe(model).head}
    with torch.no_grad():
        base = output(model)
    inserted = _insert(model, method)
    _stir(inserted)
    logits = output(model)
    assert not torch.allclose(logits, base)
    (logits**2).sum().backward()
    trained = inserted.parameters()
    assert {id(p) for p in model.parameters() if p.requires_grad} == {id(p) for p in trained.values()}
    assert not [name for name, p in trained.items() if p.grad is None or not p.grad.abs().sum() > 0]
    assert not [name for name, p in model.named_parameters() if p.grad is not None and not p.requires_grad]
    state = inserted.state()
    assert state.keys() == trained.keys()

    other = build(kind)
    again = _insert(other, method, seed=1)
    again.load(state)
    with torch.no_grad():
        torch.testing.assert_close(logits, found := output(model))
        assert torch.equal(output(other), found)
        alone = output(model, **{name: part[1:2, :6] for name, part in batch().items()})
        torch.testing.assert_close(alone[0], logits[1], atol=2e-5, rtol=1e-4)
    inserted.remove()
    assert [name for name, _ in model.named_parameters()] == names
    assert [p.requires_grad for p in model.parameters()] == [False] + [True] * (len(names) - 1)
    with torch.no_grad():
        for name, values in head.items():
            model.get_parameter(name).copy_(values)
        assert torch.equal(output(model), base)


@pytest.mark.parametrize("head", HEADS[1:])
@pytest.mark.parametrize("kind", KINDS)
def test_tasks_on_tokens_and_bare_encoders(kind: str, head: str) -> None:
    model = build(kind, head)
    inserted = _insert(model, "unipelt")
    _stir(inserted)
    output(model).square().sum().backward()
    assert not [name for name, p in inserted.parameters().items() if p.grad is None]
    assert any(name.startswith("head.") for name in inserted.state()) == bool(head)


def test_names_tell_the_places() -> None:
    model = build("bert")
    names = set(_insert(model, "houlsby").state())
    assert {"layer.1.output.adapter.down.weight", "layer.0.attention.adapter.up.bias"} < names
    assert {"head.classifier.bias", "head.bert.pooler.dense.weight"} < names
    shared = _insert(build("bert"), "compacter").state()
    assert [name for name in shared if "rule" in name] == ["shared.rule"]
    mixed = set(_insert(build("modernbert"), "unipelt").state())
    assert {
        "layer.0.attention.prefix.keys",
        "layer.0.query.lora.down",
        "layer.1.output.adapter.gate.linear.bias",
    } < mixed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("method", "options"), [("pfeiffer", {"init": "zero"}), ("houlsby", {"init": "zero"}), ("parallel", {})]
)
def test_with_a_zero_up_projection_they_change_nothing(kind: str, method: str, options: dict[str, Any]) -> None:
    model = build(kind)
    with torch.no_grad():
        base = output(model)
        _insert(model, method, **options)
        torch.testing.assert_close(output(model), base, atol=0, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_unipelt_with_closed_gates_is_the_base(kind: str) -> None:
    model = build(kind)
    with torch.no_grad():
        base = output(model)
        inserted = _insert(model, "unipelt")
        for name, p in inserted.parameters().items():
            if not name.startswith("head."):
                p.copy_(torch.full_like(p, -40.0) if name.endswith("gate.linear.bias") else p + 0.3)
            if name.endswith("gate.linear.weight"):
                p.zero_()
        torch.testing.assert_close(output(model), base, atol=1e-6, rtol=1e-5)
        for name, p in inserted.parameters().items():
            if name.endswith("gate.linear.bias"):
                p.fill_(0.0)
        assert not torch.allclose(output(model), base, atol=1e-3)


def _last_layer(method: str, **options: Any) -> tuple[Any, Any, dict[str, torch.Tensor]]:
    """Return BERT's last layer, its adapters and, from one run, the inputs of its parts."""
    model = build("bert", "")
    inserted = _insert(model, method, **options)
    _stir(inserted)
    layer, seen = model.encoder.layer[1], {}
    layer.attention.output.dense.register_forward_hook(lambda _m, _a, out: seen.update(attention=out))
    layer.attention.register_forward_pre_hook(lambda _m, args: seen.update(x=args[0]))
    layer.attention.register_forward_hook(lambda _m, _a, out: seen.update(middle=out[0]))
    layer.output.dense.register_forward_hook(lambda _m, _a, out: seen.update(ffn=out))
    layer.register_forward_hook(lambda _m, _a, out: seen.update(out=out))
    output(model)
    return layer, model.nlpkit_adapters.layer[1], seen


def test_pfeiffer_by_hand() -> None:
    layer, adapters, seen = _last_layer("pfeiffer")
    norm, adapter = layer.output.LayerNorm.forward, adapters["output"]["adapter"]
    total = seen["ffn"] + seen["middle"]
    hidden = torch.relu(norm(total) @ adapter.down.weight.T + adapter.down.bias)
    torch.testing.assert_close(seen["out"], norm(total + hidden @ adapter.up.weight.T + adapter.up.bias))


def test_houlsby_by_hand() -> None:
    layer, adapters, seen = _last_layer("houlsby")
    for place, h, x, norm, out in (
        ("attention", seen["attention"], seen["x"], layer.attention.output.LayerNorm, seen["middle"]),
        ("output", seen["ffn"], seen["middle"], layer.output.LayerNorm, seen["out"]),
    ):
        adapter = adapters[place]["adapter"]
        inner = h @ adapter.down.weight.T + adapter.down.bias
        h = h + (inner * torch.sigmoid(inner)) @ adapter.up.weight.T + adapter.up.bias
        torch.testing.assert_close(out, norm(h + x))


@pytest.mark.parametrize("method", ["parallel", "mam"])
def test_parallel_by_hand(method: str) -> None:
    layer, adapters, seen = _last_layer(method)
    adapter, x = adapters["output"]["adapter"], seen["middle"]
    added = torch.relu(x @ adapter.down.weight.T + adapter.down.bias) @ adapter.up.weight.T + adapter.up.bias
    torch.testing.assert_close(seen["out"], layer.output.LayerNorm(seen["ffn"] + 4.0 * added + x))


@pytest.mark.parametrize("kind", ["distilbert", "modernbert"])
def test_parallel_beside_an_ffn_that_is_one_module(kind: str) -> None:
    model = build(kind, "")
    _stir(_insert(model, "parallel"))
    ffn = model.get_submodule(describe(model).layers[0].ffn)
    adapter = model.nlpkit_adapters.layer[0]["output"]["adapter"]
    x = torch.randn(2, 3, 32, generator=_seeded())
    torch.testing.assert_close(ffn(x), ffn.forward(x) + adapter(x))


def test_compacter_shares_its_rule_between_the_layers() -> None:
    model = build("bert")
    inserted = _insert(model, "compacter")
    rules = {id(m.rule) for m in model.nlpkit_adapters.modules() if type(m).__name__ == "PHM"}
    assert rules == {id(inserted.parameters()["shared.rule"])}


def test_the_first_values_depend_on_the_generator_alone() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first = _insert(build("bert"), "unipelt", seed=3).state()
    torch.manual_seed(1)
    second = _insert(build("bert"), "unipelt", seed=3).state()
    third = _insert(build("bert"), "unipelt", seed=4).state()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["layer.0.attention.prefix.keys"], third["layer.0.attention.prefix.keys"])
    torch.manual_seed(0)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("kind", ["bert", "deberta-v2", "mpnet"])
def test_threads_see_their_own_texts(kind: str) -> None:
    model = build(kind)
    _stir(_insert(model, "unipelt"))
    parts = [torch.randint(3, 60, (2, 4 + i % 5), generator=_seeded(i)) for i in range(24)]

    def run(ids: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return output(model, input_ids=ids, attention_mask=torch.ones_like(ids))

    alone = [run(ids) for ids in parts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, parts))
    for one, other in zip(alone, together, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "deberta"])  # its base cannot run in bfloat16
def test_half_precision_and_training(kind: str) -> None:
    model = build(kind)
    inserted = _insert(model, "unipelt")
    _stir(inserted)
    exact = output(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = output(model)
    torch.testing.assert_close(rough.float(), exact, atol=0.3, rtol=0.3)
    rough.float().square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in inserted.parameters().values())
    model.train()
    assert model.nlpkit_adapters.training
    output(model).sum().backward()


def test_a_copy_of_the_model_is_its_own() -> None:
    for method in ("pfeiffer", "compacter", "unipelt"):
        model = build("bert")
        _stir(_insert(model, method))
        twin = copy.deepcopy(model)
        with torch.no_grad():
            before = output(model)
            for p in twin.nlpkit_adapters.parameters():
                p.add_(0.3)
            assert torch.equal(output(model), before)
            assert not torch.allclose(output(twin), before)


def test_other_weights_are_refused() -> None:
    inserted = _insert(build("bert"), "pfeiffer")
    other = _insert(build("bert"), "pfeiffer", r=5).state()
    with pytest.raises(InputError):
        inserted.load(other)
    state = inserted.state()
    del state["layer.0.output.adapter.up.bias"]
    with pytest.raises(InputError):
        inserted.load(state)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("bitfit", {}),
        ("pfeiffer", {"rank": 8}),
        ("pfeiffer", {"r": -1}),
        ("pfeiffer", {"r": 2.5}),
        ("mam", {"prefix_length": 0}),
        ("houlsby", {"activation": "softsign"}),
        ("parallel", {"scaling": 0}),
        ("parallel", {"init": "ones"}),
        ("pfeiffer", {"r": 8, "reduction": 4}),
        ("compacter", {"r": 6}),
    ],
)
def test_options_that_cannot_be(method: str, options: dict[str, Any]) -> None:
    with refuses("method"):
        insert(build("bert"), method, options, generator=_seeded())


def test_options_in_force_and_a_second_insertion() -> None:
    assert resolve("pfeiffer", {"r": 8, "reduction": 16})["r"] == 8
    assert resolve("compacter", {})["n"] == 4
    model = build("bert")
    _insert(model, "pfeiffer")
    with pytest.raises(UsageError, match="already has adapters"):
        _insert(model, "houlsby")
