"""Bottleneck adapters, low-rank updates and Compacter: small networks beside frozen layers.

All of these are modules whose methods are forward hooks. They keep nothing between calls, so that several threads can run
them at once, and a deep copy of the model copies them with it.

Parts, in this order:
- Bottleneck adapters and low-rank updates: small networks beside frozen layers (Houlsby et al. 2019, He et al. 2022).
- Compacter: adapters whose matrices are sums of Kronecker products (Zhang et al. 2021; Mahabadi et al. 2021, §3).
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from nlpkit.errors import UsageError

if TYPE_CHECKING:
    from torch import Generator, Tensor

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "swish": F.silu,
    "gelu": F.gelu,
    "tanh": torch.tanh,
    "linear": lambda x: x,
}
INITS = ("bert", "zero", "mam")


class Linear(nn.Module):  # type: ignore[misc]
    """x W + b with W (d_in, d_out) kept as torch does, transposed; its values are drawn from the generator it is given."""

    def __init__(self, d_in: int, d_out: int, *, generator: Generator, init: str = "bert") -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(d_out, d_in))
        self.bias = nn.Parameter(torch.zeros(d_out))
        with torch.no_grad():
            if init == "bert":
                self.weight.normal_(0.0, 0.02, generator=generator)
            elif init == "kaiming":
                self.weight.uniform_(-1 / sqrt(d_in), 1 / sqrt(d_in), generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class AdapterGate(nn.Module):  # type: ignore[misc]
    """σ(x W_g + b), one number per token (Mao et al. 2022, §3.2), which scales what a module adds.

    Per token, where the paper's code averages over the tokens of a text: an average over padding would make a text's
    prediction depend on the batch it is in.
    """

    def __init__(self, d: int, *, generator: Generator) -> None:
        super().__init__()
        self.linear = Linear(d, 1, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.linear(x))

    def log(self, x: Tensor) -> Tensor:
        """Return log σ(x W_g + b)."""
        return F.logsigmoid(self.linear(x))


class Delta(nn.Module):  # type: ignore[misc]
    """The term that an adapter adds, Δ(x) = g(x) · s · up(f(down(x))), and the hooks by which it is added.

    down, up      modules of x (…, d) → (…, r) → (…, d)
    activation    f, one of ACTIVATIONS
    scaling       s
    gate          g, an AdapterGate; None for 1
    """

    def __init__(
        self, down: nn.Module, up: nn.Module, *, activation: str, scaling: float = 1.0, gate: AdapterGate | None = None
    ) -> None:
        super().__init__()
        self.down, self.up = down, up
        self.activation, self.scaling = activation, scaling
        self.gate = gate

    def forward(self, x: Tensor) -> Tensor:
        added = self.up(ACTIVATIONS[self.activation](self.down(x)))
        if self.scaling != 1.0:
            added = added * self.scaling
        return added if self.gate is None else added * self.gate(x)

    def after(self, module: nn.Module, args: tuple[Any, ...], h: Tensor) -> Tensor:
        """Forward hook: h ← h + Δ(h), h being the module's output."""
        return h + self(h)

    def around_norm(self, norm: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Pre-hook of a LayerNorm: its input z, a residual sum, becomes z + Δ(LN(z))."""
        z, *rest = args
        return (z + self(norm.forward(z)), *rest)

    def beside(self, module: nn.Module, args: tuple[Any, ...], h: Tensor) -> Tensor:
        """Forward hook: h ← h + Δ(x), x being the module's input."""
        return h + self(args[0])

    def beside_residual(self, module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Pre-hook of a module (h, x) ↦ LN(dense(h) + x): x ← x + Δ(x), which is the same as dense(h) + Δ(x)."""
        h, x = args
        return h, x + self(x)


def bottleneck(
    d: int, r: int, *, activation: str, scaling: float, init: str, generator: Generator, gate: AdapterGate | None = None
) -> Delta:
    """Return Δ(h) = s f(h W_down + b) W_up + b, W_down (d, r), W_up (r, d).

    init  bert: both from N(0, 0.02²), as the adapters library does; Δ is then a few hundredths of h, the near-identity
    of Houlsby et al. (2019, §2.1). zero: W_up = 0, Δ = 0. mam: W_down uniform in ±1/√d, W_up = 0 (He et al. 2022).
    """
    down = Linear(d, r, generator=generator, init="kaiming" if init == "mam" else "bert")
    up = Linear(r, d, generator=generator, init="bert" if init == "bert" else "zero")
    return Delta(down, up, activation=activation, scaling=scaling, gate=gate)


class Lora(nn.Module):  # type: ignore[misc]
    """Low-rank update of projections, Δ(x) = g(x) · α/r · x A B, B = 0 at the start (Hu et al. 2022, §4.1).

    places  which of three equal parts of the output are updated, 0 to 2 for q, k, v; (0,) of 1 for a single projection.
    fused   "" one projection; "blocks" [q | k | v]; "heads" [q₁ k₁ v₁ | …]
    """

    def __init__(
        self,
        d: int,
        r: int,
        *,
        alpha: float,
        generator: Generator,
        places: tuple[int, ...] = (0,),
        fused: str = "",
        heads: int = 1,
        gated: bool = False,
    ) -> None:
        super().__init__()
        self.scaling, self.places, self.fused, self.heads = alpha / r, places, fused, heads
        self.down = nn.Parameter(
            torch.empty(len(places), d, r).uniform_(-1 / sqrt(d), 1 / sqrt(d), generator=generator)
        )
        self.up = nn.Parameter(torch.zeros(len(places), r, d))
        self.gate = AdapterGate(d, generator=generator) if gated else None

    def forward(self, x: Tensor) -> Tensor:
        parts: list[Tensor] = []
        for A, B in zip(self.down, self.up, strict=True):
            parts.append((x @ A) @ B * self.scaling)
        if not self.fused:
            added = parts[0]
        else:
            filled = [parts[self.places.index(k)] if k in self.places else torch.zeros_like(parts[0]) for k in range(3)]
            if self.fused == "blocks":
                added = torch.cat(filled, -1)
            else:
                by_head = [part.unflatten(-1, (self.heads, -1)) for part in filled]
                added = torch.cat(by_head, -1).flatten(-2)
        return added if self.gate is None else added * self.gate(x)

    def beside(self, module: nn.Module, args: tuple[Any, ...], h: Tensor) -> Tensor:
        """Forward hook: h ← h + Δ(x), x being the projection's input."""
        return h + self(args[0])


# ------------------------------------------------------------------------------------------------------------------------
# Compacter: adapters whose matrices are sums of Kronecker products (Zhang et al. 2021; Mahabadi et al. 2021, §3).
#
# W = Σ_i A_i ⊗ B_i with A_i (n, n) shared by all layers and B_i = s_i t_iᵀ of rank one: k + d numbers per adapter and
# side, where a bottleneck has k · d.


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
