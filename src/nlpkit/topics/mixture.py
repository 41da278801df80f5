"""Topics by a mixture of Gaussians with diagonal covariances (scikit-learn), started from Ward's tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.topics.kmeans import Fits, cut_into, means
from nlpkit.topics.neighbours import group_sums
from nlpkit.types import Float32Array, IntArray

ITERATIONS = 100
LEAST_VARIANCE = 1e-4


class MixtureFits(Fits):
    """Gaussian mixtures; a component that wins no document leaves one topic fewer than was asked for."""

    def fit(self, k: int) -> tuple[IntArray, Any]:
        """Return labels (U,) int32 and the mixture; raises InputError for more components than the tree has leaves."""
        from sklearn.mixture import GaussianMixture

        rows = self.points[self.rows]
        group = cut_into(self.merges, self.at_most_leaves(k))
        centers = means(rows, group, k)
        spread = group_sums((rows - centers[group]) ** 2, group, k)
        sizes = np.bincount(group)[:, None]
        within = ((rows - centers[group]) ** 2).mean(axis=0) + LEAST_VARIANCE
        # a group of few documents says little of its variance: as if it had one document of average variance more
        variance = (spread + within) / (sizes + 1)
        mixture = GaussianMixture(
            k, covariance_type="diag", max_iter=ITERATIONS, reg_covar=LEAST_VARIANCE, means_init=centers,
            weights_init=sizes.ravel() / len(rows), precisions_init=1 / variance, random_state=self.seed % 2**32,
        )  # fmt: skip
        with threadpool_limits(1):
            labels = mixture.fit(self.points).predict(self.points)
        return labels.astype(np.int32), mixture

    @staticmethod
    def assign(model: Any, points: Float32Array) -> IntArray:
        """Return the component of highest posterior probability of each point."""
        with threadpool_limits(1):
            return np.asarray(model.predict(points.astype(np.float64)), np.int32)
