"""Where the parts of a transformer are: one table of names for eight kinds of encoders, GPT-2 and Mamba, which adapters go into.

Of any other kind the head is known: what is not in the body, whose name a transformers model tells itself (`base_model_prefix`).

A layer is attention (projections of query, key and value, then a dense layer) and a feed-forward network (FFN: up, down).
BERT and its kin normalise after each residual sum (post-norm), ModernBERT and GPT-2 before each part (pre-norm).

A layer of Mamba is one mixer, x W_in → x, z; conv(x) W_x → Δ, B, C; y = SSM(x; Δ, B, C); (y · silu(z)) W_out. Its recurrence is masked
attention with C for queries, B for keys and x for values (Dao & Gu 2024, §3), so that W_x stands for query and key, W_in for value.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from nlpkit.embed.tokenizers import declared_max_tokens
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
    """A kind of model: the name of its list of layers, and the parts of one, named inside of it; see `Architecture`."""

    layer_list: str
    parts: Layer
    fused: Fused = ""
    attention: Attention = "interface"
    ffn_takes_residual: bool = False


def _parts(
    attention: str,
    qkv: tuple[str, str, str],
    dense: str,
    out: str,
    norm: str | None,
    ffn: tuple[str, str, str, str],
    ffn_norm: str | None,
) -> Layer:
    """Return the names of a layer's parts. qkv: query, key, value; ffn: the module that sees x, up, down, out."""
    return Layer("", attention, *qkv, dense, out, norm, *ffn, ffn_norm)


def _bert_like(q: str, k: str, v: str, fused: Fused = "", attention: Attention = "interface") -> _Family:
    qkv = (f"attention.self.{q}", f"attention.self.{k}", f"attention.self.{v}")
    out, norm = "attention.output.dropout", "attention.output.LayerNorm"
    parts = _parts("attention.self", qkv, "attention.output.dense", out, norm, _BERT_FFN, "output.LayerNorm")
    return _Family("encoder.layer", parts, fused, attention, ffn_takes_residual=True)


_BERT_FFN = ("output", "intermediate.dense", "output.dense", "output.dropout")
_MPNET = _parts(
    "attention.attn", ("attention.attn.q", "attention.attn.k", "attention.attn.v"), "attention.attn.o", "attention.dropout",
    "attention.LayerNorm", _BERT_FFN, "output.LayerNorm",
)  # fmt: skip
_DISTILBERT = _parts(
    "attention", ("attention.q_lin", "attention.k_lin", "attention.v_lin"), "attention.out_lin", "attention.out_lin", "sa_layer_norm",
    ("ffn", "ffn.lin1", "ffn.lin2", "ffn.dropout"), "output_layer_norm",
)  # fmt: skip
_MODERNBERT = _parts(
    "attn",
    ("attn.Wqkv", "attn.Wqkv", "attn.Wqkv"),
    "attn.Wo",
    "attn.out_drop",
    None,
    ("mlp", "mlp.Wi", "mlp.Wo", "mlp.Wo"),
    None,
)
_GPT2 = _parts(
    "attn",
    ("attn.c_attn", "attn.c_attn", "attn.c_attn"),
    "attn.c_proj",
    "attn.resid_dropout",
    None,
    ("mlp", "mlp.c_fc", "mlp.c_proj", "mlp.dropout"),
    None,
)
_MAMBA = _parts(
    "mixer", ("mixer.x_proj", "mixer.x_proj", "mixer.in_proj"), "mixer.out_proj", "mixer", None,
    ("mixer", "mixer.in_proj", "mixer.out_proj", "mixer"), None,
)  # fmt: skip
_FAMILIES = {
    "bert": _bert_like("query", "key", "value"),
    "roberta": _bert_like("query", "key", "value"),
    "xlm-roberta": _bert_like("query", "key", "value"),
    "distilbert": _Family("transformer.layer", _DISTILBERT),
    "deberta": _bert_like("in_proj", "in_proj", "in_proj", "heads", "softmax"),
    "deberta-v2": _bert_like("query_proj", "key_proj", "value_proj", attention="softmax"),
    "mpnet": _Family("encoder.layer", _MPNET, attention="softmax", ffn_takes_residual=True),
    "modernbert": _Family("layers", _MODERNBERT, "blocks"),
    "gpt2": _Family("h", _GPT2, "blocks"),
    "mamba": _Family("layers", _MAMBA, attention=""),
}
MODEL_TYPES = tuple(_FAMILIES)[:-2]  # encoders
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
    layers = tuple(_layer(f"{encoder}{family.layer_list}.{index}", family.parts) for index in range(count))
    parts = family.parts
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
        attention=family.attention,
        ffn_takes_residual=family.ffn_takes_residual,
        targets=dict(
            zip(
                PARTS,
                (parts.query, parts.key, parts.value, parts.attention_dense, parts.ffn_up, parts.ffn_down),
                strict=True,
            )
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


def _layer(name: str, parts: Layer) -> Layer:
    """Return the parts of a layer with the name of the layer before each."""
    inside = {part: None if inner is None else f"{name}.{inner}" for part, inner in asdict(parts).items()}
    return Layer(**{**inside, "whole": name})  # type: ignore[arg-type]


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


def check_padding(model: Any, tokenizer: Any) -> None:
    """Raise UsageError for a model of another kind than MODEL_TYPES whose texts are not padded at their end, as is done here.

    A causal classifier finds the end of a text by the attention mask, so its texts can be padded with any token: where the tokenizer
    has none for it, with the one that ends a text, which tokenizer and config.json then say.
    """
    from nlpkit.finetune.training.causal_heads import is_causal_classifier

    kind = model.config.model_type
    if is_causal_classifier(model):
        if tokenizer.pad_token_id is None and tokenizer.eos_token_id is not None:
            tokenizer.pad_token = tokenizer.eos_token
        if tokenizer.pad_token_id is not None:
            tokenizer.padding_side, model.config.pad_token_id = "right", tokenizer.pad_token_id
    if kind not in MODEL_TYPES and (tokenizer.pad_token_id is None or tokenizer.padding_side != "right"):
        raise UsageError(
            f"the base is of type '{kind}', which cannot read texts padded at the end; choose another `base`",
            parameter="base",
        )


def window_of(folder: Path, model: Any, wanted: int | None) -> int:
    """Return the tokens of a text the network sees. Raises UsageError when it cannot see as many."""
    positions = positions_of(model.config)
    if wanted is not None:
        if wanted > positions:
            raise UsageError(f"`max_tokens={wanted}`: this model takes up to {positions} tokens of a text")
        return wanted
    return min(declared_max_tokens(folder, usual=512), positions)
