"""Corpora of single characters: as many tokens as there can be in so few bytes. The commands run in a process of their own, for
what is written past the end of an array ends it, then or later, or does not show at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import read, write_jsonl


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


LINES = {
    "stats answers.txt": 0,
    "stats ratings.jsonl --text-col rating": 0,
    "tfidf digits.jsonl -o x.parquet": 3,  # no words are left: numbers are none
    "ctfidf letters.jsonl --by label -o x.parquet": 3,
    "lda-gibbs digits.jsonl --k 4 -o x": 3,
    "similar-words y --measure levenshtein --in answers.txt": 0,
    "preprocess signs.jsonl --dedupe near:0.9 -o x.parquet": 0,
    "preprocess answers.txt --min-length 1 --stop-words none -o answers.parquet": 0,
    "preprocess letters.jsonl --min-length 1 --stop-words none -o letters.parquet": 0,
}
SCRIPT = """
import contextlib, io, sys
from nlpkit.platform.cli.app import app
for line in sys.argv[1:]:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            app(line.split(), prog_name="nlpkit")
    except SystemExit as end:
        print(end.code or 0, line, flush=True)
"""


def test_commands_end_as_they_should_and_every_document_has_its_own_letters(corpora: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *LINES], cwd=corpora, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{code} {line}" for line, code in LINES.items()]
    assert "a bug in nlpkit" not in done.stderr
    assert "Traceback" not in done.stderr
    for name, tokens in (("answers", [["y"], ["n"]] * 400), ("letters", [["a", "b", "c"]] * 300)):
        assert read(corpora / f"{name}.parquet")["tokens"].to_pylist() == tokens
