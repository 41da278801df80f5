"""T-Few from base model to outputs; see `nlpkit.finetune.patterns.seq2seq`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.methods import Method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.patterns.patterns import MASK, Patterns, fill_pattern
from nlpkit.finetune.patterns.seq2seq import (
    ChoiceModel,
    TfewObjective,
    choice_scores,
    choices_of,
    load_seq2seq,
    verbalised,
)
from nlpkit.finetune.tasks import FinetuneTask, balanced
from nlpkit.finetune.trained import Trained, TrainingCallbacks
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.train import train
from nlpkit.platform.types import FloatArray, LongArray


def fit_tfew(
    folder: Path,
    method: Method,
    task: FinetuneTask,
    patterns: Patterns,
    text_inputs: TextInputs,
    y: LongArray,
    *,
    train_rows: LongArray,
    dev_rows: LongArray,
    predict_rows: LongArray,
    training: TrainingOptions,
    engine: Engine,
    seed: int,
    score: Callable[[LongArray, Any], float] | None = None,
    callbacks: TrainingCallbacks | None = None,
) -> Trained:
    """Return a network that ranks the words for the labels, trained on some documents, and β of others.

    1,000 steps of 8 texts at 3e-3 where nothing else is said, as in the paper (§3.1); by AdamW without decay of weights, where the
    paper has Adafactor. With several patterns each text is learned from in all of them.

    Args:
        folder: of the base model. y: classes of all documents. score: (dev rows, outputs) → the score that early stopping looks at.

    Raises:
        UsageError, MissingError, InputError: see `load_seq2seq`, `verbalised` and `choices_of`.
    """
    callbacks = callbacks or TrainingCallbacks()
    network = load_seq2seq(folder, seed=seed, device=engine.device, max_tokens=training.max_tokens)
    model = ChoiceModel(verbalised(patterns, task.names), task.names, network)
    by_gap = choices_of(network, model.patterns, task.names)
    choices = [by_gap[MASK in text] for text in patterns.texts]
    used = np.unique(np.concatenate([train_rows, dev_rows, predict_rows]))
    learn, dev, ask = (np.searchsorted(used, rows) for rows in (train_rows, dev_rows, predict_rows))
    inputs = text_inputs.take(used)
    gaps = [fill_pattern(network, text, inputs.texts, inputs.second) for text in patterns.texts]
    first = gaps[0].inputs
    cut = int((first.cut > 0).sum()), float(first.cut.sum() / max(1, first.counts.sum()))
    callbacks.on_truncation(*cut)

    def outputs_of(rows: LongArray) -> FloatArray:
        parts = zip(gaps, choices, strict=True)
        mean: FloatArray = np.mean([choice_scores(network, filled, c, engine, rows) for filled, c in parts], axis=0)
        return mean

    def dev_score() -> Mapping[str, float]:
        assert score is not None
        return {"score": score(dev_rows, outputs_of(dev))}

    right = y[used]
    before = [
        float((choice_scores(network, filled, c, engine, learn).argmax(axis=1) == right[learn]).mean())
        for filled, c in zip(gaps, choices, strict=True)
    ]
    weights = None
    if training.balanced:
        weights = balanced(np.bincount(right[learn], minlength=len(task.names)).astype(np.int64), len(learn))
    plan = training.schedule(method, len(learn) * len(gaps))
    objective = TfewObjective(
        network, gaps, choices, learn, right, weights, float(method.options["ul"]), float(method.options["ln"])
    )
    start = time.perf_counter() - (callbacks.state.seconds if callbacks.state else 0.0)
    outcome = train(
        objective, engine, plan, seed=seed, score=dev_score if len(dev) and score is not None else None, better="score",
        state=callbacks.state, save=callbacks.save, on_step=callbacks.on_step,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    outputs = outputs_of(ask)
    spent = time.perf_counter() - start - seconds
    facts = {
        "patterns": [
            {"pattern": text, "weight": 1.0, "accuracy_before": share}
            for text, share in zip(patterns.texts, before, strict=True)
        ],
        "words": {label: list(words) for label, words in model.patterns.words.items()},
        "unlabelled": 0,
    }
    n_trained = sum(p.numel() for p in network.trained.values())
    return Trained(
        outputs, outcome, plan, seconds, spent, n_trained, network.n_parameters, cut, method.options, ensemble=model, patterns=facts
    )  # fmt: skip
