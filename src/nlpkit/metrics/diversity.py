"""Diversity of topics: unique top words and exclusivity."""

from __future__ import annotations

import numpy as np

from nlpkit.types import FloatArray, IntArray


def unique_share(term_ids: IntArray) -> float:
    """Return topic diversity: the share of distinct terms among all top terms (Dieng et al. 2020), in (0, 1]; nan if none.

    Args:
        term_ids: (K, n) top terms of each topic, -1 for none.
    """
    terms = term_ids[term_ids >= 0]
    return len(np.unique(terms)) / len(terms) if len(terms) else float("nan")


def exclusivity(term_ids: IntArray, share: FloatArray) -> FloatArray:
    """Return the mean share of each topic's top terms that falls to that topic (K,), in [0, 1]; nan for an empty topic.

    mean over v of tf_kv / Σ_l tf_lv. R's stm calls another score exclusivity: `stm_scores.frex_exclusivity`, a sum of FREX.

    Args:
        term_ids: (K, n), -1 for none.
        share: (K, n) tf_kv / Σ_l tf_lv of each of these terms.
    """
    present = term_ids >= 0
    counts = present.sum(axis=1)
    total = np.where(present, share, 0.0).sum(axis=1)
    result: FloatArray = np.divide(total, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    return result
