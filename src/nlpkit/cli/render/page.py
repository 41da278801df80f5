"""Tables one below the other, for a terminal or in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from nlpkit.cli import console
from nlpkit.io.score_files import markdown_table


class Page:
    """Tables one below the other, for a terminal or in Markdown."""

    def __init__(self, *, markdown: bool) -> None:
        self._markdown = markdown

    def table(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = (), *,
        texts: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Print a table; on a terminal the columns of `texts` are cut so that each row is one line."""
        if self._markdown and console.settings.show != 0:
            kept = console.shown_rows(len(rows))
            console.out(f"#### {title}\n\n" + markdown_table(columns, [rows[i] for i in kept], right=right) + "\n")
            if len(kept) < len(rows):
                console.out(console.rest_line(len(kept), len(rows), "rows", "the tables of the run") + "\n")
            return
        console.table(columns, rows, right=right, title=title, noun="rows", rest="the tables of the run", texts=texts)
