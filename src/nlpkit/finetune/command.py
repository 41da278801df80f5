"""nlpkit finetune: from eight labelled texts or fifty thousand to a model, an honest score and a small file to share."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from nlpkit.errors import UsageError
from nlpkit.finetune.options import DatasetOptions, FinetuneOptions, HardwareOptions, TrainingOptions
from nlpkit.metrics.options import GateOptions
from nlpkit.platform.cli import console
from nlpkit.platform.cli.options import Inputs, OutputFlags, RunFlags
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.options import Param

Resume = Annotated[bool, Param("Continue the interrupted training of the same command, if there is one.", panel="Run")]


def finetune_cli(
    inputs: Inputs,
    model: FinetuneOptions,
    data: DatasetOptions,
    training: TrainingOptions,
    gate: GateOptions,
    out: OutputFlags,
    read: ReadOptions,
    hardware: HardwareOptions,
    run: RunFlags,
    resume: Resume = False,
) -> None:
    """Fine-tune a transformer on labelled documents, or compare methods.

    \b
    Examples:
      nlpkit finetune data/samples/questions.jsonl --shots 4 -o tuned/
      nlpkit finetune data/samples/questions.jsonl --method "head,lora(r=4)" --max-steps 9 -o both/
      nlpkit finetune data/samples/questions.jsonl --method head --protocol majority --totals 8 -o all/

    The labels decide the task: one class, several labels (a column of lists), numbers, or a label for each word. --pair-col
    reads sentence pairs, and --context adds neighbouring texts. Scores come from --test, --split, --cv, or a held-out fifth of
    the documents. The majority class is shown as the baseline.

    Several methods, --shots, --totals or --seeds are compared in one table. --protocol majority compares them on 5 samples
    with 5 trainings each, and `nlpkit plot RUN ranks` draws how the methods rank.

    The command writes a run directory with metrics.json, curve.jsonl and the model in the format of transformers, peft or
    sentence-transformers. Without -o, it is <input>.finetune/ in the current directory. Ctrl-C leaves a checkpoint, and
    --resume continues from it.
    """
    from nlpkit.finetune import views as render
    from nlpkit.finetune.run import compare_methods, estimate_finetuning, finetune
    from nlpkit.metrics.files import read_gates, write_junit
    from nlpkit.metrics.gate_views import finish
    from nlpkit.platform.documents.corpus import read_corpus

    target = out.run_target(inputs, "finetune")
    render.check_stdout(gate.markdown, run)
    say = console.say_markdown if gate.markdown else console.say
    rules, compares = read_gates(gate), model.compares(data)
    if compares and replace(gate, markdown=False) != GateOptions():
        raise UsageError(
            "gates and `junit` need a single model, and a comparison has several; use one `method` and one `shots`"
        )
    corpus = read_corpus(*inputs, options=read)
    records: dict[str, Any] = {
        "options": model,
        "dataset": data,
        "training": training,
        "hardware": hardware,
        "execution": run,
    }
    if run.dry_run:
        render.show_estimate(estimate_finetuning(corpus, **records, gates=rules))
        return
    if compares:
        comparison = compare_methods(corpus, **records, output=target, resume=resume, force=out.force)
        line = render.training_line(comparison, target)
        comparison.save(target, force=out.force, train_best=line)
        finish(
            {"run": str(target), **comparison.report},
            [],
            lambda: say(render.comparison_blocks(comparison)),
            then=lambda: render.note_comparison(comparison, target, line),
        )
        return
    result = finetune(corpus, **records, gates=rules, output=target, resume=resume, force=out.force)
    render.spell_scores(result)
    result.save(target, force=out.force)
    if gate.junit is not None and result.problem is None:
        write_junit(gate.junit, result.gates, suite="nlpkit finetune", force=out.force)
    finish(
        {"run": str(target), **result.report},
        result.gates,
        lambda: say(render.result_blocks(result)),
        then=lambda: render.note_finetuned(result, target),
        problem=result.problem,
    )
