"""Attention and positions: those in Vaswani et al. (2017), later ones, and Tokenformer.

Parts, in this order:
- Positions and attention of Vaswani et al. (2017), and Tokenformer, whose weights are tokens, too (Wang et al. 2024).
- Where tokens stand: added to their vectors, or part of the scores of attention.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.errors import InputError


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


# ------------------------------------------------------------------------------------------------------------------------
# Where tokens stand: added to their vectors, or part of the scores of attention.
#
# sinusoidal  x + PE(t)                                 Vaswani et al. 2017, §3.5
# learned     x + P_t                                   Devlin et al. 2019
# rope        (R_i q)·(R_j k), R_t a rotation by t      Su et al. 2021, RoFormer, equation 16
# alibi       q·k − m |i − j|                           Press, Smith & Lewis 2022, §3
# relative    q·k + q·K^r_δ(i,j) + k·Q^r_δ(i,j)         He et al. 2021, DeBERTa, equation 4
#
# i: place of a query, j: of a key. Equation 4 has δ(j,i) in its last term; δ(i,j) is what DeBERTa's authors and transformers compute.
# The scores take places in N blocks: queries (N, b), keys (N, M); full attention is one block.


def rotate(x: Tensor, base: float = 10000.0) -> Tensor:
    """Return R_t x_t of vectors x (…, T, c): the pair (x_i, x_{i + c/2}) turned by the angle t · base^(−2i/c).

    The paper pairs neighbours, (x_{2i}, x_{2i+1}); this is Llama's order of the same, so the columns of W_Q and W_K are permuted.
    q·k of rotated vectors depends on the distance of their places alone.
    """
    T, c = x.shape[-2:]
    theta = base ** (-torch.arange(0, c, 2, dtype=torch.float64) / c)
    angle = torch.outer(torch.arange(T, dtype=torch.float64), theta)
    cos, sin = (f(angle).to(x) for f in (torch.cos, torch.sin))
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def alibi_slopes(heads: int) -> Tensor:
    """Return the slopes m (heads,): 2^(−8/h), 2^(−16/h) …, 2^−8; see §3 of the paper.

    Where h is no power of two, those of the next smaller power come first, then every other one of twice that power, as in the
    authors' code.
    """
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * i / power) for i in range(1, power + 1)]
    between = [2 ** (-4 * i / power) for i in range(1, 2 * (heads - power), 2)]
    return torch.tensor(slopes + between)


def relative_index(i: Tensor, j: Tensor, k: int) -> Tensor:
    """Return δ(i, j) (…, |i|, |j|), from 0 to 2k − 1: i − j + k, cut at both ends (DeBERTa, equation 3)."""
    return (i[..., :, None] - j[..., None, :] + k).clamp(0, 2 * k - 1)


def disentangled(q: Tensor, k: Tensor, Q_r: Tensor, K_r: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Return content to content, content to position and position to content, (B, h, N, b, M), over √(3c).

    q (B, h, N, b, c), k (B, h, N, M, c); Q_r, K_r (h, 2·span, c): of relative positions; i (N, b), j (N, M).
    """
    span, batch = Q_r.shape[1] // 2, q.shape[:2]
    c2p = (q @ K_r[:, None].mT).gather(-1, relative_index(i, j, span).expand(*batch, -1, -1, -1))
    p2c = (k @ Q_r[:, None].mT).gather(-1, relative_index(i, j, span).mT.expand(*batch, -1, -1, -1)).mT
    return (q @ k.mT + c2p + p2c) / math.sqrt(3 * q.shape[-1])


class Positions(nn.Module):  # type: ignore[misc]
    """What the body does with positions before the first layer. table: P, of `learned` (longest, H) and of `relative` (2·span, H)."""

    def __init__(self, kind: str, H: int, longest: int, span: int) -> None:
        super().__init__()
        self.kind, rows = kind, {"learned": longest, "relative": 2 * span}.get(kind)
        self.table = None if rows is None else nn.Embedding(rows, H)

    @property
    def relative(self) -> Tensor | None:
        """P (2·span, H): vectors of relative positions, which the layers share; None for other kinds."""
        return self.table.weight if self.table is not None and self.kind == "relative" else None

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, H) of vectors of tokens, scaled by √H but for `learned`. Raises InputError for more tokens than positions."""
        T, H = x.shape[1:]
        if self.kind == "learned":
            assert self.table is not None
            if len(self.table.weight) < T:
                raise InputError(f"a text has {T:,} tokens, the model has {len(self.table.weight):,} learned positions")
            return x + self.table.weight[:T]
        x = x * H**0.5
        return x + positional_encoding(T, H).to(x) if self.kind == "sinusoidal" else x
