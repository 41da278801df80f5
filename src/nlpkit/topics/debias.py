"""Topics that do not mirror a known structure, such as source or author: words and embeddings without what tells its groups apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from nlpkit.errors import InputError
from nlpkit.topics.neighbours import group_sums, unit_rows
from nlpkit.topics.streams import stream_key
from nlpkit.types import BoolArray, Float32Array, FloatArray, IntArray, TokenTable

QUANTILE = 0.95
NOTHING = 1e-9  # of the variance between groups, such as rounding leaves within them


@dataclass(frozen=True, slots=True)
class DebiasedTokens:
    """Tokens of D documents without some of those that tell groups apart; kept (N,): which of the N tokens these are.

    information, information_left: mutual information of words and groups in bits, before and after.
    """

    tokens: TokenTable
    kept: BoolArray
    information: float
    information_left: float


def debiased_tokens(tokens: TokenTable, groups: IntArray, *, seed: int) -> DebiasedTokens:
    """Leave out tokens at random where a group uses a word improbably often (Thompson & Mimno 2018, Authorless Topic Models, section 4).

    A token of word v in group g stays with probability min(1, q_gv / r_gv): r_gv = n_gv / n_g is the rate of the word there, q_gv the
    95 % quantile of a gamma distribution of its rates. They fit it to the rates of all groups, the one in question among them, so that
    in ten groups or fewer even a word that one group alone uses stays. Here the mean is the rate in the other groups,
    (n_v - n_gv + 1/2) / (N - n_g), the variance that of their rates and of counting: two groups are enough.

    Args:
        groups: (D,) group of each document, -1 for none, whose tokens all stay.
        seed: of the draw, one number a token, so that the result depends on nothing else.
    """
    group = np.repeat(groups, np.diff(tokens.offsets))
    member = group >= 0
    V, G = tokens.n_terms, int(groups.max(initial=-1)) + 1
    keys = group[member].astype(np.int64) * V + tokens.term_ids[member]
    pairs, pair, n_gv = np.unique(keys, return_inverse=True, return_counts=True)
    share = _share_that_stays(pairs // V, pairs % V, n_gv.astype(np.float64), G, V)
    kept = np.ones(len(group), bool)
    draw = np.random.Generator(np.random.Philox(key=stream_key(seed, "debias"))).random(len(group))
    kept[member] = draw[member] < share[pair]
    ends = np.concatenate([[0], np.cumsum(kept)])
    left = TokenTable(ends[tokens.offsets], tokens.term_ids[kept], tokens.terms)
    counts = n_gv, np.bincount(pair[kept[member]], minlength=len(pairs))
    before, after = (_information(pairs // V, pairs % V, n.astype(np.float64), G, V) for n in counts)
    return DebiasedTokens(left, kept, before, after)


def _share_that_stays(g: IntArray, v: IntArray, n_gv: FloatArray, G: int, V: int) -> FloatArray:
    """Return the share of the tokens of each pair of group and word that stays (P,)."""
    n_g, n_v = np.bincount(g, n_gv, minlength=G), np.bincount(v, n_gv, minlength=V)
    n_others = n_g.sum() - n_g[g]
    if G < 2 or not n_others.all():
        return np.ones(len(g))
    rate = n_gv / n_g[g]
    mean = (n_v[v] - n_gv + 0.5) / n_others
    variance = mean * (1 / n_g[g] + 1 / n_others)
    groups = np.count_nonzero(n_g)
    if groups > 2:
        other_mean = (np.bincount(v, rate, minlength=V)[v] - rate) / (groups - 1)
        other_square = (np.bincount(v, rate**2, minlength=V)[v] - rate**2) / (groups - 1)
        variance += np.maximum(other_square - other_mean**2, 0.0) * (groups - 1) / (groups - 2)
    return np.asarray(np.minimum(1.0, scipy.special.gdtrix(mean / variance, mean**2 / variance, QUANTILE) / rate))


def _information(g: IntArray, v: IntArray, n_gv: FloatArray, G: int, V: int) -> float:
    """Return the mutual information of groups and words in bits."""
    n_g, n_v, some = np.bincount(g, n_gv, minlength=G), np.bincount(v, n_gv, minlength=V), n_gv > 0
    n = n_gv[some]
    return float((n / n.sum() * np.log2(n * n.sum() / (n_g[g[some]] * n_v[v[some]]))).sum()) if len(n) else 0.0


def without_groups(embeddings: Float32Array, groups: IntArray) -> Float32Array:
    """Return embeddings moved so that the means of all groups meet, scaled to unit length (D, E).

    From each row is taken how far the mean of its group lies from that of all, shrunk by B / (B + W / n_g) as far as documents drawn
    at random would have it there (the best linear predictor of a random effect; W and B: variance within and between groups). After
    it no linear rule tells large groups apart by their means (Belrose et al. 2023, LEACE). Where groups differ in what they write
    about, that goes, too.

    Args:
        embeddings: (D, E) rows of unit length; groups: (D,) of each document, -1 for none, which stays where it is; more documents than
            groups.

    Raises:
        InputError: the documents of each group have the same embedding, so that nothing is left.
    """
    rows = np.flatnonzero(groups >= 0)
    G = int(groups.max(initial=-1)) + 1
    X, g = embeddings[rows].astype(np.float64), groups[rows]
    n, N = np.bincount(g, minlength=G), len(rows)
    means = group_sums(X, g, G) / np.maximum(n, 1)[:, None]
    away = means - X.mean(axis=0)
    within = ((X - means[g]) ** 2).sum() / max(N - G, 1)
    between = ((n @ (away**2).sum(axis=1)) - (G - 1) * within) / (N - (n**2).sum() / N)
    if within <= NOTHING * between:
        raise InputError(
            "the documents of each group have the same embedding, so `debias` leaves nothing to find topics in; "
            "name a column whose groups have different documents",
            parameter="debias",
        )
    if between <= 0:
        return embeddings
    shrink = between / (between + within / np.maximum(n, 1))
    result = embeddings.copy()
    result[rows] = unit_rows(X - (shrink[:, None] * away)[g])
    return result
