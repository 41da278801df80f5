"""Blocks and their writers: each says the same, none lets what is shown through as code of its own."""

from __future__ import annotations

import pytest

from nlpkit.views import html, markdown, terminal
from nlpkit.views.blocks import Block, Figure, Note, Sentence, Table, cell

TABLE = Table(["word", "n"], [["a|b", "1"], ["<i>\nx", "2"]], right=["n"], title="Words", noun="words", rest="w.csv")
BLOCKS: list[Block] = [TABLE, Figure("▁▃█"), Note("read `it`"), Sentence("the end")]


def test_every_writer_says_every_block(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "nlpkit"):
        for block in BLOCKS:
            terminal.write(block)
    on_terminal = capsys.readouterr().out + caplog.text
    page, text = html.write(BLOCKS), "".join(map(markdown.write, BLOCKS))
    for said in ("Words", "word", "1", "2", "▁▃█", "read", "the end"):
        assert all(said in output for output in (on_terminal, page, text)), said
    assert "<i>" not in page + text
    assert "<code>it</code>" in page
    assert "| word | n |\n| --- | ---: |\n| a\\|b | 1 |\n| &lt;i> x | 2 |" in text
    assert "```text\n▁▃█\n```" in text
    assert "> read `it`" in text


def test_a_table_is_cut_where_it_may_be_long() -> None:
    rows, line = TABLE.shown(1)
    assert rows == [["a|b", "1"]]
    assert line == "… the first 1 of 2 words; all of them: --show all, or w.csv"
    assert Table(["n"], [["1"], ["2"]]).shown(1) == ([["1"], ["2"]], "")
    assert Table(["n"], [["1"], ["2"]], noun="rows", sizes=[1, 2], after=[["3"]]).shown(1)[0] == [["2"], ["3"]]
    assert markdown.write(TABLE, 0) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (float("nan"), ""),
        (1234, "1,234"),
        (0.12345, "0.123"),
        (["a", 1], "a, 1"),
        (True, "True"),
        ("x", "x"),
    ],
)
def test_cells(value: object, text: str) -> None:
    assert cell(value) == text
