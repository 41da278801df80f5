"""nlpkit plot: one picture of a run, for a paper."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.metrics.mean_ranks import groups_of
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.models import MODELS
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.nlpkit_files import is_comparison
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.views import figures
from nlpkit.platform.views.cloud import MAX_WORDS, draw_cloud
from nlpkit.platform.views.figures import PlotOptions
from nlpkit.platform.views.picture import Picture, draw_in_format, require_drawing
from nlpkit.predict.model import RunModel
from nlpkit.report import covariates, topics
from nlpkit.report import sections as cells
from nlpkit.report.figures import (
    draw_correlations,
    draw_distances,
    draw_number_curves,
    draw_over_time,
    draw_ranks,
    draw_stream,
    draw_topic_tree,
    rank_height,
)
from nlpkit.report.map_figure import draw_map
from nlpkit.report.options import ReportOptions
from nlpkit.report.prose import number_evidence, number_sentence
from nlpkit.report.run import CLASS_KINDS
from nlpkit.report.topics import map_arrays
from nlpkit.scale.plots import scale_plot
from nlpkit.topics.base.tables import read_membership
from nlpkit.topics.base.topic_run import opened_run
from nlpkit.topics.edit.files import hidden_topics
from nlpkit.topics.edit.looks import topic_looks
from nlpkit.topics.effects.figures import draw_differences
from nlpkit.topics.over_time.prevalence import correlations
from nlpkit.topics.robust.figure import shares_drawing
from nlpkit.topics.robust.grid import RUNS

TOPIC_PLOTS = (
    "map", "topics", "similarity", "correlations", "distances", "tree", "over-time", "stream", "by-column", "columns", "effects",
    "content", "number", "wordcloud", "robust",
)  # fmt: skip
SCORE_PLOTS = ("scores", "confusion", "calibration", "learning")
COMPARISON_PLOTS = ("ranks",)
SCALE_PLOTS = ("positions", "groups", "weights")
PLOTS = (*TOPIC_PLOTS, *SCORE_PLOTS, *COMPARISON_PLOTS, *SCALE_PLOTS)
ALIASES = {
    "hierarchy": "tree",
    "heatmap": "similarity",
    "coherence-over-k": "number",
    "k": "number",
    "time": "over-time",
}
USUAL_TOPICS = 12
ONE_NUMBER = "models were compared at fewer than two numbers of topics"
NARROW = ("columns", "calibration", "scores", "positions")  # pictures that one column of a journal holds
SHOWS = {
    "map": "documents, near where they are alike", "topics": "words of topics as bars", "similarity": "how alike topics are",
    "correlations": "topics that go together in documents", "distances": "topics as circles", "tree": "which topics merge",
    "over-time": "shares over time; --by COLUMN: a line for each group", "stream": "shares over time as layers",
    "by-column": "shares by the values of a column", "columns": "which column explains the topics",
    "effects": "effects of covariates (--prevalence): --by COLUMN, --difference A,B, --moderator COLUMN",
    "content": "words of a topic (--topic K) by level", "number": "scores by number of topics", "wordcloud": "words by frequency",
    "robust": "shares of robust topics with their range over the runs",
    "scores": "scores with intervals", "confusion": "labels and predictions", "calibration": "accuracy by probability",
    "learning": "learning curves", "ranks": "mean ranks of methods", "positions": "positions of documents on a scale",
    "groups": "mean positions by column or period", "weights": "words by weight and frequency",
}  # fmt: skip


def check_plot(what: str) -> str:
    """Return the name of a kind of picture. Raises UsageError for one that is not known."""
    name = ALIASES.get(what, what)
    if name not in PLOTS:
        raise unknown_value("what", what, PLOTS)
    return name


def plot(
    run: str | Path | RunModel,
    what: str,
    *,
    options: PlotOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> Picture:
    """Return a picture of a run for a paper; the same bytes for the same run.

    Args:
        run: a run directory, or a model that was loaded from one.
        what: of topic models map, topics, similarity, correlations, distances, tree, over-time, stream, by-column, columns, effects,
            content, number, wordcloud, robust; of classifiers scores, confusion, calibration, learning; of `compare_models` number; of
            a comparison of methods of fine-tuning ranks; of scale positions, groups, weights.
        options: size, style, what is shown. execution: seed of map and cloud. settings: fields of these.

    Raises:
        UsageError: an unknown picture; InputError: the run has nothing of this kind; MissingError: the extra report is not installed.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> nk.plot(run, "topics").save("topics.svg").name
        'topics.svg'
    """
    options, execution = with_settings((options, execution), settings, (PlotOptions, Execution))
    what = check_plot(what)
    _refuse_unused(what, options)
    require_drawing(what)
    if is_comparison(run):
        return _comparison_plot(Path(run), what, options)  # type: ignore[arg-type]
    opened = opened_run(run, execution)
    kind = opened.manifest["kind"]
    drawn_of, kinds, plotted = _plots_of(what)
    if kind not in kinds:
        raise InputError(f"{opened.path} is a run of kind '{kind}'; {what} is a picture of {drawn_of}")
    if what == "wordcloud":
        return Picture(what, _cloud(opened, options, execution))
    if what == "effects":
        return covariates.effects_picture(opened, options, execution)
    if options.width is None:
        options = replace(options, width=figures.ONE_COLUMN if what in NARROW else figures.TWO_COLUMNS)
    draw, height, texts = plotted(opened, what, options, execution)
    return Picture(what, partial(_drawn, draw, options, height, "".join(texts)))


def _comparison_plot(path: Path, what: str, options: PlotOptions) -> Picture:
    """Return the picture of topic models that were compared. Raises InputError for another one, and where there is one number."""
    if what != "number":
        raise InputError(
            f"{path} is a comparison of topic models, whose picture is number; {what} is one of a run in {path / RUNS}"
        )
    curves = _number_curves(path)
    if not curves:
        raise InputError(f"{path} has no scores by number of topics to draw: {ONE_NUMBER}")
    options = replace(options, width=options.wide)
    texts = "".join(text for curve in curves for text in (curve["title"], *(line["name"] for line in curve["lines"])))
    height = 1.6 + 4.2 * -(-len(curves) // 2)
    return Picture(what, partial(_drawn, partial(draw_number_curves, curves=curves), options, height, texts))


def _number_curves(path: Path) -> list[dict[str, Any]]:
    """Return the scores of a comparison by number of topics. Raises InputError: it is damaged."""
    from nlpkit.evaluate.compare.run import load_comparison  # these load what fits and scores every model
    from nlpkit.report.comparison_pages import number_curves

    return number_curves(load_comparison(path))


def _scores(run: Run) -> dict[str, Any]:
    """Return the data of the report of a classifier."""
    from nlpkit.report.score_pages import score_sections

    return score_sections(run, ReportOptions(no_texts=True))[2]


_USED_BY = {
    "by": ("by-column", "over-time", "effects", "robust"),
    "over": ("over-time", "stream"),
    "topic": ("wordcloud", "content"),
    "difference": ("effects",),
    "prevalence": ("effects",),
    "cluster": ("effects",),
    "moderator": ("effects",),
}


def _refuse_unused(what: str, options: PlotOptions) -> None:
    """Raise UsageError for an option that a picture has no use for."""
    for name, pictures in _USED_BY.items():
        if getattr(options, name) is not None and what not in pictures:
            raise UsageError(
                f"`{name}` changes nothing in a picture of {what}; it is for {wording.listed(pictures, 3)}",
                parameter=name,
            )


def pictures_of(run: str | Path | RunModel, *, execution: Execution | None = None) -> list[dict[str, str]]:
    """Return the pictures of a run: `what`, what it `shows`, and `missing`, why it cannot be drawn, "" where it can.

    Raises:
        InputError: the run is of a kind that has no pictures.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> [row["what"] for row in nk.pictures_of(run) if not row["missing"]][:3]
        ['map', 'topics', 'similarity']
    """
    if is_comparison(run):
        missing = "" if _number_curves(Path(run)) else ONE_NUMBER  # type: ignore[arg-type]
        return [{"what": "number", "shows": SHOWS["number"], "missing": missing}]
    opened = opened_run(run, execution or Execution())
    kind = opened.manifest["kind"]
    named = [what for what in PLOTS if kind in _plots_of(what)[1]]
    if not named:
        raise InputError(f"{opened.path} is a run of kind '{kind}', which has no pictures")
    return [{"what": what, "shows": SHOWS[what], "missing": _missing(opened, what)} for what in named]


def _missing(run: Run, what: str) -> str:
    """Return why a picture of a run cannot be drawn, "" where nothing is known to be missing."""
    if what in SCORE_PLOTS:
        return "" if what in _scores(run) else "the run has none"
    if what in COMPARISON_PLOTS:
        return ""
    if what in SCALE_PLOTS:
        return "" if what != "groups" or (run.path / "groups.parquet").is_file() else "fitted without `by` and `over`"
    documents, K = run.table("documents"), run.table("topics", ["topic"]).num_rows
    names = [n for n in documents.column_names if n not in topics.RESERVED and not n.startswith("layer_")]
    options = run.model_config("options")["options"] if run.manifest["kind"] == "stm" else {}
    held = run.is_mixture or (run.path / "model" / "training.parquet").is_file()
    needs = {
        "map": (held, "the run does not hold the vectors of its documents"),
        "similarity": (K > 1, "one topic"), "tree": (K > 1, "one topic"), "correlations": (K > 1, "one topic"),
        "over-time": (cells.usual_periods(documents) is not None, "no column 'date' with two periods; name one with `over`"),
        "by-column": (any(cells.has_few_values(documents, n) for n in names), "no column of 2 to 30 texts; name one with `by`"),
        "columns": (bool(names), "the documents have no columns"),
        "effects": (bool(options.get("prevalence")), "name the covariates with `prevalence`"),
        "content": (bool(options.get("content")), "only for stm with a column for the words"),
        "robust": (run.manifest["kind"] == "robust", "only for robust topics"),
        "number": (len(number_evidence(run.manifest)) > 1, _why_no_numbers(run, K)),
    }  # fmt: skip
    known, why = needs.get("over-time" if what == "stream" else what, (True, ""))
    return "" if known else why


def _plots_of(what: str) -> tuple[str, Collection[str], Callable[..., tuple[figures.Draw, float, Sequence[str]]]]:
    """Return what a picture is drawn of, in words and as kinds of runs, and the function that prepares it."""
    if what in TOPIC_PLOTS:
        return "topic models", MODELS, _topic_plot
    if what in COMPARISON_PLOTS:
        return "comparisons of methods of fine-tuning", ("finetune-comparison",), _rank_plot
    if what in SCALE_PLOTS:
        return "runs of scale", ("scale",), scale_plot
    return "classifiers and fine-tuned models", CLASS_KINDS, _score_plot


def _drawn(draw: figures.Draw, options: PlotOptions, height: float, characters: str, format: str) -> bytes:
    return draw_in_format(draw, options.wide, options.height or height, options.style, characters, format)


# ---------------------------------------------------------------- topic models


def _topic_plot(
    run: Run, what: str, options: PlotOptions, execution: Execution
) -> tuple[figures.Draw, float, Sequence[str]]:
    """Return what draws a picture of topics, its usual height in cm, and the texts in it."""
    if what == "robust":
        return shares_drawing(run, options.by, options.topics or USUAL_TOPICS)
    shown = ReportOptions(no_texts=True, max_points=options.max_points, over=options.over)
    content = topics.read_content(run, shown, ReadOptions(), execution)
    names = content.topics.column("label").to_pylist()
    n_shown = options.topics or (len(names) if what in ("map", "similarity", "tree") else USUAL_TOPICS)
    by_size = np.argsort(-content.topics.column("size").to_numpy(), kind="stable").tolist()
    order = [k for k in by_size if k not in hidden_topics(run)][:n_shown]
    if not order:
        raise InputError(f"all topics of {run.path} are hidden; show some with `edit()` and `hide`")
    labels = [names[k] for k in order]
    if what == "columns":
        return covariates.plot_columns(run, execution)
    if what == "content":
        return covariates.plot_content(run, options.topic or 0, options.words, names)
    if what == "over-time" and options.by is not None:
        over = options.over or cells.usual_periods(content.documents, groups=covariates.MOST_GROUPS)
        return covariates.plot_time_by_group(run, content.documents, options, over, execution, names)
    if what == "map":
        return _map_plot(content, names, order, options, execution)
    relations, width = topics.topic_relations(content), options.wide
    colours, _ = topic_looks(run)
    colour = [colours[k] for k in order]
    if what == "topics":
        terms = topics.relevant_terms(run)
        rows = [{"label": names[k], "terms": terms[k]} for k in order]
        words = [t["t"] for row in rows for t in row["terms"]]
        columns = 4 if len(rows) > 4 else max(len(rows), 1)
        height = 1.0 + -(-len(rows) // columns) * (1.3 + 0.33 * options.words)
        return partial(figures.draw_words, rows=rows, colours=colour, n_words=options.words), height, labels + words
    if what in ("similarity", "tree"):
        merges = relations.get("tree") or []
        if not merges:
            raise InputError(f"{run.path} has one topic, and {what} needs at least two")
        if what == "tree" and MODELS[run.manifest["kind"]].is_tree:
            return _model_tree_plot(run, len(order), names, colours)
        if what == "tree":
            draw = partial(figures.draw_tree, merges=figures.merges_among(order, merges), names=labels, colours=colour)
            return draw, 2.0 + 0.42 * len(order), labels
        similarity = 1.0 - np.asarray(relations["distances"])
        leaves = [k for k in figures.leaf_order(merges, len(names)) if k in set(order)]
        return (
            partial(figures.draw_similarity, similarity=similarity, order=leaves, names=names),
            0.85 * width,
            names,
        )
    if what == "distances":
        sizes = content.topics.column("size").to_numpy()[order].astype(float)
        places = np.asarray(relations["places"], np.float64)[order]
        draw = partial(
            draw_distances, places=places, sizes=sizes, names=labels, colours=colour, title=relations["distance"]
        )
        return draw, 0.75 * width, labels
    if what == "correlations":
        if len(order) < 2:
            raise InputError(f"{run.path} has one topic, and {what} needs at least two")
        r = correlations(read_membership(run, mixed=True))[np.ix_(order, order)]
        sizes = content.topics.column("size").to_numpy()[order].astype(float)
        draw = partial(draw_correlations, correlations=r, sizes=sizes, names=labels, colours=colour)
        return draw, 0.75 * width, labels
    if what in ("over-time", "stream"):
        time = cells.over_time(run, content.documents, shown, execution)
        if time is None:
            raise InputError(
                f"the documents of {run.path} have no column 'date' with two periods; name another with `over`"
            )
        time = {**time, "series": [time["series"][k] for k in order]}
        draw = partial(draw_stream if what == "stream" else draw_over_time, time=time, names=labels, colours=colour)
        return draw, 9.0 if what == "stream" else 1.0 + 3.3 * -(-len(order) // 3), labels
    if what == "by-column":
        return _column_plot(run, content, options, execution, order, labels)
    evidence = number_evidence(run.manifest)
    if len(evidence) < 2:
        raise InputError(f"{run.path} has no scores of numbers of topics to draw: {_why_no_numbers(run, len(names))}")
    return partial(figures.draw_numbers, evidence=evidence), 8.0, []


def _why_no_numbers(run: Run, K: int) -> str:
    """Return how the number of topics came about, and what to do where the command can compare several."""
    manifest, sentence = run.manifest, number_sentence(run.manifest, K)
    model = MODELS[manifest["kind"]]
    compares = not model.finds_number and model.number is None and "chunks" not in manifest["parameters"]
    advice = (
        "; fit with `k=auto` or a range for a picture of it" if compares and manifest.get("lineage") is None else ""
    )
    return sentence[0].lower() + sentence[1:].rstrip(".") + advice


def _model_tree_plot(
    run: Run, n: int, names: Sequence[str], colours: Sequence[str]
) -> tuple[figures.Draw, float, Sequence[str]]:
    """Return what draws the n largest topics of the tree that the model has learnt, its usual height in cm, and the texts in it."""
    rows, hidden = run.table("layers", ["topic", "parent", "size", "layer"]).to_pylist(), hidden_topics(run)
    above = {row["topic"]: row["parent"] for row in rows}
    for row in rows:  # what stands below a hidden topic stands below the next one above
        while row["parent"] in hidden:
            row["parent"] = above[row["parent"]]
    rows = [row for row in rows if row["topic"] not in hidden]
    shown = sorted(rows, key=lambda row: (-row["size"], row["layer"]))[:n]  # each after its parent, which is as large
    parents = {row["topic"]: row["parent"] for row in sorted(shown, key=lambda row: row["topic"])}
    sizes = {row["topic"]: row["size"] for row in shown}
    draw = partial(draw_topic_tree, parents=parents, sizes=sizes, names=names, colours=colours)
    return draw, 1.0 + 0.38 * len(parents), names


def _map_plot(
    content: topics.TopicRunContent,
    names: Sequence[str],
    order: Sequence[int],
    options: PlotOptions,
    execution: Execution,
) -> tuple[figures.Draw, float, Sequence[str]]:
    arrays = map_arrays(content, execution, options.layout)
    if "x" not in arrays:
        raise InputError(f"{content.run.path} does not store the vectors of its documents, so it has no map")
    places = np.stack([arrays["x"], arrays["y"]], axis=1) / 65535
    assigned = content.documents.column("topic").to_numpy()[content.rows]
    seen = ~np.isin(assigned, sorted(hidden_topics(content.run)))
    places, assigned = places[seen], np.where(np.isin(assigned, order), assigned, -1)[seen]
    colours, shapes = topic_looks(content.run)
    return (
        partial(draw_map, places=places, topics=assigned, names=names, colours=colours, shapes=shapes),
        0.8 * options.wide,
        names,
    )


def _column_plot(
    run: Run,
    content: topics.TopicRunContent,
    options: PlotOptions,
    execution: Execution,
    order: list[int],
    labels: list[str],
) -> tuple[figures.Draw, float, Sequence[str]]:
    chosen = ReportOptions(by=() if options.by is None else (options.by,))
    columns = cells.by_column(run, content.documents, topics.user_columns(content, chosen), chosen, execution, most=1)
    if not columns:
        raise InputError(f"the documents of {run.path} have no column of 2 to 30 texts; name another with `by`")
    column = {**columns[0], "series": [columns[0]["series"][k] for k in order]}
    return (
        partial(figures.draw_by_column, column=column, names=labels),
        3.5 + 0.5 * len(order),
        [*labels, column["name"], *column["values"]],
    )


def _cloud(run: Run, options: PlotOptions, execution: Execution) -> Callable[[str], bytes]:
    if options.topic is None:
        vocab = run.table("vocab").sort_by([("cf", "descending"), ("term", "ascending")]).slice(0, MAX_WORDS)
        weights = dict(zip(vocab.column("term").to_pylist(), vocab.column("cf").to_pylist(), strict=True))
    else:
        terms = topics.relevant_terms(run)
        if options.topic >= len(terms):
            raise UsageError(f"`topic={options.topic}`: the run has topics 0 to {len(terms) - 1}", parameter="topic")
        weights = {t["t"]: t.get("w", t["p"]) for t in terms[options.topic]}
    known = {term: float(weight) for term, weight in weights.items() if weight > 0}

    def draw(_: str) -> bytes:
        cloud = draw_cloud(known, seed=execution.seed)
        if cloud.left_out:
            reporting.warn(
                f"left out of the cloud, because no font has their characters: {wording.listed(cloud.left_out, 5)}",
                always=True,
            )
        return cloud.png

    return draw


# ---------------------------------------------------------------- classifiers


def _score_plot(
    run: Run, what: str, options: PlotOptions, execution: Execution
) -> tuple[figures.Draw, float, Sequence[str]]:
    """Return what draws a picture of scores, its usual height in cm, and the texts in it."""
    data: Mapping[str, Any] = _scores(run)
    if what not in data:
        raise InputError(f"{run.path} has no {what} to draw")
    if what == "scores":
        rows = [row for row in data["scores"] if row["low"] is not None]
        if not rows:
            raise InputError(f"{run.path} has no scores with intervals to draw")
        names = [row["name"].replace("_", " ") for row in rows]
        parts = {"difference": "value", "low": "low", "high": "high"}
        intervals = {key: np.array([[row[name]] for row in rows], np.float64) for key, name in parts.items()}
        draw = partial(draw_differences, differences=intervals, names=names, title="score, with interval", scale=1.0)
        return draw, 1.6 + 0.5 * len(rows), names
    if what == "confusion":
        names = data["confusion"]["names"]
        return (
            partial(figures.draw_confusion, names=names, counts=data["confusion"]["counts"]),
            0.8 * options.wide,
            names,
        )
    if what == "calibration":
        return partial(figures.draw_calibration, bins=data["calibration"]), 0.75 * options.wide, []
    return partial(figures.draw_learning, curves=data["learning"]), 1.0 + 5.0 * -(-len(data["learning"]) // 2), []


# ---------------------------------------------------------------- comparisons


def _rank_plot(
    run: Run, what: str, options: PlotOptions, execution: Execution
) -> tuple[figures.Draw, float, Sequence[str]]:
    """Return what draws the mean ranks of methods, its usual height in cm, and the texts in it."""
    ranks = json.loads(run.file("metrics.json").read_text(encoding="utf-8")).get("ranks")
    if ranks is None:
        raise InputError(
            f"{run.path} has no ranks: two methods and two samples are needed, from `finetune()` with "
            "`protocol=majority`"
        )
    mean, difference = ranks["mean_rank"], ranks["critical_difference"]
    title = (
        f"by {ranks['metric']} over {wording.counted(ranks['blocks'], 'sample')}; methods under a bar do not differ "
        f"(Nemenyi, level {ranks['level']:g})"
    )
    groups = groups_of(list(mean.values()), difference)
    draw = partial(draw_ranks, ranks=mean, difference=difference, groups=groups, title=title)
    return draw, rank_height(len(mean)), [title, *mean]
