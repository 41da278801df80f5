"""nlpkit preprocess: texts to tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import TABLE_WRITTEN, Param
from nlpkit.text.options import TextOptions
from nlpkit.workflows.rows import RowOptions

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class SideFlags:
    """What else is shown or written."""

    steps: Annotated[bool, Param("Print what would be done, in its order; do nothing.")] = False
    show: Annotated[
        str | None,
        Param("Print the first N documents before and after.", metavar="N|all"),
    ] = None
    save_vocab: Annotated[
        Path | None,
        Param("Table of term, cf, df, for --vocab.", metavar="FILE"),
        TABLE_WRITTEN,
    ] = None
    save_phrases: Annotated[
        Path | None,
        Param("The phrases found, for --phrase-file.", metavar="FILE"),
        TABLE_WRITTEN,
    ] = None
    save_removed: Annotated[
        Path | None,
        Param("Table of the terms that went: term, cf, df, reason.", metavar="FILE"),
        TABLE_WRITTEN,
    ] = None


def preprocess_cli(
    inputs: Inputs,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
    rows: RowOptions,
    tokens: TextOptions,
    side: SideFlags,
) -> None:
    """Cut texts into tokens and write them as column 'tokens'.

    Unless told otherwise: tags, addresses and numbers fall away; Unicode words are cut (don't, AT&T and
    state-of-the-art stay whole; Chinese, Japanese and Thai give character n-grams); lower case; stop words of the
    detected language; terms in too few or too many documents. --steps prints the plan in its order, --show 3 what
    it does to three documents. Every input column travels along; the text itself is never altered.

    \b
    Examples:
      nlpkit preprocess data/samples/news.jsonl -o docs.parquet
      nlpkit preprocess data/samples/nachrichten.jsonl --lemma dict --phrases npmi:0.5 --show 2
      nlpkit preprocess data/samples/news.jsonl --unit sentence --dedupe near:0.8 -o sentences.parquet
      nlpkit preprocess data/samples/news.jsonl --keep number,url --ngrams 1,2 --min-df 5 --steps
      nlpkit preprocess data/samples/news.jsonl --limit 2 -o - | head -c 300
    """
    if tokens.language == "auto" and not side.steps and not run.dry_run:
        from nlpkit.text.language import prepare_detection

        prepare_detection()  # first of all: it goes on while the rest is loaded
    from nlpkit.cli.preprocess_run import make
    from nlpkit.workflows.token_options import preprocess_options

    options, plan = preprocess_options(tokens), rows.plan()
    if side.steps:
        from nlpkit.cli.steps import show_steps

        show_steps(plan, options)
        return
    if run.dry_run:
        dry_run(inputs, read, plan=plan)
        return
    target = None if out.output is None and side.show is not None else out.target("docs.parquet")
    make(inputs, target, plan, options, side, read, run, force=out.force)
