"""Costs of errors from a TOML file or a table."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

from nlpkit.errors import InputError

_EXAMPLE = "write a table for a true class: [spam], then a line for a predicted one: ham = 5"


def read_costs(path: Path) -> dict[str, dict[str, float]]:
    """Return costs by true class, then by predicted class.

    TOML has a table for each true class, `[spam]` with lines `ham = 5`. CSV and TSV have the predicted classes in the first row, and
    below it a row for each true class, which is its first cell.

    Raises:
        InputError: the file cannot be read or does not look like this.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"costs {path}: cannot be opened ({error.strerror})", parameter="costs") from None
    except UnicodeDecodeError as error:
        raise InputError(f"costs {path} is not UTF-8 text: {error}", parameter="costs") from None
    if path.suffix.lower() in (".csv", ".tsv"):
        return _table(path, text, "\t" if path.suffix.lower() == ".tsv" else ",")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"costs {path} is not TOML: {error}; {_EXAMPLE}", parameter="costs") from None
    if not content or not all(isinstance(row, dict) for row in content.values()):
        raise InputError(f"costs {path}: every true class needs a table; {_EXAMPLE}", parameter="costs")
    return content


def _table(path: Path, text: str, delimiter: str) -> dict[str, dict[str, float]]:
    rows = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if any(cell.strip() for cell in row)]
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise InputError(
            f"costs {path}: a row of predicted classes is needed, and below it a row of as many cells for each true class",
            parameter="costs",
        )
    costs: dict[str, dict[str, float]] = {}
    for number, (true, *cells) in enumerate(rows[1:], 2):
        costs[true] = {}
        for predicted, cell in zip(rows[0][1:], cells, strict=True):
            try:
                costs[true][predicted] = float(cell)
            except ValueError:
                raise InputError(f"costs {path}: row {number}: {cell!r} is not a number", parameter="costs") from None
    return costs
