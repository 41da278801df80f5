"""nlpkit words bias and drift: numbers by hand, words that move, what cannot be compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nlpkit as nk
from nlpkit.words.files import write_word2vec
from nlpkit.words.vectors import WordVectors
from tests.command_line import ROOT, footer, read, run_cli

VECTORS = "he 1 0\nshe 0 1\nteam 1 0\nmatch 0.8 0.6\nnurse 0.6 0.8\ndoctor 0 1\ncourt 1 1\n"
SETS = "[targets]\nsport = ['team', 'Match', 'nowhere']\nhealth = ['nurse', 'doctor']\n[attributes]\nhe = ['he']\nshe = ['she']\n"


@pytest.fixture
def vectors() -> Path:
    Path("v.txt").write_text(VECTORS, encoding="utf-8")
    Path("sets.toml").write_text(SETS, encoding="utf-8")
    return Path("v.txt")


def test_bias_by_hand(vectors: Path) -> None:
    """s: 1, 0.2 and -0.2, -1, see tests/words/test_association.py; a projection is s / √2."""
    found = run_cli("words", "bias", vectors, "sets.toml", "--project", "court,he", "--json").json()
    assert found["effect_size"] == pytest.approx(1.2 / np.sqrt(2 * 1.04 / 3), abs=1e-6)
    assert (found["p_value"], found["partitions"], found["exact"]) == (pytest.approx(1 / 6), 6, True)
    rows = {row["word"]: row for row in found["words"]}
    assert list(rows) == ["team", "Match", "nurse", "doctor", "court", "he"]
    assert [row["set"] for row in found["words"]] == ["sport", "sport", "health", "health", "", ""]
    assert rows["Match"]["association"] == pytest.approx(0.2, abs=1e-6)
    assert rows["doctor"]["projection"] == pytest.approx(-(0.5**0.5))
    assert rows["court"] == {"word": "court", "set": "", "association": None, "projection": pytest.approx(0, abs=1e-7)}
    assert found["missing"] == ["nowhere"]
    done = run_cli("words", "bias", vectors, "sets.toml", "-o", "b.parquet")
    assert "warning: without a vector, so left out: nowhere" in done.err
    assert "sport and he, health and she: effect size 1.441, p 0.1667 (one-sided, all 6 partitions)" in done.err
    assert footer("b.parquet")["kind"] == "word_words"
    assert read("b.parquet")["set"].to_pylist() == ["sport", "sport", "health", "health"]
    pairs = run_cli("words", "bias", vectors, "sets.toml", "--line", "pairs", "--json").json()["words"]
    assert [row["projection"] for row in pairs] == pytest.approx(
        [rows[r["word"]]["projection"] for r in pairs], abs=1e-6
    )


def test_words_alone_are_placed(vectors: Path) -> None:
    Path("line.toml").write_text("[attributes]\nhe = ['he']\nshe = ['she']\n", encoding="utf-8")
    done = run_cli("words", "bias", vectors, "line.toml", "--project", "team,doctor")
    assert "effect size" not in done.err
    assert "association" not in done.out
    assert nk.word_bias(vectors, "line.toml", project=["team"]).table["projection"][0].as_py() > 0


def test_the_sets_of_the_samples_are_read(vectors: Path) -> None:
    line = ("words", "bias", vectors, ROOT / "data" / "samples" / "word-sets.toml", "--json")
    assert set(run_cli(*line).json()["missing"]) == {
        "season", "league", "hospital", "patients", "his", "him", "man", "her", "hers", "woman",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words", "code", "says"),
    [
        ("[attributes]\na = ['he']\n", [], 3, "[attributes] needs two lists"),
        ("[attributes]\na = ['he']\nb = []\n", [], 3, "[attributes] needs two lists"),
        ("[attributes]\na = ['he']\nb = ['she']\n[target]\nx = ['team']\n", [], 3, "needs the table [attributes]"),
        ("[attributes]\na = ['he']\nb = ['she']\n", [], 2, "--project"),
        ("[attributes]\na = ['xx']\nb = ['she']\n", ["--project", "he"], 3, "0 of the 1 words of 'a'"),
        ("[attributes]\na = ['he', 'man']\nb = ['she']\n", ["--project", "he", "--line", "pairs"], 2, "word by word"),
        ("x = [", [], 3, "is not TOML"),
        (SETS.replace("'Match', ", ""), [], 3, "are needed"),
    ],
)  # fmt: skip
def test_sets_that_cannot_be_used(text: str, words: list[str], code: int, says: str, vectors: Path) -> None:
    Path("bad.toml").write_text(text, encoding="utf-8")
    assert says in run_cli("words", "bias", vectors, "bad.toml", *words, code=code).error()
    assert "cannot be opened" in run_cli("words", "bias", vectors, "none.toml", code=3).error()


def spaces(n: int = 60) -> None:
    """Two spaces of words, the second turned round, in which one word has moved."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=(n, 5)).astype(np.float32)
    turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    second = (first @ turn + rng.normal(0, 0.02, (n, 5))).astype(np.float32)
    second[7 % n] = -second[7 % n]
    words = tuple(f"w{i}" for i in range(n))
    write_word2vec(Path("a.txt"), WordVectors((*words, "old"), np.concatenate([first, first[:1]])))
    write_word2vec(Path("b.bin"), WordVectors((*words[::-1], "new"), np.concatenate([second[::-1], second[:1]])))


def test_drift() -> None:
    spaces()
    found = run_cli("words", "drift", "a.txt", "b.bin", "--top", "3", "--json").json()
    assert (found["shared"], found["drift"][0]["word"]) == (60, "w7")
    assert found["drift"][0]["distance"] > 1
    assert found["drift"][0]["z"] > 10
    assert [len(row["neighbours_first"] or []) for row in found["drift"][:4]] == [5, 5, 5, 0]
    assert found["agreement"] > 0.9
    done = run_cli("words", "drift", "a.txt", "b.bin", "--top", "3", "-o", "d.parquet")
    assert "60 shared words" in done.err
    assert len([line for line in done.out.splitlines() if line.startswith("w")]) == 4  # a head and three words
    assert read("d.parquet").num_rows == 60


def test_spaces_that_cannot_be_compared() -> None:
    spaces(5)
    says = run_cli("words", "drift", "a.txt", "b.bin", code=3).error()
    assert "share 5 words and have 5 dimensions; they need more common words" in says
    Path("c.txt").write_text("w1 1 2\n", encoding="utf-8")
    assert "a.txt has 5 dimensions and c.txt 2" in run_cli("words", "drift", "a.txt", "c.txt", code=3).error()
