"""Trials: for each method, number of shots, seed and fold one training on one base model; and what comes of each."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from nlpkit.errors import InputError
from nlpkit.finetune.data.dataset import FinetuneDataset
from nlpkit.finetune.data.texts import TextInputs
from nlpkit.finetune.fit import fit_network, fit_setfit
from nlpkit.finetune.methods import Method
from nlpkit.finetune.options import TrainingOptions
from nlpkit.finetune.patterns.patterns import Patterns
from nlpkit.finetune.patterns.pet import fit_patterns
from nlpkit.finetune.patterns.tfew import fit_tfew
from nlpkit.finetune.predictions import TaskPredictions, empty_predictions
from nlpkit.finetune.quantization import Quantization
from nlpkit.finetune.scores import dev_score
from nlpkit.finetune.setfit.adasent import fit_adasent
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.trained import Trained, TrainingCallbacks
from nlpkit.finetune.training.engine import Engine
from nlpkit.finetune.training.train import LogPoint, State
from nlpkit.platform import reporting, wording
from nlpkit.platform.interrupts import between_steps
from nlpkit.platform.types import LongArray

FINAL = -1


@dataclass(frozen=True, slots=True)
class TrialConfig:
    """One training.

    size: of the sample of documents, None for all (see `FinetuneDataset.drawn`); seed: of the training; fold: of cross-validation,
    FINAL for all documents, None for a test; sample: seed of the sample, None: as `seed`.
    """

    method: Method
    size: int | None
    seed: int
    fold: int | None = None
    sample: int | None = None

    @property
    def key(self) -> str:
        """A name for its files."""
        parts = [self.method.spelling, "all" if self.size is None else str(self.size), str(self.seed)]
        parts += [] if self.sample is None else [f"sample{self.sample}"]
        name = "-".join([*parts, "" if self.fold is None else "final" if self.fold == FINAL else f"fold{self.fold}"])
        safe = "".join(c if c.isalnum() or c in "-_+" else "_" for c in name).strip("-")
        return f"{safe[:60]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"

    def title(self, dataset: FinetuneDataset) -> str:
        """Return its name on the screen."""
        parts = [self.method.spelling, dataset.describe_size(self.size)]
        parts += [] if self.sample is None else [f"sample {self.sample}"]
        parts += [f"seed {self.seed}"]
        parts += [] if self.fold is None else ["all documents" if self.fold == FINAL else f"fold {self.fold + 1}"]
        return ", ".join(part for part in parts if part)

    def rows(self, dataset: FinetuneDataset) -> tuple[LongArray, LongArray, LongArray]:
        """Return the rows to learn from, those that decide when to stop, and those to predict."""
        nothing = np.zeros(0, np.int64)
        if self.fold is None:
            train, test = dataset.rounds[0]
            return train, dataset.dev, test
        if self.fold == FINAL:
            return dataset.train, nothing, np.flatnonzero(dataset.split < 0)
        train, test = dataset.rounds[self.fold]
        return train, nothing, test


@dataclass(slots=True)
class TrialResult:
    """Result of a training. facts: plain values; outputs: of the rows that it predicted; curve: its log."""

    config: TrialConfig
    facts: dict[str, Any]
    rows: LongArray
    outputs: Any
    curve: list[LogPoint]


class TrialStore(Protocol):
    """Where trainings that are done, and the one under way, are kept; see `nlpkit.finetune.checkpoints.Checkpoint`."""

    path: Path

    def finished(self, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return facts and arrays of a training that is done, None when it is not."""

    def finish(self, key: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Keep what comes of a training."""

    def save(self, key: str, state: State) -> None:
        """Keep the state of a training under way."""

    def state(self, key: str) -> State | None:
        """Return the state of a training under way, None when there is none."""


class ModelWriter(Protocol):
    """Writes the model of a training, or only measures it; see `nlpkit.finetune.foreign_files.ModelFolder`."""

    def __call__(self, method: Method, trained: Trained, task: FinetuneTask, *, keep: bool) -> int:
        """Write a model, for good with `keep`; return the bytes of its weights."""


@dataclass(slots=True)
class TrialStages:
    """The trainings that one trial consists of, in the store of all; see `nlpkit.finetune.patterns.pet.Stages`."""

    store: TrialStore
    config: TrialConfig

    def _key(self, name: str) -> str:
        return f"{self.config.key}-{name}"

    def finished(self, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return facts and arrays of a training that is done, None when it is not."""
        return self.store.finished(self._key(name))

    def finish(self, name: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Keep what comes of a training."""
        self.store.finish(self._key(name), facts, arrays)

    def save(self, name: str, state: State) -> None:
        """Keep the state of a training under way."""
        self.store.save(self._key(name), state)

    def state(self, name: str) -> State | None:
        """Return the state of a training that was interrupted, and say so; None when there is none."""
        return load_resume_state(self.store, self._key(name), f"{self.config.title}, {name}")


@dataclass(slots=True)
class TrialRunner:
    """Runs trainings: all of them on one base model, on one device. patterns: of PET and its kin; unlabelled: of these and AdaSent."""

    base: Path
    options: TrainingOptions
    engine: Engine
    store: TrialStore
    write_model: ModelWriter
    patterns: Patterns | None = None
    unlabelled: TextInputs | None = None
    quantization: Quantization | None = None
    truncation_reported: bool = False

    def run_round(
        self, dataset: FinetuneDataset, method: Method, size: int | None, seed: int, *, sample: int | None = None, keep: bool = False
    ) -> list[TrialResult]:  # fmt: skip
        """Return the trainings of one seed: one with a test set, else those of all folds.

        Args:
            sample: seed of the sample of documents, None: as `seed`. keep: keep the model, in cross-validation that of all
                documents, which is trained after the folds.
        """
        drawn = dataset.drawn(size, seed=seed if sample is None else sample)
        if not drawn.n_folds:
            return [self.run(TrialConfig(method, size, seed, sample=sample), drawn, keep=keep)]
        results = [self.run(TrialConfig(method, size, seed, fold), drawn, keep=False) for fold in range(drawn.n_folds)]
        if keep:
            results.append(self.run(TrialConfig(method, size, seed, FINAL), drawn, keep=True))
        return results

    def run(self, config: TrialConfig, dataset: FinetuneDataset, *, keep: bool) -> TrialResult:
        """Train one model, or take it from the store; with `keep` the model stays there.

        Raises:
            InputError: the store is of other documents.
        """
        train_rows, dev_rows, rows = config.rows(dataset)
        title = config.title(dataset)
        done = self.store.finished(config.key)
        if done is not None:
            facts, arrays = done
            if not np.array_equal(arrays["rows"], rows):
                raise InputError(
                    f"checkpoint {self.store.path} belongs to other documents; `force` without `resume` deletes it"
                )
            reporting.note(f"{title}: taken from the checkpoint")
            curve = [LogPoint(**p) for p in facts.pop("curve")]
            return TrialResult(config, facts, arrays["rows"], _unpacked(arrays), curve)
        task, y = dataset.task_and_targets(train_rows)
        state = load_resume_state(self.store, config.key, title)
        with reporting.progress(title, 100, percent=True) as update, between_steps() as stop:

            def on_step(step: int, steps: int, point: LogPoint | None) -> None:
                loss = "" if point is None else f", loss {point.loss:.3f}"
                dev = "" if point is None or not point.dev else f", dev {next(iter(point.dev.values())):.3f}"
                update(100 * step // steps, f"{title}{loss}{dev}" if point is not None else None)
                stop.step(step, steps)

            callbacks = TrainingCallbacks(
                state, lambda now: self.store.save(config.key, now), on_step, self._warn_truncation
            )
            common: dict[str, Any] = {
                "training": self.options, "engine": self.engine, "seed": config.seed, "callbacks": callbacks,
            }  # fmt: skip
            common |= {"train_rows": train_rows, "dev_rows": dev_rows, "predict_rows": rows}
            if config.method.name == "adasent":
                trained = fit_adasent(
                    self.base, config.method, dataset.labels, dataset.text_inputs, unlabelled=self.unlabelled,
                    stages=TrialStages(self.store, config), **common,
                )  # fmt: skip
            elif config.method.name == "setfit":
                trained = fit_setfit(self.base, config.method, dataset.labels, dataset.text_inputs, **common)
            else:
                common["score"] = lambda at, outputs: dev_score(dataset, task, at, outputs)
                if config.method.name == "tfew":
                    assert self.patterns is not None
                    trained = fit_tfew(self.base, config.method, task, self.patterns, dataset.text_inputs, y, **common)
                elif config.method.kind.family == "pet":
                    assert self.patterns is not None
                    trained = fit_patterns(
                        self.base, config.method, task, self.patterns, dataset.text_inputs, y, unlabelled=self.unlabelled,
                        stages=TrialStages(self.store, config), **common,
                    )  # fmt: skip
                else:
                    trained = fit_network(
                        self.base, config.method, task, dataset.text_inputs, y, quantization=self.quantization,
                        shares=dataset.labels.shares, **common,
                    )  # fmt: skip
        facts = _facts(config, dataset, trained, len(train_rows), len(dev_rows))
        if trained.unfit:
            reporting.warn(
                f"{config.title}: {wording.counted(trained.unfit, 'answer')} do not fit into a window and are not "
                "learned; raise `max_tokens` or `overlap`"
            )
        if self.options.calibrate:
            facts["temperature"] = trained.temperature
            if trained.temperature is None:
                reporting.warn(
                    f"{config.title}: no error among {wording.counted(len(dev_rows), 'dev document')}, so no "
                    "temperature can be fitted and probabilities are unchanged; give more dev documents"
                )
        facts["bytes"] = self.write_model(config.method, trained, task, keep=keep)
        curve = list(trained.outcome.curve)
        self.store.finish(
            config.key, {**facts, "curve": [asdict(p) for p in curve]}, {"rows": rows, **_packed(trained.outputs)}
        )
        return TrialResult(config, facts, rows, trained.outputs, curve)

    def _warn_truncation(self, documents: int, share: float) -> None:
        """Warn once, before training starts, of what the model does not see."""
        if documents and not self.truncation_reported:
            self.truncation_reported = True
            warn_truncation(documents, share, "document")


def load_resume_state(store: TrialStore, key: str, title: str) -> State | None:
    """Return the state of a training that was interrupted, and say so; None when there is none."""
    state = store.state(key)
    if state is not None:
        reporting.note(f"{title}: continuing after step {state.step:,}")
    return state


def warn_truncation(n: int, share: float, noun: str) -> None:
    """Warn of texts that are longer than the window; noun: what has such a text."""
    if n:
        reporting.warn(
            f"{wording.counted(n, noun)} longer than the window of the model: {wording.percent(share)} of all "
            "tokens are not read; see `max_tokens`, or split the documents with `preprocess(unit)`"
        )


def collect_predictions(dataset: FinetuneDataset, results: Sequence[TrialResult]) -> TaskPredictions:
    """Return the predictions of trainings for the documents, each for those it predicted."""
    task = FinetuneTask(dataset.kind, dataset.names if dataset.kind != "regression" else (), crf=dataset.crf)
    predictions = empty_predictions(task, len(dataset.raw_labels))
    for result in results:
        if len(result.rows):
            task, _ = dataset.task_and_targets(result.config.rows(dataset)[0])
            predictions.fill(task, result.rows, result.outputs)
    return predictions


def size_columns(dataset: FinetuneDataset, size: int | None) -> dict[str, int | None]:
    """Return the size of a sample as tables have it: shots, null for all; of numbers of documents in all also total."""
    return {"shots": None, "total": size} if dataset.by_total else {"shots": size}


def _facts(config: TrialConfig, dataset: FinetuneDataset, trained: Trained, n_train: int, n_dev: int) -> dict[str, Any]:
    schedule, outcome, of_layers = trained.plan, trained.outcome, trained.layer_weights
    return {
        "method": config.method.spelling,
        "options": dict(trained.options),
        **size_columns(dataset, config.size),
        **({} if config.sample is None else {"sample": config.sample}),
        "seed": config.seed,
        "fold": config.fold,
        "training_documents": n_train,
        "dev_documents": n_dev,
        "trained_parameters": trained.n_trained,
        "parameters": trained.n_parameters,
        "steps": outcome.steps,
        "best_step": outcome.best_step,
        "stopped_early": outcome.stopped_early,
        "batch_size": outcome.batch,
        "lr": schedule.rate,
        "head_lr": schedule.head_rate,
        "epochs": schedule.epochs,
        "seconds": round(trained.seconds, 3),
        "predict_seconds": round(trained.predict_seconds, 3),
        "documents_cut": trained.cut[0],
        "tokens_unseen": round(trained.cut[1], 6),
        **({"setfit": dict(trained.model.counts)} if trained.model is not None else {}),
        **({config.method.kind.family: dict(trained.patterns)} if trained.patterns is not None else {}),
        **({"domain": dict(trained.domain)} if trained.domain is not None else {}),
        **({"layer_weights": of_layers} if of_layers is not None else {}),
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
