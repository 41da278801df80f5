"""The files of fine-tuned models: folders in the formats of transformers, peft, sentence-transformers and setfit.

Parts, in this order:
- Classifiers that read the mean of the tokens as folders: of sentence-transformers, a transformer, pooling and a dense
  layer, so that the vectors such a folder gives are the logits; or of peft, an adapter of the encoder alone, with the
  head beside it.
- Fine-tuned models as folders: in the formats of transformers, peft and sentence-transformers, adapters of our own
  beside them.
- Folders for the setfit library: an encoder of sentence-transformers and a head of scikit-learn, which it loads as its
  models.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nlpkit.embed.engines import quiet
from nlpkit.embed.models import ModelFiles, find_model, weights_fingerprint
from nlpkit.errors import InputError, MissingError, UsageError, first_line
from nlpkit.finetune.adapters.quantized import dequantize
from nlpkit.finetune.methods import parse_method
from nlpkit.finetune.quantization import Quantization
from nlpkit.finetune.setfit.embedder import Embedder
from nlpkit.finetune.setfit.setfit import SetFitModel
from nlpkit.finetune.tasks import FinetuneTask
from nlpkit.finetune.training.heads import MeanForSequenceClassification
from nlpkit.finetune.training.loading import tensor_shapes
from nlpkit.finetune.training.network import Network, beside_virtual, load_network, output_layer, state_of
from nlpkit.platform.plain import to_json

POOLING, DENSE, HEAD = "1_Pooling", "2_Dense", "head.safetensors"
_DENSE_WEIGHTS, _ADAPTER = f"{DENSE}/model.safetensors", "adapter_model.safetensors"
_TYPES = {
    "": "Transformer",
    POOLING: "Pooling",
    DENSE: "Dense",
}  # by their names in all versions of sentence-transformers
_INSIDE = "base_model.model."  # before the names of a peft model's weights
_ENCODER = f"{_INSIDE}{MeanForSequenceClassification.base_model_prefix}."


def write_mean_classifier(network: Network, folder: Path) -> None:
    """Write encoder, pooling, head and tokenizer for sentence-transformers."""
    from safetensors.torch import save_file

    network.model.encoder.save_pretrained(str(folder), safe_serialization=True)
    network.tokenizer.save_pretrained(str(folder))
    head = network.model.classifier
    files: dict[str, Any] = {
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (path, kind) in enumerate(_TYPES.items())
        ],
        "sentence_bert_config.json": {"max_seq_length": network.max_tokens, "do_lower_case": False},
        f"{POOLING}/config.json": {"word_embedding_dimension": head.in_features, "pooling_mode_mean_tokens": True},
        f"{DENSE}/config.json": {
            "in_features": head.in_features, "out_features": head.out_features, "bias": True,
            "activation_function": "torch.nn.modules.linear.Identity",
        },
    }  # fmt: skip
    for name, values in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(to_json(values, indent=2) + "\n", encoding="utf-8", newline="\n")
    save_file({f"linear.{name}": tensor for name, tensor in _plain(head).items()}, folder / _DENSE_WEIGHTS)


def read_mean_classifier(model: MeanForSequenceClassification, folder: Path) -> None:
    """Give a network the head of such a folder. Raises InputError when it is damaged or missing."""
    _read_head(model, folder / _DENSE_WEIGHTS)


def write_mean_adapter(network: Network, folder: Path, *, base: str) -> None:
    """Write what peft has put into the encoder as an adapter of the base without a head, and the head. base: its name, or its folder."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    config = copy.copy(network.model.peft_config["default"])
    config.base_model_name_or_path, config.task_type = base, "FEATURE_EXTRACTION"
    config.modules_to_save, config.inference_mode = None, True
    config.save_pretrained(str(folder))
    # "auto" would ask the hub whether the vocabulary has grown
    state = get_peft_model_state_dict(network.model, save_embedding_layers=False)
    heads = [f"{_INSIDE}{name}" for name in MeanForSequenceClassification.HEAD]
    adapter = {name.replace(_ENCODER, _INSIDE, 1): t.detach().cpu() for name, t in state.items() if name not in heads}
    save_file({name: t.contiguous() for name, t in adapter.items()}, folder / _ADAPTER, metadata={"format": "pt"})
    head = network.model.get_base_model().classifier.modules_to_save["default"]
    save_file(_plain(head), folder / HEAD)


def read_mean_adapter(model: MeanForSequenceClassification, folder: Path) -> tuple[Any, Collection[str]]:
    """Return a network with the adapter and the head of such a folder, as a model of peft, and the names of the weights there were for it.

    Raises:
        InputError: the head is damaged or missing.
    """
    from peft import PeftConfig, get_peft_model, set_peft_model_state_dict
    from safetensors.torch import load_file

    _read_head(model, folder / HEAD)
    config = PeftConfig.from_pretrained(str(folder))
    config.task_type, config.modules_to_save, config.inference_mode = "SEQ_CLS", ["classifier"], True
    stored = load_file(folder / _ADAPTER)
    state = {name.replace(_INSIDE, _ENCODER, 1) if name.startswith(_INSIDE) else name: t for name, t in stored.items()}
    state |= {f"{_INSIDE}classifier.{name}": tensor for name, tensor in _plain(model.classifier).items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of weights that are missing, which the caller looks for
        adapted = get_peft_model(model, config)
        set_peft_model_state_dict(adapted, state)
    return adapted, state.keys()


def _plain(layer: Any) -> dict[str, Any]:
    return {name: p.detach().cpu().contiguous() for name, p in layer.named_parameters()}


def _read_head(model: MeanForSequenceClassification, file: Path) -> None:
    from safetensors.torch import load_file

    try:
        state = load_file(file)
        model.classifier.load_state_dict({name.removeprefix("linear."): tensor for name, tensor in state.items()})
    except Exception as error:  # safetensors and torch have errors of their own
        raise InputError(f"{file} is damaged or missing ({first_line(error)}); train the model again") from None


# ------------------------------------------------------------------------------------------------------------------------
# Fine-tuned models as folders: in the formats of transformers, peft and sentence-transformers, adapters of our own beside them.

NLPKIT = "nlpkit.json"
ADAPTER = "adapter.safetensors"
CLASSIFIER = "classifier"  # format of a network that reads the mean of the tokens, for sentence-transformers
CRF = "crf.safetensors"  # beside all formats, for labels of words
SETFIT_HEAD = "model_head.pkl"  # of a folder that the setfit library wrote


@dataclass(frozen=True, slots=True)
class TunedConfig:
    """The description of a model folder of nlpkit, stored in nlpkit.json.

    base, base_sha256: the model it was trained from, and its weights. columns: what it reads beside the text. in_units: of a
    regression, the weights that are stored give values; nlpkit's network gives (value - mean) / scale. quantization: of the base.
    pooling: what the head reads, see `mean_head.pooling_of`.
    """

    format: str
    task: FinetuneTask
    method: str
    base: str
    base_sha256: str
    max_tokens: int
    columns: Mapping[str, Any]
    nlpkit_version: str
    in_units: bool = False
    quantization: Quantization | None = None
    pooling: str = "transformers"

    def plain(self) -> dict[str, Any]:
        """Return it as values that go into JSON."""
        return {"kind": "finetune", **asdict(self)}


def save_network(network: Network, folder: Path, config: TunedConfig) -> None:
    """Write a network as a folder other programs load: transformers, peft, sentence-transformers, or of our own adapters safetensors."""
    folder.mkdir(parents=True, exist_ok=True)
    config = replace(
        config, in_units=config.format not in ("adapter", "patterns") and _can_shift(network.model, config)
    )
    with quiet(), _in_units(network.model, config):
        if config.format == CLASSIFIER:
            write_mean_classifier(network, folder)
        elif config.format == "peft" and config.pooling == "mean":
            write_mean_adapter(network, folder, base=config.base)
        elif config.format == "transformers":
            network.model.save_pretrained(str(folder), safe_serialization=True)
            network.tokenizer.save_pretrained(str(folder))
        elif config.format == "peft":
            for peft_config in network.model.peft_config.values():
                peft_config.base_model_name_or_path = config.base
            # "auto" would ask the hub whether the vocabulary has grown
            network.model.save_pretrained(str(folder), safe_serialization=True, save_embedding_layers=False)
        else:
            from safetensors.torch import save_file

            state = network.inserted.state() if network.inserted is not None else state_of(network)
            save_file({name: t.detach().clone().contiguous().cpu() for name, t in state.items()}, folder / ADAPTER)
    _save_crf(network, folder)
    write_config(folder, config)


def save_merged(network: Network, folder: Path, config: TunedConfig) -> None:
    """Write a transformers folder of a LoRA or DoRA model with its updates added to the weights; the network is used up.

    The weights of a quantised base are those that its blocks stand for, which the updates were learned beside.
    """
    from nlpkit.finetune.adapters.peft_modules import merge

    with quiet():
        dequantize(network.model)
        form = CLASSIFIER if config.pooling == "mean" else "transformers"
        network.model = merge(network.model)
    save_network(network, folder, replace(config, format=form, method="full", quantization=None))


def _save_crf(network: Network, folder: Path) -> None:
    if network.crf is not None:
        from safetensors.torch import save_file

        save_file({name: p.detach().cpu().contiguous() for name, p in network.crf.named_parameters()}, folder / CRF)


def _with_crf(network: Network, folder: Path) -> Network:
    """Return the network with the weights of its CRF, if it has one. Raises InputError when they are damaged or missing."""
    if network.crf is not None:
        from safetensors.torch import load_file

        try:
            network.crf.load_state_dict(load_file(folder / CRF))
        except Exception as error:  # safetensors has an error of its own
            raise InputError(
                f"{folder / CRF} is damaged or missing ({first_line(error)}); train the model again"
            ) from None
    return network


def _can_shift(model: torch.nn.Module, config: TunedConfig) -> bool:
    """Whether the output layer of a regression has a bias, which the mean goes into; that of causal models has none."""
    return config.task.kind != "regression" or output_layer(model, 1).bias is not None


@contextmanager
def _in_units(model: torch.nn.Module, config: TunedConfig) -> Iterator[None]:
    """While it lasts, the output layer of a regression gives values, as other programs expect, if the config says so."""
    if config.task.kind != "regression" or not config.in_units:
        yield
        return
    layer = output_layer(model, 1)
    before = layer.weight.detach().clone(), layer.bias.detach().clone()
    with torch.no_grad():
        layer.weight.mul_(config.task.scale)
        layer.bias.mul_(config.task.scale).add_(config.task.mean)
    try:
        yield
    finally:
        with torch.no_grad():
            layer.weight.copy_(before[0])
            layer.bias.copy_(before[1])


def _standardised(network: Network, config: TunedConfig) -> Network:
    """Return a network whose output layer gives (value - mean) / scale, as low precision needs it."""
    if config.task.kind == "regression" and config.in_units:
        layer = output_layer(network.model, 1)
        with torch.no_grad():
            layer.bias.sub_(config.task.mean).div_(config.task.scale)
            layer.weight.div_(config.task.scale)
    return network


def write_config(folder: Path, config: TunedConfig) -> None:
    """Write nlpkit.json into a model folder."""
    (folder / NLPKIT).write_text(to_json(config.plain(), indent=2) + "\n", encoding="utf-8", newline="\n")


def model_bytes(folder: Path) -> int:
    """Return the size of the weights of a model folder in bytes."""
    return sum(f.stat().st_size for f in folder.rglob("*.safetensors"))


def read_config(folder: Path) -> TunedConfig | None:
    """Return what nlpkit.json says, None when there is none. Raises InputError when it is damaged."""
    file = folder / NLPKIT
    if not file.is_file():
        return None
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
        task = FinetuneTask(
            facts["task"]["kind"], tuple(facts["task"]["names"]), facts["task"]["mean"], facts["task"]["scale"],
            facts["task"].get("crf", False), facts["task"].get("longest", 30),
        )  # fmt: skip
        return TunedConfig(
            facts["format"], task, facts["method"], facts["base"], facts["base_sha256"], facts["max_tokens"], facts["columns"],
            facts["nlpkit_version"], facts.get("in_units", False),
            Quantization(**facts["quantization"]) if facts.get("quantization") else None, facts.get("pooling", "transformers"),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file} is damaged ({type(error).__name__}: {error}); train the model again") from None


def find_base(config: TunedConfig, *, base: str | None, offline: bool) -> ModelFiles:
    """Return the model that an adapter was trained on. Raises MissingError when it is nowhere, or another than then."""
    try:
        files = find_model(base or config.base, offline=offline)
    except MissingError as error:
        raise MissingError(f"the model it was trained on: {error}; name it with `base`") from None
    fingerprint = weights_fingerprint(files.path)
    if config.base_sha256 and fingerprint != config.base_sha256:
        raise MissingError(
            f"{files.name} has weights {fingerprint[:12]}…, but the model was trained on {config.base} with "
            f"{config.base_sha256[:12]}…; name that model with `base`"
        )
    return files


def load_tuned_network(
    folder: Path, config: TunedConfig, *, base: str | None, device: torch.device, offline: bool
) -> Network:
    """Return a network that nlpkit has written.

    Raises:
        InputError: the folder is damaged; MissingError: its base is not there.
    """
    method = parse_method(config.method)
    if config.format in ("transformers", CLASSIFIER):
        try:
            network = load_network(
                folder, config.task, parse_method("full"), seed=0, device=device, max_tokens=config.max_tokens,
                whole=config.format == "transformers", pooling=config.pooling,
            )  # fmt: skip
            if config.format == CLASSIFIER:
                read_mean_classifier(network.model, folder)
            return _with_crf(_standardised(network, config), folder)
        except MissingError as error:
            raise InputError(f"the model in {folder} is damaged ({error}); train it again") from None
    files = find_base(config, base=base, offline=offline)
    if config.format == "peft":
        network = load_peft(
            folder, files.path, config.task, device=device, max_tokens=config.max_tokens, method=config.method,
            quantization=config.quantization, pooling=config.pooling,
        )  # fmt: skip
        return _with_crf(_standardised(network, config), folder)
    network = load_network(
        files.path, config.task, method, seed=0, device=device, max_tokens=config.max_tokens, quantization=config.quantization,
        pooling=config.pooling,
    )  # fmt: skip
    from safetensors.torch import load_file

    try:
        state = load_file(folder / ADAPTER, device=str(device))
        if network.inserted is not None:
            network.inserted.load(state)
        else:
            with torch.no_grad():
                for name, parameter in state_of(network).items():
                    if parameter.shape != state[name].shape:
                        raise ValueError(f"{name} has other sizes")
                    parameter.copy_(state[name])
    except Exception as error:  # safetensors has an error of its own
        raise InputError(f"{folder / ADAPTER} is damaged or missing ({error}); train the model again") from None
    return _with_crf(network, folder)


def load_peft(
    folder: Path, base: Path, task: FinetuneTask, *, device: torch.device, max_tokens: int | None, method: str = "lora",
    quantization: Quantization | None = None, pooling: str = "transformers",
) -> Network:  # fmt: skip
    """Return the network of a peft folder on its base. Raises InputError when weights are missing."""
    from peft import PeftModel, get_peft_model_state_dict

    theirs: Collection[str] = tensor_shapes(folder / "adapter_model.safetensors").keys()
    plain = load_network(
        base, task, parse_method("full"), seed=0, device=device, max_tokens=max_tokens, quantization=quantization, pooling=pooling,
    )  # fmt: skip
    with quiet():
        try:
            if pooling == "mean":
                model, theirs = read_mean_adapter(plain.model, folder)
            else:
                model = PeftModel.from_pretrained(plain.model, str(folder), is_trainable=False)
        except Exception as error:  # every version fails in its own way
            raise InputError(f"peft cannot load {folder}: {first_line(error)}") from None
        mine = get_peft_model_state_dict(model, save_embedding_layers=False).keys()
    lost = sorted(mine - set(theirs))
    if lost:
        raise InputError(f"{folder} has no weights for {lost[0]} ({len(lost)} of {len(mine)} are missing)")
    lost = sorted(name for name in plain.made_up if not any(key.endswith(f".{name}") for key in theirs))
    if lost:
        raise InputError(
            f"{folder} has no weights for {lost[0]}, and its base has none either: they were not saved with the "
            "adapter (modules_to_save)"
        )
    model.to(device).eval()
    most, n_virtual = beside_virtual(model, plain.max_tokens)
    trained = dict(model.named_parameters())
    return Network(
        model, plain.tokenizer, plain.frame, task, parse_method(method), most, frozenset(), trained, None, plain.n_parameters, n_virtual,
        quantization=quantization, crf=plain.crf,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------------------
# Folders for the setfit library: an encoder of sentence-transformers and a head of scikit-learn, which it loads as its models.

CONFIG = "config_setfit.json"


def write_setfit_folder(path: Path, embedder: Embedder, model: SetFitModel) -> None:
    """Write a folder that setfit's `SetFitModel.from_pretrained` loads. It holds a pickle, as that library wants it.

    Raises:
        UsageError: a single label that documents may or may not have, which scikit-learn's one-vs-rest does not know.
    """
    import joblib  # type: ignore[import-untyped, unused-ignore]

    head = _scikit_head(model)
    embedder.save(path)
    config = {"labels": list(model.names), "normalize_embeddings": model.normalize}
    (path / CONFIG).write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    joblib.dump(head, path / SETFIT_HEAD)


def _scikit_head(model: SetFitModel) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import LabelBinarizer

    def regression(coef: Any, intercept: Any, n_classes: int) -> Any:
        head = LogisticRegression()
        head.coef_, head.intercept_ = np.ascontiguousarray(coef.T), np.array(intercept)
        head.classes_, head.n_features_in_ = np.arange(n_classes), coef.shape[0]
        head.n_iter_ = np.zeros(1, np.int32)
        return head

    coef, intercept = model.linear.coef, model.linear.intercept
    J = len(model.names)
    if not model.multiple:
        if J > 2:
            return regression(coef, intercept, J)
        return regression(coef[:, 1:] - coef[:, :1], intercept[1:] - intercept[:1], 2)
    if J < 2:
        raise UsageError(f"setfit's format cannot store a single label ('{model.names[0]}') that documents may lack")
    head = OneVsRestClassifier(LogisticRegression())
    head.estimators_ = [regression(coef[:, j : j + 1], intercept[j : j + 1], 2) for j in range(J)]
    head.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(np.eye(J, dtype=np.int64))
    head.classes_ = head.label_binarizer_.classes_
    head.n_features_in_ = len(coef)
    return head
