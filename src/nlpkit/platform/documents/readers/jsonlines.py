"""JSON Lines and JSON files read as blocks of rows: by Arrow where the result is the same, else by Python.

Parts, in this order:
- JSON Lines by Arrow's reader, without Python objects and without the GIL, where it reads the same as Python.
- JSON Lines (one object a line) and JSON (a list of objects, or an object that holds one) → blocks of rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from nlpkit.errors import InputError
from nlpkit.platform.documents.encoding import Utf8Lines
from nlpkit.platform.documents.readers.blocks import BLOCK_ROWS, ArrowBlock, RowBlock, from_rows
from nlpkit.platform.documents.readers.roles import text_columns
from nlpkit.platform.documents.readers.value_types import TYPES, ValueKind
from nlpkit.platform.types import ByteArray
from nlpkit.platform.wording import listed, truncated

_MOST_MISSES = 4  # after which the rest is read by Python
_LARGEST = 1 << 30  # bytes of a piece, which is larger than usual where a line is: Arrow counts in 32 bits
_LONG = 2.0**53  # from here on, floats do not hold all whole numbers
_NULL = re.compile(rb"\s*null")


class ArrowLines:
    """Reads lines whose columns are known and plain; what these columns do not fit is left to Python, also to say what is wrong.

    Arrow takes some things that Python does not, or otherwise: several objects on a line, one object over several, -NaN, and -0 as a
    float. These are found and left to Python, too.
    """

    def __init__(self) -> None:
        self._parsing: pa.json.ParseOptions | None = None
        self._misses = 0

    def expect(self, columns: Mapping[str, ValueKind]) -> None:
        """Take the columns of the lines that come, by name; all of them have a type in `TYPES`."""
        from pyarrow.json import ParseOptions

        schema = pa.schema([pa.field(name, TYPES[kind.name]) for name, kind in columns.items()])
        self._parsing = ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")

    def read(self, lines: bytes) -> pa.RecordBatch | None:
        r"""Return the objects of lines of UTF-8, a row each; None where Python is to read them. Each ends with \n."""
        if self._parsing is None or self._misses == _MOST_MISSES:
            return None
        batch = self._parsed(lines)
        self._misses += batch is None
        return batch

    def _parsed(self, stored: bytes) -> pa.RecordBatch | None:
        n_lines = _count_objects(np.frombuffer(stored, np.uint8))
        if not n_lines or len(stored) > _LARGEST or _has_null_behind_object(stored):
            return None
        from pyarrow.json import ReadOptions, read_json

        options = ReadOptions(use_threads=False, block_size=len(stored))
        try:
            table = read_json(pa.BufferReader(stored), options, self._parsing)
            table.validate(full=True)  # texts are UTF-8
        except pa.ArrowInvalid:
            return None
        if table.num_rows != n_lines or any(_is_unlike_python(column) for column in table.columns):
            return None
        (batch,) = table.combine_chunks().to_batches()
        return batch


def _count_objects(stored: ByteArray) -> int:
    r"""Return the number of lines, 0 if one does not begin with { and end with }.

    The end of a line is no part of a JSON value, so }\n{ always stands between two of them: if Arrow reads as many objects as there are
    lines, then each line is one.
    """
    ends = np.flatnonzero(stored == ord("\n"))
    last = np.where(stored[ends - 1] == ord("\r"), stored[ends - 2], stored[ends - 1])
    fine = (
        stored[0] == ord("{")
        and stored[-1] == ord("\n")
        and (stored[ends[:-1] + 1] == ord("{")).all()
        and (last == ord("}")).all()
    )
    return len(ends) if fine else 0


def _has_null_behind_object(stored: bytes) -> bool:
    """Return whether a null follows an object, which ends Arrow 26 by a segmentation fault; texts with such words count, too."""
    bytes_ = np.frombuffer(stored, np.uint8)
    behind = np.flatnonzero(bytes_[:-1] == ord("}")) + 1
    begins = behind[np.isin(bytes_[behind], np.frombuffer(b" \t\rn", np.uint8))]
    return any(_NULL.match(stored, at) for at in begins.tolist())


def _is_unlike_python(column: pa.ChunkedArray) -> bool:
    """Return whether numbers may not be what Python reads: those that are not finite, the sign of a whole zero, and long ones."""
    if not pa.types.is_floating(column.type):
        return False
    values = column.drop_null().to_numpy()
    odd = (np.signbit(values) & (values == 0)) | (np.abs(values) >= _LONG)
    return not np.isfinite(values).all() or bool(odd.any())


# ------------------------------------------------------------------------------------------------------------------------
# JSON Lines (one object a line) and JSON (a list of objects, or an object that holds one) → blocks of rows.

_MOST_LEVELS = 500  # of nesting; json gives up at about 1,000, orjson at 1,024
_LARGE = 2.0**63
_GROUP = 1 << 20  # bytes
_TWITTER = re.compile(r"\A\s*window\.YTD\.\w+\.part\d+\s*=\s*")
_OF_PANDAS = (
    "; it is written column by column, as by pandas: write it with `to_json(path, orient='records', lines=True)`"
)


def read_jsonl(text: Utf8Lines, path: str, arrow: ArrowLines | None = None) -> Iterator[RowBlock | ArrowBlock]:
    """Yield the objects of a JSON Lines text, as batches of Arrow from where it can read them on.

    Raises InputError with path:line for a line that is not one object, EncodingError for one that is not UTF-8.
    """
    number = done = 0  # lines read, rows handed on
    numbers: Sequence[int]
    for whole in text.groups(_GROUP):
        if whole.isspace():
            number += whole.count(b"\n")
            continue
        batch = None if arrow is None else arrow.read(whole)
        if batch is not None:
            yield ArrowBlock(batch, range(number + 1, number + batch.num_rows + 1), len(whole), lines=True)
            number += batch.num_rows
            done += batch.num_rows
            continue
        lines = text.decode(whole).removesuffix("\n").split("\n")
        rows = _objects(lines)
        if rows is None:
            rows, numbers = _one_by_one(lines, path, number)
        else:
            numbers = range(number + 1, number + len(rows) + 1)
        number += len(lines)
        share = len(whole) // len(lines)
        start = 0
        while start < len(rows):  # which columns the first rows have depends on no piece of text
            stop = min(len(rows), start + BLOCK_ROWS - done % BLOCK_ROWS)
            part = numbers[start:stop]
            yield from_rows(rows[start:stop], part, share * (stop - start), lines=part)
            done += stop - start
            start = stop


def _objects(lines: Sequence[str]) -> list[dict[str, Any]] | None:
    """Return the objects of lines by orjson, three times as fast as json, where json would read the same; else None."""
    try:
        rows = list(map(orjson.loads, lines))
    except ValueError:  # also of NaN, halves of surrogate pairs and numbers beyond all floats, which json takes
        return None
    return rows if set(map(type, rows)) <= {dict} and _same_in_json(rows) else None


def _same_in_json(rows: Sequence[dict[str, Any]]) -> bool:
    """Return whether values of orjson are those of json: it makes floats of integers beyond 64 bits, and nests deeper."""
    values = list(chain.from_iterable(map(dict.values, rows)))
    for _ in range(_MOST_LEVELS):
        kinds = set(map(type, values))
        if float in kinds and any(type(value) is float and abs(value) >= _LARGE for value in values):
            return False
        if kinds.isdisjoint((list, dict)):
            return True
        lists = [value for value in values if type(value) is list]
        objects = [value.values() for value in values if type(value) is dict]
        values = list(chain.from_iterable(chain(lists, objects)))
    return False


def _one_by_one(lines: list[str], path: str, before: int) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the objects of lines and their numbers; blank lines fall away."""
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    for number, line in enumerate(lines, before + 1):
        if not line or line.isspace():
            continue
        rows += _objects((line,)) or [_whole_line(line, path, number)]
        numbers.append(number)
    return rows, numbers


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
        raise InputError(f"{path}:{number}: each line should be one JSON object, but this one is {kind}{hint}")
    return value


def _not_json(line: str, path: str, number: int, error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        if line[error.pos :].strip() == ",":
            return (
                f"{path}:{number}: a comma follows the object; remove the commas at line ends, or put [ before the first line and ] behind "
                "the last and read the file with `format=json`"
            )
        return f"{path}:{number}: more than one JSON value on this line (column {error.colno}); write one object a line"
    several = number == 1 and line.strip() in ("[", "{", "[{")
    hint = "; JSON over several lines is read with `format=json`" if several else ""
    problem = error.msg.removesuffix(" at")
    return f"{path}:{number}: not JSON: {problem} at column {error.colno} of {truncated(line.strip(), 60)}{hint}"


def read_json(text: Iterator[str], path: str, text_col: str, *, record: str | None = None) -> Iterator[RowBlock]:
    """Yield the objects of a JSON text, which is loaded whole: a list, an object with one list, one document, or lines.

    Files of the archive of Twitter begin with the name of a variable, and wrap each object in another one. A text of Telegram may be a
    list of texts and objects with a text.

    Args:
        text_col: names an object that is one document.
        record: the place of the documents, names with a full stop between; lists on the way are gone through.

    Raises InputError with path:line:column where it is not JSON, and when it holds no list of objects.
    """
    whole = _TWITTER.sub("", "".join(text), count=1)
    if not whole or whole.isspace():
        return
    try:
        value = json.loads(whole)
    except RecursionError:
        raise InputError(f"{path}: the JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and whole.lstrip().startswith("{"):  # JSON Lines under the name .json
            yield from read_jsonl(Utf8Lines((whole.encode(),), path), path)  # type: ignore[misc]
            return
        raise InputError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    rows = _rows(value, path, text_col) if record is None else _records(value, path, record)
    rows = [_joined(row) for row in _unwrapped(rows)]
    share = len(whole) // max(1, len(rows))
    for start in range(0, len(rows), BLOCK_ROWS):
        part = rows[start : start + BLOCK_ROWS]
        yield from_rows(part, range(start + 1, start + len(part) + 1), share * len(part), unit="item")


def _records(value: Any, path: str, record: str) -> list[dict[str, Any]]:
    """Return the objects in a place.

    Raises:
        InputError: there is none, or something else.
    """
    values = [value]
    for depth, name in enumerate(parts := record.removesuffix("[]").replace("[].", ".").split("."), start=1):
        values = [item for one in values for item in (one if isinstance(one, list) else [one])]
        there = [one[name] for one in values if isinstance(one, dict) and name in one]
        if not there:
            known = dict.fromkeys(key for one in values if isinstance(one, dict) for key in one)
            place = ".".join(parts[: depth - 1])
            raise InputError(
                f"{path}: `json_record={record}`: no '{name}'{f' in {place}' if place else ''} (it has {listed(list(known), 8)})",
                parameter="json_record",
            )
        values = there
    rows = [item for one in values for item in (one if isinstance(one, list) else [one])]
    other = next((row for row in rows if not isinstance(row, dict)), None)
    if other is not None:
        raise InputError(
            f"{path}: `json_record={record}` should lead to objects, here is {truncated(json.dumps(other), 60)}",
            parameter="json_record",
        )
    return rows


def _unwrapped(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the objects inside objects that have one key, which is the same in all: {"tweet": {...}}."""
    keys = {tuple(row) for row in rows}
    if len(keys) == 1 and len(key := keys.pop()) == 1 and all(isinstance(row[key[0]], dict) for row in rows):
        return [row[key[0]] for row in rows]
    return rows


def _joined(row: dict[str, Any]) -> dict[str, Any]:
    """Return an object whose text is one text, where it is a list of texts and of objects with a type and a text."""
    text = row.get("text")
    if not isinstance(text, list) or not any(isinstance(part, dict) for part in text):
        return row
    parts = [part.get("text") if isinstance(part, dict) and "type" in part else part for part in text]
    words = [part for part in parts if isinstance(part, str)]
    return {**row, "text": "".join(words)} if len(words) == len(parts) else row


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
            hint = _OF_PANDAS if _is_of_pandas(value) else ""
            raise InputError(
                f"{path}: a JSON object should hold one list of objects or be one document; {content}{hint}"
            )
        (value,) = lists.values()
    if not isinstance(value, list):
        raise InputError(f"{path}: should be a JSON list of objects, is {truncated(json.dumps(value), 60)}")
    for number, row in enumerate(value, start=1):
        if not isinstance(row, dict):
            raise InputError(
                f"{path}: item {number} of the list should be an object, is {truncated(json.dumps(row), 60)}"
            )
    return value


def _is_of_pandas(value: dict[str, Any]) -> bool:
    """Return whether an object has a column under each key, row by row, as `DataFrame.to_json()` writes it."""
    columns = list(value.values())
    return bool(columns) and all(isinstance(column, dict) and column.keys() == columns[0].keys() for column in columns)


def _holds(value: dict[str, Any], name: str) -> bool:
    """Return whether an object is a document whose text is in a column, or in a place such as body.text."""
    if name in value:
        return not isinstance(value[name], list | dict)
    return name.split(".")[0].removesuffix("[]") in value
