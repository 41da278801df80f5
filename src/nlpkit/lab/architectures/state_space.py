"""State space layers: linear recurrences, Mamba, and Hymba, which adds attention.

In a recurrence h_t = a_t h_{t−1} + b_t the pairs (a, b) compose associatively, (a₂, b₂) ∘ (a₁, b₁) = (a₂a₁, a₂b₁ + b₂), so
all prefixes take ⌈log₂ T⌉ levels of products over whole arrays instead of T steps (Blelloch 1990, §1.4; Gu & Dao 2023,
§3.3.2). That is for a GPU; on a CPU the steps are faster, in a kernel with a backward pass of its own.

Parts, in this order:
- Linear recurrences h_t = a_t h_{t−1} + b_t: step by step, and over all t at once.
- Mamba of transformers with a selective scan of our own (Gu & Dao 2023).
- Hymba: attention heads and Mamba heads side by side in each layer, and meta tokens before each text (Dong et al.
  2024).
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.models.mamba.modeling_mamba import MambaMixer

from nlpkit.lab.architectures import kernels as kernel
from nlpkit.lab.architectures.attention import attention


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


# ------------------------------------------------------------------------------------------------------------------------
# Mamba of transformers with a selective scan of our own (Gu & Dao 2023).
#
# Where the CUDA kernels of its authors are missing, transformers runs the recurrence token by token, and its way back takes seconds.
# The weights, their names and the results are the same.


class ScanningMixer(MambaMixer):  # type: ignore[misc]
    """The mixer of a layer: gate, causal convolution, selective state space."""

    def forward(
        self, hidden_states: Tensor, cache_params: Any = None, attention_mask: Tensor | None = None, **options: Any
    ) -> Tensor:
        """Return (B, T, H); with a cache, which generates token by token, as transformers does."""
        if cache_params is not None:
            whole: Tensor = super().forward(hidden_states, cache_params, attention_mask, **options)
            return whole
        seen = 1.0 if attention_mask is None else attention_mask[..., None].to(hidden_states.dtype)
        u, z = self.in_proj(hidden_states * seen).chunk(2, -1)
        u = self.act(causal_convolution(u, self.conv1d.weight, self.conv1d.bias)) * seen
        rank, N = self.time_step_rank, self.ssm_state_size
        step, B, C = self.x_proj(u).split([rank, N, N], -1)
        y = selective_scan(u, functional.softplus(self.dt_proj(step)), -torch.exp(self.A_log.float()), B, C, self.D)
        out: Tensor = self.out_proj(y * functional.silu(z))
        return out


def with_scan(model: Any) -> Any:
    """Let the layers of a Mamba of transformers run by the scan; the model is returned, other models as they are."""
    for module in model.modules():
        if type(module) is MambaMixer:
            module.__class__ = ScanningMixer
    return model


# ------------------------------------------------------------------------------------------------------------------------
# Hymba: attention heads and Mamba heads side by side in each layer, and meta tokens before each text (Dong et al. 2024).
#
# X̃ = [R, X] has m learned meta tokens R first, which every place sees. A layer projects it once, [Q, K, V, U, G] = X̃ W_in, and both
# kinds of heads read it (equations 1 to 3):
#
# Y = W_out · ½ (β₁ ⊙ norm(softmax(Q Kᵀ / √d_k) V) + β₂ ⊙ norm(G ⊙ α(A, B, C, Δ) U))
#
# As in the authors' model values and state spaces are twice as wide as the layer, the norm is the root mean square, and a gated
# feed-forward layer follows. Sliding windows and keys and values that layers share are left out, as they only save memory in long
# texts; so are rotary positions, as the state spaces know the order.

CONVOLVED = 4  # tokens that the convolution of the Mamba heads sees


class MetaTokens(nn.Module):  # type: ignore[misc]
    """m learned vectors (m, H) that come before each text."""

    def __init__(self, m: int, H: int) -> None:
        super().__init__()
        self.R = nn.Parameter(torch.empty(m, H))

    def reset(self) -> None:
        """Draw the vectors as embeddings of tokens are drawn."""
        nn.init.normal_(self.R, std=0.02)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return [R, x] (B, m + T, H) and the mask (B, m + T) of it."""
        B, m = len(x), len(self.R)
        return torch.cat([self.R.expand(B, -1, -1).to(x), x], 1), torch.cat([mask.new_ones(B, m), mask], 1)


class SSMHeads(nn.Module):  # type: ignore[misc]
    """The selective state space of Mamba (Gu & Dao 2023, §3.4) between its projections: convolution, Δ, B and C of the input, scan."""

    def __init__(self, E: int, N: int, rank: int) -> None:
        super().__init__()
        self.sizes = [rank, N, N]
        self.conv = nn.Conv1d(E, E, CONVOLVED, groups=E, padding=CONVOLVED - 1)
        self.W_x, self.W_delta = nn.Linear(E, rank + 2 * N, bias=False), nn.Linear(rank, E)
        self.log_A, self.D = nn.Parameter(torch.empty(E, N)), nn.Parameter(torch.empty(E))

    def reset(self) -> None:
        """Set A = −1 … −N, D = 1; Δ is drawn from 0.001 to 0.1, evenly in its logarithm."""
        E, N = self.log_A.shape
        self.log_A.copy_(torch.arange(1, N + 1).log().expand(E, -1))
        nn.init.ones_(self.D)
        nn.init.uniform_(self.conv.weight, -(CONVOLVED**-0.5), CONVOLVED**-0.5)
        nn.init.zeros_(self.conv.bias)
        nn.init.uniform_(self.W_delta.weight, -(self.sizes[0] ** -0.5), self.sizes[0] ** -0.5)
        delta = torch.empty(E).uniform_(math.log(1e-3), math.log(1e-1)).exp()
        self.W_delta.bias.copy_(delta + torch.log(-torch.expm1(-delta)))  # whose softplus is delta

    def forward(self, u: Tensor) -> Tensor:
        """Return (B, T, E)."""
        u = functional.silu(causal_convolution(u, self.conv.weight, self.conv.bias))
        step, B, C = self.W_x(u).split(self.sizes, -1)
        return selective_scan(u, functional.softplus(self.W_delta(step)), -torch.exp(self.log_A), B, C, self.D)


class HymbaBlock(nn.Module):  # type: ignore[misc]
    """A layer: x + Y(norm(x)), then x + FFN(norm(x)) with FFN(x) = W_2 (SiLU(x W_1) ⊙ x W_3)."""

    def __init__(self, H: int, heads: int, N: int, dropout: float) -> None:
        super().__init__()
        E, F = 2 * H, 8 * H // 3
        self.heads, self.dropout, self.widths = heads, dropout, [H, H, E, E, E]
        self.W_in, self.W_out = nn.Linear(H, sum(self.widths), bias=False), nn.Linear(E, H, bias=False)
        self.ssm = SSMHeads(E, N, rank=-(-H // 16))
        self.beta_1, self.beta_2, self.norm_1, self.norm_2 = (nn.RMSNorm(width, eps=1e-6) for width in (E, E, H, H))
        self.W_1, self.W_3, self.W_2 = (nn.Linear(*shape, bias=False) for shape in ((H, F), (H, F), (F, H)))

    def forward(self, x: Tensor, barred: Tensor) -> Tensor:
        """Return (B, T, H)."""
        Q, K, V, U, G = self.W_in(self.norm_1(x)).split(self.widths, -1)
        by_attention = attention(Q, K, V, heads=self.heads, barred=barred)
        by_state_space = functional.silu(G) * self.ssm(U)
        Y = self.W_out((self.beta_1(by_attention) + self.beta_2(by_state_space)) / 2)
        x = x + functional.dropout(Y, self.dropout, self.training)
        y = self.norm_2(x)
        return x + functional.dropout(self.W_2(functional.silu(self.W_1(y)) * self.W_3(y)), self.dropout, self.training)
