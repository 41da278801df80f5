"""Run directories: what a topic model leaves behind (DESIGN §3), the same for every kind of model."""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit import __version__
from nlpkit.errors import InputError, SchemaError
from nlpkit.io.artifacts import dropped_table, read_table, write_table
from nlpkit.io.atomic import MANIFEST, atomic_directory, atomic_file
from nlpkit.io.corpora import DroppedRow, InputInfo
from nlpkit.io.footers import SCHEMA_VERSION
from nlpkit.plain import to_json

TOPICS_SCHEMA = pa.schema(
    [
        ("topic", pa.int32()),
        ("size", pa.int32()),
        ("share", pa.float32()),
        ("label", pa.string()),
        ("top_terms", pa.list_(pa.string())),
        ("npmi", pa.float32()),
        ("exclusivity", pa.float32()),
        ("representative_ids", pa.list_(pa.string())),
        ("representative_texts", pa.list_(pa.string())),
    ]
)
TOPIC_TERMS_SCHEMA = pa.schema(
    [("topic", pa.int32()), ("rank", pa.int32()), ("term", pa.string()), ("weight", pa.float32())]
)
DOC_TOPICS_SCHEMA = pa.schema([("id", pa.string()), ("topic", pa.int32()), ("prob", pa.float32())])
VOCAB_SCHEMA = pa.schema([("term", pa.string()), ("cf", pa.int64()), ("df", pa.int64())])
REPRESENTATIVE_CHARS = 300


@dataclass(frozen=True, slots=True)
class RunTables:
    """The tables of a run, by file stem (documents, topics, topic_terms, doc_topics, vocab), and of model/ below it.

    reports: further JSON files by stem, such as metrics. texts: further text files by name. model_folder: a folder whose content
    goes into model/, such as the files of a transformer.
    """

    tables: Mapping[str, pa.Table]
    model_tables: Mapping[str, pa.Table]
    model_config: Mapping[str, Any]
    dropped: Sequence[DroppedRow] = ()
    reports: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    model_folder: Path | None = None


def write_run(path: Path, run: RunTables, block: dict[str, Any], manifest: dict[str, Any], *, force: bool) -> None:
    """Write a run directory; it appears whole or not at all.

    Args:
        path: where.
        run: the tables.
        block: footer block of every table; its kind is replaced by the table's name.
        manifest: what `manifest.json` holds besides kind, versions and the sha256 of the outputs.
        force: replace an existing run directory.

    Raises:
        OutputExistsError, UsageError, InputError: see `check_target`.
    """
    with atomic_directory(path, force=force) as part:
        for name, table in run.tables.items():
            write_table(part / f"{name}.parquet", table, {**block, "kind": _KINDS.get(name, name)})
        if run.dropped:
            write_table(part / "dropped.parquet", dropped_table(run.dropped), {**block, "kind": "dropped"})
        model = part / "model"
        if run.model_folder is not None:
            shutil.copytree(run.model_folder, model, copy_function=shutil.copyfile)  # with the usual permissions
        model.mkdir(exist_ok=True)
        for name, table in run.model_tables.items():
            write_table(model / f"{name}.parquet", table, {**block, "kind": f"model/{name}"})
        _write_json(model / "config.json", run.model_config)
        for name, report in run.reports.items():
            _write_json(part / f"{name}.json", report)
        for name, text in run.texts.items():
            (part / name).write_text(text, encoding="utf-8")
        outputs = {str(f.relative_to(part)): sha256_of(f) for f in sorted(part.rglob("*")) if f.is_file()}
        head = {"schema_version": SCHEMA_VERSION, "nlpkit_version": __version__}
        _write_json(part / MANIFEST, {**head, **manifest, "outputs": outputs})


_KINDS = {"documents": "run_documents"}
_KEYS = (
    "schema_version", "nlpkit_version", "kind", "command_line", "parameters", "seed", "threads", "inputs", "results",
    "seconds", "peak_memory_mb", "outputs",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """An existing run directory."""

    path: Path
    manifest: dict[str, Any]

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return one of its tables by file stem, such as topics or model/training."""
        file = self.path / f"{name}.parquet"
        if not file.exists():
            raise InputError(f"run directory {self.path} has no {name}.parquet; it is incomplete, make it again")
        return read_table(file, [_KINDS.get(name, name)], columns)

    def model_config(self, *needed: str) -> dict[str, Any]:
        """Return model/config.json. Raises InputError when it is not there or has not the keys that are needed."""
        file = self.path / "model" / "config.json"
        config = _read_json(file)
        missing = [key for key in needed if key not in config]
        if missing:
            raise InputError(f"{file} has no '{missing[0]}'; the run directory is damaged, make it again")
        return config


def open_run(path: Path, kinds: Sequence[str] | None = None) -> Run:
    """Open a run directory after checking its manifest.

    Raises:
        InputError: it is not a run directory; SchemaError: another kind of model or a newer schema.
    """
    make = f"nlpkit {kinds[0]} CORPUS -o {path}" if kinds else f"nlpkit bertopic CORPUS -o {path}, or nlpkit lda-gibbs"
    if not path.exists():
        raise InputError(f"run directory {path} does not exist; make one with: {make}")
    if not (path / MANIFEST).is_file():
        raise InputError(f"{path} is not a run directory (no {MANIFEST}); make one with: {make}")
    manifest = _read_json(path / MANIFEST)
    version = manifest.get("schema_version")
    missing = [k for k in _KEYS if k not in manifest]
    if not isinstance(version, int) or (version <= SCHEMA_VERSION and missing):
        raise InputError(f"{path / MANIFEST} is not the manifest of an nlpkit run (no '{(missing or _KEYS)[0]}')")
    if version > SCHEMA_VERSION:
        raise SchemaError(
            f"{path} was written by nlpkit {manifest.get('nlpkit_version')} with schema version {version}, this nlpkit "
            f"({__version__}) reads up to {SCHEMA_VERSION}: update nlpkit"
        )
    if kinds and manifest.get("kind") not in kinds:
        raise SchemaError(f"{path} is a run of kind '{manifest.get('kind')}', one of {', '.join(kinds)} was needed")
    return Run(path, manifest)


def add_output(path: Path, names: Sequence[str]) -> None:
    """List files that were put into a run after it was written in its manifest, so that the run can be replaced."""
    manifest = _read_json(path / MANIFEST)
    manifest["outputs"] |= {name: sha256_of(path / name) for name in names if (path / name).exists()}
    with atomic_file(path / MANIFEST, force=True) as part:
        _write_json(part, manifest)


def manifest_of(
    kind: str,
    *,
    parameters: Mapping[str, Any],
    seed: int,
    threads: int,
    inputs: Sequence[InputInfo],
    seconds: Mapping[str, float],
    results: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the manifest of a run. Only `command_line`, `threads`, `seconds` and `peak_memory_mb` may differ between equal runs."""
    return {
        "kind": kind,
        "command_line": ["nlpkit", *sys.argv[1:]],
        "parameters": dict(parameters),
        "seed": seed,
        "threads": threads,
        "inputs": [asdict(i) for i in inputs],
        "results": dict(results),
        "seconds": {k: round(v, 3) for k, v in seconds.items()},
        "peak_memory_mb": peak_memory_mb(),
    }


def peak_memory_mb() -> int:
    """Return the peak resident memory of this process in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss starts with what the process that started this one had
        return round(int(status.read_text(encoding="ascii").split("VmHWM:")[1].split()[0]) / 1024)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 * 1024 if sys.platform == "darwin" else 1024))


@contextmanager
def stopwatch(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the wall seconds of a block to seconds[stage]."""
    import time

    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - start


def _write_json(path: Path, value: Any) -> None:
    path.write_text(to_json(value, indent=2) + "\n", encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} is missing; the run directory is incomplete, make it again") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}; make the run again") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} is not a JSON object; make the run again")
    return value


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
