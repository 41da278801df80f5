"""nlpkit kwic: lines, tables, counts, and the pattern as a classifier."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from sklearn.metrics import precision_recall_fscore_support

from tests.command_line import NACHRICHTEN, NEWS, SAMPLES, footer, read, run_cli, write_jsonl

ROWS = [
    {"id": "r1", "text": "The other theology: the judge and the jury.", "label": "court"},
    {"id": "r2", "text": "Fortuna 1895 Düsseldorf\n1895\nüber", "label": "sport"},
    {"id": "r3", "text": "Nobody judged. A judge, though", "label": "sport"},
    {"id": "r4", "text": "judge", "label": None},
    {"id": "r5", "text": "", "label": "court"},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "rows.jsonl", ROWS)


def hits(*words: Any) -> list[tuple[str, str]]:
    return [(h["id"], h["match"]) for h in run_cli("kwic", *words, "--json", "-q").json()["lines"]]


def test_lines(rows: Path) -> None:
    done = run_cli("kwic", r"\b[tT]he\b", rows, "--window", "2")
    assert done.out.splitlines() == [
        "r1                  The other theology:",
        "r1  other theology: the judge and",
        "r1        judge and the jury.",
    ]
    assert done.err == "3 hits in 1 of 5 documents (20.0%)\n"
    assert hits("^[0-9]+$", rows) == [("r2", "1895")]  # a line of its own
    assert hits(r"\b\w+$", rows)[1:3] == [("r2", "1895"), ("r2", "über")]
    assert hits(r"\bber\b", rows) == []
    assert hits("JUDGE", rows, "-w", "-i") == [("r1", "judge"), ("r3", "judge"), ("r4", "judge")]
    assert hits("judg*", rows, "--glob") == [("r1", "judge"), ("r3", "judged"), ("r3", "judge"), ("r4", "judge")]
    assert hits("nothing like it", rows) == []


def test_width_instead_of_words(rows: Path) -> None:
    line = run_cli("kwic", "jury", rows, "--width", "4", "--json", "-q").json()["lines"][0]
    assert line == {"id": "r1", "start": 38, "end": 42, "left": "the ", "match": "jury", "right": "."}


def test_places_are_those_of_the_text(tmp_path: Path) -> None:
    run_cli("kwic", r"\b[A-ZÄÖÜ]\w+ung\b", NACHRICHTEN, "-q", "-o", "hits.parquet")
    table = read("hits.parquet")
    assert table.schema.names == ["id", "start", "end", "left", "match", "right"]
    texts = {row["id"]: row["text"] for row in map(json.loads, Path(NACHRICHTEN).read_text("utf-8").splitlines())}
    assert table.num_rows > 50
    for hit in table.to_pylist():
        text = texts[hit["id"]]
        assert text[hit["start"] : hit["end"]] == hit["match"]
        assert text[: hit["start"]].endswith(hit["left"])
        assert text[hit["end"] :].startswith(hit["right"])
    block = footer("hits.parquet")
    assert (block["kind"], block["parameters"]["window"], block["inputs"][0]["rows"]) == ("kwic", 8, 80)


def test_output(rows: Path) -> None:
    done = run_cli("kwic", "judge", rows, "-o", "hits.parquet", "--by", "label")
    assert done.err.splitlines()[:2] == ["wrote hits.parquet: 4 hits", "4 hits in 3 of 5 documents (60.0%)"]
    assert read("hits.parquet").column("class").to_pylist() == ["court", "sport", "sport", None]
    assert "exists" in run_cli("kwic", "judge", rows, "-o", "hits.parquet", code=2).error()
    done = run_cli("kwic", "judge", rows, "-o", "-", "-q")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [line["start"] for line in lines] == [24, 7, 17, 0]
    assert list(lines[0]) == ["id", "start", "end", "left", "match", "right"]
    run_cli("kwic", "nothing like it", rows, "-q", "-o", "none.parquet")
    assert read("none.parquet").num_rows == 0
    assert "--count writes no table" in run_cli("kwic", "x", rows, "--count", "-o", "x.parquet", code=2).error()


def test_limits(rows: Path) -> None:
    done = run_cli("kwic", "judge", rows, "--limit-hits", "2")
    assert len(done.out.splitlines()) == 2
    assert "4 hits (the first 2 here) in 3 of 5 documents" in done.err
    found = run_cli("kwic", "judge", rows, "--limit-hits", "3", "--limit", "3", "--json", "-q").json()
    assert (found["documents"], found["matched"], found["hits"], len(found["lines"])) == (3, 2, 3, 3)


def test_counts(rows: Path) -> None:
    lines = run_cli("kwic", "judge", rows, "--count", "-q").out.split("\n")
    assert [line.split() for line in lines if "%" in line] == [["5", "3", "60.0%", "4"]]
    found = run_cli("kwic", "judge", rows, "--count", "--json", "-q").json()
    assert found == {"pattern": "judge", "documents": 5, "matched": 3, "hits": 4}


def test_a_pattern_as_a_classifier(rows: Path) -> None:
    done = run_cli("kwic", "judge", rows, "--by", "label", "--count")
    assert "not scored: 1 document without a value in 'label'" in done.err
    found = run_cli("kwic", "judge", rows, "--by", "label", "--count", "--json", "-q").json()
    court, sport = found["classes"]["court"], found["classes"]["sport"]
    assert [court[k] for k in ("documents", "matched", "tp", "fp", "fn", "tn")] == [2, 1, 1, 1, 1, 1]
    assert (court["precision"], court["recall"], court["f1"], sport["f1"]) == (0.5, 0.5, 0.5, 0.5)
    assert (found["without_class"], court["hits"] + sport["hits"]) == (1, 3)
    rows_ = [line.split() for line in done.out.splitlines()]
    assert ["court", "2", "1", "1", "0.500", "0.095–0.905", "0.500", "0.095–0.905", "0.500"] in rows_
    only = run_cli("kwic", "judge", rows, "--positive", "sport", "--count", "--json", "-q").json()
    assert (list(only["classes"]), only["by"]) == (["sport"], "label")
    assert "did you mean 'sport'?" in run_cli("kwic", "judge", rows, "--count", "--positive", "sports", code=2).error()
    assert "found: court, sport" in run_cli("kwic", "judge", rows, "--count", "--positive", "x", code=2).error()
    assert run_cli("kwic", "judge", rows, "--positive", "x", code=2).out == ""  # no line before the error
    said = run_cli("kwic", "judge", rows, "--by", "label", "-o", "-").err
    assert "court: precision 0.500 (0.095–0.905), recall 0.500" in said


def test_scores_as_in_scikit_learn() -> None:
    rows = [json.loads(line) for line in Path(NEWS).read_text("utf-8").splitlines()]
    found = run_cli("kwic", "judge|jury|court", NEWS, "--by", "label", "--count", "--json", "-q").json()
    search = [any(word in row["text"] for word in ("judge", "jury", "court")) for row in rows]
    for label, score in found["classes"].items():
        truth = [row["label"] == label for row in rows]
        expected = precision_recall_fscore_support(truth, search, average="binary", zero_division=0)
        assert (score["precision"], score["recall"], score["f1"]) == pytest.approx(expected[:3])
        assert score["precision_low"] <= score["precision"] <= score["precision_high"]


def test_nothing_found_has_no_precision(rows: Path) -> None:
    found = run_cli("kwic", "nothing like it", rows, "--by", "label", "--json", "-q").json()
    assert found["classes"]["court"]["precision"] is None
    assert found["classes"]["court"]["recall"] == 0
    assert run_cli("kwic", "nothing like it", rows, "--by", "label", "-q").out.splitlines()[2].split()[:5] == [
        "court", "2", "0", "0", "0.000",
    ]  # fmt: skip


def test_a_file_in_the_place_of_the_pattern(rows: Path) -> None:
    done = run_cli("kwic", rows, "the judge", code=2)
    assert done.err == f"error: the pattern comes before the file: nlpkit kwic 'the judge' {rows}\n"


def test_next_to_nothing(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert "no documents" in run_cli("kwic", "x", empty, code=3).error()
    blank = write_jsonl(tmp_path / "blank.jsonl", [{"text": ""}, {"text": None}, {"text": " "}])
    done = run_cli("kwic", r"\w", blank)
    assert done.out == ""
    assert "1 row could not be used" in done.err
    assert "0 hits in 0 of 2 documents (0.0%)" in done.err
    assert run_cli("kwic", "x", blank, "--dry-run").out


def test_matches_stand_below_each_other(tmp_path: Path) -> None:
    texts = ["私たちは東京で言語を研究する", "long before it: 言語 after", "言語", "é" * 5 + " 言語処理"]
    x = write_jsonl(tmp_path / "x.jsonl", [{"id": "名前" if i else "n", "text": t} for i, t in enumerate(texts[:1])] + [
        {"id": f"id{i}", "text": t} for i, t in enumerate(texts[1:])
    ])  # fmt: skip
    lines = run_cli("kwic", "言語", x, "-q").out.splitlines()
    assert len({cell_len(line[: line.index("言語")]) for line in lines}) == 1


def test_long_contexts_are_cut_at_both_ends(tmp_path: Path) -> None:
    x = write_jsonl(tmp_path / "x.jsonl", [{"text": "b" * 300 + " KEY " + "研" * 300}])
    (line,) = run_cli("kwic", "KEY", x, "--width", "200", "-q", env={"COLUMNS": "60"}).out.splitlines()
    assert cell_len(line) <= 60
    assert "…" in line.split("KEY")[0]
    assert line.endswith("…")


def test_what_steers_a_terminal_is_not_printed(tmp_path: Path) -> None:
    x = write_jsonl(tmp_path / "x.jsonl", [{"text": "a\x1b[31m\tb\nKEY\u202e c"}])
    out = run_cli("kwic", "KEY", x, "-q").out
    assert out == "x:1  a\\x1b[31m b KEY\\u202e c\n"


def test_colour(rows: Path) -> None:
    colour, both = {"FORCE_COLOR": "1"}, {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    assert "\x1b[1;31mjury\x1b[0m" in run_cli("kwic", "jury", rows, env=colour).out
    assert "31m" not in run_cli("kwic", "jury", rows, env=both).out
    assert "\x1b" not in run_cli("kwic", "jury", rows).out


def test_stdin_and_several_inputs(rows: Path) -> None:
    text = rows.read_text("utf-8")
    assert len(run_cli("kwic", "judge", "-", input=text).out.splitlines()) == 4
    found = run_cli("kwic", r"\b[tT]he\b", NEWS, SAMPLES / "hard.jsonl", "--count", "--json", "-q").json()
    assert found["documents"] > 416


def test_a_pattern_that_takes_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """(x+x+)+y on a long line of x ran until somebody stopped it."""
    write_jsonl(tmp_path / "x.jsonl", [{"id": "a", "text": "xxy"}, {"id": "b", "text": "x" * 5000}])
    with monkeypatch.context() as patched:
        patched.setattr("nlpkit.platform.documents.regex.SECONDS", 0.2)
        says = run_cli("kwic", "(x+x+)+y", "x.jsonl", code=3).error()
    assert "the pattern (x+x+)+y takes more than 0 s in document b of 5,000 characters" in says
    assert run_cli("kwic", "x+y", "x.jsonl", "-q").out


# ---------------------------------------------------------------- columns, order, words, the picture


SPEECHES = [
    {"id": "r1", "text": "The other theology: the judge and the jury.", "label": "court", "speaker": "Ann", "n": 3},
    {"id": "r3", "text": "Nobody judged. A judge, though", "label": "sport", "speaker": None, "n": 4},
    {"id": "r4", "text": "A bold judge called.", "label": "sport", "speaker": "Bob", "n": 4},
]


@pytest.fixture
def speeches(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "speeches.jsonl", SPEECHES)


def test_columns_of_the_documents(speeches: Path) -> None:
    run_cli("kwic", "judge", speeches, "--show-cols", "speaker,n", "-o", "hits.parquet", "-q")
    table = read("hits.parquet")
    assert table.schema.names == ["id", "start", "end", "left", "match", "right", "speaker", "n"]
    assert list(zip(table["speaker"].to_pylist(), table["n"].to_pylist(), strict=True)) == [
        ("Ann", 3), (None, 4), (None, 4), ("Bob", 4),
    ]  # fmt: skip
    assert (
        run_cli("kwic", "bold", speeches, "--show-cols", "all", "-q").out
        == "r4 · sport · Bob · 4  A bold judge called.\n"
    )
    assert "did you mean 'speaker'?" in run_cli("kwic", "x", speeches, "--show-cols", "speakr", code=3).error()
    clash = write_jsonl(speeches.with_name("clash.jsonl"), [{"text": "a", "left": "b"}])
    assert "'left'" in run_cli("kwic", "a", clash, "--show-cols", "left", code=2).error()
    docs = run_cli("preprocess", speeches, "--stop-words", "none", "-q", "-o", "docs.parquet") and "docs.parquet"
    run_cli("kwic", "bold", docs, "--show-cols", "tokens", "-q", "-o", "tokens.parquet")
    assert read("tokens.parquet")["tokens"].to_pylist() == [["bold", "judge", "called"]]


@pytest.mark.parametrize(
    ("order", "ids"), [("document", "r1 r3 r3 r4"), ("left", "r3 r4 r3 r1"), ("right", "r1 r4 r3 r3")]
)
def test_order(speeches: Path, order: str, ids: str) -> None:
    # left: a, bold, nobody, the; right: and, called, d (of judged), though
    found = run_cli("kwic", "judge", speeches, "--sort", order, "--json", "-q").json()
    assert " ".join(line["id"] for line in found["lines"]) == ids
    first = run_cli("kwic", "judge", speeches, "--sort", order, "--limit-hits", "1", "--json").json()
    assert [line["id"] for line in first["lines"]] == ids.split()[:1]
    assert first["hits"] == 4


def test_order_by_the_match(speeches: Path) -> None:
    found = run_cli("kwic", r"\b[tja]\w+", speeches, "--sort", "match", "--json", "-q").json()["lines"]
    matches = [line["match"].lower() for line in found]
    assert (matches, len(matches)) == (sorted(matches), 10)
    assert "--sort up" in run_cli("kwic", "x", speeches, "--sort", "up", code=2).error()


def test_one_size_of_the_context(speeches: Path) -> None:
    assert "do not go together" in run_cli("kwic", "x", speeches, "--width", "9", "--window", "3", code=2).error()


def test_words_of_a_column(speeches: Path) -> None:
    run_cli(
        "preprocess", speeches, "--stop-words", "none", "--min-length", "1", "--min-df", "1", "-q", "-o", "docs.parquet"
    )
    found = run_cli("kwic", "the judge", "docs.parquet", "--in", "tokens", "--window", "2", "--json", "-q").json()[
        "lines"
    ]
    assert found == [
        {"id": "r1", "start": 3, "end": 5, "left": "other theology ", "match": "the judge", "right": " and the"}
    ]
    lines = run_cli("kwic", "ud", "docs.parquet", "--in", "tokens", "--window", "1", "--json", "-q").json()["lines"]
    assert [(h["left"], h["match"], h["right"]) for h in lines] == [
        ("the ", "judge", " and"), ("nobody ", "judged", " a"), ("a ", "judge", " though"), ("bold ", "judge", " called"),
    ]  # fmt: skip
    wide = run_cli("kwic", "^bold|called$", "docs.parquet", "--in", "tokens", "--width", "3", "--json", "-q").json()[
        "lines"
    ]
    assert [(h["start"], h["end"], h["left"], h["right"]) for h in wide] == [(3, 4, "ge ", "")]
    assert "make it with nlpkit preprocess" in run_cli("kwic", "x", speeches, "--in", "tokens", code=3).error()
    assert "needs lists of words" in run_cli("kwic", "x", speeches, "--in", "label", code=3).error()


def test_base_forms_are_shown_as_the_words_of_the_text(tmp_path: Path) -> None:
    rows = [{"text": "a b c", "tokens": ["the", "judges", "went"], "lemmas": ["the", "judge", "go"]}]
    docs = write_jsonl(tmp_path / "lemmas.jsonl", rows)
    (hit,) = run_cli("kwic", "judge go", docs, "--in", "lemmas", "--json", "-q").json()["lines"]
    assert (hit["left"], hit["match"], hit["start"], hit["end"]) == ("the ", "judges went", 1, 3)


def test_a_picture_of_the_places(speeches: Path) -> None:
    pytest.importorskip("matplotlib")
    done = run_cli("kwic", "judge", speeches, "--plot", "a.svg", "--count")
    assert "wrote a.svg: matches in 3 documents" in done.err
    run_cli("kwic", "judge", speeches, "--plot", "b.svg", "-q", "-o", "hits.csv")
    assert Path("a.svg").read_bytes() == Path("b.svg").read_bytes()
    assert "matches in 2 classes" in run_cli("kwic", "judge", speeches, "--plot", "c.svg", "--by", "label").err
    assert "no plot was drawn" in run_cli("kwic", "zz", speeches, "--plot", "none.svg").err
    assert not Path("none.svg").exists()
    assert "exists" in run_cli("kwic", "judge", speeches, "--plot", "a.svg", code=2).error()
    assert "cannot be written" in run_cli("kwic", "judge", speeches, "--plot", "a.doc", code=2).error()


def test_places_are_shares_of_the_text() -> None:
    from nlpkit.explore.kwic.places import MOST_ROWS, Places

    places = Places()
    places.add(0, 10, [5])
    places.add(0, 10, [0, 5])
    rows, n_left_out = places.rows([(1, "none"), (0, "both")])
    assert n_left_out == 0
    assert [(name, at.tolist()) for name, at in rows] == [("both", [0.25, 0.5, 0.75])]
    for i in range(MOST_ROWS):
        places.add(f"d{i}", 4, [0, 1, 2, 3])
    rows, n_left_out = places.rows([(0, "both"), *((f"d{i}", f"d{i}") for i in range(MOST_ROWS))])
    assert (len(rows), n_left_out, rows[0][0]) == (MOST_ROWS, 1, "d0")


def test_a_pattern_that_matches_no_letter_says_so(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", [{"text": "banana"}])
    assert (
        "matches positions but no letters, so there is nothing to"
        in run_cli("kwic", "(?=(ana))", tmp_path / "x.jsonl").err
    )
    assert "warning" not in run_cli("kwic", "a*", tmp_path / "x.jsonl").err
