"""nlpkit similar-words: pairs, the nearest words of corpora, vocabularies and word lists, and what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.command_line import NACHRICHTEN, NEWS, footer, needs_hdbscan, read, run_cli, write_jsonl

ROWS = [
    {"text": "Parliament parliament parliaments", "label": "a"},
    {"text": "the parlament of Übergänge", "label": "b"},
    {"text": "parlament Übergang argument", "label": "b"},
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "x.jsonl", ROWS)


def nearest(word: str, where: Any, *words: Any) -> list[str]:
    found = run_cli("similar-words", word, "--in", where, "--json", "-q", *words).json()["words"][word]["nearest"]
    return [row["term"] for row in found]


def test_the_example_of_the_lecture() -> None:
    done = run_cli("similar-words", "work", "worker", "working")
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0][:2] == ["word", "other"]
    assert lines[2] == ["work", "worker", "0.500", "0.667", "1.000", "0.707", "2", "0.333"]
    assert lines[3] == ["work", "working", "0.400", "0.571", "1.000", "0.632", "3", "0.429"]
    assert lines[4] == ["worker", "working", "0.286", "0.444", "0.500", "0.447", "3", "0.429"]
    assert done.err == ""
    found = run_cli("similar-words", "work", "worker", "working", "--json").json()
    assert [p["levenshtein"] for p in found["pairs"]] == [2, 3, 3]
    assert found["pairs"][0]["dice"] == pytest.approx(2 * 0.5 / 1.5)


def test_pairs_as_a_table() -> None:
    run_cli("similar-words", "work", "worker", "wo", "-o", "p.parquet")
    rows = read("p.parquet").to_pylist()
    assert [(r["word"], r["term"], r["jaccard"], r["levenshtein"]) for r in rows] == [
        ("work", "worker", 0.5, 2),
        ("work", "wo", None, 2),
        ("worker", "wo", None, 4),
    ]
    assert footer("p.parquet")["kind"] == "similar_words"
    out = run_cli("similar-words", "work", "worker", "-o", "-", "-q").out
    assert out.startswith('{"word": "work", "term": "worker", "jaccard": 0.5, ')


def test_words_without_n_grams_are_told() -> None:
    done = run_cli("similar-words", "wo", "work")
    assert done.err == "shorter than 3 characters, so without n-grams: wo (see --n, --pad)\n"
    assert done.out.splitlines()[2].split() == ["wo", "work", "–", "–", "–", "–", "2", "0.500"]
    assert run_cli("similar-words", "wo", "work", "--pad").err == ""
    assert run_cli("similar-words", "wo", "work", "--n", "2", "--json").json()["pairs"][0]["overlap"] == 1


def test_case_of_pairs() -> None:
    assert run_cli("similar-words", "Work", "work", "--json").json()["pairs"][0]["levenshtein"] == 0
    assert run_cli("similar-words", "Work", "work", "--no-lower", "--json").json()["pairs"][0]["levenshtein"] == 1


def test_nearest_words_of_a_corpus(corpus: Path) -> None:
    done = run_cli("similar-words", "Parliament", "uebergang", "--in", corpus, "--measure", "levenshtein", "--top", "2")
    assert [line.split() for line in done.out.splitlines()[2:-1]] == [
        ["Parliament", "parlament", "1", "2", "2"],  # the word itself is left out
        ["parliaments", "1", "1", "1"],
        ["uebergang", "übergang", "2", "1", "1"],
        ["übergänge", "4", "1", "1"],
    ]
    assert done.out.splitlines()[0].split() == ["word", "nearest", "distance", "cf", "df"]
    assert "searched 8 words of" in done.err
    assert "'uebergang' itself is not among them" in done.err
    assert "'Parliament' itself" not in done.err
    assert nearest("övergänge", corpus) == ["übergänge", "übergang"]
    assert nearest("th", corpus, "--n", "2") == ["the"]  # stop words are words


def test_the_table_of_nearest_words(corpus: Path) -> None:
    run_cli("similar-words", "parliament", "--in", corpus, "-o", "s.parquet", "--measure", "dice")
    table = read("s.parquet")
    assert table.schema.names == ["word", "rank", "term", "score", "cf", "df"]
    first = table.to_pylist()[0]
    assert first == {"word": "parliament", "rank": 1, "term": "parliaments", "score": 16 / 17, "cf": 1, "df": 1}
    block = footer("s.parquet")
    assert (block["kind"], block["inputs"][0]["rows"]) == ("similar_words", 3)
    assert block["parameters"] == {
        "words": ["parliament"], "measure": "dice", "n": 3, "padded": False, "lower": True, "top": 10, "min_df": 1,
    }  # fmt: skip
    assert "--force" in run_cli("similar-words", "a", "b", "-o", "s.parquet", code=2).error()


def test_json(corpus: Path) -> None:
    found = run_cli("similar-words", "parliament", "moon", "--in", corpus, "--json").json()
    assert (found["measure"], found["n"], found["searched"]) == ("jaccard", 3, 8)
    assert found["words"]["parliament"]["in_vocabulary"] == {"cf": 2, "df": 1}
    assert found["words"]["parliament"]["nearest"][0] == {
        "rank": 1, "term": "parliaments", "score": 8 / 9, "cf": 1, "df": 1,
    }  # fmt: skip
    assert found["words"]["moon"] == {"in_vocabulary": None, "nearest": []}
    done = run_cli("similar-words", "moon", "--in", corpus)
    assert done.out == ""
    assert "no word shares an n-gram of 3 characters with 'moon'" in done.err


def test_tokens_that_are_there_are_the_vocabulary(corpus: Path) -> None:
    run_cli("preprocess", corpus, "--no-lower", "-o", "docs.parquet")
    assert nearest("parliament", "docs.parquet") == [
        "parliaments",
        "parlament",
        "argument",
    ]  # the word itself as Parliament
    assert nearest("parliament", "docs.parquet", "--no-lower")[0] == "parliaments"
    assert "Parliament" in nearest("parliament", "docs.parquet", "--no-lower")


def test_a_table_of_terms(tmp_path: Path) -> None:
    table = pa.table({"term": ["river", "rivers", "liver"], "df": [4, 1, 9]})
    pq.write_table(table, tmp_path / "v.vocab.parquet")
    assert nearest("rivet", "v.vocab.parquet", "--measure", "levenshtein") == ["river", "liver", "rivers"]
    assert nearest("rivet", "v.vocab.parquet", "--min-df", "4", "--measure", "overlap") == ["river", "liver"]
    pq.write_table(pa.table({"term": ["river", "river"]}), tmp_path / "v.parquet")
    error = run_cli("similar-words", "a", "--n", "1", "--in", "v.parquet", code=3).error()
    assert "has repeated words; a vocabulary needs one row per word" in error
    pq.write_table(pa.table({"term": [1, None]}), tmp_path / "v.parquet")
    assert "strings were needed" in run_cli("similar-words", "a", "--n", "1", "--in", "v.parquet", code=3).error()
    run_cli("ctfidf", NEWS, "-o", "classes.parquet", "-q")
    says = run_cli("similar-words", "river", "--in", "classes.parquet", code=3).error()
    assert "is a table of kind 'class_terms', but 'vocab' was needed" in says


@needs_hdbscan
def test_the_vocabulary_of_a_run(planted_run: Path) -> None:
    found = run_cli("similar-words", "rivers", "--in", planted_run, "--json", "-q").json()["words"]["rivers"]["nearest"]
    assert found[0]["term"] == "river"
    assert found[0]["df"] > 0


def test_a_word_list(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("# my words\nRiver\nliver\t-2\n\nriver bank\nliver\n", encoding="utf-8")
    assert nearest("rivers", "words.txt") == ["River", "liver", "river bank"]
    done = run_cli("similar-words", "river", "--in", "words.txt")
    assert done.out.splitlines()[0].split() == ["word", "nearest", "jaccard"]
    error = run_cli("similar-words", "river", "--in", "words.txt", "--min-df", "2", code=2).error()
    assert "has no document counts; leave it out" in error
    (tmp_path / "texts.txt").write_text("river\na text of more than five words it is\n", encoding="utf-8")
    says = run_cli("similar-words", "river", "--in", "texts.txt", code=3).error()
    assert "texts.txt:2 is not a word but 9" in says
    assert nearest("rivers", "texts.txt", "--format", "txt") == ["river", "five"]


def test_umlauts_of_real_text() -> None:
    assert "grenzübergänge" not in nearest("Straße", NACHRICHTEN)
    assert nearest("Strasse", NACHRICHTEN, "--measure", "levenshtein-normalized", "--top", "3")
    assert nearest("stra\u00dfen", NACHRICHTEN)[0] == "straßenbahn"


def test_batches_and_threads_do_not_matter(tmp_path: Path) -> None:
    table = pa.table({"text": [row["text"] for row in ROWS] * 5})
    for rows in (1, 7):
        pq.write_table(table, tmp_path / f"{rows}.parquet", row_group_size=rows)
    words = ("similar-words", "parliament", "übergange", "--json", "-q", "--in")
    assert run_cli(*words, "1.parquet").out == run_cli(*words, "7.parquet", "--threads", "1").out


def test_a_plan() -> None:
    assert run_cli("similar-words", "a", "b", "c", "--dry-run", "--json").json() == {"words": 3, "pairs": 3}
    done = run_cli("similar-words", "moon", "--in", NEWS, "--dry-run")
    assert "nothing was written" in done.err


def test_a_corpus_without_documents(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("")
    assert "no documents" in run_cli("similar-words", "moon", "--in", "x.jsonl", code=3).error()
    write_jsonl(tmp_path / "y.jsonl", [{"text": ""}])
    done = run_cli("similar-words", "moon", "--in", "y.jsonl")
    assert "searched 0 words of" in done.err
