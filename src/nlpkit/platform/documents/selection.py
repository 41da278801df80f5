"""Which documents of the inputs are used: those that conditions name, a sample of them, the first of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import IN_MEMORY, InputError, first_line, missing_column
from nlpkit.platform.documents.conditions import parse_filter
from nlpkit.platform.documents.dates import FORMAT_KEY
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers.value_types import TYPES
from nlpkit.platform.documents.regex import compile_regex, regex_mask
from nlpkit.platform.types import LongArray

WHERE, KEEP_IF = "where", "keep-if"  # stages at which documents are left out
SAMPLE_SEED = 20260101
_LEAST_HELD = 10_000


def check_selection(options: ReadOptions) -> None:
    """Raise UsageError for a pattern or a condition that is none, before anything is read."""
    if options.where is not None:
        compile_regex(options.where)
    if options.keep_if is not None:
        parse_filter(options.keep_if)


def selection_columns(options: ReadOptions) -> tuple[str, ...]:
    """Return the columns that the condition looks at; of meta.section meta, too."""
    names = [] if options.keep_if is None else [name.split(".") for name in parse_filter(options.keep_if).columns]
    return tuple(sorted({".".join(parts[:n]) for parts in names for n in range(1, len(parts) + 1)}))


def selection_steps(options: ReadOptions) -> list[tuple[str, str, str]]:
    """Return (step, what it does, parameter) in the order in which they happen."""
    steps = []
    if options.where is not None:
        steps.append(("filter texts", f"keep those that match {options.where}", "where"))
    if options.keep_if is not None:
        steps.append(("filter rows", f"keep those with {options.keep_if}", "keep_if"))
    if options.sample is not None:
        steps.append(("sample", f"keep {options.sample:,} by chance", "sample"))
    return steps


class Selected(NamedTuple):
    """Rows that are used; id, stage and reason of those left out before the last of them; and how many rows were looked at (None: all)."""

    batch: pa.RecordBatch
    left_out: list[tuple[str, str, str]]
    n_seen: int | None


class Selection:
    """The conditions of `where` and `keep_if` on documents."""

    def __init__(self, options: ReadOptions, schema: pa.Schema) -> None:
        """Raise ColumnError, UsageError where the condition does not go with the columns."""
        self._pattern = options.where
        self._filter = None if options.keep_if is None else parse_filter(options.keep_if)
        if self._filter is not None and len(schema):
            self._filter.check(schema)

    def __bool__(self) -> bool:
        return self._pattern is not None or self._filter is not None

    def select(self, batch: pa.RecordBatch, room: int | None) -> Selected:
        """Return the rows that fulfil the conditions, at most `room`."""
        kept = np.ones(batch.num_rows, bool)
        stage = np.zeros(batch.num_rows, np.int8)
        if self._pattern is not None and batch.num_rows:
            kept = regex_mask(batch.column("text"), self._pattern).to_numpy(zero_copy_only=False)
            stage[~kept] = 1
        if self._filter is not None and kept.any():
            rows = np.flatnonzero(kept)
            fulfilled = self._filter.mask(batch.take(pa.array(rows))).to_numpy(zero_copy_only=False)
            stage[rows[~fulfilled]] = 2
            kept[rows[~fulfilled]] = False
        n_seen = None
        if room is not None and np.count_nonzero(kept) >= room:
            n_seen = int(np.flatnonzero(kept)[room - 1]) + 1
            kept[n_seen:] = False
            stage[n_seen:] = 0
        reasons = {
            1: (WHERE, f"text does not match: {self._pattern}"),
            2: (KEEP_IF, f"does not satisfy: {self._filter and self._filter.text}"),
        }
        ids = batch.column("id")
        out = np.flatnonzero(stage)
        out = out[np.argsort(stage[out], kind="stable")]
        left_out = [(ids[row].as_py(), *reasons[int(stage[row])]) for row in out.tolist()]
        return Selected(batch if kept.all() else batch.filter(pa.array(kept)), left_out, n_seen)


class Sample:
    """N documents by chance, each as likely as the others; in their order, and the same ones wherever they are read.

    Every document gets 64 random bits of PCG64, which are the same for its place on every machine; those with the smallest
    stay. At most 2 N documents, and 10,000, are held in memory.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._bits = np.random.PCG64(SAMPLE_SEED)
        self._parts: list[pa.RecordBatch] = []
        self._keys = np.zeros(0, np.uint64)
        self._places = np.zeros(0, np.int64)
        self.n_seen = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the next documents."""
        self._keys = np.concatenate([self._keys, self._bits.random_raw(batch.num_rows)])
        self._places = np.concatenate([self._places, np.arange(self.n_seen, self.n_seen + batch.num_rows)])
        self._parts.append(batch)
        self.n_seen += batch.num_rows
        if len(self._keys) > max(2 * self._n, _LEAST_HELD):
            self._keep_smallest()

    def _keep_smallest(self) -> None:
        kept = np.zeros(len(self._keys), bool)
        kept[np.argsort(self._keys, kind="stable")[: self._n]] = True
        ends = np.cumsum([part.num_rows for part in self._parts], dtype=np.int64)
        parts = zip(self._parts, np.split(kept, ends[:-1]), strict=True) if len(ends) else ()
        self._parts = [part.filter(pa.array(mask)) for part, mask in parts if mask.any()]
        self._keys, self._places = self._keys[kept], self._places[kept]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the sample."""
        self._keep_smallest()
        yield from self._parts

    def before(self, places: LongArray) -> LongArray:
        """Return how many documents of the sample stand before each place among all documents."""
        return np.searchsorted(self._places, places).astype(np.int64)


def select_table(table: pa.Table, options: ReadOptions) -> np.ndarray:
    """Return the rows of a table that `where`, `keep_if`, `sample` and `limit` leave, in order; it may have no column of texts.

    Raises:
        ColumnError, UsageError: a column of the condition is not there, or of another type; InputError: values are not of the type in
        `types`.
    """
    for name, type_ in options.types:
        if name in table.column_names:
            try:
                column = table.column(name).cast(TYPES[type_])
            except pa.ArrowInvalid as error:
                raise InputError(f"column '{name}' is not {type_} everywhere (`types`): {first_line(error)}") from None
            table = table.set_column(table.column_names.index(name), name, column)
    if options.date_format is not None and options.date_col in table.column_names:
        at = table.column_names.index(options.date_col)
        marked = table.schema.field(at).with_metadata({FORMAT_KEY: options.date_format.encode()})
        table = table.set_column(at, marked, table.column(at))
    rows = np.arange(table.num_rows)
    batch = table.combine_chunks().to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], table.schema)
    kept = np.ones(table.num_rows, bool)
    if options.where is not None:
        if options.text_col not in table.column_names:
            raise missing_column(IN_MEMORY, options.text_col, table.column_names, "text_col")
        kept &= regex_mask(batch.column(options.text_col).cast(pa.large_string()), options.where).to_numpy(False)
    if options.keep_if is not None:
        kept &= pc.fill_null(parse_filter(options.keep_if).mask(batch), False).to_numpy(False)
    rows = rows[kept]
    if options.sample is not None:
        keys = np.random.PCG64(SAMPLE_SEED).random_raw(len(rows))
        rows = rows[np.sort(np.argsort(keys, kind="stable")[: options.sample])]
    return rows[: options.limit]
