"""The tree that the topics of a fit may be, and the path of each document in it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nlpkit.types import CsrMatrix, Float32Array, FloatArray, IntArray

TREE = "tree"  # array (K, 3) of a fit, with the columns
PARENT, LEVEL, DOCS = range(3)


def paths_of(theta: CsrMatrix | FloatArray | Float32Array, tree: FloatArray) -> IntArray:
    """Return the topics on the path of each document (D, L) from theta (D, K), which is above 0 there only; -1 where it is 0.

    Args:
        tree: (K, 3) of a fit.
    """
    entries, level = sparse.coo_array(theta), tree[:, LEVEL].astype(np.int64)
    paths = np.full((entries.shape[0], int(level.max()) + 1), -1, np.int32)
    there = entries.data > 0
    paths[entries.row[there], level[entries.col[there]]] = entries.col[there]
    return paths
