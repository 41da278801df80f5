"""A tree of topics as tables: layers.parquet (DESIGN §3), and the topics on the path of each document."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from nlpkit.io.run_schemas import LAYERS
from nlpkit.topics.mixtures.describe import TopicDescription
from nlpkit.topics.mixtures.tree import DOCS, LEVEL, PARENT
from nlpkit.types import FloatArray, IntArray


def tree_layers_table(description: TopicDescription, tree: FloatArray, terms: Sequence[str]) -> pa.Table:
    """Return a row for each topic, the root first, numbered as in topics.parquet; size: documents whose path it is on.

    Args:
        tree: (K, 3) parent, level, documents of each topic.
    """
    K, parents = len(tree), tree[:, PARENT]
    return LAYERS.table(
        layer=tree[:, LEVEL].astype(int), topic=range(K), parent=pa.array(parents, mask=parents < 0).cast(pa.int32()),
        size=tree[:, DOCS].astype(int), stability=[None] * K, label=description.labels, chosen=[False] * K,
        top_terms=[[terms[t] for t in best if t >= 0] for best in description.relevant],
    )  # fmt: skip


def layer_names(tree: FloatArray | None) -> list[str]:
    """Return the names of the columns with the path of a document, none where topics are no tree."""
    return [] if tree is None else [f"layer_{level}" for level in range(int(tree[:, LEVEL].max()) + 1)]


def path_columns(paths: IntArray | None) -> dict[str, pa.Array]:
    """Return the topics on the paths (D, L) as columns layer_0 …, -1 for none."""
    return {} if paths is None else {f"layer_{i}": pa.array(column, pa.int32()) for i, column in enumerate(paths.T)}


def path_names(table: pa.Table) -> list[str]:
    """Return the names of the columns of a table with the topics on paths."""
    return [name for name in table.column_names if name.startswith("layer_")]


def read_paths(table: pa.Table | None) -> IntArray:
    """Return the topics on the paths (D, L) of a table with such columns; (D, 0) where it has none."""
    if table is None:
        return np.zeros((0, 0), np.int32)
    columns = [table.column(name).to_numpy().astype(np.int32) for name in path_names(table)]
    return np.stack(columns, axis=1) if columns else np.zeros((table.num_rows, 0), np.int32)
