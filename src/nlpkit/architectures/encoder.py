"""A layer of the transformer with named choices: attention full or sparse, five kinds of positions, three activations, two norms."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.architectures.choices import Choices
from nlpkit.architectures.positions import alibi_slopes, disentangled, rotate
from nlpkit.architectures.sparse import Places, all_places, draw_blocks, n_blocks, sparse_places

NORMS: dict[str, Any] = {"layernorm": nn.LayerNorm, "rmsnorm": partial(nn.RMSNorm, eps=1e-6)}

ACTIVATIONS: dict[str, Any] = {"relu": functional.relu, "gelu": functional.gelu}


class FeedForward(nn.Module):  # type: ignore[misc]
    """W_2 f(W_1 x), four times as wide inside, with ReLU (Vaswani et al. 2017) or GELU (Hendrycks & Gimpel 2016) for f."""

    def __init__(self, H: int, activation: str) -> None:
        super().__init__()
        self.W_1, self.W_2 = nn.Linear(H, 4 * H), nn.Linear(4 * H, H)
        self.f = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, H)."""
        out: Tensor = self.W_2(self.f(self.W_1(x)))
        return out


class SwiGLU(nn.Module):  # type: ignore[misc]
    """(Swish(x W) ⊗ x V) W_2 without biases; two thirds as wide inside, so it has as many weights (Shazeer 2020, equation 6)."""

    def __init__(self, H: int) -> None:
        super().__init__()
        inner = 8 * H // 3
        self.W, self.V = nn.Linear(H, inner, bias=False), nn.Linear(H, inner, bias=False)
        self.W_2 = nn.Linear(inner, H, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, H)."""
        out: Tensor = self.W_2(functional.silu(self.W(x)) * self.V(x))
        return out


class SelfAttention(nn.Module):  # type: ignore[misc]
    """W_O softmax(scores) V of several heads; the keys that a query sees, and how places count, are choices.

    longest: tokens of the longest text, for which the blocks of random attention are drawn; they are saved with the weights.
    """

    def __init__(self, H: int, heads: int, choices: Choices, *, longest: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.choices, self.longest, self.causal = heads, choices, longest, causal
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(H, H) for _ in range(4))
        if choices.positions == "relative":
            self.W_Qr, self.W_Kr = nn.Linear(H, H), nn.Linear(H, H)
        if "random" in choices.parts:
            self.register_buffer(
                "random", torch.empty(n_blocks(choices, longest), choices.random_blocks, dtype=torch.long)
            )

    def reset(self) -> None:
        """Draw the random blocks."""
        if "random" in self.choices.parts:
            self.random.copy_(draw_blocks(self.choices, self.longest, causal=self.causal))

    def places(self, T: int, device: torch.device) -> Places:
        """Return the places of T tokens that see each other."""
        if not self.choices.parts:
            return all_places(T, T, causal=self.causal, device=device)
        return sparse_places(self.choices, T, getattr(self, "random", None), causal=self.causal, device=device)

    def scores(self, q: Tensor, k: Tensor, i: Tensor, j: Tensor, P: Tensor | None) -> Tensor:
        """Return scores (B, h, N, b, M) of queries (B, h, N, b, c) at places i (N, b) and keys (B, h, N, M, c) at j (N, M)."""
        if P is not None:
            Q_r, K_r = (self._split(W(P)[None])[0] for W in (self.W_Qr, self.W_Kr))
            return disentangled(q, k, Q_r, K_r, i, j)
        scores = (q / math.sqrt(q.shape[-1])) @ k.mT
        if self.choices.positions == "alibi":
            distance = (i[:, :, None] - j[:, None, :]).abs()
            scores = scores - alibi_slopes(self.heads).to(scores.device)[:, None, None, None] * distance
        return scores

    def attend(self, q: Tensor, k: Tensor, v: Tensor, places: Places, mask: Tensor, P: Tensor | None) -> Tensor:
        """Return Z (B, h, N, b, c) of q, k, v (B, h, T, c); mask (B, T): 1 for tokens. Every place sees itself."""
        i, j = places.i, places.j
        q, k, v = _at(q, i), _at(k, j), _at(v, j)
        tokens = _at(mask[:, None, :, None], j)[..., 0] == 1
        seen = places.seen & (tokens[..., None, :] | (i[:, :, None] == j[:, None, :]))
        return torch.softmax(self.scores(q, k, i, j, P).masked_fill_(~seen, float("-inf")), -1) @ v

    def forward(self, x: Tensor, mask: Tensor, P: Tensor | None = None) -> Tensor:
        """Return (B, T, H). mask (B, T): 1 for tokens; P (2·span, H): vectors of relative positions."""
        T = x.shape[1]
        q, k, v = (self._split(W(x)) for W in (self.W_Q, self.W_K, self.W_V))
        if self.choices.positions == "rope":
            q, k = rotate(q), rotate(k)
        places = self.places(T, x.device)
        Z = self.attend(q, k, v, places, mask, P).flatten(2, 3)
        if self.choices.parts:
            order = torch.empty_like(places.i.flatten())
            order[places.i.flatten()] = torch.arange(len(order), device=x.device)
            Z = Z.index_select(2, order[:T])
        if "global" in self.choices.parts and not self.causal:  # what the first tokens see
            first = all_places(min(self.choices.global_tokens, T), T, causal=False, device=x.device)
            Z_first = self.attend(q, k, v, first, mask, P)[:, :, 0]
            Z = torch.cat([Z_first, Z[:, :, Z_first.shape[2] :]], 2)
        out: Tensor = self.W_O(Z.transpose(1, 2).flatten(2))
        return out

    def _split(self, x: Tensor) -> Tensor:
        """Return (B, T, H) as heads, (B, h, T, c)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def _at(x: Tensor, index: Tensor) -> Tensor:
    """Return x (B, h, T, c) at places (N, n), as (B, h, N, n, c); outside the text what stands at its ends."""
    T = x.shape[2]
    if index.shape == (1, T):  # all in their order
        return x[:, :, None]
    return x.index_select(2, index.flatten().clamp(0, T - 1)).unflatten(2, index.shape)


class TransformerBlock(nn.Module):  # type: ignore[misc]
    """A layer of Vaswani et al. (2017), §3.1: norm(x + attention(x)), then norm(x + FFN(x))."""

    def __init__(self, H: int, heads: int, dropout: float, choices: Choices, *, longest: int, causal: bool) -> None:
        super().__init__()
        self.dropout = dropout
        self.attention = SelfAttention(H, heads, choices, longest=longest, causal=causal)
        self.FFN = SwiGLU(H) if choices.activation == "swiglu" else FeedForward(H, choices.activation)
        self.norm_1, self.norm_2 = (NORMS[choices.norm](H) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor, P: Tensor | None = None) -> Tensor:
        """Return (B, T, H)."""
        x = self.norm_1(x + functional.dropout(self.attention(x, mask, P), self.dropout, self.training))
        return self.norm_2(x + functional.dropout(self.FFN(x), self.dropout, self.training))
