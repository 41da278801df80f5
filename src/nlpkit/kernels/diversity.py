"""Lexical diversity of documents: words that come back, counted along the text."""

from __future__ import annotations

import math

from nlpkit.kernels import njit


@njit(nogil=True, work="term_ids")
def diversity_of_documents(offsets, term_ids, window, threshold, draws, seen, counts, mtld, mattr, hdd):  # type: ignore[no-untyped-def]
    """Fill mtld, mattr, hdd (D,) float64 for documents offsets (D+1,), term_ids (N,) in 0 … V-1; nan where a document is too short.

    seen (V,) int64 and counts (V,) int64 are work space that is 0; they come back as 0. The formulas
    stand in `nlpkit.metrics.lexical_diversity`.
    """
    for d in range(len(offsets) - 1):
        ids = term_ids[offsets[d] : offsets[d + 1]]
        n = len(ids)
        mtld[d] = mattr[d] = hdd[d] = math.nan
        if n == 0:
            continue
        mtld[d] = (_mtld(ids, threshold, seen, 1) + _mtld(ids, threshold, seen, -1)) / 2
        if n >= window:
            types, total = 0, 0
            for i in range(n):
                counts[ids[i]] += 1
                types += counts[ids[i]] == 1
                if i >= window:
                    counts[ids[i - window]] -= 1
                    types -= counts[ids[i - window]] == 0
                if i >= window - 1:
                    total += types
            for i in range(n - window, n):
                counts[ids[i]] = 0
            mattr[d] = total / (window * (n - window + 1))
        if n >= draws:
            for i in range(n):
                counts[ids[i]] += 1
            expected = 0.0
            for i in range(n):
                tf = counts[ids[i]]
                if tf > 0:
                    expected += 1.0 - _never_drawn(n, tf, draws)
                    counts[ids[i]] = 0
            hdd[d] = expected / draws


@njit(nogil=True)
def _never_drawn(n, tf, draws):  # type: ignore[no-untyped-def]
    """Return the probability that none of tf among n is drawn without replacement: C(n - tf, draws) / C(n, draws)."""
    if n - tf < draws:
        return 0.0
    never = 1.0
    for i in range(tf):  # as if the tf came one by one: the sum of all tf is n
        never *= (n - draws - i) / (n - i)
    return never


@njit(nogil=True)
def _mtld(ids, threshold, seen, step):  # type: ignore[no-untyped-def]
    """Return the tokens for each factor in one direction, step 1 or -1."""
    n = len(ids)
    factors, types, tokens = 0.0, 0, 0
    begin = 1  # a term is in the current factor if it was last seen at this place or later, places from 1
    for i in range(n):
        term = ids[i] if step > 0 else ids[n - 1 - i]
        types += seen[term] < begin
        seen[term] = i + 1
        tokens += 1
        if types <= threshold * tokens:
            factors += 1.0
            types, tokens, begin = 0, 0, i + 2
    if tokens > 0:
        factors += (1.0 - types / tokens) / (1.0 - threshold)
    for i in range(n):
        seen[ids[i]] = 0
    return n / factors if factors > 0 else float(n)
