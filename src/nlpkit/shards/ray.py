"""The parts of a job divided among processes by Ray: lost parts are made again, and those that are done survive the driver.

    driver: reads all documents once ─▶ parts ─▶ one at a time to each worker ─▶ checks each file ─▶ merges them
    worker: an actor, which loads the model once and writes part after part beside the output

The parts lie in the folder `<output>.parts`, whose job.json says what they are parts of. Each is written under another name and renamed
when it is whole, so that a part that is there is done, unless its checksums say otherwise. Ray carries no documents between processes.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from nlpkit.errors import InputError, NlpkitError, OutputExistsError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import scan_documents
from nlpkit.platform.documents.corpus import no_documents, read_corpus
from nlpkit.platform.documents.inputs import Scan
from nlpkit.platform.documents.parts import ShardOptions, Share
from nlpkit.platform.documents.shard_files import read_shard
from nlpkit.platform.parallel import LOCAL, START_SECONDS, connected_ray
from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.runs.tables import check_table
from nlpkit.shards.jobs import ENCODES, MapJob, Open
from nlpkit.shards.merge import merge
from nlpkit.version import __version__

JOB = "job.json"
PARTS_PER_WORKER = 4  # so that a slow worker, or one that was lost, holds up the end by a quarter of its work
ATTEMPTS = 3  # at one part, and at starting a worker
_STORE = 80 << 20  # bytes of Ray's object store, which has next to nothing to hold


class WorkerLostError(Exception):
    """A worker died, cannot be reached, or lost what it was to give."""


class Workers(Protocol):
    """Processes that do parts: those of Ray, or stand-ins in tests."""

    def start(self) -> Any:
        """Return a new worker, which may have to wait for room."""

    def ready(self, worker: Any) -> Any:
        """Return the task that is done when a worker has started."""

    def submit(self, worker: Any, share: Share, target: str) -> Any:
        """Have a worker do a part; return the task at once."""

    def wait(self, tasks: Sequence[Any], seconds: float) -> list[Any]:
        """Return the tasks that are done, at most after so many seconds."""

    def result(self, task: Any) -> None:
        """Raise the error of a task that is done, where it has one; WorkerLostError where its worker is lost."""

    def stop(self, worker: Any) -> None:
        """End a worker, at once."""


@dataclass(slots=True)
class _Running:
    worker: Any
    share: Share
    since: float


def do_parts(
    workers: Workers,
    shares: Sequence[Share],
    path_of: Callable[[Share], Path],
    *,
    n_workers: int,
    timeout: float | None,
) -> int:
    """Have workers make the files of all shares; a part whose worker is lost or late, or whose file is corrupt, is made again.

    Parts go to workers that have started: where the cluster has no room for `n_workers`, fewer do them all. Returns how many did.

    Raises:
        InputError: a part could not be made in ATTEMPTS attempts, or no worker could be started; NlpkitError: the work itself
            failed, which another attempt would not change.
    """
    return _Schedule(workers, shares, path_of, timeout).run(min(n_workers, len(shares)))


class _Schedule:
    """Which parts wait, which worker makes which, and which workers are idle or not there yet."""

    def __init__(
        self, workers: Workers, shares: Sequence[Share], path_of: Callable[[Share], Path], timeout: float | None
    ) -> None:
        self.workers, self.path_of, self.timeout = workers, path_of, timeout
        self.waiting, self.attempts = deque(shares), dict.fromkeys(shares, 0)
        self.idle: list[Any] = []
        self.starting: dict[Any, Any] = {}  # task → worker, like the next
        self.running: dict[Any, _Running] = {}
        self.n_done = self.failed_starts = 0

    def run(self, n_workers: int) -> int:
        """Start workers and see to it that all parts are made; return how many worked at a time, at most."""
        patience = 1.0 if self.timeout is None else min(1.0, self.timeout / 4)
        most, alone_since, warned = 0, time.monotonic(), False
        for _ in range(n_workers):
            self.start()
        with reporting.progress("parts", len(self.waiting)) as update:
            while self.waiting or self.running:
                while self.waiting and self.idle:
                    share, worker = self.waiting.popleft(), self.idle.pop()
                    self.attempts[share] += 1
                    task = self.workers.submit(worker, share, str(self.path_of(share)))
                    self.running[task] = _Running(worker, share, time.monotonic())
                most = max(most, len(self.running))
                done = self.workers.wait([*self.running, *self.starting], patience)
                for task in done:
                    if task in self.starting:
                        self.started(task)
                    else:
                        self.finished(task)
                update(self.n_done)
                self.pass_over_late()
                if done or self.running:
                    alone_since, warned = time.monotonic(), False
                elif time.monotonic() - alone_since >= START_SECONDS and not warned:
                    warned = True
                    reporting.warn(
                        f"no worker has started for {START_SECONDS:.0f} seconds, because the cluster has no room; waiting "
                        "for room"
                    )
        return most

    def start(self) -> None:
        """Ask for one more worker."""
        worker = self.workers.start()
        self.starting[self.workers.ready(worker)] = worker

    def started(self, task: Any) -> None:
        """Take on a worker that has started, or another one for it."""
        worker = self.starting.pop(task)
        try:
            self.workers.result(task)
        except WorkerLostError as error:
            self.failed_starts += 1
            if self.failed_starts < ATTEMPTS:
                self.start()
            elif not (self.running or self.starting or self.idle):
                raise InputError(f"no worker could be started, the last time because {error}") from None
        else:
            self.failed_starts = 0
            self.idle.append(worker)

    def finished(self, task: Any) -> None:
        """Take note of a part that is done, or have it made again."""
        one = self.running.pop(task)
        try:
            self.workers.result(task)
            _verify(self.path_of(one.share))
        except WorkerLostError as error:
            self.again(one.share, str(error))
            self.workers.stop(one.worker)
            self.start()
        except _CorruptError as error:
            self.again(one.share, str(error))
            self.idle.append(one.worker)
        else:
            self.n_done += 1
            self.idle.append(one.worker)

    def pass_over_late(self) -> None:
        """Give the parts of workers that are over the time to others."""
        for task, one in list(self.running.items()):
            if self.timeout is not None and time.monotonic() - one.since >= self.timeout:
                del self.running[task]
                self.workers.stop(one.worker)
                self.again(one.share, f"it was not done after {self.timeout:g} seconds (`shard_timeout`)")
                self.start()

    def again(self, share: Share, reason: str) -> None:
        """Put a part before those that wait."""
        if self.attempts[share] >= ATTEMPTS:
            raise InputError(
                f"part {share} could not be made in {ATTEMPTS} attempts, the last time because {reason}; continue "
                "with the finished parts: `resume`"
            )
        reporting.warn(f"part {share} is made again: {reason}")
        self.waiting.appendleft(share)


class _CorruptError(Exception):
    """A part is not as it was written."""


def _verify(path: Path) -> None:
    try:
        part = read_shard(path)
        assert part is not None
        part.verify()
    except InputError as error:
        raise _CorruptError(str(error)) from None


def map_on_ray(job: MapJob, target: Path, sharing: ShardOptions, *, force: bool) -> dict[str, Any]:
    """Divide a job among the workers of Ray, and put the parts together; return what `merge` does.

    Raises:
        MissingError: Ray is not installed, or its cluster cannot be reached; UsageError: parts of another job are there;
        OutputExistsError: the output, or parts of this job, without `force` and `resume`; and what the command raises.
    """
    check_table(target, force=force)
    scan = scan_documents(job.inputs, job.read)
    if not scan.dropped_before:
        with read_corpus(*job.inputs, options=job.read).open() as stream:
            stream.read_all()
            raise no_documents(stream)
    folder = target.with_name(f"{target.name}.parts")
    n_workers = sharing.workers or 0
    with _Cluster(sharing, job) as workers:
        n_workers = n_workers or workers.n_workers
        n_parts = _prepare_folder(
            folder,
            job,
            scan,
            resume=sharing.resume,
            force=force,
            n_parts=min(len(scan.dropped_before), n_workers * PARTS_PER_WORKER),
        )
        shares = [Share(i, n_parts) for i in range(1, n_parts + 1)]

        def path_of(share: Share) -> Path:
            return folder / f"part-{share.index:05d}.parquet"

        left = [share for share in shares if not _is_done(path_of(share))]
        if len(left) < n_parts:
            reporting.note(f"{wording.counted(n_parts - len(left), 'part')} of {n_parts} done before")
        workers.give(job, scan)
        try:
            n_workers = do_parts(workers, left, path_of, n_workers=n_workers, timeout=sharing.shard_timeout)
        except BaseException:
            if not any(path_of(share).exists() for share in shares):  # nothing to resume
                shutil.rmtree(folder, ignore_errors=True)
            raise
    summary = merge([path_of(share) for share in shares], target, force=force)
    shutil.rmtree(folder)
    return {**summary, "workers": n_workers}


def _is_done(path: Path) -> bool:
    """Return whether a part is there and whole; one that is corrupt is removed."""
    if not path.is_file():
        return False
    try:
        _verify(path)
    except _CorruptError as error:
        reporting.warn(f"a part is made again: {error}")
        path.unlink()
        return False
    return True


def _prepare_folder(folder: Path, job: MapJob, scan: Scan, *, resume: bool, force: bool, n_parts: int) -> int:
    """Make the folder of the parts, or see that the one that is there is of this job; return the number of parts.

    Raises:
        OutputExistsError: it is there, and neither `resume` nor `force` says what to do; UsageError: it is of another job.
    """
    described = {"nlpkit_version": __version__, **job.described(), "sha256": [one.sha256 for one in scan.inputs]}
    file = folder / JOB
    if folder.exists():
        if not file.is_file():
            raise UsageError(f"{folder} exists and holds no parts of nlpkit; move it, or name another `output`")
        if resume:
            earlier = json.loads(file.read_text(encoding="utf-8"))
            earlier_parts = int(earlier.pop("parts"))
            differing = sorted(name for name in described if described[name] != earlier.get(name))
            if differing:
                raise UsageError(
                    f"the parts in {folder} belong to another job: {wording.listed(differing, 5)} differ; use those "
                    "options, or `force` without `resume` to start over",
                    parameter="resume",
                )
            return earlier_parts
        if not force:
            raise OutputExistsError(
                f"{folder} has the parts of a stopped run; continue with `resume`, or start over with `force`"
            )
        shutil.rmtree(folder)
    elif resume:
        reporting.note(f"nothing to resume: {folder} does not exist")
    folder.mkdir()
    with atomic_file(file) as path:
        path.write_text(
            json.dumps({**described, "parts": n_parts}, indent=1, sort_keys=True), encoding="utf-8", newline="\n"
        )
    return n_parts


# ---------------------------------------------------------------- Ray


class PartMaker:
    """What a process of Ray holds: the job, and its model as soon as it is loaded."""

    def __init__(self, job: MapJob, scan: Scan) -> None:
        self._job, self._scan = job, scan
        self._prepared: Open | None = None

    def ready(self) -> None:
        """Do nothing, as soon as the process is there; `__ray_ready__` is unknown to clients of a cluster."""

    def make(self, shard: str, target: str) -> None:
        """Write one part."""
        if self._prepared is None:
            self._prepared = self._job.prepare()
        self._job.run(target, force=True, prepared=self._prepared, shard=shard, scan=self._scan)


class RayWorkers:
    """The processes of Ray, as actors. ray: the module."""

    def __init__(self, ray: Any, n_workers: int, *, threads: int, gpus: int) -> None:
        self._ray, self.n_workers = ray, n_workers
        # an actor that is lost is replaced here, and a part that is lost is known here
        self._class = ray.remote(num_cpus=threads, num_gpus=gpus, max_restarts=0, max_task_retries=0)(PartMaker)
        self._arguments: tuple[Any, ...] = ()

    def give(self, job: MapJob, scan: Scan) -> None:
        """Take what each worker is made of."""
        self._arguments = (self._ray.put(job), self._ray.put(scan))

    def start(self) -> Any:
        """Return a new actor."""
        return self._class.remote(*self._arguments)

    def ready(self, worker: Any) -> Any:
        """Return the task that is done when an actor has its room and its process."""
        return worker.ready.remote()

    def submit(self, worker: Any, share: Share, target: str) -> Any:
        """Have an actor write a part."""
        return worker.make.remote(str(share), target)

    def wait(self, tasks: Sequence[Any], seconds: float) -> list[Any]:
        """Return the tasks that are done."""
        done, _ = self._ray.wait(list(tasks), num_returns=1, timeout=seconds)
        return list(done)

    def result(self, task: Any) -> None:
        """Raise what the task raised: the error of nlpkit as it is, those of Ray as WorkerLostError."""
        errors = self._ray.exceptions
        try:
            self._ray.get(task)
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, errors.RayError):
                raise WorkerLostError(f"a process of Ray was lost ({type(cause).__name__})") from None
            if isinstance(cause, NlpkitError):
                raise cause from None
            raise
        except (errors.RayError, ConnectionError) as error:
            raise WorkerLostError(f"a process of Ray was lost ({type(error).__name__})") from None

    def stop(self, worker: Any) -> None:
        """Kill an actor."""
        self._ray.kill(worker, no_restart=True)


class _Cluster:
    """A context with the workers of a cluster of Ray, which is started and ended here where it is a local one."""

    def __init__(self, sharing: ShardOptions, job: MapJob) -> None:
        self._address, self._n_workers, self._job = sharing.ray or LOCAL, sharing.workers, job

    def __enter__(self) -> RayWorkers:
        threads = max(1, self._job.execution.threads)
        n_local = self._n_workers or self._job.execution.n_threads()
        self._ray, self._started = connected_ray(self._address, n_local * threads, store=_STORE)
        resources: dict[str, float] = self._ray.cluster_resources()
        gpus = int(resources.get("GPU", 0)) if self._job.command in ENCODES else 0
        n_workers = self._n_workers or gpus or max(1, int(resources.get("CPU", 1)) // threads)
        return RayWorkers(self._ray, n_workers, threads=threads, gpus=1 if gpus else 0)

    def __exit__(self, *_: object) -> None:
        if self._started:
            self._ray.shutdown()
