"""Which column explains the topics: by hand, against chance, and from the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.errors import ColumnError, InputError
from nlpkit.topics.over_time.columns import corrected_shares, explain
from nlpkit.topics.over_time.prevalence import one_topic_each, sum_cells
from tests.command_line import read, run_cli, write_jsonl


def test_shares_of_the_variance_by_hand() -> None:
    """Six documents, topics 0 0 1 1 1 0, groups a a b b a b: τ = ½ Σ_k … by hand.

    Group a has topics 0 0 1, b has 1 1 0: p_a = (2/3, 1/3), p_b = (1/3, 2/3), p = (1/2, 1/2).
    between of each topic: 3 (1/6)² + 3 (1/6)² = 1/6; total: 6 · 1/4 = 3/2. R² = 1/9, E = 1/5: (1/9 - 1/5) / (4/5) = -1/9.
    """
    topics = np.array([0, 0, 1, 1, 1, 0], np.int32)
    cells = sum_cells(one_topic_each(topics, 2), np.array([0, 0, 1, 1, 0, 1], np.int32), 2)
    effect, of_topics = corrected_shares(cells)
    assert effect == pytest.approx(-1 / 9)
    assert of_topics == pytest.approx([-1 / 9, -1 / 9])
    same = sum_cells(one_topic_each(topics, 2), topics, 2)
    assert corrected_shares(same)[0] == pytest.approx(1)


def test_columns_without_meaning_have_0_however_many_values() -> None:
    rng = np.random.default_rng(1)
    topics = rng.integers(0, 4, 600).astype(np.int32)
    member = one_topic_each(topics, 4)
    for G in (2, 10, 100):
        groups = np.arange(600) % G
        effects = [
            corrected_shares(sum_cells(member, rng.permutation(groups).astype(np.int32), G))[0] for _ in range(200)
        ]
        assert np.mean(effects) == pytest.approx(0, abs=3 * np.std(effects) / 200**0.5 + 1e-12)
    chance = explain(member, rng.integers(0, 10, 600).astype(np.int32), seed=1)
    assert chance.p > 0.05
    assert chance.low == 0 <= chance.high
    half = np.where(rng.random(600) < 0.5, topics, rng.integers(0, 4, 600)).astype(np.int32)
    found = explain(member, half, seed=1)
    assert found.p == 1 / 200
    assert 0.15 < found.low < found.effect < found.high < 0.6
    assert (found.groups, found.documents) == (4, 600)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Topic equals the column with probability 1/2, else any of three: R² = 1/4 · (variance between) = 0.25."""
    rng, hits = np.random.default_rng(2), 0
    for trial in range(100):
        column = rng.integers(0, 3, 300).astype(np.int32)
        topics = np.where(rng.random(300) < 0.5, column, rng.integers(0, 3, 300)).astype(np.int32)
        one = explain(one_topic_each(topics, 3), column, seed=trial)
        hits += one.low <= 0.25 <= one.high
    assert hits >= 88


@pytest.fixture
def run(tmp_path: Path) -> Path:
    words = {"a": "river water boat fish", "b": "judge court law trial", "c": "song band tour album"}
    rng = np.random.default_rng(0)
    rows = [
        {
            "id": f"d{i}", "text": " ".join(rng.choice(words["abc"[i % 3]].split(), 12)), "label": "abc"[i % 3],
            "source": "xy"[int(rng.integers(2))], "title": f"title {i}", "size": i, "date": f"2024-{i % 12 + 1:02}-01",
        }
        for i in range(120)
    ]  # fmt: skip
    write_jsonl(tmp_path / "docs.jsonl", rows)
    nk.fit_lda(nk.read_corpus(tmp_path / "docs.jsonl"), k=3, sweeps=60, stop_words="none").save(tmp_path / "run")
    return tmp_path / "run"


def test_the_label_leads_and_titles_are_no_groups(run: Path) -> None:
    rows = nk.topic_columns(run).table.to_pylist()
    assert rows[0]["column"] == "label"
    assert {row["column"] for row in rows} == {"label", "source", "size", "date"}
    by = {row["column"]: row for row in rows}
    assert by["label"]["effect"] > 0.8 > 0.1 > by["source"]["effect"]
    assert by["label"]["low"] <= by["label"]["effect"] <= by["label"]["high"]
    assert (by["size"]["kind"], by["size"]["values"], by["date"]["kind"]) == ("number", 10, "date")
    assert by["size"]["p"] > 0.05 > by["label"]["p"] == 1 / 200
    assert len(by["label"]["topics"]) == 3
    again = nk.topic_columns(run)
    assert again.table.to_pylist() == rows


def test_the_command(run: Path, tmp_path: Path) -> None:
    done = run_cli("topics", run, "--columns", "-o", tmp_path / "columns.parquet")
    assert "Columns by how well they explain 3 topics" in done.out
    assert done.out.index("label") < done.out.index("source")
    assert "with --debias COLUMN" in done.err
    assert read(tmp_path / "columns.parquet").num_rows == 4
    assert len(run_cli("topics", run, "--columns", "--json").json()["columns"]) == 4
    assert "--columns" in run_cli("topics", run, "--columns", "--correlations", code=2).error()


def test_columns_that_cannot_be_used(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ColumnError, match="nothing"):
        nk.topic_columns(run, ["nothing"])
    with pytest.raises(InputError, match="'title' has 120 values in 120 documents"):
        nk.topic_columns(run, ["title"])
    nk.fit_lda(["water boat fish", "judge court law"] * 10, k=2, sweeps=20).save(tmp_path / "plain")
    with pytest.raises(InputError, match="has no column of 2 to 1,000 values"):
        nk.topic_columns(tmp_path / "plain")
