"""nlpkit spell: spelling errors by a noisy channel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Argument, Inputs, OutputFlags, RunFlags
from nlpkit.cli.parts import divided
from nlpkit.errors import UsageError
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.shards import ShardOptions
from nlpkit.lm.spelling import SpellOptions
from nlpkit.parameters import READ


def spell_cli(
    *,
    model: Annotated[Path, Argument("Run directory of nlpkit ngram-lm, or an ARPA file.", metavar="RUN"), READ],
    inputs: Inputs,
    out: OutputFlags,
    options: SpellOptions,
    read: ReadOptions,
    sharing: ShardOptions,
    run: RunFlags,
) -> None:
    """Find and correct misspelled words with a language model.

    nlpkit compares each unknown word with known words at one or two edits (a letter inserted, left out or replaced, or two
    swapped). It suggests the most probable word in the context, if that is more probable than the word as written. Fit the
    language model to a large corpus of the same kind, because unknown names are taken for errors.

    -o writes a table (id, start, end, word, suggestion, log10_gain) with positions in characters. With --apply, it writes the
    documents with a column 'corrected'.

    \b
    Examples:
      nlpkit spell lm/ data/samples/hard.jsonl
      nlpkit spell lm/ data/samples/hard.jsonl --min-gain 6 -o errors.csv
      nlpkit spell lm/ data/samples/hard.jsonl --apply -o corrected.parquet
    """
    from nlpkit.cli.render import spelling as render
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.spelling import corrections

    if run.dry_run:
        dry_run(inputs, read)
        return
    target = out.given_table_target("spelling.parquet")
    if options.apply and target is None:
        raise UsageError("`apply` writes the documents with a column 'corrected'; give -o FILE", parameter="apply")
    work = {"model": model, "options": options}
    if divided("spell", inputs, target, sharing=sharing, read=read, out=out, run=run, **work):
        return
    corpus = read_corpus(*inputs, options=read, beside=target)
    with corrections(model, corpus, options=options, execution=run) as errors:
        summary = errors.run() if target is None else errors.save(target, force=out.force)
    render.errors(summary, target)
