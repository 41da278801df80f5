"""`nlpkit finetune` on sentence pairs beside transformers' Trainer (with peft for `lora`): SICK's entailment and the similarities of STS-B.

Both sides read both texts at once (a cross-encoder), take the same steps, rate, warm-up and batch, and are scored on the official test;
every training is a process of its own, on one thread. Seconds are CPU seconds of the training alone. The scores are the accuracy of
SICK and Spearman's correlation of STS-B.

    python tests/benchmarks/bench_pairs.py --data sick stsb --methods full lora --seeds 2
    python tests/benchmarks/bench_pairs.py --data stsb --train 200 --test 200 --methods lora
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench_finetune import minilm, peak_mb, pm
from harness import lines, printed_by

SOURCES = {"sick": ("sick.jsonl", "entailment"), "stsb": ("stsbenchmark.jsonl", "score")}


def write(name: str, folder: Path, most: dict[str, int]) -> dict[str, Path]:
    """Write the training and test pairs, the first of each part where it may not be all."""
    file, label = SOURCES[name]
    paths = {}
    for part in ("train", "test"):
        rows = [r for r in lines(file) if r["split"] == part][: most[part] or None]
        paths[part] = folder / f"{name}.{part}.jsonl"
        with paths[part].open("w", encoding="utf-8") as out:
            for i, r in enumerate(rows):
                row = {"id": f"{part}{i}", "text": r["sentence1"], "second": r["sentence2"], "label": r[label]}
                out.write(json.dumps(row) + "\n")
    return paths


def one_ours(train: str, test: str, method: str, seed: str, pooling: str) -> dict[str, Any]:
    """Train with nlpkit; its clock is that of the CPU."""
    import nlpkit as nk
    from nlpkit.finetune import fit

    fit.time = SimpleNamespace(perf_counter=time.process_time)  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        result = nk.finetune(
            nk.read_corpus(train), test=test, pair_col="second", method=method, seed=int(seed), threads=1, ci=0, offline=True,
            pooling=pooling, output=f"{folder}/run",
        )  # fmt: skip
    scores = result.scores.model.scores
    score = scores["accuracy" if "accuracy" in scores else "spearman"].value
    return {"score": score, "seconds": result.facts["seconds"], "steps": result.facts["steps"], "mb": peak_mb()}


def one_peer(train: str, test: str, method: str, seed: str, _pooling: str) -> dict[str, Any]:
    """Train with transformers' Trainer: a classifier, or one output and the squared error."""
    import numpy as np
    import torch
    from scipy.stats import spearmanr
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        get_linear_schedule_with_warmup,
        set_seed,
    )

    from nlpkit.finetune.methods import parse_method
    from nlpkit.finetune.options import TrainingOptions

    torch.set_num_threads(1)
    set_seed(int(seed))
    parts = [[json.loads(line) for line in Path(path).read_text().splitlines()] for path in (train, test)]
    names = sorted({r["label"] for r in parts[0]}) if isinstance(parts[0][0]["label"], str) else []
    plan = TrainingOptions().schedule(parse_method(method), len(parts[0]), len(names))
    tokenizer = AutoTokenizer.from_pretrained(minilm())
    model = AutoModelForSequenceClassification.from_pretrained(minilm(), num_labels=len(names) or 1)
    if method == "lora":
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(
            model, LoraConfig(task_type="SEQ_CLS", r=8, lora_alpha=16, modules_to_save=["pooler", "classifier"])
        )
    head = {n for n, p in model.named_parameters() if p.requires_grad and ("pooler" in n or "classifier" in n)}
    groups = [
        {"params": [p for n, p in model.named_parameters() if p.requires_grad and n not in head], "lr": plan.rate},
        {"params": [p for n, p in model.named_parameters() if n in head], "lr": plan.head_rate or plan.rate},
    ]
    optimizer = torch.optim.AdamW(groups, lr=plan.rate, weight_decay=0.01)
    steps = plan.steps(len(parts[0]))
    schedule = get_linear_schedule_with_warmup(optimizer, max(1, round(0.1 * steps)), steps)
    rows = [
        {
            **tokenizer(r["text"], r["second"], truncation=True, max_length=256),
            "labels": names.index(r["label"]) if names else float(r["label"]) / 5,
        }
        for r in parts[0]
    ]
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder, per_device_train_batch_size=16, max_steps=steps, seed=int(seed), report_to=[], save_strategy="no",
            logging_strategy="no", disable_tqdm=True, use_cpu=True,
        )  # fmt: skip
        trainer = Trainer(
            model=model, args=settings, train_dataset=rows, data_collator=DataCollatorWithPadding(tokenizer),
            optimizers=(optimizer, schedule),
        )  # fmt: skip
        start = time.process_time()
        trainer.train()
        seconds = time.process_time() - start
    model.eval()
    logits = []
    with torch.no_grad():
        for i in range(0, len(parts[1]), 32):
            first, second = ([r[key] for r in parts[1][i : i + 32]] for key in ("text", "second"))
            batch = tokenizer(first, second, truncation=True, max_length=256, padding=True, return_tensors="pt")
            logits.append(model(**batch).logits.numpy())
    predicted, true = np.concatenate(logits), [r["label"] for r in parts[1]]
    score = (
        float(np.mean([names[i] == label for i, label in zip(predicted.argmax(1), true, strict=True)]))
        if names
        else float(spearmanr(predicted[:, 0], true)[0])
    )
    return {"score": score, "seconds": seconds, "steps": steps, "mb": peak_mb()}


def main() -> None:
    one = {"--one-peer": one_peer, "--one-ours": one_ours}.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if one is not None:
        print(json.dumps(one(*sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--methods", nargs="+", default=["full", "lora"], choices=["full", "lora"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--train", type=int, default=0, help="most training pairs; 0: all")
    parser.add_argument("--test", type=int, default=0, help="most test pairs; 0: all")
    parser.add_argument("--pooling", default="auto", help="of nlpkit")
    args = parser.parse_args()
    print("| data | method | steps | nlpkit | CPU s | Trainer | CPU s | times as fast | peak MB |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as scratch:
        for name in args.data:
            paths = write(name, Path(scratch), {"train": args.train, "test": args.test})
            for method in args.methods:
                runs: dict[str, list[dict[str, Any]]] = {"--one-ours": [], "--one-peer": []}
                for seed in range(42, 42 + args.seeds):
                    for flag, rows in runs.items():
                        words = [__file__, flag, *paths.values(), method, seed, args.pooling]
                        rows.append(printed_by(words, HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1"))
                ours, peer = runs.values()
                seconds = [[r["seconds"] for r in rows] for rows in (ours, peer)]
                cells = [name, method, ours[0]["steps"], pm([r["score"] for r in ours]), pm(seconds[0], 0)]
                cells += [pm([r["score"] for r in peer]), pm(seconds[1], 0), f"{sum(seconds[1]) / sum(seconds[0]):.2f}"]
                cells += [" / ".join(str(max(r["mb"] for r in rows)) for rows in (ours, peer))]
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
