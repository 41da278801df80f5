"""The training loop: AdamW with warm-up, clipping, early stopping on held-out documents, and a state to resume from.

Parts, in this order:
- What is trained, and on what: the interface of the training loop.
- The loop: schedule, state and outcome.
"""

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
from nlpkit.finetune.training.engine import Engine, Lengths
from nlpkit.platform.types import LongArray


class Objective(Protocol):
    """Parameters and examples of a training; beside these those of `engine.PerExampleLoss` or `engine.InBatchLoss`."""

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


class EveryParameter:
    """What an objective does that trains all of a network at one rate, on examples that stay as they are; see `Objective`."""

    network: Any
    joint: bool = False
    by_length: bool = True

    def parameters(self) -> dict[str, Tensor]:
        """Return what is trained, by name."""
        trained: dict[str, Tensor] = self.network.trained
        return trained

    def head(self) -> set[str]:
        """Return no names."""
        return set()

    def mode(self, train: bool) -> None:
        """Put the network into training, or out of it."""
        self.network.model.train(train)

    def begin(self, epoch: int, seed: int) -> None:
        """Nothing changes from epoch to epoch."""


# ------------------------------------------------------------------------------------------------------------------------
# The training loop: AdamW with warm-up, clipping, early stopping on held-out documents, and a state to resume from.

logger = logging.getLogger("nlpkit.finetune")

POINTS = 20  # of a learning curve at least, where there are as many steps
_SHUFFLE, _DROPOUT = 11, 13  # so that no two draws of one seed are the same


@dataclass(frozen=True, slots=True)
class Schedule:
    """Length and rates of training.

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
    first: Outcome | None = None  # outcome of the stage before this one, of a training in two
    between: float | None = None  # the measurement before this stage


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of training; the network has the best parameters, or without held-out documents the last ones."""

    steps: int
    best_step: int
    curve: tuple[LogPoint, ...]
    seconds: float
    stopped_early: bool
    batch: int
    diverged: int | None = None  # the step at which the loss was no number any more, and training ended


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
    keep_best: bool = False,
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
        keep_best: end with the best parameters so far, if there are any, where the loss is no number any more.

    Raises:
        OutOfMemoryError: not even the smallest batch fits. InputError: the loss is no number any more.
    """
    parameters: dict[str, Tensor] = objective.parameters()
    current = state or State()
    current.batch = current.batch or plan.batch
    plan = replace(plan, batch=current.batch)
    optimizer = _optimizer(objective, parameters, plan)
    engine.start(None if state is None else current.scaling)
    current.scaling = engine.scaling
    if state is not None:
        _restore(current, parameters, optimizer)
    steps = plan.steps(objective.n)
    per_epoch = max(1, math.ceil(objective.n / plan.batch))
    every = max(1, round(per_epoch / plan.scores_per_epoch))
    tick = max(1, steps // POINTS)
    stopped = score is not None and _waited(current, plan.patience)
    clock = time.perf_counter() - current.seconds
    saved = time.perf_counter()
    order: list[LongArray] = []
    epoch = -1
    whole = True  # the state is not in the middle of a change
    diverged: int | None = None
    objective.mode(True)

    def scored() -> bool:
        return score is not None and (current.step % every == 0 or current.step == steps)

    def due() -> bool:
        return scored() or current.step % tick == 0 or current.step == steps

    try:
        owed = bool(current.losses) and due()  # cut off while it was scored
        while (owed or current.step < steps) and not stopped:
            rate = _set_rate(optimizer, plan.factor(current.step - owed, steps))
            if not owed:
                if current.step // per_epoch != epoch:
                    epoch = current.step // per_epoch
                    objective.begin(epoch, seed)
                    order = batches(objective, plan.batch, seed=seed, epoch=epoch)
                draws = (seed, _DROPOUT, current.step)
                loss = _run(objective, engine, order[current.step % per_epoch], parameters, seed=draws)
                if not math.isfinite(loss) and engine.precision != "fp16":  # there the step is left out
                    if keep_best and current.best:
                        diverged = current.step + 1
                        break
                    raise InputError(f"the loss of step {current.step + 1:,} is no longer a number; lower `lr`")
                whole = False
                if engine.unscale(parameters):
                    _clip(parameters, plan.clip)
                    optimizer.step()
                current.scaling = engine.scaling
                current.losses.append(loss)
                current.step += 1
                whole = True
            owed, point = False, None
            if due():
                scores = _scored(objective, score) if score is not None and scored() else {}
                whole = False
                current.seconds = time.perf_counter() - clock
                point = LogPoint(
                    current.step,
                    current.step / per_epoch,
                    float(np.mean(current.losses)),
                    rate,
                    current.seconds,
                    scores,
                )
                current.curve.append(point)
                current.losses = []
                if scores:
                    _note(current, scores[better], better, parameters)
                    stopped = _waited(current, plan.patience)
                whole = True
            on_step(current.step, steps, point)
            if time.perf_counter() - saved > save_every:
                save(_snapshot(current, parameters, optimizer, time.perf_counter() - clock))
                saved = time.perf_counter()
    except KeyboardInterrupt:
        if whole:
            save(_snapshot(current, parameters, optimizer, time.perf_counter() - clock))
        raise
    finally:
        objective.mode(False)
    if current.best:
        with torch.no_grad():
            for name, value in current.best.items():
                parameters[name].copy_(value)
    best = current.best_step if current.best else current.step
    return Outcome(
        current.step,
        best,
        tuple(current.curve),
        time.perf_counter() - clock,
        stopped and current.step < steps,
        plan.batch,
        diverged,
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
    ordered: list[LongArray] = []
    for start in range(0, len(order), run_size):
        run = order[start : start + run_size]
        run = run[np.argsort(-objective.lengths[run], kind="stable")]
        ordered += [run[i : i + size] for i in range(0, len(run), size)]
    return [ordered[i] for i in rng.permutation(len(ordered))]


def _optimizer(objective: Objective, parameters: Mapping[str, Tensor], plan: Schedule) -> torch.optim.Optimizer:
    """Return AdamW; biases and the weights of norms, which are vectors, do not decay."""
    head = objective.head()
    groups = []
    for of_head in (False, True):
        for decays in (False, True):
            tensors = [p for n, p in parameters.items() if (n in head) == of_head and (p.ndim > 1) == decays]
            rate = plan.head_rate if of_head and plan.head_rate is not None else plan.rate
            if tensors:
                decay = plan.weight_decay if decays else 0.0
                groups.append({"params": tensors, "lr": rate, "base": rate, "weight_decay": decay})
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
    gradients = [p.grad for p in parameters.values() if p.grad is not None]
    norm = math.sqrt(sum(float(torch.linalg.vector_norm(g)) ** 2 for g in gradients))
    if norm > most:
        for gradient in gradients:
            gradient.mul_(most / (norm + 1e-6))


def _scored(objective: Objective, score: Callable[[], Mapping[str, float]]) -> dict[str, float]:
    objective.mode(False)
    scores = dict(score())
    objective.mode(True)
    return scores


def _note(state: State, value: float, better: str, parameters: Mapping[str, Tensor]) -> None:
    """Note a score, and keep the parameters when it is the best so far; NaN is no gain."""
    gain = value if better != "loss" else -value
    if gain == gain and (state.best_score is None or gain > state.best_score):
        state.best_score, state.best_step, state.waited = gain, state.step, 0
        state.best = {name: p.detach().clone() for name, p in parameters.items()}
    else:
        state.waited += 1


def _waited(state: State, patience: int) -> bool:
    """Whether the score has not grown for too long."""
    return bool(patience) and state.waited >= patience


def _snapshot(
    state: State, parameters: Mapping[str, Tensor], optimizer: torch.optim.Optimizer, seconds: float
) -> State:
    state.seconds = seconds
    state.values = {name: p.detach() for name, p in parameters.items()}
    state.moments = {}
    for name, parameter in parameters.items():
        adam_state = optimizer.state.get(parameter)
        if adam_state:
            state.updates = int(adam_state["step"])
            state.moments |= {f"{name}.{k}": adam_state[k] for k in ("exp_avg", "exp_avg_sq")}
    return state


def _restore(state: State, parameters: Mapping[str, Tensor], optimizer: torch.optim.Optimizer) -> None:
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(state.values[name])
            if f"{name}.exp_avg" in state.moments:
                device = parameter.device if optimizer.defaults["fused"] else torch.device("cpu")
                optimizer.state[parameter] = {
                    "step": torch.tensor(float(state.updates), device=device),
                    "exp_avg": state.moments[f"{name}.exp_avg"].to(parameter.device),
                    "exp_avg_sq": state.moments[f"{name}.exp_avg_sq"].to(parameter.device),
                }
