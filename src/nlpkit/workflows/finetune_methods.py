"""Which methods can learn a task with a base model, and the one that suits a number of documents."""

from __future__ import annotations

from collections.abc import Sequence

from nlpkit import reporting
from nlpkit.classify.kinds import FEW
from nlpkit.errors import UsageError
from nlpkit.finetune.dataset import FinetuneDataset
from nlpkit.finetune.methods import Method, parse_method
from nlpkit.finetune.options import DatasetOptions
from nlpkit.finetune.patterns import Patterns
from nlpkit.finetune.tasks import CLASSES
from nlpkit.finetune.training_options import BATCH_SIZE


def suited_methods(
    dataset: FinetuneDataset, methods: Sequence[Method], patterns: Patterns | None, options: DatasetOptions, *, seq2seq: bool,
    compares: bool,
) -> list[Method]:  # fmt: skip
    """Return the methods that can learn the task, and note the others. Raises UsageError where there is one method, or none is left."""
    problems = {m.spelling: _problem(dataset, m, patterns, options, seq2seq=seq2seq) for m in methods}
    left_out = dict.fromkeys(problem for problem in problems.values() if problem)
    suited = [method for method in methods if not problems[method.spelling]]
    for problem in left_out:
        if not compares or not suited:
            raise UsageError(f"{problem}; use another `method`", parameter="method")
        reporting.note(f"{problem}: left out")
    return suited


def _problem(
    dataset: FinetuneDataset, method: Method, patterns: Patterns | None, options: DatasetOptions, *, seq2seq: bool
) -> str:
    """Return why a method cannot learn the task with this base, "" where it can."""
    if seq2seq != (method.name == "tfew"):
        has = "has a decoder, which only tfew trains" if seq2seq else "has no decoder, and tfew needs one, such as T5's"
        return f"{method.name}: the base {has}"
    if method.kind.family == "setfit" and not dataset.plain:
        return f"{method.name} learns classes from one text a document, not ordered ones, numbers, words, answers, pairs or context"
    soft = dataset.labels.shares is not None
    if soft and (method.kind.family in ("pet", "tfew") or method.options.get("head") == "differentiable"):
        return f"{method.spelling} learns one label a document, and `annotators` make soft labels"
    if method.kind.family not in ("pet", "tfew"):
        return ""
    if dataset.kind != "single" or dataset.context is not None:
        return f"{method.name} learns one class for each text or pair, not several labels, numbers, words or context"
    if patterns is None:
        return f"{method.name} needs patterns that the texts are put into, and `patterns` names no file"
    if method.name == "ipet" and (options.unlabelled is None or len(patterns.texts) < 2):
        return "ipet needs texts without labels (`unlabelled`) and two or more patterns, whose models label them for each other"
    return ""


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
