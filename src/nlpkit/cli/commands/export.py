"""nlpkit export: a run for spreadsheets, Gephi, BERTopic, pyLDAvis and R."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit import reporting
from nlpkit.cli import console
from nlpkit.cli.options import Argument, OutputFlags, RunFlags
from nlpkit.errors import UsageError
from nlpkit.parameters import READ
from nlpkit.topics.export_options import FOLDERS, ExportOptions


def export_cli(
    source: Annotated[Path, Argument("Run directory of a topic model.", metavar="RUN"), READ],
    options: ExportOptions,
    out: OutputFlags,
    run: RunFlags,
) -> None:
    """Export topics to spreadsheets, Gephi, BERTopic, pyLDAvis or R.

    .xlsx is a workbook with topics, words and documents; CSV and JSON hold the same. .gexf is a network of topics and words for Gephi.
    bertopic writes a folder for BERTopic.load, without a pickle, and pyldavis its input. r writes tables named as in R's tidytext, with
    a script that loads them.

    \b
    Examples:
      nlpkit export run/ -o topics.xlsx
      nlpkit export run/ -o topics.json --texts
      nlpkit export run/ -o network.gexf --terms 10
      nlpkit export run/ --to bertopic -o bertopic-model
      nlpkit export run/ --to r -o for-r
    """
    from nlpkit.workflows.export import export, export_form

    if out.output is None or out.output == "-":
        raise UsageError(
            "no output is named for the export; give -o topics.xlsx, or `to` and -o FOLDER", parameter="output"
        )
    form = export_form(out.output, options)
    if run.dry_run:
        from nlpkit.workflows.topic_tables import size_of

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
