"""nlpkit finetune: methods, shots and seeds side by side; trainings that are stopped and go on."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.platform.interrupts import Stop, between_steps
from tests.command_line import files, nlpkit_process, read, run_cli, write_jsonl
from tests.finetune.finetune_data import rows, stop_at, tune


@pytest.fixture(autouse=True)
def _table(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "train.jsonl", rows())
    write_jsonl(tmp_path / "test.jsonl", [{**row, "id": "t" + row["id"]} for row in rows(1)])


def compared(*words: Any, base: Path, method: str = "full", **how: Any) -> list[dict[str, Any]]:
    tune("train.jsonl", *words, "-q", "-f", "-o", "run", base=base, method=method, **how)
    found: list[dict[str, Any]] = read("run/comparison.parquet").to_pylist()
    return found


def test_a_comparison_says_how_the_best_is_trained(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["train.jsonl", "--shots", "2,all", "--test", "test.jsonl", "--max-steps", "4", "--threads", "1"]
    line = ["nlpkit", "finetune", *words, "--method", "full,setfit(R=1)", f"--base={base}", "-o", "run"]
    monkeypatch.setattr("sys.argv", line)
    done = run_cli(*line[1:])
    means = {(row["method"], row["shots"]): row["mean"]["accuracy"] for row in report()["comparison"]}
    method, shots = max((cell for cell in means if cell[0] != "majority"), key=lambda cell: means[cell])
    told = done.err.splitlines()[-1]
    assert told.startswith("a comparison keeps no model; to train the best on this test, " + method)
    command = told[told.index("nlpkit finetune") :]
    same = [*shlex.split("nlpkit finetune train.jsonl --test test.jsonl --max-steps 4 --threads 1"), f"--base={base}"]
    chosen = ["--method", method, *([] if shots is None else ["--shots", str(shots)])]
    assert shlex.split(command) == [*same, *chosen, "--output", "run.best"]
    says = run_cli("predict", "run", "test.jsonl", "-o", "p.parquet", code=3).error()
    assert f"run is a comparison, which has no model; train the best one: {command}" in says
    run_cli(*shlex.split(command)[1:])
    run_cli("predict", "run.best", "test.jsonl", "-o", "p.parquet")


def report() -> Any:
    return json.loads(Path("run/metrics.json").read_text())


# ---------------------------------------------------------------- methods side by side


def test_methods_shots_and_seeds_in_one_table(base: Path) -> None:
    more = ["--shots", "2,all", "--seeds", "2", "--test", "test.jsonl"]
    done = tune("train.jsonl", *more, "-o", "run", base=base, method="full,lora(r=2),setfit(R=1)")
    table = read("run/comparison.parquet").to_pylist()
    cells = {(row["method"], row["shots"], row["seed"]) for row in table}
    assert len(cells) == len(table)
    assert cells == {
        (m, shots, seed)
        for m in ("full", "lora(r=2)", "setfit(R=1)", "majority")
        for shots in (2, None)
        for seed in (42, 43)
    }
    own = [row for row in table if row["method"] != "majority"]
    assert {row["training_documents"] for row in own if row["shots"] == 2} == {6}
    assert {row["training_documents"] for row in own if row["shots"] is None} == {36}
    assert all(row["bytes"] > 0 for row in own)
    costs = [row for row in read("run/costs.parquet").to_pylist() if row["method"] != "majority"]
    assert {(row["method"], row["shots"], row["seed"]) for row in costs} == {
        key for key in cells if key[0] != "majority"
    }
    assert all(row["seconds"] > 0 and row["predict_seconds"] > 0 for row in costs)
    sizes = {row["method"]: row["trained_parameters"] for row in own}
    assert sizes["lora(r=2)"] < sizes["full"]
    for row in table:
        if row["method"] == "majority":
            assert row["accuracy"] == pytest.approx(1 / 3)
    # metrics.json has the means and deviations of that table
    means = {(one["method"], one["shots"]): one for one in report()["comparison"]}
    for key, one in means.items():
        values = [row["accuracy"] for row in table if (row["method"], row["shots"]) == key]
        assert one["runs"] == 2
        assert one["mean"]["accuracy"] == pytest.approx(np.mean(values))
        assert one["sd"]["accuracy"] == pytest.approx(np.std(values, ddof=1))
    curve = [json.loads(line) for line in Path("run/curve.jsonl").read_text().splitlines()]
    assert {(p["method"], p["shots"], p["seed"]) for p in curve} == {key for key in cells if key[0] != "majority"}
    assert "Methods on test documents, 2 seeds" in done.out
    assert "±" in done.out
    assert not Path("run.checkpoint").exists()
    assert "run is a comparison" in run_cli("predict", "run", "test.jsonl", "-o", "p.parquet", code=3).error()


def test_a_row_is_what_the_method_alone_comes_to(base: Path) -> None:
    table = compared("--shots", "2", "--seeds", "2", base=base, method="head,setfit(R=1)")
    tune("train.jsonl", "--shots", "2", "--seed", "43", "-q", "-f", "-o", "alone", base=base, method="setfit(R=1)")
    alone = json.loads(Path("alone/metrics.json").read_text())["targets"][0]["metrics"]
    row = next(r for r in table if r["method"] == "setfit(R=1)" and r["seed"] == 43)
    for name, score in alone.items():
        assert row[name] == pytest.approx(score["value"], abs=1e-9)


def test_sizes_share_one_test_that_is_held_out(base: Path) -> None:
    done = tune("train.jsonl", "--shots", "2,all", "-o", "run", base=base)
    assert "6 training documents, 8 test" in done.err
    table = read("run/comparison.parquet").to_pylist()
    assert [row["training_documents"] for row in table if row["method"] == "full"] == [6, 28]
    majority = {row["accuracy"] for row in table if row["method"] == "majority"}
    assert majority <= {0.25, 0.375}


def test_by_cross_validation_each_document_is_tested_once(base: Path) -> None:
    done = tune("train.jsonl", "--cv", "2", "--json", "-o", "run", base=base, method="full,head")
    assert "full, seed 42: accuracy" in done.err
    one = done.json()
    assert [c["method"] for c in one["comparison"]] == ["full", "majority", "head"] or {c["method"] for c in one["comparison"]} == {
        "full", "majority", "head"
    }  # fmt: skip
    tune("train.jsonl", "--cv", "2", "-q", "-o", "alone", base=base)
    alone = json.loads(Path("alone/metrics.json").read_text())["targets"][0]["metrics"]["accuracy"]
    assert alone["n"] == 36
    row = next(r for r in read("run/comparison.parquet").to_pylist() if r["method"] == "full")
    assert row["accuracy"] == pytest.approx(alone["value"])


def test_methods_that_do_not_fit_are_left_out(base: Path) -> None:
    done = tune("train.jsonl", "-o", "run", base=base, method="full,compacter(n=5),lora(r=999)")
    assert "warning: compacter(n=5) is left out" in done.err
    assert "warning: lora(r=999) is left out" in done.err
    assert {row["method"] for row in read("run/comparison.parquet").to_pylist()} == {"full", "majority"}
    error = tune("train.jsonl", "-o", "none", base=base, method="compacter(n=5),lora(r=999)", code=2).error()
    assert "none of the methods fits" in error
    assert (
        "r must be a whole number of 1 or more"
        in tune("train.jsonl", "-o", "none", base=base, method="full,lora(r=0)", code=2).error()
    )
    write_jsonl(Path("numbers.jsonl"), [{**row, "label": i / 7} for i, row in enumerate(rows())])
    done = tune("numbers.jsonl", "-o", "numbers", base=base, method="full,setfit")
    assert "left out" in done.err
    assert {row["method"] for row in read("numbers/comparison.parquet").to_pylist()} == {"full", "mean"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fail-under", "accuracy=0.9"], "gates"),
        (["--junit", "j.xml"], "gates"),
        (["--merge"], "--merge"),
        (["--export", "x"], "--export"),
        (["--probabilities"], "--probabilities"),
        (["--method", "full,foo"], "'foo'|foo is not known"),
        (["--method", "lora,full", "--quantize", "int8"], "and --method full adds no trainable weights"),
        (["--shots", "2,2"], "twice"),
    ],
)
def test_what_a_comparison_has_no_place_for(words: list[str], said: str, base: Path, tmp_path: Path) -> None:
    error = run_cli(
        "finetune", "train.jsonl", "--base", base, "--method", "full,head", *words, "-o", "run", code=2
    ).error()
    assert any(part in error for part in said.split("|"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["test.jsonl", "train.jsonl"]


def test_seeds_of_one_method(base: Path) -> None:
    done = tune("train.jsonl", "--seeds", "3", "-o", "run", base=base)
    spread = report()["seeds"]
    assert [row["seed"] for row in spread["runs"]] == [42, 43, 44]
    values = [row["accuracy"] for row in spread["runs"]]
    assert spread["mean"]["accuracy"] == pytest.approx(np.mean(values))
    assert spread["sd"]["accuracy"] == pytest.approx(np.std(values, ddof=1))
    assert "mean ± sd" in done.out
    kept = files(Path("run/model/classifier"))["model.safetensors"]
    assert report()["targets"][0]["metrics"]["accuracy"]["value"] == pytest.approx(values[0])
    tune("train.jsonl", "-q", "-f", "-o", "run", base=base)
    assert files(Path("run/model/classifier"))["model.safetensors"] == kept  # the model of the first seed


# ---------------------------------------------------------------- stopped, and gone on


def test_ctrl_c_of_an_encoder(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = ["--objective", "mlm(head_steps=5)", "--epochs", "10"]
    tune("train.jsonl", *more, "-q", "-o", "whole", base=base, method=None, steps=6, command="train-encoder")
    for cell, step in ((0, 3), (1, 4)):  # in the training of the head, then in that of the whole
        with monkeypatch.context() as patch:
            stop_at(step, patch, cell=cell)
            done = tune(
                "train.jsonl",
                *more,
                "-f",
                "-o",
                "run",
                base=base,
                method=None,
                steps=6,
                command="train-encoder",
                code=130,
            )
        assert "--resume" in done.err
        done = tune(
            "train.jsonl",
            *more,
            *shlex.split("--resume -f -o run"),
            base=base,
            method=None,
            steps=6,
            command="train-encoder",
        )
        assert f"mlm: continuing after step {step}" in done.err
        assert files(Path("run/model")) == files(Path("whole/model"))
        told = [(Path(run) / "curve.jsonl").read_text().splitlines() for run in ("run", "whole")]
        points = [[{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines] for lines in told]
        assert points[0] == points[1]
        assert len(points[0]) > 6
        facts = [json.loads((Path(run) / "metrics.json").read_text())["training"] for run in ("run", "whole")]
        assert facts[0]["head_steps"] == facts[1]["head_steps"] == 5


def test_a_comparison_goes_on_with_the_training_it_was_stopped_in(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        stop_at(2, patch, cell=1)
        tune("train.jsonl", "-o", "run", base=base, method="full,head,lora(r=2)", code=130)
    done = tune("train.jsonl", "--resume", "-o", "run", base=base, method="full,head,lora(r=2)")
    assert "full, seed 42: taken from the checkpoint" in done.err
    assert "head, seed 42: continuing after step 2" in done.err
    found = read("run/comparison.parquet").to_pylist()
    again = compared(base=base, method="full,head,lora(r=2)")
    clocks = ("seconds", "predict_seconds")
    assert [{k: v for k, v in row.items() if k not in clocks} for row in found] == [
        {k: v for k, v in row.items() if k not in clocks} for row in again
    ]


def test_resume_with_other_options_or_without_a_checkpoint(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = tune("train.jsonl", "--resume", "-o", "run", base=base)
    assert "there is no checkpoint run.checkpoint: starting from the beginning" in done.err
    with monkeypatch.context() as patch:
        stop_at(2, patch)
        tune("train.jsonl", "-f", "-o", "run", base=base, steps=6, code=130)
    assert Path("run/manifest.json").exists()  # the run of before
    error = tune("train.jsonl", "--resume", "-f", "-o", "run", base=base, steps=7, code=3).error()
    assert "--max-steps was 6, now 7, and every step learns at a rate that depends on how many there are" in error
    assert "which deletes it" in error
    assert (
        "the input files have changed"
        in tune("test.jsonl", "--resume", "-f", "-o", "run", base=base, steps=6, code=3).error()
    )
    error = tune("train.jsonl", "--resume", "--limit", "30", "-f", "-o", "run", base=base, steps=6, code=3).error()
    assert "limit was not given, now 30" in error
    state = Path("run.checkpoint/state.safetensors")
    whole = state.read_bytes()
    state.write_bytes(whole[:100])
    assert "damaged" in tune("train.jsonl", "--resume", "-f", "-o", "run", base=base, steps=6, code=3).error()
    state.write_bytes(whole)
    assert "continuing after step" in tune("train.jsonl", "--resume", "-f", "-o", "run", base=base, steps=6).err
    # without --resume what was left is not looked at
    with monkeypatch.context() as patch:
        stop_at(2, patch)
        tune("train.jsonl", "-f", "-o", "run", base=base, steps=6, code=130)
    assert "going on" not in tune("train.jsonl", "-f", "-o", "run", base=base, steps=6).err
    Path("other.checkpoint").mkdir()
    Path("other.checkpoint/mine.txt").write_text("mine")
    assert "--force deletes it" in tune("train.jsonl", "-o", "other", base=base, code=2).error()
    assert (
        "is not a checkpoint of nlpkit, but it has the same name;"
        in tune("train.jsonl", "-f", "-o", "other", base=base, code=3).error()
    )
    assert Path("other.checkpoint/mine.txt").exists()


def test_what_fails_after_the_training_leaves_it_in_the_checkpoint(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("nlpkit.platform.runs.runs.write_run", full)
        done = tune("train.jsonl", "-o", "run", base=base, code=3)
    assert "No space left" in done.err
    done = tune("train.jsonl", "--resume", "-o", "run", base=base)
    assert "taken from the checkpoint" in done.err
    assert read("run/documents.parquet").num_rows == 8


@pytest.mark.slow  # torch once more; the ones above send it to this process
def test_ctrl_c_in_a_process_of_its_own(base: Path, tmp_path: Path) -> None:
    words = ["finetune", "train.jsonl", "--base", base, "--method", "full", "--max-steps", "2000", "--epochs", "2000"]
    process = nlpkit_process([*words, "--threads", "1", "--progress", "-o", "run"], tmp_path)
    _wait_for(process, b"loss")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out == b""
    assert b"the same command with --resume" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.checkpoint", "test.jsonl", "train.jsonl"]


def _wait_for(process: subprocess.Popen[bytes], text: bytes) -> None:
    assert process.stderr is not None
    seen, end = b"", time.monotonic() + 300
    while text not in seen and time.monotonic() < end:
        if select.select([process.stderr], [], [], 0.2)[0]:
            found = os.read(process.stderr.fileno(), 4096)
            if not found:
                break
            seen += found
    assert text in seen, seen


# ---------------------------------------------------------------- the signal


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_stop_that_is_lost_comes_with_the_next_step() -> None:
    class Left:
        def __del__(self) -> None:  # what is raised in here is lost
            os.kill(os.getpid(), signal.SIGINT)

    def work(stop: Stop, left: list[Left]) -> None:
        left.clear()
        done.append("whole")
        stop.step(1, 3)
        done.append("late")

    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), between_steps() as stop:
        work(stop, [Left()])
    assert done == ["whole"]


def test_a_stop_waits_for_the_step_and_a_second_one_does_not() -> None:
    def early(stop: Stop) -> None:
        os.kill(os.getpid(), signal.SIGINT)  # nothing is trained yet
        time.sleep(5)
        stop.step(1, 3)

    with pytest.raises(KeyboardInterrupt), between_steps() as stop:
        early(stop)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    done: list[str] = []

    def work(stop: Stop, twice: bool) -> None:
        stop.step(1, 3)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        done.append("whole")
        if twice:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
            done.append("late")
        stop.step(2, 3)
        done.append("late")

    for twice in (False, True):
        done.clear()
        with pytest.raises(KeyboardInterrupt), between_steps() as stop:
            work(stop, twice)
        assert done == ["whole"]

    def ended(stop: Stop) -> None:
        stop.step(1, 3)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        done.append("ended")  # by early stopping: what was pressed is not forgotten

    done.clear()
    with pytest.raises(KeyboardInterrupt), between_steps() as stop:
        ended(stop)
    assert done == ["ended"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_others_and_threads_are_left_alone() -> None:
    mine: Callable[..., None] = lambda *_: None  # noqa: E731
    usual = signal.signal(signal.SIGINT, mine)
    try:
        with between_steps():
            assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, usual)
    failed: list[BaseException] = []

    def enter() -> None:
        try:
            with between_steps() as stop:
                stop.step(1, 1)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert not failed


def test_auto_is_one_method_for_all_sizes(base: Path) -> None:
    write_jsonl(Path("many.jsonl"), rows(20))
    for sizes in ("4,70", "70,4"):
        error = tune("many.jsonl", "--shots", sizes, "-o", "no", base=base, method="auto", code=2).error()
        assert "setfit for 4" in error
        assert "full for 70" in error
        assert "name the methods to compare: --method" in error
    assert "--method auto: setfit" in tune("many.jsonl", "--shots", "2,4", "--dry-run", base=base, method="auto").err


def test_a_comparison_warns_of_what_a_single_run_warns_of(base: Path) -> None:
    own = [*rows(), {"id": "x", "text": None, "label": "sport"}]
    write_jsonl(Path("some.jsonl"), own)
    write_jsonl(Path("again.jsonl"), [{**row, "id": f"t{i}"} for i, row in enumerate(rows()[:6])])
    done = tune("some.jsonl", "--test", "again.jsonl", "--shots", "2,20", "-o", "run", base=base, method="head")
    assert "classes with fewer than 20 documents: 'politics' (12)" in done.err
    assert "dropped.parquet" in done.err
    assert "2 at most" not in done.out
    assert "20 at most" in done.out
    assert "test documents are near-duplicates of a training document" in done.err
    done = tune("some.jsonl", "--test", "again.jsonl", "-f", "-o", "run", base=base, method="head,full")
    assert "test documents are near-duplicates of a training document" in done.err
