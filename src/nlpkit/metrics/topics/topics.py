"""The scores of topics: coherence on a reference corpus, diversity, and the agreement of several models.

Parts, in this order:
- Where the words of topics stand in a corpus whose vocabulary grows while it is read.
- Coherence, and how different the topics are.
- How much the topics of several models agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.intervals import (
    Comparison,
    Statistic,
    compare_means,
    independent_comparison,
    jackknife_comparison,
    pair_mean_of,
)
from nlpkit.metrics.options import EvaluationOptions
from nlpkit.metrics.results import Evaluation, ScoreDifference, TargetResult, detail_table
from nlpkit.metrics.score import Score, Uncertainty, mean_score, statistic_score
from nlpkit.metrics.topics.coherence import CoherenceMeasure, absent_words, coherence, measure
from nlpkit.metrics.topics.diversity import (
    jaccard_matrix,
    mean_pairwise,
    rbo_matrix,
    unique_share_by_topic,
    unique_share_of,
)
from nlpkit.metrics.topics.stability import Stability, common_term_ids, compare_models
from nlpkit.metrics.topics.window_counts import WindowCounts
from nlpkit.platform import reporting, wording
from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray


class Places:
    """Translates the growing term ids of a corpus into those of a list of words, -1 for words that are not in it.

    The n-grams of a corpus stand behind the words of their document, where no window holds them: they are left out, and those
    of the list are put behind the last of their words.
    """

    def __init__(self, words: Sequence[str]) -> None:
        grams = {tuple(word.split(" ")): i for i, word in enumerate(words) if " " in word}
        parts = {part: i for i, part in enumerate(sorted({part for gram in grams for part in gram}))}
        self._numbers = ({word: i for i, word in enumerate(words) if " " not in word}, parts)
        self._grams = {tuple(parts[part] for part in gram): i for gram, i in grams.items()}
        self._places = np.zeros((3, 0), np.int32)  # of a term: among the words, among parts of n-grams; 1 for an n-gram

    def translate(self, offsets: LongArray, ids: IntArray, terms: Sequence[str]) -> tuple[LongArray, IntArray]:
        """Return offsets (D_b+1,) and the place of each token (N,), int32."""
        known = self._places.shape[1]
        if len(terms) > known:
            new = [[number.get(term, -1) for term in terms[known:]] for number in self._numbers]
            grams = [int(" " in term) for term in terms[known:]]
            self._places = np.concatenate([self._places, np.array([*new, grams], np.int32)], axis=1)
        if not self._grams and not self._places[2].any():
            return offsets, self._places[0][ids]
        words = self._places[2][ids] == 0
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(words)])
        return insert_ngrams(before[offsets], self._places[0][ids[words]], self._places[1][ids[words]], self._grams)


def insert_ngrams(
    offsets: LongArray, places: IntArray, parts: IntArray, grams: Mapping[tuple[int, ...], int]
) -> tuple[LongArray, IntArray]:
    """Return documents with n-grams put behind the last of their words: offsets (D+1,), places (N + inserted,) int32.

    Args:
        offsets, places: (D+1,), (N,) of the documents.
        parts: (N,) number of each token among the words of n-grams, -1 for others.
        grams: place of each n-gram, by the numbers of its words.
    """
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    base = int(parts.max(initial=0)) + 1
    ends, hits = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    for n in sorted({len(gram) for gram in grams}):
        known = {
            sum(part * base ** (n - 1 - j) for j, part in enumerate(g)): i
            for g, i in grams.items()
            if len(g) == n and max(g) < base
        }
        if not known or len(parts) < n:
            continue
        columns = np.lib.stride_tricks.sliding_window_view(parts, n).astype(np.int64)
        starts = np.flatnonzero((columns >= 0).all(axis=1) & (document[: len(columns)] == document[n - 1 :]))
        keys = columns[starts] @ (base ** np.arange(n - 1, -1, -1, dtype=np.int64))
        table = np.array(sorted(known), np.int64)
        at = np.minimum(np.searchsorted(table, keys), len(table) - 1)
        hit = table[at] == keys
        ends.append(starts[hit] + n)
        hits.append(np.array([known[key] for key in table.tolist()], np.int32)[at[hit]])
    where = np.concatenate(ends)
    order = np.argsort(where, kind="stable")
    behind = np.searchsorted(where[order], offsets, side="right")
    return offsets + behind, np.insert(places, where[order], np.concatenate(hits)[order]).astype(np.int32)


# ------------------------------------------------------------------------------------------------------------------------
# Scores of topics: coherence on a reference corpus, and how different the topics are.

COMPARED = ("coherence", "vectors", "distinctness", "significance")
RBO_P = 0.9
MANY_ABSENT = 0.2


@dataclass(frozen=True, slots=True)
class TopicSet:
    """Topics to score: the words of each, best first.

    names: number or label of each topic; weights: of the words, () when unknown; notes: what is unusual about the topics.
    """

    name: str
    kind: str
    topics: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    weights: tuple[FloatArray, ...] = ()
    notes: tuple[str, ...] = ()

    def ids(self, n: int) -> tuple[IntArray, tuple[str, ...]]:
        """Return the first n words of each topic as (K, n) int32, -1 for none, into the words returned beside them."""
        (ids,), terms = common_term_ids([self.topics], n=n)
        return ids, terms


@dataclass(frozen=True, slots=True)
class ReferenceStats:
    """A corpus in which words were counted. inputs: its files, each with path, rows and sha256; tokens: where its words come from."""

    inputs: tuple[Any, ...]
    n_docs: int
    n_tokens: int
    tokens: str

    def to_dict(self) -> dict[str, Any]:
        """Return the corpus as values that go into JSON."""
        files = [{"path": i.path, "rows": i.rows, "sha256": i.sha256} for i in self.inputs]
        return {"inputs": files, "documents": self.n_docs, "n_tokens": self.n_tokens, "tokens": self.tokens}


@dataclass(frozen=True, slots=True)
class WindowCountsByMeasure:
    """Counts of the words of one target for each measure, by its name, and the reference they were counted in."""

    counts: dict[str, WindowCounts]
    reference: ReferenceStats


def add_coherence(
    result: TargetResult,
    counted: WindowCountsByMeasure,
    names: Sequence[str],
    options: EvaluationOptions,
    uncertainty: Uncertainty,
) -> dict[str, Statistic]:
    """Add coherence scores to a result, and return each as a statistic of groups of documents where these were counted."""
    facts, absent = counted.reference.to_dict(), absent_words(next(iter(counted.counts.values())))
    result.facts["reference"] = facts
    if absent:
        result.facts["absent_words"] = absent
        n_words = len(next(iter(counted.counts.values())).plan.words)
        share = len(absent) / n_words
        line = f"{len(absent):,} of {n_words:,} top words are not in the reference: {wording.listed(absent, 8)}"
        result.notes.append(line + ("; scores on such a reference say little" if share > MANY_ABSENT else ""))
    statistics: dict[str, Statistic] = {}
    for name in names:
        definition = measure(name, window=options.window_size(), compat=options.compat)
        counts = counted.counts[name]
        parameters = {**definition.describe(), "top_n": options.depths(), "absent": options.absent}
        values = _values(counts.total(), definition, options)
        if options.ci_over == "documents" and uncertainty.level is not None:
            statistic = _over_groups(counts, definition, options)
            statistics[name] = statistic
            units = (counts.n_windows > 0).astype(np.int64)  # a small corpus leaves groups without documents
            score = statistic_score(
                METRICS[name],
                statistic,
                units,
                uncertainty,
                over="groups of documents",
                parameters=parameters,
                jackknife=True,
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
            score = mean_score(METRICS[name], values, uncertainty, parameters=parameters)
        result.add(score)
    return statistics


def _values(counts: WindowCounts, definition: CoherenceMeasure, options: EvaluationOptions) -> FloatArray:
    """Return the coherence of each topic (K,), the mean over the numbers of top words; NaN where one is not defined."""
    rows = [coherence(counts, definition, top_n=n, absent=options.absent_rule()) for n in options.depths()]
    return np.asarray(np.mean(rows, axis=0), np.float64)


def _over_groups(counts: WindowCounts, definition: CoherenceMeasure, options: EvaluationOptions) -> Statistic:
    def statistic(weights: FloatArray) -> FloatArray:
        out = np.empty(len(weights))
        for i, row in enumerate(weights):
            values = _values(counts.resampled(row), definition, options)
            defined = values[np.isfinite(values)]
            out[i] = defined.mean() if len(defined) else np.nan
        return out

    return statistic


# score → the similarity or difference of each pair of topics (K, K), given their top words, and what it is computed with
PAIRWISE: dict[str, tuple[Callable[[IntArray], FloatArray], dict[str, Any]]] = {
    "inverted_rbo": (lambda ids: 1 - rbo_matrix(ids, p=RBO_P), {"p": RBO_P}),
    "jaccard": (jaccard_matrix, {}),
}


def add_diversity(
    result: TargetResult, target: TopicSet, names: Sequence[str], n: int, uncertainty: Uncertainty
) -> None:
    """Add scores of how different the topics are from each other."""
    ids, _ = target.ids(n)
    full: BoolArray = np.asarray((ids >= 0).any(axis=1))
    for name in names:
        metric, one = METRICS[name], "there is only one topic with words"
        if name == "diversity":
            shares = unique_share_by_topic(ids)
            # left out, not drawn: a topic drawn twice shares all of its words, and one that goes gives words back to others
            score = statistic_score(
                metric, unique_share_of(ids[full]), np.ones(int(full.sum()), np.int64), uncertainty, over="topics",
                parameters={"top_n": [n]}, values=shares, why="no topic has words", jackknife=True,
            )  # fmt: skip
            result.add(score)
            continue
        matrix_of, settings = PAIRWISE[name]
        matrix = matrix_of(ids)
        parameters: dict[str, Any] = {"top_n": [n], **settings}
        kept = matrix[np.ix_(full, full)]
        per_topic = np.full(len(full), np.nan)
        if len(kept) > 1:
            per_topic[full] = mean_pairwise(kept)[1]
        statistic, units = pair_mean_of(kept), np.ones(len(kept), np.int64)
        if len(kept) < 2:
            result.add(Score(metric, None, "pairs of topics", 0, parameters, per_topic, why=one))
            continue
        score = statistic_score(
            metric, statistic, units, uncertainty, over="topics", parameters=parameters, values=per_topic
        )
        result.add(replace(score, over="pairs of topics", n=len(kept) * (len(kept) - 1) // 2))


def compare_topics(
    results: Sequence[TargetResult],
    counted: Sequence[WindowCountsByMeasure | None],
    statistics: Sequence[dict[str, Statistic]],
    uncertainty: Uncertainty,
) -> list[ScoreDifference]:
    """Compare each target with the first: paired over documents where both were counted on the same ones, else over topics."""
    if uncertainty.level is None:
        return []
    out, first = [], results[0]
    for i, second in enumerate(results[1:], start=1):
        here, there = counted[0], counted[i]
        same = here is not None and there is not None and here.reference == there.reference
        for name, score in first.scores.items():
            other = second.scores.get(name)
            if other is None or score.value is None or other.value is None or score.metric.group not in COMPARED:
                continue
            elsewhere = score.metric.group == "vectors" and score.parameters != other.parameters
            if elsewhere or (score.metric.group == "coherence" and not same):
                out.append(
                    ScoreDifference(name, first.name, second.name, Comparison(score.value - other.value, None, None))
                )
                continue
            if name in statistics[0] and name in statistics[i] and same and here is not None:
                units = (here.counts[name].n_windows > 0).astype(np.int64)
                comparison = jackknife_comparison(
                    statistics[0][name], statistics[i][name], units, level=uncertainty.level, over="groups of documents"
                )
            elif name in ("diversity", "interpretability"):
                comparison = independent_comparison(score.value, score.interval, other.value, other.interval)
            elif score.values is not None and other.values is not None and score.over == other.over == "topics":
                comparison = compare_means(score.values, other.values, level=uncertainty.level, seed=uncertainty.seed)
            else:
                comparison = Comparison(score.value - other.value, None, None)
            out.append(ScoreDifference(name, first.name, second.name, comparison))
    if results[1:] and any(c is not None for c in counted):
        seen = {c.reference for c in counted if c is not None}
        if len(seen) > 1:
            reporting.warn(
                "the targets use different corpora, or the same corpus with other tokens, so their coherences "
                "cannot be compared; give one `reference` with a column tokens (`preprocess()`)"
            )
    return out


# ------------------------------------------------------------------------------------------------------------------------
# How much the topics of several models agree.

SHOWN_TOPICS = 30
SHOWN_WORDS = 5


def add_stability(
    evaluation: Evaluation, targets: Sequence[TopicSet], names: Sequence[str], n: int, uncertainty: Uncertainty
) -> None:
    """Add the agreement of several models: the mean over all pairs of them, and of each topic of the first.

    Raises:
        UsageError: there is only one model; InputError: one has no topics.
    """
    if len(targets) < 2:
        raise UsageError("`stability` compares several models: name two or more, such as runs with other seeds")
    for target in targets:
        if not any(target.topics):
            raise InputError(f"{target.name} has no topics to compare")
    models, _ = common_term_ids([target.topics for target in targets], n=n)
    agreement = compare_models(models, p=RBO_P)
    pairs = np.triu_indices(len(targets), 1)
    similarities = {"s_clop": agreement.sclop, "matched_jaccard": agreement.jaccard, "matched_rbo": agreement.rbo}
    for name in names:
        parameters: dict[str, Any] = {"models": len(targets), "top_n": [n]}
        parameters |= {"p": RBO_P} if name == "matched_rbo" else {}
        score = mean_score(
            METRICS[name], similarities[name][pairs], uncertainty, over="pairs of models", parameters=parameters
        )
        evaluation.shared[name] = score
    _add_matches(evaluation, targets, agreement)


def _add_matches(evaluation: Evaluation, targets: Sequence[TopicSet], agreement: Stability) -> None:
    """Add the agreement of each pair of models, and the topics matched with those of the first."""
    first, R = targets[0], len(targets)
    evaluation.facts["stability"] = {
        "models": [target.name for target in targets],
        **{
            name: [[finite_or_none(value) for value in row] for row in getattr(agreement, name).tolist()]
            for name in ("sclop", "jaccard", "rbo", "average_jaccard")
        },
        "matched_topics": [
            {
                "topic": first.names[k],
                "mean_similarity": float(agreement.by_topic[k]),
                "matches": [
                    {
                        "model": targets[r].name,
                        "topic": targets[r].names[agreement.matches[k, r]] if agreement.matches[k, r] >= 0 else None,
                        "jaccard": float(agreement.similarity[k, r]),
                    }
                    for r in range(1, R)
                ],
            }
            for k in range(len(first.topics))
        ],
        "unmatched": {
            target.name: [target.names[k] for k in unmatched]
            for target, unmatched in zip(targets, agreement.unmatched, strict=True)
        },
    }
    rows: list[list[Any]] = []
    for k in np.argsort(-agreement.by_topic, kind="stable")[:SHOWN_TOPICS]:
        partners = []
        for r in range(1, min(R, 4)):
            j = agreement.matches[k, r]
            words = "" if j < 0 else " ".join(targets[r].topics[j][:SHOWN_WORDS])
            partners.append("–" if j < 0 else f"{targets[r].names[j]} ({agreement.similarity[k, r]:.2f}) {words}")
        words = " ".join(first.topics[k][:SHOWN_WORDS])
        rows.append([first.names[k], float(agreement.by_topic[k]), words, *partners])
    columns = ("topic", "agreement", first.name, *(target.name for target in targets[1:4]))
    title = "Matched topics, by the Jaccard similarity of their top words"
    evaluation.tables[title] = detail_table(columns, rows)
