"""The targets of an evaluation: a model, a run directory, another tool's topics, word lists or a table of labels.

Parts, in this order:
- The opening of a target, whatever it is.
- The columns of tables and runs that an evaluation reads: labels, predictions, topics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import ColumnError, InputError, UsageError, missing_column, unknown_value
from nlpkit.metrics.labels.labels import PROBABILITIES, LabelledPredictions, PredictionTable, labelled_predictions
from nlpkit.metrics.options import EvaluationOptions
from nlpkit.platform import reporting
from nlpkit.platform.documents.corpus import Corpus
from nlpkit.platform.documents.options import SELECTING, ReadOptions
from nlpkit.platform.documents.selection import select_table
from nlpkit.platform.plain import shell_line
from nlpkit.platform.runs.artifacts import read_footer
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.plain_tables import TABLE_FORMATS, arrow_table, column_names, read_columns, table_format
from nlpkit.platform.runs.runs import Run, open_run
from nlpkit.platform.runs.table_spec import numbers, strings
from nlpkit.platform.values import python_values
from nlpkit.predict.model import FittedModel
from nlpkit.topics.base.reference import EvaluationSettings, TopicTarget
from nlpkit.topics.export.topic_files import FORMATS, read_topic_file

CLASSIFIERS = ("classify", "finetune")  # kinds of run directories with predictions


@dataclass(frozen=True, slots=True)
class TableTarget:
    """A table whose columns are scored: predictions or topics against labels; that of the documents of a classifier's run, too.

    path: its file; None for a table in memory.
    """

    name: str
    path: Path | None
    columns: tuple[str, ...]
    kind: str  # predictions or topics
    memory: pa.Table | None = None

    def table(self) -> pa.Table:
        """Return the whole table."""
        if self.memory is not None:
            return self.memory
        assert self.path is not None
        return arrow_table(self.path)

    def values(self, columns: Sequence[str], encoding: str | None) -> dict[str, Sequence[Any]]:
        """Return some columns as lists of values."""
        if self.memory is not None:
            return {name: self.memory.column(name).to_pylist() for name in columns}
        assert self.path is not None
        return dict(read_columns(self.path, columns, encoding=encoding))

    def footer(self) -> dict[str, Any] | None:
        """Return what the file says of how it was made, None where it says nothing."""
        return read_footer(self.path) if self.path is not None and self.path.suffix == ".parquet" else None


Target = TopicTarget | TableTarget


def scorable(run: Run) -> bool:
    """Whether a run has topics, or predictions of a classifier."""
    return run.manifest["kind"] in CLASSIFIERS or (run.path / "topics.parquet").exists()


@contextmanager
def opened_targets(
    targets: Any, options: EvaluationOptions, read: ReadOptions, *, topics_first: bool = False, verify: bool = True
) -> Iterator[list[Target]]:
    """Yield what each target is, in their order; a model in memory is a run in a temporary directory meanwhile.

    Args:
        targets: see `nlpkit.evaluate.run.evaluate`.
        topics_first: of a table with predictions and topics, the topics are meant.
        verify: refuse a run whose files were changed since it was written.

    Raises:
        UsageError: topics and tables are mixed, or a format is unknown; InputError, SchemaError, ColumnError: one cannot be used.
    """
    known = ("auto", "run", "table", *FORMATS)
    if options.target_format not in known:
        raise unknown_value("target_format", options.target_format, dict.fromkeys(known))
    named = _named(targets)
    names = _short_names([name for name, _ in named])
    _warn_of_repeats([Path(target) for _, target in named if isinstance(target, str | Path)])
    topics_first = topics_first or options.topic_col != EvaluationOptions().topic_col
    with ExitStack() as stack:
        opened: list[Target] = []
        for name, (_, target) in zip(names, named, strict=True):
            corpus = target.corpus if isinstance(target, FittedModel) else None
            if isinstance(target, FittedModel):
                folder = stack.enter_context(TemporaryDirectory(prefix="nlpkit-"))
                target = target.save(Path(folder) / name)
            if isinstance(target, str | Path):
                read_target = _open(Path(target), name, options, read, topics_first, verify=verify)
                opened.append(
                    replace(read_target, corpus=corpus) if isinstance(read_target, TopicTarget) else read_target
                )
            elif _is_topics(target):
                topics = tuple(tuple(topic) for topic in target)
                opened.append(TopicTarget(name, "topics", topics, tuple(map(str, range(len(topics))))))
            else:
                opened.append(_of_frame(target, name, options, read, topics_first))
        if len({type(target) for target in opened}) > 1:
            tables = [t.name for t in opened if isinstance(t, TableTarget)]
            raise UsageError(
                f"{tables[0]} is a table of labels and others are topics. They have no score in common; evaluate "
                "them separately"
            )
        if len({t.kind for t in opened if isinstance(t, TableTarget)}) > 1:
            raise UsageError(
                "some tables have predictions and others topics. They have no score in common; evaluate them separately"
            )
        yield opened


def _named(targets: Any) -> list[tuple[str, Any]]:
    """Return the targets with their names: of files as they are given, of others by what they are."""
    if isinstance(targets, Mapping):
        return [(str(name), target) for name, target in targets.items()]
    alone = isinstance(targets, str | Path | FittedModel) or _is_frame(targets) or _is_topics(targets)
    several = [targets] if alone else list(targets)
    if not several:
        raise UsageError("no target is named; name at least one", parameter="targets")
    names = []
    for target in several:
        if isinstance(target, str | Path):
            names.append(str(target))
        elif isinstance(target, FittedModel):
            names.append(target.kind)
        else:
            names.append("topics" if _is_topics(target) else "table")
    return list(zip(names, several, strict=True))


def _is_frame(value: Any) -> bool:
    return isinstance(value, pa.Table) or hasattr(value, "__arrow_c_stream__") or hasattr(value, "to_parquet")


def _is_topics(value: Any) -> bool:
    """Whether a value is a sequence of topics, each a sequence of words."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        return False
    return all(
        isinstance(topic, Sequence) and not isinstance(topic, str) and all(isinstance(word, str) for word in topic)
        for topic in value
    )


def _of_frame(frame: Any, name: str, options: EvaluationOptions, read: ReadOptions, topics_first: bool) -> TableTarget:
    memory = Corpus.from_frame(frame).memory
    assert memory is not None
    kind = _table_kind(name, memory.column_names, options, read.label_col, topics_first)
    return TableTarget(name, None, tuple(memory.column_names), kind, memory)


def _short_names(targets: Sequence[str]) -> list[str]:
    """The targets as given; one that is given twice gets a number, so that both can be told apart."""
    seen: dict[str, int] = {}
    names = []
    for target in targets:
        seen[target] = seen.get(target, 0) + 1
        names.append(target if seen[target] == 1 else f"{target} ({seen[target]})")
    return names


def _warn_of_repeats(paths: Sequence[Path]) -> None:
    seen: dict[Path, Path] = {}
    for path in paths:
        earlier = seen.setdefault(path.resolve(), path)
        if earlier is not path:
            reporting.warn(f"{earlier} is named twice and compared with itself")


def _open(
    path: Path, name: str, options: EvaluationOptions, read: ReadOptions, topics_first: bool, *, verify: bool
) -> Target:
    wanted = options.target_format
    if str(path) == "-":
        raise UsageError("a target cannot be stdin, because it is read more than once; write it to a file first")
    if wanted == "run" or (wanted == "auto" and path.is_dir()):
        run = open_run(path, verify=verify)
        if run.manifest["kind"] in CLASSIFIERS:
            return _of_classifier(run, name, options, read, topics_first)
        return _of_run(run, name)
    if not path.exists():
        raise InputError(f"target {path} does not exist; name a run directory, a file of topics or a table")
    if path.is_dir():
        raise UsageError(f"target {path} is a directory, which `target_format={wanted}` is not; leave the option out")
    columns = _columns(path, read.encoding)
    if wanted == "table" or (wanted == "auto" and _is_table(columns, options, read.label_col)):
        return _of_table(path, name, options, read, topics_first)
    if wanted == "auto":
        _refuse_others(path, columns)
    return _of_file(path, name, wanted, read.encoding)


def _columns(path: Path, encoding: str | None) -> list[str]:
    """Return the columns of a file that can be read as a table, none of others: JSON may hold topics."""
    if table_format(path) not in TABLE_FORMATS:
        return []
    try:
        return column_names(path, encoding=encoding)
    except InputError:
        return []


def _is_table(columns: Sequence[str], options: EvaluationOptions, label_col: str) -> bool:
    """Whether there is a column of predictions, or one of labels beside topics, or one was named that is not there."""
    if not columns or {"term", "word", "top_terms"} & set(columns):
        return False
    default = EvaluationOptions()
    named = (options.prediction_col, options.topic_col, options.prob_col, label_col)
    if named != (default.prediction_col, default.topic_col, default.prob_col, "label"):
        return True
    return options.prediction_col in columns or (label_col in columns and options.topic_col in columns)


def _of_table(path: Path, name: str, options: EvaluationOptions, read: ReadOptions, topics_first: bool) -> TableTarget:
    columns = column_names(path, encoding=read.encoding)
    return TableTarget(
        name, path, tuple(columns), _table_kind(str(path), columns, options, read.label_col, topics_first)
    )


def _table_kind(
    where: str, columns: Sequence[str], options: EvaluationOptions, label_col: str, topics_first: bool
) -> str:
    """Return whether a table is scored for its predictions or its topics. Raises ColumnError, InputError when it has neither."""
    default = EvaluationOptions()
    for option in ("prediction_col", "topic_col", "prob_col"):
        column = getattr(options, option)
        if column != getattr(default, option) and column not in columns:
            raise missing_column(where, column, columns, option)
    if label_col not in columns:
        missing = str(missing_column(where, label_col, columns, "label_col"))
        if options.prediction_col in columns:
            missing = f"{where} has predictions but{missing.removeprefix(f'{where} has')}"
        raise ColumnError(missing, parameter="label_col")
    predicted, grouped = options.prediction_col in columns, options.topic_col in columns
    if predicted and not (grouped and topics_first):
        return "predictions"
    if grouped:
        return "topics"
    raise InputError(
        f"{where} has neither a column '{options.prediction_col}' nor '{options.topic_col}' to compare with '{label_col}' (found: "
        f"{', '.join(columns)}); name it with `prediction_col` or `topic_col`; for columns of coders there is `agreement()`"
    )


def _refuse_others(path: Path, columns: Sequence[str]) -> None:
    """Refuse what is neither topics nor labels but looks like a table of them."""
    if "top_terms" in columns and "topic" in columns:
        raise InputError(f"{path} is a table of a run; name the run directory: {path.parent}")
    if {"text", "tokens"} & set(columns) and not {"term", "word"} & set(columns):
        raise InputError(
            f"{path} is a corpus, not topics; fit a model to it ({shell_line('nlpkit', 'lda-gibbs', path)}), or count in it: "
            + f"`reference={path}`"
        )


def _of_classifier(
    run: Run, name: str, options: EvaluationOptions, read: ReadOptions, topics_first: bool
) -> TableTarget:
    """Return the documents of the run of a classifier: labels beside predictions of models that have not seen them."""
    if "documents.parquet" not in run.manifest["outputs"]:
        raise InputError(f"{run.path} has no predictions to score: the classifier was trained without test documents")
    run.table("documents", ["id"])  # is it there, and ours?
    return _of_table(run.path / "documents.parquet", name, options, read, topics_first)


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
            raise ValueError("topic_terms has words of topics that are not in topics, or a topic occurs twice")
        numbers(table, "weight")
        if not pa.types.is_string(table.schema.field("term").type) or table.column("term").null_count:
            raise ValueError("column 'term' holds other than strings, or has gaps")
    words: dict[int, list[str]] = {number: [] for number in known}
    weights: dict[int, list[float]] = {number: [] for number in known}
    for topic, term, weight in zip(*(table.column(c).to_pylist() for c in ("topic", "term", "weight")), strict=True):
        words.setdefault(topic, []).append(term)
        weights.setdefault(topic, []).append(weight)
    empty = [k for k, of_topic in words.items() if not of_topic]
    notes = (f"without words: topic {', '.join(map(str, empty))}",) if empty else ()
    return TopicTarget(
        name,
        str(run.manifest["kind"]),
        tuple(tuple(w) for w in words.values()),
        tuple(str(k) for k in words),
        tuple(np.array(w, np.float64) for w in weights.values()),
        notes,
        run,
    )


def _of_file(path: Path, name: str, format: str, encoding: str | None) -> TopicTarget:
    file = read_topic_file(path, format=format, encoding=encoding)
    weights = tuple(file.weights) if file.weights is not None else ()
    return TopicTarget(name, f"topics ({file.format})", file.topics, file.names, weights, file.notes)


# ------------------------------------------------------------------------------------------------------------------------
# The columns of tables and runs that an evaluation reads: labels, predictions, topics.


def read_table(target: TableTarget, settings: EvaluationSettings) -> PredictionTable:
    """Return the columns of a table that are scored. Raises ColumnError when it has no labels, InputError when it cannot be read."""
    options, read = settings.options, settings.read
    predictions = target.kind == "predictions"
    assigned_col = options.prediction_col if predictions else options.topic_col
    wanted = [read.label_col, assigned_col]
    others = (options.prob_col, read.id_col, *([PROBABILITIES] if predictions else []))
    annotators = options.annotator_columns()
    for name in annotators:
        if name not in target.columns:
            raise missing_column(str(target.path or target.name), name, target.columns, "annotators")
    wanted += [name for name in (*others, *annotators) if name in target.columns and name not in wanted]
    if read.label_col not in target.columns:
        raise missing_column(str(target.path or target.name), read.label_col, target.columns, "label_col")
    columns = dict(target.values(wanted, read.encoding))
    if all(getattr(read, name) is None for name in SELECTING):
        columns = {name: values[: read.limit] for name, values in columns.items()}
    else:
        rows = select_table(target.table(), read).tolist()
        columns = {name: [values[row] for row in rows] for name, values in columns.items()}
    ids = columns.get(read.id_col)
    return PredictionTable(
        target.name,
        predictions,
        columns[read.label_col],
        columns[assigned_col],
        columns.get(options.prob_col) if predictions else None,
        None if ids is None else [str(i) for i in ids],
        read.label_col,
        assigned_col,
        columns.get(PROBABILITIES) if predictions else None,
        [columns[name] for name in annotators] if annotators else None,
        annotators,
    )


def run_labelled(target: TopicTarget, label_col: str) -> LabelledPredictions | None:
    """Return the documents of a run with topics and labels, None when they have no such column, or lists in it."""
    if target.run is None:
        return None
    table = target.run.table("documents")
    if label_col not in table.column_names:
        return None
    labels = python_values(table.column(label_col))
    if all(value is None for value in labels):
        return None
    if any(isinstance(value, list) for value in labels):
        reporting.warn(
            f"{target.name}: '{label_col}' holds lists; topics are compared with one label of each document, so "
            "these are skipped"
        )
        return None
    with target.run.intact():
        ids, topics = strings(table, "id"), numbers(table, "topic", least=-1).tolist()
    return labelled_predictions(PredictionTable(target.name, False, labels, topics, None, ids, label_col, "topic"))


def run_columns(target: TopicTarget) -> list[str]:
    """Return the columns of the documents of a run."""
    return [] if target.run is None else list(target.run.table("documents").column_names)
