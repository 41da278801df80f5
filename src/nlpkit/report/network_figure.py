"""Topics that go together in documents, as a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nlpkit.report.figures import wrapped
from nlpkit.types import FloatArray

LEAST = 0.01  # correlation from which topics are joined, the cutoff of stm's topicCorr
LARGEST = 700.0  # points² of the largest topic
EDGE = "#7a828b"


def draw_correlations(
    figure: Any, *, correlations: FloatArray, sizes: FloatArray, names: Sequence[str], colours: Sequence[str]
) -> None:
    """Draw topics as points, as large as their documents, joined where they are positively correlated: the thicker, the more.

    Topics that go together lie together: places are the first two axes of classical scaling of √(2 (1 - r)) (Torgerson 1952).

    Args:
        correlations: r (K, K), NaN counts as 0. sizes (K,): of the topics.
    """
    r = np.nan_to_num(correlations)
    np.fill_diagonal(r, 1.0)
    places, axes = classical_scaling(2.0 * (1.0 - r)), figure.add_subplot()
    pairs = [(j, k) for k in range(len(r)) for j in range(k) if r[j, k] >= LEAST]
    strongest = max((r[j, k] for j, k in pairs), default=1.0)
    for j, k in pairs:
        axes.plot(*places[[j, k]].T, color=EDGE, lw=0.4 + 3.6 * r[j, k] / strongest, alpha=0.7, zorder=1)
    scale = LARGEST / max(float(sizes.max()), 1.0)
    axes.scatter(
        *places.T,
        s=np.maximum(scale * sizes, 8.0),
        c=list(colours),
        zorder=2,
        alpha=0.6,
        edgecolors="white",
        linewidths=0.5,
    )
    for place, name in zip(places, names, strict=True):
        axes.annotate(wrapped(name, 18), place, ha="center", va="center", fontsize=6.5, zorder=3)
    axes.margins(0.15)
    axes.set_axis_off()
    joined = (
        f"joined from r = {LEAST:g} on; the strongest has r = {strongest:.2f}"
        if pairs
        else "no two are positively correlated"
    )
    figure.supxlabel(f"correlation of topics over documents: {joined}", fontsize=7)


def classical_scaling(squared: FloatArray) -> FloatArray:
    """Return places (K, 2) in the plane for squared distances (K, K); each axis is turned so that its largest place is above 0."""
    K = len(squared)
    centre = np.eye(K) - 1.0 / K
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    places = np.zeros((K, 2))
    for axis, at in enumerate(np.argsort(-values, kind="stable")[:2]):
        vector = vectors[:, at] * np.sqrt(max(values[at], 0.0))
        places[:, axis] = vector * np.sign(vector[np.abs(vector).argmax()] or 1.0)
    return places
