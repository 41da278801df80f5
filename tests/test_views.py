"""Blocks and their writers: each says the same, none lets what is shown through as code of its own."""

from __future__ import annotations

import pytest

from nlpkit.platform.views import html, markdown, terminal
from nlpkit.platform.views.blocks import Block, Figure, Note, Sentence, Table, cell

TABLE = Table(["word", "n"], [["a|b", "1"], ["<i>\nx", "2"]], right=["n"], title="Words", noun="words", rest="w.csv")
BLOCKS: list[Block] = [TABLE, Figure("▁▃█"), Note("read `it`"), Sentence("the end")]


def test_every_writer_says_every_block(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "nlpkit"):
        for block in BLOCKS:
            terminal.write(block)
    page, text = html.write(BLOCKS), "".join(map(markdown.write, BLOCKS))
    for output in (capsys.readouterr().out + caplog.text, page, text):
        assert all(said in output for said in ("Words", "word", "1", "2", "▁▃█", "read", "the end"))
    assert "<i>" not in page + text
    assert "| word | n |\n| --- | ---: |\n| a\\|b | 1 |\n| &lt;i> x | 2 |" in text
    assert markdown.write(TABLE, 0) == ""


def test_a_table_is_cut_where_it_may_be_long() -> None:
    assert TABLE.shown(1) == ([["a|b", "1"]], "… the first 1 of 2 words; all of them: --show all, or w.csv")
    assert Table(["n"], [["1"], ["2"]]).shown(1) == ([["1"], ["2"]], "")
    assert Table(["n"], [["1"], ["2"]], noun="rows", sizes=[1, 2], after=[["3"]]).shown(1)[0] == [["2"], ["3"]]


def test_cells() -> None:
    values = (None, float("nan"), 1234, 0.12345, ["a", 1], True, "x")
    assert [*map(cell, values)] == ["", "", "1,234", "0.123", "a, 1", "True", "x"]
