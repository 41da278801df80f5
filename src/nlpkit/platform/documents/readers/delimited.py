"""CSV and TSV files read as blocks of rows, after their way of quoting is found.

A way of quoting explains a file if every row has as many fields as the header and every quoted cell ends where the delimiter or the
end of a line follows. The first of these that explains it is taken; each but the first is reported:

    doubled      a mark inside a quoted cell is two: RFC 4180, as csv, Excel, pandas, R and DuckDB write it
    spaced       the same, with blanks around the marks that quote a cell
    backslash    a backslash stands before it, as Spark and MySQL write it
    none         marks are text, as in most TSV; in columns most of whose cells stand in marks, these are left out
    unescaped    a quoted cell ends at the mark that the delimiter or the end of a line follows

A file that no way explains is read as RFC 4180 says, strictly, so that its first bad row is an error. RFC 4180 also explains lone marks
by chance, as cells over several lines. Such a cell is text where its lines look like rows of their own.

Parts, in this order:
- How a delimited file is quoted: decided from the file as a whole, before its first row is read.
- CSV and TSV → blocks of rows: a header, the csv module, every field a string, but for the lists that nlpkit writes.
"""

from __future__ import annotations

import csv
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import count, dropwhile, islice
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from nlpkit.errors import InputError
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers.blocks import BLOCK_ROWS, RowBlock, lines_with_ends
from nlpkit.platform.documents.readers.guess import titles_above
from nlpkit.platform.documents.readers.roles import Roles, text_columns
from nlpkit.platform.wording import counted, listed

MARK = '"'
BOM = "\ufeff"
LONGEST_FIELD = (1 << 31) - 1  # the csv module stops at 131,072 characters unless told
_ENDS = (10, 13)
_KEPT_VALUES = 10_000  # of each column, to compare lines with
_LONGEST_VALUE = 40
_MOST_HEADER_LINES = 200

log = logging.getLogger("nlpkit.io")

OpenText: TypeAlias = Callable[[], Iterable[str]]
OpenBytes: TypeAlias = Callable[[], Iterable[bytes]]


class Quoting(Enum):
    """What a quotation mark means in a delimited file."""

    DOUBLED = "doubled"
    SPACED = "doubled, with blanks around quoted cells"
    BACKSLASH = "backslash"
    NONE = "none"
    UNESCAPED = "unescaped"  # a pair of marks inside a cell is one mark
    BARE = "unescaped, no pairs"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the rows of a file are told apart.

    wrapped: the columns whose cells lose the marks around them, where there is no quoting. skip: lines above the header.
    certain: the whole text was looked at. header: the first row has the names of the columns. row_names: rows have one field more than
    the header, as R writes the names of rows. escape: the character that takes the meaning from the one behind it, "" for none.
    """

    delimiter: str
    quoting: Quoting = Quoting.DOUBLED
    wrapped: frozenset[int] = frozenset()
    skip: int = 0
    certain: bool = True
    header: bool = True
    row_names: bool = False
    escape: str = ""

    def is_usual(self, format: str) -> bool:
        """Return whether the rows are as everyone writes them: commas, tabs in .tsv, RFC 4180, and a header in the first line."""
        return replace(self, certain=True) == Dialect("\t" if format == "tsv" else ",")

    def __str__(self) -> str:
        names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
        facts = [f"delimiter {names.get(self.delimiter, self.delimiter)}", f"quotation marks {self.quoting.value}"]
        facts += [f"escape {self.escape}"] * bool(self.escape) + ["no header"] * (not self.header)
        facts += [f"{counted(self.skip, 'line')} above the header"] * bool(self.skip)
        return ", ".join([*facts, *["names of rows"] * self.row_names])


_UNESCAPED = (Quoting.UNESCAPED, Quoting.BARE)
_Piece = TypeVar("_Piece", str, bytes)
_Found: TypeAlias = tuple[Quoting, frozenset[int]]
_DOUBLED: _Found = (Quoting.DOUBLED, frozenset())


class Lines:
    """Lines of a text as a reader takes them: those of the row it is in, how many, and how many characters.

    A byte order mark at the beginning of a line is left out: it is what is left of files that were put together.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self.taken: list[str] = []
        self.number = self.size = self.marks = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        if line[0] == BOM:
            line = line.lstrip(BOM)
            self.marks += self.number > 1
        self.taken.append(line)
        self.size += len(line)
        return line


def rows_of(lines: Lines, dialect: Dialect) -> Iterator[list[str]]:
    """Yield the rows, an empty one for a blank line; raises csv.Error where they are not quoted so."""
    quoted: Literal[0, 3] = csv.QUOTE_NONE if dialect.quoting is Quoting.NONE else csv.QUOTE_MINIMAL
    match dialect.quoting:
        case _ if dialect.escape:
            return csv.reader(
                lines, delimiter=dialect.delimiter, quoting=quoted, escapechar=dialect.escape, strict=True
            )
        case Quoting.DOUBLED:
            return csv.reader(lines, delimiter=dialect.delimiter, strict=True)
        case Quoting.NONE:
            rows = csv.reader(lines, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE)
            return _unwrapped(rows, dialect.wrapped)
        case quoting:
            return _marked_rows(lines, dialect.delimiter, quoting)


def find_quoting(
    open_text: OpenText, path: str, dialect: Dialect, *, whole: bool = True, open_bytes: OpenBytes | None = None
) -> Dialect:
    """Return the dialect with the way in which a text is quoted, and report one that is not RFC 4180.

    Args:
        open_text: gives the text from its beginning, complete rows.
        path: for messages.
        dialect: its delimiter, and the lines above the header.
        whole: the text is that of the whole file.
        open_bytes: gives it as UTF-8, where that takes less time.
    """
    csv.field_size_limit(LONGEST_FIELD)
    look = _Look(open_text, dialect, whole, open_bytes)
    if not look.is_doubtful():
        return replace(dialect, certain=whole)
    doubled = look.trial(Quoting.DOUBLED)
    quoting, wrapped = (_of_doubled if doubled.problem is None else _of_others)(look, doubled, path)
    return replace(dialect, quoting=quoting, wrapped=wrapped, certain=whole)


def _of_doubled(look: _Look, doubled: _Trial, path: str) -> _Found:
    """Return the quoting of a file that RFC 4180 explains, perhaps by chance only."""
    rows = doubled.rowlike
    if not rows and not doubled.bare:
        return _DOUBLED
    plain = look.plain()
    explained = plain.explains
    if not rows:
        # a writer that leaves marks inside cells alone does not quote cells for them either
        lost = explained and not doubled.pairs and any(c.wrapped and not c.is_wrapped for c in plain.columns)
        if not lost:
            return _DOUBLED
        log.warning(
            "%s:%d: quotation marks are read as text: cells have them inside, such as in line %d, so those around others are text, too",
            path, plain.first_marked, doubled.bare,
        )  # fmt: skip
        return Quoting.NONE, plain.wrapped
    several = len(doubled.names) > 1
    text_like = not doubled.pairs and (bool(doubled.bare) or (several and look.delimiter == "\t"))
    likely = text_like or (several and doubled.has_rows_inside())
    first, last = rows[0]
    if explained and likely:
        log.warning(
            "%s:%d: quotation marks are read as text: a cell that begins with one would run to line %d, over lines that are rows of "
            "their own",
            path, first, last,
        )  # fmt: skip
        return Quoting.NONE, plain.wrapped
    if explained or likely:
        log.warning(
            "%s:%d: a quoted cell runs to line %d, and each of these lines may be a row (%s like this); if they are rows, double the "
            "quotation mark that opens the cell, and quote the cell",
            path,
            first,
            last,
            counted(len(rows), "cell"),
        )
    return _DOUBLED


def _of_others(look: _Look, doubled: _Trial, path: str) -> _Found:
    """Return the quoting of a file that RFC 4180 does not explain; RFC 4180 where no other does."""
    assert doubled.problem is not None
    line, problem = doubled.problem
    if look.trial(Quoting.SPACED).explains:
        log.warning("%s:%d: blanks around the quotation marks of quoted cells are left out", path, line)
        return Quoting.SPACED, frozenset()
    backslash = look.trial(Quoting.BACKSLASH)
    if backslash.problem is None and backslash.pairs and not backslash.has_rows_inside():
        log.warning(
            "%s:%d: quotation marks inside quoted cells are read as escaped by a backslash", path, backslash.pairs
        )
        return Quoting.BACKSLASH, frozenset()
    plain = look.plain()
    if plain.explains:
        log.warning(
            "%s:%d: quotation marks are read as text, since not all of them quote a cell: %s", path, line, problem
        )
        return Quoting.NONE, plain.wrapped
    for quoting in _UNESCAPED:
        if look.trial(quoting).explains:
            log.warning(
                "%s:%d: quotation marks inside quoted cells are not doubled; a cell is read to the mark that a delimiter or the end of "
                "a line follows",
                path, line,
            )  # fmt: skip
            return quoting, frozenset()
    return _DOUBLED


# ---------------------------------------------------------------- a look at the whole text


@dataclass(slots=True)
class _Trial:
    """What rows a way of quoting gives. `problem`: the first line that it does not explain, and why; lines count from 1.

    bare, pairs: the first line with a mark inside an unquoted cell, with an escaped mark inside a quoted one; 0 for none.
    rowlike: first and last line of rows over several lines, each of which has the fields of a row; `inside`: their lines.
    """

    delimiter: str
    quoting: Quoting
    extra: int = 0  # fields that rows have more than the header
    names: list[str] = field(default_factory=list)
    problem: tuple[int, str] | None = None
    bare: int = 0
    pairs: int = 0
    rowlike: list[tuple[int, int]] = field(default_factory=list)
    inside: list[list[str]] = field(default_factory=list)
    values: list[Counter[str]] = field(default_factory=list)
    shapes: list[set[str]] = field(default_factory=list)
    opening: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        self.opening = re.compile(rf'[{re.escape(self.delimiter)}\r\n]"')

    @property
    def explains(self) -> bool:
        return self.problem is None and not self.rowlike

    def add(self, row: list[str], lines: list[str], last: int) -> None:
        first = last - len(lines) + 1
        if not self.names:
            self.names = [""] * self.extra + row
            self.values, self.shapes = [Counter() for _ in self.names], [set() for _ in self.names]
            return
        if len(row) != len(self.names):
            fields = f"the row in line {first} has {counted(len(row), 'field')}, the header {len(self.names)}"
            self.problem = (first, fields)
        elif len(lines) > 1 and self.quoting in _UNESCAPED and any(map(self.opening.search, row)):
            self.problem = (first, f"the cell that begins in line {first} has the beginning of another one inside")
        if len(lines) > 1:
            parts = rows_in(lines, self.delimiter, len(self.names))
            if parts:
                self.rowlike.append((first, last))
                self.inside += parts[1:] if len(self.inside) < _KEPT_VALUES else []
            return
        if len(row) == len(self.names):
            for value, seen, shapes in zip(row, self.values, self.shapes, strict=True):
                if value and len(value) <= _LONGEST_VALUE and len(seen) < _KEPT_VALUES:
                    seen[value] += 1
                if len(shapes) < 2:
                    shapes.add(_shape(value))

    def has_rows_inside(self) -> bool:
        """Return whether most lines inside cells have a value that other rows have in the same column, such as a class or a number."""
        hits = sum(
            any(
                value in seen or (len(shapes) == 1 and "0" in _shape(value) and _shape(value) in shapes)
                for value, seen, shapes in zip(part, self.values, self.shapes, strict=True)
            )
            for part in self.inside
        )
        return 2 * hits >= len(self.inside) > 0


def rows_in(lines: list[str], delimiter: str, n_fields: int) -> list[list[str]]:
    """Return the lines of one row as rows, none where one of them has not the fields of a row."""
    parts = [line.rstrip("\r\n").split(delimiter) for line in lines]
    return parts if all(len(part) == n_fields and part != [""] for part in parts) else []


def _shape(value: str) -> str:
    """Return a value with 0 for each number and a for each word, which ids such as doc_17 share."""
    return re.sub(r"\d+", "0", re.sub(r"[^\W\d]+", "a", value[: _LONGEST_VALUE + 1]))


@dataclass(slots=True)
class _MarkedColumn:
    """How many cells of a column hold something, stand in marks, and have a mark at one end only."""

    filled: int = 0
    wrapped: int = 0
    half: int = 0

    @property
    def is_wrapped(self) -> bool:
        return 2 * self.wrapped > self.filled


@dataclass(slots=True)
class _Plain:
    """A text without quoting: whether every line has the fields of the header, and where the marks stand."""

    explains: bool
    columns: list[_MarkedColumn]
    first_marked: int

    @property
    def wrapped(self) -> frozenset[int]:
        return frozenset(i for i, column in enumerate(self.columns) if column.is_wrapped)


class _Look:
    """A text that can be read again and again, to try ways of quoting."""

    def __init__(self, open_text: OpenText, dialect: Dialect, whole: bool, open_bytes: OpenBytes | None = None) -> None:
        self._open, self.delimiter, self._skip, self._whole = open_text, dialect.delimiter, dialect.skip, whole
        self._extra = int(dialect.row_names)
        self._open_bytes = open_bytes

    def _lines(self) -> Lines:
        lines = Lines(_readable(lines_with_ends(_readable(self._open()))))
        for _ in range(self._skip):
            next(lines, None)
        lines.taken = []
        return lines

    def is_doubtful(self) -> bool:
        """Return whether marks stand where RFC 4180 has none, or a cell over several lines has lines like rows; read at 1 GB a second."""
        lines = self._lines()
        header = next(
            (row for row in csv.reader(islice(lines, _MOST_HEADER_LINES), delimiter=self.delimiter) if row), []
        )
        if not self.delimiter.isascii():
            return True
        scan = _Scan(ord(self.delimiter), len(header) + self._extra)
        rest: list[bytes] = []
        for piece in _readable(self._pieces()):
            end = max(piece.rfind(b"\n"), piece.rfind(b"\r", 0, -1)) + 1
            if not end:
                rest.append(piece)
                continue
            if scan.is_doubtful(b"".join([*rest, piece[:end]])):
                return True
            rest = [piece[end:]]
        last = b"".join(rest)
        return bool(last and scan.is_doubtful(last + b"\n")) or (self._whole and scan.in_quotes)

    def _pieces(self) -> Iterable[bytes]:
        if self._open_bytes is not None:
            return self._open_bytes()
        return (piece.encode("utf-8", "replace") for piece in self._open())

    def trial(self, quoting: Quoting) -> _Trial:
        """Return what a way of quoting makes of the text."""
        trial = _Trial(self.delimiter, quoting, self._extra)
        lines = self._lines()
        try:
            for row in rows_of(lines, Dialect(self.delimiter, quoting)):
                taken, lines.taken = lines.taken, []
                if row:
                    trial.add(row, taken, lines.number)
                if any(MARK in line for line in taken):
                    self._note_marks(trial, taken, lines.number, quoting)
                if trial.problem is not None:
                    break
        except csv.Error as error:
            first = lines.number - len(lines.taken) + 1
            if self._whole or "unexpected end" not in str(error):
                trial.problem = (first, what_is_wrong(error, first, lines.number))
        return trial

    def _note_marks(self, trial: _Trial, taken: list[str], last: int, quoting: Quoting) -> None:
        line = "".join(taken)
        escaped = r'\\"' if quoting is Quoting.BACKSLASH else rf'(?<=[^{re.escape(self.delimiter)}\r\n])""'
        if not trial.pairs and re.search(escaped, line):
            trial.pairs = last - len(taken) + 1
        if not trial.bare and len(taken) == 1 and quoting is Quoting.DOUBLED:
            unquoted = re.sub(rf'(?:^|(?<={re.escape(self.delimiter)}))"(?:[^"]|"")*"', "", line)
            trial.bare = last if MARK in unquoted else 0

    def plain(self) -> _Plain:
        """Return what the text is without quoting."""
        lines = self._lines()
        columns: list[_MarkedColumn] = []
        first_marked = 0
        even, n_fields = True, 0
        for line in lines:
            lines.taken = []
            cells = line.rstrip("\r\n").split(self.delimiter)
            if cells == [""]:
                continue
            if not n_fields:
                n_fields = len(cells) + self._extra
                columns = [_MarkedColumn() for _ in range(n_fields)]
                continue
            if len(cells) != n_fields:
                even = False
                break
            for cell, column in zip(cells, columns, strict=True):
                if cell:
                    column.filled += 1
                    if MARK in (cell[0], cell[-1]):
                        first_marked = first_marked or lines.number
                        column.wrapped += _is_wrapped(cell)
                        column.half += cell[0] == MARK and not _is_wrapped(cell)
        mixed = any(column.is_wrapped and column.half for column in columns)  # quoted, and one mark is missing
        return _Plain(even and not mixed, columns, first_marked)


class _Scan:
    """Bytes of lines, piece by piece: marks as RFC 4180 has them open and close in turn, with a border before and behind."""

    def __init__(self, delimiter: int, n_fields: int) -> None:
        self.in_quotes = False
        self._delimiter, self._n_fields = delimiter, n_fields
        self._begun = self._unlike = 0  # lines of the row that is not at its end, and those that have other fields

    def is_doubtful(self, piece: bytes) -> bool:
        """Take complete lines; return whether their marks may mean something else."""
        data = np.frombuffer(piece, np.uint8)
        marks = np.flatnonzero(data == ord(MARK))
        if not len(marks):
            return self.in_quotes and self._has_rows(data, marks)
        border = np.zeros(256, bool)
        border[[self._delimiter, *_ENDS, ord(MARK)]] = True
        opens = (np.arange(len(marks)) + self.in_quotes) % 2 == 0
        before, behind = data[marks - 1], data[np.minimum(marks + 1, len(data) - 1)]
        if marks[0] == 0:
            before[0] = 10
        if not border[np.where(opens, before, behind)].all():
            return True
        doubtful = self._has_rows(data, marks)
        self.in_quotes = bool((len(marks) + self.in_quotes) % 2)
        return doubtful

    def _has_rows(self, data: npt.NDArray[np.uint8], marks: npt.NDArray[np.int64]) -> bool:
        """Return whether a row runs over several lines, each of which has the fields of the header."""
        is_end = data == 10
        if (data == 13).any():
            is_end |= (data == 13) & (np.append(data[1:], 0) != 10)
        ends = np.flatnonzero(is_end)
        inside = (np.searchsorted(marks, ends) + self.in_quotes) % 2 == 1
        if not inside.any() and not self._begun:
            return False
        n_before = np.searchsorted(np.flatnonzero(data == self._delimiter), ends)
        unlike = np.diff(n_before, prepend=0) != self._n_fields - 1
        row = np.cumsum(np.concatenate(([False], ~inside[:-1])))  # which row each line is of
        n_lines, n_unlike = np.bincount(row), np.bincount(row, unlike)
        n_lines[0] += self._begun
        n_unlike[0] += self._unlike
        self._begun, self._unlike = (int(n_lines[-1]), int(n_unlike[-1])) if inside[-1] else (0, 0)
        whole = slice(None, -1) if inside[-1] else slice(None)
        return bool(((n_lines[whole] > 1) & (n_unlike[whole] == 0)).any())


def _readable(pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """Yield pieces up to where they cannot be read, which is reported when the rows are."""
    try:
        yield from pieces
    except InputError:
        return


def what_is_wrong(error: csv.Error, first: int, last: int) -> str:
    """Return what is wrong with the quotation marks of a row."""
    if "unexpected end" in str(error):
        return f"a quote opened in the row of line {first} is not closed by the end of the file"
    where = f"in line {last} of the row that begins in line {first}" if last > first else f"in line {first}"
    return f"a quoted cell {where} goes on behind its closing mark"


# ---------------------------------------------------------------- rows whose marks are not as RFC 4180 has them


def _is_wrapped(cell: str) -> bool:
    return len(cell) > 1 and cell[0] == MARK == cell[-1]


def _inner(cell: str) -> str:
    """Return a cell without the marks around it; marks inside that are all doubled are single ones."""
    return _undoubled(cell[1:-1]) if _is_wrapped(cell) else cell


def _undoubled(text: str) -> str:
    return text if MARK in text.replace(MARK * 2, "") else text.replace(MARK * 2, MARK)


def _unwrapped(rows: Iterator[list[str]], wrapped: frozenset[int]) -> Iterator[list[str]]:
    header: list[str] = []
    for row in rows:
        header = header or row
        if row == header:  # also one that is repeated
            yield [_inner(cell) for cell in row]
        else:
            yield [_inner(cell) if i in wrapped else cell for i, cell in enumerate(row)] if wrapped else row


def _marked_rows(lines: Lines, delimiter: str, quoting: Quoting) -> Iterator[list[str]]:
    """Yield rows whose quoted cells end as the way of quoting says."""
    unquoted = re.compile(rf"[^{re.escape(delimiter)}\r\n]*")
    opening = re.compile(' *"' if quoting is Quoting.SPACED else MARK)
    for line in lines:
        row: list[str] = []
        at = 0
        while line.strip("\r\n"):
            opened = opening.match(line, at)
            if opened is not None:
                begin = look = opened.end()
                while (end := _closing(line, look, delimiter, quoting)) < 0:
                    look = len(line)
                    following = next(lines, None)
                    if following is None:
                        raise csv.Error("unexpected end of data")
                    line += following
                row.append(_content(line[begin:end], quoting))
                at = end + 1
                if quoting is Quoting.SPACED:
                    at += len(line[at:]) - len(line[at:].lstrip(" "))
            else:
                cell = unquoted.match(line, at)
                assert cell is not None
                row.append(cell[0])
                at = cell.end()
            if not line.startswith(delimiter, at):
                if line[at:].strip("\r\n"):
                    raise csv.Error("delimiter expected after the closing mark")
                break
            at += 1
        yield row


_TOKENS = {Quoting.BACKSLASH: re.compile(r'\\[\s\S]|""|"'), Quoting.SPACED: re.compile('""|"')}
_RUNS = re.compile('"+')


def _closing(text: str, look: int, delimiter: str, quoting: Quoting) -> int:
    """Return where the mark stands that closes a cell, -1 for nowhere; look: up to where there is none."""
    if quoting in _TOKENS:
        return next((token.start() for token in _TOKENS[quoting].finditer(text, look) if token[0] == MARK), -1)
    for run in _RUNS.finditer(text, look):
        border = run.end() == len(text) or text[run.end()] in f"{delimiter}\r\n"
        if border and (quoting is Quoting.BARE or len(run[0]) % 2):
            return run.end() - 1
    return -1


def _content(text: str, quoting: Quoting) -> str:
    if quoting is Quoting.BACKSLASH:
        return re.sub(r'\\(["\\])|""', lambda mark: mark[1] or MARK, text)
    return _undoubled(text)


# ------------------------------------------------------------------------------------------------------------------------
# CSV and TSV → blocks of rows: a header, the csv module, every field a string, but for the lists that nlpkit writes.

_BLOCK_CHARS = 1 << 20
_SAMPLE_LINES = 200
_SEPARATOR = re.compile(r'"?sep=([!-~\t])"?', re.IGNORECASE)
REPEATED_HEADER = "the row repeats the header"
FURTHER_HEADER = "the row belongs to the header, as in exports of Qualtrics and SurveyMonkey"
# columns of nlpkit that hold lists or objects, which are JSON in a cell (see `nlpkit.platform.runs.tables`)
NESTED = ("tokens", "embedding", "prediction_prob", "probabilities")


def dialect_of(
    open_text: OpenText,
    path: str,
    *,
    delimiter: str | None,
    options: ReadOptions,
    whole: bool = True,
    open_bytes: OpenBytes | None = None,
) -> Dialect:
    """Return how the rows of a text are told apart; a `delimiter` of None is detected from the first lines.

    A first line such as `sep=;`, which Excel reads, names the delimiter. Lines above the header that begin with # and have not
    the fields of the rows are comments. Rows with one field more than the header begin with the names that R gives to rows.
    See `find_quoting` for the rest.
    """
    csv.field_size_limit(LONGEST_FIELD)
    try:
        first = list(islice(lines_with_ends(open_text()), options.skip_rows + _SAMPLE_LINES))[options.skip_rows :]
    except InputError:  # it comes up again when the rows are read
        first = []
    skip = options.skip_rows
    named = _SEPARATOR.fullmatch(first[0].strip(f"{BOM}\r\n")) if first else None
    if named:
        first, skip = first[1:], skip + 1
    below = _below_comments(first)
    delimiter = options.delimiter or (named[1] if named else delimiter or _sniff(below, options.text_col))
    comments = _comments(first, len(first) - len(below), delimiter)
    if comments:
        _note_left_out(path, comments, "line that begins with #", "lines that begin with #")
    row_names = options.header and _has_row_names(first[comments:], delimiter)
    titles = titles_above(_rows_by_line(first[comments:], delimiter)) if options.header and not row_names else 0
    if titles:
        _note_left_out(path, titles, "line of a title", "lines of titles")
    dialect = Dialect(
        delimiter,
        skip=skip + comments + titles,
        header=options.header,
        row_names=row_names,
        escape=options.escape or "",
    )
    if options.quoting != "auto" or options.escape is not None:
        return replace(dialect, quoting=Quoting.NONE if options.quoting == "none" else Quoting.DOUBLED)
    return find_quoting(open_text, path, dialect, whole=whole, open_bytes=open_bytes)


def _below_comments(lines: list[str]) -> list[str]:
    """Return the lines from the first on that does not begin with #."""
    return list(dropwhile(lambda line: line.lstrip(BOM).startswith("#"), lines))


def _fields(lines: Iterable[str], delimiter: str) -> list[int]:
    """Return how many fields each row has; quotation marks quote."""
    try:
        return [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []


def _comments(lines: list[str], n_marked: int, delimiter: str) -> int:
    """Return how many of the first lines, which begin with #, are comments: up to one that has the fields of the rows below."""
    if not n_marked:
        return 0
    below = Counter(_fields(lines[n_marked:], delimiter)).most_common(1)
    if not below or below[0][0] < 2:  # a file of one column: they may be texts
        return 0
    width = below[0][0]
    return next((i for i, line in enumerate(lines[:n_marked]) if _fields([line], delimiter) == [width]), n_marked)


def _rows_by_line(lines: list[str], delimiter: str) -> list[list[str]]:
    """Return the cells of each line as if it were a row of its own."""
    return [next(csv.reader([line], delimiter=delimiter), []) for line in lines]


def _has_row_names(lines: list[str], delimiter: str) -> bool:
    """Return whether all rows have one field more than the header: different names in marks, or 1, 2, 3 in files without commas."""
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return False
    if len(lines) == _SAMPLE_LINES and len(rows) > 2:
        rows.pop()  # the sample may cut it
    if len(rows) < 2 or any(len(row) != len(rows[0]) + 1 for row in rows[1:]):
        return False
    names = [row[0] for row in rows[1:]]
    if len(set(names)) < len(names):
        return False
    is_numbered = delimiter != "," and names == [str(number) for number in range(1, len(names) + 1)]
    return is_numbered or all(
        line.startswith(f'"{name}"{delimiter}') for line, name in zip(lines[1:], names, strict=False)
    )


def _note_left_out(path: str, n: int, noun: str, plural: str) -> None:
    log.warning("%s: %s above the header left out", path, counted(n, noun, plural))


def read_delimited(
    text: Iterable[str], path: str, dialect: Dialect, *, na_values: Sequence[str] = ()
) -> Iterator[RowBlock]:
    """Yield the rows below the header.

    Rows that repeat the header, and rows of empty cells, have the reason why they are no documents, and no values. Cells that are one of
    `na_values` are empty ones; a warning says how many there were in which columns.

    Raises InputError with path:line for a repeated column name, a row of another length, and a cell that is not quoted as the dialect says.
    """
    csv.field_size_limit(LONGEST_FIELD)
    lines = Lines(islice(lines_with_ends(text), dialect.skip, None))
    lines.number = dialect.skip
    header: list[str] = []
    names: list[str] = []
    rows: list[list[str]] = []
    starts: list[int] = []
    reasons: dict[int, str] = {}
    done = rowlike = 0  # rows handed on, rows that may be several
    start = lines.number + 1  # line where the next row begins
    emptied: Counter[str] = Counter()  # cells of each column

    def block() -> RowBlock:
        for i in range(0 if done else further_header(rows)):
            reasons[i], rows[i] = FURTHER_HEADER, [""] * len(names)
        numbers = range(done + 1, done + len(rows) + 1)
        return RowBlock(columns_of(names, rows), numbers, lines.size, starts, reasons=reasons)

    try:
        for row in rows_of(lines, dialect):
            taken, lines.taken = lines.taken, []
            if row and not names:
                header = row if dialect.header else []
                names = header_names([""] * dialect.row_names + (header or [""] * len(row)), path, start)
                yield RowBlock({name: [] for name in names}, range(0), 0, [])
                row = [] if dialect.header else row
            if row:
                if len(row) != len(names):
                    raise InputError(_ragged(path, start, lines.number, row, names))
                if len(taken) > 1 and not dialect.certain and rows_in(taken, dialect.delimiter, len(names)):
                    rowlike += 1
                    log.log(
                        logging.WARNING if rowlike == 1 else logging.DEBUG,
                        "%s:%d: a quoted cell runs to line %d, and each of these lines may be a row; from a file, which can be "
                        "looked at as a whole, nlpkit may tell",
                        path, start, lines.number,
                    )  # fmt: skip
                if any(value in row for value in na_values):
                    emptied.update(name for name, cell in zip(names, row, strict=True) if cell in na_values)
                    row = ["" if cell in na_values else cell for cell in row]
                if row[dialect.row_names :] == header:
                    reasons[len(rows)] = REPEATED_HEADER
                    row = [""] * len(names)
                elif not any(row):
                    reasons[len(rows)] = "all cells of the row are empty"
                rows.append(row)
                starts.append(start)
                if len(rows) == BLOCK_ROWS or lines.size > _BLOCK_CHARS:
                    yield block()
                    done += len(rows)
                    rows, starts, reasons, lines.size = [], [], {}, 0
            start = lines.number + 1
    except csv.Error as error:
        hint = "" if dialect.certain else ", or read a file instead of a pipe: it is looked at as a whole"
        raise InputError(
            f"{path}:{start}: {what_is_wrong(error, start, lines.number)}; double the quotation marks inside quoted cells{hint}"
        ) from error
    finally:
        if emptied:
            columns = ", ".join(f"{name} {count:,}" for name, count in emptied.most_common(5))
            cells = f"{emptied.total():,} {'cell is' if emptied.total() == 1 else 'cells are'} {' or '.join(na_values)}"
            log.warning("%s: %s, which is not a value: %s (see `na_values`)", path, cells, columns)
    if lines.marks:
        log.warning("%s: %s inside the file left out", path, counted(lines.marks, "byte order mark"))
    if rows:
        yield block()


def _sniff(lines: list[str], text_col: str) -> str:
    """Return the delimiter under which the header holds the text column and the rows are as long as the header."""
    best, delimiter = (False, False, 0.0, 0, 0), ","
    for candidate in (",", ";", "\t", "|"):
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            try:
                rows = [row for row in csv.reader(lines, delimiter=candidate, quoting=quoting) if row]
            except csv.Error:
                continue
            if len(lines) == _SAMPLE_LINES and len(rows) > 1:
                rows.pop()  # the sample may cut it
            titles = titles_above(rows)
            rows = rows[titles:]
            if not rows:
                continue
            header = [" ".join(name.strip(f'{BOM}"').split()) for name in rows[0]]
            even = sum(len(row) == len(header) for row in rows) / len(rows)
            score = (
                text_col in header or set(text_columns(text_col)) <= set(header),
                len(header) > 1 and even >= 0.8,
                even,
                -titles,
                len(header),
            )
            if score > best:
                best, delimiter = score, candidate
    return delimiter


def further_header(rows: Sequence[Sequence[Any]]) -> int:
    """Return how many of the rows below the first one of a header belong to it, too.

    Qualtrics writes names, then questions, then {"ImportId": …}; SurveyMonkey questions, then choices, where the column of the
    respondents is empty and that of a single answer is called Response.
    """
    for number, row in enumerate(rows[:3], start=1):
        if any(isinstance(cell, str) and cell.startswith('{"ImportId":') for cell in row):
            return number
    first = rows[0] if rows else [""]
    return int(first[0] in ("", None) and any(cell in ("Response", "Open-Ended Response") for cell in first))


def header_names(row: list[str], path: str, line: int) -> list[str]:
    """Return the names of columns in a header, white space made even; a name that is there again is numbered: Other, Other (2).

    Raises InputError where this is the name of a role, such as text.
    """
    names: list[str] = []
    again: list[str] = []
    for number, cell in enumerate(row, start=1):
        name = " ".join(cell.split()) or f"column_{number}"
        if name in names:
            if name in dict(Roles().items()):
                raise InputError(f"{path}:{line}: the header has the column '{name}' twice; rename one of them")
            name = next(new for i in count(2) if (new := f"{name} ({i})") not in names)
            again.append(name)
        names.append(name)
    if again:
        log.warning("%s: columns with the name of an earlier one are called %s", path, listed(again, 5))
    return names


def columns_of(names: list[str], rows: list[list[Any]]) -> dict[str, list[Any]]:
    """Return rows of cells as columns; those of nlpkit that hold JSON are read."""
    columns: dict[str, list[Any]] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    for name in NESTED:
        if name in columns:
            columns[name] = _json_values(columns[name]) or columns[name]
    return columns


def with_lists(blocks: Iterable[RowBlock], texts: Collection[str]) -> Iterator[RowBlock]:
    """Yield blocks in which a column of JSON lists of strings holds lists, the columns of `texts` apart; the first rows decide."""
    listed: list[str] | None = None
    for block in blocks:
        lists = {name: string_lists(cells) for name, cells in block.columns.items() if listed is None or name in listed}
        if listed is None and block.numbers:
            listed = [
                name for name, values in lists.items() if name not in texts and any(v is not None for v in values or ())
            ]
        block.columns |= {name: values for name in listed or () if (values := lists[name]) is not None}
        yield block


def string_lists(cells: Sequence[Any]) -> list[Any] | None:
    """Return cells that are JSON lists of strings as lists, empty ones as null; None when one is anything else."""
    values = _json_values(cells, opening="[")
    strings = all(item is None or isinstance(item, str) for value in values or () for item in value or ())
    return values if strings else None


def with_numbers(
    blocks: Iterable[RowBlock], decimal: str, thousands: str | None, texts: Collection[str]
) -> Iterator[RowBlock]:
    """Yield blocks in which cells that are numbers in another notation have it as Python does, the columns of `texts` apart."""
    mark = re.escape(decimal)
    whole = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|\d+" if thousands else r"\d+"
    number = re.compile(rf"\s*[+-]?(?:(?:{whole})(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?\s*")

    def plain(cell: Any) -> Any:
        if not isinstance(cell, str) or not number.fullmatch(cell):
            return cell
        return (cell.replace(thousands, "") if thousands else cell).replace(decimal, ".").strip()

    for block in blocks:
        block.columns |= {
            name: [plain(cell) for cell in cells] for name, cells in block.columns.items() if name not in texts
        }
        yield block


def _json_values(cells: Sequence[Any], *, opening: str = "[{") -> list[Any] | None:
    """Return cells that are JSON lists or objects as these, empty ones as null; None when one is anything else."""
    values: list[Any] = []
    for cell in cells:
        if cell and not (isinstance(cell, str) and cell[0] in opening and cell[-1] in "]}"):
            return None
        try:
            values.append(json.loads(cell) if cell else None)
        except (ValueError, RecursionError):
            return None
    return values


def _ragged(path: str, start: int, end: int, row: list[str], names: list[str]) -> str:
    what = f"{path}:{start}: {len(row)} {'field' if len(row) == 1 else 'fields'}, but the header has {len(names)}"
    if end > start:
        return f"{what}; the row runs to line {end}, is a quote not closed?"
    if len(names) == 1:
        what += "; a title above the header can be left out with `skip_rows=1`"
    return f"{what}; put fields with the delimiter in them into quotes" if len(row) > len(names) else what
