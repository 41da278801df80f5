"""nlpkit lda-gibbs on what it cannot fit, or only just; and chains that are killed, interrupted and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.topics.base import resume
from nlpkit.topics.base.scores import StepState
from nlpkit.topics.lda.sampler import GibbsSampler
from tests.command_line import (
    contents,
    files,
    manifest,
    nlpkit_process,
    planted_rows,
    read,
    run_cli,
    topics_of,
    write_jsonl,
)

CHAIN = ["--k", "4", "--sweeps", "60"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """The planted documents as raw text."""
    rows = [{k: v for k, v in row.items() if k != "embedding"} for row in planted_rows()]
    return write_jsonl(tmp_path / "x.jsonl", rows)


def names() -> list[str]:
    return sorted(p.name for p in Path().iterdir())


# ---------------------------------------------------------------- options


def test_an_existing_run_is_replaced_whole_or_not(corpus: Path) -> None:
    run_cli("lda-gibbs", corpus, *CHAIN, "--save-assignments", "-q", "-o", "run")
    before = files(Path("run"))
    assert "output run exists" in run_cli("lda-gibbs", corpus, *CHAIN, "-o", "run", code=2).error()
    run_cli("lda-gibbs", "nowhere.jsonl", *CHAIN, "-f", "-o", "run", code=3)
    assert files(Path("run")) == before
    run_cli("lda-gibbs", corpus, *CHAIN, "--k", "3", "-f", "-q", "-o", "run")
    assert not Path("run/assignments.parquet").exists()
    assert manifest("run")["results"]["n_topics"] == 3


def test_states_that_cannot_become_a_run(corpus: Path) -> None:
    run_cli("lda-gibbs", corpus, *CHAIN, "--save-assignments", "-q", "-o", "one")
    run_cli("convert", "one", "-q", "-o", "s.gz")
    says = run_cli("convert", corpus.name, "-o", "three", code=3).error()
    assert "x.jsonl has no line '#alpha : …' before its tokens, as a MALLET state has" in says
    assert "no.gz: cannot be opened" in run_cli("convert", "no.gz", "-o", "three", code=3).error()
    assert "output s.gz is an input as well" in run_cli("convert", "s.gz", "-o", "s.gz", code=2).error()
    error = run_cli("convert", "one", "-o", "three", code=2).error()
    assert "is already a run; name the output format, such as state.gz," in error
    assert not Path("three").exists()


# ---------------------------------------------------------------- the plan


def test_the_plan(corpus: Path) -> None:
    found = run_cli("lda-gibbs", corpus, "--k", "4", "--dry-run", "--json", "-o", "run").json()
    assert found["rows"] == 120
    assert found["tokens_about"] > 0
    done = run_cli("lda-gibbs", corpus, "--k", "4", "--dry-run")
    assert done.err.endswith("dry run: nothing was written\n")
    assert names() == ["x.jsonl"]


def test_the_plan_tells_of_sweeps(corpus: Path) -> None:
    rows = [{"text": "river bridge water boat flood bank " * 4000} for _ in range(10)]
    write_jsonl(corpus, rows)

    def seconds(*words: Any) -> int:
        found = run_cli("lda-gibbs", corpus, "--k", "4", *words, "--dry-run", "--json").json()["seconds_about"]
        assert isinstance(found, int)
        return found

    assert seconds("--sweeps", 10_000) > 20
    assert seconds("--sweeps", 100) < seconds("--sweeps", 10_000) / 5
    assert seconds("--sweeps", 10_000, "--prototype", 9) == pytest.approx(10 * seconds("--sweeps", 10_000), rel=0.1)


def test_the_plan_of_a_state(corpus: Path) -> None:
    run_cli("lda-gibbs", corpus, *CHAIN, "--save-assignments", "-q", "-o", "one")
    run_cli("convert", "one", "-q", "-o", "s.gz")
    done = run_cli("convert", "s.gz", "--dry-run", "--json", "-o", "two")
    assert done.json() == {"documents": 120, "tokens": 1560, "n_topics": 4}
    assert not Path("two").exists()


# ---------------------------------------------------------------- corpora that cannot be fitted, or only just


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "no documents: x.jsonl has no rows"),
        ([{"text": None}], "no documents: 1 row of x.jsonl cannot be used"),
        (
            [{"text": ""}],
            "no words are left in 1 document, so there is nothing to find topics in; try --stop-words none",
        ),
        ([{"text": "the and"}, {"text": " 12 "}], "no words are left in 2 documents"),
        ([{"text": "x", "tokens": []}], "no words are left in 1 document"),
        ([{"n": 1}], "has no column 'text' (found: n)"),
        ([{"title": "a"}], "no words are left in 1 document"),
        ([{"id": "a", "text": "river"}, {"id": "a", "text": "bank"}], "id"),
    ],
)
def test_nothing_to_fit(rows: list[dict[str, Any]], says: str, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", rows)
    assert says in run_cli("lda-gibbs", "x.jsonl", *CHAIN, "-o", "run", code=3).error()
    assert names() == ["x.jsonl"]


@pytest.mark.parametrize("rows", [[{"text": "moon"}], [{"text": "moon moon river"}]], ids=["one word", "three tokens"])
def test_one_document(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", rows)
    done = run_cli("lda-gibbs", "x.jsonl", "--k", "2", "--sweeps", "10", "--save-assignments", "-o", "run")
    run_cli("convert", "run", "-q", "-o", "s.gz")
    run_cli("convert", "run", "-q", "-o", "v.json")
    assert ("NPMI (documents) not defined" in done.err) == (manifest("run")["results"]["npmi"] is None)
    assert read("run/topics.parquet")["size"].to_pylist() == [1, 0]
    assert topics_of(Path("run")) == {"x:1": 0}
    assert read("run/assignments.parquet").num_rows == len(rows[0]["text"].split())


def test_more_topics_than_tokens(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", [{"text": "river bank"}, {"text": "moon river river"}])
    words = ["--save-assignments", "--thin", "5", "--optimize-interval", "2", "--estimate", "mean", "--prototype", "2"]
    for i, options in enumerate((words[:3], words[3:7], words[7:])):
        done = run_cli("lda-gibbs", "x.jsonl", "--k", "250", "--sweeps", "20", *options, "-o", f"run{i}")
        assert "more topics than tokens: at least" in done.err
        topics = read(f"run{i}/topics.parquet")
        assert (topics.num_rows, sum(topics["size"].to_pylist())) == (250, 2)
        assert topics["share"].to_numpy().sum() == pytest.approx(1)
        assert topics["label"][249].as_py() == "topic 249"
        assert "the largest 30 of 250 topics" in done.out
    assert "warning" not in run_cli("lda-gibbs", "x.jsonl", "--k", "5", "--sweeps", "2", "-o", "run").err


def test_a_vocabulary_of_one_word(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", [{"text": "river"}, {"text": "river river"}, {"text": "the"}])
    run_cli("lda-gibbs", "x.jsonl", "--k", "2", "--sweeps", "20", "-q", "-o", "run")
    assert read("run/vocab.parquet").to_pylist() == [{"term": "river", "cf": 3, "df": 2}]
    topics = read("run/topics.parquet")
    assert {word for words in topics["top_terms"].to_pylist() for word in words} == {"river"}
    assert sum(topics["size"].to_pylist()) == 2
    assert manifest("run")["results"]["unassigned"] == pytest.approx(1 / 3, abs=1e-6)
    assert read("run/topic_terms.parquet")["weight"].to_pylist() == [1] * len(
        topics.filter(topics["n_tokens"].to_numpy() > 0)
    )


def test_latin_1(tmp_path: Path) -> None:
    text = "id,text\n" + "".join(f'{i},"café au lait über Straße"\n' for i in range(4))
    (tmp_path / "x.csv").write_bytes(text.encode("latin-1"))
    done = run_cli("lda-gibbs", "x.csv", "--k", "1", "--sweeps", "3", "-o", "run")
    assert "warning: x.csv: read as cp1252 (detected); force with --encoding" in done.err
    assert "café" in read("run/vocab.parquet")["term"].to_pylist()
    says = run_cli("lda-gibbs", "x.csv", "--k", "1", "--encoding", "utf-8", "-o", "run2", code=3).error()
    assert "x.csv" in says
    assert not Path("run2").exists()


# ---------------------------------------------------------------- killed, interrupted, gone on with


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 300
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.002)


LONG = ["--k", "4", "--sweeps", "400", "--shards", "2", "--optimize-interval", "20", "--estimate", "mean"]


@pytest.mark.parametrize("sent", [pytest.param(signal.SIGKILL, marks=pytest.mark.slow), signal.SIGTERM])
def test_a_chain_that_was_ended_goes_on_to_the_same_bytes(sent: signal.Signals, corpus: Path, tmp_path: Path) -> None:
    words = ["lda-gibbs", corpus, *LONG, "--checkpoint-every", "1", "-o", "run"]
    checkpoint = tmp_path / "run.checkpoint.npz"
    process = nlpkit_process(words, tmp_path)
    wait_for(checkpoint, process)
    process.send_signal(sent)
    out, err = process.communicate(timeout=120)
    assert process.returncode == (-sent if sent == signal.SIGKILL else 128 + sent), err.decode()
    assert out == b""
    if sent != signal.SIGKILL:
        assert b"Traceback" not in err
        assert b"; the chain is saved in run.checkpoint.npz: the same command with --resume goes on with it" in err
        assert names() == ["run.checkpoint.npz", "x.jsonl"]
    assert not Path("run").exists()
    before = checkpoint.read_bytes()
    says = run_cli("lda-gibbs", corpus, *LONG, "--resume", "--seed", "1", "-o", "run", code=3).error()
    assert "run.checkpoint.npz belongs to another chain: seed 42, now 1" in says
    assert checkpoint.read_bytes() == before
    done = run_cli("lda-gibbs", corpus, *LONG, "--resume", "--threads", "1", "-o", "run")
    assert "continuing from run.checkpoint.npz after " in done.err
    assert not checkpoint.exists()
    run_cli("lda-gibbs", corpus, *LONG, "-q", "-o", "whole")
    assert contents("run") == contents("whole")
    assert manifest("run")["results"] == manifest("whole")["results"]


def interrupt_in_sweep(sweep: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send this process Ctrl-C in the middle of a sweep, once."""
    run = GibbsSampler.run

    def interrupted(self: GibbsSampler, sweeps: int) -> None:
        if self.sweep == sweep - 1:
            monkeypatch.setattr(GibbsSampler, "run", run)
            os.kill(os.getpid(), signal.SIGINT)
        run(self, sweeps)

    monkeypatch.setattr(GibbsSampler, "run", interrupted)


def test_an_interrupt_leaves_a_checkpoint(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_in_sweep(17, monkeypatch)
    done = run_cli("lda-gibbs", corpus, *CHAIN, "-o", "run", code=130)
    assert "interrupted; the chain is saved in run.checkpoint.npz: the same command with --resume goes on" in done.err
    assert (done.out, names()) == ("", ["run.checkpoint.npz", "x.jsonl"])
    again = run_cli("lda-gibbs", corpus, *CHAIN, "--resume", "-o", "run")
    assert "continuing from run.checkpoint.npz after 17 sweeps" in again.err
    assert names() == ["run", "x.jsonl"]
    run_cli("lda-gibbs", corpus, *CHAIN, "-q", "-o", "whole")
    assert contents("run") == contents("whole")


def test_an_interrupt_of_a_run_that_is_to_be_replaced(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_cli("lda-gibbs", corpus, *CHAIN, "-q", "-o", "run")
    before = files(Path("run"))
    interrupt_in_sweep(5, monkeypatch)
    run_cli("lda-gibbs", corpus, *CHAIN, "--seed", "7", "--force", "-o", "run", code=130)
    assert files(Path("run")) == before
    run_cli("lda-gibbs", corpus, *CHAIN, "--seed", "7", "--force", "--resume", "-q", "-o", "run")
    assert manifest("run")["seed"] == 7


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--k", "5"], "n topics 4, now 5"),
        (["--alpha", "0.3"], "alpha None, now 0.3"),
        (["--optimize-interval", "0"], "optimize interval 10, now 0 (--optimize-interval 0 keeps the priors fixed"),
        (["--estimate", "best"], "estimate last, now best"),
        (["--shards", "3"], "shards None, now 3"),
        (["--stop-words", "none"], "vocabulary [41, "),
        (["--limit", "100"], "another chain"),
        (["--term-weights", "idf"], "term weights None, now "),
        (["--seed-words", "other.toml"], "given topics [0, 'a', "),
        (["--seed-words", "renamed.toml"], "given topics [0, 'a', "),
    ],
)
def test_a_checkpoint_of_another_chain(
    words: list[str], says: str, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("s.toml").write_text("[topics]\na = ['moon']")
    Path("other.toml").write_text("[topics]\na = ['orbit']")
    Path("renamed.toml").write_text("[topics]\nb = ['moon']")
    seeds = ["--seed-words", "s.toml"]
    interrupt_in_sweep(2, monkeypatch)
    run_cli("lda-gibbs", corpus, *CHAIN, *seeds, "-o", "run", code=130)
    found = run_cli("lda-gibbs", corpus, *CHAIN, *seeds, *words, "--resume", "-o", "run", code=3).error()
    assert "checkpoint run.checkpoint.npz belongs to another chain: " in found
    assert says in found
    assert "give the same input and options, or use --force without --resume, which deletes it" in found
    assert not Path("run").exists()


def test_another_corpus_than_that_of_the_checkpoint(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_in_sweep(2, monkeypatch)
    run_cli("lda-gibbs", corpus, *CHAIN, "-o", "run", code=130)
    rows = [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]
    write_jsonl(corpus, [*rows[1:], rows[0]])
    assert "belongs to another chain: inputs" in run_cli(
        "lda-gibbs", corpus, *CHAIN, "--resume", "-o", "run", code=3
    ).error()  # fmt: skip


def test_a_damaged_checkpoint(corpus: Path) -> None:
    for content in (b"", b"garbage", np.arange(9).tobytes()):
        Path("run.checkpoint.npz").write_bytes(content)
        says = run_cli("lda-gibbs", corpus, *CHAIN, "--resume", "-o", "run", code=3).error()
        assert "is damaged, or not the checkpoint of a" in says
        assert "--force without --resume deletes it" in says
    assert "sweeps" in run_cli("lda-gibbs", corpus, *CHAIN, "--force", "-o", "run").err
    assert not Path("run.checkpoint.npz").exists()


def test_no_checkpoint_to_go_on_from_is_said_even_when_quiet(corpus: Path) -> None:
    done = run_cli("lda-gibbs", corpus, *CHAIN, "--resume", "-q", "-o", "run")
    assert "warning: there is no checkpoint run.checkpoint.npz: starting from the beginning" in done.err


def test_checkpoints_are_made_as_often_as_asked(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeps: list[int] = []
    write = resume.write_steps

    def noted(path: Path, state: StepState, identity: Any) -> None:
        sweeps.append(state.step)
        write(path, state, identity)

    monkeypatch.setattr(resume, "write_steps", noted)
    run_cli("lda-gibbs", corpus, *CHAIN, "--checkpoint-every", "25", "-q", "-o", "run")
    run_cli("lda-gibbs", corpus, *CHAIN, "-q", "-o", "other")
    assert sweeps == [25, 50]
    assert names() == ["other", "run", "x.jsonl"]
    assert contents("run") == contents("other")


# ---------------------------------------------------------------- what is not right yet


def test_what_a_state_cannot_hold(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", [{"id": "a b", "text": "river bank"}, {"id": "c", "text": "moon river"}])
    run_cli("lda-gibbs", "x.jsonl", *CHAIN, "--save-assignments", "-q", "-o", "run")
    says = run_cli("convert", "run", "-o", "s.gz", code=3).error()
    assert "is empty or contains a space or line break, which a MALLET" in says
    assert names() == ["run", "x.jsonl"]


def test_the_work_of_an_unfinished_run_is_not_thrown_away(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_in_sweep(17, monkeypatch)
    run_cli("lda-gibbs", corpus, *CHAIN, "-o", "run", code=130)
    before = Path("run.checkpoint.npz").read_bytes()
    for more in ([], ["--limit", "100"]):
        error = run_cli("lda-gibbs", corpus, *CHAIN, *more, "-o", "run", code=2).error()
        assert "run.checkpoint.npz belongs to a run that was not finished; --resume continues it, --force" in error
        assert Path("run.checkpoint.npz").read_bytes() == before
    Path("run.checkpoint.k.jsonl").write_text("mine")
    scores = run_cli("lda-gibbs", corpus, "--resume", "--k", "2:3", "-o", "run", code=3).error()
    assert "run.checkpoint.k.jsonl does not hold the scores of a comparison; --force without --resume" in scores
    assert Path("run.checkpoint.k.jsonl").read_text() == "mine"
    run_cli("lda-gibbs", corpus, *CHAIN, "--limit", "100", "--force", "-q", "-o", "run")
    assert names() == ["run", "run.checkpoint.k.jsonl", "x.jsonl"]


def test_a_chain_is_lengthened(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_in_sweep(17, monkeypatch)
    run_cli("lda-gibbs", corpus, "--k", "4", "--sweeps", "30", "-o", "run", code=130)
    fewer = run_cli("lda-gibbs", corpus, "--k", "4", "--sweeps", "10", "--resume", "-o", "run", code=3).error()
    assert "the chain has 17 sweeps already, more than the 10 that are asked for" in fewer
    run_cli("lda-gibbs", corpus, "--k", "4", "--sweeps", "50", "--resume", "-q", "-o", "run")
    run_cli("lda-gibbs", corpus, "--k", "4", "--sweeps", "50", "-q", "-o", "whole")
    assert contents("run") == contents("whole")


def test_a_comparison_that_cannot_begin_leaves_no_scores(tmp_path: Path) -> None:
    few = write_jsonl(tmp_path / "few.jsonl", [{"text": "the river and the boat"}] * 3)
    run_cli("lda-gibbs", few, "--k", "2:4", "-o", "run", code=2)
    assert names() == ["few.jsonl"]
