"""Where the parts of a transformer are: one table of names for eight kinds of encoders, GPT-2 and Mamba, which adapters go into.

Of any other kind the head is known: what is not in the body, whose name a transformers model tells itself (`base_model_prefix`).

A layer is attention (projections of query, key and value, then a dense layer) and a feed-forward network (FFN: up, down).
BERT and its kin normalise after each residual sum (post-norm), ModernBERT and GPT-2 before each part (pre-norm).

A layer of Mamba is one mixer, x W_in → x, z; conv(x) W_x → Δ, B, C; y = SSM(x; Δ, B, C); (y · silu(z)) W_out. Its recurrence is masked
attention with C for queries, B for keys and x for values (Dao & Gu 2024, §3), so that W_x stands for query and key, W_in for value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from nlpkit.errors import UsageError

Fused = Literal["", "blocks", "heads"]
Attention = Literal["", "interface", "softmax"]
PARTS = ("q", "k", "v", "o", "up", "down")


@dataclass(frozen=True)
class Layer:
    """The full module names of one layer's parts.

    query, key, value   linear projections; the same name thrice where one matrix makes all three
    attention           the module that computes softmax(QKᵀ)V
    attention_out       the last module of the attention before the residual sum (a dropout or the dense layer)
    attention_dense, ffn_up, ffn_down   linear layers
    attention_norm, ffn_norm            LayerNorm after the residual sum; None in a pre-norm model
    ffn                 the module that sees x, the input of the FFN: as its second argument where `Architecture.ffn_takes_residual`
    ffn_out             the last module of the FFN before the residual sum
    whole               the layer itself
    """

    whole: str
    attention: str
    query: str
    key: str
    value: str
    attention_dense: str
    attention_out: str
    attention_norm: str | None
    ffn: str
    ffn_up: str
    ffn_down: str
    ffn_out: str
    ffn_norm: str | None


@dataclass(frozen=True)
class Architecture:
    """Parts of a model by name.

    model_type          as in its config.json
    encoder             name of the encoder inside the model, with a final dot; "" when the model is a bare encoder
    hidden_size, heads  d and the number of attention heads
    layers              one record per layer
    head                names of the parameters after the encoder, a pooler before the classifier among them
    head_modules        the modules they are in: names from the root of the model
    fused               how one matrix holds q, k and v: "blocks" [q | k | v], "heads" [q₁ k₁ v₁ | q₂ k₂ v₂ | …], "" when apart
    attention           "interface": calls transformers' attention functions; "softmax": has its own; "": there is none
    ffn_takes_residual  see Layer.ffn
    targets             of each of PARTS, the name inside a layer
    layer_list          name of the list of layers inside the encoder
    """

    model_type: str
    encoder: str
    hidden_size: int
    heads: int
    layers: tuple[Layer, ...]
    head: tuple[str, ...]
    head_modules: tuple[str, ...]
    fused: Fused
    attention: Attention
    ffn_takes_residual: bool
    targets: dict[str, str]
    layer_list: str


@dataclass(frozen=True)
class _Family:
    layer_list: str
    attention: str
    qkv: tuple[str, str, str]
    attention_dense: str
    attention_out: str
    attention_norm: str | None
    ffn: str
    ffn_up: str
    ffn_down: str
    ffn_out: str
    ffn_norm: str | None
    fused: Fused = ""
    kind: Attention = "interface"
    ffn_takes_residual: bool = True


def _bert_like(q: str, k: str, v: str, fused: Fused = "", kind: Attention = "interface") -> _Family:
    return _Family(
        layer_list="encoder.layer",
        attention="attention.self",
        qkv=(f"attention.self.{q}", f"attention.self.{k}", f"attention.self.{v}"),
        attention_dense="attention.output.dense",
        attention_out="attention.output.dropout",
        attention_norm="attention.output.LayerNorm",
        ffn="output",
        ffn_up="intermediate.dense",
        ffn_down="output.dense",
        ffn_out="output.dropout",
        ffn_norm="output.LayerNorm",
        fused=fused,
        kind=kind,
    )


_FAMILIES = {
    "bert": _bert_like("query", "key", "value"),
    "roberta": _bert_like("query", "key", "value"),
    "xlm-roberta": _bert_like("query", "key", "value"),
    "distilbert": _Family(
        layer_list="transformer.layer",
        attention="attention",
        qkv=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
        attention_dense="attention.out_lin",
        attention_out="attention.out_lin",
        attention_norm="sa_layer_norm",
        ffn="ffn",
        ffn_up="ffn.lin1",
        ffn_down="ffn.lin2",
        ffn_out="ffn.dropout",
        ffn_norm="output_layer_norm",
        ffn_takes_residual=False,
    ),
    "deberta": _bert_like("in_proj", "in_proj", "in_proj", fused="heads", kind="softmax"),
    "deberta-v2": _bert_like("query_proj", "key_proj", "value_proj", kind="softmax"),
    "mpnet": _Family(
        layer_list="encoder.layer",
        attention="attention.attn",
        qkv=("attention.attn.q", "attention.attn.k", "attention.attn.v"),
        attention_dense="attention.attn.o",
        attention_out="attention.dropout",
        attention_norm="attention.LayerNorm",
        ffn="output",
        ffn_up="intermediate.dense",
        ffn_down="output.dense",
        ffn_out="output.dropout",
        ffn_norm="output.LayerNorm",
        kind="softmax",
    ),
    "modernbert": _Family(
        layer_list="layers",
        attention="attn",
        qkv=("attn.Wqkv", "attn.Wqkv", "attn.Wqkv"),
        attention_dense="attn.Wo",
        attention_out="attn.out_drop",
        attention_norm=None,
        ffn="mlp",
        ffn_up="mlp.Wi",
        ffn_down="mlp.Wo",
        ffn_out="mlp.Wo",
        ffn_norm=None,
        fused="blocks",
        ffn_takes_residual=False,
    ),
}
MODEL_TYPES = tuple(_FAMILIES)  # encoders
_FAMILIES |= {
    "gpt2": _Family(
        layer_list="h",
        attention="attn",
        qkv=("attn.c_attn", "attn.c_attn", "attn.c_attn"),
        attention_dense="attn.c_proj",
        attention_out="attn.resid_dropout",
        attention_norm=None,
        ffn="mlp",
        ffn_up="mlp.c_fc",
        ffn_down="mlp.c_proj",
        ffn_out="mlp.dropout",
        ffn_norm=None,
        fused="blocks",
        ffn_takes_residual=False,
    ),
    "mamba": _Family(
        layer_list="layers",
        attention="mixer",
        qkv=("mixer.x_proj", "mixer.x_proj", "mixer.in_proj"),
        attention_dense="mixer.out_proj",
        attention_out="mixer",
        attention_norm=None,
        ffn="mixer",
        ffn_up="mixer.in_proj",
        ffn_down="mixer.out_proj",
        ffn_out="mixer",
        ffn_norm=None,
        kind="",
        ffn_takes_residual=False,
    ),
}
LAYERED = tuple(_FAMILIES)  # kinds whose layers are known
_SHIFTED = {  # places are counted from behind those of padding
    "roberta", "xlm-roberta", "mpnet", "camembert", "data2vec-text", "esm", "ibert", "lilt", "longformer", "luke", "markuplm",
    "roberta-prelayernorm", "xlm-roberta-xl", "xmod",
}  # fmt: skip


def describe(model: Any) -> Architecture:
    """Return where the parts of a transformers model are, with or without a head.

    Raises UsageError for a kind of model that is not in the table.
    """
    config = getattr(model, "config", None)
    model_type = str(getattr(config, "model_type", type(model).__name__))
    family = _FAMILIES.get(model_type)
    if family is None:
        raise UsageError(
            f"adapters go into models of type {', '.join(_FAMILIES)}; the base is of type '{model_type}'. "
            "Choose another `base`, or `method=full` or head",
            parameter="base",
        )
    encoder = _encoder(model)
    body = model.get_submodule(encoder.rstrip(".")) if encoder else model
    count = len(body.get_submodule(family.layer_list))
    layers = tuple(_layer(f"{encoder}{family.layer_list}.{index}", family) for index in range(count))
    head = head_parameters(model)
    return Architecture(
        model_type=model_type,
        encoder=encoder,
        hidden_size=int(config.hidden_size),  # type: ignore[union-attr]
        heads=int(getattr(config, "num_attention_heads", 1)),
        layers=layers,
        head=head,
        head_modules=_head_modules(head, encoder),
        fused=family.fused,
        attention=family.kind,
        ffn_takes_residual=family.ffn_takes_residual,
        targets=dict(
            zip(PARTS, (*family.qkv, family.attention_dense, family.ffn_up, family.ffn_down), strict=True),
        ),
        layer_list=family.layer_list,
    )


def check_attention(architecture: Architecture) -> None:
    """Raise UsageError where a prefix has no keys and values that it could stand before."""
    if not architecture.attention:
        raise UsageError(
            f"a prefix comes before keys and values, but a {architecture.model_type} has no attention; choose lora, "
            "prompt, pfeiffer or parallel",
            parameter="method",
        )


def without_head(architecture: Architecture) -> Architecture:
    """Return an architecture with no parameters after the encoder: a head that is there is treated as part of the body."""
    return replace(architecture, head=(), head_modules=())


def _layer(name: str, family: _Family) -> Layer:
    q, k, v = family.qkv
    norms = [None if norm is None else f"{name}.{norm}" for norm in (family.attention_norm, family.ffn_norm)]
    return Layer(
        whole=name,
        attention=f"{name}.{family.attention}",
        query=f"{name}.{q}",
        key=f"{name}.{k}",
        value=f"{name}.{v}",
        attention_dense=f"{name}.{family.attention_dense}",
        attention_out=f"{name}.{family.attention_out}",
        attention_norm=norms[0],
        ffn=f"{name}.{family.ffn}",
        ffn_up=f"{name}.{family.ffn_up}",
        ffn_down=f"{name}.{family.ffn_down}",
        ffn_out=f"{name}.{family.ffn_out}",
        ffn_norm=norms[1],
    )


def head_parameters(model: Any) -> tuple[str, ...]:
    """Return the names of the parameters after the encoder of a transformers model of any kind, a pooler among them."""
    encoder = _encoder(model)
    if not encoder:
        return ()
    if hasattr(model, "HEAD"):  # `mean_head.MeanForSequenceClassification`, which reads no pooler
        return tuple(model.HEAD)
    names = [name for name, _ in model.named_parameters()]
    return tuple(name for name in names if not name.startswith(encoder) or name.startswith(f"{encoder}pooler."))


def _encoder(model: Any) -> str:
    """Return the name of the encoder inside a model, with a final dot; "" for a bare encoder."""
    inner = str(model.base_model_prefix)
    return f"{inner}." if inner and hasattr(model, inner) else ""


def positions_of(config: Any) -> int:
    """Return the tokens of a text that a model has positions for."""
    positions = int(getattr(config, "max_position_embeddings", 0) or 0) or 512
    return positions - 2 if config.model_type in _SHIFTED else positions


def _head_modules(names: tuple[str, ...], encoder: str) -> tuple[str, ...]:
    """Return the outermost modules of the head: `classifier`, and `bert.pooler` rather than `bert`."""
    depth = encoder.count(".")
    modules = [
        ".".join(name.split(".")[: depth + 1]) if encoder and name.startswith(encoder) else name.split(".")[0]
        for name in names
    ]
    return tuple(dict.fromkeys(modules))
