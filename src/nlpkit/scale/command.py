"""nlpkit scale: positions of documents on a scale."""

from __future__ import annotations

from pathlib import Path

from nlpkit.embed.options import EncoderOptions
from nlpkit.platform.cli import console
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.scale.options import ScaleOptions
from nlpkit.text.options import TokenOptions


def scale_cli(
    inputs: Inputs,
    options: ScaleOptions,
    tokens: TokenOptions,
    encoder: EncoderOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Place documents on a scale by Wordscores, Wordfish, LSS or an axis.

    A scale runs from left to right, or from negative to positive, for example. wordscores learns word scores from reference
    texts with known positions. wordfish and ca find the main dimension in the word counts alone; --low and --high name two
    documents that fix its direction. lss scores words by their similarity to seed words. axis compares embeddings with two sets
    of sentences or words.

    Each document gets a position, a standard error and an interval. --by and --over add mean positions by column and over time.
    -o RUN/ writes a run directory with positions, words, groups and report.md, and -o FILE the table of documents. A document
    without a known word keeps its row, with no position. `nlpkit plot RUN/ positions` draws the positions.

    \b
    Examples:
      nlpkit scale data/samples/news.jsonl --method ca --by label
      nlpkit scale data/samples/news.jsonl --method lss --positive good --positive gain* --negative bad --negative loss* --over date:year
      nlpkit scale data/samples/news.jsonl --low news-0001 --high news-0002 --min-df 5 --limit 60 -o scale/
    """
    if run.dry_run:
        dry_run(inputs, read, encoder=encoder if options.method == "axis" else None, threads=run.n_threads())
        return
    from nlpkit.platform.documents.corpus import read_corpus, warn_dropped
    from nlpkit.platform.runs.atomic import check_target
    from nlpkit.platform.runs.tables import FORMATS
    from nlpkit.scale.run import scale
    from nlpkit.scale.tables import scale_blocks

    target = out.output
    if target is not None and (target == "-" or Path(target).suffix.lower() in FORMATS):
        target = out.table_target("positions.parquet")
    elif target is not None:
        check_target(out.new_directory(inputs, "scale"), force=out.force, directory=True)
    scaled = scale(
        read_corpus(*inputs, options=read, beside=target),
        options=options,
        tokens=tokens,
        encoder=encoder,
        execution=run,
    )
    if target is not None:
        scaled.save(target, force=out.force)
    else:
        warn_dropped(scaled.source, None)
    console.say(scale_blocks(scaled), scaled.to_dict, target)
