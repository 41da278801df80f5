"""The encoder layer of a transformer with named choices: attention, positions, activation, norm.

Parts, in this order:
- The choices: which tokens attend to which, how positions count, the activation and the norm.
- Sparse attention: which keys a query sees, as blocks, so that time and memory grow with the length and not with its
  square.
- A layer of the transformer with named choices: attention full or sparse, five kinds of positions, three activations,
  two norms.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.lab.architectures.attention import alibi_slopes, disentangled, rotate

SPARSE = ("windowed", "dilated", "global", "random")
KINDS = {
    "positions": ("sinusoidal", "learned", "relative", "rope", "alibi"),
    "activation": ("relu", "gelu", "swiglu"),
    "norm": ("layernorm", "rmsnorm"),
}
_LEAST, _MOST = {"window": 2, "dilation": 2}, 65_536
_USED_BY = {
    "window": ("windowed", "dilated"), "dilation": ("dilated",), "global_tokens": ("global",), "random_blocks": ("random",),
    "block": SPARSE, "span": ("relative",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choices:
    """What a transformer is made of; the first of each kind is that of Vaswani et al. (2017).

    attention: "full", or one or several of SPARSE, joined by "+" as in BigBird's windowed+global+random. window: w, tokens of a window,
    half of them on each side; dilation: d, the gap between them; global_tokens: g first tokens that see all and are seen by all;
    random_blocks: r blocks that each block sees; block: b, tokens of a block, 0 for half a window (16 without one). span: k, the
    distance from which relative positions are no longer told apart.
    """

    attention: str = "full"
    positions: str = "sinusoidal"
    activation: str = "relu"
    norm: str = "layernorm"
    window: int = 32
    dilation: int = 2
    global_tokens: int = 1
    random_blocks: int = 2
    block: int = 0
    span: int = 128

    @property
    def parts(self) -> frozenset[str]:
        """What sparse attention is composed of; empty for full attention."""
        return frozenset() if self.attention == "full" else frozenset(self.attention.split("+"))

    @property
    def gap(self) -> int:
        """Tokens from one place of a block to the next: d of dilated attention, else 1."""
        return self.dilation if "dilated" in self.parts else 1

    @property
    def block_size(self) -> int:
        """Tokens b of a block."""
        return self.block or (max(8, self.window // 2) if self.parts & {"windowed", "dilated"} else 16)

    def check(self) -> None:
        """Raise UsageError for a choice there is not, a number out of range, or one that no choice uses."""
        unknown = self.parts - set(SPARSE)
        if unknown or self.attention.count("+") + 1 > max(1, len(self.parts)):
            known = f"full, {', '.join(SPARSE)}, or several of the last four once each, as in windowed+global+random"
            raise UsageError(f"`arch`: attention={self.attention} is not known; give {known}", parameter="arch")
        for kind, known_names in KINDS.items():
            if getattr(self, kind) not in known_names:
                raise unknown_value("arch", f"{kind}={getattr(self, kind)}", [f"{kind}={name}" for name in known_names])
        usual = asdict(Choices())
        for name, users in _USED_BY.items():
            value, least = getattr(self, name), 0 if name == "block" else _LEAST.get(name, 1)
            if not least <= value <= _MOST:
                raise UsageError(
                    f"`arch`: {name}={value}: a number from {least} to {_MOST:,} is needed", parameter="arch"
                )
            if value != usual[name] and not {self.positions, *self.parts} & set(users):
                kind = "positions" if users == ("relative",) else "attention"
                raise UsageError(
                    f"`arch`: {name} is only for {kind}={' or '.join(users)}; leave it out", parameter="arch"
                )


# ------------------------------------------------------------------------------------------------------------------------
# Sparse attention: which keys a query sees, as blocks, so that time and memory grow with the length and not with its square.
#
# windowed  |i − j| ≤ w/2                                 Longformer, Beltagy, Peters & Cohan 2020, §3.1
# dilated   |i − j| ≤ d·w/2, i − j a multiple of d        the same
# global    i < g or j < g                                the same, and BigBird
# random    the block of j is one of r drawn for that of i   BigBird, Zaheer et al. 2020, §2
#
# A query sees the union of the parts that are chosen, itself, and of causal attention only j ≤ i; so windows have w/2 tokens there.
# Longformer has a second set of projections for global tokens, here as in BigBird there is one.
#
# Tokens are put into blocks of b. With a dilation of d a block takes every d-th token, so that the keys of a query lie in few blocks:
# token i is in block d ⌊i / (b·d)⌋ + i mod d. Each block of queries looks at the keys of a list of m blocks: O(T · m · b).


@dataclass(frozen=True, slots=True)
class Places:
    """Queries i (N, b), keys j (N, M) and which of them see each other (N, b, M), in N blocks."""

    i: Tensor
    j: Tensor
    seen: Tensor


def all_places(n_queries: int, T: int, *, causal: bool, device: torch.device) -> Places:
    """Return the first n_queries places of T, which see all T, or with `causal` those up to themselves: one block."""
    i, j = torch.arange(n_queries, device=device)[None], torch.arange(T, device=device)[None]
    seen = torch.ones(1, n_queries, T, dtype=torch.bool, device=device)
    return Places(i, j, seen.tril() if causal else seen)


def near_blocks(choices: Choices, *, causal: bool) -> list[tuple[int, int]]:
    """Return how far the blocks of keys are from a block of queries: (stretches of b·d tokens, rows of a stretch), itself among them."""
    half, b, d = choices.window // 2, choices.block_size, choices.gap
    near = {(0, 0)}
    if "windowed" in choices.parts:
        u = -(-half // (b * d))
        near |= {(stretch, row) for stretch in range(-u, u + 1) for row in range(d)}
    if "dilated" in choices.parts:
        u = -(-half // b)
        near |= {(stretch, 0) for stretch in range(-u, u + 1)}
    return sorted(pair for pair in near if not causal or pair[0] <= 0)


def _near(choices: Choices, N: int, *, causal: bool, device: torch.device | None = None) -> Tensor:
    """Return the numbers of the blocks near each of N blocks (N, m), −1 for those before the first and behind the last."""
    d = choices.gap
    stretch, row = torch.tensor(near_blocks(choices, causal=causal), device=device).T
    at = torch.arange(N, device=device)[:, None]
    blocks = (at // d + stretch) * d + (at + row) % d
    return torch.where((blocks >= 0) & (blocks < N), blocks, -1)


def n_blocks(choices: Choices, T: int) -> int:
    """Return the blocks of T tokens."""
    return -(-T // (choices.block_size * choices.gap)) * choices.gap


def draw_blocks(choices: Choices, longest: int, *, causal: bool) -> Tensor:
    """Return r random blocks for each of the blocks of the longest text, (N, r), drawn from torch's generator.

    They are others than the near ones, with `causal` earlier ones; −1 where there are no more. The first blocks see the same
    blocks in shorter texts, as far as these have them.
    """
    N, r = n_blocks(choices, longest), choices.random_blocks
    drawn = torch.full((N, r), -1)
    near = _near(choices, N, causal=causal)
    for block in range(N):
        free = torch.ones(N, dtype=torch.bool)
        free[near[block][near[block] >= 0]] = False
        if causal:
            free[block:] = False
        others = free.nonzero()[:, 0]
        some = others[torch.randperm(len(others))[:r]]
        drawn[block, : len(some)] = some
    return drawn


def sparse_places(choices: Choices, T: int, random: Tensor | None, *, causal: bool, device: torch.device) -> Places:
    """Return blocks of queries with the keys they look at: the global ones first, then near blocks, then random ones.

    i is T or more at places behind the text, which see themselves and are seen by none; j is −1 where a block is none.
    random (N', r): see `draw_blocks`.

    Raises:
        InputError: the text has more blocks than were drawn for.
    """
    b, d, parts = choices.block_size, choices.gap, choices.parts
    g = min(choices.global_tokens, T) if "global" in parts else 0
    N, half = n_blocks(choices, T), choices.window // 2
    blocks = _near(choices, N, causal=causal, device=device)
    n_near = blocks.shape[1]
    if random is not None:
        if len(random) < N:
            raise InputError(
                f"a text has {T:,} tokens, the random attention of the model is drawn for {len(random) * b:,} at most"
            )
        blocks = torch.cat([blocks, torch.where(random[:N] < N, random[:N], -1)], 1)
    at, inside = torch.arange(N, device=device), d * torch.arange(b, device=device)
    i = (at // d * (b * d) + at % d)[:, None] + inside
    j = torch.where(blocks[..., None] >= 0, i[blocks.clamp(min=0)], -1).flatten(1)
    distance = i[:, :, None] - j[:, None, :]
    seen = (torch.arange(j.shape[1], device=device) >= n_near * b).expand_as(distance)  # the drawn blocks
    if "windowed" in parts:
        seen = seen | (distance.abs() <= half)
    if "dilated" in parts:
        seen = seen | ((distance.abs() <= d * half) & (distance % d == 0))
    seen = (seen & (j < T)[:, None] | (distance == 0)) & (j >= g)[:, None]
    if g:
        first = torch.arange(g, device=device)
        j = torch.cat([first.expand(N, g), j], 1)
        seen = torch.cat([torch.ones_like(seen[..., :1]).expand(-1, -1, g), seen], 2)
    if causal:
        seen = seen & (i[:, :, None] >= j[:, None, :])
    return Places(i, j, seen)


# ------------------------------------------------------------------------------------------------------------------------
# A layer of the transformer with named choices: attention full or sparse, five kinds of positions, three activations, two norms.

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
