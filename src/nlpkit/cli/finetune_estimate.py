"""`nlpkit finetune --dry-run`: what would be trained, in how many steps, and about how long that takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nlpkit import reporting, wording
from nlpkit.cli import console
from nlpkit.cli.finetune_corpus import with_shots

if TYPE_CHECKING:
    from nlpkit.cli.finetune_corpus import TuneDocuments
    from nlpkit.finetune.fit import Learning
    from nlpkit.finetune.methods import Method
    from nlpkit.finetune.train import Plan

# Rates of MiniLM on two cores of a server; for others, and for a GPU, a guess
_FLOPS_OF_A_THREAD = 5e10
_FLOPS_OF_A_GPU = 2e13
_UPDATE = 8e-9  # seconds of AdamW for one parameter
_START = 8.0  # seconds until libraries are loaded
_LIBRARIES = 600  # MB
_TOKENS_OF_A_CHARACTER = 1.35 / 6
_WINDOW = 256


@dataclass(frozen=True, slots=True)
class Load:
    """Trainings of one kind. documents: that each learns from; steps: of each; texts: of a step; tested: documents scored after it.

    trained: share of the parameters that is; passes: through the body a text costs, 3 where all gradients are computed; test_passes: a
    tested document.
    """

    name: str
    shots: str
    trainings: int
    documents: int
    steps: int
    texts: int
    tested: int
    trained: float
    passes: float
    test_passes: float = 1.0


@dataclass(frozen=True, slots=True)
class Body:
    """Sizes of an encoder. parameters; weights: those of its layers; width: of what all layers put out for a token."""

    parameters: int
    weights: int
    width: int

    @classmethod
    def of(cls, folder: Path) -> Body:
        """Return the sizes of a model folder without loading it. Raises InputError for a file that is damaged."""
        from nlpkit.embed.models import weight_files
        from nlpkit.io.finetune_files import tensor_shapes

        parameters = weights = width = 0
        for path in weight_files(folder):
            shapes = tensor_shapes(path)
            parameters += sum(math.prod(shape) for shape in shapes.values())
            layers = [shape for name, shape in shapes.items() if len(shape) == 2 and "embedding" not in name]
            weights += sum(math.prod(shape) for shape in layers)
            width += sum(shape[0] for shape in layers)
        return cls(parameters, weights, width)


def loads_of(
    documents: TuneDocuments, methods: Sequence[Method], sizes: Sequence[int | None], *, seeds: int, learning: Learning, seed: int
) -> list[Load]:  # fmt: skip
    """Return what `--method` and `--shots` ask for; of `--cv` the folds, then the model of all documents."""
    found = []
    for method in methods:
        for shots in sizes:
            train, test = (len(rows) for rows in with_shots(documents, shots, seed=seed).rounds[0])
            found.append(_load(method, shots, seeds * max(1, documents.n_folds), train, test, documents, learning))
            if documents.n_folds and len(methods) == len(sizes) == 1:
                found.append(_load(method, shots, 1, train + test, 0, documents, learning))
    return found


def _load(
    method: Method, shots: int | None, trainings: int, n: int, tested: int, documents: TuneDocuments, learning: Learning
) -> Load:
    plan = learning.plan(method, n, len(documents.labels.names))
    setfit, head = method.name == "setfit", method.name == "head"
    texts, steps = min(plan.batch, n), plan.steps(n)
    if setfit:
        R, most = int(method.options["R"]), int(method.options["max_pairs"])
        pairs = min(2 * R * n, most or 2 * R * n)
        epochs = learning.epochs or int(method.options["epochs"])
        texts, steps = min(2 * plan.batch, n), replace(plan, epochs=epochs).steps(pairs)
    whole = setfit or method.name == "full"
    passes = 3.0 if whole else n / (steps * texts) if head else 2.0  # of a head the body is run once
    shown = "" if shots is None else str(shots)
    return Load(method.spelling, shown, trainings, n, steps, texts, tested, 1.0 if whole else 0.01, passes)


def loads_of_encoder(name: str, plan: Plan, head_steps: int, columns: int, n: int, n_test: int) -> list[Load]:
    """Return what `--objective` asks for; columns: texts of a row. The test is scored before and after."""
    texts = columns * min(plan.batch, n)
    found = [Load(name, "", 1, n, plan.steps(n), texts, n_test, 1.0, 3.0, 2.0 * columns)]
    if head_steps:  # fewer for a model that has such a head
        found.append(Load(f"head of {name}", "", 1, n, head_steps, texts, 0, 0.5, 1.0))
    return found


def say_estimate(
    loads: Sequence[Load],
    folder: Path,
    texts: Sequence[str],
    *,
    dropped: int,
    threads: int,
    gpu: bool,
    window: int | None,
) -> None:
    """Print what would be trained, about how long it takes, and the memory and disk it needs."""
    body = Body.of(folder)
    tokens = sum(min(len(text) * _TOKENS_OF_A_CHARACTER + 2, window or _WINDOW) for text in texts) / len(texts)
    rate = _FLOPS_OF_A_GPU if gpu else _FLOPS_OF_A_THREAD * threads
    seconds = []
    for load in loads:
        forward = 2 * body.weights * tokens / rate
        update = 0 if gpu else load.steps * load.trained * body.parameters * _UPDATE
        one = forward * (load.steps * load.texts * load.passes + load.tested * load.test_passes) + update
        seconds.append(load.trainings * one)
    most = max(4 * body.parameters * (1 + 3 * load.trained) + 12 * body.width * load.texts * tokens for load in loads)
    kept = max(4 * body.parameters * load.trained for load in loads)
    totals = {
        "rows": len(texts), "tokens_about": round(tokens * len(texts)), "memory_mb_about": round(_LIBRARIES + most / 1e6),
        "seconds_about": round(_START + sum(seconds)), "disk_mb_about": round(kept / 1e6), "dropped": dropped,
    }  # fmt: skip
    if console.settings.json:
        each = [
            {"method": load.name, "shots": load.shots or None, "trainings": load.trainings, "training_documents": load.documents,
             "test_documents": load.tested, "steps": load.steps, "seconds_about": round(own)}
            for load, own in zip(loads, seconds, strict=True)
        ]  # fmt: skip
        console.emit_json({**totals, "plan": each})
        return
    header = ["method", "shots", "trainings", "documents", "steps each", "seconds, about"]
    rows = [
        [load.name, load.shots or "all", *map(wording.count, (load.trainings, load.documents, load.steps)), wording.count(round(own))]
        for load, own in zip(loads, seconds, strict=True)
    ]  # fmt: skip
    console.table(header, rows, right=header[1:])
    reporting.note(
        f"about {wording.count(totals['seconds_about'])} s, {wording.count(totals['memory_mb_about'])} MB of memory and "
        f"{wording.count(totals['disk_mb_about'])} MB on disk; dry run: nothing was written"
    )
