"""Tasks that processes of this machine do: those of lost ones are done again, and none stays, whatever ends the one who asks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from nlpkit.errors import InputError
from nlpkit.platform import reporting
from nlpkit.shards.schedule import ATTEMPTS, CorruptError, Maker, ProcessWorkers, do_tasks, maker_arguments, warnings_of

ROOT = Path(__file__).parents[2]
MAIN = """
from tests.shards.test_processes import do
do(["waits 1", "waits 2"])
"""


def task(name: str, target: str) -> None:
    """Write a file, or what the name says."""
    begun = Path(target).with_suffix(".begun")
    if name == "killed" or (name == "killed once" and not begun.exists()):
        with subprocess.Popen(["sleep", "600"]) as child:
            begun.write_text(str(child.pid), encoding="utf-8")
            os.kill(os.getpid(), signal.SIGKILL)
    if name.startswith("waits"):
        with subprocess.Popen(["sleep", "600"]) as child:
            begun.with_suffix(".part").write_text(f"{os.getpid()} {child.pid}", encoding="utf-8")
            begun.with_suffix(".part").rename(begun)
    if name == "wrong":
        raise InputError("no such thing")
    if name == "bug":
        raise ZeroDivisionError
    if name == "warns":
        reporting.warn("careful")
    if name != "writes nothing":
        Path(target).write_text(name, encoding="utf-8")


def verify(path: Path) -> None:
    if not path.exists():
        raise CorruptError("it is not there")


def do(tasks: list[str], n_workers: int = 2) -> int:
    with ProcessWorkers(partial(warnings_of, task)) as workers:
        return do_tasks(workers, tasks, lambda name: Path(name), verify, n_workers=n_workers, what="fit")


def gone(process: int) -> bool:
    """Whether a process has ended; one whose end nobody has asked for stays in the list as a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_a_task_of_a_process_that_is_killed_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert do(["killed once", "warns", "c"]) <= 2
    assert {path.read_text() for path in tmp_path.iterdir() if not path.suffix} == {"killed once", "warns", "c"}
    told = [record.getMessage() for record in caplog.records]
    assert sum(text.startswith("fit killed once is made again: process ") for text in told) == 1
    assert "careful" in told  # of another process
    wait_for(lambda: gone(int(Path("killed once.begun").read_text())))  # what it had started
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("name", ["killed", "writes nothing"])
def test_a_task_that_cannot_be_done(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InputError, match=rf"fit {name} could not be made in {ATTEMPTS} attempts.*finished fits: `resume`"
    ):
        do([name], n_workers=5)
    assert multiprocessing.active_children() == []


def test_an_error_of_a_task_is_raised_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^no such thing$"):
        do(["wrong"])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        do(["bug"])
    assert multiprocessing.active_children() == []


def test_ctrl_c_while_a_worker_starts_is_none_of_its_business() -> None:
    with ProcessWorkers(print) as workers:
        worker = workers.start()
        os.kill(worker.process.pid, signal.SIGINT)
        wait_for(lambda: bool(workers.wait([workers.ready(worker)], 1)))
        workers.result(workers.ready(worker))
        assert worker.process.is_alive()


def test_a_worker_is_where_the_one_who_asks_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of a cluster that was there before begin in the folder of the cluster."""
    monkeypatch.chdir(tmp_path)
    with reporting.run_as(("nlpkit", "robust")):
        arguments = maker_arguments(lambda name, target: Path(target).write_text(str(reporting.command_line.get())))
    monkeypatch.chdir(tmp_path.parent)
    Maker(*arguments).make("", "relative")
    assert (tmp_path / "relative").read_text() == "('nlpkit', 'robust')"


@pytest.mark.parametrize("signal_name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_nothing_stays_when_the_one_who_asks_ends(signal_name: str, tmp_path: Path) -> None:
    driver = subprocess.Popen(
        [sys.executable, "-c", MAIN], cwd=tmp_path, env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    files = [tmp_path / f"waits {n}.begun" for n in (1, 2)]
    try:
        wait_for(lambda: all(file.exists() for file in files))
        processes = [int(number) for file in files for number in file.read_text().split()]
        assert len(processes) == 4
        assert not any(map(gone, processes))
        driver.send_signal(getattr(signal, signal_name))
        driver.wait(60)
        wait_for(lambda: all(map(gone, processes)))
    finally:
        driver.kill()
        driver.wait()
