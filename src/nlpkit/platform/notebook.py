"""How results show themselves at a prompt and in a notebook, and give their table to pandas and Polars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from nlpkit.errors import MissingExtraError
from nlpkit.platform import wording

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

ROWS, LISTED, CHARACTERS = 20, 8, 120  # of a table that is shown; of a list and of a text in a cell


class Tabular:
    """A result that has a table: as an attribute or a method `table`, or what `_shown` names."""

    __slots__ = ()
    _shown = "table"

    def _table(self) -> pa.Table:
        table = getattr(self, self._shown)
        return table() if callable(table) else table

    def to_pandas(self) -> Any:
        """Return the table as a data frame of pandas."""
        return pandas_frame(self._table())

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a data frame of Polars."""
        return polars_frame(self._table())

    def _repr_html_(self) -> str:
        """Return the first rows of the table for a notebook."""
        return table_html(self._table())


def pandas_frame(table: pa.Table) -> Any:
    """Return an Arrow table as a data frame of pandas.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise MissingExtraError("pandas is not installed; run: pip install pandas, or use to_polars()") from None
    return table.to_pandas()


def polars_frame(table: pa.Table) -> pl.DataFrame:
    """Return an Arrow table as a data frame of Polars."""
    import polars as pl

    return pl.DataFrame(table)


def table_html(table: pa.Table, rows: int = ROWS) -> str:
    """Return the first rows of an Arrow table as a table of HTML, with the number of rows that are left out."""
    names = table.column_names
    left = table.num_rows - rows
    note = f"<p>… and {wording.counted(left, 'row')} more</p>" if left > 0 else ""
    return html(names, ([row[name] for name in names] for row in table.slice(0, rows).to_pylist())) + note


def html(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table of HTML; whatever the cells hold is escaped."""
    lines = ["".join(f"<td>{escape(shown(cell))}</td>" for cell in row) for row in rows]
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def text(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as lines of text: numbers to the right, the last column as wide as it needs to be."""
    listed = list(rows)
    cells = [[shown(cell) for cell in row] for row in listed]
    widths = [max(map(len, (heading, *column))) for heading, *column in zip(headings, *cells, strict=True)]
    right = [all(isinstance(row[i], int | float) for row in listed) for i in range(len(headings))]
    lines = [
        "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)).rstrip()
        for line in [list(headings), *cells]
    ]
    return "\n".join(wording.visible(line) for line in lines)


def shown(cell: Any) -> str:
    """Return what a cell holds as a person reads it."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.4g}"
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    if isinstance(cell, list | tuple):
        return wording.listed([shown(item) for item in cell], LISTED)
    return wording.truncated(" ".join(str(cell).split()), CHARACTERS)
