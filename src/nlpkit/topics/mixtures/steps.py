"""The steps of a fit, whose state can be kept between two of them and taken up again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class StepState:
    """What a fit is after a step: arrays, the state of its random numbers, and the points of its trace, each as a dictionary."""

    step: int
    arrays: Arrays
    rng: Mapping[str, Any] | None
    trace: Sequence[Mapping[str, Any]]


class Keeper(Protocol):
    """Keeps states of a fit, and knows the one to go on from."""

    def earlier(self) -> StepState | None:
        """Return the state to go on from, None to begin."""

    def after(self, step: int, last: int, state: Callable[[], StepState]) -> None:
        """Be told that a step is done, of at most `last`, and keep the state where it is time; raises KeyboardInterrupt to end the fit."""


@dataclass(frozen=True, slots=True)
class RunningState:
    """What changes from step to step in a fit.

    arrays: those that are changed in place. replaced: returns those that are not, `restore` puts them back. trace: points of the type
    `point`. rng: the generator that steps draw from; None for fits whose draws depend on the step alone, or that draw nothing.
    """

    trace: list[Any]
    point: Callable[..., Any]
    arrays: Arrays = field(default_factory=dict)
    rng: np.random.Generator | None = None
    replaced: Callable[[], Arrays] = dict
    restore: Callable[[Arrays], None] = lambda arrays: None

    def now(self, step: int) -> StepState:
        """Return the state after a step."""
        rng = None if self.rng is None else _plain(self.rng.bit_generator.state)
        return StepState(step, {**self.arrays, **self.replaced()}, rng, [asdict(point) for point in self.trace])

    def resume(self, state: StepState) -> None:
        """Become a state that was kept.

        Raises:
            ValueError, KeyError: it is not one of such a fit.
        """
        for name, values in self.arrays.items():
            if state.arrays[name].shape != values.shape or state.arrays[name].dtype != values.dtype:
                raise ValueError(f"{name} is {state.arrays[name].dtype}{state.arrays[name].shape}")
        for name, values in self.arrays.items():
            values[...] = state.arrays[name]
        self.restore(state.arrays)
        if self.rng is not None:
            assert state.rng is not None
            self.rng.bit_generator.state = dict(state.rng)
        self.trace[:] = [self.point(**point) for point in state.trace]


def resumable(last: int, state: RunningState, keeper: Keeper | None) -> Iterator[int]:
    """Yield the numbers of the steps from the first, or that after a state that was kept, to the last."""
    earlier = None if keeper is None else keeper.earlier()
    if earlier is not None:
        state.resume(earlier)
    for step in range(1 if earlier is None else earlier.step + 1, last + 1):
        yield step
        if keeper is not None:
            keeper.after(step, last, lambda step=step: state.now(step))  # type: ignore[misc]


def _plain(value: Any) -> Any:
    """Return a state of a generator with lists in place of arrays."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
