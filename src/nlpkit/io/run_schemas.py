"""Schemas of the tables that runs of every kind of topic model have (DESIGN §3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

TOPICS_SCHEMA = pa.schema(
    [
        ("topic", pa.int32()),
        ("size", pa.int32()),
        ("share", pa.float32()),
        ("label", pa.string()),
        ("top_terms", pa.list_(pa.string())),
        ("npmi", pa.float32()),
        ("exclusivity", pa.float32()),
        ("representative_ids", pa.list_(pa.string())),
        ("representative_texts", pa.list_(pa.string())),
    ]
)
TOPIC_TERMS_SCHEMA = pa.schema(
    [("topic", pa.int32()), ("rank", pa.int32()), ("term", pa.string()), ("weight", pa.float32())]
)
LAYERS_SCHEMA = pa.schema(
    [
        ("layer", pa.int32()),
        ("topic", pa.int32()),
        ("parent", pa.int32()),
        ("size", pa.int32()),
        ("stability", pa.float32()),
        ("label", pa.string()),
        ("top_terms", pa.list_(pa.string())),
        ("chosen", pa.bool_()),
    ]
)
DOC_TOPICS_SCHEMA = pa.schema([("id", pa.string()), ("topic", pa.int32()), ("prob", pa.float32())])
VOCAB_SCHEMA = pa.schema([("term", pa.string()), ("cf", pa.int64()), ("df", pa.int64())])
TREE_SCHEMA = pa.schema([("left", pa.int32()), ("right", pa.int32()), ("distance", pa.float64()), ("size", pa.int32())])
_DOCUMENTS_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("topic", pa.int32()),
        ("topic_prob", pa.float32()),
        ("nearest_topic", pa.int32()),
        ("margin", pa.float32()),
    ]
)
# what runs of topic models have, beside columns of their kind and of the user
TOPIC_TABLES = {
    "topics": TOPICS_SCHEMA,
    "topic_terms": TOPIC_TERMS_SCHEMA,
    "layers": LAYERS_SCHEMA,
    "doc_topics": DOC_TOPICS_SCHEMA,
    "vocab": VOCAB_SCHEMA,
    "tree": TREE_SCHEMA,
    "documents": _DOCUMENTS_SCHEMA,
}
_WITHOUT_GAPS = (
    "id", "term", "topic", "rank", "prob", "weight", "size", "share", "top_terms", "representative_ids", "representative_texts",
    "cf", "df", "left", "right", "distance", "layer", "label",
)  # fmt: skip
_OF_TOPICS = ("documents", "doc_topics", "topic_terms")  # whose column topic names a row of topics


def check_topic_table(name: str, table: pa.Table, columns: Sequence[str] | None, n_topics: Callable[[], int]) -> None:
    """Refuse a table of a run of a topic model whose columns are other than they were written.

    Args:
        name: its file stem. columns: that are read, None for all.
        n_topics: the number of rows of the table topics; its topics are 0, 1, 2 …

    Raises:
        ValueError: a column is missing, of another type, has gaps, or names a topic that there is not.
    """
    for field in TOPIC_TABLES[name]:
        if columns is not None and field.name not in columns:
            continue
        if field.name not in table.column_names:
            raise ValueError(f"{name} has no column '{field.name}'")
        column = table.column(field.name)
        if not _alike(column.type, field.type):
            raise ValueError(f"column '{field.name}' of {name} holds {column.type}, where {field.type} was needed")
        if field.name in _WITHOUT_GAPS and column.null_count:
            raise ValueError(f"column '{field.name}' of {name} has gaps")
        if name in _OF_TOPICS and field.name in ("topic", "nearest_topic"):
            _check_range(f"column '{field.name}' of {name}", column, -1 if name == "documents" else 0, n_topics() - 1)
        if field.name == "prob":
            _check_range(f"column 'prob' of {name}", column, 0, 1.0001)
        if name == "topics" and field.name == "topic" and column.to_pylist() != list(range(len(column))):
            raise ValueError(f"the topics of {name} are not 0, 1, 2 …")
    if name == "topics" and columns is None and not _lengths(table, "ids").equals(_lengths(table, "texts")):
        raise ValueError("topics has other than one representative text for each representative id")


def _lengths(table: pa.Table, what: str) -> pa.ChunkedArray:
    return pc.list_value_length(table.column(f"representative_{what}"))


def _check_range(what: str, values: pa.ChunkedArray, least: float, most: float) -> None:
    if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
        raise ValueError(f"{what} has a value that is not a number")
    bounds = pc.min_max(values).as_py()
    if bounds["min"] is not None and not least <= bounds["min"] <= bounds["max"] <= most:
        raise ValueError(
            f"{what} has values from {bounds['min']} to {bounds['max']}, where {least} to {most} was needed"
        )


def _alike(kind: pa.DataType, needed: pa.DataType) -> bool:
    """Whether two types are both whole numbers, numbers, texts or lists of such."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_list(needed):
        return (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _alike(kind.value_type, needed.value_type)
    if pa.types.is_string(needed):
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
    if pa.types.is_floating(needed):
        return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))
    return bool(pa.types.is_integer(kind)) if pa.types.is_integer(needed) else bool(kind == needed)
