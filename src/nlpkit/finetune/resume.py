"""The resumption of fine-tuning: checkpoints of unfinished trainings, and where they are kept.

Parts, in this order:
- Checkpoints of fine-tuning, beside an unfinished run: completed trainings, and the state of the current one.
- Where unfinished trainings are kept: beside the run that they will be saved as, or in a temporary directory.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.training.train import LogPoint, Outcome, State
from nlpkit.platform import reporting
from nlpkit.platform.interrupts import report_checkpoint_on_interrupt
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.atomic import naming
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.unfinished import check_unfinished, damaged, plain, replacing

IDENTITY, STATE = "identity.json", "state.safetensors"
OPTIONS = {
    "rate": "`lr`", "head_rate": "`head_lr`", "batch": "`batch_size`", "class_balance": "`class_weight=balanced`", "epochs": "`epochs`",
    "max_steps": "`max_steps`", "warmup": "`warmup`", "weight_decay": "`weight_decay`", "patience": "`patience`",
    "max_tokens": "`max_tokens`", "base": "`base`", "methods": "`method`", "method": "`method`", "shots": "`shots`",
    "totals": "`totals`", "protocol": "`protocol`", "quantize": "`quantize`", "double_quant": "`double_quant`",
}  # fmt: skip
_PARTS = ("values", "moments", "best")


class Checkpoint:
    """A folder `<run>.checkpoint` beside a run. It is removed when the run is written.

    model: where the model of the run lies meanwhile.
    """

    def __init__(self, target: Path, identity: Mapping[str, Any], *, resume: bool, force: bool = False) -> None:
        """Open the folder; with `force` and without `resume` what lies there is removed.

        Raises:
            OutputExistsError: there is a checkpoint, and neither resuming nor removing it was requested.
            InputError: it is of other documents or options, or damaged.
        """
        self.path = target.with_name(f"{target.name}.checkpoint")
        self.model = self.path / "model"
        mine = plain(identity)
        check_unfinished(self.path, resume=resume, force=force)
        if self.path.exists() and not resume:
            self._clear()
        self.exists = self.path.exists()
        if self.exists:
            theirs = _read(self.path / IDENTITY)
            changed = _changed(theirs, mine)
            if changed is not None:
                raise InputError(
                    f"checkpoint {self.path} is of another training: {_change(*changed)}{_because(changed[0])}; "
                    "give the same input and options, or use `force` without `resume`, which deletes it"
                )
        self._identity = mine

    def finished(self, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return facts and arrays of a training that is done, None when it is not."""
        facts = self.path / f"{key}.json"
        if not self.exists or not facts.exists():
            return None
        try:
            with (self.path / f"{key}.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return _read(facts), {name: arrays[name] for name in arrays.files}
        except Exception as error:  # of OSError, ValueError, EOFError, BadZipFile, zlib.error
            raise damaged(self.path, error) from None

    def finish(self, key: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Save the result of a training; the state of the current one is removed."""
        self.begin()
        with naming(self.path):
            np.savez(self.path / f"{key}.npz", **arrays)  # type: ignore[arg-type]
            _write(self.path / f"{key}.json", facts)
        (self.path / STATE).unlink(missing_ok=True)

    def save(self, key: str, state: State) -> None:
        """Save the state of the current training in one file; the previous one stays until this one is complete."""
        from safetensors.torch import save_file

        self.begin()
        tensors = {
            f"{part}/{name}": tensor.detach().clone().contiguous().cpu()
            for part in _PARTS
            for name, tensor in getattr(state, part).items()
        }
        facts = {k: v for k, v in asdict_plain(state).items() if k not in _PARTS}
        with replacing(self.path / STATE) as part:
            save_file(tensors, part, metadata={"state": json.dumps({"key": key, **facts}, default=float)})

    def state(self, key: str) -> State | None:
        """Return the state of the current training, None when there is none."""
        if not self.exists or not (self.path / STATE).exists():
            return None
        from safetensors import safe_open

        try:
            with safe_open(self.path / STATE, framework="pt") as file:
                facts = json.loads(file.metadata()["state"])
                if facts.pop("key") != key:
                    return None
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            curve = [LogPoint(**point) for point in facts.pop("curve")]
            parts = {p: {n[len(p) + 1 :]: t for n, t in tensors.items() if n.startswith(f"{p}/")} for p in _PARTS}
            facts["scaling"] = tuple(facts["scaling"])
            first = facts.pop("first")
            if first is not None:
                facts["first"] = Outcome(**{**first, "curve": tuple(LogPoint(**point) for point in first["curve"])})
            return State(**facts, curve=curve, **parts)  # type: ignore[arg-type]
        except Exception as error:  # safetensors has an error of its own
            raise damaged(self.path, error) from None

    def remove(self) -> None:
        """Remove the folder: the run is written."""
        if self.path.exists():
            shutil.rmtree(self.path, ignore_errors=True)

    def begin(self) -> None:
        """Create the folder, and write the identity of its run into it."""
        with naming(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            self.exists = True
            if not (self.path / IDENTITY).exists():
                _write(self.path / IDENTITY, self._identity)

    def _clear(self) -> None:
        if not (self.path / IDENTITY).exists() and any(self.path.iterdir()):
            raise InputError(f"{self.path} is not a checkpoint of nlpkit, but it has the same name; move it away")
        shutil.rmtree(self.path)


def asdict_plain(state: State) -> dict[str, Any]:
    """Return the fields of a state without copying its tensors."""
    fields = {name: getattr(state, name) for name in State.__dataclass_fields__}
    fields["curve"] = [asdict(point) for point in state.curve]
    fields["first"] = None if state.first is None else asdict(state.first)
    return fields


def _changed(was: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, Any, Any] | None:
    """Return the name of the first value that is another, what it was and what it is; of a table the value in it."""
    for name, value in now.items():
        before = was.get(name)
        if before != value:
            inner = _changed(before, value) if isinstance(before, dict) and isinstance(value, dict) else None
            return inner or (name, before, value)
    return None


def _change(name: str, was: Any, now: Any) -> str:
    """Return a change as the user knows it."""
    if name == "inputs":
        return "the input files have changed"
    before, after = ("not given" if value is None else value for value in (was, now))
    return f"{OPTIONS.get(name, name.replace('_', ' '))} was {before}, now {after}"


def _because(name: str) -> str:
    return (
        ", and every step learns at a rate that depends on how many there are"
        if name in ("epochs", "max_steps")
        else ""
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise damaged(path.parent, error) from None
    return value if isinstance(value, dict) else {}


def _write(path: Path, value: Mapping[str, Any]) -> None:
    with replacing(path) as part:
        part.write_text(to_json(dict(value), indent=2) + "\n", encoding="utf-8", newline="\n")


# ------------------------------------------------------------------------------------------------------------------------
# Where unfinished trainings are kept: beside the run that they will be saved as, or in a temporary directory.


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
    from nlpkit.finetune.training.engine import Engine

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
