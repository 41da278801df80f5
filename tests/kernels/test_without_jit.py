"""The kernels are also plain Python: the same tests pass without the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif(
    "1" in (os.environ.get("NUMBA_DISABLE_JIT"), os.environ.get("NUMBA_BOUNDSCHECK")),
    reason="is that run, or one of its like",
)
def test_kernels_pass_without_jit() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(HERE)],
        cwd=HERE.parents[1],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
