"""nlpkit report: a run as one HTML file."""

from __future__ import annotations

from typing import Annotated

from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import READ
from nlpkit.report.options import ReportOptions


def report_cli(
    source: Annotated[str, Argument("Run directory, also of nlpkit compare.", metavar="RUN"), READ],
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
    """
    from nlpkit.cli import console
    from nlpkit.cli.render import info as render
    from nlpkit.io.atomic import check_target
    from nlpkit.workflows.report import check_page_name, plan, report

    target = check_page_name(out.output or "report.html")
    check_target(target, force=out.force)
    if run.dry_run:
        console.plan(plan(source, options, run))
        return
    page = report(source, options=options, read=read, execution=run)
    page.save(target, force=out.force)
    render.report(page, target)
