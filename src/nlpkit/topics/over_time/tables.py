"""A table about the topics of a run: what was asked, the rows, and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.inputs import InputInfo
from nlpkit.platform.models import topic_kinds
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.runs import Run, sha256_of
from nlpkit.platform.runs.tables import save_table
from nlpkit.topics.base.topic_run import number_of, opened_run


@dataclass(frozen=True)
class TopicTable(Tabular):
    """A table about the topics of runs.

    Attributes:
        table: the rows.
        kind: what a row is.
        facts: what was asked, and the options in force.
        runs: the runs that it was made from.
        inputs: files beside runs.
    """

    runs: Sequence[Run]
    kind: str
    table: pa.Table
    facts: dict[str, Any]
    command: str = "topics"
    inputs: Sequence[InputInfo] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the facts and the rows in plain values."""
        return {**self.facts, self.kind: self.table.to_pylist()}

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write the table. Raises OutputExistsError when it is there."""
        save_run_table(
            target,
            self.table,
            f"topic_{self.kind}",
            self.runs,
            command=self.command,
            parameters=self.facts,
            force=force,
            inputs=self.inputs,
        )


def save_run_table(
    target: str | Path,
    table: pa.Table,
    kind: str,
    runs: Sequence[Run],
    *,
    command: str = "topics",
    parameters: dict[str, Any],
    force: bool,
    inputs: Sequence[InputInfo] = (),
) -> None:
    """Write a table that was made from runs, or files, which its footer names.

    Raises:
        UsageError: the suffix of the name is not one of a table; OutputExistsError: it is there.
    """
    of_runs = [
        InputInfo(str(run.path), run.manifest["results"].get("documents", 0), sha256_of(run.path / MANIFEST), None)
        for run in runs
    ]
    block = footer_block(kind, command=command, parameters=parameters, seed=None, inputs=[*inputs, *of_runs], steps=[])
    save_table(target, table, block, force=force)
    if str(target) != "-":
        reporting.note(f"wrote {target}: {wording.counted(table.num_rows, 'row')}")


def topic_run(run: Any, execution: Execution) -> Run:
    """Return the run of a topic model: a directory, a run that is open, or a saved model. Raises InputError when it is none."""
    return opened_run(run, execution, topic_kinds())


def labels_of(run: Run) -> list[str]:
    """Return the names of the topics of a run (K,)."""
    return [label or "" for label in run.table("topics", ["label"]).column("label").to_pylist()]


def topic_number(text: str | int, run: Run, parameter: str) -> int:
    """Return the number of a topic that is given by its number or its name. Raises InputError when there is none."""
    return number_of(text, labels_of(run), str(run.path), parameter)


def size_of(run: Any, execution: Execution) -> dict[str, int]:
    """Return how many documents and topics a run has. Raises InputError when it is none of a topic model."""
    opened = topic_run(run, execution)
    return {"documents": opened.table("documents", ["id"]).num_rows, "topics": len(labels_of(opened))}
