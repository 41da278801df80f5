"""Estimates of `pretrain --dry-run` beside the truth: seconds of training and scoring, and peak memory, of each architecture and size.

    nice -n 15 python tests/benchmarks/bench_pretrain_estimate.py --steps 5
    python tests/benchmarks/bench_pretrain_estimate.py --arches "transformer(attention=windowed)" --max-tokens 2000 --batch-size 2

On the news of data/samples, one thread, each in a process of its own. Seconds are processor time, without the start of the program and
the writing of the model, which the estimate of the command adds; memory is what the process had at its peak.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from nlpkit.finetune.training.engine import Engine
from nlpkit.lab.pretrain import run as pretrain
from nlpkit.lab.pretrain.estimate import training_cost
from nlpkit.lab.pretrain.networks import ARCHES
from nlpkit.lab.pretrain.training import held_out_perplexity, train_network
from nlpkit.platform.runs.provenance import peak_memory_mb

NEWS = Path(__file__).parents[2] / "data" / "samples" / "news.jsonl"
Amounts = tuple[float, float, int, int]  # seconds, MB, parameters, steps


def measure(settings: dict[str, Any], train: bool, out: Any) -> None:
    """Send the amounts of a training, or of its estimate."""
    texts = [json.loads(line)["text"] for line in NEWS.read_text(encoding="utf-8").splitlines()]
    job = pretrain.prepare(texts, (None,) * 4, {**settings, "threads": 1, "device": "cpu"})
    network, lesson, learned, held_out = pretrain.network_and_windows(job, job.device)
    seed, begun = job.execution.seed, time.process_time()
    with Engine(job.device, job.precision, threads=1) as engine:
        if train:
            outcome = train_network(network, learned, held_out, lesson, plan=job.schedule, engine=engine, seed=seed)
            held_out_perplexity(network, held_out, job.held_out, lesson, engine, seed)
            seconds, parameters = time.process_time() - begun, sum(p.numel() for p in network.trained.values())
            out.send((seconds, float(peak_memory_mb()), parameters, outcome.steps))
        else:
            cost = training_cost(network, learned, held_out, lesson, job.schedule, engine, threads=1, seed=seed)
            out.send((cost.seconds, peak_memory_mb() + cost.extra_bytes / 1e6, cost.parameters, cost.steps))


def apart(work: Callable[..., None], *args: Any) -> Amounts:
    """Return what work sends from a process of its own."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(*args, theirs))
    process.start()
    theirs.close()
    amounts: Amounts = ours.recv()
    process.join()
    return amounts


def main() -> None:
    """Print a row for each architecture and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--arches", nargs="+", default=list(ARCHES))
    parser.add_argument("--sizes", nargs="+", default=["tiny", "mini"])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=32)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fixed = {"max_steps": args.steps, "max_tokens": args.max_tokens, "batch_size": args.batch_size, "vocab_size": 2000}
    for arch in args.arches:
        for size in args.sizes:
            about, truth = (apart(measure, {"arch": arch, "size": size, **fixed}, train) for train in (False, True))
            exact = "exact" if about[2:] == truth[2:] else f"{about[2:]} for {truth[2:]}"
            print(
                f"| `{arch}` | {size} | {truth[2]:,} ({exact}) | {truth[0]:.1f} | {about[0]:.1f} ({about[0] / truth[0]:.2f}) "
                f"| {truth[1]:,.0f} | {about[1]:,.0f} ({about[1] / truth[1]:.2f}) |",
                flush=True,
            )


if __name__ == "__main__":
    main()
