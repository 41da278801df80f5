"""The commands `nlpkit export` and `nlpkit convert`: topic models for other programs, and from them.

Parts, in this order:
- nlpkit export: a run for spreadsheets, Gephi, BERTopic, pyLDAvis and R.
- nlpkit convert: topic models for other programs, and those of other programs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.errors import UsageError
from nlpkit.platform import reporting
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import READ
from nlpkit.topics.export.options import FOLDERS, ConvertOptions, ExportOptions
from nlpkit.topics.lda.options import DescriptionOptions


def export_cli(
    source: Annotated[Path, Argument("Run directory of a topic model.", metavar="RUN"), READ],
    options: ExportOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Export topics to spreadsheets, Gephi, BERTopic, pyLDAvis or R.

    .xlsx is a workbook with topics, words and documents; CSV and JSON hold the same. .gexf is a network of topics and words for Gephi.
    bertopic writes a folder for BERTopic.load, without a pickle, and pyldavis its input. r writes tables named as in R's tidytext, with
    a script that loads them. codebook writes a CSV of the topics with names, judgements and notes that people gave (`nlpkit edit`).

    \b
    Examples:
      nlpkit export run/ -o topics.xlsx
      nlpkit export run/ -o topics.json --texts
      nlpkit export run/ -o network.gexf --terms 10
      nlpkit export run/ --to bertopic -o bertopic-model
      nlpkit export run/ --to r -o for-r
      nlpkit export run/ --to codebook -o codebook.csv
    """
    from nlpkit.topics.export.run import export, export_form

    if out.output is None or out.output == "-":
        raise UsageError(
            "no output is named for the export; give -o topics.xlsx, or `to` and -o FOLDER", parameter="output"
        )
    form = export_form(out.output, options)
    if run.dry_run:
        from nlpkit.topics.over_time.tables import size_of

        console.plan(size_of(source, run))
        return
    done = export(source, out.output, options=options, execution=run, force=out.force)
    if run.json:
        console.emit_json(
            {"output": str(done.target), "to": done.to, "n_topics": done.n_topics, "documents": done.n_documents}
        )
        return
    files = sorted(f.name for f in done.target.iterdir()) if form in FOLDERS else []
    reporting.note(f"wrote {done.target}{'/: ' + ', '.join(files) if files else ''}")


# ------------------------------------------------------------------------------------------------------------------------
# nlpkit convert: topic models for other programs, and those of other programs.


def convert_cli(
    *,
    source: Annotated[
        Path,
        Argument(
            "Run directory, MALLET state (--output-state), folder saved by BERTopic (safetensors), or file of topics.",
            metavar="MODEL",
        ),
        READ,
    ],
    out: OutputFlags,
    options: ConvertOptions,
    description: DescriptionOptions,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Convert topics to and from MALLET, BERTopic, pyLDAvis and others.

    \b
    Examples:
      nlpkit convert lda/ -o lda.json
      nlpkit convert state.gz -o imported/
      nlpkit convert lda/ -o topics.csv
      nlpkit convert bertopic-model -o imported-bertopic/

    The name of the output sets the format. .gz is a MALLET state. .json is input for pyLDAvis (for LDA runs) or OCTIS's list of
    topics (for other runs). .txt has one topic per line. .csv, .tsv, .parquet and .xlsx are tables of topics and words that
    nlpkit evaluate reads. A directory is a run made from a MALLET state or a BERTopic model. MALLET and pyLDAvis need an LDA run
    fitted with --save-assignments.

    A BERTopic model is a folder that was saved as safetensors. New documents get the topic with the nearest vector, as in
    BERTopic. Without --documents, topics can be renamed, but not merged. Pickled models are refused.
    """
    from nlpkit.topics.export.convert import convert, size_of
    from nlpkit.topics.lda.model import FittedLda
    from nlpkit.topics.mixture_views import show_lda

    if out.output is None or Path(out.output).suffix == "":
        target: str | Path = out.run_target([str(source)], "lda")
    elif out.output == "-":
        raise UsageError("no output is named for the converted model; add `output=FILE`", parameter="output")
    else:
        target = out.output
    if run.dry_run:
        console.plan(size_of(source, options, read))
        return
    done = convert(source, target, options=options, description=description, read=read, execution=run, force=out.force)
    if isinstance(done.model, FittedLda):
        show_lda(done.model, done.target)
    elif run.json:
        console.emit_json({"output": str(done.target), "to": done.to, "n_topics": done.n_topics})
    else:
        reporting.note(f"wrote {done.target}")
