"""nlpkit finetune --protocol majority: samples, repeats, votes and ranks; bytes, and runs that are killed and go on."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.errors import InputError
from tests.command_line import files, nlpkit_process, read, run_cli, write_jsonl
from tests.finetune.finetune_data import rows, tune

TWO = ["--protocol", "majority(samples=2,repeats=2)"]
TIMED = ("manifest.json", "metrics.json", "curve.jsonl", "costs.parquet")


@pytest.fixture(autouse=True)
def _table(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "train.jsonl", rows())
    write_jsonl(tmp_path / "test.jsonl", [{**row, "id": "t" + row["id"]} for row in rows(1)])


def without_clocks(run: str) -> dict[str, bytes]:
    return {name: content for name, content in files(Path(run)).items() if name not in TIMED}


def report(run: str = "run") -> Any:
    return json.loads(Path(run, "metrics.json").read_text(encoding="utf-8"))


def test_samples_are_crossed_with_repeats_and_vote(base: Path) -> None:
    words = [*TWO, "--totals", "4,9", "--test", "test.jsonl"]
    done = tune("train.jsonl", *words, "-o", "run", base=base, method="head,full", steps=3)
    table = read("run/comparison.parquet").to_pylist()
    trained = [row for row in table if row["method"] != "majority"]
    cells = [(row["method"], row["total"], row["sample"], row["seed"]) for row in trained]
    assert sorted(cells) == sorted(
        (m, n, sample, seed) for m in ("head", "full") for n in (4, 9) for sample in (42, 43) for seed in (42, 43)
    )
    assert all(row["shots"] is None and row["training_documents"] == row["total"] for row in trained)
    votes = read("run/votes.parquet").to_pylist()
    assert [(v["method"], v["total"], v["sample"]) for v in votes] == [
        (m, n, sample) for n in (4, 9) for sample in (42, 43) for m in ("head", "full")
    ]
    costs = read("run/costs.parquet").to_pylist()
    assert [(c["method"], c["total"], c["sample"], c["seed"]) for c in costs if c["seconds"]] == cells
    for mean in report()["comparison"]:
        if mean["method"] == "majority":
            continue
        of_vote = [v["accuracy"] for v in votes if (v["method"], v["total"]) == (mean["method"], mean["total"])]
        assert (mean["runs"], mean["vote"]["mean"]["accuracy"]) == (4, pytest.approx(np.mean(of_vote)))
        assert "interval" not in mean  # of two samples
    ranks = report()["ranks"]
    assert ranks["blocks"] == 4
    assert sum(ranks["mean_rank"].values()) == pytest.approx(3)
    assert "2 samples, 2 trainings on each" in done.out
    assert "Mean ranks by accuracy, 4 samples" in done.out
    assert "apart (Nemenyi, level 0.95)" in done.err
    assert "--totals" in done.err.splitlines()[-1]
    assert "--protocol" not in done.err.splitlines()[-1]
    # a cell whose seeds are the same is what finetune makes of them
    tune("train.jsonl", "--totals", "9", "--test", "test.jsonl", "--seed", "43", "-q", "-o", "one", base=base, steps=3)
    alone = report("one")["targets"][0]["metrics"]["accuracy"]["value"]
    row = next(
        row for row in trained if (row["method"], row["total"], row["sample"], row["seed"]) == ("full", 9, 43, 43)
    )
    assert row["accuracy"] == pytest.approx(alone)
    # the same bytes on any number of threads, and a picture of the ranks
    again = ["finetune", "train.jsonl", *words, "--base", base, "--method", "head,full", "--max-steps", "3"]
    run_cli(*again, "--threads", "2", "-q", "-o", "again")
    assert without_clocks("run") == without_clocks("again")
    picture = nk.plot("run", "ranks").draws("svg")
    assert picture.startswith(b"<?xml")
    assert picture == nk.plot("again", "ranks").draws("svg")
    with pytest.raises(InputError, match="ranks is a picture of comparisons"):
        nk.plot("one", "ranks")


def test_samples_with_one_training_each_differ(base: Path) -> None:
    """Without a vote; the training of the first sample is the one that finetune does without a protocol."""
    words = ["--totals", "9", "--test", "test.jsonl"]
    done = tune("train.jsonl", *words, "--protocol", "majority(samples=3,repeats=1)", "-o", "run", base=base, steps=3)
    table = [row for row in read("run/comparison.parquet").to_pylist() if row["method"] != "majority"]
    assert [(row["sample"], row["seed"]) for row in table] == [(42, 42), (43, 42), (44, 42)]
    assert len({row["brier"] for row in table}) == 3
    assert not Path("run/votes.parquet").exists()
    assert "3 samples, 1 training on each" in done.out
    tune("train.jsonl", *words, "-q", "-o", "one", base=base, steps=3)
    assert report("one")["targets"][0]["metrics"]["brier"]["value"] == pytest.approx(table[0]["brier"])


def test_a_protocol_without_sizes_takes_the_usual_ones(base: Path) -> None:
    write_jsonl(Path("many.jsonl"), rows(12))
    done = tune("many.jsonl", *TWO, "--dry-run", "--json", "-o", "run", base=base, method="head").json()
    assert [(load["totals"], load["trainings"]) for load in done["plan"]] == [("10", 4), ("100", 4)]
    done = tune("many.jsonl", *TWO, "--dry-run", "--json", "--shots", "2", "-o", "run", base=base, method="head").json()
    assert [(load["shots"], load["training_documents"]) for load in done["plan"]] == [("2", 6)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--protocol", "lecture"], "give one of majority"),
        ([*TWO, "--seeds", "2"], "leave --seeds out"),
        ([*TWO, "--cv", "3"], "do not go together"),
        ([*TWO, "--totals", "2"], "3 classes need at least one document each"),
        ([*TWO, "--totals", "4", "--shots", "2"], "--shots and --totals do not go together"),
        ([*TWO, "--fail-under", "accuracy=0.5"], "gates"),
        ([*TWO, "--totals", "36"], "leaves no document to test on"),
    ],
)
def test_what_a_protocol_has_no_place_for(words: list[str], said: str, base: Path, tmp_path: Path) -> None:
    code = 3 if "36" in words else 2
    assert said in tune("train.jsonl", *words, "-o", "run", base=base, method="head", code=code).error()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["test.jsonl", "train.jsonl"]


def test_numbers_have_no_vote_and_one_method_no_ranks(base: Path) -> None:
    write_jsonl(Path("numbers.jsonl"), [{**row, "label": i / 7} for i, row in enumerate(rows())])
    error = tune("numbers.jsonl", *TWO, "--totals", "5", "-o", "run", base=base, method="head", code=2).error()
    assert "--protocol votes among classes, but the task is numbers" in error
    tune("numbers.jsonl", "--totals", "5,9", "-q", "-o", "sizes", base=base, method="head")
    assert {row["training_documents"] for row in read("sizes/comparison.parquet").to_pylist()} == {5, 9, None}
    with pytest.raises(InputError, match="has no ranks: two methods"):
        nk.plot("sizes", "ranks")


@pytest.mark.slow
def test_a_killed_comparison_loses_at_most_the_cell_under_way(base: Path, tmp_path: Path) -> None:
    words = [
        "finetune",
        "train.jsonl",
        "--test",
        "test.jsonl",
        *TWO,
        "--totals",
        "6",
        "--base",
        base,
        "--method",
        "full,head",
    ]
    words += ["--max-steps", "6", "--threads", "1"]
    process = nlpkit_process([*words, "-o", "run"], tmp_path)
    done = _finished_before(process, cells=4)
    process.kill()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert not Path("run").exists()
    resumed = run_cli(*words, "--resume", "-o", "run")
    assert resumed.err.count("taken from the checkpoint") >= done >= 4
    run_cli(*words, "-q", "-o", "whole")
    assert without_clocks("run") == without_clocks("whole")
    assert not Path("run.checkpoint").exists()


def _finished_before(process: subprocess.Popen[bytes], *, cells: int) -> int:
    """Wait until a process has said the scores of some cells, and return of how many."""
    assert process.stderr is not None
    seen, end = b"", time.monotonic() + 300
    while seen.count(b": accuracy") < cells and time.monotonic() < end:
        if select.select([process.stderr], [], [], 0.2)[0]:
            seen += os.read(process.stderr.fileno(), 4096)
    return seen.count(b": accuracy")
