"""A run of a topic model whose topics have other names: all else is copied as it is."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.io.artifacts import read_footer, write_table
from nlpkit.io.atomic import MANIFEST, atomic_directory
from nlpkit.io.runs import Run, seen_from, sha256_of, write_json
from nlpkit.models import MODELS
from nlpkit.reporting import command_line

CONFIG = "model/config.json"
LAYERS = "layers"


@dataclass(frozen=True, slots=True)
class RenamedRun(Run):
    """A run that is not written yet: another one, whose files it has but for the names of topics. manifest: its own.

    labels: names of all topics (K,).
    """

    labels: Sequence[str] = field(default=(), kw_only=True)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return one of its tables by file stem."""
        table = Run.table(self, name)
        if name == "topics":
            table = _with_labels(table, list(self.labels))
        elif name == LAYERS:
            names = dict(enumerate(self.labels))
            every = MODELS[self.manifest["kind"]].is_tree  # whose topics have numbers of their own in all layers
            table = _with_labels(table, [
                names.get(row["topic"], row["label"]) if every or row["chosen"] else row["label"]
                for row in table.select(["topic", "label", "chosen"]).to_pylist()
            ])  # fmt: skip
        return table if columns is None else table.select(columns)

    def copy_to(self, path: Path, *, force: bool) -> None:
        """Write it; raises the errors of `write_run` for an existing target."""
        outputs = dict(self.manifest["outputs"])
        with atomic_directory(path, force=force) as part:
            for name in outputs:
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.path / name, part / name)
            changed = [f"{stem}.parquet" for stem in ("topics", LAYERS) if f"{stem}.parquet" in outputs]
            for name in changed:
                write_table(part / name, self.table(Path(name).stem), read_footer(self.path / name) or {})
            write_json(part / CONFIG, {**self.model_config(), "labels": list(self.labels)})
            outputs |= {name: sha256_of(part / name) for name in (*changed, CONFIG)}
            write_json(part / MANIFEST, {**self.manifest, "made_in": self._made_in(path), "outputs": outputs})

    def _made_in(self, path: Path) -> Mapping[str, str] | None:
        """Return the folder that the paths of its inputs start from, as it is seen from a place."""
        made_in = self.manifest.get("made_in")
        if not made_in:
            return None
        seen_from_run = (self.path / made_in["from_run"]).resolve()
        folder = seen_from_run if seen_from_run.is_dir() else Path(made_in["folder"])
        return seen_from(path, folder)


def renamed_run(run: Run, labels: Sequence[str], lineage: Mapping[str, Any]) -> RenamedRun:
    """Return a run with other names of its topics (K,), and with its lineage."""
    manifest = {**run.manifest, "command_line": list(command_line.get()), "lineage": dict(lineage)}
    return RenamedRun(run.path, manifest, run.verify, labels=tuple(labels))


def _with_labels(table: pa.Table, labels: list[str]) -> pa.Table:
    at = table.schema.get_field_index("label")
    return table.set_column(at, table.schema.field(at), pa.array(labels, table.schema.field(at).type))
