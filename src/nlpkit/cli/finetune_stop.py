"""Trainings that were cut off, gone on with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlpkit import reporting

if TYPE_CHECKING:
    from nlpkit.finetune.train import State
    from nlpkit.io.finetune_checkpoints import Checkpoint


def state_to_go_on_from(checkpoint: Checkpoint, key: str, title: str) -> State | None:
    """Return the state of a training that was cut off, and say so; None when there is none."""
    state = checkpoint.state(key)
    if state is not None:
        reporting.note(f"{title}: going on after step {state.step:,}")
    return state
