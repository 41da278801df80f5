"""Architectures: no look ahead, padding without effect, Mamba and attention as transformers and torch compute them, growth."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from nlpkit.errors import UsageError  # noqa: E402
from nlpkit.lab.architectures.attention import Pattention, attention, barred_places, positional_encoding  # noqa: E402
from nlpkit.lab.architectures.model import SequenceConfig, SequenceLM, register  # noqa: E402
from nlpkit.lab.architectures.recurrent import BEGIN, END, LayerWeights, layer_weights, spelling  # noqa: E402
from nlpkit.lab.architectures.state_space import HymbaBlock, MetaTokens, with_scan  # noqa: E402
from nlpkit.lab.pretrain.networks import ARCHES, OBJECTIVES, objective_of, sizes_of  # noqa: E402

CAUSAL = ("ffnn", "rnn", "lstm", "gru", "transformer", "s4", "tokenformer", "hymba")


def model(arch: str, *, causal: bool = True) -> SequenceLM:
    torch.manual_seed(0)
    config = SequenceConfig(arch, 50, 16, 2, 2, state_size=8, parameter_tokens=12, causal=causal)
    config.tie_word_embeddings = arch != "elmo"
    network = SequenceLM(config).eval()
    if arch == "elmo":
        network.body.embeddings.characters.copy_(spelling([f"w{i}" for i in range(50)]))
    return network


@pytest.mark.parametrize("arch", CAUSAL)
def test_no_place_sees_what_comes_after_it(arch: str) -> None:
    network, ids = model(arch), torch.arange(20)[None] + 5
    changed = ids.clone()
    changed[:, 12:] = 3
    with torch.no_grad():
        a, b = network(ids).logits, network(changed).logits
    torch.testing.assert_close(a[:, :12], b[:, :12], atol=1e-5, rtol=1e-5)
    assert float((a[:, 12:] - b[:, 12:]).abs().max()) > 1e-4


@pytest.mark.parametrize(
    ("arch", "causal"), [*((a, True) for a in CAUSAL), ("bilstm", False), ("elmo", False), ("transformer", False)]
)
def test_padding_changes_nothing(arch: str, causal: bool) -> None:
    network, ids = model(arch, causal=causal), torch.arange(20)[None] + 5
    mask = torch.ones_like(ids)
    mask[:, 13:] = 0
    with torch.no_grad():
        torch.testing.assert_close(network(ids, mask).logits[:, :13], network(ids[:, :13]).logits, atol=1e-5, rtol=1e-5)


def test_bilstm_and_masked_transformer_see_what_comes_after() -> None:
    ids = torch.arange(20)[None] + 5
    changed = ids.clone()
    changed[:, -1] = 3
    for arch in ("bilstm", "transformer"):
        network = model(arch, causal=False)
        with torch.no_grad():
            assert float((network(ids).logits[:, 0] - network(changed).logits[:, 0]).abs().max()) > 0


@pytest.mark.parametrize("arch", [*CAUSAL, "bilstm", "elmo"])
def test_a_saved_model_is_loaded_by_the_auto_classes(arch: str, tmp_path: Path) -> None:
    from transformers import AutoModel, AutoModelForCausalLM

    register()
    network, ids = model(arch, causal=arch in CAUSAL), torch.arange(9)[None]
    network.save_pretrained(str(tmp_path))
    assert not list(tmp_path.glob("*.bin"))
    again, body = (kind.from_pretrained(str(tmp_path)).eval() for kind in (AutoModelForCausalLM, AutoModel))
    with torch.no_grad():
        torch.testing.assert_close(again(ids).logits, network(ids).logits, atol=0, rtol=0)
        torch.testing.assert_close(body(ids).last_hidden_state, network.body(ids).last_hidden_state, atol=0, rtol=0)


def test_mamba_by_the_scan_has_the_logits_and_gradients_of_transformers() -> None:
    from transformers import MambaConfig, MambaForCausalLM

    torch.manual_seed(0)
    network = MambaForCausalLM(MambaConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, state_size=4)).eval()
    ids, mask = torch.randint(0, 40, (2, 11)), torch.ones(2, 11, dtype=torch.long)
    mask[1, 8:] = 0

    def run() -> tuple[torch.Tensor, list[torch.Tensor]]:
        logits = network(ids, attention_mask=mask, use_cache=False).logits
        return logits, list(torch.autograd.grad(logits.square().sum(), list(network.parameters())))

    theirs, ours = run(), (with_scan(network), run())[1]
    assert type(network.backbone.layers[0].mixer).__name__ == "ScanningMixer"
    torch.testing.assert_close(ours[0], theirs[0], atol=1e-5, rtol=1e-5)
    for a, b in zip(ours[1], theirs[1], strict=True):
        torch.testing.assert_close(a, b, atol=1e-3, rtol=1e-3)


def test_the_network_of_bengio_reads_exactly_the_words_before() -> None:
    """Of 4 words, tanh(d + H x) by hand; the fifth word before has no effect."""
    network, ids = model("ffnn"), torch.arange(12)[None] + 5
    changed = ids.clone()
    changed[0, 3] = 0
    with torch.no_grad():
        difference = (network(ids).logits - network(changed).logits).abs().amax(-1)[0]
        assert (difference > 0).nonzero().flatten().tolist() == [3, 4, 5, 6]
        C, layer = network.body.embeddings.weight, network.body.layers[0]
        x = (
            torch.stack([C[11], C[10], C[9], C[8]]).flip(0).T.flatten()
        )  # each feature of the four words, the last one last
        by_hand = torch.tanh(layer.H.bias + layer.H.weight @ x)
        torch.testing.assert_close(layer(network.body.embeddings(ids))[0, 6], by_hand)


def test_the_characters_of_a_token() -> None:
    symbols = spelling(["ab", "ü", "x" * 99])
    assert symbols[0, :5].tolist() == [BEGIN, ord("a") + 1, ord("b") + 1, END, 0]
    assert symbols[1, :4].tolist() == [BEGIN, 0xC3 + 1, 0xBC + 1, END]
    assert (symbols[2, -1], int((symbols[2] == ord("x") + 1).sum())) == (END, 30)


def test_each_direction_of_elmo_is_a_language_model_of_its_own() -> None:
    """The left half of each layer sees no later token, the right one none before; the first layer is the token alone, twice."""
    network, ids = model("elmo"), torch.arange(12)[None] + 5
    changed = ids.clone()
    changed[0, 5] = 0
    with torch.no_grad():
        layers, others = network.body(ids).hidden_states, network.body(changed).hidden_states
    assert len(layers) == 3
    torch.testing.assert_close(layers[0][..., :8], layers[0][..., 8:])
    for number, (a, b) in enumerate(zip(layers, others, strict=True)):
        seen = (a - b).abs() > 1e-7
        left, right = seen[0, :, :8].any(1), seen[0, :, 8:].any(1)
        assert left.nonzero().flatten().tolist() == ([5] if number == 0 else list(range(5, 12)))
        assert right.nonzero().flatten().tolist() == ([5] if number == 0 else list(range(6)))


def test_the_vector_of_elmo_is_a_weighted_sum_of_layers() -> None:
    network, ids = model("elmo"), torch.arange(6)[None]
    weights = network.body.norm
    assert isinstance(weights, LayerWeights)
    with torch.no_grad():
        weights.w.copy_(torch.tensor([1.0, 0.0, 3.0]).log().clamp(min=-100))
        weights.gamma.fill_(2.0)
        seen = network.body(ids)
        torch.testing.assert_close(
            seen.last_hidden_state, 0.5 * seen.hidden_states[0] + 1.5 * seen.hidden_states[2], atol=1e-6, rtol=1e-5
        )
    assert layer_weights(network) == {"gamma": 2.0, "shares": [0.25, 0.0, 0.75]}
    assert layer_weights(model("lstm")) is None


def test_the_heads_of_hymba_are_those_of_transformers_mamba_and_of_torchs_attention() -> None:
    """A layer by the modules of others: MambaMixer between its projections, scaled_dot_product_attention, rms_norm."""
    from torch.nn import functional
    from transformers import MambaConfig
    from transformers.models.mamba.modeling_mamba import MambaMixer

    network = model("hymba")
    layer, x = network.body.layers[0], torch.randn(2, 11, 16)
    mixer = MambaMixer(MambaConfig(hidden_size=16, num_hidden_layers=1, state_size=8, time_step_rank=1), 0)
    y = functional.rms_norm(x, (16,), eps=1e-6)
    with torch.no_grad():
        for beta, value in ((layer.beta_1.weight, 0.5), (layer.beta_2.weight, 2.0)):
            beta.fill_(value)
        mixer.in_proj.weight.copy_(layer.W_in.weight[64:])
        mixer.out_proj.weight.zero_()[:, :16] = torch.eye(16)  # shows one half of its channels, then the other
        ssm = layer.ssm
        for theirs, ours in (
            (mixer.conv1d.weight, ssm.conv.weight), (mixer.conv1d.bias, ssm.conv.bias), (mixer.x_proj.weight, ssm.W_x.weight),
            (mixer.dt_proj.weight, ssm.W_delta.weight), (mixer.dt_proj.bias, ssm.W_delta.bias), (mixer.A_log, ssm.log_A),
            (mixer.D, ssm.D),
        ):  # fmt: skip
            theirs.copy_(ours)
        first = mixer(y)
        mixer.out_proj.weight.copy_(mixer.out_proj.weight.roll(16, 1))
        by_mamba = torch.cat([first, mixer(y)], -1)
        Q, K, V = (z.view(2, 11, 2, -1).transpose(1, 2) for z in (y @ layer.W_in.weight[:64].T).split([16, 16, 32], -1))
        by_attention = (
            functional.scaled_dot_product_attention(Q, K, V, is_causal=True).transpose(1, 2).reshape(2, 11, 32)
        )
        mean = 0.25 * functional.rms_norm(by_attention, (32,), eps=1e-6) + functional.rms_norm(
            by_mamba, (32,), eps=1e-6
        )
        z = x + layer.W_out(mean)
        y = functional.rms_norm(z, (16,), eps=1e-6)
        expected = z + layer.W_2(functional.silu(layer.W_1(y)) * layer.W_3(y))
        mask = torch.ones(2, 11, dtype=torch.long)
        torch.testing.assert_close(layer(x, barred_places(mask, causal=True)), expected, atol=1e-5, rtol=1e-5)


def test_meta_tokens_are_seen_and_learn() -> None:
    network, ids = model("hymba"), torch.arange(9)[None]
    assert network(ids).logits.shape == (1, 9, 50)
    assert isinstance(network.body.meta, MetaTokens)
    assert isinstance(network.body.layers[0], HymbaBlock)
    by_meta = torch.autograd.grad(network(ids).logits[0, 0].square().sum(), network.body.meta.R)[0]
    assert float(by_meta.abs().min(1).values.min()) > 0  # the first token already sees them all


def test_attention_is_that_of_torch() -> None:
    torch.manual_seed(0)
    Q, K, V = torch.randn(3, 2, 7, 12)
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    barred = barred_places(mask, causal=True)
    heads = [x.view(2, 7, 3, 4).transpose(1, 2) for x in (Q, K, V)]
    theirs = torch.nn.functional.scaled_dot_product_attention(*heads, attn_mask=~barred)
    torch.testing.assert_close(attention(Q, K, V, heads=3, barred=barred), theirs.transpose(1, 2).reshape(2, 7, 12))


def test_the_positions_of_the_lecture() -> None:
    """L3620 ff., d = 6: position 1 is sin 1, cos 1, sin 0.0464, cos 0.0464, sin 0.0022, cos 0.0022."""
    PE = positional_encoding(2, 6)
    torch.testing.assert_close(PE[0], torch.tensor([0.0, 1, 0, 1, 0, 1]))
    torch.testing.assert_close(PE[1], torch.tensor([0.8415, 0.5403, 0.0464, 0.9989, 0.0022, 1.0]), atol=5e-5, rtol=0)


def test_a_tokenformer_grows_without_changing_its_function() -> None:
    network, ids = model("tokenformer"), torch.arange(9)[None]
    n_before = sum(p.numel() for p in network.parameters())
    with torch.no_grad():
        before = network(ids).logits
        for layer in network.body.layers:
            layer.grow(5, torch.Generator().manual_seed(1))
        torch.testing.assert_close(network(ids).logits, before, atol=1e-6, rtol=1e-6)
    assert sum(p.numel() for p in network.parameters()) > n_before
    loss = network(ids).logits.square().sum()
    added = network.body.layers[0].Q.K_P
    assert float(torch.autograd.grad(loss, added)[0][-5:].abs().max()) > 0  # the new keys learn


def test_with_another_temperature_growth_would_change_it() -> None:
    torch.manual_seed(0)
    layer, x = Pattention(4, 4, 6), torch.randn(3, 4)
    with torch.no_grad():
        layer.reset()
        before = layer(x)
        layer.grow(3)
        torch.testing.assert_close(layer(x), before)
        layer.tau.fill_(9**0.5)
        assert float((layer(x) - before).abs().max()) > 1e-4


def test_objectives_and_sizes_are_checked() -> None:
    assert set(OBJECTIVES) == set(ARCHES)
    assert [objective_of(a, None) for a in ("bert", "bilstm", "gpt", "mamba")] == ["mlm", "mlm", "clm", "clm"]
    for arch, objective in (("bert", "clm"), ("gpt", "mlm"), ("lstm", "mlm")):
        with pytest.raises(UsageError, match=arch):
            objective_of(arch, objective)
    for options in ({"hidden": 30, "heads": 4}, {"layers": -1}, {"dropout": 1.0}):
        with pytest.raises(UsageError, match="transformer"):
            sizes_of("transformer", {**ARCHES["transformer"], **options}, "tiny")
