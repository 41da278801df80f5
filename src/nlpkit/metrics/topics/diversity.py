"""The diversity of topics: how few of their top words they share.

Top words are term_ids (K, n) int32, best first, -1 where a topic has fewer; no term twice in a topic. A topic without any has
no overlap with others, not one of 0: its rows and columns are NaN. Nothing of K × V is made.

Parts, in this order:
- Overlap of the top words of topics: shares of words a topic has for itself, Jaccard, rank-biased overlap.
- Diversity of topics: unique top words and exclusivity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias, get_args

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.platform.types import FloatArray, IntArray, LongArray

RboForm: TypeAlias = Literal["ext", "min", "norm"]
Weights: TypeAlias = Callable[[LongArray, LongArray, LongArray], FloatArray]

RBO_P = 0.9

_PAIRS = 1 << 21  # shared words of two topics that are looked at together


def unique_share_by_topic(term_ids: IntArray) -> FloatArray:
    """Return how far the top words of each topic are its own (K,), in [1/K, 1]; NaN for a topic without words.

        u_k = 1/n_k Σ_w 1 / h_w,   h_w the topics that hold word w, n_k the words of topic k

    The mean over the topics, weighted by n_k, is `diversity.unique_share` (Dieng et al. 2020), which has no parts by topic
    of its own.

    Args:
        term_ids: (K, n), -1 for none.
    """
    _check(term_ids)
    present = term_ids >= 0
    _, word, holders = np.unique(term_ids[present], return_inverse=True, return_counts=True)
    share = np.zeros(term_ids.shape)
    share[present] = 1.0 / holders[word]
    n_k = present.sum(axis=1)
    result: FloatArray = np.divide(share.sum(axis=1), n_k, out=np.full(len(n_k), np.nan), where=n_k > 0)
    return result


def unique_share_of(term_ids: IntArray) -> Callable[[FloatArray], FloatArray]:
    """Return the share of different words as a function of weights (B, K): of the topics of a weight above 0, for a jackknife.

    Args:
        term_ids: (K, n), -1 for none.
    """
    topic, _ = np.nonzero(term_ids >= 0)
    _, word = np.unique(term_ids[term_ids >= 0], return_inverse=True)
    lengths = np.bincount(topic, minlength=len(term_ids)).astype(np.float64)

    def statistic(weights: FloatArray) -> FloatArray:
        present = weights > 0
        different = [len(np.unique(word[row[topic]])) for row in present]
        total = present @ lengths
        return np.asarray(np.divide(different, total, out=np.full(len(total), np.nan), where=total > 0), np.float64)

    return statistic


def jaccard_matrix(term_ids: IntArray, others: IntArray | None = None) -> FloatArray:
    """Return |A_i ∩ B_j| / |A_i ∪ B_j| of the top words of topics (K, K'), in [0, 1]; NaN where one has none.

    OCTIS's PairwiseJaccardSimilarity is the mean over the pairs i < j of one model (Tran et al. 2013).

    Args:
        term_ids: (K, n), -1 for none.
        others: (K', n') over the same vocabulary, default the same topics.
    """

    def one(depth: LongArray, mine: LongArray, theirs: LongArray) -> FloatArray:
        return np.ones(len(depth))

    both, mine, theirs = _sums(term_ids, others, one)
    either = mine[:, None] + theirs - both
    return _defined(both / np.maximum(either, 1), mine, theirs)


def rbo_matrix(
    term_ids: IntArray, others: IntArray | None = None, *, p: float = RBO_P, form: RboForm = "ext"
) -> FloatArray:
    """Return the rank-biased overlap of the ranked top words of topics (K, K'), in [0, 1]; NaN where one has none.

    With X_d the words that both have among their first d, s ≤ l the words of the two topics:

        ext    (1-p)/p (Σ_{d=1}^l X_d/d p^d + Σ_{d=s+1}^l X_s (d-s)/(s d) p^d) + ((X_l - X_s)/l + X_s/s) p^l
        min    (1-p)/p (Σ_{d=1}^s (X_d - X_s)/d p^d - X_s ln(1-p))
        norm   Σ_{d=1}^s p^(d-1) X_d/d / Σ_{d=1}^s p^(d-1)

    ext takes the overlap seen as going on below the lists (equation 32 of the paper), min takes none there (equation 11):
    of two equal lists of 10 words with p = 0.9 it is 0.86. norm is the sum of the seen ranks over what equal lists reach;
    with p = 1 it is the average overlap.

    OCTIS's InvertedRBO (Bianchi et al. 2021) is 1 - `mean_pairwise` of ext for the first 10 words; lists of one length agree
    to the last digits. Of unequal lists, which its own check of the first topic alone lets through, its rbo.py changes
    X_d/d to 2 X_d / (s + d) below the shorter one: not the paper's, and not here. `topics.lda.similarity` has
    ldaPrototype's version with ties, from counts.

    Args:
        term_ids: (K, n), -1 for none.
        others: (K', n') over the same vocabulary, default the same topics.
        p: how far a reader goes on to the next rank, in (0, 1); for norm 1 too. The first 10 ranks have 86 % of the weight
            at 0.9.
        form: see above.

    Raises:
        UsageError: p or form out of range.

    Source: Webber, Moffat & Zobel (2010), A similarity measure for indefinite rankings.
    """
    if form not in get_args(RboForm):
        raise UsageError(
            f"rank-biased overlap has the forms {', '.join(get_args(RboForm))}; got '{form}'", parameter="form"
        )
    if not (0 < p < 1 or (p == 1 and form == "norm")):
        raise UsageError(f"rank-biased overlap needs p above 0 and below 1 (norm: up to 1), got {p}", parameter="p")
    d = np.arange(1, max(term_ids.shape[1], 0 if others is None else others.shape[1]) + 1)
    G = np.concatenate([[0.0], np.cumsum(p ** (d - 1.0))])
    H = np.concatenate([[0.0], np.cumsum(p ** (d - 1.0) / d)])

    def weigh(m: LongArray, mine: LongArray, theirs: LongArray) -> FloatArray:
        """Return what a word adds that both have at rank m or better: every form is linear in X_d."""
        s, length = np.minimum(mine, theirs), np.maximum(mine, theirs)
        within = m <= s
        if form == "min":
            weights = np.where(within, -(1 - p) * (H[m - 1] + math.log1p(-p) / p), 0.0)
        elif form == "norm":
            weights = np.where(within, (H[s] - H[m - 1]) / G[s], 0.0)
        else:
            tail = (1 - p) * ((G[length] - G[s]) / s - (H[length] - H[s])) + p**length / s
            weights = (1 - p) * (H[length] - H[m - 1]) + np.where(within, tail, p**length / length)
        return np.asarray(weights, np.float64)

    sums, mine, theirs = _sums(term_ids, others, weigh)
    if others is None:  # sums in two orders differ in the last digit
        sums = (sums + sums.T) / 2
    sums[sums > 1 - 1e-12] = 1.0
    return _defined(sums, mine, theirs)


def average_jaccard_matrix(term_ids: IntArray, others: IntArray | None = None) -> FloatArray:
    """Return the mean of the Jaccard coefficients of the first d words, d = 1 … t (K, K'), in [0, 1]; NaN where one has none.

        AJ_ij = 1/t Σ_{d=1}^t |A_i^d ∩ B_j^d| / |A_i^d ∪ B_j^d|,   t the words of the longer list

    The similarity of term rankings of Greene, O'Callaghan & Cunningham (2014), section 3.1.

    Args:
        term_ids: (K, n), -1 for none.
        others: (K', n') over the same vocabulary, default the same topics.
    """
    theirs_ids = term_ids if others is None else others
    mine, theirs = _lengths(term_ids), _lengths(theirs_ids)
    out = np.zeros((len(mine), len(theirs)))
    deepest = int(max(mine.max(initial=0), theirs.max(initial=0)))
    d = np.arange(1, deepest + 1)
    for _, i, j, depth in _shared(term_ids, theirs_ids):
        cells, cell = np.unique(i * len(theirs) + j, return_inverse=True)
        order = np.argsort(cell, kind="stable")
        ends = np.searchsorted(cell[order], np.arange(len(cells) + 1))
        step = max(1, _PAIRS // max(deepest, 1))
        for first in range(0, len(cells), step):  # pairs of topics with a word in common
            some = cells[first : first + step]
            words = order[ends[first] : ends[first + len(some)]]
            places = (cell[words] - first) * deepest + depth[words] - 1
            both = np.bincount(places, minlength=len(some) * deepest).reshape(len(some), deepest).cumsum(axis=1)
            a, b = mine[some // len(theirs), None], theirs[some % len(theirs), None]
            jaccards = both / (np.minimum(a, d) + np.minimum(b, d) - both)
            longest = np.maximum(a, b)
            out.flat[some] = np.where(d <= longest, jaccards, 0.0).sum(axis=1) / longest[:, 0]
    return _defined(out, mine, theirs)


def mean_pairwise(matrix: FloatArray) -> tuple[float, FloatArray]:
    """Return the mean over the pairs of different topics, and of each topic over the others (K,); NaN without any.

    Args:
        matrix: (K, K), symmetric; pairs that are NaN do not count.
    """
    others = ~np.isnan(matrix)
    np.fill_diagonal(others, False)
    counts = others.sum(axis=1)
    sums = np.where(others, matrix, 0.0).sum(axis=1)
    by_topic: FloatArray = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    pairs = int(counts.sum())
    return (float(sums.sum() / pairs) if pairs else float("nan")), by_topic


def _sums(term_ids: IntArray, others: IntArray | None, weigh: Weights) -> tuple[FloatArray, LongArray, LongArray]:
    """Return the sum over the shared words of a function of depth and both lengths (K, K'), and the lengths (K,), (K',)."""
    theirs_ids = term_ids if others is None else others
    mine, theirs = _lengths(term_ids), _lengths(theirs_ids)
    out = np.zeros((len(mine), len(theirs)))
    for rows, i, j, depth in _shared(term_ids, theirs_ids):
        block = (rows.stop - rows.start, len(theirs))
        cells = (i - rows.start) * block[1] + j
        out[rows] = np.bincount(cells, weigh(depth, mine[i], theirs[j]), minlength=block[0] * block[1]).reshape(block)
    return out, mine, theirs


def _shared(mine: IntArray, theirs: IntArray) -> Iterator[tuple[slice, LongArray, LongArray, LongArray]]:
    """Yield for blocks of my topics each word that topic i shares with topic j: i, j, and the deeper of its two ranks."""
    j, word, rank = _entries(theirs)
    by_word = np.argsort(word, kind="stable")
    words = word[by_word]
    i, my_word, my_rank = _entries(mine)
    first, last = np.searchsorted(words, my_word, "left"), np.searchsorted(words, my_word, "right")
    holders = last - first
    ends = np.searchsorted(i, np.arange(len(mine) + 1))  # entries of topic i
    before = np.concatenate([[0], np.cumsum(holders)])
    start = 0
    while start < len(mine):
        most = before[ends[start]] + max(_PAIRS, len(theirs))
        stop = max(start + 1, int(np.searchsorted(before[ends], most, "right")) - 1)
        stop = min(stop, start + max(1, _PAIRS // max(len(theirs), 1)))
        entries = np.arange(ends[start], ends[stop])
        each = np.repeat(entries, holders[entries])
        place = np.arange(len(each)) - np.repeat(before[entries] - before[ends[start]], holders[entries])
        holder = by_word[first[each] + place]
        yield slice(start, stop), i[each], j[holder], np.maximum(my_rank[each], rank[holder])
        start = stop


def _entries(term_ids: IntArray) -> tuple[LongArray, LongArray, LongArray]:
    """Return topic, term and rank from 1 of each word that there is, topic by topic."""
    present = term_ids >= 0
    topic, _ = np.nonzero(present)
    ranks = np.cumsum(present, axis=1)
    return topic.astype(np.int64), term_ids[present].astype(np.int64), ranks[present].astype(np.int64)


def _lengths(term_ids: IntArray) -> LongArray:
    _check(term_ids)
    lengths: LongArray = (term_ids >= 0).sum(axis=1, dtype=np.int64)
    return lengths


def _defined(values: FloatArray, mine: LongArray, theirs: LongArray) -> FloatArray:
    """Return the values, NaN where a topic has no words."""
    result: FloatArray = np.where((mine[:, None] > 0) & (theirs > 0), values, np.nan)
    return result


def _check(term_ids: IntArray) -> None:
    if term_ids.ndim != 2:
        raise UsageError(f"top words need one row a topic (K, n), got an array of shape {term_ids.shape}")


# ------------------------------------------------------------------------------------------------------------------------
# Diversity of topics: unique top words and exclusivity.


def unique_share(term_ids: IntArray) -> float:
    """Return topic diversity: the share of distinct terms among all top terms (Dieng et al. 2020), in (0, 1]; nan if none.

    Args:
        term_ids: (K, n) top terms of each topic, -1 for none.
    """
    terms = term_ids[term_ids >= 0]
    return len(np.unique(terms)) / len(terms) if len(terms) else float("nan")


def exclusivity(term_ids: IntArray, share: FloatArray) -> FloatArray:
    """Return the mean share of each topic's top terms that falls to that topic (K,), in [0, 1]; nan for an empty topic.

    mean over v of tf_kv / Σ_l tf_lv. R's stm calls another score exclusivity, a sum of FREX: `significance.frex_exclusivity`.

    Args:
        term_ids: (K, n), -1 for none.
        share: (K, n) tf_kv / Σ_l tf_lv of each of these terms.
    """
    present = term_ids >= 0
    counts = present.sum(axis=1)
    total = np.where(present, share, 0.0).sum(axis=1)
    result: FloatArray = np.divide(total, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    return result
