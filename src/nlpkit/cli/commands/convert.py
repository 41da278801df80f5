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
    """Convert topic models to and from MALLET, pyLDAvis and other formats.

    \b
    Examples:
      nlpkit convert lda/ -o lda.json
      nlpkit convert state.gz -o imported/
      nlpkit convert lda/ -o topics.csv

    The name of the output sets the format. .gz is a MALLET state. .json is input for pyLDAvis (for LDA runs) or OCTIS's list of
    topics (for other runs). .txt has one topic per line. .csv, .tsv, .parquet and .xlsx are tables of topics and words that
    nlpkit evaluate reads. A directory is a run made from a MALLET state. MALLET and pyLDAvis need an LDA run fitted with
    --save-assignments.
    """
    from nlpkit.cli.render.mixtures import show_lda
    from nlpkit.workflows.convert import convert, size_of

    if out.output is None or Path(out.output).suffix == "":
        target: str | Path = out.run_target([str(source)], "lda")
    elif out.output == "-":
        raise UsageError("no output is named for the converted model; add `output=FILE`", parameter="output")
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
