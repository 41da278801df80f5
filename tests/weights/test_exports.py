"""Weighted documents as a long table, npz and svmlight: read back by those they are for."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.platform.runs.artifacts import read_footer
from nlpkit.weights.files import (
    WeightedDocuments,
    long_table,
    regrouped,
    row_slice,
    stacked,
    weights_sink,
    write_npz,
    write_svmlight,
)
from tests.strategies import counts_dv, repeatable


def documents(counts: Any, classes: Any = None, first: int = 0) -> WeightedDocuments:
    matrix = sparse.csr_array(np.asarray(counts, np.int32))
    ids = pa.array([f"d{first + i}" for i in range(matrix.shape[0])], pa.string())
    weights = sparse.csr_array((matrix.data / 3, matrix.indices, matrix.indptr), shape=matrix.shape)
    return WeightedDocuments(ids, matrix, weights, None if classes is None else np.array(classes, np.int32))


COUNTS = [[0, 2, 1], [0, 0, 0], [5, 0, 1]]
TERMS = pa.array(["äpfel", "bär", "c d"])


def test_long_table_by_hand() -> None:
    table = long_table(documents(COUNTS), TERMS)
    assert table.to_pylist() == [
        {"id": "d0", "term": "bär", "tf": 2, "weight": 2 / 3},
        {"id": "d0", "term": "c d", "tf": 1, "weight": 1 / 3},
        {"id": "d2", "term": "äpfel", "tf": 5, "weight": 5 / 3},
        {"id": "d2", "term": "c d", "tf": 1, "weight": 1 / 3},
    ]
    # the strings of terms that do not occur stay out
    assert len(long_table(documents([[0, 1, 0]]), TERMS).column("term").dictionary) == 1


@pytest.mark.parametrize("few_values", [True, False])
def test_every_reader_sees_plain_columns(few_values: bool, tmp_path: Path) -> None:
    path = tmp_path / "w.parquet"
    with weights_sink(str(path), {"kind": "weights"}, few_values=few_values, force=False) as sink:
        for _ in range(2):
            sink.write(long_table(documents(COUNTS), TERMS))
    expected = long_table(documents(COUNTS), TERMS).to_pylist() * 2
    file = pq.ParquetFile(path)
    assert file.schema_arrow.types == [pa.string(), pa.string(), pa.int32(), pa.float64()]
    assert (file.num_row_groups, file.read().to_pylist()) == (2, expected)
    assert pl.read_parquet(path).to_dicts() == expected
    assert pl.read_parquet(path).schema["term"] == pl.String
    assert duckdb.sql(f"select term, sum(tf) from '{path}' group by 1 order by 2, 1").fetchall() == [
        ("bär", 4),
        ("c d", 4),
        ("äpfel", 10),
    ]
    assert read_footer(path) == {"kind": "weights"}
    encodings = [set(file.metadata.row_group(0).column(i).encodings) for i in range(4)]
    assert [("RLE_DICTIONARY" in e) for e in encodings] == [True, True, True, few_values]


def test_a_table_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "w.parquet"
    with weights_sink(str(path), {"kind": "weights"}, few_values=True, force=False) as sink:
        sink.write(long_table(documents([[0, 0]]), TERMS))
    assert pq.read_table(path).num_rows == 0
    with weights_sink(str(path), {"kind": "weights"}, few_values=True, force=True):
        pass
    assert pq.read_table(path).schema.names == ["id", "term", "tf", "weight"]


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with weights_sink(str(tmp_path / "w.parquet"), {}, few_values=True, force=False) as sink:
            sink.write(long_table(documents(COUNTS), TERMS))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_lines_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    with weights_sink("-", {}, few_values=True, force=False) as sink:
        sink.write(long_table(documents(COUNTS), TERMS))
    assert (
        capsys.readouterr().out.splitlines()[0] == '{"id": "d0", "term": "bär", "tf": 2, "weight": 0.6666666666666666}'
    )


# ---------------------------------------------------------------- groups


@repeatable
@given(counts_dv(max_docs=14), st.integers(1, 12), st.data())
def test_groups_do_not_depend_on_batches(counts: Any, entries: int, data: st.DataObject) -> None:
    D = len(counts)
    matrix = sparse.csr_array(counts)
    rows = pa.RecordBatch.from_pydict({"id": [f"d{i}" for i in range(D)], "kind": ["x"] * D})

    def groups(cuts: list[int]) -> list[tuple[list[Any], bytes, bytes]]:
        batches = [(rows.slice(a, b - a), row_slice(matrix, a, b)) for a, b in itertools.pairwise([0, *cuts, D])]
        return [
            (batch.to_pylist(), m.toarray().tobytes(), m.indptr.astype(np.int64).tobytes())
            for batch, m in regrouped(batches, entries)
        ]

    cuts = sorted(data.draw(st.lists(st.integers(0, D), max_size=4)))
    found = groups(cuts)
    assert found == groups([])
    assert [row for batch, _, _ in found for row in batch] == rows.to_pylist()
    sizes = [int(np.frombuffer(ends, np.int64)[-1]) for _, _, ends in found]
    assert all(size >= entries for size in sizes[:-1])
    lengths = np.diff(matrix.indptr)
    for batch, size in zip([b for b, _, _ in found], sizes, strict=True):
        last = int(batch[-1]["id"][1:])
        assert size - lengths[last] < entries  # no document too many


def test_groups_join_dictionaries_that_differ() -> None:
    batches = [
        (
            pa.RecordBatch.from_pydict({"id": pa.array([name]), "label": pa.array([name * 2]).dictionary_encode()}),
            sparse.csr_array(np.array([[1]])),
        )
        for name in "ab"
    ]
    ((rows, matrix),) = regrouped(batches, 10)
    assert rows.to_pylist() == [{"id": "a", "label": "aa"}, {"id": "b", "label": "bb"}]
    assert matrix.toarray().tolist() == [[1], [1]]


@repeatable
@given(counts_dv(), st.data())
def test_stacked_keeps_narrow_indices(counts: Any, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(counts)))
    matrix = sparse.csr_array(counts)
    whole = stacked([row_slice(matrix, 0, at), row_slice(matrix, at, len(counts))])
    np.testing.assert_array_equal(whole.toarray(), counts)
    assert whole.indices.dtype == whole.indptr.dtype == np.int32


# ---------------------------------------------------------------- npz


def test_npz_is_scipys(tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    write_npz(path, [documents(COUNTS), documents([[0, 0, 7]])], 3)
    found = sparse.load_npz(path)
    assert found.toarray().tolist() == [[0, 2 / 3, 1 / 3], [0, 0, 0], [5 / 3, 0, 1 / 3], [0, 0, 7 / 3]]
    assert found.format == "csr"
    ours = np.load(path)
    buffer = io.BytesIO()
    sparse.save_npz(buffer, found, compressed=False)
    theirs = np.load(io.BytesIO(buffer.getvalue()))
    assert set(ours.files) == set(theirs.files)
    for name in ours.files:
        np.testing.assert_array_equal(ours[name], theirs[name])
        assert ours[name].dtype == theirs[name].dtype, name
    first = path.read_bytes()
    write_npz(path, [documents([*COUNTS, [0, 0, 7]])], 3)
    assert path.read_bytes() == first  # no clock, no groups


def test_npz_without_documents_or_terms(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", [], 5)
    assert sparse.load_npz(tmp_path / "a.npz").shape == (0, 5)
    write_npz(tmp_path / "b.npz", [documents(np.zeros((2, 0)))], 0)
    assert sparse.load_npz(tmp_path / "b.npz").shape == (2, 0)


# ---------------------------------------------------------------- svmlight


def test_svmlight_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "w.svmlight"
    write_svmlight(path, [documents(COUNTS, [1, 0, -1]), documents([[3, 0, 0]])])
    assert path.read_text() == f"1 2:{2 / 3} 3:{1 / 3}\n0\n-1 1:{5 / 3} 3:{1 / 3}\n0 1:1\n"


@repeatable
@given(counts_dv(), st.data())
def test_svmlight_reads_back_exactly(counts: Any, data: st.DataObject) -> None:
    import tempfile

    from sklearn.datasets import load_svmlight_file

    values = data.draw(st.lists(st.floats(-1e300, 1e300).filter(bool), min_size=counts.size, max_size=counts.size))
    classes = [data.draw(st.integers(0, 3)) for _ in counts]
    given_ = documents(counts, classes)
    given_.weights.data[:] = values[: given_.weights.nnz]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "w.svmlight"
        write_svmlight(path, [given_])
        X, y = load_svmlight_file(str(path), n_features=counts.shape[1], zero_based=False)
    assert y.tolist() == classes
    np.testing.assert_array_equal(X.toarray(), given_.weights.toarray())
