"""nlpkit spell: tables of errors, corrected documents, and what cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nlpkit as nk
from nlpkit.errors import InputError
from nlpkit.platform.documents.options import ReadOptions
from tests.command_line import HARD, NEWS, footer, read, run_cli, write_jsonl

TEXTS = [
    "<p>The jury heard the captian.</p> Was it NOTHIGN more? Captian!",
    "",
    "A river bank, 😀 the goverment said.",
    None,
]
FOUND = [("captian", "captain"), ("NOTHIGN", "NOTHING"), ("Captian", "Captain"), ("goverment", "government")]


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lm")
    run_cli("ngram-lm", NEWS, "-q", "-o", folder / "lm", "--save-arpa", folder / "lm.arpa")
    return folder / "lm"


@pytest.fixture
def typos(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "x.jsonl", [{"id": f"d{i}", "text": t, "n": i} for i, t in enumerate(TEXTS)])


def test_places_are_those_of_the_text(lm: Path, typos: Path) -> None:
    done = run_cli("spell", lm, typos, "--min-gain", 3, "-o", "errors.parquet")
    rows = read("errors.parquet").to_pylist()
    assert [(row["word"], row["suggestion"]) for row in rows] == FOUND
    for row in rows:
        assert (TEXTS[int(row["id"][1:])] or "")[row["start"] : row["end"]] == row["word"]
        assert row["log10_gain"] > 0
    assert footer("errors.parquet")["kind"] == "spelling"
    assert "4 words would be corrected" in done.err
    assert "captian" in done.out
    assert read("errors.dropped.parquet")["id"].to_pylist() == ["d3"]
    summary = run_cli("spell", lm, typos, "--min-gain", 3, "--json").json()
    assert (summary["documents"], summary["errors"], summary["output"]) == (3, 4, None)


def test_corrected_documents(lm: Path, typos: Path) -> None:
    run_cli("spell", lm, typos, "--apply", "--min-gain", 3, "-o", "corrected.parquet", "-q")
    table = read("corrected.parquet")
    assert table.column_names == ["id", "text", "n", "corrected"]
    assert table["corrected"].to_pylist() == [
        "<p>The jury heard the captain.</p> Was it NOTHING more? Captain!", "", "A river bank, 😀 the government said.",
    ]  # fmt: skip
    out = run_cli("spell", lm, typos, "--apply", "-o", "-", "-q").out
    assert [json.loads(line)["n"] for line in out.splitlines()] == [0, 1, 2]


def test_names_of_accounts_and_tags_stay(lm: Path, tmp_path: Path) -> None:
    texts = ["the @captian and the #goverment", "the captian"]
    path = write_jsonl(tmp_path / "tweets.jsonl", [{"text": text} for text in texts])
    run_cli("spell", lm, path, "--min-gain", 3, "-o", "errors.parquet")
    assert [(row["id"], row["start"]) for row in read("errors.parquet").to_pylist()] == [("tweets:2", 4)]


def test_batches_and_threads_do_not_matter(lm: Path) -> None:
    whole = nk.correct_spelling(lm, nk.read_corpus(HARD), min_gain=0.0)
    parts = nk.correct_spelling(lm, nk.read_corpus(HARD, options=ReadOptions(batch_rows=2)), min_gain=0.0, threads=2)
    assert parts.to_pylist() == whole.to_pylist()
    assert whole.num_rows


def test_arpa_files_take_words_between_blanks(lm: Path) -> None:
    found = nk.correct_spelling(lm.with_name("lm.arpa"), ["the captian of the team"]).to_pylist()
    assert [(row["word"], row["suggestion"], row["start"]) for row in found] == [("captian", "captain", 4)]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 3, "does not exist"),
        (["--error", "1"], 2, "--error must be below 1, got 1.0"),
        (["--max-distance", "3"], 2, "--max-distance"),
        (["--apply"], 2, "give -o FILE"),
    ],
)
def test_what_cannot_be(words: list[str], code: int, says: str, lm: Path, typos: Path) -> None:
    assert says in run_cli("spell", lm if words else "nothing", typos, *words, code=code).err
    (typos.parent / "empty.jsonl").write_text("")
    assert "no documents" in run_cli("spell", lm, "empty.jsonl", "-o", "e.parquet", code=3).error()
    assert not Path("e.parquet").exists()


def test_models_of_other_words_are_refused(typos: Path) -> None:
    settings: list[dict[str, Any]] = [{"stem": "porter"}, {"stop_words": "en"}, {"tokenizer": "whitespace"}]
    for one in settings:
        tokens = nk.preprocess(["the judges left the court early", "the judge came"], min_df=1, language="en", **one)
        model = nk.fit_language_model(tokens)
        with pytest.raises(
            InputError, match=r"the words of the model were changed .* so written words cannot be compared"
        ):
            nk.correct_spelling(model, ["the judgse left"])
