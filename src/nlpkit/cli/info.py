"""nlpkit info: what a file or a run is, where it comes from, how big it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.options import Argument, RunFlags
from nlpkit.errors import ColumnError, InputError
from nlpkit.io.read_options import ReadOptions


def info_cli(
    path: Annotated[str, Argument("A run directory, a corpus, or any file that nlpkit wrote.", metavar="FILE|RUN")],
    read: ReadOptions,
    run: RunFlags,
) -> None:
    """Say what a file or run directory holds and how it was made.

    Any corpus, and any file or folder that nlpkit writes: tables, matrices, scores, checkpoints, models. Kind, schema, rows,
    columns, parameters in force, inputs with their sha256, sizes, seconds; for a run its topics too.

    \b
    Examples:
      nlpkit info data/samples/news.jsonl
      nlpkit info run/
      nlpkit info run/topics.parquet --json
    """
    target = Path(path)
    if not target.exists():
        from nlpkit.io.sources import missing_path

        raise InputError(missing_path(target))
    if target.is_dir() and (target / "manifest.json").exists():
        facts = _run_facts(target)
    elif target.suffix == ".parquet":
        facts = _parquet_facts(target)
    else:
        from nlpkit.io.own_files import own_file_facts

        facts = own_file_facts(target) or _corpus_facts(path, read)
    if run.json:
        console.emit_json(facts)
    else:
        _show(facts)


def _run_facts(path: Path) -> dict[str, Any]:
    from nlpkit.io.artifacts import file_size
    from nlpkit.io.runs import open_run

    found = open_run(path, verify=False)  # what was changed is told, not refused
    missing = [name for name in found.manifest["outputs"] if not (path / name).exists()]
    if missing:
        raise InputError(f"run directory {path} has no {missing[0]}; it is incomplete, make it again")
    changed = list(found.changed())
    if changed:
        reporting.warn(
            f"{wording.counted(len(changed), 'file')} of {path} {'was' if len(changed) == 1 else 'were'} changed since the run "
            f"was written: {', '.join(changed)}"
        )
    topics = None  # a run of another kind, such as LSA, has none
    if (path / "topics.parquet").exists():
        topics = found.table("topics", ["topic", "size", "share", "label", "npmi"]).to_pylist()
    files = [f for f in sorted(path.rglob("*")) if f.is_file()]
    manifest = found.manifest
    return {
        "path": str(path),
        "kind": f"run ({manifest['kind']})",
        **{k: manifest[k] for k in ("schema_version", "nlpkit_version", "seed", "threads", "peak_memory_mb")},
        "command_line": " ".join(manifest["command_line"]),
        "inputs": manifest["inputs"],
        "parameters": manifest["parameters"],
        "results": {k: v for k, v in manifest["results"].items() if k != "evidence"},
        "seconds": manifest["seconds"],
        "bytes": file_size(path),
        "changed": changed,
        "files": {str(f.relative_to(path)): file_size(f) for f in files},
        "topics": topics,
    }


def _parquet_facts(path: Path) -> dict[str, Any]:
    from nlpkit.io.artifacts import file_size, parquet_shape, read_footer

    block = read_footer(path)
    rows, groups, columns = parquet_shape(path)
    facts: dict[str, Any] = {"path": str(path), "kind": block["kind"] if block else "Parquet not written by nlpkit"}
    if block:
        facts |= {k: block[k] for k in ("schema_version", "nlpkit_version", "command", "seed", "parameters", "inputs")}
        facts["steps"] = [{k: s[k] for k in ("command", "parameters", "nlpkit_version")} for s in block["steps"]]
    return {**facts, "rows": rows, "row_groups": groups, "bytes": file_size(path), "columns": columns}


def _corpus_facts(path: str, read: ReadOptions) -> dict[str, Any]:
    from nlpkit.io.artifacts import file_size
    from nlpkit.io.corpora import open_documents
    from nlpkit.io.plain_tables import TABLE_FORMATS, table_format

    rows = characters = empty = 0
    try:
        stream = open_documents([path], read)
    except ColumnError:
        if table_format(Path(path)) not in TABLE_FORMATS or read != ReadOptions():
            raise
        return _table_facts(Path(path), read)
    with stream:
        for batch in stream:
            lengths = [len(t) for t in batch.column("text").to_pylist()]
            rows, characters, empty = rows + len(lengths), characters + sum(lengths), empty + lengths.count(0)
    encodings = sorted({i.encoding for i in stream.inputs if i.encoding})
    return {
        "path": path,
        "kind": "raw corpus",
        "rows": rows,
        "dropped": len(stream.dropped),
        "empty_texts": empty,
        "characters": characters,
        "encoding": ", ".join(encodings),
        "bytes": file_size(Path(path)),
        "columns": {f.name: str(f.type) for f in stream.schema},
        "inputs": [{"path": i.path, "rows": i.rows, "sha256": i.sha256} for i in stream.inputs],
    }


def _table_facts(path: Path, read: ReadOptions) -> dict[str, Any]:
    """Return what a table without a column of text is, such as nlpkit writes as CSV."""
    from nlpkit.io.artifacts import file_size
    from nlpkit.io.plain_tables import arrow_table

    table = arrow_table(path, encoding=read.encoding)
    reporting.note(f"{path} has no column 'text'; if it is a corpus, name its text with --text-col")
    columns = {field.name: str(field.type) for field in table.schema}
    return {"path": str(path), "kind": "table", "rows": table.num_rows, "bytes": file_size(path), "columns": columns}


def _show(facts: dict[str, Any]) -> None:
    topics = facts.pop("topics", None)
    rows = []
    for key, value in facts.items():
        name = {"peak_memory_mb": "peak memory (MB)"}.get(key, key.replace("_", " "))
        if isinstance(value, dict):
            rows += [[name if i == 0 else "", f"{k}: {_short(v)}"] for i, (k, v) in enumerate(value.items())]
        elif isinstance(value, list):
            rows += [[name if i == 0 else "", _short(v)] for i, v in enumerate(value)]
        elif value is not None:
            rows.append([name, _short(value)])
    console.table(["", ""], rows)
    if topics is not None:
        columns = ["topic", "size", "share", "npmi", "name"]
        table = [
            [str(t["topic"]), wording.count(t["size"]), f"{t['share']:.1%}", _score(t["npmi"]), t["label"]]
            for t in topics
        ]
        console.table(columns, table, right=columns[:4], noun="topics", rest=f"{facts['path']}/topics.parquet")


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _short(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return wording.count(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return " ".join(_short(v) for v in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_short(v)}" for k, v in value.items() if v is not None)
    text = str(value)
    return text if len(text) <= 300 else text[:299] + "…"
