"""Identification of nlpkit's files other than Parquet tables and corpora: matrices, scores, keys, checkpoints, folders of models."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, NlpkitError
from nlpkit.platform.runs.artifacts import file_size
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.footers import FOOTER_KEY
from nlpkit.platform.runs.tables import MATRICES

_CHUNK, _HEAD = 1 << 22, 1 << 12
COMPARISON = "comparison.json"  # of a directory of `compare_models`
_OF_RUNS = ("metrics.json", "config.json")
MALLET_HEADER = "#doc source pos typeindex type topic"  # of a state of MALLET
TASK_KEY = "nlpkit task key"  # the format of the key of a task for people
EXPORT_HEAD = '{\n "run":'  # as `write_json_export` begins


def is_comparison(path: Any) -> bool:
    """Whether it is a directory of `compare_models`."""
    return isinstance(path, str | Path) and (Path(path) / COMPARISON).is_file()


def nlpkit_file_facts(path: Path) -> dict[str, Any] | None:
    """Return what a file or folder that nlpkit writes is, None when it may be a corpus or anything else.

    Raises:
        InputError: the content does not match the name or the first bytes.
    """
    suffix = path.suffix.lower()
    look = _folder if path.is_dir() else _BY_SUFFIX.get(suffix) or _BY_BEGINNING.get(suffix)
    if look is None:
        return None
    try:
        facts = look(path)
    except NlpkitError:
        raise
    except (
        OSError,
        EOFError,
        ValueError,
        LookupError,
        TypeError,
        zipfile.BadZipFile,
        ET.ParseError,
        pa.ArrowException,
    ) as error:
        if suffix in _BY_BEGINNING:
            return None  # the reader of corpora reports what is wrong with it
        error_lines = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"{path} is damaged, or its content does not fit its name: {error_lines[0]}") from None
    return None if facts is None else {"path": str(path), **facts, "bytes": file_size(path)}


# ---------------------------------------------------------------- matrices and tables


def _beside(path: Path) -> dict[str, Any]:
    sides = {what: path.with_name(f"{path.stem}.{what}.parquet") for what in ("vocab", "ids")}
    return {"beside": {what: str(side) for what, side in sides.items() if side.exists()}}


def _npz(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
    with np.load(path, allow_pickle=False) as arrays:
        if "facts" in names:
            facts = json.loads(arrays["facts"].tobytes())
            return {"kind": "checkpoint (lda-gibbs)", "sweep": facts["sweep"], "identity": facts["identity"]}
        if {"data", "indices", "indptr", "shape"} <= names:
            rows, columns = arrays["shape"].tolist()
            matrix = {"rows": rows, "columns": columns, "entries": int(arrays["indptr"][-1])}
            return {"kind": "matrix (scipy.sparse npz)", **matrix, **_beside(path)}
        return {"kind": "arrays (NumPy npz)", "arrays": {name: str(arrays[name].shape) for name in sorted(names)}}


def _mtx(path: Path) -> dict[str, Any]:
    with path.open(encoding="ascii", errors="replace") as file:
        head, line = file.readline(), file.readline()
        while line.startswith("%"):
            line = file.readline()
    if not head.startswith("%%MatrixMarket matrix coordinate"):
        raise ValueError("it does not begin with %%MatrixMarket matrix coordinate")
    rows, columns, entries = map(int, line.split())
    return {"kind": "matrix (Matrix Market)", "rows": rows, "columns": columns, "entries": entries, **_beside(path)}


def _svmlight(path: Path) -> dict[str, Any]:
    rows = entries = columns = 0
    with path.open(encoding="ascii") as file:
        for line in file:
            label, *pairs = line.partition("#")[0].split() or [""]
            float(label)
            places = [int(pair.partition(":")[0]) for pair in pairs if not pair.startswith("qid:")]
            rows, entries, columns = rows + 1, entries + len(places), max([columns, *places])
    return {"kind": "matrix (svmlight)", "rows": rows, "columns": columns, "entries": entries, **_beside(path)}


def _arrow(path: Path) -> dict[str, Any]:
    with pa.ipc.open_file(path) as file:
        rows = sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))
        schema = file.schema
    block = json.loads((schema.metadata or {}).get(FOOTER_KEY, b"{}"))
    origin = {
        k: block[k]
        for k in ("schema_version", "nlpkit_version", "command", "seed", "parameters", "inputs")
        if k in block
    }
    columns = {field.name: str(field.type) for field in schema}
    return {"kind": block.get("kind", "Arrow file not written by nlpkit"), **origin, "rows": rows, "columns": columns}


def _xlsx(path: Path) -> dict[str, Any]:
    rows, tail = 0, b""
    with zipfile.ZipFile(path) as book, book.open("xl/worksheets/sheet1.xml") as sheet:
        while chunk := sheet.read(_CHUNK):
            text = tail + chunk
            rows += len(re.findall(rb"<row ", text))
            tail = text[-4:]
    return {"kind": "Excel workbook", "rows": max(rows - 1, 0)}


# ---------------------------------------------------------------- text


def _json(path: Path) -> dict[str, Any] | None:
    with path.open(encoding="utf-8-sig") as file:
        head = file.read(_HEAD)
    keys = any(f'"{key}"' in head for key in ("nlpkit_version", "format", "mdsDat"))
    if not keys and not head.startswith(EXPORT_HEAD) and path.name not in _OF_RUNS:
        return None  # a corpus may be large

    value = json.loads(path.read_text(encoding="utf-8-sig"))
    if not isinstance(value, dict):
        return None
    if value.get("format") == TASK_KEY:
        task = {k: value[k] for k in ("task", "name", "nlpkit_version") if k in value}
        return {"kind": "key of a task (nlpkit annotate score)", **task, "questions": len(value.get("items", ()))}
    if isinstance(value.get("targets"), list) and "nlpkit_version" in value:
        targets = {str(t["target"]): {n: m.get("value") for n, m in t["metrics"].items()} for t in value["targets"]}
        origin = {"nlpkit_version": value["nlpkit_version"], "seed": value.get("seed")}
        gates = {"gates": len(value["gates"]), "passed": value["passed"]} if "gates" in value else {}
        return {"kind": "scores", **origin, **gates, "scores": targets}
    if {"mdsDat", "tinfo", "topic.order"} <= value.keys():
        return {"kind": "data for pyLDAvis", "n_topics": len(value["topic.order"])}
    if {"run", "kind", "topics", "documents"} <= value.keys():
        counts = {"n_topics": len(value["topics"]), "documents": len(value["documents"])}
        return {"kind": f"topics of a run ({value['kind']})", "run": value["run"], **counts}
    if {"nlpkit_version", "outputs", "kind", "command_line"} <= value.keys():
        return {
            "kind": f"manifest of a run ({value['kind']})",
            "run": str(path.parent),
            "command_line": " ".join(value["command_line"]),
        }
    if path.name in _OF_RUNS and any((folder / MANIFEST).exists() for folder in path.parents[:2]):
        return {"kind": f"{path.name} of a run", "keys": list(value)}
    return None


def _jsonl(path: Path) -> dict[str, Any] | None:
    with path.open("rb") as file:
        first = file.readline()
        if not first.startswith(b'{"identity"'):
            return None
        return {
            "kind": "fits of lda-gibbs `k` so far",
            "fits": sum(1 for _ in file),
            "identity": json.loads(first)["identity"],
        }


def _xml(path: Path) -> dict[str, Any] | None:
    with path.open("rb") as file:
        if b"<testsuites" not in file.read(_HEAD):
            return None
    root = ET.parse(path).getroot()
    counts = {k: int(root.attrib[k]) for k in ("tests", "failures")}
    return {"kind": "gates as JUnit XML", **counts, "suites": [suite.attrib["name"] for suite in root]}


def _gexf(path: Path) -> dict[str, Any]:
    counts = dict.fromkeys(("node", "edge"), 0)
    for _, element in ET.iterparse(path):
        name = element.tag.rpartition("}")[2]
        if name in counts:
            counts[name] += 1
    return {"kind": "network (GEXF)", "nodes": counts["node"], "edges": counts["edge"]}


def _r(path: Path) -> dict[str, Any]:
    if path.name != "load.R" or not (path.parent / MANIFEST).exists():
        return {"kind": "R script"}
    tables = sorted(file.name for file in path.parent.glob("*.csv"))
    return {"kind": "R script that loads an export", "loads": tables}


def _gz(path: Path) -> dict[str, Any] | None:

    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        if file.readline().rstrip("\n") != MALLET_HEADER:
            return None
        return {"kind": "state of MALLET", "tokens": sum(1 for line in file if not line.startswith("#"))}


def _html(path: Path) -> dict[str, Any] | None:
    key = path.with_suffix(".key.json")
    return {"kind": "page of a task for people", "key": str(key)} if key.exists() else None


# ---------------------------------------------------------------- folders

_FOLDERS = {
    "nlpkit.json": "model of nlpkit finetune",
    "adapter_config.json": "model of peft",
    "config_setfit.json": "model of setfit",
    "modules.json": "model of sentence-transformers",
    "config.json": "model of transformers",
}


def _folder(path: Path) -> dict[str, Any] | None:
    kind = next((kind for name, kind in _FOLDERS.items() if (path / name).is_file()), None)
    if path.name.endswith(".checkpoint") and (path / "identity.json").is_file():
        kind = "checkpoint (finetune)"
    if kind is None:
        return None
    files = sorted(f for f in path.rglob("*") if f.is_file())
    return {"kind": kind, "files": {f.relative_to(path).as_posix(): file_size(f) for f in files}}


_BY_SUFFIX: dict[str, Callable[[Path], dict[str, Any] | None]] = {
    ".npz": _npz,
    ".mtx": _mtx,
    **{suffix: _svmlight for suffix, kind in MATRICES.items() if kind == "svmlight"},
    ".arrow": _arrow,
    ".feather": _arrow,
    ".xlsx": _xlsx,
    ".gexf": _gexf,
    ".r": _r,
}
_BY_BEGINNING: dict[str, Callable[[Path], dict[str, Any] | None]] = {
    ".json": _json,
    ".jsonl": _jsonl,
    ".xml": _xml,
    ".gz": _gz,
    ".html": _html,
}


def is_arpa(path: Path) -> bool:
    """Return whether a name is that of an ARPA file: .arpa or .arpa.gz."""
    return path.name.lower().endswith((".arpa", ".arpa.gz"))
