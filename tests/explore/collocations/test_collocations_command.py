"""nlpkit collocations: pairs, collocates of a node, files, and what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

import nlpkit as nk
from tests.command_line import NEWS, footer, read, run_cli, write_jsonl

ROWS = [
    {"text": "Strong tea and strong tea with strong coffee."},
    {"text": "The tea was strong, strong tea."},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "rows.jsonl", ROWS)


def test_pairs(rows: Path) -> None:
    done = run_cli("collocations", rows, "--min-count", "2")
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0][:5] == ["Pairs:", "neighbours,", "x", "before", "y;"]
    assert lines[1] == ["rank", "x", "y", "n_xy", "n_x", "n_y", "PMI", "NPMI", "G²", "t", "Dice", "logDice"]
    assert lines[3][:6] == ["1", "strong", "tea", "3", "5", "4"]
    assert run_cli("collocations", rows).err == "no pair occurs 5 times within the bounds; try --min-count 2\n"


def test_collocates_of_a_node(rows: Path) -> None:
    done = run_cli("collocations", rows, "--node", "Tea", "--min-count", "1", "--window", "1", "--json").json()
    assert (done["node"], done["window"], done["any_order"], done["n"]) == ("tea", 1, True, 24)
    by_word = {pair["y"]: (pair["n_xy"], pair["n_left"], pair["n_right"], pair["cf_y"]) for pair in done["pairs"]}
    assert by_word == {"strong": (3, 3, 0, 5), "and": (1, 0, 1, 1), "with": (1, 0, 1, 1), "was": (1, 0, 1, 1),
                       "the": (1, 1, 0, 1)}  # fmt: skip
    says = run_cli("collocations", rows, "--node", "stron", code=3).error()
    assert "did you mean 'strong'" in says


def test_stop_words_keep_their_places() -> None:
    pairs = nk.collocations(["the state of the art"] * 5, stop_words="en", window=3).table().to_pylist()
    assert [(p["x"], p["y"], p["n_xy"], p["n"]) for p in pairs] == [("state", "art", 5, 45)]
    assert nk.collocations(["the state of the art"] * 5, stop_words="en").table().num_rows == 0


def test_the_table(rows: Path) -> None:
    run_cli("collocations", NEWS, "--measure", "npmi", "--window", "3", "-o", "pairs.parquet", "-q")
    table = read("pairs.parquet")
    assert table.schema.names == ["rank", "x", "y", "cf_x", "cf_y", "n_xy", "n_x", "n_y", "n", "expected", "pmi", "npmi", "g2",
                                  "t", "dice", "log_dice"]  # fmt: skip
    assert table.num_rows > 100
    values = table.column("npmi").to_pylist()
    assert values == sorted(values, reverse=True)
    assert (footer("pairs.parquet")["kind"], footer("pairs.parquet")["parameters"]["window"]) == ("collocations", 3)
    one, three = (nk.collocations([r["text"] for r in ROWS], min_count=1, threads=n).table() for n in (1, 3))
    assert one.equals(three)


def test_tokens_that_are_there() -> None:
    run_cli("preprocess", NEWS, "--stop-words", "none", "--min-df", "1", "-q", "-o", "docs.parquet")
    done = run_cli("collocations", "docs.parquet", "--stop-words", "auto", "--json")
    assert done.err == "the words come from the column 'tokens', unchanged\n"
    pairs = [(pair["x"], pair["y"]) for pair in done.json()["pairs"]]
    assert ("carbon", "dioxide") in pairs
    assert not {"the", "of"} & {word for pair in pairs for word in pair}


def test_what_cannot_be(tmp_path: Path, rows: Path) -> None:
    assert "no documents" in run_cli("collocations", write_jsonl(tmp_path / "none.jsonl", []), code=3).error()
    empty = write_jsonl(tmp_path / "empty.jsonl", [{"text": "..."}])
    assert "no words are left" in run_cli("collocations", empty, code=3).error()
    assert "--measure chi2" in run_cli("collocations", rows, "--measure", "chi2", code=2).error()
