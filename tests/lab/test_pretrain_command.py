"""nlpkit train-tokenizer and nlpkit pretrain on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import planted_rows, run_cli, write_jsonl

pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    rows = [{"id": row["id"], "text": row["text"], "label": row["label"]} for row in planted_rows(10)]
    write_jsonl(tmp_path / "docs.jsonl", rows)
    return "docs.jsonl"


def test_a_tokenizer_then_a_model_then_vectors(corpus: str) -> None:
    done = run_cli("train-tokenizer", corpus, "--vocab-size", "300", "--show", "3", "-o", "tok")
    assert done.out.splitlines()[0].split() == ["step", "left", "right", "token", "count"]
    assert "the first 3 of 39 merges" in done.out
    done = run_cli(
        "pretrain", corpus, "--arch", "gpt(layers=1,hidden=16)", "--tokenizer", "tok", "--max-steps", "3", "--max-tokens", "16", "-o", "gpt"
    )  # fmt: skip
    assert "per token = exp(−Σ log p / N)" in done.err
    assert "per word" in done.err
    assert "loss of training" in done.out
    metrics = json.loads(Path("gpt/metrics.json").read_text(encoding="utf-8"))
    assert metrics["held_out"]["per_token"] > 1
    assert Path("gpt/curve.jsonl").read_text(encoding="utf-8").count("\n") == 3
    run_cli("sbert-embed", corpus, "--model", "gpt", "-o", "embedded.parquet")
    assert "pretrain" in run_cli("info", "gpt").out
    assert "sbert-embed" in run_cli("predict", "gpt", corpus, "-o", "p.parquet", code=3).err


def test_json_has_what_the_screen_has(corpus: str) -> None:
    found = run_cli("train-tokenizer", corpus, "--type", "unigram", "--vocab-size", "60", "--json", "-o", "tok").json()
    assert (found["type"], found["merges"]) == ("unigram", 0)
    found = run_cli(
        "pretrain", corpus, "--arch", "bert(layers=1,hidden=16)", "--vocab-size", "90", "--max-steps", "2", "--json", "-o", "bert"
    ).json()  # fmt: skip
    assert (found["arch"], found["objective"], found["held_out"]["per_word"]) == ("bert", "mlm", None)


def test_bad_input_is_told_in_a_line(corpus: str) -> None:
    Path("empty.jsonl").write_text("", encoding="utf-8")
    assert "empty" in run_cli("pretrain", "empty.jsonl", "-o", "run", code=3).err
    assert "empty" in run_cli("train-tokenizer", "empty.jsonl", "-o", "tok", code=3).err
    assert (
        "--vocab-size 100: bpe needs at least 261"
        in run_cli("train-tokenizer", corpus, "--vocab-size", "100", code=2).err
    )
    assert "--objective mlm: gpt reads the text from left to right" in run_cli(
        "pretrain", corpus, "--arch", "gpt", "--objective", "mlm", code=2
    ).err  # fmt: skip
    assert not [p for p in Path().iterdir() if p.suffix == "" and p.name != ".nlpkit"]
    assert "positions=rope" in run_cli("pretrain", corpus, "--arch", "transformer(positions=ropes)", code=2).err
    planned = run_cli(
        "pretrain", corpus, "--arch", "lstm(layers=1,hidden=16)", "--vocab-size", "90", "--dry-run", "--json"
    ).json()
    assert (
        planned["parameters"] == planned["vocab_size"] * 17 + 4 * 16 * (16 + 16 + 2) + 2 * 16
    )  # embeddings, bias, LSTM, norm
    assert not Path("docs.pretrain").exists()
