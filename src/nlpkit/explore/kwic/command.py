"""nlpkit kwic: keywords in context, and what a pattern is worth as a classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.explore.kwic.model import SearchOptions
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Argument, Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import WRITTEN, Param, options
from nlpkit.platform.plain import shell_line


@options
class PlotFlags:
    """The picture of a search."""

    PANEL: ClassVar[str] = "Search"

    plot: Annotated[
        Path | None,
        Param(
            "Draw the positions of the hits in each document, or in each class of --by (.svg .png .html).",
            metavar="FILE",
        ),
        WRITTEN,
    ] = None


def kwic_cli(
    pattern: Annotated[str, Argument("Regular expression (Python's re), or words with --glob.", metavar="PATTERN")],
    inputs: Inputs,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
    options: SearchOptions,
    picture: PlotFlags,
) -> None:
    """Show every match of a pattern in its context.

    The pattern is applied to the unchanged text. Letters of all scripts count as letters, ^ and $ match the ends of a line, and
    \\b the ends of a word. Empty matches are ignored. -o writes a table (id, start, end, left, match, right, and the columns of
    --show-cols) with positions in characters.

    --in tokens searches a column of words joined by spaces; positions are then words. --by scores the pattern as a classifier:
    a document that matches is predicted to belong to the class.

    \b
    Examples:
      nlpkit kwic "\\b[tT]he (judge|jury)\\b" data/samples/news.jsonl --limit-hits 10
      nlpkit kwic "climat* chang*" data/samples/news.jsonl --glob -i -o hits.parquet
      nlpkit kwic "judge|jury|court" data/samples/news.jsonl --count --by label
    """
    options.pattern(pattern)
    if len(inputs) == 1 and Path(pattern).is_file() and inputs[0] != "-" and not Path(inputs[0]).exists():
        raise UsageError(f"the pattern comes before the file: {shell_line('nlpkit', 'kwic', inputs[0], pattern)}")
    if run.dry_run:
        dry_run(inputs, read)
        return
    if options.count and out.output is not None:
        raise UsageError("`count` writes no table of hits; leave out -o, or `count`")
    target = out.given_table_target("hits.parquet")

    from nlpkit.explore import views as render
    from nlpkit.explore.kwic.run import check_plot, search, write_dispersion_plot
    from nlpkit.platform.documents.corpus import read_corpus

    if picture.plot is not None:
        check_plot(picture.plot, force=out.force)
    corpus = read_corpus(*inputs, options=read, beside=target)
    with search(corpus, pattern, options=options, places=picture.plot is not None) as concordance:
        if target is not None:
            concordance.save(target, force=out.force)
        render.concordance(concordance, target)
        if picture.plot is not None:
            write_dispersion_plot(concordance, picture.plot, force=out.force)
