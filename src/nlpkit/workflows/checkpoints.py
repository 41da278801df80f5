"""Where unfinished trainings are kept: beside the run that they will be saved as, or in a temporary directory."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlpkit import reporting
from nlpkit.errors import UsageError
from nlpkit.interrupts import report_checkpoint_on_interrupt
from nlpkit.io.finetune_checkpoints import Checkpoint


@dataclass(slots=True)
class TrainingStore:
    """A checkpoint, and the temporary directory that it lies in, if it does: it goes with this object."""

    checkpoint: Checkpoint
    temporary: tempfile.TemporaryDirectory[str] | None = None

    def reporting_interrupts(self) -> AbstractContextManager[None]:
        """Return a context in which an interruption says how to continue, where that is possible."""
        if self.temporary is not None:
            return nullcontext()
        return report_checkpoint_on_interrupt("training", self.checkpoint.path)


def open_store(output: str | Path | None, identity: Mapping[str, Any], *, resume: bool, force: bool) -> TrainingStore:
    """Return where trainings are kept until their run is saved.

    Args:
        output: the run; None: nothing is kept. identity: what trainings must have in common to be continued.

    Raises:
        UsageError: `resume` without an output. OutputExistsError, InputError: see `Checkpoint`.
    """
    if output is None:
        if resume:
            raise UsageError("`resume` continues the training of an `output`; give it", parameter="resume")
        temporary = tempfile.TemporaryDirectory(prefix="nlpkit-")
        return TrainingStore(Checkpoint(Path(temporary.name) / "run", identity, resume=False), temporary)
    checkpoint = Checkpoint(Path(output), identity, resume=resume, force=force)
    if resume and not checkpoint.found:
        reporting.warn(f"there is no checkpoint {checkpoint.path}: starting anew", always=True)
    return TrainingStore(checkpoint)
