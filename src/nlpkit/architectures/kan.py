"""Kolmogorov–Arnold networks: a spline on each edge, and nothing but sums at the nodes (Liu et al. 2024).

A layer is y_j = Σ_i φ_ij(x_i) with φ(x) = w_b SiLU(x) + Σ_p c_p B_p(x) (equations 2.10 and 2.11): G + k B-splines of order k on G equal
intervals. The factor w_s of the paper is part of c. Grids stay as they are; beyond them SiLU alone is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

ORDER = 3  # k: cubic


def bspline_bases(x: Tensor, t: Tensor, k: int = ORDER) -> Tensor:
    """Return B_p(x) (…, G + k) of x (…) on knots t (G + 2k + 1,), by the recursion of de Boor (1978, chapter X).

    B_p,0(x) = 1 in [t_p, t_{p+1}), else 0
    B_p,k(x) = (x − t_p) / (t_{p+k} − t_p) B_p,k−1(x) + (t_{p+k+1} − x) / (t_{p+k+1} − t_{p+1}) B_{p+1,k−1}(x)
    """
    x = x[..., None]
    B = ((x >= t[:-1]) & (x < t[1:])).to(x.dtype)
    for d in range(1, k + 1):
        rise = (x - t[: -d - 1]) / (t[d:-1] - t[: -d - 1])
        fall = (t[d + 1 :] - x) / (t[d + 1 :] - t[1:-d])
        B = rise * B[..., :-1] + fall * B[..., 1:]
    return B


class KANLayer(nn.Module):  # type: ignore[misc]
    """n_in → n_out functions on G intervals of [−reach, reach]: (D, n_in) → (D, n_out)."""

    def __init__(self, n_in: int, n_out: int, *, intervals: int = 5, reach: float = 3.0) -> None:
        super().__init__()
        steps = torch.arange(-ORDER, intervals + ORDER + 1, dtype=torch.get_default_dtype())
        self.register_buffer("t", (2 * steps / intervals - 1) * reach)
        self.w_b = nn.Parameter(torch.empty(n_out, n_in))
        self.c = nn.Parameter(torch.empty(n_out, n_in * (intervals + ORDER)))
        self.reset()

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def reset(self) -> None:
        """Draw w_b as Xavier does, and splines near 0 (§2.2)."""
        nn.init.xavier_normal_(self.w_b)
        nn.init.normal_(self.c, std=0.1 * self.w_b.shape[1] ** -0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sums of the functions."""
        return functional.silu(x) @ self.w_b.T + bspline_bases(x, self.t).flatten(1) @ self.c.T


class KAN(nn.Module):  # type: ignore[misc]
    """Layers of given widths, one after the other, and a bias of the outputs."""

    def __init__(self, widths: Sequence[int], *, intervals: int = 5, reach: float = 3.0) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(KANLayer(a, b, intervals=intervals, reach=reach) for a, b in pairwise(widths)))
        self.bias = nn.Parameter(torch.zeros(widths[-1]))

    def forward(self, x: Tensor) -> Tensor:
        """Return (D, widths[-1])."""
        return self.layers(x) + self.bias
