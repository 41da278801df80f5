"""What the benchmarks share: where their corpora lie, programs in processes of their own, and what these cost."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
CACHE = ROOT / ".cache" / "bench"
NLPKIT = str(Path(sys.executable).with_name("nlpkit"))


def memory(what: str = "VmHWM", pid: int | str = "self") -> float:
    """Return VmHWM or VmRSS in MB: not ru_maxrss, which a child inherits from the process that started it."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split(what + ":")[1].split()[0]) / 1024


def spent(command: Sequence[str], threads: int | None = None) -> dict[str, Any]:
    """Run a program to its end; return its seconds, CPU seconds, peak memory (MB), exit code, stdout and stderr."""
    env = {
        **os.environ,
        **({} if threads is None else dict.fromkeys(("OMP_NUM_THREADS", "NLPKIT_THREADS"), str(threads))),
    }
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+", errors="replace") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=errors, env=env)
        _, status, usage = os.wait4(process.pid, 0)
        row: dict[str, Any] = {"seconds": time.perf_counter() - start, "cpu": usage.ru_utime + usage.ru_stime}
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        return row | {
            "mb": usage.ru_maxrss / 1024, "exit": process.returncode, "out": out.read(), "said": errors.read()
        }  # fmt: skip


def printed_by(words: Sequence[Any], **env: str) -> dict[str, Any]:
    """Run a Python script in a process of its own and return the JSON of its last line."""
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **env})
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def lines(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines, somewhere among the corpora."""
    path = next(DATA.rglob(name))
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [json.loads(line) for line in text.split("\n") if line]


def train_and_test(train_file: str, test_file: str | None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of two files, or of one file whose `split` says which are the test."""
    rows = lines(train_file)
    if test_file:
        return rows, lines(test_file)
    return [r for r in rows if r["split"] == "train"], [r for r in rows if r["split"] == "test"]
