"""Texts of a column as moments, batch by batch, for conditions that compare them."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, time

import numpy as np
import pyarrow as pa

from nlpkit.errors import ColumnError
from nlpkit.text.dates import COPY_KEY, FORMAT_KEY, DateReader, Moment, unclear_dates

DATE = "date"  # the column in the role of the date

log = logging.getLogger("nlpkit.text")


def is_date_column(schema: pa.Schema, name: str) -> bool:
    """Whether a column is the date of the documents, or the one that it is a copy of."""
    at = schema.get_field_index(DATE)
    copied = None if at < 0 else (schema.field(at).metadata or {}).get(COPY_KEY)
    return name == DATE or (copied is not None and copied.decode() == name)


def date_format(schema: pa.Schema, name: str) -> str | None:
    """Return the format that the dates of a column are written in, None where it is not told."""
    at = schema.get_field_index(DATE if is_date_column(schema, name) else name)
    stored = None if at < 0 else (schema.field(at).metadata or {}).get(FORMAT_KEY)
    return None if stored is None else stored.decode("utf-8", "replace")


def iso_moment(text: str) -> datetime | None:
    """Return the first moment of 2020, 2020-05 or any longer ISO form, None for another text."""
    months = re.fullmatch(r"(\d{4})(?:-(\d\d))?", text.strip(), re.ASCII)
    try:
        if months:
            return datetime(int(months[1]), int(months[2] or 1), 1)
        is_iso = re.match(r"\d{4}\D|\d{8}(?!\d)", text.strip(), re.ASCII)
        return datetime.fromisoformat(text.strip()) if is_iso else None
    except ValueError:
        return None


def is_date(text: str, format: str | None) -> bool:
    """Whether a text is a date, though maybe in no ISO form."""
    reader = DateReader(format=format)
    return reader.is_unclear(text) or reader.read([text]) != [None]


class DateValues:
    """The texts of some columns as the reader of dates of all commands has them; what is known of a column holds for its next batches."""

    def __init__(self) -> None:
        self._readers: dict[str, DateReader] = {}
        self._read = Counter[str]()
        self._unread: dict[str, Counter[str]] = {}
        self._are_dates: dict[str, bool] = {}

    def moments(self, name: str, texts: pa.Array, format: str | None, *, is_date_column: bool) -> pa.Array:
        """Return texts (D,) as moments, null where there is none or none can be read, which is logged.

        Raises:
            ColumnError: a date may begin with the day or the month; or over a fifth of the texts are no dates.
        """
        codes = texts.dictionary_encode()
        distinct = [text or "" for text in codes.dictionary.to_pylist()]
        reader = self._readers.setdefault(name, DateReader(name, format))
        moments = reader.read(distinct)
        counts = np.bincount(codes.indices.drop_null().to_numpy(), minlength=len(distinct)).tolist()
        self._tally(reader, distinct, moments, counts, is_date_column=is_date_column)
        values = [None if one is None else datetime.combine(one.day, time()) + one.time for one in moments]
        return pa.array(values, pa.timestamp("us")).take(codes.indices)

    def _tally(
        self,
        reader: DateReader,
        texts: Sequence[str],
        moments: Sequence[Moment | None],
        counts: Sequence[int],
        *,
        is_date_column: bool,
    ) -> None:
        """Count what was read; raise where a text may be two dates, or too many are none; log the first that is none."""
        unread = self._unread.setdefault(reader.name, Counter())
        is_first = not unread
        for text, moment, n in zip(texts, moments, counts, strict=True):
            if moment is not None:
                self._read[reader.name] += n
            elif reader.is_unclear(text):
                raise unclear_dates(reader.name, text)
            elif text.strip():
                unread[text] += n
        try:
            reader.check(self._read[reader.name], unread)
        except ColumnError as error:
            what = (
                ""
                if is_date_column
                else f"; `date_format` is of the column that `date_col` names, such as `date_col={reader.name}`"
            )
            raise ColumnError(f"{error}{what}") from None
        if unread and is_first:
            log.warning(
                "column '%s': %s; no comparison holds for it and others like it",
                reader.name,
                reader.reason(next(iter(unread))),
            )

    def are_dates(self, name: str, texts: pa.Array, format: str | None) -> bool:
        """Whether texts are dates: all of the first ones that are there, or of the column's batch before."""
        if name not in self._are_dates:
            there = [text for text in texts.unique().to_pylist() if text and text.strip()]
            if not there:
                return False
            self._are_dates[name] = all(is_date(text, format) for text in there)
        return self._are_dates[name]
