"""A command loads neither pandas nor scipy.linalg, and both can be loaded afterwards; Arrow takes memory from the C library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

NEWS = Path(__file__).parents[3] / "data" / "samples" / "news.jsonl"
SCRIPT = """
import sys
from nlpkit.platform.cli.app import main
sys.argv = ["nlpkit", *{arguments!r}, "-q"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print([name for name in ("pandas", "scipy.linalg", "polars", "sklearn", "torch") if name in sys.modules])
import pyarrow
print(pyarrow.default_memory_pool().backend_name == "system")
import numpy, scipy.linalg
print(scipy.linalg.det(numpy.eye(2)))
"""


@pytest.mark.parametrize(
    ("line", "loaded"),
    [("preprocess NEWS -o made.parquet", []), ("nmf NEWS --k 2 -o made", ["scipy.linalg", "sklearn"])],
)
def test_commands_load_little(tmp_path: Path, line: str, loaded: list[str]) -> None:
    arguments = [str(NEWS) if word == "NEWS" else word for word in line.split()]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(arguments=arguments)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-3:] == [str(loaded), str(sys.platform == "linux"), "1.0"], done.stderr
    assert (tmp_path / arguments[-1]).exists()


THREADS = """
import sys, threading
import numpy
from nlpkit.platform.cli.light import load_less
load_less()
assert not [name for name in ("numpy.ma", "numpy.testing", "numpy.f2py", "numpy.polynomial") if name in sys.modules]
import scipy.sparse
start, seen = threading.Barrier(8), []
def use():
    start.wait()
    seen.append((numpy.ma.MaskedArray, numpy.polynomial.Polynomial))
threads = [threading.Thread(target=use) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(seen) == 8 and len(set(seen)) == 1, seen
from numpy.testing import assert_equal
import numpy.ma.mrecords
assert numpy.testing.assert_equal is assert_equal
assert numpy.ma is sys.modules["numpy.ma"]
"""


def test_modules_of_numpy_are_loaded_by_whoever_uses_them_first() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
