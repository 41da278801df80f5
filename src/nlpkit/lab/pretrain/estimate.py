"""What training a language model takes: its steps are counted, and parts of one batch are run to measure their cost.

So the estimate follows architecture, size, window and machine without a table of them. Windows of more than CAP tokens are cut to CAP
and to half of it, and the cost of a token is taken to grow with the length in a straight line: of full attention it does, of sparse
attention and state spaces it does not grow.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from nlpkit.embed.hardware import seeded
from nlpkit.finetune.options import HardwareOptions, ScheduleOptions
from nlpkit.finetune.patterns.mlm import MlmNetwork
from nlpkit.finetune.training.engine import DTYPES, PART_COST, RUN_TOKENS, Engine, cheapest_parts
from nlpkit.finetune.training.train import Schedule, batches
from nlpkit.lab.options import PretrainOptions
from nlpkit.lab.pretrain.run import network_and_windows, prepare
from nlpkit.lab.pretrain.training import SHARE, Lesson, Sequences, new_objective
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.provenance import peak_memory_mb
from nlpkit.platform.types import LongArray

CAP = 512  # tokens of a window that is run
ENOUGH = 2.0  # seconds of running
_SAMPLE = 40  # batches that are counted
_UPDATE = 1e-8  # seconds of gradients added up, their norm and AdamW, for one parameter
_COPIES = 6  # of the parameters beside the network: gradients, those of a part, two of AdamW, the best, those that are written


@dataclass(frozen=True, slots=True)
class TrainingCost:
    """parameters, steps: exact, if training does not end early. seconds: on this machine with nothing else to do; extra_bytes: of memory
    beside what this process has taken so far."""

    parameters: int
    steps: int
    seconds: float
    extra_bytes: float


@dataclass(frozen=True, slots=True)
class _TokenCost:
    """Seconds and bytes of a token of a part whose rows have `width` tokens. taken: bytes of the largest part that was run."""

    width: float
    seconds: float
    bytes: float
    taken: float = 0.0

    def at(self, width: float, other: _TokenCost | None) -> tuple[float, float]:
        """Return seconds and bytes of a token of rows of another width, on the line through both measurements."""
        if other is None or other.width == self.width:
            return self.seconds, self.bytes
        further = (width - self.width) / (self.width - other.width)
        return (
            self.seconds + further * max(0.0, self.seconds - other.seconds),
            self.bytes + further * max(0.0, self.bytes - other.bytes),
        )


def training_cost(
    network: MlmNetwork, learned: Sequences, held_out: Sequences, lesson: Lesson, plan: Schedule, engine: Engine, *, threads: int, seed: int
) -> TrainingCost:  # fmt: skip
    """Return what training takes; the network is run, and not changed.

    engine: one with a single thread, entered; the training has `threads`.
    """
    whole = new_objective(network, learned, lesson)
    drawn = batches(whole, plan.batch, seed=seed, epoch=0)
    sample = [drawn[i] for i in np.unique(np.linspace(0, len(drawn) - 1, _SAMPLE).astype(int))]
    parts = [_parts(whole.lengths, rows) for rows in sample]
    sizes = [sum(len(part) * int(whole.lengths[part].max()) for part in batch) for batch in parts]
    middle = parts[int(np.argsort(sizes)[len(sizes) // 2])]
    longest = max(int(whole.lengths[part].max()) for part in middle)
    cost = _measure(network, learned, lesson, middle, min(longest, CAP), engine)
    shorter = _measure(network, learned, lesson, middle, CAP // 2, engine) if longest > CAP else None
    per_batch, largest = [], 0.0
    for batch in parts:
        seconds = 0.0
        for part in batch:
            width = int(whole.lengths[part].max())
            each, held = cost.at(width, shorter)
            seconds += each * (len(part) * width + PART_COST)
            largest = max(largest, held * len(part) * width)
        per_batch.append(seconds / min(threads, len(batch)))
    parameters = sum(p.numel() for p in network.trained.values())
    n, steps = len(whole.lengths), plan.steps(len(whole.lengths))
    tested = held_out.inputs.lengths
    growth = (
        float(np.mean([cost.at(float(width), shorter)[0] for width in np.maximum(tested, cost.width)])) / cost.seconds
    )
    scored = _score_seconds(network, held_out, lesson, engine) * growth * float(tested.sum()) / threads
    scorings = 1 + steps // max(1, -(-n // plan.batch))
    seconds = steps * (float(np.mean(per_batch)) + parameters * _UPDATE) + (1 + scorings) * scored
    # held-out texts are scored without a way back: a layer at a time, and the logits, of more tokens at once
    guessed = 8 * len(network.tokenizer) * (SHARE if lesson.base == "mlm" else 1.0)
    of_layer = cost.at(float(tested.max()), shorter)[1] / network.model.config.num_hidden_layers
    in_flight = threads * max(largest, min(RUN_TOKENS["cpu"], int(tested.sum())) * (of_layer + guessed))
    return TrainingCost(parameters, steps, seconds, 4.0 * parameters * _COPIES + max(0.0, in_flight - cost.taken))


def _parts(lengths: Any, rows: LongArray) -> list[LongArray]:
    """Return a batch in the parts that the engine runs on a CPU."""
    rows = rows[np.argsort(-lengths[rows], kind="stable")]
    return [rows[start:end] for start, end in cheapest_parts(lengths[rows])]


def _measure(
    network: MlmNetwork, learned: Sequences, lesson: Lesson, parts: list[LongArray], cap: int, engine: Engine
) -> _TokenCost:
    """Return the cost of a token: some parts of a batch are run forward and back, their windows cut to `cap` tokens."""
    inputs = learned.inputs
    short = new_objective(
        network, replace(learned, inputs=replace(inputs, lengths=np.minimum(inputs.lengths, cap))), lesson
    )
    clock = time.process_time if engine.device.type == "cpu" else time.perf_counter
    seconds = tokens = width = 0.0
    bytes_of_token = taken = 0.0
    short.begin(0, 0)
    short.mode(True)
    try:
        with seeded(0):
            _run(short, parts[-1][:1], engine)  # what is allocated first is not counted
            for part in parts[len(parts) // 2 :] + parts[: len(parts) // 2]:
                longest = int(short.lengths[part].max())
                begun = clock()
                held = _run(short, part, engine)
                seconds += clock() - begun
                tokens += len(part) * longest + PART_COST
                width = max(width, longest)
                bytes_of_token, taken = max(bytes_of_token, held / (len(part) * longest)), max(taken, held)
                if seconds > ENOUGH:
                    break
    finally:
        short.mode(False)
    return _TokenCost(width, seconds / tokens, bytes_of_token, taken)


def _score_seconds(network: MlmNetwork, held_out: Sequences, lesson: Lesson, engine: Engine) -> float:
    """Return the seconds that scoring takes for a token of the held-out windows, cut to CAP; as many are run at once as the engine does."""
    inputs = held_out.inputs
    short = new_objective(
        network, replace(held_out, inputs=replace(inputs, lengths=np.minimum(inputs.lengths, CAP))), lesson
    )
    short.begin(0, 0)
    most = 1 + int(np.searchsorted(np.cumsum(short.lengths), RUN_TOKENS["cpu"]))
    rows = np.arange(min(most, len(short.lengths)))
    clock = time.process_time if engine.device.type == "cpu" else time.perf_counter
    begun = clock()
    with torch.no_grad():
        float(short.loss(rows))
    return (clock() - begun) / float(short.lengths[rows].sum())


def _run(objective: Any, rows: LongArray, engine: Engine) -> float:
    """Run a part forward and back; return the bytes that were kept for the way back, and twice the largest tensor of them."""
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    parameters = list(objective.parameters().values())
    dtype = DTYPES[engine.precision]
    with (
        torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor),
        torch.autocast(engine.device.type, dtype or torch.bfloat16, enabled=dtype is not None, cache_enabled=False),
    ):
        loss = objective.loss(rows)
    torch.autograd.grad(loss, parameters, allow_unused=True)
    for parameter in parameters:
        kept.pop(parameter.untyped_storage().data_ptr(), None)
    return float(sum(kept.values()) + 2 * max(kept.values(), default=0))


# ------------------------------------------------------------------------------------------------------------------------
# What training a language model from scratch takes, without doing it.

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
    from nlpkit.finetune.training.engine import Engine

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
