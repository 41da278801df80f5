"""Semantic coherence and exclusivity of topics as R's stm has them, the picture of both that its papers show, and searchK's table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import lgamma
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError, UsageError
from nlpkit.evaluate.topics import NOT_MIXED, counts_in
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.results import Evaluation, TargetResult, detail_table
from nlpkit.metrics.score import Score, mean_score
from nlpkit.metrics.topics.significance import FREX_WEIGHT, frex, frex_exclusivity, semantic_coherence, top_words
from nlpkit.platform import reporting, wording
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.runs.tables import save_table
from nlpkit.platform.types import CsrMatrix, FloatArray
from nlpkit.platform.views.chart import COLOURS
from nlpkit.platform.views.figures import ONE_COLUMN, bare
from nlpkit.platform.views.picture import Picture, draw_in_format
from nlpkit.topics.base.heldout import HeldOut
from nlpkit.topics.base.reference import EvaluationSettings, TopicTarget, need_reference, reference_of, token_table
from nlpkit.topics.base.tables import read_model, read_theta
from nlpkit.topics.lda.priors import residual_dispersion

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
    n, phi, is_stm = settings.options.depths()[-1], None, False
    parameters = {"top_n": [n], "compat": "stm"}
    if target.run is not None and target.run.is_mixture:
        model = read_model(target.run)
        phi, terms, words = model.phi, model.terms, top_words(model.phi, n)
        words[np.take_along_axis(phi, words, axis=1) == 0] = -1
        is_stm = target.run.manifest["kind"] == "stm" and settings.options.compat == "stm"
        if is_stm and target.run.model_config("options")["options"].get("content"):
            is_stm = False
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
    rows, counts = _counts(target, terms, settings, others) if COHERENCE in names or is_stm else (None, None)
    if COHERENCE in names and counts is not None:
        values = semantic_coherence(words, counts)
        result.add(mean_score(METRICS[COHERENCE], values, settings.uncertainty, parameters=parameters))
    if is_stm and target.run is not None and phi is not None and counts is not None and rows is not None:
        residual = _residual(target.run, rows, counts, phi)
        result.facts["search_k"] = _search_k(target.run, result, residual)
    if target.run is not None and phi is not None:
        _add_words(result, phi, terms, target.run.table("vocab", ["cf"]).column("cf").to_numpy().astype(np.float64))


def _counts(
    target: TopicTarget, terms: Sequence[str], settings: EvaluationSettings, others: Sequence[TopicTarget]
) -> tuple[pa.Table, CsrMatrix]:
    """Return the ids and counts (D, V) of terms in the documents of the fit, or of the reference."""
    reference = reference_of(target, settings.reference, settings.read, others)
    if reference is None:
        raise need_reference(target, COHERENCE)
    rows, tokens, stats = token_table(reference, settings.threads)
    counts = counts_in(terms, tokens)
    if not counts.nnz:
        raise InputError(
            f"none of the words of {target.name} is in the reference {reference.described()} ({stats.n_docs:,} documents); "
            "check its language and tokenisation, or give another with `reference`"
        )
    return rows, counts


def _residual(run: Run, rows: pa.Table, counts: CsrMatrix, phi: FloatArray) -> float | None:
    """Return the dispersion of residuals as checkResiduals of R's stm has it; None of other documents than those of the fit."""
    known = run.table("documents", ["id"]).column("id").combine_chunks()
    place = pc.index_in(rows.column("id").combine_chunks(), value_set=known)
    if place.null_count or len(place) != len(known):
        return None
    at, theta = place.to_numpy(), read_theta(run)
    return residual_dispersion(counts, lambda part: theta(at[part].astype(np.int64)), phi, as_stm=True).dispersion


def _search_k(run: Run, result: TargetResult, residual: float | None) -> dict[str, float | None]:
    """Return the columns of searchK of R's stm for a fit; heldout follows when there are held-out documents."""
    means = {name: result.scores[name].value for name in (EXCLUSIVITY, COHERENCE) if name in result.scores}
    fit = run.manifest["results"]
    K, bound = fit["n_topics"], fit["bound"]
    return {
        "K": K, "exclus": means.get(EXCLUSIVITY), "semcoh": means.get(COHERENCE), "heldout": None, "residual": residual,
        "bound": bound, "lbound": bound + lgamma(K + 1), "em.its": fit["steps"],
    }  # fmt: skip


def add_heldout(result: TargetResult, held: HeldOut) -> None:
    """Add the held-out likelihood that eval.heldout of R's stm has: the mean over documents of the mean log-likelihood of a token.

    It is of the other half of each held-out document. R also fits the first halves.
    """
    if "search_k" in result.facts:
        result.facts["search_k"]["heldout"] = float(np.mean(held.doc_log_likelihood / held.doc_tokens))


def search_k(evaluation: Evaluation) -> pa.Table:
    """Return the table of searchK of R's stm: a row for each run of stm, by the number of topics.

    K is the number of topics. exclus and semcoh are means of exclusivity and semantic coherence. heldout is the log-likelihood of a token
    of held-out documents, null without them. residual is the dispersion of checkResiduals, null for other documents. bound and lbound
    are the bound without and with log K! added. em.its counts EM steps.

    Args:
        evaluation: of `evaluate` with compat="stm".

    Raises:
        UsageError: no target is a run of stm without content.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_stm(texts, k=2, min_df=1).save("stm2")
        >>> nk.search_k(nk.evaluate(run, compat="stm", reference=texts)).column("K").to_pylist()
        [2]
    """
    rows = [target.facts["search_k"] for target in evaluation.targets if "search_k" in target.facts]
    if not rows:
        raise UsageError(
            "the table of searchK needs runs of stm without `content`; add `compat=stm`", parameter="search_k"
        )
    schema = pa.schema([(n, pa.int64() if n in ("K", "em.its") else pa.float64()) for n in rows[0]])
    return pa.Table.from_pylist(sorted(rows, key=lambda row: row["K"]), schema)


def write_search_k(evaluation: Evaluation, path: Path, *, seed: int, force: bool) -> None:
    """Write `search_k` as a table in the format of its suffix. Raises what `search_k` and `check_table` do."""
    table = search_k(evaluation)
    targets = [target.name for target in evaluation.targets]
    block = footer_block("search_k", command="evaluate", parameters={"targets": targets}, seed=seed, inputs=[])
    save_table(path, table, block, force=force)
    reporting.note(f"wrote {path}: {wording.counted(table.num_rows, 'row')}")


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
