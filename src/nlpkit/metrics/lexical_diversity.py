"""Lexical diversity that does not depend on the length of a text, as the type-token ratio does: MTLD, MATTR, HD-D."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.kernels.diversity import diversity_of_documents
from nlpkit.types import BoolArray, FloatArray, IntArray, LongArray

WINDOW = 50
THRESHOLD = 0.72
DRAWS = 42


@dataclass(frozen=True, slots=True)
class LexicalDiversity:
    """mtld, mattr, hdd of documents (D,); nan where one is too short to have a value."""

    mtld: FloatArray
    mattr: FloatArray
    hdd: FloatArray

    def take(self, rows: IntArray | LongArray) -> LexicalDiversity:
        """Return the values of some documents."""
        return LexicalDiversity(self.mtld[rows], self.mattr[rows], self.hdd[rows])


@dataclass(frozen=True, slots=True)
class DiversitySummary:
    """Means of the documents of WINDOW tokens or more, and the number of these; nan where there are none."""

    documents: int
    mtld: float
    mattr: float
    hdd: float


def summarize_diversity(diversity: LexicalDiversity) -> DiversitySummary:
    """Return the means over the documents that have all three values."""
    long_enough = ~np.isnan(diversity.mattr)
    n = int(long_enough.sum())
    columns = (diversity.mtld, diversity.mattr, diversity.hdd)
    means = (float(values[long_enough].mean()) if n else float("nan") for values in columns)
    return DiversitySummary(n, *means)


def lexical_diversity(
    offsets: LongArray,
    term_ids: IntArray,
    n_terms: int,
    *,
    window: int = WINDOW,
    threshold: float = THRESHOLD,
    draws: int = DRAWS,
) -> LexicalDiversity:
    """Return the lexical diversity of each document.

        MTLD  = mean of the forward and the backward value, N / factors: a factor ends where its type-token ratio falls to the
                threshold, and the rest of the text counts for the part (1 − TTR) / (1 − threshold) of one
        MATTR = mean type-token ratio of all windows of so many tokens
        HD-D  = Σ_v [1 − C(N − tf_v, draws) / C(N, draws)] / draws, the expected type-token ratio of so many tokens drawn at random

    MTLD: McCarthy & Jarvis (2010), Behavior Research Methods 42; N where no word comes back. MATTR: Covington & McFall (2010), who
    take windows of 500 tokens for books; HD-D: McCarthy & Jarvis (2007). Equal to the package lexicalrichness. nan for documents
    shorter than the window or the draws, and for empty ones. MTLD of fewer than 100 tokens says little.

    Args:
        offsets: (D+1,); term_ids: (N,) in 0 … n_terms - 1, those below 0 are left out; document d owns term_ids[offsets[d]:offsets[d+1]].
        n_terms: V.
        window: of MATTR; threshold: of MTLD; draws: of HD-D.
    """
    kept: BoolArray = term_ids >= 0
    if not kept.all():
        offsets = np.concatenate([[0], np.cumsum(kept)])[offsets].astype(np.int64)
        term_ids = term_ids[kept]
    D = len(offsets) - 1
    mtld, mattr, hdd = np.empty(D), np.empty(D), np.empty(D)
    seen, counts = np.zeros(n_terms, np.int64), np.zeros(n_terms, np.int64)
    diversity_of_documents(
        np.ascontiguousarray(offsets, np.int64), np.ascontiguousarray(term_ids, np.int32), window, threshold, draws, seen, counts,
        mtld, mattr, hdd,
    )  # fmt: skip
    return LexicalDiversity(mtld, mattr, hdd)
