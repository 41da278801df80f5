"""Colours and shapes of the topics of a run, which edits leave to the topics that they do not change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from nlpkit.cluster.map import topic_map
from nlpkit.cluster.neighbours import unit_rows
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import FloatArray
from nlpkit.platform.views.colours import SHAPES, inherited_colours, place_colours, topic_shapes
from nlpkit.topics.base.prototype import EPSILON, jensen_shannon
from nlpkit.topics.base.tables import read_model
from nlpkit.topics.base.topic_tables import read_centroids


def topic_distances(run: Run, K: int) -> tuple[FloatArray, str]:
    """Return the distances of the topics of a run (K, K), symmetric with zeros between a topic and itself, and what they are."""
    if run.is_mixture:
        model = read_model(run)
        distances = np.sqrt(np.maximum(1.0 - jensen_shannon(model.topic_term, epsilon=model.eta or EPSILON), 0.0))
        what = "square root of the Jensen–Shannon divergence of the word distributions"
    else:
        centroids = unit_rows(read_centroids(run, K))
        distances = np.maximum(1.0 - (centroids @ centroids.T).astype(np.float64), 0.0)
        what = "cosine distance of the centroids"
    np.fill_diagonal(distances, 0.0)
    return (distances + distances.T) / 2, what


def topic_looks(run: Run) -> tuple[list[str], list[int]]:
    """Return a colour #rrggbb and the number of a shape for each topic (K), the same in all pictures.

    No two colours are equal, and near topics have related ones. An edited run, or one that was updated, has them in its manifest.

    Raises:
        InputError: the run is damaged.
    """
    sizes = run.table("topics", ["size"]).column("size").to_numpy().astype(np.float64)
    inherited = (run.manifest.get("lineage") or {}).get("looks")
    if inherited is not None:
        with run.intact():
            colours, shapes = [str(c) for c in inherited["colours"]], [int(s) for s in inherited["shapes"]]
            known = all(re.fullmatch("#[0-9a-f]{6}", c) for c in colours) and all(0 <= s < SHAPES for s in shapes)
            if not known or not len(colours) == len(shapes) == len(sizes):
                raise ValueError("manifest.json has not one colour and one shape for each topic")
        return colours, shapes
    colours = place_colours(topic_map(topic_distances(run, len(sizes))[0]), sizes)
    return colours, topic_shapes(colours)


def inherited_looks(run: Run, sources: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return colours and shapes of topics that were made of those of a run, for the manifest: those of their first sources.

    Args:
        sources: topics of the run of which each topic was made (K lists).
    """
    before, shapes = topic_looks(run)
    colours = inherited_colours(before, sources)
    kept = [
        shapes[of_topic[0]] if of_topic and colour == before[of_topic[0]] else None
        for of_topic, colour in zip(sources, colours, strict=True)
    ]
    return {"colours": colours, "shapes": topic_shapes(colours, kept)}
