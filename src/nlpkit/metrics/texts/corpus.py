"""The figures of a corpus: size, vocabulary, lengths, the laws of Zipf and Heaps, dispersion, lexical diversity.

Parts, in this order:
- Zipf's law: how the frequency of words falls with their rank.
- Heaps' law: how the vocabulary grows with the text.
- Lengths of documents.
- The figures of a corpus: its size, its vocabulary, and the two laws that every vocabulary follows more or less.
- Dispersion: how evenly the occurrences of words are spread over the parts of a corpus.
- Lexical diversity that does not depend on the length of a text, as the type-token ratio does: MTLD, MATTR, HD-D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nlpkit.metrics.kernels import diversity_of_documents
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class ZipfFit:
    """Zipf's law fitted to V ranks: exponent, its standard error, and the largest gap between corpus and law.

    ks = max_k |F(k) - P(k)| over the shares F of all tokens that the first k words cover and P what the law says, in
    [0, 1], at rank ks_rank. With fewer than two ranks exponent and error are nan.
    """

    exponent: float
    error: float
    ks: float
    ks_rank: int
    n_ranks: int


def fit_zipf(frequencies: LongArray) -> ZipfFit:
    """Return the exponent s of Zipf's law by maximum likelihood over the ranks 1 … V.

        p_k = k^-s / Σ_v v^-s,   log L(s) = -s Σ_k f_k ln k - N ln Σ_v v^-s

    (lecture). L is largest where the mean of ln k in the corpus is that of the law; the standard error is
    1 / sqrt(N Var_s[ln k]) (Fisher information). Both take tokens as independent draws and ranks as known beforehand;
    words come in bursts and the ranks are those of the same corpus (Piantadosi 2014, Psychon. Bull. Rev. 21), so that the
    true uncertainty is larger. Clauset, Shalizi and Newman 2009 (SIAM Rev. 51) fit a power law of the frequencies
    in the same way and judge it by the same distance ks.

    Args:
        frequencies: (V,) occurrences of each word, all at least 1, in any order.
    """
    counts = np.sort(np.asarray(frequencies, np.float64))[::-1]
    V = len(counts)
    if V < 2:
        return ZipfFit(float("nan"), float("nan"), 0.0, V, V)
    log_rank = np.log(np.arange(1, V + 1))
    N = counts.sum()
    observed = float((counts * log_rank).sum() / N)

    s = _exponent(log_rank, observed)
    p = _probabilities(log_rank, s)
    mean = (p * log_rank).sum()
    variance = float((p * (log_rank - mean) ** 2).sum())
    gaps = np.abs(np.cumsum(counts) / N - np.cumsum(p))
    at = int(gaps.argmax())
    return ZipfFit(s, float(1 / np.sqrt(N * variance)), float(gaps[at]), at + 1, V)


def zipf_probabilities(n_ranks: int, exponent: float) -> FloatArray:
    """Return p_k = k^-s / Σ_v v^-s of the ranks 1 … V (V,), which sum to 1."""
    return _probabilities(np.log(np.arange(1, n_ranks + 1)), exponent)


def zipf_frequencies(first: float, exponent: float, n_ranks: int) -> FloatArray:
    """Return f_k = f_1 / k^s of the ranks 1 … V (V,): the law drawn through the most frequent word (lecture)."""
    ranks: FloatArray = np.arange(1, n_ranks + 1, dtype=np.float64)
    return first * np.exp(-exponent * np.log(ranks))  # a power of a large exponent would be beyond all numbers


def verdict(ks: float) -> str:
    """Return in words how well a law with this distance ks fits."""
    for bound, words in ((0.02, "a close fit"), (0.05, "a fair fit"), (0.1, "a rough fit")):
        if ks <= bound:
            return words
    return "a poor fit"


def _exponent(log_rank: FloatArray, observed: float) -> float:
    """Return the s >= 0 for which the law's mean of ln k is the observed one, 0 where even that of equal words is not above it.

    Newton's method: the derivative of the mean is -Var_s[ln k]. A step that leaves the bracket is halved.
    """

    def moments(s: float) -> tuple[float, float]:
        p = _probabilities(log_rank, s)
        mean = float((p * log_rank).sum())
        return mean - observed, float((p * (log_rank - mean) ** 2).sum())

    excess, variance = moments(0.0)
    if excess <= 0:
        return 0.0
    low, high, s = 0.0, 2.0, 0.0
    while moments(high)[0] > 0:
        low, high = high, 2 * high
    for _ in range(200):
        step = s + excess / variance
        following = step if low < step < high else (low + high) / 2
        if abs(following - s) <= 1e-14 * high:
            break
        s = following
        excess, variance = moments(s)
        low, high = (s, high) if excess > 0 else (low, s)
    return s


def _probabilities(log_rank: FloatArray, s: float) -> FloatArray:
    weights = np.exp(-s * log_rank)
    probabilities: FloatArray = weights / weights.sum()
    return probabilities


# ------------------------------------------------------------------------------------------------------------------------
# Heaps' law: how the vocabulary grows with the text.

GROWTH_POINTS = 1000


@dataclass(frozen=True, slots=True)
class HeapsFit:
    """V(n) = K n^beta, and r2, the share of the variance of ln V that it explains; nan where the curve has too few points."""

    k: float
    beta: float
    r2: float


def growth_curve(first_seen: LongArray, n_tokens: int, n_points: int = GROWTH_POINTS) -> tuple[LongArray, LongArray]:
    """Return n (P,) and V(n) (P,): how many different words the first n tokens hold, at evenly spaced n up to the last.

    Args:
        first_seen: (V,) ascending, the place 1 … N of the first occurrence of each word.
        n_tokens: N.
        n_points: P; fewer when there are fewer tokens.
    """
    steps = np.arange(1, n_points + 1, dtype=np.int64)
    n = np.unique(-(-n_tokens * steps // n_points)) if n_tokens else np.zeros(0, np.int64)
    return n, np.searchsorted(first_seen, n, side="right").astype(np.int64)


def fit_heaps(n: LongArray, v: LongArray) -> HeapsFit:
    """Return Heaps' law V(n) = K n^β by least squares on the logarithms (lecture).

        ln V = ln K + β ln n

    With evenly spaced n most points lie where the text is long: there the law is to hold, and there it is used. The
    first few hundred words of any text are nearly all new and follow no law.

    Args:
        n: (P,) tokens, v: (P,) different words among them, both at least 1.
    """
    if len(n) < 2:
        return HeapsFit(float("nan"), float("nan"), float("nan"))
    x, y = np.log(n.astype(np.float64)), np.log(v.astype(np.float64))
    dx, dy = x - x.mean(), y - y.mean()
    beta = float((dx * dy).sum() / (dx**2).sum())
    total = float((dy**2).sum())
    r2 = 1 - float(((dy - beta * dx) ** 2).sum()) / total if total > 0 else float("nan")
    return HeapsFit(float(np.exp(y.mean() - beta * x.mean())), beta, r2)


def heaps_curve(fit: HeapsFit, n: LongArray) -> FloatArray:
    """Return K n^β at n (P,)."""
    curve: FloatArray = fit.k * n.astype(np.float64) ** fit.beta
    return curve


# ------------------------------------------------------------------------------------------------------------------------
# Lengths of documents.


@dataclass(frozen=True, slots=True)
class LengthSummary:
    """Tokens per document: extremes, quartiles (linear interpolation) and mean; `empty` counts documents without any."""

    n_docs: int
    empty: int
    min: int
    q1: float
    median: float
    mean: float
    q3: float
    max: int


@dataclass(frozen=True, slots=True)
class LengthBin:
    """Documents of `low` to `high` tokens, both included; high None: and more."""

    low: int
    high: int | None
    documents: int


def summarize_lengths(lengths: IntArray) -> LengthSummary:
    """Return the summary of tokens per document (D,); all zero without documents."""
    if not len(lengths):
        return LengthSummary(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0)
    q1, median, q3 = (float(q) for q in np.quantile(lengths, (0.25, 0.5, 0.75)))
    mean = int(lengths.sum(dtype=np.int64)) / len(lengths)
    return LengthSummary(
        len(lengths), int((lengths == 0).sum()), int(lengths.min()), q1, median, mean, q3, int(lengths.max())
    )


def bin_lengths(lengths: IntArray, n_bins: int = 10) -> list[LengthBin]:
    """Return about n_bins bins of one round width (1, 2, 5, 10, 20 …), the last one open when few documents are far longer."""
    if not len(lengths):
        return []
    smallest, longest = int(lengths.min()), int(lengths.max())
    usual = int(np.quantile(lengths, 0.98, method="higher"))
    width = _round_up((usual - smallest + 1) / n_bins)
    low = smallest // width * width
    end = max(usual // width + 1, low // width + 1) * width
    edges = np.arange(low, end + 1, width)
    counts = np.bincount(np.minimum((lengths - low) // width, len(edges) - 1), minlength=len(edges)).tolist()
    bins = [LengthBin(int(a), int(a) + width - 1, n) for a, n in zip(edges[:-1], counts[:-1], strict=True)]
    return [*bins, LengthBin(int(edges[-1]), None, counts[-1])] if longest >= edges[-1] else bins


def _round_up(x: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, 50 … that is not below x."""
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power >= math.ceil(x):
                return step * power
        power *= 10


# ------------------------------------------------------------------------------------------------------------------------
# The figures of a corpus: its size, its vocabulary, and the two laws that every vocabulary follows more or less.


@dataclass(frozen=True, slots=True)
class CorpusFigures:
    """Figures of a corpus or of one group of its documents.

    hapaxes: words that occur once; growth: n (P,) and V(n) (P,), see `growth_curve`.
    """

    tokens: int
    types: int
    hapaxes: int
    lengths: LengthSummary
    bins: list[LengthBin]
    zipf: ZipfFit
    heaps: HeapsFit
    growth: tuple[LongArray, LongArray]

    @property
    def type_token_ratio(self) -> float:
        """types / tokens; nan without tokens. It falls with the length of the text: compare only corpora of one size."""
        return self.types / self.tokens if self.tokens else float("nan")


def corpus_figures(cf: LongArray, first_seen: LongArray, lengths: IntArray) -> CorpusFigures:
    """Return the figures of documents.

    Args:
        cf: (V,) occurrences of each word, in order of first appearance.
        first_seen: (V,) place 1 … N of the first occurrence of each word, ascending.
        lengths: (D,) tokens of each document.
    """
    n_tokens = int(cf.sum())
    growth = growth_curve(first_seen, n_tokens)
    return CorpusFigures(
        tokens=n_tokens,
        types=len(cf),
        hapaxes=int((cf == 1).sum()),
        lengths=summarize_lengths(lengths),
        bins=bin_lengths(lengths),
        zipf=fit_zipf(cf),
        heaps=fit_heaps(*growth),
        growth=growth,
    )


# ------------------------------------------------------------------------------------------------------------------------
# Dispersion: how evenly the occurrences of words are spread over the parts of a corpus.


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Dispersion of words (V,): dp in [0, 1], 0 = even; dp_norm, dp / its greatest value; juilland_d, 1 = even. nan where undefined.

    range (V,): parts that hold the word.
    """

    dp: FloatArray
    dp_norm: FloatArray
    juilland_d: FloatArray
    range: LongArray

    def take(self, words: IntArray | LongArray) -> Dispersion:
        """Return the dispersion of some words."""
        return Dispersion(self.dp[words], self.dp_norm[words], self.juilland_d[words], self.range[words])


def dispersion(counts: CsrMatrix, sizes: LongArray) -> Dispersion:
    """Return the dispersion of words over the parts of a corpus.

        DP_v = ½ Σ_i |tf_iv / tf_v − s_i|,   s_i = n_i / Σ_j n_j,   DPnorm_v = DP_v / (1 − min_i s_i)
        D_v  = 1 − σ_v / (μ_v √(I − 1)),     μ, σ = mean and standard deviation (÷ I) of the rates tf_iv / n_i

    DP: Gries (2008), Int. J. Corpus Linguistics 13, §3; DPnorm: Lijffijt & Gries (2012). D: Juilland & Chang-Rodríguez (1964), with the
    rates of the parts, as these differ in size (Gries 2008, §2). With many parts D is near 1 for all but the rarest words (Biber
    et al. 2016): DP tells them apart. Parts without tokens are none; D needs two parts. A word that does not occur has no value.

    Args:
        counts: (I, V) CSR, tf_iv, the occurrences of each word in each part.
        sizes: (I,) n_i, tokens of each part, also of words that are not in `counts`.
    """
    sums = DispersionSums(np.asarray(counts.sum(axis=0), np.float64).ravel(), sizes)
    sums.add(counts, sizes)
    return sums.result()


class DispersionSums:
    """Sums over the parts of a corpus, of which `dispersion` is made: parts may come a few at a time."""

    def __init__(self, tf: FloatArray, sizes: LongArray) -> None:
        """Take tf (V,) of the whole corpus, and the sizes of all of its parts."""
        self.tf, self.total = np.asarray(tf, np.float64), float(sizes.sum())
        used = sizes[sizes > 0]
        self.n_parts, self.least = len(used), float(used.min(initial=sizes.max(initial=0)))
        self._gaps, self._rates, self._squares = (np.zeros(len(tf)) for _ in range(3))
        self._range: LongArray = np.zeros(len(tf), np.int64)

    def add(self, counts: CsrMatrix, sizes: LongArray) -> None:
        """Add some parts: counts (I, V) CSR, sizes (I,)."""
        parts = counts[sizes > 0].tocoo()
        n_i, V = sizes[sizes > 0].astype(np.float64), len(self.tf)
        of_part = (n_i / max(self.total, 1.0))[parts.row]
        rates = parts.data / n_i[parts.row]
        # a part without the word adds its share; all shares add up to 1
        self._gaps += np.bincount(parts.col, np.abs(parts.data / self.tf[parts.col] - of_part) - of_part, V)
        self._rates += np.bincount(parts.col, rates, V)
        self._squares += np.bincount(parts.col, rates**2, V)
        self._range += np.bincount(parts.col[parts.data > 0], minlength=V)

    def result(self) -> Dispersion:
        """Return the dispersion over the parts that were added."""
        occurs, undefined, n = self.tf > 0, np.full(len(self.tf), np.nan), max(self.n_parts, 1)
        dp = np.where(occurs, np.maximum(0.5 * (1 + self._gaps), 0), np.nan)
        mean = self._rates / n
        deviation = np.sqrt(np.maximum(self._squares / n - mean**2, 0))
        most = 1 - self.least / max(self.total, 1.0)
        d = undefined.copy()
        if self.n_parts > 1:
            d = 1 - np.divide(deviation, mean * np.sqrt(self.n_parts - 1), out=d, where=occurs)
        return Dispersion(dp, dp / most if most > 0 else undefined, d, self._range)


# ------------------------------------------------------------------------------------------------------------------------
# Lexical diversity that does not depend on the length of a text, as the type-token ratio does: MTLD, MATTR, HD-D.

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
