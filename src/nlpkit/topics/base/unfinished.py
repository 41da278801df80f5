"""Where the unfinished work of a fit is kept, and what must be the same for it to be continued."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.platform.runs.checkpoints import check_unfinished, checkpoint_path
from nlpkit.topics.base.checkpoints import scores_path
from nlpkit.topics.base.options import CheckpointOptions


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
