"""nlpkit kwic: keywords in context, and what a pattern is worth as a classifier."""

from __future__ import annotations

from typing import Annotated

from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Argument, Inputs, OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.io.read_options import ReadOptions
from nlpkit.text.kwic import SearchOptions


def kwic_cli(
    pattern: Annotated[str, Argument("Regular expression (Python's re) or, with --glob, words.", metavar="PATTERN")],
    inputs: Inputs,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
    options: SearchOptions,
) -> None:
    """Show every match of a pattern in its context.

    The pattern is searched in the text as it is: umlauts and letters of all scripts are letters, ^ and $ are the ends
    of a line, \\b of a word; an empty match is none. With -o a table (id, start, end, left, match, right) is written,
    places in characters. With --by the pattern is scored as a classifier: a document that matches is predicted to be of
    the class.

    \b
    Examples:
      nlpkit kwic "\\b[tT]he (judge|jury)\\b" data/samples/news.jsonl --limit-hits 10
      nlpkit kwic "climat* chang*" data/samples/news.jsonl --glob -i -o hits.parquet
      nlpkit kwic "judge|jury|court" data/samples/news.jsonl --count --by label
    """
    options.pattern(pattern)
    if run.dry_run:
        dry_run(inputs, read)
        return
    if options.count and out.output is not None:
        raise UsageError("`count` writes no table of hits; leave out -o, or `count`")
    target = out.given_table_target("hits.parquet")

    from nlpkit.cli.render import kwic as render
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.kwic import search

    with search(read_corpus(*inputs, options=read, beside=target), pattern, options=options) as concordance:
        if target is not None:
            concordance.save(target, force=out.force)
        render.concordance(concordance, target)
