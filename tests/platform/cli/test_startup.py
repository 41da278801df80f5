"""What a command loads on ten rows: nothing that it does not use, which is most of the time it takes."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

NEWS = Path(__file__).parents[3] / "data" / "samples" / "news.jsonl"
SCRIPT = """
import sys
from nlpkit.platform.cli.app import main
sys.argv = ["nlpkit", *{words!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""
ALWAYS = (
    "torch", "sklearn", "pandas", "polars", "scipy.stats", "matplotlib", "plotly", "transformers", "pydantic",
    "numpy.f2py.f2py2e", "numpy.testing._private.utils", "charset_normalizer", "html.parser",
)  # fmt: skip
NOT_LOADED = {
    "kwic the ten.jsonl": ("numba", "scipy.linalg", "scipy.special", "scipy.optimize"),
    "info ten.jsonl": ("numba", "scipy"),
    "convert run -o topics.csv": ("numba", "scipy.special", "scipy.optimize", "scipy.linalg"),
    "preprocess ten.jsonl -o docs.parquet --min-df 1": ("cffi", "scipy.sparse", "scipy.linalg"),
    "tfidf ten.jsonl -o weights.parquet": ("cffi", "nlpkit.topics", "scipy.linalg", "scipy.special", "scipy.optimize"),
    "classify ten.jsonl --model nb --cv 2 -o model": ("cffi", "scipy.linalg", "scipy.optimize"),
    "lda-gibbs ten.jsonl --k 2 --min-df 1 --iterations 5 -o run2": ("cffi", "scipy.linalg", "scipy.optimize"),
    "collocations ten.jsonl --min-count 2": ("numba", "scipy.linalg"),
    "gsdmm ten.jsonl --k 3 --min-df 1 --iterations 5 -o run3": ("scipy.linalg", "scipy.optimize", "scipy.special"),
    "evaluate run --npmi": ("numba", "scipy.linalg", "scipy.optimize"),
    "similar ten.jsonl --id news-0001 --by tfidf -o near.parquet": ("scipy.spatial", "scipy.linalg", "scipy.optimize"),
    "stats ten.jsonl": ("numba", "nlpkit.topics", "scipy.linalg", "scipy.optimize", "scipy.special"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with ten documents and a run of theirs."""
    made = tmp_path_factory.mktemp("startup")
    with NEWS.open(encoding="utf-8") as file:
        (made / "ten.jsonl").write_text("".join(itertools.islice(file, 10)), encoding="utf-8")
    fit = "lda-gibbs ten.jsonl --k 2 --min-df 1 --iterations 5 -o run -q"
    subprocess.run([sys.executable, "-m", "nlpkit", *fit.split()], cwd=made, check=True, capture_output=True)
    return made


QUICK = ("kwic", "info", "preprocess")  # the others are long where many tests run at a time


@pytest.mark.parametrize(
    "line", [pytest.param(line, marks=[] if line.startswith(QUICK) else pytest.mark.slow) for line in NOT_LOADED]
)
def test_what_a_command_does_not_load(line: str, folder: Path) -> None:
    script = SCRIPT.format(words=[*line.split(), "-q"], heavy=(*ALWAYS, *NOT_LOADED[line]))
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"


def test_what_the_help_of_a_command_loads() -> None:
    """The modules of commands hold options alone: what they work with is loaded when they run."""
    script = (
        "import sys\n"
        "from nlpkit.platform.cli.catalogue import Commands\n"
        "for name, command in Commands().items():\n"
        "    assert not {'scipy', 'pyarrow', 'numba', 'sklearn', 'torch', 'polars'} & {*sys.modules}, name\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
