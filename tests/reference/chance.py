"""Expected mutual information by its definition, with whole factorials."""

from __future__ import annotations

import math
from fractions import Fraction


def expected_information(rows: list[int], columns: list[int]) -> float:
    """Return Σ over cells and n of p(n) · n/N · ln(n N / (a b)), p hypergeometric (Vinh et al. 2010, eq. 24a)."""
    N = sum(rows)
    expected = 0.0
    for a in rows:
        for b in columns:
            for n in range(max(1, a + b - N), min(a, b) + 1):
                p = Fraction(math.comb(a, n) * math.comb(N - a, b - n), math.comb(N, b))
                expected += float(p * Fraction(n, N)) * math.log(n * N / (a * b))
    return expected
