"""A fit of steps with a checkpoint where its unfinished work is kept: written at intervals, and when the process is to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlpkit.errors import InputError
from nlpkit.platform import reporting, wording
from nlpkit.platform.interrupts import Stop, between_steps, report_checkpoint_on_interrupt
from nlpkit.topics.base.checkpoints import read_steps, write_steps
from nlpkit.topics.base.scores import Keeper, StepState
from nlpkit.topics.base.unfinished import UnfinishedWork

SAVE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class KindOfFit:
    """What a fit and its steps are called; keeps_last: whether a state after the last step is kept, too, for a longer fit."""

    name: str = "fit"
    step: str = "step"
    keeps_last: bool = False


class _FileKeeper:
    """Writes states to a file, and ends a fit between two steps."""

    def __init__(
        self, path: Path, identity: Mapping[str, Any], every: int | None, state: StepState | None, kind: KindOfFit
    ) -> None:
        """Take where states go, what they are of, after how many steps one is due, and the one to go on from."""
        self.path, self.identity, self.every, self.state, self.kind = path, identity, every, state, kind
        self.saved, self.pause = time.monotonic(), SAVE_SECONDS
        self.stop = Stop()

    def earlier(self) -> StepState | None:
        """Return the state to go on from; the steps begin, and a signal in the first waits for its end."""
        self.stop.training = True
        if self.state is not None:
            reporting.note(f"continuing from {self.path} after {wording.counted(self.state.step, self.kind.step)}")
        return self.state

    def after(self, step: int, last: int, state: Callable[[], StepState]) -> None:
        """Write the state where one is due, and where the process is to end."""
        if step == last and not self.kind.keeps_last:
            self.stop.step(step, last)
            return
        due = (
            time.monotonic() > self.saved + self.pause if self.every is None else self.every and step % self.every == 0
        )
        if due or self.stop.pressed is not None:
            begin = time.monotonic()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_steps(self.path, state(), self.identity)
            self.saved = time.monotonic()
            self.pause = max(SAVE_SECONDS, 20 * (self.saved - begin))  # a twentieth of the time at most
        self.stop.step(step, last)


@contextmanager
def keeping(
    unfinished: UnfinishedWork,
    identity: Mapping[str, Any],
    kind: KindOfFit = KindOfFit(),
    *,
    check: Callable[[Path, StepState], None] = lambda path, state: None,
) -> Iterator[Keeper | None]:
    """Return a context in which a fit keeps its states; nothing is kept where no run is to be written.

    Args:
        identity: what must be the same for a fit to be continued; check: raises InputError where a state cannot be, all the same.

    Raises:
        InputError: there is a checkpoint to go on from, and it is damaged, or of another fit.
    """
    path, resume, state = unfinished.chain, unfinished.options.resume, None
    if path is None:
        yield None
        return
    if resume and path.exists():
        state = read_steps(path, identity, what=kind.name)
        check(path, state)
    elif resume and not (unfinished.scores and unfinished.scores.exists()):
        reporting.warn(f"there is no checkpoint {path}: starting from the beginning", always=True)
    elif not resume:
        path.unlink(missing_ok=True)  # it was to be dropped
    keeper = _FileKeeper(path, identity, unfinished.options.checkpoint_every, state, kind)
    with report_checkpoint_on_interrupt(kind.name, path), between_steps() as keeper.stop:
        try:
            yield keeper
        except (LookupError, ValueError) as error:
            if state is None:
                raise
            raise InputError(
                f"checkpoint {path} is not the checkpoint of a {kind.name} ({error}); `force` without `resume` "
                "deletes it"
            ) from None
