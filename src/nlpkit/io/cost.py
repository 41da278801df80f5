"""What a run costs, as its manifest has it: seconds of each stage and peak memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any


def peak_memory_mb() -> int:
    """Return the peak resident memory of this process in MB, 0 on Windows, where it is not measured."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss starts with what the process that started this one had
        return round(int(status.read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) / 1024)
    try:
        resource: Any = import_module("resource")
    except ImportError:  # Windows has none
        return 0
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024))


@contextmanager
def stopwatch(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the wall seconds of a block to seconds[stage]."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - start
