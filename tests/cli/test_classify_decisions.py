"""nlpkit classify: what it does with numbers, thresholds and costs of errors, and how it chooses its regularisation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nlpkit as nk
from nlpkit.classify.search import AUTO
from tests.cli.conftest import NEWS, run_cli

# ---------------------------------------------------------------- a search for cost or alpha


def test_a_run_says_what_was_taken(tmp_path: Path) -> None:
    result = run_cli("classify", NEWS, "--model", "nb", "--alpha", "auto", "--cv", "3", "-o", "run")
    assert "Values of alpha" in result.out
    report = json.loads(Path("run/metrics.json").read_text())
    search = report["search"]
    assert [row["value"] for row in search["tried"]] == list(AUTO["alpha"])
    best = max(search["tried"], key=lambda row: row["macro_f1"])
    assert search["value"] == best["value"]
    assert len(search["folds"]) == 3
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert manifest["parameters"]["options"]["alpha"] == search["value"]
    # the run predicts as one that was trained with that value
    run_cli("classify", NEWS, "--model", "nb", "--alpha", search["value"], "--cv", "3", "-q", "-o", "fixed")
    weights: list[Any] = [nk.load(run).classifier.model.coef for run in ("run", "fixed")]
    assert (weights[0] == weights[1]).all()


def test_a_value_at_the_end_is_told() -> None:
    result = run_cli("classify", NEWS, "--cost", "0.001,0.01", "--cv", "2", "-o", "run")
    assert "is at the end of the values that were tried" in result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "auto", "--cost", "auto"], "compares classifiers at some costs each"),
        (["--model", "nb", "--cost", "auto"], "belongs to logreg and svm"),
        (["--alpha", "auto"], "belongs to Naive Bayes"),
        (["--cost", "1,x"], "--cost 1,x: a number above 0 is needed"),
    ],
)
def test_what_cannot_be_meant(options: list[str], message: str) -> None:
    assert message in run_cli("classify", NEWS, *options, "-o", "run", code=2).err
