"""Train a model itself, a sentence encoder by masked words or on pairs, a causal one on answers, and score it before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.dataset import DEV, TEST, TRAIN
from nlpkit.embed.models import find_model
from nlpkit.embed.options import LEAST_SAMPLE
from nlpkit.errors import UsageError
from nlpkit.finetune.data.read import check_held_out_files
from nlpkit.finetune.encoders.causal import check_causal, check_method
from nlpkit.finetune.encoders.data import check_classes, read_pairs
from nlpkit.finetune.encoders.encoders import ADAPTED_RATE, OPTIONS, PLANS, check_options
from nlpkit.finetune.encoders.options import TrainEncoderOptions
from nlpkit.finetune.encoders.training import (
    KEY,
    MOST_HELD_OUT,
    EncoderJob,
    EncoderTraining,
    train_causal,
    train_masked,
    train_pairs,
    train_static,
)
from nlpkit.finetune.estimate import estimate, loads_of_encoder
from nlpkit.finetune.job import SAMPLE, find_base, warn_unknown_tokens
from nlpkit.finetune.methods import MERGED, Method, parse_method
from nlpkit.finetune.model_cards import write_encoder_cards
from nlpkit.finetune.options import HardwareOptions, HeldOutOptions, ScheduleOptions
from nlpkit.finetune.resume import TrainingStore, open_store, trained_once
from nlpkit.finetune.tables import curve_lines
from nlpkit.finetune.training.train import LogPoint
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpus import as_corpus
from nlpkit.platform.named_options import Value, parse_options
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.reading import check_encoder
from nlpkit.platform.runs.runs import RunTables, new_run, open_run
from nlpkit.platform.runs.saving import save_run
from nlpkit.version import __version__

CAUSAL = ("sft", "dpo")
TRAININGS = {"mlm": train_masked, "static": train_static, "sft": train_causal, "dpo": train_causal}
BETTER = {
    "perplexity": "lower", "spearman": "higher", "accuracy": "higher", "recall@1": "higher", "closeness": "higher",
    "agreement": "higher", "loss": "lower",
}  # fmt: skip
RECORDS = {
    "options": TrainEncoderOptions, "held_out": HeldOutOptions, "training": ScheduleOptions, "hardware": HardwareOptions,
    "execution": Execution,
}  # fmt: skip


class EncoderResult:
    """A trained encoder with its scores on test rows before and after.

    before, after: scores by name; facts: of the training; curve: its log. path: the run, once it is saved.
    """

    def __init__(self, job: EncoderJob, store: TrainingStore, trained: EncoderTraining) -> None:
        """Take what comes of a training; the model lies in the store until it is saved."""
        self.job, self._store = job, store
        self.before, self.after, self.facts, self.curve = trained.before, trained.after, trained.facts, trained.curve
        self.path: Path | None = None

    @property
    def objective(self) -> str:
        """The name of the objective."""
        return self.job.name

    @property
    def n_tested(self) -> int:
        """The number of test rows."""
        return len(self.job.dataset.rows(TEST))

    @property
    def report(self) -> dict[str, Any]:
        """Scores and facts, as metrics.json has them."""
        return {
            "nlpkit_version": __version__, "seed": self.job.execution.seed, "objective": self.job.name, "test_rows": self.n_tested,
            "before": self.before, "after": self.after, "training": self.facts,
        }  # fmt: skip

    @property
    def worse(self) -> dict[str, tuple[float, float]]:
        """The scores that are worse than before: metric → (before, after)."""
        pairs = {metric: ((self.before or {}).get(metric, v), v) for metric, v in (self.after or {}).items()}
        return {
            metric: (before, after)
            for metric, (before, after) in pairs.items()
            if (after < before if BETTER[metric] == "higher" else after > before)
        }

    def tables(self) -> Mapping[str, pa.Table]:
        """Return the scores before and after as a table."""
        names = list(self.after or {})
        columns = {
            "metric": pa.array(names, pa.string()),
            "before": pa.array([(self.before or {}).get(name) for name in names], pa.float64()),
            "after": pa.array([(self.after or {})[name] for name in names], pa.float64()),
        }
        return {"scores": pa.table(columns)}

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the run: the encoder in the format of sentence-transformers, or a causal model in that of transformers, with scores,
        curve and model card.

        Raises:
            OutputExistsError: it is there and `force` was not given.
        """
        job, model, parameters = self.job, self._store.checkpoint.model, self.job.parameters()
        write_encoder_cards(model, job.name, parameters, self.report, job.provenance.inputs)
        texts = {"curve.jsonl": curve_lines(self.curve, {"objective": job.name, "seed": job.execution.seed})}
        kind, form = (
            ("finetune-causal", "transformers") if job.name in CAUSAL else ("finetune-encoder", "sentence-transformers")
        )
        config = {"kind": kind, "format": form}
        files = RunTables({}, {}, config, reports={"metrics": self.report}, texts=texts, model_folder=model)
        run = new_run(
            kind, files, job.provenance, command="train-encoder", parameters=parameters, further={"training": self.facts},
            results=self.after or {}, execution=job.execution, seconds=job.seconds,
        )  # fmt: skip
        self.path = save_run(run, path, force=force)
        self._store.checkpoint.remove()
        return self.path


def train_encoder(
    data: Any,
    *,
    options: TrainEncoderOptions | None = None,
    held_out: HeldOutOptions | None = None,
    training: ScheduleOptions | None = None,
    hardware: HardwareOptions | None = None,
    execution: Execution | None = None,
    output: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    **settings: Any,
) -> EncoderResult:
    """Train a sentence encoder on texts (objectives mlm and static), pairs or triplets, and score it before and after on test rows.

    Objectives sft and dpo train a causal language model: on answers, the texts, after prompts in `prompt_col`; or on pairs of answers,
    `chosen_col` and `rejected_col`, to prompts, the texts.

    Args:
        data: a Corpus, texts, or a data frame with the columns text, and of pairs `pair_col`, `negative_col`, label.
        options, held_out, training, hardware, execution: whole records of options; a single one is a keyword, as in
            `train_encoder(corpus, objective="mnrl", pair_col="other", epochs=2)`.
        output: the run that the result will be saved as; unfinished work lies beside it, and `resume` continues it. None: in a
            temporary directory. force: drop unfinished work that lies there.

    Raises:
        UsageError: options that do not go together. InputError, ColumnError: rows that cannot be learned from.
        MissingError: the base model is nowhere.
    """
    job = _prepare(data, (options, held_out, training, hardware, execution), settings)
    store = open_store(output, job.identity(), resume=resume, force=force)
    train = TRAININGS.get(job.name, train_pairs)
    facts = trained_once(store, job, KEY, job.name, lambda *where: asdict(train(job, *where)))
    trained = EncoderTraining(**{**facts, "curve": [LogPoint(**point) for point in facts["curve"]]})
    return EncoderResult(job, store, trained)


def estimate_encoder_training(data: Any, **options: Any) -> dict[str, Any]:
    """Return rows, tokens, memory, seconds and disk that `train_encoder` would take, under "plan" each stage.

    options: records and single options, as that function takes them.
    """
    job = _prepare(data, [options.pop(name, None) for name in RECORDS], options)
    dataset = job.dataset
    columns = 2 if job.name in CAUSAL else 1 + sum(column is not None for column in (dataset.second, dataset.negative))
    head_steps = int(job.objective_options.get("head_steps", 0))
    n_train, n_test = len(dataset.rows(TRAIN)), len(dataset.rows(TEST))
    if job.name == "static":
        n_train, n_test = min(n_train, int(job.objective_options["sample"])), min(n_test, MOST_HELD_OUT)
    adapted = job.method.name != "full"
    loads = loads_of_encoder(job.name, job.schedule, head_steps, columns, n_train, n_test, adapted=adapted)
    return estimate(
        loads, job.files.path, dataset.texts("text", np.arange(dataset.table.num_rows)), dropped=len(job.provenance.dropped),
        threads=job.execution.n_threads(), gpu=job.device.type != "cpu", window=job.training.max_tokens,
    )  # fmt: skip


def _prepare(data: Any, records: Sequence[Any], settings: Mapping[str, Any]) -> EncoderJob:
    """Read rows and model, and refuse what cannot be trained."""
    options, held_out, training, hardware, execution = with_settings(records, settings, tuple(RECORDS.values()))
    name, objective_options = parse_options(options.objective, OPTIONS, "objective")
    method = parse_method(options.method)
    columns = options.columns(name, held_out.pair_col)
    _check(method, training, name, objective_options)
    check_held_out_files(held_out)
    device, precision = hardware.chosen()
    if name == "static":  # the base only embeds: in the precision that sbert-embed has
        from nlpkit.embed.hardware import choose_precision

        precision = choose_precision(hardware.precision, device)
    corpus = as_corpus(data)
    seconds: dict[str, float] = {}
    with stopwatch(seconds, "read"):
        dataset, provenance = read_pairs(corpus, held_out, columns, name, seed=execution.seed)
    if name == "sbert-softmax":
        check_classes(dataset, held_out)
    base = _base(options.base, name, verify=execution.verify)
    if name == "static":  # the base embeds, and is not trained
        check_encoder(base, verify=execution.verify)
        files = find_model(base, offline=hardware.offline)
    else:
        files = find_base(base, verify=execution.verify, offline=hardware.offline)
    if name in CAUSAL:
        check_causal(files.path)
    warn_unknown_tokens(files, dataset.texts("text", np.arange(min(SAMPLE, dataset.table.num_rows))))
    n_train, n_dev, n_test = (len(dataset.rows(split)) for split in (TRAIN, DEV, TEST))
    training.check_patience(dev=n_dev > 0)
    dev = f", {n_dev:,} dev" if n_dev else ""
    reporting.note(f"{name}: {wording.counted(n_train, 'training row')}{dev}, {n_test:,} test")
    plan = PLANS[name]
    if method.name != "full":
        plan = replace(plan, rate=ADAPTED_RATE * plan.rate)
    return EncoderJob(
        name, objective_options, method, options, held_out, training, execution, device, precision, dataset, provenance, files,
        training.applied_to(plan), asdict(corpus.options), seconds,
    )  # fmt: skip


def _check(method: Method, training: ScheduleOptions, name: str, objective_options: Mapping[str, Value]) -> None:
    """Raise UsageError for a method that an objective is not trained with, and for its options."""
    check_options(objective_options, name)
    if name in CAUSAL:
        check_method(method)
    elif method.name not in ("full", *MERGED):
        raise UsageError(
            f"`method={method.name}`: for an encoder, only {', '.join(MERGED)} can be merged into weights that "
            "other commands read; use one of these, or full",
            parameter="method",
        )
    elif name == "static" and method.name != "full":
        raise UsageError(
            "`objective=static` is solved directly, without training; leave `method` out", parameter="method"
        )
    if name == "static":
        usual = ScheduleOptions()
        for option in ("epochs", "max_steps", "batch_size", "lr", "warmup", "weight_decay", "patience"):
            if getattr(training, option) != getattr(usual, option):
                raise UsageError(
                    f"`objective=static` is solved directly, without training; leave `{option}` out", parameter=option
                )
        sample = int(objective_options["sample"])
        if sample < LEAST_SAMPLE:
            raise UsageError(
                f"`objective=static(sample={sample})`: at least {LEAST_SAMPLE} texts are needed", parameter="objective"
            )
    if name == "mlm":
        share = float(objective_options["share"])
        if not 0 < share < 1:
            raise UsageError(
                f"`objective=mlm(share={share:g})`: a share of the tokens between 0 and 1 is needed",
                parameter="objective",
            )


def _base(name: str, objective: str, *, verify: bool) -> str:
    """Return the base to learn from: of a run the model of transformers in it, which for mlm has the head that guesses words."""
    whole = Path(name) / "model" / "transformers"
    if objective in ("mlm", *CAUSAL) and (Path(name) / MANIFEST).is_file() and (whole / "config.json").is_file():
        return str(open_run(Path(name), verify=verify).folder("model/transformers"))
    return name
