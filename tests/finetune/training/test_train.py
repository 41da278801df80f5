"""The training loop: AdamW by hand, rates, batches, early stopping, and going on where it was cut off."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.errors import InputError, OutOfMemoryError
from nlpkit.finetune.resume import Checkpoint
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.train import LogPoint, Outcome, Schedule, State, batches, train
from nlpkit.platform.types import FloatArray, LongArray
from tests.finetune.eight import one_thread  # noqa: F401

CPU = torch.device("cpu")
PLAN = Schedule(epochs=4, batch=8, rate=0.05, warmup=0.2, weight_decay=0.1, clip=0.0, patience=0)


@dataclass
class Line:
    """Softmax regression with a matrix w, a bias b and dropout of its input; two classes that a line parts."""

    n: int = 40
    dropout: float = 0.0
    by_length: bool = False
    joint: bool = False
    begun: list[int] = field(default_factory=list)
    modes: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(3)
        self.x = torch.from_numpy(rng.normal(size=(self.n, 5)).astype(np.float32))
        self.y = (self.x @ torch.tensor([1.0, -2.0, 0.5, 0.0, 1.0]) > 0).long()
        self.lengths = rng.integers(1, 50, self.n)
        self.w = torch.from_numpy(rng.normal(size=(5, 2)).astype(np.float32)).requires_grad_()
        self.b = torch.tensor([0.3, -0.2], requires_grad=True)

    def parameters(self) -> dict[str, Tensor]:
        return {"w": self.w, "b": self.b}

    def head(self) -> set[str]:
        return {"b"}

    def mode(self, train: bool) -> None:
        self.modes.append(train)

    def begin(self, epoch: int, seed: int) -> None:
        self.begun.append(epoch)

    def weight(self, rows: LongArray) -> float:
        return float(len(rows))

    def loss(self, rows: LongArray) -> Tensor:
        x = functional.dropout(self.x[rows], self.dropout, True)
        return functional.cross_entropy(x @ self.w + self.b, self.y[rows], reduction="sum")

    def values(self) -> dict[str, bytes]:
        return {name: p.detach().numpy().tobytes() for name, p in self.parameters().items()}


def fit(line: Line, plan: Schedule, *, threads: int = 1, seed: int = 0, **more: Any) -> Outcome:
    with Engine(CPU, "fp32", threads=threads) as engine:
        return train(line, engine, plan, seed=seed, **more)


def gradient(x: FloatArray, y: LongArray, w: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the gradient of the mean cross-entropy of softmax regression, by its formula."""
    z = x @ w + b
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    return x.T @ p / len(y), p.mean(axis=0)


def by_hand(line: Line, plan: Schedule, steps: int, *, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Return w and b after some steps of AdamW: Kingma & Ba 2015, algorithm 1; the decay of w apart from its gradient."""
    x, y = line.x.double().numpy(), line.y.numpy()
    theta = {"w": line.w.detach().double().numpy(), "b": line.b.detach().double().numpy()}
    m, v = ({k: np.zeros_like(t) for k, t in theta.items()} for _ in range(2))
    n_all = plan.steps(line.n)
    per_epoch = math.ceil(line.n / plan.batch)
    for t in range(1, steps + 1):
        rows = batches(line, plan.batch, seed=seed, epoch=(t - 1) // per_epoch)[(t - 1) % per_epoch]
        g = dict(zip(("w", "b"), gradient(x[rows], y[rows], theta["w"], theta["b"]), strict=True))
        norm = math.sqrt(sum(float((own**2).sum()) for own in g.values()))
        if plan.clip and norm > plan.clip:
            g = {k: own * plan.clip / norm for k, own in g.items()}
        rise = math.ceil(plan.warmup * n_all)
        factor = t / rise if t <= rise else (n_all - t + 1) / (n_all - rise)
        for k, own in g.items():
            rate = (plan.head_rate if k == "b" and plan.head_rate is not None else plan.rate) * factor
            decay = plan.weight_decay if k == "w" else 0.0
            m[k] = 0.9 * m[k] + 0.1 * own
            v[k] = 0.999 * v[k] + 0.001 * own**2
            m_hat, v_hat = m[k] / (1 - 0.9**t), v[k] / (1 - 0.999**t)
            theta[k] = theta[k] - rate * decay * theta[k] - rate * m_hat / (np.sqrt(v_hat) + 1e-8)
    return theta["w"], theta["b"]


@pytest.mark.parametrize("steps", [1, 3, 20])
@pytest.mark.parametrize(
    "plan",
    [
        PLAN,
        Schedule(epochs=4, batch=8, rate=0.05, warmup=0.0, weight_decay=0.0, clip=0.1, patience=0),
        Schedule(epochs=4, batch=8, rate=0.02, head_rate=0.1, warmup=0.5, weight_decay=0.5, clip=0.5, patience=0),
    ],
)
def test_adamw_by_hand(plan: Schedule, steps: int) -> None:
    line = Line()
    w, b = by_hand(line, plan, steps)
    with pytest.raises(StopIteration) if steps < 20 else _nothing():
        fit(line, plan, on_step=_stop_after(steps))
    np.testing.assert_allclose(line.w.detach().numpy(), w, atol=1e-6)
    np.testing.assert_allclose(line.b.detach().numpy(), b, atol=1e-6)


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext()


def _stop_after(steps: int, error: type[BaseException] = StopIteration) -> Callable[..., None]:
    def on_step(step: int, n: int, point: LogPoint | None) -> None:
        if step == steps and steps < n:
            raise error

    return on_step


def test_rates_grow_then_fall_to_zero() -> None:
    plan = Schedule(warmup=0.3)
    assert [plan.factor(step, 10) for step in range(10)] == pytest.approx(
        [1 / 3, 2 / 3, 1, 1, 6 / 7, 5 / 7, 4 / 7, 3 / 7, 2 / 7, 1 / 7]
    )
    assert [Schedule(warmup=0.0).factor(step, 4) for step in range(4)] == [1, 0.75, 0.5, 0.25]
    assert [Schedule(warmup=1.0).factor(step, 4) for step in range(4)] == [0.25, 0.5, 0.75, 1]
    assert Schedule(warmup=0.1).factor(0, 1) == 1


def test_number_of_steps() -> None:
    assert Schedule(epochs=3, batch=16).steps(33) == 9
    assert Schedule(epochs=3, batch=16, max_steps=4).steps(33) == 4
    assert Schedule(epochs=3, batch=16, max_steps=40).steps(33) == 9
    assert Schedule(epochs=2, batch=16).steps(0) == 2


@pytest.mark.parametrize("by_length", [False, True])
def test_batches_have_every_example_once_an_epoch(by_length: bool) -> None:
    line = Line(n=203, by_length=by_length)
    found = batches(line, 8, seed=1, epoch=2)
    assert sorted(np.concatenate(found).tolist()) == list(range(203))
    assert sorted(map(len, found)) == [3, *[8] * 25]
    again = batches(line, 8, seed=1, epoch=2)
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=True))
    for seed, epoch in ((1, 3), (2, 2)):
        other = batches(line, 8, seed=seed, epoch=epoch)
        assert any(not np.array_equal(a, b) for a, b in zip(found, other, strict=True))


def test_batches_by_length_hold_like_lengths_in_random_order() -> None:
    line = Line(n=400, by_length=True)
    spans = [np.ptp(line.lengths[rows]) for rows in batches(line, 8, seed=0, epoch=0)]
    loose = [np.ptp(line.lengths[rows]) for rows in batches(Line(n=400), 8, seed=0, epoch=0)]
    assert np.mean(spans) < 6
    assert np.mean(loose) > 20
    means = [line.lengths[rows].mean() for rows in batches(line, 8, seed=0, epoch=0)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.4  # neither rising nor falling


def test_few_documents_of_like_length_do_not_meet_in_every_epoch() -> None:
    line = Line(n=32, by_length=True)
    epochs = [{frozenset(rows.tolist()) for rows in batches(line, 16, seed=0, epoch=e)} for e in range(5)]
    assert not set.intersection(*epochs)


def test_the_scale_of_fp16_goes_on_where_it_was_and_begins_anew_with_each_training() -> None:
    states: list[State] = []
    with Engine(CPU, "fp16", threads=1) as engine:
        for _ in range(2):
            train(Line(), engine, PLAN, seed=1, save=lambda own: states.append(copy.deepcopy(own)), save_every=-1)
        once = [own.scaling for own in states[:20]]
        assert {scale for scale, _ in once} == {2.0**16, 2.0**15}  # it overflows once
        assert once == [own.scaling for own in states[20:]]
        line = Line()
        train(line, engine, PLAN, seed=1, state=states[5])
        assert engine.scaling == once[-1]
        assert torch.equal(line.w, states[-1].values["w"])


def test_a_separable_problem_is_learnt_and_the_curve_tells() -> None:
    line = Line()
    told: list[tuple[int, int, LogPoint | None]] = []
    outcome = fit(
        line,
        Schedule(epochs=20, batch=8, rate=0.1, patience=0),
        on_step=lambda step, n, point: told.append((step, n, point)),
    )
    right = (line.x @ line.w + line.b).argmax(1) == line.y
    assert right.float().mean() > 0.95
    assert outcome.steps == outcome.best_step == 100
    assert not outcome.stopped_early
    assert outcome.curve[-1].loss < outcome.curve[0].loss / 3
    assert [p.step for p in outcome.curve] == list(range(5, 101, 5))
    assert [p.epoch for p in outcome.curve] == list(range(1, 21))
    assert [step for step, _, _ in told] == list(range(1, 101))
    assert {n for _, n, _ in told} == {100}
    assert [point for _, _, point in told if point] == list(outcome.curve)
    assert line.begun == list(range(20))
    assert line.modes[0]
    assert not line.modes[-1]


def test_same_bytes_for_any_number_of_threads_and_others_for_another_seed() -> None:
    found = []
    for threads, seed in ((1, 0), (2, 0), (1, 1)):
        line = Line(dropout=0.3)
        line.lengths = np.full(40, 100)  # so that a batch is cut into parts
        fit(line, PLAN, threads=threads, seed=seed)
        found.append(line.values())
    assert found[0] == found[1] != found[2]


def test_dropout_draws_from_seed_and_step() -> None:
    class Listening(Engine):
        def separate(self, *args: Any, seed: Any) -> float:
            seen.append(tuple(seed))
            return super().separate(*args, seed=seed)

    seen: list[tuple[int, ...]] = []
    for seed in (0, 1):
        with Listening(CPU, "fp32", threads=1) as engine:
            train(Line(), engine, PLAN, seed=seed)
    assert len(set(seen)) == len(seen) == 40


def test_max_steps_ends_training_and_the_rate_falls_to_it() -> None:
    line, rates = Line(), []
    plan = Schedule(epochs=4, batch=8, rate=1.0, warmup=0.0, max_steps=7, scores_per_epoch=5)
    outcome = fit(line, plan, on_step=lambda step, n, point: rates.append(point.rate if point else None))
    assert outcome.steps == 7
    assert rates == pytest.approx([i / 7 for i in range(7, 0, -1)])


@pytest.mark.parametrize("better", ["accuracy", "loss"])
def test_early_stopping_keeps_the_best_parameters(better: str) -> None:
    line, seen = Line(), []
    scores = iter([0.5, 0.8, 0.7, 0.8, 0.6, 0.99])

    def score() -> Mapping[str, float]:
        assert not line.modes[-1]  # out of training
        seen.append(line.values())
        found = next(scores)
        return {better: -found if better == "loss" else found, "other": 0.0}

    outcome = fit(line, Schedule(epochs=6, batch=8, rate=0.1, patience=3), score=score, better=better)
    assert outcome.stopped_early
    assert (outcome.steps, outcome.best_step) == (25, 10)  # three scores without a gain; an equal one is none
    assert line.values() == seen[1] != seen[-1]
    assert [p.dev["other"] for p in outcome.curve if p.dev] == [0.0] * 5


def test_without_patience_training_goes_to_its_end_and_keeps_the_best() -> None:
    line, seen = Line(), []
    scores = iter([0.9, *[0.1] * 5])

    def score() -> Mapping[str, float]:
        seen.append(line.values())
        return {"score": next(scores)}

    outcome = fit(line, Schedule(epochs=6, batch=8, rate=0.1, patience=0), score=score, better="score")
    assert (outcome.steps, outcome.best_step, outcome.stopped_early) == (30, 5, False)
    assert line.values() == seen[0]


def test_a_score_that_is_no_number_is_no_gain_and_stands_in_nobodys_way() -> None:
    line = Line()
    scores = iter([float("nan"), 0.3, 0.2, float("nan"), 0.1, 0.0])
    outcome = fit(line, Schedule(epochs=6, batch=8, rate=0.1), score=lambda: {"score": next(scores)}, better="score")
    assert (outcome.best_step, outcome.steps) == (10, 25)


LONG = Schedule(epochs=6, batch=8, rate=0.05, warmup=0.2, weight_decay=0.1, clip=0.5, patience=3, scores_per_epoch=2)


class Scored(Line):
    """A line with scores by hand, in the order of the points of the curve, whoever asks for them."""

    table: tuple[float, ...] = ()

    def score(self) -> Mapping[str, float]:
        self.asked = getattr(self, "asked", 0)
        found = self.table[self.asked]
        self.asked += 1
        return {"score": found}


def _resumed(tmp_path: Path | None, cut: int, table: tuple[float, ...], how: str) -> tuple[Any, Any, Any, Any]:
    """Return values and outcomes of a training that never stopped, and of one cut off after some steps."""
    whole = Scored(dropout=0.2)
    whole.table = table
    once = fit(whole, LONG, score=whole.score if table else None, better="score")

    first = Scored(dropout=0.2)
    first.table = table
    saved: list[State] = []
    more: dict[str, Any] = {"score": first.score if table else None, "better": "score"}
    if how == "interrupt":
        with pytest.raises(KeyboardInterrupt):
            fit(
                first,
                LONG,
                on_step=_stop_after(cut, KeyboardInterrupt),
                save=lambda s: saved.append(copy.deepcopy(s)),
                **more,
            )
    else:  # killed after a state that was saved on the way
        with pytest.raises(StopIteration):
            fit(
                first, LONG, on_step=_stop_after(cut + 1, StopIteration), save_every=-1.0,
                save=lambda s: saved.append(copy.deepcopy(s)), **more,
            )  # fmt: skip
    state = saved[-1]
    assert state.step == cut
    if tmp_path is not None:
        folder = Checkpoint(tmp_path / "run", {"seed": 0}, resume=False)
        folder.save("a", state)
        found = Checkpoint(tmp_path / "run", {"seed": 0}, resume=True).state("a")
        assert found is not None
        state = found
    second = Scored(dropout=0.2)
    with torch.no_grad():
        second.w.zero_()  # what it starts from is in the state
    second.table = table
    second.asked = getattr(first, "asked", 0)
    on = fit(second, LONG, state=state, score=second.score if table else None, better="score")
    return whole.values(), second.values(), once, on


RISING = tuple(np.linspace(0.1, 0.9, 20))
PEAK = (0.1, 0.3, 0.6, 0.5, 0.55, 0.4, *[0.9] * 10)


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("how", ["interrupt", "kill"])
@pytest.mark.parametrize("cut", [1, 7, 29, *(pytest.param(n, marks=pytest.mark.slow) for n in (4, 10))])
def test_training_goes_on_as_if_it_had_never_stopped(tmp_path: Path, cut: int, how: str, on_disk: bool) -> None:
    if how == "kill" and cut == 29:
        cut = 28  # there must be a step after it that is not the last
    expected, found, once, on = _resumed(tmp_path if on_disk else None, cut, (), how)
    assert found == expected
    assert [(p.step, p.loss, p.rate) for p in on.curve] == [(p.step, p.loss, p.rate) for p in once.curve]
    assert on.steps == once.steps == 30


@pytest.mark.parametrize("table", [RISING, PEAK])
@pytest.mark.parametrize("cut", [3, 7, 9])
def test_early_stopping_goes_on_too(tmp_path: Path, cut: int, table: tuple[float, ...]) -> None:
    expected, found, once, on = _resumed(tmp_path, cut, table, "interrupt")
    assert found == expected
    assert (on.steps, on.best_step, on.stopped_early) == (once.steps, once.best_step, once.stopped_early)
    assert on.stopped_early == (table is PEAK)
    assert [p.dev for p in on.curve] == [p.dev for p in once.curve]


def test_a_training_that_had_stopped_early_does_not_go_on() -> None:
    line = Scored()
    line.table = PEAK
    saved: list[State] = []
    once = fit(
        line, LONG, score=line.score, better="score", save=lambda s: saved.append(copy.deepcopy(s)), save_every=-1.0
    )
    assert once.stopped_early
    again = Scored()
    on = fit(again, LONG, state=saved[-1], score=lambda: {"score": 1.0}, better="score")
    assert (on.steps, on.best_step) == (once.steps, once.best_step)
    assert again.values() == line.values()


def test_an_interruption_while_dev_documents_are_scored_loses_no_score() -> None:
    whole, line = Scored(), Scored()
    whole.table = line.table = PEAK
    once = fit(whole, LONG, score=whole.score, better="score")
    saved: list[State] = []
    calls = []

    def interrupted() -> Mapping[str, float]:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return line.score()

    with pytest.raises(KeyboardInterrupt):
        fit(line, LONG, score=interrupted, better="score", save=lambda s: saved.append(copy.deepcopy(s)))
    on = fit(line, LONG, state=saved[-1], score=line.score, better="score")
    assert [(p.step, p.loss, p.rate, p.dev) for p in on.curve] == [(p.step, p.loss, p.rate, p.dev) for p in once.curve]
    assert line.values() == whole.values()


@pytest.mark.parametrize("done", [False, True])
def test_no_state_is_kept_from_the_middle_of_an_update(monkeypatch: pytest.MonkeyPatch, done: bool) -> None:
    real = torch.optim.AdamW.step
    calls: list[int] = []

    def step(self: Any, closure: Any = None) -> None:
        calls.append(1)
        if len(calls) != 4 or done:
            real(self)
        if len(calls) == 4:
            raise KeyboardInterrupt

    whole, line = Line(), Line()
    saved: list[State] = []
    once = fit(whole, PLAN)
    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    with pytest.raises(KeyboardInterrupt):
        fit(line, PLAN, save=lambda s: saved.append(copy.deepcopy(s)), save_every=-1.0)
    assert [state.step for state in saved] == [1, 2, 3]
    on = fit(line, PLAN, state=saved[-1])
    assert line.values() == whole.values()
    assert [(p.step, p.loss, p.rate) for p in on.curve] == [(p.step, p.loss, p.rate) for p in once.curve]


def test_an_update_that_overflowed_in_fp16_is_left_out() -> None:
    class Once(Engine):
        def unscale(self, parameters: Mapping[str, Tensor]) -> bool:
            self.calls = getattr(self, "calls", 0) + 1
            return self.calls != 1

    line, before = Line(), Line().values()
    seen = []
    with Once(CPU, "fp32", threads=1) as engine:
        train(line, engine, PLAN, seed=0, on_step=lambda step, n, point: seen.append(line.values()))
    assert seen[0] == before
    assert seen[1] != before


class Products(Line):
    """A joint loss for which memory is too small above some rows."""

    joint = True
    most = 4

    @property
    def unit_lengths(self) -> LongArray:
        return self.lengths

    def units(self, rows: LongArray) -> LongArray:
        self.rows = rows
        return rows

    def encode(self, units: LongArray) -> Tensor:
        if len(self.rows) > self.most:
            raise MemoryError
        return self.x[units] @ self.w + self.b

    def joint_loss(self, vectors: Tensor, units: LongArray, rows: LongArray) -> Tensor:
        return functional.cross_entropy(vectors, self.y[rows])


def test_a_joint_batch_that_does_not_fit_is_halved(caplog: pytest.LogCaptureFixture) -> None:
    line = Products()
    line.joint = True
    with caplog.at_level("WARNING", "nlpkit.finetune"):
        outcome = fit(line, PLAN)
    assert outcome.steps == 20
    assert [r.getMessage() for r in caplog.records] == [
        "no memory for a batch of 8: running it 4 at a time from here on"
    ]
    whole = Products()
    whole.joint, whole.most = True, 99
    fit(whole, PLAN)
    torch.testing.assert_close(line.w, whole.w)  # no example is left out
    line.most = 0
    with pytest.raises(OutOfMemoryError):
        fit(line, PLAN)
    assert not line.modes[-1]


def test_a_state_with_another_batch_keeps_its_own() -> None:
    saved: list[State] = []
    with pytest.raises(KeyboardInterrupt):
        fit(Line(), PLAN, on_step=_stop_after(3, KeyboardInterrupt), save=lambda s: saved.append(copy.deepcopy(s)))
    assert saved[0].batch == 8
    assert saved[0].updates == 3
    outcome = fit(Line(), Schedule(epochs=4, batch=16), state=saved[0])
    assert (outcome.batch, outcome.steps) == (8, 20)


def test_a_damaged_state_is_an_error(tmp_path: Path) -> None:
    saved: list[State] = []
    with pytest.raises(KeyboardInterrupt):
        fit(Line(), PLAN, on_step=_stop_after(3, KeyboardInterrupt), save=lambda s: saved.append(copy.deepcopy(s)))
    Checkpoint(tmp_path / "run", {}, resume=False).save("a", saved[0])
    file = tmp_path / "run.checkpoint" / "state.safetensors"
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(InputError):
        Checkpoint(tmp_path / "run", {}, resume=True).state("a")
