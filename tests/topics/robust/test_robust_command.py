"""nlpkit robust: a grid of fits, runs that exist, segments; what other commands make of it, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

import nlpkit as nk
from nlpkit.metrics.labels.clustering import adjusted_mutual_information
from nlpkit.platform.runs.runs import open_run
from nlpkit.topics.robust import grid
from nlpkit.topics.robust.options import RobustOptions, listed_numbers
from tests.command_line import read, run_cli, write_jsonl
from tests.grids import bytes_of, kill_first_worker
from tests.refusals import refuses

LINE = ("--models", "nmf,bertopic", "--k", "3,4,6", "--seeds", "2", "-q")


@pytest.fixture(scope="module")
def robust(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Robust topics of two kinds of models, three numbers and two seeds, on the planted corpus of four topics."""
    target = tmp_path_factory.mktemp("robust") / "robust"
    run_cli("robust", planted, *LINE, "-o", target)
    return target


def test_the_four_planted_topics_come_back(robust: Path) -> None:
    topics = read(robust / "topics.parquet").to_pylist()
    robust_ones = [row for row in topics if row["runs"] is not None]
    assert len(robust_ones) == 4
    assert all(row["runs"] >= 8 and row["of_runs"] == 12 for row in robust_ones)
    assert all(row["label"] == "not robust" for row in topics if row["runs"] is None)
    assert [row["topic"] for row in topics] == list(range(len(topics)))
    documents = read(robust / "documents.parquet")
    labels = pc.dictionary_encode(documents["label"].combine_chunks()).indices.to_numpy()
    assert adjusted_mutual_information(documents["topic"].to_numpy().astype(np.int32), labels.astype(np.int32)) > 0.95


def test_each_fit_is_a_run_and_the_first_of_a_number_leaves_nothing_out(robust: Path) -> None:
    runs = read(robust / "robust_runs.parquet").to_pylist()
    assert [(row["model"], row["topics"], row["seed"]) for row in runs] == [
        (model, k, seed) for model in ("nmf", "bertopic") for k in (3, 4, 6) for seed in (42, 43)
    ]
    assert [row["documents"] for row in runs] == [120, 108] * 6
    for row in runs:
        assert open_run(Path(row["path"])).manifest["kind"] == row["model"]
        assert open_run(Path(row["path"])).table("documents").num_rows == row["documents"]


def test_tables_agree_with_the_runs(robust: Path) -> None:
    members = read(robust / "robust_members.parquet").to_pylist()
    runs = read(robust / "robust_runs.parquet").to_pylist()
    for topic in read(robust / "topics.parquet").to_pylist():
        k = topic["topic"] if topic["runs"] is not None else -1
        held = [row for row in members if row["topic"] == k]
        if k < 0:
            continue
        numbers = {row["run"] for row in held}
        assert topic["runs"] == len(numbers) == held[0]["cluster_runs"]
        assert topic["k_low"] == min(runs[r]["topics"] for r in numbers)
        shares = [sum(row["share"] for row in held if row["run"] == r) for r in numbers]
        assert topic["mean_share"] == pytest.approx(np.mean(shares))
        assert (topic["low"], topic["high"]) == pytest.approx((min(shares), max(shares)))
    hard = next(row for row in runs if (row["model"], row["topics"], row["seed"]) == ("bertopic", 4, 43))
    documents = open_run(Path(hard["path"])).table("documents").to_pylist()
    one = next(row for row in members if row["run"] == hard["run"] and row["topic"] >= 0)
    assert one["share"] == pytest.approx(np.mean([row["topic"] == one["run_topic"] for row in documents]))
    label = {row["id"]: row["label"] for row in documents}
    for value in set(label.values()):
        share = np.mean([row["topic"] == one["run_topic"] for row in documents if row["label"] == value])
        stored = read(robust / "robust_run_shares.parquet").to_pylist()
        found_one = [
            row["share"] for row in stored
            if (row["column"], row["value"], row["topic"], row["run"]) == ("label", value, one["topic"], hard["run"])
        ]  # fmt: skip
        assert found_one == [pytest.approx(share)]


def test_words_have_their_spread(robust: Path) -> None:
    rows = [row for row in read(robust / "robust_terms.parquet").to_pylist() if row["topic"] == 0]
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    assert all(row["low"] <= row["mean"] <= row["high"] for row in rows)
    assert rows[0]["runs_in_top"] == rows[0]["runs"]
    means = [row["mean"] for row in rows]
    assert means == sorted(means, reverse=True)
    phi = {row["term"]: row["weight"] for row in read(robust / "topic_terms.parquet").to_pylist() if row["topic"] == 0}
    assert phi[rows[0]["term"]] == pytest.approx(rows[0]["mean"], rel=1e-3)


def test_other_commands_read_it(robust: Path, planted: Path, tmp_path: Path) -> None:
    run_cli("predict", robust, planted, "-q", "-o", "again.parquet")
    assert read(Path("again.parquet"))["topic"].equals(read(robust / "documents.parquet")["topic"])
    new = write_jsonl(
        tmp_path / "new.jsonl", [{"text": read(robust / "topics.parquet")["top_terms"][1].as_py()[0] * 1}]
    )
    row = json.loads(run_cli("predict", robust, new, "-q", "-o", "-").out.splitlines()[0])
    assert row["topic"] == 1
    scores = run_cli("evaluate", robust, "--metrics", "npmi,ami", "--json", "-q").json()["targets"][0]["metrics"]
    assert scores["ami"]["value"] > 0.95
    run_cli("report", robust, "-q", "-o", "r.html")
    assert "Wilkerson" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "came back in at least 50%" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "run (robust)" in run_cli("info", robust).out
    assert run_cli("topics", robust, "--by", "label", "--json", "-q").json()
    assert run_cli("diff", robust, robust, "--json").json()["relations"]["matched"] >= 4
    model = nk.load(robust)
    assert model.shares.column("column").unique().to_pylist() == ["", "label"]
    assert model.top_documents(0, top=2).num_rows == 2


def test_a_picture_of_the_shares(robust: Path, planted_lda: Path, tmp_path: Path) -> None:
    run_cli("plot", robust, "robust", "-q", "-o", "shares.svg")
    text = (tmp_path / "shares.svg").read_text(encoding="utf-8")
    assert text.startswith("<?xml") or "<svg" in text
    assert "by date" not in text
    assert "known; give label" in run_cli("plot", robust, "robust", "--by", "date", "-o", "x.svg", code=2).error()
    assert "of robust topics" in run_cli("plot", planted_lda, "robust", "-o", "x.svg", code=3).error()


def test_runs_that_exist_give_the_same_topics(robust: Path, tmp_path: Path) -> None:
    runs = [row["path"] for row in read(robust / "robust_runs.parquet").to_pylist()]
    run_cli("robust", *runs, "-q", "-o", "again")
    ours, theirs = (read(folder / "topics.parquet") for folder in (robust, Path("again")))
    for name in ("runs", "mean_share", "low", "high", "similarity", "top_terms", "size"):
        assert ours[name].to_pylist() == theirs[name].to_pylist()
    run_cli("robust", f"{robust}.fits", "-q", "-o", "folder")
    assert read(Path("folder/topics.parquet"))["top_terms"].to_pylist() == ours["top_terms"].to_pylist()
    model = nk.robust_topics(runs[:4], min_runs=0.75)
    assert model.summary["runs"] == 4


def test_the_result_does_not_depend_on_threads_and_is_the_same_twice(planted: Path, tmp_path: Path) -> None:
    for threads in (1, 2):
        run_cli("robust", planted, *LINE, "--threads", threads, "-o", f"t{threads}")
    for name in ("topics", "doc_topics", "robust_members", "robust_shares", "robust_terms", "documents"):
        assert read(Path(f"t1/{name}.parquet")).equals(read(Path(f"t2/{name}.parquet"))), name


def test_segments_share_topics_or_have_some_of_their_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = {
        "sea": "boat sail harbour wave anchor tide deck",
        "law": "judge court lawyer trial jury verdict appeal",
        "farm": "cow barn field tractor harvest wheat plough",
    }
    rows = [
        {"id": f"{party}{n}", "party": party, "text": " ".join(rng.choice(words[subject].split(), 12))}
        for party, subjects in (("left", ("sea", "law")), ("right", ("sea", "farm")))
        for n in range(40)
        for subject in [subjects[n % 2]]
    ]
    rows.append({"id": "none", "party": None, "text": "boat sail harbour wave"})
    write_jsonl(tmp_path / "parties.jsonl", rows)
    run_cli(
        "robust", "parties.jsonl", "--models", "nmf", "--k", "2,3", "--seeds", "2", "--by", "party", "-q", "-o", "run"
    )
    topics = {
        row["top_terms"][0]: row for row in read(Path("run/topics.parquet")).to_pylist() if row["runs"] is not None
    }
    segments = {
        subject: row["segments"] for row in topics.values() for subject, text in words.items()
        if row["top_terms"][0] in text.split()
    }  # fmt: skip
    assert segments == {"sea": ["left", "right"], "law": ["left"], "farm": ["right"]}
    assert {row["of_runs"] for row in topics.values()} == {4, 8}
    assert set(read(Path("run/robust_runs.parquet"))["segment"].to_pylist()) == {"left", "right"}
    shown = run_cli("robust", "run.fits", "-o", "x", code=3)
    assert "have no document ID in common" in shown.error()
    documents = {row["id"]: row["topic"] for row in read(Path("run/documents.parquet")).to_pylist()}
    assert documents["left0"] == documents["right0"]


def test_segments_that_cannot_be(planted: Path, tmp_path: Path) -> None:
    one = ("robust", planted, "--models", "nmf", "--k", "2", "--seeds", "1", "-q", "-o", "x")
    assert "found 1" in run_cli(*one, "--by", "label", "--keep-if", "label == 'music'", code=3).error()
    assert "have one document" in run_cli(*one, "--by", "n", code=3).error()
    assert "no column 'parti'" in run_cli(*one, "--by", "parti", code=3).error()
    assert not (tmp_path / "x.fits").exists()
    with refuses("match"):
        RobustOptions(by="label", match="documents")


def change_fit(patch: pytest.MonkeyPatch, fit: Callable[..., Any]) -> Callable[..., Any]:
    """Let a grid fit by another function; returns the one it had."""
    had: Callable[..., Any] = vars(grid)["_fit"]
    patch.setattr("nlpkit.topics.robust.grid._fit", fit)
    return had


def test_an_interrupted_grid_goes_on(robust: Path, planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopping(fit: grid.Fit, run: str, **how: Any) -> None:
        if str(fit) == "bertopic-k4-s42":
            raise KeyboardInterrupt
        here(fit, run, **how)

    line = ("robust", planted, *LINE, "-o", "half")
    with monkeypatch.context() as patch:
        here = change_fit(patch, stopping)
        done = run_cli(*line, code=130)
    assert "the grid of fits is saved in half.fits: the same command with --resume goes on with it" in done.error()
    assert not Path("half").exists()
    kept = sorted(path.name for path in Path("half.fits/runs").iterdir())
    assert len(kept) == 8
    assert "already exists; continue its fits with --resume" in run_cli(*line, code=2).error()
    times = {name: (Path("half.fits/runs") / name / "manifest.json").stat().st_mtime_ns for name in kept}
    run_cli(*line, "--resume")
    assert {name: (Path("half.fits/runs") / name / "manifest.json").stat().st_mtime_ns for name in kept} == times
    for name in ("topics", "doc_topics", "robust_members", "robust_shares"):
        assert read(Path(f"half/{name}.parquet")).equals(read(robust / f"{name}.parquet")), name
    assert "with other seed" in run_cli(*line, "--resume", "--force", "--seed", "7", code=3).error()
    more = run_cli("robust", planted, "--models", "nmf", "--k", "3,4,5,6", "--seeds", "2", "--resume", "--force", "--json", "-q",
                   "-o", "half").json()  # fmt: skip
    assert more["runs"] == 8
    assert len(list(Path("half.fits/runs").iterdir())) == 14


def test_a_fit_that_fails_leaves_the_others(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ("robust", planted, "--models", "nmf", "--k", "3,4000", "--seeds", "1", "-q", "-o", "big")
    assert "the fit nmf-k4000-s42 failed: --k 4000" in run_cli(*line, code=3).error()
    assert [path.name for path in Path("big.fits/runs").iterdir()] == ["nmf-k3-s42"]


def test_workers_and_parts_make_the_bytes_of_one_process(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job of an array of two is not done; the worker that makes its fit is killed in the middle."""
    line = ("robust", planted, "--models", "nmf", "--k", "3,4", "--seeds", "1", "-o", "run")
    for name in ("one", "several"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    run_cli(*line)
    monkeypatch.chdir(tmp_path / "several")
    part = run_cli(*line, "--shard", "2/2", "--json")
    assert part.json() == {"part": "2/2", "fits": 1, "directory": "run.fits"}
    assert "the same command with --resume instead of --shard" in part.err
    assert not Path("run").exists()
    with monkeypatch.context() as patch:
        killed = kill_first_worker(patch)
        done = run_cli(*line, "--resume", "--workers", "5")
    assert len(killed) == 1
    assert "warning: fit nmf-k3-s42 is made again: process " in done.err
    one, several = (bytes_of(tmp_path / name) for name in ("one", "several"))
    assert len(one) > 20
    assert several == one


def test_parts_that_cannot_be(planted: Path, planted_lda: Path, planted_run: Path) -> None:
    line = ("robust", planted, "--models", "nmf", "--k", "3,4", "--seeds", "1", "-q", "-o", "run")
    assert "the grid has 2 fits" in run_cli(*line, "--shard", "1/3", code=2).error()
    assert "--shard takes I/N" in run_cli(*line, "--shard", "3/2", code=2).error()
    assert "--force would delete the fits" in run_cli(*line, "--shard", "1/2", "--force", code=2).error()
    assert "have one document" in run_cli(*line, "--shard", "1/2", "--by", "n", code=3).error()
    assert not Path("run.fits").exists()
    run_cli(*line, "--shard", "1/2")
    assert "with other seed" in run_cli(*line, "--shard", "1/2", "--seed", "7", code=3).error()
    Path("foreign.fits").mkdir()
    Path("foreign.fits/thesis.txt").write_text("years of work")
    assert "foreign.fits exists" in run_cli(*line[:-1], "foreign", "--shard", "1/2", code=2).error()
    runs = ("robust", planted_lda, planted_run, "-o", "x")
    for option in (("--shard", "1/2"), ("--workers", "2"), ("--ray", "local")):
        assert f"{option[0]} is an option of fits" in run_cli(*runs, *option, code=2).error()


def test_runs_that_do_not_go_together(
    planted: Path, planted_lda: Path, planted_run: Path, robust: Path, tmp_path: Path
) -> None:
    assert "at least 2 runs" in run_cli("robust", planted_lda, "-o", "x", code=2).error()
    assert "is named twice" in run_cli("robust", planted_lda, planted_lda, "-o", "x", code=2).error()
    assert "not in both" in run_cli("robust", planted_lda, planted, "-o", "x", code=2).error()
    assert (
        "--k is an option of fits" in run_cli("robust", planted_lda, planted_run, "--k", "5", "-o", "x", code=2).error()
    )
    assert "holds robust topics" in run_cli("robust", planted_lda, robust, "-o", "x", code=3).error()
    others = [{"id": f"q{n}", "text": "river boat sail harbour" if n % 2 else "court judge lawyer"} for n in range(40)]
    run_cli("nmf", write_jsonl(tmp_path / "others.jsonl", others), "--k", "2", "-q", "-o", "others")
    assert "no document ID in common" in run_cli("robust", planted_lda, "others", "-o", "x", code=3).error()
    same = [
        {"id": f"p{n:03d}", "text": "river boat sail harbour" if n % 2 else "court judge lawyer"} for n in range(120)
    ]
    run_cli("nmf", write_jsonl(tmp_path / "same.jsonl", same), "--k", "2", "-q", "-o", "same")
    assert "different texts with the same IDs" in run_cli("robust", planted_lda, "same", "-o", "x", code=3).error()
    line = ("robust", planted_lda, "others", "--match", "words", "--json", "-q", "-o", "words")
    matched = run_cli(*line, "--min-runs", "1").json()
    assert (matched["robust_topics"], matched["documents"]) == (2, 120)  # rivers and courts
    runs = [row["documents"] for row in matched["robust_runs"]]
    assert runs == [120, 0]
    both = run_cli("robust", planted_lda, planted_run, "--json", "-q", "-o", "both").json()
    assert (both["runs"], both["robust_topics"]) == (2, 4)
    assert both["models"] == ["bertopic", "lda-gibbs"]


def test_options_that_cannot_be() -> None:
    for name, settings in (
        ("seeds", {"k": 5, "seeds": 1}), ("k", {"k": "auto"}), ("k", {"k": "1:3"}), ("threshold", {"threshold": "high"}),
        ("threshold", {"threshold": 0}), ("threshold", {"threshold": 1.5}), ("models", {"models": "lda,what"}),
        ("min_runs", {"min_runs": 0}), ("leave_out", {"leave_out": 0.6}), ("match", {"match": "letters"}),
    ):  # fmt: skip
        with refuses(name):
            nk.robust_topics(["a text"], **settings)
    assert listed_numbers("10:30", "x") == (10, 15, 20, 25, 30)


def test_nothing_comes_back_from_texts_at_random() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{v}" for v in rng.integers(0, 400, 12)) for _ in range(80)]
    with pytest.raises(nk.errors.InputError, match="no topic came back"):
        nk.robust_topics(texts, models="lda", k="8,10", seeds=3, min_runs=1.0, threshold=0.6, min_df=1)


def test_dry_run_writes_nothing(planted: Path, planted_lda: Path, planted_run: Path) -> None:
    assert run_cli("robust", planted, "--k", "5:25:10", "--dry-run", "--json", "-o", "x").json()["fits"] == 9
    assert run_cli("robust", planted_lda, planted_run, "--dry-run", "--json", "-o", "x").json()["runs"] == 2
    assert not Path("x").exists()
    assert not Path("x.fits").exists()


def test_two_values_are_compared_run_by_run(planted: Path, tmp_path: Path) -> None:
    documents = read(planted).select(["text", "label"]).to_pylist()
    halves = [{**row, "half": "a" if n % 2 else "b"} for n, row in enumerate(documents)]
    line = ("robust", write_jsonl(tmp_path / "halves.jsonl", halves), "--models", "nmf", "--k", "3:6:1", "--seeds", "1")
    shown = run_cli(*line, "--shares-by", "half,label", "-q", "-o", tmp_path / "run").out
    assert shown.count("a more in") == 1  # label has four values
    of_halves = shown.partition("Share of each topic by half")[2].splitlines()
    of_runs: dict[int, dict[int, dict[str, float]]] = {}
    for row in read(tmp_path / "run" / "robust_run_shares.parquet").to_pylist():
        if row["column"] == "half":
            of_runs.setdefault(row["topic"], {}).setdefault(row["run"], {})[row["value"]] = row["share"]
    for topic, runs in of_runs.items():
        more = sum(shares["a"] > shares["b"] for shares in runs.values())
        shown_row = next(text for text in of_halves if text.split()[:1] == [str(topic)])
        assert shown_row.split()[-1] == f"{more}/{len(runs)}"
