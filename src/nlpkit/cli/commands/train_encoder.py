"""nlpkit train-encoder: a sentence encoder of one's own corpus, trained by masked words or on pairs of texts; or a causal model."""

from __future__ import annotations

from typing import Annotated, Any

from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.finetune.encoder_options import TrainEncoderOptions
from nlpkit.finetune.options import HeldOutOptions
from nlpkit.finetune.training_options import HardwareOptions, ScheduleOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import Param

Resume = Annotated[bool, Param("Continue the interrupted training of the same command, if there is one.", panel="Run")]
Markdown = Annotated[bool, Param("Print the scores as Markdown.", panel="Output")]


def train_encoder_cli(
    inputs: Inputs,
    model: TrainEncoderOptions,
    data: HeldOutOptions,
    training: ScheduleOptions,
    out: OutputFlags,
    read: ReadOptions,
    hardware: HardwareOptions,
    run: RunFlags,
    resume: Resume = False,
    markdown: Markdown = False,
) -> None:
    """Train a sentence encoder on texts, pairs or triplets, for sbert-embed and bertopic.

    \b
    Examples:
      nlpkit train-encoder data/samples/questions.jsonl --objective "mlm(head_steps=4)" -o domain/
      nlpkit train-encoder data/samples/questions.jsonl --objective mnrl --pair-col text -o alike/
      nlpkit train-encoder data/samples/questions.jsonl --method "lora(r=4)" --max-steps 2 -o adapted/

    Objectives: mlm (masked words of the text alone), sbert-softmax (classes of pairs), cosine (scores of pairs), mnrl (pairs of
    similar texts), triplet (with --negative-col) and static (vectors of tokens fitted to those that --base gives the texts; some
    hundred times as fast). Causal language models learn answers to prompts: sft (the text is the answer, --prompt-col the prompt) and
    dpo (the text is the prompt, --chosen-col and --rejected-col the answers). --method lora freezes the model and trains low-rank
    updates of it, with mlm, sft and dpo. The model is scored before and after on --test, the test rows of --split, or
    a fifth of the rows. Leaves a run directory (<input>.encoder/ without -o) with metrics.json, curve.jsonl and the model in the
    format of sentence-transformers, a causal one in that of transformers (with lora also of peft).
    """
    from nlpkit.cli.render import finetune as render
    from nlpkit.cli.render.gates import finish
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.train_encoder import estimate_encoder_training, train_encoder

    target = out.run_target(inputs, "encoder")
    render.check_stdout(markdown, run)
    corpus = read_corpus(*inputs, options=read)
    records: dict[str, Any] = {
        "options": model,
        "held_out": data,
        "training": training,
        "hardware": hardware,
        "execution": run,
    }
    if run.dry_run:
        render.show_estimate(estimate_encoder_training(corpus, **records))
        return
    result = train_encoder(corpus, **records, output=target, resume=resume, force=out.force)
    result.save(target, force=out.force)
    finish(
        {"run": str(target), **result.report},
        [],
        lambda: render.show_encoder(result, markdown=markdown),
        then=lambda: render.note_encoder(result, target),
    )
