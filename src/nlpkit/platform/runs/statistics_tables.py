"""Tables as files of Stata and SPSS: names that these programs take, labels of values, no lists."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import UsageError, missing_extra
from nlpkit.platform.documents.readers.workbooks import COLUMN_LABEL_KEY, VALUE_LABELS_KEY
from nlpkit.platform.wording import counted, listed

PROGRAMS = {"dta": "Stata", "sav": "SPSS"}
SAV_BYTES = 32_767  # of a text
_LONGEST_NAME = {"dta": 32, "sav": 64}
_LONGEST_COLUMN_LABEL = {"dta": 80, "sav": 120}
_LONGEST_VALUE_LABEL = {"dta": 32_000, "sav": 120}  # bytes
_LARGEST_WHOLE = 1 << 53  # both programs count in doubles
_LARGEST_CODE = (1 << 31) - 28  # that Stata can label
_RESERVED = {
    "dta": frozenset(
        [
            "_all",
            "_b",
            "byte",
            "_coef",
            "_cons",
            "double",
            "float",
            "if",
            "in",
            "int",
            "long",
            "_n",
            "_N",
            "_pi",
            "_pred",
            "_rc",
            "_skip",
            "strL",
            "using",
            "with",
        ]
    ),
    "sav": frozenset(["ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"]),
}
_TIMES = {"dta": (re.compile(rb"(?<=<timestamp>\x11).{17}"), b"01 Jan 1980 00:00"), "sav": (None, b"01 Jan 8000:00:00")}
_SAV_TIME_AT = 92  # of nine bytes for the date, and eight for the time

log = logging.getLogger("nlpkit.io")

Flat = Callable[[pa.Array], pa.Array]


def check_statistics(format: str) -> None:
    """Raise MissingError where the extra that writes these files is not there."""
    try:
        import pyreadstat  # noqa: F401
    except ImportError:
        raise missing_extra(f"writing .{format}", "statistics") from None


def write_statistics(format: str, name: Path, path: Path, table: pa.Table, flat: Flat) -> None:
    """Write a table as a file of Stata 14 or later (dta) or of SPSS (sav).

    A column that carries the labels of its codes gets both, where each value has one code. Names that the program does not take are
    changed, and the names that they had become the labels of the variables. What is no number, day or time is text.

    Args:
        format: dta or sav.
        name: of the file, for messages; path: where it is written.
        table: the rows.
        flat: makes text of lists, objects and bytes.

    Raises:
        UsageError: a text is longer than SPSS takes.
    """
    import polars as pl
    import pyreadstat

    names = valid_names(table.column_names, format)
    _note_names(name, format, names)
    series: list[pl.Series] = []
    values: dict[str, dict[Any, str]] = {}
    labels: dict[str, str] = {}
    infinite = nulls = 0
    for field, column in zip(table.schema, table.columns, strict=True):
        final = names[field.name]
        carried = field.metadata or {}
        label = carried.get(COLUMN_LABEL_KEY, b"").decode() or (field.name if final != field.name else "")
        if label:
            labels[final] = label.encode()[: _LONGEST_COLUMN_LABEL[format]].decode("utf-8", "ignore")
        coded, of_values = _with_codes(f"{name}: column '{field.name}'", format, field, column.combine_chunks())
        if of_values:
            values[final] = of_values
        plain, n_infinite = _plain(coded, flat)
        infinite += n_infinite
        if pa.types.is_large_string(plain.type):
            plain, n_nulls = _checked(name, format, field.name, plain)
            nulls += n_nulls
        series.append(pl.Series(final, pl.from_arrow(plain)))
    settings: dict[str, Any] = {"variable_value_labels": values, "column_labels": labels}
    if format == "dta":
        pyreadstat.write_dta(pl.DataFrame(series), path, version=14, **settings)
    else:
        pyreadstat.write_sav(pl.DataFrame(series), path, row_compress=True, **settings)
    _without_time(path, format)
    if infinite:
        log.warning(
            "%s: %s holds no infinite numbers; left missing: %s", name, PROGRAMS[format], counted(infinite, "value")
        )
    if nulls:
        log.warning("%s: U+0000 is written as U+FFFD in %s, because it ends a text there", name, counted(nulls, "text"))


def valid_names(columns: Sequence[str], format: str) -> dict[str, str]:
    """Return the name of each column in a file of Stata or SPSS: letters, digits and underscores, none of them twice.

    Example:
        >>> valid_names(["text", "Party name", "1st"], "dta")
        {'text': 'text', 'Party name': 'Party_name', '1st': 'v_1st'}
    """
    taken = {_key(name, format) for name in columns if _is_valid(name, format)}
    names: dict[str, str] = {}
    used: set[str] = set()
    for column in columns:
        final = column
        if not _is_valid(column, format) or _key(column, format) in used:
            stem = _cut(re.sub(r"\W", "_", column) or "v", format)
            stem = stem if _is_valid(stem, format) else f"v_{stem.lstrip('_')}"
            final, number = _cut(stem, format), 1
            while _key(final, format) in taken | used:
                number += 1
                final = _cut(stem, format, f"_{number}")
        names[column] = final
        used.add(_key(final, format))
    return names


def _cut(stem: str, format: str, ending: str = "") -> str:
    room = _LONGEST_NAME[format] - len(ending)
    return stem.encode()[:room].decode("utf-8", "ignore") + ending


def _key(name: str, format: str) -> str:
    return name.lower() if format == "sav" else name  # SPSS does not tell Text from text


def _is_valid(name: str, format: str) -> bool:
    if format == "dta":
        reserved = name in _RESERVED["dta"] or re.fullmatch(r"str\d+", name) is not None
    else:
        reserved = name.upper() in _RESERVED["sav"]
    first = name[:1].isalpha() or (format == "dta" and name[:1] == "_")
    return bool(first and not reserved and re.fullmatch(r"\w+", name) and len(name.encode()) <= _LONGEST_NAME[format])


def _note_names(name: Path, format: str, names: dict[str, str]) -> None:
    changed = [f"'{old}' is {new}" for old, new in names.items() if old != new]
    if changed:
        log.warning(
            "%s: %s does not take these names of columns: %s; the labels of the variables have the names",
            name, PROGRAMS[format], listed(changed, 5),
        )  # fmt: skip


def _with_codes(where: str, format: str, field: pa.Field, values: pa.Array) -> tuple[pa.Array, dict[Any, str]]:
    """Return values as the codes that their labels have, and the labels by code; as they are where that is not possible."""
    stored = (field.metadata or {}).get(VALUE_LABELS_KEY)
    if stored is None:
        return values, {}
    labels: dict[Any, str] = dict(json.loads(stored))
    whole = all(isinstance(code, int) and abs(code) <= _LARGEST_CODE for code in labels)
    problem = ""
    if format == "dta" and not whole:
        problem = "Stata has labels for whole numbers alone"
    elif any(len(label.encode()) > _LONGEST_VALUE_LABEL[format] for label in labels.values()):
        problem = f"{PROGRAMS[format]} takes labels of {_LONGEST_VALUE_LABEL[format]:,} bytes"
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    texts = any(isinstance(code, str) for code in labels)
    if not problem and not is_text and not texts and (format == "sav" or pa.types.is_integer(values.type)):
        return values, labels  # codes, of which some have no label
    codes = {label: code for code, label in labels.items()}
    if is_text and not problem:
        present = [value for value in pc.unique(values).to_pylist() if value]
        if len(codes) == len(labels) and all(value in codes for value in present):
            return pa.array([codes[value] if value else None for value in values.to_pylist()]), labels
        if texts and all(value in labels for value in present):
            return values, labels
        problem = "some of its values have no code, or two of its codes have one label"
    log.warning("%s is written without the labels of its values: %s", where, problem or "its values are no codes")
    return values, {}


def _plain(values: pa.Array, flat: Flat) -> tuple[pa.Array, int]:
    """Return values as numbers, days, times or text, and how many infinite numbers are left out."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _plain(values.dictionary_decode(), flat)
    if pa.types.is_boolean(kind):
        return values.cast(pa.int64()), 0
    if pa.types.is_integer(kind):
        ends = pc.min_max(values)
        largest = max(abs(ends["min"].as_py() or 0), abs(ends["max"].as_py() or 0))
        return values.cast(pa.int64() if largest <= _LARGEST_WHOLE else pa.large_string()), 0
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = values.cast(pa.float64())
        return pc.if_else(pc.is_finite(numbers), numbers, None), pc.sum(pc.is_inf(numbers)).as_py() or 0
    if (pa.types.is_timestamp(kind) or pa.types.is_date(kind)) and _are_years_of_python(values):
        if pa.types.is_date(kind):
            return values.cast(pa.date32()), 0
        local = values if kind.tz is None else pc.local_timestamp(values)
        return local.cast(pa.timestamp("us"), safe=False), 0
    return flat(values).cast(pa.large_string()), 0


def _are_years_of_python(values: pa.Array) -> bool:
    years = pc.min_max(pc.year(values))
    least, most = years["min"].as_py(), years["max"].as_py()
    return least is None or (least >= 1 and most <= 9999)


def _checked(name: Path, format: str, column: str, texts: pa.Array) -> tuple[pa.Array, int]:
    """Return texts without U+0000, and how many had it. Raises UsageError for one that SPSS has no room for."""
    if format == "sav" and (pc.max(pc.binary_length(texts)).as_py() or 0) > SAV_BYTES:
        row = pc.index(pc.greater(pc.binary_length(texts), SAV_BYTES), True).as_py()
        raise UsageError(
            f"output {name}: a text of SPSS holds {SAV_BYTES:,} bytes, and row {row + 1:,} has more in column '{column}'; "
            "write .dta, .csv or .parquet"
        )
    n_nulls = pc.sum(pc.match_substring(texts, "\0")).as_py() or 0
    return (pc.replace_substring(texts, "\0", "\ufffd") if n_nulls else texts), n_nulls


def _without_time(path: Path, format: str) -> None:
    """Put a fixed time in the place of the time of writing, so that the bytes are the same whenever it is written."""
    form, fixed = _TIMES[format]
    with path.open("r+b") as file:
        match = form.search(file.read(1000)) if form is not None else None
        at = _SAV_TIME_AT if match is None else match.start()
        file.seek(at)
        file.write(fixed)
