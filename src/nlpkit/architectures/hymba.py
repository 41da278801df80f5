"""Hymba: attention heads and Mamba heads side by side in each layer, and meta tokens before each text (Dong et al. 2024).

X̃ = [R, X] has m learned meta tokens R first, which every place sees. A layer projects it once, [Q, K, V, U, G] = X̃ W_in, and both
kinds of heads read it (equations 1 to 3):

    Y = W_out · ½ (β₁ ⊙ norm(softmax(Q Kᵀ / √d_k) V) + β₂ ⊙ norm(G ⊙ α(A, B, C, Δ) U))

As in the authors' model values and state spaces are twice as wide as the layer, the norm is the root mean square, and a gated
feed-forward layer follows. Sliding windows and keys and values that layers share are left out, as they only save memory in long
texts; so are rotary positions, as the state spaces know the order.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.architectures.attention import attention
from nlpkit.architectures.scan import causal_convolution, selective_scan

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
