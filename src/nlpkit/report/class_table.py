"""The classes of a classifier as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nlpkit.platform.views.blocks import Table, cell


def classes_block(classes: Sequence[Mapping[str, Any]], rest: str) -> Table:
    """Return the classes of a classifier with their scores."""
    heads = [name.replace("_", " ") for name in classes[0]]
    sizes = [float(row.get("training_documents") or 0) for row in classes]
    return Table(heads, [[cell(v) for v in row.values()] for row in classes], heads[1:], "", "classes", sizes, rest)
