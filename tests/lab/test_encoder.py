"""The choices of an encoder: sparse attention equals full attention under a mask, positions and activations those of their papers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from nlpkit.errors import InputError, UsageError  # noqa: E402
from nlpkit.lab.architectures.attention import alibi_slopes, relative_index, rotate  # noqa: E402
from nlpkit.lab.architectures.encoder import (  # noqa: E402
    KINDS,
    NORMS,
    Choices,
    Places,
    SelfAttention,
    SwiGLU,
    TransformerBlock,
    n_blocks,
)
from nlpkit.lab.architectures.model import SequenceClassifier, SequenceConfig, SequenceLM, register  # noqa: E402
from nlpkit.lab.pretrain.networks import ARCHES, sizes_of  # noqa: E402

POSITIONS = KINDS["positions"]
SPARSE = [
    Choices(attention="windowed", window=6, block=4), Choices(attention="windowed", window=10, block=3),
    Choices(attention="dilated", window=6, dilation=3, block=4), Choices(attention="windowed+dilated", window=4, dilation=2, block=3),
    Choices(attention="global", global_tokens=2), Choices(attention="random", random_blocks=2, block=3),
    Choices(attention="windowed+global+random", window=6, global_tokens=2, random_blocks=1, block=4),
    Choices(attention="dilated+global+random", window=4, dilation=2, block=3), Choices(attention="windowed", window=200),
]  # fmt: skip


def attention_of(choices: Choices, *, causal: bool, longest: int = 40, H: int = 12, heads: int = 3) -> SelfAttention:
    torch.manual_seed(0)
    layer = SelfAttention(H, heads, choices, longest=longest, causal=causal)
    layer.reset()
    return layer


def matrix(layer: SelfAttention, T: int) -> torch.Tensor:
    """Who sees whom (T, T), cell by cell, by the definitions of the papers."""
    c, parts = layer.choices, layer.choices.attention.split("+")
    gap = c.dilation if "dilated" in parts else 1

    def block(t: int) -> int:
        return t // (c.block_size * gap) * gap + t % gap

    def sees(i: int, j: int) -> bool:
        near = "windowed" in parts and abs(i - j) <= c.window // 2
        strided = "dilated" in parts and abs(i - j) <= gap * (c.window // 2) and (i - j) % gap == 0
        first = "global" in parts and min(i, j) < c.global_tokens
        drawn = "random" in parts and block(j) in layer.random[block(i)].tolist()
        return (i == j or near or strided or first or drawn) and not (layer.causal and j > i)

    return torch.tensor([[sees(i, j) for j in range(T)] for i in range(T)])


def by_full_matrix(layer: SelfAttention, x: torch.Tensor, mask: torch.Tensor, P: torch.Tensor | None) -> torch.Tensor:
    """The same weights with full attention, whose matrix is masked."""
    full = SelfAttention(12, 3, replace(Choices(), positions=layer.choices.positions), longest=40, causal=layer.causal)
    full.load_state_dict({name: value for name, value in layer.state_dict().items() if name != "random"})
    at = torch.arange(x.shape[1])[None]
    full.places = lambda T, device: Places(at, at, matrix(layer, T)[None])
    out: torch.Tensor = full(x, mask, P)
    return out


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("choices", SPARSE, ids=lambda c: f"{c.attention}-{c.window}")
def test_sparse_attention_is_the_full_matrix_under_a_mask(choices: Choices, causal: bool) -> None:
    layer = attention_of(choices, causal=causal)
    with torch.no_grad():
        for T in (1, 2, 9, 24, 37):
            mask = torch.ones(2, T, dtype=torch.long)
            mask[1, T - T // 3 :] = 0
            x = torch.randn(2, T, 12)
            ours, expected = layer(x, mask), by_full_matrix(layer, x, mask, None)
            torch.testing.assert_close(ours[mask == 1], expected[mask == 1], atol=1e-5, rtol=1e-5)
            assert torch.isfinite(ours).all()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("positions", POSITIONS)
def test_every_kind_of_positions_goes_with_sparse_attention(positions: str, causal: bool) -> None:
    choices = replace(SPARSE[-3], positions=positions, span=5 if positions == "relative" else 128)
    layer, x, mask = attention_of(choices, causal=causal), torch.randn(2, 29, 12), torch.ones(2, 29, dtype=torch.long)
    P = torch.randn(10, 12) if positions == "relative" else None
    ours = layer(x, mask, P)
    torch.testing.assert_close(ours, by_full_matrix(layer, x, mask, P), atol=1e-5, rtol=1e-5)
    assert all(torch.isfinite(g).all() for g in torch.autograd.grad(ours.square().sum(), list(layer.parameters())))


def test_sparse_attention_takes_no_matrix_of_all_pairs() -> None:
    """Of twice the length twice the numbers are kept for the way back, of full attention nearly four times as many."""

    def kept(choices: Choices, T: int) -> int:
        layer, sizes = attention_of(choices, causal=False, longest=T), []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t):
            layer(torch.randn(1, T, 12), torch.ones(1, T, dtype=torch.long))
        return sum(sizes)

    for choices in (SPARSE[0], SPARSE[2], SPARSE[6]):
        assert kept(choices, 1024) / kept(choices, 512) == pytest.approx(2, abs=0.05)
    assert kept(Choices(), 1024) / kept(Choices(), 512) > 3.5


def test_random_blocks_come_from_the_seed_and_are_saved(tmp_path: Path) -> None:
    register()
    one, same, other = (model(attention="windowed+random", window=4, block=2, seed=seed) for seed in (0, 0, 1))
    drawn = [m.body.layers[0].attention.random for m in (one, same, other)]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[0], one.body.layers[1].attention.random)
    near = torch.arange(len(drawn[0]))[:, None] - drawn[0]
    assert bool((near > 1).all() | (drawn[0] < 0).any())
    assert bool((drawn[0] < torch.arange(len(drawn[0]))[:, None]).all())  # causal: earlier blocks alone
    one.save_pretrained(str(tmp_path))
    again, ids = SequenceLM.from_pretrained(str(tmp_path)).eval(), torch.arange(30)[None]
    with torch.no_grad():
        torch.testing.assert_close(again(ids).logits, one(ids).logits, atol=0, rtol=0)
    classifier = SequenceClassifier.from_pretrained(str(tmp_path))
    assert torch.equal(classifier.body.layers[1].attention.random, one.body.layers[1].attention.random)
    with pytest.raises(InputError, match="random attention of the model is drawn for 32"):
        one(torch.arange(40)[None])
    assert n_blocks(SPARSE[7], 40) == 14


def model(*, causal: bool = True, seed: int = 0, heads: int = 2, **choices: Any) -> SequenceLM:
    torch.manual_seed(seed)
    config = SequenceConfig(
        "transformer", 50, 16, 2, heads, 32, causal=causal, choices=choices, bos_token_id=1, eos_token_id=49
    )
    return SequenceLM(config).eval()


def each_model(causal: bool) -> Iterator[SequenceLM]:
    for positions in POSITIONS:
        yield model(causal=causal, positions=positions)
        yield model(causal=causal, positions=positions, attention="windowed+global+random", window=4, block=3)
    yield model(causal=causal, activation="swiglu", norm="rmsnorm")
    yield model(causal=causal, activation="gelu", attention="dilated", window=4)


@pytest.mark.parametrize("causal", [False, True])
def test_no_look_ahead_and_padding_without_effect(causal: bool) -> None:
    ids = torch.arange(24)[None] + 5
    changed, mask = ids.clone(), torch.ones_like(ids)
    changed[:, 14:], mask[:, 14:] = 3, 0
    for network in each_model(causal):
        with torch.no_grad():
            whole, other, padded, short = network(ids), network(changed), network(ids, mask), network(ids[:, :14])
        torch.testing.assert_close(padded.logits[:, :14], short.logits, atol=1e-5, rtol=1e-5)
        if causal:
            torch.testing.assert_close(whole.logits[:, :14], other.logits[:, :14], atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(whole.logits[:, :14], short.logits, atol=1e-5, rtol=1e-5)
        else:
            assert float((whole.logits[:, 13] - other.logits[:, 13]).abs().max()) > 0


def test_generation_is_the_full_forward() -> None:
    for network in each_model(True):
        prompt = torch.tensor([[1, 7, 9]])
        with torch.no_grad():
            out = network.generate(
                prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=12, do_sample=False, pad_token_id=0
            )
            logits = network(out).logits[0]
        assert out.shape[1] > 3
        assert out[0, 3:].tolist() == logits[2:-1].argmax(-1).tolist()


def test_rope_knows_the_distance_alone_and_is_that_of_llama_and_roformer() -> None:
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    torch.manual_seed(0)
    q, k = torch.randn(2, 8)
    turned_q, turned_k = (rotate(x.expand(1, 1, 40, 8))[0, 0] for x in (q, k))
    scores = turned_q @ turned_k.T
    for distance in (-7, 0, 3, 21):
        same = torch.diagonal(scores, distance)
        torch.testing.assert_close(same, same[:1].expand_as(same), atol=1e-5, rtol=1e-5)
    assert float((scores[0, 0] - scores[0, 7]).abs()) > 1e-3
    x = torch.randn(2, 3, 40, 8)
    cos, sin = LlamaRotaryEmbedding(LlamaConfig(hidden_size=24, num_attention_heads=3))(x, torch.arange(40)[None])
    torch.testing.assert_close(rotate(x), apply_rotary_pos_emb(x, x, cos, sin)[0], atol=1e-5, rtol=1e-5)
    # equation 34 of the paper turns neighbours: the same numbers in another order of the dimensions
    t, theta = torch.arange(40)[:, None], 10000.0 ** (-torch.arange(0, 8, 2) / 8)
    turned = x[..., 0::2] * torch.cos(t * theta) - x[..., 1::2] * torch.sin(t * theta)
    neighbours = torch.cat([x[..., 0::2], x[..., 1::2]], -1)
    torch.testing.assert_close(rotate(neighbours)[..., :4], turned, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("heads", [1, 2, 8, 12, 16, 20])
def test_alibi_slopes_are_those_of_bloom(heads: int) -> None:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    theirs = build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)
    torch.testing.assert_close(alibi_slopes(heads), theirs[:, 0, 1])
    if heads == 8:
        assert alibi_slopes(8).tolist() == [2.0**-m for m in range(1, 9)]  # §3 of the paper


def test_alibi_takes_the_slope_times_the_distance_from_each_score() -> None:
    layer = attention_of(Choices(positions="alibi"), causal=True, heads=2)
    q, k, at = torch.randn(1, 2, 1, 5, 6), torch.randn(1, 2, 1, 5, 6), torch.arange(5)[None]
    scores = layer.scores(q, k, at, at, None)
    plain = q @ k.mT / 6**0.5
    assert float((plain - scores)[0, 1, 0, 4, 1]) == pytest.approx(3 * 2**-8, abs=1e-6)


@pytest.mark.parametrize("span", [3, 16])
def test_relative_positions_are_those_of_deberta(span: int) -> None:
    from transformers import DebertaV2Config
    from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention

    ours = attention_of(Choices(positions="relative", span=span), causal=False)
    theirs = DisentangledSelfAttention(
        DebertaV2Config(
            hidden_size=12, num_attention_heads=3, relative_attention=True, pos_att_type=["c2p", "p2c"], max_relative_positions=span,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )
    ).eval()  # fmt: skip
    pairs = {
        "query_proj": "W_Q",
        "key_proj": "W_K",
        "value_proj": "W_V",
        "pos_key_proj": "W_Kr",
        "pos_query_proj": "W_Qr",
    }
    with torch.no_grad():
        for name, letter in pairs.items():
            getattr(theirs, name).load_state_dict(getattr(ours, letter).state_dict())
        ours.W_O.weight.copy_(torch.eye(12))
        ours.W_O.bias.zero_()
        x, P, mask = torch.randn(2, 11, 12), torch.randn(2 * span, 12), torch.ones(2, 11, dtype=torch.long)
        expected = theirs(x, torch.ones(2, 1, 11, 11), rel_embeddings=P)[0]
        torch.testing.assert_close(ours(x, mask, P), expected, atol=1e-5, rtol=1e-5)


def test_relative_index_by_hand() -> None:
    """Equation 3 with k = 2: 0 for i − j ≤ −2, 3 for i − j ≥ 2, else i − j + 2."""
    at = torch.arange(4)
    assert relative_index(at, at, 2).tolist() == [[2, 1, 0, 0], [3, 2, 1, 0], [3, 3, 2, 1], [3, 3, 3, 2]]


def test_swiglu_and_rmsnorm_are_those_of_llama() -> None:
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm

    torch.manual_seed(0)
    ours, x = SwiGLU(12), torch.randn(2, 5, 12) * 3
    theirs = LlamaMLP(LlamaConfig(hidden_size=12, num_attention_heads=3, intermediate_size=32))
    for name, letter in {"gate_proj": "W", "up_proj": "V", "down_proj": "W_2"}.items():
        getattr(theirs, name).load_state_dict(getattr(ours, letter).state_dict())
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-6, rtol=1e-6)
    norm, llama = NORMS["rmsnorm"](12), LlamaRMSNorm(12)
    torch.nn.init.normal_(norm.weight)
    llama.load_state_dict(norm.state_dict())
    torch.testing.assert_close(norm(x), llama(x), atol=1e-6, rtol=1e-6)
    by_hand = x.numpy() / np.sqrt((x.numpy() ** 2).mean(-1, keepdims=True) + 1e-6) * norm.weight.detach().numpy()
    np.testing.assert_allclose(norm(x).detach().numpy(), by_hand, atol=1e-6)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_layer_is_torchs_encoder_layer(activation: str) -> None:
    torch.manual_seed(0)
    ours = TransformerBlock(12, 3, 0.0, Choices(activation=activation), longest=9, causal=False)
    theirs = torch.nn.TransformerEncoderLayer(12, 3, 48, 0.0, activation, batch_first=True)
    attention, ffn = ours.attention, ours.FFN
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(
            torch.cat([attention.W_Q.weight, attention.W_K.weight, attention.W_V.weight])
        )
        theirs.self_attn.in_proj_bias.copy_(torch.cat([attention.W_Q.bias, attention.W_K.bias, attention.W_V.bias]))
        for a, b in ((theirs.self_attn.out_proj, attention.W_O), (theirs.linear1, ffn.W_1), (theirs.linear2, ffn.W_2)):
            a.load_state_dict(b.state_dict())
    x = torch.randn(2, 5, 12)
    torch.testing.assert_close(ours(x, torch.ones(2, 5, dtype=torch.long)), theirs(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attention": "sparse"}, "attention=sparse is not known; give full, windowed"),
        ({"attention": "windowed+windowed"}, "once each"),
        ({"attention": "full+random"}, "full\\+random"),
        ({"positions": "ropes"}, "did you mean .*positions=rope"),
        ({"activation": "silu"}, "activation=swiglu"),
        ({"norm": "batchnorm"}, "norm=rmsnorm"),
        ({"window": 8}, "window is only for attention=windowed or dilated"),
        ({"attention": "windowed", "span": 8}, "span is only for positions=relative"),
        ({"attention": "windowed", "window": 1}, "from 2 to"),
        ({"positions": "rope", "hidden": 9, "heads": 3}, "rope turns pairs"),
    ],
)
def test_choices_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sizes_of("transformer", {**ARCHES["transformer"], **options}, "tiny")
    with pytest.raises(InputError, match="learned positions"):
        model(positions="learned")(torch.arange(33)[None])
