"""Architectures of `nlpkit pretrain` on tasks that are made for them, each beside one that is too simple for it.

python tests/benchmarks/bench_architectures.py --tasks parity recall --seeds 3 --steps 300

Sequences are drawn anew in each step, and accuracy is measured on others. Every network has the same width, two layers (ffnn: one) and
a linear layer that reads its vectors; AdamW, 32 sequences a step, one thread.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from nlpkit.lab.pretrain.networks import ARCHES, OBJECTIVES, NetworkSizes, _new_model

NONE = -100  # no answer is wanted here
BEGIN, ASK, NOISE, FIRST = 1, 2, 4, 5  # ids of special tokens, and of the first symbol
KINDS, BATCH, TEST, WIDTH, FAR = 8, 32, 512, 32, 5
RATES = dict.fromkeys(("rnn", "lstm", "gru", "bilstm", "elmo"), 1e-2)  # of the others 3e-3
Data = tuple[Tensor, Tensor]  # ids and answers (B, T)


@dataclass
class Words:
    """What a network wants to know of its tokenizer."""

    n: int = FIRST + KINDS
    spelled: list[str] = field(default_factory=list)
    pad_token_id, bos_token_id, eos_token_id = 0, BEGIN, ASK

    def __len__(self) -> int:
        return self.n

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return self.spelled or [f"w{i}" for i in ids]


def symbols(*shape: int, kinds: int = KINDS) -> Tensor:
    return torch.randint(FIRST, FIRST + kinds, shape)


def answered(prompt: Tensor, answers: Tensor) -> Tensor:
    """Return answers at the last places, and none before."""
    return torch.cat([torch.full((len(prompt), prompt.shape[1] - answers.shape[1]), NONE), answers], 1)


def copying(B: int, test: bool) -> Data:
    """Eight symbols, then the same again: each is guessed from those before."""
    x = symbols(B, 8)
    ids = torch.cat([x, torch.full((B, 1), ASK), x[:, :-1]], 1)
    return ids, answered(ids, x)


def brackets(B: int, test: bool) -> Data:
    """Brackets of three kinds: which one does each closing sign close? The test is of those that were opened FAR signs before or more."""
    ids, answers = torch.full((B, 24), NOISE), torch.full((B, 24), NONE)
    for row, answer in zip(ids, answers, strict=True):
        stack: list[int] = []
        for t in range(24):
            if stack and torch.rand(1) < 0.5:
                opened = stack.pop()
                if not test or t - opened >= FAR:
                    answer[t] = row[opened]
            else:
                row[t] = int(symbols(1, kinds=3))
                stack.append(t)
    return ids, answers


def recall(B: int, test: bool) -> Data:
    """What was the first of 24 symbols?"""
    x = symbols(B, 24)
    return torch.cat([x, torch.full((B, 1), ASK)], 1), answered(torch.cat([x, x[:, :1]], 1), x[:, :1])


def parity(B: int, test: bool) -> Data:
    """Is the number of ones so far odd? (XOR of all bits.) The test is of the last half."""
    bits = torch.randint(0, 2, (B, 12))
    answers = bits.cumsum(1) % 2 + FIRST
    return bits + FIRST, answered(answers, answers[:, 6:]) if test else answers


def noise(B: int, test: bool) -> Data:
    """Three symbols at random places among noise, then each in its turn (selective copying, Gu & Dao 2023, §4.1.1)."""
    x, ids = symbols(B, 3), torch.full((B, 16), NOISE)
    ids.scatter_(1, torch.rand(B, 16).argsort(1)[:, :3].sort(1).values, x)
    ids = torch.cat([ids, torch.full((B, 3), ASK)], 1)
    return ids, answered(ids, x)


def neighbours(B: int, test: bool) -> Data:
    """How many of the bits to the left and to the right are ones?"""
    bits = torch.randint(0, 2, (B, 16))
    answers = torch.full((B, 16), NONE)
    answers[:, 1:-1] = bits[:, :-2] + bits[:, 2:] + FIRST
    return bits + FIRST, answers


def unseen(B: int, test: bool) -> Data:
    """Words whose class is their last letter; those of the test were never seen."""
    ids = torch.randint(150, 200, (B, 8)) if test else torch.randint(0, 150, (B, 8))
    return ids + FIRST, ids % 4 + FIRST


def spellings() -> list[str]:
    letters = torch.randint(0, 26, (200, 4), generator=torch.Generator().manual_seed(0)).tolist()
    words = ["".join(chr(97 + c) for c in word) + "abcd"[i % 4] for i, word in enumerate(letters)]
    return [f"[{i}]" for i in range(FIRST)] + words


TASKS: dict[str, tuple[Callable[[int, bool], Data], tuple[str, ...]]] = {
    "copying": (copying, ("ffnn", "rnn", "transformer", "gpt")),
    "brackets": (brackets, ("ffnn", "rnn", "lstm", "gru")),
    "recall": (recall, ("ffnn", "rnn", "transformer", "tokenformer", "hymba")),
    "parity": (parity, ("ffnn", "s4", "transformer", "lstm", "gru")),
    "noise": (noise, ("ffnn", "s4", "mamba", "hymba")),
    "neighbours": (neighbours, ("lstm", "bilstm", "bert")),
    "unseen": (unseen, ("lstm", "elmo")),
}


def learn(task: str, arch: str, steps: int, seed: int) -> tuple[int, float, float]:
    """Return parameters, accuracy and CPU seconds of a training."""
    draw = TASKS[task][0]
    torch.manual_seed(seed)
    words = Words(FIRST + 200, spellings()) if task == "unseen" else Words()
    usual: dict[str, Any] = {**ARCHES[arch], "dropout": 0.0, "words": 4, "state": 8}
    layers = 1 if arch == "ffnn" else 2
    model = _new_model(arch, usual, OBJECTIVES[arch][0], NetworkSizes(layers, WIDTH, 2), words, 64)
    body, head = getattr(model, model.base_model_prefix), nn.Linear(WIDTH, FIRST + KINDS)
    parameters = [*body.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=RATES.get(arch, 3e-3))
    rate = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATES.get(arch, 3e-3), total_steps=steps, cycle_momentum=False
    )

    def answers(data: Data) -> tuple[Tensor, Tensor]:
        ids, wanted = data
        vectors = body(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).last_hidden_state
        return head(vectors[wanted != NONE]), wanted[wanted != NONE]

    begin = time.process_time()
    model.train()
    for _ in range(steps):
        loss = functional.cross_entropy(*answers(draw(BATCH, False)))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        rate.step()
    seconds = time.process_time() - begin
    model.eval()
    torch.manual_seed(10_000 + seed)
    with torch.no_grad():
        logits, wanted = answers(draw(TEST, True))
    return sum(p.numel() for p in parameters), float((logits.argmax(1) == wanted).double().mean()), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="*", choices=TASKS, default=list(TASKS))
    parser.add_argument("--archs", nargs="*", help="only these; default: all of a task")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for task in options.tasks:
        for arch in (name for name in TASKS[task][1] if options.archs is None or name in options.archs):
            runs = [learn(task, arch, options.steps, seed) for seed in range(options.seeds)]
            accuracy = torch.tensor([a for _, a, _ in runs])
            row = {
                "task": task, "arch": arch, "parameters": runs[0][0], "steps": options.steps, "seeds": options.seeds,
                "accuracy": round(float(accuracy.mean()), 3), "sd": round(float(accuracy.std()), 3) if len(runs) > 1 else None,
                "cpu_seconds": round(sum(s for _, _, s in runs) / len(runs), 2),
            }  # fmt: skip
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
