"""Labels that people gave texts on the page of a task, as documents that classifiers learn from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.annotate.answers import read_answers
from nlpkit.annotate.task_files import read_key
from nlpkit.annotate.tasks import LABEL, choices
from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.labels.coders import Annotations, majority_labels
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.inputs import InputInfo
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.footers import DOCUMENTS
from nlpkit.platform.runs.runs import sha256_of
from nlpkit.platform.runs.tables import check_table, save_table


def labels_from_answers(
    key: str | Path, answers: str | Path | Sequence[str | Path], *, encoding: str | None = None
) -> tuple[pa.Table, dict[str, Any]]:
    """Return the texts of a labelling task with the labels that people gave them: id, text, label.

    With several coders, label is the one that most of them gave, and null for a tie. Further columns are label_share (the share of coders
    who gave it) and one for each coder. `nlpkit.majority` and `nlpkit.agreement` take these. Texts that nobody labelled are left out.

    Args:
        key: NAME.key.json of the task; answers: tables, or directories of them. encoding: of the tables, told from their bytes if
            not given.

    Returns:
        the table; and how many texts are labelled, tied and unanswered, by how many coders, and how often each label is there.

    Raises:
        UsageError: a task of another kind; InputError, ColumnError, SchemaError: see `read_key` and `read_answers`.
    """
    task = read_key(Path(key))
    if task.kind != LABEL:
        raise UsageError(
            f"{key} is of a {task.kind} task, whose answers are not labels of texts; score them with `score_answers()`"
        )
    files = [answers] if isinstance(answers, str | Path) else answers
    coded = read_answers([Path(file) for file in files], task, encoding=encoding)
    items, names = task.design.items, choices(LABEL, task.design.items[0])
    rows = np.flatnonzero((coded.chosen >= 0).any(axis=1))
    chosen = coded.chosen[rows]
    columns: dict[str, Any] = {
        "id": pa.array([items[i].document for i in rows], pa.string()),
        "text": pa.array([items[i].text for i in rows], pa.large_string()),
    }
    ratings = np.where(chosen >= 0, chosen.astype(np.float64), np.nan)
    annotations = Annotations(
        tuple(columns["id"].to_pylist()), coded.coders, ratings, np.arange(len(names), dtype=np.float64), names, tuple(range(len(rows)))
    )  # fmt: skip
    columns["label"], share, counts = majority_labels(annotations)
    if len(coded.coders) > 1:
        columns["label_share"] = share
        for c, coder in enumerate(coded.coders):
            if coder in columns:
                raise InputError(f"a coder has the same name as the column '{coder}'; rename the coder")
            columns[coder] = pa.array([names[j] if j >= 0 else None for j in chosen[:, c].tolist()], pa.string())
    given_labels = columns["label"].to_pylist()
    facts = {
        "labelled": counts["labelled"],
        "ties": counts["ties"],
        "unanswered": len(items) - len(rows),
        "coders": list(coded.coders),
        "labels": {name: given_labels.count(name) for name in names},
    }
    return pa.table(columns), facts


def write_labels(
    key: str | Path,
    answers: str | Path | Sequence[str | Path],
    *,
    output: str | Path,
    encoding: str | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Write `labels_from_answers` as a document table, which classify and finetune learn from; return its counts.

    Raises:
        OutputExistsError, UsageError, InputError: see `check_table`, `labels_from_answers`.
    """
    target = Path(output)
    check_table(target, force=force)
    table, facts = labels_from_answers(key, answers, encoding=encoding)
    inputs = [InputInfo(str(key), table.num_rows, sha256_of(Path(key)), None)]
    block = footer_block(
        DOCUMENTS, command="annotate labels", parameters={"coders": facts["coders"]}, seed=None, inputs=inputs, steps=[]
    )
    save_table(target, table, block, force=force)
    open_ends = [wording.counted(facts["ties"], "tie")] if facts["ties"] else []
    open_ends += [f"{facts['unanswered']:,} without an answer left out"] if facts["unanswered"] else []
    rest = f" ({', '.join(open_ends)})" if open_ends else ""
    reporting.note(f"wrote {target}: {wording.counted(facts['labelled'], 'text')} with a label{rest}")
    return facts
