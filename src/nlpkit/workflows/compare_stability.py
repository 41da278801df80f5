"""How alike the fits of one model and number of topics are."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.metrics.clustering import adjusted_mutual_information
from nlpkit.topics.mixtures.scores import stability

TOP_TERMS = 10


def add_stability(several: list[dict[str, Any]]) -> None:
    """Add to fits of one model and k how alike they are to those from other seeds; None for a fit alone."""
    numbers: dict[str, int] = {}
    tops = []
    for row in several:
        table, top = row["words"], np.full((row["topics"], TOP_TERMS), -1, np.int32)
        for k, rank, term in zip(*(table.column(name).to_pylist() for name in ("topic", "rank", "term")), strict=True):
            if 0 <= k < len(top):
                top[k, rank - 1] = numbers.setdefault(term, len(numbers))
        tops.append(top)
    alike: dict[int, list[tuple[float, float]]] = {}
    for a, b in combinations(range(len(several)), 2):
        words = stability([tops[a], tops[b]])
        main = _agreement(several[a]["main"], several[b]["main"])
        alike.setdefault(a, []).append((words, main))
        alike.setdefault(b, []).append((words, main))
    for n, row in enumerate(several):
        means = np.mean(alike[n], axis=0) if n in alike else (None, None)
        row["stability_words"], row["stability_documents"] = (None if v is None else float(v) for v in means)


def _agreement(a: pa.Table, b: pa.Table) -> float:
    """Return the AMI of the topics of the documents that two fits share."""
    place = pc.index_in(a.column("id"), value_set=b.column("id").combine_chunks())
    shared = pc.is_valid(place)
    topics = b.column("topic").take(place.filter(shared))
    return adjusted_mutual_information(a.column("topic").filter(shared).to_numpy(), topics.to_numpy())
