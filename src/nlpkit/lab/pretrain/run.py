"""The training of a language model from scratch: an architecture, an objective, a corpus.

Parts, in this order:
- What a language model is trained from: documents with their targets, a tokenizer, a teacher, all checked.
- The training: from documents to a saved model.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, MissingError, UsageError, first_line, missing_column, missing_extra
from nlpkit.finetune.options import HardwareOptions, ScheduleOptions
from nlpkit.finetune.resume import Checkpoint, TrainingStore, open_store, trained_once
from nlpkit.finetune.tables import curve_lines
from nlpkit.lab.options import OBJECTIVES, TYPES, PretrainOptions, TokenizerOptions
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import as_corpus, no_documents
from nlpkit.platform.interrupts import between_steps
from nlpkit.platform.named_options import Value, parse_options
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.atomic import MANIFEST, naming
from nlpkit.platform.runs.provenance import Provenance, stopwatch
from nlpkit.platform.runs.runs import RunTables, new_run, open_run
from nlpkit.platform.runs.saving import save_run
from nlpkit.platform.values import python_values
from nlpkit.version import __version__


def check_objective(objective: str, values: Mapping[str, Value], options: PretrainOptions) -> None:
    """Raise UsageError for a column or a teacher that the objective does not have, or lacks, and for weights that are all 0."""
    for name, needing, what in (
        ("target_col", "seq2seq", "the column with the text to write"),
        ("teacher", "distil", "the model to learn from"),
    ):
        is_set = getattr(options, name) is not None
        if is_set != (objective == needing):
            raise UsageError(
                f"`{name}` only applies to `objective={needing}`, not to {objective}; leave it out"
                if is_set
                else f"`objective={objective}` needs `{name}`, {what}",
                parameter=name,
            )
    if values.get("temperature") == 0 or (objective == "distil" and not values["soft"] and not values["hard"]):
        raise UsageError(
            f"`objective={options.objective}`: temperature, and soft or hard, must be above 0",
            parameter="objective",
        )


def find_teacher(name: str, arch: str, *, verify: bool) -> tuple[Path, str]:
    """Return the folder of a teacher, and what it guesses, clm or mlm.

    Raises:
        UsageError: the architecture does not; MissingError: it guesses nothing, or is not there.
    """
    from nlpkit.lab.pretrain.distil import guesses_of
    from nlpkit.lab.pretrain.networks import objective_of

    folder = Path(name)
    if (folder / MANIFEST).is_file():
        folder = open_run(folder, verify=verify).folder("model/transformers")
    if not (folder / "config.json").is_file():
        raise MissingError(
            f"{name} holds no model; a run of pretrain or a folder of transformers is needed",
            parameter="teacher",
        )
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise MissingError(f"the config.json of {name} is not JSON: {first_line(error)}", parameter="teacher") from None
    guessed = guesses_of(config, name)
    objective_of(arch, guessed)
    return folder, guessed


def read_texts(stream: Any, target_col: str | None) -> Any:
    """Return the texts of a stream with their targets. Raises ColumnError: there is no such column; InputError: there is no document."""
    from nlpkit.lab.pretrain.training import Texts

    if target_col is not None and target_col not in stream.schema.names:
        raise missing_column(stream.where, target_col, stream.schema.names, "`target_col`")
    texts: list[str] = []
    targets: list[str] = []
    for batch in stream:
        texts += batch.column("text").to_pylist()
        if target_col is not None:
            targets += ["" if value is None else str(value) for value in python_values(batch.column(target_col))]
    if not texts:
        raise no_documents(stream)
    if target_col is None:
        return Texts(texts)
    kept = [i for i, (text, target) in enumerate(zip(texts, targets, strict=True)) if text.strip() and target.strip()]
    if len(kept) < len(texts):
        without = wording.counted(len(texts) - len(kept), "document")
        reporting.warn(f"{without} without a text or without a target in {target_col}: left out")
    if not kept:
        raise InputError(f"no document has both a text and a target in {target_col}", parameter="target_col")
    return Texts([texts[i] for i in kept], [targets[i] for i in kept])


def split_texts(documents: Any, share: float, seed: int) -> tuple[Any, Any]:
    """Return the documents to learn from and those held out, in their order."""
    n = len(documents)
    n_held_out = max(1, round(share * n))
    if n_held_out >= n:
        raise InputError(
            f"of {wording.counted(n, 'document')} `holdout={share:g}` holds out {n_held_out:,}, so none is left for "
            "training; give more documents"
        )
    order = np.random.default_rng(seed).permutation(n)
    return documents.take(np.sort(order[n_held_out:])), documents.take(np.sort(order[:n_held_out]))


def tokenizer_of(options: PretrainOptions, texts: list[str], window: int, *, verify: bool) -> Any:
    """Return the tokenizer of a folder, or one trained on the texts. Raises UsageError, InputError, MissingError."""
    from nlpkit.embed.tokenizers import load_tokenizer
    from nlpkit.lab.tokenizer import train_subwords

    if options.tokenizer in TYPES and not Path(options.tokenizer).is_dir():
        record = TokenizerOptions(type=options.tokenizer, vocab_size=options.vocab_size)
        return train_subwords(texts, record).transformers(max_tokens=window)
    folder = Path(options.tokenizer)
    if not (folder / "tokenizer.json").is_file():
        raise UsageError(
            f"`tokenizer={options.tokenizer}` is neither {', '.join(TYPES)} nor a folder with tokenizer.json; make one with: "
            "`train_tokenizer(CORPUS, output=tokenizer/)`",
            parameter="tokenizer",
        )
    if (folder / MANIFEST).is_file():
        open_run(folder, verify=verify).file("tokenizer.json")
    tokenizer = load_tokenizer(folder, words=False)
    tokenizer.model_max_length = window
    return tokenizer


def sha256_of(tokenizer: Any) -> str:
    import hashlib

    return hashlib.sha256(tokenizer.backend_tokenizer.to_str().encode()).hexdigest()


# ------------------------------------------------------------------------------------------------------------------------
# Train a language model from scratch: an architecture, an objective, a corpus.

KIND, KEY = "pretrain", "pretrain"
WINDOW = 128  # tokens, where `max_tokens` is not given
FEW_HELD_OUT = 20  # documents: their loss goes up and down by chance, so training does not end by it
RECORDS = {
    "options": PretrainOptions, "training": ScheduleOptions, "hardware": HardwareOptions, "execution": Execution,
}  # fmt: skip


@dataclass(slots=True)
class PretrainJob:
    """What is known before training: options, texts, tokenizer and schedule, all checked."""

    arch: str
    arch_options: dict[str, Value]
    objective: str
    objective_options: dict[str, Value]
    guessed: str  # clm, mlm or seq2seq
    options: PretrainOptions
    execution: Execution
    device: Any
    precision: str
    max_tokens: int
    schedule: Any
    tokenizer: Any
    tokenizer_sha256: str
    texts: Any  # Texts to learn from, and those held out
    held_out: Any
    teacher: Path | None
    provenance: Provenance
    reading: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)

    def parameters(self) -> dict[str, Any]:
        """Return what footers and manifests say of the training."""
        return {
            "arch": self.arch, "options": self.arch_options, "objective": self.objective, "size": self.options.size,
            "pooling": self.options.pooling, "holdout": self.options.holdout, "tokenizer": self.options.tokenizer,
            "tokenizer_sha256": self.tokenizer_sha256, "vocab_size": len(self.tokenizer), "max_tokens": self.max_tokens,
            **({"objective_options": self.objective_options} if self.objective_options else {}),
            **{name: value for name in ("target_col", "teacher") if (value := getattr(self.options, name)) is not None},
            "plan": asdict(self.schedule), "precision": self.precision, "device": self.device.type,
        }  # fmt: skip

    def identity(self) -> dict[str, Any]:
        """Return what a checkpoint belongs to."""
        return {
            **self.parameters(), "seed": self.execution.seed, "reading": self.reading,
            "inputs": [info.sha256 for info in self.provenance.inputs],
        }  # fmt: skip


class PretrainedModel:
    """A language model that was trained from scratch.

    perplexity: on the held-out documents, as plain values; facts: of the training; curve: its log; path: the run, once it is saved.
    """

    def __init__(self, job: PretrainJob, store: TrainingStore, facts: dict[str, Any], curve: Sequence[Any]) -> None:
        """Take what comes of a training; the model lies in the store until it is saved."""
        self.job, self._store, self.curve = job, store, list(curve)
        self.perplexity: dict[str, Any] = facts["perplexity"]
        self.facts: dict[str, Any] = facts["training"]
        self.path: Path | None = None

    def __repr__(self) -> str:
        return wording.described(
            self, self.job.arch, self.job.objective, wording.counted(self.facts["parameters"], "parameter")
        )

    @property
    def report(self) -> dict[str, Any]:
        """Perplexity and facts, as metrics.json has them."""
        return {
            "nlpkit_version": __version__, "seed": self.job.execution.seed, "arch": self.job.arch,
            "objective": self.job.objective, "held_out": self.perplexity, "training": self.facts,
        }  # fmt: skip

    def tables(self) -> Mapping[str, pa.Table]:
        """Return the learning curve as a table: step, epoch, loss, rate, held_out_loss."""
        points = self.curve
        columns: dict[str, pa.Array] = {"step": pa.array([p.step for p in points], pa.int32())}
        for name in ("epoch", "loss", "rate"):
            columns[name] = pa.array([getattr(p, name) for p in points], pa.float64())
        columns["held_out_loss"] = pa.array([p.dev.get("loss") for p in points], pa.float64())
        return {"curve": pa.table(columns)}

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the run: the model in the formats of transformers and of sentence-transformers, its curve and perplexity.

        Raises:
            OutputExistsError: it is there and `force` was not given.
        """
        job = self.job
        texts = {"curve.jsonl": curve_lines(self.curve, {"arch": job.arch, "seed": job.execution.seed})}
        config = {"kind": KIND, "arch": job.arch, "objective": job.objective, "pooling": job.options.pooling}
        files = RunTables(
            {}, {}, config, reports={"metrics": self.report}, texts=texts, model_folder=self._store.checkpoint.model
        )
        run = new_run(
            KIND, files, job.provenance, parameters=job.parameters(), further={"training": self.facts},
            results=self.perplexity, execution=job.execution, seconds=job.seconds,
        )  # fmt: skip
        self.path = save_run(run, path, force=force)
        self._store.checkpoint.remove()
        return self.path


def pretrain(
    data: Any,
    *,
    options: PretrainOptions | None = None,
    training: ScheduleOptions | None = None,
    hardware: HardwareOptions | None = None,
    execution: Execution | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    **settings: Any,
) -> PretrainedModel:
    """Train a language model from scratch on documents, and measure its perplexity on those that are held out.

    Perplexity per token is exp(−Σ log p / N) over the N tokens of the held-out documents and the end of each. Per word the same sum
    is divided by the words between blanks and the ends. The objective mlm has the first alone, over masked tokens; seq2seq has both
    over the texts in `target_col`, given the documents.

    Args:
        data: a Corpus, texts, or a data frame.
        options, training, hardware, execution: whole records of options; a single one is a keyword, as in
            `pretrain(corpus, arch="lstm", size="tiny", epochs=2)`.
        output: the run that the result will be saved as; unfinished work lies beside it, and `resume` continues it. None: in a
            temporary directory. force: drop unfinished work that lies there.

    Raises:
        UsageError: options that do not go together. InputError: documents that cannot be learned from, or a loss that is not a number
            before anything was learned. MissingError: the extra `neural` is not installed.
    """
    job = prepare(data, (options, training, hardware, execution), settings)
    from nlpkit.finetune.training.train import LogPoint

    store = open_store(output, job.identity(), resume=resume, force=force)
    facts = trained_once(store, job, KEY, job.arch, partial(_train, job))
    return PretrainedModel(job, store, facts, [LogPoint(**point) for point in facts["curve"]])


def network_and_windows(job: PretrainJob, device: Any) -> tuple[Any, Any, Any, Any]:
    """Return a new network on a device, what it is to learn, and the windows to learn from and those held out."""
    from nlpkit.lab.pretrain.networks import new_network
    from nlpkit.lab.pretrain.training import Lesson, cut_texts

    network = new_network(
        job.arch, job.arch_options, job.objective if job.teacher is None else job.guessed, job.options.size, job.tokenizer,
        max_tokens=job.max_tokens, seed=job.execution.seed,
    )  # fmt: skip
    network.model.to(device)
    lesson = Lesson(job.objective, job.guessed, job.objective_options, _taught_by(job, network, device))
    learned, held_out = (cut_texts(network, texts, lesson) for texts in (job.texts, job.held_out))
    return network, lesson, learned, held_out


def prepare(data: Any, records: Sequence[Any], settings: Mapping[str, Any]) -> PretrainJob:
    """Read documents and tokenizer, and refuse what cannot be trained."""
    options, training, hardware, execution = with_settings(records, settings, tuple(RECORDS.values()))
    try:
        from nlpkit.lab.pretrain.networks import ARCHES, BERT_HEADS, objective_of, sizes_of
        from nlpkit.lab.pretrain.training import PLAN
    except ImportError:
        raise missing_extra("pretrain", "neural") from None
    arch, arch_options = parse_options(options.arch, ARCHES, "arch")
    objective, objective_options = (
        (objective_of(arch, None), {})
        if options.objective is None
        else parse_options(options.objective, OBJECTIVES, "objective")
    )
    objective_of(arch, objective)
    check_objective(objective, objective_options, options)
    sizes_of(arch, arch_options, options.size)
    teacher, guessed = None, "mlm" if objective in BERT_HEADS else objective
    if options.teacher is not None:
        teacher, guessed = find_teacher(options.teacher, arch, verify=execution.verify)
        options = (
            replace(options, tokenizer=str(teacher)) if options.tokenizer == PretrainOptions().tokenizer else options
        )
    device, precision = hardware.chosen()
    window = training.max_tokens or WINDOW
    corpus, seconds = as_corpus(data), {}  # type: ignore[var-annotated]
    with stopwatch(seconds, "read"), corpus.open() as stream:
        everything = read_texts(stream, options.target_col)
        provenance = Provenance.of_streams([stream])
    texts, held_out = split_texts(everything, options.holdout, execution.seed)
    with stopwatch(seconds, "tokenizer"):
        tokenizer = tokenizer_of(options, [*texts.texts, *(texts.targets or ())], window, verify=execution.verify)
    if len(set(range(len(tokenizer))) - set(tokenizer.all_special_ids)) < 2:
        raise InputError(
            f"the tokenizer in {options.tokenizer} has fewer than two tokens beside the special ones: there is "
            "nothing to predict",
            parameter="tokenizer",
        )
    schedule = training.applied_to(PLAN)
    if len(held_out) < FEW_HELD_OUT and schedule.patience == ScheduleOptions().patience:
        schedule = replace(schedule, patience=0)
        reporting.note(
            f"{wording.counted(len(held_out), 'document')} held out: too few to stop training early, so all epochs "
            f"are run; hold out {FEW_HELD_OUT} or more with `holdout`, or give another `patience`"
        )
    return PretrainJob(
        arch, arch_options, objective, objective_options, guessed, options, execution, device, precision, window,
        schedule, tokenizer, sha256_of(tokenizer), texts, held_out, teacher, provenance, asdict(corpus.options), seconds,
    )  # fmt: skip


def _train(job: PretrainJob, engine: Any, checkpoint: Checkpoint, folder: Path) -> dict[str, Any]:
    """Train the network and write it into a folder; return its perplexity, facts of the training and the curve."""
    from nlpkit.finetune.trials import load_resume_state
    from nlpkit.lab.pretrain.training import held_out_perplexity, train_network

    seed = job.execution.seed
    network, lesson, learned, held_out = network_and_windows(job, engine.device)
    n_windows, n_parameters = len(learned.inputs.lengths), sum(p.numel() for p in network.trained.values())
    reporting.note(
        f"{job.arch}, {job.objective}: {wording.counted(n_parameters, 'parameter')}, {wording.counted(len(job.texts), 'document')} to "
        f"learn from in {wording.counted(n_windows, 'window')} of up to {job.max_tokens:,} tokens, {len(job.held_out):,} held out"
    )
    if learned.n_cut:
        what = (
            "whose text or target is longer than the window: the rest is left out; use more with `max_tokens`"
            if job.objective == "seq2seq"
            else "longer than the window: cut into several, nothing is left out"
        )
        reporting.note(f"{wording.counted(learned.n_cut, 'document')} {what}")
    if n_windows < job.schedule.batch:
        reporting.warn(
            f"the corpus has {wording.counted(n_windows, 'window')}, fewer than "
            f"`batch_size={job.schedule.batch}`, so each step uses all"
        )
    with reporting.progress(job.arch, 100, percent=True) as update, between_steps() as stop:

        def on_step(step: int, steps: int, point: Any) -> None:
            update(100 * step // max(1, steps), None if point is None else f"{job.arch}, loss {point.loss:.3f}")
            stop.step(step, steps)

        outcome = train_network(
            network, learned, held_out, lesson, plan=job.schedule, engine=engine, seed=seed,
            state=load_resume_state(checkpoint, KEY, job.arch), save=lambda now: checkpoint.save(KEY, now), on_step=on_step,
        )  # fmt: skip
    if outcome.diverged is not None:
        reporting.warn(
            f"the loss of step {outcome.diverged:,} is no longer a number. Training ended, and the model of step "
            f"{outcome.best_step:,} is kept, the best so far; lower `lr`"
        )
    measured = held_out_perplexity(network, held_out, job.held_out, lesson, engine, seed)
    checkpoint.begin()
    shutil.rmtree(folder, ignore_errors=True)
    with naming(checkpoint.path):
        folder.mkdir()
        save_model(network, job.options.pooling, folder)
    return {
        "perplexity": asdict(measured),
        "training": {
            "parameters": n_parameters, "documents": len(job.texts), "held_out": len(job.held_out), "windows": n_windows,
            "cut": learned.n_cut, "steps": outcome.steps, "best_step": outcome.best_step, "stopped_early": outcome.stopped_early,
            "diverged": outcome.diverged, "batch_size": outcome.batch, "epochs": job.schedule.epochs, "lr": job.schedule.rate,
            "seconds": round(outcome.seconds, 3),
        },
        "curve": [asdict(point) for point in outcome.curve],
    }  # fmt: skip


def _taught_by(job: PretrainJob, network: Any, device: Any) -> Any:
    """Return the teacher of a network, or None."""
    if job.teacher is None:
        return None
    from nlpkit.lab.pretrain.distil import load_teacher

    teacher = load_teacher(job.teacher, network, job.guessed, device)
    ours, theirs = int(network.model.config.hidden_size), int(teacher.model.config.hidden_size)
    if ours != theirs and job.objective_options["cosine"]:
        reporting.note(
            f"states of {ours} and of {theirs} numbers cannot be compared by cosine, so that term is left out; "
            f"hidden={theirs} keeps it"
        )
    return teacher


def save_model(network: Any, pooling: str, folder: Path) -> None:
    """Write a network twice: with its head for transformers, and its body with a pooling for sentence-transformers."""
    from nlpkit.embed.engines import quiet
    from nlpkit.embed.hardware import seeded
    from nlpkit.lab.pretrain.networks import embedding_body

    model = network.model.cpu()
    network.save(folder / "transformers")
    body = folder / "body.part"
    model.config.use_cache = False  # texts are embedded whole
    with quiet(), seeded(0):  # of a pooler that BERT's body is given
        embedding_body(model).save_pretrained(str(body))
        network.tokenizer.save_pretrained(str(body))
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

        transformer = Transformer(str(body), max_seq_length=network.max_tokens)
        whole = SentenceTransformer(
            modules=[transformer, Pooling(int(model.config.hidden_size), pooling_mode=pooling)], device="cpu"
        )
        whole.save(str(folder / "sentence-transformers"), create_model_card=False, safe_serialization=True)
    shutil.rmtree(body)
