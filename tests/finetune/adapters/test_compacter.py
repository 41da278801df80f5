"""PHM layers are sums of Kronecker products."""

from __future__ import annotations

import pytest
import torch

from nlpkit.finetune.adapters.bottleneck import PHM, compacter, phm_rule
from tests.refusals import refuses


def _seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _layer(d_in: int, d_out: int, n: int = 4) -> PHM:
    layer = PHM(d_in, d_out, rule=phm_rule(n, generator=_seeded()), generator=_seeded(1))
    with torch.no_grad():
        layer.rule.normal_(generator=_seeded(2))
        layer.bias.normal_(generator=_seeded(3))
    return layer


@pytest.mark.parametrize(("d_in", "d_out", "n"), [(24, 8, 4), (8, 24, 4), (6, 9, 3), (4, 4, 4), (5, 7, 1)])
def test_the_weight_is_a_sum_of_kronecker_products(d_in: int, d_out: int, n: int) -> None:
    layer = _layer(d_in, d_out, n)
    by_hand = torch.zeros(d_in, d_out)
    for i in range(n):
        by_hand += torch.kron(layer.rule[i], torch.outer(layer.s[i], layer.t[i]))
    torch.testing.assert_close(layer.weight(), by_hand)
    x = torch.randn(3, d_in, generator=_seeded(4))
    torch.testing.assert_close(layer(x), x @ by_hand + layer.bias)


def test_a_product_by_hand() -> None:
    """A = [[1, 2], [0, 3]] ⊗ s tᵀ = (1, 10)ᵀ (1, −1); the second pair is zero."""
    layer = PHM(4, 4, rule=phm_rule(2, generator=_seeded()), generator=_seeded())
    with torch.no_grad():
        layer.rule.copy_(torch.tensor([[[1.0, 2.0], [0.0, 3.0]], [[0.0, 0.0], [0.0, 0.0]]]))
        layer.s[0] = torch.tensor([1.0, 10.0])
        layer.t[0] = torch.tensor([1.0, -1.0])
    assert layer.weight().tolist() == [[1, -1, 2, -2], [10, -10, 20, -20], [0, 0, 3, -3], [0, 0, 30, -30]]


def test_numbers_of_parameters_and_a_start_near_the_identity() -> None:
    rule = phm_rule(4, generator=_seeded())
    delta = compacter(384, 12, activation="gelu", scaling=1.0, rule=rule, generator=_seeded(1))
    assert sum(p.numel() for p in delta.parameters()) == 64 + 1188
    x = torch.randn(5, 384, generator=_seeded(2))
    assert 0 < float(delta(x).detach().abs().max()) < 1e-4


def test_n_must_divide_both_sides() -> None:
    with refuses("method"):
        compacter(384, 10, activation="gelu", scaling=1.0, rule=phm_rule(4, generator=_seeded()), generator=_seeded())
