"""Parts that Ray divides among processes: lost, late and corrupt ones are made again, and the bytes stay those of one process.

Most tests have stand-ins for the processes, which fail as those of Ray do; the slow ones start a cluster of three processes on this
machine and kill one of them, or the driver.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import nlpkit as nk
from nlpkit.errors import InputError, MissingError, OutputExistsError, UsageError
from nlpkit.features.options import TextFeatureOptions
from nlpkit.platform.documents.inputs import Scan
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import ShardOptions, Share
from nlpkit.platform.options import Execution
from nlpkit.shards import ray as ray_map
from nlpkit.shards import schedule
from nlpkit.shards.jobs import MapJob
from nlpkit.shards.ray import PartMaker, RayWorkers, verify_part
from nlpkit.shards.schedule import ATTEMPTS, WorkerLostError, do_tasks
from tests.command_line import NEWS, run_cli
from tests.grids import bytes_of

has_ray = importlib.util.find_spec("ray") is not None
needs_ray = pytest.mark.skipif(not has_ray, reason="the extra ray is not installed")
READ = ReadOptions(batch_rows=25)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ray") / "corpus.jsonl"
    texts = [f"river boat {'bridge ' * (i % 7)} moon{i % 40}. Orbit {i}." if i % 11 else None for i in range(300)]
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    return path


def job_of(corpus: Path) -> MapJob:
    return MapJob("features", (str(corpus),), READ, Execution(threads=1), {"options": TextFeatureOptions()})


class FakeWorkers:
    """Processes that do their part at once, or fail by a plan: share → what happens at each attempt."""

    def __init__(self, job: MapJob, plan: dict[int, list[str]], starts: Sequence[str] = ()) -> None:
        with nk.read_corpus(*job.inputs, options=job.read).open() as stream:
            self.maker = PartMaker(job, Scan.of_stream(stream))
        self.plan, self.starts, self.started, self.stopped = plan, list(starts), 0, list[int]()
        self.tasks: dict[int, tuple[Share, str, str]] = {}
        self.coming: dict[str, str] = {}
        self.made: list[int] = []

    def start(self) -> int:
        self.started += 1
        return self.started

    def ready(self, worker: int) -> str:
        self.coming[f"worker {worker}"] = self.starts.pop(0) if self.starts else "done"
        return f"worker {worker}"

    def submit(self, worker: int, share: Share, target: str) -> int:
        assert worker not in self.stopped
        outcomes = self.plan.get(share.index, [])
        number = len(self.tasks) + 1
        self.tasks[number] = (share, target, outcomes.pop(0) if outcomes else "done")
        return number

    def wait(self, tasks: Sequence[int | str], seconds: float) -> list[int | str]:
        done = [t for t in tasks if (self.coming[t] if isinstance(t, str) else self.tasks[t][2]) != "late"]
        if not done:
            time.sleep(min(seconds, 0.01))
        return done[:1]

    def result(self, task: int | str) -> None:
        if isinstance(task, str):
            if self.coming[task] == "lost":
                raise WorkerLostError("a process of Ray was lost (ActorDiedError)")
            return
        share, target, outcome = self.tasks[task]
        if outcome == "lost":
            raise WorkerLostError("a process of Ray was lost (ActorDiedError)")
        if outcome == "wrong":
            raise InputError("no such thing")
        if outcome == "nothing":
            return
        self.maker.make(share, target)
        self.made.append(share.index)
        if outcome == "corrupt":
            path = Path(target)
            path.write_bytes(path.read_bytes()[:-20])

    def stop(self, worker: int) -> None:
        self.stopped.append(worker)


def run_plan(
    corpus: Path,
    folder: Path,
    plan: dict[int, list[str]],
    *,
    timeout: float | None = None,
    starts: Sequence[str] = (),
) -> tuple[FakeWorkers, Callable[[Share], Path]]:
    workers, n = FakeWorkers(job_of(corpus), plan, starts), 6

    def path_of(share: Share) -> Path:
        return folder / f"part-{share.index}.parquet"

    do_tasks(workers, [Share(i, n) for i in range(1, n + 1)], path_of, verify_part, n_workers=3, timeout=timeout)
    return workers, path_of


@pytest.mark.parametrize("outcome", ["lost", "corrupt", "nothing"])
def test_a_part_is_made_again(outcome: str, corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    workers, path_of = run_plan(corpus, tmp_path, {2: [outcome], 5: [outcome, outcome]})
    assert workers.started == 3 + (3 if outcome == "lost" else 0)
    assert len(workers.stopped) == (3 if outcome == "lost" else 0)
    nk.merge([path_of(Share(i, 6)) for i in range(1, 7)], tmp_path / "merged.parquet")
    nk.map_documents("features", corpus, target=tmp_path / "whole.parquet", read=READ)
    assert (tmp_path / "merged.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert sum("is made again: " in record.getMessage() for record in caplog.records) == 3


def test_a_late_part_goes_to_another_process(corpus: Path, tmp_path: Path) -> None:
    """As behind a network partition: the process lives, or not, and nothing comes from it."""
    workers, path_of = run_plan(corpus, tmp_path, {1: ["late"], 4: ["late"]}, timeout=0.2)
    assert sorted(workers.made) == [1, 2, 3, 4, 5, 6]
    assert len(workers.stopped) == 2
    assert all(path_of(Share(i, 6)).is_file() for i in range(1, 7))


def test_workers_for_whom_there_is_no_room_are_not_waited_for(corpus: Path, tmp_path: Path) -> None:
    workers, _ = run_plan(corpus, tmp_path, {2: ["lost"]}, starts=["late", "done", "late"])
    assert sorted(workers.made) == [1, 2, 3, 4, 5, 6]
    assert workers.started == 4


def test_a_worker_that_cannot_start(corpus: Path, tmp_path: Path) -> None:
    workers, _ = run_plan(corpus, tmp_path, {}, starts=["lost", "done", "lost", "lost", "lost"])
    assert sorted(workers.made) == [1, 2, 3, 4, 5, 6]
    with pytest.raises(InputError, match=r"no worker could be started, the last time because .*ActorDiedError"):
        run_plan(corpus, tmp_path, {}, starts=["lost"] * 9)


def test_it_is_said_that_no_worker_starts(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def wait(self: FakeWorkers, tasks: Sequence[int | str], seconds: float) -> list[int | str]:
        if "waiting for room" in caplog.text:
            self.coming = dict.fromkeys(self.coming, "done")
        return came(self, tasks, seconds)

    came = FakeWorkers.wait
    monkeypatch.setattr(FakeWorkers, "wait", wait)
    monkeypatch.setattr(schedule, "START_SECONDS", 0.1)
    workers, _ = run_plan(corpus, tmp_path, {}, starts=["late"] * 3)
    assert sorted(workers.made) == [1, 2, 3, 4, 5, 6]
    assert caplog.text.count("waiting for room") == 1


@pytest.mark.parametrize("outcome", ["lost", "corrupt", "late"])
def test_a_part_that_cannot_be_made(outcome: str, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"part 3/6 could not be made in {ATTEMPTS} attempts.*`resume`"):
        run_plan(corpus, tmp_path, {3: [outcome] * 9}, timeout=0.1)


def test_an_error_of_the_work_is_raised_as_it_is(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such thing"):
        run_plan(corpus, tmp_path, {3: ["wrong"]})


def test_without_ray_the_extra_is_named(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingError, match="Ray needs the extra 'ray'"):
        nk.map_documents("features", corpus, target=tmp_path / "x.parquet", sharing=ShardOptions(workers=2))
    assert list(tmp_path.iterdir()) == []


def test_ray_is_loaded_only_where_it_is_used(corpus: Path, tmp_path: Path) -> None:
    code = (
        "import sys, nlpkit as nk; from nlpkit.platform.documents.parts import ShardOptions; import nlpkit.shards.ray; "
        f"nk.map_documents('features', {str(corpus)!r}, target={str(tmp_path / 'x.parquet')!r}, sharing=ShardOptions(shard='1/1')); "
        "assert 'ray' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


# ---------------------------------------------------------------- the folder of the parts


class InThisProcess:
    """A cluster whose processes are this one."""

    def __init__(
        self,
        make: Callable[[Share, str], None],
        address: str,
        n_workers: int | None,
        execution: Execution,
        *,
        gpus: bool,
    ) -> None:
        self.n_workers, self.make = n_workers, make

    def __enter__(self) -> InThisProcess:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def start(self) -> None:
        pass

    def ready(self, worker: None) -> object:
        return object()

    def submit(self, worker: None, share: Share, target: str) -> tuple[Share, str]:
        return share, target

    def wait(self, tasks: Sequence[Any], seconds: float) -> list[Any]:
        return list(tasks)[:1]

    def result(self, task: Any) -> None:
        if not isinstance(task, tuple):
            return
        if self.fails is not None and task[0].index >= self.fails:
            raise KeyboardInterrupt
        self.make(*task)

    def stop(self, worker: None) -> None:
        pass

    fails: int | None = None


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[InThisProcess]]:
    monkeypatch.setattr(ray_map, "Cluster", InThisProcess)
    yield InThisProcess
    InThisProcess.fails = None


def divided(
    corpus: Path, target: Path, *, force: bool = False, read: ReadOptions = READ, **sharing: Any
) -> dict[str, Any]:
    options = ShardOptions(**{"workers": 2, **sharing})
    return nk.map_documents("features", corpus, target=target, read=read, sharing=options, force=force)


def test_a_driver_that_was_stopped_goes_on(here: type[InThisProcess], corpus: Path, tmp_path: Path) -> None:
    target, folder = tmp_path / "x.parquet", tmp_path / "x.parquet.parts"
    here.fails = 4
    with pytest.raises(KeyboardInterrupt):
        divided(corpus, target)
    here.fails = None
    assert not target.exists()
    left = {path: path.stat().st_mtime_ns for path in folder.glob("part-*[0-9].parquet")}
    assert len(left) == 3
    with pytest.raises(OutputExistsError, match="has the parts of a stopped run; continue with `resume`"):
        divided(corpus, target)
    with pytest.raises(UsageError, match="belong to another job"):
        divided(corpus, target, resume=True, read=ReadOptions(batch_rows=25, limit=100))
    broken = next(iter(left))
    broken.write_bytes(broken.read_bytes()[:-30])
    seen: list[str] = []
    made = InThisProcess.result

    def result(self: InThisProcess, task: Any) -> None:
        seen.extend([task[0].index] if isinstance(task, tuple) else [])
        made(self, task)

    here.result = result  # type: ignore[method-assign]
    try:
        assert divided(corpus, target, resume=True, workers=7) == {"parts": 8, "rows": 272, "dropped": 28, "workers": 1}
    finally:
        here.result = made  # type: ignore[method-assign]
    assert sorted(seen) == sorted([int(broken.stem[-5:]), 4, 5, 6, 7, 8])  # type: ignore[comparison-overlap]
    assert not folder.exists()
    nk.map_documents("features", corpus, target=tmp_path / "whole.parquet", read=READ)
    assert target.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_parts_of_a_stopped_run_can_be_thrown_away(here: type[InThisProcess], corpus: Path, tmp_path: Path) -> None:
    here.fails = 2
    with pytest.raises(KeyboardInterrupt):
        divided(corpus, tmp_path / "x.parquet")
    here.fails = None
    assert divided(corpus, tmp_path / "x.parquet", force=True)["parts"] == 8
    here.fails = 1  # no part is done: nothing is left
    with pytest.raises(KeyboardInterrupt):
        divided(corpus, tmp_path / "y.parquet")
    assert not (tmp_path / "y.parquet.parts").exists()
    (tmp_path / "z.parquet.parts").mkdir()
    with pytest.raises(UsageError, match="holds no parts of nlpkit"):
        divided(corpus, tmp_path / "z.parquet", force=True)


# ---------------------------------------------------------------- errors of Ray as they are raised


@needs_ray
def test_errors_of_ray(corpus: Path) -> None:
    import ray.exceptions as errors

    class Module:
        exceptions = errors

        def remote(self, **_: Any) -> Callable[[Any], Any]:
            return lambda one: one

        def put(self, value: Any) -> Any:
            return value

        def get(self, task: Exception) -> None:
            raise task

    workers = RayWorkers(Module(), print, 1, threads=1, gpus=0)
    for error in (
        errors.ActorDiedError(), errors.WorkerCrashedError(), errors.GetTimeoutError("late"), errors.NodeDiedError("gone"),
        errors.ActorUnavailableError("unreachable", None), errors.RaySystemError("gRPC"), ConnectionError("cut off"),
        errors.OutOfMemoryError("killed"),
    ):  # fmt: skip
        with pytest.raises(WorkerLostError, match=type(error).__name__):
            workers.result(error)
    with pytest.raises(InputError, match="no documents"):
        workers.result(errors.RayTaskError("make", "trace", InputError("no documents")))
    with pytest.raises(errors.RayTaskError):
        workers.result(errors.RayTaskError("make", "trace", ZeroDivisionError()))


# ---------------------------------------------------------------- a cluster on this machine

DRIVER = """
import sys, nlpkit as nk
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import ShardOptions
from nlpkit.platform.options import Execution
command, source, target, resume = sys.argv[1:]
nk.map_documents(
    command, source, target=target, read=ReadOptions(batch_rows=100), execution=Execution(threads=1),
    sharing=ShardOptions(workers=3, resume=resume == "resume"),
)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "corpus.jsonl"
    texts = (" ".join(f"word{(i * k) % 997}" for k in range(1, 40)) + f". The moon {i}." for i in range(4000))
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    return path


@pytest.fixture
def ray_home(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a driver whose cluster writes below a folder of its own; names of sockets must be short."""
    short = Path("/tmp") / f"nk{os.getpid()}"
    short.mkdir(exist_ok=True)
    yield {**os.environ, "RAY_TMPDIR": str(short), "HOME": str(tmp_path), "RAY_AUTH_MODE": "disabled"}
    subprocess.run(["rm", "-rf", str(short)], check=True)


def drive(env: dict[str, str], *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, *map(str, words)],
        env=env,
        text=True,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def makers(driver: int) -> list[int]:
    """The processes of Ray below a driver that make parts."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            title = (path / "cmdline").read_bytes().replace(b"\\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if title.startswith("ray::Maker") and _descends(int(path.name), driver):
            found.append(int(path.name))
    return found


def _descends(process: int, ancestor: int) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def wait_for(condition: Callable[[], Any], seconds: float = 240) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def done_parts(folder: Path) -> int:
    return len([path for path in folder.glob("part-*.parquet") if not path.name.endswith(".dropped.parquet")])


@needs_ray
@pytest.mark.slow
@pytest.mark.parametrize("command", ["preprocess", "features"])
def test_a_process_that_is_killed(command: str, large: Path, tmp_path: Path, ray_home: dict[str, str]) -> None:
    target = tmp_path / "ray.parquet"
    driver = drive(ray_home, command, large, target, "")
    # a process that works: the one that is killed has a part to do
    wait_for(lambda: done_parts(tmp_path / "ray.parquet.parts") or driver.poll() is not None)
    processes = makers(driver.pid)
    os.kill(processes[0], signal.SIGKILL)
    _, err = driver.communicate(timeout=400)
    assert driver.returncode == 0, err
    assert not (tmp_path / "ray.parquet.parts").exists()
    whole = tmp_path / "whole.parquet"
    read = ReadOptions(batch_rows=100)
    nk.map_documents(command, large, target=whole, read=read)
    assert target.read_bytes() == whole.read_bytes()
    for i in range(1, 9):
        part = ShardOptions(shard=f"{i}/8")
        nk.map_documents(command, large, target=tmp_path / f"part-{i}.parquet", read=read, sharing=part)
    nk.merge([tmp_path / f"part-{i}.parquet" for i in range(1, 9)], tmp_path / "merged.parquet")
    assert (tmp_path / "merged.parquet").read_bytes() == whole.read_bytes()


@needs_ray
@pytest.mark.slow
def test_a_driver_that_is_killed(large: Path, tmp_path: Path, ray_home: dict[str, str]) -> None:
    target, folder = tmp_path / "ray.parquet", tmp_path / "ray.parquet.parts"
    driver = drive(ray_home, "preprocess", large, target, "")
    wait_for(lambda: done_parts(folder) >= 2 or driver.poll() is not None)
    assert driver.poll() is None, driver.communicate()
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate(timeout=60)
    n_done = done_parts(folder)
    assert not target.exists()
    assert 2 <= n_done < 12
    again = drive(ray_home, "preprocess", large, target, "resume")
    _, err = again.communicate(timeout=400)
    assert again.returncode == 0, err
    nk.map_documents("preprocess", large, target=tmp_path / "whole.parquet", read=ReadOptions(batch_rows=100))
    assert target.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


@needs_ray
@pytest.mark.slow
def test_a_process_that_fits_is_killed(
    tmp_path: Path, ray_home: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ("robust", NEWS, "--limit", "100", "--models", "nmf", "--k", "3:6:1", "--seeds", "2", "-q", "-o", "run")
    for name in ("ray", "one"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "ray")
    words = [sys.executable, "-m", "nlpkit", *line, "--ray", "local", "--workers", "2"]
    driver = subprocess.Popen(words, env=ray_home, stdout=subprocess.DEVNULL)
    wait_for(lambda: list(Path().glob("run.fits/runs/*/manifest.json")) or driver.poll() is not None)
    os.kill(makers(driver.pid)[0], signal.SIGKILL)
    assert driver.wait(400) == 0
    monkeypatch.chdir(tmp_path / "one")
    run_cli(*line)
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "one")
