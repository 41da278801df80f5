"""Linear recurrences h_t = a_t h_{t−1} + b_t: step by step, and over all t at once.

The pairs (a, b) compose associatively, (a₂, b₂) ∘ (a₁, b₁) = (a₂a₁, a₂b₁ + b₂), so all prefixes take ⌈log₂ T⌉ levels of products
over whole arrays instead of T steps (Blelloch 1990, §1.4; Gu & Dao 2023, §3.3.2). That is for a GPU; on a CPU the steps are faster,
with a way back of their own that keeps one array instead of one for each step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


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


class Recurrence(torch.autograd.Function):  # type: ignore[misc]
    """The same step by step; the gradient is a recurrence backward in time, λ_t = g_t + a_{t+1} λ_{t+1}, ∂b_t = λ_t, ∂a_t = λ_t h_{t−1}."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        """Return h (B, T, …)."""
        h = torch.empty_like(b)
        h[:, 0] = b[:, 0]
        for t in range(1, b.shape[1]):
            torch.addcmul(b[:, t], a[:, t], h[:, t - 1], out=h[:, t])
        ctx.save_for_backward(a, h)
        return h

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients by a and b."""
        a, h = ctx.saved_tensors
        by_b = g.clone()
        for t in range(g.shape[1] - 2, -1, -1):
            by_b[:, t].addcmul_(a[:, t + 1], by_b[:, t + 1])
        by_a = torch.zeros_like(a)
        torch.mul(by_b[:, 1:], h[:, :-1], out=by_a[:, 1:])
        return by_a, by_b


def recurrence(a: Tensor, b: Tensor) -> Tensor:
    """Return h (B, T, …) as `scan` does, the faster way on the device."""
    h: Tensor = Recurrence.apply(a, b) if b.device.type == "cpu" else scan(a, b)
    return h


def matrix_scan(A: Tensor, b: Tensor) -> Tensor:
    """Return h (B, T, N) of h_t = A h_{t−1} + b_t with h_{−1} = 0, for one matrix A (N, N) and b (B, T, N)."""
    h, step, power = b, 1, A
    while step < b.shape[1]:  # h_t holds the last `step` inputs; add those of the `step` before them
        h = torch.cat([h[:, :step], h[:, step:] + h[:, :-step] @ power.T], 1)
        step, power = 2 * step, power @ power
    return h


def selective_scan(u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> Tensor:
    """Return y (B, T, E) of a selective state space (Gu & Dao 2023, algorithm 2).

    h_t = exp(Δ_t A) ⊙ h_{t−1} + Δ_t B_t u_t,  y_t = h_t C_t + D ⊙ u_t

    u, delta (B, T, E); A (E, N), negative; B, C (B, T, N); D (E,). The input is discretised by Δ B, as the authors' code does.
    """
    with torch.autocast(u.device.type, enabled=False):  # the state is kept in fp32, as the authors' kernel keeps it
        x, step = u.float(), delta.float()
        a = torch.exp(step[..., None] * A.float())
        b = (step * x)[..., None] * B.float()[:, :, None, :]
        y = (recurrence(a, b) @ C.float()[..., None]).squeeze(-1) + D.float() * x
    return y.to(u.dtype)
