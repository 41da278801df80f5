"""The loading of networks: stored weights, their shapes, and models of transformers with a head for a task.

Parts, in this order:
- Stored weights: their shapes, and models of transformers that need all of them.
- The model for a task, with its head.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch

from nlpkit.embed.engines import quiet
from nlpkit.errors import InputError, MissingError, UsageError, first_line, missing_extra
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.training.architectures import head_parameters


def load_whole(kind: Any, folder: Path, *, what: str = "model", spare: str | None = None) -> Any:
    """Return a model of an Auto class of transformers in float32, from a folder that has all of its weights.

    Args:
        what: is loaded, in messages. spare: part of the names of weights that may be missing.

    Raises:
        MissingError: transformers cannot load it, or a weight is missing.
    """
    import torch

    from nlpkit.embed.engines import quiet

    with quiet():
        try:
            model, info = kind.from_pretrained(
                str(folder), dtype=torch.float32, local_files_only=True, trust_remote_code=False, use_safetensors=True,
                output_loading_info=True,
            )  # fmt: skip
        except Exception as error:  # every model fails in its own way
            raise MissingError(f"transformers cannot load the {what} in {folder}: {first_line(error)}") from None
    missing = sorted(map(str, info.get("missing_keys") or ()))
    lost = [name for name in missing if spare is None or spare not in name]
    if lost:
        raise MissingError(f"the weights of the {what} in {folder} do not fit its config.json: missing '{lost[0]}'")
    return model


def tensor_shapes(file: Path) -> dict[str, list[int]]:
    """Return the shapes of the tensors of a safetensors file, without loading them. Raises InputError where it cannot be read."""
    from safetensors import safe_open

    if not file.is_file():
        raise InputError(f"{file.parent} has no {file.name}; nlpkit opens no pickles")
    try:
        with safe_open(str(file), framework="pt") as tensors:
            return {key: list(tensors.get_slice(key).get_shape()) for key in tensors.keys()}  # noqa: SIM118
    except Exception as error:  # safetensors has an error of its own
        raise InputError(f"{file} cannot be read ({error})") from None


# ------------------------------------------------------------------------------------------------------------------------
# Models of transformers with a head for a task.

_PROBLEMS = {
    "single": "single_label_classification", "multi": "multi_label_classification", "ordinal": "multi_label_classification",
    "regression": "regression",
}  # fmt: skip


def load_model(place: Path, task: FinetuneTask, *, whole: bool, mean: bool) -> tuple[Any, frozenset[str]]:
    """Return a model for a task, with `mean` its encoder alone, and the names of the parameters its folder did not have."""
    if any(importlib.util.find_spec(module) is None for module in ("torch", "transformers", "peft")):
        raise missing_extra("finetune", "neural")
    from transformers import (
        AutoModel,
        AutoModelForQuestionAnswering,
        AutoModelForSequenceClassification,
        AutoModelForTokenClassification,
    )

    from nlpkit.finetune.training.causal_heads import with_last_token
    from nlpkit.platform.lab_networks import register, with_scan

    register()
    classes = {"tokens": AutoModelForTokenClassification, "answer": AutoModelForQuestionAnswering}
    kind: Any = AutoModel if mean else classes.get(task.kind, AutoModelForSequenceClassification)
    names = task.output_names
    with quiet():
        try:
            model, info = kind.from_pretrained(
                str(place),
                num_labels=len(names),
                id2label=dict(enumerate(names)),
                label2id={name: i for i, name in enumerate(names)},
                **({"problem_type": _PROBLEMS[task.kind]} if task.kind in _PROBLEMS else {}),
                dtype=torch.float32,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
        except Exception as error:  # every model fails in its own way
            raise MissingError(f"transformers cannot load the model in {place}: {first_line(error)}") from None
    unread = {name for name, _ in model.named_parameters() if "pooler" in name} if mean else set()
    head = set() if whole else {*head_parameters(model), *unread}
    missing = _keys(info.get("missing_keys"))
    lost = sorted(name for name in missing if name not in head)
    if lost and all("decoder." in name for name in lost):
        raise UsageError(
            f"the model in {place} is only the encoder of a {model.config.model_type}, and this task also needs its "
            "decoder; use the whole model, or an encoder such as BERT as base",
            parameter="base",
        )
    if lost:
        raise MissingError(f"the weights in {place} do not fit its config.json: missing '{lost[0]}'")
    odd = sorted(str(key[0]) for key in info.get("mismatched_keys") or () if key[0] not in head)
    if odd:
        raise MissingError(f"the weights in {place} do not fit its config.json: '{odd[0]}' has other sizes")
    others = [str(key[0]) for key in info.get("mismatched_keys") or ()]  # a head of another number of classes
    return with_scan(with_last_token(model)), frozenset([*missing, *others])


def _keys(keys: Any) -> list[str]:
    return [str(key) for key in keys or ()]
