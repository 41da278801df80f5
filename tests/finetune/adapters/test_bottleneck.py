"""Bottlenecks and low-rank updates against their formulas."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from nlpkit.finetune.adapters.bottleneck import ACTIVATIONS, AdapterGate, Lora, bottleneck


def _seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _x(d: int = 6) -> Tensor:
    return torch.randn(2, 5, d, generator=_seeded(9))


def test_a_bottleneck_by_hand() -> None:
    """d = 2, r = 1: relu(1·2 + 2·(−1) + 0.5) = 0.5, times (4, −2), plus (1, 0), times s = 3."""
    delta = bottleneck(2, 1, activation="relu", scaling=3.0, init="zero", generator=_seeded())
    with torch.no_grad():
        delta.down.weight.copy_(torch.tensor([[1.0, 2.0]]))
        delta.down.bias.fill_(0.5)
        delta.up.weight.copy_(torch.tensor([[4.0], [-2.0]]))
        delta.up.bias.copy_(torch.tensor([1.0, 0.0]))
    x = torch.tensor([[2.0, -1.0]])
    assert delta(x).tolist() == [[9.0, -3.0]]
    assert delta.after(delta, (), x).tolist() == [[11.0, -4.0]]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_activation_is_the_one_named(activation: str) -> None:
    delta = bottleneck(6, 3, activation=activation, scaling=1.0, init="bert", generator=_seeded())
    named = {"relu": F.relu, "swish": F.silu, "gelu": F.gelu, "tanh": torch.tanh, "linear": lambda y: y}[activation]
    x = _x()
    by_hand = named(x @ delta.down.weight.T + delta.down.bias) @ delta.up.weight.T + delta.up.bias
    torch.testing.assert_close(delta(x), by_hand)


def test_starts() -> None:
    x = _x(384)
    near = bottleneck(384, 24, activation="relu", scaling=1.0, init="bert", generator=_seeded())
    assert 0.001 < float(near(x).detach().std() / x.std()) < 0.1
    for init in ("zero", "mam"):
        none = bottleneck(384, 24, activation="relu", scaling=4.0, init=init, generator=_seeded())
        assert torch.equal(none(x), torch.zeros_like(x))
        assert none.down.weight.abs().sum() > 0
    again = bottleneck(384, 24, activation="relu", scaling=1.0, init="bert", generator=_seeded())
    assert torch.equal(near.down.weight, again.down.weight)


def test_a_gate_is_a_number_between_0_and_1_per_token_and_scales_what_is_added() -> None:
    gate = AdapterGate(6, generator=_seeded(1))
    x = _x()
    g = gate(x)
    assert g.shape == (2, 5, 1)
    torch.testing.assert_close(g, 1 / (1 + torch.exp(-(x @ gate.linear.weight.T + gate.linear.bias))))
    torch.testing.assert_close(gate.log(x), g.log())
    free = bottleneck(6, 3, activation="relu", scaling=1.0, init="bert", generator=_seeded())
    gated = bottleneck(6, 3, activation="relu", scaling=1.0, init="bert", generator=_seeded(), gate=gate)
    torch.testing.assert_close(gated(x), g * free(x))


@pytest.mark.parametrize("fused", ["", "blocks", "heads"])
def test_lora_is_a_matrix_added_to_the_projection(fused: str) -> None:
    """The output's part p (q, k or v) of head h gets the columns of α/r · A_p B_p that belong to h."""
    d, heads, r = 8, 2, 3
    places = (0, 2) if fused else (0,)
    lora = Lora(d, r, alpha=6.0, generator=_seeded(), places=places, fused=fused, heads=heads)
    with torch.no_grad():
        lora.up.normal_(generator=_seeded(2))
    x = _x(d)
    weights = {place: 2.0 * lora.down[i] @ lora.up[i] for i, place in enumerate(places)}
    added = lora(x)
    if not fused:
        torch.testing.assert_close(added, x @ weights[0])
        return
    zero = torch.zeros(d, d)
    q, k, v = (x @ weights.get(place, zero) for place in range(3))
    if fused == "blocks":
        torch.testing.assert_close(
            added.unflatten(-1, (3, heads, -1)).unbind(-3), tuple(_split(t, heads) for t in (q, k, v))
        )
    else:
        torch.testing.assert_close(
            added.unflatten(-1, (heads, -1)).chunk(3, -1), tuple(_split(t, heads) for t in (q, k, v))
        )
    assert torch.equal(k, torch.zeros_like(k))


def test_lora_begins_with_nothing() -> None:
    lora = Lora(8, 3, alpha=6.0, generator=_seeded())
    assert torch.equal(lora(_x(8)), torch.zeros(2, 5, 8))
    assert lora.down.abs().max() <= 8**-0.5


def _split(t: Tensor, heads: int) -> Tensor:
    return t.unflatten(-1, (heads, -1))
