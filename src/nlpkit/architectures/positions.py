"""Where tokens stand: added to their vectors, or part of the scores of attention.

    sinusoidal  x + PE(t)                                 Vaswani et al. 2017, §3.5
    learned     x + P_t                                   Devlin et al. 2019
    rope        (R_i q)·(R_j k), R_t a rotation by t      Su et al. 2021, RoFormer, equation 16
    alibi       q·k − m |i − j|                           Press, Smith & Lewis 2022, §3
    relative    q·k + q·K^r_δ(i,j) + k·Q^r_δ(i,j)         He et al. 2021, DeBERTa, equation 4

i: place of a query, j: of a key. Equation 4 has δ(j,i) in its last term; δ(i,j) is what DeBERTa's authors and transformers compute.
The scores take places in N blocks: queries (N, b), keys (N, M); full attention is one block.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from nlpkit.architectures.attention import positional_encoding
from nlpkit.errors import InputError


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
