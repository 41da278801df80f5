"""nlpkit diff: what became of the topics of one run in another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.platform.options import READ, TABLE_WRITTEN, WRITTEN, Param, options
from nlpkit.topics.diff.options import DiffOptions


@options
class DiffFiles:
    """The table of all pairs, and the picture."""

    PANEL: ClassVar[str] = "Output"

    save_overlaps: Annotated[
        Path | None, Param("Table of all pairs of topics that share documents or words.", metavar="FILE"), TABLE_WRITTEN
    ] = None
    plot: Annotated[
        Path | None,
        Param("Draw the topics of both runs, joined by bands (.svg .pdf .png).", metavar="FILE"),
        WRITTEN,
    ] = None


def diff_cli(
    first: Annotated[Path, Argument("Run directory of the earlier topic model.", metavar="A"), READ],
    second: Annotated[Path, Argument("Run directory of the later topic model.", metavar="B"), READ],
    options: DiffOptions,
    out: OutputFlags,
    side: DiffFiles,
    run: RunFlags,
) -> None:
    """Compare two runs: matched, split, merged, vanished and new topics.

    The runs may come from any topic models: two seeds, two numbers of topics, last year's and this year's corpus, bertopic and
    LDA. If the runs share documents (by id), topics are compared by documents; otherwise by words. A topic of A is split if two
    or more topics of B come from it. A topic of B is merged if two or more topics of A go into it.

    \b
    Examples:
      nlpkit diff run/ other/
      nlpkit diff run/ other/ --by words --threshold 0.25
      nlpkit diff run/ other/ -o relations.csv --save-overlaps overlaps.csv
      nlpkit diff run/ other/ --plot changes.svg
    """
    target = out.given_table_target("relations.csv")
    if side.plot is not None:
        from nlpkit.platform.runs.atomic import check_target
        from nlpkit.platform.views.picture import check_picture_name

        check_target(check_picture_name(side.plot, "diff"), force=out.force)
    if run.dry_run:
        from nlpkit.topics.over_time.tables import size_of

        sizes = {name: size_of(path, run) for name, path in (("a", first), ("b", second))}
        console.plan({f"{what}_of_{name}": n for name, size in sizes.items() for what, n in size.items()})
        return
    from nlpkit.topics.diff.run import diff
    from nlpkit.topics.diff.views import diff_blocks

    result = diff(first, second, options=options, execution=run)
    if side.save_overlaps is not None:
        result.save(side.save_overlaps, table="overlaps", force=out.force)
    if target is not None:
        result.save(target, force=out.force)
    if side.plot is not None:
        result.picture().save(side.plot, force=out.force)
    if target != "-":
        console.say(diff_blocks(result, console.settings.show), result.to_dict)
