"""Classifiers that read the mean of the tokens as folders: of sentence-transformers, a transformer, pooling and a dense layer, so that the
vectors such a folder gives are the logits; or of peft, an adapter of the encoder alone, with the head beside it.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

from nlpkit.errors import InputError, first_line
from nlpkit.finetune.mean_head import MeanForSequenceClassification
from nlpkit.finetune.network import Network
from nlpkit.plain import to_json

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
