"""`nlpkit finetune` beside setfit, transformers' Trainer and peft: accuracy over seeds, parameters, seconds, size, memory.

Both sides learn from the same documents (those `--shots` draws for each seed) with the same steps, rate, warm-up and batch, and are
scored on the same test documents. MiniLM on the CPU, one thread each unless --threads says otherwise; every training is a process of
its own. Seconds are CPU seconds (user and system) of the training alone, without imports, loading and prediction, so that other work on
the machine changes them little.

    python tests/benchmarks/bench_finetune.py --data trec sst2 --shots 8 64 --seeds 5 --peers
    python tests/benchmarks/bench_finetune.py --data trec --shots 8 --max-steps 24 --seeds 2 --test 50 --peers

lora:int8 is `--method lora --quantize int8`; its peer has the base in float32.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import DATA, printed_by, train_and_test

SOURCES = {  # files, and the value of `split` that is the test where one file holds both
    "ag_news": ("ag_news_train_sub.jsonl.gz", "ag_news_test.jsonl"),
    "sst2": ("sst2.jsonl", None),
    "trec": ("trec.jsonl", None),
    "banking77": ("banking77.jsonl", None),
}
METHODS = (
    "full", "head", "lora", "dora", "ia3", "prefix", "prompt", "pfeiffer", "houlsby", "parallel", "compacter", "compacter++", "mam",
    "unipelt", "setfit",
)  # fmt: skip
PEERS = {
    "full": "transformers Trainer", "head": "transformers Trainer", "lora": "peft + Trainer", "dora": "peft + Trainer",
    "ia3": "peft + Trainer", "prefix": "peft + Trainer", "prompt": "peft + Trainer", "setfit": "setfit",
}  # fmt: skip


def write(name: str, folder: Path, most: int) -> tuple[Path, Path]:
    """Write training and test documents; the test is a random part of at most `most` documents, the same in every run."""
    train, test = train_and_test(*SOURCES[name])
    test = random.Random(0).sample(test, min(most, len(test)))
    found = []
    for part, own in (("train", train), ("test", test)):
        path = folder / f"{name}.{part}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for i, row in enumerate(own):
                file.write(json.dumps({"id": f"{part}{i}", "label": str(row["label"]), "text": row["text"]}) + "\n")
        found.append(path)
    return found[0], found[1]


def ours(train: Path, test: Path, method: str, shots: str, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """Train with nlpkit in a process of its own."""
    return in_process("--one-ours", method, train, test, shots, seed, args)


def one_ours(
    method: str, train: str, test: str, shots: str, seed: str, threads: str, max_steps: str, pooling: str
) -> None:
    """Train with nlpkit and print what it came to; its clock is that of the CPU."""
    from types import SimpleNamespace

    import nlpkit as nk
    from nlpkit.finetune import fit

    method, _, quantize = method.partition(":")
    fit.time = SimpleNamespace(perf_counter=time.process_time)  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        result = nk.finetune(
            nk.read_corpus(train), test=test, method=method, shots=shots, seed=int(seed), threads=int(threads),
            max_steps=int(max_steps) or None, ci=0, near_duplicates=0.0, offline=True, pooling=pooling, quantize=quantize or None,
            output=f"{folder}/run",
        )  # fmt: skip
    facts = result.facts
    accuracy = result.scores.model.scores["accuracy"].value
    print(json.dumps({
        "accuracy": accuracy, "seconds": facts["seconds"], "trained": facts["trained_parameters"], "bytes": facts["bytes"],
        "steps": facts["steps"], "mb": peak_mb(),
    }))  # fmt: skip


def in_process(
    flag: str, method: str, train: Path, test: Path, shots: str, seed: int, args: argparse.Namespace
) -> dict[str, Any]:
    """Run one training in a process of its own and return what it printed."""
    values = [method, train, test, shots, seed, args.threads, args.max_steps or 0]
    values += [args.pooling if method != "setfit" else "auto"] if flag == "--one-ours" else []
    return printed_by([__file__, flag, *values], HF_HUB_OFFLINE="1", OMP_NUM_THREADS=str(args.threads))


def peak_mb() -> int:
    """Return the peak memory of this process."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def documents(
    train: Path, test: Path, shots: str, seed: int
) -> tuple[list[str], list[int], list[str], list[int], tuple[str, ...]]:
    """Return the texts and classes that nlpkit learns from with this seed, and those of the test."""
    from nlpkit.finetune.data.read import read_dataset
    from nlpkit.finetune.options import DatasetOptions
    from nlpkit.platform.documents.corpus import read_corpus

    read, _ = read_dataset(read_corpus(train), DatasetOptions(test=test, shots=shots), seed=seed)
    own = read.drawn(None if shots == "all" else int(shots), seed=seed)
    a, b = own.rounds[0]
    texts, codes = own.texts, own.labels.codes
    assert codes is not None
    return [texts[d] for d in a], codes[a].tolist(), [texts[d] for d in b], codes[b].tolist(), own.labels.names


def peer(method: str, train: Path, test: Path, shots: str, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """Run the peer of a method in a process of its own."""
    return in_process("--one-peer", method, train, test, shots, seed, args)


def one_peer(method: str, train: str, test: str, shots: str, seed: str, threads: str, max_steps: str) -> None:
    """Train one peer and print what it came to."""
    import numpy as np
    import torch

    torch.set_num_threads(int(threads))
    texts, y, test_texts, test_y, names = documents(Path(train), Path(test), shots, int(seed))
    run = run_setfit if method == "setfit" else run_trainer
    found, seconds = run(method, texts, y, test_texts, names, int(seed), int(max_steps))
    accuracy = float((np.asarray(found) == np.asarray(test_y)).mean())
    print(json.dumps({"accuracy": accuracy, "seconds": seconds, "mb": peak_mb()}))


def minilm() -> str:
    from nlpkit.embed.models import find_model

    return str(find_model("minilm", offline=True).path)


def run_setfit(
    method: str, texts: list[str], y: list[int], test: list[str], names: Sequence[str], seed: int, max_steps: int
) -> tuple[Any, float]:
    """setfit as its documentation has it: R = 20 pairs, batches of 16, one epoch."""
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    model = SetFitModel.from_pretrained(minilm())
    more = {"max_steps": max_steps} if max_steps else {}
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder, batch_size=16, num_epochs=1, num_iterations=20, seed=seed, report_to="none", save_strategy="no",
            show_progress_bar=False, **more,
        )  # fmt: skip
        trainer = Trainer(model=model, args=args, train_dataset=Dataset.from_dict({"text": texts, "label": y}))
        start = time.process_time()
        trainer.train()
        seconds = time.process_time() - start
    return model.predict(test, as_numpy=True), seconds


def run_trainer(
    method: str, texts: list[str], y: list[int], test: list[str], names: Sequence[str], seed: int, max_steps: int
) -> tuple[Any, float]:
    """transformers' Trainer with the steps, rates and window of nlpkit; of peft the same adapters."""
    import torch
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    from nlpkit.finetune.methods import parse_method
    from nlpkit.finetune.options import TrainingOptions

    set_seed(seed)
    kind = parse_method(method)
    plan = TrainingOptions().schedule(kind, len(texts), len(names))
    tokenizer = AutoTokenizer.from_pretrained(minilm())
    model = AutoModelForSequenceClassification.from_pretrained(minilm(), num_labels=len(names))
    if method == "head":
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("pooler" in name or "classifier" in name)
    elif method != "full":
        from peft import IA3Config, LoraConfig, PrefixTuningConfig, PromptTuningConfig, get_peft_model

        head = ["pooler", "classifier"]
        config: Any = LoraConfig(
            task_type="SEQ_CLS", r=8, lora_alpha=16, modules_to_save=head, use_dora=method == "dora"
        )
        if method == "ia3":
            config = IA3Config(
                task_type="SEQ_CLS", modules_to_save=head, target_modules=r".*(self\.key|self\.value|[0-9]+\.output\.dense)",
                feedforward_modules=r".*[0-9]+\.output\.dense",
            )  # fmt: skip
        if method == "prefix":
            config = PrefixTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=30, modules_to_save=head)
        if method == "prompt":
            config = PromptTuningConfig(
                task_type="SEQ_CLS", num_virtual_tokens=20, modules_to_save=head, prompt_tuning_init="SAMPLE_VOCAB"
            )
        model = get_peft_model(model, config)
    rows = [
        {**tokenizer(t, truncation=True, max_length=256), "labels": label} for t, label in zip(texts, y, strict=True)
    ]
    head_names = [n for n, p in model.named_parameters() if p.requires_grad and ("pooler" in n or "classifier" in n)]
    rate = plan.head_rate or plan.rate
    groups = [
        {
            "params": [p for n, p in model.named_parameters() if p.requires_grad and n not in head_names],
            "lr": plan.rate,
        },
        {"params": [p for n, p in model.named_parameters() if n in head_names], "lr": rate},
    ]
    optimizer = torch.optim.AdamW(groups, lr=plan.rate, weight_decay=0.01)
    steps = plan.steps(len(texts))
    steps = min(steps, max_steps) if max_steps else steps
    from transformers import get_linear_schedule_with_warmup

    schedule = get_linear_schedule_with_warmup(optimizer, max(1, round(0.1 * steps)), steps)
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder, per_device_train_batch_size=16, max_steps=steps, seed=seed, report_to=[], save_strategy="no",
            logging_strategy="no", disable_tqdm=True, use_cpu=True,
        )  # fmt: skip
        trainer = Trainer(
            model=model,
            args=args,
            train_dataset=rows,
            data_collator=DataCollatorWithPadding(tokenizer),
            optimizers=(optimizer, schedule),
        )
        start = time.process_time()
        trainer.train()
        seconds = time.process_time() - start
    model.eval()
    found = []
    with torch.no_grad():
        for i in range(0, len(test), 32):
            batch = tokenizer(test[i : i + 32], truncation=True, max_length=256, padding=True, return_tensors="pt")
            found += model(**batch).logits.argmax(-1).tolist()
    return found, seconds


def pm(values: Sequence[float], digits: int = 3) -> str:
    import statistics

    mean = statistics.mean(values)
    return f"{mean:.{digits}f}" + (f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else "")


def main() -> None:
    one = {"--one-peer": one_peer, "--one-ours": one_ours}.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if one is not None:
        one(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["trec"], choices=list(SOURCES))
    parser.add_argument("--shots", nargs="+", default=["8"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=42)
    parser.add_argument("--test", type=int, default=500, help="most test documents")
    parser.add_argument("--max-steps", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pooling", default="auto", help="of nlpkit; transformers: as peers have it")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--json", type=Path, help="append every training as a line")
    args = parser.parse_args()
    if not DATA.exists():
        raise SystemExit(f"{DATA} is not there; it holds the corpora")
    print(
        "| data | shots | method | nlpkit accuracy | CPU s | parameters | MB | peer | accuracy | CPU s | times as fast | peak MB |"
    )
    print("|---|--:|---|--:|--:|--:|--:|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as scratch:
        for name in args.data:
            train, test = write(name, Path(scratch), args.test)
            for shots in args.shots:
                for method in args.methods:
                    rows, theirs, plain = [], [], method.partition(":")[0]
                    for seed in range(args.first_seed, args.first_seed + args.seeds):
                        rows.append(ours(train, test, method, shots, seed, args))
                        if args.peers and plain in PEERS:
                            theirs.append(peer(plain, train, test, shots, seed, args))
                        if args.json:
                            told = {"data": name, "shots": shots, "method": method, "seed": seed, "ours": rows[-1]}
                            told |= {"peer": theirs[-1]} if theirs else {}
                            with args.json.open("a", encoding="utf-8") as file:
                                file.write(json.dumps(told) + "\n")
                    cells = [
                        name,
                        shots,
                        method,
                        pm([r["accuracy"] for r in rows]),
                        pm([r["seconds"] for r in rows], 1),
                    ]
                    cells += [
                        f"{rows[0]['trained']:,}",
                        f"{rows[0]['bytes'] / 1e6:.2f}",
                        PEERS.get(plain, "") if theirs else "",
                    ]
                    cells += (
                        [pm([r["accuracy"] for r in theirs]), pm([r["seconds"] for r in theirs], 1)]
                        if theirs
                        else ["", ""]
                    )
                    mean = {"rows": sum(r["seconds"] for r in rows), "theirs": sum(r["seconds"] for r in theirs)}
                    cells.append(f"{mean['theirs'] / mean['rows']:.2f}" if theirs else "")
                    cells.append(
                        f"{max(r['mb'] for r in rows)}" + (f" / {max(r['mb'] for r in theirs)}" if theirs else "")
                    )
                    print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
