"""Keepers of the states of chains, for tests."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from nlpkit.topics.base.scores import StepState


class Saved:
    """The states after every so many sweeps, of a fit that begins with one."""

    def __init__(self, every: int = 0, begin: StepState | None = None) -> None:
        self.every, self.begin, self.states = every, begin, list[StepState]()

    def earlier(self) -> StepState | None:
        return self.begin

    def after(self, step: int, last: int, state: Callable[[], StepState]) -> None:
        if self.every and step % self.every == 0:
            self.states.append(deepcopy(state()))
