"""The one exception family of nlpkit: each branch knows its exit code (DESIGN §4).

NlpkitError                     a message a user can act on
├── QualityGateError      1     a score fell below the bar the user set
├── UsageError            2     an option, argument or config value that is invalid            also ValueError
│   └── OutputExistsError 2     the target is there and `force` was not given                  also FileExistsError
├── InputError            3     a file or table that cannot be used                            also ValueError
│   ├── MissingFileError  3     a file or directory that does not exist                        also FileNotFoundError
│   ├── ColumnError       3     a column that is not there or has the wrong type
│   ├── SchemaError       3     an artifact of another kind or schema version
│   └── EncodingError     3     bytes that are not text in the given encoding
├── MissingError          4     a model, an extra or the network is not there
│   └── MissingExtraError 4     an optional extra is not installed                             also ImportError
└── OutOfMemoryError      5     the work does not fit into memory                              also MemoryError
    └── ActorLostError    5     a worker ended in the middle of its work, as the system ends one when memory is short

The last column names the built-in error that the class also is, so that `except ValueError` catches a wrong option. An unknown option
name is a TypeError, as in any call.

Anything else that reaches the boundary is a bug (exit code 70). Messages state what was needed, what was
found, where, and what to do next, on one line. They name a parameter between backticks, as in Python (`min_df`, `lower=False`);
the command line shows it as an option.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from errno import ENOMEM
from pathlib import Path
from unicodedata import category

EXIT_BUG = 70
IN_MEMORY = "the table"  # what messages call documents that no file holds
ROLES = ("text_col", "id_col", "label_col", "date_col")
_FIRST_PARAMETER = re.compile(r"`([a-z][a-z0-9_]*)(?:=[^`]*)?`")  # a message that begins with it is about it


class NlpkitError(Exception):
    """Root of all errors that nlpkit raises on purpose."""

    exit_code = EXIT_BUG

    def __init__(self, message: str = "", *, parameter: str | None = None) -> None:
        """Take the message and the name of the parameter whose value it is about, if there is one."""
        super().__init__(message)
        named = _FIRST_PARAMETER.match(message)
        self.parameter = parameter or (named[1] if named else None)

    def __str__(self) -> str:
        r"""Return the message on one line: what it quotes of a file may break lines or steer a terminal, and is shown as \r, \x1b."""
        message = Exception.__str__(self)  # not as KeyError or OSError write theirs
        if message.isprintable():
            return message
        return "".join(
            c if c.isprintable() or category(c) == "Zs" else c.encode("unicode_escape").decode() for c in message
        )


class QualityGateError(NlpkitError):
    """A score is below the bar the user set."""

    exit_code = 1


class UsageError(NlpkitError, ValueError):
    """An option, argument or config value is invalid."""

    exit_code = 2


class OutputExistsError(UsageError, FileExistsError):
    """The output is already there and `--force` was not given."""


class InputError(NlpkitError, ValueError):
    """A file or table cannot be used as it is."""

    exit_code = 3


class MissingFileError(InputError, FileNotFoundError):
    """A file or directory that was named does not exist."""


class ColumnError(InputError):
    """A column is missing or of the wrong type."""


class SchemaError(InputError):
    """An artifact is of another kind or of a schema version this nlpkit does not read."""


class EncodingError(InputError):
    """Bytes of an input are not text in the encoding that was given or detected."""


class MissingError(NlpkitError):
    """A model, an optional extra or the network is not there."""

    exit_code = 4


class MissingExtraError(MissingError, ImportError):
    """An optional extra is not installed."""


class OutOfMemoryError(NlpkitError, MemoryError):
    """The work does not fit into the memory there is."""

    exit_code = 5


class ActorLostError(OutOfMemoryError):
    """A worker process, or one on a cluster, ended in the middle of its work, mostly because memory was short."""


def missing_extra(feature: str, extra: str) -> MissingExtraError:
    """Return the error for an optional extra that is not installed, with the command that installs it."""
    where, command = _installation(extra)
    return MissingExtraError(f"{feature} needs the extra '{extra}', which is not installed; {where}run: {command}")


def install_command(extra: str) -> str:
    """Return the shell command that adds an optional extra to the nlpkit that is running."""
    return _installation(extra)[1]


def _installation(extra: str) -> tuple[str, str]:
    """Return where a command that installs an extra must be run ("" for anywhere), and the command.

    A checkout installs itself with the versions that were tested. An installed wheel is extended by the pip of its interpreter,
    which finds nlpkit there and asks the package index for the packages of the extra only: another pip could fetch
    the project that has the name nlpkit on the index.
    """
    if (Path(__file__).parents[2] / "constraints.txt").is_file():
        return "from the nlpkit checkout ", f"pip install -c constraints.txt -e '.[{extra}]'"
    return "", f"{shlex.quote(sys.executable)} -m pip install 'nlpkit[{extra}]'"


MOST_NAMES, MOST_LETTERS = 20, 40  # of columns, in a message
# What columns of texts, labels and dates are called in tables of others, the likeliest first.
USUAL_NAMES = {
    "text": "content body message review tweet comment abstract sentence speech article document post description quote headline title",
    "label": "category class section topic sentiment party rating stars",
    "date": "datetime timestamp created_at published publish_date pub_date time year",
}


def missing_column(where: str, needed: str, columns: Iterable[str], parameter: str | None = None) -> ColumnError:
    """Return the error for a column that is not in a table; lists the columns found and the likeliest one."""
    names = list(columns)
    parameter = parameter and parameter.strip("`").removeprefix("--").replace("-", "_")
    likely = [needed.casefold(), *USUAL_NAMES.get(needed, "").split()]
    near = [name for usual in likely for name in names if name.casefold() == usual]
    near = near or get_close_matches(needed, names, n=1, cutoff=0.55)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    name_it = f"{' Name' if near else '; name'} it with `{parameter}`" if parameter else ""
    if where == IN_MEMORY and parameter in ROLES:
        name_it = f"{' Name' if near else '; name'} it: Corpus.from_frame(data, {parameter.removesuffix('_col')}=…)"
    shown = [name if len(name) <= MOST_LETTERS else f"{name[:MOST_LETTERS]}…" for name in names[:MOST_NAMES]]
    further = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    message = f"{where} has no column '{needed}' (found: {', '.join(shown) or 'none'}{further}){hint}{name_it}"
    return ColumnError(message, parameter=parameter and parameter.partition("=")[0])


def unknown_value(parameter: str, value: object, known: Iterable[str], hint: str = "") -> UsageError:
    """Return the error for a value that is not among those a parameter takes; lists them and names the nearest one."""
    names = list(known)
    near = get_close_matches(str(value), names, n=1)
    meant = f"; did you mean '{near[0]}'?" if near else ""
    return UsageError(
        f"`{parameter}={value}` is not known; give {'one of ' * (len(names) > 1)}{', '.join(names)}{meant or hint}",
        parameter=parameter,
    )


_SHORTAGES = (  # what libraries say, and the system to them, where there is no memory left, or no thread
    "failed to map segment", "cannot allocate memory", "memory allocation", "can't allocate memory", "not enough memory", "out of memory",
    "can't start new thread", "could not find/load shared object file", "resource temporarily unavailable", "bad_alloc",
    "unable to allocate", "cannot enlarge memory", "insufficient memory", "paging file is too small",
)  # fmt: skip


def is_shortage(error: BaseException | None) -> bool:
    """Return whether an error, or one that it came from, is a shortage of memory in the words of another library.

    They say it in many ways: the linker, where it loads a library; a system without room for another thread; OpenBLAS, torch, Arrow.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == ENOMEM):
            return True
        if isinstance(error, OSError | ImportError | RuntimeError) or type(error).__module__.startswith(
            ("pyarrow", "polars", "pyo3")
        ):
            text = str(error).lower()
            if any(words in text for words in _SHORTAGES):
                return True
        error = error.__cause__ or error.__context__
    return False


def first_line(error: BaseException) -> str:
    """Return the first line of another library's error, with the last where it announces what follows, or its type if it has none."""
    lines = [line.strip() for line in str(error).strip().splitlines()]
    if not lines:
        return type(error).__name__
    return f"{lines[0]} {lines[-1]}" if lines[0].endswith(":") and len(lines) > 1 else lines[0]
