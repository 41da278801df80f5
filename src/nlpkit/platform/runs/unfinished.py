"""Checkpoints of unfinished fits, beside their runs: a state between two steps, the scores of numbers of topics."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nlpkit.errors import InputError, OutputExistsError
from nlpkit.platform.plain import to_json
from nlpkit.platform.runs.atomic import check_not_input, naming


def checkpoint_path(target: Path) -> Path:
    """Return where the checkpoint of a run directory lies: beside it."""
    return target.with_name(f"{target.name}.checkpoint.npz")


def check_unfinished(path: Path, *, resume: bool, force: bool) -> None:
    """Refuse to start a new fit beside the checkpoint of an unfinished run.

    Raises:
        OutputExistsError: there is one, and neither resuming nor dropping it was requested; UsageError: it is an input.
    """
    check_not_input(path, directory=path.is_dir())
    if path.exists() and not (resume or force):
        raise OutputExistsError(
            f"{path} belongs to a run that was not finished; `resume` continues it, `force` deletes it"
        )


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which then takes the place of `path`: what is there stays until the new file is whole."""
    part = path.with_name(f"{path.name}.part")
    try:
        with naming(path):
            yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def plain(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a checkpoint is of as its file holds it: lists for tuples, texts for paths."""
    return dict(json.loads(to_json(dict(identity))))


def damaged(path: Path, error: object) -> InputError:
    """Return the error for a checkpoint that cannot be read."""
    return InputError(f"checkpoint {path} is damaged ({error}); `force` without `resume` deletes it")
