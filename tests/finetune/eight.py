"""The eight kinds of encoders adapters go into, tiny and random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import transformers

_SIZES = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "num_labels": 3,
    "pad_token_id": 0,
}
_RELATIVE = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "pooler_hidden_size": 32}
_DISTIL = {"vocab_size": 60, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 64}
_CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertConfig", _SIZES),
    "roberta": ("RobertaConfig", _SIZES),
    "xlm-roberta": ("XLMRobertaConfig", _SIZES),
    "distilbert": ("DistilBertConfig", {**_DISTIL, "num_labels": 3, "pad_token_id": 0}),
    "deberta": ("DebertaConfig", {**_SIZES, **_RELATIVE}),
    "deberta-v2": (
        "DebertaV2Config",
        {**_SIZES, **_RELATIVE, "share_att_key": True, "position_buckets": 8, "norm_rel_ebd": "layer_norm"},
    ),
    "mpnet": ("MPNetConfig", _SIZES),
    "modernbert": (
        "ModernBertConfig",
        {
            **_SIZES,
            **dict.fromkeys(("cls_token_id", "bos_token_id"), 1),
            **dict.fromkeys(("sep_token_id", "eos_token_id"), 2),
            "local_attention": 8,
            "global_attn_every_n_layers": 2,
        },
    ),
}
KINDS = tuple(_CONFIGS)
WITH_SDPA = ("bert", "roberta", "xlm-roberta", "distilbert", "modernbert")
HEADS = ("ForSequenceClassification", "ForTokenClassification", "")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Small tensors are slower on several threads; a module that imports this runs on one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def build(kind: str, head: str = "ForSequenceClassification", *, attention: str | None = None, **changes: Any) -> Any:
    """Return a tiny model, out of training, whose weights are large enough for differences to be seen."""
    name, sizes = _CONFIGS[kind]
    config = getattr(transformers, name)(**{**sizes, **changes})
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = getattr(transformers, f"AutoModel{head}").from_config(config, attn_implementation=attention)
        generator = torch.Generator().manual_seed(7)
        with torch.no_grad():
            for p in model.parameters():
                if p.dim() > 1:
                    p.normal_(0.0, 0.2, generator=generator)
    return model.eval()


def batch() -> dict[str, torch.Tensor]:
    """Return three texts, the second shorter by three tokens of padding."""
    ids = torch.randint(3, 60, (3, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(3, 9, dtype=torch.long)
    mask[1, 6:] = 0
    ids[1, 6:] = 0
    return {"input_ids": ids, "attention_mask": mask}


def output(model: Any, **inputs: torch.Tensor) -> torch.Tensor:
    """Return the logits of a model with a head, the last hidden states of one without."""
    found = model(**(inputs or batch()))
    return found.logits if hasattr(found, "logits") else found.last_hidden_state
