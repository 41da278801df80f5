"""Where unfinished trainings are kept: beside the run that they will be saved as, or in a temporary directory."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlpkit import reporting
from nlpkit.errors import UsageError
from nlpkit.interrupts import report_checkpoint_on_interrupt
from nlpkit.io.cost import stopwatch
from nlpkit.io.finetune_checkpoints import Checkpoint


@dataclass
class TrainingStore:
    """A checkpoint; one in a temporary directory goes with this object."""

    checkpoint: Checkpoint
    temporary: bool = False

    def __post_init__(self) -> None:
        """See to it that nothing is left of what nobody asked to keep."""
        if self.temporary:
            weakref.finalize(self, shutil.rmtree, self.checkpoint.path.parent, ignore_errors=True)

    def reporting_interrupts(self) -> AbstractContextManager[None]:
        """Return a context in which an interruption says how to continue, where that is possible."""
        if self.temporary:
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
        folder = Path(tempfile.mkdtemp(prefix="nlpkit-"))
        return TrainingStore(Checkpoint(folder / "run", identity, resume=False), temporary=True)
    checkpoint = Checkpoint(Path(output), identity, resume=resume, force=force)
    if resume and not checkpoint.exists:
        reporting.warn(f"there is no checkpoint {checkpoint.path}: starting from the beginning", always=True)
    return TrainingStore(checkpoint)


def trained_once(
    store: TrainingStore, job: Any, key: str, name: str, train: Callable[[Any, Checkpoint, Path], dict[str, Any]]
) -> dict[str, Any]:
    """Return the facts of a training, of the checkpoint where it is done but for its run; its model lies in the store.

    Args:
        job: with the device, precision, execution and seconds of the training; key, name: of it in the checkpoint and in messages.
        train: trains with an engine and writes the model into a folder.
    """
    checkpoint = store.checkpoint
    done = checkpoint.finished(key) if checkpoint.model.exists() else None
    if done is not None:
        reporting.note(f"{name}: taken from the checkpoint")
        return dict(done[0])
    from nlpkit.finetune.engine import Engine

    with (
        Engine(job.device, job.precision, threads=job.execution.n_threads()) as engine,
        store.reporting_interrupts(),
        stopwatch(job.seconds, "train"),
    ):
        folder = checkpoint.path / "model.part"
        facts = train(engine, checkpoint, folder)
        checkpoint.finish(key, facts, {})
        folder.rename(checkpoint.model)
    return facts
