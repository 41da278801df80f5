"""nlpkit pretrain: a language model from scratch."""

from __future__ import annotations

from typing import Annotated

from nlpkit.cli import console
from nlpkit.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.finetune.training_options import HardwareOptions, ScheduleOptions
from nlpkit.io.read_options import ReadOptions
from nlpkit.parameters import Param
from nlpkit.pretrain.options import PretrainOptions

Resume = Annotated[bool, Param("Continue the interrupted training of the same command, if there is one.", panel="Run")]


def pretrain_cli(
    inputs: Inputs,
    model: PretrainOptions,
    training: ScheduleOptions,
    out: OutputFlags,
    read: ReadOptions,
    hardware: HardwareOptions,
    run: RunFlags,
    resume: Resume = False,
) -> None:
    """Train a language model from scratch: LSTM, BERT, GPT-2, T5 and others.

    \b
    Examples:
      nlpkit pretrain data/samples/questions.jsonl --arch "lstm(hidden=32)" --max-steps 5 -o lstm/
      nlpkit pretrain data/samples/questions.jsonl --arch bert --max-steps 2 -o bert/
      nlpkit pretrain data/samples/questions.jsonl --tokenizer bpe --max-steps 2 -o gpt/
      nlpkit pretrain data/samples/questions.jsonl --arch "transformer(positions=rope)" --dry-run

    nlpkit prints the learning curve and the perplexity on the held-out documents (--holdout), per token and per word. It keeps
    the parameters that were best on these documents. Other architectures include ELMo, Mamba and Hymba.

    The command writes a run directory, which sbert-embed --model and finetune --base can use. Without -o, it is
    <input>.pretrain/ in the current directory. transformers loads its folder model/transformers; bert, gpt, t5 and mamba do not
    need nlpkit for that.
    """
    from nlpkit.cli.render import lab as render
    from nlpkit.workflows.corpus import read_corpus
    from nlpkit.workflows.pretrain import pretrain
    from nlpkit.workflows.pretrain_estimate import estimate_pretraining

    corpus = read_corpus(*inputs, options=read)
    if run.dry_run:
        console.plan(estimate_pretraining(corpus, options=model, training=training, hardware=hardware, execution=run))
        return
    target = out.run_target(inputs, "pretrain")
    result = pretrain(
        corpus, options=model, training=training, hardware=hardware, execution=run, output=target, resume=resume, force=out.force,
    )  # fmt: skip
    result.save(target, force=out.force)
    console.say(render.model_blocks(result, target), lambda: {"run": str(target), **result.report})
