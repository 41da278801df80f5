"""LoRA on a base of float32, int8 and NF4: memory and seconds of the processor.

The base has the shape of BERT-large (or another) and random weights, which neither memory nor time depends on. Each way is a process of its
own, which runs alone: MB after the model is loaded, and the most while it is loaded and while it is trained, less what the libraries take.

    python tests/benchmarks/bench_quantized.py --hidden 1024 --layers 24 --steps 5 --batch 8 --tokens 64
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import memory, printed_by

WAYS = ("none", "int8", "nf4", "nf4+double")


def measure(base: str, way: str, steps: int, batch: int, tokens: int, threads: int) -> dict[str, Any]:
    import numpy as np
    import peft  # noqa: F401
    import torch

    from nlpkit.finetune.data.inputs import encode
    from nlpkit.finetune.methods import parse_method
    from nlpkit.finetune.quantization import Quantization
    from nlpkit.finetune.tasks import FinetuneTask, Targets
    from nlpkit.finetune.training.engine import Engine
    from nlpkit.finetune.training.network import ClassifierObjective, load_network
    from nlpkit.finetune.training.train import Schedule, train

    code, _, double = way.partition("+")
    quantization = None if way == "none" else Quantization(code, bool(double))
    task = FinetuneTask("single", ("a", "b"))
    rows = np.arange(steps * batch)
    with Engine(torch.device("cpu"), "fp32", threads=threads) as engine:
        libraries = memory("VmRSS")
        network = load_network(
            Path(base),
            task,
            parse_method("lora"),
            seed=0,
            device=engine.device,
            max_tokens=tokens,
            quantization=quantization,
        )
        report = {"way": way, "loading": memory("VmHWM") - libraries, "loaded": memory("VmRSS") - libraries}
        inputs = encode(network.tokenizer, network.frame, ["a b c d e f g h " * tokens] * len(rows), max_tokens=tokens)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # VmHWM starts anew
        objective = ClassifierObjective(network, inputs, Targets(task, rows % 2), rows)
        start = time.process_time()
        train(objective, engine, Schedule(epochs=1, batch=batch), seed=0)
        return {**report, "seconds": (time.process_time() - start) / steps, "training": memory("VmHWM") - libraries}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, usual in (("hidden", 1024), ("layers", 24), ("steps", 5), ("batch", 8), ("tokens", 64), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--base", help="a model folder in the place of random weights")
    parser.add_argument("--ways", nargs="+", default=WAYS)
    parser.add_argument("--one", nargs=2, metavar=("BASE", "WAY"))
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(*args.one, args.steps, args.batch, args.tokens, args.threads)))
        return
    from tests.finetune.tiny import tiny_bert

    with tempfile.TemporaryDirectory() as folder:
        base = args.base or tiny_bert(
            Path(folder) / "base", words=["w"], hidden=args.hidden, layers=args.layers, max_positions=512
        )
        sizes = [f"--{n}={getattr(args, n)}" for n in ("steps", "batch", "tokens", "threads")]
        print("| base | MB loading | MB loaded | MB training | s a step |\n|---|--:|--:|--:|--:|")
        for way in args.ways:
            row = printed_by([__file__, "--one", base, way, *sizes])
            print(
                f"| {way} | {row['loading']:,.0f} | {row['loaded']:,.0f} | {row['training']:,.0f} | {row['seconds']:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
