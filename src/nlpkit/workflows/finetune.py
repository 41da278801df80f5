"""Fine-tune a transformer on labelled documents, compare methods, estimate what that takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nlpkit.evaluation.gates import GateRules
from nlpkit.finetune.comparison import compare
from nlpkit.finetune.estimate import estimate, loads_of
from nlpkit.finetune.leaks import note_overlap
from nlpkit.finetune.options import DatasetOptions, FinetuneOptions
from nlpkit.finetune.training_options import HardwareOptions, TrainingOptions
from nlpkit.parameters import Execution
from nlpkit.workflows.checkpoints import open_store
from nlpkit.workflows.finetune_job import KINDS, prepare
from nlpkit.workflows.finetune_results import FinetuneResult, MethodComparison


def finetune(
    data: Any,
    *,
    options: FinetuneOptions | None = None,
    dataset: DatasetOptions | None = None,
    training: TrainingOptions | None = None,
    hardware: HardwareOptions | None = None,
    execution: Execution | None = None,
    gates: GateRules | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    **settings: Any,
) -> FinetuneResult:
    """Fine-tune a transformer on labelled documents and score it on documents that it has not seen.

    Args:
        data: documents with labels: a Corpus, or a data frame with the columns text and label.
        options, dataset, training, hardware, execution: whole records of options; a single one is a keyword, as in
            `finetune(corpus, method="setfit", shots=8, test="test.jsonl", seed=1)`.
        gates: what the scores must keep; see `FinetuneResult.gates`.
        output: the run that the result will be saved as; unfinished work lies beside it, and `resume` continues it. None: in a
            temporary directory.
        force: drop unfinished work that lies there.

    Raises:
        UsageError: options that do not go together, or several methods, sizes or a protocol: see `compare_methods`.
        InputError, ColumnError: documents that cannot be learned from. MissingError: the base model is nowhere.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> tuned = nk.finetune(corpus, method="setfit", shots=2, max_steps=1)
        >>> tuned.predict(["fish in a river"])["prediction"].to_pylist()
        ['nature']
    """
    job = prepare(data, (options, dataset, training, hardware, execution), settings, gates, several=False)
    store = open_store(output, job.identity(), resume=resume, force=force)
    with job.runner(store) as runner:
        results = {
            seed: runner.run_round(job.dataset, job.methods[0], job.sizes[0], seed, keep=number == 0)
            for number, seed in enumerate(job.seeds)
        }
    return FinetuneResult(job, store, results)


def compare_methods(
    data: Any,
    *,
    options: FinetuneOptions | None = None,
    dataset: DatasetOptions | None = None,
    training: TrainingOptions | None = None,
    hardware: HardwareOptions | None = None,
    execution: Execution | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    **settings: Any,
) -> MethodComparison:
    """Fine-tune with several methods or numbers of documents and score all on the same test; no model is kept.

    Arguments and errors are as in `finetune`: `compare_methods(corpus, method="head,lora(r=4)", shots="8,64,all", seeds=5)`. With
    `protocol="majority"` there are 5 samples of the documents of each size, 5 trainings on each, and the majority votes of these.
    """
    job = prepare(data, (options, dataset, training, hardware, execution), settings, None, several=True)
    store = open_store(output, job.identity(), resume=resume, force=force)
    with job.runner(store) as runner:
        rows = compare(runner, job.dataset, job.methods, job.sizes, job.draws)
    note_overlap(job.dataset, job.sizes, job.dataset_options.near_duplicates, seed=job.execution.seed)
    return MethodComparison(job, store, rows)


def estimate_finetuning(data: Any, *, gates: GateRules | None = None, **options: Any) -> dict[str, Any]:
    """Return rows, tokens, memory, seconds and disk that `finetune` or `compare_methods` would take, under "plan" each training.

    options: records and single options, as these functions take them.
    """
    job = prepare(data, [options.pop(name, None) for name in KINDS], options, gates, several=None)
    trainings = sum(len(draw.seeds) for draw in job.draws)
    loads = loads_of(
        job.dataset, job.methods, job.sizes, trainings=trainings, training=job.training, seed=job.execution.seed,
        patterns=0 if job.patterns is None else len(job.patterns.texts),
        unlabelled=0 if job.unlabelled is None else len(job.unlabelled.texts),
    )  # fmt: skip
    quantization = job.options.quantization()
    return estimate(
        loads, job.files.path, job.dataset.texts, dropped=len(job.provenance.dropped), threads=job.execution.n_threads(),
        gpu=job.device.type != "cpu", window=job.training.max_tokens, bits=32.0 if quantization is None else quantization.bits,
    )  # fmt: skip
