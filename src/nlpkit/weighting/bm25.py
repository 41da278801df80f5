"""BM25 as a weighting of terms in documents (Robertson & Zaragoza 2009; variants as in Kamphuis et al. 2020)."""

from __future__ import annotations

import math

import numpy as np

from nlpkit.types import FloatArray, LongArray

EPSILON = 0.25


def saturated_tf(tf: FloatArray, lengths: FloatArray, mean_length: float, *, k1: float, b: float) -> FloatArray:
    """Return tf / (tf + k1·(1 - b + b·dl / mean dl)): Robertson & Zaragoza (2009), eq. 3.15 without its idf.

    Args:
        tf: (n,) counts, each at least 1.
        lengths: (n,) tokens of the document of each count.
        mean_length: mean tokens of a document, above 0.
    """
    return tf / (tf + k1 * (1 - b + b * lengths / mean_length))


def rsj_idf(n_docs: int, df: LongArray) -> FloatArray:
    """Return ln((M - df + 0.5) / (df + 0.5)) (V,): below 0 for terms in more than half of the documents."""
    idf: FloatArray = np.log((n_docs - df + 0.5) / (df + 0.5))
    return idf


def lucene_idf(n_docs: int, df: LongArray) -> FloatArray:
    """Return ln(1 + (M - df + 0.5) / (df + 0.5)) (V,): always above 0."""
    idf: FloatArray = np.log1p((n_docs - df + 0.5) / (df + 0.5))
    return idf


def okapi_idf(n_docs: int, df: LongArray) -> FloatArray:
    """Return rsj_idf (V,) with values below 0 replaced by 0.25 times its mean over the terms, as rank-bm25's BM25Okapi."""
    idf = rsj_idf(n_docs, df)
    if not len(idf):
        return idf
    floor = EPSILON * math.fsum(idf) / len(idf)
    return np.where(idf < 0, floor, idf)
