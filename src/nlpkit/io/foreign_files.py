"""Fine-tuned models of other programs: what their folders say of their task, and their networks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from nlpkit.embed.models import find_model
from nlpkit.errors import InputError, MissingError, UsageError
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.network import Network, load_network
from nlpkit.finetune.tasks import FinetuneTask, TaskKind
from nlpkit.finetune.weights import tensor_shapes
from nlpkit.io.finetune_files import CLASSIFIER, SETFIT_HEAD, load_peft, read_config


def foreign_task(
    folder: Path, labels: Sequence[str] | None = None, kind: TaskKind | None = None
) -> tuple[str, FinetuneTask]:
    """Return format and task of a folder that another program wrote: transformers with a head, or peft.

    Args:
        labels: names of the classes, where the folder has none; kind: of the task, which a folder of peft does not say.

    Raises:
        InputError: it is none of these, or has no classes to predict; UsageError: labels or kind do not fit.
    """
    if (folder / SETFIT_HEAD).is_file():
        raise InputError(
            f"the classifier of {folder} is a pickle ({SETFIT_HEAD}), which can run any code when it is opened; "
            "predict with the setfit library, or train it again with `finetune(method=setfit)`"
        )
    if (folder / "adapter_config.json").is_file():
        return "peft", _peft_task(folder, labels, kind)
    if (folder / "config.json").is_file():
        task = _transformers_task(folder, labels)
        if kind is not None:
            raise UsageError(
                f"the config.json of {folder} records its task (problem_type); leave `task` out", parameter="task"
            )
        return "transformers", task
    raise InputError(
        f"{folder} is not a model: neither a run of nlpkit (no manifest.json), nor a model folder of "
        "transformers or peft"
    )


def _peft_task(folder: Path, labels: Sequence[str] | None, kind: TaskKind | None) -> FinetuneTask:
    task_type = _json(folder / "adapter_config.json").get("task_type")
    if task_type not in ("SEQ_CLS", "TOKEN_CLS"):
        raise InputError(f"{folder} is a peft model of task {task_type}; SEQ_CLS or TOKEN_CLS was needed")
    n = _peft_outputs(folder)
    if kind is None:
        kind = "tokens" if task_type == "TOKEN_CLS" else "regression" if n == 1 else "single"
    if (task_type == "TOKEN_CLS") != (kind == "tokens"):
        needed = "words" if task_type == "TOKEN_CLS" else "classes, labels or regression"
        raise UsageError(
            f"{folder} is a peft model of task {task_type}: `task={needed}` is needed, or none", parameter="task"
        )
    if kind == "regression":
        if n > 1:
            raise UsageError(f"`task=regression`: one output is needed, the model in {folder} has {n}")
        if labels:
            raise UsageError(
                f"the model in {folder} has one output, a number without a name; leave `labels` out, or add `task=labels`",
                parameter="labels",
            )
        return FinetuneTask("regression")
    if kind == "single" and n == 1:
        raise UsageError(
            f"`task=classes`: two outputs are needed, the model in {folder} has one; `task=labels` or regression"
        )
    names = tuple(labels) if labels else tuple(f"LABEL_{j}" for j in range(n))
    if len(names) != n:
        raise UsageError(f"`labels` names {len(names)} classes, the model in {folder} has {n}")
    return FinetuneTask(kind, names)


def _transformers_task(folder: Path, labels: Sequence[str] | None) -> FinetuneTask:
    config = _json(folder / "config.json")
    architectures, problem = " ".join(config.get("architectures") or ()), config.get("problem_type")
    names = _class_names(config)
    description = read_config(folder)
    if description is not None and description.format == CLASSIFIER:
        raise InputError(
            f"{folder} is a classifier on the mean of the tokens for sentence-transformers (with `finetune(pooling=transformers)` it "
            "is one for transformers)"
        )
    if not ("ForTokenClassification" in architectures or "ForSequenceClassification" in architectures):
        raise InputError(
            f"{folder} holds {architectures or 'a model'} without a head that predicts; give it as `base`, and train one"
        )
    of_words = "ForTokenClassification" in architectures
    if not of_words and (problem == "regression" or (problem is None and len(names) == 1)):
        if labels:
            raise UsageError(
                f"the model in {folder} predicts a number, which has no classes; leave `labels` out", parameter="labels"
            )
        return FinetuneTask("regression")
    if labels:
        if len(labels) != len(names):
            raise UsageError(f"`labels` names {len(labels)} classes, the model in {folder} has {len(names)}")
        names = tuple(labels)
    return FinetuneTask(
        "tokens" if of_words else "multi" if problem == "multi_label_classification" else "single", names
    )


def _class_names(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a config.json of transformers, which leaves out those it makes up itself: LABEL_0, LABEL_1."""
    named = config.get("id2label")
    if not named:
        return tuple(f"LABEL_{j}" for j in range(int(config.get("num_labels") or 2)))
    return tuple(str(v) for _, v in sorted(named.items(), key=lambda item: int(item[0])))


def _peft_outputs(folder: Path) -> int:
    file = folder / "adapter_model.safetensors"
    shapes = tensor_shapes(file)
    for name in ("classifier.weight", "out_proj.weight", "score.weight"):
        n_outputs = [shape[0] for key, shape in shapes.items() if key.endswith(name)]
        if n_outputs:
            return n_outputs[0]
    raise InputError(f"{file} has no classifier; a peft model of a task was needed")


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    return value if isinstance(value, dict) else {}


def load_foreign(
    folder: Path, form: str, task: FinetuneTask, *, base: str | None, device: torch.device, offline: bool
) -> Network:
    """Return the network of a folder that transformers or peft wrote. Raises MissingError when the base of peft is not there."""
    if form == "transformers":
        return load_network(folder, task, parse_method("full"), seed=0, device=device, whole=True)
    name = base or str(_json(folder / "adapter_config.json").get("base_model_name_or_path") or "")
    if not name:
        raise MissingError(f"{folder} does not record its base model; name it with `base`")
    try:
        files = find_model(name, offline=offline)
    except MissingError as error:
        raise MissingError(f"the model it was trained on: {error}; name it with `base`") from None
    return load_peft(folder, files.path, task, device=device, max_tokens=None)
