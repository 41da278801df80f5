"""Ctrl-C while a model is trained: held back to the end of the step, so that a whole state is there to be saved, and told."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nlpkit.cli import console

if TYPE_CHECKING:
    from nlpkit.finetune.train import State
    from nlpkit.io.finetune_checkpoints import Checkpoint


class Stop:
    """What tells a training that it is to stop. `step` is called after each step, with its number and that of all."""

    def __init__(self) -> None:
        """Nothing is pressed, and no training under way."""
        self.pressed = False
        self.training = False

    def step(self, number: int, of: int) -> None:
        """Raise KeyboardInterrupt where Ctrl-C was pressed since the step before."""
        self.training = number < of
        if self.pressed:
            self.pressed = self.training = False
            raise KeyboardInterrupt

    def press(self, *_: Any) -> None:
        """Remember Ctrl-C for the end of the step; raise KeyboardInterrupt the second time, and where nothing is trained."""
        now = self.pressed or not self.training
        self.pressed = True  # for the next step, too: what is raised inside of a __del__ is lost
        if now:
            raise KeyboardInterrupt


@contextmanager
def between_steps() -> Iterator[Stop]:
    """Let Ctrl-C end a training between two steps; where a signal cannot be caught or is handled already, nothing is changed."""
    stop = Stop()
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or usual is not signal.default_int_handler:
        yield stop
        return
    signal.signal(signal.SIGINT, stop.press)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, usual)
    if stop.pressed:
        raise KeyboardInterrupt


def state_to_go_on_from(checkpoint: Checkpoint, key: str, title: str) -> State | None:
    """Return the state of a training that was cut off, and say so; None when there is none."""
    state = checkpoint.state(key)
    if state is not None:
        console.note(f"{title}: going on after step {state.step:,}")
    return state
