"""Train a language model from scratch: an architecture, an objective, a corpus."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.errors import InputError, MissingError, UsageError, first_line, missing_extra
from nlpkit.finetune.methods import Value, parse_options
from nlpkit.finetune.training_options import HardwareOptions, ScheduleOptions
from nlpkit.interrupts import between_steps
from nlpkit.io.atomic import MANIFEST, naming
from nlpkit.io.cost import stopwatch
from nlpkit.io.finetune_checkpoints import Checkpoint
from nlpkit.io.finetune_tables import curve_lines
from nlpkit.io.provenance import Provenance
from nlpkit.io.runs import RunTables, new_run, open_run
from nlpkit.parameters import Execution, with_settings
from nlpkit.pretrain.options import TYPES, PretrainOptions, TokenizerOptions
from nlpkit.version import __version__
from nlpkit.workflows.checkpoints import TrainingStore, open_store
from nlpkit.workflows.corpus import as_corpus, no_documents
from nlpkit.workflows.saving import save_run

KIND, KEY = "pretrain", "pretrain"
WINDOW = 128  # tokens, where `max_tokens` is not given
RECORDS = {
    "options": PretrainOptions, "training": ScheduleOptions, "hardware": HardwareOptions, "execution": Execution,
}  # fmt: skip


@dataclass(slots=True)
class PretrainJob:
    """What is known before training: options, texts, tokenizer and schedule, all checked."""

    arch: str
    arch_options: dict[str, Value]
    objective: str
    options: PretrainOptions
    execution: Execution
    device: Any
    precision: str
    max_tokens: int
    schedule: Any
    tokenizer: Any
    tokenizer_sha256: str
    texts: list[str]
    held_out: list[str]
    provenance: Provenance
    reading: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)

    def parameters(self) -> dict[str, Any]:
        """Return what footers and manifests say of the training."""
        return {
            "arch": self.arch, "options": self.arch_options, "objective": self.objective, "size": self.options.size,
            "pooling": self.options.pooling, "holdout": self.options.holdout, "tokenizer": self.options.tokenizer,
            "tokenizer_sha256": self.tokenizer_sha256, "vocab_size": len(self.tokenizer), "max_tokens": self.max_tokens,
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

    Perplexity per token is exp(−Σ log p / N) over the N tokens of the held-out documents and the end of each; per word the same sum
    is divided by the words between blanks and the ends. The objective mlm has the first alone, over masked tokens.

    Args:
        data: a Corpus, texts, or a data frame.
        options, training, hardware, execution: whole records of options; a single one is a keyword, as in
            `pretrain(corpus, arch="lstm", size="tiny", epochs=2)`.
        output: the run that the result will be saved as; unfinished work lies beside it, and `resume` continues it. None: in a
            temporary directory. force: drop unfinished work that lies there.

    Raises:
        UsageError: options that do not go together. InputError: documents that cannot be learned from, or a loss that is no number
            before anything was learned. MissingError: the extra `neural` is not installed.
    """
    job = prepare(data, (options, training, hardware, execution), settings)
    from nlpkit.finetune.engine import Engine
    from nlpkit.finetune.train import LogPoint

    store = open_store(output, job.identity(), resume=resume, force=force)
    checkpoint = store.checkpoint
    done = checkpoint.finished(KEY) if checkpoint.model.exists() else None
    if done is None:
        with (
            Engine(job.device, job.precision, threads=job.execution.n_threads()) as engine,
            store.reporting_interrupts(),
            stopwatch(job.seconds, "train"),
        ):
            folder = checkpoint.path / "model.part"
            facts = _train(job, engine, checkpoint, folder)
            checkpoint.finish(KEY, facts, {})
            folder.rename(checkpoint.model)
    else:
        reporting.note(f"{job.arch}: taken from the checkpoint")
        facts = done[0]
    return PretrainedModel(job, store, facts, [LogPoint(**point) for point in facts["curve"]])


def network_and_windows(job: PretrainJob) -> tuple[Any, Any, Any]:
    """Return a new network, and the windows to learn from and those held out."""
    from nlpkit.pretrain.networks import new_network
    from nlpkit.pretrain.training import cut_texts

    network = new_network(
        job.arch, job.arch_options, job.objective, job.options.size, job.tokenizer, max_tokens=job.max_tokens,
        seed=job.execution.seed,
    )  # fmt: skip
    learned, held_out = (cut_texts(network, texts, job.objective) for texts in (job.texts, job.held_out))
    return network, learned, held_out


def prepare(data: Any, records: Sequence[Any], settings: Mapping[str, Any]) -> PretrainJob:
    """Read documents and tokenizer, and refuse what cannot be trained."""
    options, training, hardware, execution = with_settings(records, settings, tuple(RECORDS.values()))
    for record in (options, training, hardware):
        record.check()
    try:
        from nlpkit.pretrain.networks import ARCHES, objective_of, sizes_of
        from nlpkit.pretrain.training import PLAN
    except ImportError:
        raise missing_extra("pretrain", "neural") from None
    arch, arch_options = parse_options(options.arch, ARCHES, "arch")
    objective = objective_of(arch, options.objective)
    sizes_of(arch, arch_options, options.size)
    device, precision = hardware.chosen()
    window = training.max_tokens or WINDOW
    corpus, seconds = as_corpus(data), {}  # type: ignore[var-annotated]
    with stopwatch(seconds, "read"), corpus.open() as stream:
        everything = [text for batch in stream for text in batch.column("text").to_pylist()]
        if not everything:
            raise no_documents(stream)
        provenance = Provenance.of_streams([stream])
    texts, held_out = _split(everything, options.holdout, execution.seed)
    with stopwatch(seconds, "tokenizer"):
        tokenizer = _tokenizer(options, texts, window, verify=execution.verify)
    if len(set(range(len(tokenizer))) - set(tokenizer.all_special_ids)) < 2:
        raise InputError(
            f"the tokenizer in {options.tokenizer} has fewer than two tokens beside the special ones: there is nothing to guess",
            parameter="tokenizer",
        )
    return PretrainJob(
        arch, arch_options, objective, options, execution, device, precision, window, training.applied_to(PLAN), tokenizer,
        _sha256(tokenizer), texts, held_out, provenance, asdict(corpus.options), seconds,
    )  # fmt: skip


def _split(texts: list[str], share: float, seed: int) -> tuple[list[str], list[str]]:
    """Return the texts to learn from and those held out, in their order."""
    n_held_out = max(1, round(share * len(texts)))
    if n_held_out >= len(texts):
        raise InputError(
            f"of {wording.counted(len(texts), 'document')} none is left to learn from when {n_held_out:,} are held out "
            f"(`holdout={share:g}`); give more documents"
        )
    drawn = np.zeros(len(texts), bool)
    drawn[np.random.default_rng(seed).permutation(len(texts))[:n_held_out]] = True
    return [t for t, out in zip(texts, drawn, strict=True) if not out], [
        t for t, out in zip(texts, drawn, strict=True) if out
    ]


def _tokenizer(options: PretrainOptions, texts: list[str], window: int, *, verify: bool) -> Any:
    """Return the tokenizer of a folder, or one trained on the texts. Raises UsageError, InputError, MissingError."""
    from nlpkit.pretrain.subwords import train_subwords

    if options.tokenizer in TYPES and not Path(options.tokenizer).is_dir():
        record = TokenizerOptions(type=options.tokenizer, vocab_size=options.vocab_size)
        return train_subwords(texts, record).transformers(max_tokens=window)
    folder = Path(options.tokenizer)
    if not (folder / "tokenizer.json").is_file():
        raise UsageError(
            f"`tokenizer={options.tokenizer}` is neither {', '.join(TYPES)} nor a folder with tokenizer.json; make one with: "
            "nlpkit train-tokenizer CORPUS -o tokenizer/",
            parameter="tokenizer",
        )
    if (folder / MANIFEST).is_file():
        open_run(folder, verify=verify).file("tokenizer.json")
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    except Exception as error:  # every tokenizer fails in its own way
        raise MissingError(f"transformers cannot read the tokenizer in {folder}: {first_line(error)}") from None
    tokenizer.model_max_length = window
    return tokenizer


def _sha256(tokenizer: Any) -> str:
    import hashlib

    return hashlib.sha256(tokenizer.backend_tokenizer.to_str().encode()).hexdigest()


def _train(job: PretrainJob, engine: Any, checkpoint: Checkpoint, folder: Path) -> dict[str, Any]:
    """Train the network and write it into a folder; return its perplexity, facts of the training and the curve."""
    from nlpkit.finetune.trials import load_resume_state
    from nlpkit.pretrain.training import held_out_perplexity, train_network

    seed = job.execution.seed
    network, learned, held_out = network_and_windows(job)
    network.model.to(engine.device)
    n_windows, n_parameters = len(learned.inputs.lengths), sum(p.numel() for p in network.trained.values())
    reporting.note(
        f"{job.arch}, {job.objective}: {wording.counted(n_parameters, 'parameter')}, {wording.counted(len(job.texts), 'document')} to "
        f"learn from in {wording.counted(n_windows, 'window')} of up to {job.max_tokens:,} tokens, {len(job.held_out):,} held out"
    )
    if learned.n_cut:
        reporting.note(
            f"{wording.counted(learned.n_cut, 'document')} longer than the window: cut into several, nothing is left out"
        )
    if n_windows < job.schedule.batch:
        reporting.warn(
            f"the corpus has {wording.counted(n_windows, 'window')}, fewer than `batch_size={job.schedule.batch}`: each step takes all"
        )
    with reporting.progress(job.arch, 100, percent=True) as update, between_steps() as stop:

        def on_step(step: int, steps: int, point: Any) -> None:
            update(100 * step // max(1, steps), None if point is None else f"{job.arch}, loss {point.loss:.3f}")
            stop.step(step, steps)

        outcome = train_network(
            network, learned, held_out, job.objective, plan=job.schedule, engine=engine, seed=seed,
            state=load_resume_state(checkpoint, KEY, job.arch), save=lambda now: checkpoint.save(KEY, now), on_step=on_step,
        )  # fmt: skip
    if outcome.diverged is not None:
        reporting.warn(
            f"the loss of step {outcome.diverged:,} is no number any more: training ended, and the model is that of step "
            f"{outcome.best_step:,}, the best so far; lower `lr`"
        )
    measured = held_out_perplexity(network, held_out, job.held_out, job.objective, engine, seed)
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


def save_model(network: Any, pooling: str, folder: Path) -> None:
    """Write a network twice: with its head for transformers, and its body with a pooling for sentence-transformers."""
    from nlpkit.embed.engines import quiet
    from nlpkit.finetune.network import seeded

    model = network.model.cpu()
    network.save(folder / "transformers")
    body = folder / "body.part"
    model.config.use_cache = False  # texts are embedded whole
    with quiet(), seeded(0):  # of a pooler that BERT's body is given
        network.body.save_pretrained(str(body))
        network.tokenizer.save_pretrained(str(body))
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

        transformer = Transformer(str(body), max_seq_length=network.max_tokens)
        whole = SentenceTransformer(
            modules=[transformer, Pooling(int(model.config.hidden_size), pooling_mode=pooling)], device="cpu"
        )
        whole.save(str(folder / "sentence-transformers"), create_model_card=False, safe_serialization=True)
    shutil.rmtree(body)
