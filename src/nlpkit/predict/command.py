"""The command `nlpkit predict`: any saved model gives new documents its topics, labels or values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from nlpkit.embed.options import EncoderOptions
from nlpkit.platform.cli import console
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Argument, Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import ShardOptions
from nlpkit.platform.models import MODELS
from nlpkit.platform.options import READ
from nlpkit.predict.options import PredictOptions
from nlpkit.shards.command import divided

# ------------------------------------------------------------------------------------------------------------------------
# nlpkit predict: what any saved model says of new documents.


def predict_cli(
    *,
    model: Annotated[
        Path,
        Argument(
            "Run directory of a topic model, classifier, fine-tuned model or language model; or an ARPA file.",
            metavar="RUN",
        ),
        READ,
    ],
    inputs: Inputs,
    out: OutputFlags,
    options: PredictOptions,
    encoder: EncoderOptions,
    read: ReadOptions,
    sharing: ShardOptions,
    run: RunFlags,
) -> None:
    """Apply a saved model to new documents.

    RUN is the output of a topic model, classify, finetune or ngram-lm. New texts are tokenised or embedded as in the fit. The
    output is the documents with the columns of the model. Topic models add topic, topic_prob, nearest_topic and margin.
    Classifiers add prediction and prediction_prob. Language models add log10_prob, n_words, n_unknown and perplexity.

    A text of the fit keeps its topic. A text unlike all training texts gets topic -1, and nlpkit prints how many there are. Without -o
    the first documents are shown on the screen.

    \b
    Examples:
      nlpkit predict run/ data/samples/hard.jsonl --show 5
      nlpkit predict run/ data/samples/hard.jsonl -o predicted.parquet
      nlpkit predict run/ data/samples/hard.jsonl --novelty-quantile 0.8 -o stricter.csv
      nlpkit predict run/ data/samples/hard.jsonl --json -q -o predicted.jsonl
    """
    from dataclasses import replace

    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.predict.run import load
    from nlpkit.predict.views import show_documents, show_predictions, topic_names

    options = replace(options, encoder=encoder)
    if not run.dry_run and (sharing.shard is not None or sharing.on_ray):
        work = {"model": model, "options": options}
        divided(
            "predict", inputs, out.target("predicted.parquet"), sharing=sharing, read=read, out=out, run=run, **work
        )
        return
    fitted = load(model, run)
    if run.dry_run:
        fitted.check(read_corpus(*inputs, options=read), options)
        dry_run(
            inputs,
            read,
            encoder=encoder if fitted.kind in MODELS and MODELS[fitted.kind].embeddings else None,
            threads=run.n_threads(),
        )
        return
    sharing.reading(read, None)  # options that contradict each other
    on_screen = out.output is None and not run.json and not options.explain
    target = None if out.output is None and (on_screen or options.explain) else out.target("predicted.parquet")
    corpus = read_corpus(*inputs, options=read, beside=target)
    with fitted.predict_batches(corpus, options=options, execution=run) as predictions:
        if on_screen:
            show_documents(predictions, *predictions.first(console.settings.show), topic_names(fitted))
            return
        summary = predictions.run() if target is None else predictions.save(target, force=out.force)
    show_predictions(predictions, target)
    if run.json and target != "-":
        console.emit_json({"output": target, **summary})
