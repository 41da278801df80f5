"""One clustering from many: what most fits to parts of the documents agree on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from nlpkit.topics.engine import Engine
from nlpkit.topics.kmeans import KMeansFits
from nlpkit.topics.neighbours import unit_rows
from nlpkit.types import Float32Array, IntArray
from nlpkit.weighting.lsa import singular_vectors

PART = 0.8


def fits_to_parts(engine: Engine, view: Float32Array, k: int, n: int) -> list[IntArray]:
    """Return the topics (U,) of all points by each of n fits, each to another four fifths of the points, or 2 k if that is more."""
    clusterings = []
    for number in range(n):
        order = np.random.default_rng([engine.execution.seed, number]).permutation(len(view))
        rows = np.sort(order[: max(int(PART * len(view)), min(2 * k, len(view)))])
        fits = engine.fits(view[rows])
        clusterings.append(fits.assign(fits.fit(k)[1], view))
    return clusterings


def consensus(clusterings: Sequence[IntArray], k: int, *, seed: int) -> IntArray:
    """Return the consensus (U,) of clusterings into k: k-means of the clusters that each point is in (Wu et al. 2015).

    A point is a row with a one for its cluster in each clustering, so that the product of two rows is the number of fits that
    put both points together (Strehl & Ghosh 2002); k-means sees the k largest singular vectors of these rows, in unit length.
    """
    U, n = len(clusterings[0]), len(clusterings)
    columns = np.stack([labels.astype(np.int64) + number * k for number, labels in enumerate(clusterings)], axis=1)
    member = sparse.csr_array((np.ones(U * n), columns.ravel(), np.arange(0, U * n + 1, n)), shape=(U, n * k))
    least = min(member.shape)
    left, values, _ = singular_vectors(member, min(k, least - 1), start=np.ones(least), rng=np.random.default_rng(seed))
    return KMeansFits(unit_rows(left * values), seed=seed).fit(k)[0]
