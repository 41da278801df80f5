"""A command loads neither pandas nor scipy.linalg, and both can be loaded afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NEWS = Path(__file__).parents[2] / "data" / "samples" / "news.jsonl"
SCRIPT = """
import sys
from nlpkit.cli.app import main
sys.argv = ["nlpkit", "preprocess", {news!r}, "-o", "docs.parquet", "-q"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print([name for name in ("pandas", "scipy.linalg", "polars", "sklearn", "torch") if name in sys.modules])
import numpy, scipy.linalg
print(scipy.linalg.det(numpy.eye(2)))
"""


def test_preprocess_loads_little(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(news=str(NEWS))], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["[]", "1.0"], done.stderr
    assert (tmp_path / "docs.parquet").exists()
