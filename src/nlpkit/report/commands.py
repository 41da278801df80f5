"""nlpkit report: a run as one HTML file.

Further parts, in this order:
- nlpkit plot: one picture of a run.
- nlpkit info: what a file or a run is, where it comes from, how big it is.
"""

from __future__ import annotations

from typing import Annotated

from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import READ, Param
from nlpkit.platform.views.figures import PlotOptions
from nlpkit.report.options import ReportOptions


def report_cli(
    source: Annotated[
        list[str],
        Argument("Run directory, also of nlpkit compare. Several go into one page, with a menu.", metavar="RUN"),
        READ,
    ],
    options: ReportOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Write a self-contained HTML report of a run.

    For a topic model, the report shows a map of the documents, topics with words (by relevance λ), and typical and borderline
    documents. It also shows shares over time and by column with intervals, the tree, distances, and what was left out. A
    paragraph for the methods section of a paper is included.

    For a classifier or a fine-tuned model, it shows scores with intervals, confusions, calibration, errors and learning curves.
    For a comparison (nlpkit compare), it shows the scores of each model by number of topics, and the words of its topics.

    Titles and texts are read from the corpus of the run. The page works offline and without a server. Everything shown can be
    saved as CSV.

    \b
    Examples:
      nlpkit report run/ -o report.html
      nlpkit report run/ --titles-only --over date:quarter --by source -o small.html
      nlpkit report run/ --no-texts --max-points 5000 -o public.html
      nlpkit report run/ other/ -o both.html
    """
    from nlpkit.platform.cli import console
    from nlpkit.platform.runs.atomic import check_target
    from nlpkit.report import info_views as render
    from nlpkit.report.run import check_page_name, plan, report

    target = check_page_name(out.output or "report.html")
    check_target(target, force=out.force)
    if run.dry_run:
        plans = [plan(one, options, run) for one in source]
        console.plan({name: sum(one.get(name, 0) for one in plans) for name in {**plans[0], **plans[-1]}})
        return
    page = report(source, options=options, read=read, execution=run)
    page.save(target, force=out.force)
    render.report(page, target)


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit plot: one picture of a run.


def plot_cli(
    source: Annotated[
        str, Argument("Run directory of a topic model, a classifier, a comparison or scale.", metavar="RUN"), READ
    ],
    what: Annotated[
        str | None,
        Argument("Chart to draw, such as map or over-time. Without it, the charts are listed.", metavar="WHAT"),
    ] = None,
    *,
    options: PlotOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Draw one figure of a run: SVG, PDF or PNG.

    WHAT names the chart; without it, nlpkit lists the charts of the run. For any topic model: map, topics (words as bars),
    similarity, distances, correlations (network), tree, over-time, stream, by-column, columns (what they explain), number
    (scores by number of topics), wordcloud (PNG), effects (of --prevalence). For stm: content. For a classifier: scores,
    confusion, calibration, learning. For compare: number. For a comparison by finetune: ranks. For a run of scale: positions,
    groups, weights. For robust topics: robust.

    Figures are as wide as one or both columns of a journal, and can be read in greyscale. Fonts are embedded, and the same run
    gives the same bytes. `nlpkit stats --plot` draws the laws of Zipf and Heaps.

    \b
    Examples:
      nlpkit plot run/ map -o map.pdf
      nlpkit plot run/ over-time --topics 6 --over date:quarter --width 12 -o time.svg
      nlpkit plot run/ by-column --by source --style serif -o sources.png
      nlpkit plot run/ over-time --by source --style grey -o by-source.pdf
    """
    from nlpkit.errors import UsageError
    from nlpkit.platform.cli import console
    from nlpkit.platform.runs.atomic import check_target
    from nlpkit.platform.views.picture import check_picture_name
    from nlpkit.report.info_views import picture_blocks
    from nlpkit.report.plot import check_plot, pictures_of, plot

    if what is None:
        if out.output is not None:
            raise UsageError("WHAT is missing: which chart goes into the file? `nlpkit plot RUN` lists them")
        listed = pictures_of(source, execution=run)
        console.say(picture_blocks(source, listed), lambda: {"run": source, "pictures": listed})
        return
    name = check_plot(what)
    if out.output is None:
        raise UsageError(f"no output is named; add -o {name}.svg", parameter="output")
    target = check_picture_name(out.output, name)
    check_target(target, force=out.force)
    if run.dry_run:
        console.plan({"pictures": 1})
        return
    plot(source, name, options=options, execution=run).save(target, force=out.force)
    if run.json:
        console.emit_json({"output": str(target), "what": name})


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit info: what a file or a run is, where it comes from, how big it is.


def info_cli(
    path: Annotated[str, Argument("A run directory, a corpus, or any file that nlpkit wrote.", metavar="FILE|RUN")],
    tree: Annotated[bool, Param("Only show the topics of each layer as a tree.")] = False,
    *,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Show what a file or run directory holds and how it was made.

    It reads any corpus, and any file or folder that nlpkit writes: tables, matrices, scores, checkpoints, models. It shows
    kind, schema, rows, columns, parameters, inputs with their sha256, sizes and seconds. For a topic model it also shows the
    topics.

    \b
    Examples:
      nlpkit info data/samples/news.jsonl
      nlpkit info run/
      nlpkit info run/ --tree
      nlpkit info run/topics.parquet --json
    """
    from nlpkit.report import info_views as render
    from nlpkit.report.info import info

    if tree:
        render.topic_tree(path, info(path, read=read))
    else:
        known = info(path, read=read)
        console.say(render.info_blocks(known, verbose=console.settings.verbose), lambda: known)
