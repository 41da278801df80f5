"""Lexica of categories in the formats they are passed around in: NRC, Loughran–McDonald, LIWC, plain lists of words."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nlpkit import reporting, wording
from nlpkit.cells import text_of
from nlpkit.classify.categories import CategoryLexicon
from nlpkit.errors import InputError, MissingFileError
from nlpkit.io.lexica import COLUMN_NAMES, delimiter_of, lexicon_lines
from nlpkit.io.plain_tables import read_rows, table_format
from nlpkit.io.sources import missing_path

_TRUE, _FALSE = frozenset(("1", "1.0", "true")), frozenset(("", "0", "0.0", "-1", "-1.0", "false"))
_COUNTED = ("syllables", "seq_num", "word count", "doc count")  # columns of Loughran & McDonald that are no categories
_YEAR = re.compile(
    r"-?(?:19|20)\d\d(?:\.0)?"
)  # Loughran and McDonald: when a word came in, with - when it was taken out


def read_categories(path: Path, name: str | None = None) -> CategoryLexicon:
    """Return the words of categories of a file.

        %, lines number TAB category, %, then word TAB numbers     LIWC .dic; * at the end of a word stands for any
        term TAB category TAB 0 or 1                               NRC: those with 1; or term TAB category
        a table with a header (also Parquet, JSONL)                a column of words, and those of 0 and 1 (also -1), or of years as
                                                                   Loughran & McDonald have them, where a year above 0 means 1
        a word a line                                              one category, called as the file

    Lines that begin with ; or # are comments.

    Args:
        name: what the columns are called after; default: the name of the file.

    Raises:
        InputError: it cannot be read, or has no word with a category; the message names the line.
    """
    if not path.exists():
        raise MissingFileError(missing_path(path))
    entries: dict[str, set[str]] = {}
    order: dict[str, None] = {}
    stem = re.sub(r"\W+", "_", path.name.split(".")[0]).strip("_").lower() or "lexicon"
    repeated: dict[tuple[str, str], None] = {}
    for word, category in _pairs(path, name or stem):
        order[category] = None
        if category in entries.get(word, ()):
            repeated[word, category] = None
        if word:
            entries.setdefault(word, set()).add(category)
    if not entries:
        raise InputError(f"{path}: has no word with a category")
    if repeated:
        word, category = next(iter(repeated))
        n = wording.counted(len(repeated), "word")
        reporting.note(
            f"{path} has {n} more than once in a category, such as '{word}' in {category}; each is counted once"
        )
    frozen = {word: frozenset(categories) for word, categories in entries.items()}
    return CategoryLexicon(name or stem, frozen, tuple(order), str(path))


def _pairs(path: Path, stem: str) -> Iterator[tuple[str, str]]:
    """Yield the words of a file with a category each, and "" with one that stands without a word; stem: that of a list of words."""
    if table_format(path) in ("parquet", "jsonl", "json"):
        table = read_rows(path, hint="word")
        yield from _of_table(str(path), table.columns)
        return
    lines = list(lexicon_lines(path))
    if lines and lines[0][1].strip() == "%":
        yield from _of_dic(path, lines)
        return
    delimiter = delimiter_of([line for _, line in lines[:100]])
    if delimiter is None:
        yield from ((line.strip(), stem) for _, line in lines)
        return
    rows = list(
        csv.reader(
            (line for _, line in lines),
            delimiter=delimiter,
            quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL,
        )
    )
    places = [f"{path}:{number}" for number, _ in lines]
    if len(rows) != len(places):
        raise InputError(f"{path}: has a cell that spans several lines; write each row on one line")
    if len(rows[0]) in (2, 3) and all(len(row) == len(rows[0]) for row in rows[:100]) and not _has_header(rows):
        yield from _of_long(rows, places)
        return
    head = [cell.strip() for cell in rows[0]]
    if _is_long(head, rows[1:]):
        yield from _of_long(rows[1:], places[1:])
        return
    padded = [row + [""] * (len(head) - len(row)) for row in rows[1:]]
    yield from _of_table(str(path), {column: [row[i] for row in padded] for i, column in enumerate(head)})


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names the columns: its first cell says what words are called."""
    return rows[0][0].strip().lower() in COLUMN_NAMES["word"]


def _is_long(head: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows hold word, category and perhaps a value: the second column is text."""
    return len(head) in (2, 3) and any(not _is_mark(row[1].strip().lower()) for row in rows if len(row) > 1)


def _of_long(rows: Sequence[Sequence[str]], places: Sequence[str]) -> Iterator[tuple[str, str]]:
    for row, place in zip(rows, places, strict=True):
        cells = [cell.strip() for cell in row]
        if len(cells) not in (2, 3) or not cells[1]:
            raise InputError(f"{place}: word, category and 0 or 1 were needed, found {len(cells)} cells")
        value = cells[2].lower() if len(cells) == 3 else "1"
        if value not in _TRUE | _FALSE:
            raise InputError(
                f"{place}: '{cells[2]}' for '{cells[0]}' and {cells[1]}; 0 or 1 was needed (weights are read by `sentiment()`)"
            )
        if _is_number(cells[1]):
            raise InputError(
                f"{place}: '{cells[1]}' is the category of '{cells[0]}'; a name was needed (weights are read by `sentiment()`)"
            )
        yield cells[0] if value in _TRUE else "", cells[1]


def _of_dic(path: Path, lines: Sequence[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    names: dict[str, str] = {}
    inside = True
    for number, line in lines[1:]:
        cells = line.split()
        if cells == ["%"]:
            inside = False
        elif inside:
            if len(cells) < 2:
                raise InputError(
                    f"{path}:{number}: the number and the name of a category were needed, found '{line.strip()}'"
                )
            names[cells[0]] = " ".join(cells[1:])
        else:
            word, *numbers = line.strip().split("\t") if "\t" in line.strip() else cells
            for one in (part for text in numbers for part in text.split()):
                if one not in names:
                    raise InputError(
                        f"{path}:{number}: '{word.strip()}' has the category {one}, which the header does not list"
                    )
                yield word.strip(), names[one]
    if inside:
        raise InputError(f"{path}: the header of a .dic file must end with a line %, which is missing")


def _of_table(path: str, columns: dict[str, list[Any]]) -> Iterator[tuple[str, str]]:
    words = next((name for name in columns if name.strip().lower() in COLUMN_NAMES["word"]), None)
    texts = {name: [text_of(value).lower() for value in values] for name, values in columns.items() if name != words}
    categories = [
        name
        for name, values in texts.items()
        if name.strip().lower() not in _COUNTED and all(map(_is_mark, values)) and any(map(_is_set, values))
    ]
    if words is None or not categories:
        raise InputError(
            f"{path}: a column of words (word, term, …) and columns of 0 and 1, one for each category, were needed; found "
            f"{', '.join(columns)}"
        )
    for name in categories:
        for word, value in zip(columns[words], texts[name], strict=True):
            if _is_set(value):
                yield text_of(word), name.strip()


def _is_mark(text: str) -> bool:
    return text in _TRUE or text in _FALSE or _YEAR.fullmatch(text) is not None


def _is_set(text: str) -> bool:
    return text in _TRUE or (_YEAR.fullmatch(text) is not None and not text.startswith("-"))


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
