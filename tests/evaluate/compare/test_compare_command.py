"""nlpkit compare: what stands in its table, how it goes on, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.evaluate.compare import run as compare
from nlpkit.evaluate.compare.options import CompareOptions
from nlpkit.evaluate.compare.run import load_comparison
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.report.comparison_pages import number_curves
from tests.command_line import NEWS, read, run_cli, write_jsonl
from tests.grids import bytes_of, kill_first_worker
from tests.llm_server import said, serving
from tests.refusals import refuses


@pytest.fixture(scope="module")
def compared(planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, two numbers of topics, two seeds, on the planted corpus."""
    target = tmp_path_factory.mktemp("compare") / "compared"
    run_cli("compare", planted, "--models", "nmf,plsa", "--k", "2,4", "--seeds", "2", "-q", "-o", target)
    return target


def test_a_row_for_each_fit_and_means_of_them(compared: Path) -> None:
    fits, summary = read(compared / "fits.parquet").to_pylist(), read(compared / "summary.parquet").to_pylist()
    assert [(row["model"], row["k"], row["seed"]) for row in fits] == [
        (model, k, seed) for model in ("nmf", "plsa") for k in (2, 4) for seed in (42, 43)
    ]
    for row in summary:
        several = [fit for fit in fits if (fit["model"], fit["k"]) == (row["model"], row["k"])]
        assert row["fits"] == len(several) == 2
        for name in ("npmi", "diversity", "ami", "perplexity", "stability_words", "seconds", "memory_mb"):
            values = [fit[name] for fit in several]
            assert row[name] == pytest.approx(np.mean(values))
            one_pair = name == "stability_words"
            assert row[f"{name}_sd"] == (None if one_pair else pytest.approx(np.std(values, ddof=1)))
    best = max((row for row in summary), key=lambda row: row["ami"])
    assert best["k"] == 4
    assert best["ami"] > 0.8
    assert all(fit["memory_mb"] > 50 and fit["seconds"] > 0 for fit in fits)
    assert all((compared / fit["run"] / "manifest.json").is_file() for fit in fits)


def test_a_page_and_the_facts_of_a_comparison(compared: Path, tmp_path: Path) -> None:
    page, best = tmp_path / "page.html", read(compared / "summary.parquet").to_pylist()
    assert "document" not in run_cli("report", compared, "-o", page).err  # there are none in the page
    assert "is a comparison of models" in run_cli("info", compared, code=3).error()
    assert f"name one of its runs in {compared / 'runs'}" in run_cli("evaluate", compared, code=3).error()
    text = page.read_text(encoding="utf-8")
    assert "nmf, plsa; 2, 4 topics; 2 fits each" in text
    assert f"{max(row['ami'] for row in best):.3f}" in text
    words = read(compared / "runs" / "plsa-k4-s42" / "topics.parquet").column("top_terms").to_pylist()[0]
    assert ", ".join(words[:10]) in text
    assert (
        "only applies to reports of topic models"
        in run_cli("report", compared, "--by", "label", "-o", "x.html", code=2).error()
    )
    assert "comparison" in run_cli("info", compared / "summary.parquet").out
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    (unfinished / "comparison.json").write_text("{}", encoding="utf-8")
    assert "is not finished" in run_cli("report", unfinished, "-o", "x.html", code=3).error()


def test_scores_by_number_of_topics_are_drawn_with_their_spread(compared: Path, tmp_path: Path) -> None:
    curves = number_curves(load_comparison(compared))
    rows = {(row["model"], row["k"]): row for row in read(compared / "summary.parquet").to_pylist()}
    ami = next(curve for curve in curves if curve["title"] == "ami")
    for line in ami["lines"]:
        assert line["x"] == [2, 4]
        for at, k in enumerate(line["x"]):
            mean, sd = (rows[line["name"], k][name] for name in ("ami", "ami_sd"))
            assert line["y"][at] == mean
            assert (line["low"][at], line["high"][at]) == pytest.approx((mean - sd, mean + sd))
    words = next(curve for curve in curves if curve["title"] == "stable words")["lines"][0]
    assert words["low"] == words["y"] == words["high"]  # two fits are one pair, without a spread
    drawn = nk.plot(compared, "number")
    assert drawn.draws("svg") == nk.plot(compared, "k").draws("svg")
    assert run_cli("plot", compared, "--json").json()["pictures"] == [
        {"what": "number", "shows": "scores by number of topics", "missing": ""}
    ]
    assert "whose picture is number" in run_cli("plot", compared, "map", "-o", tmp_path / "m.svg", code=3).error()
    once = replace(load_comparison(compared), summary=load_comparison(compared).summary.slice(0, 1))
    assert number_curves(once) == []


def test_each_fit_leaves_out_another_fold_and_is_scored_by_it(compared: Path) -> None:
    documents = read(compared / "documents.parquet").to_pylist()
    folds = {row["id"]: row["compare_fold"] for row in documents}
    assert set(folds.values()) == set(range(10))
    for fit in read(compared / "fits.parquet").to_pylist():
        seen = set(read(compared / fit["run"] / "documents.parquet").column("id").to_pylist())
        assert set(folds) - seen == {name for name, fold in folds.items() if fold == fit["seed"] - 42}
        held = nk.read_corpus(
            compared / "documents.parquet", options=ReadOptions(keep_if=f"compare_fold == {fit['seed'] - 42}")
        )
        again = nk.evaluate(compared / fit["run"], ["perplexity", "npmi"], heldout=held, ci=0)
        assert fit["perplexity"] == pytest.approx(again["perplexity"].value)
        assert fit["npmi"] == pytest.approx(again["npmi"].value)


def test_documents_of_the_same_file_that_the_fit_left_out_are_no_training(compared: Path) -> None:
    fit = read(compared / "fits.parquet").to_pylist()[0]
    line = ("evaluate", compared / fit["run"], "--metrics", "perplexity", "--heldout", compared / "documents.parquet")
    assert "was fitted to" not in run_cli(*line, "--keep-if", "compare_fold == 0").err
    assert "was fitted to" in run_cli(*line, "--keep-if", "compare_fold != 0").err


def test_it_goes_on_with_what_is_there(compared: Path, planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ("compare", planted, "--models", "nmf,plsa", "--k", "2,4", "--seeds", "2", "--json", "-q", "-o", compared)
    before = {path: path.stat().st_mtime_ns for path in (compared / "runs").glob("*/manifest.json")}
    assert "already exists; continue its fits with --resume" in run_cli(*line, code=2).error()
    first = run_cli(*line, "--resume").json()
    assert {path: path.stat().st_mtime_ns for path in (compared / "runs").glob("*/manifest.json")} == before
    more = run_cli(*(word if word != "2,4" else "2,3,4" for word in line), "--resume").json()
    assert len(more["fits"]) == len(first["fits"]) + 4
    assert {row["k"] for row in more["summary"]} == {2, 3, 4}
    assert more["best"]["ami"]["k"] == 4
    fewer = run_cli(*("nmf" if word == "nmf,plsa" else word for word in line), "--resume").json()
    assert [(row["model"], row["k"]) for row in fewer["summary"]] == [
        (m, k) for m in ("nmf", "plsa") for k in (2, 3, 4)
    ]
    assert read(compared / "fits.parquet").num_rows == len(more["fits"])
    assert "with other seed" in run_cli(*line, "--resume", "--seed", "7", code=3).error()
    assert "with other tokens" in run_cli(*line, "--resume", "--min-df", "3", code=3).error()
    other = write_jsonl(Path("other.jsonl"), [{"text": f"river boat {n}"} for n in range(30)])
    refused = run_cli(*(other if word == planted else word for word in line), "--resume", code=3).error()
    assert "with other documents" in refused


LINE = ("--models", "nmf", "--k", "2,3", "--seeds", "1", "-o", "half")


def change_fit(patch: pytest.MonkeyPatch, run: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
    """Let `compare` fit by another function; returns the one it had."""
    had: Callable[[list[str]], Any] = vars(compare)["subprocess"].run
    patch.setattr("nlpkit.evaluate.compare.run.subprocess.run", lambda words, **_how: run(words))
    return had


def test_an_interrupt_says_that_fits_are_kept(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(words: list[str]) -> Any:
        if "nmf-k3-s42" in " ".join(words):
            raise KeyboardInterrupt
        return fit_here(words)

    with monkeypatch.context() as patch:
        fit_here = change_fit(patch, run)
        done = run_cli("compare", planted, *LINE, code=130)
    assert "the comparison is saved in half: the same command with --resume goes on with it" in done.error()
    assert len(run_cli("compare", planted, *LINE, "--resume", "--json").json()["fits"]) == 2


def test_a_fit_that_another_process_has_written_meanwhile_is_taken(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(words: list[str]) -> Any:
        assert fit_here(words).returncode == 0
        return fit_here(words)  # finds the output of the other

    fit_here = change_fit(monkeypatch, run)
    assert len(run_cli("compare", planted, *LINE, "--json").json()["fits"]) == 2


def test_workers_and_parts_make_the_bytes_of_one_process(
    planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job of an array of two is not done; the worker that makes its fit is killed in the middle."""
    line = ("compare", planted, "--models", "nmf", "--k", "2,3", "--seeds", "1", "-o", "x")

    def made(name: str) -> dict[str, Any]:
        files = bytes_of(tmp_path / name)
        for table in ("x/fits.parquet", "x/summary.parquet"):
            rows = read(tmp_path / name / table)
            times = [column for column in rows.column_names if column.startswith(("seconds", "memory_mb"))]
            files[table] = rows.drop_columns(times).to_pylist()
        return files

    for name in ("one", "several"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "one")
    run_cli(*line)
    monkeypatch.chdir(tmp_path / "several")
    part = run_cli(*line, "--shard", "2/2", "--json").json()
    assert part == {"part": "2/2", "fits": 1, "directory": "x"}
    with monkeypatch.context() as patch:
        killed = kill_first_worker(patch)
        done = run_cli(*line, "--resume", "--workers", "1")
    assert len(killed) == 1
    assert "warning: fit nmf-k2-s42 is made again: process " in done.err
    one = made("one")
    assert {"x/scores/nmf-k2-s42.json", "x/runs/nmf-k3-s42/topics.parquet"} < one.keys()
    assert made("several") == one


@pytest.mark.slow
def test_parts_that_start_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an array of jobs of Slurm: a process each, in one directory that none has made before."""
    line = ("compare", NEWS, "--models", "nmf,plsa", "--k", "2,3", "--seeds", "1", "-q", "-o", "x")
    for name in ("array", "one"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "array")
    words = [sys.executable, "-m", "nlpkit", *line]
    parts = [subprocess.Popen([*words, "--shard", f"{i}/4"], stderr=subprocess.PIPE, text=True) for i in (1, 2, 3, 4)]
    assert [(part.communicate(timeout=300)[1], part.returncode) for part in parts] == [("", 0)] * 4
    run_cli(*line, "--resume")
    monkeypatch.chdir(tmp_path / "one")
    run_cli(*line)
    array, one = (bytes_of(tmp_path / name) for name in ("array", "one"))
    assert array.keys() == one.keys()
    assert {name for name in one if array[name] != one[name]} <= {
        "x/fits.parquet",
        "x/summary.parquet",
    }  # which have times


def test_a_fit_that_fails_says_what_it_said(tmp_path: Path) -> None:
    write_jsonl(
        tmp_path / "few.jsonl", [{"text": "boat river boat"}, {"text": "river court boat"}, {"text": "court judge"}]
    )
    done = run_cli(
        "compare", "few.jsonl", "--models", "nmf", "--k", "9", "--seeds", "1", "--min-df", "1", "-o", "x", code=3
    )
    assert "the fit nmf-k9-s42 failed: --k 9: NMF has from 1 topic" in done.error()
    assert "nlpkit nmf" in done.error()
    write_jsonl(tmp_path / "one.jsonl", [{"text": "boat river boat"}])
    one = run_cli("compare", "one.jsonl", "--models", "nmf", "--k", "2", "--seeds", "1", "-o", "y", code=3)
    assert "--held-out 0.1 holds out the only document" in one.error()
    assert not (tmp_path / "y").exists()


def test_a_directory_that_is_no_comparison_stays(planted: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    run_cli("compare", planted, "--models", "nmf", "--k", "2", "--seeds", "1", "-o", "mine", "--force", code=None)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    assert "no comparison" in run_cli("compare", planted, "--resume", "-o", "new", code=2).error()


def test_a_file_of_the_user_in_a_comparison_is_not_dropped(planted: Path, tmp_path: Path) -> None:
    line = ("compare", planted, "--models", "nmf", "--k", "2", "--seeds", "1", "-q", "-o", "mine", "--force")
    run_cli(*line)
    (tmp_path / "mine" / "scores.jsonl").write_text("{}\n")  # as 0.1.0 wrote it
    run_cli(*line)
    assert not (tmp_path / "mine" / "scores.jsonl").exists()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert "notes.txt" in run_cli(*line, code=2).error()
    assert (tmp_path / "mine" / "notes.txt").exists()


def test_dry_run_counts_the_fits(planted: Path) -> None:
    assert run_cli("compare", planted, "--k", "5:25:10", "--dry-run", "--json", "-o", "x").json()["fits"] == 36
    assert not Path("x").exists()


def test_dry_run_estimates_the_fits(planted: Path) -> None:
    one, all_fits = (
        run_cli("compare", planted, "--models", models, "--k", k, "--dry-run", "--json", "-o", "x").json()
        for models, k in (("nmf", "5"), ("nmf,plsa,lda-online", "5,10"))
    )
    assert all_fits["seconds_about"] > 4 * one["seconds_about"]  # 18 fits instead of 3, each in a process of its own


@pytest.mark.parametrize(
    ("k", "numbers"),
    [("10:50:10", (10, 20, 30, 40, 50)), ("5", (5,)), ("30,10", (10, 30)), ("4:8", (4, 5, 6, 7, 8)), (7, (7,))],
)
def test_numbers_of_topics(k: str | int, numbers: tuple[int, ...]) -> None:
    assert CompareOptions(k=k).numbers() == numbers


def test_models_have_short_names_and_stand_once() -> None:
    assert CompareOptions(models="lda,nmf,lda-gibbs,ctm").names() == ("lda-gibbs", "nmf", "ctm")


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("models", lambda: CompareOptions(models="lsa")),
        ("k", lambda: CompareOptions(k="auto")),
        ("k", lambda: CompareOptions(k="1:3")),
    ],
)
def test_what_cannot_be_compared_is_refused(name: str, make: Callable[[], CompareOptions]) -> None:
    with refuses(name):
        make()


def test_labels_are_not_asked_for_where_there_are_none(tmp_path: Path, planted: Path) -> None:
    rows = [{"text": row["text"]} for row in read(planted).to_pylist()]
    write_jsonl(tmp_path / "plain.jsonl", rows)
    run_cli("compare", "plain.jsonl", "--models", "nmf", "--k", "4", "--seeds", "1", "--held-out", "0", "-o", "x")
    assert "ami" not in read("x/fits.parquet").column_names
    assert "perplexity" not in read("x/fits.parquet").column_names
    assert read("x/summary.parquet").to_pylist()[0]["stability_words"] is None
    assert json.loads(Path("x/comparison.json").read_text())["held_out"] == 0


def test_embeddings_that_are_there_are_used(planted: Path) -> None:
    done = run_cli("compare", planted, "--models", "bertopic", "--k", "4", "--seeds", "1", "-o", "given/")
    assert "embeddings:" not in done.err
    assert read(Path("given/documents.parquet")).column("embedding").equals(read(planted).column("embedding"))
    assert read(Path("given/summary.parquet")).to_pylist()[0]["ami"] > 0.9


def test_models_that_find_their_number_are_fitted_once_for_each_seed(planted: Path) -> None:
    line = ("--models", "hdp,hlda,nmf", "--k", "2,4", "--seeds", "1", "-o", "x", "--metrics", "npmi")
    done = run_cli("compare", planted, *line)
    assert "found" in done.out
    fits = read("x/fits.parquet").to_pylist()
    assert [(row["model"], row["k"]) for row in fits] == [("hdp", None), ("hlda", None), ("nmf", 2), ("nmf", 4)]
    assert fits[0]["topics"] > 1
    assert fits[0]["run"] == "runs/hdp-s42"
    run_cli("report", "x", "-o", "x.html")
    assert "found" in Path("x.html").read_text(encoding="utf-8")
    only = ("--models", "hdp", "--seeds", "1", "--metrics", "npmi", "-o", "y")
    assert run_cli("compare", planted, *only, "--json").json()["summary"][0]["k"] is None
    assert str(read("y/fits.parquet").schema.field("k").type) == "int64"
    run_cli("report", "y", "-o", "y.html")


def test_dynamic_topics_need_dates(planted: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "plain.jsonl", [{"text": row["text"]} for row in read(planted).to_pylist()])
    message = run_cli(
        "compare", "plain.jsonl", "--models", "dtm", "--k", "2", "--seeds", "1", "-o", "x", code=3
    ).error()
    assert "dtm-k2-s42 failed" in message
    assert "date" in message


def test_a_language_model_rates_the_topics(planted: Path, tmp_path: Path) -> None:
    def rating(words: list[str]) -> int:
        return 3 if len(words[0]) % 2 else 1

    def rate(body: dict[str, Any]) -> tuple[int, Any]:
        shown = body["messages"][-1]["content"].splitlines()[0].removeprefix("Words: ")
        return 200, said(json.dumps({"answer": rating(shown.split(", "))}))

    target = tmp_path / "rated"
    usual = ["--models", "nmf", "--k", "2,4", "--seeds", "1", "--llm-model", "m", "--llm-cache", tmp_path / "answers"]
    with serving(rate) as server:
        line = ["compare", planted, *usual, "--llm", server.url, "-o", target]
        plan = json.loads(run_cli(*line, "--dry-run", "--json").out)
        assert (plan["calls"], server.asked) == (6, [])
        done = run_cli(*line)
        assert "llm rating" in done.out
        n = len(server.asked)
        assert 4 <= n <= 6  # topics with the same words are asked about once
        assert "very related" in server.asked[0]["messages"][1]["content"]
        for fit in read(target / "fits.parquet").to_pylist():
            words = read(target / fit["run"] / "topics.parquet").column("top_terms").to_pylist()
            assert fit["llm_rating"] == np.mean(list(map(rating, words)))
        run_cli(*line, "--resume")
        assert len(server.asked) == n  # nothing is asked twice
        server.reply = lambda _: (200, said("I cannot say."))
        failed = run_cli(*line[:-1], tmp_path / "unrated", "--llm-cache", tmp_path / "others", "--attempts", "0")
        assert "2 topics have no rating by m; the first answer: it is not a number from 1 to 3" in failed.err
    unrated = nk.compare_models(nk.read_corpus(planted), tmp_path / "again", models="nmf", k="2", seeds=1)
    assert "llm_rating" not in unrated.scores
