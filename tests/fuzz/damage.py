"""What is done to the files of a run that somebody prepared: tables, arrays and settings of other lengths, types and values."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nlpkit.platform.runs.tensor_files import read_safetensors, write_safetensors

LARGE = 2**30


def damages(file: Path) -> Iterator[tuple[str, Any]]:
    """Return each damage of a file: what was done, and the content after it."""
    if file.suffix == ".parquet":
        yield from _of_table(pq.ParquetFile(file).read())
    elif file.suffix == ".json":
        yield from _of_settings(json.loads(file.read_text(encoding="utf-8")))
    elif file.suffix == ".safetensors":
        yield from _of_tensors(read_safetensors(file))
    else:
        content = file.read_bytes()
        yield from (("half", content[: len(content) // 2]), ("double", 2 * content), ("empty", b""))


def sealed(run: Path, target: Path, name: str, content: Any) -> Path:
    """Copy a run with another content of one file, whose sha256 its manifest has."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(run, target)
    file = target / name
    if isinstance(content, pa.Table):
        pq.write_table(content.replace_schema_metadata(pq.read_schema(run / name).metadata), file)
    elif isinstance(content, bytes):
        file.write_bytes(content)
    elif file.suffix == ".safetensors":
        write_safetensors(file, content)
    else:
        file.write_text(json.dumps(content), encoding="utf-8")
    manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
    manifest["outputs"][name] = hashlib.sha256(file.read_bytes()).hexdigest()
    (target / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return target


def _of_table(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    n = table.num_rows
    yield "double", pa.concat_tables([table, table])
    yield "half", table.slice(0, n // 2)
    yield "short", table.slice(0, max(n - 1, 0))
    yield "empty", table.slice(0, 0)
    for at, name in enumerate(table.column_names):
        for what, column in _of_column(table.column(name).combine_chunks()):
            yield f"{name} {what}", table.set_column(at, name, column)
        yield f"{name} missing", table.drop_columns([name])


def _of_column(column: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    n, kind = len(column), column.type
    if pa.types.is_integer(kind):
        for index in (-1, n, LARGE):
            if n and index < 2 ** (kind.bit_width - 1) and (index >= 0 or pa.types.is_signed_integer(kind)):
                yield f"{index}", pa.array([*column.to_pylist()[:-1], index], kind)
        yield "float", column.cast(pa.float64())
    elif pa.types.is_floating(kind) and n:
        for value in (-1.0, float("nan"), 1e30):
            yield f"{value}", pa.array([*column.to_pylist()[:-1], value], kind)
    elif pa.types.is_fixed_size_list(kind) and n:
        matrix = column.flatten().to_numpy(zero_copy_only=False).reshape(n, kind.list_size)
        for what, other in (
            ("wide", np.hstack([matrix, matrix])),
            ("narrow", matrix[:, :-1]),
            ("nan", matrix * np.nan),
        ):
            if other.shape[1] and (what != "nan" or pa.types.is_floating(kind.value_type)):
                yield what, pa.FixedSizeListArray.from_arrays(pa.array(other.ravel(), kind.value_type), other.shape[1])
    elif pa.types.is_list(kind):
        yield "no items", pa.array([[]] * n, kind)
    yield ("numbers", pa.array(range(n))) if pa.types.is_string(kind) else ("text", pa.array(["x"] * n))
    yield "null", pa.nulls(n, kind)


def _of_settings(settings: Any) -> Iterator[tuple[str, Any]]:
    yield "empty", {}
    for path in _places(settings, ()):
        value = _at(settings, path)
        others = [None, -1, LARGE, 1.5, "x", [], {}, *([value[:-1], value + value] if isinstance(value, list) else [])]
        for other in others:
            changed = copy.deepcopy(settings)
            _at(changed, path[:-1])[path[-1]] = other
            yield f"{'.'.join(path)} = {str(other)[:40]!r}", changed
        changed = copy.deepcopy(settings)
        del _at(changed, path[:-1])[path[-1]]
        yield f"{'.'.join(path)} missing", changed


def _places(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, inner in value.items() if isinstance(value, dict) and len(path) < 2 else ():
        yield (*path, key)
        yield from _places(inner, (*path, key))


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _of_tensors(tensors: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, array in tensors.items():
        for what, other in {
            "double": np.concatenate([array, array]) if array.ndim else np.stack([array, array]),
            "half": array[: len(array) // 2] if array.ndim else array[None],
            "empty": array[:0] if array.ndim else np.zeros(0, array.dtype),
            "flat": array.ravel()[None],
            "numbers": np.full(array.shape, LARGE, np.int64),
            "nan": np.full(array.shape, np.nan, np.float32),
        }.items():
            yield f"{name} {what}", {**tensors, name: np.ascontiguousarray(other)}
        yield f"{name} missing", {other: value for other, value in tensors.items() if other != name}
