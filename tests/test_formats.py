"""What a version has written every later one reads: runs, tables and stores of embeddings that are kept, with what was read in them.

tests/data/formats/make.py makes the folder of a version.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.embed.encoders import VectorStore
from nlpkit.version import __version__
from tests.command_line import run_cli
from tests.data.formats import make

VERSIONS = sorted(path for path in make.HERE.iterdir() if (path / "expected.json").is_file())
CLASSIFIERS = ("logreg", "nb")
versions = pytest.mark.parametrize("folder", VERSIONS, ids=[path.name for path in VERSIONS])


def expected(folder: Path, name: str) -> Any:
    """What the version itself read in one of its files."""
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))[name]


def assert_equal(now: dict[str, list[Any]], before: dict[str, list[Any]]) -> None:
    """Look for every column of before: the same values, numbers to 1e-5, for the machine may be another. Columns may be added."""
    for name, values in before.items():
        if isinstance(values[0], float) or (isinstance(values[0], list) and isinstance((values[0] or [""])[0], float)):
            np.testing.assert_allclose(
                np.array(now[name], float), np.array(values, float), rtol=1e-5, atol=1e-7, err_msg=name
            )
        else:
            assert now[name] == values, name


def test_this_version_has_its_files() -> None:
    assert __version__ in [path.name for path in VERSIONS], "python -m tests.data.formats.make"


@versions
@pytest.mark.parametrize("name", make.RUNS)
def test_a_run_predicts_what_it_did(name: str, folder: Path, tmp_path: Path) -> None:
    run_cli("predict", folder / name, folder / "new.parquet", "-q", "-o", tmp_path / "out.parquet")
    assert_equal(make.read_table(tmp_path / "out.parquet"), expected(folder, name))


@versions
@pytest.mark.parametrize("name", make.RUNS)
def test_a_run_is_shown(name: str, folder: Path, tmp_path: Path) -> None:
    assert json.loads(run_cli("info", folder / name, "--json").out)["changed"] == []
    run_cli("report", folder / name, "-q", "-o", tmp_path / "page.html")
    if name not in CLASSIFIERS:
        run_cli("topics", folder / name)
        run_cli("evaluate", folder / name, "-q")


@versions
def test_tables_are_read_and_used(folder: Path, tmp_path: Path) -> None:
    for name in make.TABLES:
        assert_equal(make.read_table(folder / name), expected(folder, name))
    run_cli("tfidf", folder / "tokens.parquet", "-q", "-o", tmp_path / "again.parquet")
    assert_equal(make.read_table(tmp_path / "again.parquet"), expected(folder, "weights.parquet"))


@versions
def test_a_store_of_embeddings_is_read(folder: Path) -> None:
    before = expected(folder, make.STORE)
    there, counts, vectors = VectorStore(folder / make.STORE, make.IDENTITY, make.DIM).get(make.TEXTS)
    assert there.tolist() == before["there"] == [True, True, True, True, False]
    assert counts.tolist() == before["counts"]
    np.testing.assert_array_equal(vectors, np.array(before["vectors"], np.float32))


def test_a_difference_is_seen() -> None:
    before = {"id": ["a", "b"], "prob": [0.5, 0.25]}
    assert_equal({"id": ["a", "b"], "prob": [0.5, 0.25], "new": [1, 2]}, before)
    for now in ({"id": ["a", "c"], "prob": [0.5, 0.25]}, {"id": ["a", "b"], "prob": [0.5, 0.2501]}):
        with pytest.raises(AssertionError):
            assert_equal(now, before)
    with pytest.raises(KeyError):
        assert_equal({"id": ["a", "b"]}, before)
