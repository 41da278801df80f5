"""Files and directories that appear whole or not at all: written beside the target, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nlpkit.errors import InputError, OutputExistsError, UsageError

MANIFEST = "manifest.json"


def check_target(path: Path, *, force: bool, directory: bool = False) -> None:
    """Refuse a target that cannot or must not be written, before any work is done.

    Raises:
        OutputExistsError: it exists and `force` is not set.
        UsageError: a directory is given where a file goes or the other way round, or `force` would replace a directory
            that is not a run directory.
        InputError: its parent directory does not exist or cannot be written.
    """
    parent = path.parent
    if not parent.is_dir():
        raise InputError(
            f"cannot write {path}: the directory {parent} does not exist; create it with: mkdir -p {parent}"
        )
    if not os.access(parent, os.W_OK):
        raise InputError(f"cannot write {path}: no permission to write in {parent}")
    if not path.exists():
        return
    if directory != path.is_dir():
        wanted, found = ("directory", "file") if directory else ("file", "directory")
        raise UsageError(f"output {path} is a {found}, a {wanted} was needed; give another -o")
    if not force:
        raise OutputExistsError(f"output {path} exists; give --force to replace it, or another -o")
    if directory and any(path.iterdir()) and not (path / MANIFEST).exists():
        raise UsageError(f"output {path} is a directory that nlpkit did not write (no {MANIFEST}); give another -o")


@contextmanager
def atomic_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a path beside `path` to write to; on success it is renamed to `path`, on any error it is removed."""
    check_target(path, force=force)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        _sync(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield an empty directory beside `path` to fill; on success it takes the place of `path`, on any error it is removed."""
    check_target(path, force=force, directory=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    try:
        yield part
        for file in sorted(part.rglob("*")):
            if file.is_file():
                _sync(file)
        if path.exists():
            path.rename(old)
        part.rename(path)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if old.exists() and not path.exists():
            old.rename(path)
        shutil.rmtree(old, ignore_errors=True)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
