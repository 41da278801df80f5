"""Encoders of equal size, from scratch and pre-trained on the same corpus: accuracy over seeds, parameters, CPU seconds, memory.

    python tests/benchmarks/bench_scratch.py run --seeds 5 -o scratch.jsonl     # an hour; goes on where it was stopped
    python tests/benchmarks/bench_scratch.py table scratch.jsonl

Each corpus gets one tokenizer of 2,000 wordpieces. An encoder is pre-trained on training texts by the next token, or has just been
drawn from the seed, and is then fine-tuned whole (`nlpkit finetune --method full`) on the first of these texts with their labels; the
test documents were in neither. There is one pre-trained encoder for all seeds of fine-tuning, and one drawn for each. Every training
is a process of its own, with one thread, that finds the modules loaded: CPU seconds are user and system of all of it but the start of
the program. Needs ../shared/data.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import random
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import train_and_test

SOURCES = {  # files, and the value of `split` that is the test where one file holds both
    "SST-2": ("sst2.jsonl", None),
    "TREC": ("trec.jsonl", None),
    "AG News": ("ag_news_train_sub.jsonl.gz", "ag_news_test.jsonl"),
}
ARCHES = {  # about 400,000 parameters beside the embeddings
    "lstm": "lstm(layers=3)",
    "transformer": "transformer",
    "mamba": "mamba(layers=3,hidden=136)",
    "tokenformer": "tokenformer(tokens=96)",
    "hymba": "hymba(hidden=100)",
}
MOST_TEXTS, MOST_LABELS, MOST_TEST = 4_000, 2_000, 2_000
WINDOW = "32"
LOADED = ("platform.cli.app", "finetune.views", "lab.architectures.model", "finetune.run", "lab.pretrain.run")


def write_corpus(name: str, folder: Path) -> None:
    """Write texts.jsonl, train.jsonl and test.jsonl, each a random part of at most so many documents, the second the start of the first."""
    train, test = train_and_test(*SOURCES[name])
    texts, asked = (
        random.Random(0).sample(p, min(most, len(p))) for p, most in ((train, MOST_TEXTS), (test, MOST_TEST))
    )
    for part, drawn in (("texts", texts), ("train", texts[:MOST_LABELS]), ("test", asked)):
        with (folder / f"{part}.jsonl").open("w", encoding="utf-8") as file:
            for i, row in enumerate(drawn):
                line = {"id": str(i), "label": str(row["label"]), "text": row["text"]}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def nlpkit(*words: str) -> tuple[float, int]:
    """Run a command in a fork of this process; return its CPU seconds and its most resident megabytes."""
    pid = os.fork()
    if not pid:
        status = 1
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
            sys.argv = ["nlpkit", *words, "--quiet", "--force"]
            try:
                importlib.import_module("nlpkit.platform.cli.app").main()
                status = 0
            except SystemExit as end:
                status = int(end.code or 0)
            finally:
                os._exit(status)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"failed: nlpkit {' '.join(words)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


def rows(args: argparse.Namespace, done: set[tuple[Any, ...]], folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each fine-tuning that is not in the file yet."""
    for data in args.data:
        here = folder / data.replace(" ", "-")
        here.mkdir()
        write_corpus(data, here)
        texts, train, test, tokenizer = (
            str(here / n) for n in ("texts.jsonl", "train.jsonl", "test.jsonl", "tokenizer")
        )
        nlpkit("train-tokenizer", texts, "--type", "wordpiece", "--vocab-size", "2000", "--lower", "-o", tokenizer)
        for arch in args.arch:
            wanted = range(1, args.seeds + 1)
            for pretrained in (False, True):
                seeds = [seed for seed in wanted if (data, arch, pretrained, seed) not in done]
                base, cost = "", (0.0, 0)
                for seed in seeds:
                    if not pretrained or not base:
                        base = str(here / f"{arch}-{pretrained}-{seed}")
                        length = ["--epochs", str(args.epochs)] if pretrained else ["--max-steps", "1", "--lr", "1e-12"]
                        drawn = str(1 if pretrained else seed)
                        cost = nlpkit(
                            "pretrain", texts, "--arch", ARCHES[arch], "--objective", "clm", "--tokenizer", tokenizer, "--max-tokens",
                            WINDOW, *length, "--seed", drawn, "--threads", "1", "-o", base,
                        )  # fmt: skip
                    run = here / "finetuned"
                    seconds, peak = nlpkit(
                        "finetune", train, "--test", test, "--base", base, "--method", "full", "--epochs", "3", "--lr", "1e-3",
                        "--batch-size", "16", "--max-tokens", WINDOW, "--twins", "0", "--seed", str(seed), "--threads", "1", "-o", str(run),
                    )  # fmt: skip
                    made = json.loads((Path(base) / "metrics.json").read_text())
                    yield {
                        "data": data, "arch": arch, "pretrained": pretrained, "seed": seed,
                        "accuracy": accuracy(run), "parameters": made["training"]["parameters"],
                        "perplexity": made["held_out"]["per_token"] if pretrained else None, "pretrain_s": round(cost[0], 1),
                        "finetune_s": round(seconds, 1), "peak_mb": max(peak, cost[1]),
                    }  # fmt: skip


def accuracy(run: Path) -> float:
    """Return the accuracy on the test documents."""
    return float(json.loads((run / "metrics.json").read_text())["targets"][0]["metrics"]["accuracy"]["value"])


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table."""
    groups: dict[tuple[str, str, bool], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["arch"], row["pretrained"]].append(row)
    print(
        "| data | encoder | parameters | from scratch | pre-trained | perplexity | CPU s: pre-training | fine-tuning | peak MB |"
    )
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for data, arch in dict.fromkeys((d, a) for d, a, _ in groups):
        cells = []
        for pretrained in (False, True):
            scores = [row["accuracy"] for row in groups[data, arch, pretrained]]
            spread = statistics.stdev(scores) if len(scores) > 1 else float("nan")
            cells.append(f"{statistics.mean(scores):.3f} ± {spread:.3f} ({len(scores)})" if scores else "–")
        both = groups[data, arch, False] + groups[data, arch, True]
        costs = [f"{row['perplexity']:,.0f} | {row['pretrain_s']:,.0f}" for row in both if row["pretrained"]] or [
            "– | –"
        ]
        print(
            f"| {data} | {arch} | {both[0]['parameters']:,} | {cells[0]} | {cells[1]} | {costs[0]} "
            f"| {statistics.median(row['finetune_s'] for row in both):,.0f} | {max(row['peak_mb'] for row in both):,} |"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--data", nargs="+", default=list(SOURCES), choices=list(SOURCES))
    run.add_argument("--arch", nargs="+", default=list(ARCHES), choices=list(ARCHES))
    run.add_argument("--seeds", type=int, default=5)
    run.add_argument("--epochs", type=int, default=3, help="of the pre-training")
    run.add_argument("-o", type=Path, default=Path("scratch.jsonl"))
    table = commands.add_parser("table")
    table.add_argument("rows", type=Path)
    args = parser.parse_args()
    if args.command == "table":
        show([json.loads(line) for line in args.rows.read_text().splitlines()])
    else:
        for name in LOADED:
            importlib.import_module(f"nlpkit.{name}")
        before = [json.loads(line) for line in args.o.read_text().splitlines()] if args.o.exists() else []
        done = {(row["data"], row["arch"], row["pretrained"], row["seed"]) for row in before}
        with tempfile.TemporaryDirectory() as folder, args.o.open("a", encoding="utf-8") as file:
            for row in rows(args, done, Path(folder)):
                print(json.dumps(row), file=file, flush=True)
