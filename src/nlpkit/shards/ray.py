"""The parts of a job divided among processes by Ray: lost parts are made again, and those that are done survive the driver.

    driver: reads all documents once ─▶ parts ─▶ one at a time to each worker ─▶ checks each file ─▶ merges them
    worker: an actor, which loads the model once and writes part after part beside the output

The parts lie in the folder `<output>.parts`, whose job.json says what they are parts of. Each is written under another name and renamed
when it is whole, so that a part that is there is done, unless its checksums say otherwise. Ray carries no documents between processes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nlpkit.errors import InputError, NlpkitError, OutputExistsError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import scan_documents
from nlpkit.platform.documents.corpus import no_documents, read_corpus
from nlpkit.platform.documents.inputs import Scan
from nlpkit.platform.documents.parts import ShardOptions, Share
from nlpkit.platform.documents.shard_files import read_shard
from nlpkit.platform.options import Execution
from nlpkit.platform.parallel import LOCAL, connected_ray
from nlpkit.platform.runs.atomic import atomic_file
from nlpkit.platform.runs.tables import check_table
from nlpkit.shards.jobs import ENCODES, MapJob, Open
from nlpkit.shards.merge import merge
from nlpkit.shards.schedule import CorruptError, Make, Maker, WorkerLostError, do_tasks, maker_arguments
from nlpkit.version import __version__

JOB = "job.json"
PARTS_PER_WORKER = 4  # so that a slow worker, or one that was lost, holds up the end by a quarter of its work
_STORE = 80 << 20  # bytes of Ray's object store, which has next to nothing to hold


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
    encodes = job.command in ENCODES
    make = PartMaker(job, scan).make
    with Cluster(make, sharing.ray or LOCAL, sharing.workers, job.execution, gpus=encodes) as workers:
        n_workers = workers.n_workers
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
        try:
            n_workers = do_tasks(
                workers, left, path_of, verify_part, n_workers=n_workers, timeout=sharing.shard_timeout
            )
        except BaseException:
            if not any(path_of(share).exists() for share in shares):  # nothing to resume
                shutil.rmtree(folder, ignore_errors=True)
            raise
    summary = merge([path_of(share) for share in shares], target, force=force)
    shutil.rmtree(folder)
    return {**summary, "workers": n_workers}


def verify_part(path: Path) -> None:
    """Raise CorruptError for a part that is not there or not whole."""
    try:
        part = read_shard(path)
        assert part is not None
        part.verify()
    except InputError as error:
        raise CorruptError(str(error)) from None


def _is_done(path: Path) -> bool:
    """Return whether a part is there and whole; one that is corrupt is removed."""
    if not path.is_file():
        return False
    try:
        verify_part(path)
    except CorruptError as error:
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
    """Makes parts of a job, whose model is loaded once in each process."""

    def __init__(self, job: MapJob, scan: Scan) -> None:
        self._job, self._scan = job, scan
        self._prepared: Open | None = None

    def make(self, share: Share, target: str) -> None:
        """Write one part."""
        if self._prepared is None:
            self._prepared = self._job.prepare()
        self._job.run(target, force=True, prepared=self._prepared, shard=str(share), scan=self._scan)


class RayWorkers:
    """The processes of Ray, as actors. ray: the module. make: what they do."""

    def __init__(self, ray: Any, make: Make, n_workers: int, *, threads: int, gpus: int) -> None:
        self._ray, self.n_workers = ray, n_workers
        # an actor that is lost is replaced here, and a task that is lost is known here
        self._class = ray.remote(num_cpus=threads, num_gpus=gpus, max_restarts=0, max_task_retries=0)(Maker)
        self._arguments = tuple(map(self._ray.put, maker_arguments(make)))

    def start(self) -> Any:
        """Return a new actor."""
        return self._class.remote(*self._arguments)

    def ready(self, worker: Any) -> Any:
        """Return what is done when an actor has its room and its process."""
        return worker.ready.remote()

    def submit(self, worker: Any, task: Any, target: str) -> Any:
        """Have an actor do a task."""
        return worker.make.remote(task, target)

    def wait(self, events: Sequence[Any], seconds: float) -> list[Any]:
        """Return what is done."""
        done, _ = self._ray.wait(list(events), num_returns=1, timeout=seconds)
        return list(done)

    def result(self, event: Any) -> None:
        """Warn as the actor did. Raise what it raised: the error of nlpkit as it is, those of Ray as WorkerLostError."""
        errors = self._ray.exceptions
        try:
            for message in self._ray.get(event) or ():
                reporting.warn(message)
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


class Cluster:
    """A context with the workers of a cluster of Ray, which is started and ended here where it is a local one.

    make: what they do. n_workers: None for as many as the cluster has GPUs, where they are of use, or cores.
    """

    def __init__(self, make: Make, address: str, n_workers: int | None, execution: Execution, *, gpus: bool) -> None:
        self._make, self._address, self._n_workers = make, address, n_workers
        self._execution, self._gpus = execution, gpus

    def __enter__(self) -> RayWorkers:
        threads = max(1, self._execution.threads)
        n_local = self._n_workers or self._execution.n_threads()
        self._ray, self._started = connected_ray(self._address, n_local * threads, store=_STORE)
        resources: dict[str, float] = self._ray.cluster_resources()
        gpus = int(resources.get("GPU", 0)) if self._gpus else 0
        n_workers = self._n_workers or gpus or max(1, int(resources.get("CPU", 1)) // threads)
        return RayWorkers(self._ray, self._make, n_workers, threads=threads, gpus=1 if gpus else 0)

    def __exit__(self, *_: object) -> None:
        if self._started:
            self._ray.shutdown()
