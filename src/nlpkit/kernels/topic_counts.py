"""Topics of tokens counted by document or by word."""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit
from nlpkit.kernels.sorting import sort


@njit(nogil=True)
def count_topics(offsets, z, units, n_topics):  # type: ignore[no-untyped-def]
    """Count the topics z (N,) of the tokens of each row offsets (R + 1,): CSR (R, K) with ascending columns.

    Args:
        units: (N,) weight of each token, or (0,) when each counts 1.

    Returns:
        indptr (R + 1,) int64, topics (nnz,) int32, counts (nnz,) int64.
    """
    n_rows = len(offsets) - 1
    indptr = np.zeros(n_rows + 1, np.int64)
    counts = np.zeros(n_topics, np.int64)
    seen = np.full(n_topics, -1, np.int64)
    for r in range(n_rows):
        distinct = 0
        for i in range(offsets[r], offsets[r + 1]):
            if seen[z[i]] != r:
                seen[z[i]] = r
                distinct += 1
        indptr[r + 1] = indptr[r] + distinct
    topics = np.empty(indptr[n_rows], np.int32)  # counted above, entry by entry
    data = np.empty(indptr[n_rows], np.int64)
    seen[:] = -1
    for r in range(n_rows):
        at = indptr[r]
        for i in range(offsets[r], offsets[r + 1]):
            k = z[i]
            if seen[k] != r:
                seen[k] = r
                topics[at] = k
                at += 1
            counts[k] += np.int64(units[i]) if len(units) else 1
        sort(topics[indptr[r] : at])
        for j in range(indptr[r], at):
            data[j] = counts[topics[j]]
            counts[topics[j]] = 0
    return indptr, topics, data
