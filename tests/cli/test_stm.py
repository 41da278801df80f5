"""nlpkit stm: covariates of documents, and what they cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nlpkit as nk
from tests.cli.conftest import planted_rows, run_cli, write_jsonl


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """The planted documents with a column for every kind of covariate."""
    rows = planted_rows()
    for i, row in enumerate(rows):
        del row["embedding"]
        row |= {
            "party name": "ab"[i % 2],
            "few": i % 3,
            "true": i % 5 == 0,
            "gap": None if i == 7 else 1.0 * i,
            "one": "x",
        }
    return write_jsonl(tmp_path / "rows.jsonl", rows)


@pytest.mark.parametrize(
    ("formula", "n_columns"),
    [
        ("label", 4),
        ("date", 2),  # texts that are all dates are numbers
        ("s(date)", 11),
        ("s(n, 4) + `party name`*factor(few)", 10),
        ("label * n", 8),
        ("true + factor(few, 2)", 4),
        ("factor(date) + 1", 84),
    ],
)
def test_covariates(rows: Path, formula: str, n_columns: int) -> None:
    run_cli("stm", rows, "--k", "4", "--prevalence", formula, "--iterations", "3", "-q", "-o", "run")
    manifest = json.loads(Path("run/manifest.json").read_text(encoding="utf-8"))
    assert manifest["parameters"]["prevalence"] == formula
    from nlpkit.io.mixture_tables import read_arrays
    from nlpkit.io.runs import open_run

    arrays = read_arrays(open_run(Path("run"), ["stm"]))
    assert arrays["gamma"].shape == (n_columns, 3)
    assert arrays["eta"].shape == (120, 3)
    theta = np.exp(np.column_stack([arrays["eta"], np.zeros(120)]))
    np.testing.assert_allclose(theta / theta.sum(axis=1, keepdims=True), nk.load("run").theta, atol=0.03)


@pytest.mark.parametrize(
    ("formula", "code", "message"),
    [
        ("label +", 2, "error: --prevalence cannot be read at its end, after 'label +'"),
        ("lable", 3, "the corpus has no column 'lable'"),
        ("gap", 3, "'gap' has no value in 1 of 120 documents"),
        ("one", 3, "'one' has 1 category, and 2 to"),
        ("s(label)", 3, "'label' is to be a number and holds text"),
        ("id", 3, "the formula 'id' has 120 columns, and there are 120 documents"),
        ("true:`party name`", 3, "follow from the others: true[True]:`party name`[b]"),
        ("few + factor(few)", 3, "follow from the others"),
    ],
)
def test_bad_covariates(rows: Path, formula: str, code: int, message: str) -> None:
    refused = run_cli("stm", rows, "--k", "4", "--prevalence", formula, "-o", "run", code=code).error()
    assert message in refused
    assert "\0" not in refused  # no column that nlpkit made for itself
    assert not Path("run").exists()


def test_without_topics_enough(rows: Path) -> None:
    assert "at least 2 topics" in run_cli("stm", rows, "--k", "1", "-o", "run", code=2).error()
    run_cli("stm", rows, "--k", "4", "--iterations", "2", "--dry-run")
    assert "had not converged after 2 steps" in run_cli("stm", rows, "--k", "4", "--iterations", "2", "-o", "run").err
