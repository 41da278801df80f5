"""nlpkit finetune: from eight labelled texts or fifty thousand to a model, an honest score and a small file to share."""

from __future__ import annotations

from nlpkit.cli.finetune_flags import TrainFlags, TuneDataFlags, TuneModelFlags, TuneTellFlags
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.evaluation.options import GateOptions
from nlpkit.io.read_options import ReadOptions


def finetune_cli(
    inputs: Inputs,
    model: TuneModelFlags,
    data: TuneDataFlags,
    train: TrainFlags,
    say: TuneTellFlags,
    gate: GateOptions,
    out: OutputFlags,
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Fine-tune a transformer; compare methods; predict.

    The labels say the task: one class, several labels (a column of lists), numbers, or a label for each word; --pair-col reads
    sentence pairs, --context the neighbours of a text. Scores are those of --test, --split, --cv or a fifth of the documents that
    is held out, beside the majority class. Several methods, --shots or --seeds are compared in one table. Leaves a run directory
    (<input>.finetune/ without -o) with metrics.json, curve.jsonl and the model in the format of transformers, peft or
    sentence-transformers. Ctrl-C leaves a checkpoint: --resume.

    --model run/ predicts. --objective mlm, sbert-softmax, triplet, mnrl or cosine trains the encoder itself, for sbert-embed.

    \b
    Examples:
      nlpkit finetune data/samples/questions.jsonl --shots 4 -o tuned/
      nlpkit finetune data/samples/questions.jsonl --method "head,lora(r=4)" --max-steps 9 -o both/
      nlpkit finetune data/samples/hard.jsonl --model tuned/ -o predictions.parquet
    """
    from nlpkit.cli.finetune_fit import Asked, fit

    asked = Asked(inputs, data, model, train, say, gate, out, read, run)
    if model.model is not None:
        from nlpkit.cli.finetune_predict import predict_new

        predict_new(asked)
    elif model.objective is not None:
        from nlpkit.cli.finetune_encoder import fit_encoder

        fit_encoder(asked)
    else:
        fit(asked)
