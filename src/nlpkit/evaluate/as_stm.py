"""Semantic coherence and exclusivity of topics as R's stm has them, and the picture of both that its papers show."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.evaluate.topics import NOT_MIXED, counts_in
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.results import Evaluation, TargetResult, detail_table
from nlpkit.metrics.score import Score, mean_score
from nlpkit.metrics.topics.significance import FREX_WEIGHT, frex, frex_exclusivity, semantic_coherence, top_words
from nlpkit.platform.types import CsrMatrix, FloatArray
from nlpkit.platform.views.chart import COLOURS
from nlpkit.platform.views.figures import ONE_COLUMN, bare
from nlpkit.platform.views.picture import Picture, draw_in_format
from nlpkit.topics.base.reference import EvaluationSettings, TopicTarget, need_reference, reference_of, token_table
from nlpkit.topics.base.tables import read_model

COHERENCE, EXCLUSIVITY = "semantic_coherence", "frex_exclusivity"
SHOWN_WORDS = 7  # n of labelTopics
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


def add_stm_scores(
    result: TargetResult,
    target: TopicTarget,
    names: Sequence[str],
    settings: EvaluationSettings,
    others: Sequence[TopicTarget],
) -> None:
    """Add semantic coherence and exclusivity; of a mixture model also its words by FREX, shrunk as labelTopics of R's stm does.

    Raises:
        UsageError: there is no corpus to count in; InputError: it cannot be used.
    """
    n, phi = settings.options.depths()[-1], None
    parameters = {"top_n": [n], "compat": "stm"}
    if target.run is not None and target.run.is_mixture:
        model = read_model(target.run)
        phi, terms, words = model.phi, model.terms, top_words(model.phi, n)
        words[np.take_along_axis(phi, words, axis=1) == 0] = -1
        if target.run.manifest["kind"] == "stm" and target.run.model_config("options")["options"].get("content"):
            result.notes.append(
                "scores of the average words of all levels; R weighs levels, and has no exclusivity here"
            )
    else:
        number = {word: v for v, word in enumerate(dict.fromkeys(w for topic in target.topics for w in topic[:n]))}
        terms, words = tuple(number), np.full((len(target.topics), n), -1, np.int64)
        for row, topic in zip(words, target.topics, strict=True):
            row[: len(topic[:n])] = [number[word] for word in topic[:n]]
    if EXCLUSIVITY in names and phi is None:
        result.add(Score(METRICS[EXCLUSIVITY], None, "topics", 0, parameters, why=NOT_MIXED))
    elif EXCLUSIVITY in names and phi is not None:
        values, weighted = frex_exclusivity(phi, top=n), {**parameters, "frex_weight": FREX_WEIGHT}
        result.add(mean_score(METRICS[EXCLUSIVITY], values, settings.uncertainty, parameters=weighted))
    if COHERENCE in names:
        values = semantic_coherence(words, _counts(target, terms, settings, others))
        result.add(mean_score(METRICS[COHERENCE], values, settings.uncertainty, parameters=parameters))
    if target.run is not None and phi is not None:
        _add_words(result, phi, terms, target.run.table("vocab", ["cf"]).column("cf").to_numpy().astype(np.float64))


def _counts(
    target: TopicTarget, terms: Sequence[str], settings: EvaluationSettings, others: Sequence[TopicTarget]
) -> CsrMatrix:
    """Return the counts (D, V) of terms in the documents of the fit, or of the reference."""
    reference = reference_of(target, settings.reference, settings.read, others)
    if reference is None:
        raise need_reference(target, COHERENCE)
    _, tokens, stats = token_table(reference, settings.threads)
    counts = counts_in(terms, tokens)
    if not counts.nnz:
        raise InputError(
            f"none of the words of {target.name} is in the reference {reference.described()} ({stats.n_docs:,} documents); "
            "check its language and tokenisation, or give another with `reference`"
        )
    return counts


def _add_words(result: TargetResult, phi: FloatArray, terms: Sequence[str], cf: FloatArray) -> None:
    """Add the words of each topic as labelTopics gives them: by probability, and by FREX of shrunk shares."""
    columns = {"prob": top_words(phi, SHOWN_WORDS), "frex": top_words(frex(phi, cf=cf), SHOWN_WORDS)}
    words = {name: [[terms[v] for v in row] for row in rows.tolist()] for name, rows in columns.items()}
    result.facts["label_topics"] = words
    result.tables["Words as labelTopics of R's stm gives them (FREX with shrinkage)"] = detail_table(
        ("topic", *words), zip(result.units, *(map(" ".join, rows) for rows in words.values()), strict=True)
    )


def plot_quality(
    evaluation: Evaluation, *, width: float = ONE_COLUMN, height: float = 8.0, style: str = "plain"
) -> Picture:
    """Return semantic coherence against exclusivity (topicQuality and plotModels of R's stm); the same bytes for the same scores.

    One target: a point with its number for each topic. Several, such as runs of other K: a colour and mark for each, small points for
    topics and a large one for their mean.

    Args:
        evaluation: of `evaluate` with compat="stm". width, height: cm; style: plain, serif, dark or grey.

    Raises:
        UsageError: no target has both scores; MissingError: the extra report is not installed.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> model = nk.fit_lda(texts, k=2, sweeps=20)
        >>> nk.plot_quality(nk.evaluate(model, compat="stm")).save("quality.svg").name
        'quality.svg'
    """
    points: dict[str, tuple[list[str], FloatArray, FloatArray]] = {}
    for target in evaluation.targets:
        x, y = (target.scores[n].values if n in target.scores else None for n in (COHERENCE, EXCLUSIVITY))
        if x is not None and y is not None and np.isfinite(x + y).any():
            points[target.name] = (target.units, x, y)
    if not points:
        raise UsageError(
            "a picture of quality needs semantic coherence and exclusivity of topics; add `compat=stm`, and name a run of a model "
            "with the probability of every word",
            parameter="plot",
        )
    texts = "".join([*points, *(unit for units, _, _ in points.values() for unit in units)])
    return Picture(
        "quality", partial(draw_in_format, partial(_draw_quality, points=points), width, height, style, texts)
    )


def _draw_quality(figure: Any, *, points: dict[str, tuple[list[str], FloatArray, FloatArray]]) -> None:
    """Draw the topics of targets (names, coherence, exclusivity)."""
    axes = figure.add_subplot()
    for i, (name, (units, x, y)) in enumerate(points.items()):
        look: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "marker": MARKS[i % len(MARKS)], "lw": 0}
        if len(points) == 1:
            axes.scatter(x, y, s=8, **look)
            for unit, *place in zip(units, x, y, strict=True):
                if np.isfinite(place).all():
                    axes.annotate(unit, place, (3, 2), textcoords="offset points", fontsize=6)
            continue
        axes.scatter(x, y, s=6, alpha=0.45, **look)
        axes.scatter(np.nanmean(x), np.nanmean(y), s=60, label=name, zorder=3, **look)
    axes.margins(0.08)
    axes.set(xlabel="semantic coherence", ylabel="exclusivity")
    bare(axes, grid="both")
    if len(points) > 1:
        figure.legend(loc="outside lower center", ncols=2, fontsize=6, frameon=False)
