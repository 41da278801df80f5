"""The files of weighted documents and of the models that weight new ones.

Parts, in this order:
- Export of weighted documents: the long table, scipy's npz, Matrix Market, svmlight text.
- Output files of document weights: their formats, and the tables beside them.
- Models of `nlpkit tfidf`, read to weight new documents: the terms with their idf, the scheme, the LSA.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy import sparse

from nlpkit.errors import InputError, SchemaError, UsageError, unknown_value
from nlpkit.platform.runs.artifacts import DICTIONARY_BYTES, read_footer, read_table, with_footer
from nlpkit.platform.runs.atomic import MANIFEST, atomic_file, check_target
from nlpkit.platform.runs.runs import open_run
from nlpkit.platform.runs.tables import FORMATS, MATRICES, TableSink, check_table, table_format, table_sink
from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray
from nlpkit.weights.options import Scheme
from nlpkit.weights.tfidf import CorpusStats, Weighting

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


# ------------------------------------------------------------------------------------------------------------------------
# Output files of document weights: their formats, and the tables beside them.

EXAMPLES = {"parquet": "weights.parquet", "npz": "weights.npz", "mtx": "weights.mtx", "svmlight": "weights.svm"}


@dataclass(frozen=True, slots=True)
class WeightsTarget:
    """A file of weights. path: "-" for JSON lines on stdout. format: "table" (a row for each weight), npz, mtx or svmlight."""

    path: str
    format: str

    @property
    def is_matrix(self) -> bool:
        """Whether it holds a matrix, whose rows and columns are named in tables beside it."""
        return self.format != "table"

    def beside(self, name: str) -> Path | None:
        """Return the path of a table that goes with it, None beside stdout."""
        path = Path(self.path)
        return None if self.path == "-" else path.with_name(f"{path.stem}.{name}.parquet")

    def check(self, *, force: bool, terms: bool = False, features: Path | None = None) -> None:
        """Refuse outputs that cannot be written, before any work is done.

        Args:
            force: replace what is there.
            terms: whether a table of all terms goes beside it.
            features: another output.

        Raises:
            UsageError: two outputs have one name; and what `check_target` raises.
        """
        if self.is_matrix:
            check_target(Path(self.path), force=force)
        elif self.path != "-":
            check_table(self.path, force=force)
        names = ["vocab", *(["ids"] if self.is_matrix else []), *(["terms"] if terms else [])]
        for path in map(self.beside, names):
            if path is None:
                continue
            if path == features:
                raise UsageError(f"`features={path}` is the name of another output; give another", parameter="features")
            check_target(path, force=force)


def weights_target(output: str, to: str | None = None) -> WeightsTarget:
    """Return the output file of the weights and its format: that of `to`, else that of the suffix.

    Raises:
        UsageError: an unknown format, one that the name of the output contradicts, or one that stdout cannot take.
    """
    if to is not None and to not in EXAMPLES:
        raise unknown_value("to", to, EXAMPLES)
    suffix = Path(output).suffix.lower()
    named = {**FORMATS, **MATRICES}.get(suffix)
    if to is not None and named is not None and named != to and output != "-":
        stem = Path(output).stem
        raise UsageError(
            f"`to={to}` and `output={output}` contradict each other; use "
            f"`output={stem}{Path(EXAMPLES[to]).suffix}`, or leave `to` out",
            parameter="to",
        )
    if suffix and to is None and named is None and output != "-":
        *most, last = FORMATS
        known = f"{' '.join(most)} or {last} (a row for each weight), or as a matrix: {' '.join(MATRICES)}"
        raise UsageError(f"output {output}: '{suffix}' is not a format of nlpkit; weights are written as {known}")
    format = to or named
    if format not in MATRICES.values():
        return WeightsTarget(output, "table")
    if output == "-":
        raise UsageError(f"{format} cannot go to stdout; use `output={EXAMPLES[str(format)]}`")
    return WeightsTarget(output, str(format))


# ------------------------------------------------------------------------------------------------------------------------
# Models of `nlpkit tfidf`, read to weight new documents: the terms with their idf, the scheme, the LSA.

MAKE = "`tfidf(CORPUS, output=weights.npz)`, then `model=weights.npz`"


@dataclass(frozen=True, slots=True)
class WeightModel:
    """A fitted tf-idf.

    terms: (V, 4) term, cf, df, idf of all terms that count for weights; kept: (V',) the rows of those that are columns, in their
    order; vocab: their table; parameters: of the footer; components: (V', L) of an LSA or PCA, else None; center: (L,) of a PCA;
    space: the kind of such a run, lsa or pca.
    """

    path: Path
    terms: pa.Table
    kept: IntArray
    vocab: pa.Table
    weighting: Weighting
    n_docs: int
    parameters: Mapping[str, Any]
    components: FloatArray | None = None
    center: FloatArray | None = None
    space: str = ""

    @property
    def token_settings(self) -> dict[str, Any] | None:
        """Settings that the tokens were made with, None where unknown."""
        settings: dict[str, Any] | None = self.parameters.get("tokens")
        return settings

    @property
    def words(self) -> tuple[str, ...]:
        """(V,) all terms."""
        return tuple(self.terms.column("term").to_pylist())


def read_weight_model(path: Path, *, verify: bool = True) -> WeightModel:
    """Return the tf-idf of a run directory with LSA, or of a table of weights, through the vocabulary beside it.

    Args:
        path: the run, or the table.
        verify: refuse a run whose files were changed since it was written.

    Raises:
        InputError: nothing is there, or not what tfidf wrote; SchemaError: it is of another command.
    """
    components = center = None
    space = ""
    if path.is_dir():
        if not (path / MANIFEST).is_file():
            raise InputError(f"{path} is not a run of tfidf `lsa` or `pca`; name the table of weights in it ({MAKE})")
        run = open_run(path, ["lsa", "pca"], verify=verify)
        space = str(run.manifest["kind"])
        vocab, whole = run.file("vocab.parquet"), run.path / "model" / "terms.parquet"
        if whole.is_file():
            run.file("model/terms.parquet")
        vectors = run.table("term_vectors", ["vector"])
        with run.intact():
            components = np.stack(vectors.column("vector").to_numpy()).astype(np.float64)
            if components.ndim != 2 or not np.isfinite(components).all():
                raise ValueError("a term vector that is not a vector of numbers")
            if space == "pca":
                center = run.table("components", ["center"]).column("center").to_numpy().astype(np.float64)
                if center.shape != components.shape[1:] or not np.isfinite(center).all():
                    raise ValueError("a center that is none of the components")
    else:
        if not path.exists():
            raise InputError(f"{path} does not exist; make one with: {MAKE}")
        stem = path.name.removesuffix(".vocab.parquet")
        stem = path.stem if stem == path.name else stem
        vocab, whole = (path.with_name(f"{stem}.{what}.parquet") for what in ("vocab", "terms"))
        if not vocab.is_file():
            raise InputError(f"{path}: its vocabulary {vocab} is not there; make both again with: {MAKE}")
    block = read_footer(vocab)
    if block is None or block.get("command") != "tfidf":
        writer = "no command of nlpkit" if block is None else f"nlpkit {block.get('command')}"
        raise SchemaError(f"{vocab} was written by {writer}, not by tfidf; make one with: {MAKE}")
    columns = read_table(vocab, ["vocab"], ["term", "cf", "df", "idf"])
    if components is not None and len(components) != columns.num_rows:
        raise InputError(f"{path}: {len(components)} term vectors for {columns.num_rows} terms; make the run again")
    model = _model(path, block["parameters"], columns, whole, components)
    return replace(model, center=center, space=space)


def _model(
    path: Path, parameters: Mapping[str, Any], columns: pa.Table, whole: Path, components: FloatArray | None
) -> WeightModel:
    try:
        scheme, n_docs = Scheme(**parameters["scheme"]), int(parameters["documents"])
        mean_length, pivot = float(parameters["mean_length"]), float(parameters["pivot"] or 0.0)
        selected = int(parameters.get("terms_before", columns.num_rows)) > columns.num_rows
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: its footer does not record its weighting ({error}); make it again") from None
    terms, kept = columns, np.arange(columns.num_rows, dtype=np.int32)
    if selected:
        if not whole.is_file():
            raise InputError(f"{path}: the terms that `select` left out ({whole}) are missing; make it again")
        terms = read_table(whole, ["terms", "model/terms"], ["term", "cf", "df", "idf"])
        place = {term: i for i, term in enumerate(terms.column("term").to_pylist())}
        kept = np.array([place.get(term, -1) for term in columns.column("term").to_pylist()], np.int32)
        if (kept < 0).any():
            raise InputError(f"{whole} does not have the terms of {path}; make both again")
    idf = terms.column("idf").to_numpy()
    if not np.isfinite(idf).all():
        raise InputError(f"{path}: an idf is not a finite number; make it again")
    sizes = None
    if scheme.norm == "pivoted-bytes":
        counts = terms.column("cf").to_numpy()
        sizes = CorpusStats(n_docs, terms.column("term").to_pylist(), counts, counts).term_bytes()
    weighting = Weighting(scheme, idf, mean_length, sizes, pivot)
    return WeightModel(path, terms, kept, columns, weighting, n_docs, parameters, components)
