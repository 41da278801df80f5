"""`nlpkit finetune NEW --model run/`: predictions for new documents; of a run, or of a folder another program wrote."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.dry_run import dry_run
from nlpkit.cli.finetune_flags import TASKS, TrainFlags, TuneDataFlags, TuneModelFlags, TuneTellFlags
from nlpkit.cli.finetune_labels import KINDS
from nlpkit.cli.finetune_new import check_columns, columns_read, next_command, pieces, reading_of
from nlpkit.cli.finetune_scores import Guesses, put
from nlpkit.cli.finetune_tables import guess_columns
from nlpkit.errors import InputError, SchemaError, UsageError
from nlpkit.evaluation.options import GateOptions
from nlpkit.finetune.engine import Engine
from nlpkit.finetune.fit import Reading
from nlpkit.finetune.network import Network, predict
from nlpkit.finetune.tasks import Task, TaskKind
from nlpkit.io.artifacts import footer_block
from nlpkit.io.atomic import MANIFEST
from nlpkit.io.corpora import open_documents
from nlpkit.io.documents import add_column
from nlpkit.io.finetune_files import TunedConfig, foreign_task, load_foreign, load_tuned_network, read_config
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.run_reading import learned_from
from nlpkit.io.runs import open_run
from nlpkit.io.spool import spool_beside
from nlpkit.io.tables import is_readable, table_sink, write_dropped
from nlpkit.plain import shell_line
from nlpkit.workflows.corpus import no_documents, steps, warn_dropped

if TYPE_CHECKING:
    from nlpkit.cli.finetune_fit import Asked

SPELLED = {kind: spelled for spelled, kind in KINDS.items()}
# what else the outputs of a peft folder can mean, which does not say
OR_ELSE = {"single": "; --task labels if a document can have several", "regression": "; --task labels if it is a label"}


@dataclass(slots=True)
class Predictor:
    """A model that predicts. columns: what it reads beside the text; form: of another program's folder, that program."""

    task: Task
    columns: dict[str, Any]
    network: Network | None = None
    embedder: Any = None
    setfit: Any = None
    form: str | None = None

    def check(self) -> None:
        """Raise InputError when weights are NaN or infinite, as of a damaged file: every document would get the first class."""
        parts = {} if self.network is None else dict(self.network.model.named_parameters())
        if self.embedder is not None:
            parts |= self.embedder.parameters()
        heads = {} if self.setfit is None else self.setfit.linear.arrays()
        bad = [name for name, p in parts.items() if p.is_floating_point() and not bool(p.isfinite().all())]
        bad += [name for name, values in heads.items() if not np.isfinite(values).all()]
        if bad:
            raise InputError(f"the weights '{bad[0]}' of the model hold numbers that are not finite; train it again")

    def outputs(self, reading: Reading, engine: Engine) -> tuple[Any, int]:
        """Return the outputs of all documents, and how many were longer than the window."""
        if self.network is None:
            from nlpkit.finetune.embedder import embed_all

            read = self.embedder.read(reading.texts)
            return self.setfit.decision(embed_all(self.embedder, read, engine)), int((read.cut > 0).sum())
        inputs = reading.inputs(self.network)
        found = predict(self.network, inputs, np.arange(len(reading.texts)), engine)
        return found, int((inputs.cut > 0).sum())


def predict_new(asked: Asked) -> None:
    """Give documents the predictions of a model. Raises InputError, MissingError, ColumnError, UsageError."""
    model, data, run, out = asked.model, asked.data, asked.run, asked.out
    assert model.model is not None
    labels = _checked(asked)
    if run.dry_run:
        dry_predict(asked, labels)
        return
    target = out.target("predictions.parquet")
    device, precision = asked.train.hardware()
    base = None if model.base == TuneModelFlags().base else model.base
    with open_documents(asked.inputs, _read_options(asked)) as stream, spool_beside(target) as spool:
        predictor = load_predictor(
            model.model, base=base, device=device, offline=asked.train.offline, labels=labels, kind=KINDS.get(data.task),
            verify=run.verify,
        )  # fmt: skip
        if predictor.form is not None:
            kind = predictor.task.kind
            more = OR_ELSE.get(kind, "") if predictor.form == "peft" and data.task == "auto" else ""
            reporting.note(f"task: {SPELLED[kind]} ({model.model}/ of {predictor.form}{more})")
            if predictor.task.names and all(re.fullmatch(r"LABEL_\d+", name) for name in predictor.task.names):
                reporting.note(
                    f"its classes have no names: give them, in their order, with --labels {','.join(predictor.task.names[:3])}…"
                )
        predictor.columns = columns_read(
            model.model, predictor.columns, data, kind=predictor.task.kind,
            pairs=predictor.form is not None,
        )  # fmt: skip
        check_columns(stream.schema.names, predictor.columns, ", ".join(asked.inputs))
        for name in ("prediction", *(["prediction_prob"] if predictor.task.kind != "regression" else [])):
            if name in stream.schema.names:
                reporting.warn(f"the column '{name}' of the input is replaced")
        counts, schema = Counts(), stream.schema
        with (
            Engine(device, precision, threads=run.n_threads()) as engine,
            reporting.progress("predictions", None) as update,
        ):
            if asked.say.probabilities and predictor.task.kind not in ("single", "multi"):
                raise UsageError(
                    f"--probabilities is for classes, {model.model} predicts {SPELLED[predictor.task.kind]}; leave it out"
                )
            predictor.check()
            for batch in pieces(stream, predictor.columns):
                reading = reading_of(batch, predictor.columns, np.repeat(np.arange(len(stream.kept)), stream.kept))
                outputs, cut = predictor.outputs(reading, engine)
                found = columns_of(predictor.task, outputs, probabilities=asked.say.probabilities)
                counts.add(found["prediction"], cut)
                counts.empty += reading.n_empty
                counts.single += reading.n_single
                for name, column in found.items():
                    batch = add_column(batch, name, column)
                schema = batch.schema
                spool.write(batch)
                update(counts.documents)
        if not counts.documents:
            raise no_documents(stream)
        parameters = {"model": str(model.model), "task": predictor.task.kind, "classes": list(predictor.task.names)}
        is_run = (model.model / MANIFEST).is_file()
        known_files = learned_from(open_run(model.model, verify=False), stream.inputs) if is_run else []
        parameters |= {"learned_from": known_files} if known_files else {}
        block = footer_block(
            "documents", command="finetune", parameters=parameters, seed=run.seed, inputs=stream.inputs, steps=steps(stream)
        )  # fmt: skip
        with table_sink(target, schema, block, force=out.force) as sink:
            for batch in spool:
                sink.write(batch)
        dropped = write_dropped(target, stream.dropped, block)
    warn_dropped(stream, dropped)
    reporting.note(f"predictions for {wording.counted(counts.documents, 'document')} by {model.model}")
    if known_files:
        reporting.warn(console.learned_from(known_files, model.model))
    if counts.empty:
        reporting.note(f"{wording.counted(counts.empty, 'document')} without a word: predicted like any other")
    if counts.single:
        reporting.note(f"{wording.counted(counts.single, 'pair')} without a second text: read as if it were empty")
    if counts.cut:
        reporting.note(
            f"{wording.counted(counts.cut, 'document')} longer than the window of the model: the end is not seen"
        )
    told = {
        "output": target, "documents": counts.documents, "documents_cut": counts.cut, "predictions": counts.most_frequent_first()
    }  # fmt: skip
    if run.json:
        console.emit_json(told)
    elif target != "-":
        told_next = (
            next_command(target, schema, asked.read.label_col, predictor.task.kind) if is_readable(target) else None
        )
        if known_files and told_next is not None:
            told_next = shell_line("nlpkit", "evaluate", model.model)
        reporting.note(f"wrote {target}{'' if told_next is None else f'; next: {told_next}'}")


def dry_predict(asked: Asked, labels: list[str] | None) -> None:
    """Say what predicting would read, and raise what it would raise of a model or a column that is not there."""
    assert asked.model.model is not None
    folder, config = _opened(asked.model.model, verify=asked.run.verify)
    if config is not None:
        _refuse_own(asked.model.model, config.task, labels, KINDS.get(asked.data.task))
        task, own, pairs = config.task, dict(config.columns), False
    else:
        task, pairs = foreign_task(folder, labels, KINDS.get(asked.data.task))[1], True
        own = {"task": task.kind}
    columns = columns_read(asked.model.model, own, asked.data, kind=task.kind, pairs=pairs)
    with open_documents(asked.inputs, _read_options(asked)) as stream:
        check_columns(stream.schema.names, columns, ", ".join(asked.inputs))
    dry_run(asked.inputs, asked.read, embeds=True)


def _checked(asked: Asked) -> list[str] | None:
    """Return the names of --labels. Raises UsageError for options that predicting has no use for."""
    model, data = asked.model, asked.data
    columns = replace(
        TuneDataFlags(), pair_col=data.pair_col, words_col=data.words_col, context_by=data.context_by, task=data.task
    )
    if replace(model, model=None, labels=None, base=TuneModelFlags().base) != TuneModelFlags() or data != columns:
        raise UsageError("--model predicts; leave options on methods, labels and parts out")
    plain = TrainFlags(device=asked.train.device, precision=asked.train.precision, offline=asked.train.offline)
    if asked.train != plain:
        raise UsageError("--model predicts as it was trained; leave options on training out")
    table = "predictions.parquet" if asked.out.output in (None, "-") else asked.out.output
    if asked.gate != GateOptions():
        raise UsageError(f"gates are for scores: {shell_line('nlpkit', 'evaluate', table)} --fail-under …")
    if asked.say.ci != TuneTellFlags().ci:
        raise UsageError(f"--ci is for scores: {shell_line('nlpkit', 'evaluate', table, '--ci', f'{asked.say.ci:g}')}")
    if data.task not in TASKS:
        raise UsageError(f"--task {data.task}: there are {', '.join(TASKS)}")
    if model.labels is None:
        return None
    names = [name.strip() for name in model.labels.split(",")]
    if "" in names or len(set(names)) < len(names):
        raise UsageError(f"--labels {model.labels}: a name for each class is needed, each another, such as no,yes")
    return names


@dataclass(slots=True)
class Counts:
    """What predicting came to.

    cut: documents longer than the window; empty: without a word; single: pairs without a second text;
    labels: how often each was given, of numbers none.
    """

    documents: int = 0
    cut: int = 0
    empty: int = 0
    single: int = 0
    labels: Counter[str] = field(default_factory=Counter)

    def add(self, predictions: pa.Array, cut: int) -> None:
        """Count one more batch."""
        self.documents += len(predictions)
        self.cut += cut
        if pa.types.is_floating(predictions.type):
            return
        for value in predictions.to_pylist():
            self.labels.update(label for label in (value if isinstance(value, list) else [value]) if label is not None)

    def most_frequent_first(self) -> dict[str, int]:
        """Return the labels with their numbers."""
        return dict(self.labels.most_common())


def load_predictor(
    run_or_folder: Path, *, base: str | None, device: Any, offline: bool, labels: list[str] | None = None,
    kind: TaskKind | None = None, verify: bool = True,
) -> Predictor:  # fmt: skip
    """Return the model of a run or of a folder: nlpkit's own, of transformers or peft.

    Args:
        labels: names of the classes, of another program's folder; kind: of a task, where a folder of peft does not say;
            verify: refuse a run whose files were changed since it was written.

    Raises:
        InputError: it is none of these; MissingError: the model it was trained on is not there; UsageError: labels or kind do not
            fit, or the folder has its own.
    """
    folder, config = _opened(run_or_folder, verify=verify)
    if config is not None:
        _refuse_own(run_or_folder, config.task, labels, kind)
        if config.format in ("setfit", "transformers"):
            _refuse_base(run_or_folder, base)
        if config.format == "setfit":
            return _own_setfit(folder, config, device)
        network = load_tuned_network(folder, config, base=base, device=device, offline=offline)
        return Predictor(config.task, dict(config.columns), network)
    form, task = foreign_task(folder, labels, kind)
    if form == "transformers":
        _refuse_base(folder, base)
    network = load_foreign(folder, form, task, base=base, device=device, offline=offline)
    return Predictor(task, {"task": task.kind}, network, form=form)


def _opened(folder: Path, *, verify: bool) -> tuple[Path, TunedConfig | None]:
    """Return the folder of the model, which a run has inside, and what nlpkit wrote of it, None for another program's."""
    if (folder / MANIFEST).is_file():
        run = open_run(folder, ["finetune", "finetune-comparison"], verify=verify)
        if run.manifest["kind"] == "finetune-comparison":
            line = run.manifest["results"].get("train_best")
            raise SchemaError(
                f"{folder} is a comparison, which keeps no model; train the best one: {line or 'nlpkit finetune --method …'}"
            )
        folder = run.folder(f"model/{run.model_config('format')['format']}")
    if not folder.is_dir():
        raise InputError(
            f"there is no model {folder}; train one: {shell_line('nlpkit', 'finetune', 'TRAIN.jsonl', '-o', folder)}"
        )
    return folder, read_config(folder)


def _read_options(asked: Asked) -> ReadOptions:
    """Return how new documents are read: they need no label, and where the model labels words, no text."""
    assert asked.model.model is not None
    own = asked.data.words_col
    words = own if own != TuneDataFlags().words_col else _words_column(asked.model.model)
    options: ReadOptions = replace(asked.read, words_col=words, label_col="label")
    return options


def _words_column(folder: Path) -> str | None:
    """Return where the words are that a model labels, None for one of texts."""
    _, config = _opened(folder, verify=False)  # load_predictor looks at its files
    if config is not None and config.task.kind != "tokens":
        return None
    return str((config.columns if config else {}).get("words", TuneDataFlags().words_col))


def _refuse_own(folder: Path, task: Task, labels: list[str] | None, kind: TaskKind | None) -> None:
    if labels is not None:
        names = f": {', '.join(task.names[:10])}{', …' if len(task.names) > 10 else ''}" if task.names else ", a number"
        raise UsageError(f"{folder} was trained by nlpkit and says what it predicts{names}; leave --labels out")
    if kind is not None:
        raise UsageError(f"{folder} was trained by nlpkit and says its task: {SPELLED[task.kind]}; leave --task out")


def _refuse_base(folder: Path, base: str | None) -> None:
    if base is not None:
        raise UsageError(f"{folder} is a whole model and needs no --base; leave it out")


def _own_setfit(folder: Path, config: TunedConfig, device: Any) -> Predictor:
    from safetensors.numpy import load_file

    from nlpkit.finetune.embedder import load_embedder
    from nlpkit.finetune.setfit import SetFitModel

    embedder = load_embedder(folder, max_tokens=config.max_tokens, device=device)
    try:
        model = SetFitModel.restored(config.columns["setfit"], load_file(folder / "head.safetensors"))
    except Exception as error:  # safetensors has an error of its own
        raise InputError(f"{folder} is damaged ({error}); train the model again") from None
    return Predictor(config.task, {}, None, embedder, model)


def columns_of(task: Task, outputs: Any, *, probabilities: bool) -> dict[str, pa.Array]:
    """Return the columns of predictions of outputs (n, J), or of words one array per document."""
    n = len(outputs)
    rows = np.arange(n)
    if task.kind == "regression":
        guesses = Guesses(values=np.full(n, np.nan))
    elif task.kind == "tokens":
        guesses = Guesses(tags=[None] * n, tag_probs=[None] * n)
    else:
        from nlpkit.classify.classifier import Predicted

        J = len(task.names)
        multiple = task.kind == "multi"
        sets = np.zeros((n, J), bool) if multiple else None
        codes = None if multiple else np.full(n, -1, np.int32)
        guesses = Guesses(Predicted(np.full((n, J), np.nan), np.full((n, J), np.nan), codes, sets))
    put(guesses, task, rows, outputs)
    return guess_columns(task, guesses, rows, probabilities=probabilities)
