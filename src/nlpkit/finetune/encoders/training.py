"""What is known before an encoder is trained, and the ways of training it: on masked words, on pairs or triplets, on answers."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.classify.dataset import DEV, TEST, TRAIN
from nlpkit.embed.models import ModelFiles, weights_fingerprint
from nlpkit.finetune.encoders.data import PairDataset
from nlpkit.finetune.encoders.encoders import Scorer, train_on_pairs
from nlpkit.finetune.encoders.options import TrainEncoderOptions
from nlpkit.finetune.foreign_files import base_name
from nlpkit.finetune.methods import Method
from nlpkit.finetune.options import HeldOutOptions, ScheduleOptions
from nlpkit.finetune.resume import Checkpoint
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.train import LogPoint, Outcome, Schedule, train
from nlpkit.finetune.trials import load_resume_state, warn_truncation
from nlpkit.platform import reporting
from nlpkit.platform.interrupts import Stop, between_steps
from nlpkit.platform.named_options import Value
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.atomic import naming
from nlpkit.platform.runs.provenance import Provenance
from nlpkit.platform.types import FloatArray

MOST_HELD_OUT = 2000  # test texts that a static encoder is compared on
KEY = "encoder"  # of the training in a checkpoint


@dataclass(slots=True)
class EncoderTraining:
    """What comes of a training: scores on the test before and after, facts, and its log."""

    before: Mapping[str, float] | None
    after: Mapping[str, float] | None
    facts: dict[str, Any]
    curve: list[LogPoint]


@dataclass(slots=True)
class EncoderJob:
    """What is known before training: options, rows, base model and schedule, all checked."""

    name: str
    objective_options: dict[str, Value]
    method: Method
    options: TrainEncoderOptions
    held_out: HeldOutOptions
    training: ScheduleOptions
    execution: Execution
    device: Any
    precision: str
    dataset: PairDataset
    provenance: Provenance
    files: ModelFiles
    schedule: Schedule
    reading: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)

    def parameters(self) -> dict[str, Any]:
        """Return what footers and manifests say of the training."""
        return {
            "objective": self.name, "options": self.objective_options, "base": base_name(self.files),
            "base_sha256": weights_fingerprint(self.files.path), "plan": asdict(self.schedule), "precision": self.precision,
            "device": self.device.type, "max_tokens": self.training.max_tokens, "pair": self.held_out.pair_col,
            "negative": self.options.negative_col, "method": self.method.spelling, "prompt": self.options.prompt_col,
            "chosen": self.options.chosen_col, "rejected": self.options.rejected_col,
            "holdout": self.held_out.holdout, "split": self.held_out.split,
        }  # fmt: skip

    def identity(self) -> dict[str, Any]:
        """Return what a checkpoint belongs to."""
        files = {name: getattr(self.held_out, name) for name in ("test", "dev")}
        return {
            **self.parameters(), "seed": self.execution.seed, "reading": self.reading,
            **{name: str(source) if isinstance(source, str | Path) else None for name, source in files.items()},
            "inputs": [info.sha256 for info in self.provenance.inputs],
        }  # fmt: skip


def train_pairs(job: EncoderJob, engine: Engine, checkpoint: Checkpoint, folder: Path) -> EncoderTraining:
    """Train an encoder on pairs or triplets and write it into a folder; see `nlpkit.finetune.encoders.encoders`."""
    from nlpkit.finetune.setfit.embedder import load_embedder

    dataset, seed = job.dataset, job.execution.seed
    name, bounds = dataset.objective, dataset.score_bounds()
    train, test = (dataset.pairs(dataset.rows(split), bounds) for split in (TRAIN, TEST))
    rows = dataset.rows(DEV)
    dev = dataset.pairs(rows, bounds) if len(rows) else None
    embedder = load_embedder(job.files.path, max_tokens=job.training.max_tokens, device=engine.device)
    before = None if name == "sbert-softmax" else Scorer(embedder, test, name, (), None, engine)()
    adapted = job.method.name != "full"
    if adapted:
        embedder.adapt(job.method.name, job.method.options, seed=seed)
    with reporting.progress(name, 100, percent=True) as update, between_steps() as stop:
        outcome = train_on_pairs(
            embedder, train, name, options=job.objective_options, dev=dev, plan=job.schedule, engine=engine, seed=seed,
            state=load_resume_state(checkpoint, KEY, name), save=lambda now: checkpoint.save(KEY, now),
            on_step=_shown(name, update, stop), cut=lambda n, share: warn_truncation(n, share, "text"),
        )  # fmt: skip
    after = Scorer(embedder, test, name, outcome.names, outcome.weight, engine)()
    n_trained = sum(p.numel() for p in embedder.parameters().values())
    with _new_folder(folder, checkpoint):
        if adapted:
            embedder.save_adapter(folder / "peft", base=base_name(job.files))
        embedder.save(folder / "sentence-transformers")
    facts = {**_facts(outcome.training, job.schedule, n_trained), "distinct_texts": outcome.n_texts}
    if name == "cosine":
        facts["scores"] = {"low": bounds[0], "high": bounds[1]}
    return EncoderTraining(before, after, facts, list(outcome.training.curve))


def train_masked(job: EncoderJob, engine: Engine, checkpoint: Checkpoint, folder: Path) -> EncoderTraining:
    """Train an encoder to guess masked words and write it into a folder; see `nlpkit.finetune.patterns.mlm`."""
    from nlpkit.finetune.patterns.mlm import cut_windows, load_mlm, perplexity, train_mlm

    dataset, files, seed, options = job.dataset, job.files, job.execution.seed, job.objective_options
    network = load_mlm(
        files.path, device=engine.device, seed=seed, max_tokens=job.training.max_tokens, method=job.method
    )
    if network.head_is_new:
        reporting.note(
            f"{files.name} has no head for masked words: one is made from its word embeddings and trained first for "
            f"{options['head_steps']} steps"
        )
    texts = {split: dataset.texts("text", dataset.rows(split)) for split in (TRAIN, DEV, TEST)}
    windows = cut_windows(network, texts[TEST])[0]
    share = float(options["share"])

    def measured() -> float:
        return perplexity(network, windows, engine, seed=seed, share=share)

    with reporting.progress("mlm", 100, percent=True) as update, between_steps() as stop:
        outcome = train_mlm(
            network, texts[TRAIN], plan=job.schedule, options={k: float(v) for k, v in options.items()}, engine=engine, seed=seed,
            dev=texts[DEV] or None, state=load_resume_state(checkpoint, KEY, "mlm"), save=lambda now: checkpoint.save(KEY, now),
            on_step=_shown("mlm", update, stop), between=measured,
        )  # fmt: skip
    before, after = outcome.between, measured()
    facts = _facts(outcome.whole, job.schedule, sum(p.numel() for p in network.trained.values()))
    network.merge()
    with _new_folder(folder, checkpoint):
        network.save(folder / "transformers")
        network.save_encoder(files.path, folder / "sentence-transformers")
    facts |= {"windows": outcome.windows, "head_is_new": network.head_is_new}
    head = outcome.head
    if head is not None:
        facts |= {"head_steps": head.steps, "head_seconds": round(head.seconds, 3)}
    head_steps = 0 if head is None else head.steps
    curve = [] if head is None else list(head.curve)
    curve += [replace(point, step=point.step + head_steps) for point in outcome.whole.curve]
    return EncoderTraining(None if before is None else {"perplexity": before}, {"perplexity": after}, facts, curve)


def train_causal(job: EncoderJob, engine: Engine, checkpoint: Checkpoint, folder: Path) -> EncoderTraining:
    """Train a causal language model on answers, or on pairs of answers, and write it into a folder."""
    from nlpkit.finetune.encoders import causal
    from nlpkit.finetune.patterns.mlm import exp_loss

    dataset, seed, name = job.dataset, job.execution.seed, job.name
    beta = float(job.objective_options.get("beta", 0.0))
    network = causal.load_causal(
        job.files.path, job.method, seed=seed, device=engine.device, max_tokens=job.training.max_tokens
    )

    def read(split: int) -> list[causal.Answers]:
        """Return what is read of a split: the answers, or the chosen and the rejected ones."""
        rows = dataset.rows(split)
        texts = dataset.texts("text", rows)
        if dataset.negative is None:
            prompts = None if dataset.second is None else dataset.texts(dataset.second, rows)
            return [causal.read_answers(network, prompts, texts)]
        assert dataset.second is not None
        columns = (dataset.second, dataset.negative)
        return [causal.read_answers(network, texts, dataset.texts(column, rows)) for column in columns]

    def log_probs(answers: Sequence[causal.Answers]) -> FloatArray:
        return np.stack([causal.score_answers(network, part, engine) for part in answers], axis=1)

    answers = {split: read(split) for split in (TRAIN, DEV, TEST)}
    cut = np.concatenate([part.inputs.cut for part in answers[TRAIN]])
    warn_truncation(
        int((cut > 0).sum()), float(cut.sum() / sum(p.inputs.counts.sum() for p in answers[TRAIN])), "answer"
    )
    # of the model before the training, which is the reference
    reference = {split: log_probs(parts) for split, parts in answers.items() if name == "dpo" or split == TEST}

    def scores(split: int, values: FloatArray) -> dict[str, float]:
        if name == "dpo":
            return causal.pair_scores(values, reference[split], beta)
        loss = -float(values.sum()) / max(1.0, float(answers[split][0].counts.sum()))
        return {"loss": loss, "perplexity": exp_loss(loss)}

    def dev_scores() -> dict[str, float]:
        return scores(DEV, log_probs(answers[DEV]))

    before = scores(TEST, reference[TEST])
    learned = answers[TRAIN]
    objective: Any = causal.SftObjective(network, learned[0])
    if name == "dpo":
        objective = causal.DpoObjective(network, learned[0], rejected=learned[1], reference=reference[TRAIN], beta=beta)
    with reporting.progress(name, 100, percent=True) as update, between_steps() as stop:
        outcome = train(
            objective, engine, job.schedule, seed=seed, score=dev_scores if len(answers[DEV][0].first) else None, better="loss",
            state=load_resume_state(checkpoint, KEY, name), save=lambda now: checkpoint.save(KEY, now), on_step=_shown(name, update, stop),
        )  # fmt: skip
    after = scores(TEST, log_probs(answers[TEST]))
    n_trained = sum(p.numel() for p in network.trained.values())
    with _new_folder(folder, checkpoint):
        network.save(folder, base=base_name(job.files))
    facts = {**_facts(outcome, job.schedule, n_trained), "parameters": network.n_parameters}
    return EncoderTraining(before, after, facts, list(outcome.curve))


def train_static(job: EncoderJob, engine: Engine, checkpoint: Checkpoint, folder: Path) -> EncoderTraining:
    """Tune token vectors to an encoder and write them into a folder; see `nlpkit.embed.static`.

    The scores before are those of the vectors that the encoder gives the tokens alone, which is plain distillation.
    """
    from nlpkit.embed.loading import load_encoder
    from nlpkit.embed.run import note_static
    from nlpkit.embed.static import TextSample, tune_static

    dataset, seed, threads = job.dataset, job.execution.seed, job.execution.n_threads()
    teacher = load_encoder(
        str(job.files.path) if job.files.origin == "path" else job.files.name, device=str(job.device), precision=job.precision,
        max_tokens=job.training.max_tokens, threads=threads, offline=True,
    )  # fmt: skip
    samples = {}
    for split, size in ((TRAIN, int(job.objective_options["sample"])), (TEST, MOST_HELD_OUT)):
        samples[split] = TextSample(size, seed)
        samples[split].add(dataset.texts("text", dataset.rows(split)))
    start = time.perf_counter()
    with reporting.progress("static", 100, percent=True) as update:
        model = tune_static(
            teacher, samples[TRAIN].texts(), held_out=samples[TEST].texts(), threads=threads, seed=seed,
            progress=lambda percent, stage: update(percent, f"static: {stage}"),
        )  # fmt: skip
    seconds = time.perf_counter() - start
    note_static(model, seconds)
    with _new_folder(folder, checkpoint):
        target = folder / "sentence-transformers"
        target.mkdir()
        for name, content in model.files().items():
            (target / name).write_bytes(content)
    before, after = ({"closeness": s.cosine, "agreement": s.agreement} for s in (model.plain, model.scores))
    facts = {
        "trained_parameters": int(model.vectors.size), "texts": model.texts, "ceiling": round(model.scores.ceiling, 6),
        "held_out": model.scores.texts, "clusters": model.scores.clusters, "seconds": round(seconds, 3),
    }  # fmt: skip
    return EncoderTraining(before, after, facts, [])


@contextmanager
def _new_folder(folder: Path, checkpoint: Checkpoint) -> Iterator[None]:
    """Make the folder of a model in a checkpoint; what a kill left of it before goes."""
    checkpoint.begin()
    shutil.rmtree(folder, ignore_errors=True)
    with naming(checkpoint.path):
        folder.mkdir()
        yield


def _shown(name: str, update: Any, stop: Stop) -> Callable[[int, int, LogPoint | None], None]:
    def on_step(step: int, steps: int, point: LogPoint | None) -> None:
        update(100 * step // max(1, steps), None if point is None else f"{name}, loss {point.loss:.3f}")
        stop.step(step, steps)

    return on_step


def _facts(outcome: Outcome, schedule: Schedule, n_trained: int) -> dict[str, Any]:
    return {
        "trained_parameters": n_trained,
        "steps": outcome.steps,
        "best_step": outcome.best_step,
        "stopped_early": outcome.stopped_early,
        "batch_size": outcome.batch,
        "epochs": schedule.epochs,
        "lr": schedule.rate,
        "seconds": round(outcome.seconds, 3),
    }
