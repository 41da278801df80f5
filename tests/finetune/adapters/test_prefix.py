"""A prefix is more keys and values: against attention written out, and against its gated form."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from nlpkit.finetune.adapters.bottleneck import AdapterGate
from nlpkit.finetune.adapters.prefix import Attached, Prefix, PrefixStates, check_prefix, prefix_attention
from nlpkit.finetune.training.architectures import describe
from tests.finetune.eight import KINDS, WITH_SDPA, batch, build, one_thread, output  # noqa: F401
from tests.refusals import refuses

PLACES = [(kind, attention) for kind in KINDS for attention in (("sdpa", "eager") if kind in WITH_SDPA else ("eager",))]


def _normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _case() -> tuple[Tensor, Tensor, Tensor, PrefixStates]:
    """Two texts of five tokens, two heads of size three, a prefix of four."""
    q, k, v = (_normal(2, 2, 5, 3, seed=i) for i in range(3))
    return q, k, v, PrefixStates(_normal(2, 4, 3, seed=3), _normal(2, 4, 3, seed=4))


def _written_out(q: Tensor, keys: Tensor, values: Tensor, seen: Tensor | None = None) -> Tensor:
    """Return (B, T, H, d_h), each number a sum over the keys that may be seen."""
    batch_size, heads, rows, size = q.shape
    found = torch.zeros(batch_size, rows, heads, size)
    for b in range(batch_size):
        for h in range(heads):
            for t in range(rows):
                scores = torch.stack([q[b, h, t] @ key for key in keys[b, h]]) / size**0.5
                shares = scores.exp()
                if seen is not None:
                    shares = shares * seen[b, t]
                found[b, t, h] = sum(s * value for s, value in zip(shares / shares.sum(), values[b, h], strict=True))
    return found


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("masked", ["none", "boolean", "additive"])
def test_prefix_attention_is_attention_over_more_keys_and_values(masked: str, weights: bool) -> None:
    q, k, v, given = _case()
    keys = torch.cat([given.keys.expand(2, -1, -1, -1), k], 2)
    values = torch.cat([given.values.expand(2, -1, -1, -1), v], 2)
    seen = torch.ones(2, 5, 9)
    mask = None
    if masked != "none":
        open_ = torch.rand(2, 1, 5, 5, generator=torch.Generator().manual_seed(5)) > 0.4
        seen[:, :, 4:] = open_[:, 0].float()
        mask = open_ if masked == "boolean" else torch.zeros(2, 1, 5, 5).masked_fill(~open_, -1e9)
    found, shares = prefix_attention(q, k, v, mask, given, weights=weights)
    torch.testing.assert_close(found, _written_out(q, keys, values, seen), atol=1e-5, rtol=1e-5)
    if weights:
        assert shares is not None
        torch.testing.assert_close(shares.sum(-1), torch.ones(2, 2, 5))


def test_it_is_a_mixture_of_the_text_and_the_prefix() -> None:
    """(1 − λ) h + λ softmax(x W_q P_Kᵀ) P_V, λ the prefix's share (He et al. 2022, eq. 7)."""
    q, k, v, given = _case()
    h = _written_out(q, k, v)
    p = _written_out(q, given.keys.expand(2, -1, -1, -1), given.values.expand(2, -1, -1, -1))
    on_prefix = (q @ given.keys.transpose(1, 2) / 3**0.5).exp().sum(-1)
    on_text = (q @ k.transpose(2, 3) / 3**0.5).exp().sum(-1)
    share = (on_prefix / (on_prefix + on_text)).transpose(1, 2)[..., None]
    torch.testing.assert_close(prefix_attention(q, k, v, None, given)[0], (1 - share) * h + share * p)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_a_gate_multiplies_the_share_of_the_prefix(masked: bool, weights: bool) -> None:
    q, k, v, given = _case()
    mask = torch.ones(2, 1, 5, 5, dtype=torch.bool)
    mask[1, :, :, 3:] = not masked
    used = mask if masked else None
    base = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=used).transpose(1, 2)

    def with_gate(g: Tensor) -> Tensor:
        return prefix_attention(q, k, v, used, PrefixStates(given.keys, given.values, g.log()), weights=weights)[0]

    torch.testing.assert_close(with_gate(torch.zeros(2, 1, 5, 1)), base)
    torch.testing.assert_close(with_gate(torch.ones(2, 1, 5, 1)), prefix_attention(q, k, v, used, given)[0])
    half = with_gate(torch.full((2, 1, 5, 1), 0.5))
    p = _written_out(q, given.keys.expand(2, -1, -1, -1), given.values.expand(2, -1, -1, -1))
    on_prefix = 0.5 * (q @ given.keys.transpose(1, 2) / 3**0.5).exp().sum(-1)
    on_text = ((q @ k.transpose(2, 3) / 3**0.5).exp() * mask).sum(-1)
    share = (on_prefix / (on_prefix + on_text)).transpose(1, 2)[..., None]
    torch.testing.assert_close(half, (1 - share) * base + share * p, atol=1e-5, rtol=1e-5)


def _attach(model: Any, *, gated: bool = False) -> tuple[list[Attached], list[Prefix]]:
    found = describe(model)
    generator = torch.Generator().manual_seed(3)
    prefixes = []
    for _ in found.layers:
        gate = AdapterGate(32, generator=generator) if gated else None
        prefix = Prefix(32, 5, 4, generator=generator, gate=gate)
        with torch.no_grad():
            prefix.keys.normal_(generator=generator)
            prefix.values.normal_(generator=generator)
        prefixes.append(prefix)
    return [Attached(model, found, *pair) for pair in zip(found.layers, prefixes, strict=True)], prefixes


def _scores(module: Any, kind: str, x: Tensor, kwargs: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor, float]:
    """Return q, v (B, H, T, d_h), the scores of the text before softmax and mask, and the scaling, from the weights."""

    def heads(t: Tensor) -> Tensor:
        return t.unflatten(-1, (4, -1)).transpose(1, 2)

    if kind == "modernbert":
        from transformers.models.modernbert.modeling_modernbert import apply_rotary_pos_emb

        q, k, v = (heads(t) for t in (x @ module.Wqkv.weight.T).chunk(3, -1))
        q, k = apply_rotary_pos_emb(q, k, *kwargs["position_embeddings"])
        return q, v, q @ k.transpose(2, 3) / 8**0.5, 8**-0.5
    if kind == "deberta":
        by_head = module.in_proj(x).unflatten(-1, (4, 24)).transpose(1, 2)
        q, k, v = by_head.chunk(3, -1)
        q, v = q + module.q_bias.view(1, 4, 1, 8), v + module.v_bias.view(1, 4, 1, 8)
        scaling = (8 * 3) ** -0.5
        extra = module.disentangled_att_bias(q * scaling, k, kwargs["relative_pos"], kwargs["rel_embeddings"], 3)
        return q, v, q @ k.transpose(2, 3) * scaling + extra, scaling
    names = {"distilbert": ("q_lin", "k_lin", "v_lin"), "mpnet": ("q", "k", "v")}
    usual = ("query_proj", "key_proj", "value_proj") if kind == "deberta-v2" else ("query", "key", "value")
    q, k, v = (heads(getattr(module, name)(x)) for name in names.get(kind, usual))
    if kind == "mpnet":
        return q, v, q @ k.transpose(2, 3) / 8**0.5 + kwargs["third"][0], 8**-0.5
    if kind == "deberta-v2":
        flat = [t.flatten(0, 1) for t in (q, k)]
        extra = module.disentangled_attention_bias(*flat, kwargs["relative_pos"], kwargs["rel_embeddings"], 3)
        scaling = (8 * 3) ** -0.5
        return q, v, q @ k.transpose(2, 3) * scaling + extra.view(-1, 4, *extra.shape[1:]), scaling
    return q, v, q @ k.transpose(2, 3) / 8**0.5, 8**-0.5


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize(("kind", "attention"), PLACES)
def test_the_attention_of_every_model_is_over_prefix_and_text(kind: str, attention: str, gated: bool) -> None:
    model = build(kind, "", attention=attention)
    layer = describe(model).layers[1]
    module = model.get_submodule(layer.attention)
    seen: dict[str, Any] = {}
    module.register_forward_pre_hook(
        lambda _m, args, kwargs: seen.update(x=args[0], kwargs={"third": args[2:3], **kwargs}), with_kwargs=True
    )
    _, prefixes = _attach(model, gated=gated)
    module.register_forward_hook(lambda _m, _a, out: seen.update(out=out[0]))
    dense = model.get_submodule(layer.attention_dense)
    inputs = batch()
    with torch.no_grad():
        model(**inputs)
        q, v, scores, scaling = _scores(module, kind, seen["x"], seen["kwargs"])
        prefix = prefixes[1]
        keys, values = (p.unflatten(-1, (4, 8)).transpose(0, 1) for p in (prefix.keys, prefix.values))
        weights = (q @ keys.transpose(1, 2) * scaling).exp()
        if prefix.gate is not None:
            weights = weights * prefix.gate(seen["x"])[:, None]
        visible = inputs["attention_mask"][:, None, None, :].float().expand(3, 1, 9, 9)
        if kind == "modernbert":  # the second layer looks 4 tokens to either side
            near = (torch.arange(9)[:, None] - torch.arange(9)).abs() <= 4
            assert module.sliding_window == 5
            visible = visible * near
        on_text = scores.exp() * visible
        total = weights.sum(-1, keepdim=True) + on_text.sum(-1, keepdim=True)
        expected = ((weights @ values + on_text @ v) / total).transpose(1, 2).flatten(-2)
        if kind in ("distilbert", "mpnet", "modernbert"):
            expected = dense(expected)
    real = inputs["attention_mask"].bool()
    torch.testing.assert_close(seen["out"][real], expected[real], atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize(("kind", "attention"), PLACES)
def test_removed_it_leaves_the_model_as_it_was(kind: str, attention: str) -> None:
    model = build(kind, attention=attention)
    with torch.no_grad():
        before = output(model)
        attached, _ = _attach(model)
        between = output(model)
        assert model.config._attn_implementation == attention
        for one in attached:
            one.remove()
        assert torch.equal(output(model), before)
    assert not torch.allclose(between, before)


def test_a_copy_of_the_model_has_its_own_prefix() -> None:
    for kind in ("bert", "mpnet"):
        model = build(kind)
        _, prefixes = _attach(model)
        model.add_module("kept", torch.nn.ModuleList(prefixes))
        twin = copy.deepcopy(model)
        with torch.no_grad():
            twin.kept[0].values.add_(1.0)
            first, second = output(model), output(twin)
            twin.kept[0].values.copy_(prefixes[0].values)
            assert not torch.allclose(first, second)
            assert torch.equal(output(twin), first)


def test_attention_it_cannot_go_into_is_refused() -> None:
    model = build("bert")
    model.config._attn_implementation = "flex_attention"
    with refuses("base"):
        check_prefix(model, describe(model))
    with refuses("method"):
        check_prefix(talking := build("deberta", talking_head=True), describe(talking))


def test_an_attention_without_a_softmax_of_its_own_is_noticed() -> None:
    model = build("mpnet")
    _attach(model)
    module = model.get_submodule(describe(model).layers[0].attention)
    kind = type("Other", (type(module),), {"forward": lambda self, x, *a, **k: (x,)})
    module.__class__ = kind
    with pytest.raises(RuntimeError, match="0 softmaxes"):
        output(model)
