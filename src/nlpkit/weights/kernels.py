"""Term ids of documents to counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from nlpkit.platform.kernels import njit


@njit(nogil=True, work="ids")
def count_rows(offsets: Any, ids: Any, n_terms: int) -> Any:
    """Return indptr (D+1,), indices and counts of the term counts of D documents; terms of a document ascend.

    Two counting sorts, first by term, then by document: linear in tokens, documents and terms.
    """
    D, N = len(offsets) - 1, len(ids)
    ends = np.zeros(n_terms + 1, np.int64)
    for i in range(N):
        ends[ids[i] + 1] += 1
    for v in range(n_terms):
        ends[v + 1] += ends[v]
    docs = np.empty(
        N, np.int32
    )  # documents of the tokens in the order of the terms; ends[v] moves on to the end of term v
    for d in range(D):
        for i in range(offsets[d], offsets[d + 1]):
            v = ids[i]
            docs[ends[v]] = d
            ends[v] += 1
    places = offsets[:-1].copy()
    columns, counts = np.empty(N, np.int32), np.empty(N, np.int32)  # a document has no more different terms than tokens
    start = 0
    for v in range(n_terms):
        for i in range(start, ends[v]):
            d = docs[i]
            at = places[d]
            if at > offsets[d] and columns[at - 1] == v:
                counts[at - 1] += 1
            else:
                columns[at] = v
                counts[at] = 1
                places[d] = at + 1
        start = ends[v]
    indptr = np.zeros(D + 1, np.int64)
    n = 0
    for d in range(D):
        for at in range(offsets[d], places[d]):
            columns[n] = columns[at]
            counts[n] = counts[at]
            n += 1
        indptr[d + 1] = n
    return indptr, columns[:n].copy(), counts[:n].copy()
