"""Scores of words and the means that they give documents: Wordscores, latent semantic scaling, correspondence analysis, axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.platform.parallel import one_thread
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, LongArray
from nlpkit.weights.dtm import scale_rows
from nlpkit.weights.lsa import singular_vectors


def mean_scores(counts: CsrMatrix, scores: FloatArray) -> tuple[FloatArray, FloatArray, LongArray]:
    """Return the mean score S_d of the words of each document (D,), its standard error, and the number of words with a score.

    S_d = Σ_w f_dw s_w,  SE_d = √(Σ_w f_dw (s_w - S_d)²) / √n_d,  f_dw = n_dw / n_d over words with a score (Laver, Benoit & Garry
    2003, equations 3 to 5). Without such a word both are NaN; with one, the standard error is.

    Args:
        counts: (D, V) CSR. scores: (V,), NaN for words without one.
    """
    known = np.isfinite(scores)
    centre = float(scores[known].mean()) if known.any() else 0.0
    filled = np.where(known, scores - centre, 0.0)
    n = np.asarray(counts @ known.astype(np.int64)).ravel()
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: FloatArray = (counts @ filled) / n
        variance = np.maximum((counts @ filled**2) / n - mean**2, 0.0)
        se = np.where(n > 1, np.sqrt(variance / n), np.nan)
    position: FloatArray = mean + centre
    return position, se, n


def wordscores(counts: CsrMatrix, references: FloatArray, *, smooth: float = 0.0) -> FloatArray:
    """Return the score of each word (V,), NaN for words of no reference text (Laver, Benoit & Garry 2003, equations 1 and 2).

    S_w = Σ_r P(r | w) A_r,  P(r | w) = F_wr / Σ_r F_wr,  F_wr = share of w among the words of reference text r.

    Args:
        counts: (R, V) CSR of the reference texts. references: (R,) their scores A_r. smooth: added to each count.
    """
    sizes = np.asarray(counts.sum(axis=1)).ravel() + smooth * counts.shape[1]
    shares = scale_rows(counts, 1.0 / sizes)
    total: FloatArray = np.asarray(shares.sum(axis=0)).ravel() + smooth * (1.0 / sizes).sum()
    weighted = np.asarray(shares.T @ references).ravel() + smooth * (references / sizes).sum()
    scores: FloatArray = np.divide(weighted, total, out=np.full(len(total), np.nan), where=total > 0)
    return scores


def rescaling(raw: FloatArray, references: FloatArray, method: str) -> tuple[float, float]:
    """Return the intercept and the slope of a transformation of raw scores into those of the reference texts.

    mv:      the texts of the lowest and the highest reference score get these (Martin & Vanberg 2008).
    lbg:     the virgin texts keep their mean and get the standard deviation of the reference scores (Laver et al. 2003, equation 6).
    lbg-all: as lbg, with mean and standard deviation of all texts, as quanteda.textmodels.

    Args:
        raw: (D,) NaN where there is none. references: (D,) NaN for virgin texts.

    Raises:
        InputError: the texts that it rests on have no spread.
    """
    is_reference = np.isfinite(references)
    if method == "mv":
        low, high = np.nanargmin(references), np.nanargmax(references)
        slope = (references[high] - references[low]) / (raw[high] - raw[low]) if raw[high] != raw[low] else np.inf
        intercept = references[low] - slope * raw[low]
    else:
        spread = raw[np.isfinite(raw) & (~is_reference if method == "lbg" else True)]
        deviation = spread.std(ddof=1) if len(spread) > 1 else 0.0
        slope = references[is_reference].std(ddof=1) / deviation if deviation > 0 else np.inf
        intercept = (1.0 - slope) * (spread.mean() if len(spread) else 0.0)
    if not np.isfinite(slope):
        texts = {"mv": "reference texts", "lbg": "virgin texts", "lbg-all": "texts"}[method]
        raise InputError(
            f"`rescale={method}` needs {texts} with at least two different raw scores; give more, or leave it out",
            parameter="rescale",
        )
    return float(intercept), float(slope)


@dataclass(frozen=True, slots=True)
class Correspondence:
    """documents (D, K), words (V, K): standard coordinates; singular_values (K,), descending; inertia: of all dimensions."""

    documents: FloatArray
    words: FloatArray
    singular_values: FloatArray
    inertia: float


def correspondence(counts: CsrMatrix, dimensions: int, *, seed: int) -> Correspondence:
    """Return the correspondence analysis of counts, as R's ca and quanteda.textmodels have it but for signs (Greenacre 2017).

    With P = counts / n, r and c its row and column sums: (P_dw - r_d c_w) / √(r_d c_w) = U Σ Vᵀ, standard coordinates U / √r and V / √c.
    The matrix is never made dense.

    Args:
        counts: (D, V) CSR; no row and no column without a count. dimensions: at most min(D, V) - 1 are returned.

    Raises:
        InputError: there is no dimension: fewer than two documents or words, or the same shares of words in all documents.
    """
    from scipy.sparse.linalg import LinearOperator

    P = sparse.csr_array(counts, dtype=np.float64) / float(counts.sum())
    r, c = np.asarray(P.sum(axis=1)).ravel(), np.asarray(P.sum(axis=0)).ravel()
    root_r, root_c = np.sqrt(r), np.sqrt(c)
    scaled = sparse.csr_array(scale_rows(P, 1.0 / root_r).multiply(1.0 / root_c[None, :]))
    inertia = float((scaled.data**2).sum()) - 1.0
    k = min(dimensions, min(P.shape) - 1)
    if k < 1 or inertia < 1e-12:
        raise InputError(
            "there is no scale: it takes at least two documents that differ in their words, and two words that count"
        )
    operator: Any = LinearOperator(
        P.shape,
        dtype=np.float64,
        matvec=lambda v: scaled @ v.ravel() - root_r * (root_c @ v.ravel()),
        rmatvec=lambda u: scaled.T @ u.ravel() - root_c * (root_r @ u.ravel()),
        matmat=lambda M: scaled @ M - np.outer(root_r, root_c @ M),
        rmatmat=lambda M: scaled.T @ M - np.outer(root_c, root_r @ M),
    )
    rng = np.random.default_rng(seed)
    with one_thread():
        U, sigma, right = singular_vectors(operator, k, start=rng.uniform(-1.0, 1.0, min(P.shape)), rng=rng)
    order = np.argsort(-sigma, kind="stable")
    order = order[sigma[order] > 1e-9 * sigma.max()]
    return Correspondence(U[:, order] / root_r[:, None], right[order].T / root_c[:, None], sigma[order], inertia)


def seed_weights(matches: Sequence[tuple[float, Sequence[int]]]) -> dict[int, float]:
    """Return the weight of each seed word: a sign, shared equally by the seeds of its end, and by the words that a pattern matches.

    A seed that matches no word takes its share with it, as in LSX.

    Args:
        matches: sign and matching words of each seed.
    """
    weights: dict[int, float] = {}
    for sign in (1.0, -1.0):
        seeds = [terms for one, terms in matches if one == sign]
        for terms in seeds:
            for term in terms:
                weights[term] = weights.get(term, 0.0) + sign / len(seeds) / len(terms)
    return weights


def polarity(counts: CsrMatrix, seeds: dict[int, float], dimensions: int, *, seed: int) -> tuple[FloatArray, int]:
    """Return the polarity of each word (V,), and the number of dimensions (Watanabe 2021).

    The vectors of words are the right singular vectors of the counts of sentences; the polarity of a word is the sum over seeds of their
    weights times the cosine of the vectors, as in R's LSX. Words without a vector have NaN.

    Args:
        counts: (S, V) CSR of sentences. seeds: weight by word. dimensions: at most min(S, V) - 1 are used.
    """
    X = sparse.csr_array(counts, dtype=np.float64)
    k = min(dimensions, min(X.shape) - 1)
    if k < 1:
        raise InputError("there are no word vectors: it takes at least two sentences, and two words that count")
    rng = np.random.default_rng(seed)
    with one_thread():
        _, sigma, right = singular_vectors(X, k, start=rng.uniform(-1.0, 1.0, min(X.shape)), rng=rng)
        vectors = right[sigma > 1e-9 * sigma.max()].T
        lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
        unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 1e-12)
        places = np.array(list(seeds), np.int64)
        scores: FloatArray = unit @ (unit[places].T @ np.array(list(seeds.values())))
    scores[lengths.ravel() <= 1e-12] = np.nan
    return scores, vectors.shape[1]


def axis_positions(points: Any, low: Any, high: Any) -> tuple[FloatArray, FloatArray]:
    """Return the positions of documents (D,) on the axis between two sets of anchors, and their standard errors.

    The mean of the low anchors is at -1, the mean of the high ones at 1, and a document where it falls on the line through both:
    2 (x - m) · v / (v · v) with v = high - low and m the middle. This is concept vector projection on another scale. Standard errors
    come from leaving out each anchor in turn (jackknife); with a single anchor at an end they are NaN.

    Args:
        points: (D, E). low: (A, E), high: (B, E) the anchors.

    Raises:
        InputError: both ends are in one place.
    """
    low, high, points = (np.asarray(m, np.float64) for m in (low, high, points))

    def positions(a: FloatArray, b: FloatArray) -> FloatArray:
        v = b - a
        length = v @ v
        if length < 1e-12:
            raise InputError(
                "both ends of the axis have the same vector; give anchors that differ", parameter="positive"
            )
        projected: FloatArray = 2.0 * (points @ v - (a + b) @ v / 2.0) / length
        return projected

    a, b = low.mean(axis=0), high.mean(axis=0)
    position = positions(a, b)
    if min(len(low), len(high)) < 2:
        return position, np.full(len(points), np.nan)
    variance = np.zeros(len(points))
    for anchors, low_end in ((low, True), (high, False)):
        n, mean = len(anchors), a if low_end else b
        left_out = [(n * mean - anchor) / (n - 1) for anchor in anchors]
        total, squares = np.zeros(len(points)), np.zeros(len(points))
        for end in left_out:
            shift = (positions(end, b) if low_end else positions(a, end)) - position
            total += shift
            squares += shift**2
        variance += (n - 1) / n * np.maximum(squares - total**2 / n, 0.0)
    return position, np.sqrt(variance)


def word_means(counts: CsrMatrix, positions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean position of the documents with each word (V,) minus that of all, and its z-score against chance.

    By chance the mean of df documents, drawn without replacement, has the variance s² / df · (1 - df / D). Words of no or of all documents
    have z NaN.

    Args:
        counts: (D, V) CSR. positions: (D,).
    """
    there = sparse.csr_array((np.ones(counts.nnz), counts.indices, counts.indptr), shape=counts.shape)
    df = np.asarray(there.sum(axis=0)).ravel()
    centred = positions - positions.mean()
    spread = float(centred.std(ddof=1)) if len(centred) > 1 else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: FloatArray = (there.T @ centred) / df
        error = spread * np.sqrt(1.0 / df - 1.0 / len(centred))
        return mean, np.where(error > 0, mean / error, np.nan)


def group_means(
    positions: FloatArray, se: FloatArray, groups: LongArray, n_groups: int, level: float
) -> dict[str, FloatArray]:
    """Return documents, mean position, standard error and interval of each group (G,).

    The standard error is that of a mean, s / √n, with an interval of Student's t. A group of one document has that of the document.

    Args:
        positions, se: (D,), NaN for none. groups: (D,) -1 for none.
    """
    from scipy.stats import norm, t

    used: BoolArray = (groups >= 0) & np.isfinite(positions)
    g, x = groups[used], positions[used]
    n = np.bincount(g, minlength=n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(g, x, n_groups) / n
        variance = np.bincount(g, (x - mean[g]) ** 2, n_groups) / (n - 1)
        error = np.sqrt(variance / n)
        error = np.where(n == 1, np.bincount(g, np.nan_to_num(se[used], nan=np.inf), n_groups), error)
        error[~np.isfinite(error)] = np.nan
        width = np.where(n == 1, norm.ppf((1 + level) / 2), t.ppf((1 + level) / 2, np.maximum(n - 1, 1))) * error
    return {"documents": n, "position": mean, "se": error, "low": mean - width, "high": mean + width}
