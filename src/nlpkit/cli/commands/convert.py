"""nlpkit convert: topic models for other programs, and those of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit import reporting
from nlpkit.cli import console
from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.parameters import READ
from nlpkit.topics.lda.options import DescriptionOptions
from nlpkit.workflows.convert_options import ConvertOptions


def convert_cli(
    *,
    source: Annotated[
        Path, Argument("Run directory, MALLET state (--output-state), or file of topics.", metavar="MODEL"), READ
    ],
    out: OutputFlags,
    options: ConvertOptions,
    description: DescriptionOptions,
    run: RunFlags,
) -> None:
    """Write topic models for other programs, and read theirs.

    \b
    Examples:
      nlpkit convert lda/ -o lda.json
      nlpkit convert state.gz -o imported/
      nlpkit convert lda/ -o topics.csv

    The name of the output says what it is: .gz a state of MALLET, .json what pyLDAvis shows (of an LDA run; else OCTIS's list
    of topics), .txt a line a topic, .csv .tsv .parquet .xlsx a table of topics and their words, which nlpkit evaluate reads; a
    directory is a run, of a state of MALLET. MALLET and pyLDAvis need an LDA run fitted with --save-assignments.
    """
    from nlpkit.cli.render.lda import show_lda
    from nlpkit.workflows.convert import convert, size_of

    if out.output is None or Path(out.output).suffix == "":
        target: str | Path = out.run_target([str(source)], "lda")
    elif out.output == "-":
        raise UsageError("a converted model is a file or a directory; give `output=FILE`", parameter="output")
    else:
        target = out.output
    if run.dry_run:
        console.plan(size_of(source, options))
        return
    done = convert(source, target, options=options, description=description, execution=run, force=out.force)
    if done.model is not None:
        show_lda(done.model, done.target)
    elif run.json:
        console.emit_json({"output": str(done.target), "to": done.to, "n_topics": done.n_topics})
    else:
        reporting.note(f"wrote {done.target}")
