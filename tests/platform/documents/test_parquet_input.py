"""Document tables in Parquet as inputs: columns as stored, ids and texts as strings, several files, broken files."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nlpkit.errors import ColumnError, EncodingError, InputError, SchemaError
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers.value_types import TOKENS
from tests.refusals import refuses


def tokens(lists: list[list[str] | None]) -> pa.Array:
    return pa.array(lists, pa.list_(pa.string())).cast(TOKENS)


def written(path: Path, columns: dict[str, Any], *, metadata: dict[bytes, bytes] | None = None, **how: Any) -> str:
    table = pa.table(columns)
    pq.write_table(table.replace_schema_metadata(metadata), path, **how)
    return str(path)


def read(*paths: str, **options: Any) -> pa.Table:
    table = open_documents(paths, ReadOptions(**options)).read_all()
    table.validate(full=True)
    return table


def test_columns_are_kept_as_stored(tmp_path: Path) -> None:
    columns = {
        "tokens": tokens([["a", "b"], [], None, ["a"], ["c"]]),
        "topic": pa.array([0, -1, 2, 1, 0], pa.int32()),
        "text": ["one", "", "three", "four", "five"],
        "embedding": pa.array([[1, 2]] * 5, pa.list_(pa.float32(), 2)),
        "id": ["a", "b", "c", "d", "e"],
        "when": pa.array([0, 1, 2, 3, 4], pa.timestamp("ms", "UTC")),
        "kind": pa.array(["x", "y", "x", "y", "x"]).dictionary_encode(),
    }
    path = written(tmp_path / "x.parquet", columns, row_group_size=2)
    for batch_rows in (1, 2, 10):
        table = read(path, batch_rows=batch_rows)
        assert table.column_names == ["id", "text", "tokens", "topic", "embedding", "when", "kind"]
        for name in ("tokens", "topic", "embedding", "when", "kind"):
            assert table.schema.field(name).type == columns[name].type
        assert table.to_pylist() == pa.table(columns).select(table.column_names).to_pylist()


def test_footer_block_inputs_and_limit(tmp_path: Path) -> None:
    block = {"kind": "documents", "schema_version": 1}
    path = written(
        tmp_path / "x.parquet", {"text": ["a", "b", None, "c"]}, metadata={b"nlpkit": json.dumps(block).encode()}
    )
    stream = open_documents([path], ReadOptions(limit=3))
    assert stream.metadata == block
    assert stream.read_all().to_pylist() == [{"id": f"x:{n}", "text": t} for n, t in ((1, "a"), (2, "b"), (4, "c"))]
    assert [(row.id, row.reason) for row in stream.dropped] == [("x:3", "text is null")]
    (info,) = stream.inputs
    assert (info.rows, info.encoding) == (4, None)
    assert info.sha256 == hashlib.sha256(Path(path).read_bytes()).hexdigest()
    stream = open_documents([path], ReadOptions(limit=2))
    assert (stream.read_all().num_rows, stream.dropped, stream.inputs[0].rows) == (2, [], 2)
    other = written(tmp_path / "y.parquet", {"text": ["z"]})
    assert open_documents([other]).metadata is None
    assert open_documents([path, other]).metadata is None
    with pytest.raises(SchemaError):
        open_documents([written(tmp_path / "z.parquet", {"text": ["z"]}, metadata={b"nlpkit": b"{"})])


@pytest.mark.parametrize(
    ("ids", "made"),
    [
        (pa.array([17, None, 3]), ["17", "x:2", "3"]),
        (pa.array(["a", "", None]), ["a", "x:2", "x:3"]),
        (pa.array(["a", "b", "c"]).dictionary_encode(), ["a", "b", "c"]),
        (pa.array(["a", "b", "c"], pa.large_string()), ["a", "b", "c"]),
        (pa.array([1.5, 2.0, None]), ["1.5", "2.0", "x:3"]),
    ],
)
def test_ids_become_strings(tmp_path: Path, ids: pa.Array, made: list[str]) -> None:
    assert read(written(tmp_path / "x.parquet", {"id": ids, "text": ["t"] * 3}))["id"].to_pylist() == made


@pytest.mark.parametrize(
    ("texts", "read_as", "reason"),
    [
        (pa.array(["a", None], pa.large_string()), ["a"], "text is null"),
        (pa.array(["a", None]).dictionary_encode(), ["a"], "text is null"),
        (pa.array([1, None]), ["1"], "text is null"),
        (pa.array([0.5, float("nan")]), ["0.5"], "text is null"),
        (pa.array([b"a", None]), ["a"], "text is null"),
        (pa.array([["a"], None]), [], "text is a list"),
        (pa.array([{"a": 1}, None]), [], "text is an object"),
        (pa.nulls(2), [], "text is null"),
    ],
)
def test_texts_become_strings_or_are_listed(tmp_path: Path, texts: pa.Array, read_as: list[str], reason: str) -> None:
    stream = open_documents([written(tmp_path / "x.parquet", {"text": texts})])
    assert stream.read_all()["text"].to_pylist() == read_as
    assert [row.reason for row in stream.dropped] == [reason] * (2 - len(read_as))


def test_roles_columns_and_types(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", {"body": ["a"], "key": ["7"], "n": ["5"], "m": [[1]]})
    table = read(path, text_col="body", label_col="key", types=(("n", "int"), ("m", "string")))
    assert table.to_pylist() == [{"id": "x:1", "text": "a", "label": "7", "key": "7", "n": 5, "m": "[1]"}]
    assert read(path, text_col="body", columns=("n",)).column_names == ["id", "text", "n"]
    with refuses("text_col", ColumnError):
        read(written(tmp_path / "y.parquet", {"key": ["7"], "m": [[1]]}))
    with pytest.raises(InputError, match=r"x\.parquet: row 1: column 'body_n' should be int"):
        read(written(tmp_path / "x.parquet", {"text": ["a"], "body_n": ["?"]}), types=(("body_n", "int"),))


def test_several_files_are_unified(tmp_path: Path) -> None:
    one = written(tmp_path / "a.parquet", {"text": ["a"], "n": pa.array([1], pa.int32()), "tokens": tokens([["x"]])})
    two = written(
        tmp_path / "b.parquet",
        {"n": [2.5], "text": pa.array(["b"], pa.large_string()), "tokens": [["y"]], "kind": pa.nulls(1)},
    )
    table = read(one, two)
    assert table.schema.field("n").type == pa.float64()
    assert table.schema.field("tokens").type == TOKENS
    assert table.to_pylist() == [
        {"id": "a:1", "text": "a", "n": 1.0, "tokens": ["x"], "kind": None},
        {"id": "b:1", "text": "b", "n": 2.5, "tokens": ["y"], "kind": None},
    ]
    three = written(tmp_path / "c.parquet", {"text": ["c"], "n": ["many"]})
    with pytest.raises(InputError):
        read(one, three)
    assert read(one, three, types=(("n", "string"),))["n"].to_pylist() == ["1", "many"]


def test_parquet_beside_jsonl(tmp_path: Path) -> None:
    one = written(
        tmp_path / "a.parquet", {"id": [1], "text": ["a"], "n": pa.array([1], pa.int64()), "tokens": tokens([["x"]])}
    )
    (tmp_path / "b.jsonl").write_text('{"id": 2, "text": "b", "n": 2, "tokens": ["y"], "k": true}\n', encoding="utf-8")
    table = read(one, str(tmp_path / "b.jsonl"))
    assert table.schema.field("tokens").type == TOKENS
    assert table.to_pylist() == [
        {"id": "1", "text": "a", "n": 1, "tokens": ["x"], "k": None},
        {"id": "2", "text": "b", "n": 2, "tokens": ["y"], "k": True},
    ]


def test_duplicate_ids_over_row_groups_and_files(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", {"id": ["a", "b", "a"], "text": ["t"] * 3}, row_group_size=1)
    with pytest.raises(InputError, match=r"the id 'a' occurs twice, in .*x\.parquet row 1 and in .*x\.parquet row 3"):
        read(path)


def test_piped_and_packed_parquet(tmp_path: Path) -> None:
    path = Path(written(tmp_path / "x.parquet", {"text": ["a"], "tokens": tokens([["x"]])}))
    content = path.read_bytes()
    stream = open_documents(["-"], stdin=io.BytesIO(content))
    assert stream.read_all().to_pylist() == [{"id": "stdin:1", "text": "a", "tokens": ["x"]}]
    assert stream.inputs[0].sha256 == hashlib.sha256(content).hexdigest()
    packed = tmp_path / "y.parquet.gz"
    packed.write_bytes(gzip.compress(content))
    assert read(str(packed))["id"].to_pylist() == ["y:1"]


def test_broken_files_are_named(tmp_path: Path) -> None:
    path = Path(written(tmp_path / "x.parquet", {"text": ["a" * 100] * 100}, compression=None, use_dictionary=False))
    content = path.read_bytes()
    for broken in (b"", b"PAR1", content[:-20], content[: len(content) // 2], b"x" * 1000):
        path.write_bytes(broken)
        with pytest.raises(InputError):
            open_documents([str(path)])
    path.write_bytes(content[:4] + b"\xff" * 40 + content[44:])
    with pytest.raises(InputError):
        read(str(path))
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    pq.write_table(twice, path)
    with pytest.raises(InputError):
        open_documents([str(path)])
    with pytest.raises(EncodingError):
        read(written(path, {"text": pa.array([b"\xff"])}))


def test_no_rows(tmp_path: Path) -> None:
    stream = open_documents(
        [written(tmp_path / "x.parquet", {"text": pa.array([], pa.string()), "n": pa.array([], pa.int8())})]
    )
    assert (stream.schema.names, list(stream)) == (["id", "text", "n"], [])


def not_utf8(kind: pa.DataType) -> pa.Array:
    """Text as other writers leave it: Arrow writes and reads the bytes without a look at them."""
    values = [b"one", b"caf\xe9 two", b"cut off \xf0", b"\xf7\xbf\xbf\xbf", b"\xed\xa0\x80"]
    ends = np.cumsum([0, *map(len, values)]).astype(np.int32 if kind == pa.string() else np.int64)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("name", ["id", "text", "label", "tokens"])
def test_text_that_is_not_utf8_is_refused_where_it_is_read(name: str, kind: pa.DataType, tmp_path: Path) -> None:
    """The scanner trusts its bytes: of the last character of this text it would read three more."""
    bad = not_utf8(kind.value_type).dictionary_encode() if pa.types.is_dictionary(kind) else not_utf8(kind)
    columns: dict[str, Any] = {"id": [*"abcde"], "text": ["x"] * 5, "label": ["y"] * 5}
    columns[name] = pa.ListArray.from_arrays(pa.array(range(6), pa.int32()), bad) if name == "tokens" else bad
    path = written(tmp_path / "x.parquet", columns)
    with pytest.raises(EncodingError):
        read(path)
