"""The groups of documents that the values of a column make, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from nlpkit.errors import ColumnError, InputError, UsageError, missing_column
from nlpkit.platform.documents.date_columns import date_format_of
from nlpkit.platform.documents.dates import PARTS, DateReader
from nlpkit.platform.types import IntArray
from nlpkit.platform.values import python_values

_NEEDED = {name: needed for name, (needed, _) in PARTS.items()}


class Groups:
    """The groups of a stream of documents, numbered as they come; `finish` puts them into the order of their names.

    Null, an empty string, NaN and topic -1 are no group; with date:year and the like, so is what is no date.

    Raises:
        ColumnError: no such column, or its values are not single values; UsageError: an unknown part of a date.
    """

    def __init__(self, by: str, schema: pa.Schema, where: str, *, parameter: str = "by") -> None:
        self.by, self._where, self._parameter = by, where, parameter
        self.column, _, self._part = (by, "", "") if by in schema.names else by.partition(":")
        if self.column not in schema.names:
            raise missing_column(self._where, self.column, schema.names, parameter)
        if self._part and self._part not in PARTS:
            raise UsageError(
                f"`{parameter}={by}`: the part of a date after the colon is one of {', '.join(PARTS)}",
                parameter=parameter,
            )
        self._dates = DateReader(self.column, date_format_of(schema, self.column)) if self._part else None
        kind = schema.field(self.column).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_nested(kind):
            raise ColumnError(f"column '{self.column}' holds {kind}; groups need single values")
        self._numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        self._numbers: dict[str, int] = {}
        self._read, self._unread = (
            0,
            Counter[str](),
        )  # documents whose value is a date, and how often each other value is there
        self._inexact: str | None = None  # a date that is not as exact as the part

    def assign(self, batch: pa.RecordBatch) -> IntArray:
        """Return the group of each document of a batch (D,) int32, -1 for none."""
        column = batch.column(batch.schema.names.index(self.column))
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        values = python_values(column.dictionary)
        numbers = np.full(len(values) + 1, -1, np.int32)  # the last one is what -1 points to
        present = codes[codes >= 0]
        used, first = np.unique(present, return_index=True)
        used = used[np.argsort(first)]
        counts = np.bincount(present, minlength=len(values))[used]
        for i, name in zip(
            used.tolist(), self._names([values[i] for i in used.tolist()], counts.tolist()), strict=True
        ):
            if name is not None:
                numbers[i] = self._numbers.setdefault(name, len(self._numbers))
        groups: IntArray = numbers[codes]
        return groups

    def names(self) -> list[str]:
        """Return the names of the groups seen so far, as numbered by `assign`."""
        return list(self._numbers)

    def _names(self, values: Sequence[object], counts: Sequence[int]) -> list[str | None]:
        texts = ["" if value is None or value != value else str(value) for value in values]
        if self._dates is None:
            return [None if not text or (self.by == "topic" and text == "-1") else text for text in texts]
        texts = [text.removesuffix(".0") for text in texts]  # years beside missing ones are floats
        names: list[str | None] = []
        for text, moment, n in zip(texts, self._dates.read(texts), counts, strict=True):
            names.append(None if moment is None else moment.part(self._part))
            if moment is not None:
                self._read += n
                self._inexact = self._inexact or (text if names[-1] is None else None)
            elif text.strip():
                self._unread[text] += n
        return names

    def finish(self) -> tuple[list[str], IntArray]:
        """Return the names of the groups in order, and the place in it of each group as numbered by `assign` (G + 1,), -1 last.

        Raises:
            ColumnError: dates were wanted, and none was found, or over a fifth of the values cannot be read; InputError: no document
                has a value.
        """
        if self._dates is not None and self._read:
            self._dates.check(self._read, self._unread)
        if not self._numbers:
            undated = self._inexact or next(iter(self._unread), None)
            if undated is not None:
                hint = None if self._dates is None else self._dates.hint(undated)
                raise ColumnError(
                    f"column '{self.column}' of {self._where} has no dates with a {_NEEDED[self._part]} (found "
                    f"'{undated[:40]}'); {hint or 'write them as 2024-01-31, or give `date_format`'}"
                )
            raise InputError(
                f"no document of {self._where} has a value in '{self.column}'; name another column with `{self._parameter}`"
            )
        names = sorted(self._numbers, key=(lambda v: (float(v), v)) if self._numeric and not self._part else None)
        places = np.full(len(names) + 1, -1, np.int32)
        for place, name in enumerate(names):
            places[self._numbers[name]] = place
        return names, places
