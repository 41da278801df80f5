"""Fine-tuning from start to end: train a transformer on labelled documents, compare methods, estimate what that takes.

Parts, in this order:
- What comes of a fine-tuning: a model with its scores and tables, or a comparison of methods.
- The three functions that a person calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import NlpkitError
from nlpkit.finetune.comparison import (
    SIZES,
    ComparisonRows,
    best_of,
    compare,
    comparison_table,
    ranks_of,
    size_of,
    summary,
)
from nlpkit.finetune.data.checks import find_overlap, note_overlap, overlap_notes
from nlpkit.finetune.estimate import estimate, loads_of
from nlpkit.finetune.foreign_files import export_setfit
from nlpkit.finetune.job import KINDS, FinetuneJob, prepare
from nlpkit.finetune.model import FinetunedModel
from nlpkit.finetune.model_cards import calibration_note, write_cards
from nlpkit.finetune.options import DatasetOptions, FinetuneOptions, HardwareOptions, TrainingOptions
from nlpkit.finetune.resume import TrainingStore, open_store
from nlpkit.finetune.scores import MAIN, score_task, spread_over_seeds, with_means
from nlpkit.finetune.tables import comparison_curves, run_tables, trial_curves
from nlpkit.finetune.training.train import LogPoint
from nlpkit.finetune.trials import TrialResult, collect_predictions
from nlpkit.metrics.gates import GateRules
from nlpkit.metrics.results import Evaluation, Gate
from nlpkit.metrics.score import Uncertainty
from nlpkit.platform import reporting, wording
from nlpkit.platform.options import Execution
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.runs import RunTables
from nlpkit.version import __version__

GROWTH = 2  # of the loss, from which on it is a warning


class FinetuneResult(FinetunedModel):
    """A fine-tuned model with the scores of documents that it has not seen.

    dataset: with the draw of the first seed. results: trainings of the first seed, the last of which made the model. scores: of
    the model, of the majority class and without near-duplicates. spread: scores of all seeds with mean and deviation, None for one
    seed. calibration: temperature, and ECE before and after it; None where there is none. gates: the outcome of what the scores
    must keep; problem: why they could not be checked.
    """

    def __init__(self, job: FinetuneJob, store: TrainingStore, by_seed: Mapping[int, list[TrialResult]]) -> None:
        """Score the trainings of each seed."""
        self.job, self._store, self._by_seed, model = job, store, by_seed, store.checkpoint.model
        self._format = next(p.name for p in sorted(model.iterdir()) if p.is_dir() and p.name != "merged")
        super().__init__(model / self._format, job.execution)
        first, shots, threshold = min(by_seed), job.sizes[0], job.dataset_options.near_duplicates
        self.results, self.dataset = by_seed[first], job.dataset.drawn(shots, seed=first)
        with stopwatch(job.seconds, "scores"):
            self._near_duplicates = find_overlap(self.dataset, threshold)
            self._predictions = collect_predictions(self.dataset, self.results)
            has_near_duplicate = (
                None if self._near_duplicates is None else np.asarray(self._near_duplicates.nearest >= 0)
            )
            self.scores = score_task(self.dataset, self._predictions, has_near_duplicate, job.uncertainty)
            self.spread = self._spread() if len(by_seed) > 1 else None
            self.calibration = self._calibration()
        self._tables = run_tables(
            self.dataset, self._predictions, self.scores, self._near_duplicates, probabilities=job.options.probabilities
        )
        self._overlap = overlap_notes(self.dataset, self._near_duplicates, threshold)
        self.gates: list[Gate] = []
        self.problem: NlpkitError | None = None
        try:
            self.gates = job.rules.check(Evaluation([with_means(self.scores.model, self.spread)]))
        except NlpkitError as error:  # the model can be used all the same
            self.problem = error

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the training that made the model: method, steps, rates, parameters, seconds."""
        return self.results[-1].facts

    @property
    def curve(self) -> Sequence[LogPoint]:
        """The log of the training that made the model."""
        return self.results[-1].curve

    @property
    def evaluation(self) -> Evaluation:
        """The scores of the model."""
        return Evaluation([self.scores.model], gates=self.gates)

    @cached_property
    def report(self) -> dict[str, Any]:
        """All scores and facts, as metrics.json has them."""
        report = {
            "nlpkit_version": __version__,
            "seed": self.job.execution.seed,
            **Evaluation(self.scores.results).to_dict(),
        }
        report["training"] = dict(self.facts)
        if self.calibration is not None:
            report["calibration"] = self.calibration
        if self.spread is not None:
            report["seeds"] = self.spread
        if self.gates:
            report |= {"gates": [gate.to_dict() for gate in self.gates], "passed": all(g.passed for g in self.gates)}
        return report

    @property
    def notes(self) -> list[str]:
        """Notes on the scores and the training."""
        pairs = ["twins.parquet has the pairs"] if "twins" in self._tables else []
        notes = [*self.scores.model.notes, *self._overlap, *pairs]
        if self.calibration is not None:
            notes.append(calibration_note(self.calibration))
        if self.facts["stopped_early"]:
            notes.append(f"stopped early: the best score on dev documents was that of step {self.facts['best_step']:,}")
        alone = self.facts.get("setfit", {}).get("alone", 0)
        if alone:
            classes = wording.counted(alone, "class", "classes")
            notes.append(f"{classes} with one training document, whose similar pair is with itself")
        if "layer_weights" in self.facts:
            characters, *layers = (wording.percent(share) for share in self.facts["layer_weights"]["shares"])
            notes.append(
                f"of ELMo's vectors, those of the characters make up {characters}, its layers from the first on {', '.join(layers)}"
            )
        return notes

    def tables(self) -> Mapping[str, pa.Table]:
        """Return documents with predictions, classes, confusions, errors and near-duplicates, as far as the task has them."""
        return self._tables

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the run: model, tables, scores, curves and model cards.

        Raises:
            OutputExistsError: it is there and `force` was not given.
        """
        if not self._store.checkpoint.model.exists():  # it has been saved before
            return super().save(path, force=force)
        job, model = self.job, self._store.checkpoint.model
        parameters = {**job.parameters(), "training": self.facts}
        results = {name: score.value for name, score in self.scores.model.scores.items()}
        write_cards(
            model,
            self.scores,
            parameters,
            self.dataset,
            job.provenance.inputs,
            self.spread,
            self._overlap,
            self.calibration,
        )
        curves = {"curve.jsonl": trial_curves([result for results in self._by_seed.values() for result in results])}
        config = {"kind": "finetune", "format": self._format}
        files = RunTables(self._tables, {}, config, reports={"metrics": self.report}, texts=curves, model_folder=model)
        self.path = job.save("finetune", files, path, results=results, further={"training": self.facts}, force=force)
        if job.options.export is not None:
            export_setfit(model / "setfit", job.options.export)
            reporting.note(f"wrote {job.options.export}/ for the setfit library; its model_head.pkl is a pickle")
        self._store.checkpoint.remove()
        return self.path

    def _calibration(self) -> dict[str, Any] | None:
        """Return the temperature of the model and the ECE of test documents without it and with it; None where there is none."""
        temperature = self.facts.get("temperature")
        if temperature is None:
            return None
        before = [replace(result, outputs=result.outputs * temperature) for result in self.results]
        predictions = collect_predictions(self.dataset, before)
        scores = score_task(self.dataset, predictions, None, Uncertainty(None, self.job.execution.seed))
        return {
            "temperature": temperature, "dev_documents": self.facts["dev_documents"],
            "ece_before": scores.model.scores["ece"].value, "ece": self.scores.model.scores["ece"].value,
        }  # fmt: skip

    def _spread(self) -> dict[str, Any]:
        scores = {}
        for seed, results in self._by_seed.items():
            drawn = self.job.dataset.drawn(self.job.sizes[0], seed=seed)
            scores[seed] = score_task(drawn, collect_predictions(drawn, results), None, Uncertainty(None, seed))
        return spread_over_seeds(scores)


class MethodComparison:
    """Methods side by side on one test.

    rows: of each method, size, sample and seed; votes: of each method, size and sample, the majority vote; means: over the samples
    and seeds; ranks: the mean ranks of the methods, None for one method or one sample.
    """

    def __init__(self, job: FinetuneJob, store: TrainingStore, rows: ComparisonRows) -> None:
        """Take the rows of `nlpkit.finetune.comparison.compare`."""
        self.job, self.rows, self.votes, self._store = job, rows.trainings, rows.votes, store
        metric, level = MAIN[job.dataset.kind], job.uncertainty.level
        self.means = summary(rows, metric=metric, level=level)
        self.ranks = None if level is None else ranks_of(rows, metric=metric, level=level)

    @property
    def best(self) -> Mapping[str, Any] | None:
        """The row of `means` with the best score, None where there is none."""
        return best_of(self.means, self.job.dataset.kind)

    @property
    def report(self) -> dict[str, Any]:
        """The means, deviations and ranks, as metrics.json has them."""
        report = {"nlpkit_version": __version__, "seed": self.job.execution.seed, "comparison": self.means}
        if self.ranks is not None:
            ranks = dict(zip(self.ranks.names, self.ranks.ranks.tolist(), strict=True))
            report["ranks"] = {
                "metric": MAIN[self.job.dataset.kind], "blocks": self.ranks.blocks, "mean_rank": ranks,
                "critical_difference": self.ranks.critical_difference, "p_value": self.ranks.p_value, "level": self.ranks.level,
            }  # fmt: skip
        return report

    def table(self) -> pa.Table:
        """Return a row for each method, size, sample and seed; shots is null for all documents."""
        return comparison_table(self.rows)

    def tables(self) -> Mapping[str, pa.Table]:
        """Return the tables of the comparison: scores and sizes, seconds, and by a protocol the majority votes."""
        votes = {"votes": comparison_table(self.votes)} if self.votes else {}
        return {"comparison": self.table(), "costs": comparison_table(self.rows, clocks=True), **votes}

    def scarce_shots(self) -> list[int]:
        """Return the numbers of shots that some class has not as many documents for."""
        dataset = self.job.dataset
        if dataset.by_total:
            return []
        least = min(dataset.labels.sizes(dataset.train).tolist(), default=0)
        return [shots for shots in self.job.sizes if shots is not None and shots > least]

    def save(self, path: str | Path, *, force: bool = False, train_best: str = "") -> Path:
        """Write the run of the comparison: its tables, metrics.json, the curves, and no model.

        Args:
            train_best: how the best method is trained, for the manifest; default: as a call of Python.

        Raises:
            OutputExistsError: it is there and `force` was not given.
        """
        results = {}
        if self.best is not None:
            method, name = self.best["method"], self.job.dataset_options.size_name
            sizes = {size: self.best[size] for size in SIZES if size in self.best}
            line = train_best or f"nk.finetune(data, method={method!r}, {name}={size_of(self.best)!r})"
            results = {"best": method, **sizes, "train_best": line}
        texts = {"curve.jsonl": comparison_curves(self.rows)}
        config = {"kind": "finetune-comparison"}
        files = RunTables(self.tables(), {}, config, reports={"metrics": self.report}, texts=texts)
        target = self.job.save("finetune-comparison", files, path, results=results, force=force)
        self._store.checkpoint.remove()
        return target


def warn_growth(curve: Sequence[LogPoint]) -> None:
    """Warn where the loss ended well above its start."""
    if len(curve) > 1 and curve[-1].loss > GROWTH * curve[0].loss:
        reporting.warn(f"the loss grew from {curve[0].loss:.3g} to {curve[-1].loss:.3g} in training; lower `lr`")


# ------------------------------------------------------------------------------------------------------------------------
# Fine-tune a transformer on labelled documents, compare methods, estimate what that takes.


def finetune(
    data: Any,
    *,
    options: FinetuneOptions | None = None,
    dataset: DatasetOptions | None = None,
    training: TrainingOptions | None = None,
    hardware: HardwareOptions | None = None,
    execution: Execution | None = None,
    gates: GateRules | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    **settings: Any,
) -> FinetuneResult:
    """Fine-tune a transformer on labelled documents and score it on documents that it has not seen.

    Args:
        data: documents with labels: a Corpus, or a data frame with the columns text and label.
        options, dataset, training, hardware, execution: whole records of options; a single one is a keyword, as in
            `finetune(corpus, method="setfit", shots=8, test="test.jsonl", seed=1)`.
        gates: what the scores must keep; see `FinetuneResult.gates`.
        output: the run that the result will be saved as; unfinished work lies beside it, and `resume` continues it. None: in a
            temporary directory.
        force: drop unfinished work that lies there.

    Raises:
        UsageError: options that do not go together, or several methods, sizes or a protocol: see `compare_methods`.
        InputError, ColumnError: documents that cannot be learned from. MissingError: the base model is nowhere.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> tuned = nk.finetune(corpus, method="setfit", shots=2, max_steps=1)
        >>> tuned.predict(["fish in a river"])["prediction"].to_pylist()
        ['nature']
    """
    job = prepare(data, (options, dataset, training, hardware, execution), settings, gates, several=False)
    store = open_store(output, job.identity(), resume=resume, force=force)
    with job.runner(store) as runner:
        results = {
            seed: runner.run_round(job.dataset, job.methods[0], job.sizes[0], seed, keep=number == 0)
            for number, seed in enumerate(job.seeds)
        }
    return FinetuneResult(job, store, results)


def compare_methods(
    data: Any,
    *,
    options: FinetuneOptions | None = None,
    dataset: DatasetOptions | None = None,
    training: TrainingOptions | None = None,
    hardware: HardwareOptions | None = None,
    execution: Execution | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    **settings: Any,
) -> MethodComparison:
    """Fine-tune with several methods or numbers of documents and score all on the same test; no model is kept.

    Arguments and errors are as in `finetune`: `compare_methods(corpus, method="head,lora(r=4)", shots="8,64,all", seeds=5)`. With
    `protocol="majority"` there are 5 samples of the documents of each size, 5 trainings on each, and the majority votes of these.
    """
    job = prepare(data, (options, dataset, training, hardware, execution), settings, None, several=True)
    store = open_store(output, job.identity(), resume=resume, force=force)
    with job.runner(store) as runner:
        rows = compare(runner, job.dataset, job.methods, job.sizes, job.draws)
    note_overlap(job.dataset, job.sizes, job.dataset_options.near_duplicates, seed=job.execution.seed)
    return MethodComparison(job, store, rows)


def estimate_finetuning(data: Any, *, gates: GateRules | None = None, **options: Any) -> dict[str, Any]:
    """Return rows, tokens, memory, seconds and disk that `finetune` or `compare_methods` would take, under "plan" each training.

    options: records and single options, as these functions take them.
    """
    job = prepare(data, [options.pop(name, None) for name in KINDS], options, gates, several=None)
    trainings = sum(len(draw.seeds) for draw in job.draws)
    loads = loads_of(
        job.dataset, job.methods, job.sizes, trainings=trainings, training=job.training, seed=job.execution.seed,
        patterns=0 if job.patterns is None else len(job.patterns.texts),
        unlabelled=0 if job.unlabelled is None else len(job.unlabelled.texts),
    )  # fmt: skip
    quantization = job.options.quantization()
    return estimate(
        loads, job.files.path, job.dataset.texts, dropped=len(job.provenance.dropped), threads=job.execution.n_threads(),
        gpu=job.device.type != "cpu", window=job.training.max_tokens, bits=32.0 if quantization is None else quantization.bits,
    )  # fmt: skip
