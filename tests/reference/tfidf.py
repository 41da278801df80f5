"""tf-idf and BM25 by their formulas, number by number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Counts = Sequence[Sequence[int]]


def term_frequency(tf: int, row: Sequence[int], name: str, a: float = 0.5) -> float:
    """Return the first factor of the weight of a term that occurs tf > 0 times in a document with these counts."""
    there = [x for x in row if x]
    return {
        "raw": lambda: float(tf),
        "binary": lambda: 1.0,
        "log": lambda: 1 + math.log(tf),
        "log1p": lambda: math.log(1 + tf),
        "loglog": lambda: 1 + math.log(1 + math.log(tf)),
        "sqrt": lambda: math.sqrt(tf),
        "augmented": lambda: a + (1 - a) * tf / max(there),
        "logave": lambda: (1 + math.log(tf)) / (1 + math.log(sum(there) / len(there))),
    }[name]()


def inverse_document_frequency(M: int, df: int, name: str) -> float:
    """Return the second factor."""
    return {
        "none": lambda: 1.0,
        "idf": lambda: math.log(M / df),
        "plus1": lambda: math.log(M / (df + 1)),
        "prob": lambda: 0.0 if df == M else max(0.0, math.log((M - df) / df)),
        "smooth": lambda: math.log((1 + M) / (1 + df)) + 1,
        "sklearn": lambda: math.log(M / df) + 1,
        "rsj": lambda: math.log((M - df + 0.5) / (df + 0.5)),
        "lucene": lambda: math.log(1 + (M - df + 0.5) / (df + 0.5)),
    }[name]()


def weights(counts: Counts, tf: str, idf: str, norm: str, *, slope: float = 0.2, term_bytes: Any = None) -> list[Any]:
    """Return dense weights (D, V); term_bytes (V,) with the blank, for the norm pivoted-bytes."""
    M = len(counts)
    df = [sum(1 for row in counts if row[v]) for v in range(len(counts[0]))]
    rows = [
        [
            term_frequency(x, row, tf) * inverse_document_frequency(M, df[v], idf) if x else 0.0
            for v, x in enumerate(row)
        ]
        for row in counts
    ]
    old = [old_norm(row, w, norm, term_bytes) for row, w in zip(counts, rows, strict=True)]
    if norm.startswith("pivoted"):
        pivot = sum(old) / M
        old = [(1 - slope) * pivot + slope * x for x in old]
    return [[w / n if n else w for w in row] for row, n in zip(rows, old, strict=True)]


def old_norm(counts: Sequence[int], weights: Sequence[float], norm: str, term_bytes: Any) -> float:
    """Return the norm of a document before any pivot."""
    return {
        "none": lambda: 1.0,
        "l1": lambda: sum(abs(w) for w in weights),
        "l2": lambda: math.sqrt(sum(w * w for w in weights)),
        "pivoted-unique": lambda: float(sum(1 for x in counts if x)),
        "pivoted-bytes": lambda: float(sum(x * size for x, size in zip(counts, term_bytes, strict=True))),
        "pivoted-l2": lambda: math.sqrt(sum(w * w for w in weights)),
    }[norm]()


def bm25_okapi(counts: Counts, *, k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25) -> list[list[float]]:
    """Return what each term adds to a score in the package rank-bm25 (`BM25Okapi`), its steps in its order."""
    corpus_size = len(counts)
    doc_len = [sum(row) for row in counts]
    avgdl = sum(doc_len) / corpus_size
    V = len(counts[0])
    nd = [sum(1 for row in counts if row[v]) for v in range(V)]
    idf: dict[int, float] = {}
    idf_sum, negative = 0.0, []
    for v in range(V):
        if nd[v]:
            idf[v] = math.log(corpus_size - nd[v] + 0.5) - math.log(nd[v] + 0.5)
            idf_sum += idf[v]
            if idf[v] < 0:
                negative.append(v)
    for v in negative:
        idf[v] = epsilon * idf_sum / len(idf)
    return [
        [
            idf[v] * (q * (k1 + 1) / (q + k1 * (1 - b + b * doc_len[d] / avgdl))) if q else 0.0
            for v, q in enumerate(counts[d])
        ]
        for d in range(corpus_size)
    ]


def bm25(counts: Counts, *, k1: float, b: float, idf: str, scaled: bool) -> list[list[float]]:
    """Return idf · tf / (tf + k1 (1 - b + b dl / mean dl)), times k1 + 1 when scaled."""
    M = len(counts)
    mean = sum(map(sum, counts)) / M
    out = []
    for row in counts:
        bend = k1 * (1 - b + b * sum(row) / mean) if mean else 0.0
        line = []
        for v, tf in enumerate(row):
            df = sum(1 for other in counts if other[v])
            factor = tf / (tf + bend) * (k1 + 1 if scaled else 1) if tf else 0.0
            line.append(factor * inverse_document_frequency(M, df, idf) if tf else 0.0)
        out.append(line)
    return out
