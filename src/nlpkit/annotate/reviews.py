"""Reviews of the topics of a run by several people: how far they agree, on what not, and one file of edits of what all decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics import agreement as agree
from nlpkit.metrics.files import read_gates
from nlpkit.metrics.labels.coders import agreement_scores
from nlpkit.metrics.options import GateOptions, IntervalOptions
from nlpkit.metrics.results import Evaluation, TargetResult, detail_table
from nlpkit.metrics.score import Uncertainty
from nlpkit.platform import reporting, wording
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.types import FloatArray
from nlpkit.topics.edit.edits import JUDGEMENTS, EditPlan, TopicWords, plan_edits
from nlpkit.topics.edit.files import quoted, read_edits, topic_lines

FEW_TOPICS = 300  # beyond which pairs of topics are not compared one by one
OTHERS = ("reduce", "max_outliers", "stop_words", "pin", "reorder")  # edits of no single topic


@dataclass(frozen=True, slots=True)
class Review:
    """What a coder decided on the topics of a run."""

    coder: str
    plan: EditPlan

    @property
    def groups(self) -> dict[int, frozenset[int]]:
        """The topics that each merged topic becomes one with, itself among them."""
        return {topic: frozenset(group) for group in self.plan.merge for topic in group}

    def merged(self, topic: int) -> str:
        """Return the topics that one becomes one with, as people write it: 2 + 5, or alone."""
        group = self.groups.get(topic, frozenset((topic,)))
        return " + ".join(map(str, sorted(group))) if len(group) > 1 else "alone"


@dataclass(frozen=True, slots=True)
class ReviewAgreement:
    """How far reviews agree.

    evaluation: the scores by kind of decision. disagreements: topic, decision, and what each coder decided (a column each).
    agreed: edits that all coders made, as a file of edits has them; open: by topic, what they differ in.
    """

    evaluation: Evaluation
    disagreements: pa.Table
    reviews: tuple[Review, ...]
    topics: tuple[TopicWords, ...]
    open: Mapping[int, Sequence[str]] = field(default_factory=dict)

    def joined(self) -> str:
        """Return a file of edits, in TOML: what all coders decided, and what is open, by topic."""
        return "\n".join(_joined_lines(self)) + "\n"


def review_agreement(
    files: Sequence[str | Path],
    *,
    gates: GateOptions | None = None,
    intervals: IntervalOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> ReviewAgreement:
    """Return how far people agree who reviewed the topics of one run, each with a file of edits.

    Judgements and hidden topics are labels of topics. Merges are labels of pairs of topics: together or apart. `alpha` is
    Krippendorff's, `cohen_kappa` the mean of all pairs of coders.

    Args:
        files: two or more, as the Review part of a report saves them; they name the topics of the run.
        settings: fields of GateOptions, IntervalOptions and Execution, such as ci=0.9.

    Raises:
        UsageError: fewer than two files; InputError: one cannot be read, contradicts itself, or is of other topics.

    Example:
        >>> from pathlib import Path
        >>> topics = '[topics]\\n0 = { name = "a", words = ["a", "b"] }\\n1 = { name = "c", words = ["c", "d"] }\\n'
        >>> _ = Path("ann.toml").write_text('[judgements]\\n0 = "junk"\\n1 = "mixed"\\n' + topics)
        >>> _ = Path("bob.toml").write_text('[judgements]\\n0 = "junk"\\n1 = "junk"\\n' + topics)
        >>> nk.review_agreement(["ann.toml", "bob.toml"]).disagreements.to_pylist()
        [{'topic': 1, 'name': 'c', 'decision': 'judgement', 'ann': 'mixed', 'bob': 'junk'}]
    """
    records = (gates, intervals, execution)
    gates, intervals, execution = with_settings(records, settings, (GateOptions, IntervalOptions, Execution))
    rules, uncertainty = read_gates(gates), Uncertainty(intervals.level(), execution.seed)
    reviews, topics = _read(files)
    rows = list(_disagreements(reviews, topics))
    names = [review.coder for review in reviews]
    table = detail_table(["topic", "name", "decision", *names], rows)
    results = [
        _result(name, units, ratings, names, uncertainty) for name, units, ratings in _ratings(reviews, len(topics))
    ]
    evaluation = Evaluation(results)
    evaluation.tables = {"By judgement": _by_judgement(reviews, len(topics)), "Disagreements": table}
    evaluation.gates = rules.check(evaluation)
    undecided: dict[int, list[str]] = {}
    for topic, _, decision, *values in rows:
        decided = ", ".join(f"{coder} {value}" for coder, value in zip(names, values, strict=True))
        undecided.setdefault(topic, []).append(f"{decision}: {decided}")
    return ReviewAgreement(evaluation, table, tuple(reviews), topics, undecided)


def _read(files: Sequence[str | Path]) -> tuple[list[Review], tuple[TopicWords, ...]]:
    """Return the reviews of files, and the topics of the run that they are of."""
    if len(files) < 2:
        raise UsageError(
            "agreement needs the reviews of two people or more: name two files of edits", parameter="tables"
        )
    reviews: list[Review] = []
    topics: tuple[TopicWords, ...] = ()
    for path in map(Path, files):
        edits = read_edits(path)
        if sorted(edits.topics) != list(range(len(edits.topics))) or not edits.topics:
            raise InputError(f"{path}: [topics] does not list the topics of the run; save the edits in its report anew")
        present = tuple(edits.topics[k] for k in range(len(edits.topics)))
        if topics and present != topics:
            raise InputError(f"{path} and {files[0]} are reviews of different runs: their topics differ")
        topics = present
        coder = edits.coder or path.stem
        if coder in {review.coder for review in reviews}:
            raise InputError(f"{path}: there are two reviews by '{coder}'; write another `coder = ` into one of them")
        reviews.append(Review(coder, plan_edits(edits, present, file=str(path), run=str(path))))
    return reviews, topics


def _ratings(reviews: Sequence[Review], K: int) -> Iterator[tuple[str, str, FloatArray]]:
    """Yield kinds of decisions, what they are about, and the values (U, C), NaN for none."""
    judged = [[JUDGEMENTS.index(r.plan.judgements[k]) if r.plan.judgements.get(k) else np.nan for r in reviews]
              for k in range(K)]  # fmt: skip
    yield "judgement", "topics", np.array(judged, np.float64)
    hidden = [[float(k in (r.plan.hide or ()) or k in r.plan.drop) for r in reviews] for k in range(K)]
    yield "hidden or dropped", "topics", np.array(hidden, np.float64)
    if K > FEW_TOPICS:
        reporting.note(f"merges of {K} topics are compared by the list alone")
        return
    groups = [r.groups for r in reviews]
    pairs = [[float(b in group.get(a, ())) for group in groups] for a, b in combinations(range(K), 2)]
    yield "merges", "pairs of topics", np.array(pairs, np.float64).reshape(-1, len(reviews))


def _result(
    name: str, units: str, ratings: FloatArray, coders: Sequence[str], uncertainty: Uncertainty
) -> TargetResult:
    result = TargetResult(name, f"{len(ratings):,} {units}", unit="coder")
    result.units, result.unit_texts = list(coders), [""] * len(coders)
    for score in agreement_scores(ratings, "nominal", uncertainty, over=units).values():
        if score.name != "fleiss_kappa" or len(coders) > 2:
            result.add(score)
    if name != "judgement":  # most topics are neither hidden nor merged, so that all but a few agree
        either, both = int((ratings > 0).any(axis=1).sum()), int((ratings > 0).all(axis=1).sum())
        result.facts |= {"by_any": either, "by_all": both}
        result.notes.append(f"{both:,} of the {either:,} {units} that any coder chose, all coders chose")
    return result


def _by_judgement(reviews: Sequence[Review], K: int) -> pa.Table:
    """Return, for each judgement, how often it was given and by all, and agreement on it against the rest."""
    ratings = next(ratings for _, _, ratings in _ratings(reviews, K))
    rows = []
    for value, name in enumerate(JUDGEMENTS):
        is_it = np.where(np.isnan(ratings), np.nan, (ratings == value).astype(np.float64))
        times = int(np.nansum(is_it))
        alpha = agree.krippendorff_alpha(is_it, level="nominal") if times else float("nan")
        kappa = agree.mean_cohen(agree.pairwise_cohen(is_it, categories=[0.0, 1.0])) if times else float("nan")
        rows.append((name, times, int((is_it == 1).all(axis=1).sum()), kappa, alpha))
    return detail_table(("judgement", "given", "by all", "Cohen's kappa", "Krippendorff's alpha"), rows)


def _disagreements(reviews: Sequence[Review], topics: Sequence[TopicWords]) -> Iterator[tuple[Any, ...]]:
    """Yield topic, its name, a kind of decision and what each coder decided, where they differ."""
    reported: set[tuple[str, ...]] = set()
    for k, topic in enumerate(topics):
        plans = [review.plan for review in reviews]
        decisions = {
            "judgement": [plan.judgements.get(k) or "none" for plan in plans],
            "name": [plan.rename.get(k) or "as it is" for plan in plans],
            "merge": [review.merged(k) for review in reviews],
            "split": [f"{plan.split[k]} parts" if k in plan.split else "whole" for plan in plans],
            "show": [
                "dropped" if k in plan.drop else "hidden" if k in (plan.hide or ()) else "shown" for plan in plans
            ],
        }
        for decision, values in decisions.items():
            alike = [" ".join(value.split()).casefold() for value in values] if decision == "name" else values
            if len(set(alike)) == 1:
                continue
            if decision == "merge":  # the topics that any coder merges with others are told of once
                if tuple(values) in reported:
                    continue
                reported.add(tuple(values))
            yield (k, topic.name, decision, *values)


def _joined_lines(result: ReviewAgreement) -> Iterator[str]:
    """Yield the lines of the file of edits that all coders agree on."""
    reviews, K = result.reviews, len(result.topics)
    plans = [review.plan for review in reviews]
    names = [review.coder for review in reviews]
    n = sum(map(len, result.open.values()))
    yield f"# What {wording.listed(names, 10, between=' and ')} agree on; {wording.counted(n, 'decision')} open."
    yield "# To settle: open this file in the Review part of the report, or write here and delete the lines of [open]."
    yield f"coder = {quoted(' and '.join(names))}"
    groups = _common_groups(reviews, K)
    if groups:
        yield f"merge = {groups}"
    for name in OTHERS:
        values = [getattr(plan, name) for plan in plans]
        if any(value != values[0] for value in values[1:]):
            reporting.warn(f"left out: '{name}' differs between {wording.listed(names, 10)}")
        elif values[0] != next(f for f in fields(EditPlan) if f.name == name).default and values[0]:
            value = sorted(values[0]) if name == "pin" else values[0]
            yield f"{name} = {_toml(value)}"
    dropped = [k for k in range(K) if all(k in plan.drop for plan in plans)]
    hidden = [k for k in range(K) if all(k in (plan.hide or ()) for plan in plans)]
    if dropped:
        yield f"drop = {dropped}"
    if hidden or all(plan.hide is not None for plan in plans):
        yield f"hide = {hidden}"
    yield from _table("rename", {k: plans[0].rename[k] for k in range(K) if _same(plans, "rename", k, fold=True)})
    yield from _table("split", {k: plans[0].split[k] for k in range(K) if _same(plans, "split", k)})
    yield from _table("judgements", {k: plans[0].judgements[k] for k in range(K) if _same(plans, "judgements", k)})
    yield from _table("notes", {k: note for k in range(K) if (note := _notes(reviews, k))})
    yield from _table("open", {k: list(result.open[k]) for k in sorted(result.open)})
    yield ""
    yield from topic_lines(result.topics, [])


def _table(head: str, rows: Mapping[int, Any]) -> Iterator[str]:
    if rows:
        yield from ("", f"[{head}]", *(f"{k} = {_toml(value)}" for k, value in rows.items()))


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list | tuple) else str(value)


def _same(plans: Sequence[EditPlan], name: str, k: int, *, fold: bool = False) -> bool:
    """Return whether all coders decided the same on a topic, and something."""
    values = [getattr(plan, name).get(k) for plan in plans]
    if fold:
        values = [value and " ".join(value.split()).casefold() for value in values]
    return bool(values[0]) and all(value == values[0] for value in values)


def _notes(reviews: Sequence[Review], k: int) -> str:
    """Return the notes on a topic, with who wrote each where they differ."""
    notes = {review.coder: review.plan.notes.get(k, "") for review in reviews}
    if len(set(notes.values())) == 1:
        return next(iter(notes.values()))
    return "; ".join(f"{coder}: {note}" for coder, note in notes.items() if note)


def _common_groups(reviews: Sequence[Review], K: int) -> list[list[int]]:
    """Return the topics that all coders make one, those of each group in the order of the first coder."""
    groups = [review.groups for review in reviews]
    kept: dict[tuple[frozenset[int], ...], list[int]] = {}
    order = [*dict.fromkeys([*(k for group in reviews[0].plan.merge for k in group), *range(K)])]
    for k in order:
        key = tuple(group.get(k, frozenset((k,))) for group in groups)
        kept.setdefault(key, []).append(k)
    return [topics for topics in kept.values() if len(topics) > 1]
