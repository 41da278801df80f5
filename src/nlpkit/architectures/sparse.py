"""Sparse attention: which keys a query sees, as blocks, so that time and memory grow with the length and not with its square.

    windowed  |i − j| ≤ w/2                                 Longformer, Beltagy, Peters & Cohan 2020, §3.1
    dilated   |i − j| ≤ d·w/2, i − j a multiple of d        the same
    global    i < g or j < g                                the same, and BigBird
    random    the block of j is one of r drawn for that of i   BigBird, Zaheer et al. 2020, §2

A query sees the union of the parts that are chosen, itself, and of causal attention only j ≤ i; so windows have w/2 tokens there.
Longformer has a second set of projections for global tokens, here as in BigBird there is one.

Tokens are put into blocks of b. With a dilation of d a block takes every d-th token, so that the keys of a query lie in few blocks:
token i is in block d ⌊i / (b·d)⌋ + i mod d. Each block of queries looks at the keys of a list of m blocks: O(T · m · b).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nlpkit.architectures.choices import Choices
from nlpkit.errors import InputError


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
