"""Quotation marks of delimited files: which dialect a file has, against duckdb, Polars, pandas and the csv module."""

from __future__ import annotations

import csv
import io
import logging
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.errors import InputError
from nlpkit.platform.documents import encoding
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers import rows
from nlpkit.platform.documents.readers.delimited import Dialect, Quoting, _Look, find_quoting

AS_TEXT = "read as text"
Rows = list[list[str]]


@contextmanager
def warnings_of(logger: str = "nlpkit.io") -> Iterator[list[str]]:
    messages: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    handler = Kept(logging.WARNING)
    logging.getLogger(logger).addHandler(handler)
    try:
        yield messages
    finally:
        logging.getLogger(logger).removeHandler(handler)


def read(content: str, name: str = "x.csv", codec: str = "utf-8", **options: Any) -> tuple[Rows, list[str]]:
    """Return the cells of all documents in the order of the columns, and the warnings."""
    with tempfile.TemporaryDirectory() as folder, warnings_of() as messages:
        path = Path(folder, name)
        path.write_bytes(content.encode(codec))
        table = open_documents([str(path)], ReadOptions(na_values="", **options)).read_all()
    return [list(row.values()) for row in table.to_pylist()], messages


def texts(content: str, name: str = "x.csv", **options: Any) -> list[str]:
    return [row[1] for row in read(content, name, **options)[0]]


# ---------------------------------------------------------------- one file each


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('id,text,label\n1,"good film,pos\n2,bad film,neg\n', ['"good film', "bad film"]),  # in the first row
        ('id,text,label\n1,good film,pos\n2,"bad film,neg', ["good film", '"bad film']),  # in the last
        ('id,text,label\n1,"good,pos\n2,bad,neg\n3,ok",pos\n4,x,neg\n', ['"good', "bad", 'ok"', "x"]),  # a pair, closed
        ('label,text\nham,a\nham,"b\nham,c\nspam,d"\n', ["a", '"b', "c", 'd"']),
        ('id,text\n1,"\n2,"\n3,x\n', ['"', '"', "x"]),
        ('id,text\n1,"Titanic" is good\n2,the "Alien"\n3,"Both" and "more"\n', ['"Titanic" is good', 'the "Alien"', '"Both" and "more"']),
        ('id,text\n1,the "Alien" film\n2,"Titanic"\n3,x\n', ['the "Alien" film', '"Titanic"', "x"]),
        ('id,text\n1,"Random " inside"\n2,"plain"\n', ['Random " inside', "plain"]),  # all cells stand in marks
        ('"id","text"\n1,"lone\n2,ok "x"\n', ['"lone', 'ok "x"']),
        ("id,text\n1,'hello' it's\n2,don't\n", ["'hello' it's", "don't"]),
        ('text\n"Titanic" is good\nsecond "x"\n', ['"Titanic" is good', 'second "x"']),
        ('text\n"Keep\nsecond\nthird"\nfo"ur"th\n', ['"Keep', "second", 'third"', 'fo"ur"th']),
    ],
)  # fmt: skip
@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-16"])
def test_marks_that_are_text(content: str, expected: list[str], delimiter: str, end: str, codec: str) -> None:
    """Lone marks swallowed the rows between them in silence."""
    content = content.replace(",", delimiter).replace("\n", end)
    cells, messages = read(content, "x.tsv" if delimiter == "\t" else "x.csv", codec)
    assert [row[1] for row in cells] == expected
    if '"' in content:
        assert len(messages) == 1
        assert AS_TEXT in messages[0]
    else:
        assert messages == []


@pytest.mark.parametrize(
    ("content", "expected", "message"),
    [
        ('id,text\n1,"He said \\"hello, you\\" and"\n2,"C:\\\\"\n', ['He said "hello, you" and', "C:\\"], "by a backslash"),
        ('id,text\n1,"a \\"b\\"\nline, two"\n2,C:\\temp\n', ['a "b"\nline, two', "C:\\temp"], "by a backslash"),
        ('id,text\n1,"a \\"b\\", c"\n2,"C:\\temp, ""x"""\n', ['a "b", c', 'C:\\temp, "x"'], "by a backslash"),
        ('id,text\n1,"He said "hello, you" and"\n2,"plain"\n', ['He said "hello, you" and', "plain"], "not doubled"),
        ('id,text,n\n1,"He said "hi"",a\n2,"plain, ok",b\n', ['He said "hi"', "plain, ok"], "not doubled"),
        ('id,text\n1,He "said, x\ny" z\n2,"He "said", x\ny z"\n', None, "3: 1 field|2: 3 fields"),
        ('id, text\n1, "Hello, ""world""" \n2,x\n', ['Hello, "world"', "x"], "blanks around"),
        ('id,text\n1,"a\nb, ""c"""\n2,"lone mark\n3,"x, y"\n', None, "x.csv:4: a quoted cell in line 5 of the row that begins"),
        ('"id","text"\n"1","good"\n"2","bad film\n"3","x"\n', None, "x.csv:3: a quoted cell in line 4 of the row"),
        ('"id","text"\n"1","good"\n"2","fine"\n"3","cut o', None, "x.csv:4: a quote opened in the row of line 4"),
        ('id,text,label\n1,"He said "hello", you know",pos\n2,"plain",neg\n', None, "x.csv:2: a quoted cell in line 2"),
        ('id,text,label\n1,"good, film,pos\n2,other,neg\n', None, "x.csv:2: a quote opened in the row of line 2"),
    ],
)  # fmt: skip
def test_other_ways_of_quoting(content: str, expected: list[str] | None, message: str) -> None:
    if expected is None:
        with pytest.raises(InputError, match=message):
            read(content)
        return
    cells, messages = read(content)
    assert [row[1] for row in cells] == expected
    assert len(messages) == 1
    assert message in messages[0]


@pytest.mark.parametrize(
    "content",
    [
        'id,text\n1,"a ""q"" b"\n2,"x\ny z"\n3,5" pipe\n',
        'id,text\n1,"line one\n\nline, two"\n2,"x ""y"", z"\n',
        'id,text\n1,"a, b"\n2,""\n3,""""\n4,"c:\\"\n',
        "id,text\r1,a\r2,b\r",
    ],
)
def test_what_the_csv_module_reads_is_read_without_a_word(content: str) -> None:
    cells, messages = read(content)
    assert cells == list(csv.reader(io.StringIO(content, newline="")))[1:]
    assert messages == []


def test_a_cell_whose_lines_may_be_rows_is_said() -> None:
    """Nothing tells whether it is a text of two lines or two rows: RFC 4180 holds, and the line is named."""
    cells, messages = read('id,text\n1,"Hello my friend\nI said, yes"\n2,ok\n')
    assert cells == [["1", "Hello my friend\nI said, yes"], ["2", "ok"]]
    assert len(messages) == 1
    assert "x.csv:2: a quoted cell runs to line 3, and each of these lines may be a row" in messages[0]
    assert "may be a row" in read('text\n"Keep your\nsecond\nthird"\nfourth\n')[1][0]


def test_files_that_are_looked_at_again_and_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond 4 MB a file is opened again for the look at the whole; of a pipe, the first 4 MB decide, and later rows are told of."""
    monkeypatch.setattr(rows, "SAMPLE_BYTES", 1)
    monkeypatch.setattr(encoding, "SAMPLE_BYTES", 1)
    plain = "".join(f"{i},text {i}\n" for i in range(60_000))
    content = f'id,text\n{plain}60000,"lone\n60001,other"\n60002,third\n'
    assert texts(content)[-3:] == ['"lone', 'other"', "third"]
    with warnings_of() as messages:
        source = io.BytesIO(content.encode())
        piped = open_documents(["-"], ReadOptions(format="csv"), stdin=source).read_all()["text"].to_pylist()
    assert piped[-2:] == ["lone\n60001,other", "third"]
    assert len(messages) == 1
    assert "stdin:60002: a quoted cell runs to line 60003" in messages[0]


def test_sep_marks_headers_and_blank_rows() -> None:
    assert texts("sep=;\r\nid;text\r\n1;a, b\r\n") == ["a, b"]
    assert texts('"sep=;"\n"id";"text"\n1;"a; b"\n') == ["a; b"]
    assert texts("sep=\t\nid\ttext\n1\ta, b\n") == ["a, b"]
    assert texts("\ufeffsep=|\nid|text\n1|a\n") == ["a"]
    assert texts('\ufeff\ufeff"id","text"\n1,"a, b"\n') == ["a, b"]
    cells, messages = read('id,text\n1,"a, b"\n\ufeff"id","text"\n\ufeff"2","c, d"\n')
    assert cells == [["1", "a, b"], ["2", "c, d"]]
    assert [message.partition(": ")[2] for message in messages] == ["2 byte order marks inside the file left out"]


# ---------------------------------------------------------------- any file


words = st.text(st.sampled_from('"",;\t\n ab\\x'), max_size=8)
plain_words = st.text(st.sampled_from('"" abx\''), max_size=8)


@st.composite
def tables(draw: st.DrawFn, cells: st.SearchStrategy[str]) -> Rows:
    n_columns = draw(st.integers(1, 3))
    table = draw(st.lists(st.lists(cells, min_size=n_columns, max_size=n_columns), min_size=1, max_size=6))
    return [["text", "b", "c"][:n_columns], *table]


def documents(table: Rows) -> Rows:
    """Return the rows that are documents."""
    return [row for row in table[1:] if any(row) and row != table[0]]


def outcome(content: str, name: str = "x.csv") -> tuple[Rows, list[str]] | None:
    """Return rows without made ids, and warnings; None for an error, which is a word, too."""
    try:
        cells, messages = read(content, name, id_col="none")
    except InputError:
        return None
    return [row[1:] for row in cells], messages


def written(table: Rows, **how: Any) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, **how).writerows(table)
    return buffer.getvalue()


@given(
    tables(words),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
@settings(max_examples=150, deadline=None)
def test_files_of_rfc_4180_are_as_polars_reads_them(table: Rows, delimiter: str, end: str, quoting: Any) -> None:
    """The same rows and cells, or a warning that names a line."""
    content = written(table, delimiter=delimiter, lineterminator=end, quoting=quoting)
    if any("\r" in cell for row in table for cell in row):
        return
    second = pl.read_csv(content.encode(), separator=delimiter, infer_schema=False)
    peer = [[cell or "" for cell in row] for row in second.rows()]
    result = outcome(content, "x.tsv" if delimiter == "\t" else "x.csv")
    assert result is not None
    cells, messages = result
    assert messages or cells == documents(table)
    if end == "\n":
        assert documents([table[0], *peer]) == documents(table)


@given(tables(plain_words))
@settings(max_examples=150, deadline=None)
def test_files_without_quoting_have_the_rows_of_duckdb(table: Rows) -> None:
    """The same rows; without a warning, cells in marks may have lost them, as in any file of RFC 4180."""
    content = "".join("\t".join(row) + "\n" for row in table)
    result = outcome(content, "x.tsv")
    if result is None:
        return
    cells, messages = result
    expected = documents(table)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.tsv")
        path.write_text(content, encoding="utf-8", newline="")
        options = "delim='\t', quote='', escape='', header=true, all_varchar=true, nullstr='\x01', auto_detect=false"
        columns = ", ".join(f"'{name}': 'VARCHAR'" for name in table[0])
        peer = duckdb.sql(f"select * from read_csv('{path}', {options}, columns={{{columns}}})").fetchall()
    assert documents([table[0], *([cell or "" for cell in row] for row in peer)]) == expected
    if any(AS_TEXT in message for message in messages):
        unquoted = [
            [cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell for cell in row] for row in expected
        ]
        assert all(
            got in (cell, bare, bare.replace('""', '"'))
            for row, exact, inner in zip(cells, expected, unquoted, strict=True)
            for got, cell, bare in zip(row, exact, inner, strict=True)
        )
    elif not messages:
        assert len(cells) == len(
            documents([table[0], *(next(csv.reader(["\t".join(r)], delimiter="\t")) or [""] for r in table[1:])])
        )


@given(tables(words))
@settings(max_examples=100, deadline=None)
def test_files_with_backslashes_are_as_pandas_reads_them(table: Rows) -> None:
    how: dict[str, Any] = {"escapechar": "\\", "doublequote": False}
    content = written(table, quoting=csv.QUOTE_ALL, lineterminator="\n", **how)
    result = outcome(content)
    if result is None or not any("by a backslash" in message for message in result[1]):
        return
    peer = pd.read_csv(io.StringIO(content), dtype=str, keep_default_na=False, **how).to_numpy().tolist()
    assert result[0] == documents(table) == documents([table[0], *peer])


@given(tables(words), st.sampled_from(",\t"))
@settings(max_examples=100, deadline=None)
def test_files_whose_marks_are_not_escaped(table: Rows, delimiter: str) -> None:
    """Never fewer rows without a word."""
    content = "".join(delimiter.join(f'"{cell}"' for cell in row) + "\n" for row in table)
    result = outcome(content, "x.tsv" if delimiter == "\t" else "x.csv")
    if result is not None and not result[1]:
        assert result[0] == documents(
            list(csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True))
        )


@given(st.text(st.sampled_from('"",\n\rab'), max_size=40), st.integers(0, 10))
@settings(max_examples=400, deadline=None)
def test_a_text_without_doubt_is_rfc_4180_in_pieces_of_any_size(text: str, seed: int) -> None:
    content = f"a,b\n{text}"
    rng = random.Random(seed)
    cuts = sorted(rng.choices(range(len(content) + 1), k=rng.randint(0, 6)))
    pieces = [content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    look = _Look(lambda: pieces, Dialect(","), True)
    assert look.is_doubtful() == _Look(lambda: [content], Dialect(","), True).is_doubtful()
    if not look.is_doubtful():
        trial = look.trial(Quoting.DOUBLED)
        assert not trial.rowlike
        assert trial.problem is None or "field" in trial.problem[1]


def test_wrapped_columns_are_told() -> None:
    content = 'id,text,n\n1,"a "b" c",x\n2,"d",y\n'
    dialect = find_quoting(lambda: [content], "x", Dialect(","))
    assert dialect == Dialect(",", Quoting.NONE, frozenset([1]))
