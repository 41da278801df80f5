"""Export of weighted documents: the long table, scipy's npz, Matrix Market, svmlight text."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy import sparse

from nlpkit.io.artifacts import DICTIONARY_BYTES, with_footer
from nlpkit.io.atomic import atomic_file
from nlpkit.io.tables import TableSink, table_format, table_sink
from nlpkit.types import CsrMatrix, IntArray

WEIGHTS_SCHEMA = pa.schema([("id", pa.string()), ("term", pa.string()), ("tf", pa.int32()), ("weight", pa.float64())])
_CODES = pa.dictionary(pa.int32(), pa.string())
_CODED_SCHEMA = pa.schema([f.with_type(_CODES) if f.type == pa.string() else f for f in WEIGHTS_SCHEMA])
GROUP_ENTRIES = 1 << 20


@dataclass(frozen=True, slots=True)
class WeightedDocuments:
    """Some documents: ids (D_b,) Arrow strings, counts and weights (D_b, V) CSR with the same entries, classes (D_b,) or None."""

    ids: pa.Array
    counts: CsrMatrix
    weights: CsrMatrix
    classes: IntArray | None = None


def regrouped(
    batches: Iterable[tuple[pa.RecordBatch, CsrMatrix]], entries: int | None = None
) -> Iterator[tuple[pa.RecordBatch, CsrMatrix]]:
    """Yield rows and matrix in groups that close with the document that brings them to `entries` stored entries, else 2²⁰.

    The groups depend on the documents alone, not on the batches they come in.
    """
    most = GROUP_ENTRIES if entries is None else entries
    rows: list[pa.RecordBatch] = []
    parts: list[CsrMatrix] = []
    held = 0
    for batch, matrix in batches:
        start = 0
        while start < matrix.shape[0]:
            ends = matrix.indptr[start + 1 :] - matrix.indptr[start] + held
            stop = start + int(np.searchsorted(ends, most)) + 1
            full = stop <= matrix.shape[0]
            stop = min(stop, matrix.shape[0])
            rows.append(batch.slice(start, stop - start))
            parts.append(row_slice(matrix, start, stop))
            held = int(ends[stop - start - 1])
            start = stop
            if full:
                yield _joined(rows, parts)
                rows, parts, held = [], [], 0
    if rows:
        yield _joined(rows, parts)


def row_slice(matrix: CsrMatrix, start: int, stop: int) -> CsrMatrix:
    """Return rows start … stop - 1 of a CSR matrix; shares memory."""
    first, last = matrix.indptr[start], matrix.indptr[stop]
    parts = (matrix.data[first:last], matrix.indices[first:last], matrix.indptr[start : stop + 1] - first)
    return sparse.csr_array(parts, shape=(stop - start, matrix.shape[1]))


def _joined(rows: list[pa.RecordBatch], parts: list[CsrMatrix]) -> tuple[pa.RecordBatch, CsrMatrix]:
    if len(rows) == 1:
        return rows[0], parts[0]
    table = pa.Table.from_batches(rows).unify_dictionaries().combine_chunks()
    return table.to_batches()[0], stacked(parts)


def stacked(parts: list[CsrMatrix]) -> CsrMatrix:
    """Return CSR matrices one below the other; unlike scipy's vstack the type of the indices is kept."""
    lengths = np.concatenate([np.diff(p.indptr) for p in parts])
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    wide = np.int32 if ends[-1] <= np.iinfo(np.int32).max else np.int64
    data, indices = (np.concatenate([getattr(p, name) for p in parts]) for name in ("data", "indices"))
    shape = (len(lengths), parts[0].shape[1])
    return sparse.csr_array((data, indices.astype(wide, copy=False), ends.astype(wide)), shape=shape)


class _WeightsSink:
    """The long table, a row group for each group of documents."""

    def __init__(self, path: Path, block: dict[str, Any], *, few_values: bool) -> None:
        # without Arrow's own schema in the file every reader sees plain strings, though they are written as codes
        self._writer = pq.ParquetWriter(
            path,
            _CODED_SCHEMA,
            store_schema=False,
            compression="lz4",  # two thirds of the time of zstd for a tenth more bytes
            # a dictionary of weights pays when many are alike, and costs when none are
            use_dictionary=["id", "term", "tf", *(["weight"] if few_values else [])],
            dictionary_pagesize_limit=DICTIONARY_BYTES,
            # every row group has nearly every term: bounds of terms help nobody, and take as long as all the rest
            write_statistics=["id", "tf", "weight"],
        )
        self._writer.add_key_value_metadata(with_footer(WEIGHTS_SCHEMA, block).metadata)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_table(pa.Table.from_batches([batch]), row_group_size=max(batch.num_rows, 1))

    def close(self) -> None:
        self._writer.close()


@contextmanager
def weights_sink(target: str, block: dict[str, Any], *, few_values: bool, force: bool) -> Iterator[TableSink]:
    """Open a target for `long_table` batches; see `table_sink`. Parquet has its own way: it is large, and read by columns."""
    if target == "-" or table_format(target) != "parquet":
        with table_sink(target, WEIGHTS_SCHEMA, block, force=force) as sink:
            yield sink
        return
    with atomic_file(Path(target), force=force) as part:
        sink = _WeightsSink(part, block, few_values=few_values)
        try:
            yield sink
        finally:
            sink.close()


def long_table(group: WeightedDocuments, terms: pa.Array) -> pa.RecordBatch:
    """Return one row for each stored entry: id, term, tf, weight; id and term as codes of the strings that occur.

    Args:
        terms: (V,) Arrow strings.
    """
    counts = group.counts
    rows = np.repeat(np.arange(counts.shape[0], dtype=np.int32), np.diff(counts.indptr))
    used = np.zeros(len(terms), bool)
    used[counts.indices] = True
    codes = np.cumsum(used, dtype=np.int32) - 1
    columns = [
        pa.DictionaryArray.from_arrays(pa.array(rows), group.ids),
        pa.DictionaryArray.from_arrays(pa.array(codes[counts.indices]), terms.filter(pa.array(used))),
        pa.array(counts.data, pa.int32()),
        pa.array(group.weights.data),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_CODED_SCHEMA)


def write_npz(path: Path, groups: Iterable[WeightedDocuments], n_terms: int) -> None:
    """Write the weights (D, V) as `scipy.sparse.load_npz` and `numpy.load` read them; memory: one group.

    The members are those of `scipy.sparse.save_npz(compressed=False)`; the time in the archive is fixed.
    """
    lengths = []
    with tempfile.TemporaryFile(dir=path.parent) as data, tempfile.TemporaryFile(dir=path.parent) as indices:
        for group in groups:
            data.write(np.ascontiguousarray(group.weights.data, "<f8").data)
            indices.write(np.ascontiguousarray(group.weights.indices, "<i4").data)
            lengths.append(np.diff(group.weights.indptr))
        ends = (
            np.concatenate(([0], np.cumsum(np.concatenate(lengths), dtype=np.int64))) if lengths else np.zeros(1, int)
        )
        entries = int(ends[-1])
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            _member(archive, "indices", "<i4", entries, indices)
            _member(archive, "indptr", "<i8" if entries > np.iinfo(np.int32).max else "<i4", len(ends), ends)
            _member(archive, "format", "|S3", None, np.array(b"csr"))
            _member(archive, "shape", "<i8", 2, np.array([len(ends) - 1, n_terms]))
            _member(archive, "data", "<f8", entries, data)


def _member(archive: zipfile.ZipFile, name: str, dtype: str, n: int | None, content: IO[bytes] | Any) -> None:
    """Write one array of an npz, from a file of its bytes or from memory."""
    entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    with archive.open(entry, "w", force_zip64=True) as out:
        shape = () if n is None else (n,)
        np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": shape})
        if hasattr(content, "seek"):
            content.seek(0)
            shutil.copyfileobj(content, out, 1 << 22)
        else:
            out.write(np.ascontiguousarray(content, dtype).tobytes())


def write_matrix_market(path: Path, groups: Iterable[WeightedDocuments], n_terms: int) -> None:
    """Write the weights (D, V) as `scipy.io.mmread` and R's `Matrix::readMM` read them; memory: one group.

    A line an entry, `row column weight`, both counted from 1; weights have the digits that read back exactly.
    """
    rows = entries = 0
    with tempfile.TemporaryFile(dir=path.parent) as lines:
        for group in groups:
            weights = group.weights
            D = weights.shape[0]
            of_row = np.repeat(np.arange(rows + 1, rows + D + 1), np.diff(weights.indptr))
            parts = (_digits(of_row), _digits(weights.indices + 1), _digits(weights.data))
            lines.write(
                _bytes_of(
                    pc.binary_join_element_wise(pc.binary_join_element_wise(*parts, _text(" ")), _text("\n"), _text(""))
                )
            )
            rows, entries = rows + D, entries + weights.nnz
        lines.seek(0)
        with path.open("wb") as out:
            out.write(f"%%MatrixMarket matrix coordinate real general\n{rows} {n_terms} {entries}\n".encode())
            shutil.copyfileobj(lines, out, 1 << 22)


def write_svmlight(path: Path, groups: Iterable[WeightedDocuments]) -> None:
    """Write a line a document: its class (0 where there are no classes), then `column:weight`, columns from 1, as LIBSVM's.

    Weights are printed with the digits that read back exactly.
    """
    with path.open("wb") as out:
        for group in groups:
            D = group.weights.shape[0]
            classes = np.zeros(D, np.int32) if group.classes is None else group.classes
            columns = _digits(group.weights.indices + 1)
            entries = pc.binary_join_element_wise(columns, _digits(group.weights.data), _text(":"))
            rows = pa.ListArray.from_arrays(pa.array(group.weights.indptr, pa.int32()), entries)
            lines = pc.binary_join_element_wise(_digits(classes), pc.binary_join(rows, _text(" ")), _text(" "))
            # a document without terms is its class alone
            text = pc.binary_join_element_wise(pc.utf8_rtrim(lines, " "), _text("\n"), _text(""))
            out.write(_bytes_of(text))


MATRIX_WRITERS: dict[str, Callable[[Path, Iterable[WeightedDocuments], int], None]] = {
    "npz": write_npz,
    "mtx": write_matrix_market,
    "svmlight": lambda path, groups, _: write_svmlight(path, groups),  # it does not say how many columns there are
}


def _digits(numbers: Any) -> pa.LargeStringArray:
    return pc.cast(pa.array(numbers), pa.large_string())


def _text(text: str) -> pa.LargeStringScalar:
    return pa.scalar(text, pa.large_string())


def _bytes_of(strings: pa.LargeStringArray) -> memoryview:
    """Return the bytes of an array without nulls, one string after the other."""
    _, offsets, data = strings.buffers()
    ends = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    return memoryview(data or b"")[int(ends[0]) : int(ends[-1])] if len(ends) else memoryview(b"")
