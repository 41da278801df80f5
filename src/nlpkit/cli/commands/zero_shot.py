"""nlpkit zero-shot: labels from their names, without training."""

from __future__ import annotations

from nlpkit.classify.zero_shot_options import COSINE, ZeroShotOptions
from nlpkit.cli import console
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.cli.parts import divided
from nlpkit.embed.options import EncoderOptions
from nlpkit.evaluation.options import GateOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.shards import ShardOptions


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
    """Give texts labels by their names alone: by embedding, inference, a prompt or a language model.

    Texts and labels are embedded by one model; a label is its name, or the descriptions that it is given. The output is the
    documents with the columns prediction and prediction_prob. Where they have labels, scores are printed. With --by nli a model of
    natural language inference says whether a text entails that it is about a label; with --by prompt a masked language model puts the
    word of a label into a sentence after the text. With --llm a language model that speaks OpenAI's protocol is asked about each text
    (its key is in the environment as NLPKIT_LLM_KEY) and must answer with one of the labels, which then have no probability; answers
    are kept, so that a second run asks nothing. --examples are texts with labels that it is shown before each text.

    \b
    Examples:
      nlpkit zero-shot data/samples/news.jsonl --labels football,courts,space -o labelled.parquet
      nlpkit zero-shot data/samples/questions.jsonl --labels 'time: are you open; loans' -o asked.csv
      nlpkit zero-shot data/samples/news.jsonl --labels football,courts --probabilities -o all.csv
      nlpkit zero-shot data/samples/news.jsonl --labels law,art --llm http://localhost --llm-model m -n
    """
    if run.dry_run and options.llm is not None:
        from nlpkit.workflows.corpus import read_corpus
        from nlpkit.workflows.llm_labels import plan_labels
        from nlpkit.workflows.zero_shot import read_labels

        corpus = read_corpus(*inputs, options=read)
        console.plan(plan_labels(corpus, read_labels(options.labels), options, encoder, run))
        return
    target = out.target("predictions.parquet")
    if run.dry_run:
        dry_run(inputs, read, encoder=encoder if options.by == COSINE else None, threads=run.n_threads())
        return
    work = {"options": options, "encoder": encoder, "gates": gate}
    if divided("zero-shot", inputs, target, sharing=sharing, read=read, out=out, run=run, **work):
        return
    from nlpkit.cli.render.sentiment import finish_predictions
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.predict import write_predictions
    from nlpkit.workflows.zero_shot import zero_shot_batches

    corpus = read_corpus(*inputs, options=read, beside=target)
    with zero_shot_batches(corpus, options=options, encoder=encoder, execution=run, gates=gate) as predictions:
        write_predictions(predictions, target, force=out.force)
    finish_predictions(predictions, predictions.evaluation, target, gate, force=out.force)
