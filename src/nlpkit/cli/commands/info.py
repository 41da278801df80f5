"""nlpkit info: what a file or a run is, where it comes from, how big it is."""

from __future__ import annotations

from typing import Annotated

from nlpkit.cli import console
from nlpkit.cli.options import Argument, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import Param


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
    from nlpkit.cli.render import info as render
    from nlpkit.workflows.info import info

    if tree:
        render.topic_tree(path, info(path, read=read))
    else:
        known = info(path, read=read)
        console.say(render.info_blocks(known, verbose=console.settings.verbose), lambda: known)
