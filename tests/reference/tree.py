"""HDBSCAN after the minimum spanning tree, by recursion over sets of points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


def single_linkage(ends: Any, n: int) -> list[tuple[int, int, int]]:
    """Return (left, right, size) of each merge: the edges join the groups their two ends are in."""
    groups = {i: {i} for i in range(n)}  # node → its points
    merges = []
    for number, (a, b) in enumerate(ends):
        left, right = sorted(node for node, points in groups.items() if a in points or b in points)
        groups[n + number] = groups.pop(left) | groups.pop(right)
        merges.append((left, right, len(groups[n + number])))
    return merges


@dataclass
class Cluster:
    """A cluster of the condensed tree: its points, where it begins, when points fall out, what it splits into."""

    points: frozenset[int]
    birth: float
    fell: dict[int, float] = field(default_factory=dict)
    children: list[Cluster] = field(default_factory=list)

    @property
    def stability(self) -> float:
        """Σ over its points of (lambda at which the point leaves - birth)."""
        leaving = dict(self.fell)
        for child in self.children:
            leaving |= dict.fromkeys(child.points, child.birth)
        return sum(lam - self.birth for lam in leaving.values())

    def walk(self) -> Iterator[Cluster]:
        """Yield the cluster and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def condense(merges: list[tuple[int, int, int]], heights: Any, min_size: int) -> Cluster:
    """Return the root of the condensed tree."""
    n = len(merges) + 1

    def points(node: int) -> frozenset[int]:
        if node < n:
            return frozenset([node])
        left, right, _ = merges[node - n]
        return points(left) | points(right)

    def grow(node: int, birth: float) -> Cluster:
        cluster = Cluster(points(node), birth)
        while node >= n:
            left, right, _ = merges[node - n]
            lam = 1.0 / max(heights[node - n], 1e-9)
            large = [child for child in (left, right) if len(points(child)) >= min_size]
            if len(large) == 2:
                cluster.children = [grow(left, lam), grow(right, lam)]
                break
            for child in {left, right} - set(large):
                cluster.fell |= dict.fromkeys(points(child), lam)
            if not large:
                break
            node = large[0]
        return cluster

    return grow(2 * n - 2, 0.0)


def excess_of_mass(root: Cluster, max_size: float) -> list[Cluster]:
    """Return the clusters below the root that do not overlap and have the greatest sum of stabilities."""

    def best(cluster: Cluster) -> tuple[float, list[Cluster]]:
        below = [best(child) for child in cluster.children]
        total = sum(score for score, _ in below)
        too_large = bool(cluster.children) and len(cluster.points) > max_size
        if cluster.stability >= total and not too_large:
            return cluster.stability, [cluster]
        return total, [c for _, chosen in below for c in chosen]

    return [c for child in root.children for c in best(child)[1]]


def membership(cluster: Cluster) -> dict[int, float]:
    """Return for each point of a chosen cluster when it falls, as a share of when the last one does."""
    lambdas = {p: lam for part in cluster.walk() for p, lam in part.fell.items()}
    return {p: lam / max(lambdas.values()) for p, lam in lambdas.items()}
