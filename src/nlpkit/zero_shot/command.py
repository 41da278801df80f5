"""nlpkit zero-shot: labels from their names, without training."""

from __future__ import annotations

from nlpkit.embed.options import EncoderOptions
from nlpkit.errors import UsageError
from nlpkit.metrics.options import GateOptions
from nlpkit.platform.cli import console
from nlpkit.platform.cli.dry_run import dry_run
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import ShardOptions
from nlpkit.shards.command import divided
from nlpkit.zero_shot.options import COSINE, ZeroShotOptions


def zero_shot_cli(
    *,
    inputs: Inputs,
    out: OutputFlags,
    options: ZeroShotOptions,
    encoder: EncoderOptions,
    gate: GateOptions,
    read: ReadOptions,
    sharing: ShardOptions,
    run: RunFlags,
) -> None:
    """Label texts by label names alone, without training.

    By default, one model embeds texts and labels, and each text gets the nearest label. A label is its name or the descriptions
    you give. With --by nli, a model of natural language inference decides whether the text entails the label. With --by prompt,
    a masked language model fills the word of a label into a sentence after the text.

    With --llm, a language model with OpenAI's protocol is asked about each text and must answer with one of the labels. These
    labels have no probability. The environment variable NLPKIT_LLM_KEY holds its API key. --examples shows it labelled texts
    before each text. Answers are saved, so a second run asks nothing.

    Labels of two levels are written "parent > label". The parent then counts, too, and the output has its name in a column.

    The output is the documents with the columns prediction and prediction_prob. If the documents have labels, scores are
    printed.

    \b
    Examples:
      nlpkit zero-shot data/samples/news.jsonl --labels football,courts,space -o labelled.parquet
      nlpkit zero-shot data/samples/questions.jsonl --labels 'time: are you open; loans' -o asked.csv
      nlpkit zero-shot data/samples/news.jsonl --labels football,courts --probabilities -o all.csv
      nlpkit zero-shot data/samples/news.jsonl --labels law,art --llm http://localhost --llm-model m -n
    """
    if run.dry_run and options.llm is not None:
        from nlpkit.platform.documents.corpus import read_corpus
        from nlpkit.zero_shot.llm import plan_labels
        from nlpkit.zero_shot.model import label_tree
        from nlpkit.zero_shot.run import read_labels

        corpus = read_corpus(*inputs, options=read)
        console.plan(plan_labels(corpus, label_tree(read_labels(options.labels)).labels, options, encoder, run))
        return
    target = out.target("predictions.parquet")
    if run.dry_run:
        dry_run(inputs, read, encoder=encoder if options.by == COSINE else None, threads=run.n_threads())
        return
    if options.reads_all_first and (sharing.shard is not None or sharing.on_ray):
        what = "`refine`" if options.refine else "`threshold=auto`"
        raise UsageError(f"{what} needs all documents at once, and these are divided; leave it out")
    work = {"options": options, "encoder": encoder, "gates": gate}
    if divided("zero-shot", inputs, target, sharing=sharing, read=read, out=out, run=run, **work):
        return
    from nlpkit.metrics.gate_views import finish_predictions
    from nlpkit.platform.documents.corpus import read_corpus
    from nlpkit.zero_shot.run import zero_shot_batches

    corpus = read_corpus(*inputs, options=read, beside=target)
    with zero_shot_batches(corpus, options=options, encoder=encoder, execution=run, gates=gate) as documents:
        summary = documents.save(target, force=out.force)
    finish_predictions(documents.maker, summary, target, gate, force=out.force)
