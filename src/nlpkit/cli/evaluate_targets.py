"""What a TARGET of `nlpkit evaluate` is: a run directory, the topics of another tool, or a table of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import ColumnError, InputError, UsageError, missing_column
from nlpkit.evaluation.options import TargetFlags
from nlpkit.io.atomic import MANIFEST
from nlpkit.io.plain_tables import TABLE_FORMATS, column_names, table_format
from nlpkit.io.run_reading import numbers
from nlpkit.io.runs import Run, open_run
from nlpkit.io.topic_files import FORMATS, read_topic_file
from nlpkit.metrics.stability import common_term_ids
from nlpkit.plain import shell_line
from nlpkit.types import FloatArray, IntArray

CLASSIFIERS = ("classify", "finetune")  # kinds of run directories with predictions


@dataclass(frozen=True, slots=True)
class TopicTarget:
    """Topics to score: words of each, best first, and what is known of where they come from.

    names: number or label of each topic; weights: of the words, () when unknown; run: None for files; notes: what was found odd.
    """

    name: str
    kind: str
    topics: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    weights: tuple[FloatArray, ...]
    run: Run | None
    notes: tuple[str, ...] = ()

    @property
    def token_info(self) -> dict[str, Any] | None:
        """How the words of the run were made, None for files and runs on given tokens."""
        return None if self.run is None else self.run.manifest["parameters"].get("tokens")

    def ids(self, n: int) -> tuple[IntArray, tuple[str, ...]]:
        """Return the first n words of each topic as (K, n) int32, -1 for none, into the words returned beside them."""
        (ids,), terms = common_term_ids([self.topics], n=n)
        return ids, terms


@dataclass(frozen=True, slots=True)
class TableTarget:
    """A table whose columns are scored: predictions or topics against labels; that of the documents of a classifier's run, too."""

    name: str
    path: Path
    columns: tuple[str, ...]
    kind: str  # predictions or topics


Target = TopicTarget | TableTarget


def scorable(run: Run) -> bool:
    """Whether a run has topics, or predictions of a classifier."""
    return run.manifest["kind"] in CLASSIFIERS or (run.path / "topics.parquet").exists()


def open_targets(
    targets: Sequence[str],
    flags: TargetFlags,
    label_col: str,
    encoding: str | None,
    *,
    topics_first: bool = False,
    verify: bool = True,
) -> list[Target]:
    """Return what each target is, in their order.

    Args:
        topics_first: of a table with predictions and topics, the topics are meant.
        verify: refuse a run whose files were changed since it was written.

    Raises:
        UsageError: topics and tables are mixed, or a format is unknown; InputError, SchemaError, ColumnError: one cannot be used.
    """
    known = ("auto", "run", "table", *FORMATS)
    if flags.target_format not in known:
        raise UsageError(f"--target-format {flags.target_format}: known are {', '.join(dict.fromkeys(known))}")
    names = _short_names(targets)
    topics_first = topics_first or flags.topic_col != TargetFlags().topic_col
    found = [
        _open(Path(t), name, flags, label_col, encoding, topics_first, verify=verify)
        for t, name in zip(targets, names, strict=True)
    ]
    if len({type(target) for target in found}) > 1:
        tables = [t.name for t in found if isinstance(t, TableTarget)]
        raise UsageError(
            f"{tables[0]} is a table of labels and others are topics: they have no score in common; evaluate them apart"
        )
    if len({t.kind for t in found if isinstance(t, TableTarget)}) > 1:
        raise UsageError(
            "some tables have predictions and others topics: they have no score in common; evaluate them apart"
        )
    return found


def _short_names(targets: Sequence[str]) -> list[str]:
    """The targets as given; one that is given twice gets a number, so that both can be told apart."""
    seen: dict[str, int] = {}
    names = []
    for target in targets:
        seen[target] = seen.get(target, 0) + 1
        names.append(target if seen[target] == 1 else f"{target} ({seen[target]})")
    return names


def _open(
    path: Path, name: str, flags: TargetFlags, label_col: str, encoding: str | None, topics_first: bool, *, verify: bool
) -> Target:
    wanted = flags.target_format
    if str(path) == "-":
        raise UsageError("a target is read more than once and cannot be stdin; write it to a file first")
    if wanted == "run" or (wanted == "auto" and path.is_dir()):
        run = open_run(path, verify=verify)
        if run.manifest["kind"] in CLASSIFIERS:
            return _of_classifier(run, name, flags, label_col, topics_first)
        return _of_run(run, name)
    if not path.exists():
        raise InputError(f"target {path} does not exist; a run directory, a file of topics or a table was needed")
    if path.is_dir():
        raise UsageError(f"target {path} is a directory, which --target-format {wanted} is not; leave the option out")
    columns = _columns(path, encoding)
    if wanted == "table" or (wanted == "auto" and _is_table(columns, flags, label_col)):
        return _of_table(path, name, flags, label_col, column_names(path, encoding=encoding), topics_first)
    if wanted == "auto":
        _refuse_others(path, columns)
    return _of_file(path, name, wanted, encoding)


def _columns(path: Path, encoding: str | None) -> list[str]:
    """Return the columns of a file that can be read as a table, none of others: JSON may hold topics."""
    if table_format(path) not in TABLE_FORMATS:
        return []
    try:
        return column_names(path, encoding=encoding)
    except InputError:
        return []


def _is_table(columns: Sequence[str], flags: TargetFlags, label_col: str) -> bool:
    """Whether there is a column of predictions, or one of labels beside topics, or one was named that is not there."""
    if not columns or {"term", "word", "top_terms"} & set(columns):
        return False
    default = TargetFlags()
    named = (flags.prediction_col, flags.topic_col, flags.prob_col, label_col)
    if named != (default.prediction_col, default.topic_col, default.prob_col, "label"):
        return True
    return flags.prediction_col in columns or (label_col in columns and flags.topic_col in columns)


def _of_table(
    path: Path, name: str, flags: TargetFlags, label_col: str, columns: Sequence[str], topics_first: bool
) -> TableTarget:
    default = TargetFlags()
    for option in ("prediction_col", "topic_col", "prob_col"):
        column = getattr(flags, option)
        if column != getattr(default, option) and column not in columns:
            raise missing_column(str(path), column, columns, f"--{option.replace('_', '-')}")
    if label_col not in columns:
        missing = str(missing_column(str(path), label_col, columns, "label_col"))
        if flags.prediction_col in columns:
            missing = f"{path} has predictions but{missing.removeprefix(f'{path} has')}"
        raise ColumnError(missing)
    predicted, grouped = flags.prediction_col in columns, flags.topic_col in columns
    if predicted and not (grouped and topics_first):
        return TableTarget(name, path, tuple(columns), "predictions")
    if grouped:
        return TableTarget(name, path, tuple(columns), "topics")
    raise InputError(
        f"{path} has neither a column '{flags.prediction_col}' nor '{flags.topic_col}' to hold against '{label_col}' (found: "
        f"{', '.join(columns)}); name it with --prediction-col or --topic-col, or give --annotators for columns of coders"
    )


def _refuse_others(path: Path, columns: Sequence[str]) -> None:
    """Refuse what is neither topics nor labels but looks like a table of them."""
    if "top_terms" in columns and "topic" in columns:
        raise InputError(f"{path} is a table of a run; name the run directory: {path.parent}")
    if {"text", "tokens"} & set(columns) and not {"term", "word"} & set(columns):
        raise InputError(
            f"{path} is a corpus, not topics; fit a model to it ({shell_line('nlpkit', 'lda-gibbs', path)}), or count in it: "
            + shell_line("--reference", path)
        )


def _of_classifier(run: Run, name: str, flags: TargetFlags, label_col: str, topics_first: bool) -> TableTarget:
    """Return the documents of the run of a classifier: labels beside predictions of models that have not seen them."""
    run.table("documents", ["id"])  # is it there, and ours?
    path = run.path / "documents.parquet"
    return _of_table(path, name, flags, label_col, column_names(path), topics_first)


def _of_run(run: Run, name: str) -> TopicTarget:
    if not (run.path / "topics.parquet").exists() and (run.path / MANIFEST).exists():
        raise InputError(
            f"{run.path} is a run of kind '{run.manifest['kind']}' without topics.parquet; a topic model or a classifier was needed"
        )
    topics = run.table("topics", ["topic"])
    table = run.table("topic_terms", ["topic", "rank", "term", "weight"])
    with run.intact():
        known = numbers(topics, "topic", least=0).tolist()
        table = table.sort_by([("topic", "ascending"), ("rank", "ascending")])
        if not set(numbers(table, "topic").tolist()) <= set(known) or len(set(known)) < len(known):
            raise ValueError("topic_terms has words of topics that are not in topics, or a topic is there twice")
        numbers(table, "weight")
        if not pa.types.is_string(table.schema.field("term").type) or table.column("term").null_count:
            raise ValueError("column 'term' holds other than strings, or has gaps")
    words: dict[int, list[str]] = {number: [] for number in known}
    weights: dict[int, list[float]] = {number: [] for number in known}
    for topic, term, weight in zip(*(table.column(c).to_pylist() for c in ("topic", "term", "weight")), strict=True):
        words.setdefault(topic, []).append(term)
        weights.setdefault(topic, []).append(weight)
    empty = [k for k, found in words.items() if not found]
    notes = (f"without words: topic {', '.join(map(str, empty))}",) if empty else ()
    return TopicTarget(
        name,
        str(run.manifest["kind"]),
        tuple(tuple(w) for w in words.values()),
        tuple(str(k) for k in words),
        tuple(np.array(w, np.float64) for w in weights.values()),
        run,
        notes,
    )


def _of_file(path: Path, name: str, format: str, encoding: str | None) -> TopicTarget:
    found = read_topic_file(path, format=format, encoding=encoding)
    weights = tuple(found.weights) if found.weights is not None else ()
    return TopicTarget(name, f"topics ({found.format})", found.topics, found.names, weights, None, found.notes)
