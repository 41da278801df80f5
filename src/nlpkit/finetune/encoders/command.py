"""nlpkit train-encoder: a sentence encoder of one's own corpus, trained by masked words or on pairs of texts; or a causal model."""

from __future__ import annotations

from typing import Annotated, Any

from nlpkit.finetune.encoders.options import TrainEncoderOptions
from nlpkit.finetune.options import HardwareOptions, HeldOutOptions, ScheduleOptions
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Param

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
    """Train a sentence encoder on texts, pairs or triplets.

    \b
    Examples:
      nlpkit train-encoder data/samples/questions.jsonl --objective "mlm(head_steps=4)" -o domain/
      nlpkit train-encoder data/samples/questions.jsonl --objective mnrl --pair-col text -o alike/
      nlpkit train-encoder data/samples/questions.jsonl --method "lora(r=4)" --max-steps 2 -o adapted/

    sbert-embed and bertopic can use the encoder. The objectives are mlm (masked words; texts alone), sbert-softmax (classes of
    pairs), cosine (scores of pairs), mnrl (pairs of similar texts), triplet (with --negative-col) and static. static fits token
    vectors to the text vectors of --base; its encoder is about a hundred times as fast.

    Causal language models learn answers to prompts. With sft, the text is the answer and --prompt-col the prompt. With dpo, the
    text is the prompt, and --chosen-col and --rejected-col are the answers. --method lora freezes the model and trains low-rank
    updates, for mlm, sft and dpo.

    nlpkit scores the model before and after training on --test, the test rows of --split, or a fifth of the rows. The command
    writes a run directory with metrics.json, curve.jsonl and the model in the format of sentence-transformers (causal models:
    transformers; with lora also peft). Without -o, it is <input>.encoder/ in the current directory.
    """
    from nlpkit.finetune import views as render
    from nlpkit.finetune.encoders.run import estimate_encoder_training, train_encoder
    from nlpkit.metrics.gate_views import finish
    from nlpkit.platform.documents.corpus import read_corpus

    target = out.run_target(inputs, "encoder")
    render.check_stdout(markdown, run)
    say = console.say_markdown if markdown else console.say
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
        lambda: say(render.encoder_blocks(result)),
        then=lambda: render.note_encoder(result, target),
    )
