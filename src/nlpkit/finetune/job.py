"""The preparation of a fine-tuning: options, documents, base model and methods, all checked before it starts.

Parts, in this order:
- The models that fine-tuning starts from.
- Which methods can learn a task with a base model, and the one that suits a number of documents.
- The checked job.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from nlpkit.classify.kinds import FEW
from nlpkit.embed.models import ModelFiles, find_model, folder_problem, weights_fingerprint
from nlpkit.errors import MissingError, UsageError
from nlpkit.finetune.comparison import Draw
from nlpkit.finetune.data.checks import check_sequences, note_dataset, warn_small_classes
from nlpkit.finetune.data.dataset import FinetuneDataset
from nlpkit.finetune.data.read import check_held_out_files, read_dataset, read_unlabelled
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.foreign_files import ModelFolder, base_name
from nlpkit.finetune.methods import Material, Method, check_use, parse_method
from nlpkit.finetune.options import BATCH_SIZE, DatasetOptions, FinetuneOptions, HardwareOptions, TrainingOptions
from nlpkit.finetune.patterns.files import patterns_of, read_patterns
from nlpkit.finetune.patterns.patterns import Patterns
from nlpkit.finetune.patterns.seq2seq import is_seq2seq
from nlpkit.finetune.protocol import TOTALS
from nlpkit.finetune.resume import TrainingStore
from nlpkit.finetune.scores import check_bounds
from nlpkit.finetune.setfit.adasent import sept_folder
from nlpkit.finetune.tasks import CLASSES, ONE_CLASS
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.trials import TrialRunner
from nlpkit.metrics.gates import GateRules
from nlpkit.metrics.score import Uncertainty
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import as_corpus
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.atomic import check_target
from nlpkit.platform.runs.provenance import Provenance, stopwatch
from nlpkit.platform.runs.reading import check_encoder
from nlpkit.platform.runs.runs import RunTables, new_run
from nlpkit.platform.runs.saving import save_run

SAMPLE, MUCH = 1000, 0.02  # texts whose tokens are looked up; the share of unknown ones from which on it is a warning


def find_base(name: str, *, verify: bool, offline: bool) -> ModelFiles:
    """Return a model by its folder or name.

    Raises:
        MissingError: it is nowhere, or cannot be trained; InputError: it lies in a run whose files were changed.
    """
    check_encoder(name, verify=verify)
    files = find_model(name, offline=offline)
    if problem := folder_problem(files.path):
        raise MissingError(
            f"{files.name} embeds texts, but cannot be trained ({files.path} {problem}); for classes: `embed()` with "
            f"`model={name}`, then `train_classifier(on=embedding)`"
        )
    return files


def warn_unknown_tokens(files: ModelFiles, texts: Sequence[str]) -> None:
    """Warn when the vocabulary of a model lacks many tokens of the first texts: it is of another language."""
    from nlpkit.embed.models import read_layout
    from nlpkit.embed.token_ids import load_tokenizer, unknown_share

    layout = read_layout(files.path)
    if layout is None or not (layout.folder / "tokenizer.json").is_file():
        return
    share = unknown_share(load_tokenizer(layout), texts[:SAMPLE])
    if share >= MUCH:
        reporting.warn(
            f"{share:.1%} of the tokens are not in the vocabulary of {files.name}; see `base` for a model of the language"
        )


# ------------------------------------------------------------------------------------------------------------------------
# Which methods can learn a task with a base model, and the one that suits a number of documents.


def suited_methods(
    dataset: FinetuneDataset, methods: Sequence[Method], patterns: Patterns | None, options: DatasetOptions, *, seq2seq: bool,
    compares: bool,
) -> list[Method]:  # fmt: skip
    """Return the methods that can learn the task, and note the others. Raises UsageError where there is one method, or none is left."""
    material = Material(
        dataset.kind, dataset.plain, dataset.labels.shares is not None, dataset.context is not None,
        None if patterns is None else len(patterns.texts), options.unlabelled is not None, seq2seq,
    )  # fmt: skip
    problems = {method.spelling: method.refuses(material) for method in methods}
    left_out = dict.fromkeys(problem for problem in problems.values() if problem)
    suited = [method for method in methods if not problems[method.spelling]]
    for problem in left_out:
        if not compares or not suited:
            raise UsageError(f"{problem}; use another `method`", parameter="method")
        reporting.note(f"{problem}: left out")
    return suited


def suited_method(dataset: FinetuneDataset, sizes: Sequence[int | None]) -> Method:
    """Return the method for all numbers of shots, and say why. Raises UsageError where it is not one for all."""
    suited = [_suited(dataset, shots) for shots in sizes]
    names = list(dict.fromkeys(name for name, _ in suited))
    if len(names) > 1:
        each = ", ".join(f"{name} for {'all' if s is None else s}" for s, (name, _) in zip(sizes, suited, strict=True))
        unit = "documents" if dataset.by_total else "documents a class"
        raise UsageError(
            f"`method=auto` is {each} {unit}; name the methods to compare: `method={','.join(names)}`",
            parameter="method",
        )
    reporting.note(f"`method=auto`: {names[0]} ({suited[0][1]})")
    return parse_method(names[0])


def _suited(dataset: FinetuneDataset, size: int | None) -> tuple[str, str]:
    """Return setfit for few documents of classes, LoRA for many classes, else full fine-tuning; and why."""
    J = max(1, len(dataset.labels.names))
    n = len(dataset.rounds[0][0]) if size is None else size if dataset.by_total else size * J
    of_class = n / J
    classes = dataset.kind in CLASSES
    name = "setfit" if dataset.plain and of_class < FEW else "full"
    why = f"{of_class:.0f} training documents a class" if classes else f"task {dataset.kind}"
    if name == "setfit" and dataset.kind == "single" and BATCH_SIZE < J:
        name, why = "lora", f"{why}; {J} classes, whose pairs take long and gain nothing more"
    return name, why


# ------------------------------------------------------------------------------------------------------------------------
# What is known before a fine-tuning starts: options, documents, base model and methods, all checked.

KINDS = {
    "options": FinetuneOptions, "dataset": DatasetOptions, "training": TrainingOptions, "hardware": HardwareOptions,
    "execution": Execution,
}  # fmt: skip


@dataclass(slots=True)
class FinetuneJob:
    """What is known before training. sizes: of the samples, None for all documents; seconds: of each stage, filled on the way;
    adapters: sha256 of those of sentence vectors that AdaSent takes."""

    options: FinetuneOptions
    dataset_options: DatasetOptions
    training: TrainingOptions
    execution: Execution
    device: Any
    precision: str
    dataset: FinetuneDataset
    provenance: Provenance
    files: ModelFiles
    methods: list[Method]
    sizes: list[int | None]
    reading: dict[str, Any]
    uncertainty: Uncertainty
    rules: GateRules
    patterns: Patterns | None = None
    unlabelled: TextInputs | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    adapters: list[str] = field(default_factory=list)

    @property
    def seeds(self) -> list[int]:
        """The seeds of the trainings."""
        return [self.execution.seed + i for i in range(self.options.seeds)]

    @property
    def draws(self) -> list[Draw]:
        """The samples of a comparison, and the seeds of the trainings on each: of a protocol crossed, else one training on each."""
        protocol, first = self.options.repeated(), self.execution.seed
        if protocol is None:
            return [Draw(seed, [seed]) for seed in self.seeds]
        seeds = [first + i for i in range(protocol.repeats)]
        return [Draw(first + i, seeds, crossed=True) for i in range(protocol.samples)]

    def parameters(self) -> dict[str, Any]:
        """Return what footers and manifests say of the training."""
        return {
            "task": self.dataset.kind,
            "base": base_name(self.files),
            "base_sha256": weights_fingerprint(self.files.path),
            "methods": [method.spelling for method in self.methods],
            "quantize": self.options.quantize,
            "double_quant": self.options.double_quant,
            "shots": self.sizes if not self.dataset.by_total else None,
            "totals": self.sizes if self.dataset.by_total else None,
            "seeds": self.seeds,
            "protocol": None if self.options.protocol is None else self.options.repeated().spelling,  # type: ignore[union-attr]
            "classes": list(self.dataset.names),
            "crf": self.dataset.crf,
            "learning": self.training.plain(self.methods),
            "precision": self.precision,
            "device": self.device.type,
            **self.dataset_options.plain(),
            **({} if self.patterns is None else self.patterns.plain()),
            **({} if self.unlabelled is None else {"unlabelled": len(self.unlabelled.texts)}),
            **({"adapters_sha256": self.adapters} if self.adapters else {}),
        }

    def identity(self) -> dict[str, Any]:
        """Return what a checkpoint belongs to."""
        parameters = {n: v for n, v in self.parameters().items() if n != "twins"}  # looked for after training
        inputs = [info.sha256 for info in self.provenance.inputs]
        return {**parameters, "inputs": inputs, "reading": self.reading, "merge": self.options.merge}

    def save(
        self, kind: str, files: RunTables, path: str | Path, *, results: Mapping[str, Any], further: Mapping[str, Any] | None = None,
        force: bool,
    ) -> Path:  # fmt: skip
        """Write a run; footers have no facts of the training, such as seconds: the same training, the same bytes."""
        run = new_run(
            kind, files, self.provenance, command="finetune", parameters=self.parameters(), further=further, results=results,
            execution=self.execution, seconds=self.seconds,
        )  # fmt: skip
        return save_run(run, path, force=force)

    @contextmanager
    def runner(self, store: TrainingStore) -> Iterator[TrialRunner]:
        """Yield what runs the trainings; what is done and under way is kept in a store."""
        columns = {
            "pair": self.dataset_options.pair_col, "context": self.dataset_options.context,
            "context_by": self.dataset_options.context_by, "words": self.dataset_options.words_col, "task": self.dataset.kind,
            "overlap": self.dataset_options.overlap,
        }  # fmt: skip
        folder = ModelFolder(self.files, store.checkpoint, columns, self.options.merge)
        with (
            Engine(self.device, self.precision, threads=self.execution.n_threads()) as engine,
            store.reporting_interrupts(),
            stopwatch(self.seconds, "train"),
        ):
            yield TrialRunner(
                self.files.path,
                self.training,
                engine,
                store.checkpoint,
                folder,
                self.patterns,
                self.unlabelled,
                self.options.quantization(),
            )


def prepare(
    data: Any, records: Sequence[Any], settings: Mapping[str, Any], gates: GateRules | None, *, several: bool | None
) -> FinetuneJob:
    """Read documents and model, and refuse what cannot be trained.

    Args:
        records: of KINDS, None for the defaults; settings: single options. several: whether methods are compared, None for either.

    Raises:
        UsageError, InputError, ColumnError, MissingError: see `nlpkit.finetune.run.finetune`.
    """
    options, dataset_options, training, hardware, execution = with_settings(records, settings, tuple(KINDS.values()))
    protocol = options.repeated()
    if protocol is not None and dataset_options.shots is None and dataset_options.totals is None:
        dataset_options = replace(dataset_options, totals=TOTALS)
    uncertainty, rules = Uncertainty(options.level(), execution.seed), gates or GateRules()
    methods, sizes = options.methods(), dataset_options.sizes()
    compares = options.compares(dataset_options)
    _check_number(several, compares=compares)
    _check_outputs(options, compares=compares)
    options.quantization()
    if methods is not None:
        _check_written(options, methods)
    check_held_out_files(dataset_options)
    patterns = _patterns_of(options, dataset_options, methods or [])
    device, precision = hardware.chosen()
    corpus = as_corpus(data)
    seconds: dict[str, float] = {}
    with stopwatch(seconds, "read"):
        dataset, provenance = read_dataset(corpus, dataset_options, seed=execution.seed)
    files = find_base(options.base, verify=execution.verify, offline=hardware.offline)
    if methods is None:
        methods = [suited_method(dataset, sizes)]
        _check_written(options, methods)
    methods = suited_methods(
        dataset, methods, patterns, dataset_options, seq2seq=is_seq2seq(files.path), compares=compares
    )
    if training.pooling != "auto":
        check_use("pooling", methods)
    training = training.on(files.path, dataset.kind)
    septs = [sept_folder(str(method.options["sept"])) for method in methods if method.options.get("sept")]
    if patterns is not None:
        one_gap = any("patterns" in method.kind.uses and not method.kind.decoder for method in methods)
        patterns.check(
            pairs=dataset.second is not None, labels=dataset.names, masks=(1, math.inf) if one_gap else (0, 1)
        )
    unlabelled = None
    if dataset_options.unlabelled is not None:
        with stopwatch(seconds, "read"):
            unlabelled, infos = read_unlabelled(corpus, dataset_options)
        provenance.inputs += infos
        _note_unlabelled(dataset, unlabelled)
    if training.head_lr is not None:
        check_use("head_lr", methods)
    _check_task(options, dataset_options, training, rules, dataset)
    _check_dev(training, methods, patterns, dev=len(dataset.dev) > 0)
    note_dataset(dataset.drawn(sizes[0], seed=execution.seed))
    warn_small_classes(dataset, sizes, seed=execution.seed)
    warn_unknown_tokens(files, dataset.texts)
    return FinetuneJob(
        options, dataset_options, training, execution, device, precision, dataset, provenance, files, methods, sizes,
        asdict(corpus.options), uncertainty, rules, patterns, unlabelled, seconds, [weights_fingerprint(folder) for folder in septs],
    )  # fmt: skip


def _check_number(several: bool | None, *, compares: bool) -> None:
    """Raise UsageError for one method where several are compared, and for several where one is trained."""
    if several is not None and several != compares:
        raise UsageError(
            "several methods, numbers of documents or a `protocol` are for compare_methods"
            if compares
            else "compare_methods needs several methods or numbers of documents; for one, use finetune",
            parameter="method",
        )


def _check_outputs(options: FinetuneOptions, *, compares: bool) -> None:
    """Raise UsageError for models and predictions beside the run that a comparison does not keep, or that cannot be written."""
    if compares and (options.merge or options.export is not None):
        raise UsageError(
            "a comparison does not save a model; leave `merge` and `export` out, or use one `method` and one `shots`"
        )
    if compares and options.probabilities:
        raise UsageError(
            "a comparison does not save predictions; leave `probabilities` out, or use one `method` and one `shots`",
            parameter="probabilities",
        )
    if options.export is None:
        return
    if options.export.exists():
        raise UsageError(
            f"`export={options.export}` exists; `force` is for `output` only: move it away, or name another folder",
            parameter="export",
        )
    check_target(options.export, force=False, directory=True)


def _check_written(options: FinetuneOptions, methods: Sequence[Method]) -> None:
    """Raise UsageError for a model that a method does not write, or a base that it cannot be added to."""
    asked = {"merge": options.merge, "export": options.export is not None, "quantize": options.quantize}
    for name, value in asked.items():
        if value:
            check_use(name, methods, value, each=True)


def _check_task(
    options: FinetuneOptions, dataset_options: DatasetOptions, training: TrainingOptions, rules: GateRules,
    dataset: FinetuneDataset,
) -> None:  # fmt: skip
    """Raise UsageError for options that this task has no use for, InputError for labels that no CRF can learn."""
    if options.protocol is not None and dataset.kind not in ("single", "multi"):
        raise UsageError(
            f"`protocol` votes among classes, but the task is {dataset.describe_task()}", parameter="protocol"
        )
    check_bounds(rules.bounds, dataset)
    uses = {
        "class_weight": (training.balanced, (*CLASSES, "tokens")),
        "label_sep": (dataset_options.label_sep is not None, ("multi",)),
        "probabilities": (options.probabilities, CLASSES),
        "crf": (options.crf, ("tokens",)),
        "calibrate": (training.calibrate, ONE_CLASS),
    }
    if options.crf and training.balanced:
        raise UsageError(
            "`class_weight` weights single words, but `crf` learns whole label sequences; keep one",
            parameter="class_weight",
        )
    for name, (is_set, kinds) in uses.items():
        if is_set and dataset.kind not in kinds:
            raise UsageError(
                f"`{name}` is not for {dataset.describe_task()}; leave it out, or see `task`", parameter=name
            )
    if options.crf:
        check_sequences(dataset)
        dataset.crf = True


def _check_dev(training: TrainingOptions, methods: Sequence[Method], patterns: Patterns | None, *, dev: bool) -> None:
    """Raise UsageError for options that need dev documents, and note where these are of no use."""
    training.check_patience(dev=dev)
    if training.calibrate and not dev:
        raise UsageError(
            "`calibrate` needs dev documents; name them with `dev`, or in `split`",
            parameter="calibrate",
        )
    if training.calibrate and patterns is not None:
        raise UsageError("`calibrate` does not work for methods with patterns; leave it out", parameter="calibrate")
    if dev and not training.calibrate and any("dev" not in method.kind.uses for method in methods):
        reporting.note("setfit does not stop early, so its dev documents are not used")


def _patterns_of(
    options: FinetuneOptions, dataset_options: DatasetOptions, methods: Sequence[Method]
) -> Patterns | None:
    """Return the patterns of PET and its kin. Raises UsageError for patterns and unlabelled texts that no method reads."""
    if options.patterns is not None:
        check_use("patterns", methods)
    if dataset_options.unlabelled is not None:
        check_use("unlabelled", methods)
    if isinstance(options.patterns, str | Path):
        return read_patterns(Path(options.patterns))
    return None if options.patterns is None else patterns_of(options.patterns)


def _note_unlabelled(dataset: FinetuneDataset, unlabelled: TextInputs) -> None:
    """Say how many unlabelled texts there are, and how many of them are test documents."""
    texts, test = dataset.texts, set(dataset.tested().tolist())
    tested = {texts[d] for d in test}
    both = sum(text in tested for text in unlabelled.texts)
    reporting.note(wording.counted(len(unlabelled.texts), "unlabelled text"))
    if both:
        reporting.warn(
            f"{wording.counted(both, 'unlabelled text')} that also test the model: it learns from their text"
        )
