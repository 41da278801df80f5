"""Tokens of new documents that are not made as those of a model: cut again from their texts, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nlpkit.text.settings import differences, learned_bounds
from tests.command_line import Done, read, run_cli, write_jsonl

SPORT, MONEY = "runners running races races won matches", "markets trading shares shares fell banks"
TRAIN = [{"id": f"d{i}", "text": (SPORT, MONEY)[i % 2], "label": "sm"[i % 2]} for i in range(24)]
NEW = [{"id": "n0", "text": "The runners running won."}, {"id": "n1", "text": "Banks trading shares fell."}]
STEMMED = ("--stem", "porter", "--min-df", "1")


@pytest.fixture
def runs(tmp_path: Path) -> None:
    """A classifier and a topic model of plain words; new documents as stems, and as the models' words."""
    write_jsonl(tmp_path / "train.jsonl", TRAIN)
    write_jsonl(tmp_path / "new.jsonl", NEW)
    run_cli("classify", "train.jsonl", "--model", "nb", "--cv", "2", "-q", "-o", "classes")
    run_cli("lda-gibbs", "train.jsonl", "--k", "2", "--sweeps", "20", "-q", "-o", "lda")
    run_cli("preprocess", "new.jsonl", *STEMMED, "-q", "-o", "stems.parquet")


def predicted(model: str, documents: str, code: int = 0) -> Done:
    return run_cli("predict", model, documents, "-f", "-o", "p.parquet", code=code)


@pytest.mark.parametrize(("model", "column"), [("classes", "prediction"), ("lda", "topic")])
def test_other_tokens_are_cut_again(runs: None, model: str, column: str) -> None:
    """`preprocess --stem porter | classify --model` knew four in ten words less, without a word."""
    predicted(model, "new.jsonl")
    expected = read("p.parquet").select([column, f"{column}_prob"]).to_pylist()
    done = predicted(model, "stems.parquet")
    assert "stem porter, the model's none" in done.err
    assert "the texts are tokenised again" in done.err
    assert read("p.parquet").select([column, f"{column}_prob"]).to_pylist() == expected
    assert read("p.parquet")["tokens"].to_pylist() == read("stems.parquet")["tokens"].to_pylist()  # travels along


def test_other_tokens_without_texts_are_refused(runs: None) -> None:
    from nlpkit.platform.runs.artifacts import read_footer, with_footer

    block = read_footer(Path("stems.parquet"))
    assert block is not None
    table = read("stems.parquet")
    bare = table.set_column(table.column_names.index("text"), "text", [[""] * 2])
    write(bare.cast(with_footer(bare.schema, block)), "bare.parquet")
    says = predicted("classes", "bare.parquet", code=3).error()
    assert "stem porter, the model's none" in says
    assert "there are no texts to tokenise again" in says


def write(table: Any, name: str) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, name)


def test_tokens_made_alike_are_taken(runs: None) -> None:
    for documents in ("train", "new"):
        run_cli("preprocess", f"{documents}.jsonl", *STEMMED, "-q", "-f", "-o", f"{documents}.parquet")
    run_cli("classify", "train.parquet", "--model", "nb", "--cv", "2", "-q", "-o", "stems")
    assert "cut again" not in predicted("stems", "new.parquet").err
    # pruned by what is frequent among the new documents alone
    run_cli("preprocess", "new.jsonl", "--stem", "porter", "--max-df", "1", "-q", "-f", "-o", "new.parquet")
    assert "left out by --max-df" in predicted("stems", "new.parquet").err
    # tokens that do not say how they were made
    pl.read_parquet("stems.parquet").write_parquet("theirs.parquet")
    assert "does not say how they were made" in predicted("stems", "theirs.parquet").err


def test_a_reference_of_other_tokens(runs: None) -> None:
    run_cli("preprocess", "train.jsonl", *STEMMED, "-q", "-o", "other.parquet")
    mine = run_cli("evaluate", "lda", "--npmi", "--reference", "train.jsonl", "--json")
    theirs = run_cli("evaluate", "lda", "--npmi", "--reference", "other.parquet", "--json")
    assert "stem porter, the model's none" in theirs.err
    assert '"value"' in mine.out
    values = [line for line in mine.out.split(",") if '"value"' in line]
    assert values == [line for line in theirs.out.split(",") if '"value"' in line]


def test_what_differs() -> None:
    model: dict[str, Any] = {
        "language": "auto", "languages": [["en", 1.0]], "stop_words": "auto", "stop_word_languages": ["en"],
        "tokenizer": "words", "lower": True, "ngrams": [1, 1], "min_df": 2, "max_df": 1.0,
    }  # fmt: skip
    assert differences(model, {**model, "language": "en", "stop_words": "en", "min_df": 9, "vocab": ["a"]}) == []
    assert differences(model, {**model, "lower": False, "keep": ["url"]}) == [
        "keep url, the model's none",
        "lower no, the model's yes",
    ]
    phrases = {"measure": "npmi", "threshold": 0.5}
    assert differences({**model, "phrases": phrases}, {**model, "phrase_table": ["new york"]}) == []
    assert differences({**model, "phrases": phrases}, model) == ["phrases no, the model's yes"]
    assert learned_bounds(model) == ["`min_df`"]
    assert learned_bounds({**model, "min_df": 1, "max_df": 0.5, "max_vocab": 9}) == ["`max_df`", "`max_vocab`"]
    assert learned_bounds({**model, "min_df": 1, "max_df": 1}) == ["`max_df`"]
    assert learned_bounds({**model, "vocab": ["a"]}) == []


def test_words_chosen_in_all_documents_are_told_in_a_comparison(tmp_path: Path) -> None:
    """`preprocess --phrases --min-df | classify` sees the test documents, and nothing said so."""
    write_jsonl(tmp_path / "train.jsonl", TRAIN)
    leak = "in all documents, including the test documents, so scores"
    run_cli("preprocess", "train.jsonl", "--min-df", "2", "--max-vocab", "9", "-q", "-o", "a.parquet")
    assert leak in run_cli("classify", "a.parquet", "--model", "nb", "--cv", "2", "-o", "x").err
    run_cli("preprocess", "train.jsonl", "--min-df", "1", "-q", "-o", "b.parquet")
    assert "chosen by" not in run_cli("classify", "b.parquet", "--model", "nb", "--cv", "2", "-o", "y").err
    assert "chosen by" not in run_cli("classify", "train.jsonl", "--model", "nb", "--cv", "2", "-o", "z").err
    write_jsonl(tmp_path / "test.jsonl", [{**row, "id": f"t{row['id']}"} for row in TRAIN[:4]])
    run_cli("preprocess", "test.jsonl", "--min-df", "1", "--stem", "porter", "-q", "-o", "stems.parquet")
    says = run_cli("classify", "b.parquet", "--test", "stems.parquet", "--model", "nb", "-o", "w", code=3).error()
    assert "stem porter, the training documents' none" in says
    run_cli("preprocess", "test.jsonl", "--min-df", "1", "-q", "-o", "c.parquet")
    assert "chosen by" not in run_cli("classify", "a.parquet", "--test", "c.parquet", "--model", "nb", "-o", "w").err
