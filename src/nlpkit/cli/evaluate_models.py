"""Topic models, as runs or as files of topics: which of their scores can be made, and all of them."""

from __future__ import annotations

from collections.abc import Sequence

from nlpkit import wording
from nlpkit.cli.evaluate_columns import run_columns, run_labelled
from nlpkit.cli.evaluate_fit import add_fit, compare_perplexity
from nlpkit.cli.evaluate_separation import add_separation
from nlpkit.cli.evaluate_significance import add_significance
from nlpkit.cli.evaluate_stability import add_stability
from nlpkit.cli.evaluate_targets import TopicTarget
from nlpkit.cli.evaluate_topics import (
    add_coherence,
    add_diversity,
    compare_topics,
    count_references,
)
from nlpkit.cli.evaluate_vectors import add_vector_scores, check_vectors
from nlpkit.cli.render.scores import SHOWN_WORDS
from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import InputError, UsageError, missing_column
from nlpkit.evaluation.clusters import add_clustering
from nlpkit.evaluation.comparisons import compare_labelled
from nlpkit.evaluation.labels import LabelledPredictions
from nlpkit.evaluation.options import CiFlags, MetricFlags, TargetFlags
from nlpkit.evaluation.results import Evaluation, TargetResult
from nlpkit.io.read_options import ReadOptions
from nlpkit.metrics.bootstrap import Statistic
from nlpkit.metrics.score import METRICS, Score, Uncertainty

DEFAULT = ("npmi", "c_v", "diversity", "inverted_rbo", "exclusivity", "perplexity_in_sample", "log_likelihood")
DEFAULT_LABELLED = ("ami", "purity", "inverse_purity")
NOT_OF_TOPICS = ("classification", "multilabel", "correlation", "regression", "spans", "calibration", "people")


def evaluate_models(
    targets: Sequence[TopicTarget],
    wanted: Sequence[str],
    asked: bool,
    target: TargetFlags,
    metric: MetricFlags,
    ci: CiFlags,
    how: Uncertainty,
    encoder: EncoderOptions,
    read: ReadOptions,
    *,
    threads: int,
) -> Evaluation:
    """Score topic models.

    Args:
        wanted: metrics to make at least; asked: only them.

    Raises:
        UsageError: a score cannot be of topics, or lacks an option; InputError: a target or a corpus cannot be used.
    """
    labels = [run_labelled(t, read.label_col) for t in targets]
    names = list(wanted)
    if not asked:
        names += [n for n in DEFAULT if n not in names]
        names += [n for n in DEFAULT_LABELLED if n not in names and any(own is not None for own in labels)]
    wrong = [n for n in names if n in METRICS and METRICS[n].group in NOT_OF_TOPICS]
    names = [n for n in names if n in METRICS and METRICS[n].group not in NOT_OF_TOPICS]
    wrong = [n for n in wrong if metric.named(n)] if names else wrong
    if wrong:
        raise UsageError(
            f"{', '.join(wrong)}: no score of topics but of tables with labels and predictions, or of answers"
        )
    # of a group all that can be made is made; what was named is made, or an error
    left_out = [n for n in names if METRICS[n].group == "vectors" and not metric.vectors and not metric.named(n)]
    left_out += [
        n
        for n in names
        if METRICS[n].group == "stability" and len(targets) < 2 and not metric.stability and len(names) > 3
    ]
    groups = {
        g: [n for n in names if METRICS[n].group == g and n not in left_out]
        for g in dict.fromkeys(m.group for m in METRICS.values())
    }
    if metric.compat not in (None, "palmetto") and not metric.named("c_p"):
        groups["coherence"] = [n for n in groups["coherence"] if n != "c_p"]  # which only Palmetto has
    check_vectors(groups["vectors"], metric.vectors)
    depth = metric.depths()[-1]
    results = [_result(t, depth) for t in targets]
    counted = (
        count_references(
            targets, groups["coherence"], metric, ci, target.reference, read, threads=threads, optional=not asked
        )
        if groups["coherence"]
        else [None] * len(targets)
    )
    statistics: list[dict[str, Statistic]] = []
    held = []
    for t, own, result, counts in zip(targets, labels, results, counted, strict=True):
        statistics.append({} if counts is None else add_coherence(result, counts, groups["coherence"], metric, ci, how))
        if counts is None and groups["coherence"] and t.run is None:
            result.notes.append("no coherence without a corpus to count words in: give one with --reference DOCS")
        _note_own_npmi(result, t)
        add_diversity(result, t, groups["distinctness"], depth, how)
        add_significance(result, t, groups["significance"], depth, how, asked=asked)
        held.append(
            add_fit(result, t, groups["fit"], metric, target.reference, read, how, threads=threads, asked=asked)
        )
        _add_labels(result, t, own, groups["clustering"], read, how, asked=asked)
        if groups["separation"]:
            add_separation(result, t, groups["separation"], target.reference, read, how, threads=threads, asked=asked)
    if groups["vectors"] and metric.vectors is not None:
        add_vector_scores(results, targets, groups["vectors"], metric.vectors, encoder, depth, how, threads=threads)
    for result in results:
        result.scores = {name: result.scores[name] for name in METRICS if name in result.scores}
    found = Evaluation(results)
    if groups["stability"]:
        add_stability(found, targets, groups["stability"], depth, how)
    if len(results) > 1:
        found.comparisons = [
            *compare_topics(results, counted, statistics, how),
            *compare_perplexity(held, results, how),
            *compare_labelled(labels, results, how, beta=metric.beta),
        ]
    if not found.shared and not any(result.scores for result in results):
        raise InputError(f"{', '.join(names)}: no score of {targets[0].name} ({targets[0].kind}) could be made")
    return found


def _note_own_npmi(result: TargetResult, target: TopicTarget) -> None:
    """Say why a run may have printed another NPMI."""
    own = None if target.run is None else target.run.manifest["results"].get("npmi")
    score = result.scores.get("npmi")
    if own is not None and score is not None and score.parameters.get("window") != "document":
        result.notes.append(f"the run itself printed NPMI {own:.3f}, of whole documents: --window document")


def _result(target: TopicTarget, depth: int) -> TargetResult:
    words = [" ".join(topic[:SHOWN_WORDS]) for topic in target.topics]
    result = TargetResult(
        target.name, target.kind, units=list(target.names), unit_texts=words, notes=list(target.notes)
    )
    result.unit_words = [list(topic[:depth]) for topic in target.topics]
    result.facts["n_topics"] = len(target.topics)
    short = sum(0 < len(topic) < depth for topic in target.topics)
    if short:
        known = "stores" if target.run is not None else "has"
        noun = wording.counted(short, "topic")
        result.notes.append(f"{target.name} {known} fewer than {depth} words of {noun}: those that are there count")
    single = [name for name, topic in zip(target.names, target.topics, strict=True) if len(topic) == 1]
    if single:
        shown = ", ".join(single[:10]) + (" …" if len(single) > 10 else "")
        result.notes.append(f"one word has no coherence: topic {shown}")
    return result


def _add_labels(
    result: TargetResult,
    target: TopicTarget,
    labels: LabelledPredictions | None,
    names: Sequence[str],
    read: ReadOptions,
    how: Uncertainty,
    *,
    asked: bool,
) -> None:
    if labels is not None:
        if names:
            add_clustering(result, labels, names, how)
        return
    if names and asked and target.run is not None and read.label_col != "label":
        raise missing_column(f"{target.run.path}/documents.parquet", read.label_col, run_columns(target), "label_col")
    for name in names if asked else ():
        why = f"there is no column '{read.label_col}' beside the topics; see --label-col"
        result.add(Score(METRICS[name], None, "documents", 0, why=why))
