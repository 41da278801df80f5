"""Targets appear whole or not at all, and nothing that is not ours is replaced."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from nlpkit.errors import InputError, OutputExistsError, UsageError
from nlpkit.platform.runs.atomic import MANIFEST, atomic_directory, atomic_file, check_target, scratch_beside


def names(folder: Path) -> list[str]:
    return sorted(f.name for f in folder.iterdir())


def run_directory(path: Path, *, extra: str | None = None) -> Path:
    path.mkdir()
    (path / "topics.parquet").write_text("old")
    (path / "model").mkdir()
    (path / "model" / "config.json").write_text("{}")
    outputs = {"topics.parquet": "…", "model/config.json": "…"}
    (path / MANIFEST).write_text(json.dumps({"nlpkit_version": "0.1.0", "outputs": outputs}))
    if extra:
        (path / extra).write_text("mine")
    return path


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    with atomic_file(target) as part:
        assert part.parent == tmp_path
        assert part.name.startswith(".x.parquet.")
        part.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    assert names(tmp_path) == ["x.parquet"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_on_any_error_nothing_is_left_and_the_old_stays(error: type[BaseException], tmp_path: Path) -> None:
    file, directory = tmp_path / "x", run_directory(tmp_path / "run")
    file.write_text("old")

    def fail(target: Path) -> None:
        target.write_text("half")
        raise error

    with pytest.raises(error), atomic_file(file, force=True) as part:
        fail(part)
    with pytest.raises(error), atomic_directory(directory, force=True) as folder:
        fail(folder / "half")
    assert names(tmp_path) == ["run", "x"]
    assert file.read_text() == "old"
    assert (directory / "topics.parquet").read_text() == "old"


def test_a_directory_takes_the_place_of_another(tmp_path: Path) -> None:
    target = run_directory(tmp_path / "run")
    with atomic_directory(target, force=True) as part:
        (part / "new").write_text("new")
        assert (target / "topics.parquet").exists()
    assert names(tmp_path) == ["run"]
    assert names(target) == ["new"]


def test_when_the_last_rename_fails_the_old_directory_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = run_directory(tmp_path / "run")
    real = Path.rename

    def rename(self: Path, to: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError(5, "Input/output error", str(self))
        return real(self, to)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="Input/output"), atomic_directory(target, force=True) as part:
        (part / "new").write_text("new")
    assert names(tmp_path) == ["run"]
    assert (target / "topics.parquet").read_text() == "old"


def test_targets_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError):
        check_target(tmp_path / "a" / "x", force=False)
    with pytest.raises(InputError):
        check_target(tmp_path / "file" / "x", force=False)
    with pytest.raises(OutputExistsError):
        check_target(tmp_path / "file", force=False)
    with pytest.raises(UsageError, match="is a directory, but a file is needed"):
        check_target(tmp_path / "folder", force=True)
    with pytest.raises(UsageError, match="is a file, but a directory is needed"):
        check_target(tmp_path / "file", force=True, directory=True)
    with pytest.raises(UsageError, match="device or pipe"):
        check_target(Path("/dev/null"), force=True)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="device or pipe"):
        check_target(tmp_path / "pipe", force=True)
    check_target(tmp_path / "new", force=False)
    check_target(tmp_path / "file", force=True)
    check_target(tmp_path / "folder", force=True, directory=True)  # empty


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(InputError, match="no file can be created in"):
            check_target(tmp_path / "x", force=False)
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="a folder of Linux that takes no files, even of root")
def test_a_folder_that_takes_no_files_is_told_before_any_work() -> None:
    with pytest.raises(InputError, match="no file can be created in"):
        check_target(Path("/proc/x"), force=False, directory=True)


@pytest.mark.parametrize(
    "manifest",
    [
        None, "", "[]", "{}", '{"name": "My web app"}', '{"nlpkit_version": "0.1.0"}',
        '{"nlpkit_version": "1", "outputs": 3}',
    ],
)  # fmt: skip
def test_a_directory_that_is_no_run_is_never_replaced(manifest: str | None, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    target.mkdir()
    (target / "thesis.tex").write_text("years of work")
    if manifest is not None:
        (target / MANIFEST).write_text(manifest)
    with pytest.raises(UsageError, match="a directory that nlpkit did not write"):
        check_target(target, force=True, directory=True)


def test_files_beside_those_of_a_run_are_never_deleted(tmp_path: Path) -> None:
    target = run_directory(tmp_path / "run", extra="notes.md")
    with pytest.raises(UsageError, match=r"holds notes\.md, which nlpkit did not write and `force` would delete"):
        check_target(target, force=True, directory=True)
    (target / "model" / "more.txt").write_text("x")
    with pytest.raises(UsageError, match=r"holds model/more\.txt and 1 more"):
        check_target(target, force=True, directory=True)
    (target / "model" / "more.txt").unlink()
    (target / "notes.md").rename(target / ".DS_Store")
    check_target(target, force=True, directory=True)


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    return process.pid


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    host, dead = socket.gethostname(), dead_process()
    target = tmp_path / "x"
    ours = [f".x.{dead}@{host}.part", f".x.{dead}@{host}.old"]
    others = [
        f".x.{os.getppid()}@{host}.part",  # still running
        f".x.{dead}@another-machine.part",
        f".y.{dead}@{host}.part",
        ".x.part",
        f".x.{dead}.part",
        f".x.mine@{host}.part",
    ]
    target.write_text("old")
    for name in ours + others:
        (tmp_path / name).write_text("half")
    with atomic_file(target, force=True) as part:
        part.write_text("new")
    assert names(tmp_path) == sorted([*others, "x"])


def test_the_temporary_files_of_a_killed_library_are_removed(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "x") as part, scratch_beside(part) as scratch:
        (scratch / "sheet").write_text("half")
        part.write_text("new")
        left = scratch.name.replace(f".{os.getpid()}@", f".{dead_process()}@")
        shutil.copytree(scratch, tmp_path / left)
    assert names(tmp_path) == [left, "x"]
    with atomic_file(tmp_path / "x", force=True) as part:
        part.write_text("newer")
    assert names(tmp_path) == ["x"]


def test_the_only_copy_of_a_run_is_never_removed(tmp_path: Path) -> None:
    old = tmp_path / f".run.{dead_process()}@{socket.gethostname()}.old"
    run_directory(old)
    with atomic_directory(tmp_path / "run") as part:
        (part / "new").write_text("new")
    assert names(tmp_path) == [old.name, "run"]
    run_directory(tmp_path / "again")
    with atomic_directory(tmp_path / "again", force=True) as part:
        (part / "new").write_text("new")
    assert names(tmp_path) == [old.name, "again", "run"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device"),  # of pyarrow
        shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")]),
        RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"),  # of safetensors
    ],
)
def test_a_full_disk_is_told_with_the_name_of_what_is_written(error: Exception, tmp_path: Path) -> None:
    target = tmp_path / "out"
    for writes in (atomic_file, atomic_directory):
        with pytest.raises(InputError), writes(target):
            raise error
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="Input/output error"), atomic_file(target):  # of what is read, maybe
        raise OSError(errno.EIO, "Input/output error")


def write_beside_another(target: Path) -> None:
    """Write a file that another process writes meanwhile."""
    with atomic_file(target) as part:
        part.write_text("second")
        target.write_text("first")


def test_the_second_of_two_writers_without_force_does_not_replace_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ended well, and one of the files was gone; also on a file system without hard links."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    with pytest.raises(OutputExistsError, match="was written by another program in the meantime; add"):
        write_beside_another(tmp_path / "x.csv")
    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with pytest.raises(OutputExistsError):
        write_beside_another(tmp_path / "y.csv")
    with atomic_file(tmp_path / "z.csv") as part:
        part.write_text("new")
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        "x.csv": "first",
        "y.csv": "first",
        "z.csv": "new",
    }
