"""Protection of inputs: no output replaces a file that the command reads, under any name, with any option.

`protected(names)` is set once around a command; `check_target` asks `input_at` before any file or directory is written.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path

from nlpkit.errors import InputError, UsageError
from nlpkit.io.sources import STDIN, resolve

_Identity = tuple[int, int]  # device and inode: the same for all names of a file


class _Inputs:
    """The files behind the names of inputs; looked for once, and only when an output exists already."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    @cached_property
    def files(self) -> dict[_Identity, str]:
        """Every file that is read, by its identity, as it was named."""
        files: dict[_Identity, str] = {}
        for name in self.names:
            for file in _files_of(name):
                identity = _identity(file)
                if identity is not None:
                    files.setdefault(identity, str(file))
        if STDIN in self.names:
            files.update(_standard_input())
        return files

    @cached_property
    def real(self) -> dict[str, str]:
        """The real path of every input and of every file that is read, and how it was named."""
        named = [name for name in self.names if name != STDIN and Path(name).exists()]
        return {os.path.realpath(name): str(name) for name in (*self.files.values(), *named)}


_inputs: ContextVar[_Inputs | None] = ContextVar("inputs", default=None)


@contextmanager
def protected(names: Iterable[str]) -> Iterator[None]:
    """Refuse to write the inputs behind these names while the block runs: files, directories, globs, `-`."""
    token = _inputs.set(_Inputs(tuple(dict.fromkeys(names))))
    try:
        yield
    finally:
        _inputs.reset(token)


def input_at(path: Path, *, directory: bool = False) -> str | None:
    """Return the name of an input that would be lost if `path` were written, None if there is none.

    A file is an input under any of its names (links, hard links); a directory is one when an input lies in it.
    """
    inputs = _inputs.get()
    if inputs is None or not os.path.lexists(path):
        return None
    if not directory:
        identity = _identity(path)
        return None if identity is None else inputs.files.get(identity)
    place = os.path.realpath(path)
    return next((name for real, name in inputs.real.items() if Path(real).is_relative_to(place)), None)


def _identity(path: Path) -> _Identity | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _standard_input() -> dict[_Identity, str]:
    try:
        status = os.fstat(0)
    except OSError:  # closed
        return {}
    return {(status.st_dev, status.st_ino): "standard input"}


def _files_of(name: str) -> list[Path]:
    """Return the files that are read when an input is called `name`; none for what is not there."""
    path = Path(name)
    if path.is_dir():
        manifest = path / "manifest.json"
        if manifest.is_file():
            return [manifest, *(path / file for file in _listed(manifest))]
    elif path.exists():
        return [path]
    elif not glob.has_magic(name):
        return []
    try:
        return [Path(source.path) for source in resolve([name])]
    except (InputError, UsageError):  # no corpus: a model, whose files nobody lists
        return [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else []


def _listed(manifest: Path) -> list[str]:
    try:
        return list(json.loads(manifest.read_text(encoding="utf-8"))["outputs"])
    except (OSError, ValueError, KeyError, TypeError):
        return []
