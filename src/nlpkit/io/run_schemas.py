"""Schemas of the tables that runs of every kind of topic model have (DESIGN §3)."""

from __future__ import annotations

import pyarrow as pa

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
