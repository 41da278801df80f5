"""Estimates of a fine-tuning: trained parameters, steps and time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nlpkit.finetune.data.dataset import FinetuneDataset
    from nlpkit.finetune.methods import Method
    from nlpkit.finetune.options import TrainingOptions
    from nlpkit.finetune.training.train import Schedule

# Rates of MiniLM on two cores of a server; for others, and for a GPU, a guess
_FLOPS_OF_A_THREAD = 5e10
_FLOPS_OF_A_GPU = 2e13
_UPDATE = 8e-9  # seconds of AdamW for one parameter
_START = 8.0  # seconds until libraries are loaded
_LIBRARIES = 600  # MB
_TOKENS_OF_A_CHARACTER = 1.35 / 6
_WINDOW = 256
# What a method trains → share of the parameters that are trained, and passes of a text, as in `Load`; 0: one for each document
COSTS = {"all": (1.0, 3.0), "some": (0.01, 2.0), "head": (0.01, 0.0)}


@dataclass(frozen=True, slots=True)
class Load:
    """Trainings of one kind.

    size: of the sample, "" for all; by_total: it counts documents in all, not of each class. documents: that each learns from;
    steps: of each; texts: of a step; tested: documents scored after it.

    trained: share of the parameters that are trained; passes: forward-pass equivalents per text (3 for full back-propagation);
    test_passes: the same per tested document.
    """

    name: str
    size: str
    trainings: int
    documents: int
    steps: int
    texts: int
    tested: int
    trained: float
    passes: float
    test_passes: float = 1.0
    by_total: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """Sizes of an encoder. parameters; weights: those of its layers; width: of what all layers put out for a token."""

    parameters: int
    weights: int
    width: int

    @classmethod
    def from_folder(cls, folder: Path) -> Body:
        """Return the sizes of a model folder without loading it. Raises InputError for a file that is damaged."""
        from nlpkit.embed.models import weight_files
        from nlpkit.finetune.training.loading import tensor_shapes

        parameters = weights = width = 0
        for path in weight_files(folder):
            shapes = tensor_shapes(path)
            parameters += sum(math.prod(shape) for shape in shapes.values())
            layers = [shape for name, shape in shapes.items() if len(shape) == 2 and "embedding" not in name]
            weights += sum(math.prod(shape) for shape in layers)
            width += sum(shape[0] for shape in layers)
        return cls(parameters, weights, width)


def loads_of(
    dataset: FinetuneDataset, methods: Sequence[Method], sizes: Sequence[int | None], *, trainings: int, training: TrainingOptions,
    seed: int, patterns: int = 0, unlabelled: int = 0,
) -> list[Load]:  # fmt: skip
    """Return the trainings of methods and sizes, so many of each; in cross-validation the folds, then the model of all documents.

    patterns, unlabelled: numbers of patterns and unlabelled texts of PET, each a training more.
    """
    loads = []
    for method in methods:
        for size in sizes:
            train, test = (len(rows) for rows in dataset.drawn(size, seed=seed).rounds[0])
            if method.kind.family == "pet":
                rounds = trainings * (
                    max(1, dataset.n_folds) + (1 if dataset.n_folds and len(methods) == len(sizes) == 1 else 0)
                )
                loads += _pattern_loads(method, size, rounds, train, test, dataset, training, patterns, unlabelled)
                continue
            if method.name == "adasent":
                rounds = trainings * max(1, dataset.n_folds) + (dataset.n_folds > 0)
                loads.append(_domain_load(method, size, rounds, unlabelled or train, dataset, training))
            loads.append(_load(method, size, trainings * max(1, dataset.n_folds), train, test, dataset, training))
            if dataset.n_folds and len(methods) == len(sizes) == 1:
                loads.append(_load(method, size, 1, train + test, 0, dataset, training))
    return loads


def _load(
    method: Method, size: int | None, trainings: int, n: int, tested: int, dataset: FinetuneDataset, training: TrainingOptions
) -> Load:  # fmt: skip
    schedule = training.schedule(method, n, len(dataset.labels.names))
    texts, steps = min(schedule.batch, n), schedule.steps(n)
    if method.kind.family == "setfit":
        R, most = int(method.options["R"]), int(method.options["max_pairs"])
        pairs = min(2 * R * n, most or 2 * R * n)
        epochs = training.epochs or int(method.options["epochs"])
        texts, steps = min(2 * schedule.batch, n), replace(schedule, epochs=epochs).steps(pairs)
    share, passes = COSTS[method.kind.trains]
    passes = passes or n / (steps * texts)
    shown = "" if size is None else str(size)
    return Load(method.spelling, shown, trainings, n, steps, texts, tested, share, passes, by_total=dataset.by_total)


def _domain_load(
    method: Method, size: int | None, trainings: int, n: int, dataset: FinetuneDataset, training: TrainingOptions
) -> Load:
    """Return the training of AdaSent on masked words, a new head's included."""
    batch = int(method.options["mlm_batch"])
    steps = int(method.options["mlm_epochs"]) * math.ceil(n / batch)
    steps = min(steps, training.max_steps or steps) + int(method.options["mlm_head_steps"])
    costs = COSTS["all" if method.options["adapter"] == "full" else "some"]
    name, shown = f"domain of {method.spelling}", "" if size is None else str(size)
    return Load(name, shown, trainings, n, steps, min(batch, n), 0, *costs, by_total=dataset.by_total)


def _pattern_loads(
    method: Method, shots: int | None, trainings: int, n: int, tested: int, dataset: FinetuneDataset, training: TrainingOptions,
    patterns: int, unlabelled: int,
) -> list[Load]:  # fmt: skip
    """Return the trainings of all patterns, in each generation, and of the classifier that learns from them."""
    shown = "" if shots is None else str(shots)
    left = unlabelled if "unlabelled" in method.kind.uses else 0
    growth, generations = int(method.options.get("growth", 1)), int(method.options.get("generations", 1))
    beside = 1 + int(method.options["partners"]) if left and method.options["alpha"] else 1
    loads = []
    for generation in range(generations):
        size = min(n * growth**generation, n + left)
        schedule = training.schedule(method, size)
        texts, costs = beside * min(schedule.batch, size), COSTS[method.kind.trains]
        steps = schedule.steps(size)
        loads.append(Load(method.spelling, shown, trainings * patterns, size, steps, texts, tested + left, *costs))
    if left:
        name, schedule = f"classifier of {method.spelling}", training.schedule(method, left)
        texts, steps = min(schedule.batch, left), schedule.steps(left)
        loads.append(Load(name, shown, trainings, left, steps, texts, tested, *COSTS["all"]))
    return loads


def loads_of_encoder(
    name: str, schedule: Schedule, head_steps: int, columns: int, n: int, n_test: int, *, adapted: bool = False
) -> list[Load]:
    """Return the trainings of an objective; columns: texts of a row; adapted: the model is frozen. The test is scored before and after."""
    if name == "static":  # each text is embedded once
        return [Load(name, "", 1, n, n, 1, n_test, 0.0, 1.0)]
    texts = columns * min(schedule.batch, n)
    costs = COSTS["some" if adapted else "all"]
    loads = [Load(name, "", 1, n, schedule.steps(n), texts, n_test, *costs, 2.0 * columns)]
    if head_steps:  # fewer for a model that has such a head
        loads.append(Load(f"head of {name}", "", 1, n, head_steps, texts, 0, 0.5, 1.0))
    return loads


def estimate(
    loads: Sequence[Load], folder: Path, texts: Sequence[str], *, dropped: int, threads: int, gpu: bool, window: int | None,
    bits: float = 32.0,
) -> dict[str, Any]:  # fmt: skip
    """Return rows, tokens, memory, seconds and disk of trainings, and under "plan" each of them.

    Args:
        folder: of the base model. dropped: rows that could not be read. window: tokens that the model sees, None for its own.
            bits: of a weight of the layers while it is trained; before, all of them are loaded in 32.
    """
    body = Body.from_folder(folder)
    tokens = sum(min(len(text) * _TOKENS_OF_A_CHARACTER + 2, window or _WINDOW) for text in texts) / len(texts)
    rate = _FLOPS_OF_A_GPU if gpu else _FLOPS_OF_A_THREAD * threads
    seconds = []
    for load in loads:
        forward = 2 * body.weights * tokens / rate
        update = 0 if gpu else load.steps * load.trained * body.parameters * _UPDATE
        each = forward * (load.steps * load.texts * load.passes + load.tested * load.test_passes) + update
        seconds.append(load.trainings * each)
    stored = 4 * body.parameters - (32 - bits) / 8 * body.weights
    run = max(stored + 12 * body.parameters * load.trained + 12 * body.width * load.texts * tokens for load in loads)
    most = max(run, 4 * body.parameters)
    kept = max(4 * body.parameters * load.trained for load in loads)
    plan = [
        {"method": load.name, "totals" if load.by_total else "shots": load.size or None, "trainings": load.trainings,
         "training_documents": load.documents,
         "test_documents": load.tested, "steps": load.steps, "seconds_about": round(spent)}
        for load, spent in zip(loads, seconds, strict=True)
    ]  # fmt: skip
    return {
        "rows": len(texts), "tokens_about": round(tokens * len(texts)), "memory_mb_about": round(_LIBRARIES + most / 1e6),
        "seconds_about": round(_START + sum(seconds)), "disk_mb_about": round(kept / 1e6), "dropped": dropped, "plan": plan,
    }  # fmt: skip
