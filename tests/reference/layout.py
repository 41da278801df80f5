"""The loops of UMAP on Python numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

MASK = (1 << 64) - 1
F = np.float32


def hash_bits(a: int, b: int, c: int) -> int:
    """Return the 64 bits of a counter: SplitMix64's finaliser over a, b, then over c."""

    def finish(x: int) -> int:
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
        return x ^ (x >> 31)

    first = finish((a * 0x9E3779B97F4A7C15 + b) & MASK)
    return finish((first + c * 0xD1342543DE82EF95) & MASK)


def bandwidths(distances: Any) -> tuple[Any, Any]:
    """Return rho (D,) and sigma (D,): sigma by halving an interval until the sum is log2(k + 1) to 1e-5."""
    k = len(distances[0])
    everything = [d for row in distances for d in row]
    rho, sigma = [], []
    for row in distances:
        nearest = min((d for d in row if d > 0), default=0.0)
        low, high, middle = 0.0, math.inf, 1.0
        for _ in range(64):
            total = sum(math.exp(-max(d - nearest, 0.0) / middle) for d in row)
            if abs(total - math.log2(k + 1)) < 1e-5:
                break
            low, high = (low, middle) if total > math.log2(k + 1) else (middle, high)
            middle = 2 * middle if high == math.inf else (low + high) / 2
        mean = sum(row) / k if nearest > 0 else sum(everything) / len(everything)
        rho.append(nearest)
        sigma.append(max(middle, mean / 1000))
    return np.array(rho), np.array(sigma)


def slope(table: Any, gap: Any) -> Any:
    """Return the value at a squared distance: 128 entries for each power of two from 2^-32 to 2^32, lines between them."""
    part, power = math.frexp(float(gap))  # gap = part · 2^power, part in [0.5, 1)
    at, rest = divmod((2 * part - 1) * 128 + 128 * (power - 1 + 32), 1)
    at = min(max(int(at), 0), 64 * 128 - 1)
    return table[at] + F(rest) * (table[at + 1] - table[at])


def layout_epochs(
    layout: Any, graph: Any, rate: Any, slopes: Any, seed: int, epochs: range, n_epochs: int, negatives: int
) -> Any:
    """Return the layout (D, L) after some epochs: all points move at once, from where they stood when the epoch began."""
    now = [[F(x) for x in row] for row in layout]
    D = len(now)
    for epoch in epochs:
        before = [list(row) for row in now]
        alpha = F(1.0 - epoch / n_epochs)
        for i in range(D):
            for e in range(graph.indptr[i], graph.indptr[i + 1]):
                if math.floor((epoch + 1) * rate[e]) - math.floor(epoch * rate[e]) < 1:
                    continue
                other = before[graph.indices[e]]
                gap = _gap(now[i], other)
                if gap > 0:
                    _move(now[i], other, slope(slopes[0], gap), F(2.0) * alpha)
                for n in range(negatives):
                    j = (hash_bits(seed + epoch, e, n) >> 32) * D >> 32
                    gap = _gap(now[i], before[j])
                    if j != i and gap > 0:
                        _move(now[i], before[j], slope(slopes[1], gap), alpha)
    return np.array(now, np.float32)


def _gap(here: Any, other: Any) -> Any:
    total = F(0)
    for x, y in zip(here, other, strict=True):
        total += (x - y) * (x - y)
    return total


def _move(here: list[Any], other: list[Any], slope: Any, rate: Any) -> None:
    for x in range(len(here)):
        step = min(max(slope * (here[x] - other[x]), F(-4)), F(4))
        here[x] += rate * step
