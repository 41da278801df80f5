"""A command loads neither pandas nor scipy.stats, and all can be loaded afterwards; Arrow takes memory from the C library."""

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
names = "pandas", "scipy.linalg", "polars", "sklearn", "torch", "scipy.stats._stats_py", "asyncio.events"
print([name for name in names if name in sys.modules])
import pyarrow
print(pyarrow.default_memory_pool().backend_name == "system")
import numpy, scipy.linalg
print(scipy.linalg.det(numpy.eye(2)))
"""


@pytest.mark.parametrize(
    ("line", "loaded"),
    [
        ("preprocess NEWS -o made.parquet", []),
        ("nmf NEWS --k 2 -o made", ["scipy.linalg", "sklearn"]),
        ("cluster NEWS --by tfidf --k 2 -o made.parquet", ["scipy.linalg", "sklearn"]),
    ],
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


WAITING = """
import sys, threading
from nlpkit.platform.cli.light import load_less
load_less()
import sklearn.cluster, sklearn.decomposition, sklearn.linear_model
waiting = ("scipy.stats", "scipy.optimize", "scipy.interpolate", "scipy.integrate", "asyncio")
assert [type(sys.modules[name]).__name__ for name in waiting] == ["_Waiting"] * 5
start, seen = threading.Barrier(8), []
def use():
    start.wait()
    import scipy.stats, scipy.optimize
    seen.append((scipy.stats.norm, scipy.optimize.linprog))
threads = [threading.Thread(target=use) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(seen) == 8 and all(one[0] is seen[0][0] for one in seen), seen
import asyncio.events  # a part before its package
assert sys.modules["asyncio.events"] is asyncio.events and asyncio.events.AbstractEventLoop is asyncio.AbstractEventLoop
assert asyncio.events.__spec__.origin.endswith("events.py")
from asyncio import *
assert run(sleep(0, 3)) == 3
import numpy
from sklearn.covariance import MinCovDet  # with scipy.stats.chi2
from sklearn.isotonic import IsotonicRegression  # with spearmanr
from sklearn.metrics import auc, label_ranking_average_precision_score  # with trapezoid and rankdata
from sklearn.preprocessing import SplineTransformer  # with BSpline
from sklearn.linear_model import QuantileRegressor  # with linprog
x = numpy.random.default_rng(0).normal(size=(50, 3))
assert MinCovDet(random_state=0).fit(x).location_.shape == (3,)
assert len(IsotonicRegression(increasing="auto").fit(x[:, 0], x[:, 0]).f_.x) == 50
assert auc([0, 1], [0, 1]) == .5 and label_ranking_average_precision_score([[1, 0]], [[2., 1.]]) == 1
assert SplineTransformer().fit_transform(x).shape == (50, 21)
assert QuantileRegressor().fit(x, x[:, 0]).coef_.shape == (3,)
assert type(sys.modules["scipy.interpolate"]).__name__ == "module"
"""


def test_parts_of_scipy_run_when_something_of_them_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", WAITING], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
