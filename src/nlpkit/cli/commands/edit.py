"""nlpkit edit: topics of a run merged, split, renamed and so on, as a new run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.cli import console
from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import READ, Param
from nlpkit.topics.edit_options import EditOptions


def edit_cli(
    *,
    model: Annotated[
        Path,
        Argument("Run directory of bertopic or lda-gibbs. Renaming works for all topic models.", metavar="RUN"),
        READ,
    ],
    edits: Annotated[Path | None, Argument("File of edits (TOML).", metavar="EDITS"), READ] = None,
    out: OutputFlags,
    init: Annotated[
        bool,
        Param(
            "Only write a file of edits to fill in, with the topics of RUN (to -o FILE, otherwise to the screen).",
            panel="Edit",
        ),
    ] = False,
    options: EditOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Edit the topics of a run by a file: merge, split, rename, drop.

    The file also takes pin, reorder, reduce = 20, max_outliers = "5 %" and stop_words. RUN stays as it is; -o gets a run of the
    same kind, with words, sizes and scores worked out again and the same vocabulary. Topics that are not edited keep their numbers
    as far as possible; manifest.json says what each topic was. The file can be used again on a later fit: topics are known by
    their words there, and what no longer applies is listed. The seed is that of the fit.

    \b
    Examples:
      nlpkit edit run/ --init -o my-edits.toml
      nlpkit edit run/ data/samples/news_edits.toml -o run-edited/
      nlpkit edit run/ data/samples/news_edits.toml --strict --json -q -o run-strict/
    """
    if init and edits is not None:
        raise UsageError("`init` writes a file of edits; give it with -o FILE, and no EDITS", parameter="init")
    if not init and edits is None:
        raise UsageError(
            "say which edits: a TOML file, which `init` writes for a run (nlpkit edit RUN --init -o edits.toml)"
        )
    from nlpkit.cli.render import edit as render

    if init:
        from nlpkit.workflows.edit import edits_template, write_template

        target = None if out.output in (None, "-") else Path(str(out.output))
        text = edits_template(model, execution=run)
        if target is not None:
            write_template(text, target, force=out.force)
        render.template(text, target, model)
        return
    from nlpkit.workflows.edit import check_edit, edit

    assert edits is not None
    folder = out.run_target([str(model)], "edited")
    if run.dry_run:
        from nlpkit.workflows.estimate import estimate

        documents = check_edit(model, edits, options=options, read=read, execution=run)
        console.plan({"documents": 0} if documents is None else estimate(documents))
        return
    result = edit(model, edits, options=options, read=read, execution=run)
    result.save(folder, force=out.force)
    render.edited(result, folder)
