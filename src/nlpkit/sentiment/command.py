"""nlpkit sentiment: sentiment of texts without training."""

from __future__ import annotations

from typing import Any

from nlpkit.metrics.options import GateOptions
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import ShardOptions
from nlpkit.shards.command import divided
from nlpkit.text.lexicon.options import SentimentOptions, SentimentTextOptions


def sentiment_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    options: SentimentOptions,
    tokens: SentimentTextOptions,
    gate: GateOptions,
    read: ReadOptions,
    sharing: ShardOptions,
    run: RunFlags,
) -> None:
    """Score sentiment with a lexicon, without training.

    The output is the documents with the columns sentiment and prediction. If the documents have labels, nlpkit compares them
    with the predictions (or with the scores, for numeric labels), and -o is optional. --lex2sent scores texts in doc2vec spaces
    (Lange, Rieger & Jentsch 2024).

    \b
    Examples:
      nlpkit sentiment data/samples/news.jsonl --lexicon data/samples/lexicon.tsv -o scored.parquet
      nlpkit sentiment data/samples/hard.jsonl --lexicon data/samples/lexicon.tsv --json -o hard.csv
      nlpkit sentiment data/samples/news.jsonl --lexicon data/samples/lexicon.tsv --neutral 1 -o 3.csv
    """
    _ = options.names  # which must be there
    target = out.given_table_target("sentiment.parquet")
    if run.dry_run:
        dry_run(inputs, read)
        return
    work: dict[str, Any] = {"options": options, "tokens": tokens, "gates": gate}
    if divided("sentiment", inputs, target, sharing=sharing, read=read, out=out, run=run, **work):
        return
    from nlpkit.metrics.gate_views import finish_predictions
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.sentiment.run import sentiment_batches

    corpus = read_corpus(*inputs, options=read, beside=target)
    work["scores_only"] = target is None
    with sentiment_batches(corpus, execution=run, **work) as documents:
        summary = documents.run() if target is None else documents.save(target, force=out.force)
    finish_predictions(documents.maker, summary, target, gate, force=out.force)
