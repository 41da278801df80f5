"""Density-based validity pair by pair, its trees by Kruskal."""

from __future__ import annotations

import math
from typing import Any


def core_distances(distances: list[list[float]], n_dims: int) -> list[float]:
    """Return a_i = (Σ_{j≠i} d_ij^-E / (n - 1))^(-1/E); a distance of 0 adds nothing."""
    result = []
    for i, row in enumerate(distances):
        total = sum(d**-n_dims for j, d in enumerate(row) if j != i and d > 0)
        result.append((total / (len(row) - 1)) ** (-1 / n_dims) if total else 0.0)
    return result


def spanning_tree(distances: list[list[float]], core: list[float]) -> list[tuple[float, int, int]]:
    """Return (m_ij, i, j) of the edges that Kruskal takes, the shorter d first among equal m."""
    n = len(core)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    edges = sorted((max(core[i], core[j], distances[i][j]), distances[i][j], i, j) for i, j in pairs)
    group = list(range(n))
    tree = []
    for m, _, i, j in edges:
        if group[i] != group[j]:
            old, new = group[i], group[j]
            group = [new if g == old else g for g in group]
            tree.append((m, i, j))
    return tree


def validity(points: Any, labels: list[int]) -> tuple[float, dict[int, float]]:
    """Return DBCV and v_k of each cluster of two documents or more, of which there are at least two; euclidean."""
    clusters = [k for k in sorted(set(labels)) if k >= 0 and labels.count(k) > 1]
    inner: dict[int, list[tuple[Any, float]]] = {}
    sparseness = {}
    for k in clusters:
        members = [p for p, label in zip(points, labels, strict=True) if label == k]
        distances = [[math.dist(p, q) for q in members] for p in members]
        core = core_distances(distances, len(members[0]))
        tree = spanning_tree(distances, core)
        degree = [sum(i in edge[1:] for edge in tree) for i in range(len(members))]
        inside = [m for m, i, j in tree if degree[i] > 1 and degree[j] > 1]
        sparseness[k] = max(inside or [m for m, _, _ in tree])
        chosen = [i for i in range(len(members)) if degree[i] > 1] or list(range(len(members)))
        inner[k] = [(members[i], core[i]) for i in chosen]
    values = {}
    for k in clusters:
        others = [point for other in clusters if other != k for point in inner[other]]
        separation = min(max(math.dist(p, q), a, b) for p, a in inner[k] for q, b in others)
        larger = max(separation, sparseness[k])
        values[k] = (separation - sparseness[k]) / larger if larger else 0.0
    return sum(labels.count(k) * v for k, v in values.items()) / len(labels), values
