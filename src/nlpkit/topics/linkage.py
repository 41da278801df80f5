"""Topics by agglomerative clustering (scipy): the cut of one tree of at most 4,000 documents."""

from __future__ import annotations

import numpy as np

from nlpkit.topics.kmeans import Fits, cut_into, means, nearest_centers
from nlpkit.types import Float32Array, IntArray


class LinkageFits(Fits):
    """Cuts of a tree by single, complete, average or Ward's linkage. Points outside the tree join the nearest mean."""

    def fit(self, k: int) -> tuple[IntArray, Float32Array]:
        """Return labels (U,) int32 and the mean of each cluster (k, d); raises InputError for more clusters than leaves."""
        group = cut_into(self.merges, self.at_most_leaves(k))
        centers = means(self.points[self.rows], group, k).astype(np.float32)
        labels = group
        if len(self.rows) < len(self.points):
            labels = nearest_centers(self.points.astype(np.float32), centers)
            labels[self.rows] = group
        return labels, centers
