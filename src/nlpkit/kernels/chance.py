"""Expected mutual information of two partitions under chance."""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit


@njit(nogil=True)
def expected_information(rows, columns, logs, floor):  # type: ignore[no-untyped-def]
    """Return the expected mutual information (B,) in nats of partitions of sizes rows (B, R), columns (B, C), float64.

    The cell of a row of size a and a column of size b holds n documents with the hypergeometric probability p(n); its share
    is Σ_n p(n) · n/N · ln(n N / (a b)). The sum runs from the most probable n outwards, by the ratio of neighbouring p(n), until
    p(n) falls below `floor` of the largest; p sums to 1, so no factorial is needed. logs[n] = ln n up to the largest size.
    """
    result = np.zeros(len(rows))
    for t in range(len(rows)):
        N = rows[t].sum()
        expected = 0.0
        for a in rows[t]:
            for b in columns[t]:
                if a == 0.0 or b == 0.0:
                    continue
                shift = np.log(N) - logs[np.int64(a)] - logs[np.int64(b)]
                low, high, rest = max(0.0, a + b - N), min(a, b), N - a - b
                mode = min(max(np.floor((a + 1) * (b + 1) / (N + 2)), low), high)
                p, total = 1.0, 1.0
                share = mode * (logs[np.int64(mode)] + shift) if mode > 0 else 0.0
                n = mode
                while n < high and p > floor:
                    p *= (a - n) * (b - n) / ((n + 1) * (rest + n + 1))
                    n += 1
                    total += p
                    share += p * n * (logs[np.int64(n)] + shift)
                p, n = 1.0, mode
                while n > low and p > floor:
                    p *= n * (rest + n) / ((a - n + 1) * (b - n + 1))
                    n -= 1
                    total += p
                    if n > 0:
                        share += p * n * (logs[np.int64(n)] + shift)
                expected += share / total / N
        result[t] = expected
    return result
