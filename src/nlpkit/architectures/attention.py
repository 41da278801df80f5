"""Positions and attention of Vaswani et al. (2017), and Tokenformer, whose weights are tokens, too (Wang et al. 2024)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


def positional_encoding(T: int, H: int) -> Tensor:
    """Return PE (T, H): PE(t, 2i) = sin(t / 10000^(2i/H)), PE(t, 2i+1) = cos of the same (Vaswani et al. 2017, §3.5)."""
    t = torch.arange(T, dtype=torch.float64)[:, None]
    angle = t / 10000 ** (torch.arange(0, H, 2, dtype=torch.float64) / H)
    PE = torch.zeros(T, H, dtype=torch.float64)
    PE[:, 0::2], PE[:, 1::2] = torch.sin(angle), torch.cos(angle)[:, : H // 2]
    return PE.float()


def attention(Q: Tensor, K: Tensor, V: Tensor, *, heads: int, barred: Tensor) -> Tensor:
    """Return softmax(Q Kᵀ / √d_k) V of several heads, of V's shape; barred (B, 1, T, T) or wider: places not to be seen."""
    B, T, H = Q.shape
    q, k, v = (x.reshape(B, T, heads, -1).transpose(1, 2) for x in (Q, K, V))
    scores = q @ k.transpose(2, 3) / math.sqrt(H // heads)
    weights = torch.softmax(scores.masked_fill(barred, float("-inf")), -1)
    return (weights @ v).transpose(1, 2).reshape(V.shape)


def barred_places(mask: Tensor, *, causal: bool) -> Tensor:
    """Return (B, 1, T, T), True where a place may not look: at padding, and with `causal` at what comes after it.

    mask (B, T): 1 for tokens. Every place sees itself, so that padding has numbers, too.
    """
    T = mask.shape[1]
    barred = (mask == 0)[:, None, None, :].expand(-1, 1, T, -1)
    if causal:
        barred = barred | torch.ones(T, T, dtype=torch.bool, device=mask.device).triu(1)
    return barred & ~torch.eye(T, dtype=torch.bool, device=mask.device)


class Pattention(nn.Module):  # type: ignore[misc]
    """Attention of tokens to n pairs of parameter tokens, in the place of a linear layer (Wang et al. 2024, equations 3 and 4).

    Pattention(X, K_P, V_P) = Θ(X K_Pᵀ) V_P,  Θ(A)_ij = GELU(τ A_ij / √Σ_k A_ik²)

    τ is √n at first, and a number of its own: with √n of the moment, growing would change every score.
    """

    def __init__(self, H_in: int, H_out: int, n: int) -> None:
        super().__init__()
        self.K_P, self.V_P = nn.Parameter(torch.empty(n, H_in)), nn.Parameter(torch.empty(n, H_out))
        self.register_buffer("tau", torch.tensor(math.sqrt(n)))

    def reset(self) -> None:
        """Draw the parameter tokens."""
        nn.init.normal_(self.K_P, std=0.02)
        nn.init.normal_(self.V_P, std=0.02)
        self.tau.fill_(math.sqrt(len(self.K_P)))

    def forward(self, X: Tensor) -> Tensor:
        """Return (…, H_out)."""
        A = X @ self.K_P.T
        norm = torch.linalg.vector_norm(A, dim=-1, keepdim=True)
        return functional.gelu(self.tau * A / (norm + 1e-8)) @ self.V_P

    def grow(self, n_new: int, generator: torch.Generator | None = None) -> None:
        """Add parameter tokens whose keys are 0: their scores are 0, GELU(0) = 0, so nothing changes until they learn (§3.3).

        Their values are drawn; at 0 as well they would have no gradient.
        """
        V = torch.randn(n_new, self.V_P.shape[1], generator=generator) * 0.02
        self.K_P = nn.Parameter(torch.cat([self.K_P.detach(), torch.zeros(n_new, self.K_P.shape[1])]))
        self.V_P = nn.Parameter(torch.cat([self.V_P.detach(), V.to(self.V_P)]))


class TokenformerBlock(nn.Module):  # type: ignore[misc]
    """A layer whose four projections and feed-forward layer are Pattention (Wang et al. 2024, equations 5 to 7)."""

    def __init__(self, H: int, heads: int, n: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.Q, self.K, self.V, self.O = (Pattention(H, H, n) for _ in range(4))
        self.FFN = Pattention(H, H, 4 * n)
        self.norm_1, self.norm_2 = nn.LayerNorm(H), nn.LayerNorm(H)

    def forward(self, x: Tensor, barred: Tensor) -> Tensor:
        """Return (B, T, H)."""
        y = self.norm_1(x)
        Z = attention(self.Q(y), self.K(y), self.V(y), heads=self.heads, barred=barred)
        x = x + functional.dropout(self.O(Z), self.dropout, self.training)
        return x + functional.dropout(self.FFN(self.norm_2(x)), self.dropout, self.training)

    def grow(self, n_new: int, generator: torch.Generator | None = None) -> None:
        """Add parameter tokens to each Pattention, four times as many to the feed-forward layer."""
        for part in (self.Q, self.K, self.V, self.O):
            part.grow(n_new, generator)
        self.FFN.grow(4 * n_new, generator)
