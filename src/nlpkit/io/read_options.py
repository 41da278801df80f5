"""The options of reading documents: format, columns, encoding, types, and how many."""

from __future__ import annotations

from dataclasses import dataclass

from nlpkit.io.readers.roles import Roles


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How inputs are read; the command line has one option for each.

    `txt_docs`: "line", "file", or "auto": one .txt file is one document a line, several (a directory, a glob, many
    arguments), and files of Markdown, are one document each. `xml_fields`: (column, path below the record). `words_col`: lists
    of words that are the text where there is no column of it. `columns`: those to keep beside id and text. `limit`: the first
    N documents; the sha256 of a file is that of the whole file even then.
    """

    format: str | None = None
    text_col: str = "text"
    id_col: str = "id"
    label_col: str = "label"
    date_col: str = "date"
    date_format: str | None = None
    words_col: str | None = None
    encoding: str | None = None
    encoding_errors: str = "strict"
    txt_docs: str = "auto"
    xml_record: str | None = None
    xml_fields: tuple[tuple[str, str], ...] = ()
    types: tuple[tuple[str, str], ...] = ()
    columns: tuple[str, ...] | None = None
    limit: int | None = None
    batch_rows: int = 10_000

    def roles(self) -> Roles:
        """Return the names of the four columns with a role."""
        return Roles(self.text_col, self.id_col, self.label_col, self.date_col, self.words_col)
