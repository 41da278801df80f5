"""Scores of topics: coherence on a reference corpus, and how different the topics are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nlpkit import reporting
from nlpkit.cli.evaluate_reference import GROUPS, Reference, Seen, count_windows, need_reference, reference_of
from nlpkit.cli.evaluate_targets import TopicTarget
from nlpkit.errors import InputError
from nlpkit.evaluation.options import CiFlags, MetricFlags
from nlpkit.evaluation.results import ScoreDifference, TargetResult
from nlpkit.io.read_options import ReadOptions
from nlpkit.metrics.bootstrap import Comparison, Statistic, compare_means, pair_mean_of
from nlpkit.metrics.coherence_measures import Measure, absent_words, coherence, measure
from nlpkit.metrics.distinctness import (
    jaccard_matrix,
    mean_pairwise,
    rbo_matrix,
    unique_share_by_topic,
    unique_share_of,
)
from nlpkit.metrics.jackknife import independent_comparison, jackknife_comparison
from nlpkit.metrics.score import METRICS, Score, Uncertainty, mean_score, statistic_score
from nlpkit.metrics.windows import PairPlan, WindowCounter, WindowCounts, Windows, plan_pairs
from nlpkit.types import BoolArray, FloatArray

COMPARED = ("coherence", "vectors", "distinctness", "significance")
RBO_P = 0.9
MANY_ABSENT = 0.2


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of one target for each measure, by its name, and what the reference was."""

    counts: dict[str, WindowCounts]
    seen: Seen
    reference: Reference


def count_references(
    targets: Sequence[TopicTarget],
    names: Sequence[str],
    metric: MetricFlags,
    ci: CiFlags,
    given: Sequence[str] | None,
    read: ReadOptions,
    *,
    threads: int,
    optional: bool,
) -> list[Counted | None]:
    """Count the words of all targets in their references; each reference is read once.

    Args:
        names: of the coherence measures.
        optional: a target without a reference gets None.

    Raises:
        UsageError: a target has no reference; InputError: a reference cannot be used or holds none of the words.
    """
    groups = GROUPS if ci.ci_over == "documents" and ci.ci else 1
    measures = {name: measure(name, window=metric.windows(), compat=metric.compat) for name in names}
    deepest = metric.depths()[-1]
    references: dict[Reference, list[int]] = {}
    for i, target in enumerate(targets):
        try:
            reference = reference_of(target, given, targets)
        except InputError as error:
            if not optional:
                raise
            reporting.warn(f"no coherence of {target.name}: {error}")
            continue
        if reference is not None:
            references.setdefault(reference, []).append(i)
        elif not optional:
            raise need_reference(target, ", ".join(names))
    out: list[Counted | None] = [None] * len(targets)
    for reference, members in references.items():
        counters: dict[tuple[int, Windows, bool], tuple[PairPlan, WindowCounter]] = {}
        for i in members:
            words = [topic[:deepest] for topic in targets[i].topics]
            plans: dict[bool, PairPlan] = {}
            for how in measures.values():
                if how.all_pairs not in plans:
                    plans[how.all_pairs] = plan_pairs(words, all_pairs=how.all_pairs)
                counter = WindowCounter(plans[how.all_pairs], how.windows, groups=groups, threads=threads)
                counters.setdefault((i, how.windows, how.all_pairs), (plans[how.all_pairs], counter))
        found, seen = count_windows(reference, list(counters.values()), read, threads=threads)
        made = dict(zip(counters, found, strict=True))
        for i in members:
            own = {name: made[i, how.windows, how.all_pairs] for name, how in measures.items()}
            some = next(iter(own.values()))
            if len(absent_words(some)) == len(some.plan.words):
                raise InputError(
                    f"none of the {len(some.plan.words):,} words of {targets[i].name} is in the reference "
                    f"{reference.described()} ({seen.n_docs:,} documents, {seen.n_tokens:,} tokens); is it of the same language, "
                    "and are its words cut in the same way? Give another with --reference"
                )
            out[i] = Counted(own, seen, reference)
    return out


def add_coherence(
    result: TargetResult, counted: Counted, names: Sequence[str], metric: MetricFlags, ci: CiFlags, how: Uncertainty
) -> dict[str, Statistic]:
    """Add coherence scores to a result, and return each as a statistic of groups of documents where these were counted."""
    facts, absent = counted.seen.to_dict(), absent_words(next(iter(counted.counts.values())))
    result.facts["reference"] = facts
    if absent:
        result.facts["absent_words"] = absent
        n_words = len(next(iter(counted.counts.values())).plan.words)
        share = len(absent) / n_words
        shown = ", ".join(absent[:8]) + (" …" if len(absent) > 8 else "")
        line = f"{len(absent):,} of {n_words:,} top words are not in the reference: {shown}"
        result.notes.append(line + ("; scores on such a reference say little" if share > MANY_ABSENT else ""))
    statistics: dict[str, Statistic] = {}
    for name in names:
        how_counted = measure(name, window=metric.windows(), compat=metric.compat)
        counts = counted.counts[name]
        parameters = {**how_counted.describe(), "top_n": metric.depths(), "absent": metric.absent}
        values = _values(counts.total(), how_counted, metric)
        if ci.ci_over == "documents" and how.level is not None:
            statistic = _over_groups(counts, how_counted, metric)
            statistics[name] = statistic
            units = (counts.n_windows > 0).astype(np.int64)  # a small corpus leaves groups without documents
            score = statistic_score(
                METRICS[name], statistic, units, how, over="groups of documents", parameters=parameters, jackknife=True
            )
            defined = values[np.isfinite(values)]
            score = replace(
                score,
                values=values,
                n=len(defined),
                over="topics",
                median=float(np.median(defined)) if len(defined) else None,
            )
        else:
            score = mean_score(METRICS[name], values, how, parameters=parameters)
        result.add(score)
    return statistics


def _values(counts: WindowCounts, how: Measure, metric: MetricFlags) -> FloatArray:
    """Return the coherence of each topic (K,), the mean over the numbers of top words; NaN where one is not defined."""
    rows = [coherence(counts, how, top_n=n, absent=metric.absent_rule()) for n in metric.depths()]
    return np.asarray(np.mean(rows, axis=0), np.float64)


def _over_groups(counts: WindowCounts, how: Measure, metric: MetricFlags) -> Statistic:
    def statistic(weights: FloatArray) -> FloatArray:
        out = np.empty(len(weights))
        for i, row in enumerate(weights):
            values = _values(counts.resampled(row), how, metric)
            defined = values[np.isfinite(values)]
            out[i] = defined.mean() if len(defined) else np.nan
        return out

    return statistic


def add_diversity(result: TargetResult, target: TopicTarget, names: Sequence[str], n: int, how: Uncertainty) -> None:
    """Add scores of how different the topics are from each other."""
    ids, _ = target.ids(n)
    full: BoolArray = np.asarray((ids >= 0).any(axis=1))
    for name in names:
        metric, one = METRICS[name], "there is only one topic with words"
        if name == "diversity":
            shares = unique_share_by_topic(ids)
            # left out, not drawn: a topic drawn twice shares all of its words, and one that goes gives words back to others
            score = statistic_score(
                metric, unique_share_of(ids[full]), np.ones(int(full.sum()), np.int64), how, over="topics",
                parameters={"top_n": [n]}, values=shares, why="no topic has words", jackknife=True,
            )  # fmt: skip
            result.add(score)
            continue
        matrix = jaccard_matrix(ids) if name == "jaccard" else 1 - rbo_matrix(ids, p=RBO_P)
        parameters: dict[str, Any] = {"top_n": [n]} if name == "jaccard" else {"top_n": [n], "p": RBO_P}
        kept = matrix[np.ix_(full, full)]
        per_topic = np.full(len(full), np.nan)
        if len(kept) > 1:
            per_topic[full] = mean_pairwise(kept)[1]
        statistic, units = pair_mean_of(kept), np.ones(len(kept), np.int64)
        if len(kept) < 2:
            result.add(Score(metric, None, "pairs of topics", 0, parameters, per_topic, why=one))
            continue
        score = statistic_score(metric, statistic, units, how, over="topics", parameters=parameters, values=per_topic)
        result.add(replace(score, over="pairs of topics", n=len(kept) * (len(kept) - 1) // 2))


def compare_topics(
    results: Sequence[TargetResult],
    counted: Sequence[Counted | None],
    statistics: Sequence[dict[str, Statistic]],
    how: Uncertainty,
) -> list[ScoreDifference]:
    """Compare each target with the first: paired over documents where both were counted on the same ones, else over topics."""
    if how.level is None:
        return []
    out, first = [], results[0]
    for i, second in enumerate(results[1:], start=1):
        here, there = counted[0], counted[i]
        same = here is not None and there is not None and here.seen == there.seen
        for name, score in first.scores.items():
            other = second.scores.get(name)
            if other is None or score.value is None or other.value is None or score.metric.group not in COMPARED:
                continue
            if score.metric.group == "coherence" and not same:
                out.append(
                    ScoreDifference(name, first.name, second.name, Comparison(score.value - other.value, None, None))
                )
                continue
            if name in statistics[0] and name in statistics[i] and same and here is not None:
                units = (here.counts[name].n_windows > 0).astype(np.int64)
                found = jackknife_comparison(
                    statistics[0][name], statistics[i][name], units, level=how.level, over="groups of documents"
                )
            elif name == "diversity":
                found = independent_comparison(score.value, score.interval, other.value, other.interval)
            elif score.values is not None and other.values is not None and score.over == other.over == "topics":
                found = compare_means(score.values, other.values, level=how.level, seed=how.seed)
            else:
                found = Comparison(score.value - other.value, None, None)
            out.append(ScoreDifference(name, first.name, second.name, found))
    if results[1:] and any(c is not None for c in counted):
        seen = {c.seen for c in counted if c is not None}
        if len(seen) > 1:
            reporting.warn(
                "the targets were held against different corpora, or the same one cut into other words: their coherences cannot be "
                "compared; give one --reference with a column tokens (nlpkit preprocess)"
            )
    return out
