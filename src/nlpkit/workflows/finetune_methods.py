"""Which methods can learn a task with a base model, and the one that suits a number of documents."""

from __future__ import annotations

from collections.abc import Sequence

from nlpkit import reporting
from nlpkit.classify.kinds import FEW
from nlpkit.errors import UsageError
from nlpkit.finetune.dataset import FinetuneDataset
from nlpkit.finetune.methods import Material, Method, parse_method
from nlpkit.finetune.options import DatasetOptions
from nlpkit.finetune.patterns import Patterns
from nlpkit.finetune.tasks import CLASSES
from nlpkit.finetune.training_options import BATCH_SIZE


def suited_methods(
    dataset: FinetuneDataset, methods: Sequence[Method], patterns: Patterns | None, options: DatasetOptions, *, seq2seq: bool,
    compares: bool,
) -> list[Method]:  # fmt: skip
    """Return the methods that can learn the task, and note the others. Raises UsageError where there is one method, or none is left."""
    material = Material(
        dataset.kind, dataset.plain, dataset.labels.shares is not None, dataset.context is not None,
        None if patterns is None else len(patterns.texts), options.unlabelled is not None, seq2seq,
    )  # fmt: skip
    problems = {method.spelling: method.refuses(material) for method in methods}
    left_out = dict.fromkeys(problem for problem in problems.values() if problem)
    suited = [method for method in methods if not problems[method.spelling]]
    for problem in left_out:
        if not compares or not suited:
            raise UsageError(f"{problem}; use another `method`", parameter="method")
        reporting.note(f"{problem}: left out")
    return suited


def suited_method(dataset: FinetuneDataset, sizes: Sequence[int | None]) -> Method:
    """Return the method for all numbers of shots, and say why. Raises UsageError where it is not one for all."""
    suited = [_suited(dataset, shots) for shots in sizes]
    names = list(dict.fromkeys(name for name, _ in suited))
    if len(names) > 1:
        each = ", ".join(f"{name} for {'all' if s is None else s}" for s, (name, _) in zip(sizes, suited, strict=True))
        unit = "documents" if dataset.by_total else "documents a class"
        raise UsageError(
            f"`method=auto` is {each} {unit}; name the methods to compare: `method={','.join(names)}`",
            parameter="method",
        )
    reporting.note(f"`method=auto`: {names[0]} ({suited[0][1]})")
    return parse_method(names[0])


def _suited(dataset: FinetuneDataset, size: int | None) -> tuple[str, str]:
    """Return setfit for few documents of classes, LoRA for many classes, else full fine-tuning; and why."""
    J = max(1, len(dataset.labels.names))
    n = len(dataset.rounds[0][0]) if size is None else size if dataset.by_total else size * J
    of_class = n / J
    classes = dataset.kind in CLASSES
    name = "setfit" if dataset.plain and of_class < FEW else "full"
    why = f"{of_class:.0f} training documents a class" if classes else f"task {dataset.kind}"
    if name == "setfit" and dataset.kind == "single" and BATCH_SIZE < J:
        name, why = "lora", f"{why}; {J} classes, whose pairs take long and gain nothing more"
    return name, why
