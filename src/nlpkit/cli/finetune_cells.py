"""The trainings of `nlpkit finetune`: for each method, number of documents, seed and fold one; what each came to."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit import __version__, reporting, wording
from nlpkit.cli.finetune_corpus import TuneDocuments
from nlpkit.cli.finetune_scores import Guesses, nothing_yet, put
from nlpkit.cli.finetune_stop import state_to_go_on_from
from nlpkit.embed.models import ModelFiles, weights_fingerprint
from nlpkit.errors import InputError
from nlpkit.finetune.engine import Engine
from nlpkit.finetune.fit import Learning, Reading, Trained, Watch, fit_network, fit_setfit
from nlpkit.finetune.methods import Method
from nlpkit.finetune.tasks import IGNORED, Task
from nlpkit.finetune.train import Point
from nlpkit.interrupts import between_steps
from nlpkit.io.atomic import naming
from nlpkit.io.finetune_checkpoints import Checkpoint
from nlpkit.io.finetune_files import FORMATS, TunedConfig, model_bytes, save_merged, save_network, write_config
from nlpkit.metrics.regression import statistics
from nlpkit.types import LongArray

FINAL = -1
SAMPLE, MUCH = 1000, 0.02  # texts whose tokens are looked up; the share of unknown ones that is told


@dataclass(frozen=True, slots=True)
class Cell:
    """One training. shots: documents of a class, None for all; fold: of cross-validation, FINAL for all documents, None for a test."""

    method: Method
    shots: int | None
    seed: int
    fold: int | None = None

    @property
    def key(self) -> str:
        """A name for its files."""
        parts = [self.method.spelling, "all" if self.shots is None else str(self.shots), str(self.seed)]
        name = "-".join([*parts, "" if self.fold is None else "final" if self.fold == FINAL else f"fold{self.fold}"])
        safe = "".join(c if c.isalnum() or c in "-_+" else "_" for c in name).strip("-")
        return f"{safe[:60]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"

    @property
    def title(self) -> str:
        """What it is called on the screen."""
        parts = [self.method.spelling]
        parts += [] if self.shots is None else [f"{self.shots} shots"]
        parts += [f"seed {self.seed}"]
        parts += [] if self.fold is None else ["all documents" if self.fold == FINAL else f"fold {self.fold + 1}"]
        return ", ".join(parts)


@dataclass(slots=True)
class Done:
    """What a training came to. facts: plain values; outputs: of the rows that it predicted; curve: points."""

    cell: Cell
    facts: dict[str, Any]
    rows: LongArray
    outputs: Any
    curve: list[Point]


@dataclass(slots=True)
class Bench:
    """Where trainings are run: all of them on one base model, one device and the same documents."""

    files: ModelFiles
    learning: Learning
    engine: Engine
    checkpoint: Checkpoint
    columns: dict[str, Any]
    merge: bool = False
    said_cut: bool = False

    def run(self, cell: Cell, documents: TuneDocuments, *, keep: bool) -> Done:
        """Train one cell, or take it from the checkpoint; with `keep` its model is left in the checkpoint's folder."""
        train_rows, dev_rows, rows = roles(documents, cell)
        found = self.checkpoint.finished(cell.key)
        if found is not None:
            facts, arrays = found
            if not np.array_equal(arrays["rows"], rows):
                raise InputError(
                    f"checkpoint {self.checkpoint.path} is of other documents; --force without --resume drops it"
                )
            reporting.note(f"{cell.title}: taken from the checkpoint")
            curve = [Point(**p) for p in facts.pop("curve")]
            return Done(cell, facts, arrays["rows"], _unpacked(arrays), curve)
        task, y = task_of(documents, train_rows)
        reading = Reading(documents.texts, documents.second, documents.context, documents.words)
        state = state_to_go_on_from(self.checkpoint, cell.key, cell.title)
        with reporting.progress(cell.title, 100, percent=True) as update, between_steps() as stop:

            def told(step: int, steps: int, point: Point | None) -> None:
                loss = "" if point is None else f", loss {point.loss:.3f}"
                dev = "" if point is None or not point.dev else f", dev {next(iter(point.dev.values())):.3f}"
                update(100 * step // steps, f"{cell.title}{loss}{dev}" if point is not None else None)
                stop.step(step, steps)

            watch = Watch(state, lambda own: self.checkpoint.save(cell.key, own), told, self._say_cut)
            more: dict[str, Any] = {"learning": self.learning, "engine": self.engine, "seed": cell.seed, "watch": watch}
            if cell.method.kind.family == "setfit":
                trained = fit_setfit(
                    self.files.path, cell.method, documents.labels, reading, train_rows=train_rows, predict_rows=rows, **more
                )  # fmt: skip
            else:
                trained = fit_network(
                    self.files.path, cell.method, task, reading, y, train_rows=train_rows, dev_rows=dev_rows,
                    predict_rows=rows, score=lambda own, outputs: dev_score(documents, task, own, outputs), **more,
                )  # fmt: skip
        facts = _facts(cell, trained, len(train_rows), len(dev_rows))
        facts["bytes"] = self._save(cell, trained, task, keep=keep)
        packed = _packed(trained.outputs)
        curve = list(trained.outcome.curve)
        self.checkpoint.finish(cell.key, {**facts, "curve": [asdict(p) for p in curve]}, {"rows": rows, **packed})
        return Done(cell, facts, rows, trained.outputs, curve)

    def _say_cut(self, documents: int, share: float) -> None:
        """Say once, before training starts, what the model does not see."""
        if documents and not self.said_cut:
            self.said_cut = True
            say_cut(documents, share, "document")

    def _save(self, cell: Cell, trained: Trained, task: Task, *, keep: bool) -> int:
        """Write the model, for good or to see how large it is; return the bytes of its weights."""
        family = cell.method.kind.family
        config = self.config(cell.method, task, trained)
        self.checkpoint.begin()
        where = self.checkpoint.path  # what a kill leaves there goes with it
        with naming(where), tempfile.TemporaryDirectory(dir=where, prefix="model-") as scratch:
            folder = (self.checkpoint.model if keep else Path(scratch)) / config.format
            if family == "setfit":
                save_setfit(trained, folder, config)
                return model_bytes(folder)
            assert trained.network is not None
            save_network(trained.network, folder, config)
            size = model_bytes(folder)
            if keep and self.merge:
                save_merged(trained.network, self.checkpoint.model / "merged", config)
            return size

    def config(self, method: Method, task: Task, trained: Trained) -> TunedConfig:
        """Return what is written into the model folder."""
        holder = trained.network or trained.embedder
        return TunedConfig(
            FORMATS[method.kind.family], task, method.spelling, base_name(self.files), weights_fingerprint(self.files.path),
            int(holder.max_tokens), self.columns, __version__,
        )  # fmt: skip


def say_cut(n: int, share: float, noun: str) -> None:
    """Warn of texts that are longer than the window; noun: what has such a text."""
    if n:
        reporting.warn(
            f"{wording.counted(n, noun)} longer than the window of the model: {wording.percent(share)} of all tokens are not seen; "
            "see --max-tokens, or cut them with nlpkit preprocess --unit"
        )


def say_unknown(files: ModelFiles, texts: Sequence[str]) -> None:
    """Warn when the vocabulary of a model lacks many tokens of the first texts: it is of another language."""
    from nlpkit.embed.layout import read_layout
    from nlpkit.embed.tokens import load_tokenizer, unknown_share

    layout = read_layout(files.path)
    if layout is None or not (layout.folder / "tokenizer.json").is_file():
        return
    share = unknown_share(load_tokenizer(layout), texts[:SAMPLE])
    if share >= MUCH:
        reporting.warn(
            f"{share:.1%} of the tokens are not in the vocabulary of {files.name}; see --base for a model of the language"
        )


def base_name(files: ModelFiles) -> str:
    """Return how a model is found again: its name, or of a folder the whole path."""
    return str(files.path) if files.origin == "path" else files.name


def save_setfit(trained: Trained, folder: Path, config: TunedConfig) -> None:
    """Write a sentence-transformers folder with the classifier beside it: head.safetensors and nlpkit.json."""
    import torch
    from safetensors.torch import save_file

    assert trained.model is not None
    trained.embedder.save(folder)
    arrays = {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in trained.model.arrays().items()}
    save_file(arrays, folder / "head.safetensors")
    own = trained.model.config()
    write_config(folder, TunedConfig(**{**{n: getattr(config, n) for n in TunedConfig.__dataclass_fields__},
                                        "columns": {**config.columns, "setfit": own}}))  # fmt: skip


def roles(documents: TuneDocuments, cell: Cell) -> tuple[LongArray, LongArray, LongArray]:
    """Return the rows to learn from, those that tell when to stop, and those to predict."""
    nothing = np.zeros(0, np.int64)
    if cell.fold is None:
        train, test = documents.rounds[0]
        return train, documents.dev, test
    if cell.fold == FINAL:
        return documents.train, nothing, np.flatnonzero(documents.split < 0)
    train, test = documents.rounds[cell.fold]
    return train, nothing, test


def task_of(documents: TuneDocuments, train: LongArray) -> tuple[Task, Any]:
    """Return the task and the targets of all documents; those of rows that have none are never looked at."""
    labels = documents.labels
    if documents.kind == "single":
        assert labels.codes is not None
        return Task("single", labels.names), np.maximum(labels.codes, 0).astype(np.int64)
    if documents.kind == "multi":
        assert labels.sets is not None
        return Task("multi", labels.names), labels.sets.astype(np.float32)
    if documents.kind == "regression":
        assert documents.values is not None
        own = documents.values[train]
        mean, scale = float(own.mean()), float(own.std()) or 1.0
        return Task("regression", (), mean, scale), np.nan_to_num((documents.values - mean) / scale).astype(np.float32)
    return Task("tokens", documents.tag_names), _token_targets(documents)


def _token_targets(documents: TuneDocuments) -> list[Any]:
    """Return the code of the label of each word; the network looks at the first token of a word."""
    assert documents.tags is not None
    code = {name: j for j, name in enumerate(documents.tag_names)}
    return [
        np.array([IGNORED if t is None else code.get(t, IGNORED) for t in own or ()], np.int64)
        for own in documents.tags
    ]


def dev_score(documents: TuneDocuments, task: Task, rows: LongArray, outputs: Any) -> float:
    """Return the score on dev documents that early stopping looks at: accuracy, micro-F1, Spearman's rho, or accuracy of words."""
    if task.kind == "single":
        assert documents.labels.codes is not None
        return float((outputs.argmax(axis=1) == documents.labels.codes[rows]).mean())
    if task.kind == "multi":
        assert documents.labels.sets is not None
        both = documents.labels.sets[rows] & (outputs > 0)
        return float(2 * both.sum() / max(1, documents.labels.sets[rows].sum() + (outputs > 0).sum()))
    if task.kind == "regression":
        assert documents.values is not None
        own = statistics(documents.values[rows], outputs[:, 0])["spearman"](np.ones((1, len(rows))))[0]
        return float(own) if np.isfinite(own) else -1.0
    assert documents.tags is not None
    hits = n = 0
    for row, logits in zip(rows.tolist(), outputs, strict=True):
        true = documents.tags[row] or []
        seen = np.isfinite(logits).all(axis=1)  # the window ends before the others
        best: Any = np.where(seen, np.nan_to_num(logits).argmax(axis=1), -1) if len(logits) else []
        hits += sum(j >= 0 and a == task.names[j] for a, j in zip(true, best, strict=False))
        n += sum(a is not None for a in true)
    return hits / max(1, n)


def _facts(cell: Cell, trained: Trained, n_train: int, n_dev: int) -> dict[str, Any]:
    plan, outcome = trained.plan, trained.outcome
    return {
        "method": cell.method.spelling,
        "options": dict(trained.options),
        "shots": cell.shots,
        "seed": cell.seed,
        "fold": cell.fold,
        "training_documents": n_train,
        "dev_documents": n_dev,
        "trained_parameters": trained.n_trained,
        "parameters": trained.n_parameters,
        "steps": outcome.steps,
        "best_step": outcome.best_step,
        "stopped_early": outcome.stopped_early,
        "batch_size": outcome.batch,
        "lr": plan.rate,
        "head_lr": plan.head_rate,
        "epochs": plan.epochs,
        "seconds": round(trained.seconds, 3),
        "predict_seconds": round(trained.predict_seconds, 3),
        "documents_cut": trained.cut[0],
        "tokens_unseen": round(trained.cut[1], 6),
        **({"setfit": dict(trained.model.counts)} if trained.model is not None else {}),
    }


def _packed(outputs: Any) -> dict[str, np.ndarray]:
    if isinstance(outputs, list):  # of words: arrays of different lengths
        width = outputs[0].shape[1] if outputs else 1
        sizes = np.array([len(o) for o in outputs], np.int64)
        return {"outputs": np.concatenate([np.zeros((0, width)), *outputs]), "sizes": sizes}
    return {"outputs": np.asarray(outputs)}


def _unpacked(arrays: dict[str, np.ndarray]) -> Any:
    if "sizes" not in arrays:
        return arrays["outputs"]
    return list(np.split(arrays["outputs"], np.cumsum(arrays["sizes"])[:-1])) if len(arrays["sizes"]) else []


def guesses_of(documents: TuneDocuments, done: Sequence[Done]) -> Guesses:
    """Return what trainings say of the documents, each of those it predicted."""
    found = nothing_yet(documents)
    for one in done:
        if len(one.rows):
            task, _ = task_of(documents, roles(documents, one.cell)[0])
            put(found, task, one.rows, one.outputs)
    return found
