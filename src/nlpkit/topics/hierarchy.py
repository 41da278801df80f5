"""The density hierarchy of a layout (HDBSCAN): built once, cut at any minimum cluster size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.errors import missing_extra
from nlpkit.kernels.tree import condense, excess_of_mass, single_linkage
from nlpkit.types import Float32Array, FloatArray, IntArray, LongArray

MAX_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Single linkage of mutual reachability distances: edges (N-1, 2) int64 and lengths (N-1,) ascending, and its merges."""

    edges: LongArray
    lengths: FloatArray
    left: LongArray
    right: LongArray
    size: LongArray

    @property
    def n_points(self) -> int:
        """N."""
        return len(self.lengths) + 1

    def cut(self, min_cluster_size: int, max_share: float = MAX_SHARE) -> IntArray:
        """Return the topic of each point (N,) int32, -1 for none: excess of mass, clusters of at least this many points.

        A cluster that holds more than max_share of the points is split when the tree has clusters below it: one small
        far group (sports beside all other news) would otherwise leave the rest as one topic.
        """
        clusters, lambdas, parent, _, stability = condense(
            self.left, self.right, self.size, self.lengths, min_cluster_size
        )
        labels, _ = excess_of_mass(clusters, lambdas, parent, stability, int(max_share * self.n_points))
        return np.asarray(labels, np.int32)

    def validity(self, labels: IntArray) -> float:
        """Return the density-based validity of a clustering in [-1, 1] (DBCV, Moulavi et al. 2014), read off the tree.

        Of each cluster: (separation - sparseness) / max of both, with its longest tree edge inside as sparseness and the
        shortest tree edge to another cluster as separation; weighted by size over all points. hdbscan calls this reading
        `relative_validity_`: comparable between cuts of one tree, not between corpora.
        """
        K = int(labels.max(initial=-1)) + 1
        if K < 2:
            return 0.0
        a, b = labels[self.edges[:, 0]], labels[self.edges[:, 1]]
        sparseness, separation = np.zeros(K), np.full(K, np.inf)
        inside = (a == b) & (a >= 0)
        np.maximum.at(sparseness, a[inside], self.lengths[inside])
        between = (a != b) & (a >= 0) & (b >= 0)
        for side in (a, b):
            np.minimum.at(separation, side[between], self.lengths[between])
        # a cluster whose tree neighbours are all unassigned: as far as the longest edge between clusters
        longest = self.lengths[between].max(initial=0.0) or self.lengths.max()
        separation[~np.isfinite(separation)] = longest
        larger = np.maximum(np.maximum(sparseness, separation), 1e-12)
        sizes = np.bincount(labels[labels >= 0], minlength=K)
        return float(((separation - sparseness) / larger * sizes).sum() / len(labels))


def build_hierarchy(layout: Float32Array, *, min_samples: int) -> Hierarchy:
    """Return the hierarchy of the points of a layout (N, L), with the exact Borůvka tree of the hdbscan package.

    Args:
        layout: (N, L), N > min_samples.
        min_samples: neighbours that make a density; higher leaves more points unassigned.

    Raises:
        MissingError: the extra 'neural' is not installed.
    """
    try:
        from hdbscan import HDBSCAN
    except ImportError:
        raise missing_extra("clustering into topics", "neural") from None

    model = HDBSCAN(
        min_cluster_size=2,
        min_samples=min_samples,
        algorithm="boruvka_kdtree",
        approx_min_span_tree=False,
        gen_min_span_tree=True,
        core_dist_n_jobs=1,
    ).fit(layout.astype(np.float64))
    tree = model.minimum_spanning_tree_.to_numpy()
    ends = np.sort(tree[:, :2].astype(np.int64), axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0], tree[:, 2]))
    edges, lengths = np.ascontiguousarray(ends[order]), np.ascontiguousarray(tree[order, 2])
    left, right, size = single_linkage(edges, len(layout))
    return Hierarchy(edges, lengths, left, right, size)
