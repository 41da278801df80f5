"""nlpkit edit: topics of a run merged, split, renamed and so on, as a new run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.errors import UsageError
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import READ, Param
from nlpkit.topics.edit.options import EditOptions


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
    merge: Annotated[
        list[str] | None,
        Param("Merge topics into one, such as 6,8. Repeat the option for several groups.", metavar="K,K", panel="Edit"),
    ] = None,
    rename: Annotated[
        list[str] | None,
        Param(
            "Rename a topic, such as 0=Prices. Repeat the option for several topics.", metavar="K=NAME", panel="Edit"
        ),
    ] = None,
    reduce_to: Annotated[
        int | None, Param("Merge the most similar topics until N are left.", metavar="N", min=1, panel="Edit")
    ] = None,
    split: Annotated[
        list[str] | None,
        Param("Split a topic: 4 in two parts, or 4=3 in three. Repeat the option.", metavar="K[=N]", panel="Edit"),
    ] = None,
    hide: Annotated[
        list[str] | None,
        Param("Hide topics in reports, such as 7,9. Their documents stay where they are.", metavar="K,K", panel="Edit"),
    ] = None,
    undo: Annotated[
        bool, Param("Name the run that RUN was made from, which is unchanged. Nothing is written.", panel="Edit")
    ] = False,
    options: EditOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Merge, split, rename or drop the topics of a run.

    --merge, --split, --rename, --hide and --reduce-to make the most common edits. A TOML file lists any edits; --init writes one to
    fill in, and the Review section of a report saves one. It can also drop, pin and reorder topics, keep judgements and notes, and
    set max_outliers = "5 %" and stop_words. RUN is not changed. -o writes a new run of the same kind, with the same vocabulary and
    with words, sizes and scores computed again. Topics that are not edited keep their numbers where possible; manifest.json records
    the origin of each topic. --undo names the run before.

    You can apply the same file to a later fit. Topics are then recognised by their words, and edits that no longer apply are
    listed. The seed is the seed of the fit.

    \b
    Examples:
      nlpkit edit run/ --merge 6,8 --rename "0=Prices" -o run-merged/
      nlpkit edit run/ --split 1 -o run-split/
      nlpkit edit run/ --init -o my-edits.toml
      nlpkit edit run/ data/samples/news_edits.toml -o run-edited/
      nlpkit edit run/ data/samples/news_edits.toml --strict --json -q -o run-strict/
    """
    from nlpkit.topics.edit.edits import Edits, edits_from_words
    from nlpkit.topics.edit.run import check_edit, chosen_edits, edit, edits_template, run_before, write_template

    if init and edits is not None:
        raise UsageError("`init` writes a file of edits; name it with -o FILE, and leave EDITS out", parameter="init")
    words = edits_from_words(merge or (), rename or (), reduce_to, split or (), hide or ())
    if undo and (init or edits is not None or words != Edits() or out.output is not None):
        raise UsageError(
            "`undo` writes nothing and takes no edits: the run before is still there, and is named", parameter="undo"
        )
    from nlpkit.topics import views as render

    if undo:
        render.undone(run_before(model))
        return
    if init:
        target = None if out.output in (None, "-") else Path(str(out.output))
        text = edits_template(model, execution=run)
        if target is not None:
            write_template(text, target, force=out.force)
        render.template(text, target, model)
        return
    wanted = chosen_edits(edits, words)
    folder = out.run_target([str(model)], "edited")
    if run.dry_run:
        from nlpkit.text.estimate import estimate

        documents = check_edit(model, wanted, options=options, read=read, execution=run)
        console.plan({"documents": 0} if documents is None else estimate(documents))
        return
    result = edit(model, wanted, options=options, read=read, execution=run)
    result.save(folder, force=out.force)
    render.edited(result, folder)
