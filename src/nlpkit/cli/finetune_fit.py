"""`nlpkit finetune TRAIN`: read, train, score what was not seen, write the run with its model, show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlpkit import reporting, wording
from nlpkit.classify.splits import DEV, TEST
from nlpkit.cli.finetune_cells import FINAL, Bench, Cell, Done, base_name, say_unknown
from nlpkit.cli.finetune_compare import compare
from nlpkit.cli.finetune_corpus import TuneDocuments, read_tuning_documents, with_shots
from nlpkit.cli.finetune_estimate import loads_of, say_estimate
from nlpkit.cli.finetune_flags import FEW, TrainFlags, TuneDataFlags, TuneModelFlags, TuneTellFlags
from nlpkit.cli.finetune_run import Work, write_compared, write_trained
from nlpkit.cli.finetune_tables import say_twins
from nlpkit.embed.models import find_model, weights_fingerprint
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluation.gates import GateRules
from nlpkit.evaluation.multilabel import SCORES
from nlpkit.evaluation.options import GateOptions
from nlpkit.evaluation.predictions import CALIBRATION, DEFAULT_CLASSIFICATION
from nlpkit.evaluation.regression import REGRESSION
from nlpkit.evaluation.token_labels import SPANS, WORDS
from nlpkit.finetune.engine import Engine
from nlpkit.finetune.fit import Learning
from nlpkit.finetune.methods import Method, parse_method
from nlpkit.interrupts import report_checkpoint_on_interrupt
from nlpkit.io.atomic import check_target
from nlpkit.io.finetune_checkpoints import Checkpoint
from nlpkit.io.run_reading import check_encoder
from nlpkit.io.runs import stopwatch
from nlpkit.io.score_files import read_gates
from nlpkit.io.sources import missing_path
from nlpkit.metrics.score import Uncertainty
from nlpkit.metrics.spans import are_bio

if TYPE_CHECKING:
    from nlpkit.cli.options import OutputFlags, RunFlags
    from nlpkit.io.read_options import ReadOptions


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for, of all groups of options."""

    inputs: list[str]
    data: TuneDataFlags
    model: TuneModelFlags
    train: TrainFlags
    say: TuneTellFlags
    gate: GateOptions
    out: OutputFlags
    read: ReadOptions
    run: RunFlags


def fit(asked: Asked) -> None:
    """Train, score and write a run. Raises what its steps raise, QualityGateError when a gate fails."""
    data, model, run = asked.data, asked.model, asked.run
    for flags in (data, model, asked.train):
        flags.check()
    asked.train.check_patience(dev=data.dev is not None or data.split is not None)
    how = Uncertainty(asked.say.level(), run.seed)
    rules = read_gates(asked.gate)
    methods, sizes = model.methods(), data.sizes()
    target = asked.out.run_target(asked.inputs, "finetune")
    if asked.gate.markdown and run.json:
        raise UsageError("--markdown and --json both write to stdout; metrics.json in the run has the scores")
    if data.negative_col is not None:
        raise UsageError("--negative-col is for --objective triplet and mnrl; leave it out")
    if model.labels is not None:
        raise UsageError("--labels names the classes of a --model; to learn, see --label-col")
    compares = len(sizes) > 1 or (methods is not None and len(methods) > 1)
    _check_extras(model, methods, compares=compares)
    if compares:
        _refuse_gates(asked)
    for path, option in ((data.test, "--test"), (data.dev, "--dev")):
        if path is not None and not path.exists():
            raise InputError(f"{option} {missing_path(path)}")
    device, precision = asked.train.hardware()
    seconds: dict[str, float] = {}
    with stopwatch(seconds, "read"):
        documents = read_tuning_documents(asked.inputs, data, asked.read, seed=run.seed)
    check_encoder(model.base, verify=asked.run.verify)
    files = find_model(model.base, offline=asked.train.offline)
    if methods is None:
        methods = [_auto(documents, sizes)]
        _check_extras(model, methods, compares=compares)
    _refuse_setfit(documents, methods, compares=compares)
    if asked.train.head_lr is not None and [m.name for m in methods] == ["setfit"]:
        raise UsageError("--head-lr is for networks; of setfit see setfit(head=differentiable,head_rate=0.01)")
    _check_bounds(rules, documents)
    _refuse_unfit(asked, documents)
    asked.train.check_patience(dev=bool((documents.split == DEV).any()))
    seeds = [run.seed + i for i in range(asked.train.seeds)]
    if any(m.name == "setfit" for m in methods) and (documents.split == DEV).any():
        reporting.note("setfit does not stop early: its dev documents are not looked at")
    shown = with_shots(documents, sizes[0], seed=run.seed)
    _say_documents(shown)
    _say_few([with_shots(documents, own, seed=run.seed) for own in sizes], sizes)
    say_unknown(files, documents.texts)
    learning = _learning(asked.train)
    if run.dry_run:
        loads = loads_of(documents, methods, sizes, seeds=len(seeds), learning=learning, seed=run.seed)
        say_estimate(
            loads, files.path, documents.texts, dropped=len(documents.provenance.dropped), threads=run.n_threads(),
            gpu=device.type != "cpu", window=learning.max_tokens,
        )  # fmt: skip
        return
    parameters = {
        "task": documents.kind,
        "base": base_name(files),
        "base_sha256": weights_fingerprint(files.path),
        "methods": [m.spelling for m in methods],
        "shots": sizes,
        "seeds": seeds,
        "classes": list(documents.tag_names if documents.kind == "tokens" else documents.labels.names),
        "learning": {n: getattr(learning, n) for n in Learning.__dataclass_fields__},
        "precision": precision,
        "device": device.type,
        **_data_parameters(data),
    }
    said = {n: v for n, v in parameters.items() if n != "twins"}  # looked for after training
    identity = {
        **said, "inputs": [i.sha256 for i in documents.provenance.inputs], "reading": asdict(asked.read), "merge": model.merge
    }  # fmt: skip
    checkpoint = Checkpoint(target, identity, resume=asked.train.resume, force=asked.out.force)
    if asked.train.resume and not checkpoint.found:
        reporting.warn(f"there is no checkpoint {checkpoint.path}: starting anew", always=True)
    columns = {
        "pair": data.pair_col,
        "context": data.context,
        "context_by": data.context_by,
        "words": data.words_col,
        "task": documents.kind,
    }
    threads = run.n_threads()
    work = Work(asked, target, documents, parameters, checkpoint, seconds)
    with Engine(device, precision, threads=threads) as engine:
        bench = Bench(files, learning, engine, checkpoint, columns, model.merge)
        with report_checkpoint_on_interrupt("training", checkpoint.path), stopwatch(seconds, "train"):
            if compares:
                rows = compare(bench, documents, methods, sizes, seeds)
            else:
                by_seed = _train(bench, documents, methods[0], sizes[0], seeds)
    if compares:
        say_twins(documents, sizes, data.twins, seed=run.seed)
        write_compared(work, rows)
    else:
        write_trained(work, by_seed, rules, how)


def _train(
    bench: Bench, documents: TuneDocuments, method: Method, shots: int | None, seeds: list[int]
) -> dict[int, list[Done]]:
    """Return the trainings of every seed; the model of the last one of the first seed is kept."""
    found: dict[int, list[Done]] = {}
    for number, seed in enumerate(seeds):
        own = with_shots(documents, shots, seed=seed)
        if not documents.n_folds:
            found[seed] = [bench.run(Cell(method, shots, seed), own, keep=number == 0)]
            continue
        found[seed] = [bench.run(Cell(method, shots, seed, fold), own, keep=False) for fold in range(documents.n_folds)]
        if number == 0:
            found[seed].append(bench.run(Cell(method, shots, seed, FINAL), own, keep=True))
    return found


def _check_bounds(rules: GateRules, documents: TuneDocuments) -> None:
    """Raise UsageError for a gate on a score that this task does not have, before training."""
    possible = {
        "single": (*DEFAULT_CLASSIFICATION, *CALIBRATION), "multi": SCORES, "regression": REGRESSION,
        "tokens": (*WORDS, *(SPANS if are_bio(documents.tag_names) else ())),
    }[documents.kind]  # fmt: skip
    for bound in rules.bounds:
        if bound.metric and bound.metric not in possible:
            raise UsageError(f"a gate on {bound.metric}: there are {', '.join(possible)}")


def _refuse_unfit(asked: Asked, documents: TuneDocuments) -> None:
    """Raise UsageError for options that this task has no use for."""
    flags = {
        "--class-weight": (asked.train.class_weight != "none", ("single", "multi", "tokens")),
        "--label-sep": (asked.data.label_sep is not None, ("multi",)),
        "--probabilities": (asked.say.probabilities, ("single", "multi")),
    }
    for option, (given, kinds) in flags.items():
        if given and documents.kind not in kinds:
            raise UsageError(f"{option} is not for {_task(documents)}; leave it out, or see --task")


def _auto(documents: TuneDocuments, sizes: Sequence[int | None]) -> Method:
    """Return the method for all numbers of documents, and say why. Raises UsageError where it is not one for all."""
    found = [_suited(documents, shots) for shots in sizes]
    names = list(dict.fromkeys(name for name, _ in found))
    if len(names) > 1:
        each = ", ".join(f"{name} for {'all' if s is None else s}" for s, (name, _) in zip(sizes, found, strict=True))
        raise UsageError(
            f"--method auto is {each} documents a class; say what is compared: --method '{','.join(names)}'"
        )
    reporting.note(f"--method auto: {names[0]} ({found[0][1]})")
    return parse_method(names[0])


def _suited(documents: TuneDocuments, shots: int | None) -> tuple[str, str]:
    """Return setfit for few documents of classes, of many classes without its pairs, else full fine-tuning; and why."""
    plain = documents.second is None and documents.context is None
    J = max(1, len(documents.labels.names))
    train, _ = documents.rounds[0]
    each = shots if shots is not None else len(train) / J
    name = "setfit" if documents.kind in ("single", "multi") and plain and each < FEW else "full"
    why = (
        f"{each:.0f} training documents a class" if documents.kind in ("single", "multi") else f"task {documents.kind}"
    )
    if name == "setfit" and documents.kind == "single" and Learning().batch < J:
        name, why = "setfit(epochs=0)", f"{why}; {J} classes, whose pairs take long and gain little"
    return name, why


def _check_extras(model: TuneModelFlags, methods: list[Method] | None, *, compares: bool) -> None:
    if compares and (model.merge or model.export is not None):
        raise UsageError(
            "a comparison keeps no model; leave --merge and --export out, or take one --method and one --shots"
        )
    if model.merge and not (methods and methods[0].name in ("lora", "dora")):
        raise UsageError("--merge adds the updates of lora or dora to the weights; it goes with --method lora or dora")
    if model.export is not None:
        if methods is not None and methods[0].name != "setfit":
            raise UsageError(
                "--export writes a folder for the setfit library; what other methods leave in model/ loads as it is"
            )
        if model.export.exists():
            raise UsageError(
                f"--export {model.export} exists; --force is for -o only: move it away, or name another folder"
            )
        check_target(model.export, force=False, directory=True)


def _refuse_gates(asked: Asked) -> None:
    """Raise UsageError for options on the scores and predictions of one model, of which a comparison has several."""
    if replace(asked.gate, markdown=False) != GateOptions():
        raise UsageError(
            "gates and --junit are for one model; a comparison has several, so take one --method and one --shots"
        )
    if asked.say.probabilities:
        raise UsageError(
            "a comparison keeps no predictions; leave --probabilities out, or take one --method and one --shots"
        )


def _refuse_setfit(documents: TuneDocuments, methods: list[Method], *, compares: bool) -> None:
    fits = documents.kind in ("single", "multi") and documents.second is None and documents.context is None
    if fits or not any(m.name == "setfit" for m in methods):
        return
    message = "setfit learns classes from one text a document, not numbers, words, pairs or context"
    if not compares:
        raise UsageError(f"{message}; take another --method")
    reporting.note(f"{message}: left out")
    methods[:] = [m for m in methods if m.name != "setfit"]


def _learning(flags: TrainFlags) -> Learning:
    usual = Learning()
    return Learning(
        flags.epochs, flags.max_steps, flags.batch_size or usual.batch, flags.lr,
        usual.warmup if flags.warmup is None else flags.warmup, flags.weight_decay, flags.patience,
        flags.class_weight == "balanced", flags.max_tokens, flags.head_lr,
    )  # fmt: skip


def _data_parameters(data: TuneDataFlags) -> dict[str, Any]:
    found = {n: getattr(data, n) for n in TuneDataFlags.__dataclass_fields__ if n not in ("shots", "task")}
    return {n: str(v) if isinstance(v, Path) else v for n, v in found.items()}


def _say_few(drawn: Sequence[TuneDocuments], sizes: Sequence[int | None]) -> None:
    """Warn of classes that have fewer documents than --shots asks for."""
    for documents, asked in zip(drawn, sizes, strict=True):
        if asked is None:
            continue
        own = documents.labels.sizes(documents.train).tolist()
        few = [f"'{n}' ({k})" for n, k in zip(documents.labels.names, own, strict=True) if k < asked]
        if few:
            reporting.warn(
                f"classes with fewer than {asked} documents: {', '.join(few[:5])}{' …' if len(few) > 5 else ''}"
            )


def _task(documents: TuneDocuments) -> str:
    """Return what the labels were taken for."""
    names = documents.tag_names if documents.kind == "tokens" else documents.labels.names
    return {
        "single": wording.counted(len(names), "class", "classes"),
        "multi": f"several of {wording.counted(len(names), 'label')} a document",
        "regression": "numbers",
        "tokens": f"{wording.counted(len(names), 'label')} of words",
    }[documents.kind]


def _say_documents(documents: TuneDocuments) -> None:
    part, known = documents.split, documents.labels.known
    if documents.n_folds:
        said = f"{wording.counted(int((part >= 0).sum()), 'document')} in {documents.n_folds} folds"
    else:
        train, test = documents.rounds[0]
        dev = f", {len(documents.dev):,} dev" if (part == DEV).any() else ""
        said = f"{wording.counted(len(train), 'training document')}{dev}, {len(test):,} test"
    reporting.note(f"{said}; {_task(documents)}")
    left = int(((part < 0) & ~known).sum())
    if left:
        reporting.note(f"{wording.counted(left, 'document')} without a label: left out")
    if documents.kind != "regression":
        unseen = documents.unseen_labels(documents.tag_names)
        if unseen:
            named = ", ".join(f"'{name}' ({n:,})" for name, n in list(unseen.items())[:5])
            more = " …" if len(unseen) > 5 else ""
            reporting.warn(f"labels of test documents that no training document has: {named}{more}; always wrong")
    empty = documents.empty & (part == TEST)
    if empty.any() and not documents.n_folds:
        reporting.note(f"{wording.counted(int(empty.sum()), 'test document')} without a word: predicted like any other")
