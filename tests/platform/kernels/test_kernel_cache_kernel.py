"""Compiled kernels on the disk: processes that compile at the same time, and sources that change, never swap their code."""

from __future__ import annotations

import io
import logging
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
import pytest

from nlpkit.platform import kernels

KERNELS = """
from nlpkit.platform.kernels import njit

@njit(nogil=True)
def twice(x):
    return {of_two}

@njit(nogil=True)
def total(values):
    s = twice(values[0]) * 0
    for value in values:
        s += twice(value)
    return s
"""
USE = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from some_kernels import total
kind = sys.argv[1]
while time.time() < float(sys.argv[2]):  # all compile at the same time
    pass
with ThreadPoolExecutor(4) as threads:
    print(*set(threads.map(total, [np.arange(4).astype(kind)] * 4)))
"""
JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def started(tmp_path: Path, kind: str, at: float = 0.0, use: str = USE) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", use, kind, str(at)]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def result(process: subprocess.Popen[str]) -> float:
    out, err = process.communicate()
    assert process.returncode == 0, err
    (value,) = out.split()
    return float(value)


@pytest.mark.slow
@pytest.mark.skipif(not JIT, reason="nothing is compiled then")
def test_processes_that_compile_at_the_same_time(tmp_path: Path) -> None:
    (tmp_path / "some_kernels.py").write_text(KERNELS.format(of_two="2 * x"))
    kinds = ["int32", "int64", "float32", "float64"]
    at = time.time() + 3
    assert [result(process) for process in [started(tmp_path, kind, at) for kind in kinds]] == [12.0] * 4
    assert [result(started(tmp_path, kind)) for kind in kinds] == [12.0] * 4
    names = [path.name for path in (tmp_path / "cache").rglob("*.nbc")]
    assert len(names) >= 2 * len(kinds)  # two kernels
    assert all(len(name.split(".")[-2]) == 24 for name in names)  # named by what is in them


@pytest.mark.skipif(not JIT, reason="nothing is compiled then")
def test_a_kernel_whose_source_is_in_another_file_is_not_read_from_the_disk_after_a_change(tmp_path: Path) -> None:
    """Its code is compiled into that of the kernel that calls it, whose own file is as before (nlpkit#53: "don't Haus don't")."""
    (tmp_path / "nlpkit_called.py").write_text(KERNELS.format(of_two="2 * x"))
    (tmp_path / "some_kernels.py").write_text(
        "from nlpkit.platform.kernels import njit\nfrom nlpkit_called import total as inner\n\n"
        "@njit(nogil=True)\ndef total(values):\n    return inner(values)\n"
    )
    assert result(started(tmp_path, "int64")) == 12.0
    (tmp_path / "nlpkit_called.py").write_text(KERNELS.format(of_two="3 * x"))
    assert result(started(tmp_path, "int64")) == 18.0


@pytest.mark.skipif(not JIT, reason="nothing is compiled then")
def test_no_two_contents_have_one_name(tmp_path: Path) -> None:
    """Two processes that know nothing of each other's index, as when both began with an empty folder."""
    files = kernels._cache(plain)._cache_file
    one, other = (type(files)(str(tmp_path), "plain-1.py311", "stamp") for _ in range(2))
    empty = one._load_index
    one.save("int", b"code for int")
    other._load_index = dict  # read before the first was saved
    other.save("float", b"code for float")
    index = empty()
    assert index.keys() == {"float"}  # the first is compiled again some day
    assert one.load("float") == b"code for float"
    assert one.load("int") is None
    assert {pickle.loads(path.read_bytes()) for path in tmp_path.glob("*.nbc")} == {b"code for int", b"code for float"}
    newer = type(files)(str(tmp_path), "plain-1.py311", "another source")
    assert newer.load("float") is None
    newer.save("float", b"newer code")
    assert newer.load("float") == b"newer code"


def plain(x: int) -> int:
    return x + 1


def test_a_kernel_is_a_function_with_a_name() -> None:
    kernel = kernels.njit(nogil=True)(plain)
    assert kernel.__name__ == "plain"
    assert kernel.py_func is plain
    assert kernel(np.int64(2)) == 3


@kernels.njit(nogil=True)
def moved(x: int, by: int) -> int:
    return x + by


@kernels.njit(nogil=True)
def moved_twice(x: int) -> int:
    return 10 * moved(x, 3) + moved(x, -1)


@pytest.mark.skipif(not JIT, reason="nothing is compiled then")
def test_a_kernel_is_not_compiled_anew_for_each_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.caching import NullCache

    monkeypatch.setattr(kernels, "_cache", lambda function: NullCache())  # else nothing is compiled the second time
    for kernel in (moved, moved_twice):
        monkeypatch.setattr(kernel, "_compiled", None)
    assert moved_twice(np.int64(2)) == 51
    assert len(moved.signatures) == 1


SCRIPT = """
import sys
import nlpkit.text.kernels.scan, nlpkit.platform.kernels.idtable, nlpkit.topics.base.kernels
for name in ("pytestmark", "_pytestfixturefunction", "__wrapped__", "setup"):  # as pytest looks for
    getattr(nlpkit.platform.kernels.idtable.with_room, name, None)
print("numba" in sys.modules)
"""


def test_kernels_are_imported_without_numba() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


@pytest.mark.skipif(not JIT, reason="nothing is compiled then")
def test_a_kernel_from_the_disk_is_run_without_the_rules_of_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "some_kernels.py").write_text(
        KERNELS.format(of_two="np.full(3, x).sum() - x").replace("njit\n", "njit\nimport numpy as np\n", 1)
    )
    assert result(started(tmp_path, "int64")) == 12.0  # compiles
    use = f"{USE}\nassert 'numba.np.polynomial.polynomial_core' not in sys.modules"
    assert result(started(tmp_path, "int64", use=use)) == 12.0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.skipif(not JIT, reason="nothing is compiled then")
@pytest.mark.parametrize(("stream", "times"), [(Terminal, 1), (io.StringIO, 0)])
def test_a_terminal_is_told_once_that_something_compiles(
    stream: type[io.StringIO],
    times: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    kernels._say_that_it_compiles.cache_clear()
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    compiled = kernels.njit()(lambda x: x + 1)
    with caplog.at_level(logging.INFO, "nlpkit"):
        assert compiled(1) == 2
        assert compiled(1.5) == 2.5
        assert [record.message.partition(":")[0] for record in caplog.records] == [
            "compiling loops for this processor"
        ] * times
        caplog.clear()
        kernels._say_that_it_compiles.cache_clear()
        assert kernels.njit()(compiled.py_func)(1) == 2  # from the disk
        assert not caplog.records
