"""Safe writing: a file or directory appears whole or not at all, and no output replaces an input.

`protected(names)` is set once around a command; `check_target` asks `input_at` before any file or directory is written.

Parts, in this order:
- Protection of inputs: no output replaces a file that the command reads, under any name, with any option.
- Files and directories that appear whole or not at all: written beside the target, then renamed.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import re
import shutil
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile

from nlpkit.errors import InputError, OutputExistsError, UsageError
from nlpkit.platform.documents.sources import STDIN, resolve
from nlpkit.platform.plain import shell_line

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


# ------------------------------------------------------------------------------------------------------------------------
# Files and directories that appear whole or not at all: written beside the target, then renamed.

MANIFEST = "manifest.json"
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS)
_NO_LINKS = (
    errno.EPERM,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.ENOSYS,
    errno.EMLINK,
)  # file systems without hard links
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])( *\..*)?", re.IGNORECASE)  # not files, with any suffix
_OF_WINDOWS = '<>:"|?*'  # signs that no name of a file has there
LITTER = (".DS_Store", "Thumbs.db")  # what file managers leave in any directory


def check_target(path: Path, *, force: bool, directory: bool = False) -> None:
    """Refuse a target that cannot or must not be written, before any work is done.

    Raises:
        OutputExistsError: it exists and `force` is not set.
        UsageError: it is an input (see `protected`), a directory is given where a file goes or the other way round, a
            device or pipe, or `force` would replace a directory that is not a run directory or holds files that nlpkit
            did not write.
        InputError: its parent directory does not exist or cannot be written.
    """
    parent = path.parent
    if os.name == "nt":
        check_windows_name(path.name)
    try:
        str(path).encode()
    except UnicodeEncodeError:  # Arrow takes no other name, and no manifest could have it
        raise UsageError(f"cannot write {path}: the name is not valid UTF-8; give another `output`") from None
    if not parent.is_dir():
        if parent.exists():
            raise InputError(f"cannot write {path}: {parent} is a file, not a directory; give another `output`")
        raise InputError(
            f"cannot write {path}: the directory {parent} does not exist; create it with: {shell_line('mkdir', '-p', parent)}"
        )
    try:
        TemporaryFile(dir=parent).close()  # permissions alone do not tell, as of /proc
    except OSError as error:
        raise InputError(f"cannot write {path}: no file can be created in {parent} ({error.strerror})") from None
    if not path.exists():
        return
    if path.is_dir() != directory:
        wanted, actual = ("directory", "file") if directory else ("file", "directory")
        raise UsageError(f"output {path} is a {actual}, but a {wanted} is needed; give another `output`")
    if not directory and not path.is_file():
        raise UsageError(f"output {path} is a device or pipe; give the name of a file, or - for stdout")
    check_not_input(path, directory=directory)
    if not force:
        raise OutputExistsError(f"output {path} exists; add `force` to replace it, or name another `output`")
    if directory:
        _check_replaceable(path)


def check_windows_name(name: str) -> None:
    """Raise UsageError for a name that Windows gives to a device, cuts or refuses: it would not be that of a file."""
    if _DEVICE.fullmatch(name):
        raise UsageError(f"cannot write {name}: Windows keeps this name for a device; give another `output`")
    wrong = next(
        (sign for sign in name if sign in _OF_WINDOWS or sign < " "), name[-1:] if name.endswith((" ", ".")) else ""
    )
    if wrong:
        raise UsageError(
            f"cannot write {name}: Windows takes no name with {wrong!r} at this place; give another `output`"
        )


def check_not_input(path: Path, *, directory: bool) -> None:
    """Raise UsageError when writing `path` would replace an input, with `force` too."""
    name = input_at(path, directory=directory)
    if name is None:
        return
    if name == str(path):
        what = "is an input as well"
    elif directory:
        what = f"holds the input {name}"
    else:
        what = f"is the input {name} under another name"
    raise UsageError(f"output {path} {what}, and inputs are never overwritten; name another `output`")


def _check_replaceable(path: Path) -> None:
    """Raise UsageError when a directory holds anything that the manifest of a run does not list: `force` would delete it."""
    present = {f.relative_to(path).as_posix() for f in path.rglob("*") if not f.is_dir() and f.name not in LITTER}
    if not present:
        return
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        ours = {MANIFEST, *manifest["outputs"]} if "nlpkit_version" in manifest else set()
    except (OSError, ValueError, KeyError, TypeError):
        ours = set()
    if not ours:
        raise UsageError(
            f"output {path} is a directory that nlpkit did not write (no {MANIFEST} of a run); give another `output`"
        )
    others = sorted(present - ours)
    if others:
        rest = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise UsageError(
            f"output {path} holds {others[0]}{rest}, which nlpkit did not write and `force` would delete; "
            "move it, or give another `output`"
        )


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name what is written where a disk is full, a file too large or a folder read-only: the libraries that write do not.

    Raises:
        InputError: it cannot be written.
    """
    try:
        yield
    except Exception as error:
        number = getattr(error, "errno", None)
        if isinstance(error, shutil.Error):
            number = next((code for code in _FULL if os.strerror(code) in str(error)), None)
        os_error = re.search(r"\(os error (\d+)\)", str(error))  # of libraries written in Rust
        number = int(os_error[1]) if os_error is not None else number
        if number not in _FULL:
            raise
        raise InputError(f"cannot write {path}: {os.strerror(number)}") from None


@contextmanager
def atomic_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a path beside `path` to write to; on success it is renamed to `path`, on any error it is removed."""
    check_target(path, force=force)
    _remove_leftovers(path)
    part = _beside(path, "part")
    try:
        with naming(path):
            yield part
            _sync(part)
            if force:
                with _unlocked(path):
                    part.replace(path)
            else:
                _put(part, path)
    finally:
        part.unlink(missing_ok=True)


def _put(part: Path, path: Path) -> None:
    """Give a file its name, unless another program has made one of that name by now; raises OutputExistsError then."""
    try:
        path.hardlink_to(part)
    except FileExistsError:
        raise OutputExistsError(
            f"output {path} was written by another program in the meantime; add `force` to replace it, or name "
            "another `output`"
        ) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        check_target(path, force=False)
        part.replace(path)


@contextmanager
def _unlocked(path: Path) -> Iterator[None]:
    """Raise InputError where a target is not let go: on Windows nothing is replaced that a program has open."""
    try:
        yield
    except PermissionError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}; if another program has it open, close it there, or give another `output`"
        ) from None


@contextmanager
def atomic_directory(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield an empty directory beside `path` to fill; on success it takes the place of `path`, on any error it is removed."""
    check_target(path, force=force, directory=True)
    _remove_leftovers(path)
    part, old = _beside(path, "part"), _beside(path, "old")
    shutil.rmtree(part, ignore_errors=True)
    try:
        with naming(path):
            part.mkdir()
            yield part
            for file in sorted(part.rglob("*")):
                if file.is_file():
                    _sync(file)
            with _unlocked(path):
                if path.exists():
                    path.rename(old)
                part.rename(path)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if old.exists() and not path.exists():
            old.rename(path)
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def scratch_beside(part: Path) -> Iterator[Path]:
    """Yield an empty directory beside the part of an atomic file, for the temporary files of a library.

    A process that is killed leaves both, and the next one that writes the target removes both.
    """
    scratch = part.with_suffix(".scratch")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}@{socket.gethostname()}.{suffix}")


def _remove_leftovers(path: Path) -> None:
    """Remove what processes of this machine that were killed (kill -9) left beside a target, but never the only copy."""
    host = socket.gethostname()
    start = f".{path.name}."
    for other in sorted(path.parent.iterdir()):
        owner, _, suffix = other.name.removeprefix(start).rpartition(".")
        number, _, where = owner.partition("@")
        if (
            not other.name.startswith(start)
            or suffix not in ("part", "old", "scratch")
            or where != host
            or not number.isdecimal()
        ):
            continue
        if _alive(int(number)):
            continue
        if suffix == "old" and not path.exists():
            continue
        if other.is_dir():
            shutil.rmtree(other, ignore_errors=True)
        else:
            other.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    """Return whether a process of this machine runs; on Windows every one counts as running, since signal 0 is Ctrl-C there."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # there, but not ours
        return True
    return True


def _sync(path: Path) -> None:
    with path.open("rb+") as file:  # Windows needs a file that can be written
        os.fsync(file.fileno())
