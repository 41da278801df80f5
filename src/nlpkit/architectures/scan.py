"""Linear recurrences h_t = a_t h_{t−1} + b_t: step by step, and over all t at once.

The pairs (a, b) compose associatively, (a₂, b₂) ∘ (a₁, b₁) = (a₂a₁, a₂b₁ + b₂), so all prefixes take ⌈log₂ T⌉ levels of products
over whole arrays instead of T steps (Blelloch 1990, §1.4; Gu & Dao 2023, §3.3.2). That is for a GPU; on a CPU the steps are faster,
in a kernel with a backward pass of its own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.kernels import selective_scan as kernel


def scan(a: Tensor, b: Tensor) -> Tensor:
    """Return h (B, T, …) of h_t = a_t ⊙ h_{t−1} + b_t with h_{−1} = 0, for a and b of that shape."""
    T = b.shape[1]
    if T == 1:
        return b
    even, odd = slice(0, T - 1, 2), slice(1, T, 2)
    # pairs of neighbours become one step; the states of the odd places are those of half as many steps
    at_odd = scan(a[:, odd] * a[:, even], a[:, odd] * b[:, even] + b[:, odd])
    later = a[:, 2::2] * at_odd[:, : (T - 1) // 2] + b[:, 2::2]
    at_even = torch.cat([b[:, :1], later], 1)
    h = torch.empty_like(b)
    h[:, 0::2], h[:, 1::2] = at_even, at_odd
    return h


def matrix_scan(A: Tensor, b: Tensor) -> Tensor:
    """Return h (B, T, N) of h_t = A h_{t−1} + b_t with h_{−1} = 0, for one matrix A (N, N) and b (B, T, N)."""
    h, step, power = b, 1, A
    while step < b.shape[1]:  # h_t holds the last `step` inputs; add those of the `step` before them
        h = torch.cat([h[:, :step], h[:, step:] + h[:, :-step] @ power.T], 1)
        step, power = 2 * step, power @ power
    return h


def causal_convolution(u: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return y (B, T, E) of u (B, T, E), y_t = bias + Σ_k w_k ⊙ u_{t−K+1+k}, weight (E, 1, K): a depthwise convolution of the past.

    K is 4 or so; torch's own takes three times as long on a CPU, most of it in the backward pass.
    """
    T, K = u.shape[1], weight.shape[2]
    padded, weight = functional.pad(u, (0, 0, K - 1, 0)), weight.to(u.dtype)
    y = torch.zeros_like(u) if bias is None else bias.to(u.dtype).expand_as(u)
    for k in range(K):
        y = torch.addcmul(y, padded[:, k : k + T], weight[:, 0, k])
    return y


class SelectiveScan(torch.autograd.Function):  # type: ignore[misc]
    """y_t = h_t C_t of h_t = exp(Δ_t A) ⊙ h_{t−1} + x_t B_t on a CPU, step by step.

    x, delta (B, T, E); A (E, N); B, C (B, T, N), float32 without gaps.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
        """Return y (B, T, E)."""
        A = A.T.contiguous()  # the state is (N, E), so that the innermost loop is over neighbours
        a = torch.mul(delta[:, :, None, :], A).exp_()
        h, y = torch.empty_like(a), torch.zeros_like(x)
        kernel.forward(*_arrays(a, x, B, C, h, y))
        ctx.save_for_backward(x, delta, A, B, C, a, h)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients by x, delta, A, B and C."""
        x, delta, A, B, C, a, h = ctx.saved_tensors
        by_x, by_delta, by_A, by_B, by_C = (torch.zeros_like(v) for v in (x, delta, A, B, C))
        kernel.backward(
            *_arrays(g.contiguous(), a, h, delta, x, A, B, C, torch.empty_like(A), by_delta, by_x, by_A, by_B, by_C)
        )
        return by_x, by_delta, by_A.T, by_B, by_C


def _arrays(*tensors: Tensor) -> list[Any]:
    return [tensor.detach().numpy() for tensor in tensors]


def selective_scan(u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> Tensor:
    """Return y (B, T, E) of a selective state space (Gu & Dao 2023, algorithm 2).

    h_t = exp(Δ_t A) ⊙ h_{t−1} + Δ_t B_t u_t,  y_t = h_t C_t + D ⊙ u_t

    u, delta (B, T, E); A (E, N), negative; B, C (B, T, N); D (E,). The input is discretised by Δ B, as the authors' code does.
    """
    with torch.autocast(u.device.type, enabled=False):  # the state is kept in fp32, as the authors' kernel keeps it
        u_t, step, A, B, C = (v.float().contiguous() for v in (u, delta, A, B, C))
        x = step * u_t
        if u.device.type == "cpu":
            y = SelectiveScan.apply(x, step, A, B, C)
        else:
            h = scan(torch.exp(step[..., None] * A), x[..., None] * B[:, :, None, :])
            y = (h @ C[..., None]).squeeze(-1)
        y = y + D.float() * u_t
    return y.to(u.dtype)
