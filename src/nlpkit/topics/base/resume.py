"""The resumption of topic model fits: checkpoints of unfinished work beside the run.

Parts, in this order:
- Checkpoints of unfinished fits of topic models, beside their runs: a state between two steps, the scores of numbers of
  topics.
- Where the unfinished work of a fit is kept, and what must be the same for it to be continued.
- A fit of steps with a checkpoint where its unfinished work is kept: written at intervals, and when the process is to
  end.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.errors import InputError
from nlpkit.platform import reporting, wording
from nlpkit.platform.interrupts import Stop, between_steps, report_checkpoint_on_interrupt
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.atomic import naming
from nlpkit.platform.runs.unfinished import check_unfinished, checkpoint_path, plain, replacing
from nlpkit.topics.base.options import CheckpointOptions
from nlpkit.topics.base.scores import Keeper, Scores, StepState

_FOLLOWS = {  # from other options, where they are not given
    "burn_in": " (a half of the sweeps, unless `burn_in` says it)",
    "optimize_interval": " (`optimize_interval=0` keeps the priors fixed, the default of earlier versions)",
    "optimize_burn_in": " (five times `optimize_interval`, unless `optimize_burn_in` says it)",
}


_UNREADABLE = (  # what zipfile, NumPy and json say of files that are damaged or are something else
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, RuntimeError, zlib.error, zipfile.BadZipFile
)  # fmt: skip


def scores_path(target: Path) -> Path:
    """Return where the scores of a comparison of numbers of topics lie meanwhile: beside the run."""
    return target.with_name(f"{target.name}.checkpoint.k.jsonl")


def write_steps(path: Path, state: StepState, identity: Mapping[str, Any]) -> None:
    """Write a state; the file before it stays until the new one is whole. identity: what must be the same to go on."""
    trace = [{name: _number(value) for name, value in point.items()} for point in state.trace]
    facts = to_json({"identity": dict(identity), "step": state.step, "rng": state.rng, "steps": trace})
    with replacing(path) as part, part.open("wb") as file:
        np.savez(file, **state.arrays, facts=np.frombuffer(facts.encode(), np.uint8))  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())


def read_steps(path: Path, identity: Mapping[str, Any], *, what: str = "fit") -> StepState:
    """Return the state of a checkpoint. what: is fitted, in messages.

    Raises:
        InputError: the file is damaged, is no checkpoint, or is of another corpus or other options.
    """
    mine = plain(identity)
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as whole:
            arrays = {name.removesuffix(".npy"): _array(whole, name) for name in whole.namelist()}
        facts = json.loads(arrays.pop("facts").tobytes())
        theirs = dict(facts["identity"])
        changed = next((key for key in mine if theirs.get(key) != mine[key]), None)
        if changed is None:
            trace = [{name: math.nan if value is None else value for name, value in p.items()} for p in facts["steps"]]
            return StepState(int(facts["step"]), arrays, facts["rng"], trace)
    except _UNREADABLE as error:
        raise InputError(
            f"checkpoint {path} is damaged, or not the checkpoint of a {what} ({error}); `force` without "
            "`resume` deletes it"
        ) from None
    raise InputError(
        f"checkpoint {path} belongs to another {what}: {changed.replace('_', ' ')} {theirs.get(changed)}, "
        f"now {mine[changed]}{_FOLLOWS.get(changed, '')}; give the same input and options, or use `force` "
        "without `resume`, which deletes it"
    )


def _number(value: Any) -> Any:
    """Return a number of a trace as JSON holds it."""
    return value.item() if isinstance(value, np.generic) else value


def _array(whole: zipfile.ZipFile, name: str) -> np.ndarray:
    with whole.open(name) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def read_scores(path: Path, identity: Mapping[str, Any]) -> dict[tuple[int, int], Scores]:
    """Return the scores by (K, seed) that an earlier comparison left; a line it was killed in does not count.

    Args:
        path: where; none are known where nothing is there.
        identity: what must be the same, as `append_score` wrote it.

    Raises:
        InputError: the file is something else, or of another corpus or other options.
    """
    if not path.exists():
        return {}
    mine = plain(identity)
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        head = json.loads(lines[0])["identity"]
    except (ValueError, KeyError, IndexError, TypeError):
        raise InputError(
            f"{path} does not hold the scores of a comparison; `force` without `resume` deletes it"
        ) from None
    changed = [key for key in mine if head.get(key) != mine[key]]
    if changed:
        raise InputError(
            f"{path} was made with another {changed[0].replace('_', ' ')} ({head.get(changed[0])}, now "
            f"{mine[changed[0]]}); give the same options, or use `force` without `resume`, which deletes it"
        )
    known = {}
    for line in lines[1:]:
        try:
            row = json.loads(line)
            known[row["k"], row["seed"]] = Scores.from_dict(row["scores"])
        except (ValueError, KeyError):  # killed in the middle of a line, or scores of before that lack a number
            continue
    return known


def append_score(path: Path, identity: Mapping[str, Any], n_topics: int, seed: int, scores: Scores) -> None:
    """Add the scores of one fit to a file, which begins with what must be the same for it to be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path), path.open("a", encoding="utf-8", newline="\n") as file:
        if not file.tell():
            file.write(to_json({"identity": dict(identity)}) + "\n")
        file.write(to_json({"k": n_topics, "seed": seed, "scores": scores.as_dict()}) + "\n")


# ------------------------------------------------------------------------------------------------------------------------
# Where the unfinished work of a fit is kept, and what must be the same for it to be continued.


@dataclass(frozen=True, slots=True)
class UnfinishedWork:
    """Where the chain and the scores of numbers of topics are kept until a run is written: beside it. Nowhere without a run."""

    run: Path | None
    options: CheckpointOptions

    @property
    def chain(self) -> Path | None:
        """The file of the chain."""
        return None if self.run is None else checkpoint_path(self.run)

    @property
    def scores(self) -> Path | None:
        """The file of the scores by which a number of topics is chosen."""
        return None if self.run is None else scores_path(self.run)

    def files(self, *, chooses: bool) -> list[Path]:
        """Return the files there can be. chooses: whether a number of topics is chosen."""
        return [path for path in (self.chain, self.scores if chooses else None) if path is not None]

    def check(self, *, chooses: bool, force: bool) -> None:
        """Refuse to begin anew beside what an unfinished fit has left.

        Raises:
            OutputExistsError: there is something, and neither to be continued nor to be dropped.
        """
        for path in self.files(chooses=chooses):
            check_unfinished(path, resume=self.options.resume, force=force)


def digest(*values: Any, without: str = "") -> str:
    """Return 64 bits of a hash, hex, of arrays, texts and numbers, and of all that is in lists and records but their field `without`."""
    state = hashlib.blake2b(digest_size=8)

    def add(value: Any) -> None:
        if isinstance(value, np.ndarray):
            state.update(f"{value.dtype}{value.shape}".encode())
            state.update(value.tobytes())
        elif is_dataclass(value):
            for one in fields(value):
                if one.name != without:
                    add(getattr(value, one.name))
        elif isinstance(value, list | tuple):
            state.update(f"{len(value)}[".encode())
            for part in value:
                add(part)
        else:
            state.update(f"{value!r};".encode())

    add(values)
    return state.hexdigest()


# ------------------------------------------------------------------------------------------------------------------------
# A fit of steps with a checkpoint where its unfinished work is kept: written at intervals, and when the process is to end.

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
