"""predict --explain of fine-tuned models: shares of words sum to the score's change; leaving a word out; what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.command_line import needs_torch, read, run_cli, write_jsonl

pytestmark = needs_torch


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs: classes by four methods, several labels, numbers; and new documents."""
    from tests.finetune.finetune_data import base_model, rows, tune

    folder = tmp_path_factory.mktemp("explain")
    base = base_model(folder / "base")
    train = rows()
    for i, row in enumerate(train):
        row |= {"kinds": ["team", row["label"]] if "team" in row["text"] else [row["label"]], "stars": float(i % 5)}
    corpus = write_jsonl(folder / "t.jsonl", train)
    for method in ("full", "lora", "pfeiffer", "setfit"):
        tune(corpus, "-o", folder / method, base=base, method=method, steps=3)
    tune(corpus, "--label-col", "kinds", "-o", folder / "multi", base=base, steps=3)
    tune(corpus, "--label-col", "stars", "--task", "regression", "-o", folder / "stars", base=base, steps=3)
    write_jsonl(
        folder / "new.jsonl",
        [
            {"id": "a", "text": "The team won the match, the MATCH!"},
            {"id": "b", "text": "stars"},
            {"id": "c", "text": "?"},
            {"id": "without-won", "text": "The team  the match, the MATCH!"},
        ],
    )
    return folder


def explained(runs: Path, name: str, *more: Any) -> dict[str, Any]:
    done = run_cli("predict", runs / name, runs / "new.jsonl", "--json", "-q", *more)
    found: dict[str, Any] = done.json()["explained"]
    return found


@pytest.mark.parametrize("name", ["full", "lora", "pfeiffer", "setfit", "multi", "stars"])
def test_shares_sum_to_the_change_of_the_score(runs: Path, name: str) -> None:
    for entries in explained(runs, name, "--explain", "a", "--explain", "c").values():
        for entry in entries:
            change = entry["score"] - entry["baseline"]
            total = sum(word["contribution"] for word in entry["words"]) + entry["rest"]
            assert total == pytest.approx(change, abs=1e-3 * max(1, abs(change)) + 1e-5)
            assert abs(entry["completeness_error"]) <= 1e-3 * max(1, abs(change))
    words = explained(runs, name, "--explain", "a")["a"][0]["words"]
    assert sorted((word["start"], word["term"]) for word in words) == [
        (0, "The"), (4, "team"), (9, "won"), (13, "the"), (17, "match"), (24, "the"), (28, "MATCH"),
    ]  # fmt: skip
    assert abs(words[0]["contribution"]) == max(abs(word["contribution"]) for word in words) > 0


@pytest.mark.parametrize("name", ["full", "setfit", "stars"])
def test_a_word_left_out_is_the_text_without_it(runs: Path, name: str) -> None:
    entry = explained(runs, name, "--explain", "a", "--explain", "without-won", "--explain-by", "omission")
    won = next(word for word in entry["a"][0]["words"] if word["term"] == "won")
    assert entry["a"][0]["completeness_error"] is None
    if entry["a"][0].get("class") == entry["without-won"][0].get("class"):
        assert won["contribution"] == pytest.approx(entry["a"][0]["score"] - entry["without-won"][0]["score"], abs=1e-5)


def test_the_screen_and_the_table(runs: Path, tmp_path: Path) -> None:
    done = run_cli("predict", runs / "full", runs / "new.jsonl", "--explain", "a")
    assert "word   contribution" in done.out
    assert "a: " in done.out
    run_cli("predict", runs / "full", runs / "new.jsonl", "--explain", "b", "-o", "p.parquet")
    run_cli("predict", runs / "full", runs / "new.jsonl", "-o", "q.parquet")
    assert read("p.parquet").equals(read("q.parquet"))  # explaining changes no prediction
    first = run_cli("predict", runs / "full", runs / "new.jsonl", "--explain", "a", "--threads", 1).out
    assert first == run_cli("predict", runs / "full", runs / "new.jsonl", "--explain", "a", "--threads", 2).out


def test_what_is_refused(runs: Path, tmp_path: Path) -> None:
    new = runs / "new.jsonl"
    assert "no document of" in run_cli("predict", runs / "full", new, "--explain", "z", code=3).error()
    error = run_cli("predict", runs / "full", new, "--explain-by", "omission", "-o", "x.csv", code=2).error()
    assert "name a document with" in error
    error = run_cli("predict", runs / "full", new, "--explain", "a", "--explain-by", "shap", code=2).error()
    assert "gradients" in error
    run_cli("classify", runs / "t.jsonl", "--model", "nb", "-o", "nb", "-q")
    error = run_cli("predict", "nb", new, "--explain", "a", "--explain-by", "gradients", code=2).error()
    assert "--explain-by" in error
