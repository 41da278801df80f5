"""Files of Stata, SPSS, SAS and R → tables, with the labels of values in place of their codes."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError, NlpkitError, first_line, missing_extra
from nlpkit.io.readers.parquet import TableInput
from nlpkit.io.sources import Source, StoredBytes
from nlpkit.wording import listed

FORMATS = ("dta", "sav", "por", "sas7bdat", "rds", "rdata")
_OF_R = ("rds", "rdata")
_LARGEST_WHOLE = 2.0**53

log = logging.getLogger("nlpkit.io")


class StatisticsInput(TableInput):
    """One file of a statistics program, which is read whole.

    A column whose values all have labels holds the labels. Numbers that are all whole are integers, and times that are all midnight
    are days.

    Args:
        name: of a data frame, where a file of R has several.

    Raises:
        InputError: it cannot be read, or holds no table; MissingError: the extra `statistics` is not there.
    """

    def __init__(self, source: Source, format: str, name: str | None, stdin: BinaryIO | None) -> None:
        with StoredBytes(source, stdin) as stored, tempfile.NamedTemporaryFile(suffix=f".{format}") as copy:
            for chunk in stored:
                copy.write(chunk)
            copy.flush()
            self._sha256 = stored.sha256()
            table = _read(copy.name, format, name, source.shown)
        super().__init__(source, table)

    def sha256(self) -> str:
        """Return the sha256 of the file as stored."""
        return self._sha256


def _read(path: str, format: str, name: str | None, shown: str) -> pa.Table:
    try:
        return _of_r(path, format, name, shown) if format in _OF_R else _of_readstat(path, format, shown)
    except ImportError:
        raise missing_extra(f"reading .{format}", "statistics") from None
    except (NlpkitError, MemoryError):
        raise
    except Exception as error:  # a broken file may fail anywhere in the libraries
        raise InputError(f"{shown}: not a readable file of this format ({first_line(error)})") from None


def _of_readstat(path: str, format: str, shown: str) -> pa.Table:
    import pyreadstat

    reader = getattr(pyreadstat, f"read_{format}")
    frame, about = reader(path, output_format="polars")
    table = frame.to_arrow()
    columns = {
        column: _labelled(
            table.column(column), about.variable_value_labels.get(column) or {}, f"{shown}: column '{column}'"
        )
        for column in table.column_names
    }
    return pa.table({column: _plain(values) for column, values in columns.items()})


def _labelled(values: pa.ChunkedArray, labels: Mapping[Any, str], where: str) -> pa.ChunkedArray:
    """Return the labels of values, where all of them have one; else the values, with a warning."""
    if not labels:
        return values
    names = {str(float(code)) if isinstance(code, int | float) else str(code): label for code, label in labels.items()}
    is_number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    texts = values.cast(pa.float64()).to_pylist() if is_number else values.to_pylist()
    keys = [None if value is None else str(value) for value in texts]
    unlabelled = {key for key in keys if key is not None and key not in names}
    if unlabelled:
        log.warning("%s keeps its codes: not all of its values have a label (such as %s)", where, min(unlabelled))
        return values
    return pa.chunked_array([pa.array([None if key is None else names[key] for key in keys], pa.string())])


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return whole numbers as integers, and moments that are all midnight as days."""
    kind = values.type
    if pa.types.is_floating(kind):
        values = pc.if_else(pc.is_nan(values), None, values)
        present = values.drop_null()
        whole = pc.all(pc.and_(pc.equal(pc.floor(present), present), pc.less(pc.abs(present), _LARGEST_WHOLE))).as_py()
        return values.cast(pa.int64()) if len(present) and whole else values
    if pa.types.is_timestamp(kind) and kind.tz is None:
        days = values.cast(pa.date32(), safe=False)
        return days if pc.all(pc.equal(days.cast(kind), values)).as_py() else values
    return values


def _of_r(path: str, format: str, name: str | None, shown: str) -> pa.Table:
    import pandas as pd
    import rdata

    known = {**rdata.conversion.DEFAULT_CLASS_MAP, "Date": _days, "POSIXct": _moments}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes without a counterpart, which stay as they are stored
        read = (rdata.read_rds if format == "rds" else rdata.read_rda)(Path(path), constructor_dict=known)
    objects = read if isinstance(read, dict) and format == "rdata" else {"": read}
    frames = {key: value for key, value in objects.items() if isinstance(value, pd.DataFrame)}
    if name is not None and name not in frames:
        raise InputError(f"{shown}: no data frame '{name}' (it has {listed(list(frames), 8)})", parameter="sheet")
    if name is None and len(frames) != 1:
        content = f"it has {listed(list(frames), 8)}; name one with `sheet`" if frames else "it has none"
        raise InputError(f"{shown}: one data frame is needed, {content}", parameter="sheet")
    frame = frames[name] if name is not None else next(iter(frames.values()))
    columns = {
        str(column): pa.chunked_array(
            [pa.array([None if pd.isna(value) else value for value in frame[column].tolist()])]
        )
        for column in frame.columns
    }
    return pa.table({column: _plain(values) for column, values in columns.items()})


def _days(values: Any, _attributes: Any) -> Any:
    """Return days since 1970, as R counts dates."""
    return np.array(values, np.float64).astype("datetime64[D]").astype("datetime64[s]")


def _moments(values: Any, _attributes: Any) -> Any:
    """Return seconds since 1970 in UTC."""
    return (1e6 * np.array(values, np.float64)).astype("datetime64[us]")
