"""nlpkit plsa, nlpkit nmf: one run directory for every kind of mixture model, and every command that reads it."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.errors import InputError
from nlpkit.platform.models import MODELS, resolved
from nlpkit.topics.base import corpus as topic_number
from nlpkit.topics.base import resume
from tests.command_line import NEWS, footer, needs_torch, read, run_cli, write_jsonl
from tests.few import few
from tests.refusals import refuses

SMALL = ("--hidden", "20", "--batch-size", "16", "--iterations", "80")
KINDS = ("plsa", "nmf", "gsdmm", "biterm", "stm", "lda-online")
FINDERS = [kind for kind, model in MODELS.items() if model.finds_number]


@pytest.fixture(
    scope="module",
    params=[(kind, ("--k", "12" if kind == "gsdmm" else "4")) for kind in KINDS]
    + [
        ("hdp", ()),
        ("lda-online", ("--k", "4", "--batch-size", "all")),
        ("nmf", ("--k", "4", "--loss", "kullback-leibler")),
        ("stm", ("--k", "4", "--prevalence", "label * n")),
        pytest.param(("ctm", ("--k", "4", "--inference", "bow", *SMALL, "--rate", "0.005")), marks=needs_torch),
        pytest.param(("etm", ("--k", "4", *SMALL, "--rate", "0.01", "--seed", "1")), marks=needs_torch),
    ],
    ids=str,
)
def run(request: pytest.FixtureRequest, planted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the planted corpus."""
    kind, options = request.param
    target = tmp_path_factory.mktemp(kind) / kind
    run_cli(kind, planted, *options, "-q", "-o", target)
    return target


def test_planted_themes_come_back(run: Path) -> None:
    documents = read(run / "documents.parquet").to_pylist()
    by_label: dict[str, Counter[int]] = {}
    for row in documents:
        by_label.setdefault(row["label"], Counter())[row["topic"]] += 1
    assert len({counts.most_common(1)[0][0] for counts in by_label.values()}) == 4
    assert all(counts.most_common(1)[0][1] / counts.total() > 0.9 for counts in by_label.values())


def test_tables_fit_together(run: Path) -> None:
    topics, terms = read(run / "topics.parquet").to_pylist(), read(run / "topic_terms.parquet").to_pylist()
    mixtures = read(run / "doc_topics.parquet").to_pandas()
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    assert [row["topic"] for row in topics] == list(range(4))
    assert [row["size"] for row in topics] == sorted((row["size"] for row in topics), reverse=True)
    assert mixtures.groupby("id")["prob"].sum().max() <= 1 + 1e-6
    assert np.isclose(
        mixtures["prob"].sum() + manifest["results"]["doc_topics_left_out"], mixtures["id"].nunique(), atol=1e-2
    )
    assert all(sum(row["weight"] for row in terms if row["topic"] == k) <= 1 + 1e-6 for k in range(4))
    alphas = {row["alpha"] for row in topics}
    assert all(a > 0 for a in alphas) if run.name == "hdp" else alphas == {0.25 if run.name == "lda-online" else 0.0}
    assert all(np.isfinite(row["coherence"]) for row in topics)
    assert footer(run / "topics.parquet")["command"] == manifest["kind"]


def test_new_text_has_the_topic_of_its_words(run: Path, planted: Path, tmp_path: Path) -> None:
    fitted = {row["id"]: row for row in read(run / "documents.parquet").to_pylist()}
    rows = read(planted).to_pylist()[:40]
    new = [{"id": f"new {row['id']}", "text": f"{row['text']} zzz"} for row in rows]
    write_jsonl(tmp_path / "new.jsonl", [*new, {"id": "none", "text": "zzz qqq"}, {"id": "empty", "text": ""}])
    done = run_cli("predict", run, "new.jsonl", "-o", "p.parquet")
    got = {row["id"]: row for row in read("p.parquet").to_pylist()}
    same = [got[f"new {row['id']}"]["topic"] == fitted[row["id"]]["topic"] for row in rows]
    assert np.mean(same) > 0.95
    assert [got[name]["topic"] for name in ("none", "empty")] == [-1, -1]
    assert "2 without a word that the run" in done.err
    run_cli("predict", run, planted, "-q", "-o", "again.parquet")
    again = read("again.parquet").to_pylist()
    assert all(fitted[row["id"]]["topic"] == row["topic"] for row in again)


def test_every_command_reads_the_run(run: Path, planted: Path) -> None:
    scores = json.loads(
        run_cli("evaluate", run, "--heldout", planted, "--metrics", "ami,perplexity,kl_uniform", "--json").out
    )
    got = {name: score["value"] for name, score in scores["targets"][0]["metrics"].items()}
    assert got["ami"] > 0.8
    assert 1 < got["perplexity"] < 200
    assert got["kl_uniform"] > 0
    chain = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["results"].get("trace") or [{}]
    has_title = {"sweep", "log_likelihood"} <= {*chain[0]}
    assert (f"{MODELS[run.name].likelihood} along the chain" in run_cli("evaluate", run).out) == has_title
    lines = "info RUN|topics RUN --by label --words 3|report RUN -o r.html"
    if run.name in ("plsa", "hdp"):  # of the others they read the same tables
        lines += """|topics RUN --documents 1|topics RUN --correlations|diff RUN RUN|plot RUN topics -o t.svg
plot RUN similarity -o s.svg|export RUN -o t.xlsx|export RUN -o t.json|export RUN --to r -o r/|convert RUN -o t.csv"""
    for line in lines.replace("\n", "|").split("|"):
        run_cli(*(run if word == "RUN" else word for word in line.split()))
    run_cli("edit", run, "-o", "e.toml", "--init")
    Path("m.toml").write_text("merge = [[0, 1]]", encoding="utf-8")
    refused = run_cli("edit", run, "m.toml", "-o", "m", code=3).error()
    assert refused.endswith(f"topics of {run.name} can be renamed, but not changed")
    page = Path("r.html").read_text(encoding="utf-8")
    cited = {kind for kind, model in MODELS.items() if model.cites[0].replace("&", "&amp;") in page}
    assert cited == {kind for kind, model in MODELS.items() if model.cites[0] == MODELS[run.name].cites[0]}
    by_tokens = nk.load(run).fitter.counts_tokens
    line = ("evaluate", run, "--heldout", planted, "--method", "left-to-right", "--metrics", "perplexity")
    assert by_tokens or "left-to-right" in run_cli(*line, code=2).error()
    assert not by_tokens or run_cli(*line).code == 0


def test_a_loaded_model_is_the_one_that_was_saved(run: Path, planted: Path) -> None:
    loaded, options = nk.load(run), json.loads((run / "model" / "config.json").read_text(encoding="utf-8"))["options"]
    seed = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["seed"]
    k = {} if run.name in FINDERS else {"k": 12 if run.name == "gsdmm" else 4}
    fit = getattr(nk, f"fit_{run.name.replace('-', '_')}")(nk.read_corpus(planted), **k, seed=seed, **options)
    np.testing.assert_array_equal(loaded.phi, fit.phi)
    assert loaded.predict(["river boat flood", "court judge trial"]) == fit.predict(
        ["river boat flood", "court judge trial"]
    )
    assert loaded.summary == fit.summary


@pytest.mark.parametrize("kind", few(KINDS, 3))
def test_the_number_of_topics_is_chosen(kind: str) -> None:
    short = ("--sweeps", "20") if kind == "biterm" else ()
    done = run_cli(kind, NEWS, "--limit", "90", "--k", "4:12:4", *short, "-o", "run/")
    assert f"How many topics? {'3 fits' if kind in ('gsdmm', 'biterm', 'lda-online') else '1 fit'} each" in done.out
    evidence = json.loads(Path("run/manifest.json").read_text(encoding="utf-8"))["results"]["evidence"]
    assert [row["n_topics"] for row in evidence] == [4, 8, 12]
    assert all(np.isfinite(row["perplexity"]) for row in evidence)


@pytest.mark.parametrize("kind", few([*KINDS, *FINDERS], 4))
def test_the_same_bytes_on_any_number_of_threads(kind: str, planted: Path) -> None:
    for target, n in (("a", 1), ("b", 3)):
        run_cli(kind, planted, *(() if kind in FINDERS else ("--k", "4")), "--threads", n, "-q", "-o", target)
    for name in ("topics", "documents", "doc_topics", "topic_terms"):
        assert Path(f"a/{name}.parquet").read_bytes() == Path(f"b/{name}.parquet").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input(kind: str, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    assert "no documents" in run_cli(kind, "empty.jsonl", "--k", "2", "-o", "x", code=3).error()
    write_jsonl(tmp_path / "letters.jsonl", [{"text": letter} for letter in "abcdef"])
    assert "nothing to find topics in" in run_cli(kind, "letters.jsonl", "--k", "2", "-o", "x", code=3).error()
    write_jsonl(tmp_path / "one.jsonl", [{"text": "one single document of some words"}])
    if kind != "gsdmm":  # whose topics may be many: the empty ones go
        assert "`" not in run_cli(kind, "one.jsonl", "--k", "50", "-o", "x", code=2).error()
    assert "at least 20 documents" in run_cli(kind, "one.jsonl", "--k", "auto", "-o", "x", code=2).error()
    run_cli(kind, "one.jsonl", "--k", "1", "--min-df", "1", "-o", "one", code=2 if kind == "stm" else 0)
    assert not Path("x").exists()


@pytest.mark.parametrize("kind", FINDERS)
def test_models_that_find_the_number_of_topics_take_none(kind: str, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    assert "no documents" in run_cli(kind, "empty.jsonl", "-o", "x", code=3).error()
    write_jsonl(tmp_path / "letters.jsonl", [{"text": letter} for letter in "abcdef"])
    assert "nothing to find topics in" in run_cli(kind, "letters.jsonl", "-o", "x", code=3).error()
    assert f"nlpkit {kind} has no --k" in run_cli(kind, "letters.jsonl", "--k", "4", "-o", "x", code=2).error()
    with pytest.raises(nk.errors.UsageError, match="finds the number of topics"):
        getattr(nk, f"fit_{kind}")(["one text of words"], k=4)
    write_jsonl(tmp_path / "one.jsonl", [{"text": "one single document of some words"}])
    run_cli(kind, "one.jsonl", "--min-df", "1", "-o", "one")
    assert not Path("x").exists()


@pytest.mark.parametrize("kind", few([kind for kind, model in MODELS.items() if not model.command], 5))
def test_dry_run_is_of_one_fit_where_the_number_is_not_chosen(kind: str, planted: Path) -> None:
    done, chosen = (
        run_cli(kind, planted, "--dry-run", "-o", "x"),
        not MODELS[kind].finds_number and not MODELS[kind].number,
    )
    choices = resolved(MODELS[kind].options)() if chosen else None
    assert ("the time is for one fit; --k " in done.err) == (choices is not None and choices.k == "auto")
    assert not Path("x").exists()


STEPS = {
    "slda": ("--iterations", "30"),
    "labeled-lda": ("--iterations", "30"),
    "gsdmm": (),
    "biterm": ("--iterations", "20"),
    "hdp": ("--iterations", "20"),
    "hlda": ("--iterations", "20"),
    "lda-online": ("--iterations", "9", "--tolerance", "0", "--batch-size", "all"),
    "dtm": ("--iterations", "9", "--tolerance", "0", "--every", "quarter"),
    "stm": ("--iterations", "9", "--tolerance", "0", "--prevalence", "label"),
    "fastopic": ("--iterations", "9"),
}


@pytest.mark.parametrize("kind", few(STEPS, 4))
def test_a_fit_that_was_interrupted_goes_on_to_the_same_bytes(
    kind: str, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    k = () if MODELS[kind].finds_number or MODELS[kind].number else ("--k", "4")
    line = (kind, planted, *k, *STEPS[kind], "-q", "--checkpoint-every", "4")
    run_cli(*line, "-o", "whole")
    write = resume.write_steps

    def interrupted(path: Path, *state: Any) -> None:
        write(path, *state)
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(resume, "write_steps", interrupted)
        done = run_cli(*line, "-o", "run", code=130)
    assert "the fit is saved in run.checkpoint.npz: the same command with --resume goes on with it" in done.err
    assert not Path("run").exists()
    assert "belongs to a run that was not finished" in run_cli(*line, "-o", "run", code=2).error()
    other = run_cli(*line, "--seed", "1", "--resume", "-o", "run", code=3).error()
    assert "run.checkpoint.npz belongs to another fit: seed 42, now 1" in other
    assert run_cli(*line, "--resume", "-o", "run").code == 0
    assert not Path("run.checkpoint.npz").exists()
    for name in ("topics", "topic_terms", "doc_topics", "documents"):
        assert read(f"run/{name}.parquet").equals(read(f"whole/{name}.parquet"))


def test_checkpoints_need_a_run_to_lie_beside() -> None:
    with refuses("resume"):
        nk.fit_slda(["a river", "a bank"], resume=True)
    Path("run.checkpoint.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="damaged"):
        nk.fit_gsdmm(["river bank river"] * 4, k=2, checkpoint="run", resume=True)


def test_numbers_of_topics_that_were_compared_are_not_fitted_again(
    planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ("gsdmm", planted, "--k", "2:6:2", "-q", "-o", "run")
    append = topic_number.append_score

    def interrupted(*args: Any) -> None:
        append(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(topic_number, "append_score", interrupted)
        assert "run.checkpoint.k.jsonl" in run_cli(*line, code=130).err
    again = run_cli("gsdmm", planted, "--k", "2:6:2", "-o", "run", "--resume")
    assert "1 fits were loaded from run.checkpoint.k.jsonl" in again.err
    assert not Path("run.checkpoint.k.jsonl").exists()
