"""The columns of a corpus at a glance: type, missing and different values, an example, and what each may be used for.

Further parts, in this order:
- What a file or a run is, where it comes from, how big it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import ColumnError, InputError, MissingFileError, UsageError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import read_corpus
from nlpkit.platform.documents.dates import DateReader
from nlpkit.platform.documents.options import SELECTING, ReadOptions
from nlpkit.platform.documents.readers.roles import is_text
from nlpkit.platform.documents.sources import missing_path
from nlpkit.platform.options import with_settings
from nlpkit.platform.plain import shell_line
from nlpkit.platform.runs.artifacts import file_size, parquet_shape, read_footer
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.nlpkit_files import is_comparison, nlpkit_file_facts
from nlpkit.platform.runs.plain_tables import TABLE_FORMATS, arrow_table, table_format
from nlpkit.platform.runs.runs import open_run
from nlpkit.platform.wording import truncated

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


# ------------------------------------------------------------------------------------------------------------------------
# What a file or a run is, where it comes from, how big it is.

TOPIC_FACTS = ["topic", "size", "share", "label", "npmi", "top_terms"]

if TYPE_CHECKING:
    import pyarrow as pa


def info(path: str | Path, *, read: ReadOptions | None = None, **settings: Any) -> dict[str, Any]:
    """Return what a file or a run directory holds and how it was made.

    Args:
        path: a corpus, or any file or folder that nlpkit wrote.
        read: how a corpus is read; settings: its fields, such as text_col="body".

    Raises:
        InputError: it is not there, or cannot be read.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> run = nk.fit_lda(texts, k=2, sweeps=20).save("run")
        >>> nk.info(run)["kind"]
        'run (lda-gibbs)'
    """
    (read,) = with_settings((read,), settings, (ReadOptions,))
    target = Path(path)
    if not target.exists():
        raise MissingFileError(missing_path(target))
    if is_comparison(path):
        raise InputError(
            f"{path} is a comparison of models: {shell_line('nlpkit', 'report', path)} makes a page of it, and "
            f"{shell_line('nlpkit', 'info', target / 'summary.parquet')} describes its scores"
        )
    facts = _run_facts(target) if target.is_dir() and (target / MANIFEST).exists() else None
    if target.suffix == ".parquet":
        facts = _parquet_facts(target)
    if target.suffix != ".xlsx" or not read.recorded():  # a workbook is a corpus where it is said how to read it
        facts = facts or nlpkit_file_facts(target)
    if facts is not None and (chosen := next((name for name in SELECTING if name in read.recorded()), None)):
        raise UsageError(
            f"`{chosen}` only applies to a corpus; {path} is a {facts['kind']} and is always described completely",
            parameter=chosen,
        )
    return facts or _corpus_facts(str(path), read)


def _run_facts(path: Path) -> dict[str, Any]:
    opened = open_run(path, verify=False)  # what was changed is told, not refused
    missing = [name for name in opened.manifest["outputs"] if not (path / name).exists()]
    if missing:
        raise InputError(f"run directory {path} has no {missing[0]}; it is incomplete, make it again")
    changed = list(opened.changed())
    if changed:
        reporting.warn(
            f"{wording.counted(len(changed), 'file')} of {path} {'was' if len(changed) == 1 else 'were'} changed since the run "
            f"was written: {', '.join(changed)}"
        )
    topics = layers = classes = None  # a run of another kind, such as LSA, has none
    if (path / "topics.parquet").exists():
        has_stability = "stability" in parquet_shape(path / "topics.parquet")[2]
        topics = opened.table("topics", [*TOPIC_FACTS, *(["stability"] if has_stability else [])]).to_pylist()
    if (path / "layers.parquet").exists():
        layers = opened.table("layers").to_pylist()
    if (path / "classes.parquet").exists():
        classes = opened.table("classes").to_pylist()
    files = [f for f in sorted(path.rglob("*")) if f.is_file()]
    manifest = opened.manifest
    return {
        "path": str(path),
        "kind": f"run ({manifest['kind']})",
        **{k: manifest[k] for k in ("schema_version", "nlpkit_version", "seed", "threads", "peak_memory_mb")},
        "command_line": " ".join(manifest["command_line"]),
        "made_from": _made_from(manifest),
        "inputs": manifest["inputs"],
        "parameters": manifest["parameters"],
        "results": {k: v for k, v in manifest["results"].items() if k != "evidence"},
        "seconds": manifest["seconds"],
        "bytes": file_size(path),
        "changed": changed,
        "files": {f.relative_to(path).as_posix(): file_size(f) for f in files},
        "topics": topics,
        "classes": classes,
        "layers": layers,
    }


def _made_from(manifest: dict[str, Any]) -> dict[str, Any] | None:
    """Return the run that a run was edited or updated from, and what became of its topics; None for a fit."""
    lineage = manifest.get("lineage")
    if lineage is None:
        return None
    topics = {
        f"topic {row['topic']}": row["from"]
        for row in lineage["topics"]
        if row["from"] != [row["topic"]] or row["split"]
    }
    return {"run": lineage["parent"]["path"], **topics, "dropped": lineage["dropped"]}


def _parquet_facts(path: Path) -> dict[str, Any]:
    block = read_footer(path)
    rows, groups, columns = parquet_shape(path)
    facts: dict[str, Any] = {"path": str(path), "kind": block["kind"] if block else "Parquet not written by nlpkit"}
    if block:
        facts |= {
            k: block.get(k) for k in ("schema_version", "nlpkit_version", "command", "seed", "parameters", "inputs")
        }
        facts["steps"] = [{k: s[k] for k in ("command", "parameters", "nlpkit_version")} for s in block["steps"]]
    return {**facts, "rows": rows, "row_groups": groups, "bytes": file_size(path), "columns": columns}


def _corpus_facts(path: str, read: ReadOptions) -> dict[str, Any]:
    rows = characters = empty = 0
    try:
        stream = read_corpus(path, options=read).open()
    except ColumnError:
        if table_format(Path(path)) not in TABLE_FORMATS or read != ReadOptions():
            raise
        return _table_facts(Path(path), read)

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal rows, characters, empty
        for batch in stream:
            lengths = [len(t) for t in batch.column("text").to_pylist()]
            rows, characters, empty = rows + len(lengths), characters + sum(lengths), empty + lengths.count(0)
            yield batch

    with stream:
        columns = profile(stream.schema, counted())
    encodings = sorted({i.encoding for i in stream.inputs if i.encoding})
    return {
        "path": path,
        "kind": "raw corpus",
        "rows": rows,
        "dropped": len(stream.dropped),
        "empty_texts": empty,
        "characters": characters,
        "encoding": ", ".join(encodings),
        "dialect": "; ".join(sorted({one.dialect for one in stream.inputs if one.dialect})) or None,
        "bytes": file_size(Path(path)),
        "columns": {f.name: str(f.type) for f in stream.schema},
        "profile": columns,
        "inputs": [{"path": i.path, "rows": i.rows, "sha256": i.sha256} for i in stream.inputs],
    }


def _table_facts(path: Path, read: ReadOptions) -> dict[str, Any]:
    """Return what a table without a column of text is, such as nlpkit writes as CSV."""
    table = arrow_table(path, encoding=read.encoding)
    reporting.note(f"{path} has no column 'text'; if it is a corpus, name its text with `text_col`")
    columns = {field.name: str(field.type) for field in table.schema}
    return {
        "path": str(path), "kind": "table", "rows": table.num_rows, "bytes": file_size(path), "columns": columns,
        "profile": profile(table.schema, table.to_batches()),
    }  # fmt: skip
