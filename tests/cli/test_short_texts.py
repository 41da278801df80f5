"""Corpora of single characters: as many tokens as there can be in so few bytes. Each command in a process of its own, for
what is written past the end of an array shows as its exit code, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import run_shell, write_jsonl


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Answers of one letter; a column of ratings; a line of letters and one of digits, again and again; nothing but signs."""
    (tmp_path / "answers.txt").write_text("y\nn\n" * 400)
    rows = [
        {"id": str(i), "text": f"Film number {i}.", "rating": str(i % 5 + 1), "label": "ab"[i % 2]} for i in range(900)
    ]
    write_jsonl(tmp_path / "ratings.jsonl", rows)
    for name, text in (("letters", "a b c"), ("digits", "1 2 3 4 5 6 7 8 9"), ("signs", "?!" * 40)):
        write_jsonl(tmp_path / f"{name}.jsonl", [{"id": str(i), "text": text, "label": "ab"[i % 2]} for i in range(300)])  # fmt: skip
    return tmp_path


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("stats answers.txt", 0),
        ("stats ratings.jsonl --text-col rating", 0),
        ("tfidf digits.jsonl -o x.parquet", 3),  # no words are left: numbers are none
        ("ctfidf letters.jsonl --by label -o x.parquet", 3),
        ("lda-gibbs digits.jsonl --k 4 -o x", 3),
        ("similar-words y --measure levenshtein --in answers.txt", 0),
        ("preprocess signs.jsonl --dedupe near:0.9 -o x.parquet", 0),
    ],
)
def test_commands_end_as_they_should(line: str, code: int, corpora: Path) -> None:
    done = run_shell(f"nlpkit {line}", cwd=corpora, code=code)
    assert "a bug in nlpkit" not in done.err
    assert "Traceback" not in done.err


def test_every_document_has_its_own_letters(corpora: Path) -> None:
    for name, tokens in (("answers.txt", [["y"], ["n"]] * 400), ("letters.jsonl", [["a", "b", "c"]] * 300)):
        done = run_shell(f"nlpkit preprocess {name} --min-length 1 --stop-words none -o -", cwd=corpora)
        assert [json.loads(line)["tokens"] for line in done.out.splitlines()] == tokens
