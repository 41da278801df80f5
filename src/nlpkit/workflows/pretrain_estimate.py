"""What training a language model from scratch takes, without doing it."""

from __future__ import annotations

import time
from typing import Any

from nlpkit.finetune.training_options import HardwareOptions, ScheduleOptions
from nlpkit.io.cost import peak_memory_mb
from nlpkit.parameters import Execution
from nlpkit.pretrain.options import PretrainOptions
from nlpkit.workflows.pretrain import network_and_windows, prepare

_ENDS = 6.0  # seconds until libraries are loaded, and until the model is written
_WRITING = 80  # MB of libraries that only writing needs


def estimate_pretraining(
    data: Any,
    *,
    options: PretrainOptions | None = None,
    training: ScheduleOptions | None = None,
    hardware: HardwareOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Return what `pretrain` would take: documents, windows, parameters and steps, and about how much memory, time and disk.

    Documents are read and a tokenizer is trained as `pretrain` does, so parameters and steps are exact (training may end earlier, where
    it no longer gains); some parts of a batch are run on this machine, and nothing is written.

    Args:
        data, options, training, hardware, execution, settings: as `pretrain` takes them.

    Raises:
        as `pretrain`.
    """
    begun = time.process_time()
    job = prepare(data, (options, training, hardware, execution), settings)
    from nlpkit.finetune.engine import Engine
    from nlpkit.pretrain.estimate import training_cost

    network, lesson, learned, held_out = network_and_windows(job, job.device)
    spent = time.process_time() - begun
    with Engine(job.device, job.precision, threads=1) as engine:
        cost = training_cost(
            network, learned, held_out, lesson, job.schedule, engine, threads=job.execution.n_threads(), seed=job.execution.seed
        )  # fmt: skip
    return {
        "rows": len(job.texts) + len(job.held_out), "windows": len(learned.inputs.lengths),
        "tokens": int(learned.inputs.lengths.sum()), "vocab_size": len(job.tokenizer), "parameters": cost.parameters,
        "steps": cost.steps, "memory_mb_about": round(peak_memory_mb() + _WRITING + cost.extra_bytes / 1e6),
        "seconds_about": round(_ENDS + spent + cost.seconds), "disk_mb_about": round(8e-6 * cost.parameters, 1),
        "dropped": len(job.provenance.dropped),
    }  # fmt: skip
