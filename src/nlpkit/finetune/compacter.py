"""Compacter: adapters whose matrices are sums of Kronecker products (Zhang et al. 2021; Mahabadi et al. 2021, §3).

W = Σ_i A_i ⊗ B_i with A_i (n, n) shared by all layers and B_i = s_i t_iᵀ of rank one: k + d numbers per adapter and
side, where a bottleneck has k · d.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import torch
from torch import nn

from nlpkit.errors import UsageError
from nlpkit.finetune.bottleneck import AdapterGate, Delta

if TYPE_CHECKING:
    from torch import Generator, Tensor


def phm_rule(n: int, *, generator: Generator) -> nn.Parameter:
    """Return the shared A (n, n, n), drawn from N(0, 10⁻⁸) as the adapters library does: adapters start as identity."""
    return nn.Parameter(torch.empty(n, n, n).normal_(0.0, 1e-4, generator=generator))


class PHM(nn.Module):  # type: ignore[misc]
    """Parametrised hypercomplex multiplication, x W + b with W = Σ_i A_i ⊗ s_i t_iᵀ.

    rule   A (n, n, n), a parameter that other PHM layers hold too
    s      (n, d_in / n), t (n, d_out / n), Glorot-uniform as matrices of one column and one row
    """

    def __init__(self, d_in: int, d_out: int, *, rule: nn.Parameter, generator: Generator) -> None:
        super().__init__()
        n = len(rule)
        if d_in % n or d_out % n:
            width, r = max(d_in, d_out), min(d_in, d_out)
            raise UsageError(
                f"compacter(n={n}): n must divide the width of the model ({width}) and r ({r})",
                parameter="method",
            )
        self.rule = rule
        self.s = nn.Parameter(_glorot(n, d_in // n, generator))
        self.t = nn.Parameter(_glorot(n, d_out // n, generator))
        self.bias = nn.Parameter(torch.zeros(d_out))

    def weight(self) -> Tensor:
        """Return W (d_in, d_out)."""
        n, p, q = len(self.rule), self.s.shape[1], self.t.shape[1]
        return torch.einsum("iab,ip,iq->apbq", self.rule, self.s, self.t).reshape(n * p, n * q)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight() + self.bias


def compacter(
    d: int,
    r: int,
    *,
    activation: str,
    scaling: float,
    rule: nn.Parameter,
    generator: Generator,
    gate: AdapterGate | None = None,
) -> Delta:
    """Return Δ(h) = s f(h W_down + b) W_up + b with both matrices PHM.

    Raises UsageError when n divides not both d and r.
    """
    down = PHM(d, r, rule=rule, generator=generator)
    up = PHM(r, d, rule=rule, generator=generator)
    return Delta(down, up, activation=activation, scaling=scaling, gate=gate)


def _glorot(n: int, size: int, generator: Generator) -> Tensor:
    bound = sqrt(6.0 / (size + 1))
    return torch.empty(n, size).uniform_(-bound, bound, generator=generator)
