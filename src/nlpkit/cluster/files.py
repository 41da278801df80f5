"""Dendrograms as files: Newick text, and a table of merges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.types import FloatArray


def newick(merges: FloatArray, names: Sequence[str]) -> str:
    """Return a tree in Newick form: 'a':length in quotes, a branch as long as its two ends differ in the height of their merges.

    Args:
        merges: (n-1, 4) as scipy's linkage has them.
        names: (n,) of the leaves.
    """
    if len(names) == 1:
        return f"{_quoted(names[0])};\n"
    n = len(names)
    heights = np.concatenate([np.zeros(n), merges[:, 2]])
    parts = [_quoted(name) for name in names]
    for step, (left, right) in enumerate(merges[:, :2].astype(np.int64).tolist()):
        branches = []
        for child in (left, right):
            branches.append(f"{parts[child]}:{heights[n + step] - heights[child]:.9g}")
            parts[child] = ""  # a node has one parent: its text is held once
        parts.append(f"({','.join(branches)})")
    return f"{parts[-1]};\n"


def merges_table(merges: FloatArray) -> pa.Table:
    """Return merge, left, right, distance, size: nodes below n are documents in their order, n + i is merge i, as in scipy."""
    return pa.table(
        {
            "merge": pa.array(range(len(merges)), pa.int32()),
            "left": pa.array(merges[:, 0], pa.int32()),
            "right": pa.array(merges[:, 1], pa.int32()),
            "distance": pa.array(merges[:, 2]),
            "size": pa.array(merges[:, 3], pa.int32()),
        }
    )


def write_newick(path: Path, text: str, *, force: bool) -> None:
    """Write a tree; it appears whole or not at all. Raises what `check_target` does."""
    with atomic_file(path, force=force) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def _quoted(name: str) -> str:
    escaped = name.replace("'", "''")
    return f"'{escaped}'"
