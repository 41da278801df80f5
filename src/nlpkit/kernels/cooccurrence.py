"""Counts of documents in which pairs of terms co-occur, for the few terms requested."""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit


@njit()
def joint_document_counts(term_ids, indptr, indices, joint):  # type: ignore[no-untyped-def]
    """Fill joint (K, n, n) int64 with the number of documents that hold both terms of each pair of a topic's top terms.

    term_ids (K, n), -1 for none; indptr (V+1,), indices: ascending document lists of each term (CSC). The diagonal is df.
    """
    K, n = term_ids.shape
    for k in range(K):
        for i in range(n):
            u = term_ids[k, i]
            if u < 0:
                continue
            joint[k, i, i] = indptr[u + 1] - indptr[u]
            for j in range(i + 1, n):
                v = term_ids[k, j]
                if v < 0:
                    continue
                a, b, together = np.int64(indptr[u]), np.int64(indptr[v]), 0
                while a < indptr[u + 1] and b < indptr[v + 1]:
                    if indices[a] == indices[b]:
                        together += 1
                        a += 1
                        b += 1
                    elif indices[a] < indices[b]:
                        a += 1
                    else:
                        b += 1
                joint[k, i, j] = joint[k, j, i] = together
