"""Layers of topics as a tree in the Newick format, which programs for trees read (Olsen 1990; ete, dendroscope, R ape)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nlpkit.io.atomic import atomic_file


def write_newick(path: Path, layers: Sequence[Mapping[str, Any]], *, force: bool) -> int:
    """Write the tree of layers.parquet; its leaves are the topics of the finest layer, whose number is returned."""
    with atomic_file(path, force=force) as part:
        part.write_text(newick(layers) + "\n", encoding="utf-8", newline="\n")
    finest = max(row["layer"] for row in layers)
    return sum(row["layer"] == finest for row in layers)


def newick(layers: Sequence[Mapping[str, Any]]) -> str:
    """Return the tree: each node is named `layer.topic name`, in quotes, and all branches have length 1.

    Args:
        layers: rows of layers.parquet, with layer, topic, parent and label.
    """
    below: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for row in layers:
        below.setdefault((row["layer"], row["parent"]), []).append(row)

    def node(row: Mapping[str, Any]) -> str:
        parts = [node(part) for part in below.get((row["layer"] + 1, row["topic"]), [])]
        name = f"{row['layer']}.{row['topic']} {row['label']}".replace("'", "''")
        return f"{'(' + ','.join(parts) + ')' if parts else ''}'{name}':1"

    roots = [row for row in layers if row["parent"] is None]  # the coarsest layer, and topics without a document
    return f"({','.join(map(node, roots))});"
