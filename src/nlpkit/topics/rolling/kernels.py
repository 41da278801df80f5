"""Similarity of given counts to samples from a word distribution, computed without keeping the samples."""

from __future__ import annotations

import numpy as np

from nlpkit.platform.kernels import njit


@njit(nogil=True)
def resampled_products(uniforms, cumulative, guide, reference, n_others, counts, dots, squares):  # type: ignore[no-untyped-def]
    """Fill dots and squares (B,) int64: Σ_v x_v r_v and Σ_v x_v² of B samples x of N words each.

    A word is the inverse of the distribution at a uniform number: cell s where cumulative[s-1] <= u < cumulative[s], found
    from guide[g], the first cell that reaches beyond g / G, where G is a power of two, so that u · G is exact. What is left
    of the unit interval after the last cell is shared equally by n_others cells whose r is 0.

    uniforms (B, N) float64; cumulative (S,) float64, ascending, 1.0 at its end if n_others is 0; guide (G,) int32;
    reference r (S,) int64; counts (S + n_others,) int64, all 0, and 0 again afterwards.
    """
    B, N = uniforms.shape
    S, G = len(cumulative), len(guide)
    inside = cumulative[S - 1] if S else 0.0
    drawn = np.empty(N, np.int64)
    for b in range(B):
        dot, square = 0, 0
        for n in range(N):
            u = uniforms[b, n]
            if u < inside:
                cell = guide[int(u * G)]
                while cumulative[cell] <= u:
                    cell += 1
                dot += reference[cell]
            else:
                cell = S + min(int((u - inside) / (1.0 - inside) * n_others), n_others - 1)
            square += 2 * counts[cell] + 1  # (x + 1)² - x²
            counts[cell] += 1
            drawn[n] = cell
        for n in range(N):
            counts[drawn[n]] = 0
        dots[b], squares[b] = dot, square
