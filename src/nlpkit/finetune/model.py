"""Fine-tuned models, of runs and of folders that transformers or peft wrote: they predict documents as these stream."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import UsageError, unknown_value
from nlpkit.finetune.data.dataset import KINDS, TASK_NAMES
from nlpkit.finetune.data.texts import check_columns, read_inputs
from nlpkit.finetune.foreign_files import check_not_named, foreign_task, load_predictor, open_model
from nlpkit.finetune.options import DEFAULT_WORDS, TASKS, HardwareOptions
from nlpkit.finetune.predictions import predictions_of
from nlpkit.finetune.tables import task_columns
from nlpkit.finetune.tasks import CLASSES, ONE_CLASS, FinetuneTask, TaskKind, probabilities
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.predictor import Predictor
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus
from nlpkit.platform.options import Execution
from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.runs.atomic import MANIFEST, atomic_directory
from nlpkit.platform.runs.passes import ColumnMaker, Pass, WithColumns
from nlpkit.platform.runs.reading import learned_from
from nlpkit.platform.runs.runs import open_run
from nlpkit.predict.model import FittedModel
from nlpkit.predict.options import PredictOptions

if TYPE_CHECKING:
    from nlpkit.finetune.attribution import Attribution

USED = (
    "probabilities",
    "explain",
    "explain_by",
    "base",
    "labels",
    "task",
    "pair_col",
    "words_col",
    "context_by",
    "encoder",
)
EXPLAIN_BY = ("gradients", "omission")
FOREIGN = tuple(
    name for name in TASKS if name not in ("ordinal", "answers")
)  # tasks that another program's folder can be of
# what else the outputs of a peft folder can mean, which does not say
OR_ELSE = {"single": "; `task=labels` if a document can have several", "regression": "; `task=labels` if it is a label"}


class FinetunedModel(FittedModel):
    """A fine-tuned model in a run, or in a folder of nlpkit, transformers or peft."""

    kind = "finetune"

    def __init__(self, path: Path, execution: Execution | None = None) -> None:
        """Take the place of the model; its weights are read when it predicts."""
        self.path, self.execution = path, execution or Execution()

    @contextmanager
    def predict_batches(
        self, corpus: Corpus, *, options: PredictOptions | None = None, execution: Execution | None = None
    ) -> Iterator[Pass]:
        """Yield the predictions for a corpus.

        Raises:
            UsageError: an option that the model has no use for; ColumnError: a column that it reads is not there; InputError,
                MissingError: the model, or the one it was trained on, is damaged or not there.
        """
        options, execution = options or PredictOptions(), execution or self.execution
        labels, kind = self._checked(options)
        encoder = options.encoder
        hardware = HardwareOptions(encoder.device, encoder.precision, encoder.offline)
        device, precision = hardware.chosen()
        with corpus.with_options(words_col=self._words_column(options)).open() as stream:
            predictor = load_predictor(
                self.path, base=options.base, device=device, offline=hardware.offline, labels=labels, kind=kind,
                verify=execution.verify,
            )  # fmt: skip
            if predictor.form is not None:
                self._note_foreign(predictor, options)
            predictor.columns = self._columns(predictor.task, predictor.columns, predictor.form, options)
            _check_stream(stream, predictor.task, predictor.columns)
            if options.probabilities and predictor.task.kind not in CLASSES:
                raise UsageError(
                    f"`probabilities` is for classes, {self.path} predicts {TASK_NAMES[predictor.task.kind]}; leave it out",
                    parameter="probabilities",
                )
            if options.explain:
                _check_explained(predictor, self.path, options.explain_by or EXPLAIN_BY[0])
            predictor.check()
            with Engine(device, precision, threads=execution.n_threads()) as engine:
                yield Pass(FinetunedMaker(self.path, stream, execution.seed, predictor, engine, options))

    def check(self, corpus: Corpus, options: PredictOptions) -> None:
        """Refuse options and columns that `predict_batches` would refuse, without reading the weights of the model."""
        labels, kind = self._checked(options)
        folder, config = open_model(self.path, verify=self.execution.verify)
        form = None
        if config is not None:
            check_not_named(self.path, config.task, labels, kind)
            task, columns = config.task, dict(config.columns)
        else:
            form, task = foreign_task(folder, labels, kind)
            columns = {"task": task.kind}
        columns = self._columns(task, columns, form, options)
        with corpus.with_options(words_col=self._words_column(options)).open() as stream:
            _check_stream(stream, task, columns)

    def tables(self) -> Mapping[str, pa.Table]:
        """Return the tables of the run; a folder of another program has none."""
        if not (self.path / MANIFEST).is_file():
            return {}
        return open_run(self.path, verify=self.execution.verify).tables()

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write a copy of the run or folder. Raises OutputExistsError when something is there."""
        target = Path(path)
        with atomic_directory(target, force=force) as part:
            shutil.copytree(self.path, part, dirs_exist_ok=True)
        return target

    def _checked(self, options: PredictOptions) -> tuple[list[str] | None, TaskKind | None]:
        """Return the names of classes and the task that were given. Raises UsageError for options without use."""
        options.refuse_others(USED, "a fine-tuned model")
        options.encoder.refuse("a fine-tuned model reads texts as it was trained to; leave it out")
        if options.explain_by is not None:
            if options.explain_by not in EXPLAIN_BY:
                raise unknown_value("explain_by", options.explain_by, EXPLAIN_BY)
            if not options.explain:
                raise UsageError(
                    "`explain_by` sets the method of `explain`; name a document with `explain`",
                    parameter="explain_by",
                )
        if options.task not in FOREIGN:
            raise unknown_value("task", options.task, FOREIGN)
        kind = KINDS.get(options.task)
        if options.labels is None:
            return None, kind
        names = options.labels.split(",") if isinstance(options.labels, str) else options.labels
        labels = [name.strip() for name in names]
        if "" in labels or len(set(labels)) < len(labels):
            raise UsageError(
                f"`labels={','.join(names)}`: each class needs a different name, such as no,yes",
                parameter="labels",
            )
        return labels, kind

    def _words_column(self, options: PredictOptions) -> str | None:
        """Return where the words are that a model labels, None for one of texts."""
        if options.words_col is not None:
            return options.words_col
        _, config = open_model(self.path, verify=False)  # load_predictor looks at its files
        if config is not None and config.task.kind != "tokens":
            return None
        return str((config.columns if config else {}).get("words", DEFAULT_WORDS))

    def _columns(
        self, task: FinetuneTask, trained: Mapping[str, Any], form: str | None, options: PredictOptions
    ) -> dict[str, Any]:
        """Return what a model reads beside the text, with the columns named now. Raises UsageError for one that it does not read.

        Args:
            form: of another program's folder, which does not say whether it was trained on pairs.
        """
        reads = {
            "pair_col": ("pair", options.pair_col, trained.get("pair") is not None or form is not None),
            "context_by": ("context_by", options.context_by, bool(trained.get("context"))),
            "words_col": ("words", options.words_col, task.kind == "tokens"),
        }
        for name, (_, column, is_read) in reads.items():
            if column is not None and not is_read:
                raise UsageError(f"{self.path} was trained without `{name}`; leave it out", parameter=name)
        return {**trained, **{key: column for key, column, _ in reads.values() if column is not None}}

    def _note_foreign(self, predictor: Predictor, options: PredictOptions) -> None:
        """Say what another program's folder was taken for."""
        task = predictor.task
        alternative = OR_ELSE.get(task.kind, "") if predictor.form == "peft" and options.task == "auto" else ""
        reporting.note(f"task: {TASK_NAMES[task.kind]} ({self.path}/ of {predictor.form}{alternative})")
        if task.names and all(re.fullmatch(r"LABEL_\d+", name) for name in task.names):
            reporting.note(f"its classes have no names; name them in order with `labels={','.join(task.names[:3])}…`")


def _check_explained(predictor: Predictor, path: Path, by: str) -> None:
    """Raise UsageError for a model whose predictions are not explained, or not in this way."""
    if predictor.ensemble is not None and by == "gradients":
        raise UsageError(
            f"{path} puts texts into patterns, which gradients cannot explain; use `explain_by=omission`",
            parameter="explain_by",
        )
    columns = predictor.columns
    reads = {"tokens": "labels words", "ordinal": "orders its classes", "answer": "finds answers"}.get(
        predictor.task.kind
    )
    reads = reads or ("reads pairs of texts" if columns.get("pair") else None)
    reads = reads or ("reads the texts before and after, too" if columns.get("context") else None)
    if reads is not None:
        raise UsageError(
            f"`explain` is for models that classify or score one text; {path} {reads}; leave it out",
            parameter="explain",
        )


def _check_stream(stream: DocumentStream, task: FinetuneTask, columns: Mapping[str, Any]) -> None:
    """Raise ColumnError when a column that a model reads is not among those of the documents."""
    words = columns.get("words") if task.kind == "tokens" else None
    needed = {"pair_col": columns.get("pair"), "context_by": columns.get("context_by")}
    needed["words_col"] = None if words == DEFAULT_WORDS else words
    check_columns(stream.schema.names, needed, stream.where)


class FinetunedMaker(ColumnMaker):
    """Documents with the predictions of a fine-tuned model."""

    progress = "predictions"

    @property
    def gives(self) -> str:  # type: ignore[override]
        """What the documents get that can be scored by their labels: "classes", or "" where these are not of the same form."""
        kind = self.predictor.task.kind
        if "label" not in self.stream.schema.names:
            return ""
        label = self.stream.schema.field("label").type
        lists = pa.types.is_list(label) or pa.types.is_large_list(label)
        return "classes" if lists or kind in (*ONE_CLASS, "regression") else ""

    @property
    def learned_from(self) -> Sequence[str]:
        """Inputs that the model learned from."""
        is_run = (self.path / MANIFEST).is_file()
        return learned_from(open_run(self.path, verify=False), self.stream.inputs) if is_run else []

    def __init__(
        self,
        path: Path,
        stream: DocumentStream,
        seed: int,
        predictor: Predictor,
        engine: Engine,
        options: PredictOptions,
    ) -> None:
        super().__init__(str(path), stream, seed)
        self.path, self.predictor, self.engine, self.probabilities = path, predictor, engine, options.probabilities
        self._explain_by = options.explain_by or EXPLAIN_BY[0]
        self.explain = list(dict.fromkeys(options.explain))
        self.explanations: dict[str, list[dict[str, Any]]] = {}
        written = {"regression": [], "answer": ["prediction_prob", "answer_start"]}
        self.replaces = ["prediction", *written.get(predictor.task.kind, ["prediction_prob"])]
        self.truncated = self.empty = self.single = 0
        self.labels: Counter[str] = Counter()

    def columns(self) -> Iterator[WithColumns]:
        """Yield the documents with their predictions; at once where the model reads the texts before and after each."""
        task = self.predictor.task
        for batch in self._read():
            files = np.repeat(np.arange(len(self.stream.kept)), self.stream.kept)
            inputs = read_inputs(batch, self.predictor.columns, files)
            outputs, truncated = self.predictor.outputs(inputs, self.engine)
            self._explain(batch, outputs)
            predictions, rows = predictions_of(task, outputs), np.arange(batch.num_rows)
            columns = task_columns(task, predictions, rows, inputs.texts, probabilities=self.probabilities)
            self.truncated += truncated
            self.empty += inputs.n_empty
            self.single += inputs.n_single
            self._count(columns["prediction"])
            yield batch, columns

    def _explain(self, batch: pa.RecordBatch, outputs: Any) -> None:
        """Explain the documents of a batch that were asked for: of several labels each one that it got, or the likeliest."""
        if len(self.explanations) == len(self.explain):
            return
        from nlpkit.finetune.attribution import explain_text

        task, ids = self.predictor.task, batch.column("id").to_pylist()
        for row in [i for i, name in enumerate(ids) if name in self.explain]:
            text = batch.column("text")[row].as_py() or ""
            codes = np.flatnonzero(outputs[row] > 0).tolist() if task.kind == "multi" else []
            entries = []
            for code in codes or [int(np.argmax(outputs[row]))]:
                part = explain_text(self.predictor, self.engine, text, code, by=self._explain_by)
                if self._explain_by == "gradients" and not part.complete:
                    reporting.warn(
                        f"{ids[row]}: the contributions miss f(x) − f(0) = {part.score - part.baseline:.4f} by {part.error:.4f}"
                    )
                entries.append(_explanation(task, outputs[row : row + 1], code, part))
            self.explanations[ids[row]] = entries

    def _read(self) -> Iterator[pa.RecordBatch]:
        if self.predictor.columns.get("context"):
            yield from self.stream.read_all().combine_chunks().to_batches()
        else:
            yield from self.stream

    def _count(self, predictions: pa.Array) -> None:
        """Count how often each label was predicted; numbers are not counted."""
        if not pa.types.is_floating(predictions.type) and self.predictor.task.kind != "answer":
            for value in predictions.to_pylist():
                self.labels.update(v for v in (value if isinstance(value, list) else [value]) if v is not None)

    def parameters(self) -> dict[str, Any]:
        """Return the task and its classes, and which of the documents the model learned from."""
        task = self.predictor.task
        files = list(self.learned_from)
        known = {"learned_from": files} if files else {}
        return {"model": self.name, "task": task.kind, "classes": list(task.names), **known}

    def summary(self) -> dict[str, Any]:
        """Return the numbers of documents, and of each label, the most frequent first."""
        return {
            "documents": self.documents, "documents_cut": self.truncated, "predictions": dict(self.labels.most_common()),
            **({"explained": self.explanations} if self.explanations else {}),
        }  # fmt: skip

    def report(self) -> None:
        """Say how many documents were predicted, and which of them the model could not read as they are."""
        reporting.note(f"predictions for {wording.counted(self.documents, 'document')} by {self.path}")
        files = list(self.learned_from)
        if files:
            reporting.warn(wording.learned_from(files, self.path))
        if self.empty:
            reporting.note(f"{wording.counted(self.empty, 'document')} without a word: predicted like any other")
        if self.single:
            reporting.note(f"{wording.counted(self.single, 'pair')} without a second text: read as if it were empty")
        if self.truncated:
            reporting.note(
                f"{wording.counted(self.truncated, 'document')} longer than the window of the model: the end is not seen"
            )


def _explanation(task: FinetuneTask, outputs: Any, code: int, part: Attribution) -> dict[str, Any]:
    """Return an explanation as values that go into JSON, the strongest words first."""
    words = [
        {"term": word, "start": start, "end": end, "contribution": round(value, 6)}
        for word, (start, end), value in zip(part.words, part.spans, part.values, strict=True)
    ]
    words.sort(key=lambda one: -abs(one["contribution"]))  # type: ignore[arg-type]
    number = task.kind == "regression"
    return {
        **({"number": round(part.score, 6)} if number else {"class": task.names[code]}),
        "prob": None if number else round(float(probabilities(task, outputs)[0, code]), 6),
        "words": words,
        "score": round(part.score, 6), "baseline": finite_or_none(round(part.baseline, 6)),
        "rest": round(part.rest, 6), "completeness_error": finite_or_none(round(part.error, 9)),
    }  # fmt: skip


def load_finetuned(path: Path, execution: Execution) -> FinetunedModel:
    """Return the model of a run, or of a folder of nlpkit, transformers or peft.

    Raises:
        InputError: there is no such folder; SchemaError: it is a comparison, which keeps no model.
    """
    open_model(path, verify=False)
    return FinetunedModel(path, execution)
