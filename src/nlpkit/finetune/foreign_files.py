"""The folders of fine-tuned models, nlpkit's own and other programs': recognised, written during training, and read again.

Parts, in this order:
- Fine-tuned models of other programs: what their folders say of their task, and their networks.
- Models of any folder: written, opened, exported for setfit.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nlpkit.embed.models import ModelFiles, find_model, weights_fingerprint
from nlpkit.errors import InputError, MissingError, SchemaError, UsageError
from nlpkit.finetune.data.dataset import TASK_NAMES
from nlpkit.finetune.files import (
    CLASSIFIER,
    SETFIT_HEAD,
    TunedConfig,
    find_base,
    load_peft,
    load_tuned_network,
    model_bytes,
    read_config,
    save_merged,
    save_network,
    write_config,
)
from nlpkit.finetune.methods import Method, parse_method
from nlpkit.finetune.patterns.files import load_choices, load_patterns, save_choices, save_patterns
from nlpkit.finetune.patterns.seq2seq import ChoiceModel
from nlpkit.finetune.resume import Checkpoint
from nlpkit.finetune.tasks import FinetuneTask, TaskKind
from nlpkit.finetune.trained import Trained
from nlpkit.finetune.training.heads import is_mean
from nlpkit.finetune.training.loading import tensor_shapes
from nlpkit.finetune.training.network import Network, load_network
from nlpkit.finetune.training.predictor import Predictor
from nlpkit.platform.plain import shell_line
from nlpkit.platform.runs.atomic import MANIFEST, atomic_directory, naming
from nlpkit.platform.runs.runs import open_run
from nlpkit.version import __version__


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


# ------------------------------------------------------------------------------------------------------------------------
# Fine-tuned models: written during training and read again, also those of other programs.


def base_name(files: ModelFiles) -> str:
    """Return the reference by which a model is found again: its name, or the absolute path of a folder."""
    return str(files.path) if files.origin == "path" else files.name


@dataclass(slots=True)
class ModelFolder:
    """The folder that receives trained models: in a checkpoint, until the run is written.

    files: the base model. columns: what a model reads beside the text. merge: also write lora and dora as a whole model.
    """

    files: ModelFiles
    checkpoint: Checkpoint
    columns: Mapping[str, Any]
    merge: bool = False

    def __call__(self, method: Method, trained: Trained, task: FinetuneTask, *, keep: bool) -> int:
        """Write a model, for good with `keep`, else to see how large it is; return the bytes of its weights."""
        family = method.kind.family
        form = "transformers" if family == "pet" and trained.ensemble is None else method.kind.folder
        pooled = trained.network is not None and is_mean(trained.network.model)
        config = TunedConfig(
            CLASSIFIER if pooled and form == "transformers" else form, task, method.spelling, base_name(self.files),
            weights_fingerprint(self.files.path), trained.max_tokens, self.columns, __version__,
            quantization=getattr(trained.network, "quantization", None), pooling="mean" if pooled else "transformers",
        )  # fmt: skip
        self.checkpoint.begin()
        directory = self.checkpoint.path  # what a kill leaves there goes with it
        with naming(directory), tempfile.TemporaryDirectory(dir=directory, prefix="model-") as scratch:
            folder = (self.checkpoint.model if keep else Path(scratch)) / config.format
            if family == "setfit":
                save_setfit(trained, folder, config)
                return model_bytes(folder)
            if isinstance(trained.ensemble, ChoiceModel):
                facts = save_choices(trained.ensemble, folder, config.base)
                write_config(folder, replace(config, columns={**config.columns, "patterns": facts}))
                return model_bytes(folder)
            if trained.ensemble is not None:
                facts = save_patterns(trained.ensemble, folder)
                write_config(folder, replace(config, columns={**config.columns, "patterns": facts}))
                return model_bytes(folder)
            assert trained.network is not None
            save_network(trained.network, folder, config)
            size = model_bytes(folder)
            if keep and self.merge:
                save_merged(trained.network, self.checkpoint.model / "merged", config)
            return size


def save_setfit(trained: Trained, folder: Path, config: TunedConfig) -> None:
    """Write a sentence-transformers folder with the classifier beside it: head.safetensors and nlpkit.json."""
    import torch
    from safetensors.torch import save_file

    assert trained.model is not None
    trained.embedder.save(folder)
    arrays = {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in trained.model.arrays().items()}
    save_file(arrays, folder / "head.safetensors")
    write_config(folder, replace(config, columns={**config.columns, "setfit": trained.model.config()}))


def load_predictor(
    run_or_folder: Path, *, base: str | None, device: Any, offline: bool, labels: list[str] | None = None,
    kind: TaskKind | None = None, verify: bool = True,
) -> Predictor:  # fmt: skip
    """Return the model of a run or of a folder: nlpkit's own, of transformers or peft.

    Args:
        labels: names of the classes, of another program's folder; kind: of a task, where a folder of peft does not say;
            verify: refuse a run whose files were changed since it was written.

    Raises:
        InputError: it is none of these; MissingError: the model it was trained on is not there; UsageError: labels or kind do not
            fit, or the folder has its own.
    """
    folder, config = open_model(run_or_folder, verify=verify)
    if config is not None:
        check_not_named(run_or_folder, config.task, labels, kind)
        adapted = config.method.startswith("petapter")
        if config.format in ("setfit", "transformers", CLASSIFIER) or (config.format == "patterns" and not adapted):
            _refuse_base(run_or_folder, base)
        if config.format == "setfit":
            return _load_setfit(folder, config, device)
        if config.format == "patterns":
            columns = {**config.columns}
            ensemble = load_patterns(
                folder, columns.pop("patterns"), config.task.names, parse_method(config.method), device=device,
                base=find_base(config, base=base, offline=offline).path if adapted else None, max_tokens=config.max_tokens,
            )  # fmt: skip
            return Predictor(config.task, columns, ensemble=ensemble)
        if config.method.startswith("tfew"):
            columns = {**config.columns}
            model = load_choices(
                folder, columns.pop("patterns"), config.task.names, find_base(config, base=base, offline=offline).path, device=device,
                max_tokens=config.max_tokens,
            )  # fmt: skip
            return Predictor(config.task, columns, ensemble=model)
        network = load_tuned_network(folder, config, base=base, device=device, offline=offline)
        return Predictor(config.task, dict(config.columns), network)
    form, task = foreign_task(folder, labels, kind)
    if form == "transformers":
        _refuse_base(folder, base)
    network = load_foreign(folder, form, task, base=base, device=device, offline=offline)
    return Predictor(task, {"task": task.kind}, network, form=form)


def open_model(run_or_folder: Path, *, verify: bool) -> tuple[Path, TunedConfig | None]:
    """Return the folder of the model, which a run has inside, and its nlpkit.json, None for another program's folder.

    Raises:
        InputError: it is not there; SchemaError: it is a comparison, which keeps no model.
    """
    folder = run_or_folder
    if (folder / MANIFEST).is_file():
        run = open_run(folder, ["finetune", "finetune-comparison"], verify=verify)
        if run.manifest["kind"] == "finetune-comparison":
            line = run.manifest["results"].get("train_best")
            raise SchemaError(
                f"{folder} is a comparison, which has no model; train the best one: {line or '`finetune()`'}"
            )
        folder = run.folder(f"model/{run.model_config('format')['format']}")
    if not folder.is_dir():
        raise InputError(
            f"there is no model {folder}; train one: {shell_line('nlpkit', 'finetune', 'TRAIN.jsonl', '-o', folder)}"
        )
    return folder, read_config(folder)


def check_not_named(folder: Path, task: FinetuneTask, labels: list[str] | None, kind: TaskKind | None) -> None:
    """Raise UsageError where labels or a task are given for a model that knows its own."""
    if labels is not None:
        names = f": {', '.join(task.names[:10])}{', …' if len(task.names) > 10 else ''}" if task.names else ", a number"
        raise UsageError(
            f"{folder} was trained by nlpkit and records its labels{names}; leave `labels` out", parameter="labels"
        )
    if kind is not None:
        raise UsageError(
            f"{folder} was trained by nlpkit and records its task: {TASK_NAMES[task.kind]}; leave `task` out",
            parameter="task",
        )


def _refuse_base(folder: Path, base: str | None) -> None:
    if base is not None:
        raise UsageError(f"{folder} is a complete model and needs no `base`; leave it out", parameter="base")


def _load_setfit(folder: Path, config: TunedConfig, device: Any) -> Predictor:
    from safetensors.numpy import load_file

    from nlpkit.finetune.setfit.embedder import load_embedder
    from nlpkit.finetune.setfit.setfit import SetFitModel

    embedder = load_embedder(folder, max_tokens=config.max_tokens, device=device)
    try:
        model = SetFitModel.restored(config.columns["setfit"], load_file(folder / "head.safetensors"))
    except Exception as error:  # safetensors has an error of its own
        raise InputError(f"{folder} is damaged ({error}); train the model again") from None
    return Predictor(config.task, {}, None, embedder, model)


def export_setfit(folder: Path, target: Path) -> None:
    """Write a trained SetFit model for the setfit library; it appears whole or not at all."""
    from torch import device

    from nlpkit.finetune.files import write_setfit_folder

    predictor = load_predictor(folder, base=None, device=device("cpu"), offline=True)
    with atomic_directory(target) as part:
        write_setfit_folder(part, predictor.embedder, predictor.setfit)
