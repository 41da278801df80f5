"""Choice of the number of topics: candidates compared by held-out documents, coherence and stability, and the best by all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nlpkit.cluster.options import Range
from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import FloatArray, TokenTable
from nlpkit.topics.base.arguments import MAX_TOPICS, run_seeds
from nlpkit.topics.base.scores import Fitter, Scores, mean_of_known, score_fits, split_corpus, stability

if TYPE_CHECKING:
    from nlpkit.topics.base.guide import Guidance

SEEDS = 3
SHARE = 0.1
FIRST, LAST = 5, 640  # of the coarse grid of `auto`
DOCS_PER_TOPIC, TOKENS_PER_TOPIC = 10, 200  # on average at the least, in `auto`
WORSE_IN_A_ROW = 2  # of the coarse grid, after which it ends
ROUNDS = 2  # of refinement
MOST = 100  # numbers of topics in one comparison


@dataclass(frozen=True, slots=True)
class Row:
    """One number of topics: means over the fits from different seeds.

    log_likelihood: held out, per token; se: its standard error over documents. perplexity: exp(-log_likelihood), lower is
    better; perplexity_se: perplexity · se. behind: log-likelihood per token of the best row less that of this one;
    behind_se: standard error of this difference, 0 for the best. npmi, diversity, exclusivity, small_topics: as in `Scores`.
    stability: share of the ten top terms that a topic has in common with its match in a fit from another seed, NaN for one
    seed. score: see `total_scores`. best: highest log-likelihood; chosen: highest score.
    """

    n_topics: int
    perplexity: float
    perplexity_se: float
    log_likelihood: float
    se: float
    behind: float
    behind_se: float
    npmi: float
    diversity: float
    exclusivity: float
    stability: float
    small_topics: float
    score: float
    best: bool = False
    chosen: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """The number of topics that was chosen, and the table it was chosen from.

    rows: by number of topics. reason: why, one sentence. runner_ups: two other numbers and what speaks for each. note: what
    is to be minded, "" for nothing. n_held_out: documents; n_tokens: tokens whose probability was taken;
    seeds: fits of each number.
    """

    n_topics: int
    rows: tuple[Row, ...]
    reason: str
    runner_ups: tuple[tuple[int, str], ...]
    note: str
    n_held_out: int
    n_tokens: int
    seeds: int = SEEDS


def choose_topics(
    tokens: TokenTable,
    fitter: Fitter,
    wanted: Range,
    execution: Execution,
    *,
    seeds: int = SEEDS,
    share: float = SHARE,
    guidance: Guidance | None = None,
    weights: FloatArray | None = None,
    known: Mapping[tuple[int, int], Scores] | None = None,
    done: Callable[[int, int, Scores], None] | None = None,
) -> TopicChoice:
    """Compare numbers of topics and choose the one of the highest score; see `total_scores`.

    Each K is fitted from several seeds to the same nine tenths of the documents. The others are scored by document
    completion (`heldout.perplexity`): topics from one half of a document, probability of the other half. With l_g the
    log-probability of group g of held-out documents, mean over seeds, and n_g its tokens, L(K) = Σ_g l_g / Σ_g n_g. The standard
    error of L(best) - L(K) is that over documents, paired: the same documents are hard for every K,

        SE² = G/(G - 1) · Σ_g (d_g - n_g · Σd/Σn)² / (Σn)² + (s²(best) + s²(K)) / S,   d_g = l_g(best) - l_g(K),

    the ratio estimate's, plus that over seeds, with s²(K) the variance of L over the S seeds.

    A range with steps is compared as it is. Without, and for `auto` (`Range()`), K doubles from 5, or from the low end, until
    two in a row have a lower score than the best so far; then numbers halfway, by ratio, between the chosen and its
    neighbours are added, twice. `auto` goes up to 640, ten documents and 200 tokens a topic.

    Stability is measured as in Greene et al. 2014, with the overlap of the ten terms for their average Jaccard: topics of
    two fits are matched one to one so that they have most terms in common.

    Args:
        tokens: corpus.
        fitter: the kind of model, and how it is fitted.
        wanted: numbers of topics; execution: the seed that those of the fits come from, and their threads.
        seeds: S, fits of each K; their seeds are `run_seeds`.
        share: of the documents, held out; more where these are under 50, up to a third.
        guidance, weights: of LDA, over all tokens.
        known: scores by (K, seed) that an earlier call gave to `done`, with the same arguments: they are not fitted again.
        done: called with K, seed and scores of each new fit, in this order, in the caller's thread.

    Raises:
        UsageError: fewer than 20 documents of two tokens; fewer than two numbers of topics, more than 100 or one of more topics
            than tokens; other options out of range; known scores of another corpus.

    Source: Wallach et al. (2009), section 5.3, for document completion. That held-out likelihood alone asks for more topics
    than people find useful: Chang et al. (2009).
    """
    if seeds < 1 or not 0 < share <= 0.5:
        raise UsageError(f"a comparison needs one seed or more and a held-out share up to 0.5; got {seeds}, {share}")
    corpus = split_corpus(tokens, share, execution.seed, guidance, weights)
    n_guided = 1 if guidance is None else max(len(guidance.names), 1)
    grid = grid_of(wanted, corpus.train.n_docs, len(corpus.train.term_ids), n_guided)
    fits: dict[int, list[Scores]] = {}

    def table(numbers: Iterable[int]) -> list[Row]:
        jobs = [(K, seed) for K in numbers for seed in run_seeds(execution.seed, seeds)]
        scored = score_fits(corpus, jobs, fitter, threads=execution.n_threads(), known=known or {}, done=done)
        for (K, _), scores in zip(jobs, scored, strict=True):
            fits.setdefault(K, []).append(scores)
        return compare(fits)

    if wanted.step is not None:
        rows = table(grid)
    else:
        worse = 0
        for K in grid:
            rows = table([K])
            worse = 0 if rows[-1].score >= max(row.score for row in rows) else worse + 1
            if worse == WORSE_IN_A_ROW:
                break
        for _ in range(ROUNDS):
            rows = table(halfway(rows, max(wanted.low, n_guided)))
    chosen = next(row for row in rows if row.chosen)
    return TopicChoice(
        chosen.n_topics,
        tuple(rows),
        _reason(rows),
        runner_ups(rows),
        _note(rows),
        corpus.observed.n_docs,
        sum(corpus.n_tokens),
        seeds,
    )


def grid_of(wanted: Range, n_docs: int, n_tokens: int, n_guided: int = 1) -> list[int]:
    """Return the numbers of topics to compare, ascending: those of a range with steps, else the coarse grid.

    Args:
        n_docs, n_tokens: of the corpus that is fitted.
        n_guided: topics that are guided; there must be at least as many.

    Raises:
        UsageError: fewer than two numbers, more than 100, or one out of range.
    """
    low, high = max(wanted.low, n_guided), wanted.high
    if wanted.step is not None and high is not None:
        grid = list(range(wanted.low, high + 1, wanted.step))
        if len(grid) > MOST:
            raise UsageError(
                f"`k={wanted.low}:{high}:{wanted.step}` compares {len(grid):,} numbers of topics; give a larger step, for at "
                f"most {MOST}, or leave it out"
            )
    elif high is None:
        high = max(min(LAST, n_docs // DOCS_PER_TOPIC, n_tokens // TOKENS_PER_TOPIC), low + 2)
        grid = _doubled(max(low, FIRST) if high >= 4 * FIRST else low, high)
    else:
        grid = _doubled(low, high)
        grid += [high] if grid and grid[-1] < high else []
    limit = min(n_tokens, MAX_TOPICS)
    if len(grid) < 2:
        raise UsageError(
            f"only {grid[0] if grid else 'no'} number of topics is in the range of `k`; a comparison needs two, or give one, `k=N`",
            parameter="k",
        )
    if grid[0] < n_guided or grid[-1] > limit:
        raise UsageError(
            f"numbers of topics from {grid[0]} to {grid[-1]} cannot be compared here: at least {n_guided} topics are given, and "
            f"{limit:,} are the most for {n_tokens:,} tokens; give another range to `k`",
            parameter="k",
        )
    return grid


def _doubled(low: int, high: int) -> list[int]:
    return [low << i for i in range(max(high, 1).bit_length()) if low << i <= high]


def halfway(rows: Sequence[Row], low: int) -> list[int]:
    """Return the numbers halfway, by ratio, from the chosen to its neighbours, as far as they are new.

    Below the lowest number lies `low`.
    """
    tried = [row.n_topics for row in rows]
    middles = set()
    for at, row in enumerate(rows):
        if row.chosen:
            neighbours = [tried[at - 1] if at else low, tried[min(at + 1, len(tried) - 1)]]
            middles |= {round(math.sqrt(row.n_topics * other)) for other in neighbours}
    return sorted(middles - set(tried))


def compare(fits: Mapping[int, Sequence[Scores]]) -> list[Row]:
    """Return the table of K, ascending, the best and the chosen one marked; see `choose_topics`.

    Args:
        fits: scores of the fits of each K, one for each seed.

    Raises:
        UsageError: the scores are not of the same held-out documents.
    """
    if len({scores.n_tokens for several in fits.values() for scores in several}) != 1:
        raise UsageError("the known scores belong to another corpus or to other held-out documents; leave them out")
    n = np.array(next(iter(fits.values()))[0].n_tokens, np.float64)
    by_seed = {K: np.array([s.log_likelihood for s in fits[K]]) for K in sorted(fits)}
    by_group = {K: values.mean(axis=0) for K, values in by_seed.items()}
    mean = {K: float(values.sum() / n.sum()) for K, values in by_group.items()}
    best = max(mean, key=lambda K: (mean[K], -K))

    def behind_se(K: int) -> float:
        if best == K:
            return 0.0
        of_seeds = sum(_variance(by_seed[j].sum(axis=1) / n.sum()) for j in (K, best)) / len(by_seed[K])
        return math.sqrt(_ratio_se(by_group[best] - by_group[K], n) ** 2 + of_seeds)

    errors = {K: behind_se(K) for K in mean}
    rows = []
    for K, several in sorted(fits.items()):
        se = _ratio_se(by_group[K], n)
        rows.append(
            Row(
                n_topics=K,
                perplexity=math.exp(-mean[K]),
                perplexity_se=math.exp(-mean[K]) * se,
                log_likelihood=mean[K],
                se=se,
                behind=mean[best] - mean[K],
                behind_se=errors[K],
                npmi=mean_of_known([s.npmi for s in several]),
                diversity=mean_of_known([s.diversity for s in several]),
                exclusivity=mean_of_known([s.exclusivity for s in several]),
                stability=stability([np.array(s.top_terms, np.int32) for s in several]),
                small_topics=mean_of_known([s.small_topics for s in several]),
                score=math.nan,
                best=best == K,
            )
        )
    total = total_scores(rows)
    most = max(total)
    chosen = next(i for i, score in enumerate(total) if score >= most)
    return [replace(row, score=total[i], chosen=i == chosen) for i, row in enumerate(rows)]


def total_scores(rows: Sequence[Row]) -> list[float]:
    """Return the score of each number of topics, in [0, 1]: the mean of three parts.

        held-out log-likelihood  ·  NPMI  ·  mean of stability, exclusivity and the share of topics that are not small

    Each is first put on a scale from 0, the worst of the numbers compared, to 1, the best: the first rises with K on most
    corpora, the third falls, and NPMI has its peak between. What all have alike is 1 for all, what is not known 0, and what
    no number has does not count. No weight was fitted; of the eight such means that were tried on seven labelled corpora this
    uses all of the evidence and was within 0.003 AMI of the best one
    (docs/explanation/how-k-is-chosen.md).

    Rounded to nine digits, so that the last bit of a sum does not separate equal evidence.
    """
    steady = [
        _scaled([row.stability for row in rows]),
        _scaled([row.exclusivity for row in rows]),
        _scaled([1.0 - row.small_topics for row in rows]),
    ]
    parts = [_scaled([row.log_likelihood for row in rows]), _scaled([row.npmi for row in rows]), _mean(steady)]
    return [round(value, 9) for value in _mean(parts) or [0.0] * len(rows)]


def _scaled(values: Sequence[float]) -> list[float] | None:
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return None
    low, high = min(known), max(known)
    if high - low < 1e-12:
        return [0.0 if math.isnan(value) else 1.0 for value in values]
    return [0.0 if math.isnan(value) else (value - low) / (high - low) for value in values]


def _mean(parts: Sequence[list[float] | None]) -> list[float] | None:
    known = [part for part in parts if part is not None]
    return [math.fsum(values) / len(values) for values in zip(*known, strict=True)] if known else None


def _ratio_se(values: FloatArray, n: FloatArray) -> float:
    """Return the standard error of Σ values / Σ n over groups (Cochran 1977, section 6.4); 0 for one group."""
    if len(values) < 2:
        return 0.0
    off = values - n * (values.sum() / n.sum())
    return math.sqrt(len(n) / (len(n) - 1) * float(np.sum(off * off))) / float(n.sum())


def _variance(values: FloatArray) -> float:
    return float(values.var(ddof=1)) if len(values) > 1 else 0.0


def _rule(rows: Sequence[Row]) -> str:
    """Return what the score is the mean of; one fit of each number has no stability."""
    several = any(not math.isnan(row.stability) for row in rows)
    steady = "stability with exclusivity and few small topics" if several else "exclusivity with few small topics"
    return f"the mean of held-out log-likelihood, NPMI, and {steady}, each from 0 (worst here) to 1"


def _reason(rows: Sequence[Row]) -> str:
    chosen, best = (next(row for row in rows if getattr(row, mark)) for mark in ("chosen", "best"))
    likelihood = "" if chosen is best else f"; held-out perplexity alone is lowest with {best.n_topics}"
    return f"{chosen.n_topics} topics have the highest score, {chosen.score:.3f}: {_rule(rows)}{likelihood}"


def _note(rows: Sequence[Row]) -> str:
    if rows[-1].chosen:
        return f"the score is highest at {rows[-1].n_topics} topics, the most that were tried: a larger K might be better still"
    if rows[0].chosen:
        return f"the score is highest at {rows[0].n_topics} topics, the fewest that were tried: a smaller K might be better still"
    return ""


_VIRTUES = {
    "perplexity": "lowest perplexity",
    "npmi": "highest NPMI",
    "stability": "most stable over seeds",
    "exclusivity": "most exclusive words",
    "diversity": "most diverse words",
}


def runner_ups(rows: Sequence[Row], n: int = 2) -> tuple[tuple[int, str], ...]:
    """Return the n other numbers of topics of the highest score, and in what each is the best of all that were compared."""
    chosen = next(row for row in rows if row.chosen)
    ranked = sorted((row for row in rows if row is not chosen), key=lambda row: (-row.score, row.n_topics))
    return tuple((row.n_topics, _speaks_for(row, chosen, rows)) for row in ranked[:n])


def _leads(row: Row, field: Sequence[Row], name: str) -> bool:
    """Return whether a row alone has the best value of a score."""
    sign = -1.0 if name == "perplexity" else 1.0
    mine = sign * getattr(row, name)
    return all(other is row or not sign * getattr(other, name) >= mine for other in field) and not math.isnan(mine)


def _speaks_for(row: Row, chosen: Row, rows: Sequence[Row]) -> str:
    first = [name for name in _VIRTUES if _leads(row, rows, name)]
    better = [name for name in _VIRTUES if name not in first and _leads(row, [chosen], name)]
    reasons = [f"{_VIRTUES[name]} of all ({_short(row, name)} against {_short(chosen, name)})" for name in first]
    if better:
        values = ", ".join(
            f"{name.replace('npmi', 'NPMI')} {_short(row, name)} against {_short(chosen, name)}" for name in better
        )
        reasons.append(f"better than the chosen in {values}")
    return "; ".join([f"next in score, {row.score:.3f}", *reasons])


def _short(row: Row, name: str) -> str:
    value = getattr(row, name)
    return f"{value:,.1f}" if name == "perplexity" else f"{value:.3f}"
