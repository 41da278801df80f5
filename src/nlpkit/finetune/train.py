"""The training loop: AdamW with warm-up, clipping, early stopping on held-out documents, and a state to go on from."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from nlpkit.errors import InputError, OutOfMemoryError
from nlpkit.finetune.engine import Engine, Lengths
from nlpkit.types import LongArray

logger = logging.getLogger("nlpkit.finetune")

POINTS = 20  # of a learning curve at least, where there are as many steps
_SHUFFLE, _DROPOUT = 11, 13  # so that no two draws of one seed are the same


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast to train.

    AdamW (Kingma & Ba 2015, algorithm 1; Loshchilov & Hutter 2019: the decay of weights stands apart from the gradient), bias
    corrected, which matters with few steps (Mosbach et al. 2021, §5). The rate grows for `warmup` of the steps, then falls to 0.
    """

    epochs: int = 3
    batch: int = 16
    rate: float = 5e-5
    head_rate: float | None = None  # None: as `rate`
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0  # largest norm of the gradient; 0: none
    patience: int = 3  # scores in a row without a gain, then training ends; 0: never
    max_steps: int | None = None
    scores_per_epoch: float = 1.0

    def steps(self, n: int) -> int:
        """Return the number of steps for n examples."""
        whole = self.epochs * max(1, math.ceil(n / self.batch))
        return whole if self.max_steps is None else min(whole, self.max_steps)

    def factor(self, step: int, steps: int) -> float:
        """Return what the rate is multiplied by in step 0, 1, … of all."""
        rise = math.ceil(self.warmup * steps)
        if step < rise:
            return (step + 1) / rise
        return (steps - step) / max(1, steps - rise)


class Objective(Protocol):
    """What is trained, and on what; beside these it has what `engine.PerExampleLoss` or `engine.InBatchLoss` asks for."""

    n: int  # examples of an epoch
    joint: bool
    lengths: Lengths  # (n,) tokens of each example; batches hold examples of like length where `by_length`
    by_length: bool

    def parameters(self) -> dict[str, Tensor]:
        """Return what is trained, by name."""

    def head(self) -> set[str]:
        """Return the names of parameters that have the rate of the head."""

    def mode(self, train: bool) -> None:
        """Put the network into training, or out of it."""

    def begin(self, epoch: int, seed: int) -> None:
        """Get ready for an epoch: draw masks or pairs from the seed."""


@dataclass(frozen=True, slots=True)
class LogPoint:
    """A point of the learning curve: after `step` steps; loss: mean over the steps since the last point; dev: scores by name."""

    step: int
    epoch: float
    loss: float
    rate: float
    seconds: float
    dev: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class State:
    """All that training between two steps consists of; tensors by name."""

    step: int = 0
    seconds: float = 0.0
    batch: int = 0
    values: dict[str, Tensor] = field(default_factory=dict)
    moments: dict[str, Tensor] = field(default_factory=dict)  # <name>.exp_avg, <name>.exp_avg_sq
    updates: int = 0  # of AdamW, fewer than steps where fp16 overflowed
    scaling: tuple[float, int] = (1.0, 0)  # see `Engine.scaling`
    best: dict[str, Tensor] = field(default_factory=dict)
    best_score: float | None = None
    best_step: int = 0
    waited: int = 0
    losses: list[float] = field(default_factory=list)  # since the last point
    curve: list[LogPoint] = field(default_factory=list)
    first: Outcome | None = None  # what the stage before this one came to, of a training in two
    between: float | None = None  # what was measured before this stage


@dataclass(frozen=True, slots=True)
class Outcome:
    """What training came to; the network has the best parameters, or without held-out documents the last ones."""

    steps: int
    best_step: int
    curve: tuple[LogPoint, ...]
    seconds: float
    stopped_early: bool
    batch: int


def train(
    objective: Any,
    engine: Engine,
    plan: Schedule,
    *,
    seed: int,
    score: Callable[[], Mapping[str, float]] | None = None,
    better: str = "loss",
    state: State | None = None,
    save: Callable[[State], None] = lambda state: None,
    save_every: float = 60.0,
    on_step: Callable[[int, int, LogPoint | None], None] = lambda step, steps, point: None,
) -> Outcome:
    """Train an objective's parameters, in place.

    The batches of an epoch are a function of the seed and the epoch, dropout one of the seed and the step: training that goes on
    from a state ends as if it had never stopped.

    Args:
        score: scores on held-out documents, by name; `better` names the one that early stopping looks at ("loss": lower is better,
            all others: higher).
        save: called with the state at least every `save_every` seconds of training, and before an interruption is passed on,
            unless that came in the middle of an update.
        on_step: called after each step with its number, the number of all, and a point of the curve where there is one.

    Raises:
        OutOfMemoryError: not even the smallest batch fits. InputError: the loss is no number any more.
    """
    parameters: dict[str, Tensor] = objective.parameters()
    own = state or State()
    own.batch = own.batch or plan.batch
    plan = replace(plan, batch=own.batch)
    optimizer = _optimizer(objective, parameters, plan)
    engine.start(None if state is None else own.scaling)
    own.scaling = engine.scaling
    if state is not None:
        _restore(own, parameters, optimizer)
    steps = plan.steps(objective.n)
    per_epoch = max(1, math.ceil(objective.n / plan.batch))
    every = max(1, round(per_epoch / plan.scores_per_epoch))
    tick = max(1, steps // POINTS)
    stopped = score is not None and _waited(own, plan.patience)
    clock = time.perf_counter() - own.seconds
    saved = time.perf_counter()
    order: list[LongArray] = []
    epoch = -1
    whole = True  # the state is not in the middle of a change
    objective.mode(True)

    def scored() -> bool:
        return score is not None and (own.step % every == 0 or own.step == steps)

    def due() -> bool:
        return scored() or own.step % tick == 0 or own.step == steps

    try:
        owed = bool(own.losses) and due()  # cut off while it was scored
        while (owed or own.step < steps) and not stopped:
            rate = _set_rate(optimizer, plan.factor(own.step - owed, steps))
            if not owed:
                if own.step // per_epoch != epoch:
                    epoch = own.step // per_epoch
                    objective.begin(epoch, seed)
                    order = batches(objective, plan.batch, seed=seed, epoch=epoch)
                draws = (seed, _DROPOUT, own.step)
                loss = _run(objective, engine, order[own.step % per_epoch], parameters, seed=draws)
                if not math.isfinite(loss) and engine.precision != "fp16":  # there the step is left out
                    raise InputError(f"the loss of step {own.step + 1:,} is no number any more; lower `lr`")
                whole = False
                if engine.unscale(parameters):
                    _clip(parameters, plan.clip)
                    optimizer.step()
                own.scaling = engine.scaling
                own.losses.append(loss)
                own.step += 1
                whole = True
            owed, point = False, None
            if due():
                found = _scored(objective, score) if score is not None and scored() else {}
                whole = False
                own.seconds = time.perf_counter() - clock
                point = LogPoint(own.step, own.step / per_epoch, float(np.mean(own.losses)), rate, own.seconds, found)
                own.curve.append(point)
                own.losses = []
                if found:
                    _note(own, found[better], better, parameters)
                    stopped = _waited(own, plan.patience)
                whole = True
            on_step(own.step, steps, point)
            if time.perf_counter() - saved > save_every:
                save(_snapshot(own, parameters, optimizer, time.perf_counter() - clock))
                saved = time.perf_counter()
    except KeyboardInterrupt:
        if whole:
            save(_snapshot(own, parameters, optimizer, time.perf_counter() - clock))
        raise
    finally:
        objective.mode(False)
    if own.best:
        with torch.no_grad():
            for name, value in own.best.items():
                parameters[name].copy_(value)
    best = own.best_step if own.best else own.step
    return Outcome(
        own.step, best, tuple(own.curve), time.perf_counter() - clock, stopped and own.step < steps, plan.batch
    )


def _run(
    objective: Any, engine: Engine, rows: LongArray, parameters: Mapping[str, Tensor], *, seed: tuple[int, ...]
) -> float:
    """Set the gradients and return the loss of a batch; a joint one that memory is too small for is run in halves from then on."""
    if not objective.joint:
        return engine.separate(objective, rows, parameters, seed=seed)
    while True:
        most = min(engine.joint_rows or len(rows), len(rows))
        try:
            return _in_pieces(objective, engine, rows, most, parameters, seed=seed)
        except OutOfMemoryError:
            if most < 2:
                raise
            engine.joint_rows = most // 2
            logger.warning("no memory for a batch of %d: running it %d at a time from here on", most, most // 2)


def _in_pieces(
    objective: Any,
    engine: Engine,
    rows: LongArray,
    most: int,
    parameters: Mapping[str, Tensor],
    *,
    seed: tuple[int, ...],
) -> float:
    """Set the gradients and return the loss of a batch as the mean over pieces of it; of mnrl each has its own negatives alone."""
    if most == len(rows):
        return engine.joint(objective, rows, parameters, seed=seed)
    loss = 0.0
    sums: dict[str, Tensor] = {}
    for start in range(0, len(rows), most):
        piece = rows[start : start + most]
        share = len(piece) / len(rows)
        loss += share * engine.joint(objective, piece, parameters, seed=(*seed, start))
        for name, parameter in parameters.items():
            if parameter.grad is not None:
                sums[name] = sums.get(name, 0) + share * parameter.grad
    for name, parameter in parameters.items():
        parameter.grad = sums.get(name)
    return loss


def batches(objective: Objective, size: int, *, seed: int, epoch: int) -> list[LongArray]:
    """Return the batches of an epoch: examples in random order; where lengths matter, those of like length together.

    For like lengths the random order is cut into at least four runs, of at most 50 batches, that are sorted by length; then the
    batches are shuffled. Longer runs would put the same examples together in every epoch.
    """
    rng = np.random.default_rng([seed, _SHUFFLE, epoch])
    order = rng.permutation(objective.n)
    run_size = size * max(1, min(50, objective.n // (4 * size)))
    if not objective.by_length or run_size == size:
        return [order[i : i + size] for i in range(0, len(order), size)]
    found: list[LongArray] = []
    for start in range(0, len(order), run_size):
        run = order[start : start + run_size]
        run = run[np.argsort(-objective.lengths[run], kind="stable")]
        found += [run[i : i + size] for i in range(0, len(run), size)]
    return [found[i] for i in rng.permutation(len(found))]


def _optimizer(objective: Objective, parameters: Mapping[str, Tensor], plan: Schedule) -> torch.optim.Optimizer:
    """Return AdamW; biases and the weights of norms, which are vectors, do not decay."""
    head = objective.head()
    groups = []
    for of_head in (False, True):
        for decays in (False, True):
            own = [p for n, p in parameters.items() if (n in head) == of_head and (p.ndim > 1) == decays]
            rate = plan.head_rate if of_head and plan.head_rate is not None else plan.rate
            if own:
                decay = plan.weight_decay if decays else 0.0
                groups.append({"params": own, "lr": rate, "base": rate, "weight_decay": decay})
    return torch.optim.AdamW(groups, lr=plan.rate, betas=(0.9, 0.999), eps=1e-8, fused=_fused(parameters))


def _fused(parameters: Mapping[str, Tensor]) -> bool:
    """Whether the step is one pass over each tensor: as exact as the plain one, and three times as fast."""
    return all(p.device.type in ("cpu", "cuda") and p.dtype == torch.float32 for p in parameters.values())


def _set_rate(optimizer: torch.optim.Optimizer, factor: float) -> float:
    for group in optimizer.param_groups:
        group["lr"] = group["base"] * factor
    return float(optimizer.param_groups[0]["lr"])


def _clip(parameters: Mapping[str, Tensor], most: float) -> None:
    if not most:
        return
    own = [p.grad for p in parameters.values() if p.grad is not None]
    norm = math.sqrt(sum(float(torch.linalg.vector_norm(g)) ** 2 for g in own))
    if norm > most:
        for gradient in own:
            gradient.mul_(most / (norm + 1e-6))


def _scored(objective: Objective, score: Callable[[], Mapping[str, float]]) -> dict[str, float]:
    objective.mode(False)
    found = dict(score())
    objective.mode(True)
    return found


def _note(own: State, value: float, better: str, parameters: Mapping[str, Tensor]) -> None:
    """Note a score, and keep the parameters when it is the best so far; NaN is no gain."""
    gain = value if better != "loss" else -value
    if gain == gain and (own.best_score is None or gain > own.best_score):
        own.best_score, own.best_step, own.waited = gain, own.step, 0
        own.best = {name: p.detach().clone() for name, p in parameters.items()}
    else:
        own.waited += 1


def _waited(own: State, patience: int) -> bool:
    """Whether the score has not grown for too long."""
    return bool(patience) and own.waited >= patience


def _snapshot(own: State, parameters: Mapping[str, Tensor], optimizer: torch.optim.Optimizer, seconds: float) -> State:
    own.seconds = seconds
    own.values = {name: p.detach() for name, p in parameters.items()}
    own.moments = {}
    for name, parameter in parameters.items():
        found = optimizer.state.get(parameter)
        if found:
            own.updates = int(found["step"])
            own.moments |= {f"{name}.{k}": found[k] for k in ("exp_avg", "exp_avg_sq")}
    return own


def _restore(own: State, parameters: Mapping[str, Tensor], optimizer: torch.optim.Optimizer) -> None:
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(own.values[name])
            if f"{name}.exp_avg" in own.moments:
                device = parameter.device if optimizer.defaults["fused"] else torch.device("cpu")
                optimizer.state[parameter] = {
                    "step": torch.tensor(float(own.updates), device=device),
                    "exp_avg": own.moments[f"{name}.exp_avg"].to(parameter.device),
                    "exp_avg_sq": own.moments[f"{name}.exp_avg_sq"].to(parameter.device),
                }
