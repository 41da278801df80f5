"""One training from base model to outputs: a network with a head, or SetFit; what it took and how large it is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.classify.labels import Labels
from nlpkit.errors import UsageError
from nlpkit.finetune.engine import Engine
from nlpkit.finetune.frozen import objective_of
from nlpkit.finetune.inputs import Inputs, encode, encode_context, encode_words, spread
from nlpkit.finetune.methods import Method
from nlpkit.finetune.network import Network, load_network, predict
from nlpkit.finetune.setfit import SetFitModel, train_setfit
from nlpkit.finetune.tasks import IGNORED, Targets, Task, balanced
from nlpkit.finetune.train import Outcome, Plan, Point, State, train
from nlpkit.types import LongArray

LEAST_STEPS, MOST_EPOCHS, EPOCHS = 200, 50, 3
WEIGHT_DECAY = 0.01
MANY_CLASSES_RATE = 2e-3  # of the head


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read of D documents: texts, and beside them the second of pairs, the texts before and after, or lists of words."""

    texts: Sequence[str]
    second: Sequence[str] | None = None
    context: tuple[Sequence[str], Sequence[str]] | None = None
    words: Sequence[Sequence[str]] | None = None

    @property
    def plain(self) -> bool:
        """Whether it is one text a document, and nothing else."""
        return self.second is None and self.context is None and self.words is None

    @property
    def n_empty(self) -> int:
        """How many documents have no word."""
        return (
            sum(not text.strip() for text in self.texts) if self.words is None else sum(not own for own in self.words)
        )

    @property
    def n_single(self) -> int:
        """How many pairs have no second text."""
        return sum(not text.strip() for text in self.second or ())

    def of(self, rows: LongArray) -> Reading:
        """Return what is read of some documents, in the order of their rows (n,)."""
        chosen = rows.tolist()

        def those(column: Sequence[Any]) -> list[Any]:
            return [column[d] for d in chosen]

        return Reading(
            those(self.texts),
            None if self.second is None else those(self.second),
            None if self.context is None else (those(self.context[0]), those(self.context[1])),
            None if self.words is None else those(self.words),
        )

    def inputs(self, network: Network) -> Inputs:
        """Return the token ids of all documents."""
        tokenizer, frame, most = network.tokenizer, network.frame, network.max_tokens
        if self.words is not None:
            return encode_words(tokenizer, frame, self.words, max_tokens=most)
        if self.context is not None:
            return encode_context(tokenizer, frame, self.texts, *self.context, max_tokens=most)
        return encode(tokenizer, frame, self.texts, self.second, max_tokens=most)


@dataclass(frozen=True, slots=True)
class Learning:
    """How a training goes: what is None comes from the method. class_balance: classes weigh alike."""

    epochs: int | None = None
    max_steps: int | None = None
    batch: int = 16
    rate: float | None = None
    warmup: float = 0.1
    weight_decay: float | None = None
    patience: int = 3
    class_balance: bool = False
    max_tokens: int | None = None
    head_rate: float | None = None

    def plan(self, method: Method, n: int, classes: int = 0) -> Plan:
        """Return the plan for n training documents: 3 epochs, more (at most 50) where these are fewer than 200 steps.

        Fine-tuning on few documents needs more steps than usual (Mosbach et al. 2021, §6; Zhang et al. 2021). With more classes
        than a batch has documents, most classes are in few batches, and the head learns them too slowly at the usual rate.

        Args:
            classes: among which the head chooses for a document; 0: it chooses for words, or gives a number.
        """
        steps = max(1, math.ceil(n / self.batch))
        epochs = self.epochs or min(MOST_EPOCHS, max(EPOCHS, math.ceil(LEAST_STEPS / steps)))
        kind = method.kind
        usual = MANY_CLASSES_RATE if classes > self.batch and kind.family != "setfit" else kind.head_rate
        decay = (0.0 if kind.family == "setfit" else WEIGHT_DECAY) if self.weight_decay is None else self.weight_decay
        return Plan(
            epochs=epochs, batch=self.batch, rate=self.rate or kind.rate, head_rate=self.head_rate or usual, warmup=self.warmup,
            weight_decay=decay, patience=self.patience, max_steps=self.max_steps,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Watch:
    """What is told and kept while training goes on."""

    state: State | None = None
    save: Callable[[State], None] = lambda state: None
    told: Callable[[int, int, Point | None], None] = lambda step, steps, point: None
    cut: Callable[[int, float], None] = lambda documents, share: None  # see Trained.cut; before training starts


@dataclass(slots=True)
class Trained:
    """A training that is done. outputs: of the rows that were to be predicted, as `network.predict` gives them; logits of SetFit.

    options: of the method, in force. cut: of the documents used, how many were longer than the window, and the share of the tokens
    that was not seen.
    """

    outputs: Any
    outcome: Outcome
    plan: Plan
    seconds: float
    predict_seconds: float
    n_trained: int
    n_parameters: int
    cut: tuple[int, float]
    options: Mapping[str, Any]
    network: Network | None = None
    embedder: Any = None
    model: SetFitModel | None = None


def fit_network(
    folder: Path,
    method: Method,
    task: Task,
    reading: Reading,
    y: Any,
    *,
    train_rows: LongArray,
    dev_rows: LongArray,
    predict_rows: LongArray,
    learning: Learning,
    engine: Engine,
    seed: int,
    score: Callable[[LongArray, Any], float] | None = None,
    watch: Watch | None = None,
) -> Trained:
    """Return a network trained on some documents, and its outputs for others.

    Args:
        folder: of the base model. y: targets of all documents, as `tasks.Targets` has them; those of other rows are not looked at.
        score: (dev rows, outputs) → the score that early stopping looks at, higher is better.

    Raises:
        MissingError, UsageError, OutOfMemoryError: see `load_network` and `train`.
    """
    watch = watch or Watch()
    network = load_network(folder, task, method, seed=seed, device=engine.device, max_tokens=learning.max_tokens)
    used = np.unique(np.concatenate([train_rows, dev_rows, predict_rows]))  # of few shots far from all
    learn, dev, ask = (np.searchsorted(used, rows) for rows in (train_rows, dev_rows, predict_rows))
    inputs = reading.of(used).inputs(network)
    y = y[used] if isinstance(y, np.ndarray) else [y[d] for d in used.tolist()]
    cut = int((inputs.cut > 0).sum()), float(inputs.cut.sum() / max(1, inputs.counts.sum()))
    watch.cut(*cut)
    if inputs.words is not None:
        y = [
            spread(words, own, IGNORED) if len(own) else words * 0 + IGNORED
            for words, own in zip(inputs.words, y, strict=True)
        ]
    weights = None
    if learning.class_balance and task.kind != "regression":
        weights = balanced(_sizes(task, y, learn), len(learn), positive=task.kind == "multi")
    plan = learning.plan(method, len(learn), len(task.names) if task.kind in ("single", "multi") else 0)

    def dev_score() -> Mapping[str, float]:
        assert score is not None
        outputs = predict(network, inputs, dev, engine)
        return {"score": score(dev_rows, outputs)}

    start = time.perf_counter() - (
        watch.state.seconds if watch.state else 0.0
    )  # of a training that goes on, what it took
    objective = objective_of(network, inputs, Targets(task, y, weights), learn, engine)
    outcome = train(
        objective, engine, plan, seed=seed, score=dev_score if len(dev) and score is not None else None, better="score",
        state=watch.state, save=watch.save, told=watch.told,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    outputs = predict(network, inputs, ask, engine)
    spent = time.perf_counter() - start - seconds
    return Trained(
        outputs,
        outcome,
        plan,
        seconds,
        spent,
        network.n_trained,
        network.n_parameters,
        cut,
        method.options,
        network=network,
    )


def fit_setfit(
    folder: Path,
    method: Method,
    labels: Labels,
    reading: Reading,
    *,
    train_rows: LongArray,
    predict_rows: LongArray,
    learning: Learning,
    engine: Engine,
    seed: int,
    watch: Watch | None = None,
) -> Trained:
    """Return a sentence encoder with a classifier trained on some documents, and logits for others. Raises as `train_setfit`."""
    from nlpkit.finetune.embedder import cut_of, embed_all, load_embedder

    if not reading.plain:
        raise UsageError("setfit reads one text a document; for pairs, context and words take another --method")
    watch = watch or Watch()
    embedder = load_embedder(folder, max_tokens=learning.max_tokens, device=engine.device)
    plan = replace(learning.plan(method, len(train_rows)), max_steps=learning.max_steps)
    options: dict[str, Any] = dict(method.options)
    if learning.class_balance:
        options["balanced"] = True
    if learning.epochs is not None:
        options["epochs"] = learning.epochs
    plan = replace(plan, epochs=int(options["epochs"]))
    asked = embedder.read([reading.texts[d] for d in predict_rows.tolist()])
    cut = cut_of(embedder.read([reading.texts[d] for d in np.setdiff1d(train_rows, predict_rows).tolist()]), asked)
    watch.cut(*cut)
    start = time.perf_counter() - (watch.state.seconds if watch.state else 0.0)
    model, outcome = train_setfit(
        embedder, reading.texts, labels, train_rows, plan=plan, options=options, engine=engine, seed=seed,
        state=watch.state, save=watch.save, told=watch.told,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    outputs = model.decision(embed_all(embedder, asked, engine))
    spent = time.perf_counter() - start - seconds
    n_trained = sum(p.numel() for p in embedder.parameters().values()) + sum(a.size for a in model.arrays().values())
    n_all = sum(p.numel() for p in embedder.model.parameters())
    return Trained(
        outputs, outcome, plan, seconds, spent, n_trained, n_all, cut, options, embedder=embedder, model=model
    )


def _sizes(task: Task, y: Any, rows: LongArray) -> LongArray:
    J = len(task.names)
    if task.kind == "multi":
        return np.asarray(y[rows].sum(axis=0), np.int64)
    if task.kind == "tokens":
        own = np.concatenate([y[row] for row in rows.tolist()])
        return np.bincount(own[own >= 0], minlength=J).astype(np.int64)
    return np.bincount(y[rows], minlength=J).astype(np.int64)
