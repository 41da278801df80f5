"""nlpkit preprocess: texts to tokens."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags, shown
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import ShardOptions
from nlpkit.platform.options import TABLE_WRITTEN, WRITTEN, Param, options
from nlpkit.shards.command import divided
from nlpkit.text.options import DocumentTextOptions, RowOptions


@options
class PreviewOptions:
    """What else is shown or written."""

    PANEL: ClassVar[str] = "Preview and tables"

    steps: Annotated[bool, Param("Print the steps in order, without doing them.")] = False
    show: Annotated[str | None, Param("Print the first N documents before and after.", metavar="N|all")] = None
    save_vocab: Annotated[
        Path | None, Param("Table of the terms (term, cf, df), which --vocab can read.", metavar="FILE"), TABLE_WRITTEN
    ] = None
    save_phrases: Annotated[
        Path | None, Param("Table of the phrases found, which --phrase-file can read.", metavar="FILE"), TABLE_WRITTEN
    ] = None
    save_removed: Annotated[
        Path | None, Param("Table of the removed terms: term, cf, df, reason.", metavar="FILE"), TABLE_WRITTEN
    ] = None
    save_conllu: Annotated[
        Path | None,
        Param("All words with lemma, part of speech and position, in CoNLL-U format (spaCy).", metavar="FILE"),
        WRITTEN,
    ] = None

    def refuse(self) -> None:
        """Raise UsageError for what a part of the documents cannot give."""
        for field in fields(self):
            if getattr(self, field.name) != field.default:
                raise UsageError(
                    f"`{field.name}` needs all documents, and this is one part of them; nlpkit merge writes the table "
                    "of terms (`save_vocab`)",
                    parameter=field.name,
                )


def preprocess_cli(
    inputs: Inputs,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
    rows: RowOptions,
    tokens: DocumentTextOptions,
    preview: PreviewOptions,
    sharing: ShardOptions,
) -> None:
    """Split texts into tokens, written to the column 'tokens'.

    By default, nlpkit removes tags, addresses and numbers, lowercases the texts, and splits them into Unicode words. don't,
    AT&T and state-of-the-art stay whole; Chinese, Japanese and Thai give character n-grams. It then removes stop words of the
    detected language, and terms in too few or too many documents.

    --steps prints these steps in order, and --show 3 shows their effect on three documents. The output keeps every input
    column, and the text itself is never changed.

    \b
    Examples:
      nlpkit preprocess data/samples/news.jsonl -o docs.parquet
      nlpkit preprocess data/samples/nachrichten.jsonl --lemma dict --phrases npmi:0.5 --show 2
      nlpkit preprocess data/samples/news.jsonl --unit sentence --dedupe near:0.8 -o sentences.parquet
      nlpkit preprocess data/samples/news.jsonl --keep number,url --ngrams 1,2 --min-df 5 --steps
      nlpkit preprocess data/samples/news.jsonl --limit 2 -o - | head -c 300
    """
    if tokens.language == "auto" and not preview.steps and not run.dry_run:
        from nlpkit.text.language import prepare_detection

        prepare_detection()  # first of all: it goes on while the rest is loaded
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.text import views as render
    from nlpkit.text.run import preprocess, preprocess_plan

    plan = preprocess_plan(tokens=tokens, rows=rows, read=read)
    if preview.steps:
        render.plan(plan)
        return
    if run.dry_run:
        dry_run(inputs, read, "preprocess", tokens=tokens, plan=rows.plan(), threads=run.n_threads())
        return
    target = None if out.output is None and preview.show is not None else out.target("docs.parquet")
    if preview.save_phrases is not None and tokens.phrases is None:
        raise UsageError("`save_phrases` saves what `phrases` finds; give `phrases=npmi:0.5` too")
    if sharing.shard is not None or sharing.on_ray:
        preview.refuse()
    if divided("preprocess", inputs, target, sharing=sharing, read=read, out=out, run=run, tokens=tokens, rows=rows):
        return
    n_shown = 0 if preview.show is None else shown(preview.show)
    corpus = read_corpus(*inputs, options=read, beside=target)
    with preprocess(corpus, tokens=tokens, rows=rows, execution=run) as documents:
        saved = documents.save(
            target, vocab=preview.save_vocab, phrases=preview.save_phrases, removed=preview.save_removed,
            conllu=preview.save_conllu, force=out.force,
        )  # fmt: skip
        render.documents(documents, saved, target, n_shown)
