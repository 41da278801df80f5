"""Messages are one line, whatever they quote."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import nlpkit as nk
from nlpkit.errors import (
    ColumnError,
    EncodingError,
    InputError,
    MissingError,
    MissingExtraError,
    MissingFileError,
    NlpkitError,
    OutOfMemoryError,
    OutputExistsError,
    UsageError,
    first_line,
    missing_column,
)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("“é” …\u3000日", "“é” …\u3000日"),
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\x1b[2J\x07\u2028\u202e", r"\x1b[2J\x07\u2028\u202e"),
        ("\ud800", r"\ud800"),
        ("", ""),
    ],
)
def test_what_breaks_lines_or_steers_a_terminal_is_spelled(message: str, shown: str) -> None:
    for kind in (NlpkitError, EncodingError):
        assert str(kind(message)) == shown


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("cannot be read\n  at line 3", "cannot be read"),
        (
            "Initialization failure from server:\nTraceback\n  no route\n",
            "Initialization failure from server: no route",
        ),
        ("nothing follows:", "nothing follows:"),
        ("", "OSError"),
    ],
)
def test_the_line_of_an_error_of_others_that_is_shown(message: str, line: str) -> None:
    assert first_line(OSError(message)) == line


@pytest.mark.parametrize(
    ("needed", "names", "meant"),
    [
        ("text", ["Score text", "title", "Content"], "Content"),  # what texts are called, before what is spelled alike
        ("text", ["Score text", "Text", "content"], "Text"),
        ("label", ["id", "Category"], "Category"),
        ("date", ["update", "publish_date"], "publish_date"),
        ("lable", ["label", "category"], "label"),
    ],
)
def test_the_likeliest_column_is_named(needed: str, names: list[str], meant: str) -> None:
    assert f"; did you mean '{meant}'?" in str(missing_column("x.csv", needed, names))


@pytest.mark.parametrize(
    ("kind", "bases"),
    [
        (UsageError, ValueError),
        (OutputExistsError, (FileExistsError, UsageError)),
        (InputError, ValueError),
        (MissingFileError, (FileNotFoundError, InputError)),
        (ColumnError, InputError),
        (MissingExtraError, (ImportError, MissingError)),
        (OutOfMemoryError, MemoryError),
    ],
)
def test_an_error_is_also_the_built_in_one_that_it_is(kind: type[NlpkitError], bases: Any) -> None:
    """And keeps its message, its parameter and its code on the way through a pickle."""
    for base in bases if isinstance(bases, tuple) else (bases,):
        with pytest.raises(base, match=r"^`k=x\\ny`: no$"):
            raise kind("`k=x\ny`: no", parameter="k")
    again = pickle.loads(pickle.dumps(kind("`k`: no")))
    assert (type(again), str(again), again.parameter, again.exit_code) == (kind, "`k`: no", "k", kind.exit_code)
    assert getattr(nk, kind.__name__) is kind


def test_errors_of_calls_are_caught_as_built_in_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least"):
        nk.fit_lda(["a b"], k=2, seed=-1)
    (tmp_path / "news.csv").touch()
    with pytest.raises(FileNotFoundError, match=r"no such file or directory; did you mean '.*news\.csv'"):
        nk.read_corpus(tmp_path / "new.csv")
    with pytest.raises(FileNotFoundError):
        nk.info(tmp_path / "run")
    for later in ("-", str(tmp_path / "*.json")):
        assert nk.read_corpus(later).inputs == (later,)
