"""nlpkit topics on runs of bertopic and of LDA: what is printed, written and answered."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.command_line import NEWS, needs_hdbscan, run_cli

BOTH = pytest.mark.parametrize("kind", [pytest.param("planted_run", marks=needs_hdbscan), "planted_lda"])


@BOTH
def test_shares_are_printed_and_written(kind: str, request: pytest.FixtureRequest) -> None:
    run: Path = request.getfixturevalue(kind)
    done = run_cli(
        "topics",
        run,
        "--over",
        "date:month",
        "--by",
        "label",
        "-o",
        "s.csv",
        "--save-trends",
        "t.parquet",
        "--save-differences",
        "d.jsonl",
    )
    assert "Shares by label" in done.out
    assert "trend" in done.out
    shares = pl.read_csv("s.csv")
    months = shares["period"].unique().len()
    assert shares.height == 5 * months * shares["label"].unique().len()
    whole = shares.filter(pl.col("documents") > 0).group_by("period", "label").agg(pl.col("share").sum())
    assert whole["share"].to_list() == pytest.approx([1] * whole.height, abs=1e-5)
    assert shares.filter(pl.col("documents") == 0)["share"].null_count() == (shares["documents"] == 0).sum()
    assert pl.read_parquet("t.parquet").height == 4
    assert len(Path("d.jsonl").read_text(encoding="utf-8").splitlines()) == 4


@BOTH
def test_the_themes_are_the_groups_as_they_were_planted(kind: str, request: pytest.FixtureRequest) -> None:
    value = run_cli(
        "topics", request.getfixturevalue(kind), "--by", "label", "--count", "main", "--words", "3", "--json"
    ).json()
    assert all(row["q"] < 1e-9 and row["effect"] > 0.9 for row in value["differences"])
    assert len({row["highest"] for row in value["differences"]}) == 4
    assert {row["rank"] for row in value["words"]} == {1, 2, 3}


@BOTH
def test_questions(kind: str, request: pytest.FixtureRequest) -> None:
    run: Path = request.getfixturevalue(kind)
    documents = run_cli("topics", run, "--documents", "0", "--top", "4", "--json").json()["documents"]
    assert [row["rank"] for row in documents] == [1, 2, 3, 4]
    assert all(row["text"] for row in documents)
    probs = [row["prob"] for row in documents]
    assert probs == sorted(probs, reverse=True)
    word = pl.read_parquet(run / "topic_terms.parquet").filter((pl.col("topic") == 2) & (pl.col("rank") == 1))["term"][
        0
    ]
    terms = run_cli("topics", run, "--search", word, "--json").json()["terms"]
    assert (terms[0]["term"], terms[0]["topic"]) == (word, 2)
    assert {row["term"] for row in run_cli("topics", run, "--search", f"{word[:3]}*", "--json").json()["terms"]} >= {
        word
    }
    similar = run_cli("topics", run, "--similar", "1", "--json").json()
    assert sorted(row["topic"] for row in similar["topics"]) == [0, 2, 3]
    assert ("centroids" in similar["topics"][0]) == (kind == "planted_run")
    pairs = run_cli("topics", run, "--correlations", "--json").json()["pairs"]
    assert len(pairs) == 6
    assert all(-1 <= pair["correlation"] <= 1 for pair in pairs)
    assert "Topic 0" in run_cli("topics", run, "--documents", "0", "--top", "2").out
    assert "Correlations" in run_cli("topics", run, "--correlations").out


def test_a_corpus_that_is_gone_leaves_the_documents_without_texts(tmp_path: Path) -> None:
    source = Path("docs.jsonl")
    source.write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in ["river water boat", "court judge jury"] * 8),
        encoding="utf-8",
    )
    run_cli("lda-gibbs", source, "--k", "2", "--sweeps", "20", "-q", "-o", "run")
    source.unlink()
    done = run_cli("topics", "run", "--documents", "0", "--top", "2", "--json")
    assert "no texts are shown" in done.err
    assert [row["text"] for row in done.json()["documents"]] == [None, None]
    assert "and its texts are needed; restore it" in run_cli("topics", "run", "--words", "3", code=3).error()
    run_cli("topics", "run", "-o", "shares.csv")
    assert pl.read_csv("shares.csv").height == 3


def test_nothing_is_written_where_it_fails(planted_lda: Path) -> None:
    run_cli(
        "topics",
        planted_lda,
        "--over",
        "date:month",
        "--by",
        "nothing",
        "-o",
        "s.csv",
        "--save-trends",
        "t.csv",
        code=3,
    )
    run_cli("topics", planted_lda, "--by", "label", "-o", "s.csv", "--save-trends", "t.csv", code=3)
    run_cli(
        "topics", planted_lda, "--over", "date:month", "--save-trends", "t.csv", "--save-differences", "d.csv", code=3
    )
    assert not Path("s.csv").exists()
    assert not Path("t.csv").exists()


def test_the_same_bytes_twice_and_lines_on_stdout(planted_lda: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        run_cli("topics", planted_lda, "--over", "date:week", "-q", "-o", name)
    assert pl.read_parquet("a.parquet").equals(pl.read_parquet("b.parquet"))
    lines = run_cli("topics", planted_lda, "-q", "-o", "-").out.splitlines()
    assert [json.loads(line)["topic"] for line in lines] == [0, 1, 2, 3, -1]


@pytest.mark.parametrize("model", ["nmf", "stm"])
def test_shares_of_models_without_alpha_sum_to_one(model: str) -> None:
    """Their runs leave small shares out, too, and have no prior to spread them by."""
    run_cli(model, NEWS, "--limit", "120", "--k", "6", "--iterations", "5", "-o", "run", "-q")
    assert pl.read_parquet("run/topics.parquet")["alpha"].sum() == 0
    run_cli("topics", "run", "--by", "label", "-o", "s.csv", "-q")
    whole = pl.read_csv("s.csv").group_by("label").agg(pl.col("share").sum())["share"]
    assert whole.to_list() == pytest.approx([1] * len(whole), abs=1e-5)
