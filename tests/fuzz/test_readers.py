"""Any bytes as a corpus of any format: rows with ids of their own and text that is UTF-8, or an error that nlpkit means.

The bytes are drawn by number: those of a whole file of the format with some of them changed, cut off, doubled or replaced, or
no such file at all. A failure names the numbers that draw them again: `file_of(format, packed, number)`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import settings

from nlpkit.errors import NlpkitError
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.text.tokenize import cut_tokens, scan_tokens
from tests.fuzz.drawn import PIECES, changed

FEW = max(30, settings.default.max_examples)  # a tenth is not broken beyond use
EXAMPLES = {"": 4 * FEW, ".gz": FEW, ".zst": FEW, ".bz2": FEW}  # of each format
ROWS = [
    {"id": "a", "text": "One text, U.S.A. and <b>tags</b>.", "label": "x", "n": 1, "date": "2020-01-02"},
    {"id": "b", "text": "y", "label": "é", "n": None, "date": None},
    {"id": "c", "text": "", "label": "", "n": -2, "date": "x"},
    {"id": "d", "text": '日本語\n"quoted", a\tb & http://a.b/c me@x.org', "label": None, "n": 10**9, "date": "2020"},
    {"id": "e", "text": None, "label": "x", "n": 0.5, "date": "1.2.2020"},
]
TEXTS = [str(row["text"]) for row in ROWS]


def _parquet() -> bytes:
    out = io.BytesIO()
    columns = {name: [row[name] for row in ROWS] for name in ("id", "text", "label")}
    lists = pa.array([["a"], [], None, ["b", "a"], ["c"]], pa.list_(pa.string()))
    pq.write_table(pa.table({**columns, "tokens": lists, "n": pa.array([1, None, 3, 4, 5], pa.int64())}), out)
    return out.getvalue()


def _table(delimiter: str) -> bytes:
    cell = lambda v: '"' + str("" if v is None else v).replace('"', '""') + '"'  # noqa: E731
    return "".join(
        delimiter.join(map(cell, row)) + "\n" for row in [list(ROWS[0]), *(r.values() for r in ROWS)]
    ).encode()


def _records(close: bool) -> bytes:
    plain = lambda t: str(t).replace("&", "&amp;").replace("<", "&lt;")  # noqa: E731
    one = lambda r: "<doc id='{}'><text>{}</text><label>{}</label></doc>".format(r["id"], plain(r["text"]), r["label"])  # noqa: E731
    body = "\n".join(map(one, ROWS))
    return (f"<?xml version='1.0'?><docs>{body}</docs>" if close else body.replace("doc", "DOC")).encode()


WHOLE: dict[str, bytes] = {
    "jsonl": "".join(json.dumps(row, ensure_ascii=number % 2 == 0) + "\n" for number, row in enumerate(ROWS)).encode(),
    "json": json.dumps(ROWS, ensure_ascii=False, indent=1).encode(),
    "csv": _table(","),
    "tsv": _table("\t"),
    "txt": "\n".join(TEXTS).encode(),
    "xml": _records(True),
    "sgml": _records(False),
    "parquet": _parquet(),
}
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".zst": lambda data: zstandard.compress(data),
    ".bz2": bz2.compress,
}


def file_of(format: str, packed: str, number: int) -> bytes:
    """Return the bytes of one example."""
    rng = np.random.default_rng([number, *format.encode(), *packed.encode()])
    data = WHOLE[format]
    kind = number % 6
    if kind == 0:
        data = rng.integers(0, 256, int(rng.integers(0, 300)), np.uint8).tobytes()
    elif kind == 1:
        data = b"".join(PIECES[i] for i in rng.integers(0, len(PIECES), int(rng.integers(0, 40))))
    elif kind == 2:  # another encoding
        name = ["utf-16", "utf-32", "latin-1", "utf-8-sig", "cp1252", "shift_jis"][int(rng.integers(6))]
        data = data.decode("utf-8", "replace").encode(name, "replace")
    else:
        data = changed(data, rng, number // 6 % (3 if format == "parquet" else 9))  # or not at all
    stored = PACKED[packed](data)
    return changed(stored, rng, 1) if packed and number % 4 == 3 else stored


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("format", WHOLE)
def test_any_bytes(format: str, packed: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{format}{packed}"
    options = ReadOptions(batch_rows=3, xml_record={"xml": "doc", "sgml": "DOC"}.get(format))
    read = 0
    for number in range(EXAMPLES[packed]):
        where = f"file_of({format!r}, {packed!r}, {number})"
        path.write_bytes(file_of(format, packed, number))
        try:
            with open_documents([str(path)], options) as stream:
                table = stream.read_all()
        except NlpkitError as meant:
            if len(str(meant).splitlines()) != 1:
                raise AssertionError(f"{where}: {str(meant)!r} is no line") from meant
            continue
        except Exception as error:
            raise AssertionError(f"{where}: {error!r}") from error
        read += 1
        table.validate(full=True)
        ids = table.column("id").to_pylist()
        assert len(set(ids)) == len(ids), where
        assert all(ids), where
        for texts in table.column("text").chunks:
            found, wanted = scan_tokens(texts), cut_tokens(texts)
            assert found.types == wanted.types, where
            assert found.codes.tolist() == wanted.codes.tolist(), where
            assert found.offsets.tolist() == wanted.offsets.tolist(), where
    assert read > EXAMPLES[packed] // 10  # most of the others are broken beyond use
