"""What the share of a topic does over time: it rises, fades, follows a season, bursts, or nothing that a test tells from chance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nlpkit.metrics.intervals import benjamini_hochberg
from nlpkit.platform.types import BoolArray, FloatArray, LongArray
from nlpkit.topics.over_time.prevalence import CellSums, deviance, trends

CALLED = ("weak signal", "strong signal", "fading", "seasonal", "burst")  # what a test has found
QUIET = ("steady", "noise")  # nothing found: of topics as large as the median one, and of smaller ones
LEAST_CYCLES = 2  # that the periods cover, for a season to come back
LEAST_DEGREES = 3  # periods beyond the coefficients
LONGEST = 4  # a burst lasts at most this part of the periods
_EVERY = 10  # lengths of bursts up to this are all tried, longer ones in steps of a quarter
_DRAWS, _WORK = 1999, 100_000_000
_TAILS = (0.1, 0.05, 0.02, 0.01)  # of the draws, from which smaller p-values are extrapolated
_SEASON_FITTED = 0.05  # p-value of a season up to which bursts are held against it
_STEPS, _LARGEST = 60, 30.0
_PER_COEFFICIENT = 10  # documents of a topic for each coefficient of trend and season (Peduzzi et al. 1996)


@dataclass(frozen=True, slots=True)
class Signals:
    """What each of K topics does, arrays (K,), NaN where there is nothing to test.

    name: one of CALLED or QUIET; also: other names of CALLED that hold for the topic, with commas; share: of all documents; last: the
    fitted share of the last period. p and q of three tests; q over all topics and tests (Benjamini-Hochberg). season_ratio: odds of the
    topic at the height of the season by those at its low; peak: the period of the first cycle at that height. burst_first,
    burst_last: numbers of periods of the strongest burst; burst_ratio: documents in it by those expected.
    """

    name: np.ndarray
    also: np.ndarray
    share: FloatArray
    last: FloatArray
    p_trend: FloatArray
    q_trend: FloatArray
    p_season: FloatArray
    q_season: FloatArray
    season_ratio: FloatArray
    peak: LongArray
    p_burst: FloatArray
    q_burst: FloatArray
    burst_first: LongArray
    burst_last: LongArray
    burst_ratio: FloatArray

    @property
    def called(self) -> BoolArray:
        """Whether a test has found something (K,)."""
        return np.asarray(np.isin(self.name, CALLED))


@dataclass(frozen=True, slots=True)
class _Fit:
    """A logistic regression of shares on columns of periods: expected shares (T, K), its columns (T, P), its information (K, P, P)."""

    mu: FloatArray
    columns: FloatArray
    information: FloatArray
    beta: FloatArray


@dataclass(frozen=True, slots=True)
class BurstNull:
    """How large the largest of all windows is without a burst: max z of simulated noise (B,), in order.

    full: after level, trend and season were fitted; line: after level and trend, for topics without a season; level: after the level
    alone, for topics of few documents.
    """

    full: FloatArray
    line: FloatArray
    level: FloatArray


def tail_of(draws: FloatArray, z: FloatArray) -> FloatArray:
    """Return the p-value of each largest z: the share of draws above it, beyond the last tenth M Φ(-z).

    M is the number of independent windows that would have as many draws above their quantiles of 90 to 99 %, the largest of four.
    """
    from scipy.special import ndtr

    height, B = np.maximum(z, 0.0), len(draws)
    edges = np.quantile(draws, [1 - tail for tail in _TAILS])
    independent = float((np.array(_TAILS) / ndtr(-edges)).max())
    above = B - np.searchsorted(draws, height, side="left")
    tail = np.minimum(independent * ndtr(-height), 1.0)
    return np.asarray(np.where(height > edges[0], tail, (1 + above) / (B + 1)))


def season_columns(places: LongArray, cycle: float | None) -> FloatArray:
    """Return the columns of a season at periods (T,), cosines and sines of one and two waves in a cycle (T, 0 to 4).

    None: no cycle, or periods that do not cover two of it. A cycle of four periods has all its three columns.
    """
    if cycle is None or not len(places) or places[-1] - places[0] + 1 < LEAST_CYCLES * cycle:
        return np.zeros((len(places), 0))
    angle = 2 * np.pi * np.arange(1, 3)[:, None] * places / cycle
    waves = [wave for pair in zip(np.cos(angle), np.sin(angle), strict=True) for wave in pair]
    return np.stack([wave for wave in waves[: max(int(cycle) - 1, 1)] if np.abs(wave).max() > 1e-9], axis=1)


def windows(T: int) -> tuple[LongArray, LongArray]:
    """Return the first and the last place of every window of a burst among T periods with documents."""
    lengths, longest = list(range(1, min(_EVERY, max(T // LONGEST, 1)) + 1)), max(T // LONGEST, 1)
    while lengths[-1] < longest:
        lengths.append(min(max(lengths[-1] + 1, int(lengths[-1] * 1.25)), longest))
    first = np.concatenate([np.arange(T - length + 1) for length in lengths])
    last = np.concatenate([np.arange(T - length + 1) + length - 1 for length in lengths])
    return first.astype(np.int64), last.astype(np.int64)


def burst_null(n: LongArray, cycle: float | None, rng: np.random.Generator) -> BurstNull | None:
    """Return how large the largest window is in normal noise, by simulation; None where periods are too few.

    The noise has a variance of 1 / n_t in period t. Its scale cancels, so that the draws hold for each topic.

    Args:
        n: (T,) documents of the periods.
    """
    used = np.flatnonzero(n > 0)
    columns, weight = _columns(used, cycle), n[used].astype(np.float64)
    if len(used) - columns.shape[1] - 1 < LEAST_DEGREES:
        return None
    return BurstNull(*(_largest_windows(part, weight, rng) for part in (columns, columns[:, :2], columns[:, :1])))


def _largest_windows(columns: FloatArray, weight: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return max z over the windows of noise that some columns (T, P) were fitted to, in order."""
    T, P = columns.shape
    first, last = windows(T)
    hat = columns * weight[:, None]
    inverse: FloatArray = np.asarray(np.linalg.inv(hat.T @ columns), np.float64)
    spare = _spare(weight, columns, inverse, first, last)
    largest = []
    for size in _portions(min(_DRAWS, max(199, _WORK // len(first)))):
        noise = rng.standard_normal((T, size)) / np.sqrt(weight)[:, None]
        rest = (noise - columns @ (inverse @ (hat.T @ noise))) * weight[:, None]
        whole = (rest**2 / weight[:, None]).sum(axis=0)
        sums = _ranges(rest, first, last)
        top = np.where(sums > 0, sums**2 / spare[:, None], 0.0).max(axis=0)
        largest.append(np.sqrt(top / np.maximum((whole - top) / (T - P - 1), 1e-12)))
    return np.sort(_normal(np.concatenate(largest), T - P - 1))


def signals(cells: CellSums, cycle: float | None, null: BurstNull | None, *, level: float) -> Signals:
    """Return what each topic does over the periods, by three tests whose units are periods.

    - trend: that of `trends`, logit μ_t = a + b t.
    - season: logit μ_t = a + b t + Σ_h (c_h cos 2πht/C + d_h sin 2πht/C), h = 1, 2, against the trend alone, by an F test of the
      quasi-binomial (McCullagh & Nelder 1989, §4.5). A harmonic regression tests the periodogram at the period of the cycle.
    - burst: a scan over windows of at most a quarter of the periods (Kulldorff 1997), with the expectation E_w from the trend, and from the
      season where its p-value is at most 0.05, with and without the periods of the strongest burst:

          G_w = 2 [Y log(Y/E) + (N - Y) log((N - Y)/(N - E))] · V_w / (w'Mw),   φ_w = (X² - P_w) / (T - P - 1),   max_w G_w / φ_w

      Y documents of the topic and N documents of the window; V_w / w'Mw allows for the fitted coefficients; φ_w is the scatter of the
      periods outside the window, at least 1 where documents have one topic each. `BurstNull` gives p. Kleinberg's (2002)
      automaton finds such windows, too, but its costs are no error rates. Topics with fewer than ten documents for each coefficient
    are tested for no season, and E_w comes from their level alone.

    All p-values are corrected together (Benjamini & Hochberg 1995). Names follow the quadrants of popularity and growth (Yoon 2012;
    Boutaleb et al. 2024, BERTrend): a topic that rises is a strong signal where the fitted share of the last period reaches the
    median topic's, else a weak one. One that does not is steady or noise by the same limit. A trend or a season
    whose p-value without the periods of the burst is above 0.05 gives no name.

    Args:
        cells: periods (T,) in order. cycle: periods of a season, None for none. null: of `burst_null` for these periods.
        level: confidence level; 1 - level is the false discovery rate.
    """
    K = cells.sums.shape[1] - 1
    tested = trends(cells, level=level)
    p_trend = tested.p[:K]
    used = np.flatnonzero(cells.n > 0)
    n, y = cells.n[used].astype(np.float64)[:, None], cells.sums[used, :K]
    share = y.sum(axis=0) / max(float(n.sum()), 1.0)
    last = np.where(np.isnan(tested.last[:K]), share, tested.last[:K])
    p_season, ratio, p_burst, excess = (np.full(K, np.nan) for _ in range(4))
    peak, first, final = (np.full(K, -1) for _ in range(3))
    columns = _columns(used, cycle)
    season = columns[:, 2:]
    live = ~np.isnan(p_trend) & (null is not None)
    large = live & (y.sum(axis=0) >= _PER_COEFFICIENT * columns.shape[1])
    returns = np.zeros(K, bool)  # seasons that hold without the strongest burst

    def scan(topics: BoolArray, base: str, part: FloatArray) -> None:
        if topics.any():
            z, window, excess[topics] = _scanned(_fitted(part, y[:, topics], n), y[:, topics], n, cells.is_mixed)
            p_burst[topics] = tail_of(getattr(null, base), z)
            first[topics], final[topics] = window

    scan(large, "line", columns[:, :2])
    scan(live & ~large, "level", columns[:, :1])
    if season.shape[1] and large.any():
        fit = _fitted(columns, y[:, large], n)
        wave = season @ fit.beta[2:]
        p_season[large] = _season_test(fit, season.shape[1], y[:, large], n, cells.is_mixed)
        ratio[large], peak[large] = np.exp(np.minimum(np.ptp(wave, axis=0), _LARGEST)), used[wave.argmax(axis=0)]
        for k in np.flatnonzero(np.nan_to_num(p_season, nan=1.0) <= _SEASON_FITTED):
            kept = np.delete(np.arange(len(used)), np.arange(first[k], final[k] + 1))
            rest = _fitted(columns[kept], y[kept][:, [k]], n[kept])
            without = _season_test(rest, season.shape[1], y[kept][:, [k]], n[kept], cells.is_mixed)[0]
            returns[k] = without <= _SEASON_FITTED
        scan(returns, "full", columns)
    first, final = (np.where(place < 0, -1, used[place]) for place in (first, final))
    q = benjamini_hochberg(np.concatenate([p_trend, p_season, p_burst])).reshape(3, K)
    result = Signals(
        np.full(K, "", object), np.full(K, "", object), share, last, p_trend, q[0], p_season, q[1], ratio, peak,
        p_burst, q[2], first, final, excess,
    )  # fmt: skip
    return _named(result, cells, tested.last[:K] > tested.first[:K], returns, level)


def _named(result: Signals, cells: CellSums, rises: BoolArray, returns: BoolArray, level: float) -> Signals:
    """Return the signals with their names."""
    limit = 1 - level + 1e-12
    K = len(result.share)
    there = result.share > 0
    median = float(np.median(result.last[there])) if there.any() else 0.0
    name, also = result.name.copy(), result.also.copy()
    for k in range(K):
        popular = result.last[k] >= median
        names = []
        if result.q_trend[k] <= limit and not (result.q_burst[k] <= limit and _by_burst_alone(cells, result, k, level)):
            names.append(("strong signal" if popular else "weak signal") if rises[k] else "fading")
        names += ["seasonal"] * bool(returns[k] and result.q_season[k] <= limit) + ["burst"] * bool(
            result.q_burst[k] <= limit
        )
        name[k] = names[0] if names else QUIET[0] if popular else QUIET[1]
        also[k] = ", ".join(names[1:])
    return replace(result, name=name, also=also)


def _by_burst_alone(cells: CellSums, result: Signals, k: int, level: float) -> bool:
    """Return whether a topic has no trend, or one the other way round, in the periods outside its burst."""
    n = cells.n.copy()
    n[result.burst_first[k] : result.burst_last[k] + 1] = 0
    columns = [k, cells.sums.shape[1] - 1]
    outside = CellSums(n, cells.sums[:, columns], cells.squares[:, columns], cells.is_mixed)
    rest, whole = trends(outside, level=level), trends(replace(outside, n=cells.n), level=level)
    same = (rest.odds_ratio[0] > 1) == (whole.odds_ratio[0] > 1)
    return not (same and rest.p[0] <= 1 - level)


def _columns(used: LongArray, cycle: float | None) -> FloatArray:
    """Return the columns of level, trend and season at periods that have documents (T, P)."""
    middle, half = (
        (used[-1] + used[0]) / 2 if len(used) else 0.0,
        max(float(np.ptp(used)) / 2, 1.0) if len(used) else 1.0,
    )
    line = np.stack([np.ones(len(used)), (used - middle) / half], axis=1)
    season = season_columns(used, cycle)
    enough = len(used) - 2 - season.shape[1] - 1 >= LEAST_DEGREES
    return np.hstack([line, season]) if enough else line


def _fitted(columns: FloatArray, y: FloatArray, n: FloatArray) -> _Fit:
    """Fit logit μ_t = x_t'β to shares y / n of each topic by Newton's method."""
    from scipy.special import expit

    total = np.clip(y.sum(axis=0) / n.sum(), 1e-12, 1 - 1e-12)
    beta = np.zeros((columns.shape[1], y.shape[1]))
    beta[0] = np.log(total) - np.log1p(-total)
    small = 1e-10 * np.eye(columns.shape[1])
    for step_number in range(_STEPS + 1):
        mu = expit(np.clip(columns @ beta, -_LARGEST, _LARGEST))
        weight = np.maximum(n * mu * (1 - mu), 1e-10)
        information = np.einsum("tp,tk,tq->kpq", columns, weight, columns, optimize=True) + small
        if step_number == _STEPS:
            break
        score = columns.T @ (y - n * mu)
        step = np.linalg.solve(information, score.T[:, :, None])[:, :, 0].T
        beta = beta + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-9:
            break
    return _Fit(mu, columns, information, beta)


def _season_test(fit: _Fit, m: int, y: FloatArray, n: FloatArray, is_mixed: bool) -> FloatArray:
    """Return the p-values of the F test of the last m columns (K,)."""
    from scipy.special import fdtrc

    T, P = fit.columns.shape
    line = _fitted(fit.columns[:, : P - m], y, n)
    gain = np.maximum(deviance(y, n, line.mu) - deviance(y, n, fit.mu), 0.0)
    phi = _pearson(fit, y, n) / (T - P)
    phi = np.maximum(phi, 1e-12 if is_mixed else 1.0)
    return np.asarray(fdtrc(m, T - P, gain / m / phi))


def _scanned(
    fit: _Fit, y: FloatArray, n: FloatArray, is_mixed: bool
) -> tuple[FloatArray, tuple[LongArray, LongArray], FloatArray]:
    """Return the largest z of the windows of each topic (K,), the window (first, last), and documents in it by those expected."""
    from scipy.special import xlogy

    (T, P), K = fit.columns.shape, y.shape[1]
    first, last = windows(T)
    whole, N = _pearson(fit, y, n), _ranges(n, first, last)[:, 0]
    z, best, excess = np.zeros(K), np.zeros(K, np.int64), np.ones(K)
    for k in range(K):
        mu = fit.mu[:, k]
        weight = np.maximum(n[:, 0] * mu * (1 - mu), 1e-10)
        spare = _spare(weight, fit.columns, np.linalg.inv(fit.information[k]), first, last)
        Y, E = _ranges(np.stack([y[:, k], n[:, 0] * mu], axis=1), first, last).T
        E, V = np.clip(E, 1e-12, None), _ranges(weight[:, None], first, last)[:, 0]
        pairs = ((Y, E), (N - Y, np.maximum(N - E, 1e-300)))
        inside = np.maximum(2 * sum(xlogy(o, np.maximum(o, 1e-300) / e) for o, e in pairs), 0.0)
        removed = np.minimum((Y - E) ** 2 / spare, whole[k])
        phi = np.maximum((whole[k] - removed) / (T - P - 1), 1e-9 if is_mixed else 1.0)
        value = np.where(Y > E, inside * V / spare / phi, 0.0)
        best[k] = int(value.argmax())
        z[k], excess[k] = np.sqrt(value[best[k]]), Y[best[k]] / E[best[k]]
    return _normal(z, T - P - 1), (first[best], last[best]), excess


def _spare(
    weight: FloatArray, columns: FloatArray, inverse: FloatArray, first: LongArray, last: LongArray
) -> FloatArray:
    """Return w'Mw of each window, the variance of its sum that the columns leave over."""
    V = _ranges(weight[:, None], first, last)[:, 0]
    crossed = _ranges(columns * weight[:, None], first, last)
    taken = np.einsum("wp,pq,wq->w", crossed, inverse, crossed, optimize=True)
    return np.asarray(np.maximum(V - taken, 1e-9 * V + 1e-12))


def _ranges(values: FloatArray, first: LongArray, last: LongArray) -> FloatArray:
    """Return the sums of values (T, …) over windows."""
    sums = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    return np.asarray(sums[last + 1] - sums[first])


def _normal(t: FloatArray, degrees: int) -> FloatArray:
    """Return the normal deviates that have the upper tails of t with some degrees of freedom."""
    from scipy.special import ndtri, stdtr

    return np.asarray(-ndtri(np.maximum(stdtr(degrees, -t), 1e-300)))


def scatter_of(cells: CellSums) -> FloatArray:
    """Return (y_t - n_t μ_t)² / (n_t μ_t (1 - μ_t)) of each topic in the periods that have documents, μ the line of `trends`."""
    used = np.flatnonzero(cells.n > 0)
    n, y = cells.n[used].astype(np.float64)[:, None], cells.sums[used, :-1]
    return _squares(_fitted(_columns(used, None), y, n), y, n)


def _squares(fit: _Fit, y: FloatArray, n: FloatArray) -> FloatArray:
    return np.asarray((y - n * fit.mu) ** 2 / np.maximum(n * fit.mu * (1 - fit.mu), 1e-12))


def _pearson(fit: _Fit, y: FloatArray, n: FloatArray) -> FloatArray:
    return np.asarray(_squares(fit, y, n).sum(axis=0))


def _portions(draws: int) -> list[int]:
    return [100] * (draws // 100) + [draws % 100] * (draws % 100 > 0)
