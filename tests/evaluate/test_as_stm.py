"""evaluate --compat stm: R's semantic coherence and exclusivity, and their picture. Numbers of R: tests/reports/test_r.py."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nlpkit as nk
from nlpkit.metrics.topics.significance import frex
from tests.command_line import NEWS, read, run_cli, write_jsonl


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("as_stm")
    for k in ("2", "3"):
        run_cli("stm", NEWS, "--k", k, "--iterations", "5", "-q", "-o", folder / f"k{k}")
    return folder


def test_coherence_by_hand(tmp_path: Path) -> None:
    """The second topic has its pair in the order of the first, and not by rank."""
    texts = ["cat dog", "cat dog house", "cat bird", "house bird"]
    docs = write_jsonl(tmp_path / "docs.jsonl", [{"id": str(i), "text": t} for i, t in enumerate(texts)])
    (tmp_path / "topics.txt").write_text("cat dog\nhouse cat\nbird\n", encoding="utf-8")
    score = nk.evaluate(tmp_path / "topics.txt", compat="stm", reference=docs).targets[0].scores["semantic_coherence"]
    assert score.values is not None
    np.testing.assert_allclose(score.values[:2], [log(2.01) - log(3.01), log(1.01) - log(3.01)])
    assert np.isnan(score.values[2])


def test_frex_shrinks_rare_words_to_equal_shares() -> None:
    phi = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    ranks = np.array([[3, 1.5, 1.5], [1, 2.5, 2.5]]) / 3  # words 1 and 2 occur once: shares of ½
    frequent = np.array([[3, 2, 1], [1, 2, 3]]) / 3
    shrunk = frex(phi, cf=np.array([1000.0, 1, 1]))
    np.testing.assert_allclose(shrunk, 2 / (1 / ranks + 1 / frequent))
    assert not np.allclose(shrunk, frex(phi))


def test_scores_of_a_run_are_those_it_stores(runs: Path) -> None:
    target = run_cli("evaluate", runs / "k3", "--compat", "stm", "--json").json()["targets"][0]
    stored = read(runs / "k3/topics.parquet")
    assert set(target["metrics"]) == {"semantic_coherence", "frex_exclusivity"}
    for name, score in target["metrics"].items():
        np.testing.assert_allclose(score["values"], stored.column(name).to_numpy(), rtol=1e-9)
    assert [len(words) for words in target["label_topics"]["frex"]] == [7, 7, 7]
    named = run_cli("evaluate", runs / "k3", "--compat", "stm", "--metrics", "coherence,exclusivity", "--json").json()
    assert named["targets"][0]["metrics"] == target["metrics"]


def test_the_table_of_search_k(runs: Path, tmp_path: Path) -> None:
    run_cli(
        "evaluate", runs / "k3", runs / "k2", "--compat", "stm", "--heldout", NEWS, "--search-k", tmp_path / "k.csv"
    )
    table = pd.read_csv(tmp_path / "k.csv")
    assert list(table) == ["K", "exclus", "semcoh", "heldout", "residual", "bound", "lbound", "em.its"]
    assert table["K"].tolist() == [2, 3]
    np.testing.assert_allclose(table["lbound"] - table["bound"], [log(2), log(6)], atol=1e-6)
    both = nk.evaluate([runs / "k2", runs / "k3"], compat="stm", heldout=NEWS)
    for row, target in zip(table.to_dict("records"), both.targets, strict=True):
        topics, results = (
            read(runs / target.name / "topics.parquet"),
            json.loads((runs / target.name / "manifest.json").read_text(encoding="utf-8"))["results"],
        )
        assert row["semcoh"] == pytest.approx(np.mean(topics.column("semantic_coherence").to_numpy()))
        assert row["exclus"] == pytest.approx(np.mean(topics.column("frex_exclusivity").to_numpy()))
        assert (row["bound"], row["em.its"]) == (results["bound"], results["steps"])
        # the mean over documents and not over tokens, but near it
        assert row["heldout"] == pytest.approx(-np.log(target.scores["perplexity"].value), abs=0.05)
        assert row["heldout"] != pytest.approx(-np.log(target.scores["perplexity"].value), abs=1e-6)
        # R sums the rare cells, too, and subtracts V twice
        assert row["residual"] > nk.evaluate(runs / target.name, "residuals").targets[0].scores["residuals"].value
    assert nk.search_k(nk.evaluate(runs / "k2", compat="stm")).column("heldout").to_pylist() == [None]
    other = nk.evaluate(runs / "k2", compat="stm", reference=["court judge police", "music singer"])
    assert nk.search_k(other).column("residual").to_pylist() == [None]
    with pytest.raises(nk.errors.UsageError, match="compat=stm"):
        nk.search_k(nk.evaluate(runs / "k2", "diversity"))


def test_pictures(runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run_cli("evaluate", runs / "k3", "--compat", "stm", "--plot", tmp_path / "one.svg")
    run_cli("evaluate", runs / "k2", runs / "k3", "--compat", "stm", "--plot", tmp_path / "several.svg")
    assert "semantic coherence" in (tmp_path / "one.svg").read_text(encoding="utf-8")
    both = nk.evaluate([runs / "k2", runs / "k3"], compat="stm")
    assert nk.plot_quality(both).draws("svg") == (tmp_path / "several.svg").read_bytes()
    with pytest.raises(nk.errors.UsageError, match="compat=stm"):
        nk.plot_quality(nk.evaluate(runs / "k2", "diversity"))
