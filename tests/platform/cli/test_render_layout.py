"""Tables on the screen: no digit and no head word is cut at any width."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from nlpkit.platform.cli import console
from nlpkit.platform.views.blocks import Table
from nlpkit.platform.views.terminal import LONGEST_WORD, one_line_rows, table_lines

SCORES = (
    ["metric", "score", "95% interval", "majority baseline", "without near-duplicates"],
    [
        ["balanced_accuracy", "0.7740", "[0.7661, 0.7819]", "0.1003", "0.7740"],
        ["macro_precision (lower is better)", "0.7563", "[0.7476, 0.7650]", "–", "0.7563"],
        ["Wörter 中文字符 of the text", "1,234,567", "[-1.0000, 1.0000]", "", "12.3%"],
    ],
)


@pytest.mark.parametrize("width", [1, 20, 40, 59, 60, 61, 72, 80, 100, 120, 200])
def test_numbers_and_head_words_stay_whole(width: int) -> None:
    columns, rows = SCORES
    head, lines = table_lines(columns, rows, right=columns[1:], width=width)
    text = "\n".join(lines)
    for row in rows:
        for cell in row[1:]:
            assert cell in text
        for word in row[0].split():
            assert word in text
    for word in " ".join(columns).split():
        assert re.search(rf"(^|\s){re.escape(word)}(\s|$)", "\n".join(head)), (word, head)
    assert {line.rstrip() for line in [*head, *lines]} == {*head, *lines}


def test_a_table_that_fits_is_as_wide_as_it_is() -> None:
    assert table_lines(["a", "n"], [["b", "10"], ["中", "9"]], right=["n"], width=80) == (
        ["a    n", "─" * 6],
        ["b   10", "中   9"],
    )


def test_texts_are_wrapped_at_blanks_and_the_lines_fit() -> None:
    rows = [["0", "one two three four five six seven", "eight nine ten"], ["1", "https://" + "x" * 60, ""]]
    head, lines = table_lines(["k", "words", "more"], rows, right=["k"], width=60)
    assert all(cell_len(line) <= 60 for line in [*head, *lines])
    assert LONGEST_WORD < 60
    assert table_lines(["", ""], [["a", "b"]], width=60) == ([], ["a  b"])
    assert table_lines(["a"], [], width=60) == (["a", "─"], [])


TOPICS = ["topic", "share", "name", "further words", "a document"]
TOPIC_ROWS = [
    [
        "0",
        "15.6%",
        "music, instruments, audience",
        "songs recorded notes tour singers",
        "A symphony for\nfactory whistles",
    ],
    ["1", "84.4%", "音楽 楽器 聴衆", "歌" * 40, ""],
]


@pytest.mark.parametrize(("width", "shown"), [(40, 3), (50, 3), (62, 4), (84, 5), (180, 5)])
def test_rows_of_topics_are_one_line_at_any_width(width: int, shown: int) -> None:
    head, lines = one_line_rows(TOPICS, TOPIC_ROWS, texts=TOPICS[2:], right=TOPICS[:2], width=width)
    assert head[0].split() == " ".join(TOPICS[:shown]).split()
    assert len(head) == len(lines) == len(TOPIC_ROWS)
    assert all(cell_len(line) <= width for line in [*head, *lines])
    for line, row in zip(lines, TOPIC_ROWS, strict=True):
        assert line.split()[:2] == row[:2]
    if width == 180:
        assert all(" ".join(cell.split()) in line for line, row in zip(lines, TOPIC_ROWS, strict=True) for cell in row)


def test_texts_are_cut_at_a_blank_and_heads_are_wrapped_before_a_column_goes() -> None:
    columns, row = ["npmi (window 10)", "name", "words"], ["0.1", "a", "songs recorded notes tour singers"]
    head, lines = one_line_rows(columns, [row], texts=columns[1:], right=columns[:1], width=50)
    assert (head[0], lines) == ("npmi (window 10)  name  words", [f"{'0.1':>16}  a     songs recorded notes tour…"])
    head, lines = one_line_rows(columns, [row], texts=columns[1:], right=columns[:1], width=36)
    assert head[:3] == ["   npmi  name  words", "(window", "    10)"]
    assert lines == ["    0.1  a     songs recorded notes…"]
    head, lines = one_line_rows(columns, [row], texts=columns[1:], right=columns[:1], width=30)
    assert (head[0], lines) == ("npmi (window 10)  name", [f"{'0.1':>16}  a"])


texts = st.text(alphabet="ab 中é", max_size=60)
numbers = st.from_regex(r"-?[0-9]{1,8}(\.[0-9]{1,4})?", fullmatch=True)


@given(st.lists(st.tuples(texts, numbers, texts, numbers), max_size=6), st.integers(1, 150))
def test_nothing_is_lost_at_any_width(rows: list[tuple[str, str, str, str]], width: int) -> None:
    columns = ["some words", "a score", "text", "n"]
    head, lines = table_lines(columns, rows, right=["a score", "n"], width=width)
    letters = "".join("".join(row) for row in rows)
    assert sorted("".join(lines).replace(" ", "")) == sorted(letters.replace(" ", ""))
    for row in rows:
        assert all(any(n in line for line in lines) for n in (row[1], row[3]))
    if lines and width >= 130:
        assert max(map(cell_len, [*head, *lines])) <= max(width, 4 * LONGEST_WORD)


def test_brackets_in_titles_and_cells_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    console.say([Table(["[bold]a"], [["[red]x[/red] :smile:"]], title="[1, 2] of [link]")])
    assert capsys.readouterr().out == "[1, 2] of [link]\n[bold]a\n────────────────────\n[red]x[/red] :smile:\n\n"
