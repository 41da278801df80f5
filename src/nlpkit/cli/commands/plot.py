"""nlpkit plot: one picture of a run."""

from __future__ import annotations

from typing import Annotated

from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.parameters import READ
from nlpkit.report.plot_options import PlotOptions


def plot_cli(
    source: Annotated[
        str, Argument("Run directory of a topic model, a classifier or a comparison.", metavar="RUN"), READ
    ],
    what: Annotated[str, Argument("Chart to draw, such as map or over-time.", metavar="WHAT")],
    options: PlotOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Draw one figure of a run: SVG, PDF or PNG.

    WHAT names the chart. For any topic model: map (documents with topic names), topics (words as bars), similarity (heat map),
    tree (the tree of hlda, or how topics merge), over-time (lines with intervals), stream, by-column, wordcloud (PNG). Also:
    correlations (network) and number (scores by number of topics). For a classifier: confusion, calibration, learning. For a
    comparison by finetune: ranks.

    Fonts are embedded, and the same run gives the same bytes. `nlpkit stats --plot` draws the laws of Zipf and Heaps.

    \b
    Examples:
      nlpkit plot run/ map -o map.pdf
      nlpkit plot run/ over-time --topics 6 --over date:quarter --width 12 -o time.svg
      nlpkit plot run/ by-column --by source --style serif -o sources.png
    """
    from nlpkit.cli import console
    from nlpkit.errors import UsageError
    from nlpkit.io.atomic import check_target
    from nlpkit.workflows.picture import check_picture_name
    from nlpkit.workflows.plot import check_plot, plot

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
