"""JSON Lines (one object a line) and JSON (a list of objects, or an object that holds one) → blocks of rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from nlpkit.errors import InputError
from nlpkit.io.readers.blocks import BLOCK_ROWS, RowBlock, from_rows
from nlpkit.io.readers.roles import text_columns
from nlpkit.wording import listed, truncated

_read_value = json.JSONDecoder().raw_decode
_read_list = json.JSONDecoder().decode


def read_jsonl(text: Iterator[str], path: str) -> Iterator[RowBlock]:
    """Yield the objects of a JSON Lines text; raises InputError with path:line for a line that is not one object."""
    number = done = 0  # lines read, rows handed on
    numbers: Sequence[int]
    for lines, size in _line_groups(text):
        rows = _all_objects(lines)
        if rows is None:
            rows, numbers = _one_by_one(lines, path, number)
        else:
            numbers = range(number + 1, number + len(rows) + 1)
        number += len(lines)
        share = size // max(len(lines), 1)
        start = 0
        while start < len(rows):  # which columns the first rows have depends on no piece of text
            stop = min(len(rows), start + BLOCK_ROWS - done % BLOCK_ROWS)
            part = numbers[start:stop]
            yield from_rows(rows[start:stop], part, share * (stop - start), lines=part)
            done += stop - start
            start = stop


# Between the objects of lines that are parsed in one go. A line that is not one whole object moves it from its place.
_BETWEEN = "nlpkit\x7fline"


def _all_objects(lines: list[str]) -> list[dict[str, Any]] | None:
    """Return the objects of lines if every line is one object, else None: in one call, at twice the speed."""
    if len(lines) < 2:  # a long line should not be copied
        return None
    joined = f',"{_BETWEEN}",'.join(lines)
    try:
        values = _read_list(f"[{joined}]")
    except (ValueError, RecursionError):
        return None
    rows, between = values[::2], values[1::2]
    whole = len(values) == 2 * len(lines) - 1 and set(map(type, rows)) == {dict}
    return rows if whole and all(value == _BETWEEN for value in between) else None


def _one_by_one(lines: list[str], path: str, before: int) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the objects of lines and their numbers; blank lines fall away."""
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    for number, line in enumerate(lines, before + 1):
        try:
            row, end = _read_value(line)
            if end != len(line) or type(row) is not dict:
                row = _whole_line(line, path, number)
        except (ValueError, RecursionError):
            if not line or line.isspace():
                continue
            row = _whole_line(line, path, number)
        rows.append(row)
        numbers.append(number)
    return rows, numbers


def _line_groups(text: Iterator[str]) -> Iterator[tuple[list[str], int]]:
    r"""Yield the complete lines of each piece of text, which end with \n (a \r before it is white space in JSON)."""
    begun: list[str] = []  # a line that goes on over pieces
    for piece in text:
        if "\n" not in piece:
            begun.append(piece)
            continue
        begun.append(piece)
        joined = "".join(begun)
        lines = joined.split("\n")
        begun = [lines.pop()]
        yield lines, len(joined)
    last = "".join(begun)
    if last:
        yield [last], len(last)


def _whole_line(line: str, path: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except RecursionError:
        raise InputError(f"{path}:{number}: the JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InputError(_not_json(line, path, number, error)) from None
    except ValueError as error:
        raise InputError(f"{path}:{number}: not JSON ({error})") from None
    if not isinstance(value, dict):
        kind = "a list" if isinstance(value, list) else f"the value {truncated(line.strip(), 60)}"
        hint = "; a file that is one JSON list is read with `format=json`" if isinstance(value, list) else ""
        raise InputError(f"{path}:{number}: a line should be one JSON object, here it is {kind}{hint}")
    return value


def _not_json(line: str, path: str, number: int, error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return f"{path}:{number}: more than one JSON value on this line (column {error.colno}); write one object a line"
    several = number == 1 and line.strip() in ("[", "{", "[{")
    hint = "; JSON over several lines is read with `format=json`" if several else ""
    problem = error.msg.removesuffix(" at")
    return f"{path}:{number}: not JSON: {problem} at column {error.colno} of {truncated(line.strip(), 60)}{hint}"


def read_json(text: Iterator[str], path: str, text_col: str) -> Iterator[RowBlock]:
    """Yield the objects of a JSON text, which is loaded whole: a list, an object with one list, one document, or lines.

    Raises InputError with path:line:column where it is not JSON, and when it holds no list of objects.
    """
    whole = "".join(text)
    if not whole or whole.isspace():
        return
    try:
        value = json.loads(whole)
    except RecursionError:
        raise InputError(f"{path}: the JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and whole.lstrip().startswith("{"):  # JSON Lines under the name .json
            yield from read_jsonl(iter((whole,)), path)
            return
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    rows = _rows(value, path, text_col)
    share = len(whole) // max(1, len(rows))
    for start in range(0, len(rows), BLOCK_ROWS):
        part = rows[start : start + BLOCK_ROWS]
        yield from_rows(part, range(start + 1, start + len(part) + 1), share * len(part), unit="item")


def _rows(value: Any, path: str, text_col: str) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        if any(_holds(value, name) for name in text_columns(text_col)):
            return [value]
        lists = {
            name: v for name, v in value.items() if isinstance(v, list) and v and all(isinstance(x, dict) for x in v)
        }
        if len(lists) != 1:
            content = (
                f"it has {len(lists)} ({', '.join(lists)})" if lists else f"it has the keys {listed(list(value), 8)}"
            )
            raise InputError(f"{path}: a JSON object should hold one list of objects or be one document; {content}")
        (value,) = lists.values()
    if not isinstance(value, list):
        raise InputError(f"{path}: should be a JSON list of objects, is {truncated(json.dumps(value), 60)}")
    for number, row in enumerate(value, start=1):
        if not isinstance(row, dict):
            raise InputError(
                f"{path}: item {number} of the list should be an object, is {truncated(json.dumps(row), 60)}"
            )
    return value


def _holds(value: dict[str, Any], name: str) -> bool:
    """Return whether an object is a document whose text is in a column, or in a place such as body.text."""
    if name in value:
        return not isinstance(value[name], list | dict)
    return name.split(".")[0].removesuffix("[]") in value
