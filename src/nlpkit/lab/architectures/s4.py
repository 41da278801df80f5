"""S4: a linear state space for each channel, whose state remembers the past as Legendre polynomials (Gu, Goel & Ré 2022).

x'(t) = A x(t) + B u(t),  y(t) = C x(t) + D u(t), with HiPPO-LegS for A and B (Gu et al. 2020, theorem 2). A layer learns the step Δ, C
and D of each channel; A and B stay as they are, so the paper's diagonal plus low-rank form is not needed at N = 64 and less.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.lab.architectures.state_space import matrix_scan


def hippo_legs(N: int) -> tuple[Tensor, Tensor]:
    """Return A (N, N) and B (N,) of HiPPO-LegS in float64.

    A_nk = −√((2n+1)(2k+1)) for n > k, −(n+1) for n = k, 0 for n < k;  B_n = √(2n+1).

    Gu et al. (2020) print A without the minus and put it into x' = −A x + B u; with it all eigenvalues are −1 … −N, and the state fades.
    """
    root = torch.sqrt(2 * torch.arange(N, dtype=torch.float64) + 1)
    A = -torch.tril(root[:, None] * root[None, :], -1) - torch.diag(torch.arange(1, N + 1, dtype=torch.float64))
    return A, root


def zero_order_hold(A: Tensor, B: Tensor, delta: Tensor) -> tuple[Tensor, Tensor]:
    """Return Ā = exp(ΔA) (H, N, N) and B̄ = A⁻¹ (exp(ΔA) − I) B (H, N): the input stands still during a step.

    A (N, N) lower triangular, B (N,), delta (H,).
    """
    A_bar = torch.linalg.matrix_exp(delta[:, None, None] * A)
    held = (A_bar - torch.eye(len(A), dtype=A.dtype, device=A.device)) @ B
    return A_bar, torch.linalg.solve_triangular(A, held.T, upper=False).T


def kernel(A_bar: Tensor, B_bar: Tensor, C: Tensor, T: int) -> Tensor:
    """Return K (H, T), K_t = C Ā^t B̄: powers by doubling, ⌈log₂ T⌉ products."""
    x, power = B_bar[:, :, None], A_bar
    while x.shape[2] < T:
        x = torch.cat([x, power @ x], 2)
        power = power @ power
    return (C[:, None, :] @ x[:, :, :T]).squeeze(1)


def recurrent(A_bar: Tensor, B_bar: Tensor, C: Tensor, u: Tensor) -> Tensor:
    """Return y (B, T, H), y_t = C x_t with x_t = Ā x_{t−1} + B̄ u_t, step by step."""
    x = torch.zeros(u.shape[0], *B_bar.shape, dtype=u.dtype)
    ys = []
    for t in range(u.shape[1]):
        x = (A_bar @ x[..., None]).squeeze(-1) + B_bar * u[:, t, :, None]
        ys.append((x * C).sum(-1))
    return torch.stack(ys, 1)


def convolution(K: Tensor, u: Tensor) -> Tensor:
    """Return y (B, T, H), y_t = Σ_s K_s u_{t−s}, by FFT of twice the length, so that nothing wraps around."""
    T = u.shape[1]
    f = torch.fft.rfft(u, n=2 * T, dim=1) * torch.fft.rfft(K, n=2 * T, dim=1).T
    return torch.fft.irfft(f, n=2 * T, dim=1)[:, :T]


def by_scan(A_bar: Tensor, B_bar: Tensor, C: Tensor, u: Tensor) -> Tensor:
    """Return y (B, T, H) as `recurrent` does, all steps at once by an associative scan."""
    ys = [matrix_scan(A_bar[h], u[:, :, h, None] * B_bar[h]) @ C[h] for h in range(len(C))]
    return torch.stack(ys, 2)


class S4(nn.Module):  # type: ignore[misc]
    """A state space of N dimensions for each of H channels: (B, T, H) → (B, T, H), run as a convolution."""

    def __init__(self, H: int, N: int) -> None:
        super().__init__()
        A, B = hippo_legs(N)
        self.register_buffer("A", A.float())
        self.register_buffer("B", B.float())
        self.log_delta = nn.Parameter(torch.empty(H))
        self.C = nn.Parameter(torch.empty(H, N))
        self.D = nn.Parameter(torch.empty(H))

    def reset(self) -> None:
        """Draw C; Δ from 0.001 to 0.1, evenly in its logarithm."""
        nn.init.uniform_(self.log_delta, math.log(1e-3), math.log(1e-1))
        nn.init.normal_(self.C, std=self.C.shape[1] ** -0.5)
        nn.init.ones_(self.D)
        A, B = hippo_legs(self.C.shape[1])
        self.A.copy_(A)
        self.B.copy_(B)

    def forward(self, u: Tensor) -> Tensor:
        """Return y = K * u + D u, computed in fp32 whatever the precision: powers of Ā need the digits."""
        with torch.autocast(u.device.type, enabled=False):
            A, B, C, D, x = self.A.float(), self.B.float(), self.C.float(), self.D.float(), u.float()
            A_bar, B_bar = zero_order_hold(A, B, self.log_delta.float().exp())
            y = convolution(kernel(A_bar, B_bar, C, x.shape[1]), x) + D * x
        return y.to(u.dtype)


class S4Block(nn.Module):  # type: ignore[misc]
    """x + GLU(W · GELU(S4(norm(x)))), as in the paper's §4 and its code."""

    def __init__(self, H: int, N: int, dropout: float) -> None:
        super().__init__()
        self.norm, self.s4, self.out = nn.LayerNorm(H), S4(H, N), nn.Linear(H, 2 * H)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, H)."""
        y = functional.gelu(self.s4(self.norm(x)))
        y = functional.dropout(y, self.dropout, self.training)
        return x + functional.glu(self.out(y))
