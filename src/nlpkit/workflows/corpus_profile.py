"""The columns of a corpus at a glance: type, missing and different values, an example, and what each may be used for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import ColumnError
from nlpkit.io.readers.guess import is_text
from nlpkit.text.dates import DateReader
from nlpkit.wording import truncated

_KEPT = 10_000  # different values of a column that are counted
_SAMPLE = 200
_MOST_CLASSES, _LEAST_OF_A_CLASS = 50, 5
_EXAMPLE = 40


class ColumnProfile:
    """What is known of a column after some batches."""

    def __init__(self, name: str, type: pa.DataType) -> None:
        self.name, self._type = name, type
        self._rows = self._missing = 0
        self._different: set[Any] = set()
        self._sample: list[Any] = []

    def add(self, values: pa.Array) -> None:
        """Take the values of a batch."""
        self._rows += len(values)
        is_string = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
        there = values.drop_null()
        there = there.filter(pc.not_equal(there, "")) if is_string else there
        self._missing += len(values) - len(there)
        if len(self._sample) < _SAMPLE:
            self._sample += there.slice(0, _SAMPLE - len(self._sample)).to_pylist()
        if len(self._different) <= _KEPT and not pa.types.is_nested(values.type):
            self._different.update(pc.unique(there).to_pylist())

    def described(self) -> dict[str, Any]:
        """Return the row of the column."""
        nested = pa.types.is_nested(self._type)
        different = None if nested or len(self._different) > _KEPT else len(self._different)
        example = truncated(" ".join(str(self._sample[0]).split()), _EXAMPLE) if self._sample else ""
        return {
            "column": self.name, "type": str(self._type), "missing": self._missing, "different": different, "example": example,
            "may_be": "" if nested else self._use(different),
        }  # fmt: skip

    def _use(self, different: int | None) -> str:
        """Return id, text, label or date where the values look like it; "" where they do not."""
        filled = self._rows - self._missing
        if not filled:
            return ""
        if self.name == "text" or is_text(self._sample):
            return "text"
        if self._are_dates():
            return "date"
        if different == filled and not self._missing and filled > 1:
            return "id"
        few = different is not None and 1 < different <= _MOST_CLASSES
        return "label" if few and filled >= _LEAST_OF_A_CLASS * (different or 0) else ""

    def _are_dates(self) -> bool:
        if pa.types.is_date(self._type) or pa.types.is_timestamp(self._type):
            return True
        if not (pa.types.is_string(self._type) or pa.types.is_large_string(self._type)):
            return False
        reader = DateReader(self.name)
        texts = [text for text in map(str, self._sample) if not text.isdecimal() or len(text) == len("2024")]
        try:
            read = reader.read(texts)
        except ColumnError:  # day or month first is not known
            return True
        return len(texts) == len(self._sample) and sum(moment is not None for moment in read) > 0.8 * len(read)


def profile(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Return a row for each column of a corpus that is read to its end."""
    columns = [ColumnProfile(field.name, field.type) for field in schema]
    for batch in batches:
        for column, values in zip(columns, batch.columns, strict=True):
            column.add(values)
    return [column.described() for column in columns]
